//! Searches for one content. Rule: the first place, or none.

use memchr::{memchr_iter, memchr2_iter, memmem};

/// The first place of `needle`, whose letters agree in both cases if `any_case`.
pub(crate) fn find(bytes: &[u8], needle: &[u8], any_case: bool) -> Option<usize> {
    if needle.len() > bytes.len() {
        return None;
    }
    if needle.len() == bytes.len() {
        let agrees = if any_case { bytes.eq_ignore_ascii_case(needle) } else { bytes == needle };
        return agrees.then_some(0);
    }
    if !any_case || !needle.iter().any(u8::is_ascii_alphabetic) {
        return memmem::find(bytes, needle);
    }
    let (at, byte) = rarest(needle)?;
    let last = bytes.len() - needle.len();
    let places = &bytes[at..=last + at];
    let agrees = |place: &usize| bytes[*place..*place + needle.len()].eq_ignore_ascii_case(needle);
    if byte.is_ascii_alphabetic() {
        memchr2_iter(byte.to_ascii_lowercase(), byte.to_ascii_uppercase(), places).find(agrees)
    } else {
        memchr_iter(byte, places).find(agrees)
    }
}

/// The byte that is seldom in text.
fn rarest(needle: &[u8]) -> Option<(usize, u8)> {
    const COMMON: &[u8] = b"etaoinsrhldcumfpgwybvkxjqz";
    let rank = |byte: u8| match byte {
        b' ' | 0 => 0,
        byte if byte.is_ascii_alphabetic() => {
            1 + COMMON.iter().position(|common| *common == byte.to_ascii_lowercase()).unwrap_or(COMMON.len())
        }
        byte if byte.is_ascii_digit() => 12,
        b'/' | b'=' | b'.' | b'-' | b'<' | b'>' | b'"' => 8,
        _ => 40,
    };
    needle.iter().copied().enumerate().max_by_key(|(_, byte)| rank(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_plain_search() {
        let texts: [&[u8]; 6] =
            [b"", b"a", b"Hello, hello", b"aAaAab", b"\0x\0X\0y", b"GET / HTTP/1.1\r\nHost: a\r\n"];
        let needles: [&[u8]; 7] = [b"a", b"HELLO", b"aab", b"\0x", b"x\0", b"host:", b"/"];
        for text in texts {
            for needle in needles {
                for any_case in [false, true] {
                    let same = |window: &[u8]| {
                        if any_case { window.eq_ignore_ascii_case(needle) } else { window == needle }
                    };
                    let want = text.windows(needle.len()).position(same);
                    assert_eq!(find(text, needle, any_case), want, "{needle:?} in {text:?}");
                }
            }
        }
    }
}
