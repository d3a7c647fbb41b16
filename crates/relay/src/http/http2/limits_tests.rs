//! What a connection may cost, tried frame by frame (RFC 9113) by a client that keeps to nothing. Rule: one test for each
//! limit that a client can meet, at the limit and one beyond.

use super::limits;
use super::tests::{Gate, on_one_thread, origin};
use crate::scratch::with_scratch;
use crate::stream::{ReadOutcome, Stream};
use std::net::{SocketAddr, TcpStream};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// What the library says of header compression that went wrong, too.
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

#[derive(Debug)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frame {
    /// The number at a place of the payload: an error, a window, a setting's value.
    fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }

    /// The values of settings, by their identifiers.
    fn setting(&self, identifier: u16) -> Option<u32> {
        let mut settings = self.payload.chunks(6);
        settings
            .find(|setting| setting[..2] == identifier.to_be_bytes())
            .map(|setting| u32::from_be_bytes(setting[2..].try_into().unwrap()))
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A request without content, in fields that no table is needed for (RFC 7541 section 6.2.2).
fn asks(stream: u32, origin: SocketAddr, path: &str, more: &[u8]) -> Vec<u8> {
    request(stream, origin, path, 0x82, END_HEADERS | END_STREAM, more)
}

/// One that content follows.
fn uploads(stream: u32, origin: SocketAddr, path: &str) -> Vec<u8> {
    request(stream, origin, path, 0x83, END_HEADERS, &[])
}

fn request(stream: u32, origin: SocketAddr, path: &str, method: u8, flags: u8, more: &[u8]) -> Vec<u8> {
    let authority = origin.to_string();
    let mut block = vec![method, 0x86];
    for (name, value) in [(0x04, path), (0x01, authority.as_str())] {
        block.extend([name, u8::try_from(value.len()).unwrap()]);
        block.extend(value.bytes());
    }
    block.extend(more);
    frame(HEADERS, flags, stream, &block)
}

fn resets(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes())
}

/// A client that says what it likes.
struct Raw {
    stream: Stream,
    seen: Vec<u8>,
}

impl Raw {
    async fn connect(gate: &Gate) -> Self {
        let mut raw = Self { stream: gate.secured().await, seen: Vec::new() };
        raw.say(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &frame(SETTINGS, 0, 0, &[])].concat())
            .await;
        raw
    }

    /// Says it, if somebody still listens.
    async fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write(bytes);
        let _ = self.stream.flush().await;
    }

    /// The next frame; none behind the last.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some((head, rest)) = self.seen.split_at_checked(9) {
                let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
                if rest.len() >= length {
                    let stream = u32::from_be_bytes(head[5..9].try_into().unwrap());
                    let payload = rest[..length].to_vec();
                    let frame = Frame { kind: head[3], flags: head[4], stream, payload };
                    self.seen.drain(..9 + length);
                    return Some(frame);
                }
            }
            let (stream, seen) = (&mut self.stream, &mut self.seen);
            let read = with_scratch(|scratch| {
                let outcome = stream.try_read(scratch);
                if let Ok(ReadOutcome::Bytes(count)) = outcome {
                    seen.extend_from_slice(&scratch[..count]);
                }
                outcome
            });
            match read {
                Ok(ReadOutcome::Bytes(_)) => {}
                Ok(ReadOutcome::WouldBlock) => self.stream.readable().await.ok()?,
                Ok(ReadOutcome::End) | Err(_) => return None,
            }
        }
    }

    /// The next frame of a kind on a stream.
    async fn until(&mut self, kind: u8, stream: u32) -> Option<Frame> {
        loop {
            let frame = self.next().await?;
            if frame.kind == kind && frame.stream == stream && (kind != PING || frame.flags == ACK) {
                return Some(frame);
            }
        }
    }

    /// Waits until all that was said was read; says whether somebody is still there.
    async fn is_served(&mut self) -> bool {
        self.say(&frame(PING, 0, 0, b"8 bytes.")).await;
        self.until(PING, 0).await.is_some()
    }

    /// Why the connection is left: the error of its GOAWAY.
    async fn left_for(&mut self) -> Option<u32> {
        self.until(GOAWAY, 0).await.map(|frame| frame.number(4))
    }
}

/// Does it with a gateway, its client, and a server.
fn with(name: &str, work: impl AsyncFnOnce(&mut Raw, SocketAddr)) {
    on_one_thread(async {
        let (gate, origin) = (Gate::start(name, |_| {}), origin());
        let mut raw = Raw::connect(&gate).await;
        work(&mut raw, origin).await;
        drop(raw);
        gate.over();
    });
}

#[test]
fn what_a_client_may_do_is_said_first() {
    with("said", async |raw, _| {
        let settings = raw.until(SETTINGS, 0).await.unwrap();
        assert_eq!(settings.setting(3), Some(limits::STREAMS_MAX));
        assert_eq!(settings.setting(4), Some(limits::STREAM_WINDOW_BYTES));
        assert_eq!(settings.setting(1), Some(limits::HEADER_TABLE_BYTES));
        let window = raw.until(WINDOW_UPDATE, 0).await.unwrap().number(0);
        assert_eq!(window + 65_535, limits::CONNECTION_WINDOW_BYTES);
    });
}

#[test]
fn one_stream_too_many_is_refused_and_the_others_are_served() {
    with("streams", async |raw, origin| {
        let numbers: Vec<u32> = (0..=limits::STREAMS_MAX).map(|number| 2 * number + 1).collect();
        let all: Vec<u8> = numbers.iter().flat_map(|number| uploads(*number, origin, "/upload")).collect();
        raw.say(&all).await;
        let (last, served) = numbers.split_last().unwrap();
        let refused = raw.next_of(&[RST_STREAM]).await;
        assert_eq!((refused.stream, refused.number(0)), (*last, REFUSED_STREAM));
        raw.say(&frame(DATA, END_STREAM, served[0], b"u")).await;
        assert_eq!(raw.next_of(&[RST_STREAM, HEADERS]).await.stream, served[0]);
    });
}

/// A server whose queue of connections is full: who goes there waits.
fn full() -> (socket2::Socket, TcpStream, SocketAddr) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&any.into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let first = TcpStream::connect(address).unwrap();
    (socket, first, address)
}

#[test]
fn who_sends_more_than_it_may_is_cut_off() {
    // On a stream, and by streams each of which keeps to its own.
    let stream = limits::STREAM_WINDOW_BYTES as usize;
    let connection = limits::CONNECTION_WINDOW_BYTES as usize;
    // What is held and what one read brings is taken of each before the gateway waits for the server.
    let taken = 128 << 10;
    let streams = connection / (stream - taken) + 1;
    for (name, streams, bytes) in [("stream", 1, stream + taken), ("connection", streams, stream)] {
        with(name, async |raw, _| {
            let (_queue, _first, server) = full();
            for number in (1..).step_by(2).take(streams) {
                raw.say(&uploads(number, server, "/upload")).await;
                for piece in vec![b'u'; bytes].chunks(16 << 10) {
                    raw.say(&frame(DATA, 0, number, piece)).await;
                }
            }
            let cut = raw.next_of(&[RST_STREAM, GOAWAY]).await;
            let at = if cut.kind == GOAWAY { 4 } else { 0 };
            assert_eq!(cut.number(at), FLOW_CONTROL_ERROR, "{name}: {cut:?}");
        });
    }
}

#[test]
fn a_table_of_headers_grows_no_further_than_was_said() {
    for (bytes, left_for) in
        [(limits::HEADER_TABLE_BYTES, None), (limits::HEADER_TABLE_BYTES + 1, Some(PROTOCOL_ERROR))]
    {
        with("table", async |raw, origin| {
            // RFC 7541 section 6.3; the integer's first byte stands for 31.
            let rest = bytes - 31;
            let update = [0x3f, (rest & 0x7f) as u8 | 0x80, (rest >> 7) as u8];
            let asked = asks(1, origin, "/x", &[]);
            raw.say(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &[&update, &asked[9..]].concat())).await;
            let seen = raw.next_of(&[HEADERS, GOAWAY]).await;
            assert_eq!((seen.kind == GOAWAY).then(|| seen.number(4)), left_for, "{bytes}");
        });
    }
}

#[test]
fn who_resets_streams_before_they_are_looked_at_is_left() {
    with("unseen", async |raw, origin| {
        let burst = |from: usize, count: usize| -> Vec<u8> {
            let numbers = (from..from + count).map(|number| u32::try_from(2 * number + 1).unwrap());
            numbers
                .flat_map(|number| [asks(number, origin, "/silent", &[]), resets(number)].concat())
                .collect()
        };
        raw.say(&burst(0, limits::UNSEEN_RESETS_MAX)).await;
        assert!(raw.is_served().await);
        raw.say(&burst(limits::UNSEEN_RESETS_MAX, 20 * limits::UNSEEN_RESETS_MAX)).await;
        assert_eq!(raw.left_for().await, Some(ENHANCE_YOUR_CALM));
    });
}

#[test]
fn who_resets_streams_one_after_another_is_left() {
    with("seen", async |raw, origin| {
        let mut count = 0;
        loop {
            let number = 2 * count + 1;
            raw.say(&asks(number, origin, "/silent", &[])).await;
            let is_served = raw.is_served().await;
            raw.say(&resets(number)).await;
            if !is_served || !raw.is_served().await {
                break;
            }
            count += 1;
            assert!((count as usize) < 2 * limits::RESETS_MAX, "{count} resets");
        }
        assert!(count as usize >= limits::RESETS_MAX, "left after {count} resets");
    });
}

#[test]
fn who_makes_errors_without_end_is_left() {
    with("errors", async |raw, origin| {
        // A field of a connection (RFC 9113 section 8.2.2) spoils its own stream.
        let spoilt = b"\x00\x0aconnection\x01x";
        for number in 0..limits::ERRORS_MAX {
            let number = u32::try_from(2 * number + 1).unwrap();
            raw.say(&asks(number, origin, "/x", spoilt)).await;
            assert_eq!(raw.next_of(&[RST_STREAM, GOAWAY]).await.kind, RST_STREAM, "{number}");
        }
        let number = u32::try_from(2 * limits::ERRORS_MAX + 1).unwrap();
        raw.say(&asks(number, origin, "/x", spoilt)).await;
        let left = raw.next_of(&[RST_STREAM, GOAWAY]).await;
        assert_eq!((left.kind, left.number(4)), (GOAWAY, ENHANCE_YOUR_CALM));
    });
}

impl Raw {
    /// The next frame of one of these kinds.
    async fn next_of(&mut self, kinds: &[u8]) -> Frame {
        loop {
            let frame = self.next().await.expect("somebody is there");
            if kinds.contains(&frame.kind) {
                return frame;
            }
        }
    }
}
