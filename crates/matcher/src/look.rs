//! What is looked up at each place, and the loops that do. Rule: unsafe code stands here only, behind checked bounds.
//!
//! Hits are written to a list without a branch, so that the processor runs ahead over many looks at once.

mod bloom;
mod landmarks;
mod marks;
mod pairs;
mod sieve;

pub use bloom::{Bloom, Turned, WINDOWS_MAX, Windows};
pub use landmarks::{Landmark, Landmarks};
pub use marks::Marks;
pub use pairs::Pairs;
pub use sieve::{Passed, Probe, ROUND, Sieve, key};

/// How many looks are taken before the hits are gone through.
pub const LOOKS_MAX: usize = 512;
/// Room that vector code may write beyond the hits it counts.
const SLACK: usize = 16;
/// How many places a mask tells of.
pub const PLACES: usize = 64;

/// Where a byte stands among 64, a bit for each, the first the lowest.
#[inline]
pub fn places_of(byte: u8, bytes: &[u8; PLACES]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
        let (sixteens, _) = bytes.as_chunks::<16>();
        sixteens.iter().rev().fold(0, |mask, sixteen| {
            // SAFETY: each processor of this architecture has SSE2, and there are the 16 bytes that are read.
            let equal = unsafe {
                let here = _mm_loadu_si128(sixteen.as_ptr().cast());
                _mm_movemask_epi8(_mm_cmpeq_epi8(here, _mm_set1_epi8(byte as i8)))
            };
            mask << 16 | equal as u64
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        bytes.iter().rev().fold(0, |mask, here| mask << 1 | u64::from(*here == byte))
    }
}

/// How many bytes are looked at, and how they are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lens {
    /// Bytes from look to look; at most [`Lens::STRIDE_MAX`].
    pub stride: u32,
    /// Bytes of a block, 1 to 4.
    pub block: u32,
    /// Bits that are set in each byte before it is hashed.
    pub fold: u32,
}

impl Lens {
    /// The furthest stride: sixteen looks reach over two loads of 64 bytes.
    pub const STRIDE_MAX: u32 = 8;
}

/// Where the hits of a batch are written: offsets behind their blocks.
pub struct Hits {
    places: [u32; LOOKS_MAX + SLACK],
}

impl Default for Hits {
    fn default() -> Self {
        Self::new()
    }
}

impl Hits {
    /// None.
    pub const fn new() -> Self {
        Hits { places: [0; LOOKS_MAX + SLACK] }
    }

    /// The first so many.
    pub fn first(&self, count: usize) -> &[u32] {
        &self.places[..count]
    }
}

/// Which instructions the loop is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speed {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Speed {
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512vbmi")
            && std::arch::is_x86_feature_detected!("bmi1")
        {
            return Speed::Avx512;
        }
        Speed::Portable
    }
}

lockgate_stored::stored!(struct Lens { stride, block, fold });
