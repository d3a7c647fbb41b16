//! Where a hash is listed: [`Table`]. Rule: sorted, packed, immutable; a look-up reads one place of the index and one of the
//! entries.
//!
//! An entry takes 12 bytes: the low 48 bits of its hash, the number of its list, its line. The high bits say in which bucket
//! it stands, and there are two to four entries to a bucket, so that from 65,536 entries on all 64 bits are compared: a
//! name that is not listed is taken for one that is once in 2⁶⁴ / entries look-ups, below that once in 2⁴⁶ or more.

/// Which list, in order of adding. The last number means none of them: see [`Entry::MARK`].
pub(crate) type ListId = u16;

/// One line of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    rest_low: u32,
    rest_high: u16,
    /// The list.
    pub list: ListId,
    /// The line in its file, from 1.
    pub line: u32,
}

impl Entry {
    /// The list of an entry that is no line: below this host, addresses with paths are listed.
    pub const MARK: ListId = ListId::MAX;

    fn rest(self) -> u64 {
        u64::from(self.rest_high) << 32 | u64::from(self.rest_low)
    }
}

/// An entry before the table is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Draft {
    pub hash: u64,
    pub list: ListId,
    pub line: u32,
}

/// All entries by hash.
#[derive(Debug)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    /// Where each bucket starts, and at last where the entries end.
    starts: Vec<u32>,
    bucket_bits: u32,
}

const REST_BITS: u32 = 48;
/// How many lines of one list are kept that list the same.
const SAME_MAX: u32 = 4;

impl Table {
    /// Sorts and packs. What is listed again and again in one list stands in it by its first few lines.
    pub fn new(mut drafts: Vec<Draft>) -> Self {
        drafts.sort_unstable();
        drafts.dedup();
        let mut last = (0, Entry::MARK, 0);
        drafts.retain(|draft| {
            let (hash, list, count) = last;
            let count = if (hash, list) == (draft.hash, draft.list) { count + 1 } else { 1 };
            last = (draft.hash, draft.list, count);
            count <= SAME_MAX
        });
        Self::packed(&drafts)
    }

    /// The same, but keeps all.
    pub fn keeping_all(mut drafts: Vec<Draft>) -> Self {
        drafts.sort_unstable();
        Self::packed(&drafts)
    }

    fn packed(drafts: &[Draft]) -> Self {
        let bucket_bits = drafts.len().max(4).ilog2() - 1;
        let bucket_of = |draft: &Draft| (draft.hash >> (u64::BITS - bucket_bits)) as usize;
        let mut starts = vec![0_u32; (1 << bucket_bits) + 1];
        for draft in drafts {
            starts[bucket_of(draft) + 1] += 1;
        }
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let entries = drafts.iter().map(|draft| {
            let rest = draft.hash & ((1 << REST_BITS) - 1);
            Entry {
                rest_low: rest as u32,
                rest_high: (rest >> 32) as u16,
                list: draft.list,
                line: draft.line,
            }
        });
        Self { entries: entries.collect(), starts, bucket_bits }
    }

    /// Every entry with this hash, in order of lists.
    pub fn find(&self, hash: u64) -> impl Iterator<Item = Entry> + '_ {
        let bucket = (hash >> (u64::BITS - self.bucket_bits)) as usize;
        let range = match (self.starts.get(bucket), self.starts.get(bucket + 1)) {
            (Some(first), Some(last)) => *first as usize..*last as usize,
            _ => 0..0,
        };
        let rest = hash & ((1 << REST_BITS) - 1);
        self.entries.get(range).unwrap_or_default().iter().copied().filter(move |entry| entry.rest() == rest)
    }

    /// How many entries it holds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.starts.len() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Key;

    #[test]
    fn what_is_in_is_found_and_nothing_else() {
        let key = Key(1, 2);
        for count in [0_u32, 1, 2, 3, 5, 100, 10_000] {
            let hash = |n: u32| key.hash(0, &n.to_le_bytes());
            let table = Table::new((0..count).map(|n| Draft { hash: hash(n), list: 7, line: n }).collect());
            for n in 0..count {
                let lines: Vec<u32> = table.find(hash(n)).map(|entry| entry.line).collect();
                assert_eq!(lines, [n]);
            }
            for n in count..count + 1000 {
                assert_eq!(table.find(hash(n)).count(), 0);
            }
        }
    }

    #[test]
    fn the_same_name_in_several_lists() {
        let draft = |list, line| Draft { hash: 42 << 40, list, line };
        let table = Table::new(vec![draft(3, 1), draft(1, 9), draft(1, 4), draft(2, 5)]);
        let found: Vec<_> = table.find(42 << 40).map(|entry| (entry.list, entry.line)).collect();
        assert_eq!(found, [(1, 4), (1, 9), (2, 5), (3, 1)]);
        let table = Table::new((0..1000).map(|line| draft(1, line)).collect());
        assert_eq!(table.len(), SAME_MAX as usize);
    }

    #[test]
    fn an_entry_takes_less_than_sixteen_bytes() {
        let key = Key(1, 2);
        for count in [1 << 16, 100_000, (1 << 17) - 1] {
            let hash = |n: u32| key.hash(0, &n.to_le_bytes());
            let table = Table::new((0..count).map(|n| Draft { hash: hash(n), list: 1, line: n }).collect());
            let bytes = table.heap_bytes() as f64 / f64::from(count);
            assert!(bytes < 14.1, "{bytes} for each of {count}");
        }
    }
}
