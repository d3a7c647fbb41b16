//! Packets of IP that were cut up: [`Fragments`] (RFC 791 section 3.2, RFC 8200 section 4.5). Rule: whole or nothing, and never more than there is room for.

use crate::bytes::Sum;
use crate::event::Event;
use crate::ip::{Ip, Ipv4, Ipv6};
use crate::packet::{Packet, Vlans};
use crate::pieces::{Overlap, Pieces};
use crate::time::Time;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

/// The longest packet of IP.
const PACKET_BYTES_MAX: u64 = 65_535;
/// What a packet takes besides its pieces.
const PACKET_BYTES: usize = 256;

/// Whose bytes count where fragments overlap, by what systems do (Novak, "Target-Based Fragmentation Reassembly", 2005).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the system of its name")]
pub enum FragmentPolicy {
    /// What came first stays.
    First,
    /// What came last counts.
    Last,
    #[default]
    Bsd,
    BsdRight,
    Linux,
    Windows,
    Solaris,
}

impl FromStr for FragmentPolicy {
    type Err = ();

    /// The names of `host-os-policy`: systems that do the same share a policy.
    fn from_str(name: &str) -> Result<Self, ()> {
        Ok(match name {
            "first" => Self::First,
            "last" => Self::Last,
            "bsd" | "irix" | "hpux10" | "macos" => Self::Bsd,
            "bsd-right" => Self::BsdRight,
            "linux" | "old-linux" => Self::Linux,
            "windows" | "windows2k3" | "vista" => Self::Windows,
            "solaris" | "old-solaris" | "hpux11" => Self::Solaris,
            _ => return Err(()),
        })
    }
}

impl FragmentPolicy {
    fn new_wins(self, new: &Range<u64>, old: &Range<u64>) -> bool {
        match self {
            Self::First => false,
            Self::Last => true,
            Self::Bsd => new.start < old.start,
            Self::BsdRight => new.start >= old.start,
            Self::Linux => new.start <= old.start,
            Self::Windows => new.start < old.start && new.end > old.end,
            Self::Solaris => new.start < old.start && new.end >= old.end,
        }
    }
}

/// Which packet a fragment is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    id: u32,
    protocol: u8,
    vlans: Vlans,
    depth: u8,
}

/// A packet of which not all is there.
#[derive(Debug)]
struct Unfinished {
    pieces: Pieces,
    /// Where it ends, once its last fragment has come.
    end: Option<u64>,
    /// The header of the fragment at its beginning, as it will stand before the whole.
    header: Vec<u8>,
    /// When the last fragment came, and which one that was.
    age: (Time, u64),
}

/// What a fragment says.
struct Fragment<'a> {
    key: Key,
    offset: u64,
    more: bool,
    bytes: &'a [u8],
}

/// All packets of which not all is there.
pub(crate) struct Fragments {
    unfinished: HashMap<Key, Unfinished>,
    by_age: BTreeMap<(Time, u64), Key>,
    timeout: Duration,
    held_bytes: usize,
    bytes_max: usize,
    count: u64,
}

impl Fragments {
    pub(crate) fn new(timeout: Duration, bytes_max: usize) -> Self {
        Self {
            unfinished: HashMap::new(),
            by_age: BTreeMap::new(),
            timeout,
            held_bytes: 0,
            bytes_max,
            count: 0,
        }
    }

    /// The memory that they take.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// A fragment, and the packet of IP that it completes. What is odd is added to the fragment's events.
    pub(crate) fn insert(
        &mut self,
        time: Time,
        packet: &mut Packet<'_>,
        vlans: Vlans,
        policy: FragmentPolicy,
    ) -> Option<Vec<u8>> {
        let ip = packet.ip?;
        let fragment = fragment(&ip, vlans, packet.depth)?;
        let is_four = matches!(ip, Ip::V4(_));
        let [too_large, overlap, ignored] = if is_four {
            [Event::Ipv4FragPktTooLarge, Event::Ipv4FragOverlap, Event::Ipv4FragIgnored]
        } else {
            [Event::Ipv6FragPktTooLarge, Event::Ipv6FragOverlap, Event::Ipv6FragIgnored]
        };
        let end = fragment.offset + fragment.bytes.len() as u64;
        let header_bytes = if is_four { crate::ip::IPV4_HEADER_BYTES as u64 } else { 0 };
        if end + header_bytes > PACKET_BYTES_MAX {
            packet.events.add(too_large);
            return None;
        }
        self.expire(time);
        let age = (time, self.count);
        self.count += 1;
        let entry = self.unfinished.entry(fragment.key).or_insert_with(|| {
            self.held_bytes += PACKET_BYTES;
            Unfinished { pieces: Pieces::default(), end: None, header: Vec::new(), age }
        });
        let before = entry.footprint();
        self.by_age.remove(&entry.age);
        self.by_age.insert(age, fragment.key);
        entry.age = age;
        if entry.end.is_some_and(|known| end > known) {
            packet.events.add(ignored);
            return None;
        }
        if entry.pieces.insert(fragment.offset, fragment.bytes, |new, old| policy.new_wins(new, old))
            != Overlap::None
        {
            packet.events.add(overlap);
        }
        if fragment.offset == 0 && (entry.header.is_empty() || policy.new_wins(&(0..end), &(0..end))) {
            entry.header = header(&ip);
        }
        if !fragment.more && entry.end.is_none() {
            entry.end = Some(end.max(entry.pieces.end()));
        }
        let whole = entry.whole();
        self.held_bytes = self.held_bytes + entry.footprint() - before;
        if whole.is_some() {
            self.forget(&fragment.key);
        }
        while self.held_bytes > self.bytes_max {
            let Some((_, oldest)) = self.by_age.first_key_value() else { break };
            self.forget(&oldest.clone());
        }
        whole
    }

    /// Forgets what has waited for too long.
    fn expire(&mut self, now: Time) {
        while let Some(((time, _), key)) = self.by_age.first_key_value()
            && now.since(*time) > self.timeout
        {
            self.forget(&key.clone());
        }
    }

    fn forget(&mut self, key: &Key) {
        if let Some(unfinished) = self.unfinished.remove(key) {
            self.by_age.remove(&unfinished.age);
            self.held_bytes -= unfinished.footprint() + PACKET_BYTES;
        }
    }
}

impl Unfinished {
    fn footprint(&self) -> usize {
        self.pieces.held_bytes() + self.header.len()
    }

    /// The packet, if all of it is there.
    fn whole(&self) -> Option<Vec<u8>> {
        let end = self.end.filter(|end| !self.header.is_empty() && self.pieces.whole_from_start() >= *end)?;
        let mut whole = self.header.clone();
        for piece in self.pieces.iter() {
            whole.extend_from_slice(piece);
        }
        finish(&mut whole, self.header.len(), usize::try_from(end).ok()?);
        Some(whole)
    }
}

/// Which packet this is a fragment of, and what of it.
fn fragment<'a>(ip: &Ip<'a>, vlans: Vlans, depth: u8) -> Option<Fragment<'a>> {
    let (id, offset, more, protocol) = match ip {
        Ip::V4(ip) => (u32::from(ip.id()), ip.fragment_offset(), ip.more_fragments(), ip.protocol()),
        Ip::V6(ip) => {
            let header = ip.fragment()?;
            (header.id, header.offset, header.more, 0)
        }
    };
    let bytes = match ip {
        Ip::V4(ip) => ip.payload(),
        // What follows the fragment header was cut, extension headers among it.
        Ip::V6(ip) => behind_fragment_header(ip)?,
    };
    let key = Key { source: ip.source(), destination: ip.destination(), id, protocol, vlans, depth };
    Some(Fragment { key, offset: u64::from(offset) * 8, more, bytes })
}

fn behind_fragment_header<'a>(ip: &Ipv6<'a>) -> Option<&'a [u8]> {
    ip.behind_extensions(ip.fragment()?.at + 8)
}

/// The header that will stand before the whole: the fragment's, without what says that it is one.
fn header(ip: &Ip<'_>) -> Vec<u8> {
    match ip {
        Ip::V4(ip) => header_4(ip),
        Ip::V6(ip) => header_6(ip).unwrap_or_default(),
    }
}

fn header_4(ip: &Ipv4<'_>) -> Vec<u8> {
    let mut header = ip.header().to_vec();
    if let Some(flags) = header.get_mut(6..8) {
        flags.copy_from_slice(&[flags[0] & 0x40, 0]);
    }
    header
}

fn header_6(ip: &Ipv6<'_>) -> Option<Vec<u8>> {
    let fragment = ip.fragment()?;
    let mut header = ip.header().to_vec();
    header.extend_from_slice(ip.extensions().get(..fragment.at)?);
    // Who announced the fragment header announces what follows it.
    let announced_at = ip.announces(fragment.at)?;
    *header.get_mut(announced_at)? = fragment.next;
    Some(header)
}

/// Writes the length into the header, and the checksum that goes with it.
fn finish(packet: &mut [u8], header_bytes: usize, payload_bytes: usize) {
    let is_four = packet.first().is_some_and(|first| first >> 4 == 4);
    let Some(header) = packet.get_mut(..header_bytes) else { return };
    if is_four {
        let total = u16::try_from(header_bytes + payload_bytes).unwrap_or(u16::MAX);
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[10..12].copy_from_slice(&[0, 0]);
        let checksum = Sum::default().add(header).checksum();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        let behind = header_bytes - crate::ip::IPV6_HEADER_BYTES + payload_bytes;
        header[4..6].copy_from_slice(&u16::try_from(behind).unwrap_or(u16::MAX).to_be_bytes());
    }
}
