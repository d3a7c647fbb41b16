//! Huffman codes of up to 20 bits. Rule: short codes by one look, long ones by their limits.

/// The most symbols: 256 bytes but one, two for runs, one for the end.
pub(super) const SYMBOLS_MAX: usize = 258;
pub(super) const CODE_BITS_MAX: usize = 20;
const LOOK_BITS: usize = 10;

/// One code.
pub(super) struct Code {
    /// By the next ten bits: symbol and length, or 0 where the code is longer.
    look: [u16; 1 << LOOK_BITS],
    /// For each length, the first 20-bit number beyond its codes …
    limits: [u32; CODE_BITS_MAX + 1],
    /// … and what to add to a code to find its symbol in order.
    bases: [i32; CODE_BITS_MAX + 1],
    symbols: [u16; SYMBOLS_MAX],
}

/// A symbol and how many bits it took.
#[derive(Clone, Copy)]
pub(super) struct Decoded {
    pub(super) symbol: u16,
    pub(super) bits: u32,
}

impl Default for Code {
    fn default() -> Self {
        Self {
            look: [0; 1 << LOOK_BITS],
            limits: [0; CODE_BITS_MAX + 1],
            bases: [0; CODE_BITS_MAX + 1],
            symbols: [0; SYMBOLS_MAX],
        }
    }
}

impl Code {
    /// Builds the canonical code of these lengths, each from 1 to 20.
    pub(super) fn build(&mut self, lengths: &[u8]) {
        self.look.fill(0);
        let mut code = 0_u32;
        let mut order = 0_usize;
        for length in 1..=CODE_BITS_MAX {
            self.bases[length] = order as i32 - code as i32;
            for (symbol, _) in lengths.iter().enumerate().filter(|(_, l)| usize::from(**l) == length) {
                self.symbols[order] = symbol as u16;
                if length <= LOOK_BITS {
                    let first = (code as usize) << (LOOK_BITS - length);
                    let end = (first + (1 << (LOOK_BITS - length))).min(self.look.len());
                    // Too many codes for their lengths wrap nowhere: they are never found.
                    if let Some(entries) = self.look.get_mut(first..end) {
                        entries.fill((symbol as u16) << 5 | length as u16);
                    }
                }
                code += 1;
                order += 1;
            }
            self.limits[length] = code << (CODE_BITS_MAX - length);
            code <<= 1;
        }
    }

    /// The symbol that these 20 bits begin with; `None` where no code does.
    pub(super) fn decode(&self, bits: u32) -> Option<Decoded> {
        let entry = self.look[(bits >> (CODE_BITS_MAX - LOOK_BITS)) as usize & ((1 << LOOK_BITS) - 1)];
        if entry != 0 {
            return Some(Decoded { symbol: entry >> 5, bits: u32::from(entry & 31) });
        }
        self.decode_long(bits)
    }

    #[cold]
    fn decode_long(&self, bits: u32) -> Option<Decoded> {
        let length = (LOOK_BITS + 1..=CODE_BITS_MAX).find(|length| bits < self.limits[*length])?;
        let code = bits >> (CODE_BITS_MAX - length);
        let order = usize::try_from(self.bases[length] + code as i32).ok()?;
        Some(Decoded { symbol: *self.symbols.get(order)?, bits: length as u32 })
    }
}
