//! Text with markup → what a reader sees: [`Text`]. Rule: what a byte becomes depends on those before it only, so that text may
//! be cut anywhere.
//!
//! Most of a page is ASCII: letters, spaces, tags. Of that, 64 bytes are looked at together: a tag and the spaces around it are a
//! run of what becomes one space. Where something else stands, a character reference or other letters, it is read by itself.

use super::Readings;
#[cfg(target_arch = "x86_64")]
use super::block::x86_64::Vectors;
use super::block::{BLOCK, Block, Instructions, Portable, Speed, append_folded, folded, low};
use super::charset::of_windows_1252;
use super::entity::{self, REFERENCE_BYTES_MAX, Reading};
use super::normal::{Meta, normal};
use super::search::Copies;
use std::str::from_utf8;

/// The text that was written.
#[derive(Default)]
pub(super) struct Written {
    pub bytes: Vec<u8>,
    /// What of it stands in the raw reading as well.
    pub copies: Copies,
}

/// What text is made of, as it is written and in small letters.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub bytes: &'a [u8],
    pub folded: &'a [u8],
    /// Where it stands in the raw reading, if it does.
    pub raw: Option<usize>,
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
pub(super) struct Text {
    place: Place,
    reference: Vec<u8>,
    /// The beginning of a character in UTF-8.
    partial: Vec<u8>,
    /// Whether the last that was written is no space.
    ends_within_word: bool,
    /// Room for what is made small.
    folded: Vec<u8>,
    pub speed: Speed,
}

impl Text {
    pub fn new() -> Self {
        Self {
            place: Place::Text,
            reference: Vec::new(),
            partial: Vec::new(),
            ends_within_word: false,
            folded: Vec::new(),
            speed: Speed::detect(),
        }
    }

    /// Reads what stands nowhere in the raw reading.
    pub fn decoded(&mut self, readings: Readings, meta: &mut Meta, bytes: &[u8], out: &mut Written) {
        let mut read = |bytes: &[u8]| {
            let mut folded = std::mem::take(&mut self.folded);
            folded.clear();
            append_folded(&mut folded, bytes, self.speed);
            self.push(Source { bytes, folded: &folded, raw: None }, out);
            self.folded = folded;
        };
        match readings {
            Readings::Meta => meta.push(bytes, &mut read),
            _ => read(bytes),
        }
    }

    /// Reads what comes next.
    pub fn push(&mut self, mut source: Source<'_>, out: &mut Written) {
        while let Some(first) = source.bytes.first() {
            let read = match self.place {
                Place::Reference => usize::from(self.refer(*first, out)),
                Place::Text if !self.partial.is_empty() => usize::from(self.complete(*first, out)),
                Place::Text | Place::Tag => match self.skim(source, out) {
                    0 => self.read_other(source.bytes, out),
                    read => read,
                },
            };
            source = source.split_at(read).1;
        }
    }

    /// Reads text and tags up to what is a character reference or no ASCII; how many bytes.
    fn skim(&mut self, source: Source<'_>, out: &mut Written) -> usize {
        match self.speed {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions.
            Speed::Vectors => unsafe { self.skim_by_vectors(source, out) },
            _ => self.skim_by(Portable, source, out),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
    fn skim_by_vectors(&mut self, source: Source<'_>, out: &mut Written) -> usize {
        // SAFETY: these are the instructions that this is compiled for.
        self.skim_by(unsafe { Vectors::new() }, source, out)
    }

    #[inline(always)]
    fn skim_by(&mut self, with: impl Instructions, source: Source<'_>, out: &mut Written) -> usize {
        let [copy, folded_copy] = &mut [[0; BLOCK]; 2];
        let mut is_in_tag = self.place == Place::Tag;
        let mut at = 0;
        while at < source.bytes.len() {
            let rest = source.bytes.len() - at;
            let raw = source.raw.map(|raw| raw + at);
            let room = raw.map_or(BLOCK, |raw| out.copies.room(raw)).min(rest);
            let bytes = block(&source.bytes[at..], copy);
            let folded = block(&source.folded[at..], folded_copy);
            let there = low(room);
            let tags = tags(with.equal(bytes, b'<') | u64::from(is_in_tag), !with.equal(bytes, b'>') & there);
            let other = (with.equal(bytes, b'&') | with.high(bytes)) & there & !tags;
            let spaces = with.equal(folded, b' ') | tags;
            // A branch, so that the next block is read before this one has said where it is.
            if other != 0 {
                let read = other.trailing_zeros() as usize;
                self.keep(with, folded, spaces, read, raw, out);
                at += read;
                // Not within a tag, and what seemed to be one behind is not looked at yet.
                is_in_tag = false;
                break;
            }
            self.keep(with, folded, spaces, room, raw, out);
            at += room;
            is_in_tag = tags >> (room - 1) & 1 == 1;
        }
        self.place = if is_in_tag { Place::Tag } else { Place::Text };
        at
    }

    /// Appends so many bytes of a block; of a row of spaces, which a tag is as well, the first is kept.
    #[inline(always)]
    fn keep(
        &mut self,
        with: impl Instructions,
        folded: &Block,
        spaces: u64,
        read: usize,
        raw: Option<usize>,
        out: &mut Written,
    ) {
        let before = spaces << 1 | u64::from(!self.ends_within_word);
        let kept = !(spaces & before) & low(read);
        if let Some(raw) = raw {
            out.copies.add(raw, read, kept, out.bytes.len());
        }
        with.append(folded, kept, &mut out.bytes);
        if read > 0 {
            self.ends_within_word = spaces >> (read - 1) & 1 == 0;
        }
    }

    /// Reads what begins with a character reference or a character that is no ASCII; how many bytes.
    fn read_other(&mut self, bytes: &[u8], out: &mut Written) -> usize {
        let bytes = bytes.get(..BLOCK).unwrap_or(bytes);
        match memchr::memchr2(b'<', b'&', bytes) {
            Some(0) => {
                self.place = Place::Reference;
                self.reference.push(b'&');
                1
            }
            end => {
                let end = end.unwrap_or(bytes.len());
                self.characters(&bytes[..end], out);
                end
            }
        }
    }

    /// The next byte behind the beginning of a character in UTF-8; whether it was read.
    fn complete(&mut self, byte: u8, out: &mut Written) -> bool {
        if byte.is_ascii() {
            self.flush(out);
            return false;
        }
        self.partial.push(byte);
        if from_utf8(&self.partial).err().is_none_or(|error| error.error_len().is_some()) {
            let so_far = std::mem::take(&mut self.partial);
            self.characters(&so_far, out);
        }
        true
    }

    /// The text has ended.
    pub fn finish(&mut self, out: &mut Written) {
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

    /// Appends a small letter, or a space if there is none yet.
    fn ascii(&mut self, byte: u8, out: &mut Written) {
        if byte != b' ' || self.ends_within_word {
            out.bytes.push(byte);
        }
        self.ends_within_word = byte != b' ';
    }
}

/// Which bytes are within tags, each from where one begins up to before its `>`: a carry runs from each beginning through
/// `others`, which end no tag (Cameron's "match star").
#[inline(always)]
fn tags(begins: u64, others: u64) -> u64 {
    ((begins & others).wrapping_add(others) ^ others | begins) & others
}

/// The first bytes, or what there is in a copy that has room for them.
#[inline(always)]
fn block<'a>(bytes: &'a [u8], copy: &'a mut Block) -> &'a Block {
    bytes.first_chunk().unwrap_or_else(|| {
        copy[..bytes.len()].copy_from_slice(bytes);
        copy
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text, made by these instructions.
    fn text_of(page: &[u8], speed: Speed) -> Vec<u8> {
        let (mut text, mut out) = (Text::new(), Written::default());
        text.speed = speed;
        let mut folded = Vec::new();
        append_folded(&mut folded, page, speed);
        text.push(Source { bytes: page, folded: &folded, raw: Some(7) }, &mut out);
        text.finish(&mut out);
        for (raw, at) in out.copies.pairs() {
            assert_eq!(folded[raw - 7], out.bytes[at]);
        }
        out.bytes
    }

    #[test]
    fn tags_and_spaces_are_one_space() {
        for (page, expected) in [
            (&b"One  <b>two</b>, \n three"[..], &b"one two three"[..]),
            (b"<p>a<i>b</i>c > d <e", b"a b c d "),
            (b"a&amp;b &lt;c&gt; &nothing; d", b"a b c nothing d"),
            ("Ä<b>é</b>ß < x > y".as_bytes(), "ä é ß y".as_bytes()),
        ] {
            assert_eq!(
                text_of(page, Speed::Portable).escape_ascii().to_string(),
                expected.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn all_instructions_make_the_same_text() {
        let pieces: [&[u8]; 12] = [
            b"<",
            b">",
            b" ",
            b"  ",
            b"\n",
            b"word",
            b"Others",
            b"&",
            b"&amp;",
            "\u{e9}".as_bytes(),
            b"\xe9",
            b".",
        ];
        let mut word = 1_u64;
        for length in 0..300 {
            let mut page = Vec::new();
            while page.len() < length {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Mostly words.
                page.extend_from_slice(pieces[(word >> 40) as usize % 12]);
                page.extend_from_slice(&b"abcdefghijklmnop"[..(word >> 60) as usize]);
            }
            let made = text_of(&page, Speed::detect());
            assert_eq!(made, text_of(&page, Speed::Portable), "{}", page.escape_ascii());
        }
    }
}
