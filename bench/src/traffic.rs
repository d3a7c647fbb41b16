//! What is said in the captures of the wire's scenarios. Rule: people here read pages from outside, and get mails from there.

use crate::mail::{self, Random};
use crate::web_origin::page;
use lockgate_tests::capture::{Capture, Dialogue, End, Speaker, first_fragment, flag, segment};
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

/// What a capture is to have of bytes that are said, at least.
const SAID_BYTES: usize = 512 << 20;
/// How many connections are under way at a time.
const TOGETHER: usize = 32;
/// How many pages a connection brings.
const PAGES: usize = 10;
const PAGE_BYTES: usize = 40 << 10;
/// The attachment of a mail, before base64.
const ATTACHMENT_BYTES: usize = 256 << 10;
/// In one connection of so many stand the marks that a rule of the bench looks for.
pub const MARKED_EVERY: u32 = 64;
/// What marks the beginning of a page or an attachment, and its end.
pub const MARKS: [&str; 2] = ["lockgate-bench-begins", "lockgate-bench-ends"];
/// How far from its ends they stand.
const MARK_FROM_END: usize = 256;
/// Of each flood.
const FLOOD_FRAMES: u32 = 1_000_000;
/// How many connections the flood of overlapping segments has.
const OVERLAPPING_CONNECTIONS: u32 = 1000;

/// How long segments are.
pub const SEGMENTS: [(&str, usize); 2] = [("1,460 bytes", 1460), ("64 KB", 65_160)];

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// Pages of 40 KB, ten by each connection.
    Http,
    /// Mails with a program attached, one by each connection.
    Smtp,
}

/// What comes in such numbers that it costs memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// Connections that are asked for and never answered.
    HalfOpen,
    /// First fragments of packets that are never completed.
    Fragments,
    /// Segments that overlap each other behind a byte that never comes.
    Overlapping,
}

/// What a capture has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made {
    pub frames: u64,
    pub bytes: u64,
}

impl Spoken {
    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP, pages of 40 KB",
            Self::Smtp => "SMTP, mails with a program attached",
        }
    }
}

impl Flood {
    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::HalfOpen => "half-open connections",
            Self::Fragments => "fragments that are never completed",
            Self::Overlapping => "overlapping segments",
        }
    }
}

/// Somebody in the networks that rules call their home.
fn inside(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | number & 0x00ff_ffff)
}

/// Somebody elsewhere.
fn outside(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x5db8_0000 | number & 0xffff)
}

/// Writes a capture of that.
pub fn write(spoken: Spoken, segment_bytes: usize, path: &Path) -> io::Result<Made> {
    let mut capture = Capture::create(path)?;
    let mut random = Random::new(segment_bytes as u64);
    let (plain, marked) = (Content::of(spoken, |_| ())?, Content::of(spoken, mark)?);
    let connections = SAID_BYTES.div_ceil(plain.bytes());
    let mut numbers = 0..connections as u32;
    let mut dialogue = |number: u32| {
        let content = if number % MARKED_EVERY == MARKED_EVERY / 2 { &marked } else { &plain };
        content.dialogue(number, segment_bytes, &mut random)
    };
    loop {
        let now: Vec<Dialogue> = numbers.by_ref().take(TOGETHER).map(&mut dialogue).collect();
        if now.is_empty() {
            break;
        }
        capture.interleaved(now)?;
    }
    let made = Made { frames: capture.frames, bytes: capture.bytes };
    capture.finish()?;
    Ok(made)
}

/// Puts the marks there.
fn mark(bytes: &mut [u8]) {
    let places = [MARK_FROM_END, bytes.len() - MARK_FROM_END];
    for (mark, place) in MARKS.iter().zip(places) {
        bytes[place..place + mark.len()].copy_from_slice(mark.as_bytes());
    }
}

/// Writes a capture of a flood.
pub fn flood(flood: Flood, path: &Path) -> io::Result<Made> {
    let mut capture = Capture::create(path)?;
    for number in 0..FLOOD_FRAMES {
        capture.frame(&frame(flood, number))?;
    }
    let made = Made { frames: capture.frames, bytes: capture.bytes };
    capture.finish()?;
    Ok(made)
}

/// A frame of a flood.
pub fn frame(flood: Flood, number: u32) -> Vec<u8> {
    let chance = Random::new(number.into()).number();
    let server = End { address: inside(9), port: 80 };
    match flood {
        Flood::HalfOpen => {
            // No two have the same address.
            let address = Ipv4Addr::from_bits(0x2000_0000 + number);
            let port = 1024 + (chance >> 32) as u16 % 60_000;
            segment(End { address, port }, server, (chance as u32, 0), flag::SYN, b"")
        }
        Flood::Fragments => {
            let payload = chance.to_be_bytes().repeat(8);
            first_fragment(outside(number >> 8), server.address, number as u16, &payload)
        }
        Flood::Overlapping => overlapping(number, server, chance),
    }
}

/// The next frame of many connections that never say their first byte: what is behind it overlaps.
fn overlapping(number: u32, server: End, chance: u64) -> Vec<u8> {
    let (connection, turn) = (number % OVERLAPPING_CONNECTIONS, number / OVERLAPPING_CONNECTIONS);
    let client = End { address: outside(connection), port: 40_000 };
    match turn {
        0 => segment(client, server, (999, 0), flag::SYN, b""),
        1 => segment(server, client, (4999, 1000), flag::SYN | flag::ACK, b""),
        2 => segment(client, server, (1000, 5000), flag::ACK, b""),
        _ => {
            let (place, length) = (1001 + (chance % 60_000) as u32, 64 + (chance >> 32) as usize % 512);
            let bytes = chance.to_be_bytes().repeat(length.div_ceil(8));
            segment(client, server, (place, 5000), flag::ACK, &bytes[..length])
        }
    }
}

/// What one connection says.
enum Content {
    Http { request: Vec<u8>, response: Vec<u8> },
    Smtp { mail: Vec<u8> },
}

impl Content {
    /// With what is made of the page or the attachment.
    fn of(spoken: Spoken, make: fn(&mut [u8])) -> io::Result<Self> {
        Ok(match spoken {
            Spoken::Http => {
                let request = "GET /news/today.html HTTP/1.1\r\nHost: www.news.test\r\n\
                     User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
                     Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Language: en-GB,en;q=0.5\r\n\
                     Connection: keep-alive\r\n\r\n";
                let mut response = format!(
                    "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
                     Content-Type: text/html; charset=utf-8\r\nContent-Length: {PAGE_BYTES}\r\n\
                     Connection: keep-alive\r\n\r\n"
                )
                .into_bytes();
                let mut page = page(PAGE_BYTES);
                make(&mut page);
                response.extend(page);
                Self::Http { request: request.into(), response }
            }
            Spoken::Smtp => {
                let mut attachment = mail::executable(ATTACHMENT_BYTES)?;
                make(&mut attachment);
                Self::Smtp { mail: mail::with_attachment("program", "program.bin", attachment).wire }
            }
        })
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Http { response, .. } => PAGES * response.len(),
            Self::Smtp { mail } => mail.len(),
        }
    }

    fn dialogue(&self, number: u32, segment_bytes: usize, random: &mut Random) -> Dialogue {
        let port = 1024 + (number % 60_000) as u16;
        let end = |address, port| End { address, port };
        match self {
            Self::Http { request, response } => {
                let (client, server) = (end(inside(number), port), end(outside(number % 500), 80));
                let mut dialogue = Dialogue::begin(client, server, segment_bytes, first(random));
                for _ in 0..PAGES {
                    dialogue.say(Speaker::Client, request);
                    dialogue.say(Speaker::Server, response);
                }
                dialogue.end()
            }
            Self::Smtp { mail } => {
                let (client, server) = (end(outside(number), port), end(inside(25), 25));
                let mut dialogue = Dialogue::begin(client, server, segment_bytes, first(random));
                dialogue.say(Speaker::Server, b"220 mx.receiver.test ESMTP\r\n");
                for (command, reply) in [
                    ("EHLO mx.sender.test", "250 mx.receiver.test"),
                    ("MAIL FROM:<alice@sender.test>", "250 2.1.0 Ok"),
                    ("RCPT TO:<bob@receiver.test>", "250 2.1.5 Ok"),
                    ("DATA", "354 End data with <CR><LF>.<CR><LF>"),
                ] {
                    dialogue.say(Speaker::Client, format!("{command}\r\n").as_bytes());
                    dialogue.say(Speaker::Server, format!("{reply}\r\n").as_bytes());
                }
                dialogue.say(Speaker::Client, &[mail, &b".\r\n"[..]].concat());
                dialogue.say(Speaker::Server, b"250 2.0.0 Ok: queued\r\n");
                dialogue.say(Speaker::Client, b"QUIT\r\n");
                dialogue.say(Speaker::Server, b"221 2.0.0 Bye\r\n");
                dialogue.end()
            }
        }
    }
}

/// The first sequence numbers of a connection.
fn first(random: &mut Random) -> [u32; 2] {
    [random.number() as u32, random.number() as u32]
}
