//! Classes of bytes, `[…]` and `(?[…])`. Rule: a hyphen is a range only between two bytes.

use super::Unread;
use super::escape::{self, Escape, escape, space, word};
use super::parser::{Blanks, Parser};
use super::syntax::{Node, Set};

/// What stands next in a class.
enum Token {
    Close,
    Byte(u8),
    Hyphen,
    Set(Set),
}

/// A class being read.
struct Class {
    set: Set,
    /// What a range may begin with.
    low: Option<u8>,
    is_quoted: bool,
    is_first: bool,
}

/// Reads a class; its `[` is read already.
pub(crate) fn class(parser: &mut Parser<'_>) -> Result<Set, Unread> {
    let mut class = Class { set: Set::default(), low: None, is_quoted: false, is_first: true };
    // What means nothing may stand before the `^`.
    while parser.take_all(b"\\E") || skips_blank(parser) {}
    let inverted = parser.take(b'^');
    class.read(parser)?;
    let mut set = class.set;
    if parser.modes.flags.any_case {
        set = set.any_case();
    }
    Ok(if inverted { set.inverse() } else { set })
}

impl Class {
    fn read(&mut self, parser: &mut Parser<'_>) -> Result<(), Unread> {
        loop {
            match self.token(parser)? {
                Token::Close => break,
                Token::Byte(byte) => {
                    self.flush();
                    self.low = Some(byte);
                }
                Token::Set(set) => {
                    self.flush();
                    self.set = self.set.and(&set);
                }
                Token::Hyphen => match self.low.take() {
                    None => self.low = Some(b'-'),
                    Some(low) if self.range(parser, low)? => break,
                    Some(_) => {}
                },
            }
        }
        self.flush();
        Ok(())
    }

    fn flush(&mut self) {
        if let Some(byte) = self.low.take() {
            self.set.add(byte);
        }
    }

    /// Behind a byte and a hyphen; says whether the class ends there.
    fn range(&mut self, parser: &mut Parser<'_>, low: u8) -> Result<bool, Unread> {
        let high = match self.token(parser)? {
            Token::Byte(byte) => byte,
            Token::Hyphen => b'-',
            // `[a-\d]`, `[a-]`: the hyphen is one.
            Token::Set(set) => {
                self.set = self.set.and(&set);
                self.set.add(low);
                self.set.add(b'-');
                return Ok(false);
            }
            Token::Close => {
                self.set.add(low);
                self.set.add(b'-');
                return Ok(true);
            }
        };
        if high < low {
            return Err(parser.unread("a range whose ends are crossed"));
        }
        (low..=high).for_each(|byte| self.set.add(byte));
        Ok(false)
    }

    fn token(&mut self, parser: &mut Parser<'_>) -> Result<Token, Unread> {
        loop {
            if self.is_quoted {
                if parser.take_all(b"\\E") {
                    self.is_quoted = false;
                    continue;
                }
                let byte = parser.next().ok_or_else(|| parser.unread("a class that is not closed"))?;
                self.is_first = false;
                return Ok(Token::Byte(byte));
            }
            if parser.take_all(b"\\E") {
                continue;
            }
            if parser.take_all(b"\\Q") {
                self.is_quoted = true;
                continue;
            }
            if skips_blank(parser) {
                continue;
            }
            let byte = parser.next().ok_or_else(|| parser.unread("a class that is not closed"))?;
            let was_first = std::mem::replace(&mut self.is_first, false);
            return match byte {
                b']' if !was_first => Ok(Token::Close),
                b'-' => Ok(Token::Hyphen),
                byte => member(parser, byte),
            };
        }
    }
}

fn skips_blank(parser: &mut Parser<'_>) -> bool {
    let is_skipped =
        parser.modes.blanks == Blanks::MeanNothing && matches!(parser.peek(), Some(b' ' | b'\t'));
    if is_skipped {
        parser.skip();
    }
    is_skipped
}

fn member(parser: &mut Parser<'_>, byte: u8) -> Result<Token, Unread> {
    if byte == b'[' && matches!(parser.peek(), Some(b':')) {
        return Ok(posix(parser).map_or(Token::Byte(b'['), Token::Set));
    }
    if byte != b'\\' {
        return Ok(Token::Byte(byte));
    }
    // In a class a digit is octal, `b` is a backspace, and there are no groups.
    match parser.peek() {
        Some(b'1'..=b'7') => return Ok(Token::Byte(escape::octal(parser, 3))),
        Some(itself @ (b'8' | b'9' | b'g')) => {
            parser.skip();
            return Ok(Token::Byte(itself));
        }
        _ => {}
    }
    match escape(parser)? {
        Escape::Byte(byte) => Ok(Token::Byte(byte)),
        Escape::Set(set) => Ok(Token::Set(set)),
        Escape::Letter(b'b') => Ok(Token::Byte(0x08)),
        _ => Err(parser.unread("an escape that means nothing in a class")),
    }
}

/// `[:name:]`, from its first colon on; `None`, and nothing is read, if it is none.
fn posix(parser: &mut Parser<'_>) -> Option<Set> {
    let mark = parser.at();
    parser.skip();
    let inverted = parser.take(b'^');
    let name = parser.until(b':').ok().filter(|_| parser.take(b']'));
    let set = match name.as_deref() {
        Some(b"alpha") => Set::of(|byte| byte.is_ascii_alphabetic()),
        Some(b"digit") => Set::of(|byte| byte.is_ascii_digit()),
        Some(b"alnum") => Set::of(|byte| byte.is_ascii_alphanumeric()),
        Some(b"upper") => Set::of(|byte| byte.is_ascii_uppercase()),
        Some(b"lower") => Set::of(|byte| byte.is_ascii_lowercase()),
        Some(b"space") => Set::of(space),
        Some(b"blank") => Set::of(|byte| matches!(byte, b' ' | b'\t')),
        Some(b"punct") => Set::of(|byte| byte.is_ascii_punctuation()),
        Some(b"xdigit") => Set::of(|byte| byte.is_ascii_hexdigit()),
        Some(b"cntrl") => Set::of(|byte| byte.is_ascii_control()),
        Some(b"print") => Set::of(|byte| matches!(byte, 0x20..=0x7e)),
        Some(b"graph") => Set::of(|byte| byte.is_ascii_graphic()),
        Some(b"word") => Set::of(word),
        Some(b"ascii") => Set::of(|byte| byte.is_ascii()),
        _ => {
            parser.go(mark);
            return None;
        }
    };
    Some(if inverted { set.inverse() } else { set })
}

/// `(?[…])`, from behind its first bracket: classes that are added, cut and taken away.
pub(crate) fn extended(parser: &mut Parser<'_>) -> Result<Node, Unread> {
    let before = std::mem::replace(&mut parser.modes.blanks, Blanks::MeanNothing);
    let set = sum(parser)?;
    parser.modes.blanks = before;
    blank(parser);
    if !parser.take_all(b"])") {
        return Err(parser.unread("an operation on classes that is not closed"));
    }
    Ok(Node::Set(Box::new(set)))
}

fn blank(parser: &mut Parser<'_>) {
    loop {
        if parser.take_all(b"\\E") || parser.take_all(b"\\Q\\E") {
            continue;
        }
        match parser.peek() {
            Some(byte) if space(byte) => parser.skip(),
            _ => return,
        }
    }
}

/// What `+`, `|`, `-` and `^` join, from left to right.
fn sum(parser: &mut Parser<'_>) -> Result<Set, Unread> {
    parser.deeper(|parser| {
        let mut set = product(parser)?;
        loop {
            blank(parser);
            let sign = parser.peek();
            if !matches!(sign, Some(b'+' | b'|' | b'-' | b'^')) {
                return Ok(set);
            }
            parser.skip();
            let other = product(parser)?;
            set = match sign {
                Some(b'-') => Set::of(|byte| set.has(byte) && !other.has(byte)),
                Some(b'^') => Set::of(|byte| set.has(byte) != other.has(byte)),
                _ => set.and(&other),
            };
        }
    })
}

/// What `&` joins: it binds more tightly.
fn product(parser: &mut Parser<'_>) -> Result<Set, Unread> {
    let mut set = operand(parser)?;
    loop {
        blank(parser);
        if !parser.take(b'&') {
            return Ok(set);
        }
        let other = operand(parser)?;
        set = Set::of(|byte| set.has(byte) && other.has(byte));
    }
}

fn operand(parser: &mut Parser<'_>) -> Result<Set, Unread> {
    let mut inverted = false;
    blank(parser);
    while parser.take(b'!') {
        inverted = !inverted;
        blank(parser);
    }
    let set = match parser.next() {
        Some(b'(') => {
            let set = sum(parser)?;
            blank(parser);
            if !parser.take(b')') {
                return Err(parser.unread("an operation on classes that is not closed"));
            }
            set
        }
        Some(b'[') if parser.peek() == Some(b':') => {
            posix(parser).ok_or_else(|| parser.unread("a class of that name is not known"))?
        }
        Some(b'[') => class(parser)?,
        Some(b'\\') => match member(parser, b'\\')? {
            Token::Byte(byte) => {
                let set = Set::of(|other| other == byte);
                if parser.modes.flags.any_case { set.any_case() } else { set }
            }
            Token::Set(set) => set,
            Token::Close | Token::Hyphen => Set::default(),
        },
        _ => return Err(parser.unread("a class is expected")),
    };
    Ok(if inverted { set.inverse() } else { set })
}
