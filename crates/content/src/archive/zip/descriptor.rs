//! Data descriptors (APPNOTE.TXT, section 4.3.9). Rule: one is believed only where it tells the truth.
//!
//! A descriptor comes with or without its signature and with sizes of 32 or 64 bits, and nothing says which. But what
//! it must say is known when it comes, so each of the four forms is a string of bytes to compare with.

use super::header::DESCRIPTOR;

/// The longest form.
pub(super) const DESCRIPTOR_BYTES_MAX: usize = 24;

/// What a descriptor must say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truth {
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
    pub(super) is_zip64: bool,
}

/// How bytes compare with the forms allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// A descriptor, complete.
    Whole,
    /// The beginning of one.
    Begun,
    /// None.
    None,
}

/// Which forms are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forms {
    /// All four.
    All,
    /// Those that begin with the signature: where the end of the data must be found by it.
    Signed,
}

impl Truth {
    /// How these bytes compare with what must come.
    pub(super) fn compare(&self, bytes: &[u8], forms: Forms) -> Likeness {
        let mut likeness = Likeness::None;
        for wide in [false, true] {
            // Of an empty file the short form is a beginning of the long one.
            if !wide && self.is_zip64 && self.size == 0 {
                continue;
            }
            for signed in [false, true] {
                if !signed && forms == Forms::Signed {
                    continue;
                }
                let (form, length) = self.form(wide, signed);
                if bytes == &form[..length] {
                    return Likeness::Whole;
                }
                if form[..length].starts_with(bytes) {
                    likeness = Likeness::Begun;
                }
            }
        }
        likeness
    }

    fn form(&self, wide: bool, signed: bool) -> ([u8; DESCRIPTOR_BYTES_MAX], usize) {
        let mut form = [0; DESCRIPTOR_BYTES_MAX];
        let mut length = 0;
        let mut add = |bytes: &[u8]| {
            form[length..length + bytes.len()].copy_from_slice(bytes);
            length += bytes.len();
        };
        if signed {
            add(&DESCRIPTOR);
        }
        add(&self.crc.to_le_bytes());
        for size in [self.compressed, self.size] {
            let bytes = size.to_le_bytes();
            add(if wide { &bytes } else { &bytes[..4] });
        }
        (form, length)
    }
}
