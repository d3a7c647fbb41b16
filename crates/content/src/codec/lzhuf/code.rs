//! Canonical Huffman codes of up to 16 bits. Rule: what no code stands for is damaged, never a guess.

use super::bits::Bits;
use lockgate_model::Reason;

/// The longest code.
pub(crate) const CODE_BITS_MAX: usize = 16;
const LOOK_BITS: usize = 10;

/// One code.
pub(crate) struct Code {
    /// By the next ten bits: symbol and length, or 0 where the code is longer.
    look: Vec<u16>,
    /// For each length, the first 16-bit number beyond its codes …
    limits: [u32; CODE_BITS_MAX + 1],
    /// … and what to add to a code to find its symbol in order.
    bases: [i32; CODE_BITS_MAX + 1],
    symbols: Vec<u16>,
    /// A code of one symbol that takes no bits.
    only: Option<u16>,
}

impl Default for Code {
    fn default() -> Self {
        Self::new()
    }
}

#[allow(dead_code)]
impl Code {
    /// No symbol has a code.
    pub(crate) fn new() -> Self {
        Self {
            look: vec![0; 1 << LOOK_BITS],
            limits: [0; CODE_BITS_MAX + 1],
            bases: [0; CODE_BITS_MAX + 1],
            symbols: Vec::new(),
            only: None,
        }
    }

    /// There is but one symbol, and it takes no bits.
    pub(crate) fn set_only(&mut self, symbol: u16) {
        self.only = Some(symbol);
    }

    /// Builds the code of these lengths, each up to 16; of 0 for symbols that have none. At most 2,048 symbols.
    ///
    /// # Errors
    ///
    /// Damaged where there are more codes than fit.
    pub(crate) fn build(&mut self, lengths: &[u8]) -> Result<(), Reason> {
        self.only = None;
        self.look.fill(0);
        let mut counts = [0_usize; CODE_BITS_MAX + 1];
        for length in lengths {
            *counts.get_mut(usize::from(*length)).ok_or(Reason::Damaged)? += 1;
        }
        counts[0] = 0;
        let (mut code, mut order) = (0_u32, 0_usize);
        let mut next = [0_usize; CODE_BITS_MAX + 1];
        for length in 1..=CODE_BITS_MAX {
            self.bases[length] = order as i32 - code as i32;
            next[length] = order;
            code += counts[length] as u32;
            order += counts[length];
            if code > 1 << length {
                return Err(Reason::Damaged);
            }
            self.limits[length] = code << (CODE_BITS_MAX - length);
            code <<= 1;
        }
        self.symbols.clear();
        self.symbols.resize(order, 0);
        for (symbol, length) in lengths.iter().enumerate().filter(|(_, l)| **l > 0) {
            let length = usize::from(*length);
            let place = next[length];
            next[length] += 1;
            self.symbols[place] = symbol as u16;
            if length <= LOOK_BITS {
                let code = (place as i32 - self.bases[length]) as usize;
                let first = code << (LOOK_BITS - length);
                self.look[first..first + (1 << (LOOK_BITS - length))]
                    .fill((symbol as u16) << 5 | length as u16);
            }
        }
        Ok(())
    }

    /// Takes the next symbol.
    ///
    /// # Errors
    ///
    /// Damaged where no code stands there.
    #[inline]
    pub(crate) fn take(&self, bits: &mut Bits) -> Result<usize, Reason> {
        let next = bits.peek(CODE_BITS_MAX as u32);
        let entry = self.look[(next >> (CODE_BITS_MAX - LOOK_BITS)) as usize & ((1 << LOOK_BITS) - 1)];
        if entry != 0 && self.only.is_none() {
            bits.skip(u32::from(entry & 31));
            return Ok(usize::from(entry >> 5));
        }
        self.take_long(next, bits)
    }

    #[cold]
    fn take_long(&self, next: u32, bits: &mut Bits) -> Result<usize, Reason> {
        if let Some(only) = self.only {
            return Ok(usize::from(only));
        }
        let is_below = |length: &usize| next < self.limits[*length];
        let length = (1..=CODE_BITS_MAX).find(is_below).ok_or(Reason::Damaged)?;
        let order = self.bases[length] + (next >> (CODE_BITS_MAX - length)) as i32;
        let symbol = usize::try_from(order).ok().and_then(|order| self.symbols.get(order));
        bits.skip(length as u32);
        symbol.map(|symbol| usize::from(*symbol)).ok_or(Reason::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::More;

    #[test]
    fn short_and_long_codes() {
        let mut code = Code::new();
        // 0, 10, 110, and two of twelve bits.
        let mut lengths = [0; 300];
        (lengths[7], lengths[1], lengths[299], lengths[3], lengths[200]) = (1, 2, 3, 12, 12);
        code.build(&lengths).unwrap();
        let mut bits = Bits::new();
        bits.feed(&[0b0101_1011, 0b1000_0000, 0b0011_1000, 0b0000_0111, 0xff], More::Ended);
        let taken: Vec<_> = (0..5).map(|_| code.take(&mut bits)).collect();
        assert_eq!(taken, [Ok(7), Ok(1), Ok(299), Ok(3), Ok(200)]);
        assert_eq!(code.take(&mut bits), Err(Reason::Damaged), "incomplete");
        assert_eq!(Code::new().take(&mut bits), Err(Reason::Damaged), "empty");
        assert_eq!(code.build(&[1, 1, 1]), Err(Reason::Damaged), "too many");
        code.set_only(5);
        assert_eq!(code.take(&mut bits), Ok(5));
    }
}
