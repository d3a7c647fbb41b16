//! Messages that leave. Rule: nothing that is put in can become a second line, a second field or a second message.

use super::fields::is_token;
use super::framing::decimal;
use super::url::authority;
use super::{Fields, Framing, RequestHead, ResponseHead, Scheme, Target};
use std::io::Write;

/// The last chunk of a body without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Most heads are no longer: they need not be moved while they grow.
const HEAD_BYTES_USUAL: usize = 1000;

/// How a request's target is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Path and query: to a server.
    Origin,
    /// The whole address: to another proxy.
    Absolute,
}

/// Writes a request's head, as HTTP/1.1. Host comes first and is the target's; what frames the body is made from
/// `framing`, whatever the fields say. [`Framing::UntilClose`] is none that a request can have: it is taken for none.
pub fn write_request(head: &RequestHead, form: Form, framing: Framing, out: &mut Vec<u8>) {
    out.reserve(HEAD_BYTES_USUAL);
    word(&head.method, out);
    out.push(b' ');
    let host = target(head, form, out);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    if let Some(host) = host {
        field(b"Host", host.as_bytes(), out);
    }
    for (name, value) in head.fields.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"host")) {
        unless_framing(name, value, out);
    }
    match framing {
        Framing::None | Framing::UntilClose => {}
        Framing::Length(bytes) => length(bytes, out),
        Framing::Chunked => field(b"Transfer-Encoding", b"chunked", out),
    }
    out.extend_from_slice(b"\r\n");
}

/// A request's first line as a server would read it, without its end: for who inspects it.
pub fn request_line(head: &RequestHead) -> Vec<u8> {
    let mut line = Vec::with_capacity(64);
    word(&head.method, &mut line);
    line.push(b' ');
    target(head, Form::Origin, &mut line);
    line.extend_from_slice(b" ");
    line.extend_from_slice(format!("HTTP/{}", head.version.number()).as_bytes());
    line
}

/// A response's first line, without its end: for who inspects it.
pub fn status_line(head: &ResponseHead) -> Vec<u8> {
    let mut line = format!("HTTP/{} {} ", head.version.number(), head.status).into_bytes();
    text(&head.reason, &mut line);
    line
}

/// Writes the target, and says what Host is to say of it.
fn target(head: &RequestHead, form: Form, out: &mut Vec<u8>) -> Option<String> {
    let url = match &head.target {
        Target::Absolute(url) => Some(url.clone()),
        Target::Origin(_) if form == Form::Absolute => head.url(Scheme::Http),
        _ => None,
    };
    if let Some(url) = url {
        let host = authority(&url.host, url.port, Some(url.scheme));
        if form == Form::Absolute {
            out.extend_from_slice(format!("{}://{host}", url.scheme.name()).as_bytes());
        }
        word(&url.path, out);
        return Some(host);
    }
    match &head.target {
        Target::Authority { host, port } => {
            let host = authority(host, *port, None);
            out.extend_from_slice(host.as_bytes());
            return Some(host);
        }
        Target::Origin(path) => word(path, out),
        Target::Asterisk | Target::Absolute(_) => out.push(b'*'),
    }
    // The scheme is not known here, so a port that is said stays.
    head.host().map(|(host, port)| match port {
        Some(port) => authority(&host, port, None),
        None => authority(&host, Scheme::Http.port(), Some(Scheme::Http)),
    })
}

/// Writes a response's head, as HTTP/1.1. With [`Framing::UntilClose`] it says `Connection: close`. With
/// [`Framing::None`] the response must be one that has no body (1xx, 204, 304, to HEAD, 2xx to CONNECT): the client
/// would else wait for the end of the connection. The length that its fields declare, for HEAD and 304, stays.
pub fn write_response(head: &ResponseHead, framing: Framing, out: &mut Vec<u8>) {
    out.reserve(HEAD_BYTES_USUAL);
    let status = head.status.clamp(100, 999);
    out.extend_from_slice(format!("HTTP/1.1 {status} ").as_bytes());
    text(&head.reason, out);
    out.extend_from_slice(b"\r\n");
    let closes = framing == Framing::UntilClose;
    for (name, value) in head.fields.iter() {
        if !(closes && name.eq_ignore_ascii_case(b"connection")) {
            unless_framing(name, value, out);
        }
    }
    match framing {
        Framing::None if status >= 200 && status != 204 => {
            if let Some(declared) = head.fields.get("content-length").and_then(decimal) {
                length(declared, out);
            }
        }
        Framing::None => {}
        Framing::Length(bytes) => length(bytes, out),
        Framing::Chunked => field(b"Transfer-Encoding", b"chunked", out),
        Framing::UntilClose => field(b"Connection", b"close", out),
    }
    out.extend_from_slice(b"\r\n");
}

/// What stands before a chunk: its size and CR LF. Behind it stands CR LF too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHead {
    bytes: [u8; 18],
    length: usize,
}

impl std::ops::Deref for ChunkHead {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// What stands before a chunk of so many bytes; of none, it would be the last.
pub fn chunk_head(bytes: usize) -> ChunkHead {
    let mut head = ChunkHead { bytes: [0; 18], length: 0 };
    let mut room = head.bytes.as_mut_slice();
    // 16 digits are the most that a usize has, and CR LF: it fits.
    let _ = write!(room, "{bytes:x}\r\n");
    head.length = 18 - room.len();
    head
}

/// The last chunk with fields behind it.
pub fn last_chunk_with(trailers: &Fields) -> Vec<u8> {
    let mut out = b"0\r\n".to_vec();
    for (name, value) in trailers.iter() {
        unless_framing(name, value, &mut out);
    }
    out.extend_from_slice(b"\r\n");
    out
}

fn length(bytes: u64, out: &mut Vec<u8>) {
    field(b"Content-Length", bytes.to_string().as_bytes(), out);
}

/// What frames the body is written once, and by who knows.
fn unless_framing(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    if !name.eq_ignore_ascii_case(b"content-length") && !name.eq_ignore_ascii_case(b"transfer-encoding") {
        field(name, value, out);
    }
}

fn field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    if is_token(name) {
        out.extend_from_slice(name);
        out.extend_from_slice(b": ");
        text(value, out);
        out.extend_from_slice(b"\r\n");
    }
}

/// Text of one line: control characters become spaces.
fn text(text: &[u8], out: &mut Vec<u8>) {
    let is_plain = |byte: u8| !byte.is_ascii_control() || byte == b'\t';
    out.extend(text.iter().map(|byte| if is_plain(*byte) { *byte } else { b' ' }));
}

/// Text without spaces: they and control characters are written as a URL writes them.
fn word(text: &[u8], out: &mut Vec<u8>) {
    let is_escaped = |byte: &u8| *byte <= b' ' || *byte == 0x7f;
    let mut rest = text;
    while let Some((byte, behind)) = rest.iter().position(is_escaped).and_then(|at| {
        let (plain, from) = rest.split_at_checked(at)?;
        out.extend_from_slice(plain);
        from.split_first()
    }) {
        out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        rest = behind;
    }
    out.extend_from_slice(rest);
}
