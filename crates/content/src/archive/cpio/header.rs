//! The headers of cpio entries. Rule: numbers that are none make no header.

/// What tells the forms apart, at most.
pub(super) const MAGIC_BYTES: usize = 6;
const KIND: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;

/// How an entry's header is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Hexadecimal; also with a sum of the content.
    #[default]
    New,
    NewWithSum,
    /// Octal.
    Odc,
    /// Words of 16 bits.
    BinaryLittle,
    BinaryBig,
}

impl Form {
    /// By its first bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        Some(match bytes {
            b"070701" => Self::New,
            b"070702" => Self::NewWithSum,
            b"070707" => Self::Odc,
            [0xc7, 0x71, ..] => Self::BinaryLittle,
            [0x71, 0xc7, ..] => Self::BinaryBig,
            _ => return None,
        })
    }

    pub fn header_bytes(self) -> usize {
        match self {
            Self::New | Self::NewWithSum => 110,
            Self::Odc => 76,
            Self::BinaryLittle | Self::BinaryBig => 26,
        }
    }

    /// Names and contents are filled up to multiples of this.
    fn alignment(self) -> u64 {
        match self {
            Self::New | Self::NewWithSum => 4,
            Self::Odc => 1,
            Self::BinaryLittle | Self::BinaryBig => 2,
        }
    }
}

/// What is needed of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    form: Form,
    pub is_file: bool,
    pub size: u64,
    /// With the NUL that ends it.
    pub name_bytes: u64,
    pub sum: Option<u32>,
}

impl Header {
    /// Of so many bytes as its form has.
    pub fn parse(form: Form, bytes: &[u8]) -> Option<Self> {
        let hex = |at: usize| number(bytes.get(6 + 8 * at..14 + 8 * at)?, 16);
        let octal = |at: usize, length: usize| number(bytes.get(at..at + length)?, 8);
        let word = |at: usize| {
            let pair = [*bytes.get(2 * at)?, *bytes.get(2 * at + 1)?];
            let word =
                if form == Form::BinaryBig { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            Some(u64::from(word))
        };
        let (mode, name_bytes, size) = match form {
            Form::New | Form::NewWithSum => (hex(1)?, hex(11)?, hex(6)?),
            Form::Odc => (octal(18, 6)?, octal(59, 6)?, octal(65, 11)?),
            Form::BinaryLittle | Form::BinaryBig => (word(3)?, word(10)?, word(11)? << 16 | word(12)?),
        };
        let sum = if form == Form::NewWithSum { Some(hex(12)? as u32) } else { None };
        let is_file = mode as u32 & KIND == KIND_FILE;
        (name_bytes > 0).then_some(Self { form, is_file, size, name_bytes, sum: sum.filter(|_| is_file) })
    }

    /// The name with what follows it.
    pub fn name_bytes_padded(&self) -> u64 {
        let header = self.form.header_bytes() as u64;
        (header + self.name_bytes).next_multiple_of(self.form.alignment()) - header
    }

    /// What follows the content.
    pub fn padding(&self) -> u64 {
        self.size.next_multiple_of(self.form.alignment()) - self.size
    }
}

/// Digits, with spaces or NULs around them in some writers' files.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?.trim_matches([' ', '\0']);
    let is_plain = text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_plain { u64::from_str_radix(text, radix).ok() } else { None }
}
