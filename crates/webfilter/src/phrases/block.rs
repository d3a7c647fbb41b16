//! Sixty-four bytes at once: [`Instructions`]. Rule: whichever a processor has, what comes of them is the same.

/// How many bytes are looked at together: as many as a mask has bits.
pub(super) const BLOCK: usize = 64;
/// Bytes of which each has its bit in a mask.
pub(super) type Block = [u8; BLOCK];

/// Which instructions loops are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speed {
    Portable,
    /// Those that find and count bits by themselves, and shift by any register.
    #[cfg(target_arch = "x86_64")]
    Bits,
    /// And those that compare 64 bytes at once, look 64 up, and pack them.
    #[cfg(target_arch = "x86_64")]
    Vectors,
}

impl Speed {
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let bits = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            let vectors = is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2");
            match (bits, vectors) {
                (true, true) => return Self::Vectors,
                (true, false) => return Self::Bits,
                _ => {}
            }
        }
        Self::Portable
    }
}

/// What is done with a block.
pub(super) trait Instructions: Copy {
    /// Which bytes are this one.
    fn equal(self, block: &Block, byte: u8) -> u64;
    /// Which bytes are no ASCII.
    fn high(self, block: &Block) -> u64;
    /// Appends the bytes of a mask, one behind the other.
    fn append(self, block: &Block, mask: u64, out: &mut Vec<u8>);
}

/// A byte as both readings have it: small, or a space.
#[inline]
pub(super) fn folded(byte: u8) -> u8 {
    let is_large = byte.wrapping_sub(b'A') < 26 || byte.wrapping_sub(0xc0) < 30;
    let is_space =
        byte < b'.' || (byte.wrapping_sub(b':') < 6 && byte != b'=') || byte.wrapping_sub(b'[') < 6;
    let letter = if is_large { byte + 32 } else { byte };
    if is_space { b' ' } else { letter }
}

/// Appends bytes as both readings have them.
pub(super) fn append_folded(out: &mut Vec<u8>, bytes: &[u8], speed: Speed) {
    match speed {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` found the instructions.
        Speed::Vectors => unsafe { x86_64::append_folded(out, bytes) },
        _ => out.extend(bytes.iter().map(|byte| folded(*byte))),
    }
}

/// So many lowest bits.
#[inline(always)]
pub(super) fn low(bits: usize) -> u64 {
    if bits < BLOCK { (1 << bits) - 1 } else { u64::MAX }
}

/// Those that every processor has.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn equal(self, block: &Block, byte: u8) -> u64 {
        let all = u64::from_ne_bytes([byte; 8]);
        // The highest bit of each byte that is zero, and no other.
        highest(block, |eight| {
            let other = eight ^ all;
            !((other & LOW).wrapping_add(LOW) | other | LOW)
        })
    }

    #[inline(always)]
    fn high(self, block: &Block) -> u64 {
        highest(block, |eight| eight & !LOW)
    }

    #[inline(always)]
    fn append(self, block: &Block, mut mask: u64, out: &mut Vec<u8>) {
        // One run behind the other.
        while mask != 0 {
            let from = mask.trailing_zeros() as usize;
            let end = from + (mask >> from).trailing_ones() as usize;
            out.extend_from_slice(&block[from..end]);
            mask &= !low(end);
        }
    }
}

const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// The highest bits of what each eight bytes come to, side by side.
#[inline(always)]
fn highest(block: &Block, of: impl Fn(u64) -> u64) -> u64 {
    let eights = block.as_chunks::<8>().0.iter().zip((0..).step_by(8));
    eights.fold(0, |mask, (eight, shift)| {
        let bits = of(u64::from_le_bytes(*eight));
        mask | ((bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << shift
    })
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64 {
    use super::*;
    use std::arch::x86_64::*;

    /// Those of [`Speed::Vectors`]. Whoever has one knows that they are there.
    #[derive(Clone, Copy)]
    pub struct Vectors(());

    impl Vectors {
        /// # Safety
        ///
        /// [`Speed::detect`] found them.
        #[inline(always)]
        pub unsafe fn new() -> Self {
            Self(())
        }
    }

    /// The portable code, made of other instructions.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub fn append_folded(out: &mut Vec<u8>, bytes: &[u8]) {
        out.extend(bytes.iter().map(|byte| folded(*byte)));
    }

    impl Instructions for Vectors {
        #[inline(always)]
        fn equal(self, block: &Block, byte: u8) -> u64 {
            // SAFETY: the instructions are there.
            unsafe { _mm512_cmpeq_epi8_mask(load(block), _mm512_set1_epi8(byte as i8)) }
        }

        #[inline(always)]
        fn high(self, block: &Block) -> u64 {
            // SAFETY: the instructions are there.
            unsafe { _mm512_movepi8_mask(load(block)) }
        }

        #[inline(always)]
        fn append(self, block: &Block, mask: u64, out: &mut Vec<u8>) {
            out.reserve(BLOCK);
            // SAFETY: the instructions are there. There is room for 64 bytes behind those that there are, and as many as the mask
            // has bits are what is added.
            unsafe {
                let packed = _mm512_maskz_compress_epi8(mask, load(block));
                _mm512_storeu_si512(out.as_mut_ptr().add(out.len()).cast(), packed);
                out.set_len(out.len() + mask.count_ones() as usize);
            }
        }
    }

    /// # Safety
    ///
    /// The instructions are there.
    #[inline(always)]
    unsafe fn load(block: &Block) -> __m512i {
        // SAFETY: the block has the 64 bytes that are read.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(with: impl Instructions) {
        let mut word = 1_u64;
        for _ in 0..500 {
            let block: Block = std::array::from_fn(|_| {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                b" a<\x80\xa0\x1f!\xff"[(word >> 61) as usize]
            });
            let mask = |is_one: &dyn Fn(u8) -> bool| {
                block.iter().zip(0..).fold(0, |mask, (byte, bit)| mask | u64::from(is_one(*byte)) << bit)
            };
            assert_eq!(with.equal(&block, b' '), mask(&|byte| byte == b' '));
            assert_eq!(with.high(&block), mask(&|byte| !byte.is_ascii()));
            for kept in [0, 1, 1 << 63, u64::MAX, word, word | word << 7, !(1 << (word >> 58))] {
                let bits = (0..BLOCK).filter(|bit| kept >> bit & 1 == 1);
                let expected: Vec<u8> = bits.map(|bit| block[bit]).collect();
                let mut out = b"before".to_vec();
                with.append(&block, kept, &mut out);
                assert_eq!(out, [&b"before"[..], &expected].concat());
            }
        }
    }

    #[test]
    fn all_instructions_come_to_the_same() {
        check(Portable);
        #[cfg(target_arch = "x86_64")]
        if Speed::detect() == Speed::Vectors {
            // SAFETY: they are there.
            check(unsafe { x86_64::Vectors::new() });
        }
    }
}
