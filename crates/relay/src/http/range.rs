//! A part of content that a client asks for (RFC 9110 section 14): [`Range`], [`Window`]. Rule: what is inspected is the
//! whole; only what of it the client asked for leaves.
//!
//! A server is not asked for ranges: a virus fetched in two would be seen by nobody. It sends the whole, which is inspected
//! from its first byte, and the gateway answers the range out of that. So a download that was broken off goes on.

use lockgate_inspect::Released;
use lockgate_proto::http::{Fields, Framing, RequestHead, ResponseHead};

/// The one range that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    span: Span,
    /// Only if the content is still this: an ETag or a date.
    condition: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    From(u64),
    Between(u64, u64),
    Last(u64),
}

/// What of the whole leaves.
#[derive(Debug)]
pub struct Window {
    skip: u64,
    take: u64,
    /// The piece that completes it, which waits for the verdict on the whole.
    last: Option<Released<'static>>,
}

impl Range {
    /// Reads what a request asks for. Of several ranges, or what is none, the whole is sent, as RFC 9110 allows.
    pub fn asked_for(head: &RequestHead) -> Option<Self> {
        let mut all = head.fields.all("range");
        let value = all.next().filter(|_| head.method == b"GET")?;
        if all.next().is_some() {
            return None;
        }
        let (unit, spec) = std::str::from_utf8(value).ok()?.trim().split_once('=')?;
        let (first, last) = spec.trim().split_once('-')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let span = match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Span::Between(first, last),
            (Some(first), None) if last.trim().is_empty() => Span::From(first),
            (None, Some(last)) if first.trim().is_empty() => Span::Last(last),
            _ => return None,
        };
        Some(Self { span, condition: head.fields.get("if-range").map(<[u8]>::to_vec) })
    }

    /// Turns the head of the whole into that of the range, if the whole can be answered by it; says what of the whole then
    /// leaves, and its framing.
    pub fn of(&self, head: &mut ResponseHead, framing: Framing) -> Option<(Window, Framing)> {
        let Framing::Length(whole) = framing else { return None };
        if head.status != 200 || !self.is_met(&head.fields) || head.fields.get("content-range").is_some() {
            return None;
        }
        let (skip, end) = match self.span {
            Span::From(first) => (first, whole),
            Span::Between(first, last) => (first, last.saturating_add(1).min(whole)),
            Span::Last(count) => (whole.saturating_sub(count), whole),
        };
        let is_there = skip < end;
        let take = if is_there { end - skip } else { 0 };
        let said = match is_there {
            true => format!("bytes {skip}-{}/{whole}", end - 1),
            false => format!("bytes */{whole}"),
        };
        let (status, reason) =
            if is_there { (206, "Partial Content") } else { (416, "Range Not Satisfiable") };
        (head.status, head.reason) = (status, reason.as_bytes().to_vec());
        // What these say is true of the whole.
        for name in ["content-md5", "digest", "content-digest"] {
            head.fields.remove(name);
        }
        head.fields.push(b"Content-Range", said.as_bytes());
        Some((Window { skip, take, last: None }, Framing::Length(take)))
    }

    /// Whether the content is what the client has the rest of: by a strong ETag, or by the very date (section 13.1.5).
    fn is_met(&self, fields: &Fields) -> bool {
        let Some(condition) = &self.condition else { return true };
        let of_content = if condition.starts_with(b"\"") { "etag" } else { "last-modified" };
        !condition.starts_with(b"W/") && fields.get(of_content) == Some(condition)
    }
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

impl Window {
    /// What of content that was let go leaves now. What completes the range leaves when the whole was judged, and until
    /// then the client knows that something is missing.
    pub fn pass(&mut self, released: Released<'_>, is_last: bool) -> Released<'static> {
        let part = released.part(&mut self.skip, &mut self.take).into_owned();
        if is_last {
            return self.last.take().map_or(Released::default(), |last| last).followed_by(part);
        }
        if self.take == 0 && !part.is_empty() {
            self.last = Some(part);
            return Released::default();
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_proto::http::{Target, Version};

    fn fields(lines: &[(&str, &str)]) -> Fields {
        lines.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
    }

    fn range(value: &str, condition: Option<&str>) -> Option<Range> {
        let mut lines = vec![("Range", value)];
        lines.extend(condition.map(|condition| ("If-Range", condition)));
        let fields = fields(&lines);
        let target = Target::Origin(b"/".to_vec());
        Range::asked_for(&RequestHead { method: b"GET".to_vec(), target, version: Version::Http11, fields })
    }

    #[test]
    fn one_range_is_answered_and_everything_else_by_the_whole() {
        let cases = [
            ("bytes=0-", Some((206, "bytes 0-99/100", 0, 100))),
            ("bytes=10-", Some((206, "bytes 10-99/100", 10, 90))),
            ("Bytes = 10 - 19", Some((206, "bytes 10-19/100", 10, 10))),
            ("bytes=90-1000", Some((206, "bytes 90-99/100", 90, 10))),
            ("bytes=-5", Some((206, "bytes 95-99/100", 95, 5))),
            ("bytes=-500", Some((206, "bytes 0-99/100", 0, 100))),
            ("bytes=100-", Some((416, "bytes */100", 100, 0))),
            ("bytes=-0", Some((416, "bytes */100", 100, 0))),
            ("bytes=0-1,5-6", None),
            ("bytes=5-4", None),
            ("bytes=-", None),
            ("bytes=+1-", None),
            ("lines=0-", None),
            ("bytes", None),
        ];
        for (value, expected) in cases {
            let mut head = ResponseHead {
                status: 200,
                reason: b"OK".to_vec(),
                version: Version::Http11,
                fields: fields(&[("ETag", "\"1\"")]),
            };
            let made = range(value, None).and_then(|range| range.of(&mut head, Framing::Length(100)));
            let seen = made.map(|(window, framing)| {
                assert_eq!(framing, Framing::Length(window.take));
                (
                    head.status,
                    String::from_utf8_lossy(head.fields.get("content-range").unwrap()).into_owned(),
                    window,
                )
            });
            let shown = seen
                .as_ref()
                .map(|(status, said, window)| (*status, said.as_str(), window.skip, window.take));
            assert_eq!(shown, expected, "{value}");
        }
    }

    #[test]
    fn only_what_the_client_has_the_rest_of_is_answered_by_a_range() {
        let date = "Sat, 21 Nov 2026 08:00:00 GMT";
        for (condition, tag, expected) in [
            (Some("\"1\""), "\"1\"", true),
            (Some("\"2\""), "\"1\"", false),
            (Some("W/\"1\""), "W/\"1\"", false),
            (Some("\"1\""), "W/\"1\"", false),
            (Some(date), "", true),
            (Some("Sat, 21 Nov 2026 08:00:01 GMT"), "", false),
        ] {
            let fields = fields(&[("ETag", tag), ("Last-Modified", date)]);
            let mut head = ResponseHead { status: 200, reason: Vec::new(), version: Version::Http11, fields };
            let made = range("bytes=1-", condition).unwrap().of(&mut head, Framing::Length(9));
            assert_eq!(made.is_some(), expected, "{condition:?} {tag}");
        }
        let mut head =
            ResponseHead { status: 200, reason: Vec::new(), version: Version::Http11, fields: fields(&[]) };
        assert!(range("bytes=1-", None).unwrap().of(&mut head, Framing::Chunked).is_none());
    }
}
