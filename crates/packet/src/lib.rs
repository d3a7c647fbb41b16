//! From a frame to a reassembled stream: what a capture needs below the protocols. Rule: bytes and times in, packets, flows and streams out; no socket, no clock.
//!
//! [`Tracker`] is the front door: it is given frames with the time of each, and tells an [`Observer`] of packets, flows and
//! the bytes of TCP's streams in their order. Within it [`Packet`] is a decoded frame ([`decode`]), [`fragments`] puts
//! packets of IP together, [`flows`] finds a packet's flow, and [`stream`] follows TCP and puts each side's bytes in order.

mod bytes;
mod checksum;
mod decode;
mod event;
mod flow;
mod flows;
mod fragments;
mod ip;
mod packet;
mod pieces;
mod stream;
mod time;
mod tracker;
mod transport;

#[cfg(test)]
mod frames;

pub use checksum::Checksum;
pub use event::{Event, Events};
pub use flow::{Counts, Endpoint, Flow, FlowEnd, FlowState};
pub use flows::Timeouts;
pub use fragments::FragmentPolicy;
pub use ip::{FragmentHeader, Ip, Ipv4, Ipv4Option, Ipv4Options, Ipv6, protocol};
pub use lockgate_model::{Direction, Network};
pub use packet::{Ethernet, Inner, LinkType, Origin, Outermost, Packet, Quoted, Tunnel, VLANS_MAX, Vlans};
pub use stream::{
    Delivery, Midstream, OneSided, StreamPolicy, Tcp as TcpConnection, TcpState, Urgent, Verdict,
};
pub use time::Time;
pub use tracker::{
    Checksums, Chunk, Gap, Interest, Observer, Place, Settings, Target, Tracker, VlanTracking,
};
pub use transport::{Icmp, Sctp, Tcp, TcpOptions, Transport, Udp, tcp_flag};
