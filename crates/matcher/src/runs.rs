//! Search for windows of one byte again and again. Rule: finds every occurrence of them; it never verifies.
//!
//! Zeros stand everywhere in programs, so a table would hit at every tenth byte for one such window. By themselves they
//! cost a pass, and no pass any more once their matches change nothing.

use crate::blocks::Candidate;
use crate::fragment::Window;
use crate::look::{PLACES, places_of};
use crate::view::View;

/// One such window.
#[derive(Debug)]
pub(crate) struct Run {
    pub segment: u32,
    byte: u8,
    length: usize,
}

impl Run {
    /// `None` for a window of several bytes, or of too many.
    pub fn of(segment: u32, window: &Window) -> Option<Self> {
        let first = window.cells.first().filter(|cell| cell.mask == 0xff)?;
        let is_run = window.cells.iter().all(|cell| cell == first);
        (is_run && window.cells.len() < PLACES).then_some(Self {
            segment,
            byte: first.value,
            length: window.cells.len(),
        })
    }

    /// Each place of the window whose last byte has come with the chunk, in order.
    pub fn search(&self, view: &View<'_>, found: &mut dyn FnMut(Candidate)) {
        let start = view.chunk_start();
        let is_in_run = |back: &usize| {
            start.checked_sub(*back as u64).and_then(|at| view.byte(at)).is_some_and(|byte| byte == self.byte)
        };
        let length_before = (1..self.length).take_while(is_in_run).count();
        // The latest byte is the highest bit.
        let mut before = !(u64::MAX >> length_before);
        let (blocks, rest) = view.chunk().as_chunks::<PLACES>();
        let mut last = [!self.byte; PLACES];
        last[..rest.len()].copy_from_slice(rest);
        for (block, base) in blocks.iter().chain([&last]).zip((start + 1..).step_by(PLACES)) {
            let here = places_of(self.byte, block);
            let mut ends = self.ends(before, here);
            while ends != 0 {
                let end = base + u64::from(ends.trailing_zeros());
                found(Candidate { segment: self.segment, window: end - self.length as u64 });
                ends &= ends - 1;
            }
            before = here;
        }
    }

    /// Where so many of the byte end, of the places that have it, and those before.
    fn ends(&self, before: u64, here: u64) -> u64 {
        let mut ends = u128::from(here) << PLACES | u128::from(before);
        let mut length = 1;
        while length < self.length {
            let more = length.min(self.length - length);
            ends &= ends << more;
            length += more;
        }
        (ends >> PLACES) as u64
    }
}

lockgate_stored::stored!(struct Run { segment, byte, length }, sound);

impl Run {
    fn is_sound(&self) -> bool {
        (1..PLACES).contains(&self.length)
    }

    /// Whether its segment is one of the first so many.
    pub fn is_below(&self, segments: usize) -> bool {
        (self.segment as usize) < segments
    }
}
