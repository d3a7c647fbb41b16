//! Capture files, pcap and pcapng: [`frames`]. Rule: a file is read in pieces, however long it is, and a broken one says where.

use lockgate_packet::{LinkType, Time};
use pcap_parser::pcapng::Block;
use pcap_parser::{PcapBlockOwned, PcapError, PcapHeader, create_reader};
use std::fmt;
use std::io::Read;

/// How much of a file is held; no frame is longer.
const BUFFER_BYTES: usize = 1 << 20;

/// How many interfaces one section of a pcapng file may describe.
const INTERFACES_MAX: usize = 4096;

/// A frame out of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it was captured.
    pub time: Time,
    /// How it begins.
    pub link: LinkType,
    /// The same by its number in capture files.
    pub link_number: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// How long it was on the wire.
    pub wire_bytes: u32,
    /// Whether the checksum of its TCP or UDP is left to the network card, and not there yet.
    pub is_unsummed: bool,
}

/// What a file had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Frames handed over.
    pub frames: u64,
    /// Frames of link types that are not known.
    pub unknown: u64,
}

/// Why a file could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureError {
    /// It is neither pcap nor pcapng.
    NotACapture,
    /// It ends within a frame, behind so many whole ones.
    Truncated(u64),
    /// It contradicts itself, behind so many frames.
    Broken(u64),
    /// It could not be read, behind so many frames.
    Unreadable(u64),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotACapture => f.write_str("neither pcap nor pcapng"),
            Self::Truncated(frames) => write!(f, "ends within a frame, behind {frames} whole ones"),
            Self::Broken(frames) => write!(f, "broken behind {frames} frames"),
            Self::Unreadable(frames) => write!(f, "cannot be read behind {frames} frames"),
        }
    }
}

impl std::error::Error for CaptureError {}

/// One interface that frames were captured on.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Option<LinkType>,
    link_number: u32,
    /// Units of its times in a second.
    units: u64,
    /// Seconds to be added to its times.
    offset_seconds: i64,
}

impl Interface {
    fn time(&self, units: u64) -> Time {
        let micros = u128::from(units) * 1_000_000 / u128::from(self.units.max(1));
        let micros = i128::try_from(micros).unwrap_or(i128::MAX);
        let offset = i128::from(self.offset_seconds) * 1_000_000;
        Time::from_micros(u64::try_from(micros.saturating_add(offset)).unwrap_or(0))
    }
}

/// What has been learnt of the file so far.
#[derive(Default)]
struct State {
    interfaces: Vec<Interface>,
    last: Time,
    told: Told,
}

/// Hands over each frame of a file, in the order in which they stand there.
///
/// # Errors
///
/// Where the file is no capture, or ends or breaks before its end; what came before has been handed over.
pub fn frames(source: impl Read + Send, mut each: impl FnMut(Frame<'_>)) -> Result<Told, CaptureError> {
    let mut reader = create_reader(BUFFER_BYTES, source).map_err(|_| CaptureError::NotACapture)?;
    let mut state = State::default();
    loop {
        let frames = state.told.frames;
        // What is read borrows the reader, so it is done with before the reader moves on.
        let taken = match reader.next() {
            Ok((length, block)) => {
                state.block(block, &mut each);
                Some(length)
            }
            Err(PcapError::Eof) => return Ok(state.told),
            Err(PcapError::Incomplete(_)) => None,
            Err(PcapError::UnexpectedEof) => return Err(CaptureError::Truncated(frames)),
            Err(PcapError::ReadError) => return Err(CaptureError::Unreadable(frames)),
            Err(_) => return Err(CaptureError::Broken(frames)),
        };
        match taken {
            Some(length) => reader.consume(length),
            None if reader.reader_exhausted() => return Err(CaptureError::Truncated(frames)),
            None => reader.refill().map_err(|_| CaptureError::Unreadable(frames))?,
        }
    }
}

impl State {
    fn block(&mut self, block: PcapBlockOwned<'_>, each: &mut impl FnMut(Frame<'_>)) {
        match block {
            PcapBlockOwned::LegacyHeader(header) => self.interfaces = vec![legacy(&header)],
            PcapBlockOwned::Legacy(packet) => {
                let Some(interface) = self.interfaces.first().copied() else { return };
                let fraction = u64::from(packet.ts_usec);
                let units = u64::from(packet.ts_sec).saturating_mul(interface.units).saturating_add(fraction);
                self.frame(Some(&interface), Some(units), packet.data, packet.origlen, each);
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.interfaces.clear(),
            PcapBlockOwned::NG(Block::InterfaceDescription(described)) => {
                if self.interfaces.len() < INTERFACES_MAX {
                    let link_number = u32::try_from(described.linktype.0).unwrap_or(u32::MAX);
                    self.interfaces.push(Interface {
                        link: LinkType::from_number(link_number),
                        link_number,
                        units: described.ts_resolution().unwrap_or(1_000_000),
                        offset_seconds: described.ts_offset(),
                    });
                }
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let interface = self.interfaces.get(packet.if_id as usize).copied();
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let bytes = packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
                self.frame(interface.as_ref(), Some(units), bytes, packet.origlen, each);
            }
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                // It is of the first interface, and has no time of its own.
                let interface = self.interfaces.first().copied();
                let bytes = packet.data.get(..packet.origlen as usize).unwrap_or(packet.data);
                self.frame(interface.as_ref(), None, bytes, packet.origlen, each);
            }
            PcapBlockOwned::NG(_) => {}
        }
    }

    fn frame(
        &mut self,
        interface: Option<&Interface>,
        units: Option<u64>,
        bytes: &[u8],
        wire_bytes: u32,
        each: &mut impl FnMut(Frame<'_>),
    ) {
        let Some((interface, link)) = interface.and_then(|its| Some((its, its.link?))) else {
            self.told.unknown += 1;
            return;
        };
        if let Some(units) = units {
            self.last = interface.time(units);
        }
        self.told.frames += 1;
        let link_number = interface.link_number;
        each(Frame { time: self.last, link, link_number, bytes, wire_bytes, is_unsummed: false });
    }
}

/// The one interface of a pcap file.
fn legacy(header: &PcapHeader) -> Interface {
    let number = u32::try_from(header.network.0).unwrap_or(u32::MAX);
    // The upper bits say how long a checksum at the end is.
    let link_number = number & 0xffff;
    Interface {
        link: LinkType::from_number(link_number),
        link_number,
        units: if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 },
        offset_seconds: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seen = Vec<(u64, LinkType, Vec<u8>, u32)>;

    fn read(bytes: &[u8]) -> (Result<Told, CaptureError>, Seen) {
        let mut seen = Vec::new();
        let told = frames(bytes, |frame| {
            seen.push((frame.time.micros, frame.link, frame.bytes.to_vec(), frame.wire_bytes));
        });
        (told, seen)
    }

    fn pcap(magic: u32, link: u32, number: fn(u32) -> [u8; 4]) -> Vec<u8> {
        let version = if number(1) == [1, 0, 0, 0] { [2, 0, 4, 0] } else { [0, 2, 0, 4] };
        let mut file = [number(magic), version, number(0), number(0), number(65_535), number(link)].concat();
        for (seconds, fraction, bytes) in [(7, 5000, &b"abc"[..]), (8, 0, b"defgh")] {
            let length = number(bytes.len() as u32);
            file.extend([number(seconds), number(fraction), length, number(99)].concat());
            file.extend(bytes);
        }
        file
    }

    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    }

    fn pcapng() -> Vec<u8> {
        let section = [&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        // Times in milliseconds, on an interface of Ethernet; then one of an unknown link type.
        let interface = [&[1, 0, 0, 0, 0, 0, 1, 0][..], &[9, 0, 1, 0, 3, 0, 0, 0], &[0; 4]].concat();
        let unknown = [231, 3, 0, 0, 0, 0, 1, 0];
        let packet = |interface: u32, bytes: &[u8]| {
            let length = (bytes.len() as u32).to_le_bytes();
            [&interface.to_le_bytes()[..], &[0; 4], &7005u32.to_le_bytes(), &length, &length, bytes].concat()
        };
        [
            block(0x0a0d_0d0a, &section),
            block(1, &interface),
            block(1, &unknown),
            block(6, &packet(0, b"abcde")),
            block(6, &packet(1, b"x")),
            block(3, &[&3u32.to_le_bytes()[..], b"fgh"].concat()),
        ]
        .concat()
    }

    #[test]
    fn both_formats_are_read() {
        let expected = |micros| {
            vec![
                (micros, LinkType::Ethernet, b"abc".to_vec(), 99),
                (8_000_000, LinkType::Ethernet, b"defgh".to_vec(), 99),
            ]
        };
        let told = Ok(Told { frames: 2, unknown: 0 });
        assert_eq!(read(&pcap(0xa1b2_c3d4, 1, u32::to_le_bytes)), (told, expected(7_005_000)));
        assert_eq!(read(&pcap(0xa1b2_c3d4, 1, u32::to_be_bytes)), (told, expected(7_005_000)));
        assert_eq!(read(&pcap(0xa1b2_3c4d, 1, u32::to_le_bytes)), (told, expected(7_000_005)));
        let unknown = read(&pcap(0xa1b2_c3d4, 999, u32::to_le_bytes));
        assert_eq!(unknown, (Ok(Told { frames: 0, unknown: 2 }), vec![]));
        let (told, seen) = read(&pcapng());
        assert_eq!(told, Ok(Told { frames: 2, unknown: 1 }));
        assert_eq!(seen[0], (7_005_000, LinkType::Ethernet, b"abcde".to_vec(), 5));
        assert_eq!(seen[1], (7_005_000, LinkType::Ethernet, b"fgh".to_vec(), 3));
    }

    #[test]
    fn a_file_may_end_anywhere() {
        assert_eq!(read(b"something else").0, Err(CaptureError::NotACapture));
        for file in [pcap(0xa1b2_c3d4, 1, u32::to_le_bytes), pcapng()] {
            let (_, whole) = read(&file);
            for cut in 0..file.len() {
                let (_, seen) = read(&file[..cut]);
                assert!(whole.starts_with(&seen), "cut at {cut}");
            }
            for at in 0..file.len() {
                let mut other = file.clone();
                other[at] ^= 0xff;
                let _ = read(&other);
            }
        }
    }
}
