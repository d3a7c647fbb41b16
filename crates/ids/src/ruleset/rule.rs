//! A rule as it has been read: [`Rule`]. Rule: what is asked of one buffer stands together, in the order it was written.

use super::bits::{Bit, FlowInteger, FlowTest, StreamSize};
use super::bytes::{Base64, ByteExtract, ByteJump, ByteMath, ByteTest, IsDataAt};
use super::content::Content;
use super::datasets::InSet;
use super::digests::Listed;
use super::header::{Application, Header};
use super::integer::Compare;
use super::packet::PacketTest;
use super::pcre::Pcre;
use super::sticky::Sticky;
use super::threshold::Threshold;
use super::transform::Transform;

/// A rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub header: Header,
    /// What it is called.
    pub message: Box<str>,
    pub generator: u32,
    pub id: u32,
    pub revision: u32,
    pub class: Option<Box<str>>,
    pub priority: Option<u8>,
    /// Kind and text of each.
    pub references: Vec<(Box<str>, Box<str>)>,
    pub metadata: Vec<(Box<str>, Box<str>)>,
    pub lists: Vec<List>,
    pub packet: Vec<PacketTest>,
    pub flow: FlowTest,
    pub bits: Vec<Bit>,
    pub integers: Vec<FlowInteger>,
    pub stream_sizes: Vec<StreamSize>,
    pub threshold: Option<Threshold>,
    /// Whether what it finds is not told.
    pub is_silent: bool,
    /// `alert` in a rule that lets pass: that is told.
    pub is_told_of_pass: bool,
    /// `app-layer-protocol`, each of them.
    pub applications: Vec<Application>,
    /// `app-layer-event`.
    pub events: Vec<Box<str>>,
}

/// What is asked of one buffer.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub sticky: Sticky,
    pub transforms: Vec<Transform>,
    pub tests: Vec<Test>,
}

/// A question to a buffer.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Content(Content),
    Pcre(Pcre),
    ByteTest(ByteTest),
    ByteJump(ByteJump),
    ByteExtract(ByteExtract),
    ByteMath(ByteMath),
    IsDataAt(IsDataAt),
    /// How long the buffer is.
    Size(Compare),
    /// The buffer is a number in decimal digits.
    Number(Compare),
    /// The buffer is a number of two bytes, and one of these, or none of them.
    OneOf {
        values: Box<[u16]>,
        is_negated: bool,
    },
    /// The buffer is a digest, and one of these, or none of them.
    Listed(Listed),
    /// The whole buffer is in a set, or not, or goes into it.
    InSet(InSet),
    Base64(Base64),
    /// The buffer is not there, or (`or_else`) the tests behind it hold.
    Absent {
        or_else: bool,
    },
}

impl Test {
    /// Whether it begins where the one before it has ended.
    pub fn is_relative(&self) -> bool {
        match self {
            Self::Content(content) => content.place.is_relative(),
            Self::Pcre(pcre) => pcre.is_relative,
            Self::ByteTest(test) => test.field.is_relative,
            Self::ByteJump(jump) => jump.field.is_relative,
            Self::ByteExtract(extract) => extract.field.is_relative,
            Self::ByteMath(math) => math.field.is_relative,
            Self::IsDataAt(is) => is.is_relative,
            Self::Base64(base64) => base64.is_relative,
            Self::Size(_)
            | Self::Number(_)
            | Self::OneOf { .. }
            | Self::Listed(_)
            | Self::InSet(_)
            | Self::Absent { .. } => false,
        }
    }
}
