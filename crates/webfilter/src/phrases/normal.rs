//! A page's bytes → its readings: [`Normaliser`]. Rule: a stream gives the same readings however it is cut, in constant memory.
//!
//! The *raw* reading is the page as it is written: ASCII letters and those of ISO 8859-1 are made small, most punctuation
//! becomes a space, and so do `<` and `>`. The *text* is what a reader sees: tags are spaces, character references are
//! characters, the charset is UTF-8, letters of every script are made small, what has no width is gone, and white space is
//! one space. Both are what e2guardian makes of a page, but for characters outside ASCII, which it takes as bytes.

use super::Readings;
use super::charset::{Charset, PRESCAN_BYTES, decode, of_windows_1252};
use super::entity::{self, REFERENCE_BYTES_MAX, Reading};
use super::search::Copied;
use std::str::from_utf8;

/// The readings of one page, as far as it has come.
pub(super) struct Normaliser {
    readings: Readings,
    declared: Option<Vec<u8>>,
    charset: Charset,
    /// The first bytes, until they are enough to know the charset by.
    head: Option<Vec<u8>>,
    text: Text,
    meta: Meta,
}

/// What a page's bytes become: appended to what is there.
#[derive(Default)]
pub(super) struct Output {
    /// The raw reading; without one, what the text is made of.
    pub raw: Vec<u8>,
    pub text: Written,
}

/// The text that was written.
#[derive(Default)]
pub(super) struct Written {
    pub bytes: Vec<u8>,
    /// What of it stands in the raw reading as well, in order.
    pub copied: Vec<Copied>,
}

impl Normaliser {
    /// A page that begins. `declared` is the charset that its server says it is in.
    pub fn new(readings: Readings, declared: Option<&[u8]>) -> Self {
        Self {
            readings,
            declared: declared.map(<[u8]>::to_vec),
            charset: Charset::Plain,
            head: Some(Vec::new()),
            text: Text::default(),
            meta: Meta::Looking,
        }
    }

    /// The page's next bytes.
    pub fn push(&mut self, mut chunk: &[u8], out: &mut Output) {
        if let Some(head) = &mut self.head {
            let taken = chunk.len().min(PRESCAN_BYTES - head.len());
            head.extend_from_slice(&chunk[..taken]);
            chunk = &chunk[taken..];
            if head.len() < PRESCAN_BYTES {
                return;
            }
            self.begin(out);
        }
        self.read(chunk, out);
    }

    /// The page has ended.
    pub fn finish(&mut self, out: &mut Output) {
        self.begin(out);
        let (text, meta, readings) = (&mut self.text, &mut self.meta, self.readings);
        if let Charset::Other(decoder) = &mut self.charset {
            decode(decoder, &[], true, &mut |piece| text.decoded(readings, meta, piece, &mut out.text));
        }
        self.text.finish(&mut out.text);
        // A word at the end is a word; and there is room for the last window.
        out.raw.extend_from_slice(b"    ");
        out.text.bytes.extend_from_slice(b"   ");
    }

    /// The charset is decided by the first bytes, which are then read.
    fn begin(&mut self, out: &mut Output) {
        let Some(head) = self.head.take() else { return };
        self.charset = Charset::of_page(&head, self.declared.as_deref());
        // A word at the beginning is a word.
        out.raw.push(b' ');
        out.text.bytes.push(b' ');
        self.read(&head, out);
    }

    fn read(&mut self, chunk: &[u8], out: &mut Output) {
        let start = out.raw.len();
        append_folded(&mut out.raw, chunk);
        let (text, meta, readings) = (&mut self.text, &mut self.meta, self.readings);
        match &mut self.charset {
            _ if readings == Readings::Raw => {}
            Charset::Plain if readings == Readings::Meta => {
                text.decoded(readings, meta, chunk, &mut out.text)
            }
            Charset::Plain => {
                text.push(
                    Source { bytes: chunk, folded: &out.raw[start..], raw: Some(start) },
                    &mut out.text,
                );
            }
            Charset::Other(decoder) => {
                decode(decoder, chunk, false, &mut |piece| {
                    text.decoded(readings, meta, piece, &mut out.text)
                });
            }
        }
    }
}

/// What text is made of, as it is written and in small letters.
#[derive(Clone, Copy)]
struct Source<'a> {
    bytes: &'a [u8],
    folded: &'a [u8],
    /// Where it stands in the raw reading, if it does.
    raw: Option<usize>,
}

impl Source<'_> {
    fn split_at(self, at: usize) -> (Self, Self) {
        let (bytes, folded) = (self.bytes.split_at(at), self.folded.split_at(at));
        (
            Self { bytes: bytes.0, folded: folded.0, raw: self.raw },
            Self { bytes: bytes.1, folded: folded.1, raw: self.raw.map(|raw| raw + at) },
        )
    }
}

/// A byte as both readings have it: small, or a space.
#[inline]
pub(super) fn folded(byte: u8) -> u8 {
    let is_large = byte.wrapping_sub(b'A') < 26 || byte.wrapping_sub(0xc0) < 30;
    let is_space =
        byte < b'.' || (byte.wrapping_sub(b':') < 6 && byte != b'=') || byte.wrapping_sub(b'[') < 6;
    let letter = if is_large { byte + 32 } else { byte };
    if is_space { b' ' } else { letter }
}

fn append_folded(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.extend_from_slice(bytes);
    for byte in &mut out[start..] {
        *byte = folded(*byte);
    }
}

/// Where in the markup the text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Text,
    Tag,
    /// In a character reference.
    Reference,
}

/// The text of a page in UTF-8 or windows-1252.
#[derive(Default)]
struct Text {
    place: Place,
    reference: Vec<u8>,
    /// The beginning of a character in UTF-8.
    partial: Vec<u8>,
    /// Whether the last that was written is no space.
    ends_within_word: bool,
    /// Room for what is made small.
    folded: Vec<u8>,
}

impl Text {
    /// Reads what stands nowhere in the raw reading.
    fn decoded(&mut self, readings: Readings, meta: &mut Meta, bytes: &[u8], out: &mut Written) {
        let mut read = |bytes: &[u8]| {
            let mut folded = std::mem::take(&mut self.folded);
            folded.clear();
            append_folded(&mut folded, bytes);
            self.push(Source { bytes, folded: &folded, raw: None }, out);
            self.folded = folded;
        };
        match readings {
            Readings::Meta => meta.push(bytes, &mut read),
            _ => read(bytes),
        }
    }

    fn push(&mut self, mut source: Source<'_>, out: &mut Written) {
        while let Some(first) = source.bytes.first() {
            match self.place {
                Place::Text => {
                    let at = memchr::memchr2(b'<', b'&', source.bytes);
                    let (run, rest) = source.split_at(at.unwrap_or(source.bytes.len()));
                    self.run(run, out);
                    let Some(mark) = rest.bytes.first() else { return };
                    self.flush(out);
                    self.place = if *mark == b'<' { Place::Tag } else { Place::Reference };
                    if *mark == b'&' {
                        self.reference.push(b'&');
                    }
                    source = rest.split_at(1).1;
                }
                Place::Tag => {
                    let Some(at) = memchr::memchr(b'>', source.bytes) else { return };
                    self.place = Place::Text;
                    self.space(out);
                    source = source.split_at(at + 1).1;
                }
                Place::Reference => {
                    if self.refer(*first, out) {
                        source = source.split_at(1).1;
                    }
                }
            }
        }
    }

    fn finish(&mut self, out: &mut Written) {
        if self.place == Place::Reference {
            self.no_reference(out);
        }
        self.flush(out);
    }

    /// The next byte of a character reference; whether it belongs to it.
    fn refer(&mut self, byte: u8, out: &mut Written) -> bool {
        debug_assert!(self.reference.len() <= REFERENCE_BYTES_MAX);
        match entity::read(&self.reference, byte) {
            Reading::More => {
                self.reference.push(byte);
                true
            }
            Reading::Char { it, takes_byte } => {
                self.reference.clear();
                self.place = Place::Text;
                self.character(it, out);
                takes_byte
            }
            Reading::Not => {
                self.no_reference(out);
                false
            }
        }
    }

    /// It was none, so that it says what is written.
    fn no_reference(&mut self, out: &mut Written) {
        self.place = Place::Text;
        for byte in std::mem::take(&mut self.reference) {
            self.ascii(folded(byte), out);
        }
    }

    /// Text without markup.
    fn run(&mut self, run: Source<'_>, out: &mut Written) {
        if run.bytes.is_ascii() {
            if !run.bytes.is_empty() {
                self.flush(out);
                self.words(run, out);
            }
            return;
        }
        if self.partial.is_empty() {
            return self.characters(run.bytes, out);
        }
        // A character that was cut: at most three bytes more.
        for (byte, at) in run.bytes.iter().zip(1..) {
            self.partial.push(*byte);
            if from_utf8(&self.partial).err().is_none_or(|error| error.error_len().is_some()) {
                let so_far = std::mem::take(&mut self.partial);
                self.characters(&so_far, out);
                return self.run(run.split_at(at).1, out);
            }
        }
    }

    /// Copies ASCII in small letters, and of spaces only one in a row.
    fn words(&mut self, run: Source<'_>, out: &mut Written) {
        let mut rest = run;
        while !rest.folded.is_empty() {
            let spaces = rest.folded.iter().position(|byte| *byte != b' ').unwrap_or(rest.folded.len());
            let passed_over = if self.ends_within_word { spaces.saturating_sub(1) } else { spaces };
            rest = rest.split_at(passed_over).1;
            // Up to the first of two spaces.
            let end = two_spaces(rest.folded).map_or(rest.folded.len(), |at| at + 1);
            let (copied, behind) = rest.split_at(end);
            if let Some(raw) = copied.raw
                && end >= COPIED_BYTES_MIN
            {
                out.copied.push(Copied { raw, text: out.bytes.len(), bytes: end });
            }
            out.bytes.extend_from_slice(copied.folded);
            self.ends_within_word = copied.folded.last().map_or(self.ends_within_word, |last| *last != b' ');
            rest = behind;
        }
    }

    /// Text of any characters.
    fn characters(&mut self, mut run: &[u8], out: &mut Written) {
        loop {
            let error = match from_utf8(run) {
                Ok(text) => return self.utf_8(text, out),
                Err(error) => error,
            };
            let (valid, rest) = run.split_at(error.valid_up_to());
            self.utf_8(from_utf8(valid).unwrap_or_default(), out);
            let Some(length) = error.error_len() else {
                self.partial.extend_from_slice(rest);
                return;
            };
            let (wrong, rest) = rest.split_at(length);
            self.windows_1252(wrong, out);
            run = rest;
        }
    }

    /// What began like a character in UTF-8 is none.
    fn flush(&mut self, out: &mut Written) {
        if !self.partial.is_empty() {
            let partial = std::mem::take(&mut self.partial);
            self.windows_1252(&partial, out);
        }
    }

    fn windows_1252(&mut self, bytes: &[u8], out: &mut Written) {
        for it in bytes.iter().filter_map(|byte| of_windows_1252(*byte)) {
            self.character(it, out);
        }
    }

    fn utf_8(&mut self, text: &str, out: &mut Written) {
        for it in text.chars() {
            if it.is_ascii() {
                self.ascii(folded(it as u8), out);
            } else {
                self.character(it, out);
            }
        }
    }

    fn character(&mut self, it: char, out: &mut Written) {
        let mut utf_8 = [0; 4];
        for small in normal(it) {
            let bytes = small.encode_utf8(&mut utf_8).as_bytes();
            if let [byte] = bytes {
                self.ascii(folded(*byte), out);
            } else {
                out.bytes.extend_from_slice(bytes);
                self.ends_within_word = true;
            }
        }
    }

    fn space(&mut self, out: &mut Written) {
        self.ascii(b' ', out);
    }

    /// Appends a small letter, or a space if there is none yet.
    fn ascii(&mut self, byte: u8, out: &mut Written) {
        if byte != b' ' || self.ends_within_word {
            out.bytes.push(byte);
        }
        self.ends_within_word = byte != b' ';
    }
}

/// What is shorter is not worth being known as a copy.
const COPIED_BYTES_MIN: usize = 16;

/// Where the first two spaces in a row are.
fn two_spaces(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (eights, rest) = bytes.as_chunks::<8>();
    // The highest bit of a byte says that it is a space; of the byte before the next eight, it is the lowest byte's.
    let mut before = 0;
    for (eight, at) in eights.iter().zip((0..).step_by(8)) {
        let other = u64::from_le_bytes(*eight) ^ 0x2020_2020_2020_2020;
        let spaces = !((other & LOW).wrapping_add(LOW) | other | LOW);
        let second = spaces & (spaces << 8 | before);
        if second != 0 {
            return (at + second.trailing_zeros() as usize / 8).checked_sub(1);
        }
        before = spaces >> 56;
    }
    let from = (bytes.len() - rest.len()).saturating_sub(1);
    bytes[from..].windows(2).position(|two| two == b"  ").map(|at| from + at)
}

/// What a character is in the normal form: nothing, a space, or letters.
pub(super) fn normal(it: char) -> impl Iterator<Item = char> {
    let it = match it {
        // Wide forms of ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(it) - 0xfee0).unwrap_or(it),
        _ => it,
    };
    let is_nothing = matches!(it, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}');
    let is_space = it.is_whitespace()
        || matches!(it, '\u{80}'..='\u{bf}' | '\u{2010}'..='\u{205e}' | '\u{3000}'..='\u{3003}');
    let it = match it {
        _ if is_space && !matches!(it, 'ª' | 'µ' | 'º') => ' ',
        it if it.is_ascii() => char::from(folded(it as u8)),
        it => it,
    };
    let count = if is_nothing { 0 } else { usize::MAX };
    it.to_lowercase().take(count)
}

/// Picks what stands in the title and in `meta` elements, up to the end of the head.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meta {
    Looking,
    /// The name of an element, as far as it has come.
    Name(Vec<u8>),
    /// In the tag of the title.
    TitleTag,
    /// In what counts.
    Taking,
    Done,
}

impl Meta {
    fn push(&mut self, bytes: &[u8], kept: &mut dyn FnMut(&[u8])) {
        for byte in bytes {
            match self {
                Self::Done => return,
                Self::Looking if *byte == b'<' => *self = Self::Name(Vec::new()),
                Self::Looking => {}
                Self::Name(name) => {
                    name.push(byte.to_ascii_lowercase());
                    *self = match &name[..] {
                        b"/head" | b"body" => Self::Done,
                        b"meta" => Self::Taking,
                        b"title" => Self::TitleTag,
                        b"<" => Self::Name(Vec::new()),
                        name if [&b"/head"[..], b"body", b"meta", b"title"]
                            .iter()
                            .any(|known| known.starts_with(name)) =>
                        {
                            continue;
                        }
                        _ => Self::Looking,
                    };
                }
                Self::TitleTag if *byte == b'>' => *self = Self::Taking,
                Self::TitleTag => {}
                Self::Taking if matches!(*byte, b'<' | b'>') => {
                    kept(b" ");
                    *self = Self::Looking;
                }
                Self::Taking => kept(std::slice::from_ref(byte)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::two_spaces;

    #[test]
    fn the_first_two_spaces_are_found() {
        for length in 0..40 {
            for at in 0..length {
                for second in at..length {
                    let mut bytes = vec![b'\xa0'; length];
                    (bytes[at], bytes[second]) = (b' ', b' ');
                    let expected = bytes.windows(2).position(|two| two == b"  ");
                    assert_eq!(two_spaces(&bytes), expected, "{bytes:?}");
                }
            }
        }
    }
}
