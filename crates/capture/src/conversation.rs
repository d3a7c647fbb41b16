//! One flow and all that is said on it: [`Conversation`]. Rule: rules see packets as they come, protocols what the streams bring.

use crate::detect::{self, BEGINNING_BYTES_MAX, Detected};
use crate::eve::{Alarm, Eve, Known, Scene};
use crate::expected::Expected;
use crate::heard::Heard;
use crate::sniffer::{Engines, Unbegun};
use crate::speech::{Files, Inspector, Recorder, Speech, Telling, Turn};
use lockgate_ids::{Alert, FoundIn, Watch};
use lockgate_inspect::Session;
use lockgate_model::{self as model, Direction, Engine, Protocol, Reason, Security, TransactionId};
use lockgate_packet::{Chunk, Flow, FlowEnd, Gap, Packet, Place, protocol};
use lockgate_proto::dns;
use std::borrow::Cow;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

/// How many alarms of one flow may wait for the packet that they are told with.
const WAITING_MAX: usize = 1024;

/// What all flows share.
pub struct Around<'a, W> {
    /// Who looks at what is said.
    pub engines: &'a Engines,
    /// What connections are to come.
    pub expected: &'a mut Expected,
    /// Where events are written.
    pub eve: &'a mut Eve<W>,
}

/// One flow.
pub struct Conversation {
    watch: Option<Watch>,
    said: Said,
    spoken: Option<Protocol>,
    /// What files were in that, where content is read.
    files: Option<Files>,
    /// What was found in one direction waits for a packet that goes there.
    waiting: Vec<Alarm>,
    /// What was odd in one direction does, too.
    odd: Vec<(&'static str, Direction)>,
    /// What was last heard each way, where alerts show it.
    heard: Option<Box<[Heard; 2]>>,
    is_alerted: bool,
    /// What becomes of what comes.
    fate: Fate,
    /// Whether who was taken for the client is the server: the beginning was not seen, and what is said tells.
    is_turned: bool,
    /// Whether a rule wants the packet at hand stopped.
    stops_packet: bool,
}

/// What becomes of what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is asked about.
    Asked,
    /// It passes unasked.
    Passed,
    /// It goes no further.
    Stopped,
}

/// What is known of what is said.
enum Said {
    /// Not yet what it is.
    Beginning(Vec<(Direction, Vec<u8>)>),
    /// In this protocol.
    In(Speech),
}

impl Conversation {
    /// What one takes on the heap before anything is said: itself, what rules note of its flow, and the allocations.
    pub const BYTES: usize = size_of::<Self>() + size_of::<Option<Box<Self>>>() + Watch::MEMORY_BYTES + 32;

    /// A flow begins.
    pub fn new(engines: &Engines, flow: &Flow) -> Self {
        Self {
            watch: engines.rules.as_ref().map(|rules| Watch::new(rules, flow)),
            said: Said::Beginning(Vec::new()),
            spoken: None,
            files: None,
            waiting: Vec::new(),
            odd: Vec::new(),
            heard: None,
            is_alerted: false,
            fate: Fate::Asked,
            is_turned: false,
            stops_packet: false,
        }
    }

    /// Whether the packet at hand goes no further: by itself, or with all that comes.
    pub fn takes_stop(&mut self) -> bool {
        std::mem::take(&mut self.stops_packet) || self.fate == Fate::Stopped
    }

    /// Whether what comes is still asked about.
    pub fn is_asked(&self) -> bool {
        self.fate == Fate::Asked
    }

    /// The flow as it is.
    fn seen<'f>(&self, flow: &'f Flow) -> Cow<'f, Flow> {
        if !self.is_turned {
            return Cow::Borrowed(flow);
        }
        let mut turned = flow.clone();
        turned.turn_round();
        Cow::Owned(turned)
    }

    /// Which way it goes.
    fn way(&self, direction: Direction) -> Direction {
        if self.is_turned { direction.reverse() } else { direction }
    }

    /// What becomes of a connection whose beginning was not seen.
    fn judge_beginning(&mut self, engines: &Engines, flow: &Flow) {
        if flow.protocol == protocol::TCP && flow.tcp.is_none_or(|tcp| tcp.is_midstream) {
            self.fate = match engines.unbegun {
                Unbegun::Asked => Fate::Asked,
                Unbegun::Passed => Fate::Passed,
                Unbegun::Stopped => Fate::Stopped,
            };
        }
    }

    /// The next bytes of a side of its stream.
    pub fn data<W: Write>(&mut self, flow: &Flow, chunk: Chunk<'_>, around: &mut Around<'_, W>) {
        let chunk = Chunk { direction: self.way(chunk.direction), ..chunk };
        let flow = &*self.seen(flow);
        if around.eve.shows_streams() {
            let [up, down] = &mut **self.heard.get_or_insert_default();
            if chunk.direction == Direction::ToServer { up } else { down }.push(chunk.bytes);
        }
        if let Some(watch) = &mut self.watch {
            watch.data(chunk);
        }
        match &mut self.said {
            Said::In(Speech::Other) => {}
            Said::In(_) => {
                let mut turn = Turn::Stays;
                self.say(flow, around, |speech, telling| turn = speech.data(chunk, telling));
                if turn == Turn::Begins {
                    self.end_sides(flow, around);
                    self.said = Said::Beginning(Vec::new());
                }
            }
            Said::Beginning(begun) => {
                if begun.is_empty()
                    && let Some(file) = around.expected.meet(flow)
                {
                    self.spoken = Some(Protocol::FtpData);
                    let inspector = self.inspector(around.engines, flow, Protocol::FtpData);
                    self.said = Said::In(Speech::of_file(inspector, file));
                    return self.say(flow, around, |speech, telling| _ = speech.data(chunk, telling));
                }
                begun.push((chunk.direction, chunk.bytes.to_vec()));
                self.recognise(flow, around);
            }
        }
    }

    /// A datagram of its own.
    fn datagram<W: Write>(
        &mut self,
        flow: &Flow,
        direction: Direction,
        bytes: &[u8],
        around: &mut Around<'_, W>,
    ) {
        if let Said::Beginning(_) = self.said {
            let is_dns = [flow.client.port, flow.server.port].contains(&detect::DNS_PORT);
            if is_dns && dns::looks_like(bytes) {
                self.speak(around.engines, flow, Protocol::Dns, &[]);
            } else if let Detected::Spoken(spoken) = detect::of_datagram(bytes) {
                self.speak(around.engines, flow, spoken, &[]);
            } else {
                self.give_up();
            }
        }
        self.say(flow, around, |speech, telling| speech.datagram(direction, bytes, telling));
    }

    /// Bytes of a side of its stream were missed.
    pub fn gap<W: Write>(&mut self, flow: &Flow, gap: Gap, around: &mut Around<'_, W>) {
        let (direction, flow) = (self.way(gap.direction), &*self.seen(flow));
        if let Some([up, down]) = self.heard.as_deref_mut() {
            if direction == Direction::ToServer { up } else { down }.miss(gap.bytes);
        }
        if let Some(files) = &self.files {
            files.miss(direction);
        }
        match &mut self.said {
            Said::In(_) => {
                self.say(flow, around, |speech, telling| speech.gap(direction, gap.bytes, telling))
            }
            // What comes behind it may be a beginning.
            Said::Beginning(begun) => begun.retain(|(its, _)| *its != direction),
        }
    }

    /// A side of its stream has ended.
    pub fn side_ends<W: Write>(&mut self, flow: &Flow, direction: Direction, around: &mut Around<'_, W>) {
        let (direction, flow) = (self.way(direction), &*self.seen(flow));
        self.say(flow, around, |speech, telling| speech.end(direction, telling));
    }

    /// A packet, behind all that it has brought.
    pub fn packet<W: Write>(
        &mut self,
        packet: &Packet<'_>,
        place: &Place<'_>,
        alarms: &mut Vec<Alarm>,
        around: &mut Around<'_, W>,
    ) {
        let Some(flow) = place.flow else { return };
        if flow.counts.iter().map(|counts| counts.packets).sum::<u64>() <= 1 {
            self.judge_beginning(around.engines, flow);
            // The question was not captured: who answers from the port of DNS is the server.
            if flow.client.port == detect::DNS_PORT
                && flow.server.port != detect::DNS_PORT
                && packet.udp().is_some()
                && !packet.is_fragment()
                && dns::looks_like_answer(packet.payload)
            {
                self.turn(flow, around);
            }
        }
        if !self.is_asked() {
            return;
        }
        let (direction, flow) = (self.way(place.direction), &*self.seen(flow));
        let place = &Place { flow: Some(flow), direction, ..*place };
        if packet.udp().is_some() && !packet.is_fragment() && !packet.payload.is_empty() {
            self.datagram(flow, direction, packet.payload, around);
        }
        if let Some(watch) = &mut self.watch {
            self.odd.extract_if(.., |(_, its)| *its == direction).for_each(|(name, _)| watch.event(name));
            watch.packet(packet, place, &mut |alert| alarms.push(alarm_of(alert, direction)));
            if watch.takes_spent() {
                around.eve.incomplete(flow, direction, Reason::Work);
            }
        }
        alarms.extend(self.waiting.extract_if(.., |alarm| alarm.direction == direction));
        self.tell_all(alarms, flow, Some(packet), around);
        if let Said::In(speech) = &mut self.said
            && self.waiting.is_empty()
        {
            speech.forget();
            if let Some(files) = &self.files {
                files.forget();
            }
        }
    }

    /// The flow has ended.
    pub fn ends<W: Write>(mut self, flow: &Flow, why: FlowEnd, around: &mut Around<'_, W>) {
        if self.is_asked() {
            self.end_sides(flow, around);
        }
        let flow = &*self.seen(flow);
        let is_asked = self.is_asked();
        for direction in [Direction::ToServer, Direction::ToClient] {
            let mut alarms: Vec<Alarm> =
                self.waiting.extract_if(.., |alarm| alarm.direction == direction).collect();
            if let Some(watch) = self.watch.as_mut().filter(|_| is_asked) {
                self.odd.extract_if(.., |(_, its)| *its == direction).for_each(|(name, _)| watch.event(name));
                watch.end(flow, direction, &mut |alert| alarms.push(alarm_of(alert, direction)));
                if watch.takes_spent() {
                    around.eve.incomplete(flow, direction, Reason::Work);
                }
            }
            self.tell_all(&mut alarms, flow, None, around);
        }
        around.eve.flow(flow, why, Known { spoken: self.spoken, is_alerted: self.is_alerted });
    }

    fn end_sides<W: Write>(&mut self, flow: &Flow, around: &mut Around<'_, W>) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.side_ends(flow, direction, around);
        }
    }

    /// Tells what was found by one moment, the rules that go first before the others.
    fn tell_all<W: Write>(
        &mut self,
        alarms: &mut Vec<Alarm>,
        flow: &Flow,
        packet: Option<&Packet<'_>>,
        around: &mut Around<'_, W>,
    ) {
        if alarms.is_empty() {
            return;
        }
        alarms.sort_by_key(Alarm::rank);
        let is_stopped = alarms.iter().any(|alarm| around.engines.stops(alarm));
        let bits = self.watch.as_ref().map(Watch::bits).unwrap_or_default();
        around.eve.begin_packet();
        for mut alarm in alarms.drain(..) {
            if around.eve.guesses_transactions() {
                alarm.transaction = alarm.transaction.or_else(|| self.only_transaction());
            }
            let scene = Scene { is_stopped, bits: &bits, packet, flow: Some(flow), ..Scene::of(self.spoken) };
            self.tell(&alarm, scene, around);
        }
    }

    /// The transaction that is at hand, where there is one alone.
    fn only_transaction(&self) -> Option<u64> {
        if let Said::In(speech) = &self.said { speech.only_transaction() } else { None }
    }

    fn tell<W: Write>(&mut self, alarm: &Alarm, scene: Scene<'_>, around: &mut Around<'_, W>) {
        let is_blocked = around.engines.stops(alarm);
        self.is_alerted = true;
        // What is about this packet alone stops this packet alone.
        self.stops_packet |= is_blocked;
        if is_blocked && alarm.is_of_stream {
            self.fate = Fate::Stopped;
        }
        let heard = self.heard.as_deref().map(|[up, down]| match alarm.direction {
            Direction::ToServer => up.bytes(),
            Direction::ToClient => down.bytes(),
        });
        let forwarded = match &self.said {
            Said::In(speech) => speech.forwarded(alarm.transaction),
            Said::Beginning(_) => None,
        };
        let scene = Scene { heard, is_blocked, forwarded, ..scene };
        around.eve.alert(alarm, scene, |event| {
            if let (Said::In(speech), Some(transaction)) = (&self.said, alarm.transaction) {
                speech.describe(transaction, event);
                let files = self.files.as_ref().map(|files| files.of(transaction)).unwrap_or_default();
                if !files.is_empty() {
                    event.objects("files", &files, |object, file| file.write(object));
                }
            }
        });
    }

    /// Lets the speech go on, and takes what it tells.
    fn say<W: Write>(
        &mut self,
        flow: &Flow,
        around: &mut Around<'_, W>,
        go_on: impl FnOnce(&mut Speech, &mut Telling<'_, W>),
    ) {
        let Said::In(speech) = &mut self.said else { return };
        let mut odd = Vec::new();
        let Around { expected, eve, .. } = around;
        let alarms = &mut self.waiting;
        go_on(speech, &mut Telling { flow, alarms, odd: &mut odd, expected, eve });
        let lost = self.waiting.drain(self.waiting.len().min(WAITING_MAX)..).next_back();
        if let Some(alarm) = lost {
            around.eve.incomplete(flow, alarm.direction, Reason::Work);
        }
        for (name, direction) in odd {
            if self.odd.len() < WAITING_MAX {
                self.odd.push((name, direction));
                // A connection of TLS is one transaction, and so are a request and its response: what is odd about one side is
                // asked about on both.
                if matches!(self.spoken, Some(Protocol::Tls | Protocol::Http)) {
                    self.odd.push((name, direction.reverse()));
                }
            }
            around.eve.anomaly(flow, direction, self.spoken, name);
        }
        self.tell_files(flow, around);
    }

    /// Files that have ended are told.
    fn tell_files<W: Write>(&self, flow: &Flow, around: &mut Around<'_, W>) {
        let (Some(files), Said::In(speech)) = (&self.files, &self.said) else { return };
        for file in files.take_ended() {
            around.eve.file(flow, file.direction, self.spoken, |event| {
                speech.describe(file.transaction, event);
                event.object("fileinfo", |object| file.write(object));
            });
        }
    }

    /// Looks whether the beginning says what is spoken, and if so reads it.
    fn recognise<W: Write>(&mut self, flow: &Flow, around: &mut Around<'_, W>) {
        let Said::Beginning(begun) = &self.said else { return };
        let side = |direction| {
            let pieces = begun.iter().filter(|(its, _)| *its == direction);
            let bytes = pieces.flat_map(|(_, bytes)| bytes).take(BEGINNING_BYTES_MAX);
            bytes.copied().collect::<Vec<u8>>()
        };
        let (client, server) = (side(Direction::ToServer), side(Direction::ToClient));
        match detect::detect(&client, &server, flow.server.port) {
            detected @ (Detected::Unsure | Detected::Nothing) => {
                let turned = detect::detect(&server, &client, flow.client.port);
                if !self.is_turned && flow.is_midstream() && matches!(turned, Detected::Spoken(_)) {
                    self.turn(flow, around);
                } else if detected == Detected::Nothing {
                    self.give_up();
                }
            }
            Detected::Spoken(spoken) => {
                let Said::Beginning(begun) = self.speak(around.engines, flow, spoken, &client) else {
                    return;
                };
                for (direction, bytes) in begun {
                    let chunk = Chunk { direction, offset: 0, bytes: &bytes };
                    self.say(flow, around, |speech, telling| _ = speech.data(chunk, telling));
                }
            }
        }
    }

    /// Who was taken for the client is the server: what has come is heard anew.
    fn turn<W: Write>(&mut self, flow: &Flow, around: &mut Around<'_, W>) {
        self.is_turned = true;
        let flow = &*self.seen(flow);
        self.watch = around.engines.rules.as_ref().map(|rules| Watch::new(rules, flow));
        if let Said::Beginning(begun) = &mut self.said {
            let mut offsets = [0, 0];
            for (direction, bytes) in begun {
                *direction = direction.reverse();
                let offset = &mut offsets[usize::from(*direction == Direction::ToClient)];
                if let Some(watch) = &mut self.watch {
                    watch.data(Chunk { direction: *direction, offset: *offset, bytes });
                }
                *offset += bytes.len() as u64;
            }
        }
        self.recognise(flow, around);
    }

    /// It is known what is spoken, by what the client began with. Gives what was known before.
    fn speak(&mut self, engines: &Engines, flow: &Flow, spoken: Protocol, begun: &[u8]) -> Said {
        self.spoken = Some(spoken);
        let speech = match spoken {
            Protocol::Http | Protocol::Smtp | Protocol::Pop3 | Protocol::FtpData => {
                Speech::with_content(spoken, self.inspector(engines, flow, spoken), begun)
            }
            _ => Speech::plain(spoken, self.watch.as_mut().map(|watch| watch.speaks(spoken))),
        };
        std::mem::replace(&mut self.said, Said::In(speech))
    }

    fn give_up(&mut self) {
        self.said = Said::In(Speech::Other);
        self.spoken = Some(Protocol::Unknown);
        if let Some(watch) = &mut self.watch {
            let _ = watch.speaks(Protocol::Unknown);
        }
    }

    fn inspector(&mut self, engines: &Engines, flow: &Flow, spoken: Protocol) -> Inspector {
        let mut known = self.watch.as_mut().map(|watch| watch.speaks(spoken));
        let about = model::Flow {
            id: flow.id,
            protocol: spoken,
            security: Security::Clear,
            client: SocketAddr::new(flow.client.address, flow.client.port),
            server: SocketAddr::new(flow.server.address, flow.server.port),
            listener: String::new(),
        };
        let files = self.files.get_or_insert_default().clone();
        let generation = Arc::clone(&engines.generation);
        let session =
            Session::open_beside(generation, &engines.pools, about, |database| match database.engine() {
                Engine::Ids => known.take(),
                Recorder::ENGINE => Some(files.state()),
                _ => None,
            });
        Inspector { session, files }
    }
}

/// What a packet has matched.
pub fn alarm_of(alert: Alert, direction: Direction) -> Alarm {
    let transaction = match alert.found_in {
        FoundIn::Transaction(TransactionId(number)) => Some(number),
        FoundIn::Packet | FoundIn::Stream => None,
    };
    let mut alarm = Alarm::of_hit(alert.hit, transaction, direction);
    alarm.is_of_stream = alert.found_in != FoundIn::Packet;
    alarm.is_told = alert.is_told;
    alarm
}
