//! Calls of machines whose instructions stand at even places. Rule: each instruction is looked at by itself.

/// The machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arch {
    PowerPc,
    Ia64,
    Arm,
    ArmThumb,
    Arm64,
    Sparc,
}

/// Which slots of an IA-64 bundle may hold a branch, by the bundle's template.
const IA64_SLOTS: [u8; 32] =
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 6, 6, 0, 0, 7, 7, 4, 4, 0, 0, 4, 4, 0, 0];

impl Arch {
    /// As [`super::Filter::undo`], where the first byte is at that position.
    pub fn undo(self, bytes: &mut [u8], position: u32) -> usize {
        if self == Self::ArmThumb {
            return thumb(bytes, position);
        }
        let length = if self == Self::Ia64 { 16 } else { 4 };
        let mut done = 0;
        for unit in bytes.chunks_exact_mut(length) {
            let here = position.wrapping_add(done as u32);
            match (self, <[u8; 4]>::try_from(&*unit)) {
                (Self::Ia64, _) => ia64(unit, here),
                (Self::PowerPc, Ok(word)) => {
                    put(unit, power_pc(u32::from_be_bytes(word), here).to_be_bytes())
                }
                (Self::Sparc, Ok(word)) => put(unit, sparc(u32::from_be_bytes(word), here).to_be_bytes()),
                (Self::Arm, Ok(word)) => put(unit, arm(u32::from_le_bytes(word), here).to_le_bytes()),
                (_, Ok(word)) => put(unit, arm64(u32::from_le_bytes(word), here).to_le_bytes()),
                (_, Err(_)) => {}
            }
            done += length;
        }
        done
    }
}

fn put(unit: &mut [u8], word: [u8; 4]) {
    unit.copy_from_slice(&word);
}

/// `bl`: 24 bits of target, in words, from two instructions further.
fn arm(word: u32, here: u32) -> u32 {
    if word >> 24 != 0xeb {
        return word;
    }
    let target = (word << 2).wrapping_sub(here.wrapping_add(8)) >> 2;
    0xeb00_0000 | target & 0x00ff_ffff
}

/// `bl` with 26 bits, and `adrp` within 512 MiB.
fn arm64(word: u32, here: u32) -> u32 {
    if word >> 26 == 0x25 {
        return 0x9400_0000 | word.wrapping_sub(here >> 2) & 0x03ff_ffff;
    }
    if word & 0x9f00_0000 != 0x9000_0000 {
        return word;
    }
    let page = word >> 29 & 3 | word >> 3 & 0x001f_fffc;
    if page.wrapping_add(0x0002_0000) & 0x001c_0000 != 0 {
        return word;
    }
    let target = page.wrapping_sub(here >> 12);
    let sign = 0_u32.wrapping_sub(target & 0x0002_0000) & 0x00e0_0000;
    word & 0x9000_001f | (target & 3) << 29 | (target & 0x0003_fffc) << 3 | sign
}

/// `bl`, absolute bit clear, link bit set.
fn power_pc(word: u32, here: u32) -> u32 {
    if word & 0xfc00_0003 != 0x4800_0001 {
        return word;
    }
    0x4800_0001 | (word & 0x03ff_fffc).wrapping_sub(here) & 0x03ff_fffc
}

/// `call` with a target within 8 MiB.
fn sparc(word: u32, here: u32) -> u32 {
    if !matches!(word >> 22, 0x100 | 0x1ff) {
        return word;
    }
    let target = (word << 2).wrapping_sub(here) >> 2;
    let sign = 0_u32.wrapping_sub(target >> 22 & 1) << 22 & 0x3fff_ffff;
    sign | target & 0x003f_ffff | 0x4000_0000
}

/// `bl` of two half words; either half word may be the first.
fn thumb(bytes: &mut [u8], position: u32) -> usize {
    let mut at = 0;
    while let Some(&mut [low, high, low2, high2]) = bytes.get_mut(at..at + 4) {
        if high & 0xf8 != 0xf0 || high2 & 0xf8 != 0xf8 {
            at += 2;
            continue;
        }
        let number = [high & 7, low, high2 & 7, low2].map(u32::from);
        let operand = (number[0] << 19 | number[1] << 11 | number[2] << 8 | number[3]) << 1;
        let target = operand.wrapping_sub(position.wrapping_add(at as u32).wrapping_add(4)) >> 1;
        let high = 0xf0 | (target >> 19 & 7) as u8;
        let high2 = 0xf8 | (target >> 8 & 7) as u8;
        bytes[at..at + 4].copy_from_slice(&[(target >> 11) as u8, high, target as u8, high2]);
        at += 4;
    }
    at
}

/// A bundle of three instructions of 41 bits.
fn ia64(bundle: &mut [u8], here: u32) {
    let slots = IA64_SLOTS[usize::from(bundle[0] & 0x1f)];
    for slot in 0..3 {
        if slots >> slot & 1 == 0 {
            continue;
        }
        let bit = 5 + slot * 41;
        let (from, shift) = (bit / 8, bit % 8);
        let mut word = [0; 8];
        word[..6].copy_from_slice(&bundle[from..from + 6]);
        let whole = u64::from_le_bytes(word);
        let mut instruction = whole >> shift;
        if instruction >> 37 & 0xf != 5 || instruction >> 9 & 7 != 0 {
            continue;
        }
        let operand = (instruction >> 13 & 0xf_ffff | (instruction >> 36 & 1) << 20) as u32;
        let target = u64::from((operand << 4).wrapping_sub(here) >> 4);
        instruction &= !(0x8f_ffff << 13);
        instruction |= (target & 0xf_ffff) << 13 | (target & 0x10_0000) << (36 - 20);
        let low = whole & ((1 << shift) - 1);
        bundle[from..from + 6].copy_from_slice(&(low | instruction << shift).to_le_bytes()[..6]);
    }
}
