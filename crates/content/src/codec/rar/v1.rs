//! RAR 1.5: codes that do not change, over ranks that do. Rule: one symbol at a time, and every average as the packer keeps it.

use super::Start;
use crate::codec::lzhuf::bits::Bits;
use crate::codec::lzhuf::window::Window;
use crate::codec::lzhuf::{Scheme, Symbol};
use lockgate_model::Reason;

/// The longest symbol: flags, ranks and what stands beside them.
const SYMBOL_BITS: usize = 128;
/// The longest match: a rank, and what is added to it.
const MATCH_BYTES_MAX: usize = 0x200;
/// Bytes of the window.
pub(crate) const WINDOW_BYTES: usize = 64 << 10;

/// A code: for each length from the first on, the first 16-bit number beyond it, and what it counts from.
struct Ranks {
    first_bits: u32,
    ends: &'static [u32],
    bases: [u32; 13],
}

const LENGTHS_1: Ranks = Ranks {
    first_bits: 2,
    ends: &[0x8000, 0xa000, 0xc000, 0xd000, 0xe000, 0xea00, 0xee00, 0xf000, 0xf200, 0xf200, 0xffff],
    bases: [0, 0, 0, 2, 3, 5, 7, 11, 16, 20, 24, 32, 32],
};
const LENGTHS_2: Ranks = Ranks {
    first_bits: 3,
    ends: &[0xa000, 0xc000, 0xd000, 0xe000, 0xea00, 0xee00, 0xf000, 0xf200, 0xf240, 0xffff],
    bases: [0, 0, 0, 0, 5, 7, 9, 13, 18, 22, 26, 34, 36],
};
/// From the most uneven ranks to the most even.
const RANKS: [Ranks; 5] = [
    Ranks {
        first_bits: 4,
        ends: &[0x8000, 0xc000, 0xe000, 0xf200, 0xf200, 0xf200, 0xf200, 0xf200, 0xffff],
        bases: [0, 0, 0, 0, 0, 8, 16, 24, 33, 33, 33, 33, 33],
    },
    Ranks {
        first_bits: 5,
        ends: &[0x2000, 0xc000, 0xe000, 0xf000, 0xf200, 0xf200, 0xf7e0, 0xffff],
        bases: [0, 0, 0, 0, 0, 0, 4, 44, 60, 76, 80, 80, 127],
    },
    Ranks {
        first_bits: 5,
        ends: &[0x1000, 0x2400, 0x8000, 0xc000, 0xfa00, 0xffff],
        bases: [0, 0, 0, 0, 0, 0, 2, 7, 53, 117, 233, 0, 0],
    },
    Ranks {
        first_bits: 6,
        ends: &[0x800, 0x2400, 0xee00, 0xfe80, 0xffff],
        bases: [0, 0, 0, 0, 0, 0, 0, 2, 16, 218, 251, 0, 0],
    },
    Ranks { first_bits: 8, ends: &[0xff00, 0xffff], bases: [0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0] },
];

impl Ranks {
    fn take(&self, bits: &mut Bits) -> usize {
        let next = bits.peek(16) & 0xfff0;
        let at = self.ends.iter().position(|end| next < *end).unwrap_or(self.ends.len() - 1);
        let length = self.first_bits + at as u32;
        bits.skip(length);
        let below = at.checked_sub(1).map_or(0, |last| self.ends[last]);
        let base = self.bases.get(length as usize).copied().unwrap_or(0);
        (((next - below) >> (16 - length)) + base) as usize
    }
}

/// What a match is by its first bits: how many, and which; for two averages of lengths.
const SHORT_1: [(u32, u32); 15] = [
    (1, 0),
    (3, 0xa0),
    (4, 0xd0),
    (4, 0xe0),
    (5, 0xf0),
    (6, 0xf8),
    (7, 0xfc),
    (8, 0xfe),
    (8, 0xff),
    (4, 0xc0),
    (4, 0x80),
    (5, 0x90),
    (6, 0x98),
    (6, 0x9c),
    (4, 0xb0),
];
const SHORT_2: [(u32, u32); 15] = [
    (2, 0),
    (3, 0x40),
    (3, 0x60),
    (3, 0xa0),
    (4, 0xd0),
    (4, 0xe0),
    (5, 0xf0),
    (6, 0xf8),
    (6, 0xfc),
    (4, 0xc0),
    (4, 0x80),
    (5, 0x90),
    (6, 0x98),
    (6, 0x9c),
    (4, 0xb0),
];

/// Symbols in order of how often they were met: the symbol in the high byte, how often in the low.
struct Order {
    symbols: [u16; 256],
    /// Where the first symbol stands that was met so often.
    places: [u8; 256],
}

impl Order {
    fn new(symbol: impl Fn(u16) -> u16) -> Self {
        let mut order = Self { symbols: [0; 256], places: [0; 256] };
        for (at, place) in (0_u16..).zip(&mut order.symbols) {
            *place = symbol(at) << 8;
        }
        order
    }

    /// All were met about as often as their place says.
    fn level(&mut self) {
        for (at, symbol) in self.symbols.iter_mut().enumerate() {
            *symbol = *symbol & 0xff00 | (7 - at / 32) as u16;
        }
        self.places = [0; 256];
        for (count, place) in self.places.iter_mut().enumerate().take(7) {
            *place = (7 - count as u8) * 32;
        }
    }

    /// The symbol of a rank was met once more; `most` is how often one may be.
    fn meet(&mut self, rank: usize, most: u16) -> u16 {
        // Levelling leaves no count above 7, so that the second time is the last.
        for _ in 0..2 {
            let symbol = self.symbols[rank & 0xff];
            let place = &mut self.places[usize::from(symbol & 0xff)];
            let new_rank = usize::from(*place);
            *place = place.wrapping_add(1);
            let met = symbol.wrapping_add(1);
            if met & 0xff != 0 && met & 0xff <= most {
                self.symbols[rank & 0xff] = self.symbols[new_rank];
                self.symbols[new_rank] = met;
                return symbol >> 8;
            }
            self.level();
        }
        0
    }
}

/// The state of one stream.
pub(crate) struct V1 {
    bytes: Order,
    distances: Order,
    flag_bytes: Order,
    /// Distances of short matches, those met last first.
    short: [u8; 256],
    flags: u8,
    flags_left: u32,
    /// Whether the next flags are to be read first.
    has_flags: bool,
    is_all_bytes: bool,
    bytes_in_a_row: u32,
    repeats: u32,
    short_bit: u32,
    average_byte: u32,
    average_distance: u32,
    average_lengths: [u32; 3],
    far: usize,
    weight_bytes: u32,
    weight_matches: u32,
    recent: [usize; 4],
    oldest: usize,
    last_distance: usize,
    last_length: usize,
}

impl V1 {
    pub(crate) fn new() -> Self {
        let mut distances = Order::new(|at| at);
        distances.level();
        let mut short = [0; 256];
        short.iter_mut().zip(0..=255).for_each(|(place, at)| *place = at);
        Self {
            bytes: Order::new(|at| at),
            distances,
            flag_bytes: Order::new(|at| at.wrapping_neg() & 0xff),
            short,
            flags: 0,
            flags_left: 0,
            has_flags: false,
            is_all_bytes: false,
            bytes_in_a_row: 0,
            repeats: 0,
            short_bit: 0,
            average_byte: 0x3500,
            average_distance: 0,
            average_lengths: [0; 3],
            far: 0x2001,
            weight_bytes: 0x80,
            weight_matches: 0x80,
            recent: [0; 4],
            oldest: 0,
            last_distance: 0,
            last_length: 0,
        }
    }

    /// A stream begins.
    pub(crate) fn begin(&mut self, start: Start) {
        if start == Start::Anew {
            *self = Self::new();
        }
        (self.has_flags, self.is_all_bytes, self.repeats) = (false, false, 0);
    }

    fn read_flags(&mut self, bits: &mut Bits) {
        let rank = RANKS[2].take(bits);
        if rank < 256 {
            self.flags = self.flag_bytes.meet(rank, 0xff) as u8;
        }
    }

    fn flag(&mut self, bits: &mut Bits) -> bool {
        if self.flags_left == 0 {
            self.read_flags(bits);
            self.flags_left = 8;
        }
        self.flags_left -= 1;
        let is_set = self.flags & 0x80 != 0;
        self.flags <<= 1;
        is_set
    }

    fn copy(&mut self, distance: usize, length: usize, window: &mut Window) -> Result<(), Reason> {
        (self.last_distance, self.last_length) = (distance, length);
        if length == 0 { Ok(()) } else { window.copy(distance, length) }
    }

    fn remember(&mut self, distance: usize) {
        self.recent[self.oldest] = distance;
        self.oldest = (self.oldest + 1) & 3;
    }

    fn short_match(&mut self, bits: &mut Bits, window: &mut Window) -> Result<(), Reason> {
        self.bytes_in_a_row = 0;
        if self.repeats == 2 {
            if bits.is_set() {
                return self.copy(self.last_distance, self.last_length, window);
            }
            self.repeats = 0;
        }
        let next = bits.peek(8);
        let (codes, changing) = if self.average_lengths[0] < 37 { (&SHORT_1, 1) } else { (&SHORT_2, 3) };
        let bits_of = |at: usize| if at == changing { self.short_bit + 3 } else { codes[at].0 };
        let is_it = |at: &usize| (next ^ codes[*at].1) & !(0xff >> bits_of(*at)) & 0xff == 0;
        let kind = (0..codes.len()).find(is_it).ok_or(Reason::Damaged)?;
        bits.skip(bits_of(kind));
        match kind {
            0..=8 => self.short_new(kind, bits, window),
            9 => {
                self.repeats += 1;
                self.copy(self.last_distance, self.last_length, window)
            }
            14 => {
                self.repeats = 0;
                let length = LENGTHS_2.take(bits) + 5;
                let distance = bits.take(15) as usize | 0x8000;
                self.copy(distance, length, window)
            }
            _ => {
                self.repeats = 0;
                let distance = self.recent[(self.oldest + 4 - (kind - 9)) & 3];
                let mut length = LENGTHS_1.take(bits) + 2;
                if length == 0x101 && kind == 10 {
                    self.short_bit ^= 1;
                    return Ok(());
                }
                length += usize::from(distance > 256) + usize::from(distance >= self.far);
                self.remember(distance);
                self.copy(distance, length, window)
            }
        }
    }

    fn short_new(&mut self, length: usize, bits: &mut Bits, window: &mut Window) -> Result<(), Reason> {
        self.repeats = 0;
        let average = &mut self.average_lengths[0];
        *average += length as u32;
        *average -= *average >> 4;
        let rank = RANKS[2].take(bits) & 0xff;
        let distance = self.short[rank];
        if rank > 0 {
            self.short.swap(rank, rank - 1);
        }
        let distance = usize::from(distance) + 1;
        self.remember(distance);
        self.copy(distance, length + 2, window)
    }

    fn long_match(&mut self, bits: &mut Bits, window: &mut Window) -> Result<(), Reason> {
        self.bytes_in_a_row = 0;
        self.weight_matches += 16;
        if self.weight_matches > 0xff {
            self.weight_matches = 0x90;
            self.weight_bytes >>= 1;
        }
        let [_, old_second, old_third] = self.average_lengths;
        let length = self.long_length(old_second, bits);
        let average = &mut self.average_lengths[1];
        *average += length as u32;
        *average -= *average >> 5;
        let ranks = match self.average_distance {
            0..=0x6ff => &RANKS[0],
            0x700..=0x28ff => &RANKS[1],
            _ => &RANKS[2],
        };
        let rank = ranks.take(bits);
        self.average_distance += rank as u32;
        self.average_distance -= self.average_distance >> 8;
        let high = usize::from(self.distances.meet(rank, 0xff));
        let distance = (high << 8 | bits.peek(8) as usize) >> 1;
        bits.skip(7);
        let third = &mut self.average_lengths[2];
        if length != 1 && length != 4 {
            if length == 0 && distance <= self.far {
                *third += 1;
                *third -= *third >> 8;
            } else {
                *third = third.saturating_sub(1);
            }
        }
        let length = length + 3 + usize::from(distance >= self.far) + if distance <= 256 { 8 } else { 0 };
        let is_far = old_third > 0xb0 || self.average_byte >= 0x2a00 && old_second < 0x40;
        self.far = if is_far { 0x7f00 } else { 0x2001 };
        self.remember(distance);
        self.copy(distance, length, window)
    }

    fn long_length(&self, average: u32, bits: &mut Bits) -> usize {
        match average {
            122.. => LENGTHS_2.take(bits),
            64..=121 => LENGTHS_1.take(bits),
            _ => {
                let next = bits.peek(16);
                if next < 0x100 {
                    bits.skip(16);
                    return next as usize;
                }
                let zeros = next.leading_zeros() - 16;
                bits.skip(zeros + 1);
                zeros as usize
            }
        }
    }

    fn byte(&mut self, bits: &mut Bits, window: &mut Window) -> Result<(), Reason> {
        let next = bits.peek(16);
        let ranks = match self.average_byte {
            0..=0xdff => &RANKS[0],
            0xe00..=0x35ff => &RANKS[1],
            0x3600..=0x5dff => &RANKS[2],
            0x5e00..=0x75ff => &RANKS[3],
            _ => &RANKS[4],
        };
        let mut rank = ranks.take(bits) & 0xff;
        if self.is_all_bytes {
            if rank == 0 && next > 0xfff {
                rank = 0x100;
            }
            if rank == 0 {
                return self.among_bytes(bits, window);
            }
            rank -= 1;
        } else {
            self.bytes_in_a_row += 1;
            if self.bytes_in_a_row > 16 && self.flags_left == 0 {
                self.is_all_bytes = true;
            }
        }
        self.average_byte += rank as u32;
        self.average_byte -= self.average_byte >> 8;
        self.weight_bytes += 16;
        if self.weight_bytes > 0xff {
            self.weight_bytes = 0x90;
            self.weight_matches >>= 1;
        }
        window.push(self.bytes.meet(rank, 0xa1) as u8);
        Ok(())
    }

    /// Among bytes without flags: their end, or a match.
    fn among_bytes(&mut self, bits: &mut Bits, window: &mut Window) -> Result<(), Reason> {
        if bits.is_set() {
            (self.bytes_in_a_row, self.is_all_bytes) = (0, false);
            return Ok(());
        }
        let length = if bits.is_set() { 4 } else { 3 };
        let distance = RANKS[2].take(bits) << 5 | bits.take(5) as usize;
        window.copy(distance, length)
    }
}

impl Scheme for V1 {
    fn bits_needed(&self) -> usize {
        SYMBOL_BITS
    }

    fn bytes_made_max(&self) -> usize {
        MATCH_BYTES_MAX
    }

    fn symbol(&mut self, bits: &mut Bits, window: &mut Window) -> Result<Symbol, Reason> {
        if !self.has_flags {
            self.read_flags(bits);
            (self.flags_left, self.has_flags) = (8, true);
        }
        let prefers_matches = self.weight_matches > self.weight_bytes;
        if self.is_all_bytes {
            self.byte(bits, window)?;
        } else if self.flag(bits) {
            if prefers_matches { self.long_match(bits, window)? } else { self.byte(bits, window)? }
        } else if self.flag(bits) {
            if prefers_matches { self.byte(bits, window)? } else { self.long_match(bits, window)? }
        } else {
            self.short_match(bits, window)?;
        }
        Ok(Symbol::Read)
    }
}
