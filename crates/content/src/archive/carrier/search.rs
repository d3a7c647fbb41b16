//! Finds where an archive may begin. Rule: one pass for each magic, and the same bytes are never searched twice.
//!
//! A pass by vector instructions over bytes that are in the cache costs less than one that looks for all magics at once.

use memchr::memmem::Finder;
use std::sync::LazyLock;

/// A header may begin so many bytes before the end and not be known by what is there.
pub(super) const CARRIED_BYTES: usize = 7;

/// What is searched for, and how far before it the header begins: LHA's method stands two bytes into its header.
const MAGICS: [(&[u8], usize); 5] =
    [(b"7z\xbc\xaf\x27\x1c", 0), (b"Rar!\x1a\x07", 0), (b"MSCF\0\0\0\0", 0), (b"\x60\xea", 0), (b"-l", 2)];

static FINDERS: LazyLock<[Finder<'static>; MAGICS.len()]> =
    LazyLock::new(|| MAGICS.map(|(magic, _)| Finder::new(magic)));

/// The places of some bytes where a header may begin, in their order.
pub(super) struct Places<'a> {
    input: &'a [u8],
    /// The next place for each magic: only behind it is it searched for again.
    next: [Option<usize>; MAGICS.len()],
}

impl<'a> Places<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        let mut places = Self { input, next: [None; MAGICS.len()] };
        (0..MAGICS.len()).for_each(|magic| places.search(magic, 0));
        places
    }

    /// Looks for a header of that sort that begins there or behind.
    fn search(&mut self, magic: usize, from: usize) {
        let (finder, (_, before)) = (&FINDERS[magic], MAGICS[magic]);
        let found = self.input.get(from + before..).and_then(|rest| finder.find(rest));
        self.next[magic] = found.map(|at| from + at);
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = self.next.iter().flatten().min().copied()?;
        for magic in 0..MAGICS.len() {
            if self.next[magic] == Some(place) {
                self.search(magic, place + 1);
            }
        }
        Some(place)
    }
}
