//! What people get in place of a page: [`Page`]. Rule: of what comes from outside nothing is anything but text.

use crate::reasons::{because, of_finding};
use lockgate_inspect::Judgement;
use lockgate_model::{TransactionId, Verdict};
use lockgate_proto::http::{Framing, ResponseHead, Version, write_response};
use std::fmt::Write;

/// A response of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    status: u16,
    title: &'static str,
    what: &'static str,
    advice: &'static str,
    /// One for each reason; text from outside.
    reasons: Vec<String>,
}

/// What stands on a page besides its own words.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// What was asked for; text from outside.
    pub address: &'a str,
    /// The name to ask the administrator by.
    pub id: TransactionId,
    /// The gateway's name.
    pub hostname: &'a str,
    /// Whether the method is HEAD: then there is no body.
    pub is_head: bool,
    /// Whether the connection ends behind it.
    pub closes: bool,
}

const TEMPLATE: &str = include_str!("page.html");
/// Reasons that are shown.
const REASONS_MAX: usize = 8;
/// Characters of a reason or address that are shown.
const SHOWN_MAX: usize = 400;

const ASK: &str = "If you think that this is wrong, tell your administrator and name this number.";
const AGAIN: &str = "Try again in a moment. If it stays so, tell your administrator and name this number.";

impl Page {
    /// In place of what is not let through.
    pub fn blocked(judgement: &Judgement, way: Way) -> Self {
        let reasons = if judgement.deciding_finding().is_some() {
            judgement.findings.iter().map(of_finding).collect()
        } else {
            vec![because(judgement)]
        };
        if judgement.verdict == Verdict::Defer {
            let what = "It could not be inspected just now, and nothing passes that was not.";
            return Self { status: 503, title: "Not let through yet", what, advice: AGAIN, reasons };
        }
        let (title, what) = match way {
            Way::ToServer => {
                ("Request blocked", "What was to be sent is not let through, and the server got none of it.")
            }
            Way::ToClient => ("Page blocked", "What the server sent is not let through."),
        };
        Self { status: 403, title, what, advice: ASK, reasons }
    }

    /// Where the proxy does not go.
    pub fn forbidden(why: impl Into<String>) -> Self {
        let what = "The gateway does not go there.";
        Self { status: 403, title: "Not allowed", what, advice: ASK, reasons: vec![why.into()] }
    }

    /// The client's request cannot be served as it is.
    pub fn bad_request(status: u16, why: impl Into<String>) -> Self {
        let what = "The gateway cannot serve this request as it came.";
        Self { status, title: "Request refused", what, advice: ASK, reasons: vec![why.into()] }
    }

    /// The origin cannot be reached, or what it says cannot be relayed.
    pub fn bad_gateway(status: u16, why: impl Into<String>) -> Self {
        let what = "The server that was asked for gave no answer that can be passed on.";
        Self { status, title: "No answer from the server", what, advice: AGAIN, reasons: vec![why.into()] }
    }

    /// The server under TLS is not who it should be, or nobody knows who it is.
    pub fn distrusted(why: impl Into<String>) -> Self {
        let what =
            "The server could not prove that it is the one that was asked for, so nothing was sent to it.";
        Self { status: 502, title: "Server not trusted", what, advice: ASK, reasons: vec![why.into()] }
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Its reasons, in one line for events.
    pub fn why(&self) -> String {
        self.reasons.first().cloned().unwrap_or_default()
    }

    /// The response, and what stands in it.
    pub fn response(&self, about: &About<'_>) -> (ResponseHead, Vec<u8>) {
        let body = self.body(about).into_bytes();
        let length = body.len().to_string();
        let mut lines = vec![
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", &length),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
            ("X-Content-Type-Options", "nosniff"),
        ];
        if self.status == 503 {
            lines.push(("Retry-After", "30"));
        }
        let fields = lines.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let reason = reason_phrase(self.status).as_bytes().to_vec();
        let head = ResponseHead { status: self.status, reason, version: Version::Http11, fields };
        (head, body)
    }

    /// The whole response as HTTP/1.1 has it.
    pub fn bytes(&self, about: &About<'_>) -> Vec<u8> {
        let (mut head, body) = self.response(about);
        head.fields.push(b"Connection", if about.closes { b"close" } else { b"keep-alive" });
        let mut out = Vec::new();
        if about.is_head {
            write_response(&head, Framing::None, &mut out);
        } else {
            write_response(&head, Framing::Length(body.len() as u64), &mut out);
            out.extend_from_slice(&body);
        }
        out
    }

    fn body(&self, about: &About<'_>) -> String {
        let mut reasons = String::new();
        for reason in self.reasons.iter().take(REASONS_MAX) {
            let _ = writeln!(reasons, "<dd>{}</dd>", escaped(reason));
        }
        let colour = if self.status == 403 { "#b3261e" } else { "#8a6100" };
        let values = [
            ("title", self.title.to_owned()),
            ("what", self.what.to_owned()),
            ("advice", self.advice.to_owned()),
            ("colour", colour.to_owned()),
            ("address", escaped(about.address)),
            ("reasons", reasons),
            ("id", about.id.to_string()),
            ("hostname", escaped(about.hostname)),
        ];
        filled(TEMPLATE, &values)
    }
}

/// Which way it was going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A request, with what it brings.
    ToServer,
    /// A response.
    ToClient,
}

/// For who comes when there is no room: no page, since nothing is known of who asks.
pub fn unavailable(why: &str) -> String {
    let length = why.len() + 1;
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Retry-After: 30\r\nConnection: close\r\n\r\n{why}\n"
    )
}

/// Puts each value where its name stands in double braces. What is put in is not looked at again.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::with_capacity(template.len() + 512);
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        out.push_str(before);
        let (name, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            out.push_str(value);
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Text that HTML takes for nothing else, at most so long.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(SHOWN_MAX) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Marks that turn the direction of writing could show another address than the one meant.
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push('\u{fffd}')
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn reason_phrase(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        403 => "Forbidden",
        408 => "Request Timeout",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_model::{Buffer, Class, Engine, Finding};

    #[test]
    fn nothing_from_outside_is_anything_but_text() {
        let finding = Finding {
            engine: Engine::Antivirus,
            class: Class::Virus,
            rule: "a.ndb:1".into(),
            name: "Demo.Virus".into(),
            part: "a.zip/<script>\r\n{{id}}".into(),
            buffer: Buffer::FileData,
            offset: None,
        };
        let judgement = Judgement {
            verdict: Verdict::Reject,
            findings: vec![finding],
            deciding: Some(0),
            ..Judgement::default()
        };
        let page = Page::blocked(&judgement, Way::ToClient);
        let about = About {
            address: "http://a.example/\"><b>{{hostname}}",
            id: TransactionId(7),
            hostname: "gate.example",
            is_head: false,
            closes: false,
        };
        let text = String::from_utf8(page.bytes(&about)).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{head}");
        assert!(head.ends_with(&format!("\r\nContent-Length: {}", body.len())), "{head}");
        for words in [
            "Demo.Virus in part a.zip/&lt;script&gt;\u{fffd}\u{fffd}{{id}}",
            "http://a.example/&quot;&gt;&lt;b&gt;{{hostname}}",
            "<strong>0000000000007</strong>",
            "Lockgate at gate.example",
            "<h1>Page blocked</h1>",
        ] {
            assert!(body.contains(words), "{words}: {body}");
        }
        assert!(!body.contains("<script"), "{body}");
        let nothing = page.bytes(&About { is_head: true, ..about });
        assert_eq!(nothing, [head.as_bytes(), b"\r\n\r\n"].concat(), "the head is the same");
    }

    #[test]
    fn each_template_value_is_known() {
        let page = Page::bad_gateway(502, "x");
        let about = About { address: "", id: TransactionId(1), hostname: "", is_head: false, closes: true };
        assert!(!page.body(&about).contains("{{"));
    }
}
