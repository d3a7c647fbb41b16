//! Search for windows of one byte again and again. Rule: finds every occurrence of them; it never verifies.
//!
//! Zeros stand everywhere in programs, so a table would hit at every tenth byte for one such window. By themselves they
//! cost a pass, and no pass any more once their matches change nothing.

use crate::blocks::Candidate;
use crate::fragment::Window;
use crate::view::View;

/// One such window.
#[derive(Debug)]
pub(crate) struct Run {
    pub segment: u32,
    byte: u8,
    length: usize,
}

impl Run {
    /// `None` for a window of several bytes.
    pub fn of(segment: u32, window: &Window) -> Option<Self> {
        let first = window.cells.first().filter(|cell| cell.mask == 0xff)?;
        let is_run = window.cells.iter().all(|cell| cell == first);
        is_run.then_some(Self { segment, byte: first.value, length: window.cells.len() })
    }

    /// Each place of the window whose last byte has come with the chunk, in order.
    pub fn search(&self, view: &View<'_>, found: &mut dyn FnMut(Candidate)) {
        let start = view.chunk_start();
        let is_in_run = |back: &usize| {
            start.checked_sub(*back as u64).and_then(|at| view.byte(at)).is_some_and(|byte| byte == self.byte)
        };
        let mut length = (1..self.length).take_while(is_in_run).count();
        for (end, byte) in (start + 1..).zip(view.chunk()) {
            length = if *byte == self.byte { length + 1 } else { 0 };
            if length >= self.length {
                found(Candidate { segment: self.segment, window: end - self.length as u64 });
            }
        }
    }
}

lockgate_stored::stored!(struct Run { segment, byte, length });

impl Run {
    /// Whether its segment is one of the first so many.
    pub fn is_below(&self, segments: usize) -> bool {
        (self.segment as usize) < segments
    }
}
