//! Files that scripts carry in strings of base64, and have the browser save: [`Finder`] and [`Run`]. Rule: what does not begin
//! like a file is no child.
//!
//! A page is full of words, and only long rows of characters of base64 are looked at: one place in 128 bytes tells whether there is
//! such a row. A string may be written in pieces that are joined, by an operator or as members of a list.

use crate::filetype::Sniffer;
use lockgate_model::FileType;
use lockgate_model::filetype::Kind;

/// One place in so many bytes is looked at …
const STRIDE: u64 = 128;
/// … and so many from there on must be base64.
const SAMPLE: u64 = 24;
/// How far before such a place a file may have begun, in other pieces.
const BACK: u64 = 8 * STRIDE;
/// Characters that a file begins with, and the bytes that they are.
const BEGIN_CHARACTERS: u64 = 6;
/// What files begin with that are worth a look. Images of discs begin with zeros.
const BEGINNINGS: [&[u8; 4]; 24] = [
    b"PK\x03\x04",
    b"Rar!",
    b"7z\xbc\xaf",
    b"MSCF",
    b"\x1f\x8b\x08\0",
    b"\x1f\x8b\x08\x08",
    b"BZh9",
    b"\xfd7zX",
    b"\x28\xb5\x2f\xfd",
    b"ITSF",
    b"MZ\x90\0",
    b"\x7fELF",
    b"L\0\0\0",
    b"\xd0\xcf\x11\xe0",
    b"%PDF",
    b"{\\rt",
    b"\0\0\0\0",
    b"<htm",
    b"<HTM",
    b"<!DO",
    b"<!do",
    b"<scr",
    b"<svg",
    b"\xe4\x52\x5c\x7b",
];
/// Bytes that tell what a file is; fewer are none.
const HEAD_BYTES: usize = 48;
/// What may stand between two pieces of a string.
const BETWEEN_BYTES_MAX: usize = 32;
/// A piece that is shorter may be something else: the next argument.
const PIECE_BYTES: usize = 16;

/// Finds runs.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// The end of what came before the input.
    tail: Vec<u8>,
    /// Where the input begins.
    base: u64,
    /// The number of the next place to be looked at.
    next: u64,
    /// No file begins before this, or it was read.
    floor: u64,
}

impl Finder {
    /// The next place of the input that is in a run, or 0 where that was before, and the run's bytes before it.
    pub(super) fn find(&mut self, input: &[u8]) -> Option<(usize, Vec<u8>)> {
        while place(self.next) + SAMPLE <= self.base + input.len() as u64 {
            let at = place(self.next);
            self.next += 1;
            if at < self.floor || !(at..at + SAMPLE).rev().all(|at| self.has_base64(input, at)) {
                continue;
            }
            // Each place is asked once whether a file begins there.
            let least = self.floor.max(at.saturating_sub(BACK));
            let start = (least..=at).find(|start| self.begins(input, *start));
            self.floor = at;
            if let Some(start) = start {
                let end = at.max(self.base);
                let before = (start..end).filter_map(|at| self.byte(input, at)).collect();
                return Some((usize::try_from(end - self.base).ok()?, before));
            }
        }
        None
    }

    /// Whether a file begins there, by its first bytes.
    fn begins(&self, input: &[u8], at: u64) -> bool {
        let is_start = at == 0 || !self.has_base64(input, at - 1);
        if !is_start {
            return false;
        }
        let mut bits = 0_u64;
        for at in at..at + BEGIN_CHARACTERS {
            let Some(value) = self.byte(input, at).and_then(sextet) else { return false };
            bits = bits << 6 | u64::from(value);
        }
        let [.., a, b, c, d] = (bits >> 4).to_be_bytes();
        // Behind two letters a program's header varies.
        BEGINNINGS.contains(&&[a, b, c, d]) || [a, b] == *b"MZ"
    }

    /// All before that place of the input has been read as part of a run.
    pub(super) fn pass(&mut self, place: usize) {
        self.floor = self.base + place as u64;
        self.next = self.next.max(self.floor.div_ceil(STRIDE));
    }

    /// The input is used.
    pub(super) fn advance(&mut self, input: &[u8]) {
        const KEPT: usize = (BACK + 2 * SAMPLE) as usize + 1;
        let kept = input.len().min(KEPT);
        let superfluous = (self.tail.len() + kept).saturating_sub(KEPT);
        self.tail.drain(..superfluous);
        self.tail.extend_from_slice(&input[input.len() - kept..]);
        self.base += input.len() as u64;
    }

    fn has_base64(&self, input: &[u8], at: u64) -> bool {
        self.byte(input, at).is_some_and(|byte| sextet(byte).is_some())
    }

    fn byte(&self, input: &[u8], at: u64) -> Option<u8> {
        let place = |distance: u64| usize::try_from(distance).ok();
        match at.checked_sub(self.base) {
            Some(ahead) => input.get(place(ahead)?).copied(),
            None => self.tail.get(self.tail.len().checked_sub(place(self.base - at)?)?).copied(),
        }
    }
}

/// The place of that number: not always at the same distance, or pieces of a certain length would all be missed.
fn place(number: u64) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    number * STRIDE + (number.wrapping_mul(GOLDEN) >> 40) % (STRIDE - SAMPLE)
}

/// A run on its way.
#[derive(Debug)]
pub(super) struct Run {
    bits: u32,
    characters: u32,
    state: State,
    place: Place,
}

/// What the run is.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Not known yet: what it begins with.
    Undecided(Vec<u8>),
    File,
    Foreign,
}

/// Where in the text.
#[derive(Debug)]
enum Place {
    String,
    /// Behind a backslash.
    Escape,
    /// Behind a quote: so many bytes, and whether an operator was among them.
    Between {
        bytes: usize,
        is_joined: bool,
    },
    /// In another string, which may be the next piece.
    Piece {
        held: Vec<u8>,
        is_joined: bool,
    },
}

/// What a byte came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    /// It belongs to the run.
    Byte,
    /// A file begins: what was made so far is its beginning.
    Begin,
    /// It is none of the run.
    Nothing,
}

impl Run {
    pub(super) fn new() -> Self {
        Self { bits: 0, characters: 0, state: State::Undecided(Vec::new()), place: Place::String }
    }

    /// Whether it is a file.
    pub(super) fn is_file(&self) -> bool {
        self.state == State::File
    }

    /// One byte; of a file what it makes is added.
    pub(super) fn push(&mut self, byte: u8, made: &mut Vec<u8>) -> Took {
        match std::mem::replace(&mut self.place, Place::String) {
            Place::String => return self.string(byte, made),
            Place::Escape => match byte {
                b'/' => return self.character(63, made),
                b'n' | b'r' | b't' | b'\r' | b'\n' => {}
                _ => return Took::Nothing,
            },
            Place::Between { bytes, is_joined } => match byte {
                b'"' | b'\'' | b'`' => self.place = Place::Piece { held: Vec::new(), is_joined },
                b':' | b'^' => return Took::Nothing,
                _ if bytes == BETWEEN_BYTES_MAX => return Took::Nothing,
                _ => {
                    let is_joined = is_joined || matches!(byte, b'+' | b'&');
                    self.place = Place::Between { bytes: bytes + 1, is_joined };
                }
            },
            Place::Piece { held, is_joined } => return self.piece(held, is_joined, byte, made),
        }
        Took::Byte
    }

    fn string(&mut self, byte: u8, made: &mut Vec<u8>) -> Took {
        if let Some(value) = sextet(byte) {
            return self.character(value, made);
        }
        if self.state == State::Foreign {
            return Took::Nothing;
        }
        match byte {
            b'=' => self.flush(made),
            b'\\' => self.place = Place::Escape,
            b'"' | b'\'' | b'`' => self.place = Place::Between { bytes: 0, is_joined: false },
            b'\r' | b'\n' | b'\t' | b' ' => {}
            _ => return Took::Nothing,
        }
        Took::Byte
    }

    /// The next piece, perhaps: it is one if it is long, or short and joined to the last.
    fn piece(&mut self, mut held: Vec<u8>, is_joined: bool, byte: u8, made: &mut Vec<u8>) -> Took {
        let is_character = sextet(byte).is_some() || byte == b'=';
        let is_end = matches!(byte, b'"' | b'\'' | b'`');
        if is_character {
            held.push(byte);
        }
        let is_one = held.len() == PIECE_BYTES || is_joined && is_end && !held.is_empty();
        if !is_character && !is_one {
            return Took::Nothing;
        }
        if !is_one {
            self.place = Place::Piece { held, is_joined };
            return Took::Byte;
        }
        let mut took = Took::Byte;
        for byte in held {
            if self.string(byte, made) == Took::Begin {
                took = Took::Begin;
            }
        }
        if is_end {
            self.place = Place::Between { bytes: 0, is_joined: false };
        }
        took
    }

    fn character(&mut self, value: u8, made: &mut Vec<u8>) -> Took {
        self.bits = self.bits << 6 | u32::from(value);
        self.characters += 1;
        if self.characters == 4 {
            let bytes = self.bits.to_be_bytes();
            self.characters = 0;
            return self.give(&bytes[1..], made);
        }
        Took::Byte
    }

    fn give(&mut self, bytes: &[u8], made: &mut Vec<u8>) -> Took {
        match &mut self.state {
            State::Foreign => {}
            State::File => made.extend_from_slice(bytes),
            State::Undecided(head) => {
                head.extend_from_slice(bytes);
                if head.len() < HEAD_BYTES {
                    return Took::Byte;
                }
                if !is_file(head) {
                    self.state = State::Foreign;
                    return Took::Byte;
                }
                made.append(head);
                self.state = State::File;
                return Took::Begin;
            }
        }
        Took::Byte
    }

    /// A last quantum gives the whole bytes that are in it.
    fn flush(&mut self, made: &mut Vec<u8>) {
        let bytes = self.characters as usize * 6 / 8;
        let bits = self.bits << (6 * (4 - self.characters.min(4)));
        self.characters = 0;
        if self.state == State::File {
            made.extend_from_slice(&bits.to_be_bytes()[1..=bytes]);
        }
    }

    /// The text has ended, or the run has.
    pub(super) fn finish(&mut self, made: &mut Vec<u8>) {
        if let Place::Piece { held, is_joined: true } = std::mem::replace(&mut self.place, Place::String) {
            for byte in held {
                self.string(byte, made);
            }
        }
        self.flush(made);
    }
}

/// The value of a character.
fn sextet(character: u8) -> Option<u8> {
    const VALUES: [u8; 256] = {
        let mut values = [u8::MAX; 256];
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut at = 0;
        while at < alphabet.len() {
            values[alphabet[at] as usize] = at as u8;
            at += 1;
        }
        values
    };
    Some(VALUES[usize::from(character)]).filter(|value| *value != u8::MAX)
}

/// Whether a file begins so: one that holds others, code or a page; or nothing but zeros, as images of discs do.
fn is_file(head: &[u8]) -> bool {
    let mut sniffer = Sniffer::new();
    let file_type = sniffer.push(head).unwrap_or_else(|| sniffer.end());
    let is_known = matches!(file_type.kind(), Kind::Container | Kind::Program | Kind::Document);
    is_known || file_type == FileType::Html || head.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use crate::decoder::Decoder;
    use crate::document::html::{decoder, strings};
    use crate::samples::{ZipFile, ZipWriter, children, complains, noise, prose};
    use crate::trace::assert_cut_invariant;

    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    fn base64(bytes: &[u8]) -> String {
        let mut text = String::new();
        for group in bytes.chunks(3) {
            let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(*group.get(at).unwrap_or(&0)));
            let digits = (0..4).map(|at| char::from(ALPHABET[(bits >> (18 - 6 * at)) as usize & 63]));
            text.extend(digits.take(group.len() + 1));
            text.extend(std::iter::repeat_n('=', 3 - group.len()));
        }
        text
    }

    fn files(page: &str) -> Vec<Vec<u8>> {
        let page_decoder = || Box::new(decoder()) as Box<dyn Decoder>;
        let text_decoder = || Box::new(strings::decoder()) as Box<dyn Decoder>;
        let [in_page, in_text] =
            [&page_decoder as &dyn Fn() -> Box<dyn Decoder>, &text_decoder].map(|open| {
                let said = assert_cut_invariant(open, page.as_bytes());
                assert!(!complains(&said), "{said:?}");
                children(&said).into_iter().map(|child| child.1).collect::<Vec<_>>()
            });
        let other = |file: &&Vec<u8>| **file != b"x";
        assert!(in_page.iter().filter(other).eq(&in_text), "in text that is no page: {page}");
        in_page
    }

    #[test]
    fn files_in_strings() {
        let zip = ZipWriter::of(&[ZipFile::stored("a.js", &noise(1, 500))]);
        let disc = [vec![0; 700], noise(2, 100)].concat();
        let program = [b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0", &noise(3, 400)[..]].concat();
        for file in [&zip, &disc, &program] {
            let text = base64(file);
            let prose = String::from_utf8(prose(7, 333)).unwrap();
            for page in [
                format!("<script>var f = \"{text}\"; save(atob(f), \"invoice.zip\")</script>"),
                format!("<p>{prose}</p><script>go('{text}')"),
                format!(
                    "{prose}`{}`",
                    text.as_bytes()
                        .chunks(76)
                        .map(|l| String::from_utf8_lossy(l) + "\r\n")
                        .collect::<String>()
                ),
                format!("x='{}'", text.replace('/', "\\/")),
                text.clone(),
            ] {
                assert_eq!(files(&page), std::slice::from_ref(file), "{page}");
            }
            for (size, between) in [
                (60, "\" +\n\""),
                (40, "\" +\n  \""),
                (40, "\";\r\nf += \""),
                (60, "\" & _\r\n  \""),
                (100, "', '"),
            ] {
                let pieces =
                    text.as_bytes().chunks(size).map(|piece| String::from_utf8_lossy(piece).into_owned());
                let page = format!("f = \"{}\"; go(f)", pieces.collect::<Vec<_>>().join(between));
                let found = files(&page);
                let is_list = between == "', '";
                assert!(found.len() == 1 && file.starts_with(&found[0]), "{page}");
                assert!(is_list || found[0] == *file, "{page}");
            }
        }
    }

    #[test]
    fn words_are_no_files() {
        let word = base64(&noise(4, 900));
        for page in [
            format!("<script integrity=\"sha384-{word}\">"),
            "a".repeat(5000),
            format!("{} data:text/plain,x", "-".repeat(300)),
            String::from_utf8(prose(5, 3000)).unwrap(),
        ] {
            assert!(files(&page).iter().all(|file| file == b"x"), "{page}");
        }
        // A file that is too short to tell, and one behind another run.
        assert_eq!(files(&format!("'{}'", base64(b"PK\x03\x04"))), Vec::<Vec<u8>>::new());
        let program = [&b"\x7fELF"[..], &noise(6, 300)].concat();
        assert_eq!(files(&format!("'{word}' a very long way from there '{}'", base64(&program))), [program]);
    }
}
