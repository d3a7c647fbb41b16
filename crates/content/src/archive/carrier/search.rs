//! Finds where an archive may begin, and whether a zip does. Rule: one pass for all marks, and the same bytes are never searched
//! twice.

use crate::archive::disguise::{Guise, Zips};
use lockgate_matcher::Marks;

/// A header may begin so many bytes before the end and not be known by what is there.
pub(super) const CARRIED_BYTES: usize = 7;

/// The first two bytes of each magic: 7z, RAR, CAB, ARJ, LHA and zip. None ends like LHA's begins, so that headers are met in
/// their order.
const MARKS: Marks<6> = Marks::new([*b"7z", *b"Ra", *b"MS", *b"\x60\xea", LHA, ZIP]);
/// A line's end, and what begins behind it in scripts: gzip and `.Z`, bzip2, xz, zstd, LZMA, lzip.
const LINES: Marks<6> = Marks::new([*b"\n\x1f", *b"\nB", *b"\n\xfd", *b"\n\x28", *b"\n\x5d", *b"\nL"]);
/// What LHA's method begins with, and how far into its header.
const LHA: [u8; 2] = *b"-l";
const LHA_AT: usize = 2;
const ZIP: [u8; 2] = *b"PK";

/// The places of some bytes where a header may begin, in their order.
pub(super) struct Places<'a> {
    input: &'a [u8],
    /// Where a magic may stand next.
    next: usize,
    /// Where one stands that has not been given.
    ahead: Option<usize>,
    /// Where a line may end next, if lines count.
    next_line: Option<usize>,
    /// Whether a record of a zip was passed.
    pub zips: Zips,
}

impl<'a> Places<'a> {
    pub fn new(input: &'a [u8], guise: Guise) -> Self {
        let next_line = (guise == Guise::Script).then_some(0);
        Self { input, next: 0, ahead: None, next_line, zips: Zips::of(b"") }
    }

    /// The next line's end that counts, before a place.
    fn line(&mut self, place: Option<usize>) -> Option<usize> {
        let from = self.next_line?;
        let before = self.input.get(..place.map_or(self.input.len(), |place| place + 1))?;
        let at = LINES.find(before, from);
        self.next_line = Some(at.or(place).unwrap_or(before.len()) + 1);
        at
    }

    /// The next place of a magic.
    fn magic(&mut self) -> Option<usize> {
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

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = self.ahead.take().or_else(|| self.magic());
        match self.line(place) {
            Some(line) => {
                self.ahead = place;
                Some(line)
            }
            None => place,
        }
    }
}
