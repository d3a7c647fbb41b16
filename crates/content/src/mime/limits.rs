//! Every limit of the MIME decoder. Rule: one named constant each; what lies beyond is said, never silently dropped.

/// How deep multiparts may nest within one message; deeper ones are given as one raw child, `Incomplete(depth)`.
pub const MULTIPART_DEPTH_MAX: usize = 32;
/// How many bytes all boundaries of one message may have together; a multipart beyond is given as one raw child,
/// `Incomplete(depth)`.
pub const BOUNDARIES_BYTES_MAX: usize = 8 << 10;
/// The longest boundary that is looked for. RFC 2046 allows 70; a longer one than this is cut, with an anomaly.
pub const BOUNDARY_BYTES_MAX: usize = 1000;
/// How many boundaries one multipart may have, of those that its header gives in several ways and those found in its body.
pub const BOUNDARIES_MAX: usize = 16;
/// How many fields of one name are kept, where there should be one.
pub const FIELDS_MAX: usize = 4;
/// How much of a delimiter line is held before it is decided without its end.
pub const DELIMITER_LINE_BYTES_MAX: usize = BOUNDARY_BYTES_MAX + 256;
/// How much of the fields of one header block is held, together; only those that say how to read a part are held at all.
/// What is beyond is `Incomplete(held)`.
pub const HEADER_FIELDS_BYTES_MAX: usize = 16 << 10;
/// The longest name of a header field that is looked at.
pub const HEADER_NAME_BYTES_MAX: usize = 256;
/// A header block longer than this is an anomaly. It is still read: nothing of it is held.
pub const HEADER_BLOCK_BYTES_MAX: u64 = 1 << 20;
/// How many parameters of one field are read, continuations (RFC 2231) counted one by one.
pub const PARAMETERS_MAX: usize = 64;
/// How many characters of a file name are kept: the first and the last half where it is longer.
pub const NAME_CHARS_MAX: usize = 1024;
/// How much white space quoted-printable holds until it knows whether the line ends there.
pub const BLANKS_BYTES_MAX: usize = 256;
/// The longest line that is looked at for the beginning of uuencoded data.
pub const BEGIN_LINE_BYTES_MAX: usize = 1024;
/// The longest encoded word (RFC 2047 allows 75) that is decoded.
pub const ENCODED_WORD_BYTES_MAX: usize = 2048;
/// How many other names of a part are asked for, beside the one that is shown.
pub const NAMES_MAX: usize = 16;
/// How much of an encoded body is held in case that it turns out to have a second reading. Where that shows later, it is
/// `Incomplete(held)`.
pub const DOUBT_BYTES_MAX: u64 = 16 << 10;
