//! Why e2guardian says something else of a page: [`Cause`]. Rule: a cause is shown and not supposed: without it both say the same.

use super::super::web_lines::phrases;
use super::pages::Page;
use std::fs;
use std::path::Path;

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
    /// A phrase that excepts the page, at which it counts no further.
    Exception,
    /// A phrase in the first line of a list that has a byte order mark in front of it: it passes that line over.
    FirstLine,
    /// More than one of these.
    Several,
}

/// Phrases of the lists that are causes.
pub struct Listed {
    exceptions: Vec<Vec<u8>>,
    first_lines: Vec<Vec<u8>>,
}

impl Listed {
    pub fn read(lists: &Path) -> Self {
        let mut listed = Self { exceptions: Vec::new(), first_lines: Vec::new() };
        let excepting = fs::read_to_string(lists.join("exceptionphraselist")).unwrap_or_default();
        let included = excepting.lines().filter_map(|line| line.strip_prefix(".Include<")?.split('>').next());
        for file in included {
            let bytes = fs::read(file).unwrap_or_default();
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"<"));
            listed.exceptions.extend(lines.flat_map(phrases).map(<[u8]>::to_vec));
        }
        listed.read_first_lines(&lists.join("phraselists"));
        listed
    }

    /// Of all files below.
    fn read_first_lines(&mut self, directory: &Path) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.read_first_lines(&path);
            }
            let bytes = fs::read(&path).unwrap_or_default();
            let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            if let Some(line) = first.strip_prefix(b"\xef\xbb\xbf<") {
                self.first_lines.extend(phrases(&[b"<", line].concat()).into_iter().map(<[u8]>::to_vec));
            }
        }
    }
}

impl Cause {
    /// The simplest first.
    pub const ALL: [Self; 9] = [
        Self::Again,
        Self::End,
        Self::References,
        Self::Marks,
        Self::Charset,
        Self::Letters,
        Self::Exception,
        Self::FirstLine,
        Self::Several,
    ];

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
            Self::Exception => "a phrase that excepts the page, at which e2guardian counts no further",
            Self::FirstLine => {
                "a phrase in the first line of a list, which e2guardian passes over for the byte order mark before it"
            }
            Self::Several => "several of these",
        }
    }

    /// The page without the cause; nothing where that changes nothing. Words that no list has stand at its end, so that
    /// what is lost there is none that counts.
    pub fn without(self, page: &Page, listed: &Listed) -> Option<Page> {
        let bytes = match self {
            Self::Again => return Some(page.clone()),
            Self::End => page.bytes.clone(),
            Self::References => references_read(&page.bytes),
            Self::Marks => marks_as_spaces(&page.bytes),
            Self::Charset => iso_8859_1(&page.bytes)?,
            Self::Letters => ascii(&page.bytes),
            Self::Exception => without_phrases(&page.bytes, &listed.exceptions),
            Self::FirstLine => without_phrases(&page.bytes, &listed.first_lines),
            Self::Several => {
                let bytes = ascii(&marks_as_spaces(&references_read(&page.bytes)));
                without_phrases(&without_phrases(&bytes, &listed.exceptions), &listed.first_lines)
            }
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

/// A space in place of each.
fn without_phrases(bytes: &[u8], phrases: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        let starts = |phrase: &&Vec<u8>| {
            let start = rest.get(..phrase.len()).filter(|start| !start.is_empty());
            start.is_some_and(|start| start.eq_ignore_ascii_case(phrase))
        };
        let (next, byte) = match phrases.iter().find(starts) {
            Some(phrase) => (&rest[phrase.len()..], b' '),
            None => (behind, *first),
        };
        out.push(byte);
        rest = next;
    }
    out
}

fn ascii(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(u8::is_ascii).collect()
}
