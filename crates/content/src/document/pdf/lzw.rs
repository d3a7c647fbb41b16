//! LZW as PDF has it (ISO 32000-1, section 7.4.4): codes of 9 to 12 bits, the highest bit first. Rule: a code that is not there yet is damage.

use crate::codec::{Outcome, Run};
use lockgate_model::Reason;

const CODES: usize = 4096;
const CLEAR: u16 = 256;
const END: u16 = 257;
const FIRST: usize = 258;

/// A stream on its way.
pub(super) struct Lzw {
    /// Whether codes grow one code early, as they do unless the file says otherwise.
    early: usize,
    bits: u32,
    bit_count: u32,
    /// Behind each code: the code before it, and its last byte.
    table: Vec<(u16, u8)>,
    next: usize,
    previous: Option<u16>,
    /// What the last code stands for, backwards.
    string: Vec<u8>,
}

impl Lzw {
    /// Awaits the first code.
    pub(super) fn new(early: usize) -> Self {
        Self {
            early,
            bits: 0,
            bit_count: 0,
            table: Vec::new(),
            next: FIRST,
            previous: None,
            string: Vec::new(),
        }
    }

    /// Whether there is something to give without further input.
    pub(super) fn owes(&self) -> bool {
        !self.string.is_empty()
    }

    /// Decodes until the input is used or the output full.
    pub(super) fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let (mut used, mut made) = (0, 0);
        loop {
            while made < output.len()
                && let Some(byte) = self.string.pop()
            {
                output[made] = byte;
                made += 1;
            }
            if made == output.len() {
                return Run { used, made, outcome: Outcome::Going };
            }
            let width = match self.next + self.early {
                0..512 => 9,
                512..1024 => 10,
                1024..2048 => 11,
                _ => 12,
            };
            while self.bit_count < width {
                let Some(byte) = input.get(used) else { return Run { used, made, outcome: Outcome::Going } };
                self.bits = self.bits << 8 | u32::from(*byte);
                self.bit_count += 8;
                used += 1;
            }
            self.bit_count -= width;
            let code = (self.bits >> self.bit_count & ((1 << width) - 1)) as u16;
            match self.code(code) {
                Outcome::Going => {}
                outcome => return Run { used, made, outcome },
            }
        }
    }

    fn code(&mut self, code: u16) -> Outcome {
        if code == END {
            return Outcome::Ended;
        }
        if code == CLEAR {
            (self.next, self.previous) = (FIRST, None);
            return Outcome::Going;
        }
        let Some(previous) = self.previous else {
            if code > 255 {
                return Outcome::Failed(Reason::Damaged);
            }
            self.previous = Some(code);
            self.string.push(code as u8);
            return Outcome::Going;
        };
        if usize::from(code) > self.next {
            return Outcome::Failed(Reason::Damaged);
        }
        let is_new = usize::from(code) == self.next;
        if is_new {
            // It ends with the byte that it begins with, which is not known yet.
            self.string.push(0);
        }
        let first = self.spell(if is_new { previous } else { code });
        if is_new && let Some(last) = self.string.first_mut() {
            *last = first;
        }
        if self.next < CODES {
            if self.table.is_empty() {
                self.table.resize(CODES, (0, 0));
            }
            self.table[self.next] = (previous, first);
            self.next += 1;
        } else if is_new {
            return Outcome::Failed(Reason::Damaged);
        }
        self.previous = Some(code);
        Outcome::Going
    }

    /// Puts what a code stands for behind the string, backwards; its first byte.
    fn spell(&mut self, mut code: u16) -> u8 {
        // Each step leads to a smaller code.
        while let Some((before, last)) = self.table.get(usize::from(code)).filter(|_| code > 255) {
            self.string.push(*last);
            code = *before;
        }
        self.string.push(code as u8);
        code as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{noise, prose};

    fn decode(input: &[u8], cut: usize, early: usize) -> (Vec<u8>, Outcome) {
        let (mut lzw, mut output) = (Lzw::new(early), Vec::new());
        for mut piece in input.chunks(cut) {
            loop {
                let mut room = [0; 100];
                let run = lzw.run(piece, &mut room);
                output.extend_from_slice(&room[..run.made]);
                piece = &piece[run.used..];
                if run.outcome != Outcome::Going {
                    return (output, run.outcome);
                }
                if piece.is_empty() && !lzw.owes() {
                    break;
                }
            }
        }
        (output, Outcome::Going)
    }

    /// Codes as a writer makes them.
    pub(in crate::document) fn encode(content: &[u8]) -> Vec<u8> {
        let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
        let mut put = |code: u16, width: u32| {
            bits = bits << width | u32::from(code);
            count += width;
            while count >= 8 {
                count -= 8;
                bytes.push((bits >> count) as u8);
            }
        };
        let mut table = std::collections::HashMap::<Vec<u8>, u16>::new();
        let (mut next, mut string) = (FIRST, Vec::new());
        let width = |next: usize| match next {
            0..512 => 9,
            512..1024 => 10,
            1024..2048 => 11,
            _ => 12,
        };
        let code = |table: &std::collections::HashMap<Vec<u8>, u16>, s: &[u8]| match s {
            [one] => u16::from(*one),
            more => table[more],
        };
        put(CLEAR, 9);
        for byte in content {
            let longer = [&string[..], &[*byte]].concat();
            if longer.len() == 1 || table.contains_key(&longer) {
                string = longer;
                continue;
            }
            put(code(&table, &string), width(next));
            table.insert(longer, next as u16);
            next += 1;
            if next == CODES - 2 {
                put(CLEAR, 12);
                (table, next) = (std::collections::HashMap::new(), FIRST);
            }
            string = vec![*byte];
        }
        if !string.is_empty() {
            put(code(&table, &string), width(next));
        }
        put(END, width(next + 1));
        put(0, 7);
        bytes
    }

    #[test]
    fn the_manuals_example() {
        let input = [0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01];
        let expected = (vec![45, 45, 45, 45, 45, 65, 45, 45, 45, 66], Outcome::Ended);
        assert_eq!(decode(&input, 9, 1), expected);
        assert_eq!(decode(&input, 1, 1), expected);
    }

    #[test]
    fn long_ones_and_damage() {
        for content in [prose(1, 50_000), noise(1, 20_000), vec![7; 30_000], Vec::new()] {
            for cut in [1, 7, 100_000] {
                assert!(decode(&encode(&content), cut, 1) == (content.clone(), Outcome::Ended));
            }
        }
        assert_eq!(decode(&noise(3, 1000), 1000, 1).1, Outcome::Failed(Reason::Damaged));
    }
}
