//! The charset of a page or a list: [`Charset`]. Rule: what is not said is UTF-8, and what is not UTF-8 is windows-1252.

use encoding_rs::{Decoder, Encoding, UTF_8, WINDOWS_1252};

/// How far into a page its charset may be declared (HTML section 13.2.3.2).
pub(super) const PRESCAN_BYTES: usize = 1024;
/// How much is decoded at once.
const DECODED_BYTES: usize = 4 << 10;

/// How a page's bytes become UTF-8.
pub(super) enum Charset {
    /// They are UTF-8 or, where they cannot be, windows-1252: nothing needs to be made of them yet.
    Plain,
    /// Any other.
    Other(Box<Decoder>),
}

impl Charset {
    /// By the mark at a page's beginning, what its server said, or what it says itself.
    pub fn of_page(head: &[u8], declared: Option<&[u8]>) -> Self {
        let by_mark = Encoding::for_bom(head).map(|(encoding, _)| encoding);
        let by_server = || declared.and_then(Encoding::for_label);
        let encoding = by_mark.or_else(by_server).or_else(|| in_head(head).map(Encoding::output_encoding));
        match encoding {
            Some(encoding) if encoding != UTF_8 && encoding != WINDOWS_1252 => {
                Self::Other(Box::new(encoding.new_decoder_with_bom_removal()))
            }
            _ => Self::Plain,
        }
    }
}

/// Decodes a chunk in pieces of UTF-8.
pub(super) fn decode(decoder: &mut Decoder, mut chunk: &[u8], is_last: bool, piece: &mut dyn FnMut(&[u8])) {
    let mut decoded = [0; DECODED_BYTES];
    loop {
        let (result, read, written, _) = decoder.decode_to_utf8(chunk, &mut decoded, is_last);
        piece(&decoded[..written]);
        chunk = chunk.get(read..).unwrap_or_default();
        if result == encoding_rs::CoderResult::InputEmpty {
            return;
        }
    }
}

/// The label behind the first `charset=` or, in XML, `encoding=`.
fn in_head(head: &[u8]) -> Option<&'static Encoding> {
    let head = head.get(..PRESCAN_BYTES).unwrap_or(head).to_ascii_lowercase();
    let behind =
        |name: &[u8]| memchr::memmem::find_iter(&head, name).map(|at| at + name.len()).collect::<Vec<_>>();
    let declared = |at: usize| {
        let value = head.get(at..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let value = value.strip_prefix(b"\"").or(value.strip_prefix(b"'")).unwrap_or(value);
        let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.+".contains(byte);
        let end = value.iter().position(|byte| !is_label(byte)).unwrap_or(value.len());
        Encoding::for_label(&value[..end])
    };
    behind(b"charset").into_iter().chain(behind(b"encoding")).find_map(declared)
}

/// One byte of windows-1252.
pub(super) fn of_windows_1252(byte: u8) -> Option<char> {
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(std::slice::from_ref(&byte));
    text.chars().next()
}

/// What the charset of a list may be, by its file's name where its bytes are not UTF-8.
pub(super) fn of_list(file_name: &str, bytes: &[u8]) -> Vec<&'static Encoding> {
    if std::str::from_utf8(bytes).is_ok() {
        return vec![UTF_8];
    }
    let name = file_name.to_ascii_lowercase();
    let known = NAMES.iter().find(|(part, _)| name.contains(part));
    let labels = known.map_or(&["windows-1252"][..], |(_, labels)| labels);
    labels.iter().filter_map(|label| Encoding::for_label(label.as_bytes())).collect()
}

/// Parts of the names of e2guardian's lists. Where several charsets are in use, phrases are read as each.
const NAMES: [(&str, &[&str]); 11] = [
    ("big5", &["big5"]),
    ("gb2312", &["gbk"]),
    ("chinese", &["gbk", "big5"]),
    ("japanese", &["shift_jis", "euc-jp"]),
    ("koi8", &["koi8-r"]),
    ("1251", &["windows-1251"]),
    ("russian", &["windows-1251", "koi8-r"]),
    ("polish", &["iso-8859-2", "windows-1250"]),
    ("czech", &["iso-8859-2", "windows-1250"]),
    ("turkish", &["windows-1254"]),
    ("greek", &["windows-1253"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_says_of_itself() {
        for (head, label) in [
            (&b"<meta charset=\"koi8-r\">"[..], Some("KOI8-R")),
            (b"<META http-equiv=content-type content='text/html; charset = Shift_JIS'>", Some("Shift_JIS")),
            (b"<?xml version='1.0' encoding='gbk'?>", Some("GBK")),
            (b"<meta charset=nothing><meta charset=big5>", Some("Big5")),
            (b"charset", None),
            (b"", None),
        ] {
            assert_eq!(in_head(head).map(Encoding::name), label, "{head:?}");
        }
        let is_other = |head: &[u8], declared| matches!(Charset::of_page(head, declared), Charset::Other(_));
        assert!(is_other(b"\xff\xfea\0", None));
        assert!(is_other(b"<meta charset=utf-8>", Some(&b"koi8-r"[..])));
        assert!(!is_other(b"\xef\xbb\xbf", Some(&b"koi8-r"[..])));
        assert!(!is_other(b"<meta charset=utf-16>", None), "who can read that knows better");
        assert!(!is_other(b"<meta charset=iso-8859-1>", None));
    }

    #[test]
    fn the_charset_of_a_list() {
        let names = |file, bytes: &[u8]| of_list(file, bytes).iter().map(|it| it.name()).collect::<Vec<_>>();
        assert_eq!(names("weighted_russian", "секс".as_bytes()), ["UTF-8"]);
        assert_eq!(names("weighted_russian", b"\xf1\xe5"), ["windows-1251", "KOI8-R"]);
        assert_eq!(names("weighted", b"\xe4"), ["windows-1252"]);
    }
}
