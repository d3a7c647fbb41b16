//! What a buffer is made into before it is looked at. Rule: each is known by the manual's word ("Transformations").

use crate::http::unescaped;

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
            "xor" => return Some(key(value.unwrap_or_default()).map(Self::Xor)),
            "to_md5" | "to_sha1" | "to_sha256" | "pcrexform" | "domain" | "tld" | "luaxform" | "gunzip"
            | "zlib_deflate" | "from_base64" | "dom_extract" => {
                return Some(Err("this transformation is not made here".to_owned()));
            }
            _ => return None,
        };
        Some(Ok(plain))
    }

    /// The buffer as it is afterwards.
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
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
        ] {
            let transform = Transform::of(word, value).unwrap().unwrap();
            assert_eq!(transform.apply(bytes.as_bytes()), want.as_bytes(), "{word}");
        }
        assert!(Transform::of("xor", Some("0")).unwrap().is_err());
        assert!(Transform::of("tld", None).unwrap().is_err());
        assert!(Transform::of("nocase", None).is_none());
    }
}
