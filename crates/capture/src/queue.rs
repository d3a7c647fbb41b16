//! Packets that wait for a verdict: [`Queue`], by NFQUEUE (linux/netfilter/nfnetlink_queue.h). Rule: each packet gets one, whatever it is.

use crate::file::Frame;
use crate::interface::Counts;
use crate::passage::Passage;
use crate::system::{Signals, Socket, Waited, wait, zeroed};
use lockgate_packet::{LinkType, Time};
use std::io;
use std::time::Duration;

/// Types of messages: those of the subsystem of queues (3), and netlink's own.
const PACKET: u16 = 3 << 8;
const VERDICT: u16 = 3 << 8 | 1;
const CONFIGURE: u16 = 3 << 8 | 2;
const ERROR: u16 = 2;

/// Attributes of a configuration.
mod configure {
    pub(super) const COMMAND: u16 = 1;
    pub(super) const COPY: u16 = 2;
    pub(super) const LENGTH_MAX: u16 = 3;
    pub(super) const MASK: u16 = 4;
    pub(super) const FLAGS: u16 = 5;
}

/// Attributes of a packet.
mod attribute {
    pub(super) const HEADER: u16 = 1;
    pub(super) const VERDICT: u16 = 2;
    pub(super) const PAYLOAD: u16 = 10;
    pub(super) const WIRE_BYTES: u16 = 13;
    pub(super) const BUFFER: u16 = 14;
}

/// Commands: to take a queue.
const BIND: u8 = 1;
/// Packets are wanted whole.
const COPY_PACKET: u8 = 2;
const COPIED_BYTES: u32 = 0xffff;
/// Where too many wait, they pass.
const FAIL_OPEN: u32 = 1;
/// The checksum of the transport is not there yet.
const CHECKSUM_NOT_READY: u32 = 1;
/// How many packets may wait for their verdict in the kernel.
const PACKETS_MAX: u32 = 8192;
/// What may wait in the socket.
const SOCKET_BYTES: i32 = 32 << 20;
/// No message is longer: a packet and what is said of it.
const MESSAGE_BYTES: usize = 128 << 10;
const HEADER_BYTES: usize = 16;
/// Netlink's header and that of a queue's messages.
const HEADERS_BYTES: usize = 20;
const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// What becomes of packets when more come than are asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overload {
    /// They are dropped.
    #[default]
    Dropped,
    /// They pass unasked.
    Passed,
}

/// A queue that packets wait in.
#[derive(Debug)]
pub struct Queue {
    socket: Socket,
    number: u16,
    buffer: Vec<u8>,
    counts: Counts,
}

/// A packet in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting<'m> {
    id: u32,
    bytes: &'m [u8],
    wire_bytes: u32,
    is_unsummed: bool,
}

impl Queue {
    /// Takes a queue. `CAP_NET_ADMIN` is needed.
    ///
    /// # Errors
    ///
    /// Where the system does not let it, has no queues, or somebody else has this one.
    pub fn open(number: u16, overload: Overload) -> io::Result<Self> {
        let socket = Socket::open(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER)?;
        let mut address: libc::sockaddr_nl = zeroed();
        address.nl_family = libc::AF_NETLINK as u16;
        socket.bind(address)?;
        // More than others may have; where that is not given, it does with less.
        if socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, SOCKET_BYTES).is_err() {
            socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, SOCKET_BYTES)?;
        }
        // What found no room is counted by the kernel, and got its verdict from it.
        socket.set(libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, 1)?;
        let mut queue = Self { socket, number, buffer: vec![0; MESSAGE_BYTES], counts: Counts::default() };
        queue.configure(&[(configure::COMMAND, &[BIND, 0, 0, 0])])?;
        let copy = [&COPIED_BYTES.to_be_bytes()[..], &[COPY_PACKET]].concat();
        let length = PACKETS_MAX.to_be_bytes();
        queue.configure(&[(configure::COPY, &copy), (configure::LENGTH_MAX, &length)])?;
        if overload == Overload::Passed {
            let flag = FAIL_OPEN.to_be_bytes();
            queue.configure(&[(configure::MASK, &flag), (configure::FLAGS, &flag)])?;
        }
        Ok(queue)
    }

    /// Waits for packets, for `longest` at most.
    ///
    /// # Errors
    ///
    /// Where the socket is broken.
    pub fn wait(&self, signals: &Signals, longest: Duration) -> io::Result<Waited> {
        wait(&self.socket, signals, longest)
    }

    /// Asks about the next message of packets, and gives them their verdicts. `false` where there is none yet.
    ///
    /// # Errors
    ///
    /// Where a message or a verdict does not get through.
    pub fn read(&mut self, now: Time, mut judge: impl FnMut(Frame<'_>) -> Passage) -> io::Result<bool> {
        let Self { socket, number, buffer, counts } = self;
        let Some(read) = socket.receive(buffer)? else { return Ok(false) };
        for (kind, body) in messages(read) {
            let Some(packet) = (kind == PACKET).then(|| waiting(body)).flatten() else { continue };
            counts.packets += 1;
            let frame = Frame {
                time: now,
                link: LinkType::Raw,
                link_number: 101,
                bytes: packet.bytes,
                wire_bytes: packet.wire_bytes,
                is_unsummed: packet.is_unsummed,
            };
            let verdict = match judge(frame) {
                Passage::Open => ACCEPT,
                Passage::Closed => DROP,
            };
            let said = [verdict.to_be_bytes(), packet.id.to_be_bytes()].concat();
            match socket.send(&message(VERDICT, 0, *number, &[(attribute::VERDICT, &said)])) {
                // It is gone: its interface went down meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                sent => sent?,
            }
        }
        Ok(true)
    }

    /// What has come, and what was lost before it was asked about.
    pub fn counts(&mut self) -> Counts {
        let all = std::fs::read_to_string("/proc/net/netfilter/nfnetlink_queue").unwrap_or_default();
        if let Some(drops) = all.lines().find_map(|line| drops_of(line, self.number)) {
            self.counts.drops = drops;
        }
        self.counts
    }

    /// Sends a configuration and waits for what the kernel says to it.
    fn configure(&mut self, attributes: &[(u16, &[u8])]) -> io::Result<()> {
        let flags = libc::NLM_F_ACK as u16;
        self.socket.send(&message(CONFIGURE, flags, self.number, attributes))?;
        // The kernel has answered before the call is back; packets may stand before the answer only once the queue is taken.
        while let Some(read) = self.socket.receive(&mut self.buffer)? {
            for (kind, body) in messages(read) {
                if let Some(code) = (kind == ERROR).then(|| body.first_chunk()).flatten() {
                    return match i32::from_ne_bytes(*code) {
                        0 => Ok(()),
                        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                    };
                }
                if let Some(packet) = (kind == PACKET).then(|| waiting(body)).flatten() {
                    // Nothing is asked yet.
                    let said = [DROP.to_be_bytes(), packet.id.to_be_bytes()].concat();
                    self.socket.send(&message(VERDICT, 0, self.number, &[(attribute::VERDICT, &said)]))?;
                }
            }
        }
        Err(io::Error::other("the kernel does not answer"))
    }
}

/// Of a line of that file: number, who has it, how many wait, how packets are copied, up to where, and how many were dropped as
/// too many waited or the socket was full.
fn drops_of(line: &str, number: u16) -> Option<u64> {
    let words: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    match words.as_slice() {
        [its, _, _, _, _, queue, user, ..] if *its == u64::from(number) => Some(queue.saturating_add(*user)),
        _ => None,
    }
}

/// A message to a queue.
fn message(kind: u16, flags: u16, queue: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let flags = flags | libc::NLM_F_REQUEST as u16;
    let mut bytes = [&[0; 4][..], &kind.to_ne_bytes(), &flags.to_ne_bytes(), &[0; 8]].concat();
    bytes.extend([0, 0]);
    bytes.extend(queue.to_be_bytes());
    for (name, value) in attributes {
        let length = (value.len() + 4) as u16;
        bytes.extend(length.to_ne_bytes());
        bytes.extend(name.to_ne_bytes());
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let length = (bytes.len() as u32).to_ne_bytes();
    bytes.splice(..4, length);
    bytes
}

/// The messages in what was read: their types, and what is behind their headers.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
        let body = bytes.get(HEADER_BYTES..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// The attributes of a message.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        // Two bits say how the value is written.
        let name = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?) & 0x3fff;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((name, value))
    })
}

/// The packet of a message.
fn waiting(body: &[u8]) -> Option<Waiting<'_>> {
    let (mut id, mut bytes, mut wire_bytes, mut is_unsummed) = (None, &[][..], None, false);
    let number = |value: &[u8]| value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    for (name, value) in attributes(body.get(HEADERS_BYTES - HEADER_BYTES..)?) {
        match name {
            attribute::HEADER => id = number(value),
            attribute::PAYLOAD => bytes = value,
            attribute::WIRE_BYTES => wire_bytes = number(value),
            attribute::BUFFER => {
                is_unsummed = number(value).is_some_and(|flags| flags & CHECKSUM_NOT_READY != 0);
            }
            _ => {}
        }
    }
    let wire_bytes = wire_bytes.unwrap_or_else(|| u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    Some(Waiting { id: id?, bytes, wire_bytes, is_unsummed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets() -> Vec<u8> {
        let header = [&7u32.to_be_bytes()[..], &[8, 0, 1]].concat();
        let flag = CHECKSUM_NOT_READY.to_be_bytes();
        let first = message(
            PACKET,
            0,
            3,
            &[(attribute::HEADER, &header), (attribute::BUFFER, &flag), (attribute::PAYLOAD, b"a packet")],
        );
        let header = [&8u32.to_be_bytes()[..], &[8, 0, 1]].concat();
        let length = 70_000u32.to_be_bytes();
        let second = message(
            PACKET,
            0,
            3,
            &[
                (attribute::HEADER, &header),
                (attribute::WIRE_BYTES, &length),
                (attribute::PAYLOAD, b"another"),
            ],
        );
        [first, second].concat()
    }

    fn read(bytes: &[u8]) -> Vec<Waiting<'_>> {
        messages(bytes).filter(|(kind, _)| *kind == PACKET).filter_map(|(_, body)| waiting(body)).collect()
    }

    #[test]
    fn packets_are_taken_out_of_messages() {
        let expected = [
            Waiting { id: 7, bytes: b"a packet", wire_bytes: 8, is_unsummed: true },
            Waiting { id: 8, bytes: b"another", wire_bytes: 70_000, is_unsummed: false },
        ];
        assert_eq!(read(&packets()), expected);
    }

    #[test]
    fn a_message_may_be_anything() {
        let whole = packets();
        for cut in 0..whole.len() {
            assert!(read(&whole).starts_with(&read(&whole[..cut])), "cut at {cut}");
        }
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 0xff;
            let _ = read(&other);
        }
    }

    #[test]
    fn the_kernel_counts_what_is_lost() {
        let line = "    3   4711     0 2 65531     5     7       99  1";
        assert_eq!(drops_of(line, 3), Some(12));
        assert_eq!(drops_of(line, 4), None);
        assert_eq!(drops_of("3 x", 3), None);
    }
}
