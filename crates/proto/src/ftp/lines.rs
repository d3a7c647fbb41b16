//! Lines as they come: [`Lines`]. Rule: a line has a bound, and what is beyond it is passed over up to the line's end.

/// The longest line that is read, its end not counted: what is longer is cut there.
pub const LINE_BYTES_MAX: usize = 4096;

/// A side's lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    held: Vec<u8>,
    is_cut: bool,
}

/// A line without its end.
pub(super) struct Line {
    pub bytes: Vec<u8>,
    /// Whether there was more of it.
    pub is_cut: bool,
}

impl Lines {
    /// Takes bytes up to the end of a line: how many, and the line where it ends.
    pub fn take(&mut self, chunk: &[u8]) -> (usize, Option<Line>) {
        let end = memchr::memchr(b'\n', chunk);
        let piece = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        let room = LINE_BYTES_MAX + 1 - self.held.len();
        self.is_cut |= piece.len() > room;
        self.held.extend_from_slice(piece.get(..room).unwrap_or(piece));
        let Some(end) = end else { return (chunk.len(), None) };
        let mut bytes = std::mem::take(&mut self.held);
        let mut is_cut = std::mem::take(&mut self.is_cut);
        if !is_cut && bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        is_cut |= bytes.len() > LINE_BYTES_MAX;
        bytes.truncate(LINE_BYTES_MAX);
        (end + 1, Some(Line { bytes, is_cut }))
    }

    /// Whether a line has begun.
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    /// Bytes are missing: what has begun is no line any more.
    pub fn gap(&mut self) {
        *self = Self::default();
    }
}
