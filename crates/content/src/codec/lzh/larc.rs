//! LArc's methods: matches by their place in the window, no codes. Rule: the window is as LArc fills it.

use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{Scheme, Symbol};
use lockgate_model::Reason;

pub(super) const LZS_WINDOW_BYTES: usize = 2048;
const LZ5_WINDOW_BYTES: usize = 4096;
/// The first byte goes so far before the window's end.
const LZS_START: usize = 17;
const LZ5_START: usize = 18;

/// A bit for each symbol, a place of 11 bits and a length of four.
pub(super) struct Lzs;

/// A byte of eight flags, the lowest first; a place of 12 bits and a length of four in two bytes.
#[derive(Default)]
pub(super) struct Lz5 {
    flags: u32,
    flags_left: u32,
}

/// Runs of each byte, all bytes up and down, zeros, spaces.
pub(super) fn lz5_window() -> [u8; LZ5_WINDOW_BYTES] {
    let runs = (0..=255_u8).flat_map(|byte| [byte; 13]);
    let all = runs.chain(0..=255).chain((0..=255).rev()).chain([0; 128]).chain([b' '; 128 - LZ5_START]);
    let mut window = [b' '; LZ5_WINDOW_BYTES];
    window[LZ5_START..].iter_mut().zip(all).for_each(|(place, byte)| *place = byte);
    window
}

/// How far back a place is, where the first byte was put `start` before the window's end.
fn distance(place: usize, start: usize, window: &Window) -> usize {
    let at = (window.made() % window.size() as u64) as usize;
    match (at + 2 * window.size() - place - start) % window.size() {
        0 => window.size(),
        distance => distance,
    }
}

impl Scheme for Lzs {
    fn bits_needed(&self) -> usize {
        16
    }

    fn bytes_made_max(&self) -> usize {
        17
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        if bits.is_set() {
            window.push(bits.take(8) as u8);
            return Ok(Symbol::Read);
        }
        let (place, length) = (bits.take(11) as usize, bits.take(4) as usize + 2);
        window.copy(distance(place, LZS_START, window), length)?;
        Ok(Symbol::Read)
    }
}

impl Scheme for Lz5 {
    fn bits_needed(&self) -> usize {
        24
    }

    fn bytes_made_max(&self) -> usize {
        18
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        if self.flags_left == 0 {
            (self.flags, self.flags_left) = (bits.take(8), 8);
        }
        let is_byte = self.flags & 1 == 1;
        (self.flags, self.flags_left) = (self.flags >> 1, self.flags_left - 1);
        if is_byte {
            window.push(bits.take(8) as u8);
            return Ok(Symbol::Read);
        }
        let (low, high) = (bits.take(8) as usize, bits.take(8) as usize);
        let place = low | (high & 0xf0) << 4;
        window.copy(distance(place, LZ5_START, window), (high & 15) + 3)?;
        Ok(Symbol::Read)
    }
}
