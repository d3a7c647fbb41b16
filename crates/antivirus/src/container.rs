//! `.cvd` and `.cld`: databases in one file. Rule: its parts are files like others; the digital signature is not checked,
//! the checksum is.
//!
//! A header of 512 bytes (`ClamAV-VDB:` and fields parted by colons; the sixth is the MD5 of all that follows, the seventh
//! the signature), then a tar, in a `.cvd` gzipped.

use crate::hashes::md5_of;
use crate::ruleset::hash::from_hex;
use lockgate_content::{Event, Means, More, SCRATCH_BYTES_MIN, open};
use lockgate_model::{FileType, Pool};

const HEADER_BYTES: usize = 512;
/// The most that the files in one container may come to.
const FILES_BYTES_MAX: usize = 2 << 30;
/// How many files it may have.
const FILES_MAX: usize = 1000;
/// What the decoders may take for themselves.
const DECODERS_BYTES_MAX: u64 = 64 << 20;

/// A file in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inner {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Whether a file of that name is such a container.
pub(crate) fn is_container(file_name: &str) -> bool {
    let ending = file_name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["cvd", "cld", "cud"].iter().any(|known| known.eq_ignore_ascii_case(ending))
}

/// The files in a container.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Vec<Inner>, &'static str> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or("it is shorter than its header")?;
    if !header.starts_with(b"ClamAV-VDB:") {
        return Err("its header does not begin with ClamAV-VDB");
    }
    let md5 = header.split(|byte| *byte == b':').nth(5).and_then(|field| str::from_utf8(field).ok());
    // A .cld is made here from a .cvd and its changes, and has no checksum.
    let is_gzip = rest.starts_with(&[0x1f, 0x8b]);
    if is_gzip && md5.and_then(from_hex) != Some(md5_of(rest)) {
        return Err("its checksum is not that of its header");
    }
    let tar = if is_gzip {
        decoded(FileType::Gzip, rest)?.pop().ok_or("it is empty")?.bytes
    } else {
        rest.to_vec()
    };
    decoded(FileType::Tar, &tar)
}

/// The children of a part of this type.
fn decoded(file_type: FileType, bytes: &[u8]) -> Result<Vec<Inner>, &'static str> {
    let means = Means { pool: Pool::new(DECODERS_BYTES_MAX) };
    let Ok(Some(mut decoder)) = open(file_type, &means) else { return Err("it cannot be unpacked") };
    let mut scratch = vec![0; SCRATCH_BYTES_MIN * 16];
    let mut files: Vec<Inner> = Vec::new();
    let (mut rest, mut total) = (bytes, 0_usize);
    loop {
        let step = decoder.step(rest, More::Ended, &mut scratch);
        let (used, left) = rest.split_at_checked(step.consumed).unwrap_or((rest, &[]));
        rest = left;
        let piece = match step.event {
            Event::Input(range) => used.get(range).unwrap_or_default(),
            Event::Output(length) => scratch.get(..length).unwrap_or_default(),
            Event::Open(entry) => {
                if files.len() >= FILES_MAX {
                    return Err("it has too many files");
                }
                let name = entry.name.unwrap_or(entry.label);
                files.push(Inner { name, bytes: Vec::new() });
                continue;
            }
            Event::Broken(_) | Event::Incomplete(_) => return Err("it is damaged"),
            Event::End => return Ok(files),
            _ => continue,
        };
        total += piece.len();
        if total > FILES_BYTES_MAX {
            return Err("it is too large");
        }
        if let Some(file) = files.last_mut() {
            file.bytes.extend_from_slice(piece);
        }
    }
}
