//! Lines as a spectator sees them: [`Lines`]. Rule: a line ends with LF, CRs before it are no part of it, and it is bounded.

/// How much of a line is kept.
const LINE_BYTES_MAX: usize = 8 << 10;

/// One side's lines.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// Bytes of the input used, and the line that they complete, as much of it as is kept.
    pub fn step(&mut self, input: &[u8]) -> (usize, Option<Vec<u8>>) {
        let end = input.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let piece = input.get(..end.unwrap_or(input.len())).unwrap_or_default();
        let room = LINE_BYTES_MAX.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(piece.get(..room).unwrap_or(piece));
        if end.is_none() {
            return (piece.len(), None);
        }
        let mut line = std::mem::take(&mut self.begun);
        while matches!(line.last(), Some(b'\r' | b'\n')) {
            line.pop();
        }
        (piece.len(), Some(line))
    }

    /// What has begun is forgotten.
    pub fn clear(&mut self) {
        self.begun.clear();
    }
}

/// The first word of a line in capital letters, and what follows it.
pub fn verb(line: &[u8]) -> (Vec<u8>, &[u8]) {
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    let (verb, rest) = line.split_at(end);
    (verb.to_ascii_uppercase(), rest.trim_ascii())
}
