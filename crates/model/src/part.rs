//! A node in the tree of content, and the named views that rules look into. Rule: a part knows its way from the root.

use crate::FileType;
use std::sync::Arc;

/// Names a part within its transaction; the root is 0, ids are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartId(pub u32);

impl PartId {
    /// The message or file itself.
    pub const ROOT: Self = Self(0);
}

/// One node: message → MIME part → archive entry → …
#[derive(Clone, Debug)]
pub struct Part {
    /// Names it within the transaction.
    pub id: PartId,
    /// The part that it was found in; `None` for the root.
    pub parent: Option<PartId>,
    /// 0 for the root.
    pub depth: u16,
    /// The way from the root, such as `1.2/a.zip/b.exe`: the path of its parent, then the section number or name.
    pub path: Arc<str>,
    /// The name that its container gives, decoded; it is hostile text and may hold anything.
    pub name: Option<Arc<str>>,
    /// The media type that its container declares, in lower case without parameters.
    pub declared: Option<Arc<str>>,
    /// What its first bytes say it is.
    pub detected: FileType,
}

/// A named view that a rule looks into. Names are those of Suricata's sticky buffers where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Buffer {
    /// The bytes of a part, decoded once: what a file would hold.
    FileData,
    /// The header block of a message or MIME entity, as received.
    MailHeader,
    /// The method of a request.
    HttpMethod,
    /// The host that a request is for: lower case, no port, no dot at its end; an IPv6 address without brackets.
    HttpHost,
    /// Path and query of a request, percent escapes of unreserved characters undone (RFC 3986 section 6.2.2).
    HttpUri,
    /// The `User-Agent` of a request.
    HttpUserAgent,
    /// The lines of a request's header, `Name: value` and CRLF each, without those of the connection.
    HttpHeader,
    /// The `Content-Type` of a response as its server says it: the media type, and behind `;` its parameters.
    HttpContentType,
    /// The first line of a request as it came, without its end.
    HttpRequestLine,
    /// The first line of a response as it came, without its end.
    HttpResponseLine,
    /// The lines of a response's header, `Name: value` and CRLF each, without those of the connection.
    HttpResponseHeader,
}

impl Buffer {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::FileData,
        Self::MailHeader,
        Self::HttpMethod,
        Self::HttpHost,
        Self::HttpUri,
        Self::HttpUserAgent,
        Self::HttpHeader,
        Self::HttpContentType,
        Self::HttpRequestLine,
        Self::HttpResponseLine,
        Self::HttpResponseHeader,
    ];

    /// The name used in rules, events and evidence.
    pub fn name(self) -> &'static str {
        match self {
            Self::FileData => "file.data",
            Self::MailHeader => "mail.header",
            Self::HttpMethod => "http.method",
            Self::HttpHost => "http.host",
            Self::HttpUri => "http.uri",
            Self::HttpUserAgent => "http.user_agent",
            Self::HttpHeader => "http.header",
            Self::HttpContentType => "http.content_type",
            Self::HttpRequestLine => "http.request_line",
            Self::HttpResponseLine => "http.response_line",
            Self::HttpResponseHeader => "http.response_header",
        }
    }
}

/// Which buffers an engine asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BufferSet(u64);

impl BufferSet {
    /// No buffer at all.
    pub const EMPTY: Self = Self(0);

    /// This set with one more.
    #[must_use]
    pub const fn with(self, buffer: Buffer) -> Self {
        Self(self.0 | 1 << buffer as u8)
    }

    /// What is in either.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the buffer is asked for.
    pub const fn contains(self, buffer: Buffer) -> bool {
        self.0 & (1 << buffer as u8) != 0
    }
}
