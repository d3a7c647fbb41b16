//! The bytes of a stream that are at hand: a tail kept from before, and the chunk. Rule: offsets are the stream's.

/// A tail and the chunk that follows it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    tail: &'a [u8],
    chunk: &'a [u8],
    chunk_start: u64,
    more: More,
}

/// Whether bytes may follow those at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    Follows,
    Ended,
}

impl<'a> View<'a> {
    /// `tail` ends where `chunk` starts.
    pub fn new(tail: &'a [u8], chunk: &'a [u8], chunk_start: u64, more: More) -> Self {
        View { tail, chunk, chunk_start, more }
    }

    /// Where the chunk starts.
    pub fn chunk_start(&self) -> u64 {
        self.chunk_start
    }

    /// The chunk itself.
    pub fn chunk(&self) -> &'a [u8] {
        self.chunk
    }

    /// Where the bytes at hand end.
    pub fn end(&self) -> u64 {
        self.chunk_start + self.chunk.len() as u64
    }

    /// Whether bytes may follow.
    pub fn more(&self) -> More {
        self.more
    }

    /// The byte at an offset, if it is at hand.
    pub fn byte(&self, at: u64) -> Option<u8> {
        match at.checked_sub(self.chunk_start) {
            Some(inside) => self.chunk.get(usize::try_from(inside).ok()?).copied(),
            None => {
                let back = usize::try_from(self.chunk_start - at).ok()?;
                self.tail.get(self.tail.len().checked_sub(back)?).copied()
            }
        }
    }

    /// What there is of the `length` bytes at an offset: a piece in the tail and a piece in the chunk.
    /// `None`: the offset lies before the tail, or past the end.
    #[inline]
    pub fn pieces(&self, at: u64, length: usize) -> Option<(&'a [u8], &'a [u8])> {
        if let Some(inside) = at.checked_sub(self.chunk_start) {
            let rest = self.chunk.get(usize::try_from(inside).ok()?..)?;
            return Some((&[], &rest[..rest.len().min(length)]));
        }
        let back = usize::try_from(self.chunk_start - at).ok()?;
        let rest = self.tail.get(self.tail.len().checked_sub(back)?..)?;
        let first = &rest[..rest.len().min(length)];
        let second = &self.chunk[..self.chunk.len().min(length - first.len())];
        Some((first, second))
    }

    /// Whether these bytes stand at an offset, all of them at hand.
    #[inline]
    pub fn is_at(&self, at: u64, bytes: &[u8]) -> bool {
        self.pieces(at, bytes.len()).is_some_and(|(first, second)| {
            let (front, back) = bytes.split_at(first.len());
            first.len() + second.len() == bytes.len() && agree(first, front) && agree(second, back)
        })
    }

    /// The eight bytes from an offset, little end first, if the chunk has them.
    #[inline]
    pub fn eight_in_chunk(&self, at: u64) -> Option<u64> {
        let inside = usize::try_from(at.checked_sub(self.chunk_start)?).ok()?;
        self.chunk.get(inside..)?.first_chunk().map(|eight| u64::from_le_bytes(*eight))
    }

    /// The eight bytes from an offset, little end first; bytes that aren't at hand read as zero.
    pub fn eight_at(&self, at: u64) -> u64 {
        self.eight_in_chunk(at).unwrap_or_else(|| {
            (0..8).rev().fold(0, |word, step| {
                let byte = at.checked_add(step).and_then(|at| self.byte(at)).unwrap_or(0);
                word << 8 | u64::from(byte)
            })
        })
    }

    /// The eight bytes that end at an offset, little end first; bytes that aren't at hand read as zero.
    pub fn eight_before(&self, end: u64) -> u64 {
        end.checked_sub(8).and_then(|at| self.eight_in_chunk(at)).unwrap_or_else(|| {
            (1..=8).fold(0, |word, back| {
                let byte = end.checked_sub(back).and_then(|at| self.byte(at)).unwrap_or(0);
                word << 8 | u64::from(byte)
            })
        })
    }
}

/// Whether rows of bytes are the same. Of none nothing is read: the address of an empty slice leads nowhere, and the vector
/// instructions of a library's comparison take a hundred times as long there.
#[inline]
pub(crate) fn agree(here: &[u8], known: &[u8]) -> bool {
    here.len() == known.len() && (here.is_empty() || here == known)
}
