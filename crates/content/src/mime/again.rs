//! Bodies that can be read in more ways than one: [`Again`]. Rule: each reading is a child of its own; what is not held is said.
//!
//! The first reading is given as the body comes. The others are given behind it, from the body as it was held: whole
//! where the header leaves a doubt, else its beginning, until a doubt comes up there.

use super::base64::{self, Base64};
use super::limits::DOUBT_BYTES_MAX;
use super::oddity::{Oddities, Oddity};
use super::quoted_printable::{self, QuotedPrintable};
use super::transfer::Transfer;
use crate::decoder::{Entry, Event};
use lockgate_model::{Grant, Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

/// The least by which what is held grows.
const GROWTH_BYTES_MIN: usize = 8 << 10;
/// How much of what is held is read in a step.
const PIECE_BYTES: usize = 16 << 10;
/// The longest first line that is looked at for base64.
const FIRST_LINE_BYTES_MAX: usize = 1000;
/// A line of base64 that is shorter than this may as well be a word.
const BASE64_LINE_BYTES_MIN: usize = 40;

/// What is doubtful in a body, and from where on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubts {
    bits: u8,
    /// Where the first came up that must not be passed over.
    first_at: Option<u64>,
}

/// One doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// A line of base64 ends within a group of four.
    BrokenLine,
    /// Padding within a group of four.
    PadInside,
    /// Base64 with other characters in it.
    Junk,
    /// Escapes that are none.
    Malformed,
    /// Escapes in lower case, which some readers do not take for any.
    LowerCase,
}

impl Doubts {
    /// Notes one, met at that byte of the body.
    pub(super) fn note(&mut self, doubt: Doubt, at: u64) {
        // What has begun as good base64 is hardly meant to be read as it stands, nor do many readers mind the case.
        if matches!(doubt, Doubt::Junk | Doubt::LowerCase) && at >= DOUBT_BYTES_MAX {
            return;
        }
        self.bits |= 1 << doubt as u8;
        self.first_at.get_or_insert(at);
    }

    fn has(self, doubt: Doubt) -> bool {
        self.bits & 1 << doubt as u8 != 0
    }
}

/// Another reading of a body.
#[derive(Debug)]
pub(super) struct Reading {
    /// What it is called in the child's label.
    pub words: &'static str,
    pub transfer: Transfer,
    pub start: Start,
    /// The media type that this reader goes by, where it is another.
    pub declared: Option<String>,
}

/// Where a reading of the body begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Body,
    BehindFirstLine,
    BehindBlankLine,
}

impl Reading {
    pub(super) fn new(words: &'static str, transfer: Transfer) -> Self {
        Self { words, transfer, start: Start::Body, declared: None }
    }
}

/// The open body, as far as it is held, and its other readings.
#[derive(Debug)]
pub(super) struct Again {
    grant: Grant,
    body: Vec<u8>,
    hold: Hold,
    entry: Entry,
    due: VecDeque<Reading>,
    /// Whether the first line has been looked at.
    first_line: FirstLine,
    /// The readings are given: how much of the open one is.
    given: Option<usize>,
    is_over: bool,
    /// What the last step of a reading cost, in nanoseconds.
    worked_nanos: u64,
}

/// How much of the body is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Nothing,
    Beginning,
    Whole,
    /// It would have been needed, and is not there.
    Lost(Reason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstLine {
    Unread,
    Base64,
    Other,
}

impl Again {
    pub(super) fn new(pool: &Arc<Pool>) -> Self {
        Self {
            grant: pool.grant(),
            body: Vec::new(),
            hold: Hold::Nothing,
            entry: Entry::default(),
            due: VecDeque::new(),
            first_line: FirstLine::Other,
            given: None,
            is_over: false,
            worked_nanos: 0,
        }
    }

    /// What the last step cost: bytes of the body were used before, and are read once more.
    pub(super) fn worked_nanos(&self) -> u64 {
        if self.is_over { self.worked_nanos } else { 0 }
    }

    /// A body begins, which the header gives these other readings.
    pub(super) fn begin(&mut self, entry: &Entry, transfer: &Transfer, readings: Vec<Reading>) {
        self.body.clear();
        self.due = readings.into();
        let is_encoded = matches!(transfer, Transfer::Base64(_) | Transfer::Quoted(_));
        self.hold = match (self.due.is_empty(), is_encoded) {
            (false, _) => Hold::Whole,
            (true, true) => Hold::Beginning,
            (true, false) => Hold::Nothing,
        };
        let is_quoted = matches!(transfer, Transfer::Quoted(_));
        self.first_line = if is_quoted { FirstLine::Unread } else { FirstLine::Other };
        if self.hold != Hold::Nothing {
            self.entry.clone_from(entry);
        }
        self.is_over = false;
    }

    /// Whether it wants to have the body.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        matches!(self.hold, Hold::Beginning | Hold::Whole)
    }

    /// Whether something is to be given.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.is_over
    }

    /// A piece of the body, and what has been doubtful up to its end.
    pub(super) fn hold(&mut self, piece: &[u8], doubts: Doubts) {
        let mut piece = piece;
        if self.hold == Hold::Beginning {
            let room = DOUBT_BYTES_MAX.saturating_sub(self.body.len() as u64);
            let near = piece.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            self.keep(&piece[..near]);
            piece = &piece[near..];
            self.look_at_first_line();
            let is_early = doubts.first_at.is_some_and(|at| at < DOUBT_BYTES_MAX);
            if self.hold == Hold::Beginning && (is_early || self.first_line == FirstLine::Base64) {
                self.hold = Hold::Whole;
            } else if self.hold == Hold::Beginning && !piece.is_empty() {
                self.lose(Reason::Held);
            }
        }
        if self.hold == Hold::Whole {
            self.keep(piece);
            self.look_at_first_line();
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let missing = (self.body.len() + piece.len()).saturating_sub(self.body.capacity());
        if missing > 0 {
            let ample = missing.max(self.body.capacity()).max(GROWTH_BYTES_MIN);
            let growth = match self.grant.grow(ample as u64) {
                Ok(()) => ample,
                Err(_) => match self.grant.grow(missing as u64) {
                    Ok(()) => missing,
                    Err(reason) => return self.lose(reason),
                },
            };
            let room = self.body.capacity() + growth - self.body.len();
            self.body.reserve_exact(room);
        }
        self.body.extend_from_slice(piece);
    }

    fn lose(&mut self, reason: Reason) {
        self.hold = Hold::Lost(reason);
        self.let_go();
    }

    fn let_go(&mut self) {
        self.body = Vec::new();
        self.grant.clear();
    }

    /// Whether what is said to be quoted-printable begins with a line of base64.
    fn look_at_first_line(&mut self) {
        if self.first_line != FirstLine::Unread {
            return;
        }
        let near = &self.body[..self.body.len().min(FIRST_LINE_BYTES_MAX)];
        let line = near.trim_ascii_start();
        let line_end = memchr::memchr(b'\n', line);
        if line_end.is_none() && near.len() < FIRST_LINE_BYTES_MAX {
            return;
        }
        let line = line[..line_end.unwrap_or(line.len())].trim_ascii_end();
        let is_base64 = line.len() >= BASE64_LINE_BYTES_MIN
            && line.len().is_multiple_of(4)
            && line.iter().all(|byte| base64::VALUES[usize::from(*byte)] != base64::INVALID);
        self.first_line = if is_base64 { FirstLine::Base64 } else { FirstLine::Other };
    }

    /// The body has ended, with these doubts: its other readings are due, or it is said that they are not to be had.
    pub(super) fn end(&mut self, doubts: Doubts, oddities: &mut Oddities) -> Option<Reason> {
        if self.first_line == FirstLine::Base64 {
            oddities.note(Oddity::QuotedLooksEncoded);
            self.due.push_back(Reading::new("as-base64", Transfer::Base64(Base64::default())));
        }
        self.due.extend(readings(doubts));
        let is_doubtful = doubts.first_at.is_some() || !self.due.is_empty();
        let reason = match self.hold {
            Hold::Lost(reason) if is_doubtful => Some(reason),
            Hold::Beginning | Hold::Whole if is_doubtful => {
                self.is_over = true;
                return None;
            }
            _ => None,
        };
        self.due.clear();
        self.body.clear();
        self.hold = Hold::Nothing;
        reason
    }

    /// The next thing to be given of the readings; `None` when there is none.
    pub(super) fn next(&mut self, scratch: &mut [u8]) -> Option<Event> {
        if !self.is_over {
            return None;
        }
        self.worked_nanos = 0;
        let Some(reading) = self.due.front_mut() else {
            self.is_over = false;
            self.hold = Hold::Nothing;
            self.let_go();
            return None;
        };
        let Some(given) = self.given else {
            let Some(at) = start(&self.body, reading.start) else {
                self.due.pop_front();
                return Some(Event::Working);
            };
            let declared = reading.declared.clone().or_else(|| self.entry.declared.clone());
            let label = format!("{}.{}", self.entry.label, reading.words);
            self.given = Some(at);
            return Some(Event::Open(Box::new(Entry { label, declared, name: self.entry.name.clone() })));
        };
        let rest = &self.body[given..];
        let near = &rest[..rest.len().min(PIECE_BYTES)];
        let (used, made) = if near.is_empty() { (0, 0) } else { reading.transfer.decode(near, scratch) };
        self.worked_nanos = used as u64 * u64::from(reading.transfer.nanos_per_kib()) / 1024;
        self.given = Some(given + used);
        if made > 0 || used > 0 {
            return Some(if made > 0 { Event::Output(made) } else { Event::Working });
        }
        let made = reading.transfer.finish(scratch);
        if made > 0 {
            // Finished once, it has nothing more.
            return Some(Event::Output(made));
        }
        self.given = None;
        self.due.pop_front();
        Some(Event::Close)
    }
}

/// The readings that doubts give.
fn readings(doubts: Doubts) -> impl Iterator<Item = Reading> {
    let base64 = |reading| Transfer::Base64(Base64::new(reading));
    let quoted = |reading| Transfer::Quoted(QuotedPrintable::new(reading));
    let all = [
        (Doubt::BrokenLine, Reading::new("by-line", base64(base64::Reading::ByLine))),
        (Doubt::PadInside, Reading::new("pads-as-zeros", base64(base64::Reading::PadsAsZeros))),
        (Doubt::Junk, Reading::new("as-quoted", quoted(quoted_printable::Reading::AsItStands))),
        (Doubt::Malformed, Reading::new("marks-dropped", quoted(quoted_printable::Reading::MarksDropped))),
        (
            Doubt::Malformed,
            Reading::new("escapes-dropped", quoted(quoted_printable::Reading::EscapesDropped)),
        ),
        (Doubt::LowerCase, Reading::new("upper-case", quoted(quoted_printable::Reading::UpperCase))),
    ];
    all.into_iter().filter(move |(doubt, _)| doubts.has(*doubt)).map(|(_, reading)| reading)
}

/// Where a reading begins in the body; `None` where there is no such place, or nothing behind it.
fn start(body: &[u8], start: Start) -> Option<usize> {
    let line_end = |from: usize| memchr::memchr(b'\n', &body[from..]).map(|at| from + at + 1);
    let at = match start {
        Start::Body => return Some(0),
        Start::BehindFirstLine => line_end(0)?,
        Start::BehindBlankLine => {
            let mut at = line_end(0)?;
            while !matches!(body[at..], [b'\n', ..] | [b'\r', b'\n', ..]) {
                at = line_end(at)?;
            }
            line_end(at)?
        }
    };
    (!body[at..].trim_ascii().is_empty()).then_some(at)
}
