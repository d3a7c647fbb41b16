//! Connections that others have announced: [`Expected`], for the files of FTP. Rule: each is met once, and only so many are awaited.

use lockgate_packet::Flow;
use lockgate_proto::ftp::Transfer;
use std::collections::VecDeque;
use std::net::IpAddr;

/// How many connections are awaited at a time; of more, the oldest are given up.
const AWAITED_MAX: usize = 4096;

/// A connection for one file.
#[derive(Clone, Debug)]
pub struct File {
    /// What it is for.
    pub transfer: Transfer,
    /// What the file is called.
    pub name: String,
}

/// Connections to come.
#[derive(Default)]
pub struct Expected {
    awaited: VecDeque<(IpAddr, u16, File)>,
}

impl Expected {
    /// One will lead there.
    pub fn expect(&mut self, address: IpAddr, port: u16, file: File) {
        if self.awaited.len() >= AWAITED_MAX {
            self.awaited.pop_front();
        }
        self.awaited.push_back((address, port, file));
    }

    /// Whether a flow is one of them.
    pub fn meet(&mut self, flow: &Flow) -> Option<File> {
        if self.awaited.is_empty() {
            return None;
        }
        let is_met = |(address, port, _): &(IpAddr, u16, File)| {
            *address == flow.server.address && *port == flow.server.port
        };
        let at = self.awaited.iter().position(is_met)?;
        self.awaited.remove(at).map(|(_, _, file)| file)
    }
}
