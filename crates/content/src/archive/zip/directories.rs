//! Where the directories of a zip file are, for those who look from its end. Rule: each place where one of them would look.
//!
//! Some believe the offset that the end of the directory tells, some its length; some take the last end that there is, some
//! one whose comment reaches to the end of the file.

use super::header::{self, End};
use crate::field::{u16_le, u64_le};

/// The longest comment, and the record that it stands behind.
const TAIL_BYTES: usize = 65_535 + 22;
/// So many are read at most.
const DIRECTORIES_MAX: usize = 8;

/// Where a directory begins in the bytes held, and what its offsets are to be moved by to count in the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) start: usize,
    pub(super) base: i64,
}

/// All that there are in these bytes, before which there are so many others; `ends` are places of the part where one ends.
pub(super) fn find(whole: &[u8], skipped: u64, ends: &[u64]) -> Vec<Directory> {
    let mut found = Vec::new();
    let tail = whole.len().saturating_sub(TAIL_BYTES);
    let last = memchr::memmem::rfind(&whole[tail..], &header::END).map(|at| tail + at);
    // A zip file that is the last entry has an end of its own, which is nobody's but its own readers'.
    let in_tail = memchr::memmem::find_iter(&whole[tail..], &header::END)
        .map(|at| tail + at)
        .filter(|at| Some(*at) == last || at + 22 + usize::from(u16_le(whole, at + 20)) == whole.len());
    let mut ends: Vec<usize> = ends
        .iter()
        .filter_map(|end| usize::try_from(end.checked_sub(skipped)?).ok())
        .chain(in_tail)
        .collect();
    ends.sort_unstable();
    ends.dedup();
    // The last one is what most would take.
    for end in ends.into_iter().rev() {
        for directory in of_end(whole, skipped, end) {
            if found.len() < DIRECTORIES_MAX && !found.contains(&directory) {
                found.push(directory);
            }
        }
    }
    found
}

/// Where this end of a directory says that it is: by its length, and by its offset.
fn of_end(whole: &[u8], skipped: u64, at: usize) -> impl Iterator<Item = Directory> {
    let record = whole.get(at + header::END.len()..).unwrap_or_default();
    let is_whole = record.len() >= header::END_BYTES as usize;
    let (larger_at, larger) = larger_end(whole, skipped, at).unzip();
    let end = End::parse(record, larger);
    let ends_at = skipped + larger_at.unwrap_or(at) as u64;
    let by_length = ends_at.checked_sub(end.directory_bytes);
    let by_offset = Some(end.directory_offset);
    [by_length, by_offset].into_iter().flatten().filter_map(move |begins_at| {
        let start = usize::try_from(begins_at.checked_sub(skipped)?).ok()?;
        let is_there = is_whole && whole.get(start..)?.starts_with(&header::CENTRAL);
        let base = begins_at.wrapping_sub(end.directory_offset) as i64;
        is_there.then_some(Directory { start, base })
    })
}

/// The end of 64 bits that belongs to this one: where its locator says, or else right before that.
fn larger_end(whole: &[u8], skipped: u64, at: usize) -> Option<(usize, End)> {
    let locator_at = at.checked_sub(header::LOCATOR_64.len() + header::LOCATOR_64_BYTES as usize)?;
    let locator = whole.get(locator_at..at)?;
    if !locator.starts_with(&header::LOCATOR_64) {
        return None;
    }
    let told = u64_le(locator, 8).checked_sub(skipped).and_then(|at| usize::try_from(at).ok());
    let before = locator_at.checked_sub(header::END_64.len() + header::END_64_BYTES as usize);
    [told, before].into_iter().flatten().find_map(|at| {
        let record = whole.get(at..)?.strip_prefix(&header::END_64)?;
        (record.len() >= header::END_64_BYTES as usize).then(|| (at, End::parse_64(record)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{ZipFile, ZipWriter};

    #[test]
    fn directories_are_found_by_length_and_by_offset() {
        let zip = ZipWriter::of(&[ZipFile::stored("a", b"1")]);
        let start = zip.len() - 22 - 47;
        assert_eq!(find(&zip, 0, &[]), [Directory { start, base: 0 }]);
        let moved = [b"before", &zip[..]].concat();
        assert_eq!(find(&moved, 0, &[]), [Directory { start: start + 6, base: 6 }]);
        assert_eq!(find(&zip, 6, &[]), [Directory { start, base: 6 }], "what came before is not held");
        let two = [&zip[..], &zip].concat();
        let second = Directory { start: zip.len() + start, base: zip.len() as i64 };
        assert_eq!(find(&two, 0, &[]), [second, Directory { start, base: 0 }]);
        let far = [&zip[..], &[0; 70_000]].concat();
        assert_eq!(find(&far, 0, &[]), []);
        assert_eq!(find(&far, 0, &[zip.len() as u64 - 22]), [Directory { start, base: 0 }]);
        for length in 0..zip.len() {
            assert_eq!(find(&zip[..length], 0, &[]), []);
        }
    }
}
