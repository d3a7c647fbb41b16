//! Lines in mail content, many bytes at a time. Rule: a line ends with CR LF and with nothing else.
//!
//! A bare LF ends a line for some servers and not for others, and so does a bare CR or a NUL that is stripped further
//! on: that is how one mail becomes two (SMTP smuggling). [`LineEndScan`] proves that content has none of them.

/// Bytes looked at in one go.
const BLOCK_BYTES: usize = 128;
/// The same where a whole block is not clean, or not there.
const SMALL_BLOCK_BYTES: usize = 16;

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

/// How many bytes at the start of the input need no thought, and why they end.
///
/// Whether a byte gives offence depends on it and on the one before it only, so blocks are compared with themselves
/// shifted by one, without a branch for each byte.
pub(crate) fn plain_run(input: &[u8], at: &mut At) -> (usize, Stop) {
    let Some((&first, curs)) = input.split_first() else { return (0, Stop::Input) };
    if offends(at.byte_before(), first) {
        return (0, stop_at(*at, first));
    }
    let prevs = input.get(..curs.len()).unwrap_or_default();
    let plain = 1 + clean_pairs(prevs, curs);
    *at = input.get(plain - 1).map_or(*at, |last| At::behind(*last));
    match input.get(plain) {
        None => (plain, Stop::Input),
        Some(next) => (plain, stop_at(*at, *next)),
    }
}

/// Whether a byte behind another is one of [`Stop`].
#[inline(always)]
fn offends(prev: u8, cur: u8) -> bool {
    ((cur == b'\n') ^ (prev == b'\r')) | ((prev == b'\n') & ((cur == b'.') | (cur == 0)))
}

impl At {
    /// A byte before this place, as far as it matters.
    fn byte_before(self) -> u8 {
        match self {
            Self::LineStart => b'\n',
            Self::AfterCr => b'\r',
            Self::Within => b' ',
        }
    }

    /// The place behind a byte that gave no offence: an LF then ended a line.
    fn behind(byte: u8) -> Self {
        match byte {
            b'\n' => Self::LineStart,
            b'\r' => Self::AfterCr,
            _ => Self::Within,
        }
    }
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

/// How many bytes at the start of `curs` give no offence, each behind the one of `prevs` at its place.
fn clean_pairs(prevs: &[u8], curs: &[u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just asked.
        return unsafe { clean_pairs_avx2(prevs, curs) };
    }
    clean_pairs_portable(prevs, curs)
}

/// The same code, for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn clean_pairs_avx2(prevs: &[u8], curs: &[u8]) -> usize {
    clean_pairs_portable(prevs, curs)
}

/// Whole blocks, then smaller ones, then bytes: an offence is near where the whole blocks end.
#[inline(always)]
fn clean_pairs_portable(prevs: &[u8], curs: &[u8]) -> usize {
    let mut clean = clean_blocks::<BLOCK_BYTES>(prevs, curs);
    let rest = |from: usize| (prevs.get(from..).unwrap_or_default(), curs.get(from..).unwrap_or_default());
    let (p, c) = rest(clean);
    clean += clean_blocks::<SMALL_BLOCK_BYTES>(p, c);
    let (p, c) = rest(clean);
    clean + p.iter().zip(c).take_while(|(prev, cur)| !offends(**prev, **cur)).count()
}

/// Bytes of whole blocks without offence. Written so that the compiler makes vector instructions of it.
#[inline(always)]
fn clean_blocks<const BYTES: usize>(prevs: &[u8], curs: &[u8]) -> usize {
    let pairs = prevs.as_chunks::<BYTES>().0.iter().zip(curs.as_chunks::<BYTES>().0);
    let is_clean = |prevs: &[u8; BYTES], curs: &[u8; BYTES]| {
        prevs.iter().zip(curs).fold(0, |any, (prev, cur)| any | u8::from(offends(*prev, *cur))) == 0
    };
    pairs.take_while(|(prevs, curs)| is_clean(prevs, curs)).count() * BYTES
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
        for length in [15, 16, 17, 127, 128, 129, 130, 300] {
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
    }
}
