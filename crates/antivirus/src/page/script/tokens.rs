//! Text of a script → tokens. Rule: any bytes are taken; each is looked at once.

use super::scopes::Scopes;

/// The tokens of a script, and their texts, one behind the other.
#[derive(Default)]
pub(super) struct Tokens {
    pub list: Vec<Token>,
    pub text: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    at: u32,
    pub length: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword, an operator, a mark, or the name of a member.
    Plain,
    String,
    Number,
    Name,
    /// `function`, with the number of its scope.
    Function(u32),
    FunctionEnd,
}

/// Words that are no names.
const KEYWORDS: [&str; 59] = [
    "abstract",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "final",
    "finally",
    "float",
    "for",
    "function",
    "goto",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "short",
    "static",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "transient",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "volatile",
    "while",
    "with",
];

impl Token {
    /// A token with this text, which is put behind the others.
    pub fn add(kind: Kind, bytes: &[u8], text: &mut Vec<u8>) -> Self {
        let at = text.len() as u32;
        text.extend_from_slice(bytes);
        Self { kind, at, length: bytes.len() as u32 }
    }

    pub fn text<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let at = self.at as usize;
        text.get(at..at + self.length as usize).unwrap_or_default()
    }
}

impl Tokens {
    /// Adds the tokens of a script.
    pub fn read(&mut self, script: &[u8], scopes: &mut Scopes) {
        let mut rest = script;
        while let [first, after @ ..] = rest {
            rest = match (first, after.first()) {
                (b'/', Some(b'*')) => behind_comment(after.get(1..).unwrap_or_default()),
                (b'/', Some(b'/')) => {
                    let end = after.iter().position(|byte| matches!(byte, b' ' | b'\n'));
                    end.and_then(|end| after.get(end..)).unwrap_or_default()
                }
                (b'"' | b'\'', _) => self.string(*first, after, scopes),
                (b'0'..=b'9', _) => self.number(rest, scopes),
                (b'$' | b'_' | b'\\' | b'a'..=b'z' | b'A'..=b'Z', _) => self.word(rest, scopes),
                (b'!'..=b'~', _) if !matches!(first, b'#' | b'@' | b'`') => self.mark(rest, scopes),
                _ => after,
            };
        }
    }

    /// What is open at the end is closed, so that calls are seen.
    pub fn close_parentheses(&mut self) {
        let mut open = 0_usize;
        for token in self.list.iter().filter(|token| token.kind == Kind::Plain) {
            match token.text(&self.text) {
                b"(" => open += 1,
                b")" => open = open.saturating_sub(1),
                _ => {}
            }
        }
        for _ in 0..open {
            self.add(Kind::Plain, b")");
        }
    }

    fn add(&mut self, kind: Kind, bytes: &[u8]) {
        let token = Token::add(kind, bytes, &mut self.text);
        self.list.push(token);
    }

    fn plain(&mut self, bytes: &[u8], scopes: &mut Scopes) {
        self.add(Kind::Plain, bytes);
        if scopes.mark(bytes) {
            self.add(Kind::FunctionEnd, b"");
        }
    }

    /// From behind the quote on.
    fn string<'a>(&mut self, quote: u8, rest: &'a [u8], scopes: &mut Scopes) -> &'a [u8] {
        // As ClamAV has it: a backslash before the quote hides it, whatever stands before that.
        let ends = |at: usize| rest.get(at) == Some(&quote) && (at == 0 || rest.get(at - 1) != Some(&b'\\'));
        let end = (0..rest.len()).find(|at| ends(*at)).unwrap_or(rest.len());
        let (inside, behind) = (rest.get(..end).unwrap_or_default(), rest.get(end + 1..).unwrap_or_default());
        let joined = match self.list.as_slice() {
            [.., before, plus] if before.kind == Kind::String && plus.text(&self.text) == b"+" => {
                // Its text is the last one but that of the plus.
                (plus.kind == Kind::Plain && before.at + before.length == plus.at).then_some(*before)
            }
            _ => None,
        };
        let start = match joined {
            Some(before) => {
                self.list.truncate(self.list.len() - 2);
                self.text.truncate((before.at + before.length) as usize);
                before.at
            }
            None => self.text.len() as u32,
        };
        push_plain(inside, &mut self.text);
        self.list.push(Token { kind: Kind::String, at: start, length: self.text.len() as u32 - start });
        if joined.is_none() {
            scopes.literal();
        }
        behind
    }

    fn number<'a>(&mut self, rest: &'a [u8], scopes: &mut Scopes) -> &'a [u8] {
        let mut is_fraction = false;
        let mut end = 0;
        while let Some(byte) = rest.get(end) {
            match byte {
                b'0'..=b'9' => end += 1,
                b'.' if !is_fraction => {
                    is_fraction = true;
                    end += 1;
                }
                b'e' | b'E' if is_fraction => {
                    let is_power = rest.get(end + 1).is_some_and(|c| matches!(c, b'+' | b'-' | b'0'..=b'9'));
                    end += 1 + usize::from(is_power);
                    if !is_power {
                        break;
                    }
                }
                _ => break,
            }
        }
        let (digits, behind) = rest.split_at(end.min(rest.len()));
        if behind.is_empty() {
            // It might go on.
            return behind;
        }
        let text = str::from_utf8(digits).unwrap_or_default();
        let written = if is_fraction {
            let text = text.trim_end_matches(['e', 'E', '+', '-']);
            general(text.parse().unwrap_or(0.0))
        } else {
            // Digits alone: what is too long for a number is the greatest there is, cut to its low half.
            (text.parse::<i64>().unwrap_or(i64::MAX) as i32).to_string()
        };
        self.add(Kind::Number, written.as_bytes());
        scopes.literal();
        behind
    }

    fn word<'a>(&mut self, rest: &'a [u8], scopes: &mut Scopes) -> &'a [u8] {
        let mut word = Vec::new();
        let mut at = 0;
        let behind = loop {
            match (rest.get(at), rest.get(at + 1)) {
                (Some(byte @ (b'$' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')), _) => word.push(*byte),
                (Some(b'\\'), Some(b'u')) => {
                    word.push(b'\\');
                    at += 1;
                }
                (Some(b'\\'), _) => break rest.get(at + 1..).unwrap_or_default(),
                (Some(_), _) => break rest.get(at..).unwrap_or_default(),
                // It might go on.
                (None, _) => return &[],
            }
            at += 1;
        };
        if word == b"function" {
            let scope = scopes.function();
            self.add(Kind::Function(scope), &word);
        } else if str::from_utf8(&word).is_ok_and(|word| !word.is_empty() && KEYWORDS.contains(&word)) {
            self.plain(&word, scopes);
        } else {
            let kind = scopes.name(&word);
            self.add(kind, &word);
        }
        behind
    }

    fn mark<'a>(&mut self, rest: &'a [u8], scopes: &mut Scopes) -> &'a [u8] {
        // Only where a plus ends matters: it joins strings.
        let length = match rest {
            [b'+', b'+' | b'=', ..] => 2,
            _ => 1,
        };
        let (mark, behind) = rest.split_at(length.min(rest.len()));
        self.plain(mark, scopes);
        behind
    }
}

/// What stands behind a comment, from behind its beginning on.
fn behind_comment(rest: &[u8]) -> &[u8] {
    let end = rest.windows(2).position(|two| two == b"*/");
    end.and_then(|end| rest.get(end + 2..)).unwrap_or_default()
}

/// A string's text, its escapes undone.
fn push_plain(inside: &[u8], text: &mut Vec<u8>) {
    let hex = |digits: Option<&[u8]>| {
        let digits = digits.unwrap_or_default().iter();
        digits.fold(0_u16, |value, digit| value << 4 | char::from(*digit).to_digit(16).unwrap_or(0) as u16)
    };
    let mut rest = inside;
    while let [first, after @ ..] = rest {
        let (byte, used) = match (first, after.first()) {
            (b'\\', Some(b'u')) if after.len() > 4 => {
                push_utf8(hex(after.get(1..5)), text);
                rest = after.get(5..).unwrap_or_default();
                continue;
            }
            (b'\\', Some(b'x')) if after.len() > 2 => (hex(after.get(1..3)) as u8, 3),
            (b'\\', Some(b'x' | b'u')) => (b'\\', 1),
            (b'\\', Some(letter)) => (escaped(*letter), 1),
            _ => (*first, 0),
        };
        text.push(byte.max(1));
        rest = after.get(used..).unwrap_or_default();
    }
}

fn escaped(letter: u8) -> u8 {
    match letter {
        b'0' => 1,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        other => other,
    }
}

/// A character of sixteen bits; none is written as 1.
pub(super) fn push_utf8(character: u16, text: &mut Vec<u8>) {
    let low = |shift: u16| 0x80 | (character >> shift & 0x3f) as u8;
    match character {
        0 => text.push(1),
        1..0x80 => text.push(character as u8),
        0x80..0x800 => text.extend([0xc0 | (character >> 6) as u8, low(0)]),
        _ => text.extend([0xe0 | (character >> 12) as u8, low(6), low(0)]),
    }
}

/// A number as C's `%g` writes it.
fn general(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let Some((digits, power)) = scientific.split_once('e') else { return scientific };
    let power: i32 = power.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }.to_owned()
    };
    if (-4..6).contains(&power) {
        return trim(&format!("{value:.*}", (5 - power) as usize));
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(digits), power.abs())
}
