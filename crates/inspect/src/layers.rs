//! Turns a body into parts and buffers: [`Layers`], an explicit stack of open decoders. Rule: deepest first, a bounded time per run.
//!
//! A chunk is delivered to the root; each layer's decoder gives pieces of its child, which are delivered to the layer
//! above it before the decoder goes on. Pieces that stand unchanged in the chunk are never copied: a [`Region`] says
//! where they lie.

use crate::judge::Judge;
use crate::panel::{Listening, Panel};
use crate::scratch::Scratch;
use lockgate_content::filetype::Sniffer;
use lockgate_content::{Coding, Decoder, Entry, Event, Means, More, SCRATCH_BYTES_MIN, Step};
use lockgate_model::{Budget, Buffer, FileType, Part, PartId, Reason};
use std::cmp::Ordering;
use std::sync::Arc;

const _: () = assert!(crate::scratch::SCRATCH_BYTES >= SCRATCH_BYTES_MIN);

/// What the content as a whole is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A mail, whatever its first bytes look like.
    Mail,
    /// A file of any type: its first bytes decide.
    File,
    /// A file in these content codings, the outermost first. Where a coding cannot be undone, or the coded bytes would be
    /// something else to a client that does not undo it, the content is refused.
    Coded(Vec<Coding>),
    /// A form with files in it, perhaps in content codings: its parts are as what `Content-Type` says divides them.
    Form {
        /// The codings, the outermost first.
        codings: Vec<Coding>,
        /// The values of the fields, mostly one.
        content_types: Vec<Vec<u8>>,
    },
}

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// All that was given has been worked through.
    Through,
    /// The quantum is spent and work is left.
    Busy,
}

/// How much work a run may do before it yields: the estimates of the decoders add up to about a millisecond.
pub const QUANTUM_NANOS: u64 = 1_000_000;
/// What a step costs besides its bytes.
const STEP_NANOS: u64 = 100;
/// What the engines cost for each KiB, as an estimate for the same account.
const ENGINES_NANOS_PER_KIB: u64 = 600;
/// How many times dearer than estimated work is taken to be before it has been timed: a mail that waits for its turn
/// keeps its buffers, so none waits without need.
const PACE_FIRST: u64 = 1;
/// … and at most, so that a push always does something.
const PACE_MAX: u64 = 4096;
/// Estimated work below this is too little to be timed.
const TIMED_NANOS_MIN: u64 = 1_000;
/// The least that is inspected at once.
const CHUNK_BYTES_MIN: usize = 4 << 10;
/// How much of a name goes into a path.
const LABEL_BYTES_MAX: usize = 255;

/// The open parts of one transaction, the root first.
#[derive(Debug)]
pub struct Layers {
    stack: Vec<Layer>,
    /// How the parts at the first levels are coded.
    codings: Vec<Coding>,
    /// Each `Content-Type` of a form, which the part below the codings is.
    form: Option<Vec<Vec<u8>>>,
    budget: Budget,
    means: Means,
    panel: Panel,
    parts_named: u32,
    quantum_nanos: u64,
    /// What the last push did, by the estimates alone.
    estimated_nanos: u64,
    /// How many times dearer than the estimates work has been seen to be.
    pace: u64,
    was_slow: bool,
    /// Of the chunk given last, how much was not worked through when the quantum was spent.
    chunk_rest: usize,
    is_exhausted: bool,
}

/// One open part.
struct Layer {
    part: Part,
    reading: Reading,
    listening: Listening,
    /// Bytes that the sniffer held, to be read before `pending`.
    prefix: Vec<u8>,
    prefix_read: usize,
    /// Bytes that its decoder has not used yet.
    pending: Region,
    is_ended: bool,
    /// Its decoder's output, while the layer above reads it.
    output: Option<Scratch>,
}

/// What is done with a part's bytes.
enum Reading {
    /// Its type is not known yet.
    Sniffing(Box<Sniffer>),
    /// It holds other parts.
    Decoding(Box<dyn Decoder>),
    /// Engines see it; nothing in it is decoded.
    Leaf,
    /// Over a limit: not looked at, and said so.
    Skipped,
}

/// Where bytes lie.
#[derive(Clone, Copy, Debug)]
struct Region {
    source: Source,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// In the chunk given to the run.
    Chunk,
    /// In the output of the decoder at that level.
    Output(usize),
    /// In the held prefix of the layer at that level.
    Prefix(usize),
}

impl Region {
    const EMPTY: Self = Self { source: Source::Chunk, start: 0, end: 0 };

    fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// A piece of it, counted from its start.
    fn piece(&self, range: std::ops::Range<usize>) -> Self {
        let end = (self.start + range.end).min(self.end);
        Self { source: self.source, start: (self.start + range.start).min(end), end }
    }
}

impl Layer {
    fn new(part: Part, reading: Reading) -> Self {
        Self {
            part,
            reading,
            listening: Listening::default(),
            prefix: Vec::new(),
            prefix_read: 0,
            pending: Region::EMPTY,
            is_ended: false,
            output: None,
        }
    }

    /// All bytes are worked through: a layer at rest holds its decoder and nothing else.
    fn rest(&mut self) {
        self.output = None;
        if self.prefix_read >= self.prefix.len() {
            (self.prefix, self.prefix_read) = (Vec::new(), 0);
        }
    }

    fn has_input(&self) -> bool {
        self.prefix_read < self.prefix.len() || !self.pending.is_empty()
    }

    fn has_work(&self) -> bool {
        match self.reading {
            Reading::Decoding(_) => self.is_ended || self.has_input(),
            Reading::Sniffing(_) | Reading::Leaf | Reading::Skipped => self.is_ended,
        }
    }
}

impl Layers {
    /// The root is open and has no bytes yet.
    pub fn open(root: Root, budget: Budget, means: Means, panel: Panel, judge: &mut Judge) -> Self {
        let part = Part {
            id: PartId::ROOT,
            parent: None,
            depth: 0,
            path: ".".into(),
            name: None,
            declared: None,
            detected: FileType::Data,
        };
        let mut layers = Self {
            stack: Vec::with_capacity(4),
            codings: Vec::new(),
            form: None,
            budget,
            means,
            panel,
            parts_named: 1,
            quantum_nanos: 0,
            estimated_nanos: 0,
            pace: PACE_FIRST,
            was_slow: false,
            chunk_rest: 0,
            is_exhausted: false,
        };
        layers.stack.push(Layer::new(part, Reading::Sniffing(Box::default())));
        match root {
            Root::Mail => layers.settle(0, FileType::Mail, judge),
            Root::File => {}
            Root::Coded(codings) => layers.codings = codings,
            Root::Form { codings, content_types } => {
                (layers.codings, layers.form) = (codings, Some(content_types));
            }
        }
        layers
    }

    /// Works through a chunk for a quantum. What comes back is how much of the chunk is done with; where that is not all
    /// of it, the rest is given again.
    pub fn push(&mut self, chunk: &[u8], judge: &mut Judge) -> (usize, Ran) {
        self.begin_quantum();
        let chunk = if self.chunk_rest > 0 {
            chunk.get(..self.chunk_rest).unwrap_or(chunk)
        } else {
            let chunk = chunk.get(..self.chunk_bytes()).unwrap_or(chunk);
            self.budget.receive(chunk.len());
            self.deliver(0, Region { source: Source::Chunk, start: 0, end: chunk.len() }, chunk, judge);
            chunk
        };
        let ran = self.run(chunk, judge);
        let done = if ran == Ran::Through { chunk.len() } else { self.set_aside(chunk.len()) };
        self.chunk_rest = chunk.len() - done;
        (done, ran)
    }

    /// The content has ended. Called again while it is busy.
    pub fn finish(&mut self, judge: &mut Judge) -> Ran {
        self.begin_quantum();
        let Some(root) = self.stack.first_mut() else { return Ran::Through };
        root.is_ended = true;
        let root_path = Arc::clone(&root.part.path);
        let ran = self.run(&[], judge);
        if ran == Ran::Through {
            self.panel.finish(&root_path, judge);
        }
        ran
    }

    /// More may come, and nobody waits for it: what is there decides the type of each part whose type is not certain, so
    /// that engines see all that has come.
    pub fn settle_now(&mut self, judge: &mut Judge) -> Ran {
        self.begin_quantum();
        loop {
            let is_unsure =
                |layer: &Layer| matches!(&layer.reading, Reading::Sniffing(sniffer) if sniffer.holds());
            let Some(level) = self.stack.iter().position(is_unsure) else { return Ran::Through };
            self.settle_at_end(level, judge);
            if self.run(&[], judge) == Ran::Busy {
                return Ran::Busy;
            }
        }
    }

    /// How long the last push or finish really took. Signatures and content decide that together, so the estimates are
    /// corrected by it: a slow pair is worked on in smaller pieces, and others run in between.
    pub fn took(&mut self, nanos: u64) {
        if self.estimated_nanos < TIMED_NANOS_MIN {
            return;
        }
        let seen = nanos.div_ceil(self.estimated_nanos).clamp(1, PACE_MAX);
        let is_slow = seen > self.pace;
        if !is_slow {
            self.pace = seen.max(self.pace / 2);
        } else if self.was_slow {
            self.pace = seen.min(4 * self.pace);
        }
        // A single slow push has mostly been interrupted by another program; two in a row are slow themselves.
        self.was_slow = is_slow;
    }

    fn begin_quantum(&mut self) {
        (self.quantum_nanos, self.estimated_nanos) = (QUANTUM_NANOS, 0);
    }

    /// How much is inspected at once: at the pace seen, no more than a quantum.
    fn chunk_bytes(&self) -> usize {
        let kib = QUANTUM_NANOS / (ENGINES_NANOS_PER_KIB * self.pace);
        usize::try_from(kib << 10).unwrap_or(usize::MAX).max(CHUNK_BYTES_MIN)
    }

    /// Something about the exchange itself, such as a request's host, before its content.
    pub fn about(&mut self, buffer: Buffer, bytes: &[u8], judge: &mut Judge) {
        let Some(root) = self.stack.first() else { return };
        self.panel.push(&root.part, buffer, bytes, &mut Listening::default(), judge);
        self.panel.end(&root.part, buffer, judge);
    }

    /// Whether an engine looks into it.
    pub fn wants(&self, buffer: Buffer) -> bool {
        self.panel.wants(buffer)
    }

    /// What has been used of the limits.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Runs the deepest layer that has work, again and again.
    fn run(&mut self, chunk: &[u8], judge: &mut Judge) -> Ran {
        loop {
            if self.is_exhausted {
                self.give_up_decoding(judge);
            }
            let Some(level) = self.stack.iter().rposition(Layer::has_work) else {
                self.stack.iter_mut().for_each(Layer::rest);
                return Ran::Through;
            };
            if self.quantum_nanos == 0 {
                return Ran::Busy;
            }
            match self.stack[level].reading {
                Reading::Decoding(_) => self.step(level, chunk, judge),
                Reading::Sniffing(_) => self.settle_at_end(level, judge),
                Reading::Leaf | Reading::Skipped => self.close_from(level, judge),
            }
        }
    }

    /// One step of one decoder, and what it came to.
    fn step(&mut self, level: usize, chunk: &[u8], judge: &mut Judge) {
        let layer = &mut self.stack[level];
        let Reading::Decoding(mut decoder) = std::mem::replace(&mut layer.reading, Reading::Leaf) else {
            return;
        };
        let mut output = layer.output.take().unwrap_or_else(Scratch::take);
        let (region, more) = self.input_of(level);
        let input = self.resolve(region, chunk);
        let room = self.chunk_bytes().min(output.bytes().len());
        let step = decoder.step(input, more, &mut output.bytes_mut()[..room]);
        let needs_input = step.event == Event::NeedInput;
        // A decoder that says it needs input has used all of it; taking its word for it keeps the loop finite.
        let consumed = if needs_input { input.len() } else { step.consumed.min(input.len()) };
        let given = if let Event::Output(length) = step.event { length } else { 0 };
        self.account((consumed + given) as u64, u64::from(decoder.nanos_per_kib()));
        self.spend(decoder.worked_nanos());
        self.consume(level, region.source, consumed);
        let layer = &mut self.stack[level];
        layer.reading = Reading::Decoding(decoder);
        if given > 0 {
            layer.output = Some(output);
        }
        self.heed(level, region, step, chunk, judge);
    }

    /// What a decoder said becomes parts, bytes and evidence.
    fn heed(&mut self, level: usize, region: Region, step: Step, chunk: &[u8], judge: &mut Judge) {
        match step.event {
            Event::NeedInput | Event::Working => {}
            Event::Open(entry) => self.open_child(level, *entry, judge),
            Event::Name(name) => {
                if let Some(child) = self.stack.get(level + 1) {
                    judge.also_named(&child.part, &name);
                }
            }
            Event::Input(range) => self.deliver(level + 1, region.piece(range), chunk, judge),
            Event::Output(length) => {
                let region = Region { source: Source::Output(level), start: 0, end: length };
                self.deliver(level + 1, region, chunk, judge);
            }
            Event::Side(buffer, range) => {
                let bytes = resolve(&self.stack, region.piece(range), chunk);
                let part = &self.stack[level].part;
                self.panel.push(part, buffer, bytes, &mut Listening::default(), judge);
            }
            Event::Close => self.end_child(level),
            Event::Broken(reason) => {
                self.incomplete(level, self.path_below(level), reason, judge);
                if let Some(child) = self.stack.get(level + 1) {
                    self.panel.broken(&child.part, reason);
                }
                self.end_child(level);
            }
            Event::Incomplete(reason) => self.incomplete(level, self.path_below(level), reason, judge),
            Event::Anomaly(words) => judge.anomaly(words, self.path_below(level)),
            Event::End => {
                self.end_child(level);
                let layer = &mut self.stack[level];
                layer.reading = Reading::Leaf;
                (layer.prefix_read, layer.pending) = (layer.prefix.len(), Region::EMPTY);
            }
        }
    }

    /// Bytes of a part: engines see them at once, its decoder when its turn comes.
    fn deliver(&mut self, level: usize, region: Region, chunk: &[u8], judge: &mut Judge) {
        if level >= self.stack.len() || region.is_empty() {
            return;
        }
        let length = region.end - region.start;
        if level > 0
            && let Err(reason) = self.budget.spend_decoded(length)
        {
            judge.incomplete(&self.stack[level].part.path, reason);
            self.is_exhausted = true;
            return;
        }
        if let Reading::Sniffing(mut sniffer) = self.take_sniffer(level) {
            let decided = sniffer.push(resolve(&self.stack, region, chunk));
            self.stack[level].reading = Reading::Sniffing(sniffer);
            match decided {
                None => return,
                Some(file_type) => self.settle(level, file_type, judge),
            }
        }
        self.show(level, region, chunk, judge);
        let layer = &mut self.stack[level];
        if matches!(layer.reading, Reading::Decoding(_)) {
            layer.pending = region;
        }
    }

    /// Takes a sniffer out of its layer; any other reading stays where it is, and `Skipped` comes back in its place.
    fn take_sniffer(&mut self, level: usize) -> Reading {
        let reading = &mut self.stack[level].reading;
        match reading {
            Reading::Sniffing(_) => std::mem::replace(reading, Reading::Leaf),
            _ => Reading::Skipped,
        }
    }

    /// Engines see bytes of a part.
    fn show(&mut self, level: usize, region: Region, chunk: &[u8], judge: &mut Judge) {
        if matches!(self.stack[level].reading, Reading::Skipped) {
            return;
        }
        self.account((region.end - region.start) as u64, ENGINES_NANOS_PER_KIB);
        let mut listening = self.stack[level].listening;
        let bytes = resolve(&self.stack, region, chunk);
        self.panel.push(&self.stack[level].part, Buffer::FileData, bytes, &mut listening, judge);
        self.stack[level].listening = listening;
    }

    /// A part's type is known: bans are looked up, engines and a decoder open.
    fn settle(&mut self, level: usize, file_type: FileType, judge: &mut Judge) {
        let layer = &mut self.stack[level];
        if let Reading::Sniffing(sniffer) = &mut layer.reading {
            layer.prefix = sniffer.take_prefix();
        }
        layer.part.detected = file_type;
        judge.meet(&layer.part);
        layer.listening = self.panel.open(&layer.part);
        let is_form = level == self.codings.len() && self.form.is_some();
        let is_nothing = layer.prefix.is_empty() && layer.is_ended;
        let opened = match (self.codings.get(level), &self.form) {
            // Of nothing no coding needs to be undone: the answer to HEAD has none.
            (Some(_), _) if is_nothing => Ok(None),
            (Some(coding), _) => lockgate_content::open_coded(*coding, file_type, &self.means).map(Some),
            (None, Some(_)) if is_form && is_nothing => Ok(None),
            (None, Some(content_types)) if is_form => {
                lockgate_content::open_form(content_types, file_type, &self.means).map(Some)
            }
            (None, _) => lockgate_content::open(file_type, &self.means),
        };
        let (reading, problem) = match opened {
            Ok(Some(decoder)) => (Reading::Decoding(decoder), None),
            Ok(None) => (Reading::Leaf, None),
            Err(reason) => (Reading::Leaf, Some(reason)),
        };
        layer.reading = reading;
        let prefix = Region { source: Source::Prefix(level), start: 0, end: layer.prefix.len() };
        let path = &self.stack[level].part.path;
        match problem {
            Some(_) if is_form => judge.misnamed_form(path),
            Some(reason) => self.incomplete(level, path, reason, judge),
            None => {}
        }
        if !prefix.is_empty() {
            self.show(level, prefix, &[], judge);
        }
    }

    /// A decoder could not read all of its part: where it undoes a content coding, nobody can say what the client reads.
    fn incomplete(&self, level: usize, path: &Arc<str>, reason: Reason, judge: &mut Judge) {
        match self.codings.get(level) {
            Some(_) if !reason.is_ours() => judge.miscoded(path, reason),
            _ => judge.incomplete(path, reason),
        }
    }

    /// A part has ended before its type was certain: what is there decides.
    fn settle_at_end(&mut self, level: usize, judge: &mut Judge) {
        let file_type = match &mut self.stack[level].reading {
            Reading::Sniffing(sniffer) => sniffer.end(),
            _ => return,
        };
        self.settle(level, file_type, judge);
    }

    /// A child begins, if the limits allow it.
    fn open_child(&mut self, level: usize, entry: Entry, judge: &mut Judge) {
        self.close_from(level + 1, judge);
        let parent = &self.stack[level].part;
        let part = Part {
            id: PartId(self.parts_named),
            parent: Some(parent.id),
            depth: parent.depth + 1,
            path: match level.cmp(&self.codings.len()) {
                Ordering::Less => Arc::clone(&parent.path), // The same content, its coding undone.
                Ordering::Equal => child_path(None, &entry).into(),
                Ordering::Greater => child_path(Some(parent), &entry).into(),
            },
            name: entry.name.map(Into::into),
            declared: entry.declared.map(Into::into),
            detected: FileType::Data,
        };
        self.parts_named = self.parts_named.saturating_add(1);
        if let Err(reason) = self.budget.spend_part(part.depth) {
            self.incomplete(level, &part.path, reason, judge);
            self.stack.push(Layer::new(part, Reading::Skipped));
            return;
        }
        let is_mail = matches!(part.declared.as_deref(), Some("message/rfc822" | "message/global"));
        self.stack.push(Layer::new(part, Reading::Sniffing(Box::default())));
        if is_mail {
            self.settle(level + 1, FileType::Mail, judge);
        }
    }

    fn end_child(&mut self, level: usize) {
        if let Some(child) = self.stack.get_mut(level + 1) {
            child.is_ended = true;
        }
    }

    /// Closes the layer at that level and all above it.
    fn close_from(&mut self, level: usize, judge: &mut Judge) {
        while self.stack.len() > level {
            let Some(layer) = self.stack.pop() else { return };
            if matches!(layer.reading, Reading::Sniffing(_) | Reading::Skipped) {
                continue; // No engine was told of it.
            }
            if layer.part.detected == FileType::Mail {
                self.panel.end(&layer.part, Buffer::MailHeader, judge);
            }
            self.panel.end(&layer.part, Buffer::FileData, judge);
            self.panel.close(&layer.part, judge);
        }
    }

    /// A limit of the whole transaction is met: nothing more is decoded, the root's own bytes are still looked at.
    fn give_up_decoding(&mut self, judge: &mut Judge) {
        self.is_exhausted = false;
        self.close_from(1, judge);
        if let Some(root) = self.stack.first_mut() {
            root.reading = Reading::Leaf;
            root.output = None;
            (root.prefix_read, root.pending) = (root.prefix.len(), Region::EMPTY);
        }
    }

    /// What the decoder at that level reads next, and whether its part ends with it.
    fn input_of(&self, level: usize) -> (Region, More) {
        let layer = &self.stack[level];
        if layer.prefix_read < layer.prefix.len() {
            let region =
                Region { source: Source::Prefix(level), start: layer.prefix_read, end: layer.prefix.len() };
            return (region, More::Follows);
        }
        (layer.pending, if layer.is_ended { More::Ended } else { More::Follows })
    }

    fn consume(&mut self, level: usize, source: Source, bytes: usize) {
        let layer = &mut self.stack[level];
        if source == Source::Prefix(level) {
            layer.prefix_read += bytes;
        } else {
            layer.pending.start += bytes;
        }
    }

    fn account(&mut self, bytes: u64, nanos_per_kib: u64) {
        self.spend(STEP_NANOS + bytes * nanos_per_kib / 1024);
    }

    fn spend(&mut self, nanos: u64) {
        self.estimated_nanos += nanos;
        self.quantum_nanos = self.quantum_nanos.saturating_sub(nanos.saturating_mul(self.pace));
    }

    /// The quantum is spent: how much of the chunk no layer needs any more. What is left will be given again.
    fn set_aside(&mut self, chunk_bytes: usize) -> usize {
        let in_chunk =
            |layer: &&mut Layer| layer.pending.source == Source::Chunk && !layer.pending.is_empty();
        let starts = self.stack.iter_mut().filter(in_chunk).map(|layer| layer.pending.start);
        let done = starts.min().unwrap_or(chunk_bytes);
        for layer in self.stack.iter_mut().filter(in_chunk) {
            layer.pending.start -= done;
            layer.pending.end -= done;
        }
        done
    }

    fn path_below(&self, level: usize) -> &Arc<str> {
        let layer = self.stack.get(level + 1).unwrap_or(&self.stack[level]);
        &layer.part.path
    }

    fn resolve<'a>(&'a self, region: Region, chunk: &'a [u8]) -> &'a [u8] {
        resolve(&self.stack, region, chunk)
    }
}

fn resolve<'a>(stack: &'a [Layer], region: Region, chunk: &'a [u8]) -> &'a [u8] {
    let bytes = match region.source {
        Source::Chunk => chunk,
        Source::Output(level) => stack[level].output.as_ref().map_or(&[][..], Scratch::bytes),
        Source::Prefix(level) => &stack[level].prefix,
    };
    bytes.get(region.start..region.end).unwrap_or_default()
}

/// The parent's path unless that is the content itself, the child's label, and its name where that says more.
fn child_path(parent: Option<&Part>, entry: &Entry) -> String {
    let mut path = parent.map_or_else(String::new, |parent| format!("{}/", parent.path));
    push_label(&mut path, &entry.label);
    if let Some(name) = entry.name.as_deref().filter(|name| *name != entry.label) {
        path.push('/');
        push_label(&mut path, name);
    }
    path
}

/// Hostile text goes into a path without control characters and at a bounded length.
fn push_label(path: &mut String, label: &str) {
    let from = path.len();
    for c in label.chars() {
        if path.len() - from >= LABEL_BYTES_MAX {
            path.push('…');
            return;
        }
        path.push(if c.is_control() { '\u{fffd}' } else { c });
    }
    if label.is_empty() {
        path.push('-');
    }
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layer").field("part", &self.part.path).finish_non_exhaustive()
    }
}
