//! A connection on the wire: [`Watch`]. Rule: packets and streams are asked here; what protocols make of them, by transactions.

use crate::database::{Compiled, Database};
use crate::decision::Decision;
use crate::evaluate::{Answer, Piece, Variables, holds_with};
use crate::flow::{Connection, Facts, locked};
use crate::kinds::Class;
use crate::memory::Memory;
use crate::packets::asked::{Asked, Occasion, Reads};
use crate::packets::groups::{Carrier, Group};
use crate::packets::headers;
use crate::packets::side::{Side, payload_holds};
use crate::ruleset::bits::FlowState as State;
use crate::ruleset::header::Protocol;
use crate::ruleset::sticky::Sticky;
use crate::search::{Search, Searches};
use crate::thresholds::Pair;
use lockgate_model::{self as model, Buffer, Direction, FlowState, Hit, PartId, TransactionId, Wish};
use lockgate_packet::{Chunk, Flow, Ip, Origin, Packet, Place, Tcp, Transport, Verdict, tcp_flag};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

/// What all rules together may cost for one packet, in steps: some two milliseconds.
const STEPS_OF_PACKET_MAX: u64 = 100_000;
/// IANA, "Protocol Numbers".
const IGMP: u8 = 2;
/// How many events of protocols may wait for their packet.
const EVENTS_MAX: usize = 64;

/// A rule that a packet has matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Which rule, and where.
    pub hit: Hit,
    /// In what it was found.
    pub found_in: FoundIn,
    /// Whether it is to be told: a rule may stop what it matches and say nothing of it.
    pub is_told: bool,
}

/// In what a rule was found that a packet has matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundIn {
    /// The packet itself.
    Packet,
    /// The stream that it belongs to.
    Stream,
    /// This transaction, whose packet had the last word.
    Transaction(TransactionId),
}

/// One connection on the wire, or all packets that belong to none.
pub struct Watch {
    database: Arc<Database>,
    facts: Facts,
    memory: Arc<Mutex<Memory>>,
    /// What goes to the server, what goes to the client.
    sides: [Option<Box<Side>>; 2],
    /// Whether a packet of that side has been asked about addresses alone.
    is_begun: [bool; 2],
    /// Whether a packet of that side has been asked about what is spoken alone.
    is_known: [bool; 2],
    /// Events of the protocol since the last packet.
    events: Vec<Box<str>>,
    /// Of the rules that have no pattern, those that are about the flow at all, once a second packet of that side comes.
    standing: [Option<Box<[u32]>>; 2],
    /// What each side is searched for, once something was.
    sought: [Option<Sought>; 2],
    /// Whether a rule lets the whole flow pass.
    is_passed: bool,
    /// Whether a rule was not asked for want of room or steps, since somebody last wanted to know.
    is_spent: bool,
}

/// What one side of a flow is searched for.
#[derive(Clone, Default)]
struct Sought {
    packet: Option<Arc<Search>>,
    stream: Option<Arc<Search>>,
}

/// A packet, or the end of a flow, and what rules want to know of it.
struct Moment<'m, 'p> {
    packet: Option<&'m Packet<'p>>,
    flow: Option<&'m Flow>,
    direction: Direction,
    is_established: bool,
    /// Whether its payload belongs to the stream.
    is_in_stream: bool,
    source: Option<SocketAddr>,
    destination: Option<SocketAddr>,
    carrier: Carrier,
}

/// A rule that is asked at a moment, and what that may cost.
struct Ask<'a, 'm, 'p> {
    database: &'a Database,
    moment: &'a Moment<'m, 'p>,
    steps: &'a mut u64,
    variables: Variables,
    /// Whether the steps were not enough.
    is_spent: bool,
}

/// A rule that may hold, and where its contents have been found already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rule: u32,
    found: Found,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// In the stream.
    InStream(Option<u64>),
    /// In what a protocol made of it.
    InContent(Option<u64>, u64),
    /// Its pattern alone, in the packet.
    Pattern,
    /// Nothing was looked for.
    Nothing,
    /// Nor that, and it is about packets between these two.
    Standing,
}

fn at(direction: Direction) -> usize {
    usize::from(direction == Direction::ToClient)
}

impl Watch {
    /// What is kept of a flow beside this before anything is said.
    pub const MEMORY_BYTES: usize = size_of::<Mutex<Memory>>() + 2 * size_of::<usize>();

    /// A flow begins.
    pub fn new(database: &Arc<Database>, flow: &Flow) -> Self {
        let client = SocketAddr::new(flow.client.address, flow.client.port);
        let server = SocketAddr::new(flow.server.address, flow.server.port);
        let protocol = model::Protocol::Unknown;
        Self::of(
            database,
            Facts {
                id: flow.id,
                protocol,
                is_recognised: false,
                carrier: Carrier::of_number(flow.protocol),
                client,
                server: Some(server),
                has_packets: true,
            },
        )
    }

    /// For packets that belong to no flow.
    pub fn stray(database: &Arc<Database>) -> Self {
        let nobody = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let protocol = model::Protocol::Unknown;
        Self::of(
            database,
            Facts {
                id: 0,
                protocol,
                is_recognised: false,
                carrier: Carrier::Other,
                client: nobody,
                server: None,
                has_packets: true,
            },
        )
    }

    fn of(database: &Arc<Database>, facts: Facts) -> Self {
        Self {
            database: Arc::clone(database),
            facts,
            memory: Arc::default(),
            sides: [None, None],
            is_begun: [false; 2],
            is_known: [false; 2],
            events: Vec::new(),
            standing: [None, None],
            sought: [None, None],
            is_passed: false,
            is_spent: false,
        }
    }

    /// It is known now what is spoken, or it has changed. For the transactions of that protocol: what rules note of the flow
    /// is shared by them and the packets.
    pub fn speaks(&mut self, protocol: model::Protocol) -> Box<dyn FlowState> {
        (self.facts.protocol, self.facts.is_recognised) = (protocol, true);
        self.is_known = [false; 2];
        let (database, memory) = (Arc::clone(&self.database), Arc::clone(&self.memory));
        Box::new(Connection::sharing(database, self.facts, memory))
    }

    /// An event of the protocol, as `app-layer-event` names it (`http.missing_host_header`), before the packet that brought it.
    pub fn event(&mut self, name: &str) {
        if self.events.len() >= EVENTS_MAX {
            self.is_spent = true;
        } else if !self.database.groups.with_protocol_event(name).is_empty() {
            self.events.push(name.into());
        }
    }

    /// Whether a rule was not asked for want of room or steps: what has come since this was last said is not inspected in whole.
    pub fn takes_spent(&mut self) -> bool {
        std::mem::take(&mut self.is_spent)
    }

    /// Bytes of the stream, next in their order, before the packet that brought them.
    pub fn data(&mut self, chunk: Chunk<'_>) {
        let direction = chunk.direction;
        if self.is_passed || !self.database.groups.follows_streams(direction) {
            return;
        }
        let search = self.sought(Carrier::Tcp, direction).stream.clone();
        let Self { database, facts, sides, .. } = self;
        // What is spoken may be known only later: the packet is asked about that.
        let concerns = |rule: u32| facts.is_way_of(&database.rules[rule as usize], direction);
        let side = sides[at(direction)].get_or_insert_default();
        side.push(database, search.as_deref(), (chunk.offset, chunk.bytes, true), &concerns);
    }

    /// What its packets of that direction are searched for, and what they bring to its stream.
    fn sought(&mut self, carrier: Carrier, direction: Direction) -> &Sought {
        let Self { database, facts, sought, .. } = self;
        sought[at(direction)].get_or_insert_with(|| {
            let ends = facts.ends(direction);
            let kind = database.kinds.of(Class { spoken: None, carrier, direction, ends });
            let is_between = |rule: u32| database.rules[rule as usize].header.is_between(ends[0], ends[1]);
            let group = database.groups.of(carrier, direction);
            let search = |number, all: &Searches| match &kind {
                Some(kind) => kind.search(number, all, &is_between),
                None => all.whole(),
            };
            Sought { packet: search(0, &group.packet), stream: search(1, &group.stream) }
        })
    }

    /// A packet, behind all that it has brought.
    pub fn packet(&mut self, packet: &Packet<'_>, place: &Place<'_>, tell: &mut dyn FnMut(Alert)) {
        let (from, to) = ports_of(packet);
        let address = |address: Option<IpAddr>, port| address.map(|its| SocketAddr::new(its, port));
        let moment = Moment {
            packet: Some(packet),
            flow: place.flow,
            direction: place.direction,
            is_established: place.is_established,
            is_in_stream: place.segment == Verdict::Taken && packet.tcp().is_some_and(is_read),
            source: address(packet.ip.as_ref().map(Ip::source), from),
            destination: address(packet.ip.as_ref().map(Ip::destination), to),
            carrier: Carrier::of(&packet.transport),
        };
        self.ask(&moment, tell);
    }

    /// The flow ends: what has come that way is all there is.
    pub fn end(&mut self, flow: &Flow, direction: Direction, tell: &mut dyn FnMut(Alert)) {
        let (client, server) = (Some(self.facts.client), self.facts.server);
        let is_up = direction == Direction::ToServer;
        let (source, destination) = if is_up { (client, server) } else { (server, client) };
        let moment = Moment {
            packet: None,
            flow: Some(flow),
            direction,
            is_established: true,
            is_in_stream: false,
            source,
            destination,
            carrier: Carrier::Tcp,
        };
        self.ask(&moment, tell);
    }

    /// The bits that are set in the flow now, by their names.
    pub fn bits(&self) -> Vec<Arc<str>> {
        let memory = locked(&self.memory);
        memory.bits().filter_map(|bit| self.database.names.get(bit as usize).cloned()).collect()
    }

    /// Every rule that the moment may be about is asked, in the order in which they go before each other.
    fn ask(&mut self, moment: &Moment<'_, '_>, tell: &mut dyn FnMut(Alert)) {
        if self.is_passed {
            return;
        }
        let database = Arc::clone(&self.database);
        let group = database.groups.of(moment.carrier, moment.direction);
        let found = self.candidates(&database, group, moment);
        let mut steps = STEPS_OF_PACKET_MAX;
        let standing = moment.packet.map(|_| self.standing(&database, group, moment)).unwrap_or_default();
        let mut unsearched = standing.iter().copied().peekable();
        let mut found = found.into_iter().peekable();
        let mut is_passed = false;
        loop {
            let candidate = match (found.peek(), unsearched.peek()) {
                (Some(one), other) if other.is_none_or(|other| one.rule <= *other) => found.next(),
                _ => unsearched.next().map(|rule| Candidate { rule, found: Found::Standing }),
            };
            let Some(candidate) = candidate else { break };
            let Some(alert) = self.judge(&database, moment, candidate, &mut steps) else { continue };
            match alert.hit.signature.as_ref().map(|its| its.wish) {
                Some(Wish::Pass) => {
                    is_passed = true;
                    self.is_passed |= alert.found_in != FoundIn::Packet;
                    if database.rules[candidate.rule as usize].is_told_of_pass {
                        tell(alert);
                    }
                    break;
                }
                _ => tell(alert),
            }
        }
        let side = at(moment.direction);
        if moment.is_of_one_way() && self.is_begun[side] {
            self.standing[side] = Some(standing);
        }
        if moment.flow.is_some() && !is_passed {
            self.is_begun[side] = true;
            self.is_known[side] |= self.facts.is_recognised;
        }
        if let Some(side) = &mut self.sides[side] {
            side.is_new = false;
            self.is_spent |= std::mem::take(&mut side.is_spent);
        }
        self.events.clear();
    }

    /// Of the rules that have no pattern, those that may be about what goes between these two.
    fn standing(&mut self, database: &Database, group: &Group, moment: &Moment<'_, '_>) -> Box<[u32]> {
        let known = self.standing[at(moment.direction)].take().filter(|_| moment.is_of_one_way());
        known.unwrap_or_else(|| {
            let is_between = |rule: &u32| {
                let header = &database.rules[*rule as usize].header;
                header.is_between(moment.source, moment.destination)
            };
            let ends = [moment.source, moment.destination];
            let mut standing = group.unsearched.about(database.groups.ends.as_ref(), ends);
            standing.retain(is_between);
            standing.sort_unstable();
            standing.dedup();
            standing.into()
        })
    }

    /// The rules of which something was found, each once.
    fn candidates(&mut self, database: &Database, group: &Group, moment: &Moment<'_, '_>) -> Vec<Candidate> {
        let mut found = Vec::new();
        if let Some(side) = &mut self.sides[at(moment.direction)] {
            let ready = side.take_ready().into_iter();
            found.extend(ready.map(|one| Candidate { rule: one.rule, found: Found::InStream(one.offset) }));
        }
        if moment.flow.is_some() {
            let mut memory = locked(&self.memory);
            let waiting = memory.take_waiting(moment.direction);
            found.extend(waiting.map(|one| Candidate {
                rule: one.rule,
                found: Found::InContent(one.offset, one.transaction.0),
            }));
        }
        let nothing = |rule: &u32| Candidate { rule: *rule, found: Found::Nothing };
        if moment.packet.is_some() && (moment.flow.is_none() || !self.is_begun[at(moment.direction)]) {
            let ends = [moment.source, moment.destination];
            found.extend(group.firsts.about(database.groups.ends.as_ref(), ends).iter().map(nothing));
        }
        for event in &self.events {
            found.extend(database.groups.with_protocol_event(event).iter().map(nothing));
        }
        if let Some(packet) = moment.packet {
            for event in packet.events.iter() {
                found.extend(database.groups.with_event(event).iter().map(nothing));
            }
            if !packet.payload.is_empty() {
                self.search(group, moment, packet.payload, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup_by_key(|candidate| candidate.rule);
        found
    }

    /// The rules whose patterns are in a payload.
    fn search(&mut self, group: &Group, moment: &Moment<'_, '_>, payload: &[u8], found: &mut Vec<Candidate>) {
        let sought = match moment.is_of_one_way() {
            true => self.sought(moment.carrier, moment.direction).clone(),
            false => Sought { packet: group.packet.whole(), stream: group.stream.whole() },
        };
        search(sought.packet.as_deref(), payload, found);
        if moment.carrier == Carrier::Tcp && !moment.is_in_stream {
            search(sought.stream.as_deref(), payload, found);
        }
    }

    /// Whether a rule holds, and is to be told.
    fn judge(
        &mut self,
        database: &Database,
        moment: &Moment<'_, '_>,
        candidate: Candidate,
        steps: &mut u64,
    ) -> Option<Alert> {
        let rule = &database.rules[candidate.rule as usize];
        let asked = rule.asked.as_ref()?;
        let is_between = || {
            candidate.found == Found::Standing || rule.header.is_between(moment.source, moment.destination)
        };
        if !self.concerns(moment, rule) || !is_between() || !self.is_occasion(moment, asked) {
            return None;
        }
        let mut ask = Ask { database, moment, steps, variables: Variables::default(), is_spent: false };
        let are_headers = self.headers_hold(&mut ask, rule, asked);
        let held = are_headers.then(|| self.contents_hold(&mut ask, candidate, asked)).flatten();
        self.is_spent |= ask.is_spent;
        let (offset, found_in) = held?;
        let pair = Pair {
            source: moment.source.map_or(self.facts.client.ip(), |its| its.ip()),
            destination: moment.destination.map_or(self.facts.client.ip(), |its| its.ip()),
            flow: self.facts.id,
        };
        let decision = database.decide(candidate.rule, &mut locked(&self.memory), pair);
        let (wish, is_told) = match decision {
            Decision::Told(wish) => (wish, true),
            Decision::Silent(wish @ (Wish::Stop | Wish::Pass)) => (wish, false),
            Decision::Silent(Wish::Tell) | Decision::TooFew | Decision::NotNow => return None,
        };
        let found_in =
            if asked.is_of_flow && found_in == FoundIn::Packet { FoundIn::Stream } else { found_in };
        Some(Alert { is_told, hit: rule.hit(PartId::ROOT, Buffer::Payload, offset, wish), found_in })
    }

    /// Whether a rule is about packets of such a flow.
    fn concerns(&self, moment: &Moment<'_, '_>, rule: &Compiled) -> bool {
        let flow = &rule.flow;
        let is_flow = moment.flow.is_some();
        let state = match flow.state {
            Some(State::Established) => is_flow && moment.is_established,
            Some(State::NotEstablished) => is_flow && !moment.is_established,
            Some(State::Stateless) | None => true,
        };
        let way = flow.direction.is_none_or(|wanted| is_flow && wanted == moment.direction);
        let is_rebuilt = moment.packet.is_some_and(|packet| packet.origin == Origin::Rebuilt);
        state
            && way
            && flow.is_fragmented.is_none_or(|wanted| wanted == is_rebuilt)
            && moment.is_of(rule.header.protocol)
            && self.facts.is_application(rule)
    }

    fn is_occasion(&self, moment: &Moment<'_, '_>, asked: &Asked) -> bool {
        let side = at(moment.direction);
        match asked.occasion {
            Occasion::Packet => true,
            Occasion::FirstOfSide => moment.flow.is_none() || !self.is_begun[side],
            Occasion::ProtocolKnown => !self.is_known[side],
        }
    }

    fn headers_hold(&self, ask: &mut Ask<'_, '_, '_>, rule: &Compiled, asked: &Asked) -> bool {
        let Ask { database, moment, steps, variables, is_spent } = ask;
        let packet_holds =
            |test| moment.packet.is_some_and(|packet| headers::holds(test, packet, moment.flow));
        let own = rule.lists.iter().zip(0..).filter(|(_, bit)| asked.lists & 1 << bit != 0);
        let mut of_headers = own.map(|(list, _)| (list, database.views.sticky(list.view)));
        asked.tests.iter().all(packet_holds)
            && asked.stream_sizes.iter().all(|size| headers::size_holds(*size, moment.flow))
            && (asked.events.is_empty() || asked.events.iter().any(|event| self.events.contains(event)))
            && of_headers.all(|(list, sticky)| {
                let bytes = moment.packet.and_then(|packet| headers::header(sticky, packet));
                sticky == Sticky::Payload
                    || bytes.is_some_and(|bytes| {
                        let answer =
                            holds_with(&list.tests, &list.of_decoded, Piece::whole(&bytes), steps, variables);
                        *is_spent |= answer == Answer::Spent;
                        matches!(answer, Answer::Yes { .. })
                    })
            })
    }

    /// Where the contents of the payload are, if they are there.
    fn contents_hold(
        &self,
        ask: &mut Ask<'_, '_, '_>,
        candidate: Candidate,
        asked: &Asked,
    ) -> Option<(Option<u64>, FoundIn)> {
        let Ask { database, moment, steps, variables, is_spent } = ask;
        if let Found::InStream(offset) = candidate.found {
            return Some((offset, FoundIn::Stream));
        }
        let rule = &database.rules[candidate.rule as usize];
        let is_payload = |view| database.views.sticky(view) == Sticky::Payload;
        if !rule.lists.iter().any(|list| is_payload(list.view)) {
            return match candidate.found {
                Found::InContent(offset, of) => Some((offset, FoundIn::Transaction(TransactionId(of)))),
                _ => Some((None, FoundIn::Packet)),
            };
        }
        let mut in_piece = |piece| match payload_holds(database, candidate.rule, piece, steps, variables) {
            Answer::Yes { offset } => Some(offset),
            Answer::No => None,
            Answer::Spent => {
                *is_spent = true;
                None
            }
        };
        let found_in = |place| match candidate.found {
            Found::InContent(_, of) => FoundIn::Transaction(TransactionId(of)),
            _ => place,
        };
        // A rule whose pattern is searched has been asked of the stream when it was found there.
        let is_late = candidate.found != Found::Pattern && asked.reads != Reads::Packet;
        let side =
            self.sides[at(moment.direction)].as_deref().filter(|side| side.is_new || is_content(&candidate));
        if let Some(side) = side.filter(|_| is_late && moment.carrier == Carrier::Tcp)
            && let Some(offset) = in_piece(side.piece())
        {
            return Some((offset, found_in(FoundIn::Stream)));
        }
        let packet = moment.packet?;
        match asked.reads {
            Reads::StreamOnly => None,
            Reads::Stream if moment.is_in_stream => None,
            _ => in_piece(Piece::whole(packet.payload)).map(|offset| (offset, found_in(FoundIn::Packet))),
        }
    }
}

fn is_content(candidate: &Candidate) -> bool {
    matches!(candidate.found, Found::InContent(..))
}

/// Whether what a segment brings is read as a part of the stream: what a RST brings never is, what a SYN does by TCP Fast Open.
fn is_read(tcp: &Tcp<'_>) -> bool {
    !tcp.has(tcp_flag::RST) && (!tcp.has(tcp_flag::SYN) || tcp.options().fast_open.is_some())
}

/// The rules whose patterns are in a payload.
fn search(search: Option<&Search>, payload: &[u8], found: &mut Vec<Candidate>) {
    let Some(search) = search else { return };
    let patterns = search.whole(payload);
    if !patterns.is_empty() {
        found.extend(search.rules(&patterns).map(|rule| Candidate { rule, found: Found::Pattern }));
    }
}

fn ports_of(packet: &Packet<'_>) -> (u16, u16) {
    match &packet.transport {
        Transport::Tcp(tcp) => (tcp.source(), tcp.destination()),
        Transport::Udp(udp) => (udp.source(), udp.destination()),
        Transport::Sctp(sctp) => (sctp.source(), sctp.destination()),
        Transport::None | Transport::Icmp4(_) | Transport::Icmp6(_) => (0, 0),
    }
}

impl Moment<'_, '_> {
    /// Whether all packets of its flow that go its way have the same addresses and ports: not so where somebody on the way
    /// speaks by ICMP.
    fn is_of_one_way(&self) -> bool {
        self.flow.is_some() && matches!(self.carrier, Carrier::Tcp | Carrier::Udp)
    }

    /// Whether it is of the protocol that a rule is about, as far as packets say.
    fn is_of(&self, protocol: Protocol) -> bool {
        let Some(packet) = self.packet else { return true };
        match protocol {
            Protocol::PacketHeader => true,
            Protocol::Ip => packet.ip.is_some(),
            Protocol::Ipv4 => matches!(packet.ip, Some(Ip::V4(_))),
            Protocol::Ipv6 => matches!(packet.ip, Some(Ip::V6(_))),
            Protocol::Sctp => matches!(packet.transport, Transport::Sctp(_)),
            // The group is of the others.
            Protocol::Tcp | Protocol::TcpPacket | Protocol::TcpStream => self.carrier == Carrier::Tcp,
            Protocol::Udp => self.carrier == Carrier::Udp,
            Protocol::Icmp => self.carrier == Carrier::Icmp,
            Protocol::Icmpv4 => matches!(packet.transport, Transport::Icmp4(_)),
            Protocol::Icmpv6 => matches!(packet.transport, Transport::Icmp6(_)),
            Protocol::Igmp => packet.ip.as_ref().is_some_and(|ip| ip.protocol() == IGMP),
            _ => true,
        }
    }
}
