//! Why e2guardian says something else of a page: [`Cause`]. Rule: a cause is shown and not supposed: without it both say the same.

use super::pages::Page;

/// What e2guardian does not see, or does not see each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Nothing that is in the page: asked again, it says what the gateway says.
    Again,
    /// The last byte of a page's text, which it loses.
    End,
    /// Characters that are written as references.
    References,
    /// Spaces and marks beyond ASCII, which it takes for parts of words.
    Marks,
    /// A page in UTF-8 whose phrases are listed in ISO 8859-1: it compares bytes.
    Charset,
    /// Letters beyond ASCII in other ways: it makes capitals among them small in pages, and not in lists.
    Letters,
    /// More than one of these.
    Several,
}

impl Cause {
    /// The simplest first.
    pub const ALL: [Self; 7] =
        [Self::Again, Self::End, Self::References, Self::Marks, Self::Charset, Self::Letters, Self::Several];

    pub fn name(self) -> &'static str {
        match self {
            Self::Again => "e2guardian says it when it is asked again",
            Self::End => "at the end of the text, whose last byte e2guardian loses",
            Self::References => "characters written as references, which e2guardian does not read",
            Self::Marks => "spaces and marks beyond ASCII, which e2guardian takes for parts of words",
            Self::Charset => "a page in UTF-8 and a list in ISO 8859-1, which e2guardian compares as bytes",
            Self::Letters => {
                "letters beyond ASCII, of which e2guardian makes capitals small in pages and not in lists"
            }
            Self::Several => "several of these",
        }
    }

    /// The page without the cause; nothing where that changes nothing. Words that no list has stand at its end, so that
    /// what is lost there is none that counts.
    pub fn without(self, page: &Page) -> Option<Page> {
        let bytes = match self {
            Self::Again => return Some(page.clone()),
            Self::End => page.bytes.clone(),
            Self::References => references_read(&page.bytes),
            Self::Marks => marks_as_spaces(&page.bytes),
            Self::Charset => iso_8859_1(&page.bytes)?,
            Self::Letters => ascii(&page.bytes),
            Self::Several => ascii(&marks_as_spaces(&references_read(&page.bytes))),
        };
        let is_same = self != Self::End && bytes == page.bytes;
        let ended = [&bytes[..], b" quiet evening "].concat();
        let content_type = match self {
            Self::Charset => String::from("text/html; charset=iso-8859-1"),
            _ => page.content_type.clone(),
        };
        (!is_same).then(|| Page { bytes: ended, content_type, ..page.clone() })
    }
}

/// Each `&…;` is the character that it stands for, where that is one byte of ISO 8859-1, and else a space.
fn references_read(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        let end = behind.iter().take(12).position(|byte| *byte == b';').filter(|_| *first == b'&');
        match end.and_then(|end| Some((character(&behind[..end])?, end))) {
            Some((byte, end)) => {
                out.push(byte);
                rest = &behind[end + 1..];
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    out
}

/// What a reference stands for, by what is between `&` and `;`.
fn character(name: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(name).ok()?;
    let number = match text.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        },
        None if name.iter().all(u8::is_ascii_alphanumeric) => u32::from(b' '),
        None => return None,
    };
    let byte = u8::try_from(number).unwrap_or(b' ');
    Some(if matches!(byte, b'<' | b'>' | b'&') { b' ' } else { byte })
}

/// What is beyond ASCII and no letter is a space.
fn marks_as_spaces(bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let mark = |it: char| !it.is_ascii() && !it.is_alphanumeric();
            text.replace(mark, " ").into_bytes()
        }
        Err(_) => {
            let is_mark = |byte: &u8| (0x80..0xc0).contains(byte) && ![0xaa, 0xb5, 0xba].contains(byte);
            bytes.iter().map(|byte| if is_mark(byte) { b' ' } else { *byte }).collect()
        }
    }
}

/// The same page in another charset, where that has all its characters.
fn iso_8859_1(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.chars().map(|it| u8::try_from(u32::from(it)).ok()).collect()
}

fn ascii(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(u8::is_ascii).collect()
}
