//! Finds where an archive may begin, and whether a zip does. Rule: one pass for all marks, and the same bytes are never searched
//! twice.

use crate::archive::disguise::Zips;
use lockgate_matcher::Marks;

/// A header may begin so many bytes before the end and not be known by what is there.
pub(super) const CARRIED_BYTES: usize = 7;

/// The first two bytes of each magic: 7z, RAR, CAB, ARJ, LHA and zip, and of gzip and bzip2 behind a line's end. None ends like LHA's
/// begins, so that headers are met in their order.
const MARKS: Marks<8> = Marks::new([*b"7z", *b"Ra", *b"MS", *b"\x60\xea", LHA, ZIP, *b"\n\x1f", *b"\nB"]);
/// What LHA's method begins with, and how far into its header.
const LHA: [u8; 2] = *b"-l";
const LHA_AT: usize = 2;
const ZIP: [u8; 2] = *b"PK";

/// The places of some bytes where a header may begin, in their order.
pub(super) struct Places<'a> {
    input: &'a [u8],
    next: usize,
    /// Whether a record of a zip was passed.
    pub zips: Zips,
}

impl<'a> Places<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, next: 0, zips: Zips::of(b"") }
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let at = MARKS.find(self.input, self.next)?;
            self.next = at + 1;
            let mark = self.input.get(at..at + 2)?;
            if mark == ZIP {
                self.zips = self.zips.or(Zips::of(&self.input[at..]));
                continue;
            }
            let before = if mark == LHA { LHA_AT } else { 0 };
            // A header that began before these bytes was looked at with those.
            if let Some(begin) = at.checked_sub(before) {
                return Some(begin);
            }
        }
    }
}
