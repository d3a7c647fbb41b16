//! What a buffer is made into before it is looked at. Rule: each is known by the manual's word ("Transformations").

use super::words::unquoted;
use crate::http::unescaped;
use lockgate_perl::{Flags, Found, Perl};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What the expression of one `pcrexform` may cost for one buffer, in steps: some two milliseconds.
const CAPTURE_STEPS_MAX: u64 = 200_000;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Transform {
    DotPrefix,
    StripWhitespace,
    CompressWhitespace,
    ToLowercase,
    ToUppercase,
    HeaderLowercase,
    StripPseudoHeaders,
    UrlDecode,
    Xor(Box<[u8]>),
    Md5,
    Sha1,
    Sha256,
    /// What the expression's first group has; the buffer as it is where there is no match.
    Capture(Capture),
}

/// An expression with a group: known by its text.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    text: Box<str>,
    perl: Arc<Perl>,
}

impl PartialEq for Capture {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Capture {}

impl Hash for Capture {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Whether a buffer could be made into what it is to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Made {
    /// It could.
    #[default]
    Whole,
    /// It would have cost more than it may.
    Spent,
}

impl Transform {
    /// The step of that word; `None` if it is no transformation.
    pub fn of(word: &str, value: Option<&str>) -> Option<Result<Self, String>> {
        let plain = match word {
            "dotprefix" => Self::DotPrefix,
            "strip_whitespace" => Self::StripWhitespace,
            "compress_whitespace" => Self::CompressWhitespace,
            "to_lowercase" => Self::ToLowercase,
            "to_uppercase" => Self::ToUppercase,
            "header_lowercase" => Self::HeaderLowercase,
            "strip_pseudo_headers" => Self::StripPseudoHeaders,
            "url_decode" => Self::UrlDecode,
            "to_md5" => Self::Md5,
            "to_sha1" => Self::Sha1,
            "to_sha256" => Self::Sha256,
            "xor" => return Some(key(value.unwrap_or_default()).map(Self::Xor)),
            "pcrexform" => return Some(Capture::parse(value.unwrap_or_default()).map(Self::Capture)),
            "domain" | "tld" | "luaxform" | "gunzip" | "zlib_deflate" | "from_base64" | "dom_extract" => {
                return Some(Err("this transformation is not made here".to_owned()));
            }
            _ => return None,
        };
        Some(Ok(plain))
    }

    /// The buffer as it is afterwards.
    pub fn apply(&self, bytes: &[u8], made: &mut Made) -> Vec<u8> {
        match self {
            Self::DotPrefix => [b".", bytes].concat(),
            Self::StripWhitespace => bytes.iter().copied().filter(|byte| !is_space(*byte)).collect(),
            Self::CompressWhitespace => compressed(bytes),
            Self::ToLowercase => bytes.to_ascii_lowercase(),
            Self::ToUppercase => bytes.to_ascii_uppercase(),
            Self::HeaderLowercase => names_in_lowercase(bytes),
            Self::StripPseudoHeaders => without_pseudo_headers(bytes),
            Self::UrlDecode => unescaped(
                &bytes.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect::<Vec<_>>(),
            ),
            Self::Xor(key) => bytes.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect(),
            Self::Md5 => Md5::digest(bytes).to_vec(),
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Capture(capture) => capture.of(bytes, made).to_vec(),
        }
    }
}

impl Capture {
    fn parse(value: &str) -> Result<Self, String> {
        let text = unquoted(value);
        let perl = Perl::parse(text, Flags::default())
            .map_err(|unread| format!("pcrexform: at {}: {}", unread.at + 1, unread.what))?;
        if !perl.has_group(1) {
            return Err("pcrexform: the expression needs a group, in parentheses".to_owned());
        }
        Ok(Self { text: text.into(), perl: Arc::new(perl) })
    }

    fn of<'b>(&self, bytes: &'b [u8], made: &mut Made) -> &'b [u8] {
        let mut steps = CAPTURE_STEPS_MAX;
        match self.perl.find_group(bytes, 1, &mut steps) {
            Found::At(from, to) => bytes.get(from..to).unwrap_or(bytes),
            Found::Nowhere => bytes,
            Found::Spent => {
                *made = Made::Spent;
                bytes
            }
        }
    }
}

fn key(text: &str) -> Result<Box<[u8]>, String> {
    let text = text.trim_matches('"');
    let wrong = || format!("xor: {text:?} is no key in hexadecimal");
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let key: Option<Vec<u8>> = pairs.map(byte).collect();
    key.filter(|key| !key.is_empty() && text.len().is_multiple_of(2))
        .map(Vec::into_boxed_slice)
        .ok_or_else(wrong)
}

/// What `isspace` of C takes for white space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes.iter().copied() {
        match (is_space(byte), out.last()) {
            (true, Some(b' ')) => {}
            (true, _) => out.push(b' '),
            (false, _) => out.push(byte),
        }
    }
    out
}

fn names_in_lowercase(lines: &[u8]) -> Vec<u8> {
    let mut is_name = true;
    let lowered = lines.iter().map(|byte| {
        is_name = *byte == b'\n' || (is_name && *byte != b':');
        if is_name { byte.to_ascii_lowercase() } else { *byte }
    });
    lowered.collect()
}

fn without_pseudo_headers(lines: &[u8]) -> Vec<u8> {
    lines
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !line.starts_with(b":"))
        .flatten()
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_does_what_its_word_says() {
        let mut made = Made::default();
        for (word, value, bytes, want) in [
            ("dotprefix", None, "a.b", ".a.b"),
            ("strip_whitespace", None, "a \t b\r\n", "ab"),
            ("compress_whitespace", None, "a \t b\r\n", "a b "),
            ("to_lowercase", None, "aB", "ab"),
            ("to_uppercase", None, "aB", "AB"),
            ("header_lowercase", None, "A-B: C\r\nD: E\r\n", "a-b: C\r\nd: E\r\n"),
            ("strip_pseudo_headers", None, ":path: /\r\na: b\r\n", "a: b\r\n"),
            ("url_decode", None, "a%20b+c%zz%4", "a b c%zz%4"),
            ("xor", Some("\"0001\""), "ab", "ac"),
            ("pcrexform", Some("\"^[A-Z]+ +(.*) +HTTP\""), "GET /a b HTTP/1.1", "/a b"),
            ("pcrexform", Some("\"(none)\""), "as it is", "as it is"),
        ] {
            let transform = Transform::of(word, value).unwrap().unwrap();
            assert_eq!(transform.apply(bytes.as_bytes(), &mut made), want.as_bytes(), "{word}");
        }
        assert_eq!(made, Made::Whole);
        let digest = |word: &str| Transform::of(word, None).unwrap().unwrap().apply(b"", &mut Made::Whole);
        assert_eq!(digest("to_md5")[..4], [0xd4, 0x1d, 0x8c, 0xd9]);
        assert_eq!(digest("to_sha1")[..4], [0xda, 0x39, 0xa3, 0xee]);
        assert_eq!(digest("to_sha256")[..4], [0xe3, 0xb0, 0xc4, 0x42]);
        let slow = Transform::of("pcrexform", Some("\"(a+)+\\1b\"")).unwrap().unwrap();
        slow.apply(&[b'a'; 4096], &mut made);
        assert_eq!(made, Made::Spent);
        assert!(Transform::of("pcrexform", Some("\"no group\"")).unwrap().is_err());
        assert!(Transform::of("xor", Some("0")).unwrap().is_err());
        assert!(Transform::of("tld", None).unwrap().is_err());
        assert!(Transform::of("nocase", None).is_none());
    }
}
