//! Lists of digests that rules name: `filemd5:list`. Rule: a line that is none is a fault of the rule that names the list.

use super::Fault;
use super::draft::Draft;
use super::rule::Test;
use super::sticky::Sticky;
use super::words::{Word, unquoted};
use std::sync::Arc;

/// A list of digests, of which the file's is to be one, or none (`!`).
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// The list's file, as the rule names it.
    pub file: Box<str>,
    /// What is in it, once it has been read.
    pub digests: Arc<Digests>,
    pub is_negated: bool,
    /// How long a digest of its kind is.
    pub digest_bytes: usize,
}

/// Digests of one kind.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    digest_bytes: usize,
    /// One behind the other, in their order.
    sorted: Box<[u8]>,
}

/// Each keyword with the buffer that it asks of, and how long that is.
const KEYWORDS: [(&str, Sticky, usize); 3] = [
    ("filemd5", Sticky::FileMd5, 16),
    ("filesha1", Sticky::FileSha1, 20),
    ("filesha256", Sticky::FileSha256, 32),
];

/// Does to the draft what the word says; `None` where it is none of these.
pub(crate) fn apply(draft: &mut Draft, word: &Word<'_>) -> Option<Result<(), Fault>> {
    let (_, sticky, digest_bytes) = KEYWORDS.iter().find(|(name, ..)| *name == word.name)?;
    Some(word.needed().and_then(|value| {
        let (value, is_negated) =
            value.strip_prefix('!').map_or((value, false), |rest| (rest.trim_start(), true));
        let file = unquoted(value).into();
        let listed = Listed { file, digests: Arc::default(), is_negated, digest_bytes: *digest_bytes };
        draft.ask_in(*sticky, Test::Listed(listed), word)
    }))
}

impl Digests {
    /// Reads a list: a digest in hexadecimal at the beginning of each line, perhaps a file's name behind it, and notes after `#`.
    pub fn parse(text: &[u8], digest_bytes: usize) -> Result<Self, String> {
        let mut digests = Vec::new();
        for (line, number) in text.split(|byte| *byte == b'\n').zip(1..) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            let digest = bytes_of(word).filter(|digest| digest.len() == digest_bytes);
            digests.push(digest.ok_or_else(|| {
                format!("line {number} is no digest: {} digits in hexadecimal are wanted", digest_bytes * 2)
            })?);
        }
        digests.sort_unstable();
        digests.dedup();
        Ok(Self { digest_bytes, sorted: digests.concat().into() })
    }

    /// Whether it is one of them.
    pub fn contains(&self, digest: &[u8]) -> bool {
        if digest.len() != self.digest_bytes || digest.is_empty() {
            return false;
        }
        let at = |index: usize| self.sorted.get(index * digest.len()..(index + 1) * digest.len());
        let (mut low, mut high) = (0, self.sorted.len() / digest.len());
        while low < high {
            let middle = low.midpoint(high);
            match at(middle) {
                Some(own) if own == digest => return true,
                Some(own) if own < digest => low = middle + 1,
                _ => high = middle,
            }
        }
        false
    }
}

/// What digits in hexadecimal stand for.
pub(super) fn bytes_of(digits: &[u8]) -> Option<Vec<u8>> {
    let text =
        std::str::from_utf8(digits).ok().filter(|text| text.is_ascii() && text.len().is_multiple_of(2))?;
    (0..text.len() / 2).map(|at| u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_asked() {
        let text =
            b"# notes\n00112233445566778899aabbccddeeff  a.exe\r\n\nFFEEDDCCBBAA99887766554433221100\n";
        let digests = Digests::parse(text, 16).unwrap();
        let wanted =
            [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
        let mut reversed = wanted;
        reversed.reverse();
        assert!(digests.contains(&wanted) && digests.contains(&reversed));
        assert!(!digests.contains(&[0; 16]) && !digests.contains(&wanted[..15]) && !digests.contains(b""));
        assert!(!Digests::default().contains(&wanted));
        for wrong in ["00", "zz112233445566778899aabbccddeeff", "00112233445566778899aabbccddeeff00"] {
            assert!(Digests::parse(wrong.as_bytes(), 16).unwrap_err().starts_with("line 1 "), "{wrong}");
        }
    }
}
