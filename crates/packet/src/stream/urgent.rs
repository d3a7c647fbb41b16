//! Bytes that are sent as urgent (RFC 9293 section 3.8.5, RFC 6093): [`Apart`]. Rule: what the receiver does not read in the stream is
//! not told there.

use super::reassembly::Output;

/// How many such bytes of one side may wait for their place; of more, the next are read where they stand.
pub(super) const URGENT_MAX: usize = 64;

/// Where a byte is read that is sent as urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Urgent {
    /// By itself, and not in the stream: so sockets do it.
    #[default]
    Apart,
    /// In the stream, as by receivers that ask for it there (`SO_OOBINLINE`).
    Within,
}

/// The bytes of one side that are read apart.
#[derive(Debug, Default)]
pub(super) struct Apart {
    /// Where those stand that have not been met yet, in their order, counted with those before them.
    offsets: Vec<u64>,
    /// How many have been met.
    met: u64,
}

impl Apart {
    /// One more, at this offset of what the side sends. `false` where there is no room.
    pub(super) fn add(&mut self, offset: u64) -> bool {
        let Err(place) = self.offsets.binary_search(&offset) else { return true };
        if self.offsets.len() >= URGENT_MAX {
            return false;
        }
        self.offsets.insert(place, offset);
        true
    }

    /// Hands on what comes out, without these bytes and as if they had not been sent.
    pub(super) fn pass<'o>(&mut self, output: Output<'o>, out: &mut impl FnMut(Output<'o>)) {
        match output {
            Output::Data(offset, bytes) => self.pass_data(offset, bytes, out),
            Output::Gap(offset, bytes) => {
                let end = offset.saturating_add(bytes);
                self.offsets.retain(|its| *its >= end);
                out(Output::Gap(offset - self.met, bytes));
            }
            Output::End | Output::Depth => out(output),
        }
    }

    fn pass_data<'o>(&mut self, offset: u64, bytes: &'o [u8], out: &mut impl FnMut(Output<'o>)) {
        let end = offset + bytes.len() as u64;
        let here = self.offsets.partition_point(|its| *its < end);
        let mut from = offset;
        let mut piece = |from: u64, to: u64, met: u64| {
            let within = bytes.get((from - offset) as usize..(to - offset) as usize).unwrap_or_default();
            if !within.is_empty() {
                out(Output::Data(from - met, within));
            }
        };
        for at in self.offsets.drain(..here).filter(|at| *at >= offset) {
            piece(from, at, self.met);
            self.met += 1;
            from = at + 1;
        }
        piece(from, end, self.met);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(apart: &mut Apart, output: Output<'_>) -> Vec<String> {
        let mut all = Vec::new();
        apart.pass(output, &mut |output| all.push(format!("{output:?}")));
        all
    }

    #[test]
    fn bytes_are_left_out_and_counted_no_more() {
        let mut apart = Apart::default();
        for offset in [3, 0, 3, 7] {
            assert!(apart.add(offset));
        }
        assert_eq!(
            passed(&mut apart, Output::Data(0, b"XabXcd")),
            ["Data(0, [97, 98])", "Data(2, [99, 100])"]
        );
        assert_eq!(passed(&mut apart, Output::Gap(6, 2)), ["Gap(4, 2)"]);
        assert_eq!(passed(&mut apart, Output::Data(8, b"e")), ["Data(6, [101])"]);
        assert!((0..URGENT_MAX as u64).all(|at| apart.add(100 + at)) && !apart.add(1000));
    }
}
