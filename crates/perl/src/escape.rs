//! Escapes. Rule: what is not known is an error, never a guess.

use super::Unread;
use super::parser::Parser;
use super::syntax::Set;

/// What a backslash and what follows it stand for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Escape {
    Byte(u8),
    Set(Set),
    /// A letter with another meaning, given as it is: `b`, `A`, `K` …
    Letter(u8),
    /// What a group has matched, by number or name.
    Group(u32),
    Named(Vec<u8>),
    /// What a group's expression matches, by number or name.
    Call(u32),
    CallNamed(Vec<u8>),
}

pub(crate) fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(crate) fn space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// The set that such a letter stands for, if it does.
fn set_of(letter: u8) -> Option<Set> {
    let set = match letter.to_ascii_lowercase() {
        b'd' => Set::of(|byte| byte.is_ascii_digit()),
        b'w' => Set::of(word),
        b's' => Set::of(space),
        b'h' => Set::of(|byte| matches!(byte, b'\t' | b' ' | 0xa0)),
        b'v' => Set::of(|byte| matches!(byte, b'\n'..=b'\r' | 0x85)),
        b'n' if letter == b'N' => Set::of(|byte| byte == b'\n'),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { set.inverse() } else { set })
}

/// Reads what stands behind a backslash.
pub(crate) fn escape(parser: &mut Parser<'_>) -> Result<Escape, Unread> {
    let letter = parser.next().ok_or_else(|| parser.unread("a backslash at the end"))?;
    if let Some(set) = set_of(letter) {
        return Ok(Escape::Set(set));
    }
    Ok(match letter {
        b'n' => Escape::Byte(b'\n'),
        b'r' => Escape::Byte(b'\r'),
        b't' => Escape::Byte(b'\t'),
        b'f' => Escape::Byte(0x0c),
        b'e' => Escape::Byte(0x1b),
        b'a' => Escape::Byte(0x07),
        b'x' => Escape::Byte(hexadecimal(parser)?),
        b'c' => {
            let control = parser.next().ok_or_else(|| parser.unread("\\c at the end"))?;
            Escape::Byte(control.to_ascii_uppercase() ^ 0x40)
        }
        b'0' => {
            parser.back();
            Escape::Byte(octal(parser, 3))
        }
        b'1'..=b'9' => number(parser)?,
        b'g' => group(parser)?,
        b'k' => Escape::Named(bracketed(parser)?),
        b'o' => Escape::Byte(octal_in_braces(parser)?),
        b'C' => Escape::Set(Set::default().inverse()),
        b'b' | b'B' | b'A' | b'Z' | b'z' | b'G' | b'K' | b'R' | b'Q' | b'E' | b'X' => Escape::Letter(letter),
        letter if letter.is_ascii_alphanumeric() => {
            return Err(parser.unread("an escape that is not understood"));
        }
        other => Escape::Byte(other),
    })
}

fn hexadecimal(parser: &mut Parser<'_>) -> Result<u8, Unread> {
    if parser.take(b'{') {
        return in_braces(parser, 16);
    }
    let mut value = 0;
    for _ in 0..2 {
        let Some(digit) = parser.peek().and_then(|byte| char::from(byte).to_digit(16)) else { break };
        value = value * 16 + digit;
        parser.skip();
    }
    Ok(value as u8)
}

fn octal_in_braces(parser: &mut Parser<'_>) -> Result<u8, Unread> {
    if !parser.take(b'{') {
        return Err(parser.unread("\\o without braces"));
    }
    in_braces(parser, 8)
}

/// Digits up to a `}`.
fn in_braces(parser: &mut Parser<'_>, base: u32) -> Result<u8, Unread> {
    let mut value = 0_u32;
    parser.skip_spaces();
    while let Some(digit) = parser.peek().and_then(|byte| char::from(byte).to_digit(base)) {
        value = value.saturating_mul(base).saturating_add(digit);
        parser.skip();
    }
    parser.skip_spaces();
    if !parser.take(b'}') {
        return Err(parser.unread("a number in braces that is not closed"));
    }
    u8::try_from(value).map_err(|_| parser.unread("a character above \\xff"))
}

pub(crate) fn octal(parser: &mut Parser<'_>, digits_max: usize) -> u8 {
    let mut value = 0_u32;
    for _ in 0..digits_max {
        let Some(digit) = parser.peek().and_then(|byte| char::from(byte).to_digit(8)) else { break };
        value = value * 8 + digit;
        parser.skip();
    }
    value as u8
}

/// A group's number; what has no such group before it and looks octal is a byte.
fn number(parser: &mut Parser<'_>) -> Result<Escape, Unread> {
    parser.back();
    let mark = parser.at();
    let value = parser.number().unwrap_or(0);
    if value < 10 || value <= parser.groups {
        return parser.there(value).map(Escape::Group);
    }
    parser.go(mark);
    Ok(match parser.peek() {
        Some(digit @ (b'8' | b'9')) => {
            parser.skip();
            Escape::Byte(digit)
        }
        _ => Escape::Byte(octal(parser, 3)),
    })
}

/// Behind `\g`: in braces or bare what a group has matched, in other brackets a call.
fn group(parser: &mut Parser<'_>) -> Result<Escape, Unread> {
    let close = match parser.peek() {
        Some(b'{') => b'}',
        Some(b'<') => b'>',
        Some(b'\'') => b'\'',
        Some(b'0'..=b'9' | b'+' | b'-') => return parser.relative().map(Escape::Group),
        _ => return Err(parser.unread("\\g without a group")),
    };
    parser.skip();
    parser.skip_spaces();
    let is_call = close != b'}';
    if matches!(parser.peek(), Some(b'0'..=b'9' | b'+' | b'-')) {
        let number = parser.relative()?;
        parser.skip_spaces();
        if !parser.take(close) {
            return Err(parser.unread("\\g that is not closed"));
        }
        return Ok(if is_call { Escape::Call(number) } else { Escape::Group(number) });
    }
    let name = parser.until(close)?.trim_ascii().to_vec();
    Ok(if is_call { Escape::CallNamed(name) } else { Escape::Named(name) })
}

/// A name in `<>`, `{}` or `''`.
fn bracketed(parser: &mut Parser<'_>) -> Result<Vec<u8>, Unread> {
    let close = match parser.next() {
        Some(b'<') => b'>',
        Some(b'{') => b'}',
        Some(b'\'') => b'\'',
        _ => return Err(parser.unread("\\k without a name")),
    };
    Ok(parser.until(close)?.trim_ascii().to_vec())
}
