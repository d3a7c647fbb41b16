//! x86's calls and jumps (E8, E9), whose targets were made absolute. Rule: what looks like one within another is left alone.

/// An opcode and its operand.
const INSTRUCTION_BYTES: usize = 5;

/// Where the filter is, and what it met last.
pub(crate) struct X86 {
    position: u32,
    /// Where the last opcode was met.
    opcode_at: u32,
    /// Of the bytes before, which were opcodes or ended an operand.
    mask: u32,
}

/// Whether it can be the highest byte of a near target.
fn is_sign(byte: u8) -> bool {
    byte == 0 || byte == 0xff
}

impl X86 {
    pub fn new(start: u32) -> Self {
        Self { position: start, opcode_at: start.wrapping_sub(INSTRUCTION_BYTES as u32), mask: 0 }
    }

    /// As [`super::Filter::undo`]: the last four bytes wait for what follows.
    pub fn undo(&mut self, bytes: &mut [u8]) -> usize {
        if bytes.len() < INSTRUCTION_BYTES {
            return 0;
        }
        if self.position.wrapping_sub(self.opcode_at) > INSTRUCTION_BYTES as u32 {
            self.opcode_at = self.position.wrapping_sub(INSTRUCTION_BYTES as u32);
        }
        let mut at = 0;
        while at + INSTRUCTION_BYTES <= bytes.len() {
            if !matches!(bytes[at], 0xe8 | 0xe9) {
                at += 1;
                continue;
            }
            at += self.opcode(&mut bytes[at..at + INSTRUCTION_BYTES], at as u32);
        }
        self.position = self.position.wrapping_add(at as u32);
        at
    }

    /// One instruction; how far it leads.
    fn opcode(&mut self, instruction: &mut [u8], at: u32) -> usize {
        let here = self.position.wrapping_add(at);
        let since = here.wrapping_sub(self.opcode_at);
        self.opcode_at = here;
        self.mask = if since > INSTRUCTION_BYTES as u32 {
            0
        } else {
            (0..since).fold(self.mask, |mask, _| (mask & 0x77) << 1)
        };
        let high = instruction[4];
        if !is_sign(high) || matches!(self.mask >> 1, 3 | 5..) {
            self.mask |= if is_sign(high) { 0x11 } else { 1 };
            return 1;
        }
        let target = self.target(instruction, here);
        instruction[1..4].copy_from_slice(&target.to_le_bytes()[..3]);
        instruction[4] = if target & 1 << 24 == 0 { 0 } else { 0xff };
        self.mask = 0;
        INSTRUCTION_BYTES
    }

    fn target(&self, instruction: &[u8], here: u32) -> u32 {
        let next = here.wrapping_add(INSTRUCTION_BYTES as u32);
        let mut operand =
            u32::from_le_bytes([instruction[1], instruction[2], instruction[3], instruction[4]]);
        loop {
            let target = operand.wrapping_sub(next);
            if self.mask == 0 {
                return target;
            }
            let low_bits = match self.mask >> 1 {
                1 => 24,
                2 => 16,
                _ => 8,
            };
            if !is_sign((target >> (low_bits - 8)) as u8) {
                return target;
            }
            operand = target ^ ((1_u64 << low_bits) - 1) as u32;
        }
    }
}
