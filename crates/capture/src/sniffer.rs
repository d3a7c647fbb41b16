//! From frames to events: [`Sniffer`]. Rule: what frames mean is the tracker's to say, what is said on a flow its conversation's.

use crate::conversation::{Around, Conversation, alarm_of};
use crate::eve::{Alarm, Eve, Reporting, Scene, Stats};
use crate::expected::Expected;
use crate::file::Frame;
use crate::passage::{Passage, StoppedFragments};
use crate::speech::Recorder;
use lockgate_ids::{Database, Watch};
use lockgate_inspect::{Generation, Pools};
use lockgate_model::{Direction, Reason};
use lockgate_packet::{
    Chunk, Event, Flow, FlowEnd, Gap, Interest, Observer, Packet, Place, Settings, Time, Tracker,
};
use std::io::{self, Write};
use std::sync::Arc;

/// What says something a second time, and differently.
const OVERLAPS: [Event; 3] =
    [Event::ReassemblyOverlapDifferentData, Event::Ipv4FragOverlap, Event::Ipv6FragOverlap];

/// What becomes of what rules want stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// It is told, and goes on.
    #[default]
    Told,
    /// It goes no further, nor does what follows in its flow.
    Stopped,
}

/// What becomes of connections whose beginning was not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unbegun {
    /// Rules are asked about what is seen of them.
    #[default]
    Asked,
    /// They pass unasked.
    Passed,
    /// They go no further.
    Stopped,
}

/// Who looks at what is seen.
pub struct Engines {
    /// All that is loaded, the rules among it.
    pub generation: Arc<Generation>,
    /// What may be held.
    pub pools: Pools,
    /// The rules, for packets and streams.
    pub rules: Option<Arc<Database>>,
    /// What becomes of what they want stopped.
    pub enforcement: Enforcement,
    /// What becomes of connections whose beginning was not seen.
    pub unbegun: Unbegun,
}

/// What was seen in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Flows.
    pub flows: u64,
    /// Alerts.
    pub alerts: u64,
    /// Alerts that were not told, since there were too many of a packet.
    pub alerts_untold: u64,
    /// Frames that went no further.
    pub stopped: u64,
    /// How often something could not be inspected in whole.
    pub not_inspected: u64,
}

/// Follows frames, and tells what they come to.
pub struct Sniffer<W> {
    tracker: Tracker,
    ears: Ears<W>,
}

/// What the tracker tells.
struct Ears<W> {
    engines: Engines,
    /// By the slot of their flow.
    conversations: Vec<Option<Box<Conversation>>>,
    expected: Expected,
    stray: Option<Watch>,
    alarms: Vec<Alarm>,
    eve: Eve<W>,
    seen: Summary,
    /// What becomes of the frame at hand.
    passage: Passage,
    stopped_fragments: StoppedFragments,
}

impl Engines {
    /// The same, and one that notes files.
    fn with_recorder(self) -> Self {
        let Generation { number, databases, policy, limits } = &*self.generation;
        let recorder: Arc<dyn lockgate_model::Database> = Arc::new(Recorder);
        let databases = databases.iter().cloned().chain([recorder]).collect();
        let (policy, limits) = (Arc::clone(policy), Arc::clone(limits));
        Self { generation: Arc::new(Generation { number: *number, databases, policy, limits }), ..self }
    }

    /// Whether what an alarm is about goes no further.
    pub(crate) fn stops(&self, alarm: &Alarm) -> bool {
        self.enforcement == Enforcement::Stopped && alarm.wants_stop()
    }
}

impl<W: Write> Sniffer<W> {
    /// Nothing has been seen yet; events are written to `out`.
    pub fn new(settings: Settings, engines: Engines, out: W, reporting: Reporting) -> Self {
        let engines = engines.with_recorder();
        let stray = engines.rules.as_ref().map(Watch::stray);
        let ears = Ears {
            engines,
            conversations: Vec::new(),
            expected: Expected::default(),
            stray,
            alarms: Vec::new(),
            eve: Eve::new(out, reporting),
            seen: Summary::default(),
            passage: Passage::Open,
            stopped_fragments: StoppedFragments::default(),
        };
        let observed_bytes = settings.observed_bytes + Conversation::BYTES;
        Self { tracker: Tracker::new(Settings { observed_bytes, ..settings }), ears }
    }

    /// The next file begins; its frames are counted from 1.
    pub fn begin_file(&mut self, name: &str) {
        self.ears.eve.begin_file(name);
    }

    /// What follows is seen as it happens, at this interface.
    pub fn begin_live(&mut self, name: &str) {
        self.ears.eve.begin_live(name);
    }

    /// A frame as captured. Says whether it goes on, where anybody asks.
    pub fn frame(&mut self, frame: &Frame<'_>) -> Passage {
        self.ears.passage = Passage::Open;
        self.ears.eve.now = frame.time;
        self.ears.eve.frame += 1;
        self.ears.eve.link = frame.link_number;
        self.ears.seen.frames += 1;
        self.ears.seen.bytes += frame.bytes.len() as u64;
        if frame.is_unsummed {
            self.tracker.unsummed(frame.time, frame.link, frame.bytes, &mut self.ears);
        } else {
            self.tracker.packet(frame.time, frame.link, frame.bytes, &mut self.ears);
        }
        self.ears.seen.stopped += u64::from(self.ears.passage == Passage::Closed);
        self.ears.passage
    }

    /// Nothing has come up to this time: flows that were silent for too long end.
    pub fn pass(&mut self, time: Time) {
        self.ears.eve.now = self.ears.eve.now.max(time);
        self.tracker.pass(time, &mut self.ears);
    }

    /// What has happened is written, as far as it has not been.
    ///
    /// # Errors
    ///
    /// Where an event could not be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.ears.eve.finish()
    }

    /// What was seen up to now, as an event.
    pub fn stats(&mut self, stats: Stats) {
        let seen = self.summary();
        self.ears.eve.stats(stats, seen);
    }

    fn summary(&self) -> Summary {
        let eve = &self.ears.eve;
        let (alerts, alerts_untold) = (eve.alerts(), eve.alerts_untold());
        Summary { alerts, alerts_untold, not_inspected: eve.not_inspected(), ..self.ears.seen }
    }

    /// Nothing more comes: all flows end.
    ///
    /// # Errors
    ///
    /// Where an event could not be written.
    pub fn end(mut self) -> io::Result<Summary> {
        self.tracker.end(&mut self.ears);
        self.ears.eve.finish()?;
        Ok(self.summary())
    }
}

impl<W> Ears<W> {
    /// A flow's conversation, and what it shares with others.
    fn conversation(&mut self, flow: &Flow) -> Option<(&mut Conversation, Around<'_, W>)> {
        let Self { engines, conversations, expected, eve, .. } = self;
        let conversation = conversations.get_mut(flow.slot as usize)?.as_deref_mut()?;
        Some((conversation, Around { engines, expected, eve }))
    }

    /// What becomes of the frame at hand, by a packet that is in it.
    fn pass_on(&mut self, packet: &Packet<'_>) {
        if self.engines.enforcement == Enforcement::Told {
            return;
        }
        // Of what is said twice and differently, the receiver may take what was not asked about.
        if OVERLAPS.iter().any(|event| packet.events.has(*event)) {
            self.passage = Passage::Closed;
        }
        self.passage = self.stopped_fragments.judge(packet, self.passage, self.eve.now);
    }
}

impl<W: Write> Observer for Ears<W> {
    fn flow_begins(&mut self, flow: &Flow) {
        self.seen.flows += 1;
        let slot = flow.slot as usize;
        if self.conversations.len() <= slot {
            self.conversations.resize_with(slot + 1, || None);
        }
        if let Some(place) = self.conversations.get_mut(slot) {
            *place = Some(Box::new(Conversation::new(&self.engines, flow)));
        }
    }

    fn data(&mut self, flow: &Flow, chunk: Chunk<'_>) -> Interest {
        let Some((conversation, mut around)) = self.conversation(flow) else { return Interest::Enough };
        if !conversation.is_asked() {
            return Interest::Enough;
        }
        conversation.data(flow, chunk, &mut around);
        Interest::More
    }

    fn gap(&mut self, flow: &Flow, gap: Gap) -> Interest {
        if let Some((conversation, mut around)) = self.conversation(flow) {
            conversation.gap(flow, gap, &mut around);
        }
        Interest::More
    }

    fn side_ends(&mut self, flow: &Flow, direction: Direction) {
        if let Some((conversation, mut around)) = self.conversation(flow) {
            conversation.side_ends(flow, direction, &mut around);
        }
    }

    fn packet(&mut self, packet: &Packet<'_>, place: &Place<'_>) {
        let Self { engines, conversations, expected, stray, alarms, eve, passage, .. } = self;
        let slot = place.flow.map(|flow| flow.slot as usize);
        if let Some(conversation) = slot.and_then(|slot| conversations.get_mut(slot)?.as_deref_mut()) {
            if conversation.is_asked() {
                conversation.packet(packet, place, alarms, &mut Around { engines, expected, eve });
            }
            if conversation.takes_stop() {
                *passage = Passage::Closed;
            }
            return self.pass_on(packet);
        }
        if let Some(watch) = stray {
            watch.packet(packet, place, &mut |alert| alarms.push(alarm_of(alert, place.direction)));
            if watch.takes_spent() {
                eve.incomplete_packet(packet, Reason::Work);
            }
        }
        let is_stopped = alarms.iter().any(|alarm| engines.stops(alarm));
        if is_stopped {
            *passage = Passage::Closed;
        }
        eve.begin_packet();
        for alarm in alarms.drain(..) {
            let is_blocked = engines.stops(&alarm);
            let scene = Scene { packet: Some(packet), is_blocked, is_stopped, ..Scene::of(None) };
            eve.alert(&alarm, scene, |_| {});
        }
        self.pass_on(packet);
    }

    fn flow_ends(&mut self, flow: &Flow, why: FlowEnd) {
        let Self { engines, conversations, expected, eve, .. } = self;
        if let Some(conversation) = conversations.get_mut(flow.slot as usize).and_then(Option::take) {
            conversation.ends(flow, why, &mut Around { engines, expected, eve });
        }
    }
}
