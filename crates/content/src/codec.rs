//! One stream compressed in one way. Rule: a codec gives one child and knows nothing of archives.

pub mod brotli;
pub mod bzip2;
pub mod deflate;
pub(crate) mod deflate64;
pub(crate) mod filter;
pub mod gzip;
pub(crate) mod implode;
pub mod inflate;
pub(crate) mod lz;
pub(crate) mod lzh;
pub(crate) mod lzhuf;
pub mod lzip;
pub mod lzma;
pub mod lzw;
pub(crate) mod lzx;
pub(crate) mod mszip;
pub(crate) mod ppmd;
pub(crate) mod quantum;
pub(crate) mod rar;
pub(crate) mod shrink;
pub mod stream;
pub mod szdd;
pub mod unpacker;
pub mod xz;
pub mod zstd;

use lockgate_model::Reason;

/// How a piece of decoding went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The stream goes on.
    Going,
    /// The stream has ended: the rest of the input is not its own.
    Ended,
    /// The stream cannot be read on; all that was made before it has been given out.
    Failed(Reason),
}

/// What a piece of decoding used and made.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Bytes of the input used.
    pub used: usize,
    /// Bytes of the output made.
    pub made: usize,
    /// How it went.
    pub outcome: Outcome,
}
