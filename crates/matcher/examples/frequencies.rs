//! Counts how often bytes stand together in content of several kinds. Rule: each kind weighs the same, whatever its size.
//!
//! `frequencies pairs OUT KIND[,KIND_DIR]...`, or `fours`: each argument is files of one kind, parted by commas (`$(ls -m ...)`),
//! or a directory. Writes `src/pairs.bin`: for each pair of bytes minus the logarithm of its share, in eighths of a bit; or
//! `src/fours.bin`, the same for each hash of four bytes.

use std::path::{Path, PathBuf};

/// What is read of one kind at most.
const KIND_BYTES_MAX: u64 = 256 << 20;
/// What is read of one file at most, so that no large one speaks for all.
const FILE_BYTES_MAX: usize = 4 << 20;
/// Chance has this share, beside the kinds: what is compressed or encrypted.
const CHANCE: f64 = 1.0 / 16.0;
/// The bits of the hash of four bytes: those of `src/rates.rs`.
const FOUR_BITS: u32 = 18;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, out, kinds @ ..] = arguments.as_slice() else {
        return Err(std::io::Error::other("frequencies pairs|fours OUT KIND..."));
    };
    let what = if what == "fours" { What::Fours } else { What::Pairs };
    let mut shares = vec![CHANCE / what.places() as f64; what.places()];
    for kind in kinds {
        let counts = count(kind, what)?;
        let all: u64 = counts.iter().sum();
        eprintln!("{all} places");
        let weight = (1.0 - CHANCE) / kinds.len() as f64 / all.max(1) as f64;
        for (share, count) in shares.iter_mut().zip(counts) {
            *share += count as f64 * weight;
        }
    }
    let table: Vec<u8> = shares.iter().map(|share| (-share.log2() * 8.0).round().min(255.0) as u8).collect();
    std::fs::write(out, table)
}

/// What is counted.
#[derive(Clone, Copy)]
enum What {
    Pairs,
    Fours,
}

impl What {
    fn places(self) -> usize {
        match self {
            Self::Pairs => 1 << 16,
            Self::Fours => 1 << FOUR_BITS,
        }
    }

    fn count(self, bytes: &[u8], counts: &mut [u64]) {
        match self {
            Self::Pairs => {
                for pair in bytes.windows(2) {
                    counts[usize::from(pair[0]) << 8 | usize::from(pair[1])] += 1;
                }
            }
            Self::Fours => {
                for four in bytes.windows(4) {
                    let word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
                    counts[(word.wrapping_mul(0x9e37_79b1) >> (32 - FOUR_BITS)) as usize] += 1;
                }
            }
        }
    }
}

fn count(kind: &str, what: What) -> std::io::Result<Vec<u64>> {
    let mut counts = vec![0u64; what.places()];
    let mut files = Vec::new();
    kind.split(',').for_each(|path| walk(Path::new(path.trim()), &mut files));
    files.sort();
    let mut left = KIND_BYTES_MAX;
    for path in files {
        let Ok(mut bytes) = std::fs::read(&path) else { continue };
        bytes.truncate(FILE_BYTES_MAX);
        let Some(rest) = left.checked_sub(bytes.len() as u64) else { break };
        left = rest;
        what.count(&bytes, &mut counts);
    }
    Ok(counts)
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| walk(&entry.path(), files)),
        Err(_) => files.push(path.to_owned()),
    }
}
