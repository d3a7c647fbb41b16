//! HTTP (RFC 9110, 9112, 9113). Rule: what passes has one reading, and what leaves is framed by us, never copied.
//!
//! [`RequestReader`] and [`ResponseReader`] take one message after another out of a connection's bytes; [`write_request`]
//! and [`write_response`] make the messages that leave. Between the two stands what a message means: [`Fields`],
//! [`Target`], [`Framing`]. A message that two programs could read in two ways (request smuggling, response splitting,
//! the cases of HTTP Evader) is refused with a name, or has its ambiguity taken out before anybody else sees it. Of HTTP/2
//! heads and trailers are read here, by the same rules.

mod body;
mod fields;
mod framing;
mod hops;
mod http2;
mod http2_frames;
mod lines;
mod machine;
mod refusal;
mod request;
mod response;
mod trailers;
mod url;
mod write;

pub use body::Chunks;
pub use fields::Fields;
pub use framing::Framing;
pub use hops::{strip_hop_by_hop, wants_close};
pub use http2::{Follows, Pseudo, authority_of, may_leave_by_http2, request_from_http2, response_from_http2};
pub use http2_frames::{HTTP2_PREFACE, Http2Field, Http2Frame, Http2Reader};
pub use refusal::Refusal;
pub use request::{RequestHead, RequestReader};
pub use response::{Eof, ResponseHead, ResponseReader};
pub use trailers::{Trailing, trailers_from_http2};
pub use url::{Scheme, Target, Url};
pub use write::{
    ChunkHead, Form, LAST_CHUNK, chunk_head, last_chunk_with, request_line, status_line, write_request,
    write_response,
};

/// What becomes of a message that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// A proxy's: it is refused, or re-framed into the one meaning that it can have.
    Strict,
    /// A spectator's: nothing is refused; what is odd is noted, and read as most programs would.
    Passive,
}

/// Limits on what one message may bring besides its body; that has none here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All field lines of a head, with their CR LF.
    pub head_bytes_max: usize,
    /// Fields of a head, or of a trailer section.
    pub fields_max: usize,
    /// A request line or status line with its CR LF.
    pub start_line_bytes_max: usize,
    /// A chunk's size with its extensions and its CR LF.
    pub chunk_line_bytes_max: usize,
    /// All field lines behind the last chunk.
    pub trailer_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 << 10,
            fields_max: 200,
            start_line_bytes_max: 16 << 10,
            chunk_line_bytes_max: 256,
            trailer_bytes_max: 8 << 10,
        }
    }
}

/// The version that a message says it is of. Others are refused: `HTTP/1.2` and up of 1 have never been defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `HTTP/1.0`.
    Http10,
    /// `HTTP/1.1`.
    Http11,
    /// `HTTP/2`, which a message is of by its connection and not by a word of its own.
    Http2,
}

impl Version {
    /// As it stands behind `HTTP/`.
    pub fn number(self) -> &'static str {
        match self {
            Self::Http10 => "1.0",
            Self::Http11 => "1.1",
            Self::Http2 => "2",
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        match text {
            b"HTTP/1.0" => Some(Self::Http10),
            b"HTTP/1.1" => Some(Self::Http11),
            _ => None,
        }
    }
}

/// How much of the input a step used, and what it came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Step<'a, H> {
    /// Bytes of the input used.
    pub consumed: usize,
    /// What it came to.
    pub frame: Frame<'a, H>,
}

/// What stands at the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a, H> {
    /// All input has been used; nothing is complete.
    NeedInput,
    /// A head, and how the body behind it is framed.
    Head(Box<H>, Framing),
    /// Bytes of the body, chunking removed; never empty.
    Body(&'a [u8]),
    /// The fields behind a chunked body; only where there are any that may stand there.
    Trailers(Fields),
    /// The message has ended; the next one's head is awaited.
    End,
    /// The message cannot be relayed, nor can anything behind it: each further step says the same.
    Refused(Refusal),
}

#[cfg(test)]
mod tests;
