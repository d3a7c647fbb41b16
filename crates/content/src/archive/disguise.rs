//! Containers that begin like something else: discs and zip files. Rule: nothing is held before an entry of a zip may begin.
//!
//! A disc image (ISO 9660, ECMA-167) says what it is behind 32 KiB of anything. A zip file is found from its end, so
//! that it may stand behind any bytes: a picture, a document. Nothing of this shows in the first bytes, by which
//! types are known, so parts of other types are watched to their end. A disc is told; a zip is opened as those open it who
//! begin at its end, as far as it may be held.

use super::zip::seeker::Seeker;
use crate::decoder::{Decoder, Event, More, Step};
use crate::field::{Field, before, u16_le, u32_le};
use lockgate_model::{Held, Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// Where the first volume descriptor's identifier stands: in sector 16, behind a byte of type.
const PLACE: u64 = 16 * 2048 + 1;
/// ISO 9660, and the beginning of an extended area, as UDF has it.
const IDENTIFIERS: [&[u8]; 2] = [b"CD001", b"BEA01"];
const IDENTIFIER_BYTES: u64 = 5;

/// What begins an entry of a zip.
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// What is told of a zip where none is expected.
const BEHIND: &str = "a zip file behind other bytes";

/// The end of a zip's directory (APPNOTE.TXT, section 4.3.16), and what follows these four bytes.
const END: [u8; 4] = *b"PK\x05\x06";
const END_REST_BYTES: u64 = 18;
/// The least that the directory has for an entry.
const ENTRY_BYTES_MIN: u64 = 46;

/// What a part seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guise {
    /// Nothing that an archive is expected behind.
    Content,
    /// A document that is read besides: what stands within it is not looked for here, only what it ends with.
    Document,
    /// A program, which may unpack what stands behind it.
    Program,
    /// A program as text, which may unpack the rest of itself from some line on.
    Script,
}

impl Guise {
    /// Whether an archive is nothing odd there.
    pub fn may_unpack(self) -> bool {
        matches!(self, Guise::Program | Guise::Script)
    }
}

/// Whether a record that a zip is known by may begin among some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zips {
    None,
    Some,
}

impl Zips {
    /// Whether one begins with the first of these, as far as they go.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let seen = bytes.len().min(LOCAL.len());
        let begins = seen > 0 && [LOCAL, END].iter().any(|record| record[..seen] == bytes[..seen]);
        if begins { Self::Some } else { Self::None }
    }

    /// Among these bytes or those.
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::None { other } else { self }
    }
}

/// A part that may hold more than it seems to.
pub struct DisguiseDecoder {
    guise: Guise,
    position: u64,
    identifier: Field,
    /// The end of a zip's directory, on its way.
    end: Field,
    /// Where a zip would end, by the last such record.
    zip_ends_at: Option<u64>,
    pending: VecDeque<Event>,
    zip: Zip,
    is_reading: bool,
    has_ended: bool,
}

/// The part from where an entry of a zip may begin.
struct Zip {
    held: Held,
    seeker: Seeker,
    /// How much came before that.
    skipped: u64,
    /// The beginning of what may be the beginning of an entry.
    carried: Vec<u8>,
    state: Holding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    Nothing,
    All,
    Lost(Reason),
}

impl Zip {
    fn new(pool: &Arc<Pool>) -> Self {
        Self {
            held: Held::new(pool),
            seeker: Seeker::new(pool, None),
            skipped: 0,
            carried: Vec::new(),
            state: Holding::Nothing,
        }
    }

    /// Holds what comes from the first entry on.
    fn see(&mut self, input: &[u8], zips: Zips) {
        match self.state {
            Holding::All => self.hold(input),
            Holding::Lost(_) => {}
            Holding::Nothing if zips == Zips::None => self.skipped += input.len() as u64,
            Holding::Nothing if self.carried.is_empty() => self.look(input),
            Holding::Nothing => {
                let joined = [&std::mem::take(&mut self.carried), input].concat();
                self.look(&joined);
            }
        }
    }

    fn look(&mut self, input: &[u8]) {
        let at = before(input, LOCAL);
        self.skipped += at as u64;
        let rest = &input[at..];
        if rest.len() < LOCAL.len() {
            self.carried.extend_from_slice(rest);
        } else {
            self.state = Holding::All;
            self.hold(rest);
        }
    }

    fn hold(&mut self, input: &[u8]) {
        if let Err(reason) = self.held.push(input) {
            self.state = Holding::Lost(reason);
            self.held.clear();
        }
    }
}

impl DisguiseDecoder {
    /// Awaits the first byte.
    pub fn new(pool: &Arc<Pool>, guise: Guise) -> Self {
        let mut decoder = Self {
            guise,
            position: 0,
            identifier: Field::default(),
            end: Field::default(),
            zip_ends_at: None,
            pending: VecDeque::new(),
            zip: Zip::new(pool),
            is_reading: false,
            has_ended: false,
        };
        decoder.identifier.begin(IDENTIFIER_BYTES, IDENTIFIER_BYTES as usize);
        decoder.end.begin(0, 0);
        decoder
    }

    /// The next bytes, as far as they are looked at in one step, and whether a record of a zip may begin among them.
    pub(super) fn see(&mut self, input: &[u8], zips: Zips) -> Step {
        let step = if self.identifier.is_whole() {
            Step::new(input.len(), Event::Working)
        } else {
            self.look_for_disc(input)
        };
        let seen = &input[..step.consumed];
        self.position += seen.len() as u64;
        let is_amid = !self.end.bytes().is_empty() || !self.zip.carried.is_empty();
        let zips = if is_amid { Zips::Some } else { zips };
        if zips == Zips::Some {
            self.look_for_zip(seen, self.position);
        }
        self.zip.see(seen, zips);
        step
    }

    /// The bytes up to and with the identifier.
    fn look_for_disc(&mut self, input: &[u8]) -> Step {
        let before = PLACE.saturating_sub(self.position);
        let skipped = usize::try_from(before).unwrap_or(usize::MAX).min(input.len());
        let used = skipped + self.identifier.take(&input[skipped..]);
        let is_disc = self.identifier.is_whole() && IDENTIFIERS.contains(&self.identifier.bytes());
        Step::new(used, if is_disc { Event::Incomplete(Reason::Unsupported) } else { Event::Working })
    }

    /// Looks through these bytes, which end at `end_position`, for the end of a zip's directory.
    fn look_for_zip(&mut self, mut input: &[u8], end_position: u64) {
        while !input.is_empty() {
            let seen = self.end.bytes().len();
            if seen >= END.len() {
                let used = self.end.take(input);
                input = &input[used..];
                if self.end.is_whole() {
                    self.end_of_directory(end_position - input.len() as u64);
                }
                continue;
            }
            if seen == 0 {
                input = &input[before(input, END)..];
            }
            if let Some((first, rest)) = input.split_first() {
                self.begin_record(*first);
                input = rest;
            }
        }
    }

    /// One more byte of what may be the record's beginning.
    fn begin_record(&mut self, byte: u8) {
        let seen = self.end.bytes().len();
        if byte == END[seen] {
            match seen {
                0 => self.end.begin(1, 1),
                _ => self.end.extend(1),
            }
            self.end.take(&[byte]);
            if seen + 1 == END.len() {
                self.end.extend(END_REST_BYTES as usize);
            }
        } else {
            self.end.begin(0, 0);
            if byte == END[0] {
                self.begin_record(byte);
            }
        }
    }

    /// The record is whole and ends there. It counts if a reader could find a directory by it.
    fn end_of_directory(&mut self, position: u64) {
        let bytes = self.end.bytes().to_vec();
        self.end.begin(0, 0);
        let (entries, length, offset) = (u16_le(&bytes, 10), u32_le(&bytes, 12), u32_le(&bytes, 16));
        let begins_at = position - bytes.len() as u64;
        let is_there = u64::from(length) + u64::from(offset) <= begins_at;
        let is_long_enough = u64::from(entries) * ENTRY_BYTES_MIN <= length.into();
        if entries > 0 && is_there && is_long_enough {
            self.zip_ends_at = Some(position + u64::from(u16_le(&bytes, 20)));
        } else {
            // Another record may have begun within what was taken for this one.
            self.look_for_zip(&bytes[1..], position);
        }
    }

    /// The part has ended here.
    fn end(&mut self) -> Event {
        let is_at_end = self.zip_ends_at == Some(self.position);
        let anomaly = (is_at_end && !self.guise.may_unpack()).then_some(Event::Anomaly(BEHIND));
        match self.zip.state {
            Holding::All if self.guise == Guise::Document && !is_at_end => self.has_ended = true,
            Holding::All if self.zip.seeker.begin(self.zip.held.bytes(), self.zip.skipped, &[]) => {
                self.is_reading = true;
                self.pending.extend(anomaly);
            }
            Holding::Lost(reason) if is_at_end => {
                self.has_ended = true;
                self.pending.extend(anomaly);
                self.pending.push_back(Event::Incomplete(reason));
            }
            // No reader finds a directory.
            _ => self.has_ended = true,
        }
        Event::Working
    }

    /// What the zip says that was found.
    fn read(&mut self, scratch: &mut [u8]) -> Event {
        let event = self.zip.seeker.next(self.zip.held.bytes(), scratch);
        if event == Event::End {
            self.is_reading = false;
            self.has_ended = true;
            self.zip.held.clear();
        }
        event
    }
}

impl Decoder for DisguiseDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.pending.pop_front() {
            return Step::new(0, event);
        }
        if self.is_reading {
            return Step::new(0, self.read(scratch));
        }
        if self.has_ended {
            return Step::new(0, Event::End);
        }
        if input.is_empty() {
            return Step::new(0, if more == More::Ended { self.end() } else { Event::NeedInput });
        }
        self.see(input, Zips::Some)
    }

    fn nanos_per_kib(&self) -> u32 {
        if self.is_reading { self.zip.seeker.nanos_per_kib() } else { 100 }
    }

    fn worked_nanos(&self) -> u64 {
        if self.is_reading { self.zip.seeker.worked_nanos() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{ZipFile, ZipWriter, children, complains, noise, prose};
    use crate::trace::{Said, assert_cut_invariant, trace};

    fn open() -> Box<dyn Decoder> {
        Box::new(DisguiseDecoder::new(&Pool::new(1 << 20), Guise::Content))
    }

    #[test]
    fn discs_are_told() {
        for identifier in IDENTIFIERS {
            let disc = [&noise(1, PLACE as usize)[..], identifier, &noise(2, 5000)].concat();
            let told = [Said::Incomplete(Reason::Unsupported), Said::End];
            assert_eq!(assert_cut_invariant(&open, &disc), told);
            for at in PLACE as usize - 1..PLACE as usize + 6 {
                assert_eq!(trace(&mut *open(), [&disc[..at], &disc[at..]]), told, "cut at {at}");
            }
        }
        assert_eq!(assert_cut_invariant(&open, &noise(3, 40_000)), [Said::End]);
        assert_eq!(assert_cut_invariant(&open, b"short"), [Said::End]);
    }

    #[test]
    fn zips_behind_other_bytes_are_opened() {
        let zip = ZipWriter::of(&[ZipFile::deflated("a", &prose(1, 500))]);
        let expected = [("a".to_owned(), prose(1, 500))];
        let mut commented = [&zip[..], b"PKPK\x05 a comment"].concat();
        commented[zip.len() - 2] = 15;
        for zip in [&zip, &commented] {
            for before in
                [&b"GIF89a"[..], &noise(1, 300), b"PK\x05", b"PK\x05\x06", b"PK\x05\x06PKPK\x05\x06"]
            {
                let said = assert_cut_invariant(&open, &[before, zip].concat());
                assert!(said[0] == Said::Anomaly(BEHIND) && children(&said) == expected && !complains(&said));
            }
            let inside = [&noise(1, 300)[..], zip, b"and more"].concat();
            let said = assert_cut_invariant(&open, &inside);
            assert!(matches!(said[0], Said::Open(_)) && children(&said) == expected && !complains(&said));
        }
    }

    #[test]
    fn a_program_may_unpack_what_stands_behind_it() {
        let pool = Pool::new(1 << 20);
        let open = || Box::new(DisguiseDecoder::new(&pool, Guise::Program)) as Box<dyn Decoder>;
        let zip = ZipWriter::of(&[ZipFile::stored("a", b"1"), ZipFile::deflated("b", &prose(1, 9000))]);
        let said = assert_cut_invariant(&open, &[b"MZ, and PK\x03\x03PK\x03", &zip[..]].concat());
        assert_eq!(children(&said), [("a".into(), b"1".to_vec()), ("b".into(), prose(1, 9000))]);
        assert!(!said.iter().any(|said| matches!(said, Said::Anomaly(_))) && !complains(&said));
        assert_eq!(pool.bytes_taken(), 0);
        assert_eq!(assert_cut_invariant(&open, b"MZPK\x03\x04 and nothing of the kind"), [Said::End]);
    }

    #[test]
    fn what_may_not_be_held_is_told() {
        let zip = ZipWriter::of(&[ZipFile::stored("a", &noise(1, 5000))]);
        let mut decoder = DisguiseDecoder::new(&Pool::new(1000), Guise::Content);
        let said = trace(&mut decoder, [&b"GIF89a"[..], &zip]);
        assert_eq!(said, [Said::Anomaly(BEHIND), Said::Incomplete(Reason::Budget), Said::End]);
    }
}
