//! Formats whose directory stands at the end or anywhere: [`HeldDecoder`]. Rule: it holds what it is granted, and says so where that is not all.

use crate::decoder::{Decoder, Event, More, Step};
use lockgate_model::{Held, Pool};
use std::sync::Arc;

/// A format that is read when all of it is there.
pub trait Whole: Send {
    /// The next thing that it says: anything but [`Event::NeedInput`], [`Event::Input`] and [`Event::Side`]. It comes to
    /// [`Event::End`] in a number of calls that the length of the whole bounds; bytes of a child go into the scratch.
    fn next(&mut self, whole: &[u8], scratch: &mut [u8]) -> Event;

    /// As [`Decoder::nanos_per_kib`], of output.
    fn nanos_per_kib(&self) -> u32;

    /// As [`Decoder::worked_nanos`].
    fn worked_nanos(&self) -> u64 {
        0
    }
}

/// Holds a part and has it read at its end.
pub struct HeldDecoder<W> {
    format: W,
    held: Held,
    expect: Expect,
}

/// The next thing of the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Bytes,
    Reading,
    Nothing,
}

impl<W: Whole> HeldDecoder<W> {
    /// Holds nothing yet.
    pub fn new(pool: &Arc<Pool>, format: W) -> Self {
        Self { format, held: Held::new(pool), expect: Expect::Bytes }
    }

    fn let_go(&mut self) {
        self.expect = Expect::Nothing;
        self.held.clear();
    }
}

impl<W: Whole> Decoder for HeldDecoder<W> {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if self.expect == Expect::Bytes {
            if let Err(reason) = self.held.push(input) {
                self.let_go();
                return Step::new(input.len(), Event::Incomplete(reason));
            }
            if more == More::Follows {
                return Step::new(input.len(), Event::NeedInput);
            }
            self.expect = Expect::Reading;
            return Step::new(input.len(), Event::Working);
        }
        let event = match self.expect {
            Expect::Reading => self.format.next(self.held.bytes(), scratch),
            _ => Event::End,
        };
        if event == Event::End {
            self.let_go();
        }
        Step::new(0, event)
    }

    fn nanos_per_kib(&self) -> u32 {
        self.format.nanos_per_kib()
    }

    fn worked_nanos(&self) -> u64 {
        if self.expect == Expect::Reading { self.format.worked_nanos() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::Entry;
    use crate::trace::{Said, assert_cut_invariant, trace};
    use lockgate_model::Reason;

    /// A format whose last byte says where its one child begins.
    #[derive(Default)]
    struct Toy(u8);

    impl Whole for Toy {
        fn next(&mut self, whole: &[u8], scratch: &mut [u8]) -> Event {
            self.0 += 1;
            let child = whole.last().and_then(|at| whole.get(usize::from(*at)..)).unwrap_or_default();
            match self.0 {
                1 => Event::Open(Box::new(Entry { label: "child".into(), ..Entry::default() })),
                2 => {
                    let given = child.len().min(scratch.len());
                    scratch[..given].copy_from_slice(&child[..given]);
                    Event::Output(given)
                }
                3 => Event::Close,
                _ => Event::End,
            }
        }

        fn nanos_per_kib(&self) -> u32 {
            0
        }
    }

    #[test]
    fn a_whole_is_read_at_its_end() {
        let pool = Pool::new(1 << 20);
        let open = || Box::new(HeldDecoder::new(&pool, Toy::default())) as Box<dyn Decoder>;
        let said = assert_cut_invariant(&open, b"head and tail\x05");
        let entry = Entry { label: "child".into(), ..Entry::default() };
        assert_eq!(said, [Said::Open(entry), Said::Bytes(b"and tail\x05".to_vec()), Said::Close, Said::End]);
        assert_eq!(pool.bytes_taken(), 0);
    }

    #[test]
    fn what_may_not_be_held_is_said_to_be_incomplete() {
        let pool = Pool::new(100_000);
        let long = vec![0; 60_000];
        let mut decoder = HeldDecoder::new(&pool, Toy::default());
        let said = trace(&mut decoder, [&long[..], &long[..]]);
        assert_eq!(said, [Said::Incomplete(Reason::Budget), Said::End]);
        assert_eq!(pool.bytes_taken(), 0);
        let said = trace(&mut HeldDecoder::new(&pool, Toy::default()), [&long[..], &long[..39_999]]);
        assert_eq!(said.last(), Some(&Said::End));
        assert!(matches!(said[0], Said::Open(_)), "what is granted is enough, to the last byte");
    }
}
