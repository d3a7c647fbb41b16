//! Files within text: uuencode (POSIX, both of its forms), yEnc, BinHex. Rule: text without any costs a search for a few words.

use super::base64::{self, Base64};
use super::binhex::{self, BinHex};
use super::limits::BEGIN_LINE_BYTES_MAX;
use super::uuencoded::{self, Line};
use super::words::decode_words;
use super::yenc::{self, Announced, Yenc};
use crate::decoder::{Decoder, Entry, Event, More, Step};
use lockgate_model::Reason;
use memchr::memmem::Finder;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// What a line may begin with that announces a file.
const BEGINNINGS: [&[u8]; 4] = [b"begin ", b"begin-", yenc::BEGIN, binhex::BEGIN];

/// The same as far as one search goes, with the end of the line before it.
static FINDERS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| [Finder::new(b"\nbegin"), Finder::new(b"\n=ybegin"), Finder::new(b"\n(This file")]);

/// How much room the output needs for one line of either form of uuencode.
const LINE_ROOM_BYTES: usize = BEGIN_LINE_BYTES_MAX + base64::ROOM_BYTES_MIN;

/// Finds the files in a text part; each is a child.
#[derive(Debug)]
pub struct EmbeddedDecoder {
    place: Place,
    /// The line that is being read.
    line: Vec<u8>,
    /// Numbers the children.
    children: u32,
    due: VecDeque<Event>,
}

/// Where in the text.
#[derive(Debug)]
enum Place {
    Text,
    /// At the beginning of a line that may announce a file.
    LineStart,
    /// In such a line, behind what it begins with.
    BeginLine,
    /// Behind the line of uuencode: data, if the next line is some.
    FirstLine {
        name: Vec<u8>,
        form: Form,
    },
    /// In uuencoded data. A line that has been read whole may still have to be decoded.
    Data {
        form: Form,
        is_due: bool,
    },
    Yenc(Yenc),
    BinHex(Box<BinHex>),
    Over,
}

/// How uuencoded data is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Historical,
    Base64(Base64),
}

impl Default for EmbeddedDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl EmbeddedDecoder {
    /// For one text part.
    pub fn new() -> Self {
        Self { place: Place::LineStart, line: Vec::new(), children: 0, due: VecDeque::new() }
    }
}

impl Decoder for EmbeddedDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.due.pop_front() {
            return Step::new(0, event);
        }
        match &mut self.place {
            Place::Over => Step::new(0, Event::End),
            Place::Text | Place::LineStart if input.is_empty() && more == More::Ended => {
                self.place = Place::Over;
                Step::new(0, Event::End)
            }
            Place::Text => self.search(input),
            Place::LineStart => self.line_start(input),
            Place::Data { form, is_due } => {
                let (form, is_due) = (*form, *is_due);
                self.data(form, is_due, input, more, scratch)
            }
            Place::Yenc(yenc) => {
                let run = yenc.decode(input, scratch);
                let is_dry = run.made == 0 && run.used == input.len() && more == More::Ended;
                let is_ended = run.is_ended || is_dry;
                if is_ended {
                    let is_whole = run.is_ended || yenc.finish();
                    let event = if is_whole { Event::Close } else { Event::Broken(Reason::Truncated) };
                    self.due.push_back(event);
                    self.place = Place::LineStart;
                }
                let is_hungry = run.made == 0 && !is_ended && run.used == input.len();
                let event = match run.made {
                    0 if is_hungry && more == More::Follows => Event::NeedInput,
                    0 => Event::Working,
                    made => Event::Output(made),
                };
                Step::new(run.used, event)
            }
            Place::BinHex(file) => {
                let step = file.step(input, more, scratch);
                if file.is_over() {
                    self.place = Place::Text;
                }
                step
            }
            Place::BeginLine | Place::FirstLine { .. } => {
                let (used, is_whole) = self.read_line(input, more);
                if is_whole {
                    return Step::new(used, self.begin());
                }
                Step::new(used, Event::NeedInput)
            }
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        match self.place {
            Place::Data { .. } => 2_000,
            Place::BinHex(_) => 8_000,
            Place::Yenc(_) => 1_000,
            _ => 200,
        }
    }
}

impl EmbeddedDecoder {
    /// Looks for the beginnings in what is at hand.
    fn search(&mut self, input: &[u8]) -> Step {
        let found = FINDERS.iter().filter_map(|finder| finder.find(input)).min();
        // What the input ends with may be the beginning of one.
        let longest = BEGINNINGS.iter().map(|beginning| beginning.len()).max().unwrap_or_default();
        let tail = input.len().saturating_sub(longest);
        let line = || memchr::memrchr(b'\n', &input[tail..]).map(|at| tail + at);
        match found.or_else(line) {
            Some(at) => {
                self.place = Place::LineStart;
                Step::new(at + 1, Event::Working)
            }
            None => Step::new(input.len(), if input.is_empty() { Event::NeedInput } else { Event::Working }),
        }
    }

    /// At the beginning of a line: whether it is one of those that announce a file.
    fn line_start(&mut self, input: &[u8]) -> Step {
        for (at, byte) in input.iter().enumerate() {
            self.line.push(*byte);
            if BEGINNINGS.contains(&self.line.as_slice()) {
                self.place = Place::BeginLine;
                return Step::new(at + 1, Event::Working);
            }
            if !BEGINNINGS.iter().any(|beginning| beginning.starts_with(&self.line)) {
                self.line.clear();
                // The byte may be a line end, and the next line one of them.
                self.place = if *byte == b'\n' { Place::LineStart } else { Place::Text };
                return Step::new(at + 1, Event::Working);
            }
        }
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
        let place = std::mem::replace(&mut self.place, Place::LineStart);
        if let Place::FirstLine { name, form } = place
            && form.could_begin_with(text)
        {
            self.line = line;
            self.place = Place::Data { form, is_due: true };
            return self.open("uuencode", &name);
        }
        // Prose; but it may itself announce data.
        if let Some(announced) = Announced::read(text) {
            self.place = Place::Yenc(Yenc::default());
            if announced.is_piece {
                self.due.push_back(Event::Incomplete(Reason::Partial));
            }
            return self.open("yenc", &announced.name);
        }
        if text.starts_with(binhex::BEGIN) {
            self.children += 1;
            self.place = Place::BinHex(Box::new(BinHex::new(format!("binhex.{}", self.children))));
        } else if let Some(rest) = text.strip_prefix(b"begin") {
            self.place = announced(rest);
        }
        Event::Working
    }

    fn open(&mut self, form: &str, name: &[u8]) -> Event {
        self.children += 1;
        let label = format!("{form}.{}", self.children);
        let name = (!name.is_empty()).then(|| decode_words(name));
        Event::Open(Box::new(Entry { label, name, declared: None }))
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
            self.place = Place::LineStart;
            self.line = Vec::new();
        }
        if made > 0 {
            self.due.extend(event);
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
        return Place::LineStart;
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
        let said = assert_cut_invariant(&|| Box::new(EmbeddedDecoder::new()), text.as_bytes());
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

    #[test]
    fn yenc_within_text() {
        let said = |text: &[u8]| assert_cut_invariant(&|| Box::new(EmbeddedDecoder::new()), text);
        let open = |label: &str| {
            Said::Open(Entry { label: label.into(), name: Some("a b.zip".into()), declared: None })
        };
        let data = Said::Bytes(b"abc\0".to_vec());
        let file = b"=ybegin line=128 size=4 name=a b.zip\r\n\x8b\x8c\r\n\x8d=\x6a\r\n";
        let text = [b"prose\n", &file[..], b"=yend size=4\r\n", file, b"=yend\nmore"].concat();
        let both =
            [open("yenc.1"), data.clone(), Said::Close, open("yenc.2"), data.clone(), Said::Close, Said::End];
        assert_eq!(said(&text), both);
        assert_eq!(said(file), [open("yenc.1"), data.clone(), Said::Broken(Reason::Truncated), Said::End]);
        let piece = [b"=ybegin part=1 line=9 size=4 name=a b.zip\n", &file[38..], b"=yend"].concat();
        let expected = [open("yenc.1"), Said::Incomplete(Reason::Partial), data, Said::Close, Said::End];
        assert_eq!(said(&piece), expected);
        assert_eq!(said(b"=ybegin of a sentence\nand its end"), [Said::End]);
    }
}
