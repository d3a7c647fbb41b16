//! The end of a flow as an event. Rule: what was counted, not what was guessed.

use super::{Ends, Eve};
use lockgate_eve::{Object, timestamp};
use lockgate_model::Protocol;
use lockgate_packet::{Direction, Flow, FlowEnd, TcpConnection, Time, protocol, tcp_flag};
use std::io::Write;
use std::time::Duration;

/// What else is known of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What was spoken.
    pub spoken: Option<Protocol>,
    /// Whether a rule has matched in it.
    pub is_alerted: bool,
}

/// TCP's flags, by the names that EVE has for them.
const FLAGS: [(u8, &str); 8] = [
    (tcp_flag::SYN, "syn"),
    (tcp_flag::FIN, "fin"),
    (tcp_flag::RST, "rst"),
    (tcp_flag::PSH, "psh"),
    (tcp_flag::ACK, "ack"),
    (tcp_flag::URG, "urg"),
    (tcp_flag::ECE, "ecn"),
    (tcp_flag::CWR, "cwr"),
];

impl<W: Write> Eve<W> {
    /// A flow has ended.
    pub fn flow(&mut self, flow: &Flow, why: FlowEnd, known: Known) {
        if !self.wants_all() {
            return;
        }
        self.event("flow", &Ends::of_flow(flow, Direction::ToServer), Some(flow), None, |event| {
            if let Some(spoken) = known.spoken {
                event.text("app_proto", spoken.name());
            }
            event.object("flow", |object| {
                counts(flow, object);
                object.shown("end", moment(flow.last));
                object.number("age", flow.last.since(flow.started).as_secs());
                object.text("state", flow.state.name());
                object.text("reason", why.name());
                object.flag("alerted", known.is_alerted);
            });
            event.text("community_id", &flow.community_id());
            if let Some(tcp) = flow.tcp.filter(|_| flow.protocol == protocol::TCP) {
                event.object("tcp", |object| connection(&tcp, object));
            }
        });
    }
}

/// What each side has sent, and since when.
pub fn counts(flow: &Flow, object: &mut Object<'_>) {
    let [client, server] = [Direction::ToServer, Direction::ToClient].map(|way| flow.counts(way));
    object.number("pkts_toserver", client.packets);
    object.number("pkts_toclient", server.packets);
    object.number("bytes_toserver", client.bytes);
    object.number("bytes_toclient", server.bytes);
    object.shown("start", moment(flow.started));
}

fn connection(tcp: &TcpConnection, object: &mut Object<'_>) {
    let [to_server, to_client] = tcp.flags;
    object.shown("tcp_flags", format_args!("{:02x}", to_server | to_client));
    object.shown("tcp_flags_ts", format_args!("{to_server:02x}"));
    object.shown("tcp_flags_tc", format_args!("{to_client:02x}"));
    for (_, name) in FLAGS.iter().filter(|(flag, _)| (to_server | to_client) & flag != 0) {
        object.flag(name, true);
    }
    object.text("state", tcp.state.name());
    for (is_missing, name) in tcp.gaps.iter().zip(["ts_gap", "tc_gap"]) {
        if *is_missing {
            object.flag(name, true);
        }
    }
}

fn moment(time: Time) -> String {
    timestamp::of(Duration::from_micros(time.micros))
}
