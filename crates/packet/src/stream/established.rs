//! Segments of a connection that stands or closes: which the receiver takes (RFC 9293 section 3.10.7.4). Rule: a window decides, then the bytes are kept.

use super::handshake::rejected;
use super::sequence::Sequence;
use super::session::{Half, Segment, Session, SessionOrigin, TcpState, Verdict};
use crate::event::{Event, Events};
use crate::time::Time;
use crate::transport::tcp_flag;
use lockgate_model::Direction;
use std::time::Duration;

/// After so long a timestamp may have gone round (RFC 7323 section 5.5).
const TIMESTAMP_AGE_MAX: Duration = Duration::from_secs(24 * 24 * 3600);

impl Session {
    pub(super) fn in_established(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        events: &mut Events,
    ) -> Verdict {
        if self.state == TcpState::Closed {
            return self.after_close(direction, segment, events);
        }
        if segment.has(tcp_flag::SYN) {
            return self.syn_again(direction, segment, events);
        }
        if !self.timestamp_fits(direction, segment) {
            return rejected(events, Event::PktInvalidTimestamp);
        }
        if segment.has(tcp_flag::RST) {
            return self.reset(direction, segment, events);
        }
        if let Some(ack) = segment.ack
            && !self.ack_fits(direction, ack)
        {
            events.add(Event::PktInvalidAck);
            return rejected(events, self.invalid_ack());
        }
        if self.is_keep_alive(direction, segment) {
            self.take_ack(direction, segment);
            return Verdict::Taken;
        }
        if let Some(event) = self.out_of_place(direction, segment, events) {
            return rejected(events, event);
        }
        if segment.has(tcp_flag::FIN)
            && let Some(event) = self.fin_out_of_place(direction, segment)
        {
            return rejected(events, event);
        }
        self.take_ack(direction, segment);
        let half = self.half(direction);
        half.next = half.next.latest(segment.end());
        if let Some(value) = segment.timestamp {
            half.timestamp = Some((value, segment.time));
        }
        self.insert(direction, segment, events);
        if segment.has(tcp_flag::FIN) {
            self.fin(direction, segment);
        }
        Verdict::Taken
    }

    /// The segment lies where the receiver takes nothing: what is wrong with it.
    fn out_of_place(
        &mut self,
        direction: Direction,
        segment: &Segment<'_>,
        events: &mut Events,
    ) -> Option<Event> {
        let trusted = self.origin == SessionOrigin::Syn;
        let state = self.state;
        let peer_window = self.half(direction.reverse()).window;
        let half = self.half(direction);
        if !segment.payload.is_empty() && segment.sequence.is_before(half.acknowledged) {
            if !segment.end_with_fin().is_after(half.acknowledged) {
                return trusted.then_some(Event::PktSpuriousRetransmission);
            }
            events.add(Event::PktRetransmission);
        }
        if segment.end_with_fin().is_before(half.acknowledged) {
            // What was acknowledged and never seen may still come.
            let late = half.acknowledged.is_after(half.next) && segment.end().is_after(half.next);
            if trusted && !late {
                return Some(match state {
                    TcpState::CloseWait => Event::ClosewaitPktBeforeLastAck,
                    _ => Event::EstPktBeforeLastAck,
                });
            }
        }
        let probes_window = segment.length() == 1 && segment.sequence == half.next && peer_window == 0;
        if trusted && !probes_window && segment.end().is_after(half.limit.latest(half.next)) {
            return Some(match state {
                TcpState::CloseWait => Event::ClosewaitAckOutOfWindow,
                TcpState::FinWait1 => Event::Fin1AckWrongSeq,
                TcpState::FinWait2 => Event::Fin2AckWrongSeq,
                TcpState::Closing => Event::ClosingAckWrongSeq,
                TcpState::LastAck => Event::LastackAckWrongSeq,
                TcpState::TimeWait => Event::TimewaitAckWrongSeq,
                _ => Event::EstPacketOutOfWindow,
            });
        }
        None
    }

    /// One byte before the next, or none: only to hear whether the other is there.
    fn is_keep_alive(&mut self, direction: Direction, segment: &Segment<'_>) -> bool {
        let half = self.half(direction);
        let is_before_next = segment.sequence.plus(1) == half.next;
        segment.payload.len() <= 1
            && is_before_next
            && !segment.has(tcp_flag::FIN)
            && !segment.sequence.is_before(half.isn.plus(u32::from(!segment.payload.is_empty())))
            && !half.reassembly_wants(segment)
    }

    /// Whether the other side can have got what this acknowledges.
    fn ack_fits(&mut self, direction: Direction, ack: Sequence) -> bool {
        let trusted = self.origin == SessionOrigin::Syn;
        let half = self.half(direction.reverse());
        let fin = u32::from(half.fin.is_some());
        !trusted || !ack.is_after(half.limit.latest(half.next).plus(fin))
    }

    /// What the segment acknowledges and offers.
    fn take_ack(&mut self, direction: Direction, segment: &Segment<'_>) {
        let Some(ack) = segment.ack else { return };
        let half = self.half(direction);
        half.window = u32::from(segment.window) << half.scale;
        let window = half.window;
        let other = self.half(direction.reverse());
        other.acknowledged = other.acknowledged.latest(ack);
        let limit = ack.plus(window);
        other.limit = other.limit.latest(limit);
        other.reassembly.acknowledge(ack);
        self.fin_acknowledged(direction.reverse());
    }

    fn timestamp_fits(&mut self, direction: Direction, segment: &Segment<'_>) -> bool {
        let trusted = self.origin == SessionOrigin::Syn;
        let (Some(value), Some((last, seen))) = (segment.timestamp, self.half(direction).timestamp) else {
            return true;
        };
        let is_old = (value.wrapping_sub(last) as i32) < 0;
        let may_have_gone_round = seen != Time::default() && segment.time.since(seen) > TIMESTAMP_AGE_MAX;
        !trusted || value == 0 || last == 0 || !is_old || may_have_gone_round
    }

    /// A SYN in the middle of a connection.
    fn syn_again(&mut self, direction: Direction, segment: &Segment<'_>, events: &mut Events) -> Verdict {
        if self.state != TcpState::Established {
            return rejected(events, Event::ShutdownSynResend);
        }
        let is_to_client = direction == Direction::ToClient;
        let same = self.half(direction).isn == segment.sequence;
        let acknowledged = self.half(direction.reverse()).acknowledged;
        let begins = self.half(direction.reverse()).isn.plus(1);
        match segment.ack {
            Some(_) if !is_to_client => rejected(events, Event::EstSynackToserver),
            Some(ack) if ack != acknowledged && ack != begins => {
                rejected(events, Event::EstSynackResendWithDifferentAck)
            }
            Some(_) if !same => rejected(events, Event::EstSynackResendWithDiffSeq),
            Some(_) => rejected(events, Event::EstSynackResend),
            None if is_to_client => rejected(events, Event::EstSynToclient),
            None if !same => rejected(events, Event::EstSynResendDiffSeq),
            None => rejected(events, Event::EstSynResend),
        }
    }

    fn invalid_ack(&self) -> Event {
        match self.state {
            TcpState::FinWait1 => Event::Fin1InvalidAck,
            TcpState::FinWait2 => Event::Fin2InvalidAck,
            TcpState::TimeWait => Event::TimewaitInvalidAck,
            TcpState::LastAck => Event::LastackInvalidAck,
            TcpState::CloseWait => Event::ClosewaitInvalidAck,
            TcpState::Closing => Event::ClosingInvalidAck,
            _ => Event::EstInvalidAck,
        }
    }
}

impl Half {
    /// Whether the byte of what looks like a keep-alive has not come yet.
    fn reassembly_wants(&self, segment: &Segment<'_>) -> bool {
        !segment.payload.is_empty() && self.acknowledged.is_before(segment.end())
    }
}
