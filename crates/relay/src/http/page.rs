//! What people get in place of a page: [`Page`]. Rule: of what comes from outside nothing is anything but text.
//!
//! `template` is what a page is made from, `words` what stands on it in each language.

mod template;
mod words;

pub use template::{Template, TemplateError};

use super::session::VisitEnd;
use crate::events::access::Ending;
use crate::language::Language;
use crate::reasons::{self, Why};
use crate::settings::Settings;
use lockgate_inspect::Judgement;
use lockgate_model::{Class, TransactionId, Verdict};
use lockgate_proto::http::{Framing, ResponseHead, Version, write_response};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use template::Name;
use words::{Label, Subject};

/// A response of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    status: u16,
    subject: Subject,
    /// One for each reason; text from outside.
    reasons: Vec<Why>,
    /// A field besides those that every page has.
    field: Option<(&'static str, String)>,
}

/// What stands on a page besides its own words.
#[derive(Clone, Debug)]
pub struct About {
    /// What was asked for; text from outside.
    pub address: String,
    /// The name to ask the administrator by.
    pub id: TransactionId,
    /// Who it is that says all this.
    pub settings: Arc<Settings>,
    /// What the page is made from.
    pub template: Arc<Template>,
    /// What its reader reads.
    pub language: Language,
    /// The link past it, and for how long it leads there.
    pub bypass: Option<(String, Duration)>,
    /// Whether the method is HEAD: then there is no body.
    pub is_head: bool,
    /// Whether the connection ends behind it.
    pub closes: bool,
}

/// Reasons that are shown.
const REASONS_MAX: usize = 8;
/// Characters of a reason or address that are shown.
const SHOWN_MAX: usize = 400;

impl Page {
    /// In place of what is not let through.
    pub fn blocked(judgement: &Judgement, way: Way) -> Self {
        let reasons = reasons::all(judgement);
        if judgement.verdict == Verdict::Defer {
            return Self::new(503, Subject::NotYet, reasons);
        }
        let is_unwanted = judgement.deciding_finding().is_some_and(|found| found.class == Class::Web);
        let subject = match way {
            _ if is_unwanted => Subject::Unwanted,
            Way::ToServer => Subject::RequestBlocked,
            Way::ToClient => Subject::ResponseBlocked,
        };
        Self::new(403, subject, reasons)
    }

    /// Where the proxy does not go.
    pub fn forbidden(why: impl Into<String>) -> Self {
        Self::new(403, Subject::Forbidden, vec![Why::Words(why.into())])
    }

    /// The client's request cannot be served as it is.
    pub fn bad_request(status: u16, why: impl Into<String>) -> Self {
        Self::new(status, Subject::BadRequest, vec![Why::Words(why.into())])
    }

    /// The origin cannot be reached, or what it says cannot be relayed.
    pub fn bad_gateway(status: u16, why: impl Into<String>) -> Self {
        Self::new(status, Subject::BadGateway, vec![Why::Words(why.into())])
    }

    /// The proxy wants to know who asks (RFC 7617); `realm` is free of quotes and backslashes.
    pub fn unknown_user(realm: &str, why: &str) -> Self {
        let field = Some(("Proxy-Authenticate", format!("Basic realm=\"{realm}\", charset=\"UTF-8\"")));
        Self { field, ..Self::new(407, Subject::Unknown, vec![Why::Words(why.to_owned())]) }
    }

    /// A link past a page that is not taken.
    pub fn link_over(why: &str) -> Self {
        Self::new(403, Subject::LinkOver, vec![Why::Words(why.to_owned())])
    }

    /// A link past a page that is taken.
    pub fn go_on(to: String) -> Self {
        let reasons = vec![Why::Words("the link past the page was followed".to_owned())];
        Self { field: Some(("Location", to)), ..Self::new(302, Subject::GoOn, reasons) }
    }

    /// In place of a page that lists lead away from, by these rules.
    pub fn led(to: String, rules: &str) -> Self {
        let reasons = vec![Why::Words(format!("led to another page by {rules}"))];
        Self { field: Some(("Location", to)), ..Self::new(302, Subject::Led, reasons) }
    }

    fn new(status: u16, subject: Subject, reasons: Vec<Why>) -> Self {
        Self { status, subject, reasons, field: None }
    }

    /// The server under TLS is not who it should be, or nobody knows who it is.
    pub fn distrusted(why: impl Into<String>) -> Self {
        Self::new(502, Subject::Distrusted, vec![Why::Words(why.into())])
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// How it stands in the access log.
    pub fn visit(&self, bytes: u64, ending: Ending) -> VisitEnd<'static> {
        VisitEnd { ending, status: self.status, bytes, server: None, content_type: Some("text/html") }
    }

    /// Its reasons, in one line for events.
    pub fn why(&self) -> String {
        self.reasons.first().map(|why| why.words(Language::English)).unwrap_or_default()
    }

    /// The response, and what stands in it.
    pub fn response(&self, about: &About) -> (ResponseHead, Vec<u8>) {
        let body = self.body(about).into_bytes();
        let length = body.len().to_string();
        let mut lines = vec![
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Language", about.language.tag()),
            ("Content-Length", &length),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
            ("X-Content-Type-Options", "nosniff"),
            // The link on it is for its reader alone.
            ("Referrer-Policy", "no-referrer"),
        ];
        if self.status == 503 {
            lines.push(("Retry-After", "30"));
        }
        lines.extend(self.field.iter().map(|(name, value)| (*name, value.as_str())));
        let fields = lines.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let reason = reason_phrase(self.status).as_bytes().to_vec();
        let head = ResponseHead { status: self.status, reason, version: Version::Http11, fields };
        (head, body)
    }

    /// The whole response as HTTP/1.1 has it.
    pub fn bytes(&self, about: &About) -> Vec<u8> {
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

    fn body(&self, about: &About) -> String {
        let language = about.language;
        let has_failed = matches!(self.status, 500..|407| 302);
        about.template.filled(|name| match name {
            Name::Lang => language.tag().to_owned(),
            Name::Title => self.subject.title(language).to_owned(),
            Name::What => self.subject.what(language).to_owned(),
            Name::Reasons => self.reasons_list(language),
            Name::Advice => self.subject.advice(language).to_owned(),
            Name::Address => escaped(&about.address),
            Name::Id => about.id.to_string(),
            Name::Organisation => escaped(&about.settings.page.organisation),
            Name::Contact => contact(&about.settings.page.contact, language),
            Name::Bypass => about.bypass.as_ref().map_or_else(String::new, |(link, time)| {
                let (words, beside) = words::offer(*time, language);
                let link = escaped_whole(link);
                format!(
                    "<p class=\"bypass\"><a href=\"{link}\" rel=\"nofollow\">{words}</a><br>{beside}</p>\n"
                )
            }),
            Name::Hostname => escaped(&about.settings.hostname),
            Name::Sort => if has_failed { "failed" } else { "blocked" }.to_owned(),
            Name::AddressLabel => Label::Address.word(language).to_owned(),
            Name::WhyLabel => Label::Why.word(language).to_owned(),
            Name::NumberLabel => Label::Number.word(language).to_owned(),
        })
    }

    fn reasons_list(&self, language: Language) -> String {
        let mut out = String::new();
        for why in self.reasons.iter().take(REASONS_MAX) {
            // What is there in English only says so to those who have it read to them.
            let tag = match why {
                Why::Words(_) if language != Language::English => " lang=\"en\"",
                _ => "",
            };
            let _ = writeln!(out, "<li{tag}>{}</li>", escaped(&why.words(language)));
        }
        out
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

/// Whom to ask: an address of mail or of the web is a link.
fn contact(contact: &str, language: Language) -> String {
    if contact.is_empty() {
        return String::new();
    }
    let is_word = !contact.contains(char::is_whitespace);
    let scheme = match contact {
        _ if !is_word => None,
        _ if ["https://", "http://", "tel:", "mailto:"].iter().any(|known| contact.starts_with(known)) => {
            Some("")
        }
        _ if contact.contains('@') => Some("mailto:"),
        _ => None,
    };
    let (label, words) = (Label::Contact.word(language), escaped(contact));
    match scheme {
        Some(scheme) => format!("<p>{label}: <a href=\"{scheme}{words}\">{words}</a></p>\n"),
        None => format!("<p>{label}: {words}</p>\n"),
    }
}

/// Text that HTML takes for nothing else, at most so long.
fn escaped(text: &str) -> String {
    escaped_whole(&text.chars().take(SHOWN_MAX).collect::<String>())
}

/// The same, in whole.
fn escaped_whole(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
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
        302 => "Found",
        400 => "Bad Request",
        403 => "Forbidden",
        407 => "Proxy Authentication Required",
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

    fn about() -> About {
        let settings = Settings { hostname: "gate.example".to_owned(), ..Settings::default() };
        About {
            address: String::new(),
            id: TransactionId(7),
            settings: Arc::new(settings),
            template: Arc::new(Template::read(None).unwrap()),
            language: Language::English,
            bypass: None,
            is_head: false,
            closes: false,
        }
    }

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
            signature: None,
        };
        let judgement = Judgement {
            verdict: Verdict::Reject,
            findings: vec![finding],
            deciding: Some(0),
            ..Judgement::default()
        };
        let page = Page::blocked(&judgement, Way::ToClient);
        let about = About { address: "http://a.example/\"><b>{{hostname}}".into(), ..about() };
        let text = String::from_utf8(page.bytes(&about)).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{head}");
        assert!(head.contains(&format!("\r\nContent-Length: {}", body.len())), "{head}");
        for words in [
            "Demo.Virus in part a.zip/&lt;script&gt;\u{fffd}\u{fffd}{{id}}",
            "http://a.example/&quot;&gt;&lt;b&gt;{{hostname}}",
            "<strong class=\"id\">0000000000007</strong>",
            "Lockgate · gate.example",
            "<h1>Page blocked</h1>",
        ] {
            assert!(body.contains(words), "{words}: {body}");
        }
        assert!(!body.contains("<script"), "{body}");
        let nothing = page.bytes(&About { is_head: true, ..about });
        assert_eq!(nothing, [head.as_bytes(), b"\r\n\r\n"].concat(), "the head is the same");
    }

    #[test]
    fn every_page_is_there_in_every_language() {
        for subject in Subject::ALL {
            let mut bodies = Vec::new();
            for language in Language::ALL {
                let page = Page::new(403, subject, vec![Why::Words("a reason".to_owned())]);
                let link = ("/.well-known/x?a=1&b=2".to_owned(), Duration::from_secs(600));
                let body = page.body(&About { language, bypass: Some(link), ..about() });
                assert!(body.contains(&format!("<html lang=\"{}\">", language.tag())), "{body}");
                assert!(
                    body.contains("href=\"/.well-known/x?a=1&amp;b=2\"") && body.contains(" 10 Min")
                        || language == Language::English,
                    "{body}"
                );
                for landmark in ["<main", "</main>", "<header>", "<footer>", "<h1>", "name=\"viewport\""] {
                    assert_eq!(body.matches(landmark).count(), 1, "{landmark}");
                }
                assert!(!body.contains("{{"), "{body}");
                bodies.push(body);
            }
            assert_ne!(bodies[0], bodies[1], "{subject:?}");
        }
    }

    #[test]
    fn whom_to_ask_is_a_link_where_it_can_be() {
        for (text, expected) in [
            ("", ""),
            ("it@example.org", "<a href=\"mailto:it@example.org\">it@example.org</a>"),
            (
                "https://help.example/?a&b",
                "<a href=\"https://help.example/?a&amp;b\">https://help.example/?a&amp;b</a>",
            ),
            ("tel:+49-89-1234", "<a href=\"tel:+49-89-1234\">tel:+49-89-1234</a>"),
            ("Frau Maier, Zimmer 12 <b>", "Frau Maier, Zimmer 12 &lt;b&gt;"),
            ("javascript:alert(1)", "javascript:alert(1)</p>"),
        ] {
            let made = contact(text, Language::German);
            assert!(made.contains(expected), "{made}");
            assert_eq!(made.contains("Wen Sie fragen können"), !text.is_empty());
        }
    }

    #[test]
    fn who_must_say_his_name_is_told_how() {
        let text = String::from_utf8(Page::unknown_user("Lockgate", "no name").bytes(&about())).unwrap();
        assert!(text.starts_with("HTTP/1.1 407 Proxy Authentication Required\r\n"), "{text}");
        assert!(
            text.contains("\r\nProxy-Authenticate: Basic realm=\"Lockgate\", charset=\"UTF-8\"\r\n"),
            "{text}"
        );
    }
}
