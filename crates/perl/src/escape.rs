//! Escapes and classes of bytes. Rule: what is not known is an error, never a guess.

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
    /// A group by number; negative ones count from here.
    Group(i32),
    Named(Vec<u8>),
}

pub(crate) fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn space(byte: u8) -> bool {
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
        b'1'..=b'9' => number(parser),
        b'g' => group(parser)?,
        b'k' => Escape::Named(bracketed(parser)?),
        b'b' | b'B' | b'A' | b'Z' | b'z' | b'G' | b'K' | b'R' | b'Q' | b'E' => Escape::Letter(letter),
        letter if letter.is_ascii_alphanumeric() => {
            return Err(parser.unread("an escape that is not understood"));
        }
        other => Escape::Byte(other),
    })
}

fn hexadecimal(parser: &mut Parser<'_>) -> Result<u8, Unread> {
    let braced = parser.take(b'{');
    let mut value = 0_u32;
    let mut digits = 0;
    while let Some(digit) = parser.peek().and_then(|byte| char::from(byte).to_digit(16)) {
        if !braced && digits == 2 {
            break;
        }
        value = value.saturating_mul(16).saturating_add(digit);
        digits += 1;
        parser.skip();
    }
    if braced && !parser.take(b'}') {
        return Err(parser.unread("\\x{ is not closed"));
    }
    u8::try_from(value).map_err(|_| parser.unread("a character above \\xff"))
}

fn octal(parser: &mut Parser<'_>, digits_max: usize) -> u8 {
    let mut value = 0_u32;
    for _ in 0..digits_max {
        let Some(digit) = parser.peek().and_then(|byte| char::from(byte).to_digit(8)) else { break };
        value = value * 8 + digit;
        parser.skip();
    }
    value as u8
}

/// A group's number; what has no such group and looks octal is a byte.
fn number(parser: &mut Parser<'_>) -> Escape {
    parser.back();
    let mark = parser.at();
    let value = parser.number().unwrap_or(0);
    if value < 10 || value <= parser.groups_of_all() {
        return Escape::Group(i32::try_from(value).unwrap_or(i32::MAX));
    }
    parser.go(mark);
    match parser.peek() {
        Some(b'8' | b'9') => {
            parser.skip();
            Escape::Byte(b'8')
        }
        _ => Escape::Byte(octal(parser, 3)),
    }
}

/// Behind `\g`.
fn group(parser: &mut Parser<'_>) -> Result<Escape, Unread> {
    let braced = parser.take(b'{');
    let before = parser.take(b'-');
    let escape = match parser.number() {
        Some(number) => {
            let number = i32::try_from(number).map_err(|_| parser.unread("a group's number"))?;
            Escape::Group(if before { -number } else { number })
        }
        None if braced => return parser.until(b'}').map(Escape::Named),
        None => return Err(parser.unread("\\g without a group")),
    };
    if braced && !parser.take(b'}') {
        return Err(parser.unread("\\g{ is not closed"));
    }
    Ok(escape)
}

/// A name in `<>`, `{}` or `''`.
fn bracketed(parser: &mut Parser<'_>) -> Result<Vec<u8>, Unread> {
    let close = match parser.next() {
        Some(b'<') => b'>',
        Some(b'{') => b'}',
        Some(b'\'') => b'\'',
        _ => return Err(parser.unread("\\k without a name")),
    };
    parser.until(close)
}

/// Reads a class; its `[` is read already.
pub(crate) fn class(parser: &mut Parser<'_>) -> Result<Set, Unread> {
    let inverted = parser.take(b'^');
    let mut set = Set::default();
    let mut is_first = true;
    loop {
        let byte = parser.next().ok_or_else(|| parser.unread("a class that is not closed"))?;
        if byte == b']' && !is_first {
            break;
        }
        is_first = false;
        let low = match member(parser, byte)? {
            Member::Byte(byte) => byte,
            Member::Set(more) => {
                set = set.and(&more);
                continue;
            }
            Member::Nothing => continue,
        };
        let mark = parser.at();
        if parser.take(b'-') && parser.peek().is_some_and(|byte| byte != b']') {
            let byte = parser.next().unwrap_or_default();
            if let Member::Byte(high) = member(parser, byte)? {
                if high < low {
                    return Err(parser.unread("a range whose ends are crossed"));
                }
                (low..=high).for_each(|byte| set.add(byte));
                continue;
            }
            // `[a-\d]`: the hyphen is one.
            parser.go(mark);
        } else {
            parser.go(mark);
        }
        set.add(low);
    }
    if parser.any_case() {
        set = set.any_case();
    }
    Ok(if inverted { set.inverse() } else { set })
}

enum Member {
    Byte(u8),
    Set(Set),
    Nothing,
}

fn member(parser: &mut Parser<'_>, byte: u8) -> Result<Member, Unread> {
    if byte == b'[' && matches!(parser.peek(), Some(b':')) {
        return Ok(posix(parser).map_or(Member::Byte(b'['), Member::Set));
    }
    if byte != b'\\' {
        return Ok(Member::Byte(byte));
    }
    // In a class a digit is octal and `b` is a backspace.
    if parser.peek().is_some_and(|digit| matches!(digit, b'1'..=b'7')) {
        return Ok(Member::Byte(octal(parser, 3)));
    }
    match escape(parser)? {
        Escape::Byte(byte) => Ok(Member::Byte(byte)),
        Escape::Set(set) => Ok(Member::Set(set)),
        Escape::Letter(b'b') => Ok(Member::Byte(0x08)),
        Escape::Letter(b'E') => Ok(Member::Nothing),
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
