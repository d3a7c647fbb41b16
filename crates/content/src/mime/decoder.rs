//! One message: header blocks, multiparts and bodies. Rule: a byte of a body is looked at once here, and not copied.
//!
//! Lines that may divide parts are found by a search for a line end with two hyphens behind it; everything up to there
//! is `clear` and goes to the part's transfer decoder in one piece. What may be the beginning of a delimiter is held
//! until it is decided, with the line end before it, which belongs to the delimiter (RFC 2046 section 5.1.1).

use super::boundary::{Delimiter, Kind, Prefix, Rest, Stack};
use super::header::{HeaderReader, Stop};
use super::limits::{DELIMITER_LINE_BYTES_MAX, MULTIPART_DEPTH_MAX};
use super::oddity::{Oddities, Oddity};
use super::plan::{Plan, Shape};
use super::transfer::Transfer;
use crate::decoder::{Decoder, Entry, Event, More, Step};
use lockgate_model::{Buffer, Reason};
use memchr::memmem::Finder;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// What every delimiter line begins with, and no line of base64.
static HYPHENS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"--"));

/// How the fields begin that parts have; others are not for them (RFC 2045 section 3).
const PART_FIELD: &[u8] = b"content-";

/// Reads one message.
#[derive(Debug)]
pub struct MimeDecoder {
    place: Place,
    stack: Stack,
    /// How much of the input, from its beginning, is no part of a delimiter line.
    clear: usize,
    /// Whether a body has just begun, so that a delimiter needs no line end before it.
    body_start: bool,
    /// Whether what comes may be a delimiter line, of which `held` is the beginning.
    is_candidate: bool,
    held: Vec<u8>,
    /// How many of the held bytes have turned out to be content, and how many of those have been given on.
    content: usize,
    given: usize,
    /// A header block has a line that is none of a header: from there it is given as a child, too.
    in_junk: bool,
    /// The open leaf is a body without a boundary, in which one may be found.
    is_undivided: bool,
    /// A delimiter was decided before its line has ended; the rest of the line is dropped.
    in_long_line: bool,
    said: VecDeque<Event>,
    oddities: Oddities,
    is_top: bool,
}

/// Where in the message.
#[derive(Debug)]
enum Place {
    Header(Box<HeaderReader>),
    Leaf(Transfer),
    /// Before the first or after the last part of a multipart. Readers skip it; so content hides there.
    Beside {
        side: Side,
        is_open: bool,
        transfer: Transfer,
    },
    Over,
}

/// Where beside the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Preamble,
    Epilogue,
}

impl Default for MimeDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl MimeDecoder {
    /// For one message, from its first header line.
    pub fn new() -> Self {
        Self {
            place: Place::Header(Box::default()),
            stack: Stack::default(),
            clear: 0,
            body_start: false,
            is_candidate: false,
            held: Vec::new(),
            content: 0,
            given: 0,
            in_junk: false,
            is_undivided: false,
            in_long_line: false,
            said: VecDeque::new(),
            oddities: Oddities::default(),
            is_top: true,
        }
    }
}

impl Decoder for MimeDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.said.pop_front() {
            return Step::new(0, event);
        }
        if matches!(self.place, Place::Over) {
            return Step::new(0, Event::End);
        }
        if self.given < self.content {
            return self.give_held(scratch);
        }
        if self.is_candidate {
            return self.weigh(input, more, scratch);
        }
        if input.is_empty() {
            return match more {
                More::Follows => Step::new(0, Event::NeedInput),
                More::Ended => self.end(scratch),
            };
        }
        if self.in_long_line {
            return self.skip_line(input);
        }
        if matches!(self.place, Place::Header(_)) {
            return self.read_header(input);
        }
        if self.clear == 0 {
            self.scan(input);
        }
        self.give(input, scratch)
    }

    fn nanos_per_kib(&self) -> u32 {
        let transfer = match &self.place {
            Place::Leaf(transfer) | Place::Beside { transfer, .. } => transfer.nanos_per_kib(),
            Place::Header(_) => 10_000,
            Place::Over => 0,
        };
        // A line that may be a delimiter is compared with each boundary.
        transfer.saturating_add(200 * self.stack.depth() as u32)
    }
}

impl MimeDecoder {
    /// Reads header lines.
    fn read_header(&mut self, input: &[u8]) -> Step {
        let mut used = 0;
        loop {
            let Place::Header(reader) = &mut self.place else { return Step::new(used, Event::Working) };
            let (step, stop) = reader.push(&input[used..]);
            used += step;
            if stop != Stop::Hyphen || !self.is_plain(&input[used..]) {
                return self.meet_header(used, stop);
            }
            self.begin_header_line();
        }
    }

    /// What came of reading header lines.
    fn meet_header(&mut self, used: usize, stop: Stop) -> Step {
        let (is_top, was_junk) = (self.is_top, self.in_junk);
        match stop {
            Stop::More => {}
            Stop::Hyphen if !self.stack.is_empty() => self.is_candidate = true,
            Stop::Hyphen => self.begin_header_line(),
            Stop::Ended => self.begin_body(),
            Stop::Body => {
                self.hold_body_line();
                self.content -= undecided(&self.held);
                self.begin_body();
            }
            Stop::Junk => {
                self.hold_body_line();
                let label = format!("{}.header", self.section());
                self.open(Entry { label, name: None, declared: None });
                self.in_junk = true;
            }
        }
        let event = match used {
            0 => Event::Working,
            _ if was_junk => Event::Input(0..used),
            _ if is_top => Event::Side(Buffer::MailHeader, 0..used),
            _ => Event::Working,
        };
        Step::new(used, event)
    }

    /// Holds the line that the header reader could make nothing of, as content.
    fn hold_body_line(&mut self) {
        if let Place::Header(reader) = &mut self.place {
            self.held = reader.take_body_line();
            self.content = self.held.len();
        }
    }

    /// The section number of the part that is open.
    fn section(&self) -> String {
        if self.stack.is_empty() { "1".to_owned() } else { self.stack.section(usize::MAX) }
    }

    fn begin_header_line(&mut self) {
        if let Place::Header(reader) = &mut self.place {
            reader.begin_line();
        }
    }

    /// A header block has ended: the body that it announces begins.
    fn begin_body(&mut self) {
        let Place::Header(reader) = &mut self.place else { return };
        let fields = reader.finish();
        if std::mem::take(&mut self.in_junk) {
            self.said.push_back(Event::Close);
        }
        if fields.is_cut {
            self.said.push_back(Event::Incomplete(Reason::Held));
        }
        self.is_top = false;
        self.body_start = true;
        self.clear = 0;
        let in_digest = self.stack.last().is_some_and(|multipart| multipart.is_digest);
        let plan = Plan::new(&fields, in_digest, &mut self.oddities);
        match plan.shape {
            Shape::Multipart { boundaries, is_digest }
                if self.stack.depth() < MULTIPART_DEPTH_MAX && !boundaries.is_empty() =>
            {
                if !self.stack.push(&boundaries, is_digest) {
                    self.oddities.note(Oddity::BoundaryRepeated);
                }
                self.say_oddities();
                self.place = Place::Beside { side: Side::Preamble, is_open: false, transfer: plan.transfer };
            }
            shape => {
                let has_type = fields.media_types.iter().any(|media_type| media_type.value.contains('/'));
                let is_untyped = !has_type && self.stack.is_empty();
                self.begin_leaf(plan.declared, plan.name, &shape);
                self.place = Place::Leaf(plan.transfer);
                let is_multipart = matches!(shape, Shape::Multipart { .. });
                if (is_multipart || is_untyped) && self.stack.depth() < MULTIPART_DEPTH_MAX {
                    // What is found in it has numbers of its own.
                    self.stack.push(&[], false);
                    self.stack.last_mut().into_iter().for_each(|multipart| multipart.parts = 1);
                    self.is_undivided = true;
                }
            }
        }
    }

    fn begin_leaf(&mut self, declared: Option<String>, name: Option<String>, shape: &Shape) {
        self.say_oddities();
        let label = self.section();
        self.open(Entry { label, name, declared });
        match shape {
            Shape::Partial => self.said.push_back(Event::Incomplete(Reason::Partial)),
            Shape::Multipart { .. } if self.stack.depth() >= MULTIPART_DEPTH_MAX => {
                self.said.push_back(Event::Incomplete(Reason::Depth));
            }
            _ => {}
        }
    }

    /// Finds how much of the input is clear of delimiters.
    fn scan(&mut self, input: &[u8]) {
        if self.stack.is_empty() {
            self.clear = input.len();
            return;
        }
        if self.body_start && input.first() == Some(&b'-') {
            self.is_candidate = true;
            return;
        }
        self.body_start = false;
        self.clear = self.clear_bytes(input);
        self.is_candidate = self.clear == 0;
    }

    /// How many bytes there are before what may be a delimiter line, with the line end before it. Some readers end a
    /// line at a bare CR, too; so it does here.
    fn clear_bytes(&self, input: &[u8]) -> usize {
        let mut from = 0;
        while let Some(at) = HYPHENS.find(&input[from..]).map(|at| from + at) {
            let line_end = match input[..at] {
                [.., b'\r', b'\n'] => 2,
                [.., b'\n' | b'\r'] => 1,
                _ => 0,
            };
            if line_end > 0 && !self.is_plain(&input[at..]) {
                return at - line_end;
            }
            // In a row of hyphens only the first two can begin a line.
            from = at + input[at..].iter().take_while(|b| **b == b'-').count();
        }
        input.len() - undecided(input)
    }

    /// Whether it is clear from what is at hand that a line which begins so is no delimiter: most are decided here.
    fn is_plain(&self, rest: &[u8]) -> bool {
        let Some(line) = rest.strip_prefix(b"--") else { return rest.len() > 1 };
        let line = &line[..line.len().min(DELIMITER_LINE_BYTES_MAX)];
        match self.stack.prefix([line, &[]]) {
            Prefix::Part(length) if length < line.len() => {}
            _ => return false,
        }
        if !self.seeks() {
            return true;
        }
        let next = memchr::memchr(b'\n', line).and_then(|line_end| line.get(line_end + 1));
        next.is_some_and(|byte| !byte.eq_ignore_ascii_case(&PART_FIELD[0]))
    }

    /// Gives clear input on.
    fn give(&mut self, input: &[u8], scratch: &mut [u8]) -> Step {
        let clear = &input[..self.clear.min(input.len())];
        if clear.is_empty() {
            return Step::new(0, Event::Working);
        }
        let (used, event) = match &mut self.place {
            Place::Leaf(Transfer::Identity)
            | Place::Beside { is_open: true, transfer: Transfer::Identity, .. } => {
                (clear.len(), Event::Input(0..clear.len()))
            }
            Place::Leaf(transfer) | Place::Beside { is_open: true, transfer, .. } => {
                let (used, made) = transfer.decode(clear, scratch);
                (used, output(made))
            }
            _ => (self.skip_blanks(clear), Event::Working),
        };
        self.clear -= used;
        Step::new(used, event)
    }

    /// Gives on what was held and turned out to be content.
    fn give_held(&mut self, scratch: &mut [u8]) -> Step {
        let held = std::mem::take(&mut self.held);
        let rest = &held[self.given..self.content];
        let (used, event) = match &mut self.place {
            Place::Header(_) => {
                let (used, made) = Transfer::Identity.decode(rest, scratch);
                (used, output(made))
            }
            Place::Leaf(transfer) | Place::Beside { is_open: true, transfer, .. } => {
                let (used, made) = transfer.decode(rest, scratch);
                (used, output(made))
            }
            _ => (self.skip_blanks(rest), Event::Working),
        };
        self.given += used;
        self.held = held;
        if self.given == self.content {
            self.held.drain(..self.content);
            (self.given, self.content) = (0, 0);
            // A CR at its end may begin the next delimiter.
            self.is_candidate = !self.held.is_empty();
        }
        Step::new(0, event)
    }

    /// Beside the parts: passes over white space, and opens a child at whatever else comes.
    fn skip_blanks(&mut self, content: &[u8]) -> usize {
        let blanks = content.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let Place::Beside { side, is_open, .. } = &mut self.place else { return content.len() };
        if blanks < content.len() {
            *is_open = true;
            let side = match side {
                Side::Preamble => "preamble",
                Side::Epilogue => "epilogue",
            };
            let section = self.stack.section(self.stack.depth() - 1);
            let label = if section.is_empty() { side.to_owned() } else { format!("{section}.{side}") };
            self.open(Entry { label, name: None, declared: None });
        }
        blanks
    }

    /// Weighs what may be a delimiter line.
    fn weigh(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        let mut used = 0;
        while let Some(wanted) = self.wanted() {
            match input.get(used) {
                Some(byte) if wanted.contains(byte) => {
                    self.held.push(*byte);
                    used += 1;
                }
                None if more == More::Follows => return Step::new(used, Event::NeedInput),
                _ => return self.reject(used),
            }
        }
        if self.line_end().is_some() {
            return self.look_ahead(input, used, more, scratch);
        }
        let rest = &input[used..];
        let room = DELIMITER_LINE_BYTES_MAX.saturating_sub(self.held.len());
        let near = &rest[..rest.len().min(room)];
        let line_end = memchr::memchr(b'\n', near);
        let run = &near[..line_end.unwrap_or(near.len())];
        // More of the line may come, and there is room for it.
        let is_open =
            line_end.is_none() && run.len() == rest.len() && run.len() < room && more == More::Follows;
        let line = &self.held[self.line_at() + 2..];
        let prefix = self.stack.prefix([line, run]);
        let is_possible = match prefix {
            Prefix::Part(length) => self.seeks() || is_open && length == line.len() + run.len(),
            Prefix::Whole => true,
        };
        if !is_possible {
            return self.reject(used);
        }
        if prefix != Prefix::Whole
            && let Some(at) = bare_cr(line, run, rest)
        {
            // It ends the line for some readers, and may begin the next delimiter.
            self.held.extend_from_slice(&run[..at]);
            return self.reject(used + at);
        }
        self.held.extend_from_slice(run);
        used += run.len();
        if is_open {
            return Step::new(used, Event::NeedInput);
        }
        let line = &self.held[self.line_at() + 2..];
        match self.stack.delimiter(line.strip_suffix(b"\r").unwrap_or(line)) {
            Some(delimiter) => {
                self.in_long_line = line_end.is_none();
                self.divide(delimiter, used + usize::from(line_end.is_some()), scratch)
            }
            None if self.seeks() && line_end.is_some() => {
                self.held.push(b'\n');
                self.look_ahead(input, used + 1, more, scratch)
            }
            None => self.reject(used),
        }
    }

    /// Whether a delimiter is looked for that no header announces: where there should be nothing but delimiters.
    /// Readers that take another word of the header for the boundary than we do see parts there.
    fn seeks(&self) -> bool {
        self.is_undivided || matches!(self.place, Place::Beside { .. })
    }

    /// A line that begins with two hyphens, in a place where parts are looked for: a part follows if the next line is
    /// a header field that parts have.
    fn look_ahead(&mut self, input: &[u8], mut used: usize, more: More, scratch: &mut [u8]) -> Step {
        let line_at = self.line_at() + 2;
        let Some(line_end) = self.line_end() else { return self.reject(used) };
        while let Some(wanted) = PART_FIELD.get(self.held.len() - line_end - 1) {
            match input.get(used) {
                Some(byte) if byte.eq_ignore_ascii_case(wanted) => {
                    self.held.push(*byte);
                    used += 1;
                }
                None if more == More::Follows => return Step::new(used, Event::NeedInput),
                _ => return self.reject(used),
            }
        }
        self.oddities.note(Oddity::BoundaryUnannounced);
        if !self.stack.add(&self.held[line_at..line_end]) {
            return self.reject(used);
        }
        let field = self.held[line_end + 1..].to_vec();
        let delimiter = Delimiter { level: self.stack.depth() - 1, kind: Kind::Part, rest: Rest::Blank };
        let step = self.divide(delimiter, used, scratch);
        if let Place::Header(reader) = &mut self.place {
            reader.push(&field);
        }
        step
    }

    /// Where in the held bytes the line ends, if it does.
    fn line_end(&self) -> Option<usize> {
        let line_at = self.line_at();
        Some(line_at + memchr::memchr(b'\n', self.held.get(line_at..)?)?)
    }

    /// What the next byte must be for a delimiter line; `None` once its two hyphens are held.
    fn wanted(&self) -> Option<&'static [u8]> {
        let needs_line_end = !self.body_start && !matches!(self.place, Place::Header(_));
        match self.held.as_slice() {
            [] if needs_line_end => Some(b"\r\n"),
            [b'\r'] => Some(b"\n-"),
            held if held.len() < self.line_at() + 2 => Some(b"-"),
            _ => None,
        }
    }

    /// Where in the held bytes the line begins: behind the line end before it.
    fn line_at(&self) -> usize {
        match self.held.as_slice() {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        }
    }

    /// It is no delimiter line: what is held is content, apart from a line end behind it, which may begin another.
    fn reject(&mut self, used: usize) -> Step {
        self.is_candidate = false;
        self.body_start = false;
        self.given = 0;
        self.content = self.held.len();
        if let Place::Header(reader) = &mut self.place {
            reader.begin_line();
            // There is no line end in it, so the reader has no reason to stop.
            reader.push(&self.held);
            if !self.in_junk {
                self.held.clear();
                self.content = 0;
            }
        } else {
            self.content -= undecided(self.held.get(self.line_at() + 2..).unwrap_or_default());
        }
        Step::new(used, Event::Working)
    }

    /// A delimiter line: what is open ends, and a part or an epilogue begins.
    fn divide(&mut self, delimiter: Delimiter, used: usize, scratch: &mut [u8]) -> Step {
        if matches!(self.place, Place::Header(_)) {
            self.oddities.note(Oddity::DelimiterInHeader);
        }
        let has_bare_cr = matches!(self.held.as_slice(), [b'\r', b'-', ..]);
        let made = self.end_content(scratch);
        if has_bare_cr {
            self.oddities.note(Oddity::DelimiterAfterBareCr);
        }
        if delimiter.rest == Rest::Junk {
            self.oddities.note(Oddity::DelimiterWithJunk);
        }
        if self.stack.truncate(delimiter.level) {
            self.oddities.note(Oddity::MultipartWithoutEnd);
        }
        if let Some(multipart) = self.stack.last_mut() {
            match delimiter.kind {
                Kind::Part => {
                    multipart.parts += 1;
                    if std::mem::take(&mut multipart.is_ended) {
                        self.oddities.note(Oddity::DelimiterAfterEnd);
                    }
                    self.place = Place::Header(Box::default());
                }
                Kind::End => {
                    multipart.is_ended = true;
                    self.place =
                        Place::Beside { side: Side::Epilogue, is_open: false, transfer: Transfer::Identity };
                }
            }
        }
        self.held.clear();
        self.is_candidate = false;
        self.is_undivided = false;
        self.body_start = true;
        self.clear = 0;
        Step::new(used, output(made))
    }

    /// The rest of a delimiter line that was too long to be held.
    fn skip_line(&mut self, input: &[u8]) -> Step {
        let line_end = memchr::memchr(b'\n', input);
        self.in_long_line = line_end.is_none();
        Step::new(line_end.map_or(input.len(), |at| at + 1), Event::Working)
    }

    /// Closes what is open: how many last bytes of it are in the scratch.
    fn end_content(&mut self, scratch: &mut [u8]) -> usize {
        if matches!(self.place, Place::Header(_)) {
            self.begin_body();
        }
        let (Place::Leaf(transfer) | Place::Beside { is_open: true, transfer, .. }) = &mut self.place else {
            return 0;
        };
        let made = transfer.finish(scratch);
        self.oddities.add(transfer.oddities());
        // What was met in a body is said at its end, wherever it stood: so it does not depend on how it was cut.
        self.say_oddities();
        self.said.push_back(Event::Close);
        made
    }

    /// The message has ended.
    fn end(&mut self, scratch: &mut [u8]) -> Step {
        if let Place::Header(reader) = &self.place
            && reader.ends_in_body()
        {
            return self.meet_header(0, Stop::Body);
        }
        let made = self.end_content(scratch);
        self.say_oddities();
        if self.stack.has_unended() {
            self.said.push_back(Event::Incomplete(Reason::Truncated));
        }
        self.place = Place::Over;
        Step::new(0, output(made))
    }

    fn open(&mut self, entry: Entry) {
        self.said.push_back(Event::Open(Box::new(entry)));
    }

    fn say_oddities(&mut self) {
        while let Some(oddity) = self.oddities.next() {
            self.said.push_back(Event::Anomaly(oddity.words()));
        }
    }
}

fn output(made: usize) -> Event {
    if made > 0 { Event::Output(made) } else { Event::Working }
}

/// Where in the second piece of a line a CR shows that no LF follows: at its beginning, if the CR ends the first piece.
/// The rest is that piece and what follows it.
fn bare_cr(first: &[u8], second: &[u8], rest: &[u8]) -> Option<usize> {
    if first.ends_with(b"\r") && rest.first().is_some_and(|byte| *byte != b'\n') {
        return Some(0);
    }
    let at = memchr::memchr(b'\r', second)?;
    (at + 1 < second.len()).then_some(at)
}

/// How many bytes at the end may begin a delimiter line with the line end before it.
fn undecided(input: &[u8]) -> usize {
    let tail = input
        .strip_suffix(b"-")
        .filter(|tail| tail.ends_with(b"\n") || tail.ends_with(b"\r"))
        .unwrap_or(input);
    let hyphen = input.len() - tail.len();
    match tail {
        [.., b'\r', b'\n'] => hyphen + 2,
        [.., b'\n' | b'\r'] => hyphen + 1,
        _ => 0,
    }
}
