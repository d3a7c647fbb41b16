//! A datagram → a [`Message`] (RFC 1035 section 4). Rule: what one message may come to in memory has a bound.

use super::{Oddity, name};
use crate::Side;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The most records that are read of a message.
pub const RECORDS_MAX: usize = 4096;
/// The most bytes that the names of a message come to, as they are written, before no more records are read: compressed, a few
/// bytes stand for a thousand.
pub const NAMES_BYTES_MAX: usize = 256 << 10;

const HEADER_BYTES: usize = 12;
/// The least that any record takes: so many bytes at least a message has for each that it announces.
const RECORD_BYTES_MIN: usize = 2;
/// The highest operation that is assigned: DSO (RFC 8490).
const OPCODE_MAX: u8 = 6;

mod kind {
    pub const A: u16 = 1;
    pub const NS: u16 = 2;
    pub const CNAME: u16 = 5;
    pub const SOA: u16 = 6;
    pub const PTR: u16 = 12;
    pub const MX: u16 = 15;
    pub const TXT: u16 = 16;
    pub const AAAA: u16 = 28;
    pub const SRV: u16 = 33;
    pub const OPT: u16 = 41;
    pub const SSHFP: u16 = 44;
}

/// The first twelve bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Chosen by who asks, repeated by who answers.
    pub id: u16,
    /// The second word: QR, opcode, AA, TC, RD, RA, Z, AD, CD, response code.
    pub flags: u16,
    /// How many questions are announced.
    pub questions: u16,
    /// How many records of the answer.
    pub answers: u16,
    /// How many of the authority section.
    pub authorities: u16,
    /// How many of the additional section.
    pub additionals: u16,
}

impl Header {
    fn read(message: &[u8]) -> Option<Self> {
        let words: [u16; HEADER_BYTES / 2] =
            std::array::from_fn(|at| number(message, at * 2).unwrap_or_default());
        let [id, flags, questions, answers, authorities, additionals] = words;
        let header = Self { id, flags, questions, answers, authorities, additionals };
        (message.len() >= HEADER_BYTES).then_some(header)
    }

    /// Whether it is an answer.
    pub fn is_response(&self) -> bool {
        self.flags & 0x8000 != 0
    }

    /// The operation: 0 is a query.
    pub fn opcode(&self) -> u8 {
        (self.flags >> 11 & 0xf) as u8
    }

    /// Whether the server says this of its own zone.
    pub fn is_authoritative(&self) -> bool {
        self.flags & 0x0400 != 0
    }

    /// Whether there was more than fits.
    pub fn is_truncated(&self) -> bool {
        self.flags & 0x0200 != 0
    }

    /// Whether the server is to ask others.
    pub fn is_recursion_desired(&self) -> bool {
        self.flags & 0x0100 != 0
    }

    /// Whether it would.
    pub fn is_recursion_available(&self) -> bool {
        self.flags & 0x0080 != 0
    }

    /// The bit that is to be zero.
    pub fn is_z_set(&self) -> bool {
        self.flags & 0x0040 != 0
    }

    /// The lower four bits of the response code; EDNS has more ([`Message::response_code`]).
    pub fn response_code(&self) -> u8 {
        (self.flags & 0xf) as u8
    }

    /// Whether so many bytes can hold what it announces.
    fn fits(&self, bytes: usize) -> bool {
        let counts = [self.questions, self.answers, self.authorities, self.additionals];
        let records: usize = counts.into_iter().map(usize::from).sum();
        records * RECORD_BYTES_MIN <= bytes
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name: labels with dots between them and none at the end, bytes as they are; empty for the root.
    pub name: Vec<u8>,
    /// The type of records (IANA, "Resource Record (RR) TYPEs").
    pub kind: u16,
    /// The class; 1 is the Internet.
    pub class: u16,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is about, as in a [`Question`].
    pub name: Vec<u8>,
    /// Its type.
    pub kind: u16,
    /// Its class; for EDNS the largest datagram that is taken (RFC 6891 section 6.1.2).
    pub class: u16,
    /// For how many seconds it may be kept; for EDNS flags.
    pub ttl: u32,
    /// What it says.
    pub data: Data,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// A, AAAA (RFC 3596).
    Address(IpAddr),
    /// CNAME, NS, PTR, and MX without its preference.
    Name(Vec<u8>),
    /// The strings of TXT.
    Texts(Vec<Vec<u8>>),
    /// SOA.
    Authority {
        /// The zone's first server.
        server: Vec<u8>,
        /// Who is responsible, a mail address with a dot for its `@`.
        mailbox: Vec<u8>,
        /// Serial, refresh, retry, expire, minimum; all but the first in seconds.
        numbers: [u32; 5],
    },
    /// SRV (RFC 2782).
    Service {
        /// The lowest first.
        priority: u16,
        /// Among those of one priority.
        weight: u16,
        /// The port.
        port: u16,
        /// The host.
        target: Vec<u8>,
    },
    /// SSHFP (RFC 4255).
    Fingerprint {
        /// The key's algorithm.
        algorithm: u8,
        /// The digest's.
        digest: u8,
        /// The digest.
        fingerprint: Vec<u8>,
    },
    /// OPT (RFC 6891): code and bytes of each option.
    Options(Vec<(u16, Vec<u8>)>),
    /// Any other, as it came: NULL, and what is not known.
    Other(Vec<u8>),
}

/// A question or an answer, as far as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The first twelve bytes.
    pub header: Header,
    /// What is asked.
    pub questions: Vec<Question>,
    /// What is answered.
    pub answers: Vec<Record>,
    /// Who knows.
    pub authorities: Vec<Record>,
    /// What is said besides.
    pub additionals: Vec<Record>,
    /// What is odd about it, each once.
    pub oddities: Vec<Oddity>,
}

impl Message {
    /// Reads a message that this side has sent; `None` where not even the header is there.
    pub fn parse(message: &[u8], from: Side) -> Option<Self> {
        let header = Header::read(message)?;
        let mut reading = Reading { message, at: HEADER_BYTES, oddities: Vec::new(), records: 0, names: 0 };
        reading.judge(&header, from);
        let mut read = Self {
            header,
            questions: Vec::new(),
            answers: Vec::new(),
            authorities: Vec::new(),
            additionals: Vec::new(),
            oddities: Vec::new(),
        };
        if !header.fits(message.len()) || read.read_body(&mut reading).is_none() {
            reading.note(Oddity::MalformedData);
        }
        read.oddities = reading.oddities;
        Some(read)
    }

    /// Whether all that it announces was there.
    pub fn is_whole(&self) -> bool {
        !self.oddities.contains(&Oddity::MalformedData)
    }

    /// What EDNS says, where it is used (RFC 6891).
    pub fn edns(&self) -> Option<&Record> {
        self.additionals.iter().find(|record| record.kind == kind::OPT)
    }

    /// The response code with the bits that EDNS adds.
    pub fn response_code(&self) -> u16 {
        let upper = self.edns().map_or(0, |edns| edns.ttl >> 24);
        (upper as u16) << 4 | u16::from(self.header.response_code())
    }

    fn read_body(&mut self, reading: &mut Reading<'_>) -> Option<()> {
        for _ in 0..self.header.questions {
            if !reading.has_room() {
                return Some(());
            }
            self.questions.push(reading.question()?);
        }
        let sections = [
            (self.header.answers, &mut self.answers),
            (self.header.authorities, &mut self.authorities),
            (self.header.additionals, &mut self.additionals),
        ];
        for (announced, section) in sections {
            for _ in 0..announced {
                if !reading.has_room() {
                    return Some(());
                }
                section.push(reading.record()?);
            }
        }
        Some(())
    }
}

/// Whether a datagram, on the port of DNS, is DNS: its header can be, and all that it announces is there.
pub fn looks_like(datagram: &[u8]) -> bool {
    Message::parse(datagram, Side::Client).is_some_and(|message| message.is_whole())
}

/// The same of an answer.
pub fn looks_like_answer(datagram: &[u8]) -> bool {
    Header::read(datagram).is_some_and(|header| header.is_response()) && looks_like(datagram)
}

/// Whether the first bytes of a message are those of a header that could announce so many bytes.
pub(super) fn begins_like(bytes: &[u8], length: usize) -> bool {
    Header::read(bytes).is_some_and(|header| header.fits(length))
}

struct Reading<'a> {
    message: &'a [u8],
    at: usize,
    oddities: Vec<Oddity>,
    records: usize,
    names: usize,
}

impl Reading<'_> {
    fn note(&mut self, oddity: Oddity) {
        if !self.oddities.contains(&oddity) {
            self.oddities.push(oddity);
        }
    }

    fn judge(&mut self, header: &Header, from: Side) {
        match (from, header.is_response()) {
            (Side::Client, true) => self.note(Oddity::NotRequest),
            (Side::Server, false) => self.note(Oddity::NotResponse),
            _ => {}
        }
        if header.is_z_set() {
            self.note(Oddity::ZFlagSet);
        }
        if header.opcode() > OPCODE_MAX {
            self.note(Oddity::InvalidOpcode);
        }
    }

    /// Whether one more question or record is read.
    fn has_room(&mut self) -> bool {
        let has_room = self.records < RECORDS_MAX && self.names < NAMES_BYTES_MAX;
        if !has_room {
            self.note(Oddity::TooManyRecords);
        }
        self.records += 1;
        has_room
    }

    fn name(&mut self) -> Option<Vec<u8>> {
        let name = name::read(self.message, self.at)?;
        self.at = name.end;
        // Pointers alone make no text, and are to be followed all the same.
        self.names += name.text.len().max(name.steps);
        if let Some(oddity) = name.oddity {
            self.note(oddity);
        }
        Some(name.text)
    }

    fn u16(&mut self) -> Option<u16> {
        let value = number(self.message, self.at)?;
        self.at += 2;
        Some(value)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from(self.u16()?) << 16 | u32::from(self.u16()?))
    }

    fn question(&mut self) -> Option<Question> {
        Some(Question { name: self.name()?, kind: self.u16()?, class: self.u16()? })
    }

    fn record(&mut self) -> Option<Record> {
        let (name, kind, class) = (self.name()?, self.u16()?, self.u16()?);
        let (ttl, length) = (self.u32()?, usize::from(self.u16()?));
        let end = self.at.checked_add(length).filter(|end| *end <= self.message.len())?;
        let data = self.data(kind, end);
        self.at = end;
        Some(Record { name, kind, class, ttl, data: data? })
    }

    fn data(&mut self, kind: u16, end: usize) -> Option<Data> {
        let bytes = self.message.get(self.at..end)?;
        Some(match kind {
            kind::A | kind::AAAA => match address(bytes) {
                Some(address) => Data::Address(address),
                None => Data::Other(bytes.to_vec()),
            },
            kind::CNAME | kind::NS | kind::PTR => Data::Name(self.name()?),
            kind::MX => {
                self.u16()?;
                Data::Name(self.name()?)
            }
            kind::TXT => Data::Texts(texts(bytes)?),
            kind::SOA => {
                let (server, mailbox) = (self.name()?, self.name()?);
                let mut numbers = [0; 5];
                for number in &mut numbers {
                    *number = self.u32()?;
                }
                Data::Authority { server, mailbox, numbers }
            }
            kind::SRV => Data::Service {
                priority: self.u16()?,
                weight: self.u16()?,
                port: self.u16()?,
                target: self.name()?,
            },
            kind::SSHFP => match bytes {
                [algorithm, digest, fingerprint @ ..] => Data::Fingerprint {
                    algorithm: *algorithm,
                    digest: *digest,
                    fingerprint: fingerprint.to_vec(),
                },
                _ => return None,
            },
            kind::OPT => Data::Options(options(bytes)?),
            _ => Data::Other(bytes.to_vec()),
        })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(four).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| Ipv6Addr::from(sixteen).into())
}

/// Strings, each behind its length; one at least.
fn texts(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let Some((text, rest)) = rest.split_at_checked(usize::from(*length)) else { break };
        texts.push(text.to_vec());
        bytes = rest;
    }
    (!texts.is_empty()).then_some(texts)
}

fn options(mut bytes: &[u8]) -> Option<Vec<(u16, Vec<u8>)>> {
    let mut options = Vec::new();
    while !bytes.is_empty() {
        let (code, length) = (number(bytes, 0)?, usize::from(number(bytes, 2)?));
        let (option, rest) = bytes.get(4..)?.split_at_checked(length)?;
        options.push((code, option.to_vec()));
        bytes = rest;
    }
    Some(options)
}
