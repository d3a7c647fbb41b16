//! Replies of RFC 5321 section 4.2: building, writing, reading. Rule: no text leaves that could be read as another line.

use std::fmt;

/// Longest text of one line of ours; RFC 5321 section 4.5.3.1.5 allows 512 bytes with code and CR LF.
const TEXT_BYTES_MAX: usize = 500;

/// What a code's first digit says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// 2xx: done.
    Completed,
    /// 3xx: go on.
    Intermediate,
    /// 4xx: not now.
    Transient,
    /// 5xx: not so.
    Permanent,
}

/// A reply, ours or the next hop's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    code: u16,
    lines: Vec<String>,
}

impl Reply {
    /// A reply with an enhanced status code (RFC 3463), such as `(550, "5.7.1", "…")`. Line feeds in the text make
    /// several lines; other control characters are replaced, and so is what is not ASCII: a client that has not asked
    /// for SMTPUTF8 must not be sent any (RFC 6531 section 3.7.4.2).
    pub fn new(code: u16, enhanced: &str, text: &str) -> Self {
        let ascii = |line: &str| line.replace(|c: char| !c.is_ascii(), "?");
        let lines = text.split('\n').map(|line| sanitise(&format!("{enhanced} {}", ascii(line)))).collect();
        Self { code: clamp(code), lines }
    }

    /// A reply without enhanced status code: greetings and answers to HELO, EHLO and 354 have none.
    pub fn plain(code: u16, lines: &[&str]) -> Self {
        let lines = match lines {
            [] => vec![String::new()],
            lines => lines.iter().map(|line| sanitise(line)).collect(),
        };
        Self { code: clamp(code), lines }
    }

    /// Its three digits.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The text of each line behind the code, enhanced status code included; at least one.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// What its first digit says.
    pub fn class(&self) -> Class {
        match self.code / 100 {
            2 => Class::Completed,
            3 => Class::Intermediate,
            4 => Class::Transient,
            _ => Class::Permanent,
        }
    }

    /// 2xx.
    pub fn is_completed(&self) -> bool {
        self.class() == Class::Completed
    }

    /// 3xx.
    pub fn is_intermediate(&self) -> bool {
        self.class() == Class::Intermediate
    }

    /// 4xx.
    pub fn is_transient(&self) -> bool {
        self.class() == Class::Transient
    }

    /// 5xx.
    pub fn is_permanent(&self) -> bool {
        self.class() == Class::Permanent
    }

    /// The enhanced status code at the head of the first line, such as `5.7.1`.
    pub fn enhanced(&self) -> Option<&str> {
        let word = self.lines.first()?.split(' ').next()?;
        let mut fields = word.split('.');
        let class: u16 = fields.next()?.parse().ok()?;
        let digits =
            |field: &str| (1..=3).contains(&field.len()) && field.bytes().all(|b| b.is_ascii_digit());
        let well_formed = fields.next().is_some_and(digits) && fields.next().is_some_and(digits);
        (well_formed && fields.next().is_none() && class == self.code / 100).then_some(word)
    }

    /// The reply as it goes on the wire.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        for (i, line) in self.lines.iter().enumerate() {
            let separator = if i + 1 < self.lines.len() { '-' } else { ' ' };
            out.extend_from_slice(format!("{}{separator}{line}\r\n", self.code).as_bytes());
        }
    }

    /// The same in a buffer of its own.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_to(&mut out);
        out
    }
}

/// One line, for logs.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.lines.join(" / "))
    }
}

fn clamp(code: u16) -> u16 {
    if (200..600).contains(&code) { code } else { 451 }
}

/// No control character, no more than a line takes.
fn sanitise(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars() {
        let c = if c == '\t' { ' ' } else { c };
        let c = if c.is_control() || c == char::REPLACEMENT_CHARACTER { '?' } else { c };
        if line.len() + c.len_utf8() > TEXT_BYTES_MAX {
            break;
        }
        line.push(c);
    }
    line
}

/// Why a next hop's reply cannot be read. The connection is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A line that has no code, or whose code is not 2xx to 5xx.
    NoCode,
    /// The lines of one reply have different codes.
    CodesDiffer,
    /// A line longer than 4 KiB.
    LongLine,
    /// More than 256 lines.
    ManyLines,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCode => "a line of the reply has no code",
            Self::CodesDiffer => "the lines of the reply have different codes",
            Self::LongLine => "a line of the reply is too long",
            Self::ManyLines => "the reply has too many lines",
        })
    }
}

/// What a step of the parser came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// All input has been used; the reply is not complete.
    NeedInput,
    /// One reply.
    Reply(Reply),
    /// None, and none will follow.
    Malformed(Malformed),
}

/// Reads a next hop's replies. A bare LF ends a line too: a reply is only text, and many servers send it so.
#[derive(Debug, Default)]
pub struct ReplyParser {
    line: Vec<u8>,
    code: Option<u16>,
    lines: Vec<String>,
}

/// Longest line read from a next hop.
const LINE_BYTES_MAX: usize = 4096;
/// Most lines of one reply.
const LINES_MAX: usize = 256;

impl ReplyParser {
    /// Awaits the first line of a reply.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether part of a reply has come.
    pub fn has_begun(&self) -> bool {
        !self.line.is_empty() || self.code.is_some()
    }

    /// Bytes of the input used, and what they came to.
    pub fn step(&mut self, input: &[u8]) -> (usize, Parsed) {
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let end = memchr::memchr(b'\n', rest).map(|at| at + 1);
            let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            used += piece.len();
            if self.line.len() + piece.len() > LINE_BYTES_MAX {
                return (used, Parsed::Malformed(Malformed::LongLine));
            }
            self.line.extend_from_slice(piece);
            if end.is_none() {
                return (used, Parsed::NeedInput);
            }
            let line = std::mem::take(&mut self.line);
            match self.line(&line) {
                Ok(Some(reply)) => return (used, Parsed::Reply(reply)),
                Ok(None) => {}
                Err(malformed) => return (used, Parsed::Malformed(malformed)),
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<Reply>, Malformed> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let digits = line.get(..3).filter(|d| d.iter().all(u8::is_ascii_digit)).ok_or(Malformed::NoCode)?;
        let code = digits.iter().fold(0u16, |sum, d| sum * 10 + u16::from(d - b'0'));
        if !(200..600).contains(&code) {
            return Err(Malformed::NoCode);
        }
        if self.code.is_some_and(|first| first != code) {
            return Err(Malformed::CodesDiffer);
        }
        if self.lines.len() >= LINES_MAX {
            return Err(Malformed::ManyLines);
        }
        let more = match line.get(3) {
            None | Some(b' ') => false,
            Some(b'-') => true,
            Some(_) => return Err(Malformed::NoCode),
        };
        let text = line.get(4..).unwrap_or_default();
        self.lines.push(sanitise(&String::from_utf8_lossy(text)));
        if more {
            self.code = Some(code);
            return Ok(None);
        }
        self.code = None;
        Ok(Some(Reply { code, lines: std::mem::take(&mut self.lines) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_at(input: &[u8], cuts: &[usize]) -> Vec<Parsed> {
        let mut parser = ReplyParser::new();
        let mut found = Vec::new();
        let mut from = 0;
        for &to in cuts.iter().chain([&input.len()]) {
            let mut piece = &input[from..to];
            from = to;
            loop {
                let (used, parsed) = parser.step(piece);
                piece = &piece[used..];
                match parsed {
                    Parsed::NeedInput => break,
                    Parsed::Malformed(_) => {
                        found.push(parsed);
                        return found;
                    }
                    Parsed::Reply(_) => found.push(parsed),
                }
            }
        }
        found
    }

    #[test]
    fn replies_are_read_at_every_cut() {
        let input = b"220 mx.example ESMTP\r\n250-mx.example\r\n250-SIZE 100\n250 CHUNKING\r\n250\r\n550-5.7.1 a\r\n550 5.7.1 b\x07\r\n2x0 y\r\n";
        let whole = parse_at(input, &[]);
        assert_eq!(whole.len(), 5);
        assert_eq!(whole[1], Parsed::Reply(Reply::plain(250, &["mx.example", "SIZE 100", "CHUNKING"])));
        assert_eq!(whole[2], Parsed::Reply(Reply::plain(250, &[])));
        assert_eq!(whole[3], Parsed::Reply(Reply::new(550, "5.7.1", "a\nb?")));
        assert_eq!(whole[4], Parsed::Malformed(Malformed::NoCode));
        for cut in 0..=input.len() {
            assert_eq!(parse_at(input, &[cut]), whole, "cut at {cut}");
        }
        let all: Vec<usize> = (0..input.len()).collect();
        assert_eq!(parse_at(input, &all), whole);
    }

    #[test]
    fn malformed_replies_are_named() {
        let long = [b"250 ".as_slice(), &[b'x'; 5000]].concat();
        let many = b"250-x\r\n".repeat(300);
        let cases: &[(&[u8], Malformed)] = &[
            (b"hello\r\n", Malformed::NoCode),
            (b"\r\n", Malformed::NoCode),
            (b"150 x\r\n", Malformed::NoCode),
            (b"999 x\r\n", Malformed::NoCode),
            (b"250x\r\n", Malformed::NoCode),
            (b"250-a\r\n251 b\r\n", Malformed::CodesDiffer),
            (&long, Malformed::LongLine),
            (&many, Malformed::ManyLines),
        ];
        for (input, expected) in cases {
            assert_eq!(parse_at(input, &[]).last(), Some(&Parsed::Malformed(*expected)));
        }
    }

    #[test]
    fn text_cannot_become_a_line() {
        let reply = Reply::new(550, "5.7.1", "found A\r\n250 ok\u{0}\u{7f}\u{85}");
        assert_eq!(reply.to_bytes(), b"550-5.7.1 found A?\r\n550 5.7.1 250 ok???\r\n");
        assert_eq!(Reply::new(550, "5.7.1", "é.exe").lines(), ["5.7.1 ?.exe"]);
        assert!(Reply::plain(550, &[&"é".repeat(1000)]).to_bytes().len() <= 512);
    }

    #[test]
    fn enhanced_codes_are_told_from_text() {
        let cases = [
            ("5.7.1 no", Some("5.7.1")),
            ("5.7.1", Some("5.7.1")),
            ("2.0.0 ok", None),
            ("5.7 no", None),
            ("5.7.1.2 no", None),
            ("5.7.1234 no", None),
            ("no", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(Reply::plain(550, &[line]).enhanced(), expected, "{line}");
        }
    }
}
