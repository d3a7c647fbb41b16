//! Names as text: charsets, encoded words (RFC 2047), percent coding (RFC 2231). Rule: hostile bytes always give text.

use super::limits::ENCODED_WORD_BYTES_MAX;
use encoding_rs::{Encoding, UTF_16BE, WINDOWS_1252};

/// Bytes of a named charset as text; an unknown charset is read as [`guess`] does.
pub(super) fn decode_charset(bytes: &[u8], charset: &[u8]) -> String {
    let charset = charset.trim_ascii();
    if charset.eq_ignore_ascii_case(b"utf-16") {
        // Big-endian unless its mark says otherwise (RFC 2781 section 4.3); browsers take it the other way round.
        return UTF_16BE.decode(bytes).0.into_owned();
    }
    match Encoding::for_label(charset) {
        Some(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
        None => guess(bytes),
    }
}

/// Bytes of no named charset as text: UTF-8 where it is that, else Windows-1252, which gives each byte a character.
pub(super) fn guess(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

/// Text with the encoded words in it decoded, wherever they stand: mailers put them into quoted strings and tokens,
/// where RFC 2047 section 5 forbids them.
pub(super) fn decode_words(value: &[u8]) -> String {
    if memchr::memmem::find(value, b"=?").is_none() {
        return guess(value);
    }
    let mut text = String::new();
    // Neighbouring words of one charset are joined before they are decoded: mailers cut characters in two.
    let mut run: Option<(&[u8], Vec<u8>)> = None;
    let mut rest = value;
    while !rest.is_empty() {
        let start = memchr::memmem::find(rest, b"=?").unwrap_or(rest.len());
        let (before, from) = rest.split_at(start);
        let Some(word) = Word::parse(from) else {
            // Not a word: the two characters, if any are left, are text themselves.
            let plain = rest.len().min(start + 2);
            finish(&mut run, &mut text);
            text.push_str(&guess(&rest[..plain]));
            rest = &rest[plain..];
            continue;
        };
        let joins = run.is_some() && before.iter().all(u8::is_ascii_whitespace);
        if !joins {
            finish(&mut run, &mut text);
            text.push_str(&guess(before));
        }
        match &mut run {
            Some((charset, bytes)) if charset.eq_ignore_ascii_case(word.charset) => bytes.extend(word.bytes),
            _ => {
                finish(&mut run, &mut text);
                run = Some((word.charset, word.bytes));
            }
        }
        rest = &from[word.length..];
    }
    finish(&mut run, &mut text);
    text
}

fn finish(run: &mut Option<(&[u8], Vec<u8>)>, text: &mut String) {
    if let Some((charset, bytes)) = run.take() {
        text.push_str(&decode_charset(&bytes, charset));
    }
}

/// One encoded word: `=?charset?encoding?text?=`.
struct Word<'a> {
    charset: &'a [u8],
    bytes: Vec<u8>,
    length: usize,
}

impl<'a> Word<'a> {
    fn parse(from: &'a [u8]) -> Option<Self> {
        // The bound keeps words that never end from making this quadratic.
        let inner = from.get(..from.len().min(ENCODED_WORD_BYTES_MAX))?.strip_prefix(b"=?")?;
        let (charset, rest) = split_at_byte(inner, b'?')?;
        let (encoding, rest) = split_at_byte(rest, b'?')?;
        let end = memchr::memmem::find(rest, b"?=")?;
        let text = &rest[..end];
        let bytes = match encoding {
            b"b" | b"B" => super::base64::decode_all(text),
            b"q" | b"Q" => decode_q(text),
            _ => return None,
        };
        // RFC 2231 section 5: the language follows a star.
        let charset = charset.split(|b| *b == b'*').next().unwrap_or(charset);
        Some(Self { charset, bytes, length: 2 + inner.len() - rest.len() + end + 2 })
    }
}

/// The "Q" encoding (RFC 2047 section 4.2).
fn decode_q(text: &[u8]) -> Vec<u8> {
    // An escaped underline is an underline; so the plain ones become spaces before the escapes are undone.
    let spaced: Vec<u8> = text.iter().map(|b| if *b == b'_' { b' ' } else { *b }).collect();
    decode_escapes(&spaced, b'=')
}

/// Undoes `%XX` (RFC 2231) or `=XX`; what is malformed stays as it is.
pub(super) fn decode_escapes(text: &[u8], escape: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let pair = tail.get(..2).and_then(|pair| Some((hex(pair[0])?, hex(pair[1])?)));
        match pair {
            Some((high, low)) if *first == escape => {
                bytes.push(high << 4 | low);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

/// The value of a hexadecimal digit; lower case is forbidden (RFC 2045 section 6.7) and seen.
pub(super) fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// What stands before and after the first such byte.
pub(super) fn split_at_byte(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = memchr::memchr(at, bytes)?;
    Some((&bytes[..position], &bytes[position + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_text() {
        let cases: &[(&[u8], &str)] = &[
            (b"plain.txt", "plain.txt"),
            (b"=?utf-8?Q?R=C3=A4t_1=2Eexe?=", "R\u{e4}t 1.exe"),
            (b"=?ISO-8859-1?q?a=5Fb_c?=", "a_b c"),
            (b"=?utf-8?B?w6Q=?= =?utf-8?B?LmV4ZQ==?=", "\u{e4}.exe"),
            // A character cut in two by the mailer.
            (b"=?utf-8?B?ww==?=\r\n =?UTF-8?B?pA==?=", "\u{e4}"),
            (b"=?utf-8*en?Q?x?=.zip", "x.zip"),
            (b"a =?koi8-r?B?8NLJ18XU?= b", "a \u{41f}\u{440}\u{438}\u{432}\u{435}\u{442} b"),
            (b"=?utf-16?Q?=00x?=", "x"),
            (b"=?utf-16?Q?=FF=FEx=00?=", "x"),
            (b"=?broken", "=?broken"),
            (b"=?utf-8?X?abc?=", "=?utf-8?X?abc?="),
            (b"=?=?=?", "=?=?=?"),
            (b"\xe4.exe", "\u{e4}.exe"),
            (b"\xc3\xa4.exe", "\u{e4}.exe"),
            (b"=?nosuch?Q?=E4?=", "\u{e4}"),
        ];
        for (value, text) in cases {
            assert_eq!(decode_words(value), *text, "{}", value.escape_ascii());
        }
    }
}
