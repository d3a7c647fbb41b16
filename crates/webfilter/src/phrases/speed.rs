//! Which instructions loops over a page's bytes are made of: [`Speed`]. Rule: each finds the same.

/// Which instructions the loops are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speed {
    Portable,
    /// Those that find and count bits by themselves, and shift by any register.
    #[cfg(target_arch = "x86_64")]
    Bits,
    /// And those that compare 64 bytes at once, and look 64 up.
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

/// Which of 64 bytes are spaces, a bit for each.
#[inline(always)]
pub(super) fn spaces(bytes: &[u8; 64]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let eights = bytes.as_chunks::<8>().0.iter().zip((0..64).step_by(8));
    eights.fold(0, |mask, (eight, shift)| {
        let other = u64::from_le_bytes(*eight) ^ 0x2020_2020_2020_2020;
        // The highest bit of each byte that is zero, and no other; then these eight bits side by side.
        let zero = !((other & LOW).wrapping_add(LOW) | other | LOW);
        mask | ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << shift
    })
}
