//! Archives within other things: self-extracting programs, and discs, which say what they are behind 32 KiB of anything. Rule: a
//! place counts only if what stands there holds as a header; each byte is looked at in passing.
//!
//! ClamAV looks for the same in any file, and so do the programs that open such files: they search for the archive. What is
//! found is a child, from there to its end where its header tells one, else to the end of the part. Engines have seen the
//! whole as it is. Zip files are found from their end, by [`DisguiseDecoder`].

mod judge;
mod search;
#[cfg(test)]
mod tests;

use super::disguise::{DisguiseDecoder, Guise, Zips};
use super::iso::{self, Disc};
use crate::decoder::{Decoder, Entry, Event, More, Step};
use judge::{HEADER_BYTES_MAX, Verdict, judge};
use lockgate_model::Pool;
use search::{CARRIED_BYTES, Places};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the two looks cost, for each KiB.
const NANOS_PER_KIB: u32 = 500;
/// Where a disc has told what it is.
const DISC_KNOWN: u64 = iso::FIRST_DESCRIPTOR + iso::HEAD_BYTES as u64;

/// A part that may carry archives.
pub struct CarrierDecoder {
    pool: Arc<Pool>,
    guise: Guise,
    disguise: DisguiseDecoder,
    /// What that has said meanwhile: it is about the part, not about a child that happens to be open.
    said: VecDeque<Event>,
    pending: VecDeque<Event>,
    state: State,
    position: u64,
    disc_head: [u8; iso::HEAD_BYTES],
    /// Bytes that may begin an archive, or did.
    carried: Vec<u8>,
    found: u32,
}

enum State {
    Watching,
    /// An archive, with so many bytes if that is known.
    Child(Option<u64>),
    Disc(Box<Disc>),
    /// The part has ended; the other look may have something to say.
    Ended,
}

impl CarrierDecoder {
    /// Awaits the first byte.
    pub fn new(pool: &Arc<Pool>, guise: Guise) -> Self {
        Self {
            pool: Arc::clone(pool),
            guise,
            disguise: DisguiseDecoder::new(pool, guise),
            said: VecDeque::new(),
            pending: VecDeque::new(),
            state: State::Watching,
            position: 0,
            disc_head: [0; iso::HEAD_BYTES],
            carried: Vec::new(),
            found: 0,
        }
    }

    /// The other look at bytes that are used.
    fn look(&mut self, mut input: &[u8], zips: Zips) {
        while !input.is_empty() {
            let step = self.disguise.see(input, zips);
            input = input.get(step.consumed..).unwrap_or_default();
            if step.event != Event::Working {
                self.said.push_back(step.event);
            }
        }
    }

    /// Bytes while no child is open: up to where an archive begins, or a disc has told what it is.
    fn watch(&mut self, input: &[u8]) -> Step {
        let ahead = DISC_KNOWN.saturating_sub(self.position);
        let length = if ahead == 0 { input.len() } else { capped(ahead).min(input.len()) };
        let input = &input[..length];
        let (step, zips) = self.search(input);
        let used = &input[..step.consumed];
        self.note_disc_head(used);
        self.position += step.consumed as u64;
        if self.position == DISC_KNOWN && iso::is_disc(self.disc_head) && step.event == Event::Working {
            self.state = State::Disc(Box::new(Disc::new(&self.pool, self.disc_head)));
            self.carried = Vec::new();
            return step;
        }
        // The first byte of a record may be the last that is used.
        self.look(used, zips.or(Zips::of(&used[used.len().saturating_sub(1)..])));
        step
    }

    /// Keeps the bytes by which a disc is known.
    fn note_disc_head(&mut self, used: &[u8]) {
        let from = capped(iso::FIRST_DESCRIPTOR.saturating_sub(self.position));
        let place = capped(self.position.saturating_sub(iso::FIRST_DESCRIPTOR));
        let head = self.disc_head.iter_mut().skip(place);
        head.zip(used.get(from..).unwrap_or_default()).for_each(|(kept, byte)| *kept = *byte);
    }

    /// Looks for where an archive begins, and in passing for records of zips among the bytes that are used.
    fn search(&mut self, input: &[u8]) -> (Step, Zips) {
        if !self.carried.is_empty()
            && let Some(step) = self.search_carried(input)
        {
            return (step, Zips::Some);
        }
        let mut places = Places::new(input, self.guise);
        while let Some(at) = places.next() {
            match self.judge(&input[at..]) {
                Verdict::No => {}
                Verdict::Archive(length) => return (self.open(at, length), places.zips),
                Verdict::Line => return (self.open(at + 1, None), places.zips),
                Verdict::Perhaps => {
                    self.carried = input[at..].to_vec();
                    return (Step::new(input.len(), Event::Working), Zips::Some);
                }
            }
        }
        // A header may begin before what it is known by.
        self.carried.extend_from_slice(&input[input.len().saturating_sub(CARRIED_BYTES)..]);
        let superfluous = self.carried.len().saturating_sub(CARRIED_BYTES);
        self.carried.drain(..superfluous);
        (Step::new(input.len(), Event::Working), places.zips)
    }

    /// Looks at the places whose bytes are carried; `None` where nothing begins there.
    fn search_carried(&mut self, input: &[u8]) -> Option<Step> {
        let ahead = &input[..input.len().min(HEADER_BYTES_MAX)];
        let joined = [&self.carried[..], ahead].concat();
        for at in 0..self.carried.len() {
            let (from, length) = match self.judge(&joined[at..]) {
                Verdict::No => continue,
                Verdict::Archive(length) => (at, length),
                Verdict::Line => (at + 1, None),
                Verdict::Perhaps => {
                    self.carried = joined[at..].to_vec();
                    return Some(Step::new(ahead.len(), Event::Working));
                }
            };
            self.carried.drain(..from);
            return Some(self.open(0, length));
        }
        if input.len() >= CARRIED_BYTES {
            self.carried.clear();
        }
        None
    }

    /// What a place is; the ends of lines mean something in scripts alone.
    fn judge(&self, bytes: &[u8]) -> Verdict {
        match judge(bytes) {
            Verdict::Line if self.guise != Guise::Script => Verdict::No,
            verdict => verdict,
        }
    }

    fn open(&mut self, used: usize, length: Option<u64>) -> Step {
        if used > 0 {
            self.carried.clear();
        }
        self.state = State::Child(length);
        self.found = self.found.saturating_add(1);
        let entry = Event::Open(Box::new(Entry { label: self.found.to_string(), ..Entry::default() }));
        if self.guise.may_unpack() {
            return Step::new(used, entry);
        }
        self.pending.push_back(entry);
        Step::new(used, Event::Anomaly("an archive within something else"))
    }

    /// Bytes of the archive: first those that were carried.
    fn content(&mut self, left: Option<u64>, input: &[u8], scratch: &mut [u8]) -> Step {
        let left_most = left.map_or(usize::MAX, capped);
        if left_most == 0 {
            self.state = State::Watching;
            return Step::new(0, Event::Close);
        }
        let carried = self.carried.len().min(left_most).min(scratch.len());
        let length = if carried > 0 { carried } else { left_most.min(input.len()) };
        self.state = State::Child(left.map(|left| left - length as u64));
        if carried > 0 {
            scratch[..carried].copy_from_slice(&self.carried[..carried]);
            self.carried.drain(..carried);
            return Step::new(0, Event::Output(carried));
        }
        self.look(&input[..length], Zips::Some);
        self.position += length as u64;
        Step::new(length, Event::Input(0..length))
    }

    /// The part has ended here.
    fn end(&mut self) -> Step {
        let event = match std::mem::replace(&mut self.state, State::Ended) {
            State::Child(Some(1..)) => Event::Broken(lockgate_model::Reason::Truncated),
            State::Child(_) => Event::Close,
            _ => Event::Working,
        };
        self.carried = Vec::new();
        Step::new(0, event)
    }
}

impl Decoder for CarrierDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        match &mut self.state {
            State::Disc(disc) => {
                let step = disc.step(input, more);
                if step.event == Event::End {
                    self.state = State::Ended;
                    return Step::new(step.consumed, Event::Working);
                }
                return step;
            }
            State::Ended => {
                return match self.said.pop_front() {
                    Some(event) => Step::new(0, event),
                    None => self.disguise.step(&[], More::Ended, scratch),
                };
            }
            State::Watching | State::Child(_) => {}
        }
        if let State::Child(left) = self.state
            && (left == Some(0) || !self.carried.is_empty() || !input.is_empty())
        {
            return self.content(left, input, scratch);
        }
        match (input.is_empty(), more) {
            (true, More::Follows) => Step::new(0, Event::NeedInput),
            (true, More::Ended) => self.end(),
            (false, _) => self.watch(input),
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        match self.state {
            State::Ended => self.disguise.nanos_per_kib(),
            _ => NANOS_PER_KIB,
        }
    }

    fn worked_nanos(&self) -> u64 {
        self.disguise.worked_nanos()
    }
}

fn capped(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
