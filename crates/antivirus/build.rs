//! Names the code that compiles databases, by the text of it. Rule: where a line of it differs, so does the name.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose types a stored database is made of.
const CRATES: [&str; 4] = ["stored", "model", "matcher", "antivirus"];

fn main() {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let crates = own.parent().expect("the crates stand side by side");
    let mut sum = 0xcbf2_9ce4_8422_2325;
    for name in CRATES {
        let source = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", source.display());
        add(&source, &source, &mut sum);
    }
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo says which version it is");
    println!("cargo::rustc-env=LOCKGATE_BUILD={version}-{sum:016x}");
}

/// Adds the names and texts of all files below, in the order of names.
fn add(root: &Path, path: &Path, sum: &mut u64) {
    if let Ok(entries) = fs::read_dir(path) {
        let mut below: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        below.sort();
        below.iter().for_each(|path| add(root, path, sum));
        return;
    }
    let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    let text = fs::read(path).unwrap_or_default();
    // FNV-1a: nobody gains anything from two texts that meet.
    for byte in name.bytes().chain([0]).chain(text) {
        *sum = (*sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}
