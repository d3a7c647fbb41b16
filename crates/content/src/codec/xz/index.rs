//! A stream's index, and the blocks that it should tell. Rule: nothing is kept for each block but two sums.

use crate::field::{Field, u32_le};
use lockgate_model::Reason;

/// No number has more bytes (section 1.2).
const NUMBER_BYTES_MAX: usize = 9;

/// What the index says of a block (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its head, its packed content and its check.
    pub unpadded: u64,
    /// What it makes.
    pub made: u64,
}

/// Blocks in their order.
#[derive(Clone, Default)]
pub(super) struct Records {
    count: u64,
    sum: crc32fast::Hasher,
    unpadded: u64,
    made: u64,
}

impl Records {
    pub fn add(&mut self, record: Record) {
        self.count += 1;
        self.unpadded = self.unpadded.wrapping_add(record.unpadded);
        self.made = self.made.wrapping_add(record.made);
        self.sum.update(&record.unpadded.to_le_bytes());
        self.sum.update(&record.made.to_le_bytes());
    }

    fn is(&self, other: &Self) -> bool {
        let numbers = |records: &Self| (records.count, records.unpadded, records.made);
        numbers(self) == numbers(other) && self.sum.clone().finalize() == other.sum.clone().finalize()
    }
}

/// A number on its way (section 1.2).
#[derive(Default)]
struct Number {
    value: u64,
    bytes: usize,
}

impl Number {
    /// One more byte; the number, if that was its last.
    fn push(&mut self, byte: u8) -> Result<Option<u64>, Reason> {
        if self.bytes == NUMBER_BYTES_MAX || byte == 0 && self.bytes > 0 {
            return Err(Reason::Damaged);
        }
        self.value |= u64::from(byte & 0x7f) << (7 * self.bytes);
        self.bytes += 1;
        if byte & 0x80 != 0 {
            return Ok(None);
        }
        Ok(Some(std::mem::take(self).value))
    }
}

/// A number at the beginning of these bytes, and what follows.
pub(super) fn number(bytes: &[u8]) -> Result<(u64, &[u8]), Reason> {
    let mut number = Number::default();
    for (at, byte) in bytes.iter().enumerate() {
        if let Some(value) = number.push(*byte)? {
            return Ok((value, &bytes[at + 1..]));
        }
    }
    Err(Reason::Damaged)
}

/// An index on its way, behind its first byte.
pub(super) struct Index {
    expect: Expect,
    number: Number,
    left: u64,
    records: Records,
    crc: crc32fast::Hasher,
    field: Field,
    length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Count,
    Unpadded,
    Made(u64),
    Padding,
    Sum,
}

impl Index {
    pub fn new() -> Self {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&[0]);
        Self {
            expect: Expect::Count,
            number: Number::default(),
            left: 0,
            records: Records::default(),
            crc,
            field: Field::default(),
            length: 1,
        }
    }

    /// Bytes of it, with its check sum.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether it tells of these blocks.
    pub fn tells(&self, records: &Records) -> bool {
        self.records.is(records)
    }

    /// How much of the input was used, and whether the index ends there.
    pub fn push(&mut self, input: &[u8]) -> Result<(usize, bool), Reason> {
        let mut used = 0;
        while let Some(byte) = input.get(used) {
            if self.expect == Expect::Padding && self.length.is_multiple_of(4) {
                self.expect = Expect::Sum;
                self.field.begin(4, 4);
            }
            if self.expect == Expect::Sum {
                let taken = self.field.take(&input[used..]);
                self.length += taken as u64;
                let is_whole = self.field.is_whole();
                if is_whole && u32_le(self.field.bytes(), 0) != self.crc.clone().finalize() {
                    return Err(Reason::Damaged);
                }
                return Ok((used + taken, is_whole));
            }
            self.crc.update(&[*byte]);
            self.byte(*byte)?;
            self.length += 1;
            used += 1;
        }
        Ok((used, false))
    }

    fn byte(&mut self, byte: u8) -> Result<(), Reason> {
        if self.expect == Expect::Padding {
            return if byte == 0 { Ok(()) } else { Err(Reason::Damaged) };
        }
        let Some(number) = self.number.push(byte)? else { return Ok(()) };
        self.expect = match self.expect {
            Expect::Unpadded => Expect::Made(number),
            Expect::Made(unpadded) => {
                self.records.add(Record { unpadded, made: number });
                self.left -= 1;
                self.next_record()
            }
            _ => {
                self.left = number;
                self.next_record()
            }
        };
        Ok(())
    }

    fn next_record(&self) -> Expect {
        if self.left == 0 { Expect::Padding } else { Expect::Unpadded }
    }
}
