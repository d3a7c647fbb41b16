//! What was seen in all, as an event `stats`. Rule: what was lost stands there beside what was seen.

use super::{Ends, Eve};
use crate::sniffer::Summary;
use std::io::Write;
use std::time::Duration;

/// What is counted by whom frames come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Since when it listens.
    pub uptime: Duration,
    /// Packets that came there.
    pub kernel_packets: u64,
    /// Of these those that were lost unseen.
    pub kernel_drops: u64,
}

impl<W: Write> Eve<W> {
    /// What was seen up to now.
    pub fn stats(&mut self, stats: Stats, seen: Summary) {
        if !self.wants_all() {
            return;
        }
        self.event("stats", &Ends::default(), None, None, |event| {
            event.object("stats", |all| {
                all.number("uptime", stats.uptime.as_secs());
                all.object("capture", |capture| {
                    capture.number("kernel_packets", stats.kernel_packets);
                    capture.number("kernel_drops", stats.kernel_drops);
                });
                all.object("decoder", |decoder| {
                    decoder.number("pkts", seen.frames);
                    decoder.number("bytes", seen.bytes);
                });
                all.object("flow", |flow| flow.number("total", seen.flows));
                all.object("detect", |detect| {
                    detect.number("alert", seen.alerts);
                    detect.number("not_inspected", seen.not_inspected);
                    detect.number("alert_queue_overflow", seen.alerts_untold);
                });
                all.object("ips", |ips| {
                    ips.number("accepted", seen.frames.saturating_sub(seen.stopped));
                    ips.number("blocked", seen.stopped);
                });
            });
        });
    }
}
