//! Chance that can be had again. Rule: the seed is all it depends on.

/// A small generator.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % bound.max(1) as u64) as usize
    }

    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most.saturating_sub(least) + 1)
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// A byte that few signatures name, of a kind that the file has.
    pub fn filler(&mut self, texture: Texture) -> u8 {
        match texture {
            Texture::Binary => 0x80 + self.below(0x7d) as u8,
            Texture::Text => b"qzjxv"[self.below(5)],
        }
    }
}

/// What bytes a file is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Texture {
    Binary,
    Text,
}
