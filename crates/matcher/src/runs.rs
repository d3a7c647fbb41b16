//! Search for one byte again and again. Rule: finds every occurrence of such windows; it never verifies.
//!
//! Zeros stand everywhere in programs, so a table would hit at every tenth byte for one such window. All runs of a byte are
//! found in one pass, 64 places at a time, and in none any more once their matches change nothing. A segment that is nothing
//! but such a run matches where the run does.

use crate::look::{PLACES, places_of};
use crate::view::View;

/// The longest run that is looked for: so many bytes before a chunk are kept.
pub(crate) const RUN_LENGTH_MAX: usize = 255;
/// How many windows of a byte can be left out.
const KNOWN_MAX: usize = 64;

/// The runs of one byte that are looked for.
#[derive(Debug)]
pub(crate) struct Runs {
    byte: u8,
    /// By the segment.
    windows: Vec<RunWindow>,
}

/// A run of some length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunWindow {
    pub segment: u32,
    pub length: u32,
    pub part: RunPart,
}

/// How much of a segment a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunPart {
    /// All of it.
    Whole,
    /// Its window.
    Window,
}

impl Runs {
    /// No window yet.
    pub fn new(byte: u8) -> Self {
        Runs { byte, windows: Vec::new() }
    }

    pub fn byte(&self) -> u8 {
        self.byte
    }

    /// Adds a window; segments come in order.
    pub fn add(&mut self, window: RunWindow) {
        self.windows.push(window);
    }

    /// How many windows there are.
    pub fn count(&self) -> usize {
        self.windows.len()
    }

    pub fn heap_bytes(&self) -> usize {
        self.windows.capacity() * size_of::<RunWindow>()
    }

    /// Which windows are looked for: a bit for each, but for those beyond, which always are.
    pub fn wanted(&self, is_wanted: impl Fn(u32) -> bool) -> u64 {
        let windows = self.windows.iter().take(KNOWN_MAX).enumerate();
        windows.filter(|(_, window)| is_wanted(window.segment)).fold(0, |wanted, (at, _)| wanted | 1 << at)
    }

    /// Each place behind a wanted window whose last byte has come with the chunk, in order.
    pub fn search(&self, view: &View<'_>, wanted: u64, found: &mut dyn FnMut(RunWindow, u64)) {
        let is_wanted = |at: &usize| *at >= KNOWN_MAX || wanted >> at & 1 == 1;
        let of_wanted = self.windows.iter().enumerate().filter(|(at, _)| is_wanted(at));
        let Some(shortest) = of_wanted.map(|(_, window)| window.length as usize).min() else { return };
        let start = view.chunk_start();
        let is_in_run = |back: &usize| {
            start.checked_sub(*back as u64).and_then(|at| view.byte(at)).is_some_and(|byte| byte == self.byte)
        };
        // How long the run is that ends where the block begins.
        let mut length = (1..RUN_LENGTH_MAX).take_while(is_in_run).count();
        // The latest byte is the highest bit.
        let mut before = !u64::MAX.checked_shr(length as u32).unwrap_or(0);
        let (blocks, rest) = view.chunk().as_chunks::<PLACES>();
        let mut last = [!self.byte; PLACES];
        last[..rest.len()].copy_from_slice(rest);
        let mut number = 0;
        while number <= blocks.len() {
            let (block, base) = (blocks.get(number).unwrap_or(&last), start + 1 + (number * PLACES) as u64);
            let here = places_of(self.byte, block);
            number += 1;
            if before == 0 && here == 0 {
                // Where the byte is rare the next one is found faster than that there is none here.
                let rest = view.chunk().get(number * PLACES..).unwrap_or_default();
                number += memchr::memchr(self.byte, rest).unwrap_or(rest.len()) / PLACES;
                length = 0;
                continue;
            }
            let mut ends = ends(before, here, shortest);
            while ends != 0 {
                let end = ends.trailing_zeros();
                let others = !here & ((1 << end) - 1);
                let here_length = match others.checked_ilog2() {
                    Some(other) => (end - other) as usize,
                    None => length + end as usize + 1,
                };
                for (at, window) in self.windows.iter().enumerate() {
                    if window.length as usize <= here_length && is_wanted(&at) {
                        found(*window, base + u64::from(end));
                    }
                }
                ends &= ends - 1;
            }
            length = if here == u64::MAX { length + PLACES } else { here.leading_ones() as usize };
            before = here;
        }
    }
}

/// Where so many of the byte end (or 64 of it, if it is more), of the places that have it, and those before.
fn ends(before: u64, here: u64, length: usize) -> u64 {
    let mut ends = u128::from(here) << PLACES | u128::from(before);
    let (mut known, length) = (1, length.min(PLACES));
    while known < length && ends >> PLACES != 0 {
        let more = known.min(length - known);
        ends &= ends << more;
        known += more;
    }
    (ends >> PLACES) as u64
}

lockgate_stored::stored!(enum RunPart { 0 => Whole, 1 => Window });
lockgate_stored::stored!(struct RunWindow { segment, length, part });
lockgate_stored::stored!(struct Runs { byte, windows }, sound);

impl Runs {
    fn is_sound(&self) -> bool {
        let is_short = |window: &RunWindow| (1..=RUN_LENGTH_MAX).contains(&(window.length as usize));
        self.windows.iter().all(is_short)
    }

    /// Whether each segment is one of the first so many.
    pub fn is_below(&self, segments: usize) -> bool {
        self.windows.iter().all(|window| (window.segment as usize) < segments)
    }
}
