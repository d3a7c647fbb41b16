//! Counts which bytes stand behind which in content of several kinds. Rule: each kind weighs the same, whatever its size.
//!
//! `frequencies OUT KIND[,KIND_DIR]...`: each argument is files of one kind, parted by commas (`$(ls -m ...)`), or a
//! directory. Writes `src/pairs.bin`: for each pair of bytes minus the logarithm of its share, in eighths of a bit.

use std::path::{Path, PathBuf};

/// What is read of one kind at most.
const KIND_BYTES_MAX: u64 = 256 << 20;
/// What is read of one file at most, so that no large one speaks for all.
const FILE_BYTES_MAX: usize = 4 << 20;
/// Chance has this share, beside the kinds: what is compressed or encrypted.
const CHANCE: f64 = 1.0 / 16.0;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, kinds @ ..] = arguments.as_slice() else {
        return Err(std::io::Error::other("frequencies OUT KIND..."));
    };
    let mut shares = vec![CHANCE / 65536.0; 65536];
    for kind in kinds {
        let counts = count(kind)?;
        let all: u64 = counts.iter().sum();
        eprintln!("{all} pairs");
        let weight = (1.0 - CHANCE) / kinds.len() as f64 / all.max(1) as f64;
        for (share, count) in shares.iter_mut().zip(counts) {
            *share += count as f64 * weight;
        }
    }
    let table: Vec<u8> = shares.iter().map(|share| (-share.log2() * 8.0).round().min(255.0) as u8).collect();
    std::fs::write(out, table)
}

fn count(kind: &str) -> std::io::Result<Vec<u64>> {
    let mut counts = vec![0u64; 65536];
    let mut files = Vec::new();
    kind.split(',').for_each(|path| walk(Path::new(path.trim()), &mut files));
    files.sort();
    let mut left = KIND_BYTES_MAX;
    for path in files {
        let Ok(mut bytes) = std::fs::read(&path) else { continue };
        bytes.truncate(FILE_BYTES_MAX);
        let Some(rest) = left.checked_sub(bytes.len() as u64) else { break };
        left = rest;
        for pair in bytes.windows(2) {
            counts[usize::from(pair[0]) << 8 | usize::from(pair[1])] += 1;
        }
    }
    Ok(counts)
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| walk(&entry.path(), files)),
        Err(_) => files.push(path.to_owned()),
    }
}
