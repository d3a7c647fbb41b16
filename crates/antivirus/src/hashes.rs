//! Digests of whole files: the lists of them, and their computation while a file streams. Rule: what no list could
//! hold is not computed.

use crate::ruleset::hash::Digest as Listed;
use lockgate_stored::{Reader, Stored, Unfit, Writer};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Stands for any size.
const ANY_SIZE: u64 = u64::MAX;

/// Digests of one kind, sorted.
struct Table<const N: usize> {
    entries: Vec<Entry<N>>,
    /// The largest file that is listed; `None` if there is none at all.
    longest: Option<u64>,
    /// All sizes that are listed, sorted.
    sizes: Vec<u64>,
}

struct Entry<const N: usize> {
    digest: [u8; N],
    size: u64,
    signature: u32,
}

impl<const N: usize> Default for Table<N> {
    fn default() -> Self {
        Self { entries: Vec::new(), longest: None, sizes: Vec::new() }
    }
}

impl<const N: usize> Table<N> {
    fn add(&mut self, digest: [u8; N], size: Option<u64>, signature: u32) {
        let size = size.unwrap_or(ANY_SIZE);
        self.longest = self.longest.max(Some(size));
        self.entries.push(Entry { digest, size, signature });
    }

    fn sort(&mut self) {
        self.entries.sort_unstable_by_key(|entry| (entry.digest, entry.signature));
        self.entries.shrink_to_fit();
    }

    fn note_sizes(&mut self) {
        self.sizes = self.entries.iter().map(|entry| entry.size).collect();
        self.sizes.sort_unstable();
        self.sizes.dedup();
        self.sizes.shrink_to_fit();
    }

    /// So many bytes, if some entry is for them.
    fn asks_for(&self, bytes: u64) -> Option<u64> {
        let has = |size| self.sizes.binary_search(&size).is_ok();
        (has(bytes) || has(ANY_SIZE)).then_some(bytes)
    }

    fn find(&self, digest: &[u8; N], length: u64, found: &mut dyn FnMut(u32)) {
        let first = self.entries.partition_point(|entry| entry.digest < *digest);
        let same = self.entries.iter().skip(first).take_while(|entry| entry.digest == *digest);
        for entry in same.filter(|entry| entry.size == ANY_SIZE || entry.size == length) {
            found(entry.signature);
        }
    }
}

/// A list of digests of all kinds.
#[derive(Default)]
pub(crate) struct HashList {
    md5: Table<16>,
    sha1: Table<20>,
    sha256: Table<32>,
}

impl HashList {
    pub fn add(&mut self, digest: Listed, size: Option<u64>, signature: u32) {
        match digest {
            Listed::Md5(digest) => self.md5.add(digest, size, signature),
            Listed::Sha1(digest) => self.sha1.add(digest, size, signature),
            Listed::Sha256(digest) => self.sha256.add(digest, size, signature),
        }
    }

    /// To be called when all are added.
    pub fn sort(&mut self) {
        self.md5.sort();
        self.sha1.sort();
        self.sha256.sort();
    }

    /// What [`Self::wanted_for`] asks; to be called when all are added.
    pub fn note_sizes(&mut self) {
        self.md5.note_sizes();
        self.sha1.note_sizes();
        self.sha256.note_sizes();
    }

    /// Which digests of so many bytes some entry could be.
    pub fn wanted_for(&self, bytes: u64) -> Wanted {
        Wanted {
            md5: self.md5.asks_for(bytes),
            sha1: self.sha1.asks_for(bytes),
            sha256: self.sha256.asks_for(bytes),
        }
    }

    /// Which digests some entry could be.
    pub fn wanted(&self) -> Wanted {
        Wanted::of(&[self])
    }

    pub fn is_empty(&self) -> bool {
        self.longest().is_none()
    }

    /// The largest file that is listed; `None` if the list is empty.
    pub fn longest(&self) -> Option<u64> {
        self.md5.longest.max(self.sha1.longest).max(self.sha256.longest)
    }

    pub fn heap_bytes(&self) -> usize {
        self.md5.entries.len() * size_of::<Entry<16>>()
            + self.sha1.entries.len() * size_of::<Entry<20>>()
            + self.sha256.entries.len() * size_of::<Entry<32>>()
    }

    /// Tells the signature of each entry that is this file.
    pub fn find(&self, file: &Digests, length: u64, found: &mut dyn FnMut(u32)) {
        if let Some(digest) = &file.md5 {
            self.md5.find(digest, length, found);
        }
        if let Some(digest) = &file.sha1 {
            self.sha1.find(digest, length, found);
        }
        if let Some(digest) = &file.sha256 {
            self.sha256.find(digest, length, found);
        }
    }
}

/// The digests of a file, as far as some list could hold it.
#[derive(Default)]
pub(crate) struct Digests {
    md5: Option<[u8; 16]>,
    sha1: Option<[u8; 20]>,
    sha256: Option<[u8; 32]>,
}

/// Which digests to compute, each up to the largest file listed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted {
    md5: Option<u64>,
    sha1: Option<u64>,
    sha256: Option<u64>,
}

impl Wanted {
    /// What either wants.
    pub fn or(self, other: Self) -> Self {
        Self {
            md5: self.md5.max(other.md5),
            sha1: self.sha1.max(other.sha1),
            sha256: self.sha256.max(other.sha256),
        }
    }

    pub fn of(lists: &[&HashList]) -> Self {
        let longest = |of: fn(&HashList) -> Option<u64>| lists.iter().map(|list| of(list)).max().flatten();
        Self {
            md5: longest(|list| list.md5.longest),
            sha1: longest(|list| list.sha1.longest),
            sha256: longest(|list| list.sha256.longest),
        }
    }
}

/// Digests in the making.
pub(crate) struct Hashing {
    wanted: Wanted,
    /// Bytes that have been taken.
    taken: usize,
    md5: Option<Md5>,
    sha1: Option<Sha1>,
    sha256: Option<Sha256>,
}

impl Hashing {
    /// `None` if no digest is wanted.
    pub fn start(wanted: Wanted) -> Option<Box<Self>> {
        let hashing = Self {
            wanted,
            taken: 0,
            md5: wanted.md5.map(|_| Md5::new()),
            sha1: wanted.sha1.map(|_| Sha1::new()),
            sha256: wanted.sha256.map(|_| Sha256::new()),
        };
        hashing.is_active().then(|| Box::new(hashing))
    }

    /// The digests of bytes that are there in whole.
    pub fn of(wanted: Wanted, bytes: &[u8]) -> Digests {
        let mut hashing = Self::start(wanted);
        let is_active = hashing.as_mut().is_some_and(|hashing| hashing.push(bytes, bytes.len() as u64));
        hashing.filter(|_| is_active).map(|hashing| hashing.finish()).unwrap_or_default()
    }

    /// Takes what it has not of the bytes so far. Says whether it is worth going on.
    pub fn catch_up(&mut self, so_far: &[u8]) -> bool {
        let missing = so_far.get(self.taken..).unwrap_or_default();
        self.push(missing, so_far.len() as u64)
    }

    /// Takes the next bytes; with them the file has so many. Says whether it is worth going on.
    pub fn push(&mut self, chunk: &[u8], length: u64) -> bool {
        fn feed<D: Digest>(hasher: &mut Option<D>, longest: Option<u64>, chunk: &[u8], length: u64) {
            if longest.is_none_or(|longest| length > longest) {
                *hasher = None;
            }
            if let Some(hasher) = hasher {
                hasher.update(chunk);
            }
        }
        self.taken += chunk.len();
        feed(&mut self.md5, self.wanted.md5, chunk, length);
        feed(&mut self.sha1, self.wanted.sha1, chunk, length);
        feed(&mut self.sha256, self.wanted.sha256, chunk, length);
        self.is_active()
    }

    pub fn finish(mut self) -> Digests {
        self.finish_by_ref()
    }

    /// The digests; none a second time.
    pub fn finish_by_ref(&mut self) -> Digests {
        Digests {
            md5: self.md5.take().map(|hasher| hasher.finalize().into()),
            sha1: self.sha1.take().map(|hasher| hasher.finalize().into()),
            sha256: self.sha256.take().map(|hasher| hasher.finalize().into()),
        }
    }

    fn is_active(&self) -> bool {
        self.md5.is_some() || self.sha1.is_some() || self.sha256.is_some()
    }
}

/// The MD5 of a signature's line, as ignore lists give it.
pub(crate) fn md5_of(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

lockgate_stored::stored!(struct HashList { md5, sha1, sha256 });

impl<const N: usize> Stored for Table<N> {
    const BYTES_MIN: usize = 4 + 1 + 4;

    fn store(&self, to: &mut Writer<'_>) {
        let Self { entries, longest, sizes } = self;
        entries.store(to);
        longest.store(to);
        sizes.store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        Ok(Self { entries: Stored::load(from)?, longest: Stored::load(from)?, sizes: Stored::load(from)? })
    }
}

impl<const N: usize> Stored for Entry<N> {
    const BYTES_MIN: usize = N + 8 + 4;

    fn store(&self, to: &mut Writer<'_>) {
        let Self { digest, size, signature } = self;
        digest.store(to);
        size.store(to);
        signature.store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        Ok(Self { digest: Stored::load(from)?, size: Stored::load(from)?, signature: Stored::load(from)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::hash::from_hex;

    fn found(list: &HashList, file: &[u8], cut: usize) -> Vec<u32> {
        let Some(mut hashing) = Hashing::start(Wanted::of(&[list])) else { return Vec::new() };
        let mut length = 0;
        for chunk in file.chunks(cut) {
            length += chunk.len() as u64;
            if !hashing.push(chunk, length) {
                return Vec::new();
            }
        }
        let mut found = Vec::new();
        list.find(&hashing.finish(), length, &mut |signature| found.push(signature));
        found
    }

    #[test]
    fn digest_and_size_must_agree() {
        // RFC 1321, FIPS 180: the digests of "abc".
        let md5 = Listed::Md5(from_hex("900150983cd24fb0d6963f7d28e17f72").unwrap());
        let sha1 = Listed::Sha1(from_hex("a9993e364706816aba3e25717850c26c9cd0d89d").unwrap());
        let sha256 = Listed::Sha256(
            from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad").unwrap(),
        );
        let mut list = HashList::default();
        list.add(md5, Some(3), 0);
        list.add(md5, Some(4), 1);
        list.add(md5, None, 2);
        list.add(sha1, Some(3), 3);
        list.add(sha256, None, 4);
        list.sort();
        for cut in 1..=3 {
            assert_eq!(found(&list, b"abc", cut), [0, 2, 3, 4]);
            assert_eq!(found(&list, b"abd", cut), []);
        }
        assert_eq!(md5_of(b"abc"), from_hex("900150983cd24fb0d6963f7d28e17f72").unwrap());
    }

    #[test]
    fn a_file_longer_than_any_listed_is_not_hashed() {
        assert!(Hashing::start(Wanted::of(&[&HashList::default()])).is_none());
        let mut list = HashList::default();
        list.add(Listed::Md5([0; 16]), Some(10), 0);
        let mut hashing = Hashing::start(Wanted::of(&[&list, &HashList::default()])).unwrap();
        assert!(hashing.push(&[0; 10], 10));
        assert!(!hashing.push(&[0], 11));
        assert_eq!(list.longest(), Some(10));
    }
}
