//! What is odd, as an event. Rule: the names are those that rules ask for it by.

use super::{Ends, Eve};
use lockgate_model::{Protocol, Reason};
use lockgate_packet::{Direction, Flow, Packet};
use std::io::Write;

impl<W: Write> Eve<W> {
    /// Something odd in what was said.
    pub fn anomaly(&mut self, flow: &Flow, direction: Direction, spoken: Option<Protocol>, name: &str) {
        if !self.wants_all() {
            return;
        }
        self.event("anomaly", &Ends::of_flow(flow, direction), Some(flow), None, |event| {
            if let Some(spoken) = spoken {
                event.text("app_proto", spoken.name());
            }
            event.object("anomaly", |object| {
                object.text("type", "applayer");
                let (_, own) = name.split_once('.').unwrap_or(("", name));
                object.text("event", own);
                object.text("layer", "proto_parser");
            });
        });
    }

    /// Content that could not be inspected in whole.
    pub fn incomplete(&mut self, flow: &Flow, direction: Direction, reason: Reason) {
        self.tell_not_inspected(&Ends::of_flow(flow, direction), Some(flow), None, reason);
    }

    /// A packet of no flow that could not be.
    pub fn incomplete_packet(&mut self, packet: &Packet<'_>, reason: Reason) {
        self.tell_not_inspected(&Ends::of_packet(packet), None, Some(packet), reason);
    }

    fn tell_not_inspected(
        &mut self,
        ends: &Ends,
        flow: Option<&Flow>,
        packet: Option<&Packet<'_>>,
        reason: Reason,
    ) {
        self.not_inspected += 1;
        if !self.wants_all() {
            return;
        }
        self.event("anomaly", ends, flow, packet, |event| {
            event.object("anomaly", |object| {
                object.text("type", "applayer");
                object.text("event", "not_inspected");
                object.text("reason", reason.name());
                object.text("layer", "proto_parser");
            });
        });
    }
}
