//! The content of one entry of known packed length, stored or packed. Rule: it is what its header promises, or broken.

use crate::codec::lzh::Unlzh;
use crate::codec::{Outcome, Run};
use crate::decoder::{Event, More, Step};
use lockgate_model::Reason;

/// A sum over the content, and what the header says of it.
#[derive(Clone, Debug, Default)]
pub(super) enum Sum {
    /// There is none that is known.
    #[default]
    None,
    Crc32(crc32fast::Hasher, u32),
    /// LHA's, of 16 bits.
    Crc16(u16, u16),
}

impl Sum {
    /// A CRC-32 that must come to this.
    pub(super) fn crc32(expected: u32) -> Self {
        Self::Crc32(crc32fast::Hasher::new(), expected)
    }

    /// A CRC-16 that must come to this.
    pub(super) fn crc16(expected: u16) -> Self {
        Self::Crc16(0, expected)
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::None => {}
            Self::Crc16(sum, _) => *sum = crc16(*sum, bytes),
            Self::Crc32(hasher, _) => hasher.update(bytes),
        }
    }

    fn is_right(&self) -> bool {
        match self {
            Self::None => true,
            Self::Crc16(sum, expected) => sum == expected,
            Self::Crc32(hasher, expected) => hasher.clone().finalize() == *expected,
        }
    }
}

/// CRC-16 of ARC and LHA: the polynomial 0xa001, the lowest bit first, from 0.
pub(super) fn crc16(sum: u16, bytes: &[u8]) -> u16 {
    const TABLE: [u16; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut entry = at as u16;
            let mut bit = 0;
            while bit < 8 {
                entry = entry >> 1 ^ if entry & 1 == 1 { 0xa001 } else { 0 };
                bit += 1;
            }
            table[at] = entry;
            at += 1;
        }
        table
    };
    bytes.iter().fold(sum, |sum, byte| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)])
}

/// How the content lies in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Stored,
    Packed,
    /// It is not read.
    Skipped,
}

/// What an entry is unpacked with.
pub(super) trait Unpack {
    /// Goes on until the input is used, the output full, or the entry at its end.
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run;
}

impl Unpack for Option<Unlzh> {
    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        match self {
            Some(unlzh) => unlzh.run(input, more, output),
            None => Run { used: 0, made: 0, outcome: Outcome::Failed(Reason::Damaged) },
        }
    }
}

/// The content on its way.
#[derive(Debug)]
pub(super) struct Content {
    form: Form,
    /// Packed bytes that are still to come.
    left: u64,
    size: Option<u64>,
    made: u64,
    sum: Sum,
    /// Why it is not whole, where its end is not in this file.
    cut: Option<Reason>,
    /// How it ended, until that is said.
    ended: Option<Event>,
    has_failed: bool,
}

impl Content {
    /// Awaits `left` bytes that hold so much content.
    pub(super) fn new(form: Form, left: u64, size: Option<u64>, sum: Sum, cut: Option<Reason>) -> Self {
        Self { form, left, size, made: 0, sum, cut, ended: None, has_failed: false }
    }

    /// Whether all is said and used.
    pub(super) fn is_over(&self) -> bool {
        self.form == Form::Skipped && self.left == 0 && self.ended.is_none()
    }

    /// Whether it could not be unpacked to its end, so that nothing can go on from it.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The next step of the entry.
    pub(super) fn step(
        &mut self,
        unpack: &mut dyn Unpack,
        input: &[u8],
        more: More,
        scratch: &mut [u8],
    ) -> Step {
        if let Some(event) = self.ended.take() {
            return Step::new(0, event);
        }
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
        let is_missing = length == 0 && self.left > 0;
        match self.form {
            _ if is_missing && more == More::Ended && self.form != Form::Packed => self.truncated(),
            Form::Skipped | Form::Stored if is_missing => Step::new(0, Event::NeedInput),
            Form::Skipped => {
                self.left -= length as u64;
                Step::new(length, Event::Working)
            }
            Form::Stored if self.left == 0 => self.end(0, 0, None),
            Form::Stored => {
                self.left -= length as u64;
                self.made += length as u64;
                self.sum.update(&input[..length]);
                Step::new(length, Event::Input(0..length))
            }
            Form::Packed => {
                let more_of_it = if length as u64 == self.left { More::Ended } else { more };
                self.packed(unpack.run(&input[..length], more_of_it, scratch), more, scratch)
            }
        }
    }

    fn packed(&mut self, run: Run, more: More, scratch: &[u8]) -> Step {
        self.left -= run.used as u64;
        self.made += run.made as u64;
        self.sum.update(&scratch[..run.made]);
        match run.outcome {
            Outcome::Ended => self.end(run.used, run.made, None),
            Outcome::Failed(reason) => {
                self.has_failed = true;
                self.end(run.used, run.made, Some(reason))
            }
            Outcome::Going if run.made > 0 => Step::new(run.used, Event::Output(run.made)),
            Outcome::Going if run.used > 0 => Step::new(run.used, Event::Working),
            Outcome::Going if self.left > 0 && more == More::Follows => Step::new(0, Event::NeedInput),
            Outcome::Going => {
                self.has_failed = true;
                self.end(0, 0, Some(Reason::Truncated))
            }
        }
    }

    /// The content has ended, or cannot be read on; the rest of it is passed over.
    fn end(&mut self, used: usize, made: usize, failed: Option<Reason>) -> Step {
        self.form = Form::Skipped;
        let is_right = self.size.is_none_or(|size| size == self.made) && self.sum.is_right();
        let event = match (failed, self.cut) {
            (None | Some(Reason::Truncated), Some(cut)) => Event::Broken(cut),
            (Some(reason), _) => Event::Broken(reason),
            (None, None) if is_right => Event::Close,
            (None, None) => Event::Broken(Reason::Damaged),
        };
        if made > 0 {
            self.ended = Some(event);
            return Step::new(used, Event::Output(made));
        }
        Step::new(used, event)
    }

    /// The archive ends within the entry.
    fn truncated(&mut self) -> Step {
        let was = self.form;
        (self.form, self.left) = (Form::Skipped, 0);
        match was {
            Form::Skipped => Step::new(0, Event::Incomplete(Reason::Truncated)),
            _ => Step::new(0, Event::Broken(Reason::Truncated)),
        }
    }
}
