//! Why a message is refused. Rule: each way to be read twice has a name of its own.

/// What is wrong with a message: under [`Disposition::Strict`](super::Disposition) why it is refused, else what is
/// noted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A line ends with LF alone. In the head of a response it is a line all the same, and only noted.
    BareLf,
    /// A CR that no LF follows.
    BareCr,
    /// A NUL.
    Nul,
    /// Another control character.
    ControlCharacter,
    /// The first line is neither a request line nor a status line, or a message begins with too many empty lines.
    BadStartLine,
    /// Neither `HTTP/1.0` nor `HTTP/1.1`.
    BadVersion,
    /// The method is no token.
    BadMethod,
    /// The request target is none, or not for this method.
    BadTarget,
    /// An absolute target with a scheme other than http and https.
    UnknownScheme,
    /// A target or Host with user information (RFC 9110 section 4.2.4): what stands before `@` poses as the host.
    UserInfo,
    /// The status code is no number from 100 to 999.
    BadStatus,
    /// HTTP/1.1 without Host.
    HostMissing,
    /// More than one Host.
    HostRepeated,
    /// A Host, or the authority of a target, that names no host or could name two.
    HostBad,
    /// Host is not the one of the absolute target. The target counts, and Host is made from it (RFC 9112 section
    /// 3.2.2), so this is only noted; in HTTP/2, where `:authority` is the other, it is refused.
    HostDiffers,
    /// A field line without a colon. In the head of a response it is left out, and only noted.
    FieldWithoutColon,
    /// A field name that is no token. In the head of a response the field is left out, and this only noted.
    BadFieldName,
    /// Whitespace before the colon. In the head of a response it is taken away, and only noted.
    FieldNameSpace,
    /// A field continued on the next line (RFC 9112 section 5.2). In a response it is joined, and only noted.
    ObsFold,
    /// A Content-Length that is no number.
    BadLength,
    /// Content-Length values that differ.
    ConflictingLengths,
    /// Content-Length besides Transfer-Encoding. In a response the chunks count (RFC 9112 section 6.3), and it is only
    /// noted.
    LengthAndChunked,
    /// A Transfer-Encoding that is not `chunked`, once.
    UnknownTransferCoding,
    /// Transfer-Encoding in HTTP/1.0, which does not know it (RFC 9112 section 6.1).
    TransferCodingInHttp10,
    /// In HTTP/2, a field that is of an HTTP/1 connection (RFC 9113 section 8.2.2).
    ConnectionField,
    /// In HTTP/2, content that is not as long as Content-Length says (RFC 9113 section 8.1.1).
    LengthDiffers,
    /// A body where there must be none.
    BodyNotAllowed,
    /// A chunk whose size is not one, or that does not end where its size says.
    BadChunk,
    /// An extension behind a chunk's size (RFC 9112 section 7.1.1). It says nothing to anybody: a proxy makes its
    /// own chunks, and a spectator notes it.
    ChunkExtension,
    /// More field lines than a head may have bytes.
    HeadTooLong,
    /// More fields than a head may have.
    TooManyFields,
    /// A request line or status line that is too long.
    StartLineTooLong,
    /// The line of a chunk's size is too long.
    ChunkLineTooLong,
    /// The fields behind the last chunk are too long.
    TrailersTooLong,
    /// One interim response (1xx) after another.
    TooManyInterim,
}

impl Refusal {
    /// The status to answer a request with; for a response that is refused, the status is 502.
    pub fn status(self) -> u16 {
        match self {
            Self::StartLineTooLong => 414,
            Self::HeadTooLong | Self::TooManyFields | Self::TrailersTooLong => 431,
            Self::UnknownTransferCoding => 501,
            Self::BadVersion => 505,
            _ => 400,
        }
    }

    /// What to tell people, as part of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::BareLf => "a line ends with LF alone",
            Self::BareCr => "a CR stands without LF",
            Self::Nul => "a NUL stands in a line",
            Self::ControlCharacter => "a control character stands in a line",
            Self::BadStartLine => "the first line is none of HTTP",
            Self::BadVersion => "the version is neither HTTP/1.0 nor HTTP/1.1",
            Self::BadMethod => "the method is malformed",
            Self::BadTarget => "the request target is malformed",
            Self::UnknownScheme => "the scheme is neither http nor https",
            Self::UserInfo => "the address has user information",
            Self::BadStatus => "the status code is none",
            Self::HostMissing => "Host is missing",
            Self::HostRepeated => "Host is repeated",
            Self::HostBad => "the host is malformed",
            Self::HostDiffers => "Host is not the target's",
            Self::FieldWithoutColon => "a header line has no colon",
            Self::BadFieldName => "a header's name is malformed",
            Self::FieldNameSpace => "whitespace stands before a header's colon",
            Self::ObsFold => "a header is folded over lines",
            Self::BadLength => "Content-Length is no number",
            Self::ConflictingLengths => "there are different values of Content-Length",
            Self::LengthAndChunked => "there are both Content-Length and Transfer-Encoding",
            Self::UnknownTransferCoding => "Transfer-Encoding is not one chunked",
            Self::TransferCodingInHttp10 => "Transfer-Encoding stands in HTTP/1.0",
            Self::ConnectionField => "a header of HTTP/1 connections stands in HTTP/2",
            Self::LengthDiffers => "the content is not as long as Content-Length says",
            Self::BodyNotAllowed => "there is a body where none may be",
            Self::BadChunk => "a chunk is malformed",
            Self::ChunkExtension => "a chunk has an extension",
            Self::HeadTooLong => "the headers are too long",
            Self::TooManyFields => "there are too many headers",
            Self::StartLineTooLong => "the first line is too long",
            Self::ChunkLineTooLong => "the line of a chunk's size is too long",
            Self::TrailersTooLong => "the trailers are too long",
            Self::TooManyInterim => "there are too many interim responses",
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.words())
    }
}

/// What a reader met in a message, and whether that ends it.
#[derive(Debug)]
pub(crate) struct Oddities {
    disposition: super::Disposition,
    noted: Vec<Refusal>,
}

impl Oddities {
    pub(crate) fn new(disposition: super::Disposition) -> Self {
        Self { disposition, noted: Vec::new() }
    }

    /// Whether what is odd is read all the same.
    pub(crate) fn forgives(&self) -> bool {
        self.disposition == super::Disposition::Passive
    }

    /// Refuses, or notes and goes on: what follows a `?` behind this is the passive reading.
    pub(crate) fn met(&mut self, oddity: Refusal) -> Result<(), Refusal> {
        match self.disposition {
            super::Disposition::Strict => Err(oddity),
            super::Disposition::Passive => {
                self.note(oddity);
                Ok(())
            }
        }
    }

    /// Notes what has one reading all the same. Each kind is noted once, so there are only so many.
    pub(crate) fn note(&mut self, oddity: Refusal) {
        if !self.noted.contains(&oddity) {
            self.noted.push(oddity);
        }
    }

    pub(crate) fn noted(&self) -> &[Refusal] {
        &self.noted
    }

    pub(crate) fn forget(&mut self) {
        self.noted.clear();
    }
}
