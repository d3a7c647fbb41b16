//! A document that may be something else as well: [`Exposed`]. Rule: one reading first, then the other, and neither in place of the other.

use super::html::strings;
use super::within::MailWithin;
use crate::archive::carrier::CarrierDecoder;
use crate::archive::disguise::{DisguiseDecoder, Guise};
use crate::decoder::{Decoder, Event, More, SCRATCH_BYTES_MIN, Step};
use lockgate_model::{Grant, Held, Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// What keeping an event of the second look costs.
const EVENT_BYTES: u64 = 160;
/// Events that are kept where there is no more room.
const KEPT_MAX: usize = 16;

/// Reads a document, and looks for what may be hidden in or around it: a zip behind, an archive within.
pub struct Exposed<D> {
    document: D,
    other: Box<dyn Decoder>,
    /// What the second look has said meanwhile: it is about the part, not about a child that happens to be open.
    said: VecDeque<Said>,
    /// The bytes that it has found, and how many of them are given.
    held: Held,
    given: usize,
    grant: Grant,
    keeping: Keeping,
    has_ended: bool,
}

enum Said {
    Event(Event),
    /// So many bytes of what is held.
    Bytes(usize),
}

/// Whether what the second look finds is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeping {
    All,
    /// It was more than there is room for.
    Nothing,
}

impl<D: Decoder> Exposed<D> {
    /// A document whose own decoder gives what stands within it: what it ends with is looked for.
    pub fn new(pool: &Arc<Pool>, document: D) -> Self {
        Self::with(pool, document, DisguiseDecoder::new(pool, Guise::Document))
    }

    /// What seems to be that, and may carry archives anywhere.
    pub fn carrying(pool: &Arc<Pool>, guise: Guise, document: D) -> Self {
        Self::with(pool, document, CarrierDecoder::new(pool, guise))
    }

    /// What a mail reader, or a word processor, may take for a stored page from some line on.
    pub fn mailing(pool: &Arc<Pool>, document: D) -> Self {
        Self::with(pool, document, MailWithin::default())
    }

    /// Text, which may be a script that carries a file in a string.
    pub fn telling(pool: &Arc<Pool>, document: D) -> Self {
        Self::with(pool, document, strings::decoder())
    }

    fn with(pool: &Arc<Pool>, document: D, other: impl Decoder + 'static) -> Self {
        let (said, held) = (VecDeque::new(), Held::new(pool));
        let (keeping, has_ended) = (Keeping::All, false);
        Self {
            document,
            other: Box::new(other),
            said,
            held,
            given: 0,
            grant: pool.grant(),
            keeping,
            has_ended,
        }
    }

    /// The second look at bytes that the document's decoder has used.
    fn look(&mut self, mut input: &[u8]) {
        if self.keeping == Keeping::Nothing {
            return;
        }
        // The caller's scratch holds what the document's decoder gives.
        let mut spare = [0; SCRATCH_BYTES_MIN];
        while !input.is_empty() {
            let step = self.other.step(input, More::Follows, &mut spare);
            let used = input.get(..step.consumed).unwrap_or(input);
            input = input.get(step.consumed..).unwrap_or_default();
            let kept = match step.event {
                Event::NeedInput | Event::End => return,
                Event::Working => Ok(()),
                Event::Input(range) => self.keep(used.get(range).unwrap_or_default()),
                Event::Output(length) => self.keep(spare.get(..length).unwrap_or_default()),
                event => self.note(event),
            };
            if let Err(reason) = kept {
                return self.lose(reason);
            }
        }
    }

    fn note(&mut self, event: Event) -> Result<(), Reason> {
        self.grant.grow(EVENT_BYTES)?;
        self.said.push_back(Said::Event(event));
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Reason> {
        self.held.push(bytes)?;
        match self.said.back_mut() {
            Some(Said::Bytes(length)) => *length += bytes.len(),
            _ => self.said.push_back(Said::Bytes(bytes.len())),
        }
        Ok(())
    }

    /// What was found is not kept: that it was there is said.
    fn lose(&mut self, reason: Reason) {
        self.held.clear();
        self.grant.clear();
        // A few, for they are no longer paid for.
        self.said.truncate(KEPT_MAX);
        self.said.retain(|said| matches!(said, Said::Event(Event::Anomaly(_) | Event::Incomplete(_))));
        self.said.push_back(Said::Event(Event::Incomplete(reason)));
        self.keeping = Keeping::Nothing;
    }

    /// The next thing that the second look has said.
    fn replay(&mut self, scratch: &mut [u8]) -> Option<Event> {
        let length = match self.said.pop_front()? {
            Said::Event(event) => return Some(event),
            Said::Bytes(length) => length,
        };
        let now = length.min(scratch.len());
        if let Some(bytes) = self.held.bytes().get(self.given..self.given + now) {
            scratch[..now].copy_from_slice(bytes);
        }
        self.given += now;
        if now < length {
            self.said.push_front(Said::Bytes(length - now));
        }
        Some(Event::Output(now))
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
        if more == More::Follows {
            return Step::new(0, Event::NeedInput);
        }
        if let Some(event) = self.replay(scratch) {
            return Step::new(0, event);
        }
        if self.keeping == Keeping::Nothing {
            return Step::new(0, Event::End);
        }
        self.other.step(&[], More::Ended, scratch)
    }

    fn nanos_per_kib(&self) -> u32 {
        self.document.nanos_per_kib() + self.other.nanos_per_kib()
    }

    fn worked_nanos(&self) -> u64 {
        if self.has_ended { self.other.worked_nanos() } else { self.document.worked_nanos() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{html, pdf};
    use crate::samples::{children, complains, noise, prose};
    use crate::trace::{assert_cut_invariant, trace};

    const RAR: &[u8] = b"Rar!\x1a\x07\0\x12\x34\x73\0\0\x0d\0\0\0\0\0\0\0 and files";

    fn open(pool: &Arc<Pool>) -> Box<dyn Decoder> {
        Box::new(Exposed::mailing(pool, Exposed::carrying(pool, Guise::Document, pdf::decoder())))
    }

    fn pdf(behind: &[u8]) -> Vec<u8> {
        [b"%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\n", &prose(1, 300)[..], b"\n%%EOF\n", behind].concat()
    }

    #[test]
    fn archives_within_a_document_are_children() {
        let pool = Pool::new(1 << 20);
        let archive = [RAR, &noise(1, 9000)].concat();
        let said = assert_cut_invariant(&|| open(&pool), &pdf(&archive));
        assert_eq!(children(&said), [("1".to_owned(), archive.clone())]);
        assert!(
            !complains(&said)
                && said.contains(&crate::trace::Said::Anomaly("an archive within something else"))
        );
        let said = trace(&mut *open(&Pool::new(20_000)), [&pdf(&[RAR, &noise(1, 90_000)].concat())[..]]);
        assert!(said.contains(&crate::trace::Said::Incomplete(Reason::Budget)) && children(&said).is_empty());
        let said = assert_cut_invariant(&|| open(&pool), &pdf(b"nothing"));
        assert!(children(&said).is_empty() && !complains(&said));
        assert_eq!(pool.bytes_taken(), 0);
    }

    #[test]
    fn so_are_those_behind_a_script() {
        let pool = Pool::new(1 << 20);
        let open = || Box::new(Exposed::carrying(&pool, Guise::Program, html::decoder())) as Box<dyn Decoder>;
        let said = assert_cut_invariant(&open, &[b"#!/bin/sh\nunpack $0; exit\n", RAR].concat());
        assert_eq!(children(&said), [("1".to_owned(), RAR.to_vec())]);
        assert!(said.len() == 4, "a program may unpack what stands behind it: {said:?}");
    }

    #[test]
    fn a_stored_page_within_a_document_is_a_child() {
        let pool = Pool::new(1 << 20);
        let page =
            [b"mime-version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n", &prose(2, 900)[..]]
                .concat();
        let said = assert_cut_invariant(&|| open(&pool), &pdf(&page));
        assert_eq!(children(&said), [("mail".to_owned(), page.clone())]);
        let said = assert_cut_invariant(&|| open(&pool), &pdf(b"a mime-version: 1.0"));
        assert!(children(&said).is_empty());
    }

    #[test]
    fn more_than_is_kept_is_said() {
        let many = RAR[..16].repeat(3);
        let pool = Pool::new(1 << 20);
        let said = trace(&mut *open(&pool), [&pdf(&many)[..]]);
        assert_eq!(children(&said).len(), 1, "what has no length goes on to the end");
        let mut cab =
            [&b"MSCF\0\0\0\0\x2c\0\0\0\0\0\0\0\x2b\0\0\0\0\0\0\0\x03\x01\x01\0\x01\0"[..], &[0; 14]].concat();
        cab = cab.repeat(200);
        assert_eq!(children(&trace(&mut *open(&pool), [&pdf(&cab)[..]])).len(), 200);
        let said = trace(&mut *open(&Pool::new(60_000)), [&pdf(&cab)[..]]);
        assert!(said.contains(&crate::trace::Said::Incomplete(Reason::Budget)), "{said:?}");
    }
}
