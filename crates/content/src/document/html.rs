//! Pages and scripts: `data:` URLs, encoded scripts and files in strings are children. Rule: text without any costs one search for
//! two characters, and a look at one place in 128.
//!
//! Neither quotes nor tags are believed: whatever looks like the beginning of one begins it, within another as well, so
//! that nothing is hidden by a context that a browser sees otherwise.

mod data_url;
mod run;
pub(super) mod script;
pub(super) mod strings;

use super::outbox::Outbox;
use super::parser::{Parser, ParserDecoder};
use crate::decoder::{Decoder, Entry};
use data_url::{Body, HEAD_BYTES_MAX};
use lockgate_model::Reason;
use run::{Finder, Run, Took};
use script::Script;

/// The last bytes that are remembered: a scheme, and what stands before it.
const RECENT_BYTES: usize = 6;
const SCHEME: &[u8] = b"data:";

/// A page on its way.
struct Html {
    place: Place,
    recent: [u8; RECENT_BYTES],
    children: u32,
    finder: Finder,
}

enum Place {
    Text,
    /// Behind `data:`, with the byte before it.
    Head(u8, Vec<u8>),
    /// Behind the comma.
    Url(u8, Body),
    /// Behind what begins an encoded script.
    Length(Vec<u8>),
    Script(Script),
    /// In a long row of base64.
    Run(Run),
}

/// What begins with a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Nothing,
    Url,
    Script,
}

/// A decoder of pages and scripts.
pub fn decoder() -> impl Decoder {
    ParserDecoder::of(Html {
        place: Place::Text,
        recent: [b' '; RECENT_BYTES],
        children: 0,
        finder: Finder::default(),
    })
}

impl Html {
    fn remember(&mut self, byte: u8) {
        self.recent.rotate_left(1);
        self.recent[RECENT_BYTES - 1] = byte;
    }

    /// Takes notice of a byte: whether something begins behind it.
    fn meet(&mut self, byte: u8) -> Begins {
        self.remember(byte);
        let [before, scheme @ ..] = &self.recent;
        if byte == b':' && scheme.eq_ignore_ascii_case(SCHEME) && !before.is_ascii_alphanumeric() {
            Begins::Url
        } else if byte == b'^' && self.recent.ends_with(script::BEGIN) {
            Begins::Script
        } else {
            Begins::Nothing
        }
    }

    fn begin(&mut self, begins: Begins) {
        self.place = match begins {
            Begins::Nothing => return,
            Begins::Url => Place::Head(self.recent[0], Vec::new()),
            Begins::Script => Place::Length(Vec::new()),
        };
    }

    /// Looks for the next beginning.
    fn text(&mut self, input: &[u8]) -> usize {
        let Some(at) = memchr::memchr2(b':', b'^', input) else {
            input[input.len().saturating_sub(RECENT_BYTES)..].iter().for_each(|byte| self.remember(*byte));
            return input.len();
        };
        input[at.saturating_sub(RECENT_BYTES)..at].iter().for_each(|byte| self.remember(*byte));
        let begins = self.meet(input[at]);
        self.begin(begins);
        at + 1
    }

    fn open(&mut self, kind: &str, declared: Option<String>, out: &mut Outbox) {
        self.children += 1;
        out.open(Entry { label: format!("{kind}.{}", self.children), name: None, declared });
    }

    /// A byte of a URL's head.
    fn head(&mut self, opener: u8, mut head: Vec<u8>, byte: u8, out: &mut Outbox) -> usize {
        if byte == b','
            && let Some(found) = data_url::head(&head)
        {
            self.remember(byte);
            self.open("data", found.media_type, out);
            self.place = Place::Url(opener, Body::new(found.coding));
            return 1;
        }
        if head.len() >= HEAD_BYTES_MAX || !data_url::is_head(byte) {
            return 0;
        }
        let begins = self.meet(byte);
        head.push(byte);
        self.place = Place::Head(opener, head);
        self.begin(begins);
        1
    }

    /// Bytes of a URL.
    fn url(&mut self, opener: u8, mut body: Body, input: &[u8], out: &mut Outbox) -> usize {
        let mut made = Vec::new();
        let mut used = 0;
        let mut begins = Begins::Nothing;
        let mut is_over = false;
        for byte in input {
            is_over = ends(opener, *byte) || !body.takes(*byte);
            if is_over {
                break;
            }
            used += 1;
            begins = self.meet(*byte);
            if begins != Begins::Nothing {
                break;
            }
            body.push(*byte, &mut made);
        }
        if is_over || begins != Begins::Nothing {
            body.finish(&mut made);
        }
        out.bytes(&made);
        if is_over || begins != Begins::Nothing {
            out.close();
            self.begin(begins);
        } else {
            self.place = Place::Url(opener, body);
        }
        used
    }

    fn length(&mut self, mut length: Vec<u8>, byte: u8, out: &mut Outbox) -> usize {
        length.push(byte);
        let begins = self.meet(byte);
        if begins != Begins::Nothing {
            self.begin(begins);
        } else if length.len() < script::LENGTH_BYTES {
            self.place = Place::Length(length);
        } else if let Some(script) = Script::new(&length) {
            self.open("script", None, out);
            self.place = Place::Script(script);
        }
        1
    }

    fn script(&mut self, mut script: Script, input: &[u8], out: &mut Outbox) -> usize {
        let mut made = Vec::new();
        let mut used = 0;
        let mut begins = Begins::Nothing;
        for byte in input {
            if script.is_done() {
                break;
            }
            used += 1;
            begins = self.meet(*byte);
            if begins != Begins::Nothing {
                break;
            }
            made.extend(script.byte(*byte));
        }
        out.bytes(&made);
        if begins != Begins::Nothing {
            // Its length was a lie.
            out.broken(Reason::Damaged);
            self.begin(begins);
        } else if script.is_done() {
            out.close();
        } else {
            self.place = Place::Script(script);
        }
        used
    }
}

impl Html {
    /// A long row of base64 begins with these bytes, which have been passed.
    fn begin_run(&mut self, before: &[u8], out: &mut Outbox) {
        let mut run = Run::new();
        let mut made = Vec::new();
        for byte in before {
            match run.push(*byte, &mut made) {
                Took::Byte => {}
                Took::Begin => self.open("base64", None, out),
                // It has ended before it was met.
                Took::Nothing => return self.end_run(run, &mut made, out),
            }
        }
        out.bytes(&made);
        self.place = Place::Run(run);
    }

    /// Bytes of a run: how many were used, and whether it has ended.
    fn run(&mut self, mut run: Run, input: &[u8], out: &mut Outbox) -> (usize, bool) {
        let mut made = Vec::new();
        for (at, byte) in input.iter().enumerate() {
            match run.push(*byte, &mut made) {
                Took::Byte => {}
                Took::Begin => self.open("base64", None, out),
                Took::Nothing => {
                    self.end_run(run, &mut made, out);
                    input[at.saturating_sub(RECENT_BYTES)..at].iter().for_each(|byte| self.remember(*byte));
                    return (at, true);
                }
            }
        }
        input[input.len().saturating_sub(RECENT_BYTES)..].iter().for_each(|byte| self.remember(*byte));
        out.bytes(&made);
        self.place = Place::Run(run);
        (input.len(), false)
    }

    fn end_run(&mut self, mut run: Run, made: &mut Vec<u8>, out: &mut Outbox) {
        let was_file = run.is_file();
        run.finish(made);
        if was_file {
            out.bytes(made);
            out.close();
        }
    }
}

/// Whether a URL that began behind one byte ends with another.
fn ends(opener: u8, byte: u8) -> bool {
    match opener {
        b'"' | b'\'' | b'`' => byte == opener,
        b'(' => byte == b')',
        _ => byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b')' | b'`'),
    }
}

impl Parser for Html {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let mut used = 0;
        let mut known = if matches!(self.place, Place::Run(_)) { None } else { self.finder.find(input) };
        while used < input.len() {
            if let Some((at, before)) = known.take_if(|(at, _)| *at <= used) {
                if matches!(self.place, Place::Text) && at == used {
                    self.begin_run(&before, out);
                }
                if !matches!(self.place, Place::Run(_)) {
                    known = self.finder.find(input);
                }
                continue;
            }
            let rest = &input[used..known.as_ref().map_or(input.len(), |(at, _)| *at)];
            used += match std::mem::replace(&mut self.place, Place::Text) {
                Place::Text => self.text(rest),
                Place::Head(opener, head) => self.head(opener, head, rest[0], out),
                Place::Url(opener, body) => self.url(opener, body, rest, out),
                Place::Length(length) => self.length(length, rest[0], out),
                Place::Script(script) => self.script(script, rest, out),
                Place::Run(run) => {
                    let (taken, is_over) = self.run(run, rest, out);
                    if is_over {
                        self.finder.pass(used + taken);
                        known = self.finder.find(input);
                    }
                    taken
                }
            };
        }
        self.finder.advance(input);
        used
    }

    fn finish(&mut self, out: &mut Outbox) {
        match std::mem::replace(&mut self.place, Place::Text) {
            Place::Url(_, mut body) => {
                let mut made = Vec::new();
                body.finish(&mut made);
                out.bytes(&made);
                out.close();
            }
            Place::Run(run) => self.end_run(run, &mut Vec::new(), out),
            Place::Script(script) if script.is_done() => out.close(),
            Place::Script(_) => out.broken(Reason::Truncated),
            Place::Text | Place::Head(..) | Place::Length(_) => {}
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        if matches!(self.place, Place::Text) { 300 } else { 4_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::script::tests::encode;
    use super::*;
    use crate::samples::{children, complains};
    use crate::trace::{Said, assert_cut_invariant, trace};

    fn open() -> Box<dyn Decoder> {
        Box::new(decoder())
    }

    fn found(page: &str) -> Vec<(String, String)> {
        let said = assert_cut_invariant(&open, page.as_bytes());
        assert!(!complains(&said), "{page}: {said:?}");
        children(&said).into_iter().map(|(label, bytes)| (label, String::from_utf8(bytes).unwrap())).collect()
    }

    #[test]
    fn data_urls() {
        let cases: [(&str, &[&str]); 13] = [
            ("<a href=\"data:text/plain;base64,YWJj\">", &["abc"]),
            ("<img src='DATA:image/png;base64,YW Jj\nZA=='>", &["abcd"]),
            ("<a href=data:,a%20b%2Cc>x", &["a b,c"]),
            ("p{background:url(data:image/gif;base64,YWI=)}", &["ab"]),
            ("p{background:url( \"data:image/gif;charset=x;base64,YWI%3D\" )}", &["ab"]),
            ("data:text/html,<b>%zz</b> ", &[""]),
            ("\"data:text/html,<b>%zz</b>\"", &["<b>%zz</b>"]),
            ("\"data:text/html,<img src='data:text/plain,in'>\"", &["<img src='data", "in"]),
            ("'\"data:,'> <a href='data:a/b;base64,YWJj'>", &["'> <a href='data", "abc"]),
            ("some data: and, more metadata:a/b,c", &[]),
            ("data:data:a/b,c d", &["c"]),
            ("data:", &[]),
            ("\"data:;base64,YW", &["a"]),
        ];
        for (page, expected) in cases {
            let contents: Vec<String> = found(page).into_iter().map(|c| c.1).collect();
            assert_eq!(contents, expected, "{page}");
        }
        // The scheme is base64 as well.
        let said = assert_cut_invariant(&open, b"\"data:a/b;base64,YWJj data:a/b,x\"");
        assert_eq!(children(&said).last().unwrap().1, b"x");
        let said = trace(&mut *open(), [&b"'data:Image/PNG;base64,YQ=='"[..]]);
        assert!(matches!(&said[0], Said::Open(entry) if entry.declared.as_deref() == Some("image/png")));
    }

    #[test]
    fn encoded_scripts() {
        let script = "var a = \"<x@y>\";\r\n\talert(a); // \u{e9} and a long line to go round the table of picks, twice at least.";
        let page =
            [b"<script language=JScript.Encode>", &encode(script.as_bytes())[..], b"</script> 'data:,x'"]
                .concat();
        let said = assert_cut_invariant(&open, &page);
        let expected =
            [("script.1".to_owned(), script.as_bytes().to_vec()), ("data.2".to_owned(), b"x".to_vec())];
        assert_eq!(children(&said), expected);
        assert!(!complains(&said));
        let lie = b"#@~^////fw==hidden 'data:,x'";
        let said = assert_cut_invariant(&open, lie);
        assert!(complains(&said) && children(&said)[1].1 == b"x");
        assert!(complains(&assert_cut_invariant(&open, &page[..80])));
    }
}
