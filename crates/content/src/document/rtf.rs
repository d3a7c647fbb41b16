//! RTF: what it carries in hexadecimal or in raw bytes: objects, pictures, fonts. Rule: junk between the digits hides nothing.
//!
//! Word reads far more than the specification (version 1.9.1) allows: anything between the digits of an object, groups and
//! control words among them, versions and classes that are none. What a reader might take for data is taken for data.

use super::ole1::Object;
use super::outbox::Outbox;
use super::parser::{Parser, ParserDecoder};
use crate::decoder::{Decoder, Entry};

/// Letters of a control word that are kept: longer ones are no words that matter.
const WORD_BYTES_MAX: usize = 32;
/// Digits are decoded in pieces of so many bytes.
const PIECE_BYTES: usize = 512;

/// A document on its way.
struct Rtf {
    depth: u32,
    place: Place,
    word: Vec<u8>,
    /// The number behind a control word.
    number: Option<i64>,
    is_negative: bool,
    /// `\*` has come: the next word's group may be skipped by who does not know it.
    is_optional: bool,
    data: Option<Data>,
    /// Numbers the children.
    objects: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Text,
    Backslash,
    Word,
    Number,
    /// Digits of `\'hh` that are still to come.
    Quoted(u8),
    /// Raw bytes that are still to come.
    Raw(u64),
}

/// Data in a group.
struct Data {
    /// The group that it is in.
    depth: u32,
    /// A group within, which is not part of it.
    skipped: Option<u32>,
    /// The first digit of a byte.
    high: Option<u8>,
    bytes: Vec<u8>,
    kind: DataKind,
    object: Option<Object>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataKind {
    Object,
    /// Pictures and the like: groups within tell of their properties.
    Plain,
}

/// A decoder of RTF.
pub fn decoder() -> impl Decoder {
    ParserDecoder::of(Rtf {
        depth: 0,
        place: Place::Text,
        word: Vec::new(),
        number: None,
        is_negative: false,
        is_optional: false,
        data: None,
        objects: 0,
    })
}

impl Data {
    fn digit(&mut self, digit: u8, out: &mut Outbox) {
        match self.high.take() {
            None => self.high = Some(digit),
            Some(high) => self.byte(high << 4 | digit, out),
        }
    }

    fn byte(&mut self, byte: u8, out: &mut Outbox) {
        self.bytes.push(byte);
        if self.bytes.len() >= PIECE_BYTES {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut Outbox) {
        match &mut self.object {
            Some(object) => {
                let mut rest = &self.bytes[..];
                while !rest.is_empty() {
                    let used = object.push(rest, out);
                    rest = &rest[used..];
                }
            }
            None => out.bytes(&self.bytes),
        }
        self.bytes.clear();
    }

    fn finish(&mut self, out: &mut Outbox) {
        self.flush(out);
        if let Some(object) = &mut self.object {
            object.finish(out);
        }
        out.close();
    }
}

impl Rtf {
    /// A byte of text, or the first of something else; the number of bytes used.
    fn text(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let is_special = |b: &u8| matches!(b, b'{' | b'}' | b'\\');
        let length = input.iter().position(is_special).unwrap_or(input.len());
        if length > 0 {
            self.is_optional = false;
            let Some(data) = self.data.as_mut().filter(|data| data.skipped.is_none()) else { return length };
            let digits = input[..length].iter().filter_map(|b| char::from(*b).to_digit(16));
            digits.for_each(|digit| data.digit(digit as u8, out));
            return length;
        }
        match input[0] {
            b'{' => self.open_group(),
            b'}' => self.close_group(out),
            _ => self.place = Place::Backslash,
        }
        1
    }

    fn open_group(&mut self) {
        self.depth = self.depth.saturating_add(1);
        self.is_optional = false;
        let depth = self.depth;
        if let Some(data) = self.data.as_mut().filter(|data| data.kind == DataKind::Plain) {
            data.skipped.get_or_insert(depth);
        }
    }

    fn close_group(&mut self, out: &mut Outbox) {
        let depth = self.depth;
        if let Some(data) = &mut self.data {
            if data.skipped == Some(depth) {
                data.skipped = None;
            }
            if data.depth >= depth {
                self.end_data(out);
            }
        }
        self.depth = self.depth.saturating_sub(1);
        self.is_optional = false;
    }

    fn end_data(&mut self, out: &mut Outbox) {
        if let Some(mut data) = self.data.take() {
            data.finish(out);
        }
    }

    /// Behind a backslash; how much of the byte was used.
    fn backslash(&mut self, byte: u8) -> usize {
        self.place = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {
                self.word.clear();
                (self.number, self.is_negative) = (None, false);
                self.place = Place::Word;
                return 0;
            }
            b'\'' => Place::Quoted(2),
            b'*' => {
                self.is_optional = true;
                Place::Text
            }
            _ => Place::Text,
        };
        1
    }

    fn word(&mut self, byte: u8, out: &mut Outbox) -> usize {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {
                if self.word.len() < WORD_BYTES_MAX {
                    self.word.push(byte);
                }
                1
            }
            b'-' | b'0'..=b'9' => {
                self.is_negative = byte == b'-';
                self.place = Place::Number;
                usize::from(self.is_negative)
            }
            _ => self.end_word(byte, out),
        }
    }

    fn number(&mut self, byte: u8, out: &mut Outbox) -> usize {
        if !byte.is_ascii_digit() {
            return self.end_word(byte, out);
        }
        let number = self.number.unwrap_or(0).saturating_mul(10).saturating_add(i64::from(byte - b'0'));
        self.number = Some(number);
        1
    }

    /// A word is whole; a space behind it belongs to it.
    fn end_word(&mut self, byte: u8, out: &mut Outbox) -> usize {
        self.place = Place::Text;
        let number = self.number.map(|n| if self.is_negative { -n } else { n });
        let is_optional = std::mem::take(&mut self.is_optional);
        match &self.word[..] {
            b"bin" => {
                let length = number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
                if length > 0 {
                    self.place = Place::Raw(length);
                }
            }
            b"objdata" => self.begin(DataKind::Object, out),
            b"pict" | b"datastore" | b"themedata" | b"colorschememapping" | b"fontemb" | b"fontfile" => {
                self.begin(DataKind::Plain, out);
            }
            _ if is_optional => {
                let depth = self.depth;
                if let Some(data) = self.data.as_mut().filter(|data| data.depth < depth) {
                    data.skipped.get_or_insert(depth);
                }
            }
            _ => {}
        }
        usize::from(byte == b' ')
    }

    /// Data begins in this group.
    fn begin(&mut self, kind: DataKind, out: &mut Outbox) {
        let depth = self.depth;
        match &mut self.data {
            // A picture within an object's data is none of it.
            Some(data) if kind == DataKind::Plain => {
                if data.depth < depth {
                    data.skipped.get_or_insert(depth);
                }
                return;
            }
            Some(data) => {
                if data.kind == DataKind::Object {
                    out.anomaly("an RTF object within another one's data");
                }
                self.end_data(out);
            }
            None => {}
        }
        self.objects += 1;
        let label = format!("object.{}", self.objects);
        let object = match kind {
            DataKind::Object => Some(Object::new(label)),
            DataKind::Plain => {
                out.open(Entry { label, ..Entry::default() });
                None
            }
        };
        self.data = Some(Data { depth, skipped: None, high: None, bytes: Vec::new(), kind, object });
    }

    fn raw(&mut self, left: u64, input: &[u8], out: &mut Outbox) -> usize {
        let used = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        if let Some(data) = self.data.as_mut().filter(|data| data.skipped.is_none()) {
            input[..used].iter().for_each(|byte| data.byte(*byte, out));
        }
        let left = left - used as u64;
        self.place = if left > 0 { Place::Raw(left) } else { Place::Text };
        used
    }
}

impl Parser for Rtf {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let mut used = 0;
        while let Some(byte) = input.get(used).copied() {
            used += match self.place {
                Place::Text => self.text(&input[used..], out),
                Place::Backslash => self.backslash(byte),
                Place::Word => self.word(byte, out),
                Place::Number => self.number(byte, out),
                Place::Quoted(left) => {
                    self.place = if left > 1 { Place::Quoted(left - 1) } else { Place::Text };
                    1
                }
                Place::Raw(left) => self.raw(left, &input[used..], out),
            };
        }
        used
    }

    fn finish(&mut self, out: &mut Outbox) {
        self.end_data(out);
    }

    fn nanos_per_kib(&self) -> u32 {
        if self.data.is_some() { 4_000 } else { 1_500 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::ole1::tests::object;
    use crate::document::package::tests::package;
    use crate::samples::{children, complains, prose};
    use crate::trace::{Said, assert_cut_invariant, trace};

    fn open() -> Box<dyn Decoder> {
        Box::new(decoder())
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn objects_come_out() {
        let bytes = object("Package", &package("a.exe", b"program"));
        let digits = hex(&bytes);
        let (left, right) = digits.split_at(31);
        let raw =
            [format!("{{\\rtf1{{\\*\\objdata \\bin{} ", bytes.len()).into_bytes(), bytes, b"}}".to_vec()];
        let cases = [
            format!("{{\\rtf1{{\\object\\objemb{{\\*\\objclass Package}}{{\\*\\objdata {digits}}}}}text}}")
                .into_bytes(),
            format!("{{\\rt{{\\objdata {left}\r\n {{\\*\\junk abcdef {{01}}}}\\x12 g{right}").into_bytes(),
            format!("{{\\rtf1{{\\*\\objdata {left}{{}}\\'ab\\*\\a \\aaaa-77{right}}}}}")
                .to_uppercase()
                .replace("OBJDATA", "objdata")
                .into_bytes(),
            raw.concat(),
        ];
        for case in cases {
            let said = assert_cut_invariant(&open, &case);
            let shown = case.escape_ascii().to_string();
            assert_eq!(children(&said), [("object.1".to_owned(), b"program".to_vec())], "{shown}");
            assert!(!complains(&said));
        }
    }

    #[test]
    fn pictures_and_what_else_is_in_digits() {
        let picture = prose(1, 3000);
        let text = format!(
            "{{\\rtf1{{\\pict{{\\*\\picprop{{\\sn 1234}}}}\\pngblip\\picw5 {{\\*\\blipuid abcd}}\r\n{}}}{{\\*\\datastore {}}}}}",
            hex(&picture),
            hex(b"store")
        );
        let said = assert_cut_invariant(&open, text.as_bytes());
        let expected = [("object.1".to_owned(), picture), ("object.2".to_owned(), b"store".to_vec())];
        assert_eq!(children(&said), expected);
    }

    #[test]
    fn an_object_within_an_object() {
        let digits = hex(&object("A", b"inner"));
        let text = format!("{{\\rtf1{{\\*\\objdata 0105{{\\object{{\\*\\objdata {digits}}}}}}}}}");
        let said = assert_cut_invariant(&open, text.as_bytes());
        assert!(said.iter().any(|s| matches!(s, Said::Anomaly(_))));
        assert_eq!(children(&said).last().unwrap().1, b"inner");
    }

    #[test]
    fn nothing_bad_panics() {
        let mut text =
            format!("{{\\rtf1{{\\object{{\\*\\objdata {}}}}}}}}}}}", hex(&object("Package", b"\x02\0a")))
                .into_bytes();
        for bit in 0..text.len() * 8 {
            text[bit / 8] ^= 1 << (bit % 8);
            trace(&mut *open(), [&text[..]]);
            text[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(
            complains(&trace(&mut *open(), [&text[..60]]))
                || !children(&trace(&mut *open(), [&text[..60]])).is_empty()
        );
        assert_eq!(trace(&mut *open(), [&b"{\\rtf1 plain \\bin-5 text}"[..]]), [Said::End]);
    }
}
