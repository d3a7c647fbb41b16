//! The tokens of PDF (ISO 32000-1, section 7.2). Rule: nothing opens that cannot be closed again, however broken the file.

/// The longest string or word that is kept.
pub(super) const TEXT_BYTES_MAX: usize = 64 << 10;
/// … and the longest name (annex C.2 has 127).
const NAME_BYTES_MAX: usize = 255;
/// Bytes of a string that are looked at for the beginning or end of an object.
const WINDOW_BYTES: usize = 6;

/// What has been read. What it says is in [`Lexer::text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name,
    String,
    Number(i64),
    Keyword,
    DictionaryOpen,
    DictionaryClose,
    ArrayOpen,
    ArrayClose,
}

/// Whether strings are read: between objects a parenthesis is junk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strings {
    Read,
    Junk,
}

/// Cuts bytes into tokens.
#[derive(Default)]
pub(super) struct Lexer {
    place: Place,
    text: Vec<u8>,
    /// The string was longer than what is kept of it.
    pub(super) is_cut: bool,
    window: [u8; WINDOW_BYTES],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Between,
    Comment,
    Word,
    Name,
    /// A name, behind `#` and perhaps a digit.
    NameEscape(Option<u8>),
    Less,
    Greater,
    Hex(Option<u8>),
    /// A string, within so many parentheses.
    String(u32),
    Escape(u32),
    /// Behind `\` and so many octal digits.
    Octal(u32, u8, u16),
    /// Behind `\` and CR: an LF belongs to it.
    EscapedReturn(u32),
}

impl Lexer {
    /// What the last token says: a name without its slash, a string undone, a keyword.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Forgets what it was within.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// The next token, and how many bytes were used.
    pub(super) fn push(&mut self, input: &[u8], strings: Strings) -> (usize, Option<Token>) {
        let mut used = 0;
        while let Some(byte) = input.get(used).copied() {
            let (step, token) = self.byte(byte, strings);
            used += step;
            if token.is_some() {
                return (used, token);
            }
        }
        (used, None)
    }

    /// One byte: whether it was used, and the token that ends with it.
    fn byte(&mut self, byte: u8, strings: Strings) -> (usize, Option<Token>) {
        match self.place {
            Place::Between => return (1, self.between(byte, strings)),
            Place::Comment => {
                if matches!(byte, b'\r' | b'\n') {
                    self.place = Place::Between;
                }
            }
            Place::Word if is_regular(byte) => self.keep(byte, NAME_BYTES_MAX),
            Place::Word => return (0, Some(self.end_word())),
            Place::Name if byte == b'#' => self.place = Place::NameEscape(None),
            Place::Name if is_regular(byte) => self.keep(byte, NAME_BYTES_MAX),
            Place::Name => {
                self.place = Place::Between;
                return (0, Some(Token::Name));
            }
            Place::NameEscape(first) => return (self.name_escape(first, byte), None),
            Place::Less if byte == b'<' => {
                self.place = Place::Between;
                return (1, Some(Token::DictionaryOpen));
            }
            Place::Less => {
                self.place = Place::Hex(None);
                return (0, None);
            }
            Place::Greater => {
                self.place = Place::Between;
                let is_close = byte == b'>';
                return (usize::from(is_close), is_close.then_some(Token::DictionaryClose));
            }
            Place::Hex(high) => return self.hex(high, byte),
            _ => return self.string(byte),
        }
        (1, None)
    }

    fn between(&mut self, byte: u8, strings: Strings) -> Option<Token> {
        self.place = match byte {
            b'%' => Place::Comment,
            b'/' => Place::Name,
            b'<' => Place::Less,
            b'>' => Place::Greater,
            b'(' if strings == Strings::Read => Place::String(1),
            b'[' => return Some(Token::ArrayOpen),
            b']' => return Some(Token::ArrayClose),
            _ if is_regular(byte) => Place::Word,
            _ => return None,
        };
        self.text.clear();
        self.window = [0; WINDOW_BYTES];
        self.is_cut = false;
        if self.place == Place::Word {
            self.text.push(byte);
        }
        None
    }

    fn keep(&mut self, byte: u8, max: usize) {
        if self.text.len() < max {
            self.text.push(byte);
        } else {
            self.is_cut = true;
        }
    }

    fn end_word(&mut self) -> Token {
        self.place = Place::Between;
        let number = std::str::from_utf8(&self.text).ok().and_then(|text| text.parse().ok());
        let is_real = || self.text.iter().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'+' | b'-'));
        match number {
            Some(number) => Token::Number(number),
            None if is_real() => Token::Number(0),
            None => Token::Keyword,
        }
    }

    /// `#xx` in a name; without two digits the sign stands for itself.
    fn name_escape(&mut self, first: Option<u8>, byte: u8) -> usize {
        let digit = digit(byte);
        match (first, digit) {
            (None, Some(high)) => self.place = Place::NameEscape(Some(high)),
            (Some(high), Some(low)) => {
                self.place = Place::Name;
                self.keep(high << 4 | low, NAME_BYTES_MAX);
            }
            _ => {
                self.place = Place::Name;
                self.keep(b'#', NAME_BYTES_MAX);
                if let Some(high) = first {
                    self.keep(b"0123456789ABCDEF"[usize::from(high & 15)], NAME_BYTES_MAX);
                }
                return 0;
            }
        }
        1
    }

    fn hex(&mut self, high: Option<u8>, byte: u8) -> (usize, Option<Token>) {
        match (digit(byte), high) {
            (Some(low), Some(high)) => {
                self.place = Place::Hex(None);
                self.keep(high << 4 | low, TEXT_BYTES_MAX);
            }
            (Some(high), None) => self.place = Place::Hex(Some(high)),
            (None, _) if byte == b'>' => {
                self.place = Place::Between;
                if let Some(high) = high {
                    self.keep(high << 4, TEXT_BYTES_MAX);
                }
                return (1, Some(Token::String));
            }
            (None, _) if is_blank(byte) => {}
            // It was no string.
            _ => {
                self.place = Place::Between;
                return (0, None);
            }
        }
        (1, None)
    }

    /// A byte of a literal string (section 7.3.4.2).
    fn string(&mut self, byte: u8) -> (usize, Option<Token>) {
        match self.place {
            Place::String(depth) => match byte {
                b'\\' => self.place = Place::Escape(depth),
                b')' if depth == 1 => {
                    self.place = Place::Between;
                    return (1, Some(Token::String));
                }
                b')' => self.letter(depth - 1, byte),
                b'(' => self.letter(depth.saturating_add(1), byte),
                _ => self.letter(depth, byte),
            },
            Place::Escape(depth) => match byte {
                b'0'..=b'7' => self.place = Place::Octal(depth, 1, u16::from(byte - b'0')),
                b'\r' => self.place = Place::EscapedReturn(depth),
                b'\n' => self.place = Place::String(depth),
                b'n' => self.letter(depth, b'\n'),
                b'r' => self.letter(depth, b'\r'),
                b't' => self.letter(depth, b'\t'),
                b'b' => self.letter(depth, 8),
                b'f' => self.letter(depth, 12),
                _ => self.letter(depth, byte),
            },
            Place::Octal(depth, count, value) => {
                if count < 3 && matches!(byte, b'0'..=b'7') {
                    self.place = Place::Octal(depth, count + 1, value << 3 | u16::from(byte - b'0'));
                } else {
                    self.letter(depth, value as u8);
                    return (0, None);
                }
            }
            Place::EscapedReturn(depth) => {
                self.place = Place::String(depth);
                return (usize::from(byte == b'\n'), None);
            }
            _ => self.place = Place::Between,
        }
        let is_object = self.window.ends_with(b" obj") && self.window[1].is_ascii_digit();
        if is_object || self.window == *b"endobj" {
            // The string was never closed: what is here is an object again.
            self.place = Place::Between;
            let word = if is_object { &b"obj"[..] } else { b"endobj" };
            self.text = word.to_vec();
            return (1, Some(Token::Keyword));
        }
        (1, None)
    }

    /// A letter of a string, which goes on within so many parentheses.
    fn letter(&mut self, depth: u32, byte: u8) {
        self.place = Place::String(depth);
        self.keep(byte, TEXT_BYTES_MAX);
        self.window.rotate_left(1);
        self.window[WINDOW_BYTES - 1] = byte;
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// White space (section 7.2.2).
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}

fn is_regular(byte: u8) -> bool {
    !is_blank(byte) && !matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], strings: Strings) -> Vec<String> {
        let mut lexer = Lexer::default();
        let (mut rest, mut tokens) = (text, Vec::new());
        while !rest.is_empty() {
            let (used, token) = lexer.push(rest, strings);
            rest = &rest[used..];
            match token {
                Some(token @ (Token::Name | Token::String | Token::Keyword)) => {
                    tokens.push(format!("{token:?} {}", lexer.text().escape_ascii()));
                }
                Some(token) => tokens.push(format!("{token:?}")),
                None => assert!(rest.is_empty()),
            }
        }
        tokens
    }

    #[test]
    fn tokens() {
        let cases: [(&[u8], &[&str]); 9] = [
            (b"1 0 obj ", &["Number(1)", "Number(0)", "Keyword obj"]),
            (b"<</A#42/C -1.5>>", &["DictionaryOpen", "Name AB", "Name C", "Number(0)", "DictionaryClose"]),
            (b"/J#5 ", &["Name J#5"]),
            (b"(a(b)\\)\\101\\n\\\r\nc)", &["String a(b))A\\nc"]),
            (b"<48 6>", &["String H`"]),
            (b"<48x>>1 ", &["Keyword x", "DictionaryClose", "Number(1)"]),
            (b"%(\n[ true]", &["ArrayOpen", "Keyword true", "ArrayClose"]),
            (b"(never closed 2 0 obj <<", &["Keyword obj", "DictionaryOpen"]),
            (b"(never closed\nendobj 1 ", &["Keyword endobj", "Number(1)"]),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text, Strings::Read), expected, "{}", text.escape_ascii());
        }
        assert_eq!(read(b"( 1 ", Strings::Junk), ["Number(1)"]);
    }

    #[test]
    fn long_strings_are_cut() {
        let mut lexer = Lexer::default();
        let text = [&b"("[..], &vec![b'x'; 2 * TEXT_BYTES_MAX], b")"].concat();
        assert_eq!(lexer.push(&text, Strings::Read), (text.len(), Some(Token::String)));
        assert!(lexer.is_cut && lexer.text().len() == TEXT_BYTES_MAX);
    }
}
