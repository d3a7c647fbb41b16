//! What passes an interface: [`Interface`], by AF_PACKET and a ring of blocks (TPACKET_V3). Rule: frames are read where the kernel has put them.

use crate::file::Frame;
use crate::system::{Ring, Signals, Socket, Waited, interface_number, wait, zeroed};
use lockgate_packet::{LinkType, Time};
use std::ffi::CString;
use std::io;
use std::time::Duration;

/// A block of the ring; no frame is longer.
const BLOCK_BYTES: usize = 1 << 20;
/// The smallest ring.
const BLOCKS_MIN: usize = 2;
/// What the kernel counts frames by; with this version of the ring they take what they need.
const FRAME_BYTES: usize = 1 << 11;
/// How long the kernel waits for a block to fill before it hands it over.
const BLOCK_MILLIS: u32 = 20;

/// Types of interfaces (linux/if_arp.h).
mod hardware {
    pub(super) const ETHERNET: u16 = 1;
    pub(super) const PPP: u16 = 512;
    pub(super) const RAW_IP: u16 = 519;
    pub(super) const TUNNEL: u16 = 768;
    pub(super) const TUNNEL_6: u16 = 769;
    pub(super) const LOOPBACK: u16 = 772;
    pub(super) const SIT: u16 = 776;
    pub(super) const GRE: u16 = 778;
    pub(super) const GRE_6: u16 = 823;
    pub(super) const NONE: u16 = 0xfffe;
}

/// Whose frames are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promiscuity {
    /// All that come by.
    #[default]
    All,
    /// Those for this machine.
    Own,
}

/// What the kernel has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came.
    pub packets: u64,
    /// Of these those that were lost: nobody took them in time.
    pub drops: u64,
}

/// An interface that is listened to.
#[derive(Debug)]
pub struct Interface {
    // The ring goes before the socket that it belongs to.
    ring: Ring,
    socket: Socket,
    link: LinkType,
    link_number: u32,
    /// The block that is next.
    block: usize,
    blocks: usize,
    counts: Counts,
    /// A frame whose VLAN tag was put back.
    tagged: Vec<u8>,
}

impl Interface {
    /// Listens to an interface, with a ring of about so many bytes. `CAP_NET_RAW` is needed.
    ///
    /// # Errors
    ///
    /// Where there is no such interface, its link type is not known, or the system does not let it.
    pub fn open(name: &str, promiscuity: Promiscuity, ring_bytes: usize) -> io::Result<Self> {
        let name = CString::new(name)?;
        let number = interface_number(&name)?;
        // Nothing is received before it is known what from.
        let socket = Socket::open(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        let blocks = (ring_bytes / BLOCK_BYTES).max(BLOCKS_MIN);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: u32::try_from(blocks).map_err(io::Error::other)?,
            tp_frame_size: FRAME_BYTES as u32,
            tp_frame_nr: u32::try_from(blocks * (BLOCK_BYTES / FRAME_BYTES)).map_err(io::Error::other)?,
            tp_retire_blk_tov: BLOCK_MILLIS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let ring = Ring::map(&socket, BLOCK_BYTES, blocks)?;
        let mut address: libc::sockaddr_ll = zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = number;
        let hardware = hardware_of(&socket, address)?;
        let (link, link_number) = link_of(hardware)
            .ok_or_else(|| io::Error::other(format!("interfaces of type {hardware} are not known")))?;
        if hardware == hardware::LOOPBACK {
            // Each frame comes by twice there: on its way out, and on its way in.
            socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        } else if promiscuity == Promiscuity::All {
            let mut member: libc::packet_mreq = zeroed();
            member.mr_ifindex = number;
            member.mr_type = libc::PACKET_MR_PROMISC as u16;
            socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, member)?;
        }
        socket.bind(address)?;
        let counts = Counts::default();
        Ok(Self { ring, socket, link, link_number, block: 0, blocks, counts, tagged: Vec::new() })
    }

    /// Waits for frames, for `longest` at most.
    ///
    /// # Errors
    ///
    /// Where the interface is gone.
    pub fn wait(&self, signals: &Signals, longest: Duration) -> io::Result<Waited> {
        wait(&self.socket, signals, longest)
    }

    /// Hands over the frames of the next block. `false` where there is none yet.
    pub fn read(&mut self, mut each: impl FnMut(Frame<'_>)) -> bool {
        let Self { ring, link, link_number, block, tagged, .. } = self;
        let told = ring.with(*block, |bytes| {
            for taken in Frames::of(bytes) {
                let bytes = taken.bytes_into(tagged, *link);
                each(Frame {
                    time: taken.time,
                    link: *link,
                    link_number: *link_number,
                    bytes,
                    wire_bytes: taken.wire_bytes,
                    is_unsummed: taken.is_unsummed,
                });
            }
        });
        if told.is_some() {
            self.block = (self.block + 1) % self.blocks;
        }
        told.is_some()
    }

    /// What the kernel has counted since this interface is listened to.
    pub fn counts(&mut self) -> Counts {
        // Asking sets them to zero.
        let asked = self.socket.get::<libc::tpacket_stats_v3>(libc::SOL_PACKET, libc::PACKET_STATISTICS);
        if let Ok(new) = asked {
            self.counts.packets += u64::from(new.tp_packets);
            self.counts.drops += u64::from(new.tp_drops);
        }
        self.counts
    }
}

/// The type of the interface: a socket that belongs to it knows it.
fn hardware_of(socket: &Socket, address: libc::sockaddr_ll) -> io::Result<u16> {
    // Without a protocol nothing is received.
    socket.bind(libc::sockaddr_ll { sll_protocol: 0, ..address })?;
    Ok(socket.name::<libc::sockaddr_ll>()?.sll_hatype)
}

/// How frames of an interface begin, and the number that capture files have for it.
fn link_of(hardware: u16) -> Option<(LinkType, u32)> {
    match hardware {
        hardware::ETHERNET | hardware::LOOPBACK => Some((LinkType::Ethernet, 1)),
        hardware::NONE
        | hardware::RAW_IP
        | hardware::PPP
        | hardware::TUNNEL
        | hardware::TUNNEL_6
        | hardware::SIT
        | hardware::GRE
        | hardware::GRE_6 => Some((LinkType::Raw, 101)),
        _ => None,
    }
}

/// A frame as it lies in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken<'b> {
    time: Time,
    bytes: &'b [u8],
    wire_bytes: u32,
    is_unsummed: bool,
    /// The VLAN tag that the kernel has taken out.
    tag: Option<[u8; 4]>,
}

impl<'b> Taken<'b> {
    /// The frame as it was, with its tag where it had one.
    fn bytes_into<'t>(&self, tagged: &'t mut Vec<u8>, link: LinkType) -> &'t [u8]
    where
        'b: 't,
    {
        let Some(tag) = self.tag.filter(|_| link == LinkType::Ethernet) else { return self.bytes };
        // It stands behind the two addresses.
        let Some((addresses, rest)) = self.bytes.split_at_checked(12) else { return self.bytes };
        tagged.clear();
        tagged.extend_from_slice(addresses);
        tagged.extend_from_slice(&tag);
        tagged.extend_from_slice(rest);
        tagged
    }
}

/// The frames of a block (linux/if_packet.h: `tpacket_block_desc`, `tpacket3_hdr`).
struct Frames<'b> {
    block: &'b [u8],
    at: usize,
    left: u32,
}

impl<'b> Frames<'b> {
    fn of(block: &'b [u8]) -> Self {
        let left = number(block, 12).unwrap_or(0);
        let at = number(block, 16).unwrap_or(0) as usize;
        Self { block, at, left }
    }
}

impl<'b> Iterator for Frames<'b> {
    type Item = Taken<'b>;

    fn next(&mut self) -> Option<Taken<'b>> {
        self.left = self.left.checked_sub(1)?;
        let header = self.block.get(self.at..)?;
        let next = number(header, 0)? as usize;
        let (seconds, nanos) = (number(header, 4)?, number(header, 8)?);
        let (kept_bytes, wire_bytes) = (number(header, 12)? as usize, number(header, 16)?);
        let status = number(header, 20)?;
        let begins = usize::from(half(header, 24)?);
        let bytes = header.get(begins..)?.get(..kept_bytes)?;
        let tag = if status & libc::TP_STATUS_VLAN_VALID != 0 {
            let kind = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { half(header, 36)? } else { 0x8100 };
            let [a, b] = kind.to_be_bytes();
            let [.., c, d] = number(header, 32)?.to_be_bytes();
            Some([a, b, c, d])
        } else {
            None
        };
        if next == 0 {
            self.left = 0;
        }
        self.at = self.at.saturating_add(next);
        let micros = u64::from(seconds) * 1_000_000 + u64::from(nanos / 1000);
        let is_unsummed = status & libc::TP_STATUS_CSUMNOTREADY != 0;
        Some(Taken { time: Time { micros }, bytes, wire_bytes, is_unsummed, tag })
    }
}

/// A number of 32 bits as this machine writes it.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// One of 16 bits.
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with an ordinary frame and one whose tag was taken out.
    fn block() -> Vec<u8> {
        let header = |next: u32, kept: u32, status: u32| {
            let words = [next, 7, 5_000_000, kept, 99, status].map(u32::to_ne_bytes).concat();
            let tag = [0u32.to_ne_bytes(), 0x2005u32.to_ne_bytes()].concat();
            let tail = [&0x88a8u16.to_ne_bytes()[..], &[0; 10]].concat();
            [&words[..], &48u16.to_ne_bytes(), &[0; 2], &tag, &tail].concat()
        };
        let begins = [1u32, 0, 1, 2, 48].map(u32::to_ne_bytes).concat();
        let mut block = [&begins[..], &[0; 28]].concat();
        block.extend(
            [header(64, 14, libc::TP_STATUS_CSUMNOTREADY), b"aaaaaabbbbbb\x08\x00\0\0".to_vec()].concat(),
        );
        let tagged = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        block.extend([header(0, 15, tagged), b"ccccccdddddd\x08\x00!".to_vec()].concat());
        block
    }

    fn read(block: &[u8]) -> Vec<(u64, Vec<u8>, bool)> {
        let mut tagged = Vec::new();
        let each = |taken: Taken<'_>| {
            let bytes = taken.bytes_into(&mut tagged, LinkType::Ethernet).to_vec();
            (taken.time.micros, bytes, taken.is_unsummed)
        };
        Frames::of(block).map(each).collect()
    }

    #[test]
    fn frames_are_taken_out_of_a_block_and_tags_put_back() {
        let expected = vec![
            (7_005_000, b"aaaaaabbbbbb\x08\x00".to_vec(), true),
            (7_005_000, b"ccccccdddddd\x88\xa8\x20\x05\x08\x00!".to_vec(), false),
        ];
        assert_eq!(read(&block()), expected);
    }

    #[test]
    fn a_block_may_be_anything() {
        let whole = block();
        for cut in 0..whole.len() {
            let seen = read(&whole[..cut]);
            assert!(read(&whole).starts_with(&seen), "cut at {cut}");
        }
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 0xff;
            let _ = read(&other);
        }
    }
}
