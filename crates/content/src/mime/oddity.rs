//! What can be bent in a message, and in which words it is said. Rule: each is said once for a message.

/// Declares the oddities with their words, in the order in which they are said.
macro_rules! oddities {
    ($($variant:ident $words:literal,)*) => {
        /// A way to bend the format that makes readers disagree.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Oddity { $(#[doc = $words] $variant,)* }

        impl Oddity {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The words that go into the finding.
            pub(super) fn words(self) -> &'static str {
                match self { $(Self::$variant => $words,)* }
            }
        }
    };
}

oddities! {
    BareCrInHeader "MIME: a header line ends with a bare CR",
    JunkInHeader "MIME: a header line without a name",
    HeaderWithoutEnd "MIME: a body begins without a blank line after its header",
    HeaderNameTooLong "MIME: a header field's name is too long",
    HeaderBlockTooLong "MIME: a header block is too long",
    TypeRepeated "MIME: Content-Type is given more than once",
    EncodingRepeated "MIME: Content-Transfer-Encoding is given more than once",
    DispositionRepeated "MIME: Content-Disposition is given more than once",
    FieldFolded "MIME: a header field that is folded into the one before it",
    EncodingUnknown "MIME: an unknown Content-Transfer-Encoding",
    EncodingBent "MIME: a Content-Transfer-Encoding that has to be guessed",
    EncodingOnMultipart "MIME: a multipart with a Content-Transfer-Encoding",
    EncodingOnMessage "MIME: a message within a message has a Content-Transfer-Encoding",
    TypeBent "MIME: a Content-Type that has to be guessed",
    ParameterRepeated "MIME: a parameter is given more than once",
    ParametersTooMany "MIME: too many parameters",
    QuoteWithoutEnd "MIME: a quoted parameter without its end",
    NamesDiffer "MIME: two file names of different kind for one part",
    NameTooLong "MIME: a file name is too long",
    BoundaryMissing "MIME: a multipart without a boundary",
    BoundaryEmpty "MIME: a multipart with an empty boundary",
    BoundaryTooLong "MIME: a boundary is too long",
    BoundaryRepeated "MIME: nested multiparts with the same boundary",
    BoundaryUnannounced "MIME: parts are divided by a boundary that the header does not announce",
    DelimiterWithJunk "MIME: more than a boundary in a delimiter line",
    DelimiterAfterBareCr "MIME: a boundary that only a bare CR puts at the beginning of a line",
    DelimiterInHeader "MIME: a boundary within a header block",
    DelimiterAfterEnd "MIME: a part follows the end of its multipart",
    MultipartWithoutEnd "MIME: a multipart within a multipart has no end",
    Base64Junk "MIME: base64 with characters that do not belong to it",
    Base64AfterPad "MIME: base64 goes on after its padding",
    Base64PadMisplaced "MIME: base64 with misplaced padding",
    Base64BrokenLine "MIME: base64 whose lines end within a group of characters",
    QuotedLooksEncoded "MIME: base64 that is said to be quoted-printable",
    UuencodedNot "MIME: a body that is said to be uuencoded and is not",
    UuencodedForeign "MIME: uuencoded data with lines that do not belong to it",
    YencNot "MIME: a body that is said to be yEnc and is not",
    QuotedMalformed "MIME: malformed quoted-printable",
}

/// Which oddities were met, and which of them were said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Oddities {
    met: u64,
    said: u64,
}

impl Oddities {
    /// Notes one; it is said at the next [`Oddities::next`], unless it was said before.
    pub(super) fn note(&mut self, oddity: Oddity) {
        self.met |= 1 << oddity as u64;
    }

    /// Notes all that another has met.
    pub(super) fn add(&mut self, other: Self) {
        self.met |= other.met;
    }

    /// The next that is to be said.
    pub(super) fn next(&mut self) -> Option<Oddity> {
        let due = self.met & !self.said;
        let oddity = Oddity::ALL.get(due.trailing_zeros() as usize).copied()?;
        self.said |= 1 << oddity as u64;
        Some(oddity)
    }
}

const _: () = assert!(Oddity::ALL.len() <= 64, "one bit each");
