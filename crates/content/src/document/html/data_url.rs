//! What a `data:` URL says (RFC 2397): its head, and the bytes behind the comma. Rule: as browsers read it.

/// The longest media type with its parameters.
pub(super) const HEAD_BYTES_MAX: usize = 256;

/// The head of a URL, which has ended with its comma.
pub(super) struct Head {
    /// The media type, in lower case without parameters.
    pub(super) media_type: Option<String>,
    pub(super) coding: Coding,
}

/// How the bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Base64,
    Percent,
}

/// Whether the byte may stand in a head.
pub(super) fn is_head(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/;=.+-_*%!#$&^|~ \t\r\n".contains(&byte)
}

/// Reads a head; `None` where it is that of no URL.
pub(super) fn head(text: &[u8]) -> Option<Head> {
    let text: String = String::from_utf8_lossy(text).to_ascii_lowercase();
    let (media_type, parameters) = text.split_once(';').map_or((&text[..], ""), |(t, p)| (t, p));
    let media_type = media_type.trim();
    if !media_type.is_empty() && !media_type.contains('/') || media_type.contains(char::is_whitespace) {
        return None;
    }
    let is_base64 = parameters.split(';').any(|parameter| parameter.trim() == "base64");
    let media_type = (!media_type.is_empty()).then(|| media_type.to_owned());
    Some(Head { media_type, coding: if is_base64 { Coding::Base64 } else { Coding::Percent } })
}

/// The value of a character of base64; its other alphabet as well (RFC 4648 section 5).
pub(super) fn sextet(character: u8) -> Option<u8> {
    Some(match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Undoes the bytes one by one.
#[derive(Debug)]
pub(super) struct Body {
    coding: Coding,
    /// Digits of `%xx` that have come.
    percent: Option<Option<u8>>,
    bits: u32,
    characters: u32,
}

impl Body {
    pub(super) fn new(coding: Coding) -> Self {
        Self { coding, percent: None, bits: 0, characters: 0 }
    }

    /// Whether the byte may stand in it.
    pub(super) fn takes(&self, byte: u8) -> bool {
        match self.coding {
            Coding::Percent => true,
            Coding::Base64 => {
                sextet(byte).is_some()
                    || byte.is_ascii_whitespace()
                    || matches!(byte, b'=' | b'%' | b'\\' | b'&' | b'#' | b';')
            }
        }
    }

    /// One byte more; what it makes is added.
    pub(super) fn push(&mut self, byte: u8, made: &mut Vec<u8>) {
        let digit = char::from(byte).to_digit(16).map(|digit| digit as u8);
        match (self.percent.take(), digit) {
            (None, _) if byte == b'%' => self.percent = Some(None),
            (None, _) => self.plain(byte, made),
            (Some(None), Some(high)) => self.percent = Some(Some(high)),
            (Some(Some(high)), Some(low)) => self.plain(high << 4 | low, made),
            // It was no escape.
            (Some(_), _) => {
                self.plain(b'%', made);
                self.plain(byte, made);
            }
        }
    }

    fn plain(&mut self, byte: u8, made: &mut Vec<u8>) {
        if self.coding == Coding::Percent {
            made.push(byte);
            return;
        }
        let Some(value) = sextet(byte) else { return };
        self.bits = self.bits << 6 | u32::from(value);
        self.characters += 1;
        if self.characters == 4 {
            made.extend_from_slice(&self.bits.to_be_bytes()[1..]);
            self.characters = 0;
        }
    }

    /// The URL has ended: a last quantum gives the whole bytes that are in it.
    pub(super) fn finish(&mut self, made: &mut Vec<u8>) {
        let bytes = self.characters as usize * 6 / 8;
        let bits = self.bits << (6 * (4 - self.characters.min(4)));
        made.extend_from_slice(&bits.to_be_bytes()[1..=bytes]);
        self.characters = 0;
    }
}
