//! Lines in mail content, 64 bytes at a time. Rule: a line ends with CR LF and with nothing else.
//!
//! A bare LF ends a line for some servers and not for others, and so does a bare CR or a NUL that is stripped further
//! on: that is how one mail becomes two (SMTP smuggling). [`LineEndScan`] proves that content has none of them.

/// Bytes looked at in one go.
const BLOCK_BYTES: usize = 64;

/// Something that another server could take for the end of a line, or that hides one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A CR without an LF behind it.
    BareCr,
    /// An LF without a CR before it.
    BareLf,
    /// A NUL at the start of a line: a server that strips NULs would then see what stands behind it, such as a dot.
    NulAtLineStart,
    /// A line longer than the limit set.
    LongLine,
}

impl Refusal {
    /// What to tell the client.
    pub fn text(self) -> &'static str {
        match self {
            Self::BareCr => "the mail has a CR without LF; end each line with CR LF",
            Self::BareLf => "the mail has an LF without CR; end each line with CR LF",
            Self::NulAtLineStart => "a line of the mail begins with NUL; encode binary content",
            Self::LongLine => "a line of the mail is too long; encode the content",
        }
    }
}

/// Where a reader of lines stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// At the start of the content or behind a CR LF.
    LineStart,
    /// Within a line.
    Within,
    /// Behind a CR.
    AfterCr,
}

/// Why a run of plain bytes ended. The byte that is meant has not been used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The input is used up.
    Input,
    /// A dot at the start of a line.
    Dot,
    /// The reader stands behind a CR, and no LF follows.
    BareCr,
    /// An LF follows that has no CR before it.
    BareLf,
    /// A NUL follows at the start of a line.
    Nul,
}

/// How many bytes at the start of the input need no thought, and why they end. No byte is looked at twice.
///
/// As bit masks of a block: every LF stands one behind a CR exactly if `lf == cr << 1`, with the carry from the block
/// before; a line starts one behind an LF. The first bit that disagrees is where the run ends.
pub(crate) fn plain_run(input: &[u8], at: &mut At) -> (usize, Stop) {
    let (blocks, tail) = input.as_chunks::<BLOCK_BYTES>();
    for (i, block) in blocks.iter().enumerate() {
        if let Err((plain, stop)) = look(block, BLOCK_BYTES, at) {
            return (i * BLOCK_BYTES + plain, stop);
        }
    }
    if !tail.is_empty() {
        let mut block = [b' '; BLOCK_BYTES];
        if let Some(head) = block.get_mut(..tail.len()) {
            head.copy_from_slice(tail);
        }
        if let Err((plain, stop)) = look(&block, tail.len(), at) {
            return (blocks.len() * BLOCK_BYTES + plain, stop);
        }
    }
    (input.len(), Stop::Input)
}

/// Looks at the first `length` bytes of a block; the error says how many of them are plain, and why no more.
#[inline]
fn look(block: &[u8; BLOCK_BYTES], length: usize, at: &mut At) -> Result<(), (usize, Stop)> {
    let masks = masks(block);
    let after_cr = masks.cr << 1 | u64::from(*at == At::AfterCr);
    let after_lf = masks.lf << 1 | u64::from(*at == At::LineStart);
    let offences = (masks.lf ^ after_cr) | (masks.mark & after_lf);
    let first = offences.trailing_zeros() as usize;
    let plain = first.min(length);
    if let Some(last) = plain.checked_sub(1) {
        *at = match (masks.cr >> last & 1, masks.lf >> last & 1) {
            (1, _) => At::AfterCr,
            (_, 1) => At::LineStart,
            _ => At::Within,
        };
    }
    if first >= length {
        return Ok(());
    }
    Err((plain, stop_at(*at, block.get(plain).copied().unwrap_or_default())))
}

/// Why a run ends before this byte.
fn stop_at(at: At, byte: u8) -> Stop {
    match (at, byte) {
        (At::AfterCr, _) => Stop::BareCr,
        (_, b'\n') => Stop::BareLf,
        (_, b'.') => Stop::Dot,
        _ => Stop::Nul,
    }
}

/// Which bytes of a block are CR, LF, and a dot or NUL: bit 0 stands for the first.
struct Masks {
    cr: u64,
    lf: u64,
    mark: u64,
}

#[cfg(target_arch = "x86_64")]
fn masks(block: &[u8; BLOCK_BYTES]) -> Masks {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    let mut masks = Masks { cr: 0, lf: 0, mark: 0 };
    for (i, quarter) in block.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: SSE2 is part of every x86-64, and the load is unaligned from 16 bytes that the reference covers.
        let (cr, lf, mark) = unsafe {
            let bytes = _mm_loadu_si128(quarter.as_ptr().cast::<__m128i>());
            let cr = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\r' as i8));
            let lf = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\n' as i8));
            let dot = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'.' as i8));
            let nul = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0));
            (
                _mm_movemask_epi8(cr) as u32,
                _mm_movemask_epi8(lf) as u32,
                _mm_movemask_epi8(_mm_or_si128(dot, nul)) as u32,
            )
        };
        masks.cr |= u64::from(cr) << (16 * i);
        masks.lf |= u64::from(lf) << (16 * i);
        masks.mark |= u64::from(mark) << (16 * i);
    }
    masks
}

#[cfg(not(target_arch = "x86_64"))]
fn masks(block: &[u8; BLOCK_BYTES]) -> Masks {
    masks_portable(block)
}

/// The same without special instructions; tests hold the two against each other.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn masks_portable(block: &[u8; BLOCK_BYTES]) -> Masks {
    let mut masks = Masks { cr: 0, lf: 0, mark: 0 };
    for (i, &byte) in block.iter().enumerate() {
        masks.cr |= u64::from(byte == b'\r') << i;
        masks.lf |= u64::from(byte == b'\n') << i;
        masks.mark |= u64::from(byte == b'.' || byte == 0) << i;
    }
    masks
}

/// Notes whether content that was counted (BDAT) could be sent as DATA: it must not hold any [`Refusal`].
#[derive(Clone, Debug)]
pub struct LineEndScan {
    at: At,
    found: Option<Refusal>,
}

impl LineEndScan {
    /// At the start of a mail's content.
    pub fn new() -> Self {
        Self { at: At::LineStart, found: None }
    }

    /// The next bytes of the content.
    pub fn push(&mut self, mut chunk: &[u8]) {
        while self.found.is_none() {
            let (used, stop) = plain_run(chunk, &mut self.at);
            chunk = chunk.get(used..).unwrap_or_default();
            match stop {
                Stop::Input => return,
                // Stuffing takes care of a dot.
                Stop::Dot => self.at = At::Within,
                Stop::BareCr => self.found = Some(Refusal::BareCr),
                Stop::BareLf => self.found = Some(Refusal::BareLf),
                Stop::Nul => self.found = Some(Refusal::NulAtLineStart),
            }
        }
    }

    /// The first thing found so far.
    pub fn found(&self) -> Option<Refusal> {
        self.found
    }

    /// The content has ended: a CR at its very end is a bare one.
    pub fn finish(&self) -> Option<Refusal> {
        let last = (self.at == At::AfterCr).then_some(Refusal::BareCr);
        self.found.or(last)
    }
}

impl Default for LineEndScan {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(content: &[u8]) -> Option<Refusal> {
        let mut scan = LineEndScan::new();
        scan.push(content);
        scan.finish()
    }

    #[test]
    fn first_offence_is_named() {
        let cases: &[(&[u8], Option<Refusal>)] = &[
            (b"", None),
            (b"abc", None),
            (b"abc\r\n.\r\n..\r\n", None),
            (b"abc\n", Some(Refusal::BareLf)),
            (b"abc\r", Some(Refusal::BareCr)),
            (b"abc\rd\n", Some(Refusal::BareCr)),
            (b"a\r\r\n", Some(Refusal::BareCr)),
            (b"a\n\r", Some(Refusal::BareLf)),
            (b"\0", Some(Refusal::NulAtLineStart)),
            (b"a\0b\r\n.\0", None),
            (b"a\r\n\0.\r\n", Some(Refusal::NulAtLineStart)),
        ];
        for (content, expected) in cases {
            assert_eq!(scan(content), *expected, "{content:?}");
        }
    }

    #[test]
    fn offence_is_seen_wherever_it_stands() {
        for length in [63, 64, 65, 127, 128, 200] {
            for position in 0..length {
                let mut content = vec![b'x'; length];
                content[position] = b'\n';
                assert_eq!(scan(&content), Some(Refusal::BareLf), "{length} {position}");
                content[position] = b'\r';
                assert_eq!(scan(&content), Some(Refusal::BareCr), "{length} {position}");
                if position + 1 < length {
                    content[position + 1] = b'\n';
                    assert_eq!(scan(&content), None, "{length} {position}");
                }
            }
        }
    }

    /// The same by the definition, a byte at a time.
    fn reference(content: &[u8]) -> (usize, Stop) {
        let mut at = At::LineStart;
        for (i, &byte) in content.iter().enumerate() {
            at = match (at, byte) {
                (At::AfterCr, b'\n') => At::LineStart,
                (At::AfterCr, _) => return (i, Stop::BareCr),
                (_, b'\n') => return (i, Stop::BareLf),
                (_, b'\r') => At::AfterCr,
                (At::LineStart, b'.') => return (i, Stop::Dot),
                (At::LineStart, 0) => return (i, Stop::Nul),
                _ => At::Within,
            };
        }
        (content.len(), Stop::Input)
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"\r\n".to_vec()),
            Just(b"\r\n.".to_vec()),
            Just(b"a".to_vec()),
            Just(vec![b'b'; 61]),
            Just(b"\r".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\0".to_vec()),
            Just(b".".to_vec()),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn blocks_agree_with_bytes(content in text()) {
            prop_assert_eq!(plain_run(&content, &mut { At::LineStart }), reference(&content));
            let whole = scan(&content);
            let mut bytewise = LineEndScan::new();
            content.iter().for_each(|b| bytewise.push(&[*b]));
            prop_assert_eq!(whole, bytewise.finish());
            for cut in 0..=content.len() {
                let mut two = LineEndScan::new();
                two.push(&content[..cut]);
                two.push(&content[cut..]);
                prop_assert_eq!(whole, two.finish());
            }
        }

        #[test]
        fn masks_agree_with_the_portable_ones(block in prop::array::uniform32(prop::sample::select(&b"\r\n.\0ab"[..]))) {
            let mut wide = [b'x'; BLOCK_BYTES];
            wide[..32].copy_from_slice(&block);
            wide[33..63].copy_from_slice(&block[..30]);
            let (a, b) = (masks(&wide), masks_portable(&wide));
            prop_assert_eq!((a.cr, a.lf, a.mark), (b.cr, b.lf, b.mark));
        }
    }
}
