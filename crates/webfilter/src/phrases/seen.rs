//! Which phrases a reading has: [`Seen`]. Rule: a bit for each phrase, and counts only where they are asked for.

use std::collections::BTreeMap;

/// What most pages have fewer phrases than.
const FOUND_USUALLY: usize = 64;

/// Which parts were found in one reading, and how often.
#[derive(Debug, Default)]
pub(super) struct Seen {
    bits: Vec<u64>,
    /// In the order in which they were found first.
    pub found: Vec<u32>,
    /// How often, where it was more than once and that counts.
    more: Option<BTreeMap<u32, u32>>,
}

impl Seen {
    /// Nothing of so many parts yet.
    pub fn new(parts: usize, counting: super::Counting) -> Self {
        let more = (counting == super::Counting::EachTime).then(BTreeMap::new);
        Self { bits: vec![0; parts.div_ceil(64)], found: Vec::with_capacity(FOUND_USUALLY), more }
    }

    /// Whether the part was found.
    #[inline]
    pub fn has(&self, part: u32) -> bool {
        self.bits.get(part as usize / 64).is_some_and(|word| word >> (part % 64) & 1 == 1)
    }

    /// Whether it would make no difference to find it again.
    #[inline]
    pub fn is_done(&self, part: u32) -> bool {
        self.more.is_none() && self.has(part)
    }

    /// It was found.
    pub fn add(&mut self, part: u32) {
        if self.has(part) {
            if let Some(more) = &mut self.more {
                let count = more.entry(part).or_insert(1);
                *count = count.saturating_add(1);
            }
        } else if let Some(word) = self.bits.get_mut(part as usize / 64) {
            *word |= 1 << (part % 64);
            self.found.push(part);
        }
    }

    /// How often it counts.
    pub fn times(&self, part: u32) -> u32 {
        let more = self.more.as_ref().and_then(|more| more.get(&part)).copied();
        more.unwrap_or_else(|| u32::from(self.has(part)))
    }
}
