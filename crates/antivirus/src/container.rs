//! `.cvd`, `.cld` and `.cud`: databases in one file. Rule: its parts are files like others; what says that ClamAV made it
//! must prove it.
//!
//! A header of 512 bytes (`ClamAV-VDB:` and fields parted by colons; the sixth is the MD5 of all that follows, the seventh
//! the signature of that), then a tar, which may be gzipped. As for ClamAV, a `.cvd` must have both, checksum and signature;
//! a `.cld`, which `freshclam` makes here of a `.cvd` and its changes, has neither, and a `.cud` is unsigned: where it has
//! a checksum, that must be right.

use crate::hashes::md5_of;
use crate::ruleset::hash::from_hex;
use crate::signed::Key;
use lockgate_content::{Event, Means, More, SCRATCH_BYTES_MIN, open};
use lockgate_model::{FileType, Pool};

const HEADER_BYTES: usize = 512;
const BLOCK_BYTES: usize = 512;
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

/// What proves that a container is what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// `.cvd`.
    Signature,
    /// `.cld` and `.cud`.
    Nothing,
}

/// Whether a file of that name is such a container, and what must prove it.
pub(crate) fn proof_of(file_name: &str) -> Option<Proof> {
    let ending = file_name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "cvd" => Some(Proof::Signature),
        "cld" | "cud" => Some(Proof::Nothing),
        _ => None,
    }
}

/// The files in a container; where it must be signed, by this key.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn unpack(bytes: &[u8], proof: Proof, key: &Key) -> Result<Vec<Inner>, &'static str> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or("it is shorter than its header")?;
    if !header.starts_with(b"ClamAV-VDB:") {
        return Err("its header does not begin with ClamAV-VDB");
    }
    let field = |at: usize| {
        let field = header.split(|byte| *byte == b':').nth(at).and_then(|field| str::from_utf8(field).ok());
        field.unwrap_or_default()
    };
    let md5 = md5_of(rest);
    match (from_hex(field(5)), proof) {
        (Some(listed), _) if listed != md5 => {
            return Err("its checksum is not that of its header: it is damaged or was changed");
        }
        (None, Proof::Signature) => return Err("its header has no checksum"),
        (Some(_), Proof::Signature) if !key.has_signed(&md5, field(6)) => {
            return Err("its digital signature is not ClamAV's; one that you made yourself ends in .cud");
        }
        _ => {}
    }
    if rest.starts_with(&[0x1f, 0x8b]) { files(&inflated(rest)?) } else { files(rest) }
}

/// The files of a tar. Its headers have a name, a length and nothing that can be relied on besides: `sigtool` does not sum
/// them up, so that no program for archives takes them.
fn files(mut tar: &[u8]) -> Result<Vec<Inner>, &'static str> {
    let mut files = Vec::new();
    while let Some((header, behind)) = tar.split_at_checked(BLOCK_BYTES) {
        let text = |from: usize, to: usize| {
            let field = header.get(from..to).unwrap_or_default();
            String::from_utf8_lossy(field.split(|byte| *byte == 0).next().unwrap_or_default())
        };
        let name = text(0, 100);
        if name.is_empty() {
            return if files.is_empty() { Err("it is empty") } else { Ok(files) };
        }
        let size = usize::from_str_radix(text(124, 136).trim(), 8).map_err(|_| "it is damaged")?;
        if name.contains('/') || !matches!(header.get(156), Some(0 | b'0')) {
            return Err("it has something else than files in it");
        }
        if files.len() >= FILES_MAX {
            return Err("it has too many files");
        }
        let blocks = size.checked_next_multiple_of(BLOCK_BYTES);
        let (bytes, next) =
            blocks.and_then(|blocks| behind.split_at_checked(blocks)).ok_or("it is cut off")?;
        let bytes = bytes.get(..size).unwrap_or_default().to_vec();
        files.push(Inner { name: name.into_owned(), bytes });
        tar = next;
    }
    match files.is_empty() {
        true => Err("it is empty"),
        false if tar.is_empty() => Ok(files),
        false => Err("it is cut off"),
    }
}

/// What is in a gzip file.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
    let means = Means { pool: Pool::new(DECODERS_BYTES_MAX) };
    let Ok(Some(mut decoder)) = open(FileType::Gzip, &means) else { return Err("it cannot be unpacked") };
    let mut scratch = vec![0; SCRATCH_BYTES_MIN * 16];
    let (mut rest, mut inflated) = (bytes, Vec::new());
    loop {
        let step = decoder.step(rest, More::Ended, &mut scratch);
        let (used, left) = rest.split_at_checked(step.consumed).unwrap_or((rest, &[]));
        rest = left;
        let piece = match step.event {
            Event::Input(range) => used.get(range).unwrap_or_default(),
            Event::Output(length) => scratch.get(..length).unwrap_or_default(),
            Event::Broken(_) | Event::Incomplete(_) => return Err("it is damaged"),
            Event::End => return Ok(inflated),
            _ => continue,
        };
        if inflated.len() + piece.len() > FILES_BYTES_MAX {
            return Err("it is too large");
        }
        inflated.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signed::testing;

    /// As `sigtool` writes one: without sums.
    fn tar(files: &[(&str, &str)]) -> Vec<u8> {
        let mut tar = Vec::new();
        for (name, text) in files {
            let mut header = vec![0; 512];
            let mut put =
                |at: usize, value: &str| header[at..at + value.len()].copy_from_slice(value.as_bytes());
            put(0, name);
            put(124, &format!("{:011o}\0", text.len()));
            put(156, "0");
            tar.extend(header);
            tar.extend(text.as_bytes());
            tar.resize(tar.len().next_multiple_of(512), 0);
        }
        tar.resize(tar.len() + 1024, 0);
        tar
    }

    /// Stored, not compressed (RFC 1951, RFC 1952).
    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let length = bytes.len() as u16;
        let crc = !bytes.iter().fold(!0_u32, |crc, byte| {
            let shift = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
            (0..8).fold(crc ^ u32::from(*byte), shift)
        });
        let head =
            [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1][..], &length.to_le_bytes(), &(!length).to_le_bytes()];
        [&head.concat()[..], bytes, &crc.to_le_bytes(), &u32::from(length).to_le_bytes()].concat()
    }

    fn container(rest: &[u8], md5: &str, signature: &str) -> Vec<u8> {
        let mut header =
            format!("ClamAV-VDB:21 Nov 2026 18-00 +0000:7:2:90:{md5}:{signature}:tester:1795284000")
                .into_bytes();
        header.resize(HEADER_BYTES, b' ');
        [&header, rest].concat()
    }

    fn md5_text(bytes: &[u8]) -> String {
        md5_of(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn signed(rest: &[u8]) -> Vec<u8> {
        container(rest, &md5_text(rest), &testing::sign(&md5_of(rest)))
    }

    const FILES: [(&str, &str); 3] =
        [("COPYING", "free"), ("test.ndb", "Test.A:0:*:616263646566\n"), ("test.hdb", "# none\n")];

    fn refused(bytes: &[u8], proof: Proof) -> &'static str {
        unpack(bytes, proof, &testing::key()).err().unwrap_or("nothing")
    }

    #[test]
    fn a_signed_container_gives_its_files() {
        let rest = gzip(&tar(&FILES));
        let inner = |name: &str, text: &str| Inner { name: name.into(), bytes: text.into() };
        let files = FILES.map(|(name, text)| inner(name, text));
        assert_eq!(unpack(&signed(&rest), Proof::Signature, &testing::key()).as_deref(), Ok(&files[..]));
        // Made here of one and its changes: neither compressed nor signed.
        let local = container(&tar(&FILES), "X", "X");
        assert_eq!(unpack(&local, Proof::Nothing, &testing::key()).as_deref(), Ok(&files[..]));
    }

    #[test]
    fn what_is_not_as_it_was_signed_is_refused() {
        let rest = gzip(&tar(&FILES));
        let good = signed(&rest);
        let is_wrong = "its digital signature is not ClamAV's; one that you made yourself ends in .cud";
        let is_damaged = "its checksum is not that of its header: it is damaged or was changed";
        assert_eq!(unpack(&good, Proof::Signature, &crate::signed::CLAMAV), Err(is_wrong));
        assert_eq!(refused(&container(&rest, &md5_text(&rest), "X"), Proof::Signature), is_wrong);
        assert_eq!(refused(&container(&rest, &md5_text(b"else"), "X"), Proof::Nothing), is_damaged);
        assert_eq!(refused(&container(&rest, "X", "X"), Proof::Signature), "its header has no checksum");
        assert_eq!(refused(&container(b"", "X", "X"), Proof::Nothing), "it is empty");
        assert_eq!(refused(&container(&[0; 1024], "X", "X"), Proof::Nothing), "it is empty");
        assert_eq!(refused(&container(&tar(&FILES)[..600], "X", "X"), Proof::Nothing), "it is cut off");
        let outside = tar(&[("../own.ndb", "x")]);
        let is_other = "it has something else than files in it";
        assert_eq!(refused(&container(&outside, "X", "X"), Proof::Nothing), is_other);
        assert_eq!(refused(&container(&rest[..rest.len() / 2], "X", "X"), Proof::Nothing), "it is damaged");
        assert_eq!(refused(b"", Proof::Signature), "it is shorter than its header");
        for cut in [0, 1, 100, 511] {
            assert_eq!(refused(&good[..cut], Proof::Signature), "it is shorter than its header");
        }
        for cut in (512..good.len()).step_by(7) {
            assert_eq!(refused(&good[..cut], Proof::Signature), is_damaged, "cut at {cut}");
        }
        for at in (0..good.len()).step_by(5) {
            let mut bent = good.clone();
            bent[at] ^= 1;
            let reason = refused(&bent, Proof::Signature);
            // What stands in the other fields proves nothing, and what ends them says nothing.
            let is_covered = !(11..HEADER_BYTES).contains(&at);
            assert!(!is_covered || reason != "nothing", "byte {at}");
        }
    }
    #[test]
    fn what_is_loaded_of_a_container_and_what_is_said_of_a_bad_one() {
        let rest = gzip(&tar(&FILES));
        let mut sources = crate::Sources::new();
        sources.add("dir/own.cud", container(&rest, &md5_text(&rest), "X"));
        sources.add("dir/own.cvd", container(&rest, &md5_text(&rest), "X"));
        let (database, report) = sources.compile();
        assert_eq!(database.signatures(), 1);
        assert_eq!(database.hit(0, lockgate_model::PartId::ROOT, None).rule.as_ref(), "test.ndb:1");
        let said: Vec<(&str, u32)> = report.failures.iter().map(|f| (f.file.as_ref(), f.line)).collect();
        assert_eq!(said, [("dir/own.cvd", 0)]);
        assert!(report.failures[0].reason.contains("digital signature"), "{:?}", report.failures);
    }
}
