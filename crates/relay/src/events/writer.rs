//! The thread that writes: [`Writer`]. Rule: a line is written whole or counted as lost, and a disk that is full under one file
//! takes nothing from the others.

use super::{Counts, Destinations, record};
use crate::settings::EventsTo;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, SystemTime};

/// How much is gathered before it is written; what waits longer is written when the queue is empty.
const BATCH_BYTES: usize = 64 << 10;
/// How long the first line waits for others to be written with it: short beside `waiting_max` lines of any load.
const GATHERED_FOR: Duration = Duration::from_millis(2);

/// What the writer is told.
#[derive(Debug)]
pub(super) enum Message {
    /// A line of JSON, without its end.
    Eve(String),
    /// A line of the access log, without its end.
    Access(String),
    /// A line for people, without its end.
    Log(String),
    /// Open where events go anew, or elsewhere.
    Reopen(Destinations),
    /// Say when everything before this is written.
    Flush(SyncSender<()>),
}

/// The writer thread.
pub(super) struct Writer {
    pub eve: Output,
    pub access: Output,
    counts: Arc<Counts>,
    dropped_said: u64,
}

impl Writer {
    /// Opens both; neither may fail.
    pub fn open(to: &Destinations, counts: Arc<Counts>) -> io::Result<Self> {
        let eve = Output::new("events", open_sink(&to.eve)?);
        let access = Output::new("the access log", open_sink(&to.access)?);
        Ok(Self { eve, access, counts, dropped_said: 0 })
    }

    /// Until every [`Events`](super::Events) is gone.
    pub fn run(mut self, messages: &Receiver<Message>) {
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

    pub fn take(&mut self, message: Message) {
        match message {
            Message::Eve(line) => self.eve.add(&line, &self.counts),
            Message::Access(line) => self.access.add(&line, &self.counts),
            Message::Log(line) => eprint_line(&line),
            Message::Reopen(to) => {
                self.write_out();
                self.eve.reopen(&to.eve);
                self.access.reopen(&to.access);
            }
            Message::Flush(done) => {
                self.say_dropped();
                self.write_out();
                let _ = done.try_send(());
            }
        }
    }

    fn say_dropped(&mut self) {
        let dropped = self.counts.dropped.load(Ordering::Relaxed);
        if dropped > self.dropped_said {
            let details = format!("{} lines did not fit the queue", dropped - self.dropped_said);
            self.dropped_said = dropped;
            let notice = record::notice(SystemTime::now(), "events dropped", &details);
            self.eve.add(&notice, &self.counts);
            eprint_line(&format!("events dropped: {details}"));
        }
    }

    pub fn write_out(&mut self) {
        self.eve.write_out(&self.counts);
        self.access.write_out(&self.counts);
    }
}

/// One file, and what waits to be written to it.
pub(super) struct Output {
    name: &'static str,
    sink: Sink,
    batch: Vec<u8>,
    /// Whether the last write ended in the middle of a line.
    pub is_torn: bool,
    /// Lines lost because they could not be written; said once for each series.
    pub lost: u64,
}

/// Where lines end up.
pub(super) enum Sink {
    Nowhere,
    Stderr,
    File(File),
}

impl Output {
    pub fn new(name: &'static str, sink: Sink) -> Self {
        Self { name, sink, batch: Vec::new(), is_torn: false, lost: 0 }
    }

    fn add(&mut self, line: &str, counts: &Counts) {
        self.batch.extend_from_slice(line.as_bytes());
        self.batch.push(b'\n');
        if self.batch.len() >= BATCH_BYTES {
            self.write_out(counts);
        }
    }

    fn reopen(&mut self, to: &EventsTo) {
        match open_sink(to) {
            Ok(sink) => (self.sink, self.is_torn) = (sink, false),
            Err(error) => eprint_line(&format!("{} go on where they went before: {error}", self.name)),
        }
    }

    fn write_out(&mut self, counts: &Counts) {
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
                    let (name, lost) = (self.name, self.lost);
                    eprint_line(&format!("{name}: written again; {lost} lines are lost"));
                    self.lost = 0;
                }
            }
            Err(error) => {
                // A full disk may have taken part of a line; the next one must not be glued to it.
                self.is_torn = true;
                if self.lost == 0 {
                    let name = self.name;
                    eprint_line(&format!("{name}: cannot be written: {error}; traffic goes on without"));
                }
                let lines = self.batch.iter().filter(|c| **c == b'\n').count() as u64;
                self.lost += lines;
                counts.lost.fetch_add(lines, Ordering::Relaxed);
            }
        }
        self.batch.clear();
        self.batch.shrink_to(BATCH_BYTES);
    }
}

pub(super) fn open_sink(to: &EventsTo) -> io::Result<Sink> {
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

/// A line to standard error, as one write; one that cannot be written is gone.
fn eprint_line(line: &str) {
    let mut bytes = line.as_bytes().to_vec();
    bytes.push(b'\n');
    let _ = io::stderr().write_all(&bytes);
}
