//! Looks for the next record among bytes that are none. Rule: the same place is found at every cut.

use super::header::{CENTRAL, END, END_64, LOCAL};

/// Bytes before the place that are remembered: those that mark an Android signing block.
const TAIL_BYTES_MAX: usize = 19;
const SIGNING_BLOCK: &[u8] = b"APK Sig Block 42";

/// A search on its way.
#[derive(Debug, Default)]
pub(super) struct Search {
    tail: Vec<u8>,
    /// Whether anything was passed that could be content: padding is not.
    has_content: bool,
}

impl Search {
    /// Begins with bytes that were taken for a record and are none.
    pub(super) fn begin(&mut self, passed: &[u8]) {
        self.tail.clear();
        self.has_content = false;
        self.pass(passed);
    }

    /// How much of the input was used, and the record's first four bytes if they are among them.
    pub(super) fn find(&mut self, input: &[u8]) -> (usize, Option<[u8; 4]>) {
        let length = self.tail.len();
        let seam: Vec<u8> = self.tail.iter().chain(input.iter().take(3)).copied().collect();
        let found = find(&seam).filter(|at| *at < length && at + 4 > length);
        let end = found.map(|at| at + 4 - length).or_else(|| find(input).map(|at| at + 4));
        let used = end.unwrap_or(input.len());
        self.pass(&input[..used]);
        let Some(begin) = end.and(self.tail.len().checked_sub(4)) else { return (used, None) };
        let mut signature = [0; 4];
        signature.copy_from_slice(&self.tail[begin..]);
        self.tail.truncate(begin);
        (used, Some(signature))
    }

    /// Whether what was passed before this record could hide content.
    pub(super) fn passed_content(&self, found: Option<[u8; 4]>) -> bool {
        let is_signing_block = found == Some(CENTRAL) && self.tail.ends_with(&SIGNING_BLOCK[1..]);
        let has_content = match found {
            Some(_) => self.has_content,
            None => self.has_content || !self.tail.iter().copied().all(is_padding),
        };
        has_content && !is_signing_block
    }

    /// The last four bytes are judged late: they may be the record's own.
    fn pass(&mut self, bytes: &[u8]) {
        let late = self.tail.len().min(4);
        let from_tail = (late + bytes.len()).saturating_sub(4).min(late);
        let start = self.tail.len() - late;
        let from_bytes = bytes.len().saturating_sub(4);
        let settled = self.tail[start..start + from_tail].iter().chain(&bytes[..from_bytes]);
        self.has_content |= !settled.copied().all(is_padding);
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_BYTES_MAX)..]);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..excess);
    }
}

fn is_padding(byte: u8) -> bool {
    byte == 0 || byte.is_ascii_whitespace()
}

/// The first place where a record begins.
fn find(bytes: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(bytes, b"PK").find(|at| {
        bytes.get(*at..at + 4).is_some_and(|s| [LOCAL, CENTRAL, END, END_64].iter().any(|r| s == r))
    })
}
