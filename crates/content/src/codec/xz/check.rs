//! A block's check. Rule: what cannot be computed is not compared.

use sha2::{Digest, Sha256};

/// What is computed of a block's content (section 2.1.1.2): 0 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(pub u8);

impl Kind {
    /// How many bytes it has.
    pub fn length(self) -> usize {
        [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64][usize::from(self.0 & 15)]
    }
}

/// A check on its way.
pub(super) enum Check {
    Crc32(crc32fast::Hasher),
    Crc64(u64),
    Sha256(Box<Sha256>),
    /// None, or one that is not known.
    Other,
}

impl Check {
    pub fn new(kind: Kind) -> Self {
        match kind.0 {
            1 => Self::Crc32(crc32fast::Hasher::new()),
            4 => Self::Crc64(u64::MAX),
            10 => Self::Sha256(Box::default()),
            _ => Self::Other,
        }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc32(hasher) => hasher.update(bytes),
            Self::Crc64(crc) => *crc = crc64(*crc, bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Other => {}
        }
    }

    /// Whether the content's check is this.
    pub fn is(self, sum: &[u8]) -> bool {
        match self {
            Self::Crc32(hasher) => hasher.finalize().to_le_bytes() == sum,
            Self::Crc64(crc) => (!crc).to_le_bytes() == sum,
            Self::Sha256(hasher) => hasher.finalize().as_slice() == sum,
            Self::Other => true,
        }
    }
}

/// Of ECMA-182, its bits in reverse.
const POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;

/// For each byte, and for each byte that eight bytes are made of.
static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

fn crc64(crc: u64, bytes: &[u8]) -> u64 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let crc = eights.iter().fold(crc, |crc, eight| {
        let word = (crc ^ u64::from_le_bytes(*eight)).to_le_bytes();
        word.iter().zip(TABLES.iter().rev()).fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)])
    });
    rest.iter().fold(crc, |crc, byte| crc >> 8 ^ TABLES[0][usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_its_standard() {
        let digits = b"123456789";
        assert_eq!(!crc64(u64::MAX, digits), 0x995d_c9bb_df19_39fa);
        let twice = [&digits[..], digits].concat();
        let (a, b) = twice.split_at(5);
        assert_eq!(crc64(crc64(u64::MAX, a), b), crc64(u64::MAX, &twice));
    }
}
