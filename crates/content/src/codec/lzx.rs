//! LZX, as cabinets and help files have it (MS-PATCH, section 2, and the CAB SDK). Rule: a frame is made when all of it is there.
//!
//! A stream comes in frames of up to 32 KiB, whose bits begin anew at a 16-bit word. Blocks and their codes go on from one
//! frame to the next.

mod bits;
#[cfg(test)]
pub(crate) mod tests;

use super::lz::{Code, Filled};
use bits::Bits;
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// The most that a frame makes.
pub(crate) const FRAME_BYTES_MAX: usize = 32 << 10;
/// What a frame costs for each byte made, and besides.
pub(crate) const BYTE_NANOS: u64 = 8;
pub(crate) const FRAME_NANOS: u64 = 20_000;

const WINDOW_BITS_MIN: u32 = 15;
const WINDOW_BITS_MAX: u32 = 21;
const LITERALS: usize = 256;
/// Symbols of the main code: literals, and eight for each of up to 50 slots.
const MAIN_MAX: usize = LITERALS + 8 * 50;
const LENGTHS: usize = 249;
const LENGTH_MIN: usize = 2;
/// Lengths that the main code tells by itself.
const LENGTHS_SHORT: usize = 7;
/// Calls are translated in so many frames.
const TRANSLATED_FRAMES_MAX: u64 = 32_768;

/// A stream on its way.
pub(crate) struct Lzx {
    window: Vec<u8>,
    made: u64,
    frames: u64,
    slots: usize,
    recent: [u32; 3],
    kind: Kind,
    left: usize,
    /// The block at hand has an odd number of bytes as they are.
    is_odd: bool,
    main_lengths: [u8; MAIN_MAX],
    length_lengths: [u8; LENGTHS],
    main: Option<Code>,
    lengths: Option<Code>,
    aligned: Option<Code>,
    has_begun: bool,
    /// What calls are translated by; 0 where they are not.
    translation: i32,
    _grant: Grant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Verbatim,
    Aligned,
    AsItIs,
}

/// What the end of what a frame makes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndIs {
    Frame,
    /// The end of all that the stream is to make.
    Last,
}

impl Lzx {
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
        grant.grow((1 << window_bits) + size_of::<Self>() as u64)?;
        let slots = match window_bits {
            20 => 42,
            21 => 50,
            bits => 2 * bits as usize,
        };
        Ok(Self {
            window: vec![0; 1 << window_bits],
            made: 0,
            frames: 0,
            slots,
            recent: [1; 3],
            kind: Kind::AsItIs,
            left: 0,
            is_odd: false,
            main_lengths: [0; MAIN_MAX],
            length_lengths: [0; LENGTHS],
            main: None,
            lengths: None,
            aligned: None,
            has_begun: false,
            translation: 0,
            _grant: grant,
        })
    }

    /// What follows begins like a stream; the window stays.
    pub(crate) fn reset(&mut self) {
        (self.recent, self.left, self.is_odd, self.has_begun) = ([1; 3], 0, false, false);
        (self.main_lengths, self.length_lengths) = ([0; MAIN_MAX], [0; LENGTHS]);
    }

    /// Appends to the output what the frame makes: so many bytes.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`].
    pub(crate) fn frame(&mut self, input: &[u8], size: usize, output: &mut Vec<u8>) -> Result<(), Reason> {
        let from = output.len();
        self.unpack(input, size, output).ok_or(Reason::Damaged)?;
        if self.translation != 0 && self.frames < TRANSLATED_FRAMES_MAX {
            let at = (self.made - size as u64) as i32;
            translate(output.get_mut(from..).unwrap_or_default(), at, self.translation);
        }
        self.frames += 1;
        Ok(())
    }

    fn unpack(&mut self, input: &[u8], size: usize, output: &mut Vec<u8>) -> Option<()> {
        if size > FRAME_BYTES_MAX {
            return None;
        }
        let mut bits = Bits::new(input);
        if !self.has_begun {
            self.has_begun = true;
            let is_translated = bits.take(1) == 1;
            self.translation = if is_translated { bits.take_32() as i32 } else { 0 };
        }
        let end = output.len() + size;
        let end_is = if size < FRAME_BYTES_MAX { EndIs::Last } else { EndIs::Frame };
        while output.len() < end {
            if self.left == 0 {
                self.block(&mut bits)?;
            }
            let room = self.left.min(end - output.len());
            let before = output.len();
            match self.kind {
                Kind::AsItIs => self.as_it_is(&mut bits, room, output)?,
                _ => self.symbols(&mut bits, room, end_is, output)?,
            }
            self.left -= output.len() - before;
            bits.is_within().then_some(())?;
        }
        Some(())
    }

    /// A block's head, and its codes.
    fn block(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        if std::mem::take(&mut self.is_odd) {
            bits.skip_byte();
        }
        let kind = bits.take(3);
        self.left = (bits.take(16) << 8 | bits.take(8)) as usize;
        match kind {
            1 => self.kind = Kind::Verbatim,
            2 => {
                self.kind = Kind::Aligned;
                let lengths: [u8; 8] = std::array::from_fn(|_| bits.take(3) as u8);
                self.aligned = Some(Code::new(&lengths, Filled::Whole)?);
            }
            3 => {
                self.kind = Kind::AsItIs;
                self.is_odd = self.left % 2 == 1;
                bits.align();
                let recent = bits.bytes(12)?;
                for (distance, four) in self.recent.iter_mut().zip(recent.chunks_exact(4)) {
                    *distance = crate::field::u32_le(four, 0);
                }
                return Some(());
            }
            _ => return None,
        }
        let main = LITERALS + 8 * self.slots;
        read_lengths(bits, &mut self.main_lengths[..LITERALS])?;
        read_lengths(bits, &mut self.main_lengths[LITERALS..main])?;
        self.main = Some(Code::new(&self.main_lengths[..main], Filled::Whole)?);
        read_lengths(bits, &mut self.length_lengths)?;
        self.lengths = Some(Code::new(&self.length_lengths, Filled::Whole)?);
        bits.is_within().then_some(())
    }

    fn as_it_is(&mut self, bits: &mut Bits<'_>, room: usize, output: &mut Vec<u8>) -> Option<()> {
        let bytes = bits.bytes(room)?;
        bytes.iter().for_each(|byte| self.put(*byte, output));
        Some(())
    }

    fn put(&mut self, byte: u8, output: &mut Vec<u8>) {
        let mask = self.window.len() - 1;
        self.window[self.made as usize & mask] = byte;
        self.made += 1;
        output.push(byte);
    }

    /// Makes so many bytes: a copy never goes on in the next frame or block.
    fn symbols(
        &mut self,
        bits: &mut Bits<'_>,
        mut room: usize,
        end_is: EndIs,
        output: &mut Vec<u8>,
    ) -> Option<()> {
        while room > 0 {
            let symbol = usize::from(bits.symbol(self.main.as_ref()?)?);
            if symbol < LITERALS {
                self.put(symbol as u8, output);
                room -= 1;
                continue;
            }
            let (slot, mut length) = ((symbol - LITERALS) / 8, (symbol - LITERALS) % 8);
            if length == LENGTHS_SHORT {
                length += usize::from(bits.symbol(self.lengths.as_ref()?)?);
            }
            length += LENGTH_MIN;
            let distance = self.distance(slot, bits)? as usize;
            if distance == 0 || distance > self.window.len() || distance as u64 > self.made {
                return None;
            }
            if length > room {
                // Only a stream's last frame is short; some writers go on behind it, in what nobody asks for.
                (end_is == EndIs::Last).then_some(())?;
                length = room;
            }
            let mask = self.window.len() - 1;
            for _ in 0..length {
                let byte = self.window[(self.made as usize).wrapping_sub(distance) & mask];
                self.put(byte, output);
            }
            room -= length;
            bits.is_within().then_some(())?;
        }
        Some(())
    }

    /// One of the last three, or a new one.
    fn distance(&mut self, slot: usize, bits: &mut Bits<'_>) -> Option<u32> {
        if slot < self.recent.len() {
            self.recent.swap(0, slot);
            return Some(self.recent[0]);
        }
        let extra = if slot < 4 { 0 } else { (slot as u32 / 2 - 1).min(17) };
        let more = match (&self.aligned, self.kind) {
            (Some(aligned), Kind::Aligned) if extra >= 3 => {
                bits.take(extra - 3) << 3 | u32::from(bits.symbol(aligned)?)
            }
            _ => bits.take(extra),
        };
        let distance = base(slot) - 2 + more;
        self.recent = [distance, self.recent[0], self.recent[1]];
        Some(distance)
    }
}

/// The first position of a slot.
fn base(slot: usize) -> u32 {
    match slot as u32 {
        slot @ 0..=3 => slot,
        slot @ 4..=37 => (2 + slot % 2) << (slot / 2 - 1),
        // From here on a slot is as wide as can be.
        slot => (slot - 34) << 17,
    }
}

/// Lengths of a code, as differences from what they were.
fn read_lengths(bits: &mut Bits<'_>, lengths: &mut [u8]) -> Option<()> {
    let before: [u8; 20] = std::array::from_fn(|_| bits.take(4) as u8);
    let code = Code::new(&before, Filled::Whole)?;
    let mut at = 0;
    while at < lengths.len() {
        let symbol = bits.symbol(&code)? as u8;
        let (count, is_zero, difference) = match symbol {
            17 => (bits.take(4) as usize + 4, true, 0),
            18 => (bits.take(5) as usize + 20, true, 0),
            19 => {
                let count = bits.take(1) as usize + 4;
                (count, false, bits.symbol(&code)? as u8)
            }
            difference => (1, false, difference),
        };
        if difference > 16 {
            return None;
        }
        let value = if is_zero { 0 } else { (17 + lengths[at] - difference) % 17 };
        // What goes on behind the last one is cut off: there are writers that count so.
        let end = (at + count).min(lengths.len());
        lengths[at..end].fill(value);
        at += count;
        bits.is_within().then_some(())?;
    }
    Some(())
}

/// Where programs call, places stand instead of distances.
fn translate(frame: &mut [u8], position: i32, size: i32) {
    const CALL: u8 = 0xe8;
    let mut at = 0;
    while at + 10 < frame.len() {
        if frame[at] != CALL {
            at += 1;
            continue;
        }
        let here = position.wrapping_add(at as i32);
        let place = crate::field::u32_le(frame, at + 1) as i32;
        if place >= here.wrapping_neg() && place < size {
            let distance = if place >= 0 { place.wrapping_sub(here) } else { place.wrapping_add(size) };
            frame[at + 1..at + 5].copy_from_slice(&distance.to_le_bytes());
        }
        at += 5;
    }
}
