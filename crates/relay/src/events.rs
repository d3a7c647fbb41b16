//! What is written down: EVE JSON lines, an access log and the log for people, by one writer thread. Rule: a connection never
//! waits for the writer; what does not fit its queue is counted, and the count is written down.
//!
//! [`Events`] is the way in, [`record`], [`tls`] and [`access`] make the lines, `lockgate_eve` the form of those in JSON, [`timestamp`]
//! their time, and `writer` writes them.

pub mod access;
pub mod record;
pub mod timestamp;
pub mod tls;
mod writer;

pub use access::Visit;
pub use record::{Action, Http, Mail, Record};
pub use tls::{Passage, Tls};

use crate::settings::EventsTo;
use lockgate_model::Flow;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant, SystemTime};
use writer::{Message, Writer};

/// Where lines of each sort go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destinations {
    /// EVE JSON.
    pub eve: EventsTo,
    /// A line for each web exchange, as Squid writes it.
    pub access: EventsTo,
}

/// The way in for everybody who has something to tell; clones share one queue.
#[derive(Clone, Debug)]
pub struct Events {
    queue: Option<SyncSender<Message>>,
    counts: Arc<Counts>,
}

/// What the way in and the writer know of each other.
#[derive(Debug, Default)]
struct Counts {
    /// Lines that did not fit the queue.
    dropped: AtomicU64,
    /// Lines that could not be written.
    lost: AtomicU64,
    /// Whether EVE lines go anywhere: those that do not are not even made.
    has_eve: AtomicBool,
    /// The same of the access log.
    has_access: AtomicBool,
}

impl Counts {
    fn say_where(&self, to: &Destinations) {
        self.has_eve.store(to.eve != EventsTo::Nowhere, Ordering::Relaxed);
        self.has_access.store(to.access != EventsTo::Nowhere, Ordering::Relaxed);
    }
}

impl Events {
    /// Nothing is written: for tests, and for those who do not serve.
    pub fn nowhere() -> Self {
        Self { queue: None, counts: Arc::default() }
    }

    /// Opens where events go and starts the writer.
    pub fn open(to: &Destinations, waiting_max: usize) -> io::Result<Self> {
        let (queue, messages) = sync_channel(waiting_max);
        let events = Self { queue: Some(queue), counts: Arc::default() };
        events.counts.say_where(to);
        let writer = Writer::open(to, Arc::clone(&events.counts))?;
        std::thread::Builder::new().name("events".into()).spawn(move || writer.run(&messages))?;
        Ok(events)
    }

    /// One transaction's verdict, with its evidence: an EVE `verdict` and an `alert` for each finding; a line for people
    /// unless it passed in peace.
    pub fn verdict(&self, record: &Record<'_>) {
        if self.queue.is_none() {
            return;
        }
        if self.counts.has_eve.load(Ordering::Relaxed) {
            for line in record.eve(SystemTime::now()) {
                self.send(Message::Eve(line));
            }
        }
        if let Some(line) = record.log() {
            self.log(&line);
        }
    }

    /// Whether the access log goes anywhere: lines that do not need not be made.
    pub fn has_access_log(&self) -> bool {
        self.queue.is_some() && self.counts.has_access.load(Ordering::Relaxed)
    }

    /// What became of TLS that came: an EVE `tls` event, and a line for people where it came to no good end.
    pub fn tls(&self, flow: &Flow, tls: &Tls<'_>) {
        if self.queue.is_none() {
            return;
        }
        if self.counts.has_eve.load(Ordering::Relaxed) {
            self.send(Message::Eve(tls.eve(flow, SystemTime::now())));
        }
        if let Some(line) = tls.log(flow) {
            self.log(&line);
        }
    }

    /// One web exchange or tunnel has ended: a line of the access log.
    pub fn visit(&self, visit: &Visit<'_>) {
        if self.has_access_log() {
            self.send(Message::Access(visit.line(SystemTime::now())));
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
        let own = [("events_dropped", self.dropped()), ("events_lost", self.lost())];
        self.send(Message::Eve(record::stats(SystemTime::now(), figures.iter().chain(&own))));
    }

    /// Opens where events go anew: after log rotation, or because the configuration has changed.
    pub fn reopen(&self, to: &Destinations) {
        self.counts.say_where(to);
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
        self.counts.dropped.load(Ordering::Relaxed)
    }

    /// How many lines could not be written so far: a full disk, most of the time.
    pub fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }

    fn send(&self, message: Message) {
        let Some(queue) = &self.queue else { return };
        if queue.try_send(message).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
