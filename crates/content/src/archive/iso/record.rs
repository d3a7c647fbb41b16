//! A directory's record (ECMA-119 section 9.1), with what Rock Ridge adds to it. Rule: a record that is none ends its sector.

use super::both;

/// Up to the name.
const RECORD_BYTES_MIN: usize = 33;
const FLAG_DIRECTORY: u8 = 2;
const FLAG_MORE: u8 = 0x80;

/// How names are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Names {
    /// In letters and digits, and by Rock Ridge anything.
    #[default]
    Plain,
    /// UTF-16.
    Joliet,
}

/// What is needed of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Where the content begins, behind the extended attributes.
    pub block: u32,
    pub size: u64,
    /// `None` for the directory itself and the one above it.
    pub name: Option<String>,
    pub is_directory: bool,
    /// Another extent of the same file follows.
    pub has_more: bool,
    pub is_interleaved: bool,
    /// Whether the content is packed by zisofs.
    pub is_packed: bool,
}

impl Record {
    /// The first record, and what follows it.
    pub fn parse(bytes: &[u8], names: Names) -> Option<(Self, &[u8])> {
        let length = usize::from(*bytes.first()?);
        let name_bytes = usize::from(*bytes.get(32)?);
        if length < RECORD_BYTES_MIN + name_bytes {
            return None;
        }
        let (record, rest) = bytes.split_at_checked(length)?;
        let raw = record.get(RECORD_BYTES_MIN..RECORD_BYTES_MIN + name_bytes)?;
        // The name is filled up to an even place.
        let system = record.get((RECORD_BYTES_MIN + name_bytes).next_multiple_of(2)..).unwrap_or_default();
        let ridge = if names == Names::Plain { ridge(system) } else { Ridge::default() };
        let name = match (raw, names) {
            ([0 | 1], _) => None,
            (_, Names::Joliet) => Some(joliet(raw)),
            _ if !ridge.name.is_empty() => Some(String::from_utf8_lossy(&ridge.name).into_owned()),
            _ => Some(String::from_utf8_lossy(raw).into_owned()),
        };
        let flags = record[25];
        let found = Self {
            block: both(record, 2).saturating_add(u32::from(record[1])),
            size: u64::from(both(record, 10)),
            name: name.map(|name| without_version(&name)),
            is_directory: flags & FLAG_DIRECTORY != 0,
            has_more: flags & FLAG_MORE != 0,
            is_interleaved: record[26] != 0 || record[27] != 0,
            is_packed: ridge.is_packed,
        };
        Some((found, rest))
    }
}

#[derive(Default)]
struct Ridge {
    name: Vec<u8>,
    is_packed: bool,
}

/// The entries of Rock Ridge that matter: names, and zisofs.
fn ridge(mut system: &[u8]) -> Ridge {
    let mut ridge = Ridge::default();
    while let [a, b, length, _, ..] = *system {
        let Some((entry, rest)) = system.split_at_checked(usize::from(length).max(4)) else { break };
        match (&[a, b], entry.get(4..)) {
            (b"NM", Some([flags, name @ ..])) if flags & 6 == 0 => ridge.name.extend_from_slice(name),
            (b"ZF", _) => ridge.is_packed = true,
            (b"ST", _) => break,
            _ => {}
        }
        system = rest;
    }
    ridge
}

fn joliet(raw: &[u8]) -> String {
    let (units, _) = raw.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// `NAME.EXT;1`, and `NAME.` where there is no extension.
fn without_version(name: &str) -> String {
    let name = match name.rsplit_once(';') {
        Some((name, version)) if version.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => name,
    };
    name.strip_suffix('.').filter(|name| !name.is_empty()).unwrap_or(name).to_owned()
}
