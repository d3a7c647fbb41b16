//! Filters of RAR 3, which are programs for a machine of its own. Rule: only those that packers write are known, by their sums.
//!
//! A program is told once, then called by its number. No packer ever let people write their own.

use crate::codec::rar::filter::{Offsets, Opcodes, Turn};
use lockgate_model::Reason;

/// Programs in one stream. Packers write a handful.
const PROGRAMS_MAX: usize = 1024;
/// The longest block that there is room for in the machine, or half of it where it is copied.
const BLOCK_BYTES_MAX: u32 = 0x40000;

/// A program with what calls said of it.
#[derive(Clone, Copy, Debug)]
struct Program {
    kind: Option<Kind>,
    last_length: u32,
}

/// The programs that packers write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Call,
    CallAndJump,
    Itanium,
    Delta,
    Rgb,
    Audio,
}

impl Kind {
    fn of(code: &[u8]) -> Option<Self> {
        match (code.len(), crc32fast::hash(code)) {
            (53, 0xad57_6887) => Some(Self::Call),
            (57, 0x3cd7_e57e) => Some(Self::CallAndJump),
            (120, 0x3769_893f) => Some(Self::Itanium),
            (29, 0x0e06_077d) => Some(Self::Delta),
            (149, 0x1c2c_5dc8) => Some(Self::Rgb),
            (216, 0xbc85_e701) => Some(Self::Audio),
            _ => None,
        }
    }

    /// What it does with what the registers hold.
    fn turn(self, registers: &[u32; 7], length: u32) -> Result<Turn, Reason> {
        let offsets = Offsets::Whole;
        let (first, second) = (registers[0] as usize, registers[1] as usize);
        let is_copied = matches!(self, Self::Delta | Self::Rgb | Self::Audio);
        if length > if is_copied { BLOCK_BYTES_MAX / 2 } else { BLOCK_BYTES_MAX } {
            return Err(Reason::Damaged);
        }
        Ok(match self {
            Self::Call => Turn::X86 { opcodes: Opcodes::Call, offsets },
            Self::CallAndJump => Turn::X86 { opcodes: Opcodes::CallAndJump, offsets },
            Self::Itanium => Turn::Itanium,
            Self::Delta => Turn::Delta { channels: first },
            Self::Rgb => Turn::Rgb { width: first, red: second },
            Self::Audio => Turn::Audio { channels: first },
        })
    }
}

/// A call of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Bytes from here to its block.
    pub(super) start: u32,
    pub(super) length: usize,
    pub(super) turn: Turn,
}

/// The programs of a stream, and the call on its way.
#[derive(Debug, Default)]
pub(super) struct Programs {
    programs: Vec<Program>,
    last: usize,
    flags: u8,
    code: Vec<u8>,
}

impl Programs {
    /// A call begins with these flags.
    pub(super) fn begin(&mut self, flags: u8) {
        self.flags = flags;
        self.code.clear();
    }

    /// One more byte of it; there are no more than 64 KiB.
    pub(super) fn push(&mut self, byte: u8) {
        self.code.push(byte);
    }

    /// The call is whole.
    ///
    /// # Errors
    ///
    /// Unsupported where the program is not known, damaged where there is none.
    pub(super) fn end(&mut self) -> Result<Option<Call>, Reason> {
        let code = std::mem::take(&mut self.code);
        let mut bits = CallBits { bytes: &code, at: 0 };
        let flags = self.flags;
        let at = if flags & 0x80 != 0 {
            let number = bits.number() as usize;
            if number == 0 {
                self.programs.clear();
            }
            number.saturating_sub(1)
        } else {
            self.last
        };
        if at > self.programs.len() || at >= PROGRAMS_MAX {
            return Err(Reason::Damaged);
        }
        self.last = at;
        let is_new = at == self.programs.len();
        let start = bits.number().wrapping_add(if flags & 0x40 != 0 { 258 } else { 0 });
        let known = self.programs.get(at).map_or(0, |p| p.last_length);
        let length = if flags & 0x20 != 0 { bits.number() } else { known };
        let mut registers = [0; 7];
        registers[4] = length;
        if flags & 0x10 != 0 {
            let told = bits.take(7);
            for (at, register) in registers.iter_mut().enumerate() {
                if told >> at & 1 == 1 {
                    *register = bits.number();
                }
            }
        }
        if is_new {
            let kind = bits.program()?;
            self.programs.push(Program { kind, last_length: 0 });
        }
        let program = self.programs.get_mut(at).ok_or(Reason::Damaged)?;
        program.last_length = length;
        if bits.at > code.len() * 8 {
            return Err(Reason::Damaged);
        }
        let kind = program.kind.ok_or(Reason::Unsupported)?;
        let turn = kind.turn(&registers, length)?;
        Ok((length > 0).then_some(Call { start, length: length as usize, turn }))
    }
}

/// Bits of a call, of which those behind its end are 0.
struct CallBits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl CallBits<'_> {
    fn take(&mut self, count: usize) -> u32 {
        let bit = |at: usize| self.bytes.get(at / 8).map_or(0, |b| u32::from(b >> (7 - at % 8) & 1));
        let taken = (self.at..self.at + count).fold(0, |taken, at| taken << 1 | bit(at));
        self.at += count;
        taken
    }

    /// 4, 8, 16 or 32 bits; 8 may stand for a small negative number.
    fn number(&mut self) -> u32 {
        match self.take(2) {
            0 => self.take(4),
            1 => match self.take(4) {
                0 => 0xffff_ff00 | self.take(8),
                high => high << 4 | self.take(4),
            },
            2 => self.take(16),
            _ => self.take(32),
        }
    }

    fn program(&mut self) -> Result<Option<Kind>, Reason> {
        let length = self.number() as usize;
        if length == 0 || length > 0x10000 || self.at + length * 8 > self.bytes.len() * 8 {
            return Err(Reason::Damaged);
        }
        let code: Vec<u8> = (0..length).map(|_| self.take(8) as u8).collect();
        Ok(Kind::of(&code))
    }
}
