//! Packets as they pass: at an interface, or inline in a queue. Rule: it ends by a signal, with all that was seen told.

use super::{Listening, told};
use clap::ArgMatches;
use lockgate_capture::{
    Counts, Frame, Interface, Overload, Passage, Promiscuity, Queue, Signals, Sniffer, Stats, Waited,
};
use lockgate_packet::Time;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long it waits for packets before it looks at the clock.
const WAIT_MAX: Duration = Duration::from_millis(200);
/// How long an event may wait to be written.
const FLUSH_EVERY: Duration = Duration::from_millis(500);
/// How often it is told what was seen in all.
const STATS_EVERY: Duration = Duration::from_secs(30);
/// How many blocks, or messages, are read before the clock is looked at again.
const READS_MAX: usize = 256;

/// Where packets come from.
enum Source {
    Interface(Interface),
    Queue(Queue),
}

/// What the command line names.
enum Named<'a> {
    Interface(&'a str),
    Queue(u16),
}

/// Whether the command is about packets as they pass.
pub fn is_asked(arguments: &ArgMatches) -> bool {
    named(arguments).is_some()
}

fn named(arguments: &ArgMatches) -> Option<Named<'_>> {
    let interface = arguments.get_one::<String>("interface").map(|name| Named::Interface(name));
    interface.or_else(|| arguments.get_one::<u16>("queue").map(|number| Named::Queue(*number)))
}

/// Listens until a signal comes.
pub fn listen(
    mut sniffer: Sniffer<impl Write>,
    arguments: &ArgMatches,
    signals: &Signals,
    seconds: &AtomicU64,
) -> u8 {
    let Some(named) = named(arguments) else { return crate::report::EXIT_WRONG };
    let name = match named {
        Named::Interface(name) => name.to_owned(),
        Named::Queue(number) => format!("nfqueue:{number}"),
    };
    sniffer.begin_live(&name);
    let outcome = Source::open(&named, arguments).map_err(|error| error.to_string()).and_then(|source| {
        eprintln!("lockgate: {name}: listening");
        Live { source, begun: Instant::now(), flushed: Instant::now(), counted: Instant::now() }
            .run(&mut sniffer, signals, seconds)
            .map_err(|error| error.to_string())
    });
    let listening = match outcome {
        Ok(counts) if counts.drops > 0 => {
            eprintln!("lockgate: {name}: {} of {} packets were lost unseen", counts.drops, counts.packets);
            Listening::Done
        }
        Ok(_) => Listening::Done,
        Err(error) => {
            eprintln!("lockgate: {name}: {error}");
            Listening::Broken
        }
    };
    told(sniffer.end(), listening)
}

impl Source {
    fn open(named: &Named<'_>, arguments: &ArgMatches) -> io::Result<Self> {
        match named {
            Named::Interface(name) => {
                let promiscuity =
                    if arguments.get_flag("no-promisc") { Promiscuity::Own } else { Promiscuity::All };
                let mib = arguments.get_one::<u32>("ring").copied().unwrap_or_default();
                Interface::open(name, promiscuity, (mib as usize) << 20).map(Self::Interface)
            }
            Named::Queue(number) => {
                let overload =
                    if arguments.get_flag("bypass") { Overload::Passed } else { Overload::Dropped };
                Queue::open(*number, overload).map(Self::Queue)
            }
        }
    }

    fn wait(&self, signals: &Signals) -> io::Result<Waited> {
        match self {
            Self::Interface(interface) => interface.wait(signals, WAIT_MAX),
            Self::Queue(queue) => queue.wait(signals, WAIT_MAX),
        }
    }

    /// Hands over what is there, but no more than comes at once. `false` where nothing is.
    fn read(&mut self, mut judge: impl FnMut(Frame<'_>) -> Passage) -> io::Result<bool> {
        match self {
            Self::Interface(interface) => Ok(interface.read(|frame| _ = judge(frame))),
            Self::Queue(queue) => queue.read(now(), judge),
        }
    }

    fn counts(&mut self) -> Counts {
        match self {
            Self::Interface(interface) => interface.counts(),
            Self::Queue(queue) => queue.counts(),
        }
    }
}

/// A source that is listened to.
struct Live {
    source: Source,
    begun: Instant,
    /// When events were last written.
    flushed: Instant,
    /// When it was last told what was seen in all.
    counted: Instant,
}

impl Live {
    fn run(
        mut self,
        sniffer: &mut Sniffer<impl Write>,
        signals: &Signals,
        seconds: &AtomicU64,
    ) -> io::Result<Counts> {
        loop {
            let waited = self.source.wait(signals)?;
            let mut reads = 0;
            // What was there when the signal came is looked at, what comes behind it is not.
            while reads < READS_MAX
                && self.source.read(|frame| {
                    seconds.store(frame.time.micros / 1_000_000, Ordering::Relaxed);
                    sniffer.frame(&frame)
                })?
            {
                reads += 1;
            }
            if waited == Waited::Nothing {
                let now = now();
                seconds.store(now.micros / 1_000_000, Ordering::Relaxed);
                sniffer.pass(now);
            }
            let is_over = waited == Waited::Ended;
            if is_over || self.counted.elapsed() >= STATS_EVERY {
                self.counted = Instant::now();
                self.tell_stats(sniffer);
            }
            if is_over {
                return Ok(self.source.counts());
            }
            if waited == Waited::Nothing || self.flushed.elapsed() >= FLUSH_EVERY {
                self.flushed = Instant::now();
                sniffer.flush()?;
            }
        }
    }

    fn tell_stats(&mut self, sniffer: &mut Sniffer<impl Write>) {
        let Counts { packets, drops } = self.source.counts();
        let uptime = self.begun.elapsed();
        sniffer.stats(Stats { uptime, kernel_packets: packets, kernel_drops: drops });
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
