//! One side's handshake, as it comes: [`Spectator`]. Rule: the same at every cut, in bounded memory, until all is encrypted.

use super::bytes::Bytes;
use super::{Hello, Oddity};
use crate::Side;

/// The longest message of a handshake that is read; a longer one is passed over and said to be too long.
pub const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// How many certificates of a chain are given.
pub const CERTIFICATES_MAX: usize = 64;

const RECORD_HEADER_BYTES: usize = 5;
const MESSAGE_HEADER_BYTES: usize = 4;
/// The longest content of a record: 2^14 bytes, with what compression or encryption may add (RFC 5246 section 6.2.3).
const RECORD_BYTES_MAX: usize = (1 << 14) + 2048;

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const HEARTBEAT: u8 = 24;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const CERTIFICATE: u8 = 11;

/// The shortest padding of a heartbeat (RFC 6520 section 4).
const HEARTBEAT_PADDING_BYTES_MIN: usize = 16;
/// Its kind and the length of what is in it.
const HEARTBEAT_HEADER_BYTES: usize = 3;

/// What one side says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Its hello.
    Hello(Box<Hello>),
    /// Its chain of certificates as DER, its own first, [`CERTIFICATES_MAX`] at most (RFC 5246 section 7.4.2). From TLS 1.3 on
    /// they are encrypted.
    Certificates(Vec<Vec<u8>>),
    /// Something odd.
    Odd(Oddity),
    /// From here on what it says is encrypted: nothing more is read.
    Encrypted,
}

/// Listens to one side of a connection, or of what of it follows STARTTLS.
#[derive(Clone, Debug)]
pub struct Spectator {
    from: Side,
    header: Vec<u8>,
    /// What kind of record is open.
    kind: u8,
    /// How long it is, and what of it is missing.
    record_bytes: usize,
    record_left: usize,
    /// The message that has begun; of records of other kinds, their first bytes.
    message: Vec<u8>,
    /// What is passed over of a message.
    message_left: usize,
    has_begun: bool,
    is_over: bool,
}

impl Spectator {
    /// For the first byte that this side sends.
    pub fn new(from: Side) -> Self {
        Self {
            from,
            header: Vec::new(),
            kind: 0,
            record_bytes: 0,
            record_left: 0,
            message: Vec::new(),
            message_left: 0,
            has_begun: false,
            is_over: false,
        }
    }

    /// Whether nothing more is read: the rest is encrypted, or no TLS.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many bytes it holds.
    pub fn held_bytes(&self) -> usize {
        self.header.len() + self.message.len()
    }

    /// Bytes of the side are missing here: where the next record begins is not known any more.
    pub fn gap(&mut self) {
        self.end();
    }

    /// Takes the next bytes, and gives what they say.
    pub fn push(&mut self, mut chunk: &[u8], each: &mut dyn FnMut(Said)) {
        while !chunk.is_empty() && !self.is_over {
            let taken = if self.record_left == 0 {
                self.take_header(chunk, each)
            } else {
                self.take_content(chunk, each)
            };
            chunk = chunk.get(taken..).unwrap_or_default();
        }
    }

    fn end(&mut self) {
        self.is_over = true;
        (self.header, self.message) = (Vec::new(), Vec::new());
    }

    fn refuse(&mut self, oddity: Oddity, each: &mut dyn FnMut(Said)) {
        each(Said::Odd(oddity));
        self.end();
    }

    fn take_header(&mut self, chunk: &[u8], each: &mut dyn FnMut(Said)) -> usize {
        let count = (RECORD_HEADER_BYTES - self.header.len()).min(chunk.len());
        self.header.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let [kind, major, minor, high, low] = *self.header else { return count };
        self.header.clear();
        let length = usize::from(u16::from_be_bytes([high, low]));
        let is_known = matches!(kind, CHANGE_CIPHER_SPEC..=HEARTBEAT);
        // Drafts of TLS 1.3 had versions of their own.
        let is_version = (major == 3 && minor <= 4) || major == 0x7f;
        match (is_known, is_version) {
            // A hello in the form of SSL 2, as clients sent it that spoke both: there is no record to be found behind it.
            (false, _) if !self.has_begun && kind & 0x80 != 0 => self.end(),
            (false, _) if !self.has_begun => self.refuse(Oddity::InvalidTlsHeader, each),
            (false, _) => self.refuse(Oddity::InvalidRecordType, each),
            (true, false) => self.refuse(Oddity::InvalidRecordVersion, each),
            _ if length > RECORD_BYTES_MAX => self.refuse(Oddity::InvalidRecordLength, each),
            _ => self.open(kind, length, each),
        }
        count
    }

    fn open(&mut self, kind: u8, length: usize, each: &mut dyn FnMut(Said)) {
        self.has_begun = true;
        if matches!(kind, CHANGE_CIPHER_SPEC | APPLICATION_DATA) {
            each(Said::Encrypted);
            return self.end();
        }
        // A record of another kind in the middle of a message: the message will not go on (RFC 8446 section 5.1).
        if kind != HANDSHAKE {
            self.message.clear();
            self.message_left = 0;
        }
        (self.kind, self.record_bytes, self.record_left) = (kind, length, length);
    }

    fn take_content(&mut self, chunk: &[u8], each: &mut dyn FnMut(Said)) -> usize {
        let content = chunk.get(..self.record_left.min(chunk.len())).unwrap_or_default();
        self.record_left -= content.len();
        match self.kind {
            HANDSHAKE => self.handshake(content, each),
            kind => {
                let room = HEARTBEAT_HEADER_BYTES.saturating_sub(self.message.len());
                self.message.extend_from_slice(content.get(..room).unwrap_or(content));
                if self.record_left == 0 {
                    let oddity = match kind {
                        ALERT => (self.record_bytes != 2).then_some(Oddity::InvalidAlertMessage),
                        _ => self.heartbeat(),
                    };
                    each_of(oddity, each);
                    self.message.clear();
                }
            }
        }
        content.len()
    }

    /// What is odd about a heartbeat: before anything is encrypted, one is rare, but no more than that.
    fn heartbeat(&self) -> Option<Oddity> {
        let [kind, high, low] = *self.message else { return Some(Oddity::InvalidHeartbeatMessage) };
        let payload = usize::from(u16::from_be_bytes([high, low]));
        let rest = self.record_bytes.saturating_sub(HEARTBEAT_HEADER_BYTES);
        match rest.checked_sub(payload) {
            _ if !matches!(kind, 1 | 2) => Some(Oddity::InvalidHeartbeatMessage),
            None => Some(Oddity::OverflowHeartbeatMessage),
            Some(padding) if padding < HEARTBEAT_PADDING_BYTES_MIN => Some(Oddity::InvalidHeartbeatMessage),
            Some(_) => None,
        }
    }

    fn handshake(&mut self, mut content: &[u8], each: &mut dyn FnMut(Said)) {
        while !content.is_empty() {
            let passed = self.message_left.min(content.len());
            self.message_left -= passed;
            content = content.get(passed..).unwrap_or_default();
            let wanted = self.wanted();
            let count = (wanted - self.message.len().min(wanted)).min(content.len());
            self.message.extend_from_slice(content.get(..count).unwrap_or_default());
            content = content.get(count..).unwrap_or_default();
            if self.message.len() == MESSAGE_HEADER_BYTES && wanted == MESSAGE_HEADER_BYTES {
                self.choose(each);
            }
            if self.message.len() >= MESSAGE_HEADER_BYTES && self.message.len() == self.wanted() {
                self.message_is_whole(each);
            }
        }
        if self.message.is_empty() {
            // At rest it holds nothing.
            self.message = Vec::new();
        }
    }

    /// How long the message at hand is with its header, or its header alone while that is not whole.
    fn wanted(&self) -> usize {
        match *self.message {
            [_, a, b, c, ..] => {
                MESSAGE_HEADER_BYTES + usize::from(a) * 0x10000 + usize::from(b) * 0x100 + usize::from(c)
            }
            _ => MESSAGE_HEADER_BYTES,
        }
    }

    /// A message's header is whole: whether it is read or passed over.
    fn choose(&mut self, each: &mut dyn FnMut(Said)) {
        let length = self.wanted() - MESSAGE_HEADER_BYTES;
        let kind = self.message.first().copied().unwrap_or_default();
        let is_theirs =
            matches!((kind, self.from), (CLIENT_HELLO, Side::Server) | (SERVER_HELLO, Side::Client));
        let is_read = matches!(kind, CLIENT_HELLO | SERVER_HELLO | CERTIFICATE);
        let oddity = match (is_theirs, is_read) {
            (true, _) => Some(Oddity::InvalidHandshakeMessage),
            (false, true) if length > MESSAGE_BYTES_MAX => Some(Oddity::HandshakeInvalidLength),
            (false, true) => return,
            (false, false) => None,
        };
        each_of(oddity, each);
        self.message.clear();
        self.message_left = length;
    }

    fn message_is_whole(&mut self, each: &mut dyn FnMut(Said)) {
        let message = std::mem::take(&mut self.message);
        let Some((header, body)) = message.split_first_chunk::<MESSAGE_HEADER_BYTES>() else { return };
        let mut odd = Vec::new();
        match header[0] {
            CERTIFICATE => match certificates(body) {
                Some(chain) => each(Said::Certificates(chain)),
                None => odd.push(Oddity::HandshakeInvalidLength),
            },
            _ => {
                if let Some(hello) = Hello::read(body, self.from, &mut odd) {
                    each(Said::Hello(Box::new(hello)));
                }
            }
        }
        odd.into_iter().for_each(|oddity| each(Said::Odd(oddity)));
    }
}

fn each_of(oddity: Option<Oddity>, each: &mut dyn FnMut(Said)) {
    if let Some(oddity) = oddity {
        each(Said::Odd(oddity));
    }
}

/// A chain, of which what is cut off at its end is left out.
fn certificates(body: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut list = Bytes(body).within_u24().ok()?;
    let mut chain = Vec::new();
    while !list.0.is_empty() && chain.len() < CERTIFICATES_MAX {
        let Ok(der) = list.within_u24() else { break };
        chain.push(der.0.to_vec());
    }
    Some(chain)
}
