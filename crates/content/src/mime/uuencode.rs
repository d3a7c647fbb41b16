//! Uuencoded data within text (POSIX `uuencode`, both of its forms). Rule: text without any costs one search for a word.

use super::base64::{self, Base64};
use super::limits::BEGIN_LINE_BYTES_MAX;
use super::uuencoded::{self, Line};
use super::words::decode_words;
use crate::decoder::{Decoder, Entry, Event, More, Step};
use lockgate_model::Reason;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What a line that begins data starts with, and the end of the line before it.
const BEGIN: &[u8] = b"\nbegin";

static BEGIN_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(BEGIN));

/// How much room the output needs for one line of either form.
const LINE_ROOM_BYTES: usize = BEGIN_LINE_BYTES_MAX + base64::ROOM_BYTES_MIN;

/// Finds what is uuencoded in a text part; each piece is a child.
#[derive(Debug)]
pub struct UuencodeDecoder {
    place: Place,
    /// The line that is being read.
    line: Vec<u8>,
    /// Numbers the children.
    children: u32,
    end: Option<Event>,
}

/// Where in the text.
#[derive(Debug)]
enum Place {
    /// In text, with so many bytes of [`BEGIN`] just seen; with all of them, the byte behind decides.
    Text {
        seen: usize,
    },
    /// Behind the word, in a line that may begin data.
    BeginLine,
    /// Behind such a line: data, if the next line is some.
    FirstLine {
        name: Vec<u8>,
        form: Form,
    },
    /// In data. A line that has been read whole may still have to be decoded.
    Data {
        form: Form,
        is_due: bool,
    },
    Over,
}

/// How the data is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Historical,
    Base64(Base64),
}

impl Default for UuencodeDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl UuencodeDecoder {
    /// For one text part.
    pub fn new() -> Self {
        // The text begins as if behind a line end.
        Self { place: Place::Text { seen: 1 }, line: Vec::new(), children: 0, end: None }
    }
}

impl Decoder for UuencodeDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.end.take() {
            return Step::new(0, event);
        }
        if let Place::Text { seen } = self.place {
            if let (true, More::Ended) = (input.is_empty(), more) {
                self.place = Place::Over;
                return Step::new(0, Event::End);
            }
            return self.search(input, seen);
        }
        match self.place {
            Place::Over => Step::new(0, Event::End),
            Place::Data { form, is_due } => self.data(form, is_due, input, more, scratch),
            _ => {
                let (used, is_whole) = self.read_line(input, more);
                if is_whole {
                    return Step::new(used, self.begin());
                }
                Step::new(used, Event::NeedInput)
            }
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        if matches!(self.place, Place::Data { .. }) { 2_000 } else { 100 }
    }
}

impl UuencodeDecoder {
    /// Looks for the word at the beginning of a line.
    fn search(&mut self, input: &[u8], seen: usize) -> Step {
        let due = &BEGIN[seen..];
        let common = due.iter().zip(input).take_while(|(a, b)| a == b).count();
        if common == input.len() {
            self.place = Place::Text { seen: seen + common };
            return Step::new(common, Event::NeedInput);
        }
        // "beginning" and the like are decided here, by the byte behind the word.
        let is_apart = |at: usize| input.get(at).is_some_and(|b| matches!(b, b' ' | b'-'));
        if seen > 0 && common == due.len() && is_apart(common) {
            self.place = Place::BeginLine;
            return Step::new(common, Event::Working);
        }
        let mut from = 0;
        while let Some(at) = BEGIN_FINDER.find(&input[from..]).map(|at| from + at) {
            from = at + BEGIN.len();
            if is_apart(from) {
                self.place = Place::BeginLine;
                return Step::new(from, Event::Working);
            }
        }
        let rest = &input[from..];
        let seen = (1..BEGIN.len()).rev().find(|length| rest.ends_with(&BEGIN[..*length])).unwrap_or(0);
        let seen = if rest.is_empty() && from > 0 { BEGIN.len() } else { seen };
        self.place = Place::Text { seen };
        Step::new(input.len(), Event::NeedInput)
    }

    /// Reads on in a line: how much was used, and whether it is whole. A line too long is whole, and foreign.
    fn read_line(&mut self, input: &[u8], more: More) -> (usize, bool) {
        let room = BEGIN_LINE_BYTES_MAX - self.line.len().min(BEGIN_LINE_BYTES_MAX);
        let near = &input[..input.len().min(room)];
        if let Some(at) = memchr::memchr(b'\n', near) {
            self.line.extend_from_slice(&near[..at]);
            return (at + 1, true);
        }
        self.line.extend_from_slice(near);
        let is_whole = near.len() == room || (near.len() == input.len() && more == More::Ended);
        (near.len(), is_whole)
    }

    /// A whole line, before data: the one that announces it, or the first of it.
    fn begin(&mut self) -> Event {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii_end();
        match std::mem::replace(&mut self.place, Place::Text { seen: 1 }) {
            Place::FirstLine { name, form } if form.could_begin_with(text) => {
                self.line = line;
                self.place = Place::Data { form, is_due: true };
                self.children += 1;
                let label = format!("uuencode.{}", self.children);
                let name = (!name.is_empty()).then(|| decode_words(&name));
                return Event::Open(Box::new(Entry { label, name, declared: None }));
            }
            // Prose; but it may itself announce data.
            Place::FirstLine { .. } => {
                if let Some(rest) = text.strip_prefix(&BEGIN[1..]) {
                    self.place = announced(rest);
                }
            }
            _ => self.place = announced(text),
        }
        Event::Working
    }

    /// Decodes lines for as long as there is room.
    fn data(&mut self, form: Form, is_due: bool, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        let (mut form, mut is_due) = (form, is_due);
        let (mut used, mut made) = (0, 0);
        let event = loop {
            if made + LINE_ROOM_BYTES > scratch.len() {
                break None;
            }
            if !is_due {
                let (step, is_whole) = self.read_line(&input[used..], more);
                used += step;
                if !is_whole {
                    break None;
                }
                if step == 0 && self.line.is_empty() {
                    break Some(Event::Broken(Reason::Truncated));
                }
            }
            is_due = false;
            let line = form.decode(self.line.trim_ascii_end(), &mut scratch[made..]);
            self.line.clear();
            match line {
                Line::Data(length) => made += length,
                Line::End => break Some(Event::Close),
                Line::Foreign => break Some(Event::Broken(Reason::Damaged)),
            }
        };
        self.place = Place::Data { form, is_due };
        if event.is_some() {
            if let Form::Base64(base64) = &mut form {
                made += base64.finish(&mut scratch[made..]);
            }
            self.place = Place::Text { seen: 1 };
            self.line = Vec::new();
        }
        if made > 0 {
            self.end = event;
            return Step::new(used, Event::Output(made));
        }
        let is_dry = used == input.len() && more == More::Follows && !is_due;
        Step::new(used, event.unwrap_or(if is_dry { Event::NeedInput } else { Event::Working }))
    }
}

/// What follows the word in a line that announces data: a mode in octal and a name.
fn announced(rest: &[u8]) -> Place {
    let (form, rest) = match rest.strip_prefix(b"-base64") {
        Some(rest) => (Form::Base64(Base64::default()), rest),
        None => (Form::Historical, rest),
    };
    let mode = rest.trim_ascii_start();
    let digits = mode.iter().take_while(|b| matches!(b, b'0'..=b'7')).count();
    let name = &mode[digits..];
    let is_apart = mode.len() < rest.len() && name.first().is_none_or(u8::is_ascii_whitespace);
    if !is_apart || !(3..=6).contains(&digits) {
        return Place::Text { seen: 1 };
    }
    Place::FirstLine { name: name.trim_ascii().to_vec(), form }
}

impl Form {
    /// Whether data could begin with that line: prose has lines that begin with the word, too.
    fn could_begin_with(self, line: &[u8]) -> bool {
        match self {
            Self::Base64(_) => line.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(b)),
            Self::Historical => uuencoded::is_line(line),
        }
    }

    /// Decodes one line.
    fn decode(&mut self, line: &[u8], output: &mut [u8]) -> Line {
        match self {
            Self::Base64(_) if line == b"====" => Line::End,
            Self::Base64(base64) => Line::Data(base64.decode(line, output).1),
            Self::Historical => uuencoded::decode_line(line, output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Said, assert_cut_invariant};

    /// The children of a text: name, bytes, and how they ended.
    fn children(text: &str) -> Vec<(Option<String>, Vec<u8>, Said)> {
        let said = assert_cut_invariant(&|| Box::new(UuencodeDecoder::new()), text.as_bytes());
        let mut children = Vec::new();
        let mut open = (None, Vec::new());
        for said in said {
            match said {
                Said::Open(entry) => open = (entry.name, Vec::new()),
                Said::Bytes(bytes) => open.1 = bytes,
                Said::Close | Said::Broken(_) => {
                    children.push((open.0.take(), std::mem::take(&mut open.1), said))
                }
                _ => {}
            }
        }
        children
    }

    #[test]
    fn texts() {
        use Reason::{Damaged, Truncated};
        type Child<'a> = (&'a str, &'a [u8], Said);
        let cases: &[(&str, &[Child])] = &[
            ("", &[]),
            ("begin", &[]),
            ("begin\r 644 x\n#86)C\nend\n", &[]),
            ("begin\t644 x\n#86)C\nend\n", &[]),
            ("prose\nbegin 644 of a sentence\nand its end\n", &[]),
            ("beginning 644 x\n#86)C\nend\n", &[]),
            ("xbegin 644 x\n#86)C\nend\n", &[]),
            ("begin 644 x.txt\n#86)C\n`\nend\n", &[("x.txt", b"abc", Said::Close)]),
            ("hello\r\nbegin 644 a b.exe \r\n#86)C\r\n \r\nend\r\nbye", &[("a b.exe", b"abc", Said::Close)]),
            ("begin 644 prose\nbegin 600 x\n#86)C\nend", &[("x", b"abc", Said::Close)]),
            ("begin 644 x\n#86)C\n", &[("x", b"abc", Said::Broken(Truncated))]),
            ("begin 644 x\n#86)C\n#86", &[("x", b"abca`\0", Said::Broken(Truncated))]),
            ("begin 644 x\n#86)C\nprose\n#86)C\nend", &[("x", b"abc", Said::Broken(Damaged))]),
            ("begin 644 e\nend\n", &[("e", b"", Said::Close)]),
            (
                "begin 644 x\n!80``\nend\n\nbegin 644 y\n!80\nend",
                &[("x", b"a", Said::Close), ("y", b"a", Said::Close)],
            ),
            ("begin-base64 644 z\nYWJj\nZA==\n====\n", &[("z", b"abcd", Said::Close)]),
            ("begin-base64 644 z\nYWJj", &[("z", b"abc", Said::Broken(Truncated))]),
        ];
        for (text, expected) in cases {
            let found = children(text);
            let found: Vec<_> =
                found.iter().map(|(n, b, s)| (n.as_deref().unwrap_or(""), &b[..], s.clone())).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn long_lines_and_much_data() {
        let line = format!("M{}\n", "86)C".repeat(15));
        let text = format!("begin 644 x\n{}`\nend\n{}\n", line.repeat(200), "x".repeat(5000));
        assert_eq!(children(&text), [(Some("x".to_owned()), b"abc".repeat(15 * 200), Said::Close)]);
        let long = format!("begin 644 {}\n#86)C\nend\n", "x".repeat(2 * BEGIN_LINE_BYTES_MAX));
        assert!(children(&long).is_empty());
    }
}
