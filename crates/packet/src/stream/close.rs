//! How a connection ends: FIN on each side, or RST. Rule: a RST counts only where the target would take it.

use super::handshake::rejected;
use super::policy::StreamPolicy;
use super::session::{Segment, Session, SessionOrigin, TcpState, Verdict, index};
use crate::event::{Event, Events};
use crate::transport::tcp_flag;
use lockgate_model::Direction;

impl Session {
    /// What is wrong with a FIN where it stands.
    pub(super) fn fin_out_of_place(&mut self, direction: Direction, segment: &Segment<'_>) -> Option<Event> {
        let trusted = self.origin == SessionOrigin::Syn;
        let state = self.state;
        let half = self.half(direction);
        let is_again = half.fin.is_some_and(|fin| fin == segment.end());
        if !trusted || is_again || !segment.end().is_before(half.next) {
            return None;
        }
        Some(match state {
            TcpState::CloseWait => Event::ClosewaitFinOutOfWindow,
            TcpState::FinWait1 => Event::Fin1FinWrongSeq,
            TcpState::FinWait2 => Event::Fin2FinWrongSeq,
            _ => Event::FinOutOfWindow,
        })
    }

    /// One side has no more to say.
    pub(super) fn fin(&mut self, direction: Direction, segment: &Segment<'_>) {
        let half = self.half(direction);
        if half.fin.is_some() {
            return;
        }
        half.fin = Some(segment.end());
        half.reassembly.end_at(segment.end());
        let from_client = direction == Direction::ToServer;
        self.state = match self.state {
            TcpState::Established if from_client => TcpState::CloseWait,
            TcpState::Established => TcpState::FinWait1,
            TcpState::CloseWait if !from_client => TcpState::LastAck,
            // The server's FIN has not been acknowledged, unless this segment does it.
            TcpState::FinWait1 if from_client => TcpState::Closing,
            TcpState::FinWait2 if from_client => TcpState::TimeWait,
            other => other,
        };
    }

    /// Moves on where a side's FIN has been acknowledged.
    pub(super) fn fin_acknowledged(&mut self, direction: Direction) {
        let half = self.half(direction);
        let acknowledged = half.acknowledged;
        if !half.fin.is_some_and(|fin| acknowledged.is_after(fin)) {
            return;
        }
        let of_server = direction == Direction::ToClient;
        self.state = match self.state {
            TcpState::FinWait1 if of_server => TcpState::FinWait2,
            TcpState::Closing if of_server => TcpState::TimeWait,
            TcpState::TimeWait if !of_server => TcpState::Closed,
            TcpState::LastAck if of_server => TcpState::Closed,
            other => other,
        };
    }

    pub(super) fn reset(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        events: &mut Events,
    ) -> Verdict {
        let trusted = self.origin == SessionOrigin::Syn;
        let policy = self.rules.policies[index(direction)];
        let peer = self.half(direction.reverse());
        let ack_limit = peer.limit.latest(peer.next).plus(1);
        let window = peer.window;
        if trusted && segment.ack.is_some_and(|ack| ack.is_after(ack_limit)) {
            events.add(Event::PktInvalidAck);
            return rejected(events, Event::RstInvalidAck);
        }
        let half = self.half(direction);
        let is_exact = segment.sequence == half.next
            || half.fin.is_some_and(|fin| segment.sequence == fin || segment.sequence == fin.plus(1));
        let in_window =
            !segment.end().is_before(half.acknowledged) && !segment.sequence.is_after(half.next.plus(window));
        let valid = match policy {
            StreamPolicy::Linux | StreamPolicy::OldLinux | StreamPolicy::Solaris => in_window,
            StreamPolicy::Hpux11 => !segment.sequence.is_before(half.next),
            // RFC 5961 section 3.2: the very next number. What was acknowledged and never seen is part of it.
            _ => is_exact || segment.sequence == half.acknowledged,
        };
        if trusted && !valid {
            return Verdict::Rejected;
        }
        // What a RST brings is for whoever wonders why, not for the receiver's program (RFC 9293 section 3.5.3).
        self.take_last_ack(direction, segment);
        self.reset_by = Some((direction, self.state));
        self.state = TcpState::Closed;
        Verdict::Taken
    }

    fn take_last_ack(&mut self, direction: Direction, segment: &Segment<'_>) {
        if let Some(ack) = segment.ack {
            self.half(direction.reverse()).reassembly.acknowledge(ack);
        }
    }

    /// Something comes though the connection is over.
    pub(super) fn after_close(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        events: &mut Events,
    ) -> Verdict {
        let Some((reset_by, state)) = self.reset_by.filter(|_| !segment.has(tcp_flag::RST)) else {
            return Verdict::Rejected;
        };
        if reset_by != direction {
            return Verdict::Rejected;
        }
        events.add(Event::SuspectedRstInject);
        // Who has reset the connection goes on with it: the RST was somebody else's.
        self.state = state;
        let verdict = self.receive(direction, segment, events);
        if verdict == Verdict::Taken {
            self.reset_by = None;
        } else {
            self.state = TcpState::Closed;
        }
        verdict
    }
}
