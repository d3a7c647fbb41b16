//! One message: header blocks, multiparts and bodies. Rule: a byte of a body is looked at once here, and not copied.
//!
//! Lines that may divide parts are found by a search for a line end with two hyphens behind it; everything up to there
//! is `clear` and goes to the part's transfer decoder in one piece. What may be the beginning of a delimiter is held
//! until it is decided, with the line end before it, which belongs to the delimiter (RFC 2046 section 5.1.1).

mod delimiter;

use super::again::{Again, Doubts, Reading};
use super::boundary::{Delimiter, Kind, Rest, Stack};
use super::header::{HeaderReader, Stop};
use super::limits::FIELDS_MAX;
use super::oddity::{Oddities, Oddity};
use super::plan::{Plan, Shape};
use super::transfer::Transfer;
use crate::decoder::{Decoder, Entry, Event, More, Step};
use delimiter::undecided;
use lockgate_model::{Buffer, Pool, Reason};
use std::collections::VecDeque;
use std::sync::Arc;

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
    encodings: Encodings,
    /// Other readings of the last body.
    again: Again,
    /// A multipart had no end where the one around it went on: to some readers it goes on itself.
    is_cut: bool,
    /// How the last body was encoded then, which may go on as well.
    cut_off: Option<Transfer>,
}

/// What is done with transfer encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encodings {
    /// They are undone, as every reader of mail does.
    Undone,
    /// They are left: servers take the parts of a form as they are (RFC 7578 section 4.7).
    Left,
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

impl MimeDecoder {
    /// For one message, from its first header line. Bodies with a second reading are held, as far as the pool grants.
    pub fn new(pool: &Arc<Pool>) -> Self {
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
            encodings: Encodings::Undone,
            again: Again::new(pool),
            is_cut: false,
            cut_off: None,
        }
    }

    /// For the content of a request whose `Content-Type` fields are these (RFC 7578), from its first byte.
    pub fn of_form(content_types: &[Vec<u8>], pool: &Arc<Pool>) -> Self {
        let mut own = Self { is_top: false, encodings: Encodings::Left, ..Self::new(pool) };
        let mut header = Vec::new();
        for content_type in content_types.iter().take(FIELDS_MAX) {
            header.extend_from_slice(b"Content-Type: ");
            let plain = |byte: &u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte };
            header.extend(content_type.iter().map(plain));
            header.extend_from_slice(b"\r\n");
        }
        header.extend_from_slice(b"\r\n");
        if let Place::Header(reader) = &mut own.place {
            reader.push(&header);
        }
        own.begin_body();
        own
    }
}

impl Decoder for MimeDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        if let Some(event) = self.said.pop_front() {
            return Step::new(0, event);
        }
        if self.again.is_due()
            && let Some(event) = self.again.next(scratch)
        {
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
            return more.or(|| self.end(scratch));
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

    fn worked_nanos(&self) -> u64 {
        self.again.worked_nanos()
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
        let mut plan = Plan::new(&fields, in_digest, &mut self.oddities);
        let is_left = self.encodings == Encodings::Left && !matches!(plan.transfer, Transfer::Identity);
        if let Some(transfer) = self.cut_off.take().filter(|_| fields.is_headless) {
            plan.readings.push(Reading::new("as-before", transfer));
        }
        if is_left {
            plan.transfer = Transfer::Identity;
            plan.readings.clear();
        }
        match std::mem::replace(&mut plan.shape, Shape::Leaf) {
            Shape::Multipart { boundaries, is_digest }
                if !boundaries.is_empty() && self.stack.has_room(&boundaries) =>
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
                self.begin_leaf(&mut plan, &shape);
                if is_left {
                    // Some server may undo it all the same.
                    self.said.push_back(Event::Incomplete(Reason::Unsupported));
                }
                self.place = Place::Leaf(plan.transfer);
                let is_multipart = matches!(shape, Shape::Multipart { .. });
                if (is_multipart || is_untyped) && self.stack.has_room(&[]) {
                    // What is found in it has numbers of its own.
                    self.stack.push(&[], false);
                    self.stack.last_mut().into_iter().for_each(|multipart| multipart.parts = 1);
                    self.is_undivided = true;
                }
            }
        }
    }

    fn begin_leaf(&mut self, plan: &mut Plan, shape: &Shape) {
        self.say_oddities();
        let label = plan.field.take().unwrap_or_else(|| self.section());
        let entry = Entry { label, name: plan.names.main.take(), declared: plan.declared.take() };
        self.again.begin(&entry, &plan.transfer, std::mem::take(&mut plan.readings));
        self.open(entry);
        let names = std::mem::take(&mut plan.names.others);
        self.said.extend(names.into_iter().map(Event::Name));
        match shape {
            Shape::Partial => self.said.push_back(Event::Incomplete(Reason::Partial)),
            Shape::Multipart { boundaries, .. } if !self.stack.has_room(boundaries) => {
                self.said.push_back(Event::Incomplete(Reason::Depth));
            }
            _ => {}
        }
    }

    /// Gives clear input on.
    fn give(&mut self, input: &[u8], scratch: &mut [u8]) -> Step {
        let clear = &input[..self.clear.min(input.len())];
        if clear.is_empty() {
            return Step::new(0, Event::Working);
        }
        let (used, event) = match &mut self.place {
            Place::Leaf(Transfer::Identity) => {
                if self.again.holds() {
                    self.again.hold(clear, Doubts::default());
                }
                (clear.len(), Event::Input(0..clear.len()))
            }
            Place::Beside { is_open: true, transfer: Transfer::Identity, .. } => {
                (clear.len(), Event::Input(0..clear.len()))
            }
            Place::Leaf(transfer) => {
                let (used, made) = transfer.decode(clear, scratch);
                if self.again.holds() {
                    self.again.hold(&clear[..used], transfer.doubts());
                }
                (used, output(made))
            }
            Place::Beside { is_open: true, transfer, .. } => {
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
            Place::Leaf(transfer) => {
                let (used, made) = transfer.decode(rest, scratch);
                if self.again.holds() {
                    self.again.hold(&rest[..used], transfer.doubts());
                }
                (used, output(made))
            }
            Place::Beside { is_open: true, transfer, .. } => {
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
        let Place::Beside { side, is_open, transfer } = &mut self.place else { return content.len() };
        if blanks < content.len() {
            // Readers that decode a multipart as a whole find its parts in there.
            let is_encoded = !matches!(transfer, Transfer::Identity);
            let declared = is_encoded.then(|| "message/rfc822".to_owned());
            *is_open = true;
            let side = match side {
                Side::Preamble => "preamble",
                Side::Epilogue => "epilogue",
            };
            let section = self.stack.section(self.stack.depth() - 1);
            let label = if section.is_empty() { side.to_owned() } else { format!("{section}.{side}") };
            self.open(Entry { label, name: None, declared });
        }
        blanks
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
            self.is_cut = true;
        }
        if let (Place::Leaf(transfer), true) = (&self.place, self.is_cut) {
            self.cut_off = transfer.anew();
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
        let is_leaf = matches!(self.place, Place::Leaf(_));
        let (Place::Leaf(transfer) | Place::Beside { is_open: true, transfer, .. }) = &mut self.place else {
            return 0;
        };
        let made = transfer.finish(scratch);
        self.oddities.add(transfer.oddities());
        if is_leaf && let Some(reason) = self.again.end(transfer.doubts(), &mut self.oddities) {
            self.said.push_back(Event::Incomplete(reason));
        }
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
