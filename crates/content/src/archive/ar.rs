//! ar: System V's, GNU's and BSD's, as in Debian packages and libraries. Rule: each member is a part, those that are tables, too.
//!
//! The format is that of ar(5) of FreeBSD.

use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::{Field, label};
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"!<arch>\n";
const HEADER_BYTES: usize = 60;
const HEADER_END: [u8; 2] = *b"`\n";
/// Bytes of a name that are kept.
const NAME_BYTES_MAX: usize = 1024;
/// Bytes of the table of long names that are kept.
const TABLE_BYTES_MAX: u64 = 256 << 10;

/// An ar file on its way.
pub struct ArDecoder {
    expect: Expect,
    field: Field,
    /// Bytes of the member that are still to come, and whether one more fills it up.
    left: u64,
    is_odd: bool,
    /// The table of long names.
    table: Vec<u8>,
    is_table: bool,
    grant: Grant,
    is_open: bool,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Magic,
    Header,
    /// BSD has a long name before the content.
    Name,
    Content,
    Padding,
    Nothing,
}

impl ArDecoder {
    /// Awaits the magic.
    pub fn new(pool: &Arc<Pool>) -> Self {
        let mut decoder = Self {
            expect: Expect::Magic,
            field: Field::default(),
            left: 0,
            is_odd: false,
            table: Vec::new(),
            is_table: false,
            grant: pool.grant(),
            is_open: false,
        };
        decoder.field.begin(MAGIC.len() as u64, MAGIC.len());
        decoder
    }

    fn await_header(&mut self) {
        self.expect = Expect::Header;
        self.field.begin(HEADER_BYTES as u64, HEADER_BYTES);
    }

    fn damaged(&mut self) -> Event {
        self.expect = Expect::Nothing;
        Event::Incomplete(Reason::Damaged)
    }

    fn header(&mut self) -> Event {
        let bytes = self.field.bytes();
        let (name, size) = (trimmed(&bytes[..16]).to_vec(), decimal(&bytes[48..58]));
        let (true, Some(size)) = (bytes[58..] == HEADER_END, size) else { return self.damaged() };
        self.left = size;
        self.is_odd = size % 2 == 1;
        if let Some(length) = name.strip_prefix(b"#1/").and_then(decimal) {
            if length > size {
                return self.damaged();
            }
            self.left -= length;
            self.expect = Expect::Name;
            self.field.begin(length, NAME_BYTES_MAX);
            return Event::Working;
        }
        self.is_table = name == b"//" && size <= TABLE_BYTES_MAX && self.grant.grow(size).is_ok();
        let long = name.strip_prefix(b"/").and_then(decimal).and_then(|at| self.long_name(at));
        match long {
            Some(long) => self.open(&long),
            None if matches!(&name[..], b"/" | b"//" | b"/SYM64/") => self.open(&name),
            None => self.open(name.strip_suffix(b"/").unwrap_or(&name)),
        }
    }

    /// The name at that place of the table: up to a line's end, GNU with a slash before it, others up to a NUL.
    fn long_name(&self, at: u64) -> Option<Vec<u8>> {
        let rest = self.table.get(usize::try_from(at).ok()?..)?;
        let name = rest.split(|b| matches!(b, b'\n' | 0)).next()?;
        let name = name.strip_suffix(b"/").unwrap_or(name);
        Some(name.iter().copied().take(NAME_BYTES_MAX).collect())
    }

    fn open(&mut self, name: &[u8]) -> Event {
        self.expect = Expect::Content;
        self.is_open = true;
        let name = String::from_utf8_lossy(name).into_owned();
        Event::Open(Box::new(Entry { label: label(&name), name: Some(name), declared: None }))
    }

    fn content(&mut self, input: &[u8]) -> Step {
        if self.left > 0 {
            let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
            self.left -= length as u64;
            if self.is_table {
                self.table.extend_from_slice(&input[..length]);
            }
            return Step::new(length, Event::Input(0..length));
        }
        (self.is_open, self.is_table) = (false, false);
        self.expect = Expect::Padding;
        Step::new(0, Event::Close)
    }

    /// The last member is not always filled up.
    fn padding(&mut self, input: &[u8]) -> Step {
        let is_odd = std::mem::take(&mut self.is_odd);
        self.await_header();
        Step::new(usize::from(is_odd).min(input.len()), Event::Working)
    }

    fn end(&mut self) -> Event {
        let expect = std::mem::replace(&mut self.expect, Expect::Nothing);
        self.table = Vec::new();
        self.grant.clear();
        match expect {
            Expect::Header if self.field.bytes().is_empty() => Event::End,
            Expect::Padding => Event::End,
            _ if std::mem::take(&mut self.is_open) => Event::Broken(Reason::Truncated),
            _ => Event::Incomplete(Reason::Truncated),
        }
    }

    fn needs_no_input(&self) -> bool {
        match self.expect {
            Expect::Content => self.left == 0,
            Expect::Padding => !self.is_odd,
            Expect::Nothing => true,
            _ => self.field.is_whole(),
        }
    }
}

impl Decoder for ArDecoder {
    fn step(&mut self, input: &[u8], more: More, _scratch: &mut [u8]) -> Step {
        if self.expect == Expect::Nothing {
            return Step::new(0, Event::End);
        }
        if input.is_empty() && !self.needs_no_input() {
            return more.or(|| Step::new(0, self.end()));
        }
        match self.expect {
            Expect::Content => return self.content(input),
            Expect::Padding => return self.padding(input),
            _ => {}
        }
        let used = self.field.take(input);
        if !self.field.is_whole() {
            return Step::new(used, Event::Working);
        }
        let event = match self.expect {
            Expect::Magic if self.field.bytes() != MAGIC => self.damaged(),
            Expect::Magic => {
                self.await_header();
                Event::Working
            }
            Expect::Header => self.header(),
            _ => {
                let name = self.field.bytes().to_vec();
                let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
                self.open(&name[..end])
            }
        };
        Step::new(used, event)
    }

    fn nanos_per_kib(&self) -> u32 {
        200
    }
}

fn trimmed(field: &[u8]) -> &[u8] {
    let end = field.iter().rposition(|b| *b != b' ').map_or(0, |at| at + 1);
    &field[..end]
}

fn decimal(field: &[u8]) -> Option<u64> {
    let digits = trimmed(field);
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if is_plain { std::str::from_utf8(digits).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{children, complains, prose};
    use crate::trace::{Said, assert_cut_invariant, trace};

    fn open() -> Box<dyn Decoder> {
        Box::new(ArDecoder::new(&Pool::new(1 << 20)))
    }

    fn member(name: &str, content: &[u8]) -> Vec<u8> {
        let mut out =
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len()).into_bytes();
        out.extend_from_slice(content);
        if content.len() % 2 == 1 {
            out.push(b'\n');
        }
        out
    }

    #[test]
    fn names_of_all_kinds() {
        let text = prose(1, 333);
        let file = [
            MAGIC.to_vec(),
            member("/", b"symbols"),
            member("//", b"a_rather_long_name.o/\nanother.o/\n"),
            member("short.o/", &text),
            member("/22", b"two"),
            member("/0", b"three!"),
            member("#1/12", b"bsd's name\0\0content"),
            member("debian-binary", b"2.0\n"),
        ]
        .concat();
        let said = assert_cut_invariant(&open, &file);
        let names: Vec<_> = children(&said).into_iter().map(|(name, _)| name).collect();
        let expected =
            ["/", "//", "short.o", "another.o", "a_rather_long_name.o", "bsd's name", "debian-binary"];
        assert_eq!(names, expected);
        let contents = children(&said);
        assert_eq!((&contents[2].1, &contents[5].1[..]), (&text, &b"content"[..]));
        assert_eq!(said.last(), Some(&Said::End));
        assert!(!complains(&said));
    }

    #[test]
    fn nothing_is_damaged_or_cut_short_without_a_word() {
        let file = [MAGIC.to_vec(), member("a/", b"one"), member("#1/3", b"bcdtwo!")].concat();
        for length in 0..file.len() - 1 {
            let said = trace(&mut *open(), [&file[..length]]);
            let between = matches!(length, 8 | 71 | 72);
            assert_eq!(complains(&said), !between, "cut off at {length}: {said:?}");
        }
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x55;
            assert_eq!(trace(&mut *open(), [&damaged[..]]), trace(&mut *open(), damaged.chunks(1)));
        }
        for wrong in ["#1/9", "/7"] {
            let file = [MAGIC.to_vec(), member(wrong, b"short")].concat();
            assert_eq!(complains(&assert_cut_invariant(&open, &file)), wrong == "#1/9");
        }
    }
}
