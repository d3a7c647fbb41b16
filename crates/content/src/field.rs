//! Gathers a field of a header that may come in any cuts. Rule: it keeps no more than it was told to.

/// A field on its way: so many bytes, of which the first so many are kept.
#[derive(Debug, Default)]
pub(crate) struct Field {
    kept: Vec<u8>,
    keep_max: usize,
    missing: u64,
}

impl Field {
    /// Awaits a field of `length` bytes and keeps the first `keep_max` of them.
    pub(crate) fn begin(&mut self, length: u64, keep_max: usize) {
        self.kept.clear();
        self.keep_max = keep_max;
        self.missing = length;
    }

    /// Awaits so many bytes more, behind what is kept already.
    pub(crate) fn extend(&mut self, length: usize) {
        self.keep_max = self.kept.len() + length;
        self.missing = length as u64;
    }

    /// Takes what is missing from the input, or all of the input; how much that was.
    pub(crate) fn take(&mut self, input: &[u8]) -> usize {
        let taken = usize::try_from(self.missing).unwrap_or(usize::MAX).min(input.len());
        let keep = taken.min(self.keep_max.saturating_sub(self.kept.len()));
        self.kept.extend_from_slice(&input[..keep]);
        self.missing -= taken as u64;
        taken
    }

    /// Whether nothing is missing.
    pub(crate) fn is_whole(&self) -> bool {
        self.missing == 0
    }

    /// What was kept.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.kept
    }

    /// Forgets what it kept, and gives back the memory of an unusually long field.
    pub(crate) fn clear(&mut self) {
        self.begin(0, 0);
        if self.kept.capacity() > 512 {
            self.kept = Vec::new();
        }
    }
}

/// The little-endian number at this place; 0 where the bytes do not reach.
pub(crate) fn u16_le(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, u16::from_le_bytes)
}

/// The little-endian number at this place; 0 where the bytes do not reach.
pub(crate) fn u32_le(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// The little-endian number at this place; 0 where the bytes do not reach.
pub(crate) fn u64_le(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// How many bytes come before the first place where these four stand, or begin to stand at the end of the input.
pub(crate) fn before(input: &[u8], four: [u8; 4]) -> usize {
    if let Some(at) = memchr::memmem::find(input, &four) {
        return at;
    }
    let partial = (1..four.len()).rev().find(|length| input.ends_with(&four[..*length]));
    input.len() - partial.unwrap_or(0)
}

/// A name for a path: control characters replaced, so that it can be printed, and of bounded length.
pub(crate) fn label(name: &str) -> String {
    const CHARS_MAX: usize = 255;
    name.chars().take(CHARS_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_it_was_told_to() {
        let mut field = Field::default();
        field.begin(6, 4);
        assert_eq!(field.take(b"ab"), 2);
        assert!(!field.is_whole());
        assert_eq!(field.take(b"cdefgh"), 4);
        assert!(field.is_whole());
        assert_eq!(field.bytes(), b"abcd");
        field.extend(2);
        assert_eq!(field.take(b"xyz"), 2);
        assert_eq!(field.bytes(), b"abcdxy");
    }

    #[test]
    fn the_first_place_for_four_bytes() {
        for (input, at) in [("", 0), ("xPKab", 1), ("xPKaPKa", 4), ("xPKaP", 4), ("PKab", 0), ("xyz", 3)] {
            assert_eq!(before(input.as_bytes(), *b"PKab"), at, "{input}");
        }
    }

    #[test]
    fn labels_print() {
        assert_eq!(label("a\u{1b}[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
        assert_eq!(label(&"x".repeat(1000)).len(), 255);
    }
}
