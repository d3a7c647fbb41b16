//! A document that may be something else as well: [`Exposed`]. Rule: one reading first, then the other, and neither in place of the other.

use crate::archive::disguise::{DisguiseDecoder, Guise};
use crate::decoder::{Decoder, Event, More, SCRATCH_BYTES_MIN, Step};
use lockgate_model::Pool;
use std::collections::VecDeque;
use std::sync::Arc;

/// Reads a document, and looks for what may be hidden around it: a zip behind, a disc within.
pub struct Exposed<D> {
    document: D,
    disguise: DisguiseDecoder,
    /// What the second look has said meanwhile: it is about the part, not about a child that happens to be open.
    said: VecDeque<Event>,
    has_ended: bool,
}

impl<D: Decoder> Exposed<D> {
    /// Awaits the first byte.
    pub fn new(pool: &Arc<Pool>, document: D) -> Self {
        let disguise = DisguiseDecoder::new(pool, Guise::Document);
        Self { document, disguise, said: VecDeque::new(), has_ended: false }
    }

    /// The second look at bytes that the document's decoder has used.
    fn look(&mut self, mut input: &[u8]) {
        // The caller's scratch holds what the document's decoder gives.
        let mut spare = [0; SCRATCH_BYTES_MIN];
        while !input.is_empty() {
            let step = self.disguise.step(input, More::Follows, &mut spare);
            input = input.get(step.consumed..).unwrap_or_default();
            match step.event {
                Event::NeedInput | Event::End => return,
                Event::Working => {}
                other => self.said.push_back(other),
            }
        }
    }
}

impl<D: Decoder> Decoder for Exposed<D> {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if !self.has_ended {
            let step = self.document.step(input, more, scratch);
            self.look(input.get(..step.consumed).unwrap_or(input));
            if step.event != Event::End {
                return step;
            }
            self.has_ended = true;
            return Step::new(step.consumed, Event::Working);
        }
        if !input.is_empty() {
            self.look(input);
            return Step::new(input.len(), Event::Working);
        }
        if let Some(event) = self.said.pop_front() {
            return Step::new(0, event);
        }
        if more == More::Follows {
            return Step::new(0, Event::NeedInput);
        }
        self.disguise.step(&[], More::Ended, scratch)
    }

    fn nanos_per_kib(&self) -> u32 {
        self.document.nanos_per_kib() + self.disguise.nanos_per_kib()
    }

    fn worked_nanos(&self) -> u64 {
        if self.has_ended { self.disguise.worked_nanos() } else { self.document.worked_nanos() }
    }
}
