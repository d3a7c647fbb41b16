//! Responses. Rule: where a response ends is decided by the request, the status and the fields, in this order.

use super::framing::{self, decimal};
use super::lines::OddLines;
use super::machine::{Kind, Machine, Place};
use super::refusal::Oddities;
use super::{Disposition, Fields, Framing, Limits, Refusal, Step, Version, wants_close};

/// A response without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// 100 to 999.
    pub status: u16,
    /// What stands behind it, mostly nothing of importance.
    pub reason: Vec<u8>,
    /// What the server speaks.
    pub version: Version,
    /// Its fields, folds joined. Content-Length is left only where it is true: of the body, or of the one that HEAD
    /// would have had.
    pub fields: Fields,
}

impl ResponseHead {
    /// 1xx: another response to the same request follows, or with 101 another protocol.
    pub fn is_interim(&self) -> bool {
        self.status < 200
    }
}

/// Interim responses passed on before the final one.
const INTERIM_MAX: usize = 16;

/// Where a server has closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eof {
    /// Between messages, or at the end of a body that ends so.
    Complete,
    /// Within a message.
    Truncated,
}

/// Reads one server's responses, one after another.
#[derive(Debug)]
pub struct ResponseReader {
    machine: Machine<Responses>,
}

impl ResponseReader {
    /// Awaits a head.
    pub fn new(disposition: Disposition, limits: Limits) -> Self {
        let kind = Responses { asked: Asked::Other, interim: 0, keeps: Keeps::Alive };
        Self { machine: Machine::new(kind, disposition, limits) }
    }

    /// The next final response is to a request with this method. To be said for each: HEAD and CONNECT change where
    /// the response ends.
    pub fn expect(&mut self, method: &[u8]) {
        self.machine.kind.asked = match method {
            b"HEAD" => Asked::Head,
            b"CONNECT" => Asked::Connect,
            _ => Asked::Other,
        };
    }

    /// What stands at the front of the input. The end of a message needs no further byte: behind its last one, a step
    /// without input says [`Frame::End`](super::Frame). Behind a 101, and a 2xx to CONNECT, the bytes are no longer HTTP.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Step<'a, ResponseHead> {
        self.machine.step(input)
    }

    /// The server has closed the connection. A body that ends so has ended, without a [`Frame::End`](super::Frame).
    pub fn eof(&mut self) -> Eof {
        match self.machine.place() {
            Place::Within => Eof::Truncated,
            Place::Between => Eof::Complete,
            Place::UntilClose => {
                self.machine.end();
                Eof::Complete
            }
        }
    }

    /// Whether part of a response has come whose end has not.
    pub fn has_begun(&self) -> bool {
        self.machine.place() != Place::Between
    }

    /// Whether the connection may be used for another request behind the response read last: its end is known, nobody
    /// wants to close, and nothing about its framing is odd. Bytes that have come behind its end are the answer to no
    /// request, and who has such must not use the connection again either: the next client would get them.
    pub fn keeps_alive(&self) -> bool {
        self.machine.kind.keeps == Keeps::Alive && !self.machine.is_spent()
    }

    /// What is odd about the response read last, as far as it has come.
    pub fn quirks(&self) -> &[Refusal] {
        self.machine.noted()
    }
}

#[derive(Debug)]
struct Responses {
    asked: Asked,
    interim: usize,
    keeps: Keeps,
}

/// What of the request's method matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Head,
    Connect,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    Alive,
    Closes,
}

#[derive(Debug)]
struct StatusLine {
    version: Version,
    status: u16,
    reason: Vec<u8>,
}

impl Kind for Responses {
    type Start = StatusLine;
    type Head = ResponseHead;
    const ODD_LINES: OddLines = OddLines::Mended;

    fn begins_with(&self, byte: u8) -> bool {
        byte == b'H'
    }

    fn junk_bytes(&self, line: &[u8]) -> usize {
        let at = line.windows(5).position(|window| window.eq_ignore_ascii_case(b"HTTP/"));
        at.unwrap_or(line.len())
    }

    /// RFC 9112 section 4. The space before a reason that is not there is often left out.
    fn start(&self, line: &[u8], oddities: &mut Oddities) -> Result<StatusLine, Refusal> {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let version = words.next().unwrap_or_default();
        let status = words.next();
        let reason = words.next().unwrap_or_default();
        let version = match Version::parse(version) {
            Some(version) => version,
            None => {
                let is_http = version.starts_with(b"HTTP/");
                oddities.met(if is_http { Refusal::BadVersion } else { Refusal::BadStartLine })?;
                Version::Http10
            }
        };
        let digits = status.filter(|status| status.len() == 3).and_then(decimal);
        let status =
            match digits.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 100) {
                Some(status) => status,
                None => {
                    oddities.met(Refusal::BadStatus)?;
                    200
                }
            };
        if reason.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            oddities.met(Refusal::ControlCharacter)?;
        }
        Ok(StatusLine { version, status, reason: reason.to_vec() })
    }

    fn head(
        &mut self,
        start: StatusLine,
        mut fields: Fields,
        oddities: &mut Oddities,
    ) -> Result<(ResponseHead, Framing), Refusal> {
        let StatusLine { version, status, reason } = start;
        let framing = self.framing(status, version, &mut fields, oddities)?;
        let head = ResponseHead { status, reason, version, fields };
        Ok((head, framing))
    }
}

impl Responses {
    /// RFC 9112 section 6.3, in its order.
    fn framing(
        &mut self,
        status: u16,
        version: Version,
        fields: &mut Fields,
        oddities: &mut Oddities,
    ) -> Result<Framing, Refusal> {
        self.keeps = Keeps::Closes;
        let closes = wants_close(fields, version);
        let said = framing::of_response(fields, version, oddities)?;
        self.interim = if status < 200 { self.interim + 1 } else { 0 };
        if self.interim > INTERIM_MAX {
            oddities.met(Refusal::TooManyInterim)?;
        }
        let asked = if status < 200 { self.asked } else { std::mem::replace(&mut self.asked, Asked::Other) };
        let framing = match (status, asked) {
            (100..=199 | 204, _) | (200..=299, Asked::Connect) => {
                if matches!(said, Framing::Length(1..) | Framing::Chunked) {
                    // For some programs a body follows. What it would be is then no response, and refused as such.
                    oddities.note(Refusal::BodyNotAllowed);
                }
                fields.remove("content-length");
                fields.remove("transfer-encoding");
                Framing::None
            }
            (304, _) | (_, Asked::Head) => {
                fields.remove("transfer-encoding");
                Framing::None
            }
            _ => said,
        };
        let is_plain = oddities.noted().iter().all(|oddity| *oddity == Refusal::ObsFold);
        if !closes && framing != Framing::UntilClose && is_plain {
            self.keeps = Keeps::Alive;
        }
        Ok(framing)
    }
}
