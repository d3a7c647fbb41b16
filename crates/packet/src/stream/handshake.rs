//! How a connection begins: the three-way handshake, four-way, in the middle, with data (RFC 9293 section 3.5, RFC 7413). Rule: what the client chose counts.

use super::reassembly::Reassembly;
use super::sequence::Sequence;
use super::session::{
    Answer, Half, Handshake, Midstream, OneSided, Opened, Rules, Segment, Session, SessionOrigin, TcpState,
    Verdict,
};
use crate::event::{Event, Events};
use crate::transport::tcp_flag;
use lockgate_model::Direction;

/// How many different answers of a server are remembered until the client chooses, as Suricata's `max-synack-queued`.
const ANSWERS_MAX: usize = 5;

impl Session {
    /// The connection that a first segment begins, where it begins one.
    pub(crate) fn open(segment: &Segment<'_>, rules: Rules, events: &mut Events) -> Option<Opened> {
        let picks_up = rules.midstream == Midstream::PickedUp;
        if segment.has_stray_ack {
            events.add(Event::PktBrokenAck);
        }
        if segment.has(tcp_flag::RST) {
            events.add(Event::RstButNoSession);
            return None;
        }
        if segment.has(tcp_flag::FIN) && !segment.has(tcp_flag::SYN) {
            events.add(Event::FinButNoSession);
        }
        let opened = match (segment.has(tcp_flag::SYN), segment.ack) {
            (true, None) => Opened { session: Self::of_syn(segment, rules), direction: Direction::ToServer },
            (true, Some(ack)) if picks_up || rules.one_sided == OneSided::Followed => {
                Opened { session: Self::of_answer(segment, ack, rules), direction: Direction::ToClient }
            }
            (false, Some(ack)) if picks_up => {
                let session = Self::in_the_middle(segment, ack, rules, events);
                Opened { session, direction: Direction::ToServer }
            }
            _ => return None,
        };
        if segment.has(tcp_flag::SYN | tcp_flag::FIN) {
            events.add(Event::FinSyn);
        }
        Some(opened)
    }

    fn new(
        state: TcpState,
        origin: SessionOrigin,
        to_server: Sequence,
        to_client: Sequence,
        rules: Rules,
    ) -> Self {
        let [server_depth, client_depth] = rules.depth;
        Self {
            state,
            halves: [Half::beginning(to_server, server_depth), Half::beginning(to_client, client_depth)],
            origin,
            rules,
            answers: Vec::new(),
            first_timestamp: None,
            handshake: Handshake::ThreeWay,
            reset_by: None,
            gaps: [false; 2],
        }
    }

    fn of_syn(segment: &Segment<'_>, rules: Rules) -> Self {
        let mut session =
            Self::new(TcpState::SynSent, SessionOrigin::Syn, segment.sequence, Sequence(0), rules);
        session.take_syn(segment);
        session
    }

    /// What a client's SYN says, and the bytes that it may bring (RFC 7413).
    fn take_syn(&mut self, segment: &Segment<'_>) {
        self.first_timestamp = segment.timestamp;
        let half = self.half(Direction::ToServer);
        half.flags |= segment.flags;
        half.window = u32::from(segment.window);
        half.scale = segment.window_scale.unwrap_or(0);
        half.timestamp = segment.timestamp.map(|value| (value, segment.time));
        half.next = segment.sequence.plus(1);
        if segment.fast_open && !segment.payload.is_empty() {
            let data = Segment { sequence: segment.sequence.plus(1), ..*segment };
            half.next = data.end();
            self.insert(Direction::ToServer, &data, &mut Events::default());
        }
    }

    /// Seen first is what the server answered.
    fn of_answer(segment: &Segment<'_>, ack: Sequence, rules: Rules) -> Self {
        let isn = ack.plus(u32::MAX);
        let mut session =
            Self::new(TcpState::SynRecv, SessionOrigin::Midstream, isn, segment.sequence, rules);
        session.answers.push(answer(segment, ack));
        session.half(Direction::ToClient).flags |= segment.flags;
        session
    }

    /// Seen first is anything.
    fn in_the_middle(segment: &Segment<'_>, ack: Sequence, rules: Rules, events: &mut Events) -> Self {
        let isn = segment.sequence.plus(u32::MAX);
        let mut session =
            Self::new(TcpState::Established, SessionOrigin::Midstream, isn, ack.plus(u32::MAX), rules);
        for (direction, first) in [(Direction::ToServer, segment.sequence), (Direction::ToClient, ack)] {
            let half = session.half(direction);
            (half.acknowledged, half.next) = (first, first);
        }
        session.receive(Direction::ToServer, segment, events);
        session
    }

    pub(super) fn in_syn_sent(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        events: &mut Events,
    ) -> Verdict {
        let to_client = direction == Direction::ToClient;
        if to_client && self.echoes_another(segment) {
            return rejected(events, Event::PktInvalidTimestamp);
        }
        if segment.has(tcp_flag::RST) {
            return self.reset_of_syn(direction, segment);
        }
        match (segment.has(tcp_flag::SYN), segment.ack) {
            (true, Some(ack)) if to_client => self.answered(segment, ack, events),
            (true, Some(ack)) if self.handshake == Handshake::FourWay => {
                self.answered_across(segment, ack, events)
            }
            (true, Some(_)) => rejected(events, Event::HandshakeSynackInWrongDirection),
            (true, None) if to_client => {
                // Both ask at once: the server's SYN, and then the answer goes the other way (RFC 9293 section 3.5).
                self.half(Direction::ToClient).restart(segment.sequence);
                let half = self.half(Direction::ToClient);
                half.window = u32::from(segment.window);
                half.scale = segment.window_scale.unwrap_or(0);
                self.handshake = Handshake::FourWay;
                Verdict::Taken
            }
            (true, None) => {
                let half = self.half(Direction::ToServer);
                if half.isn != segment.sequence {
                    half.restart(segment.sequence);
                    self.take_syn(segment);
                } else if let Some(value) = segment.timestamp {
                    half.timestamp = Some((value, segment.time));
                }
                Verdict::Taken
            }
            (false, Some(ack)) if !to_client => self.one_sided(segment, ack, events),
            (false, _) => Verdict::Rejected,
        }
    }

    /// Whether the server sends back a timestamp that no SYN of the client's did have (RFC 7323 section 3.2): it has not
    /// seen the SYN. Of one that was sent again and again, the first or the last may have arrived, or one between.
    fn echoes_another(&self, segment: &Segment<'_>) -> bool {
        let Some(echo) = segment.echo else { return false };
        let Some((last, _)) = self.halves[0].timestamp else { return true };
        let first = self.first_timestamp.unwrap_or(last);
        echo != 0 && last.wrapping_sub(echo) > last.wrapping_sub(first)
    }

    /// The client goes on though no answer was seen.
    fn one_sided(&mut self, segment: &Segment<'_>, ack: Sequence, events: &mut Events) -> Verdict {
        if self.rules.one_sided == OneSided::Ignored && self.rules.midstream == Midstream::Ignored {
            return Verdict::Rejected;
        }
        if self.half(Direction::ToServer).next != segment.sequence {
            return rejected(events, Event::HandshakeAsyncWrongSeq);
        }
        self.half(Direction::ToClient).restart(ack.plus(u32::MAX));
        self.origin = SessionOrigin::OneSided;
        self.state = TcpState::Established;
        self.in_established(Direction::ToServer, segment, events)
    }

    /// A SYN with ACK for the client's SYN, perhaps not the first.
    fn answered(&mut self, segment: &Segment<'_>, ack: Sequence, events: &mut Events) -> Verdict {
        let depth = self.rules.depth[0];
        let client = self.half(Direction::ToServer);
        let without_data = client.isn.plus(1);
        if ack != client.next && ack != without_data {
            return rejected(events, Event::HandshakeSynackWithWrongAck);
        }
        if ack != client.next {
            events.add(Event::HandshakeSynackTfoDataIgnored);
            client.next = without_data;
            client.reassembly = Reassembly::new(without_data, depth);
        }
        self.state = TcpState::SynRecv;
        self.answers = vec![answer(segment, ack)];
        self.choose(answer(segment, ack));
        Verdict::Taken
    }

    /// What the server's answer means for both sides.
    fn choose(&mut self, answer: Answer) {
        let client_asked = self.half(Direction::ToServer).flags & tcp_flag::SYN != 0;
        let server = self.half(Direction::ToClient);
        server.restart(answer.sequence);
        server.flags |= tcp_flag::SYN | tcp_flag::ACK;
        server.window = u32::from(answer.window);
        server.timestamp = answer.timestamp.map(|value| (value, crate::time::Time::default()));
        server.scale = answer.scale.unwrap_or(0);
        let client = self.half(Direction::ToServer);
        client.acknowledged = answer.ack;
        client.limit = client.next.latest(answer.ack.plus(u32::from(answer.window)));
        client.reassembly.acknowledge(answer.ack);
        // Windows are scaled if both sides have offered it (RFC 7323 section 2.2).
        if answer.scale.is_none() && client_asked {
            client.scale = 0;
        }
        let (window, scaled) = (client.window, answer.scale.is_some());
        let server = self.half(Direction::ToClient);
        server.limit = server.next.plus(window);
        if !scaled {
            server.scale = 0;
        }
    }

    pub(super) fn in_syn_recv(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        events: &mut Events,
    ) -> Verdict {
        if segment.has(tcp_flag::RST) {
            return self.reset_of_syn(direction, segment);
        }
        match (segment.has(tcp_flag::SYN), segment.ack) {
            (true, Some(ack)) if direction == Direction::ToClient => {
                self.answered_again(segment, ack, events)
            }
            (true, Some(_)) => rejected(events, Event::HandshakeSynackToserverOnSynRecv),
            (true, None) if direction == Direction::ToClient => {
                rejected(events, Event::HandshakeSynToclientOnSynRecv)
            }
            (true, None) if self.half(direction).isn != segment.sequence => {
                rejected(events, Event::HandshakeSynResendDiffSeqOnSynRecv)
            }
            (true, None) => Verdict::Taken,
            (false, Some(ack)) if self.handshake == Handshake::FourWay => {
                self.confirmed_across(direction, segment, ack, events)
            }
            (false, Some(ack)) if direction == Direction::ToServer => self.confirmed(segment, ack, events),
            (false, Some(ack)) => self.server_first(segment, ack, events),
            (false, None) => Verdict::Rejected,
        }
    }

    /// Both asked, and now the client answers the server.
    fn answered_across(&mut self, segment: &Segment<'_>, ack: Sequence, events: &mut Events) -> Verdict {
        if segment.sequence != self.half(Direction::ToServer).isn {
            return rejected(events, Event::FourWaySynackWithWrongSyn);
        }
        let server = self.half(Direction::ToClient);
        if ack != server.isn.plus(1) {
            return rejected(events, Event::FourWaySynackWithWrongAck);
        }
        server.acknowledged = ack;
        server.limit = server.next.plus(u32::from(segment.window));
        server.reassembly.acknowledge(ack);
        self.state = TcpState::SynRecv;
        Verdict::Taken
    }

    /// Both asked, and one confirms that it heard the other.
    fn confirmed_across(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        ack: Sequence,
        events: &mut Events,
    ) -> Verdict {
        if segment.sequence != self.half(direction).next {
            return rejected(events, Event::FourWayWrongSeq);
        }
        if ack != self.half(direction.reverse()).next {
            return rejected(events, Event::FourWayInvalidAck);
        }
        self.state = TcpState::Established;
        self.in_established(direction, segment, events)
    }

    /// Another answer: the client's last ACK will say which one it took.
    fn answered_again(&mut self, segment: &Segment<'_>, ack: Sequence, events: &mut Events) -> Verdict {
        let another = answer(segment, ack);
        let client = self.half(Direction::ToServer);
        let fits = ack == client.next || ack == client.isn.plus(1);
        let Some(first) = self.answers.first() else { return Verdict::Rejected };
        if self.answers.iter().any(|known| (known.sequence, known.ack) == (another.sequence, another.ack)) {
            return Verdict::Taken;
        }
        let event = if first.ack != ack {
            Event::HandshakeSynackResendWithDifferentAck
        } else {
            Event::HandshakeSynackResendWithDiffSeq
        };
        if !fits {
            return rejected(events, event);
        }
        if self.answers.len() >= ANSWERS_MAX {
            return rejected(events, Event::HandshakeSynackFlood);
        }
        self.answers.push(another);
        Verdict::Taken
    }

    /// The client's last part of the handshake, or what follows it.
    fn confirmed(&mut self, segment: &Segment<'_>, ack: Sequence, events: &mut Events) -> Verdict {
        let (next, limit) = (self.half(Direction::ToServer).next, self.half(Direction::ToServer).limit);
        let sequence_fits = segment.sequence == next
            // The ACK itself may have been lost.
            || segment.sequence.is_after(next) && !segment.end().is_after(limit);
        let chosen = self.answers.iter().rev().find(|answer| {
            ack == answer.sequence.plus(1) || ack.is_after(answer.sequence) && segment.sequence.is_after(next)
        });
        match (sequence_fits, chosen.copied()) {
            (true, Some(answer)) => {
                if self.half(Direction::ToClient).isn != answer.sequence
                    || self.origin == SessionOrigin::Midstream
                {
                    self.choose(answer);
                }
                self.state = TcpState::Established;
                self.answers = Vec::new();
                self.in_established(Direction::ToServer, segment, events)
            }
            (true, None) => rejected(events, Event::HandshakeRightSeqWrongAckEvasion),
            (false, _) => rejected(events, Event::HandshakeWrongSeqWrongAck),
        }
    }

    /// The server sends before the client's last ACK was seen: it was lost, or somebody injects.
    fn server_first(&mut self, segment: &Segment<'_>, ack: Sequence, events: &mut Events) -> Verdict {
        let (client_next, server_next) = {
            let [client, server] = &self.halves;
            (client.next, server.next)
        };
        let fits = segment.sequence == server_next && (ack == client_next || ack.is_after(client_next));
        if self.rules.delivery == super::Delivery::Immediate && !segment.payload.is_empty() {
            return rejected(events, Event::HandshakeAckDataInject);
        }
        // Only what acknowledges more than the SYN shows that the server has got the client's ACK.
        let heard_client = ack.is_after(client_next) || !segment.payload.is_empty();
        if !fits || !heard_client {
            return rejected(events, Event::HandshakeAckInWrongDir);
        }
        self.state = TcpState::Established;
        self.answers = Vec::new();
        self.in_established(Direction::ToClient, segment, events)
    }

    /// A RST while the handshake goes on.
    fn reset_of_syn(&mut self, direction: Direction, segment: &Segment<'_>) -> Verdict {
        let acks_syn =
            segment.ack.is_some_and(|ack| ack == self.halves[0].next || ack == self.halves[0].isn.plus(1));
        let state = self.state;
        let half = self.half(direction);
        let is_next = segment.sequence == half.next || segment.sequence == half.isn;
        let valid = match (direction, state) {
            (Direction::ToClient, _) => acks_syn || is_next,
            // A client has nothing to reset before it is answered: others send that, so that we look away.
            (Direction::ToServer, TcpState::SynSent) => false,
            (Direction::ToServer, _) => is_next,
        };
        if !valid {
            return Verdict::Rejected;
        }
        self.reset_by = Some((direction, self.state));
        self.state = TcpState::Closed;
        self.half(direction).flags |= segment.flags;
        Verdict::Taken
    }
}

fn answer(segment: &Segment<'_>, ack: Sequence) -> Answer {
    Answer {
        sequence: segment.sequence,
        ack,
        window: segment.window,
        scale: segment.window_scale,
        timestamp: segment.timestamp,
    }
}

pub(super) fn rejected(events: &mut Events, event: Event) -> Verdict {
    events.add(event);
    Verdict::Rejected
}
