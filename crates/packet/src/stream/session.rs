//! A connection's state: [`Session`], its two [`Half`]s, and what a [`Segment`] does to them. Rule: one code for both directions.

use super::policy::StreamPolicy;
use super::reassembly::{Delivery, Inserted, Output, Reassembly};
use super::sequence::Sequence;
use super::urgent::{Apart, Urgent};
use crate::event::{Event, Events};
use crate::packet::Packet;
use crate::pieces::Overlap;
use crate::time::Time;
use crate::transport::tcp_flag;
use lockgate_model::Direction;

/// Where a connection is, by the names of EVE's `tcp.state`. Who sends the first FIN decides between the two ways to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpState {
    /// The client has asked.
    SynSent,
    /// The server has answered.
    SynRecv,
    /// Both have agreed.
    Established,
    /// The server has ended its side.
    FinWait1,
    /// The client has acknowledged that.
    FinWait2,
    /// Both have ended theirs, the server first.
    TimeWait,
    /// Both have ended theirs, the client first.
    LastAck,
    /// The client has ended its side.
    CloseWait,
    /// Both have ended theirs at once.
    Closing,
    /// It is over.
    Closed,
}

impl TcpState {
    /// The name in EVE.
    pub fn name(self) -> &'static str {
        match self {
            Self::SynSent => "syn_sent",
            Self::SynRecv => "syn_recv",
            Self::Established => "established",
            Self::FinWait1 => "fin_wait1",
            Self::FinWait2 => "fin_wait2",
            Self::TimeWait => "time_wait",
            Self::LastAck => "last_ack",
            Self::CloseWait => "close_wait",
            Self::Closing => "closing",
            Self::Closed => "closed",
        }
    }

    /// Whether the handshake is over.
    pub fn is_established(self) -> bool {
        !matches!(self, Self::SynSent | Self::SynRecv)
    }

    /// Whether nothing more of substance is to come.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::TimeWait | Self::LastAck | Self::Closed)
    }
}

/// Whether connections are followed whose beginning was not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Midstream {
    /// They are not.
    #[default]
    Ignored,
    /// They are, from the first segment seen on.
    PickedUp,
}

/// Whether connections are followed of which only one side is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OneSided {
    /// They are not.
    #[default]
    Ignored,
    /// They are: nobody acknowledges, so bytes count when they come.
    Followed,
}

/// How connections are followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) midstream: Midstream,
    pub(crate) one_sided: OneSided,
    pub(crate) delivery: Delivery,
    /// By the system that reads them: what goes to the server, what goes to the client.
    pub(crate) policies: [StreamPolicy; 2],
    pub(crate) depth: [u64; 2],
    pub(crate) urgent: Urgent,
}

/// What of a packet matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) sequence: Sequence,
    pub(crate) ack: Option<Sequence>,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) payload: &'a [u8],
    pub(crate) window_scale: Option<u8>,
    pub(crate) timestamp: Option<u32>,
    /// The other side's timestamp, as it came back.
    pub(crate) echo: Option<u32>,
    pub(crate) fast_open: bool,
    /// The last byte that is urgent, where one is.
    pub(crate) urgent: Option<Sequence>,
    /// Whether there is an acknowledgement number though the flag says that there is none.
    pub(crate) has_stray_ack: bool,
    pub(crate) time: Time,
}

impl<'a> Segment<'a> {
    pub(crate) fn of(packet: &Packet<'a>, time: Time) -> Option<Self> {
        let tcp = packet.tcp()?;
        let options = tcp.options();
        Some(Self {
            sequence: Sequence(tcp.sequence()),
            ack: tcp.has(tcp_flag::ACK).then(|| Sequence(tcp.acknowledgement())),
            flags: tcp.flags(),
            window: tcp.window(),
            payload: packet.payload,
            // RFC 7323 section 2.3: no more than 14.
            window_scale: options.window_scale.map(|scale| scale.min(14)),
            timestamp: options.timestamps.map(|(value, _)| value),
            echo: options.timestamps.map(|(_, echo)| echo),
            fast_open: options.fast_open.is_some(),
            // The pointer leads behind the byte, whatever the standard said (RFC 6093 section 3.1).
            urgent: (tcp.has(tcp_flag::URG) && tcp.urgent() > 0)
                .then(|| Sequence(tcp.sequence()).plus(u32::from(tcp.urgent()) - 1)),
            has_stray_ack: !tcp.has(tcp_flag::ACK) && tcp.acknowledgement() != 0,
            time,
        })
    }

    pub(super) fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    pub(super) fn length(&self) -> u32 {
        u32::try_from(self.payload.len()).unwrap_or(u32::MAX)
    }

    /// The sequence number behind its payload and its FIN.
    pub(super) fn end_with_fin(&self) -> Sequence {
        self.end().plus(u32::from(self.has(tcp_flag::FIN)))
    }

    /// The sequence number behind its payload.
    pub(super) fn end(&self) -> Sequence {
        self.sequence.plus(self.length())
    }
}

/// What one side has sent, and may send.
#[derive(Debug)]
pub(super) struct Half {
    /// The sequence number of its SYN.
    pub(super) isn: Sequence,
    /// The sequence number behind all that it has sent.
    pub(super) next: Sequence,
    /// What the other side has acknowledged of it.
    pub(super) acknowledged: Sequence,
    /// The sequence number up to which the other side lets it send.
    pub(super) limit: Sequence,
    /// The window that it offers, scaled.
    pub(super) window: u32,
    pub(super) scale: u8,
    pub(super) timestamp: Option<(u32, Time)>,
    pub(super) flags: u8,
    /// The sequence number of its FIN.
    pub(super) fin: Option<Sequence>,
    pub(super) reassembly: Reassembly,
    /// What it has sent as urgent, where that is read apart.
    pub(super) apart: Option<Box<Apart>>,
}

impl Half {
    /// A side that begins with this sequence number, its SYN's.
    pub(super) fn beginning(isn: Sequence, depth: u64) -> Self {
        let first = isn.plus(1);
        Self {
            isn,
            next: first,
            acknowledged: isn,
            limit: first,
            window: 0,
            scale: 0,
            timestamp: None,
            flags: 0,
            fin: None,
            reassembly: Reassembly::new(first, depth),
            apart: None,
        }
    }

    /// Begins anew with another sequence number.
    pub(super) fn restart(&mut self, isn: Sequence) {
        let first = isn.plus(1);
        (self.isn, self.next, self.acknowledged, self.limit) = (isn, first, isn, first);
        self.reassembly.begin_at(first);
    }
}

/// What is known of a connection for those who ask (EVE's `tcp`, `stream_size`, `flow`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Where it is.
    pub state: TcpState,
    /// All flags seen, to the server and to the client.
    pub flags: [u8; 2],
    /// How many bytes each side has sent by its sequence numbers, to the server and to the client.
    pub sent_bytes: [u64; 2],
    /// Whether bytes were missing, to the server and to the client.
    pub gaps: [bool; 2],
    /// Whether its beginning was not seen.
    pub is_midstream: bool,
}

/// What became of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It was not looked at: no connection, or a checksum that no receiver accepts.
    #[default]
    Ignored,
    /// The receiver does not take it: what is wrong is among its events.
    Rejected,
    /// It belongs to the connection.
    Taken,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) state: TcpState,
    /// What goes to the server, what goes to the client.
    pub(super) halves: [Half; 2],
    pub(super) origin: SessionOrigin,
    pub(super) rules: Rules,
    /// Answers of the server that the client has not yet chosen from.
    pub(super) answers: Vec<Answer>,
    /// The timestamp of the client's first SYN: it may have been sent again, with a later one.
    pub(super) first_timestamp: Option<u32>,
    /// Whether both sides have asked (RFC 9293 section 3.5, figure 7).
    pub(super) handshake: Handshake,
    /// Who has sent the RST that closed it, and where it was before.
    pub(super) reset_by: Option<(Direction, TcpState)>,
    pub(super) gaps: [bool; 2],
}

/// How the connection became known, which decides how much of a window can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionOrigin {
    /// By its SYN.
    Syn,
    /// In the middle.
    Midstream,
    /// By its SYN, and then by what the same side sent.
    OneSided,
}

/// How many segments the handshake takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    /// The client asks, the server answers.
    ThreeWay,
    /// The server has asked, too.
    FourWay,
}

/// One SYN and ACK of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) sequence: Sequence,
    pub(super) ack: Sequence,
    pub(super) window: u16,
    pub(super) scale: Option<u8>,
    pub(super) timestamp: Option<u32>,
}

/// A connection that a segment began.
pub(crate) struct Opened {
    pub(crate) session: Session,
    /// Which way the segment goes: a SYN with ACK that is seen first was sent by the server.
    pub(crate) direction: Direction,
}

pub(super) fn index(direction: Direction) -> usize {
    match direction {
        Direction::ToServer => 0,
        Direction::ToClient => 1,
    }
}

impl Session {
    /// The half whose sender sends this way.
    pub(super) fn half(&mut self, direction: Direction) -> &mut Half {
        let [to_server, to_client] = &mut self.halves;
        if direction == Direction::ToServer { to_server } else { to_client }
    }

    /// A segment of it.
    pub(crate) fn receive(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        events: &mut Events,
    ) -> Verdict {
        if segment.has_stray_ack {
            events.add(Event::PktBrokenAck);
        }
        let verdict = match self.state {
            TcpState::SynSent => self.in_syn_sent(direction, segment, events),
            TcpState::SynRecv => self.in_syn_recv(direction, segment, events),
            _ => self.in_established(direction, segment, events),
        };
        self.half(direction).flags |= segment.flags;
        verdict
    }

    /// Puts the segment's bytes where they belong.
    pub(super) fn insert(&mut self, direction: Direction, segment: &Segment<'_>, events: &mut Events) {
        if segment.payload.is_empty() {
            return;
        }
        let policy = self.rules.policies[index(direction)];
        let (delivery, urgent) = (self.delivery(), self.rules.urgent);
        let half = self.half(direction);
        if let Some(at) = segment.urgent.filter(|_| urgent == Urgent::Apart)
            && let Some(offset) = half.reassembly.offset_to_come(at)
            && !half.apart.get_or_insert_default().add(offset)
        {
            events.add(Event::ReassemblyUrgentOobLimitReached);
        }
        match half.reassembly.insert(segment.sequence, segment.payload, policy, delivery) {
            Inserted::Kept(Overlap::Different) => events.add(Event::ReassemblyOverlapDifferentData),
            Inserted::Old => events.add(Event::ReassemblySegmentBeforeBaseSeq),
            Inserted::Kept(_) | Inserted::Unwanted => {}
        }
    }

    /// Delivers what may be delivered of one side.
    pub(crate) fn deliver(&mut self, direction: Direction, mut out: impl FnMut(Output<'_>)) {
        let delivery = self.delivery();
        let mut gap = false;
        let Half { reassembly, apart, .. } = self.half(direction);
        reassembly.deliver(delivery, |output| {
            gap |= matches!(output, Output::Gap(..));
            pass(apart, output, &mut out);
        });
        self.gaps[index(direction)] |= gap;
    }

    /// Delivers all that there is of one side, whatever is missing.
    pub(crate) fn flush(&mut self, direction: Direction, mut out: impl FnMut(Output<'_>)) {
        let mut gap = false;
        let Half { reassembly, apart, .. } = self.half(direction);
        reassembly.flush(|output| {
            gap |= matches!(output, Output::Gap(..));
            pass(apart, output, &mut out);
        });
        self.gaps[index(direction)] |= gap;
    }

    /// Nothing more is wanted of one side.
    pub(crate) fn stop(&mut self, direction: Direction) {
        self.half(direction).reassembly.stop();
    }

    /// The memory that its bytes take.
    pub(crate) fn held_bytes(&self) -> usize {
        self.halves.iter().map(|half| half.reassembly.held_bytes()).sum()
    }

    /// The memory that one side's bytes take.
    pub(crate) fn held_bytes_of(&self, direction: Direction) -> usize {
        self.halves[index(direction)].reassembly.held_bytes()
    }

    /// What those are told who ask.
    pub(crate) fn summary(&self) -> Tcp {
        let sent = |half: &Half| half.fin.unwrap_or(half.next).minus(half.isn.plus(1)).max(0) as u64;
        let [to_server, to_client] = &self.halves;
        Tcp {
            state: self.state,
            flags: [to_server.flags, to_client.flags],
            sent_bytes: [
                sent(to_server).max(to_server.reassembly.delivered()),
                sent(to_client).max(to_client.reassembly.delivered()),
            ],
            gaps: self.gaps,
            is_midstream: self.origin == SessionOrigin::Midstream,
        }
    }

    /// Whether this segment begins another connection between the same ports.
    pub(crate) fn is_over_for(&self, direction: Direction, segment: &Segment<'_>) -> bool {
        let is_syn = segment.has(tcp_flag::SYN) && segment.ack.is_none();
        let is_over = self.state.is_closed() || matches!(self.state, TcpState::CloseWait | TcpState::Closing);
        is_syn && is_over && self.halves[index(direction)].isn != segment.sequence
    }

    /// Whether a RST has closed it.
    pub(crate) fn was_reset(&self) -> bool {
        self.reset_by.is_some()
    }

    /// Where nobody acknowledges, bytes count when they come.
    fn delivery(&self) -> Delivery {
        if self.origin == SessionOrigin::OneSided { Delivery::Immediate } else { self.rules.delivery }
    }
}

/// Hands on what comes out of a side, without what is read apart.
fn pass<'o>(apart: &mut Option<Box<Apart>>, output: Output<'o>, out: &mut impl FnMut(Output<'o>)) {
    match apart {
        Some(apart) => apart.pass(output, out),
        None => out(output),
    }
}
