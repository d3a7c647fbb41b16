//! Pax records, `LENGTH KEY=VALUE\n` (POSIX.1-2017, pax, "pax Extended Header"). Rule: it keeps what it needs, no more.

use super::sparse::{Map, decimal};

/// Bytes of a value that are kept; of the map of a file with holes there may be more.
const VALUE_BYTES_MAX: usize = 1024;
const MAP_BYTES_MAX: usize = 32 << 10;
const MAP_KEY: &[u8] = b"GNU.sparse.map";
const KEY_BYTES_MAX: usize = 64;

/// Records on their way, and what was learnt from them.
#[derive(Debug, Default)]
pub(super) struct Pax {
    expect: Expect,
    /// Bytes of the record that are still to come, its line end with them.
    left: u64,
    digits: u64,
    key: Vec<u8>,
    value: Vec<u8>,
    pub(super) path: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) sparse: Option<Form>,
    pub(super) map: Map,
    /// Where the next range begins.
    offset: Option<u64>,
    pub(super) is_damaged: bool,
}

/// Where the map of a file with holes stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In the records.
    Records,
    /// In lines before the content.
    Lines,
    /// In a way that is not read.
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expect {
    #[default]
    Length,
    Key,
    Value,
}

impl Pax {
    /// The next bytes of the records.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.is_damaged {
                return;
            }
            if self.expect == Expect::Value {
                bytes = self.value(bytes);
                continue;
            }
            match self.expect {
                Expect::Length => self.length(*first),
                _ => self.key(*first),
            }
            bytes = rest;
        }
    }

    /// The records have ended: nothing may be half there.
    pub(super) fn end(&mut self) {
        self.is_damaged |= self.expect != Expect::Length || self.digits != 0;
    }

    fn length(&mut self, byte: u8) {
        self.digits += 1;
        match byte {
            b'0'..=b'9' if self.digits < 16 => self.left = self.left * 10 + u64::from(byte - b'0'),
            b' ' if self.left > self.digits => {
                self.left -= self.digits;
                self.expect = Expect::Key;
            }
            // Some writers fill the last block with NULs and count them.
            0 if self.left == 0 => self.digits = 0,
            _ => self.is_damaged = true,
        }
    }

    fn key(&mut self, byte: u8) {
        self.left -= 1;
        if byte == b'=' && self.left > 0 {
            self.expect = Expect::Value;
        } else if self.left == 0 {
            self.is_damaged = true;
        } else if self.key.len() < KEY_BYTES_MAX {
            self.key.push(byte);
        }
    }

    fn value<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let (part, rest) = bytes.split_at(length);
        self.left -= length as u64;
        // The last byte is the line end.
        let part = if self.left > 0 { part } else { part.split_last().map_or(part, |(_, before)| before) };
        let most = if self.key == MAP_KEY { MAP_BYTES_MAX } else { VALUE_BYTES_MAX };
        let room = most - self.value.len();
        self.value.extend_from_slice(&part[..part.len().min(room)]);
        if self.left == 0 {
            self.is_damaged |= bytes[length - 1] != b'\n';
            self.record();
        }
        rest
    }

    fn record(&mut self) {
        let value = std::mem::take(&mut self.value);
        match self.key.as_slice() {
            b"path" => self.path = Some(value),
            key if key.starts_with(b"GNU.sparse.") => self.sparse(&value),
            b"size" => match std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok()) {
                Some(size) if size <= i64::MAX as u64 => self.size = Some(size),
                // An empty value takes back what was said before.
                _ if value.is_empty() => self.size = None,
                _ => self.is_damaged = true,
            },
            b"SUN.holesdata" => self.sparse = Some(Form::Other),
            _ => {}
        }
        self.key.clear();
        self.digits = 0;
        self.expect = Expect::Length;
    }
}

impl Pax {
    /// A record about holes.
    fn sparse(&mut self, value: &[u8]) {
        let form = self.sparse.get_or_insert(Form::Records);
        match self.key.as_slice() {
            b"GNU.sparse.name" => self.path = Some(value.to_vec()),
            b"GNU.sparse.size" | b"GNU.sparse.realsize" => self.map.set_size(decimal(value)),
            b"GNU.sparse.major" if value == b"1" => *form = Form::Lines,
            b"GNU.sparse.major" if value != b"0" => *form = Form::Other,
            b"GNU.sparse.offset" => self.offset = decimal(value),
            b"GNU.sparse.numbytes" => match (self.offset.take(), decimal(value)) {
                (Some(offset), Some(length)) => self.map.add(offset, length),
                _ => *form = Form::Other,
            },
            MAP_KEY => self.map.read(value),
            // How many ranges there are shows by itself.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], chunk: usize) -> Pax {
        let mut pax = Pax::default();
        bytes.chunks(chunk).for_each(|c| pax.push(c));
        pax.end();
        pax
    }

    #[test]
    fn records_at_every_cut() {
        let bytes = b"12 path=a=b\n9 size=7\n12 mtime=12\n";
        for chunk in 1..bytes.len() {
            let pax = read(bytes, chunk);
            assert!(!pax.is_damaged);
            assert_eq!((pax.path.as_deref(), pax.size), (Some(&b"a=b"[..]), Some(7)));
        }
    }

    #[test]
    fn damage() {
        for bytes in [&b"99 path=a\n"[..], b"x", b"5 abc\n", b"10 path=abX", b"2 ", b"12 size=-1\xff\n", b"9"]
        {
            assert!(read(bytes, 3).is_damaged, "{bytes:?}");
        }
    }
}
