//! LZMA's symbols and what is expected of them. Rule: reading a symbol changes probabilities only; [`Model::note`] moves on.

use super::bits::{Bits, EVEN};
use lockgate_model::Reason;

/// The least length of a match.
const LENGTH_MIN: u32 = 2;
/// States below this follow a literal.
const STATE_MATCHED: usize = 7;
const STATES: usize = 12;
const POSITIONS: usize = 16;
/// Probabilities for each context of a literal.
const LITERAL: usize = 0x300;
/// Slots from here on have bits that are told directly.
const SLOT_DIRECT: u32 = 14;
const SLOT_SPECIAL: u32 = 4;
const ALIGN_BITS: u32 = 4;
/// The distance that marks the end.
const DISTANCE_END: u32 = u32::MAX;

/// How literals and positions are told apart: `lc`, `lp`, `pb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    literal_context_bits: u32,
    literal_position_bits: u32,
    position_bits: u32,
}

impl Properties {
    /// Of the byte that tells them, `(pb * 5 + lp) * 9 + lc`.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`] where no such numbers make that byte.
    pub fn from_byte(byte: u8) -> Result<Self, Reason> {
        let byte = u32::from(byte);
        let properties = Self {
            literal_context_bits: byte % 9,
            literal_position_bits: byte / 9 % 5,
            position_bits: byte / 45,
        };
        if properties.position_bits > 4 { Err(Reason::Damaged) } else { Ok(properties) }
    }

    /// LZMA2 allows four bits together.
    pub fn is_for_lzma2(self) -> bool {
        self.literal_context_bits + self.literal_position_bits <= 4
    }

    /// How many probabilities literals have.
    pub(super) fn literals(self) -> usize {
        LITERAL << (self.literal_context_bits + self.literal_position_bits)
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Literal(u8),
    /// From so many bytes back, where 0 is the last byte.
    Match {
        distance: u32,
        length: u32,
    },
    /// From one of the four distances that were used last.
    Again {
        which: usize,
        length: u32,
    },
    End,
}

/// What a symbol depends on besides the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Bytes made since the dictionary was reset.
    pub position: u64,
    pub last: u8,
    /// The byte at the last distance.
    pub matched: u8,
}

/// The probabilities, the state and the last distances.
pub(super) struct Model {
    properties: Properties,
    literals: Vec<u16>,
    is_match: [[u16; POSITIONS]; STATES],
    is_again: [u16; STATES],
    is_again_later: [u16; STATES],
    is_again_third: [u16; STATES],
    is_again_fourth: [u16; STATES],
    is_again_long: [[u16; POSITIONS]; STATES],
    slots: [[u16; 64]; 4],
    special: [u16; 128],
    align: [u16; 1 << ALIGN_BITS],
    lengths: Lengths,
    again_lengths: Lengths,
    state: usize,
    distances: [u32; 4],
}

/// The probabilities of lengths.
#[derive(Clone)]
struct Lengths {
    is_not_low: u16,
    is_high: u16,
    low: [[u16; 8]; POSITIONS],
    middle: [[u16; 8]; POSITIONS],
    high: [u16; 256],
}

impl Lengths {
    const EVEN: Self = Self {
        is_not_low: EVEN,
        is_high: EVEN,
        low: [[EVEN; 8]; POSITIONS],
        middle: [[EVEN; 8]; POSITIONS],
        high: [EVEN; 256],
    };

    fn read<const MODE: bool>(&mut self, bits: &mut Bits<'_>, position: usize) -> u32 {
        if bits.bit::<MODE>(&mut self.is_not_low) == 0 {
            return LENGTH_MIN + bits.tree::<MODE>(&mut self.low[position], 3);
        }
        if bits.bit::<MODE>(&mut self.is_high) == 0 {
            return LENGTH_MIN + 8 + bits.tree::<MODE>(&mut self.middle[position], 3);
        }
        LENGTH_MIN + 16 + bits.tree::<MODE>(&mut self.high, 8)
    }
}

impl Model {
    pub fn new(properties: Properties) -> Self {
        Self {
            properties,
            literals: vec![EVEN; properties.literals()],
            is_match: [[EVEN; POSITIONS]; STATES],
            is_again: [EVEN; STATES],
            is_again_later: [EVEN; STATES],
            is_again_third: [EVEN; STATES],
            is_again_fourth: [EVEN; STATES],
            is_again_long: [[EVEN; POSITIONS]; STATES],
            slots: [[EVEN; 64]; 4],
            special: [EVEN; 128],
            align: [EVEN; 1 << ALIGN_BITS],
            lengths: Lengths::EVEN,
            again_lengths: Lengths::EVEN,
            state: 0,
            distances: [0; 4],
        }
    }

    /// As new, with these properties; memory is kept.
    pub fn reset(&mut self, properties: Properties) {
        let mut literals = std::mem::take(&mut self.literals);
        literals.clear();
        literals.resize(properties.literals(), EVEN);
        *self = Self { literals, ..Self::new(Properties { literal_context_bits: 0, ..properties }) };
        self.properties = properties;
    }

    pub fn properties(&self) -> Properties {
        self.properties
    }

    /// The distance that was used last.
    pub fn distance(&self) -> u32 {
        self.distances[0]
    }

    /// Whether the next literal depends on the byte at the last distance.
    pub fn is_behind_match(&self) -> bool {
        self.state >= STATE_MATCHED
    }

    /// The next symbol.
    #[inline(always)]
    pub fn read<const MODE: bool>(&mut self, bits: &mut Bits<'_>, place: Place) -> Symbol {
        let position = place.position as usize & ((1 << self.properties.position_bits) - 1);
        let state = self.state;
        if bits.bit::<MODE>(&mut self.is_match[state][position]) == 0 {
            return Symbol::Literal(self.literal::<MODE>(bits, place));
        }
        if bits.bit::<MODE>(&mut self.is_again[state]) == 0 {
            let length = self.lengths.read::<MODE>(bits, position);
            return match self.far::<MODE>(bits, length) {
                DISTANCE_END => Symbol::End,
                distance => Symbol::Match { distance, length },
            };
        }
        let mut which = 0;
        if bits.bit::<MODE>(&mut self.is_again_later[state]) == 0 {
            if bits.bit::<MODE>(&mut self.is_again_long[state][position]) == 0 {
                return Symbol::Again { which, length: 1 };
            }
        } else if bits.bit::<MODE>(&mut self.is_again_third[state]) == 0 {
            which = 1;
        } else {
            which = 2 + bits.bit::<MODE>(&mut self.is_again_fourth[state]) as usize;
        }
        Symbol::Again { which, length: self.again_lengths.read::<MODE>(bits, position) }
    }

    #[inline(always)]
    fn literal<const MODE: bool>(&mut self, bits: &mut Bits<'_>, place: Place) -> u8 {
        let Properties { literal_context_bits, literal_position_bits, .. } = self.properties;
        let position = place.position as usize & ((1 << literal_position_bits) - 1);
        let last = usize::from(place.last) >> (8 - literal_context_bits);
        let from = LITERAL * ((position << literal_context_bits) + last);
        let Some(probabilities) = self.literals.get_mut(from..from + LITERAL) else { return 0 };
        if self.state < STATE_MATCHED {
            return bits.tree::<MODE>(&mut probabilities[..0x100], 8) as u8;
        }
        // As long as the literal goes as the byte that a match would have given, that byte's next bit counts.
        let (mut offset, mut matched, mut node) = (0x100, usize::from(place.matched), 1);
        for _ in 0..8 {
            matched <<= 1;
            let expected = matched & offset;
            let bit = bits.bit::<MODE>(&mut probabilities[offset + expected + node]) as usize;
            node = node << 1 | bit;
            offset &= if bit == 0 { !expected } else { expected };
        }
        node as u8
    }

    fn far<const MODE: bool>(&mut self, bits: &mut Bits<'_>, length: u32) -> u32 {
        let of_length = (length - LENGTH_MIN).min(3) as usize;
        let slot = bits.tree::<MODE>(&mut self.slots[of_length], 6);
        if slot < SLOT_SPECIAL {
            return slot;
        }
        let count = (slot >> 1) - 1;
        let base = (2 | slot & 1) << count;
        if slot < SLOT_DIRECT {
            let from = (base - slot) as usize;
            return base + bits.reverse_tree::<MODE>(&mut self.special[from..], count);
        }
        let high = bits.direct(count - ALIGN_BITS) << ALIGN_BITS;
        base + (high | bits.reverse_tree::<MODE>(&mut self.align, ALIGN_BITS))
    }

    /// The symbol has been read: the next one is another's.
    pub fn note(&mut self, symbol: Symbol) {
        let is_behind_literal = self.state < STATE_MATCHED;
        self.state = match symbol {
            Symbol::Literal(_) => match self.state {
                0..4 => 0,
                4..10 => self.state - 3,
                _ => self.state - 6,
            },
            Symbol::Match { distance, .. } => {
                self.distances.rotate_right(1);
                self.distances[0] = distance;
                if is_behind_literal { 7 } else { 10 }
            }
            Symbol::Again { which, length } => {
                self.distances[..=which].rotate_right(1);
                match (length, is_behind_literal) {
                    (1, true) => 9,
                    (_, true) => 8,
                    (_, false) => 11,
                }
            }
            Symbol::End => self.state,
        };
    }
}
