//! A connection's first bytes → its hello: [`HelloReader`]. Rule: the same answer at every cut, in bounded memory.

use super::{ClientHello, Refusal};

/// The longest hello that is read; those of browsers with post-quantum key shares have about 2 KiB.
pub const HELLO_BYTES_MAX: usize = 32 << 10;
/// The most bytes on the wire that a hello may take: one in many small records is wrapped in more than it says.
pub const WIRE_BYTES_MAX: usize = 64 << 10;

/// The longest content of a record (RFC 8446 section 5.1).
const RECORD_BYTES_MAX: usize = 1 << 14;
const RECORD_HEADER_BYTES: usize = 5;
const MESSAGE_HEADER_BYTES: usize = 4;
const CONTENT_HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// What the bytes so far came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing yet.
    NeedInput,
    /// The hello; what follows it is nobody's business here.
    Hello(Box<ClientHello>),
    /// There is none to be had.
    Refused(Refusal),
}

/// Reads the records of a handshake until the hello is whole.
#[derive(Clone, Debug, Default)]
pub struct HelloReader {
    header: Vec<u8>,
    /// What is missing of the record's content.
    record_left: usize,
    message: Vec<u8>,
    wire_bytes: usize,
}

impl HelloReader {
    /// For the first byte of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes. Once it has answered, there is nothing more to ask.
    pub fn push(&mut self, mut chunk: &[u8]) -> Step {
        while !chunk.is_empty() {
            let taken =
                if self.record_left == 0 { self.take_header(chunk) } else { self.take_content(chunk) };
            match taken {
                Ok((count, None)) => chunk = &chunk[count..],
                Ok((_, Some(hello))) => return Step::Hello(hello),
                Err(refusal) => return Step::Refused(refusal),
            }
        }
        Step::NeedInput
    }

    fn take_header(&mut self, chunk: &[u8]) -> Result<(usize, Option<Box<ClientHello>>), Refusal> {
        let Some(&byte) = chunk.first() else { return Ok((0, None)) };
        let is_first = self.wire_bytes == 0;
        match (self.header.len(), byte) {
            (0, CONTENT_HANDSHAKE) | (2.., _) => {}
            // The major version has been 3 since SSL 3 (RFC 8446 section 5.1).
            (1, 3) => {}
            _ if is_first => return Err(Refusal::NotTls),
            _ => return Err(Refusal::Interleaved),
        }
        self.header.push(byte);
        if let [.., high, low] = *self.header
            && self.header.len() == RECORD_HEADER_BYTES
        {
            let length = usize::from(u16::from_be_bytes([high, low]));
            self.header.clear();
            self.wire_bytes += RECORD_HEADER_BYTES + length;
            match length {
                0 => return Err(Refusal::EmptyRecord),
                _ if length > RECORD_BYTES_MAX => return Err(Refusal::LongRecord),
                _ if self.wire_bytes > WIRE_BYTES_MAX => return Err(Refusal::TooLong),
                _ => self.record_left = length,
            }
        }
        Ok((1, None))
    }

    fn take_content(&mut self, chunk: &[u8]) -> Result<(usize, Option<Box<ClientHello>>), Refusal> {
        let count = self.record_left.min(chunk.len());
        self.record_left -= count;
        self.message.extend_from_slice(&chunk[..count]);
        if self.message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Err(Refusal::NotHello);
        }
        let [_, a, b, c, body @ ..] = self.message.as_slice() else { return Ok((count, None)) };
        let length = usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).unwrap_or(usize::MAX);
        if length > HELLO_BYTES_MAX - MESSAGE_HEADER_BYTES {
            return Err(Refusal::TooLong);
        }
        match body.get(..length) {
            Some(body) => Ok((count, Some(Box::new(ClientHello::parse(body)?)))),
            None => Ok((count, None)),
        }
    }
}
