//! Prefix codes that are known by their lengths (RFC 1951, section 3.2.2). Rule: the same symbol by table and by search.

/// The longest code.
const BITS_MAX: usize = 16;
/// Shorter codes are looked up at once.
const QUICK_BITS: usize = 9;

/// A code of up to 16 bits.
pub(crate) struct Code {
    /// By the first bits: the symbol and its length, or 0 where it is longer.
    quick: Box<[(u16, u8); 1 << QUICK_BITS]>,
    /// For each length the first code behind it, as 16 bits, and what a code less that of the length's first is by symbol.
    ends: [u32; BITS_MAX + 1],
    firsts: [u32; BITS_MAX + 1],
    places: [u16; BITS_MAX + 1],
    symbols: Vec<u16>,
}

/// How many of the codes that there could be must have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// All, or else one at most.
    Whole,
    /// Any number.
    Partly,
}

impl Code {
    /// The code whose symbols have these lengths, 0 for those that do not occur; `None` where there is no such code.
    pub(crate) fn new(lengths: &[u8], filled: Filled) -> Option<Self> {
        let mut counts = [0_u32; BITS_MAX + 1];
        for length in lengths {
            *counts.get_mut(usize::from(*length))? += 1;
        }
        counts[0] = 0;
        let mut code = Self {
            quick: Box::new([(0, 0); 1 << QUICK_BITS]),
            ends: [0; BITS_MAX + 1],
            firsts: [0; BITS_MAX + 1],
            places: [0; BITS_MAX + 1],
            symbols: vec![0; counts.iter().sum::<u32>() as usize],
        };
        let (mut next, mut place) = (0_u32, 0_u32);
        for (length, count) in counts.iter().enumerate().skip(1) {
            code.firsts[length] = next;
            code.places[length] = place as u16;
            next += count << (BITS_MAX - length);
            code.ends[length] = next;
            place += count;
        }
        let is_whole = next == 1 << BITS_MAX || code.symbols.len() <= 1;
        if next > 1 << BITS_MAX || filled == Filled::Whole && !is_whole {
            return None;
        }
        let mut places = code.places;
        for (symbol, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let (bits, place) = (usize::from(*length), &mut places[usize::from(*length)]);
            let nth = usize::from(*place - code.places[bits]);
            code.symbols[usize::from(*place)] = symbol as u16;
            *place += 1;
            if bits <= QUICK_BITS {
                let from =
                    (code.firsts[bits] as usize >> (BITS_MAX - QUICK_BITS)) + (nth << (QUICK_BITS - bits));
                code.quick[from..from + (1 << (QUICK_BITS - bits))].fill((symbol as u16, *length));
            }
        }
        Some(code)
    }

    /// The symbol whose code these 16 bits begin with, the first the highest, and its length.
    pub(crate) fn find(&self, word: u16) -> Option<(u16, u8)> {
        let quick = self.quick[usize::from(word) >> (BITS_MAX - QUICK_BITS)];
        if quick.1 > 0 {
            return Some(quick);
        }
        let word = u32::from(word);
        let length = (QUICK_BITS + 1..=BITS_MAX).find(|length| word < self.ends[*length])?;
        // Below the first code of this length are those of shorter ones, which are in the table.
        let place =
            u32::from(self.places[length]) + (word.checked_sub(self.firsts[length])? >> (BITS_MAX - length));
        Some((*self.symbols.get(place as usize)?, length as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        let code = Code::new(&[3, 3, 3, 3, 3, 2, 4, 4], Filled::Whole).unwrap();
        let expected =
            [(0b0100, 4, 'B'), (0b000, 3, 'F'), (0b010, 3, 'A'), (0b1110, 4, 'G'), (0b1111, 4, 'H')];
        for (bits, length, letter) in expected {
            let bits: u16 = if letter == 'F' {
                0b00
            } else if letter == 'B' {
                0b011
            } else {
                bits
            };
            let length = match letter {
                'F' => 2,
                'B' => 3,
                _ => length,
            };
            let word = bits << (16 - length);
            assert_eq!(code.find(word), Some((letter as u16 - 'A' as u16, length)), "{letter}");
        }
    }

    #[test]
    fn what_is_no_code() {
        assert!(Code::new(&[1, 1, 1], Filled::Partly).is_none());
        assert!(Code::new(&[2, 2, 2], Filled::Whole).is_none());
        assert!(Code::new(&[17], Filled::Partly).is_none());
        let one = Code::new(&[0, 1], Filled::Whole).unwrap();
        assert_eq!((one.find(0), one.find(0x8000)), (Some((1, 1)), None));
        assert_eq!(Code::new(&[], Filled::Whole).unwrap().find(0), None);
    }

    #[test]
    fn long_codes_are_found_as_short_ones_are() {
        let mut lengths: Vec<u8> = (1..=16).collect();
        lengths.push(16);
        let code = Code::new(&lengths, Filled::Whole).unwrap();
        assert_eq!(code.find(0xffff), Some((16, 16)));
        assert_eq!(code.find(0xfffe), Some((15, 16)));
        for length in 1..=15 {
            let word = !(0xffff >> (length - 1));
            assert_eq!(code.find(word), Some((length - 1, length as u8)));
        }
    }
}
