//! PDF (ISO 32000-1): every stream is a child, whatever table leads to it. Rule: objects are met as they stand in the file.
//!
//! Readers begin at the end and follow tables; files are repaired when those are wrong. Here each object is read in its
//! turn, so none is missed that some table might lead to. Scripts in strings are children, too.

mod filter;
mod lexer;
mod lzw;
mod object;
mod predictor;

use super::outbox::Outbox;
use super::parser::{Parser, ParserDecoder};
use crate::codec::inflate;
use crate::decoder::{Decoder, Entry, More};
use filter::{FilterKind, Made, Pipeline};
use lexer::is_blank;
use lockgate_model::Reason;
use memchr::memmem;
use object::{Form, Objects, StreamHead, Told};
use predictor::Predictor;

/// What a stream ends with.
const END: &[u8] = b"endstream";
/// … or, where that was forgotten.
const END_OF_OBJECT: &[u8] = b"endobj";
/// What may be such an end, with the line end before it, is held back.
const HELD_BYTES: usize = 10;
/// How much a filter makes at once.
const ROOM_BYTES: usize = 4 << 10;
/// How often the filters of one stream are asked whether they have ended where the length says that it goes on.
const QUESTIONS_MAX: u32 = 64;
/// How many streams are remembered that were given before their names came.
const GIVEN_MAX: usize = 4096;
/// … and how many names that came before their streams.
const NAMES_MAX: usize = 256;

/// A file on its way.
struct Pdf {
    place: Place,
    objects: Objects,
    /// Streams whose names were not known when they were given.
    given: Vec<i64>,
    /// The names that are known.
    names: Vec<(i64, String)>,
    streams: u32,
    scripts: u32,
    is_damaged: bool,
    has_encryption: bool,
    is_cut: bool,
}

enum Place {
    Objects,
    /// Behind the word `stream`: a line end belongs to it; whether a CR has come.
    LineEnd(bool),
    Stream(Box<Stream>),
}

/// A stream on its way.
struct Stream {
    head: StreamHead,
    pipeline: Pipeline,
    predictor: Option<Predictor>,
    /// The end of what came, which may be the end of the stream.
    held: Vec<u8>,
    /// Bytes read of it.
    position: u64,
    /// Its objects, if it is a stream of such.
    objects: Option<Objects>,
    has_failed: bool,
    is_ending: bool,
    /// The file has ended within it.
    is_cut_off: bool,
    /// Its first bytes.
    begin: Vec<u8>,
    has_early_end: bool,
    /// Where the filters have been asked whether they are at their end.
    filtered_to: Option<u64>,
    questions: u32,
    /// Something within looks like an object of its own.
    has_object_within: bool,
}

/// A decoder of PDF.
pub fn decoder() -> impl Decoder {
    ParserDecoder::of(Pdf {
        place: Place::Objects,
        objects: Objects::new(Form::File),
        given: Vec::new(),
        names: Vec::new(),
        streams: 0,
        scripts: 0,
        is_damaged: false,
        has_encryption: false,
        is_cut: false,
    })
}

impl Stream {
    fn new(head: StreamHead) -> Self {
        let pipeline = Pipeline::new(&head.filters, usize::from(!head.is_late));
        let is_packed = head.filters.iter().any(|kind| matches!(kind, FilterKind::Flate | FilterKind::Lzw));
        Self {
            pipeline,
            predictor: Predictor::new(&head.prediction).filter(|_| is_packed),
            objects: head.is_object_stream.then(|| Objects::new(Form::ObjectStream)),
            head,
            held: Vec::new(),
            position: 0,
            has_failed: false,
            is_ending: false,
            is_cut_off: false,
            begin: Vec::new(),
            has_early_end: false,
            filtered_to: None,
            questions: 0,
            has_object_within: false,
        }
    }

    /// Reads on; how much of the input was used.
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let before = self.held.len();
        let mut data = std::mem::take(&mut self.held);
        data.extend_from_slice(input);
        let mut from = 0;
        while let Some((at, word)) = find_end(&data[from..]).map(|(at, word)| (from + at, word)) {
            // Within the stated length it is content, unless the filters have met their end.
            let place = self.position + at as u64;
            let is_within = self.head.length.is_some_and(|length| place < length);
            let is_asked = self.filtered_to == Some(place) || self.questions == QUESTIONS_MAX;
            if is_within && !self.pipeline.is_empty() && !is_asked {
                self.questions += 1;
                // The filters must have read all before it before that can be said.
                self.feed(&data[from..at], out);
                (self.position, self.filtered_to) = (place, Some(place));
                data.truncate(before.max(at));
                self.held = data.split_off(at);
                return at.saturating_sub(before);
            }
            let has_ended = self.filtered_to == Some(place) && !self.has_failed && self.pipeline.has_ended();
            if !is_within || has_ended {
                self.is_ending = true;
                self.look(&data[..at]);
                let end = self.content_end(&data, from, at);
                self.feed(&data[from..end], out);
                return at + word.len() - before;
            }
            self.has_early_end = true;
            self.feed(&data[from..at + word.len()], out);
            from = at + word.len();
        }
        self.look(&data);
        let keep = data.len().max(from + HELD_BYTES) - HELD_BYTES;
        self.feed(&data[from..keep], out);
        self.position += keep as u64;
        self.held = data.split_off(keep);
        input.len()
    }

    /// Looks for objects where they would be content.
    fn look(&mut self, data: &[u8]) {
        self.has_object_within |= self.pipeline.is_empty() && has_object(data);
    }

    /// Where the content before the word at that place ends: the line end before it is none of it.
    fn content_end(&self, data: &[u8], from: usize, at: usize) -> usize {
        let stated =
            self.head.length.and_then(|length| usize::try_from(length.checked_sub(self.position)?).ok());
        // No further back than what is held back for it, so that it is the same at every cut.
        match stated.filter(|end| (from.max(at.saturating_sub(2))..=at).contains(end)) {
            Some(end) if data[end..at].iter().all(|byte| is_blank(*byte)) => end,
            _ => {
                let content = &data[from..at];
                let content =
                    content.strip_suffix(b"\n").map_or(content, |c| c.strip_suffix(b"\r").unwrap_or(c));
                from + content.len()
            }
        }
    }

    /// Bytes of the stream go to the filters, or out.
    fn feed(&mut self, bytes: &[u8], out: &mut Outbox) {
        if self.pipeline.is_empty() {
            self.give(bytes, out);
        } else if !self.has_failed {
            self.pipeline.feed(bytes);
        }
    }

    fn give(&mut self, bytes: &[u8], out: &mut Outbox) {
        let room = 5 - self.begin.len().min(5);
        self.begin.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if let Some(objects) = &mut self.objects {
            objects.push(bytes);
        }
        match &mut self.predictor {
            Some(predictor) => predictor.push(bytes, &mut |row| out.bytes(row)),
            None => out.bytes(bytes),
        }
    }

    /// Undoes a piece of what is there; whether that was all.
    fn work(&mut self, out: &mut Outbox) -> bool {
        let mut room = [0; ROOM_BYTES];
        let more = if self.is_ending || self.is_cut_off { More::Ended } else { More::Follows };
        if self.has_failed || self.pipeline.is_empty() {
            return true;
        }
        match self.pipeline.run(more, &mut room) {
            Made::Bytes(made) => {
                self.give(&room[..made], out);
                false
            }
            Made::Nothing => true,
            Made::Failed => {
                self.has_failed = true;
                true
            }
        }
    }

    /// Whether two readers may see two things: one goes by the length, the other by the word.
    fn is_ambiguous(&self) -> bool {
        let is_plain = !matches!(self.head.filters.first(), Some(FilterKind::Flate | FilterKind::Lzw));
        (self.has_early_end && is_plain || self.has_object_within) && self.begin != b"%PDF-"
    }
}

/// The first word that may end a stream.
fn find_end(data: &[u8]) -> Option<(usize, &'static [u8])> {
    let mut from = 0;
    while let Some(at) = memmem::find(&data[from..], b"end").map(|at| from + at) {
        if let Some(word) = [END, END_OF_OBJECT].into_iter().find(|word| data[at..].starts_with(word)) {
            return Some((at, word));
        }
        from = at + 3;
    }
    None
}

/// Whether an object seems to begin there: `7 0 obj`.
fn has_object(data: &[u8]) -> bool {
    memmem::find_iter(data, b" obj").any(|at| {
        let is_apart = data.get(at + 4).is_some_and(|byte| is_blank(*byte) || *byte == b'<');
        is_apart && at > 0 && data[at - 1].is_ascii_digit()
    })
}

impl Pdf {
    fn objects(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let (used, is_stream) = self.objects.push(input);
        self.heed(out);
        if is_stream {
            self.place = Place::LineEnd(false);
        }
        used
    }

    /// What objects have told meanwhile.
    fn heed(&mut self, out: &mut Outbox) {
        self.has_encryption |= self.objects.has_encryption;
        let told = std::mem::take(&mut self.objects.told);
        self.is_cut |= std::mem::take(&mut self.objects.is_cut);
        self.tell(told, out);
    }

    fn tell(&mut self, told: impl IntoIterator<Item = Told>, out: &mut Outbox) {
        for one in told {
            match one {
                Told::Name(number, name) => self.name(number, name, out),
                Told::Script(script) => {
                    self.scripts += 1;
                    out.open(Entry { label: format!("script.{}", self.scripts), ..Entry::default() });
                    out.bytes(script.as_bytes());
                    out.close();
                }
            }
        }
    }

    fn name(&mut self, number: i64, name: String, out: &mut Outbox) {
        if let Some(at) = self.given.iter().position(|given| *given == number) {
            // The content has been given without it: the name follows, so that it can be judged.
            self.given.swap_remove(at);
            out.open(Entry { label: format!("object.{number}"), name: Some(name), declared: None });
            out.close();
        } else if self.names.len() < NAMES_MAX {
            self.names.push((number, name));
        }
    }

    /// The line end behind `stream` is no content.
    fn line_end(&mut self, has_return: bool, byte: u8, out: &mut Outbox) -> usize {
        match byte {
            b'\r' if !has_return => {
                self.place = Place::LineEnd(true);
                return 1;
            }
            b' ' if !has_return => return 1,
            _ => {}
        }
        self.begin_stream(out);
        usize::from(byte == b'\n')
    }

    fn begin_stream(&mut self, out: &mut Outbox) {
        let head = std::mem::take(&mut self.objects.head);
        self.streams += 1;
        let number = self.objects.number;
        let label =
            number.map_or_else(|| format!("stream.{}", self.streams), |number| format!("object.{number}"));
        let name = number.and_then(|number| self.names.iter().find(|known| known.0 == number));
        let name = name.map(|known| known.1.clone());
        if let (Some(number), None) = (number, &name)
            && self.given.len() < GIVEN_MAX
            && !head.is_table
            && !head.is_object_stream
        {
            self.given.push(number);
        }
        // Tables of where objects stand hold numbers alone.
        if !head.is_table {
            out.open(Entry { label, name, declared: None });
        }
        if head.has_too_many || head.filters.contains(&FilterKind::Unknown) {
            out.incomplete(Reason::Unsupported);
        }
        self.has_encryption |= head.filters.contains(&FilterKind::Encrypted);
        self.place = Place::Stream(Box::new(Stream::new(head)));
    }

    /// The stream has been undone to its end.
    fn end_stream(&mut self, stream: &mut Stream, out: &mut Outbox) {
        if let Some(predictor) = &mut stream.predictor {
            predictor.finish(&mut |row| out.bytes(row));
        }
        if stream.is_ambiguous() {
            out.anomaly("a PDF stream ends in two places");
        }
        out.close();
        self.is_damaged |= stream.has_failed && !stream.head.is_table;
        if let Some(objects) = stream.objects.take() {
            self.is_cut |= objects.is_cut;
            self.tell(objects.told, out);
        }
        self.objects.resume();
        self.place = Place::Objects;
    }

    fn stream(&mut self, mut stream: Box<Stream>, input: &[u8], out: &mut Outbox) -> usize {
        if input.is_empty() || stream.is_ending {
            if stream.work(out) && stream.is_ending {
                self.end_stream(&mut stream, out);
                return 0;
            }
            self.place = Place::Stream(stream);
            return 0;
        }
        let used = stream.push(input, out);
        self.place = Place::Stream(stream);
        used
    }
}

impl Parser for Pdf {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        match std::mem::replace(&mut self.place, Place::Objects) {
            Place::Objects => self.objects(input, out),
            Place::LineEnd(has_return) => {
                self.place = Place::LineEnd(has_return);
                input.first().map_or(0, |byte| self.line_end(has_return, *byte, out))
            }
            Place::Stream(stream) => self.stream(stream, input, out),
        }
    }

    fn owes(&self) -> bool {
        match &self.place {
            Place::Stream(stream) => stream.is_ending || !stream.has_failed && stream.pipeline.owes(),
            _ => false,
        }
    }

    fn end_input(&mut self, out: &mut Outbox) {
        if let Place::LineEnd(_) = self.place {
            self.begin_stream(out);
        }
        if let Place::Stream(stream) = &mut self.place {
            let held = std::mem::take(&mut stream.held);
            stream.feed(&held, out);
            stream.is_cut_off = true;
        }
    }

    fn finish(&mut self, out: &mut Outbox) {
        if let Place::Stream(mut stream) = std::mem::replace(&mut self.place, Place::Objects) {
            out.broken(Reason::Truncated);
            self.end_stream(&mut stream, out);
        }
        self.heed(out);
        // What is encrypted looks damaged to its filters.
        if self.has_encryption {
            out.incomplete(Reason::Encrypted);
        } else if self.is_damaged {
            out.incomplete(Reason::Damaged);
        }
        if self.is_cut {
            out.incomplete(Reason::Held);
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        match &self.place {
            Place::Stream(stream) if stream.pipeline.is_empty() => 300,
            Place::Stream(_) => 2 * inflate::NANOS_PER_KIB,
            _ => 5_000,
        }
    }
}

#[cfg(test)]
mod tests;
