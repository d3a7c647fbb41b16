//! A page's bytes → its readings: [`Normaliser`]. Rule: a stream gives the same readings however it is cut, in constant memory.
//!
//! The *raw* reading is the page as it is written: ASCII letters and those of ISO 8859-1 are made small, most punctuation
//! becomes a space, and so do `<` and `>`. The *text* is what a reader sees: tags are spaces, character references are
//! characters, the charset is UTF-8, letters of every script are made small, what has no width is gone, and white space is
//! one space. Both are what e2guardian makes of a page, but for characters outside ASCII, which it takes as bytes.

use super::Readings;
use super::block::{append_folded, folded};
use super::charset::{Charset, PRESCAN_BYTES, decode};
use super::search::Copies;
use super::text::{Source, Text, Written};

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

impl Output {
    /// Begins with what there is of others, and makes room for so many bytes in each.
    pub fn begin(&mut self, there: &Self, bytes: usize) {
        self.raw.reserve(there.raw.len() + bytes);
        self.raw.extend_from_slice(&there.raw);
        self.text.bytes.reserve(there.text.bytes.len() + bytes);
        self.text.bytes.extend_from_slice(&there.text.bytes);
        self.text.copies.reserve(bytes);
    }

    /// What there is, without room; the room is left empty.
    pub fn end(&mut self) -> Self {
        let Written { bytes, copies } = &mut self.text;
        let text = Written { bytes: bytes.clone(), copies: Copies::default() };
        let there = Self { raw: self.raw.clone(), text };
        self.raw.clear();
        bytes.clear();
        copies.clear();
        there
    }
}

impl Normaliser {
    /// A page that begins. `declared` is the charset that its server says it is in.
    pub fn new(readings: Readings, declared: Option<&[u8]>) -> Self {
        Self {
            readings,
            declared: declared.map(<[u8]>::to_vec),
            charset: Charset::Plain,
            head: Some(Vec::new()),
            text: Text::new(),
            meta: Meta::Looking,
        }
    }

    /// The page's next bytes.
    pub fn push(&mut self, mut chunk: &[u8], out: &mut Output) {
        if let Some(head) = &mut self.head {
            let taken = chunk.len().min(PRESCAN_BYTES - head.len());
            // Most pages come with enough of it at once, which is not copied first.
            if taken < PRESCAN_BYTES {
                head.extend_from_slice(&chunk[..taken]);
                chunk = &chunk[taken..];
                if head.len() < PRESCAN_BYTES {
                    return;
                }
            }
            self.begin(chunk, out);
        }
        self.read(chunk, out);
    }

    /// The page has ended.
    pub fn finish(&mut self, out: &mut Output) {
        self.begin(&[], out);
        let (text, meta, readings) = (&mut self.text, &mut self.meta, self.readings);
        if let Charset::Other(decoder) = &mut self.charset {
            decode(decoder, &[], true, &mut |piece| text.decoded(readings, meta, piece, &mut out.text));
        }
        self.text.finish(&mut out.text);
        // A word at the end is a word; and there is room for the last window.
        out.raw.extend_from_slice(b"    ");
        out.text.bytes.extend_from_slice(b"   ");
    }

    /// The charset is decided by the first bytes: those that were kept, which are then read, or else those that come now.
    fn begin(&mut self, coming: &[u8], out: &mut Output) {
        let Some(head) = self.head.take() else { return };
        let first = if head.is_empty() { coming } else { &head };
        self.charset = Charset::of_page(first, self.declared.as_deref());
        // A word at the beginning is a word.
        out.raw.push(b' ');
        out.text.bytes.push(b' ');
        self.read(&head, out);
    }

    fn read(&mut self, chunk: &[u8], out: &mut Output) {
        let start = out.raw.len();
        append_folded(&mut out.raw, chunk, self.text.speed);
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
pub(super) enum Meta {
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
    pub fn push(&mut self, bytes: &[u8], kept: &mut dyn FnMut(&[u8])) {
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
