//! Quantum, as cabinets have it: LZ77 whose symbols are coded by arithmetic, with models that learn. Rule: a frame is made when
//! all of it is there.
//!
//! The format is known from what others found out about it. Each frame begins a code of its own; models and window go on.

mod model;
#[cfg(test)]
pub(crate) mod tests;

use lockgate_model::{Grant, Pool, Reason};
use model::Model;
use std::sync::Arc;

/// What a byte costs.
pub(crate) const BYTE_NANOS: u64 = 150;
/// The most that a frame makes.
const FRAME_BYTES_MAX: usize = 32 << 10;
const WINDOW_BITS_MIN: u32 = 10;
const WINDOW_BITS_MAX: u32 = 21;
/// What models hold.
const STATE_BYTES: u64 = 4 << 10;
/// Slots for the places of copies of three and of four bytes; longer ones have as many as the window.
const SLOTS_OF_3: u32 = 24;
const SLOTS_OF_4: u32 = 36;
const LENGTHS: usize = 27;
/// Literals have four models, by their two highest bits.
const LITERALS: usize = 64;
/// What a symbol may be: one of four kinds of literals, one of three kinds of copies.
const KINDS: usize = 7;

/// A stream on its way.
pub(crate) struct Quantum {
    window: Vec<u8>,
    made: u64,
    kinds: Model,
    literals: [Model; 4],
    /// Of copies of three bytes, of four, and of more.
    places: [Model; 3],
    lengths: Model,
    _grant: Grant,
}

impl Quantum {
    /// Awaits a stream whose window has so many bits.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`] where there is no such window, or where the pool gives no more.
    pub(crate) fn new(pool: &Arc<Pool>, window_bits: u32) -> Result<Self, Reason> {
        if !(WINDOW_BITS_MIN..=WINDOW_BITS_MAX).contains(&window_bits) {
            return Err(Reason::Damaged);
        }
        let mut grant = pool.grant();
        grant.grow((1 << window_bits) + STATE_BYTES)?;
        let slots = 2 * window_bits;
        let places = [slots.min(SLOTS_OF_3), slots.min(SLOTS_OF_4), slots];
        Ok(Self {
            window: vec![0; 1 << window_bits],
            made: 0,
            kinds: Model::new(0, KINDS),
            literals: std::array::from_fn(|nth| Model::new((nth * LITERALS) as u16, LITERALS)),
            places: places.map(|slots| Model::new(0, slots as usize)),
            lengths: Model::new(0, LENGTHS),
            _grant: grant,
        })
    }

    /// Appends to the output what the frame makes: so many bytes.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`].
    pub(crate) fn frame(&mut self, input: &[u8], size: usize, output: &mut Vec<u8>) -> Result<(), Reason> {
        self.unpack(input, size, output).ok_or(Reason::Damaged)
    }

    fn unpack(&mut self, input: &[u8], size: usize, output: &mut Vec<u8>) -> Option<()> {
        (size <= FRAME_BYTES_MAX).then_some(())?;
        let mut code = Decoding::new(input);
        let end = output.len() + size;
        while output.len() < end {
            let kind = code.symbol(&mut self.kinds)?;
            let length = match kind {
                0..=3 => {
                    let byte = code.symbol(&mut self.literals[usize::from(kind)])? as u8;
                    self.put(byte, output);
                    continue;
                }
                4 | 5 => usize::from(kind) - 1,
                _ => {
                    let slot = code.symbol(&mut self.lengths)?;
                    let (base, extra) = length_slot(slot.into());
                    (base + code.bits(extra)? + 5) as usize
                }
            };
            let slot = code.symbol(&mut self.places[usize::from(kind) - 4])?;
            let (base, extra) = place_slot(slot.into());
            let distance = (base + code.bits(extra)? + 1) as usize;
            let is_there = distance as u64 <= self.made && distance <= self.window.len();
            if !is_there || length > end - output.len() {
                return None;
            }
            let mask = self.window.len() - 1;
            for _ in 0..length {
                let byte = self.window[(self.made as usize).wrapping_sub(distance) & mask];
                self.put(byte, output);
            }
        }
        Some(())
    }

    fn put(&mut self, byte: u8, output: &mut Vec<u8>) {
        let mask = self.window.len() - 1;
        self.window[self.made as usize & mask] = byte;
        self.made += 1;
        output.push(byte);
    }
}

/// The first place of a slot, and how many bits tell which.
fn place_slot(slot: u32) -> (u32, u32) {
    match slot {
        0..=3 => (slot, 0),
        _ => ((2 + slot % 2) << (slot / 2 - 1), slot / 2 - 1),
    }
}

/// The first length of a slot, and how many bits tell which.
fn length_slot(slot: u32) -> (u32, u32) {
    match slot {
        0..=5 => (slot, 0),
        26 => (254, 0),
        _ => {
            let extra = (slot - 2) / 4;
            (((4 + (slot - 2) % 4) << extra) - 2, extra)
        }
    }
}

/// An arithmetic code on its way, and the bits that stand between its own.
struct Decoding<'a> {
    input: &'a [u8],
    at: usize,
    low: u16,
    high: u16,
    code: u16,
}

/// Bits that may be missing at the end: those that the code looks ahead.
const SPARE_BITS: usize = 16;

impl<'a> Decoding<'a> {
    fn new(input: &'a [u8]) -> Self {
        let mut decoding = Self { input, at: 0, low: 0, high: u16::MAX, code: 0 };
        decoding.code = decoding.bits(16).unwrap_or_default() as u16;
        decoding
    }

    fn bit(&mut self) -> Option<u16> {
        let byte = self.input.get(self.at / 8).copied();
        (self.at < self.input.len() * 8 + SPARE_BITS).then_some(())?;
        let bit = byte.unwrap_or(0) >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit.into())
    }

    fn bits(&mut self, count: u32) -> Option<u32> {
        (0..count).try_fold(0, |bits, _| Some(bits << 1 | u32::from(self.bit()?)))
    }

    fn symbol(&mut self, model: &mut Model) -> Option<u16> {
        let range = u32::from(self.high.wrapping_sub(self.low)) + 1;
        let total = model.total();
        let ahead = u32::from(self.code.wrapping_sub(self.low)) + 1;
        let wanted = (ahead * total - 1) / range;
        let (nth, symbol) = model.find(wanted as u16)?;
        let (above, below) = model.bounds(nth);
        let low = u32::from(self.low);
        self.high = (low + above * range / total - 1) as u16;
        self.low = (low + below * range / total) as u16;
        model.learn(nth);
        while let Some(flip) = narrow(&mut self.low, &mut self.high) {
            self.code = (self.code ^ flip) << 1 | self.bit()?;
        }
        Some(symbol)
    }
}

/// Doubles what is left of the range where that can be; what must be turned round in the code for it.
fn narrow(low: &mut u16, high: &mut u16) -> Option<u16> {
    let mut flip = 0;
    if (*low ^ *high) & 0x8000 != 0 {
        // The two are close to the middle, from both sides.
        if *low & 0x4000 == 0 || *high & 0x4000 != 0 {
            return None;
        }
        (*low, *high, flip) = (*low & 0x3fff, *high | 0x4000, 0x4000);
    }
    (*low, *high) = (*low << 1, *high << 1 | 1);
    Some(flip)
}
