//! What the tests of the binary share. Rule: files made at run time, in a directory that goes away.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as expected")]
#![allow(dead_code, reason = "each test program uses its own part")]

use std::path::Path;
use std::process::{Command, Output};

// The unit tests' own: a program has no library that both could have it from.
#[path = "../../src/scratch.rs"]
mod scratch;

pub use scratch::Scratch;

/// Runs the binary to its end.
pub fn lockgate(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command.args(arguments).current_dir(directory).output().unwrap()
}

/// The EICAR test file, assembled here so that the tree does not hold it.
pub fn eicar() -> Vec<u8> {
    [r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"].concat().into_bytes()
}

/// A zip file with one stored entry (APPNOTE 4.3).
pub fn zip(name: &str, content: &[u8]) -> Vec<u8> {
    let (crc, size) = (crc32(content), u32::try_from(content.len()).unwrap());
    let mut common = vec![10, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for number in [crc, size, size] {
        common.extend(number.to_le_bytes());
    }
    common.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    common.extend([0, 0]);
    let local = [b"PK\x03\x04", &common[..], name.as_bytes(), content].concat();
    let central = [b"PK\x01\x02\x14\x00", &common[..], &[0; 14], name.as_bytes()].concat();
    let mut end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
    end.extend(u32::try_from(central.len()).unwrap().to_le_bytes());
    end.extend(u32::try_from(local.len()).unwrap().to_le_bytes());
    end.extend([0, 0]);
    [local, central, end].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
