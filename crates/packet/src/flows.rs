//! All flows there are: [`Flows`]. Rule: as many as there is room for; who was silent longest, of those least worth, goes first.

use crate::flow::{Counts, Endpoint, Flow, FlowState};
use crate::ip::protocol;
use crate::packet::{Packet, Vlans};
use crate::stream::Session;
use crate::time::Time;
use crate::transport::Transport;
use lockgate_model::Direction;
use std::collections::HashMap;
use std::time::Duration;

/// How long flows stay without a packet, by protocol: new, established, closed.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// TCP.
    pub tcp: [Duration; 3],
    /// UDP.
    pub udp: [Duration; 3],
    /// ICMP.
    pub icmp: [Duration; 3],
    /// Others.
    pub other: [Duration; 3],
}

impl Default for Timeouts {
    /// Suricata's.
    fn default() -> Self {
        let seconds = |each: [u64; 3]| each.map(Duration::from_secs);
        Self {
            tcp: seconds([60, 600, 60]),
            udp: seconds([30, 300, 0]),
            icmp: seconds([30, 300, 0]),
            other: seconds([30, 300, 0]),
        }
    }
}

/// Lists of flows by how long they may stay: four protocols, three states each.
const CLASSES: usize = 12;

/// In which order classes give way when there is no more room: closed, then new, then established; UDP and TCP alike.
const LEAST_WORTH: [usize; CLASSES] = [2, 5, 8, 11, 0, 3, 6, 9, 4, 7, 10, 1];

/// What a flow takes besides its session, and what is kept of it elsewhere: its entry, its key, and the table's slack.
const FLOW_BYTES: usize = size_of::<Entry>() + 2 * size_of::<(Key, u32)>();
/// What a connection takes besides its bytes.
const SESSION_BYTES: usize = size_of::<Session>() + 16;

/// What all packets of a flow share, whichever way they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    low: Endpoint,
    high: Endpoint,
    protocol: u8,
    vlans: Vlans,
    depth: u8,
}

/// A flow in the table.
pub(crate) struct Entry {
    pub(crate) flow: Flow,
    pub(crate) session: Option<Box<Session>>,
    /// The memory that the session's bytes take, as counted.
    pub(crate) held_bytes: usize,
    key: Key,
    class: usize,
    by_age: Links,
    by_holding: Links,
}

/// A place in a list.
#[derive(Clone, Copy, Default)]
struct Links {
    before: Option<u32>,
    after: Option<u32>,
}

/// A list of slots, the longest silent first.
#[derive(Clone, Copy, Default)]
struct List {
    first: Option<u32>,
    last: Option<u32>,
}

/// Which of an entry's links belong to a list.
type LinksOf = fn(&mut Entry) -> &mut Links;

/// From whom and to whom a packet is.
pub(crate) struct Between {
    source: Endpoint,
    destination: Endpoint,
    key: Key,
}

/// All flows.
pub(crate) struct Flows {
    slots: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_key: HashMap<Key, u32>,
    by_class: [List; CLASSES],
    holding: List,
    timeouts: Timeouts,
    next_id: u64,
    sessions: usize,
    /// What one takes besides its session.
    flow_bytes: usize,
    bytes_max: usize,
}

impl Between {
    /// Of a packet; `None` where no flows are kept of its protocol.
    pub(crate) fn of(packet: &Packet<'_>, vlans: Vlans) -> Option<Self> {
        if !packet.has_flow() {
            return None;
        }
        let ip = packet.ip.as_ref()?;
        let (from, to) = match &packet.transport {
            Transport::Icmp4(icmp) | Transport::Icmp6(icmp) => {
                // What none answers is told apart by its code.
                (u16::from(icmp.kind()), u16::from(icmp.counterpart().unwrap_or(icmp.code())))
            }
            _ => packet.ports().unwrap_or_default(),
        };
        let source = Endpoint { address: ip.source(), port: from };
        let destination = Endpoint { address: ip.destination(), port: to };
        Some(Self::new(source, destination, ip.protocol(), vlans, packet.depth))
    }

    /// Of the packet that an error message of ICMP quotes.
    pub(crate) fn of_quoted(packet: &Packet<'_>, vlans: Vlans) -> Option<Self> {
        let quoted = packet.quoted()?;
        let source = Endpoint { address: quoted.source, port: quoted.ports.0 };
        let destination = Endpoint { address: quoted.destination, port: quoted.ports.1 };
        Some(Self::new(source, destination, quoted.protocol, vlans, packet.depth))
    }

    fn new(source: Endpoint, destination: Endpoint, protocol: u8, vlans: Vlans, depth: u8) -> Self {
        let (low, high) = if source <= destination { (source, destination) } else { (destination, source) };
        Self { source, destination, key: Key { low, high, protocol, vlans, depth } }
    }
}

impl Flows {
    pub(crate) fn new(timeouts: Timeouts, observed_bytes: usize, bytes_max: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            by_class: [List::default(); CLASSES],
            holding: List::default(),
            timeouts,
            next_id: 1,
            sessions: 0,
            flow_bytes: FLOW_BYTES + observed_bytes,
            bytes_max,
        }
    }

    /// The flow between these two, and which way this goes.
    pub(crate) fn find(&self, between: &Between) -> Option<(u32, Direction)> {
        let slot = *self.by_key.get(&between.key)?;
        let client = self.get(slot)?.flow.client;
        Some((slot, if client == between.source { Direction::ToServer } else { Direction::ToClient }))
    }

    /// A new flow; there must be none between these two.
    pub(crate) fn begin(&mut self, between: &Between, packet: &Packet<'_>, time: Time) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let flow = Flow {
            id: self.next_id,
            slot,
            client: between.source,
            server: between.destination,
            protocol: between.key.protocol,
            vlans: packet.vlans,
            depth: packet.depth,
            state: FlowState::New,
            counts: [Counts::default(); 2],
            started: time,
            last: time,
            tcp: None,
            icmp: packet.icmp().map(|icmp| (icmp.kind(), icmp.code())),
        };
        self.next_id += 1;
        let class = class(flow.protocol, flow.state);
        let entry = Entry {
            flow,
            session: None,
            held_bytes: 0,
            key: between.key,
            class,
            by_age: Links::default(),
            by_holding: Links::default(),
        };
        self.slots[slot as usize] = Some(entry);
        self.by_key.insert(between.key, slot);
        append(&mut self.by_class[class], &mut self.slots, slot, by_age);
        slot
    }

    /// A packet of a flow came.
    pub(crate) fn count(&mut self, slot: u32, direction: Direction, bytes: usize, time: Time) {
        let Some(entry) = self.get_mut(slot) else { return };
        let counts = &mut entry.flow.counts[usize::from(direction == Direction::ToClient)];
        counts.packets += 1;
        counts.bytes += bytes as u64;
        entry.flow.last = entry.flow.last.max(time);
        let both = entry.flow.counts.iter().all(|counts| counts.packets > 0);
        if both && entry.flow.protocol != protocol::TCP {
            entry.flow.state = FlowState::Established;
        }
        self.refresh(slot);
    }

    /// Puts a flow at the end of the list that its state belongs to.
    pub(crate) fn refresh(&mut self, slot: u32) {
        let Some(entry) = self.get_mut(slot) else { return };
        let now = class(entry.flow.protocol, entry.flow.state);
        let before = std::mem::replace(&mut entry.class, now);
        remove(&mut self.by_class[before], &mut self.slots, slot, by_age);
        append(&mut self.by_class[now], &mut self.slots, slot, by_age);
    }

    /// A flow has a connection that is followed.
    pub(crate) fn follow(&mut self, slot: u32, session: Session) {
        self.sessions += 1;
        if let Some(entry) = self.get_mut(slot) {
            entry.session = Some(Box::new(session));
        }
    }

    /// Notes the memory that a flow's bytes take; says what it took before.
    pub(crate) fn hold(&mut self, slot: u32, bytes: usize) -> usize {
        let Some(entry) = self.get_mut(slot) else { return 0 };
        let before = std::mem::replace(&mut entry.held_bytes, bytes);
        if before > 0 {
            remove(&mut self.holding, &mut self.slots, slot, by_holding);
        }
        if bytes > 0 {
            append(&mut self.holding, &mut self.slots, slot, by_holding);
        }
        before
    }

    /// Of those that hold bytes, the one that was silent longest.
    pub(crate) fn longest_holding(&self) -> Option<u32> {
        self.holding.first
    }

    /// A flow that has been silent for too long.
    pub(crate) fn timed_out(&self, now: Time) -> Option<u32> {
        (0..CLASSES).find_map(|class| {
            let slot = self.by_class[class].first?;
            let silent = now.since(self.get(slot)?.flow.last);
            (silent > self.timeout(class)).then_some(slot)
        })
    }

    /// The flow that gives way, where they take more room than they may.
    pub(crate) fn surplus(&self, but: Option<u32>) -> Option<u32> {
        if self.taken_bytes() <= self.bytes_max {
            return None;
        }
        let firsts = LEAST_WORTH.iter().filter_map(|class| self.by_class[*class].first);
        firsts.into_iter().find(|slot| Some(*slot) != but)
    }

    /// Any flow.
    pub(crate) fn any(&self) -> Option<u32> {
        self.by_class.iter().find_map(|list| list.first)
    }

    /// Takes a flow out.
    pub(crate) fn take(&mut self, slot: u32) -> Option<Entry> {
        let (class, holds) = self.get(slot).map(|entry| (entry.class, entry.held_bytes > 0))?;
        remove(&mut self.by_class[class], &mut self.slots, slot, by_age);
        if holds {
            remove(&mut self.holding, &mut self.slots, slot, by_holding);
        }
        let entry = self.slots.get_mut(slot as usize)?.take()?;
        self.by_key.remove(&entry.key);
        self.sessions -= usize::from(entry.session.is_some());
        self.free.push(slot);
        Some(entry)
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Entry> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The memory that they take, without the bytes of streams.
    pub(crate) fn taken_bytes(&self) -> usize {
        self.len() * self.flow_bytes + self.sessions * SESSION_BYTES
    }

    fn timeout(&self, class: usize) -> Duration {
        let Timeouts { tcp, udp, icmp, other } = &self.timeouts;
        [tcp, udp, icmp, other][class / 3][class % 3]
    }
}

fn class(number: u8, state: FlowState) -> usize {
    let group = match number {
        protocol::TCP => 0,
        protocol::UDP => 1,
        protocol::ICMP | protocol::ICMPV6 => 2,
        _ => 3,
    };
    group * 3 + state as usize
}

fn by_age(entry: &mut Entry) -> &mut Links {
    &mut entry.by_age
}

fn by_holding(entry: &mut Entry) -> &mut Links {
    &mut entry.by_holding
}

fn links(slots: &mut [Option<Entry>], slot: u32, of: LinksOf) -> Option<&mut Links> {
    slots.get_mut(slot as usize)?.as_mut().map(of)
}

fn append(list: &mut List, slots: &mut [Option<Entry>], slot: u32, of: LinksOf) {
    let before = list.last.replace(slot);
    match before.and_then(|before| links(slots, before, of)) {
        Some(its) => its.after = Some(slot),
        None => list.first = Some(slot),
    }
    if let Some(its) = links(slots, slot, of) {
        *its = Links { before, after: None };
    }
}

fn remove(list: &mut List, slots: &mut [Option<Entry>], slot: u32, of: LinksOf) {
    let Some(Links { before, after }) = links(slots, slot, of).map(std::mem::take) else { return };
    match before.and_then(|before| links(slots, before, of)) {
        Some(its) => its.after = after,
        None => list.first = after,
    }
    match after.and_then(|after| links(slots, after, of)) {
        Some(its) => its.before = before,
        None => list.last = before,
    }
}
