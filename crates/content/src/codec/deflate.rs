//! The content coding `deflate` (RFC 9110 section 8.4.1.2). Rule: what browsers read; what two of them read in two ways is
//! damaged.
//!
//! It should be within zlib's wrapping (RFC 1950), and some servers have always left that away. The first two bytes say
//! which it is, as browsers and curl have it.

use super::inflate::{self, Inflater, Wrapping};
use super::stream::{StreamDecoder, Undo};
use super::{Outcome, Run};
use crate::decoder::More;
use lockgate_model::Reason;

/// What is looked at before anything is inflated: zlib's header and three bytes more.
const HEAD_BYTES: usize = 5;

/// A stream on its way.
#[derive(Default)]
pub struct Deflate {
    head: Vec<u8>,
    head_used: usize,
    inflater: Option<Inflater>,
    has_ended: bool,
}

/// Awaits a stream.
pub fn decoder() -> StreamDecoder<Deflate> {
    StreamDecoder::new(Box::new(Deflate::default))
}

impl Deflate {
    /// Collects the head until it says what the stream is.
    fn begin(&mut self, input: &[u8], more: More) -> Run {
        let used = input.len().min(HEAD_BYTES - self.head.len());
        self.head.extend_from_slice(&input[..used]);
        let run = |outcome| Run { used, made: 0, outcome };
        if self.head.len() < HEAD_BYTES && more == More::Follows {
            return run(Outcome::Going);
        }
        if is_two_things(&self.head) {
            return run(Outcome::Failed(Reason::Damaged));
        }
        let wrapping = if has_zlib_header(&self.head) { Wrapping::Zlib } else { Wrapping::Raw };
        self.inflater = Some(Inflater::new(wrapping));
        run(Outcome::Going)
    }
}

impl Undo for Deflate {
    const BEHIND: &'static str = "bytes behind the end of a deflate stream";

    fn run(&mut self, input: &[u8], more: More, output: &mut [u8]) -> Run {
        let Some(inflater) = &mut self.inflater else { return self.begin(input, more) };
        let is_in_head = self.head_used < self.head.len();
        let mut run = inflater.run(if is_in_head { &self.head[self.head_used..] } else { input }, output);
        if is_in_head {
            self.head_used += run.used;
            run.used = 0;
        }
        self.has_ended = run.outcome == Outcome::Ended;
        run
    }

    fn owes(&self, more: More) -> bool {
        match &self.inflater {
            None => more == More::Ended && !self.head.is_empty(),
            Some(inflater) => self.head_used < self.head.len() || inflater.owes(),
        }
    }

    fn has_rest(&self) -> bool {
        self.has_ended && self.head_used < self.head.len()
    }

    fn nanos_per_kib(&self) -> u32 {
        inflate::NANOS_PER_KIB
    }
}

/// Whether it begins with zlib's header (RFC 1950 section 2.2): deflate, a window that there is, and the check.
fn has_zlib_header(head: &[u8]) -> bool {
    let [method, flags, ..] = *head else { return false };
    method & 0x0f == 8 && method >> 4 <= 7 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
}

/// Whether it goes on behind zlib's header as a raw stream would: to some old clients, which read no other, such a header
/// begins a stored block (RFC 1951 section 3.2.4), and they would read something else than what is read here. One wrapped
/// stream in 65,536 does so by chance.
fn is_two_things(head: &[u8]) -> bool {
    let [_, low, high, not_low, not_high] = *head else { return false };
    has_zlib_header(head) && low == !not_low && high == !not_high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::{Decoder, Entry};
    use crate::samples::{
        LONG, assert_flips_told, assert_truncation_told, children, complains, deflate, noise, prose, zlib,
    };
    use crate::trace::{Said, assert_cut_invariant};

    fn open() -> Box<dyn Decoder> {
        Box::new(decoder())
    }

    fn child(content: &[u8]) -> Vec<Said> {
        let bytes = (!content.is_empty()).then(|| Said::Bytes(content.to_vec()));
        let open = Said::Open(Entry { label: "1".into(), ..Entry::default() });
        [open].into_iter().chain(bytes).chain([Said::Close, Said::End]).collect()
    }

    #[test]
    fn wrapped_and_raw() {
        for content in [vec![], b"a".to_vec(), prose(1, LONG), noise(2, LONG), vec![0; LONG]] {
            for stream in [zlib(&content), deflate(&content)] {
                assert_eq!(assert_cut_invariant(&open, &stream), child(&content));
            }
        }
    }

    #[test]
    fn bytes_behind_the_end_are_told() {
        for stream in [zlib(b"one"), deflate(b"one"), deflate(b""), zlib(&prose(3, LONG))] {
            for garbage in [&b"x"[..], b"\0\0", b"more than a head"] {
                let said = assert_cut_invariant(&open, &[&stream, garbage].concat());
                assert!(matches!(said[..], [.., Said::Close, Said::Anomaly(_), Said::End]), "{said:?}");
            }
        }
    }

    #[test]
    fn what_two_readers_read_in_two_ways_is_damaged() {
        // A stored block of 0x019c bytes for one, an empty last stored block's beginning for the other.
        let said = assert_cut_invariant(&open, b"\x78\x9c\x01\x63\xfe and more");
        assert!(complains(&said) && children(&said)[0].1.is_empty(), "{said:?}");
        let said = assert_cut_invariant(&open, b"\x78\x9c\x01\x63\xfd");
        assert!(complains(&said), "{said:?}");
    }

    #[test]
    fn nothing_is_damaged_or_cut_short_without_a_word() {
        let (wrapped, raw) = (zlib(&prose(4, 3000)), deflate(&prose(4, 3000)));
        assert_truncation_told(&open, &wrapped, wrapped.len());
        assert_truncation_told(&open, &raw, raw.len());
        assert_flips_told(&open, &wrapped);
        for needs_a_dictionary in [&b"\x78\xbb\0\0\0\0\0"[..], b"\x78\xf9"] {
            assert!(complains(&assert_cut_invariant(&open, needs_a_dictionary)));
        }
    }
}
