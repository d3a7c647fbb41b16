//! What the lists change of an exchange beside judging it: [`Changes`], and of a page, [`Replacing`]. Rule: what frames a message,
//! says whom it is for or how it is read is never changed, and what became of a page is inspected before it leaves.

use super::asked::Asked;
use lockgate_inspect::{Coding, Root, Undone, undo};
use lockgate_model::rewrite::{Asking, Line, Replaced, Rewriter, Rewriting};
use lockgate_model::{Grant, Pool};
use lockgate_proto::http::{Fields, ResponseHead, Scheme};
use std::net::IpAddr;
use std::sync::Arc;

/// Fields that no rule changes, adds or takes away.
const KEPT: [&str; 16] = [
    "host",
    "content-length",
    "transfer-encoding",
    "content-encoding",
    "content-type",
    "content-range",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "range",
    "proxy-authorization",
    "proxy-authenticate",
    "proxy-connection",
];
/// Fields that say something of a page as it came.
const OF_CONTENT: [&str; 7] =
    ["content-encoding", "content-md5", "digest", "content-digest", "repr-digest", "etag", "accept-ranges"];

/// What becomes of one exchange.
#[derive(Default)]
pub struct Changes {
    rewriter: Option<Arc<dyn Rewriter>>,
    /// Of the request.
    pub request: Rewriting,
}

impl Changes {
    /// What a group's lists make of a request.
    pub fn of(rewriter: Option<Arc<dyn Rewriter>>, asked: &Asked, client: IpAddr) -> Self {
        let Some(rewriter) = rewriter else { return Self::default() };
        let request = rewriter.request(&Asking {
            client,
            scheme: asked.scheme(),
            is_tunnel: asked.is_tunnel(),
            host: &asked.host,
            uri: asked.path().as_bytes(),
            header: asked.header(),
        });
        Self { rewriter: Some(rewriter), request }
    }

    /// Where the client is sent, and by which rules: there, or where the server that it is led to cannot be asked for it.
    pub fn leads_to(&self, asked: &Asked) -> Option<(String, String)> {
        let is_elsewhere = |url: &Vec<u8>| {
            asked.scheme() == Scheme::Http.name()
                && url.get(..8).is_some_and(|s| s.eq_ignore_ascii_case(b"https://"))
        };
        let url = self.request.url.as_ref().filter(|url| is_elsewhere(url));
        let to = self.request.redirect.as_ref().or(url)?;
        Some((written(to), self.request.rules.join(", ")))
    }

    /// Changes the lines of a response's header.
    pub fn of_response(&self, fields: &mut Fields) {
        if let Some(rewriter) = &self.rewriter {
            edit(fields, &rewriter.response(&super::asked::lines(fields)));
        }
    }

    /// The rules for the content of this response, where there are any and it is text.
    pub fn of_content(&self, head: &ResponseHead, content_type: &str) -> Option<Arc<dyn Rewriter>> {
        let is_page = head.status >= 200 && !matches!(head.status, 204 | 206 | 304) && is_text(content_type);
        self.rewriter.clone().filter(|_| is_page && self.request.changes_content)
    }
}

/// Whether a media type, in lower case and without parameters, is text that people or browsers read.
fn is_text(media_type: &str) -> bool {
    let (main, sub) = media_type.split_once('/').unwrap_or((media_type, ""));
    let sub = sub.rsplit('+').next().unwrap_or_default();
    (main == "text" && sub != "event-stream")
        || (main == "application"
            && matches!(sub, "xml" | "json" | "javascript" | "x-javascript" | "ecmascript" | "xhtml"))
}

/// Changes the lines of a header: they are numbered as [`lines`](super::asked::lines) writes them.
pub fn edit(fields: &mut Fields, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    let mut edited = Fields::new();
    for (at, (name, value)) in fields.iter().enumerate() {
        let line = lines.iter().find(|line| line.at == Some(at)).filter(|_| !is_kept(name));
        match line {
            None => edited.push(name, value),
            Some(line) if line.text.is_empty() => {}
            Some(line) => match field(&line.text) {
                Some((name, value)) => edited.push(name, value),
                None => edited.push(name, value),
            },
        }
    }
    let added = lines.iter().filter(|line| line.at.is_none()).filter_map(|line| field(&line.text));
    added.for_each(|(name, value)| edited.push(name, value));
    *fields = edited;
}

/// An address as it may stand in a field: what may not is escaped (RFC 3986 section 2.1).
fn written(url: &[u8]) -> String {
    let mut out = String::with_capacity(url.len());
    for byte in url {
        match byte {
            b'!'..=b'~' => out.push(char::from(*byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A line as a field; `None` where it is none, or one that no rule may write.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let is_field = !name.is_empty() && name.iter().all(is_of_name) && !is_kept(name);
    let is_value = !value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t');
    (is_field && is_value).then_some((name, value))
}

fn is_kept(name: &[u8]) -> bool {
    KEPT.iter().any(|kept| name.eq_ignore_ascii_case(kept.as_bytes()))
}

/// A page on its way to what rules make of it: a step at a time, each one coding or one rule.
pub struct Replacing {
    rewriter: Arc<dyn Rewriter>,
    content: Vec<u8>,
    /// Still to be undone, the outermost last.
    codings: Vec<Coding>,
    rule: usize,
    rules: usize,
    by: Vec<Arc<str>>,
    bytes_max: usize,
    pool: Arc<Pool>,
    grant: Grant,
}

/// What became of a page.
pub enum Became {
    /// It is still on its way.
    Going,
    /// What it was.
    Same,
    /// Something else, by these rules.
    Other(Vec<u8>, String),
    /// What it was, since it cannot be replaced, and why.
    Left(&'static str),
}

/// Why a page that was too long for it was left as it came.
pub const TOO_LONG: &str = "not replaced: longer than webfilter.hold_bytes_max";
const NO_ROOM: &str = "not replaced: the budget of held bytes is spent";
const UNREADABLE: &str = "not replaced: its codings cannot be undone";

impl Replacing {
    /// A page that was held whole.
    pub fn new(
        rewriter: Arc<dyn Rewriter>,
        content: Vec<u8>,
        root: &Root,
        bytes_max: usize,
        pool: &Arc<Pool>,
    ) -> Self {
        let codings = match root {
            Root::Coded(codings) | Root::Form { codings, .. } => codings.iter().rev().copied().collect(),
            Root::File | Root::Mail => Vec::new(),
        };
        let rules = rewriter.content_rules();
        let (rule, by, grant) = (0, Vec::new(), pool.grant());
        Self { rewriter, content, codings, rule, rules, by, bytes_max, pool: Arc::clone(pool), grant }
    }

    /// One step.
    pub fn step(&mut self) -> Became {
        if let Some(coding) = self.codings.pop() {
            return match undo(coding, &self.content, self.bytes_max, &self.pool) {
                Undone::Whole(content) => self.take(content),
                Undone::TooLong => Became::Left(TOO_LONG),
                Undone::Broken => Became::Left(UNREADABLE),
            };
        }
        if self.rule >= self.rules {
            return match self.by.is_empty() {
                true => Became::Same,
                false => {
                    let by = format!("replaced by {}", self.by.join(", "));
                    Became::Other(std::mem::take(&mut self.content), by)
                }
            };
        }
        let replaced = self.rewriter.replace(self.rule, &self.content, self.bytes_max);
        self.rule += 1;
        match replaced {
            Replaced::Nothing => Became::Going,
            Replaced::With(content, by) => {
                self.by.push(by);
                self.take(content)
            }
            Replaced::TooLong => Became::Left(TOO_LONG),
        }
    }

    fn take(&mut self, content: Vec<u8>) -> Became {
        self.grant.clear();
        if self.grant.grow(content.len() as u64).is_err() {
            return Became::Left(NO_ROOM);
        }
        self.content = content;
        Became::Going
    }
}

/// The head of a page that has become another one.
pub fn head_of_replaced(mut head: ResponseHead, bytes: usize) -> ResponseHead {
    for name in OF_CONTENT {
        head.fields.remove(name);
    }
    // What would have come behind it was said of the other one.
    ["content-length", "trailer"].iter().for_each(|name| head.fields.remove(name));
    head.fields.push(b"Content-Length", bytes.to_string().as_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &str)]) -> Fields {
        lines.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
    }

    #[test]
    fn lines_that_may_change_do() {
        let line = |at, text: &str| Line { at, text: text.as_bytes().to_vec() };
        let before = [("Accept", "x"), ("Cookie", "a"), ("Content-Length", "3"), ("DNT", "1"), ("X", "y")];
        let mut edited = fields(&before);
        edit(
            &mut edited,
            &[
                line(Some(0), ""),
                line(Some(1), "cookie: b;c"),
                line(Some(2), "X-Length: 4"),
                line(Some(3), "Transfer-Encoding: chunked"),
                line(Some(4), "no line"),
                line(None, "YouTube-Restrict: Strict"),
                line(None, "Host: b.example"),
                line(None, "X: a\r\nY: b"),
                line(None, "bad name: b"),
            ],
        );
        let after = [
            ("cookie", "b;c"),
            ("Content-Length", "3"),
            ("DNT", "1"),
            ("X", "y"),
            ("YouTube-Restrict", "Strict"),
        ];
        let after: Vec<_> = after.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        assert_eq!(edited.iter().collect::<Vec<_>>(), after);
    }

    #[test]
    fn text_is_told_from_other_content() {
        for (media_type, expected) in [
            ("text/html", true),
            ("text/event-stream", false),
            ("application/xhtml+xml", true),
            ("application/ld+json", true),
            ("application/javascript", true),
            ("application/zip", false),
            ("image/png", false),
            ("", false),
        ] {
            assert_eq!(is_text(media_type), expected, "{media_type}");
        }
    }
}
