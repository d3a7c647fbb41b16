//! zip as those read it who seek: from the directory at the end. Rule: every directory that a reader could find is read, and
//! what the first reading has met already is passed over.

use super::directories::{self, Directory};
use super::header::{self, Header, Method, Place};
use crate::codec::Outcome;
use crate::codec::unpacker::Unpacker;
use crate::decoder::{Entry, Event, More};
use crate::field::{label, u16_le};
use lockgate_model::{Pool, Reason};
use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Records of a directory that one call looks at.
const RECORDS_A_CALL: usize = 64;
/// What one costs.
const RECORD_NANOS: u64 = 300;
/// How often each byte may be read in all: by the directories that there are, and no more where their entries overlap.
const READINGS_MAX: u64 = 8;
/// Packed bytes that one call reads.
const PACKED_BYTES_A_CALL: usize = 16 << 10;

/// An entry that has been read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Met {
    offset: u64,
    compressed: u64,
    method: u16,
    is_encrypted: bool,
    name: u64,
    /// What did not agree with the content, where something did not.
    sums: Option<(u32, u64)>,
}

/// Whether an entry's content was what its header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Content {
    #[default]
    Right,
    Wrong,
    /// It cannot be read, and nobody knows how long it is.
    Sealed,
}

impl Met {
    /// An entry that stands there in the part.
    pub(super) fn new(offset: u64, header: &Header, raw_name: &[u8], content: Content) -> Self {
        let mut hasher = DefaultHasher::new();
        raw_name.hash(&mut hasher);
        Self {
            offset,
            compressed: if content == Content::Sealed { u64::MAX } else { header.compressed },
            method: header.method,
            is_encrypted: header.is_encrypted(),
            name: hasher.finish(),
            sums: (content == Content::Wrong).then_some((header.crc, header.size)),
        }
    }
}

/// Reads what the directories show.
pub(crate) struct Seeker {
    directories: VecDeque<Directory>,
    /// Where the next record is, and how far offsets are to be moved.
    record: Option<(usize, i64)>,
    entry: Option<Packed>,
    pub(super) met: HashSet<Met>,
    /// Where in the part the bytes held begin.
    skipped: u64,
    unpacker: Unpacker,
    pending: VecDeque<Event>,
    /// What is said of the first entry that had not been met.
    anomaly: Option<&'static str>,
    worked_nanos: u64,
    /// Packed bytes that may still be read.
    packed_left: u64,
}

/// The entry that is being unpacked: where its bytes are.
struct Packed {
    header: Header,
    at: usize,
    end: usize,
    made: u64,
    crc: crc32fast::Hasher,
    is_truncated: bool,
}

impl Seeker {
    /// Has met nothing. It says the words of the first entry that it finds.
    pub(crate) fn new(pool: &Arc<Pool>, anomaly: Option<&'static str>) -> Self {
        Self {
            directories: VecDeque::new(),
            record: None,
            entry: None,
            met: HashSet::new(),
            skipped: 0,
            unpacker: Unpacker::new(pool),
            pending: VecDeque::new(),
            anomaly,
            worked_nanos: 0,
            packed_left: 0,
        }
    }

    /// Begins with these bytes, before which there are so many others; `ends` are places where a directory may end.
    /// Answers whether there is any directory.
    pub(crate) fn begin(&mut self, whole: &[u8], skipped: u64, ends: &[u64]) -> bool {
        self.skipped = skipped;
        self.packed_left = (whole.len() as u64).saturating_mul(READINGS_MAX);
        self.directories = directories::find(whole, skipped, ends).into();
        !self.directories.is_empty()
    }

    /// Nothing is to be said of the next entry that it finds.
    pub(super) fn say_no_more(&mut self) {
        self.anomaly = None;
    }

    /// The next thing that it says.
    pub(crate) fn next(&mut self, whole: &[u8], scratch: &mut [u8]) -> Event {
        self.worked_nanos = 0;
        if let Some(event) = self.pending.pop_front() {
            return event;
        }
        if let Some(entry) = self.entry.take() {
            return self.unpack(entry, whole, scratch);
        }
        match self.record {
            Some((at, base)) => self.records(at, base, whole),
            None => match self.directories.pop_front() {
                Some(directory) => {
                    self.record = Some((directory.start, directory.base));
                    Event::Working
                }
                None => Event::End,
            },
        }
    }

    /// What the last call cost.
    pub(crate) fn worked_nanos(&self) -> u64 {
        self.worked_nanos + self.unpacker.worked_nanos()
    }

    /// Looks at records until one shows an entry that has not been met.
    fn records(&mut self, mut at: usize, base: i64, whole: &[u8]) -> Event {
        for _ in 0..RECORDS_A_CALL {
            self.worked_nanos += RECORD_NANOS;
            let record = whole.get(at..).unwrap_or_default();
            let length = header::CENTRAL.len() + header::CENTRAL_BYTES as usize;
            if !record.starts_with(&header::CENTRAL) || record.len() < length {
                self.record = None;
                return Event::Working;
            }
            let mut header = Header::central(&record[header::CENTRAL.len()..]);
            let name_end = length + usize::from(header.name_bytes);
            let extra_end = name_end + usize::from(header.extra_bytes);
            let raw_name = record.get(length..name_end).unwrap_or_default();
            let unicode = extras(record.get(name_end..extra_end).unwrap_or_default(), raw_name, &mut header);
            at += extra_end + usize::from(header.comment_bytes);
            let offset = header.offset.wrapping_add_signed(base);
            if self.is_met(offset, &header, raw_name) {
                continue;
            }
            self.record = Some((at, base));
            // The directory knows the sizes, whatever the flag says of the local header.
            return self.begin_entry(offset, header.without_descriptor(), raw_name, unicode, whole);
        }
        self.record = Some((at, base));
        Event::Working
    }

    /// Whether it has been read, or holds nothing. From now on it counts as read.
    fn is_met(&mut self, offset: u64, header: &Header, raw_name: &[u8]) -> bool {
        if raw_name.ends_with(b"/") && header.compressed == 0 {
            return true;
        }
        let met = |content| Met::new(offset, header, raw_name, content);
        self.met.contains(&met(Content::Wrong))
            || self.met.contains(&met(Content::Sealed))
            || !self.met.insert(met(Content::Right))
    }

    fn begin_entry(
        &mut self,
        offset: u64,
        header: Header,
        raw_name: &[u8],
        unicode: Option<String>,
        whole: &[u8],
    ) -> Event {
        let name = unicode.unwrap_or_else(|| header.name(raw_name));
        let open = Event::Open(Box::new(Entry { label: label(&name), name: Some(name), declared: None }));
        let at = offset.checked_sub(self.skipped).and_then(|at| usize::try_from(at).ok());
        let local = at.and_then(|at| whole.get(at..)).unwrap_or_default();
        let length = header::LOCAL.len() + header::LOCAL_BYTES as usize;
        let loss = if !local.starts_with(&header::LOCAL) || local.len() < length {
            Some(Reason::Damaged)
        } else if header.is_encrypted() {
            Some(Reason::Encrypted)
        } else if header.method() == Method::Other {
            Some(Reason::Unsupported)
        } else if header.compressed.min(whole.len() as u64) > self.packed_left {
            Some(Reason::Expansion)
        } else {
            None
        };
        self.pending.push_back(open);
        match (loss, at) {
            (None, Some(at)) => {
                let begin = at + length + usize::from(u16_le(local, 26)) + usize::from(u16_le(local, 28));
                let wanted = usize::try_from(header.compressed).unwrap_or(usize::MAX).saturating_add(begin);
                let (end, is_truncated) = (wanted.min(whole.len()), wanted > whole.len());
                self.packed_left -= (end.saturating_sub(begin) as u64).min(self.packed_left);
                if let Method::Packed(packing) = header.method() {
                    self.unpacker.begin(packing);
                }
                let crc = crc32fast::Hasher::new();
                self.entry = Some(Packed { header, at: begin.min(end), end, made: 0, crc, is_truncated });
            }
            (loss, _) => self.pending.push_back(Event::Broken(loss.unwrap_or(Reason::Damaged))),
        }
        match self.anomaly.take() {
            Some(words) => Event::Anomaly(words),
            None => Event::Working,
        }
    }

    /// A piece of the entry at hand.
    fn unpack(&mut self, mut entry: Packed, whole: &[u8], scratch: &mut [u8]) -> Event {
        let rest = whole.get(entry.at..entry.end).unwrap_or_default();
        let piece = rest.get(..PACKED_BYTES_A_CALL).unwrap_or(rest);
        let more = if piece.len() == rest.len() && !entry.is_truncated { More::Ended } else { More::Follows };
        let (used, made, outcome) = match entry.header.method() {
            Method::Packed(_) if rest.is_empty() && !self.unpacker.owes(more) => (0, 0, Outcome::Ended),
            Method::Packed(_) => {
                let run = self.unpacker.run(piece, more, scratch);
                (run.used, run.made, run.outcome)
            }
            _ => {
                let length = piece.len().min(scratch.len());
                scratch[..length].copy_from_slice(&piece[..length]);
                let outcome = if length == rest.len() { Outcome::Ended } else { Outcome::Going };
                (length, length, outcome)
            }
        };
        self.worked_nanos += used as u64 * u64::from(self.nanos_per_kib()) / 1024;
        entry.at += used;
        entry.made += made as u64;
        entry.crc.update(&scratch[..made]);
        let last = match outcome {
            Outcome::Going => None,
            Outcome::Failed(reason) => Some(Event::Broken(reason)),
            Outcome::Ended => Some(entry.judge()),
        };
        match last {
            None => {
                self.entry = Some(entry);
                if made > 0 { Event::Output(made) } else { Event::Working }
            }
            Some(last) if made > 0 => {
                self.pending.push_back(last);
                Event::Output(made)
            }
            Some(last) => last,
        }
    }

    /// As [`Decoder::nanos_per_kib`](crate::Decoder::nanos_per_kib).
    pub(crate) fn nanos_per_kib(&self) -> u32 {
        self.unpacker.nanos_per_kib()
    }
}

impl Packed {
    /// Its content has come to its end.
    fn judge(&self) -> Event {
        let is_right = self.made == self.header.size && self.crc.clone().finalize() == self.header.crc;
        if self.is_truncated {
            Event::Broken(Reason::Truncated)
        } else if is_right && self.at == self.end {
            Event::Close
        } else {
            Event::Broken(Reason::Damaged)
        }
    }
}

/// What the extra fields say: sizes that did not fit, and a name.
fn extras(mut extra: &[u8], raw_name: &[u8], header: &mut Header) -> Option<String> {
    let mut unicode = None;
    while extra.len() >= 4 {
        let (kind, length) = (u16_le(extra, 0), usize::from(u16_le(extra, 2)));
        let Some(body) = extra.get(4..4 + length) else { break };
        match kind {
            header::EXTRA_ZIP64 => header.widen(Place::Central, body),
            header::EXTRA_UNICODE_PATH => unicode = header::unicode_path(body, raw_name),
            _ => {}
        }
        extra = &extra[4 + length..];
    }
    unicode
}
