//! What is written down: EVE JSON lines and the log for people, by one writer thread. Rule: a connection never waits for
//! the writer; what does not fit its queue is counted, and the count is written down.
//!
//! [`Events`] is the way in, [`record`] and [`tls`] make the lines, [`timestamp`] their time.

pub mod record;
pub mod timestamp;
pub mod tls;

pub use record::{Action, Http, Mail, Record};
pub use tls::{Passage, Tls};

use crate::settings::EventsTo;
use lockgate_model::Flow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant, SystemTime};

/// The way in for everybody who has something to tell; clones share one queue.
#[derive(Clone, Debug)]
pub struct Events {
    queue: Option<SyncSender<Message>>,
    dropped: Arc<AtomicU64>,
    /// Whether EVE lines go anywhere: those that do not are not even made.
    has_readers: Arc<AtomicBool>,
}

/// What the writer is told.
#[derive(Debug)]
enum Message {
    /// A line of JSON, without its end.
    Eve(String),
    /// A line for people, without its end.
    Log(String),
    /// Open where events go anew, or elsewhere.
    Reopen(EventsTo),
    /// Say when everything before this is written.
    Flush(SyncSender<()>),
}

impl Events {
    /// Nothing is written: for tests, and for those who do not serve.
    pub fn nowhere() -> Self {
        Self { queue: None, dropped: Arc::default(), has_readers: Arc::default() }
    }

    /// Opens where events go and starts the writer.
    pub fn open(to: &EventsTo, waiting_max: usize) -> io::Result<Self> {
        let (queue, messages) = sync_channel(waiting_max);
        let has_readers = Arc::new(AtomicBool::new(*to != EventsTo::Nowhere));
        let events = Self { queue: Some(queue), dropped: Arc::default(), has_readers };
        let writer = Writer::new(open_sink(to)?, Arc::clone(&events.dropped));
        std::thread::Builder::new().name("events".into()).spawn(move || writer.run(&messages))?;
        Ok(events)
    }

    /// One transaction's verdict, with its evidence: an EVE `verdict` and an `alert` for each finding; a line for people
    /// unless it passed in peace.
    pub fn verdict(&self, record: &Record<'_>) {
        if self.queue.is_none() {
            return;
        }
        if self.has_readers.load(Ordering::Relaxed) {
            for line in record.eve(SystemTime::now()) {
                self.send(Message::Eve(line));
            }
        }
        if let Some(line) = record.log() {
            self.log(&line);
        }
    }

    /// What became of TLS that came: an EVE `tls` event, and a line for people where it came to no good end.
    pub fn tls(&self, flow: &Flow, tls: &Tls<'_>) {
        if self.queue.is_none() {
            return;
        }
        if self.has_readers.load(Ordering::Relaxed) {
            self.send(Message::Eve(tls.eve(flow, SystemTime::now())));
        }
        if let Some(line) = tls.log(flow) {
            self.log(&line);
        }
    }

    /// A line for people.
    pub fn log(&self, line: &str) {
        self.send(Message::Log(format!("{} {line}", timestamp::of(SystemTime::now()))));
    }

    /// Something that happened to the gateway itself, such as a reload: an EVE `lockgate` event and a line for people.
    pub fn notice(&self, what: &str, details: &str) {
        self.send(Message::Eve(record::notice(SystemTime::now(), what, details)));
        self.log(&format!("{what}: {details}"));
    }

    /// Figures about the gateway itself: an EVE `stats` event.
    pub fn stats(&self, figures: &[(&str, u64)]) {
        let dropped = [("events_dropped", self.dropped())];
        self.send(Message::Eve(record::stats(SystemTime::now(), figures.iter().chain(&dropped))));
    }

    /// Opens where events go anew: after log rotation, or because the configuration has changed.
    pub fn reopen(&self, to: &EventsTo) {
        self.has_readers.store(*to != EventsTo::Nowhere, Ordering::Relaxed);
        self.send(Message::Reopen(to.clone()));
    }

    /// Waits until what was sent before is written: before the process ends.
    pub fn flush(&self, patience: Duration) {
        let (done, written) = sync_channel(1);
        let Some(queue) = &self.queue else { return };
        let start = Instant::now();
        let mut message = Message::Flush(done);
        // The queue may be full at this moment; whoever flushes has time.
        while let Err(TrySendError::Full(back)) = queue.try_send(message) {
            if start.elapsed() > patience {
                return;
            }
            message = back;
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = written.recv_timeout(patience.saturating_sub(start.elapsed()));
    }

    /// How many lines did not fit the queue so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn send(&self, message: Message) {
        let Some(queue) = &self.queue else { return };
        if queue.try_send(message).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Where EVE lines end up.
enum Sink {
    Nowhere,
    Stderr,
    File(File),
}

fn open_sink(to: &EventsTo) -> io::Result<Sink> {
    match to {
        EventsTo::Nowhere => Ok(Sink::Nowhere),
        EventsTo::Stderr => Ok(Sink::Stderr),
        EventsTo::File(path) => {
            // Envelopes are nobody else's business.
            let open = OpenOptions::new().append(true).create(true).mode(0o640).open(path);
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            open.map(Sink::File).map_err(named)
        }
    }
}

/// How much is gathered before it is written; what waits longer is written when the queue is empty.
const BATCH_BYTES: usize = 64 << 10;
/// How long the first line waits for others to be written with it: short beside `waiting_max` lines of any load.
const GATHERED_FOR: Duration = Duration::from_millis(2);

/// The writer thread.
struct Writer {
    sink: Sink,
    batch: Vec<u8>,
    /// Whether the last write ended in the middle of a line.
    is_torn: bool,
    /// Lines lost because they could not be written; said once for each series.
    lost: u64,
    dropped: Arc<AtomicU64>,
    dropped_said: u64,
}

impl Writer {
    fn new(sink: Sink, dropped: Arc<AtomicU64>) -> Self {
        Self { sink, batch: Vec::new(), is_torn: false, lost: 0, dropped, dropped_said: 0 }
    }

    /// Until every [`Events`] is gone.
    fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(first) = messages.recv() {
            self.take(first);
            // Under load each line would wake this thread, at the cost of those who send it, and be a write of its own.
            std::thread::sleep(GATHERED_FOR);
            while let Ok(next) = messages.try_recv() {
                self.take(next);
            }
            self.say_dropped();
            self.write_out();
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Eve(line) => {
                self.batch.extend_from_slice(line.as_bytes());
                self.batch.push(b'\n');
                if self.batch.len() >= BATCH_BYTES {
                    self.write_out();
                }
            }
            Message::Log(line) => eprint_line(&line),
            Message::Reopen(to) => {
                self.write_out();
                match open_sink(&to) {
                    Ok(sink) => (self.sink, self.is_torn) = (sink, false),
                    Err(error) => eprint_line(&format!("events go on where they went before: {error}")),
                }
            }
            Message::Flush(done) => {
                self.say_dropped();
                self.write_out();
                let _ = done.try_send(());
            }
        }
    }

    fn say_dropped(&mut self) {
        let dropped = self.dropped.load(Ordering::Relaxed);
        if dropped > self.dropped_said {
            let details = format!("{} lines did not fit the queue", dropped - self.dropped_said);
            self.dropped_said = dropped;
            self.batch
                .extend_from_slice(record::notice(SystemTime::now(), "events dropped", &details).as_bytes());
            self.batch.push(b'\n');
            eprint_line(&format!("events dropped: {details}"));
        }
    }

    fn write_out(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let result = match &mut self.sink {
            Sink::Nowhere => Ok(()),
            Sink::Stderr => io::stderr().write_all(&self.batch),
            Sink::File(file) => {
                let end_of_torn = if self.is_torn { &b"\n"[..] } else { b"" };
                file.write_all(end_of_torn).and_then(|()| file.write_all(&self.batch))
            }
        };
        match result {
            Ok(()) => {
                self.is_torn = false;
                if self.lost > 0 {
                    eprint_line(&format!("events are written again; {} lines are lost", self.lost));
                    self.lost = 0;
                }
            }
            Err(error) => {
                // A full disk may have taken part of a line; the next one must not be glued to it.
                self.is_torn = true;
                if self.lost == 0 {
                    eprint_line(&format!("events cannot be written: {error}; mail goes on without them"));
                }
                self.lost += self.batch.iter().filter(|c| **c == b'\n').count() as u64;
            }
        }
        self.batch.clear();
        self.batch.shrink_to(BATCH_BYTES);
    }
}

/// A line to standard error, as one write; one that cannot be written is gone.
fn eprint_line(line: &str) {
    let mut bytes = line.as_bytes().to_vec();
    bytes.push(b'\n');
    let _ = io::stderr().write_all(&bytes);
}

#[cfg(test)]
mod tests;
