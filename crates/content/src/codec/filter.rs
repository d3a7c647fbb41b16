//! What is done to bytes before they are packed: delta, and branches of machine code made absolute. Rule: undone in place, in pieces.
//!
//! The filters are those of the LZMA SDK and of XZ Utils; 7z and xz call them by other numbers.

mod branch;
mod x86;

use branch::Arch;
use x86::X86;

/// What a filter has to see before it can tell that a byte is final.
const LOOKAHEAD_BYTES_MAX: usize = 16;
/// How much is filtered at a time.
const PIECE_BYTES: usize = 4096;

/// One filter's state.
pub(crate) enum Filter {
    /// Each byte was taken off the one so far behind it.
    Delta(Box<Delta>),
    /// Calls and jumps of x86.
    X86(X86),
    /// Calls of machines whose instructions stand at even places.
    Branch(Arch, u32),
}

/// Differences to bytes of so long ago.
pub(crate) struct Delta {
    history: [u8; 256],
    distance: usize,
    at: usize,
}

impl Filter {
    /// Differences to the byte `distance` before; 1 to 256.
    pub fn delta(distance: usize) -> Self {
        Self::Delta(Box::new(Delta { history: [0; 256], distance: distance.clamp(1, 256), at: 0 }))
    }

    pub fn x86(start: u32) -> Self {
        Self::X86(X86::new(start))
    }

    pub fn power_pc(start: u32) -> Self {
        Self::Branch(Arch::PowerPc, start)
    }

    pub fn ia64(start: u32) -> Self {
        Self::Branch(Arch::Ia64, start)
    }

    pub fn arm(start: u32) -> Self {
        Self::Branch(Arch::Arm, start)
    }

    pub fn arm_thumb(start: u32) -> Self {
        Self::Branch(Arch::ArmThumb, start)
    }

    pub fn arm64(start: u32) -> Self {
        Self::Branch(Arch::Arm64, start)
    }

    pub fn sparc(start: u32) -> Self {
        Self::Branch(Arch::Sparc, start)
    }

    /// Undoes what it can of these bytes, and says how many of them are final; the others are to be given again.
    fn undo(&mut self, bytes: &mut [u8]) -> usize {
        match self {
            Self::Delta(delta) => {
                delta.undo(bytes);
                bytes.len()
            }
            Self::X86(x86) => x86.undo(bytes),
            Self::Branch(arch, position) => {
                let done = arch.undo(bytes, *position);
                *position = position.wrapping_add(done as u32);
                done
            }
        }
    }
}

impl Delta {
    fn undo(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            let before = self.history[self.at.wrapping_sub(self.distance) & 0xff];
            *byte = byte.wrapping_add(before);
            self.history[self.at & 0xff] = *byte;
            self.at = self.at.wrapping_add(1);
        }
    }
}

/// A filter, and the bytes that it has not let go yet.
pub(crate) struct Filtering {
    filter: Filter,
    bytes: Vec<u8>,
    /// Of these, so many are final, and so many of those have been given.
    done: usize,
    given: usize,
    is_finished: bool,
}

impl Filtering {
    /// Nothing has come yet.
    pub fn new(filter: Filter) -> Self {
        Self { filter, bytes: Vec::new(), done: 0, given: 0, is_finished: false }
    }

    /// What it holds for itself.
    pub const HELD_BYTES: u64 = (PIECE_BYTES + LOOKAHEAD_BYTES_MAX) as u64;

    /// Gives what is final.
    pub fn take(&mut self, output: &mut [u8]) -> usize {
        let ready = self.bytes.get(self.given..self.done).unwrap_or_default();
        let count = ready.len().min(output.len());
        output[..count].copy_from_slice(&ready[..count]);
        self.given += count;
        count
    }

    /// Whether there is nothing left to give.
    pub fn is_spent(&self) -> bool {
        self.given == self.done
    }

    /// Where more bytes go, once all that is final has been given; [`filled`](Self::filled) says how many came.
    pub fn room(&mut self) -> &mut [u8] {
        self.bytes.drain(..self.given);
        let held = self.bytes.len();
        (self.done, self.given) = (0, 0);
        self.bytes.resize(held + PIECE_BYTES, 0);
        &mut self.bytes[held..]
    }

    /// So many bytes came into the room.
    pub fn filled(&mut self, count: usize) {
        let held = self.bytes.len() - PIECE_BYTES;
        self.bytes.truncate(held + count);
        self.done = self.filter.undo(&mut self.bytes);
    }

    /// No more come: what is held is final as it stands.
    pub fn finish(&mut self) {
        self.done = self.bytes.len();
        self.is_finished = true;
    }

    /// Whether no more come.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }
}

#[cfg(test)]
mod tests;
