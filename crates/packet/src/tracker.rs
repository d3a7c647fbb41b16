//! The front door: [`Tracker`] takes frames and tells an [`Observer`] what they mean. Rule: what a packet brings is told before the packet.

use crate::checksum::Checksum;
use crate::event::Event;
use crate::flow::{Flow, FlowEnd, FlowState};
use crate::flows::{Between, Entry, Flows, Timeouts};
use crate::fragments::{FragmentPolicy, Fragments};
use crate::ip::protocol;
use crate::packet::{LinkType, Packet, Vlans};
use crate::stream::{
    Delivery, Midstream, OneSided, Opened, Output, Rules, Segment, Session, StreamPolicy, Urgent, Verdict,
};
use crate::time::Time;
use crate::transport::{Transport, tcp_flag};
use lockgate_model::{Direction, Network};
use std::net::IpAddr;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How many packets put together or unpacked one frame may lead to, each out of the one before.
const NESTING_MAX: u8 = 16;

/// Whether checksums are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksums {
    /// What has a wrong one is no part of a stream: its receiver throws it away.
    #[default]
    Verified,
    /// They are not: the machine that captured had them computed by its card.
    Ignored,
}

/// Whether VLAN tags tell flows apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VlanTracking {
    /// They do.
    #[default]
    Distinct,
    /// They do not: the two directions have different tags.
    Ignored,
}

/// Systems of one kind, as `host-os-policy` names them.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where they are.
    pub network: Network,
    /// Whose bytes count for them where segments overlap.
    pub stream_policy: StreamPolicy,
    /// Whose bytes count for them where fragments overlap.
    pub fragment_policy: FragmentPolicy,
}

/// How packets are followed, and what that may cost.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether checksums are looked at.
    pub checksums: Checksums,
    /// Whether VLAN tags tell flows apart.
    pub vlans: VlanTracking,
    /// When bytes of streams are delivered.
    pub delivery: Delivery,
    /// Whether connections are followed whose beginning was not seen.
    pub midstream: Midstream,
    /// Whether connections are followed of which one side is seen.
    pub one_sided: OneSided,
    /// Whose bytes count where segments overlap, where no network says otherwise.
    pub stream_policy: StreamPolicy,
    /// Whose bytes count where fragments overlap, where no network says otherwise.
    pub fragment_policy: FragmentPolicy,
    /// What systems there are: of the networks that the receiver's address is in, the smallest counts.
    pub targets: Vec<Target>,
    /// Where bytes are read that are sent as urgent.
    pub urgent: Urgent,
    /// How many bytes of a stream are wanted, to the server and to the client.
    pub depth_bytes: [u64; 2],
    /// How long flows stay without a packet.
    pub timeouts: Timeouts,
    /// How long fragments wait for the others.
    pub fragment_timeout: Duration,
    /// The memory of the flows.
    pub flow_bytes_max: usize,
    /// What who is told keeps of each flow: it counts as the flow's.
    pub observed_bytes: usize,
    /// The memory of bytes that are not in order yet, or not acknowledged.
    pub stream_bytes_max: usize,
    /// The same of one side of one stream.
    pub side_bytes_max: usize,
    /// The memory of fragments.
    pub fragment_bytes_max: usize,
}

impl Default for Settings {
    /// Suricata's, as far as it has them; streams without an end to what is wanted of them.
    fn default() -> Self {
        Self {
            checksums: Checksums::default(),
            vlans: VlanTracking::default(),
            delivery: Delivery::default(),
            midstream: Midstream::default(),
            one_sided: OneSided::default(),
            stream_policy: StreamPolicy::default(),
            fragment_policy: FragmentPolicy::default(),
            targets: Vec::new(),
            urgent: Urgent::default(),
            depth_bytes: [u64::MAX; 2],
            timeouts: Timeouts::default(),
            fragment_timeout: Duration::from_secs(60),
            flow_bytes_max: 128 << 20,
            observed_bytes: 0,
            stream_bytes_max: 256 << 20,
            side_bytes_max: 16 << 20,
            fragment_bytes_max: 32 << 20,
        }
    }
}

/// Bytes of a stream, next in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Which way they go.
    pub direction: Direction,
    /// How many bytes of this side come before.
    pub offset: u64,
    /// They.
    pub bytes: &'a [u8],
}

/// Bytes of a stream that were never seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Which way they went.
    pub direction: Direction,
    /// How many bytes of this side come before.
    pub offset: u64,
    /// How many there were.
    pub bytes: u64,
}

/// Whether there is more to be told of a side of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// There is.
    More,
    /// Its bytes need not be put in order any more.
    Enough,
}

/// Where a packet belongs.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// When it was captured.
    pub time: Time,
    /// Its flow, as it is after the packet.
    pub flow: Option<&'a Flow>,
    /// Which way it goes.
    pub direction: Direction,
    /// Whether the flow was established before it came, as `flow:established` asks.
    pub is_established: bool,
    /// What became of it as a segment of TCP.
    pub segment: Verdict,
}

/// Who is told.
pub trait Observer {
    /// A flow begins with the packet that is told of next.
    fn flow_begins(&mut self, _flow: &Flow) {}

    /// Bytes of a stream, each once, in their order.
    fn data(&mut self, _flow: &Flow, _chunk: Chunk<'_>) -> Interest {
        Interest::More
    }

    /// Bytes of a stream were missed: what follows is behind them.
    fn gap(&mut self, _flow: &Flow, _gap: Gap) -> Interest {
        Interest::More
    }

    /// A side of a stream has come to its end, or as much of it as is wanted.
    fn side_ends(&mut self, _flow: &Flow, _direction: Direction) {}

    /// A packet. What it brought to a stream has been told.
    fn packet(&mut self, _packet: &Packet<'_>, _place: &Place<'_>) {}

    /// A flow ends: nothing more is told of it.
    fn flow_ends(&mut self, _flow: &Flow, _why: FlowEnd) {}
}

/// From frames to flows and streams.
pub struct Tracker {
    settings: Settings,
    flows: Flows,
    fragments: Fragments,
    now: Time,
    held_bytes: usize,
}

impl Tracker {
    /// Nothing has been seen yet.
    pub fn new(settings: Settings) -> Self {
        let flows = Flows::new(settings.timeouts, settings.observed_bytes, settings.flow_bytes_max);
        let fragments = Fragments::new(settings.fragment_timeout, settings.fragment_bytes_max);
        Self { settings, flows, fragments, now: Time::default(), held_bytes: 0 }
    }

    /// A frame as captured.
    pub fn packet(&mut self, time: Time, link: LinkType, frame: &[u8], observer: &mut impl Observer) {
        self.pass(time, observer);
        self.decoded(time, Packet::decode(link, frame), 0, observer);
    }

    /// A frame on its way out, whose checksum of TCP or UDP the network card will compute.
    pub fn unsummed(&mut self, time: Time, link: LinkType, frame: &[u8], observer: &mut impl Observer) {
        self.pass(time, observer);
        let mut packet = Packet::decode(link, frame);
        packet.is_unsummed = true;
        self.decoded(time, packet, 0, observer);
    }

    /// Time has passed: ends the flows that were silent for too long.
    pub fn pass(&mut self, time: Time, observer: &mut impl Observer) {
        self.now = self.now.max(time);
        while let Some(slot) = self.flows.timed_out(self.now) {
            self.end_flow(slot, FlowEnd::TimedOut, observer);
        }
    }

    /// Nothing more comes: ends all flows.
    pub fn end(&mut self, observer: &mut impl Observer) {
        while let Some(slot) = self.flows.any() {
            self.end_flow(slot, FlowEnd::Stopped, observer);
        }
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The memory that flows, bytes of streams, and fragments take.
    pub fn taken_bytes(&self) -> [usize; 3] {
        [self.flows.taken_bytes(), self.held_bytes, self.fragments.held_bytes()]
    }

    fn decoded(&mut self, time: Time, mut packet: Packet<'_>, nesting: u8, observer: &mut impl Observer) {
        let vlans = self.vlans(&packet);
        if nesting >= NESTING_MAX {
            packet.events.add(Event::TooManyLayers);
        } else if packet.is_fragment() {
            let policy = self
                .target(packet.destination())
                .map_or(self.settings.fragment_policy, |its| its.fragment_policy);
            if let Some(whole) = self.fragments.insert(time, &mut packet, vlans, policy) {
                let frame = [packet.link_header(), &whole].concat();
                let rebuilt = Packet::decode_rebuilt(&frame, &packet);
                self.decoded(time, rebuilt, nesting + 1, observer);
            }
        } else if let Some(inner) = packet.decode_inner() {
            self.decoded(time, inner, nesting + 1, observer);
        }
        let Some((slot, direction)) = self.flow_of(time, &packet, vlans, observer) else {
            let place = Place {
                time,
                flow: None,
                direction: Direction::ToServer,
                is_established: false,
                segment: Verdict::Ignored,
            };
            return observer.packet(&packet, &place);
        };
        self.in_flow(time, packet, slot, direction, observer);
    }

    fn vlans(&self, packet: &Packet<'_>) -> Vlans {
        match self.settings.vlans {
            VlanTracking::Distinct => packet.vlans,
            VlanTracking::Ignored => Vlans::default(),
        }
    }

    /// The flow of a packet, which may begin with it. That a flow begins is told when its direction is known.
    fn flow_of(
        &mut self,
        time: Time,
        packet: &Packet<'_>,
        vlans: Vlans,
        observer: &mut impl Observer,
    ) -> Option<(u32, Direction)> {
        if matches!(packet.transport, Transport::Icmp4(icmp) if icmp.is_error()) {
            // What was sent to the client is said to whom has sent what is quoted.
            let between = Between::of_quoted(packet, vlans)?;
            let (slot, direction) = self.flows.find(&between)?;
            return Some((slot, direction.reverse()));
        }
        let between = Between::of(packet, vlans)?;
        if let Some((slot, direction)) = self.flows.find(&between) {
            if !self.is_replaced(slot, direction, packet, time) {
                return Some((slot, direction));
            }
            self.end_flow(slot, FlowEnd::Replaced, observer);
        }
        Some((self.flows.begin(&between, packet, time), Direction::ToServer))
    }

    /// Whether the packet begins another connection between the same ports.
    fn is_replaced(&self, slot: u32, direction: Direction, packet: &Packet<'_>, time: Time) -> bool {
        let session = self.flows.get(slot).and_then(|entry| entry.session.as_ref());
        session
            .zip(Segment::of(packet, time))
            .is_some_and(|(session, segment)| session.is_over_for(direction, &segment))
    }

    /// A packet of a flow.
    fn in_flow(
        &mut self,
        time: Time,
        mut packet: Packet<'_>,
        slot: u32,
        mut direction: Direction,
        observer: &mut impl Observer,
    ) {
        let Some(entry) = self.flows.get(slot) else { return };
        let is_new = entry.flow.counts.iter().all(|counts| counts.packets == 0);
        let is_established = entry.flow.is_established();
        self.flows.count(slot, direction, packet.wire_bytes, time);
        let mut segment = Verdict::Ignored;
        if packet.tcp().is_some() {
            (segment, direction) = self.segment(time, &mut packet, slot, direction, is_new, observer);
        } else if is_new && let Some(entry) = self.flows.get(slot) {
            observer.flow_begins(&entry.flow);
        }
        if let Some(Entry { flow, .. }) = self.flows.get(slot) {
            let is_established = is_established || flow.protocol != protocol::TCP && flow.is_established();
            let place = Place { time, flow: Some(flow), direction, is_established, segment };
            observer.packet(&packet, &place);
        }
        self.make_room(slot, observer);
    }

    /// A segment of TCP: follows its connection and delivers what that brings.
    fn segment(
        &mut self,
        time: Time,
        packet: &mut Packet<'_>,
        slot: u32,
        direction: Direction,
        is_new: bool,
        observer: &mut impl Observer,
    ) -> (Verdict, Direction) {
        let rules = self.rules(packet, direction);
        let is_broken = self.settings.checksums == Checksums::Verified
            && (packet.transport_checksum() == Checksum::Invalid
                || packet.ip_checksum() == Checksum::Invalid);
        let segment = Segment::of(packet, time).filter(|_| !is_broken);
        let (mut verdict, mut direction) = (Verdict::Ignored, direction);
        if let Some(segment) = segment
            && let Some(entry) = self.flows.get_mut(slot)
        {
            if let Some(session) = &mut entry.session {
                verdict = session.receive(direction, &segment, &mut packet.events);
            } else if let Some(Opened { session, direction: its }) =
                Session::open(&segment, rules, &mut packet.events)
                // Who is the client has been told.
                && (is_new || its == direction)
            {
                if its != direction {
                    entry.flow.turn_round();
                    direction = its;
                }
                verdict = Verdict::Taken;
                self.flows.follow(slot, session);
            }
        }
        let Some(entry) = self.flows.get_mut(slot) else { return (verdict, direction) };
        if is_new {
            observer.flow_begins(&entry.flow);
        }
        if verdict == Verdict::Taken {
            let side_bytes_max = self.settings.side_bytes_max;
            entry.deliver(direction, side_bytes_max, packet, observer);
            self.note(slot);
        }
        (verdict, direction)
    }

    /// Notes where a connection is and what it holds.
    fn note(&mut self, slot: u32) {
        let Some(entry) = self.flows.get_mut(slot) else { return };
        let Some(session) = &entry.session else { return };
        let tcp = session.summary();
        let held = session.held_bytes();
        entry.flow.tcp = Some(tcp);
        let state = match tcp.state {
            state if state.is_closed() => FlowState::Closed,
            state if state.is_established() => FlowState::Established,
            _ => FlowState::New,
        };
        let changed = std::mem::replace(&mut entry.flow.state, state) != state;
        if changed {
            self.flows.refresh(slot);
        }
        if held > 0 || self.flows.get(slot).is_some_and(|entry| entry.held_bytes > 0) {
            let before = self.flows.hold(slot, held);
            self.held_bytes = self.held_bytes + held - before;
        }
    }

    /// Lets go of bytes and flows where there is more than there may be.
    fn make_room(&mut self, slot: u32, observer: &mut impl Observer) {
        while self.held_bytes > self.settings.stream_bytes_max {
            let Some(slot) = self.flows.longest_holding() else { break };
            if let Some(entry) = self.flows.get_mut(slot) {
                entry.flush(observer);
            }
            self.note(slot);
        }
        while let Some(surplus) = self.flows.surplus(Some(slot)) {
            self.end_flow(surplus, FlowEnd::Evicted, observer);
        }
    }

    fn end_flow(&mut self, slot: u32, why: FlowEnd, observer: &mut impl Observer) {
        let Some(mut entry) = self.flows.take(slot) else { return };
        self.held_bytes -= entry.held_bytes;
        entry.flush(observer);
        observer.flow_ends(&entry.flow, why);
    }

    /// The systems at an address, where something is known of them.
    fn target(&self, address: Option<IpAddr>) -> Option<&Target> {
        let address = address?;
        let own = self.settings.targets.iter().filter(|target| target.network.contains(address));
        // Of the same network, the first that was named.
        own.rev().max_by_key(|target| target.network.prefix_bits())
    }

    /// How the connection is followed that a packet of this direction may begin.
    fn rules(&self, packet: &Packet<'_>, direction: Direction) -> Rules {
        let Settings { midstream, one_sided, delivery, stream_policy, depth_bytes, urgent, .. } =
            &self.settings;
        let policy = |address| self.target(address).map_or(*stream_policy, |target| target.stream_policy);
        let (near, far) = (policy(packet.destination()), policy(packet.source()));
        // Seen first may be what the server answers.
        let answers = packet.tcp().is_some_and(|tcp| tcp.has(tcp_flag::SYN | tcp_flag::ACK));
        let to_server = direction == Direction::ToServer && !answers;
        Rules {
            midstream: *midstream,
            one_sided: *one_sided,
            delivery: *delivery,
            policies: if to_server { [near, far] } else { [far, near] },
            depth: *depth_bytes,
            urgent: *urgent,
        }
    }
}

impl Entry {
    /// Tells of what a segment brought: first of what it acknowledges, then of what it carries.
    fn deliver(
        &mut self,
        direction: Direction,
        side_bytes_max: usize,
        packet: &mut Packet<'_>,
        observer: &mut impl Observer,
    ) {
        let Some(session) = &mut self.session else { return };
        let flow = &self.flow;
        for direction in [direction.reverse(), direction] {
            let mut told = Telling { flow, direction, interest: Interest::More, observer };
            session.deliver(direction, |output| {
                match output {
                    Output::Gap(..) => packet.events.add(Event::ReassemblySeqGap),
                    Output::Depth => packet.events.add(Event::ReassemblyDepthReached),
                    Output::Data(..) | Output::End => {}
                }
                told.tell(output);
            });
            if session.held_bytes_of(direction) > side_bytes_max {
                packet.events.add(Event::ReassemblyInsertLimit);
                session.flush(direction, |output| told.tell(output));
            }
            if told.interest == Interest::Enough {
                session.stop(direction);
            }
        }
        if session.was_reset() {
            self.flush(observer);
        }
    }

    /// Tells of all bytes that are there, over gaps.
    fn flush(&mut self, observer: &mut impl Observer) {
        let Some(session) = &mut self.session else { return };
        for direction in [Direction::ToServer, Direction::ToClient] {
            let mut told = Telling { flow: &self.flow, direction, interest: Interest::More, observer };
            session.flush(direction, |output| told.tell(output));
            if told.interest == Interest::Enough {
                session.stop(direction);
            }
        }
    }
}

/// What one side of a stream brings, told to the observer until it has enough.
struct Telling<'a, O> {
    flow: &'a Flow,
    direction: Direction,
    interest: Interest,
    observer: &'a mut O,
}

impl<O: Observer> Telling<'_, O> {
    fn tell(&mut self, output: Output<'_>) {
        if self.interest == Interest::Enough {
            return;
        }
        let Self { flow, direction, observer, .. } = self;
        let direction = *direction;
        match output {
            Output::Data(offset, bytes) => {
                self.interest = observer.data(flow, Chunk { direction, offset, bytes });
            }
            Output::Gap(offset, bytes) => {
                self.interest = observer.gap(flow, Gap { direction, offset, bytes })
            }
            Output::End | Output::Depth => observer.side_ends(flow, direction),
        }
    }
}
