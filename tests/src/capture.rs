//! Captures that are made for the wire: [`Capture`], and connections in it. Rule: as the kernel would capture them, both ways, with right
//! lengths and checksums; the same bytes each time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;

/// Microseconds from frame to frame.
const FRAME_MICROS: u64 = 2;
/// 21 November 2026, noon.
const BEGIN_SECONDS: u64 = 1_795_262_400;
const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
const IP_HEADER: usize = 20;
/// What a receiver takes before it has acknowledged it.
const WINDOW: usize = 0xffff;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Bits of a segment (RFC 9293 section 3.1).
pub mod flag {
    /// Nothing more is said.
    pub const FIN: u8 = 1;
    /// The beginning.
    pub const SYN: u8 = 2;
    /// To be read at once.
    pub const PUSH: u8 = 8;
    /// Something is acknowledged.
    pub const ACK: u8 = 16;
}

/// A capture file that is written.
pub struct Capture {
    out: BufWriter<File>,
    micros: u64,
    /// How many frames it has.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Capture {
    /// Without a frame yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        // pcap's head: microseconds, version 2.4, frames of up to 256 KB, Ethernet.
        for word in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 262_144, 1] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { out, micros: 0, frames: 0, bytes: 0 })
    }

    /// One more frame.
    pub fn frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.micros += FRAME_MICROS;
        let seconds = BEGIN_SECONDS + self.micros / 1_000_000;
        let length = bytes.len() as u32;
        for word in [seconds as u32, (self.micros % 1_000_000) as u32, length, length] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.frames += 1;
        self.bytes += u64::from(length);
        self.out.write_all(bytes)
    }

    /// The frames of several connections, one of each in turn, as on a busy line.
    pub fn interleaved(&mut self, dialogues: Vec<Dialogue>) -> io::Result<()> {
        let mut waiting: Vec<_> = dialogues.into_iter().map(|its| its.frames.into_iter()).collect();
        while !waiting.is_empty() {
            for frames in &mut waiting {
                if let Some(frame) = frames.next() {
                    self.frame(&frame)?;
                }
            }
            waiting.retain(|frames| frames.len() > 0);
        }
        Ok(())
    }

    /// No more come.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its port.
    pub port: u16,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// Who has begun.
    Client,
    /// Who was asked.
    Server,
}

/// One connection of TCP, as its frames.
pub struct Dialogue {
    ends: [End; 2],
    /// The sequence number that each side sends next.
    next: [u32; 2],
    segment_bytes: usize,
    frames: Vec<Vec<u8>>,
}

impl Dialogue {
    /// A connection with its handshake, whose segments are of so many bytes at most; `next` are the first sequence numbers.
    pub fn begin(client: End, server: End, segment_bytes: usize, next: [u32; 2]) -> Self {
        let mut dialogue = Self { ends: [client, server], next, segment_bytes, frames: Vec::new() };
        dialogue.segment(Speaker::Client, flag::SYN, b"");
        dialogue.segment(Speaker::Server, flag::SYN | flag::ACK, b"");
        dialogue.segment(Speaker::Client, flag::ACK, b"");
        dialogue
    }

    /// One side says something; the other acknowledges each second segment, each where there is no window for two, and the last one.
    pub fn say(&mut self, speaker: Speaker, bytes: &[u8]) {
        let listener = if speaker == Speaker::Client { Speaker::Server } else { Speaker::Client };
        let segments = bytes.chunks(self.segment_bytes);
        let count = segments.len();
        for (at, segment) in segments.enumerate() {
            let is_last = at + 1 == count;
            let push = if is_last { flag::PUSH } else { 0 };
            self.segment(speaker, flag::ACK | push, segment);
            if at % 2 == 1 || is_last || 2 * self.segment_bytes > WINDOW {
                self.segment(listener, flag::ACK, b"");
            }
        }
    }

    /// Both sides have said all.
    pub fn end(mut self) -> Self {
        self.segment(Speaker::Client, flag::FIN | flag::ACK, b"");
        self.segment(Speaker::Server, flag::FIN | flag::ACK, b"");
        self.segment(Speaker::Client, flag::ACK, b"");
        self
    }

    fn segment(&mut self, speaker: Speaker, flags: u8, payload: &[u8]) {
        let from = usize::from(speaker == Speaker::Server);
        let acknowledged = if flags & flag::ACK != 0 { self.next[1 - from] } else { 0 };
        let numbers = (self.next[from], acknowledged);
        self.frames.push(segment(self.ends[from], self.ends[1 - from], numbers, flags, payload));
        let more = payload.len() as u32 + u32::from(flags & (flag::SYN | flag::FIN) != 0);
        self.next[from] = self.next[from].wrapping_add(more);
    }
}

/// A frame with a segment of TCP; `numbers` are its own and what it acknowledges.
pub fn segment(from: End, to: End, numbers: (u32, u32), flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut tcp = Vec::with_capacity(20 + payload.len());
    tcp.extend([from.port.to_be_bytes(), to.port.to_be_bytes()].concat());
    tcp.extend([numbers.0.to_be_bytes(), numbers.1.to_be_bytes()].concat());
    tcp.extend([5 << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend(payload);
    let pseudo = Sum::default()
        .add(&from.address.octets())
        .add(&to.address.octets())
        .add(&u32::from(TCP).to_be_bytes())
        .add(&(tcp.len() as u32).to_be_bytes());
    let checksum = pseudo.add(&tcp).checksum();
    tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
    packet(from.address, to.address, (TCP, 1, 0x4000), &tcp)
}

/// A frame with a datagram of UDP, without a checksum (RFC 768).
pub fn datagram(from: End, to: End, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    let udp = [&from.port.to_be_bytes()[..], &to.port.to_be_bytes(), &length, &[0, 0], payload].concat();
    packet(from.address, to.address, (UDP, 1, 0x4000), &udp)
}

/// A frame with the first fragment of a datagram whose others never come.
pub fn first_fragment(from: Ipv4Addr, to: Ipv4Addr, id: u16, payload: &[u8]) -> Vec<u8> {
    packet(from, to, (UDP, id, 0x2000), payload)
}

/// A frame with a packet of IPv4; `(protocol, id, place)` as they stand in its header.
fn packet(from: Ipv4Addr, to: Ipv4Addr, (protocol, id, place): (u8, u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(ETHERNET.len() + IP_HEADER + payload.len());
    frame.extend(ETHERNET);
    let total = ((IP_HEADER + payload.len()) as u16).to_be_bytes();
    let mut header = [&[0x45, 0], &total[..], &id.to_be_bytes(), &place.to_be_bytes()].concat();
    header.extend([64, protocol, 0, 0]);
    header.extend(from.octets());
    header.extend(to.octets());
    let checksum = Sum::default().add(&header).checksum();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(header);
    frame.extend(payload);
    frame
}

/// A one's-complement sum (RFC 1071).
#[derive(Clone, Copy, Default)]
struct Sum(u64);

impl Sum {
    fn add(mut self, bytes: &[u8]) -> Self {
        for pair in bytes.chunks(2) {
            self.0 += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
        }
        self
    }

    fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}
