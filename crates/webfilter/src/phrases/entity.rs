//! Character references of HTML: `&eacute;`, `&#101;`, `&#x65;`. Rule: those of letters and of what stands between words;
//! any other is left as it is written.

/// The longest reference that is understood, `&` and `;` included.
pub(super) const REFERENCE_BYTES_MAX: usize = 12;

/// What one more byte makes of a reference that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It may still become one.
    More,
    /// It is this character; the byte belongs to it, or not.
    Char { it: char, takes_byte: bool },
    /// It is none; the byte belongs to what follows.
    Not,
}

/// Reads the byte behind `so_far`, which begins with `&`.
pub(super) fn read(so_far: &[u8], byte: u8) -> Reading {
    let name = so_far.get(1..).unwrap_or_default();
    let is_number = name.first() == Some(&b'#');
    let goes_on = match name {
        [] => byte == b'#' || byte.is_ascii_alphabetic(),
        [b'#'] => byte.is_ascii_digit() || matches!(byte, b'x' | b'X'),
        [b'#', b'x' | b'X', ..] => byte.is_ascii_hexdigit(),
        [b'#', ..] => byte.is_ascii_digit(),
        _ => byte.is_ascii_alphanumeric(),
    };
    if goes_on && so_far.len() < REFERENCE_BYTES_MAX {
        return Reading::More;
    }
    let it = if is_number {
        number(name)
    } else if byte == b';' {
        named(name)
    } else {
        None
    };
    match it {
        Some(it) => Reading::Char { it, takes_byte: byte == b';' },
        None => Reading::Not,
    }
}

fn number(name: &[u8]) -> Option<char> {
    let text = std::str::from_utf8(name.get(1..)?).ok()?;
    let number = match text.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    match number {
        // Browsers read these as windows-1252 (HTML section 13.2.5.80).
        0x80..=0x9f => super::charset::of_windows_1252(u8::try_from(number).ok()?),
        _ => char::from_u32(number),
    }
}

fn named(name: &[u8]) -> Option<char> {
    let name = std::str::from_utf8(name).ok()?;
    let latin = LATIN_1.iter().position(|known| *known == name);
    if let Some(at) = latin {
        return char::from_u32(0xa0 + u32::try_from(at).ok()?);
    }
    OTHERS.iter().find(|(known, _)| *known == name).map(|(_, it)| *it)
}

/// From U+00A0 on.
const LATIN_1: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf", "laquo",
    "not", "shy", "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro", "para", "middot",
    "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",
    "Atilde", "Auml", "Aring", "AElig", "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute",
    "Icirc", "Iuml", "ETH", "Ntilde", "Ograve", "Oacute", "Ocirc", "Otilde", "Ouml", "times", "Oslash",
    "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN", "szlig", "agrave", "aacute", "acirc", "atilde",
    "auml", "aring", "aelig", "ccedil", "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc",
    "iuml", "eth", "ntilde", "ograve", "oacute", "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave",
    "uacute", "ucirc", "uuml", "yacute", "thorn", "yuml",
];

const OTHERS: [(&str, char); 32] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("lsquo", '\u{2018}'),
    ("rsquo", '\u{2019}'),
    ("ldquo", '\u{201c}'),
    ("rdquo", '\u{201d}'),
    ("sbquo", '\u{201a}'),
    ("bdquo", '\u{201e}'),
    ("ndash", '\u{2013}'),
    ("mdash", '\u{2014}'),
    ("hellip", '\u{2026}'),
    ("bull", '\u{2022}'),
    ("ensp", '\u{2002}'),
    ("emsp", '\u{2003}'),
    ("thinsp", '\u{2009}'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("excl", '!'),
    ("comma", ','),
    ("period", '.'),
    ("colon", ':'),
    ("sol", '/'),
    ("commat", '@'),
    ("OElig", '\u{152}'),
    ("oelig", '\u{153}'),
    ("Scaron", '\u{160}'),
    ("scaron", '\u{161}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        for (text, expected) in [
            ("&eacute;", Some('é')),
            ("&nbsp;", Some('\u{a0}')),
            ("&yuml;", Some('ÿ')),
            ("&amp;", Some('&')),
            ("&#101;", Some('e')),
            ("&#101 ", Some('e')),
            ("&#x65;", Some('e')),
            ("&#X65<", Some('e')),
            ("&#150;", Some('\u{2013}')),
            ("&nothing;", None),
            ("&eacute ", None),
            ("& ", None),
            ("&#;", None),
            ("&#x;", None),
            ("&#99999999;", None),
            ("&averylongname;", None),
        ] {
            let mut so_far = Vec::new();
            let mut got = None;
            for byte in text.bytes() {
                if so_far.is_empty() {
                    so_far.push(byte);
                    continue;
                }
                match read(&so_far, byte) {
                    Reading::More => so_far.push(byte),
                    Reading::Char { it, .. } => {
                        got = Some(it);
                        break;
                    }
                    Reading::Not => break,
                }
                assert!(so_far.len() <= REFERENCE_BYTES_MAX);
            }
            assert_eq!(got, expected, "{text}");
        }
    }
}
