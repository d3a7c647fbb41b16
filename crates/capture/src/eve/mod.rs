//! Events as EVE JSON lines: [`Eve`]. Rule: Suricata's field names, and a line that cannot be written is said by the caller.

mod alert;
mod anomaly;
mod ends;
mod file;
mod flow;
mod stats;

pub use alert::{Alarm, Scene};
pub use ends::Ends;
pub use flow::Known;
pub use stats::Stats;

use lockgate_eve::{Object, timestamp};
use lockgate_packet::{Flow, Packet, Time};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// What is told besides alerts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Alerts alone.
    Alerts,
    /// What was said, and flows, too.
    #[default]
    All,
}

/// What an alert shows of the bytes it is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// What the rule says of itself alone.
    #[default]
    Rule,
    /// The packet and its payload, too.
    Packet,
}

/// Which proxies say for whom they ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxies {
    /// Those before the servers: the last address counts.
    OfServers,
    /// Those of the clients: the first address counts.
    OfClients,
}

/// What becomes of the address that proxies ask for (`X-Forwarded-For`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forwarded {
    /// It is not told.
    #[default]
    Untold,
    /// It is told beside the packet's addresses.
    Beside(Proxies),
    /// It is told in the place of the client's.
    Instead(Proxies),
}

/// With which transaction an alert is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transactions {
    /// That in which the rule was found.
    #[default]
    Found,
    /// Of a rule that asks of packets or the stream, the one that is at hand, where there is one alone.
    Guessed,
}

/// How events are told.
#[derive(Clone, Copy, Debug)]
pub struct Reporting {
    /// What is told besides alerts.
    pub wanted: Wanted,
    /// What an alert shows of the bytes it is about.
    pub evidence: Evidence,
    /// How many alerts are told with one packet; those of the rules that go last are only counted.
    pub alerts_max: usize,
    /// What becomes of the address that proxies ask for.
    pub forwarded: Forwarded,
    /// With which transaction an alert is told.
    pub transactions: Transactions,
}

/// How many alerts are told with one packet where nobody says otherwise, as Suricata's `packet-alert-max`.
pub const ALERTS_MAX: usize = 15;

impl Default for Reporting {
    fn default() -> Self {
        Self {
            wanted: Wanted::default(),
            evidence: Evidence::default(),
            alerts_max: ALERTS_MAX,
            forwarded: Forwarded::default(),
            transactions: Transactions::default(),
        }
    }
}

/// Where frames come from.
#[derive(Clone, Debug)]
enum Source {
    /// Nobody has said.
    Unnamed,
    /// A file.
    File(Arc<str>),
    /// What is listened to as it happens.
    Live(Arc<str>),
}

/// Where events are written.
pub struct Eve<W> {
    out: W,
    line: String,
    error: Option<io::Error>,
    reporting: Reporting,
    /// When the frame at hand was captured, and its number in its file.
    pub now: Time,
    /// Its number in its file, from 1.
    pub frame: u64,
    /// How it begins, by the number that capture files have for that.
    pub link: u32,
    source: Source,
    alerts: u64,
    /// How often something could not be inspected in whole.
    not_inspected: u64,
    /// How many alerts were not told, since there were too many of a packet.
    alerts_untold: u64,
    /// How many were told of the packet at hand.
    alerts_of_packet: usize,
}

impl<W: Write> Eve<W> {
    /// Nothing has happened yet.
    pub fn new(out: W, reporting: Reporting) -> Self {
        let line = String::with_capacity(4 << 10);
        let now = Time::default();
        Self {
            out,
            line,
            error: None,
            reporting,
            now,
            frame: 0,
            link: 1,
            source: Source::Unnamed,
            alerts: 0,
            not_inspected: 0,
            alerts_untold: 0,
            alerts_of_packet: 0,
        }
    }

    /// The next file begins.
    pub fn begin_file(&mut self, name: &str) {
        self.source = Source::File(name.into());
        self.frame = 0;
    }

    /// What follows is seen as it happens, here.
    pub fn begin_live(&mut self, name: &str) {
        self.source = Source::Live(name.into());
        self.frame = 0;
    }

    /// How many alerts were written.
    pub fn alerts(&self) -> u64 {
        self.alerts
    }

    /// How often something could not be inspected in whole, whether or not that was told.
    pub fn not_inspected(&self) -> u64 {
        self.not_inspected
    }

    /// How many were not, since there were too many of a packet.
    pub fn alerts_untold(&self) -> u64 {
        self.alerts_untold
    }

    /// The alerts that follow are of one packet, or of the end of a flow.
    pub fn begin_packet(&mut self) {
        self.alerts_of_packet = 0;
    }

    /// What was wanted is written.
    ///
    /// # Errors
    ///
    /// The first one there was.
    pub fn finish(&mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    /// Whether more than alerts is wanted.
    pub fn wants_all(&self) -> bool {
        self.reporting.wanted == Wanted::All
    }

    /// Whether alerts show what was heard.
    pub fn shows_streams(&self) -> bool {
        self.reporting.evidence == Evidence::Packet
    }

    /// Whether alerts of packets and streams are told with the one transaction that is at hand.
    pub fn guesses_transactions(&self) -> bool {
        self.reporting.transactions == Transactions::Guessed
    }

    /// One event between two ends.
    pub fn event(
        &mut self,
        kind: &str,
        ends: &Ends,
        flow: Option<&Flow>,
        packet: Option<&Packet<'_>>,
        members: impl FnOnce(&mut Object<'_>),
    ) {
        if self.error.is_some() {
            return;
        }
        let (now, frame, source) = (self.now, self.frame, &self.source);
        self.line.clear();
        Object::append(&mut self.line, |event| {
            event.shown("timestamp", timestamp::of(Duration::from_micros(now.micros)));
            if let Some(flow) = flow {
                event.number("flow_id", flow.id);
            }
            match source {
                Source::Live(name) => event.text("in_iface", name),
                Source::Unnamed | Source::File(_) if packet.is_some() => event.number("pcap_cnt", frame),
                Source::Unnamed | Source::File(_) => {}
            }
            event.text("event_type", kind);
            let vlans = packet.map(|packet| packet.vlans).or(flow.map(|flow| flow.vlans)).unwrap_or_default();
            if !vlans.ids().is_empty() {
                event.numbers("vlan", vlans.ids().iter().map(|id| u64::from(*id)));
            }
            ends.write(event);
            members(event);
            if let Source::File(name) = source {
                event.text("pcap_filename", name);
            }
        });
        self.line.push('\n');
        if let Err(error) = self.out.write_all(self.line.as_bytes()) {
            self.error = Some(error);
        }
    }
}
