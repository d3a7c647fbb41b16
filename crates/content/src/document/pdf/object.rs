//! What dictionaries say: [`Objects`] reads tokens and remembers what matters. Rule: keys count wherever they stand, since readers find objects in many ways.

use super::filter::{FILTERS_MAX, FilterKind};
use super::lexer::{Lexer, Strings, TEXT_BYTES_MAX, Token};
use crate::field::label;
use std::collections::VecDeque;

/// How deep dictionaries and arrays are followed.
const DEPTH_MAX: usize = 64;
/// How much is kept until it is taken: names and scripts, and bytes of scripts.
const TOLD_MAX: usize = 256;
const SCRIPT_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX;

/// Keys that matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Key {
    #[default]
    Other,
    Length,
    Filter,
    Type,
    File,
    EmbeddedFile,
    Script,
    Encrypt,
    Parameters,
    EarlyChange,
    Predictor,
    Colors,
    Bits,
    Columns,
}

impl Key {
    fn of(name: &[u8]) -> Self {
        match name {
            b"Length" => Self::Length,
            b"Filter" => Self::Filter,
            b"Type" => Self::Type,
            b"F" | b"UF" | b"DOS" | b"Mac" | b"Unix" => Self::File,
            b"EF" => Self::EmbeddedFile,
            b"JS" => Self::Script,
            b"Encrypt" => Self::Encrypt,
            b"DecodeParms" | b"DP" => Self::Parameters,
            b"EarlyChange" => Self::EarlyChange,
            b"Predictor" => Self::Predictor,
            b"Colors" => Self::Colors,
            b"BitsPerComponent" => Self::Bits,
            b"Columns" => Self::Columns,
            _ => Self::Other,
        }
    }
}

/// Whether objects are announced by `obj`, or stand one behind the other, as in an object stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    File,
    ObjectStream,
}

/// How rows of a picture, or of anything, were changed before they were compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prediction {
    pub(super) predictor: i64,
    pub(super) colors: i64,
    pub(super) bits: i64,
    pub(super) columns: i64,
}

impl Default for Prediction {
    fn default() -> Self {
        Self { predictor: 1, colors: 1, bits: 8, columns: 1 }
    }
}

/// What the dictionary before a stream says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamHead {
    /// The length, where it stands in the dictionary itself.
    pub(super) length: Option<u64>,
    pub(super) filters: Vec<FilterKind>,
    pub(super) has_too_many: bool,
    pub(super) is_late: bool,
    pub(super) is_object_stream: bool,
    pub(super) is_table: bool,
    pub(super) prediction: Prediction,
}

/// Reads what stands between streams.
pub(super) struct Objects {
    form: Form,
    lexer: Lexer,
    is_within: bool,
    /// Whether the last token ended an outermost dictionary.
    has_dictionary: bool,
    stack: Vec<(Key, Bracket)>,
    deeper: u32,
    key: Key,
    is_value_due: bool,
    numbers: [i64; 2],
    /// The number of the object.
    pub(super) number: Option<i64>,
    pub(super) head: StreamHead,
    file_name: Option<String>,
    embedded: Option<i64>,
    pub(super) has_encryption: bool,
    /// What has been met, until it is taken.
    pub(super) told: VecDeque<Told>,
    script_bytes: usize,
    pub(super) is_cut: bool,
}

/// What objects tell that stands in no stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The stream of that number is a file of that name.
    Name(i64, String),
    /// A script that stands in a string.
    Script(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    Array,
    Dictionary,
}

impl Objects {
    pub(super) fn new(form: Form) -> Self {
        Self {
            form,
            lexer: Lexer::default(),
            is_within: form == Form::ObjectStream,
            has_dictionary: false,
            stack: Vec::new(),
            deeper: 0,
            key: Key::Other,
            is_value_due: false,
            numbers: [0; 2],
            number: None,
            head: StreamHead::default(),
            file_name: None,
            embedded: None,
            has_encryption: false,
            told: VecDeque::new(),
            script_bytes: 0,
            is_cut: false,
        }
    }

    /// Reads on: how much was used, and whether a stream begins behind that. In a file it stops when something is told.
    pub(super) fn push(&mut self, input: &[u8]) -> (usize, bool) {
        let mut used = 0;
        while used < input.len() {
            let strings = if self.is_within { Strings::Read } else { Strings::Junk };
            let (step, token) = self.lexer.push(&input[used..], strings);
            used += step;
            let Some(token) = token else { break };
            if self.token(token) {
                return (used, true);
            }
            if self.form == Form::File && !self.told.is_empty() {
                self.script_bytes = 0;
                break;
            }
        }
        (used, false)
    }

    /// Something else has been read: what comes next begins anew.
    pub(super) fn resume(&mut self) {
        self.lexer.reset();
        self.leave();
    }

    fn leave(&mut self) {
        self.is_within = self.form == Form::ObjectStream;
        self.stack.clear();
        (self.deeper, self.key, self.is_value_due) = (0, Key::Other, false);
        self.head = StreamHead::default();
        (self.file_name, self.embedded) = (None, None);
    }

    fn token(&mut self, token: Token) -> bool {
        let has_dictionary = std::mem::take(&mut self.has_dictionary);
        match token {
            Token::Keyword if has_dictionary && self.form == Form::File && self.lexer.text() == b"stream" => {
                return true;
            }
            Token::Keyword => self.keyword(),
            Token::Number(number) => {
                self.numbers = [self.numbers[1], number];
                self.number(number);
            }
            Token::Name if self.is_value() => self.name_value(),
            Token::Name => {
                self.key = Key::of(self.lexer.text());
                self.is_value_due = true;
                self.has_encryption |= self.key == Key::Encrypt;
                return false;
            }
            Token::String => self.string(),
            Token::DictionaryOpen => self.open(Bracket::Dictionary),
            Token::ArrayOpen => self.open(Bracket::Array),
            Token::DictionaryClose => self.close(Bracket::Dictionary),
            Token::ArrayClose => self.close(Bracket::Array),
        }
        self.is_value_due = false;
        false
    }

    /// Whether a name is a value here: behind a key, or in an array.
    fn is_value(&self) -> bool {
        self.is_value_due || matches!(self.stack.last(), Some((_, Bracket::Array)))
    }

    /// The key that a value belongs to: in an array, the array's.
    fn key(&self) -> Key {
        match self.stack.last() {
            Some((key, Bracket::Array)) => *key,
            _ => self.key,
        }
    }

    fn open(&mut self, bracket: Bracket) {
        // A dictionary within an array is still the array's.
        let key = self.key();
        if self.stack.len() < DEPTH_MAX {
            self.stack.push((key, bracket));
        } else {
            self.deeper += 1;
        }
        if bracket == Bracket::Dictionary {
            self.key = Key::Other;
        }
    }

    fn close(&mut self, bracket: Bracket) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        // What was never closed within is closed by this.
        while let Some((_, top)) = self.stack.pop() {
            if top == bracket {
                break;
            }
        }
        self.key = Key::Other;
        if self.stack.is_empty() && bracket == Bracket::Dictionary {
            self.has_dictionary = true;
            self.end_dictionary();
        }
    }

    /// An outermost dictionary has ended: the name of a file and its stream have both been met, or not.
    fn end_dictionary(&mut self) {
        if let (Some(name), Some(number)) = (self.file_name.take(), self.embedded.take())
            && self.told.len() < TOLD_MAX
        {
            self.told.push_back(Told::Name(number, name));
        }
    }

    fn keyword(&mut self) {
        match self.lexer.text() {
            b"obj" => {
                let number = self.numbers[0];
                self.leave();
                self.number = Some(number);
                self.is_within = true;
            }
            b"endobj" => self.leave(),
            b"trailer" => {
                self.leave();
                self.is_within = true;
            }
            b"R" => self.reference(),
            _ => {}
        }
    }

    /// The two numbers before were no numbers but named an object.
    fn reference(&mut self) {
        let is_embedded = self.stack.iter().any(|(key, _)| *key == Key::EmbeddedFile);
        match self.key() {
            Key::Length if self.stack.len() == 1 => self.head.length = None,
            Key::File if is_embedded => self.embedded = Some(self.numbers[0]),
            _ => {}
        }
    }

    fn number(&mut self, number: i64) {
        // The two numbers of a reference come one behind the other; only the first is behind the key.
        if !self.is_value_due {
            return;
        }
        let is_own = self.stack.len() == 1;
        let prediction = &mut self.head.prediction;
        match self.key {
            Key::Length if is_own => self.head.length = u64::try_from(number).ok(),
            Key::EarlyChange => self.head.is_late = number == 0,
            Key::Predictor => prediction.predictor = number,
            Key::Colors => prediction.colors = number,
            Key::Bits if !is_own => prediction.bits = number,
            Key::Columns => prediction.columns = number,
            _ => {}
        }
    }

    fn name_value(&mut self) {
        let text = self.lexer.text();
        match self.key() {
            Key::Filter if self.head.filters.len() < FILTERS_MAX => {
                self.head.filters.push(FilterKind::of(text));
            }
            Key::Filter => self.head.has_too_many = true,
            Key::Type => {
                self.head.is_object_stream |= text == b"ObjStm";
                self.head.is_table |= text == b"XRef";
            }
            _ => {}
        }
    }

    fn string(&mut self) {
        let text = self.lexer.text();
        match self.key() {
            Key::File => self.file_name = Some(label(&file_name(text))),
            Key::Script => {
                self.script_bytes += text.len();
                let has_room = self.script_bytes <= SCRIPT_BYTES_MAX && self.told.len() < TOLD_MAX;
                self.is_cut |= self.lexer.is_cut || !has_room;
                if has_room {
                    self.told.push_back(Told::Script(as_text(text)));
                }
            }
            _ => {}
        }
    }
}

/// A text string (section 7.9.2.2): UTF-16 or UTF-8 with a mark, else near enough to Latin 1.
fn as_text(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => {
            let units: Vec<u16> =
                rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        },
    }
}

/// The last part of a file's place.
fn file_name(bytes: &[u8]) -> String {
    let text = as_text(bytes);
    text.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries() {
        let mut objects = Objects::new(Form::File);
        let text = b"1 0 obj<</Type/ObjStm/Filter[/A85/Fl]/Length 12/X<</Length 3>>/N/Length>>stream\r\n";
        let (used, is_stream) = objects.push(text);
        assert!(is_stream && text[used..] == *b"\r\n");
        let head = StreamHead {
            length: Some(12),
            filters: vec![FilterKind::Ascii85, FilterKind::Flate],
            is_object_stream: true,
            ..StreamHead::default()
        };
        assert_eq!((objects.number, &objects.head), (Some(1), &head));
        objects.resume();
        assert!(
            objects.push(b"2 0 obj<</Length 7 0 R/#46ilter/LZW/DecodeParms<</EarlyChange 0>>>>stream\n").1
        );
        let head = StreamHead { filters: vec![FilterKind::Lzw], is_late: true, ..StreamHead::default() };
        assert_eq!(objects.head, head);
    }

    #[test]
    fn files_scripts_and_encryption() {
        let mut objects = Objects::new(Form::ObjectStream);
        objects.push(b"<</F(a/b.exe)/EF<</F 8 0 R>>>> <</S/JavaScript/JS(\xfe\xff\0a\0b)>> <</JS 9 0 R>> <</JS<6162>>> ");
        let script = Told::Script("ab".to_owned());
        assert_eq!(objects.told, [Told::Name(8, "b.exe".to_owned()), script.clone(), script]);
        let mut objects = Objects::new(Form::File);
        objects.push(b"( 3 0 obj (( endobj trailer <</Size 1/Encrypt 5 0 R>> startxref ");
        assert!(objects.has_encryption);
    }
}
