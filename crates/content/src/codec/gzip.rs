//! gzip (RFC 1952): members one behind the other, which make one file. Rule: what gunzip would write, no more, no less.

use crate::codec::Outcome;
use crate::codec::inflate::{self, Inflater};
use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::{Field, label, u16_le, u32_le};
use lockgate_model::Reason;

/// Bytes of a member's file name that are kept.
const NAME_BYTES_MAX: usize = 1024;
/// Magic, method, flags, time, extra flags, system.
const HEADER_BYTES: u64 = 10;
/// Check sum and length.
const TRAILER_BYTES: u64 = 8;

/// The flags of section 2.3.1.
mod flag {
    pub(super) const HEADER_CRC: u8 = 2;
    pub(super) const EXTRA: u8 = 4;
    pub(super) const NAME: u8 = 8;
    pub(super) const COMMENT: u8 = 16;
    pub(super) const RESERVED: u8 = 0xe0;
}

/// A gzip file on its way.
pub struct GzipDecoder {
    expect: Expect,
    field: Field,
    flags: u8,
    header_crc: crc32fast::Hasher,
    name: Vec<u8>,
    is_open: bool,
    inflater: Inflater,
    crc: crc32fast::Hasher,
    length: u32,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Header,
    ExtraLength,
    Extra,
    Name,
    Comment,
    HeaderCrc,
    Content,
    Trailer,
    /// Behind a member: another one, padding, or bytes that are no gzip.
    NextMember,
    Padding,
    /// Bytes that are no gzip have been met and the child is closed.
    Garbage,
    Nothing,
}

impl Default for GzipDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl GzipDecoder {
    /// Awaits the first member.
    pub fn new() -> Self {
        let mut decoder = Self {
            expect: Expect::Header,
            field: Field::default(),
            flags: 0,
            header_crc: crc32fast::Hasher::new(),
            name: Vec::new(),
            is_open: false,
            inflater: Inflater::default(),
            crc: crc32fast::Hasher::new(),
            length: 0,
        };
        decoder.field.begin(HEADER_BYTES, HEADER_BYTES as usize);
        decoder
    }

    /// Takes a field of fixed length; `None` while bytes of it are missing.
    fn take(&mut self, input: &[u8]) -> (usize, bool) {
        let used = self.field.take(input);
        if matches!(self.expect, Expect::Header | Expect::ExtraLength | Expect::Extra) {
            self.header_crc.update(&input[..used]);
        }
        (used, self.field.is_whole())
    }

    /// Goes on to the first part of the header, at or behind `from`, that the flags announce.
    fn go_on(&mut self, from: Expect) {
        let wanted = |flag: u8| self.flags & flag != 0;
        self.expect = match from {
            Expect::ExtraLength if wanted(flag::EXTRA) => Expect::ExtraLength,
            Expect::ExtraLength | Expect::Name if wanted(flag::NAME) => Expect::Name,
            Expect::ExtraLength | Expect::Name | Expect::Comment if wanted(flag::COMMENT) => Expect::Comment,
            Expect::Content => Expect::Content,
            _ if wanted(flag::HEADER_CRC) => Expect::HeaderCrc,
            _ => Expect::Content,
        };
        match self.expect {
            Expect::ExtraLength | Expect::HeaderCrc => self.field.begin(2, 2),
            _ => {}
        }
    }

    fn header(&mut self, input: &[u8]) -> Step {
        let (used, is_whole) = self.take(input);
        if !is_whole {
            return Step::new(used, Event::Working);
        }
        let bytes = self.field.bytes();
        self.flags = bytes.get(3).copied().unwrap_or(0);
        if !bytes.starts_with(b"\x1f\x8b") {
            return self.stop(used, Reason::Damaged);
        }
        if bytes.get(2) != Some(&8) {
            return self.stop(used, Reason::Unsupported);
        }
        self.go_on(Expect::ExtraLength);
        // gunzip gives up at a flag that it does not know; other readers pass over it.
        let is_known = self.flags & flag::RESERVED == 0;
        Step::new(used, if is_known { Event::Working } else { Event::Incomplete(Reason::Unsupported) })
    }

    /// A name or a comment: text that ends with a NUL.
    fn text(&mut self, input: &[u8]) -> Step {
        let end = memchr::memchr(0, input);
        let text = &input[..end.unwrap_or(input.len())];
        let used = end.map_or(input.len(), |at| at + 1);
        self.header_crc.update(&input[..used]);
        if self.expect == Expect::Name && !self.is_open {
            let room = NAME_BYTES_MAX - self.name.len();
            self.name.extend_from_slice(&text[..text.len().min(room)]);
        }
        if end.is_some() {
            let next = if self.expect == Expect::Name { Expect::Comment } else { Expect::HeaderCrc };
            self.go_on(next);
        }
        Step::new(used, Event::Working)
    }

    fn header_crc(&mut self, input: &[u8]) -> Step {
        let (used, is_whole) = self.take(input);
        if !is_whole {
            return Step::new(used, Event::Working);
        }
        let stated = u16_le(self.field.bytes(), 0);
        self.go_on(Expect::Content);
        if stated == self.header_crc.clone().finalize() as u16 {
            Step::new(used, Event::Working)
        } else {
            Step::new(used, Event::Anomaly("a gzip header's check sum is wrong"))
        }
    }

    /// The child opens with the first member's content; later members go on with it, as gunzip writes them.
    fn content(&mut self, input: &[u8], scratch: &mut [u8]) -> Step {
        if !self.is_open {
            self.is_open = true;
            return Step::new(0, Event::Open(Box::new(entry(&std::mem::take(&mut self.name)))));
        }
        let run = self.inflater.run(input, scratch);
        self.crc.update(&scratch[..run.made]);
        self.length = self.length.wrapping_add(run.made as u32);
        match run.outcome {
            Outcome::Failed(reason) => return self.stop(run.used, reason),
            Outcome::Ended => {
                self.expect = Expect::Trailer;
                self.field.begin(TRAILER_BYTES, TRAILER_BYTES as usize);
            }
            Outcome::Going => {}
        }
        Step::new(run.used, if run.made > 0 { Event::Output(run.made) } else { Event::Working })
    }

    /// A wrong check sum leaves the content readable, and the members behind it.
    fn trailer(&mut self, input: &[u8]) -> Step {
        let (used, is_whole) = self.take(input);
        if !is_whole {
            return Step::new(used, Event::Working);
        }
        let bytes = self.field.bytes();
        let crc = std::mem::take(&mut self.crc).finalize();
        let is_right = u32_le(bytes, 0) == crc && u32_le(bytes, 4) == self.length;
        self.length = 0;
        self.inflater.reset();
        self.header_crc = crc32fast::Hasher::new();
        self.expect = Expect::NextMember;
        self.field.begin(HEADER_BYTES, HEADER_BYTES as usize);
        Step::new(used, if is_right { Event::Working } else { Event::Incomplete(Reason::Damaged) })
    }

    /// Byte by byte, so that it is known at each cut whether a member begins.
    fn next_member(&mut self, input: &[u8]) -> Step {
        let known = self.field.bytes().len();
        let expected = *b"\x1f\x8b\x08";
        if known == expected.len() {
            self.expect = Expect::Header;
            return Step::new(0, Event::Working);
        }
        if known == 0 && input[0] == 0 {
            self.expect = Expect::Padding;
        } else if input[0] != expected[known] {
            return self.garbage(input.len());
        } else {
            self.header_crc.update(&input[..1]);
            self.field.take(&input[..1]);
        }
        Step::new(1, Event::Working)
    }

    /// Tapes and disks fill up with zeros; gunzip takes no notice of them, nor do we.
    fn padding(&mut self, input: &[u8]) -> Step {
        if input.iter().all(|b| *b == 0) {
            return Step::new(input.len(), Event::Working);
        }
        self.garbage(input.len())
    }

    fn garbage(&mut self, used: usize) -> Step {
        self.is_open = false;
        self.expect = Expect::Garbage;
        Step::new(used, Event::Close)
    }

    /// What is open breaks; what is not yet open is this part's own loss.
    fn stop(&mut self, used: usize, reason: Reason) -> Step {
        self.expect = Expect::Nothing;
        self.inflater.clear();
        let event =
            if std::mem::take(&mut self.is_open) { Event::Broken(reason) } else { Event::Incomplete(reason) };
        Step::new(used, event)
    }

    /// The part has ended here.
    fn end(&mut self) -> Step {
        match self.expect {
            Expect::NextMember if self.field.bytes().len() == 3 => self.stop(0, Reason::Truncated),
            Expect::NextMember if !self.field.bytes().is_empty() => self.garbage(0),
            Expect::NextMember | Expect::Padding => {
                self.expect = Expect::Nothing;
                self.is_open = false;
                Step::new(0, Event::Close)
            }
            _ => self.stop(0, Reason::Truncated),
        }
    }
}

impl Decoder for GzipDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        match self.expect {
            Expect::Nothing => return Step::new(0, Event::End),
            Expect::Garbage => {
                self.expect = Expect::Nothing;
                return Step::new(0, Event::Anomaly("bytes behind the end of a gzip file"));
            }
            Expect::Content if self.inflater.owes() || !self.is_open => return self.content(input, scratch),
            _ if input.is_empty() && more == More::Follows => return Step::new(0, Event::NeedInput),
            _ if input.is_empty() => return self.end(),
            _ => {}
        }
        match self.expect {
            Expect::Header => self.header(input),
            Expect::ExtraLength => {
                let (used, is_whole) = self.take(input);
                if is_whole {
                    let length = u16_le(self.field.bytes(), 0);
                    self.field.begin(length.into(), 0);
                    self.expect = Expect::Extra;
                }
                Step::new(used, Event::Working)
            }
            Expect::Extra => {
                let (used, is_whole) = self.take(input);
                if is_whole {
                    self.go_on(Expect::Name);
                }
                Step::new(used, Event::Working)
            }
            Expect::Name | Expect::Comment => self.text(input),
            Expect::HeaderCrc => self.header_crc(input),
            Expect::Content => self.content(input, scratch),
            Expect::Trailer => self.trailer(input),
            Expect::NextMember => self.next_member(input),
            Expect::Padding => self.padding(input),
            Expect::Garbage | Expect::Nothing => Step::new(0, Event::End),
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        inflate::NANOS_PER_KIB
    }
}

/// The child; its name is in Latin 1 (section 2.3.1).
fn entry(name: &[u8]) -> Entry {
    let name: String = name.iter().copied().map(char::from).collect();
    if name.is_empty() {
        return Entry { label: "1".into(), ..Entry::default() };
    }
    Entry { label: label(&name), name: Some(name), declared: None }
}

#[cfg(test)]
mod tests;
