//! RPM packages: a lead, two headers, and the files in one compressed archive. Rule: the archive is the part; headers are passed
//! over by their own lengths.
//!
//! The format is that of "RPM V4 Package format" in RPM's reference manual.

use crate::decoder::{Decoder, Entry, Event, More, Step};
use crate::field::Field;
use lockgate_model::Reason;

const LEAD_BYTES: u64 = 96;
const LEAD_MAGIC: [u8; 4] = *b"\xed\xab\xee\xdb";
/// Magic, four bytes of nothing, the number of entries and the length of the data behind them.
const HEADER_BYTES: u64 = 16;
const HEADER_MAGIC: [u8; 3] = *b"\x8e\xad\xe8";
const ENTRY_BYTES: u64 = 16;

/// A package on its way.
pub struct RpmDecoder {
    expect: Expect,
    field: Field,
}

/// The next thing of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Lead,
    Header(Which),
    HeaderData(Which),
    Payload,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// It is filled up to eight bytes.
    Signature,
    Package,
}

impl Default for RpmDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl RpmDecoder {
    /// Awaits the lead.
    pub fn new() -> Self {
        let mut field = Field::default();
        field.begin(LEAD_BYTES, LEAD_MAGIC.len());
        Self { expect: Expect::Lead, field }
    }

    fn await_field(&mut self, expect: Expect, length: u64) {
        self.expect = expect;
        self.field.begin(length, HEADER_BYTES as usize);
    }

    fn fielded(&mut self) -> Event {
        match self.expect {
            Expect::Lead if self.field.bytes() == LEAD_MAGIC => {
                self.await_field(Expect::Header(Which::Signature), HEADER_BYTES);
            }
            Expect::Header(which) if self.field.bytes().starts_with(&HEADER_MAGIC) => {
                let number = |at| crate::field::u32_le(self.field.bytes(), at).swap_bytes();
                let length = u64::from(number(8)) * ENTRY_BYTES + u64::from(number(12));
                let length = if which == Which::Signature { length.next_multiple_of(8) } else { length };
                self.await_field(Expect::HeaderData(which), length);
            }
            Expect::HeaderData(Which::Signature) => {
                self.await_field(Expect::Header(Which::Package), HEADER_BYTES);
            }
            Expect::HeaderData(Which::Package) => {
                self.expect = Expect::Payload;
                return Event::Open(Box::new(Entry { label: "payload".into(), ..Entry::default() }));
            }
            _ => {
                self.expect = Expect::Nothing;
                return Event::Incomplete(Reason::Damaged);
            }
        }
        Event::Working
    }
}

impl Decoder for RpmDecoder {
    fn step(&mut self, input: &[u8], more: More, _scratch: &mut [u8]) -> Step {
        let is_payload = self.expect == Expect::Payload;
        let needs_input = self.expect != Expect::Nothing && (is_payload || !self.field.is_whole());
        if input.is_empty() && needs_input {
            if more == More::Follows {
                return Step::new(0, Event::NeedInput);
            }
            self.expect = Expect::Nothing;
            return Step::new(
                0,
                if is_payload { Event::Close } else { Event::Incomplete(Reason::Truncated) },
            );
        }
        if self.expect == Expect::Nothing {
            return Step::new(0, Event::End);
        }
        if is_payload {
            return Step::new(input.len(), Event::Input(0..input.len()));
        }
        let used = self.field.take(input);
        let event = if self.field.is_whole() { self.fielded() } else { Event::Working };
        Step::new(used, event)
    }

    fn nanos_per_kib(&self) -> u32 {
        100
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{children, complains};
    use crate::trace::{assert_cut_invariant, trace};

    fn open() -> Box<dyn Decoder> {
        Box::new(RpmDecoder::new())
    }

    fn header(entries: u32, data: u32, padding: usize) -> Vec<u8> {
        let body = vec![7; (16 * entries + data) as usize + padding];
        [&b"\x8e\xad\xe8\x01\0\0\0\0"[..], &entries.to_be_bytes(), &data.to_be_bytes(), &body].concat()
    }

    #[test]
    fn the_payload_is_the_part() {
        let lead = [&LEAD_MAGIC[..], &[0; 92]].concat();
        let file = [&lead[..], &header(2, 5, 3), &header(1, 9, 0), b"payload's bytes"].concat();
        let said = assert_cut_invariant(&open, &file);
        assert_eq!(children(&said), [("payload".to_string(), b"payload's bytes".to_vec())]);
        for length in 0..file.len() {
            let is_payload = length >= file.len() - 15;
            assert_eq!(
                complains(&trace(&mut *open(), [&file[..length]])),
                !is_payload,
                "cut off at {length}"
            );
        }
        for at in [0, 96, 96 + 16 + 40] {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert!(complains(&assert_cut_invariant(&open, &damaged)));
        }
    }
}
