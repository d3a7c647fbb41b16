//! The files that a flow carries: [`Files`], noted by an engine that finds nothing, the [`Recorder`]. Rule: what is noted is bounded; a file is
//! told once, when it has ended.

use lockgate_eve::Object;
use lockgate_model::{
    Buffer, BufferSet, Database, Direction, Engine, Flow, FlowState, Part, PartId, Reason, Scanner, Sink,
    Transaction, Want,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many files of one flow are noted at a time.
const FILES_MAX: usize = 64;
/// How much of a name is noted.
const NAME_BYTES_MAX: usize = 1 << 10;

/// What is a file in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carries {
    /// Nothing: it is another reading of what is noted already.
    #[default]
    Nothing,
    /// What it brings, behind so many content codings.
    Content(u16),
    /// What has a name: attachments, uploads.
    Named,
}

/// The files of one flow.
#[derive(Clone, Default)]
pub struct Files(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    files: Vec<File>,
    /// The number of the message that began last, and what is a file in it.
    message: u64,
    carries: Carries,
    /// The number of the message that was cut last.
    cut: u64,
}

/// One file.
#[derive(Clone, Debug)]
pub struct File {
    /// Which transaction of the flow it is in, from 0.
    pub transaction: u64,
    /// Which way it went.
    pub direction: Direction,
    name: Option<String>,
    bytes: u64,
    /// Whether some of it was missed.
    has_gaps: bool,
    state: State,
    is_told: bool,
    /// The message and the part of it that it is.
    place: (u64, PartId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Whole,
    Cut,
}

impl Files {
    /// A message begins: its number.
    pub fn begin(&self, carries: Carries) -> u64 {
        let mut noted = self.noted();
        noted.message += 1;
        noted.carries = carries;
        noted.message
    }

    /// Nothing more of a message will be seen.
    pub fn cut(&self, message: u64) {
        let mut noted = self.noted();
        noted.cut = message;
        noted.end(message, None);
    }

    /// Bytes of a side were missed.
    pub fn miss(&self, direction: Direction) {
        let mut noted = self.noted();
        let open =
            noted.files.iter_mut().filter(|file| file.direction == direction && file.state == State::Open);
        open.for_each(|file| file.has_gaps = true);
    }

    /// The engine's state for the flow.
    pub fn state(&self) -> Box<dyn FlowState> {
        Box::new(self.clone())
    }

    /// Those that have ended, as far as they have not been told.
    pub fn take_ended(&self) -> Vec<File> {
        let mut noted = self.noted();
        let ended = noted.files.iter_mut().filter(|file| !file.is_told && file.state != State::Open);
        let told = ended.map(|file| {
            file.is_told = true;
            file.clone()
        });
        told.collect()
    }

    /// The files of a transaction, for an alert.
    pub fn of(&self, transaction: u64) -> Vec<File> {
        self.noted().files.iter().filter(|file| file.transaction == transaction).cloned().collect()
    }

    /// What has been told needs to be known no longer.
    pub fn forget(&self) {
        self.noted().files.retain(|file| !file.is_told);
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Noted {
    /// A message's files have ended, or the one that is that part.
    fn end(&mut self, message: u64, part: Option<PartId>) {
        let state = if self.cut == message { State::Cut } else { State::Whole };
        let is_meant = |file: &&mut File| {
            file.place.0 == message
                && part.is_none_or(|part| part == file.place.1)
                && file.state == State::Open
        };
        self.files.iter_mut().filter(is_meant).for_each(|file| file.state = state);
    }
}

impl File {
    /// As events have it.
    pub fn write(&self, object: &mut Object<'_>) {
        object.text_if("filename", self.name.as_deref());
        object.flag("gaps", self.has_gaps);
        let state = match self.state {
            State::Open => "UNKNOWN",
            State::Whole => "CLOSED",
            State::Cut => "TRUNCATED",
        };
        object.text("state", state);
        object.flag("stored", false);
        object.number("size", self.bytes);
        object.number("tx_id", self.transaction);
    }
}

/// The engine. Its state for a flow is the flow's [`Files`].
pub struct Recorder;

impl Recorder {
    /// What it goes by among engines: files are what decoders make of content.
    pub const ENGINE: Engine = Engine::Content;
}

impl Database for Recorder {
    fn engine(&self) -> Engine {
        Self::ENGINE
    }

    fn wants(&self) -> BufferSet {
        BufferSet::EMPTY.with(Buffer::FileData)
    }

    fn open_flow(self: Arc<Self>, _flow: &Flow) -> Box<dyn FlowState> {
        Files::default().state()
    }
}

impl FlowState for Files {
    fn open(&mut self, about: &Transaction) -> Box<dyn Scanner> {
        let (message, carries) = {
            let noted = self.noted();
            (noted.message, noted.carries)
        };
        Box::new(Noting {
            files: self.clone(),
            message,
            carries,
            transaction: about.id.0,
            direction: about.direction,
            name: about.name.as_deref().map(shortened),
            within: Vec::new(),
        })
    }
}

/// One message.
struct Noting {
    files: Files,
    message: u64,
    carries: Carries,
    transaction: u64,
    direction: Direction,
    /// What the file is called where it is all that the message brings.
    name: Option<String>,
    /// The open parts that are files, and those in them.
    within: Vec<PartId>,
}

impl Noting {
    fn is_file(&self, part: &Part) -> bool {
        match self.carries {
            Carries::Nothing => false,
            Carries::Content(depth) => part.depth == depth,
            Carries::Named => part.name.is_some(),
        }
    }

    /// What becomes of a file that has been noted.
    fn change(&self, part: PartId, change: impl FnOnce(&mut File)) {
        let place = (self.message, part);
        if let Some(file) = self.files.noted().files.iter_mut().find(|file| file.place == place) {
            change(file);
        }
    }
}

impl Scanner for Noting {
    fn open(&mut self, part: &Part) -> Want {
        if part.parent.is_some_and(|parent| self.within.contains(&parent)) {
            // What is in a file is not sent by itself.
            self.within.push(part.id);
            return Want::Done;
        }
        if !self.is_file(part) {
            return Want::Done;
        }
        self.within.push(part.id);
        let mut noted = self.files.noted();
        if noted.files.len() >= FILES_MAX {
            return Want::Done;
        }
        noted.files.push(File {
            transaction: self.transaction,
            direction: self.direction,
            name: part.name.as_deref().map(shortened).or_else(|| self.name.clone()),
            bytes: 0,
            has_gaps: false,
            state: State::Open,
            is_told: false,
            place: (self.message, part.id),
        });
        Want::More
    }

    fn push(&mut self, part: PartId, _buffer: Buffer, chunk: &[u8], _sink: &mut dyn Sink) -> Want {
        self.change(part, |file| file.bytes += chunk.len() as u64);
        Want::More
    }

    fn broken(&mut self, part: PartId, _reason: Reason) {
        self.change(part, |file| file.state = State::Cut);
    }

    fn end(&mut self, _part: PartId, _buffer: Buffer, _sink: &mut dyn Sink) {}

    fn close(&mut self, part: PartId, _sink: &mut dyn Sink) {
        if let Some(at) = self.within.iter().rposition(|within| *within == part) {
            self.within.truncate(at);
            self.files.noted().end(self.message, Some(part));
        }
    }

    fn finish(&mut self, _sink: &mut dyn Sink) {}
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.files.cut(self.message);
        // A message without content brought no file.
        let message = self.message;
        self.files.noted().files.retain(|file| file.place.0 != message || file.bytes > 0 || file.is_told);
    }
}

fn shortened(name: &str) -> String {
    let end = (0..=NAME_BYTES_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    name.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}
