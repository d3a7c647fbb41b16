//! `content` and its modifiers. Rule: what a content's bytes are and where they may stand, nothing of how they are searched.

/// A number, or what has been read from the buffer before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Amount {
    Number(i64),
    /// The rule's variable of that number.
    Variable(u8),
}

/// Where a content may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// From `offset` on, within `depth` bytes of it: a match ends there.
    Absolute { offset: Amount, depth: Option<Amount> },
    /// From `distance` behind the match before, within so many bytes of it.
    Relative { distance: Amount, within: Option<Amount> },
}

impl Place {
    /// Anywhere in the buffer.
    pub const ANYWHERE: Self = Self::Absolute { offset: Amount::Number(0), depth: None };

    pub fn is_relative(self) -> bool {
        matches!(self, Self::Relative { .. })
    }
}

/// Whether a content is what its rule is first looked for by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Fast {
    /// If it is the best one.
    #[default]
    Perhaps,
    /// The rule says so.
    Yes,
    /// These bytes of it.
    Chop { offset: u16, length: u16 },
}

/// Bytes to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub bytes: Box<[u8]>,
    /// Whether they are not to be there.
    pub is_negated: bool,
    /// Whether ASCII letters agree in both cases.
    pub any_case: bool,
    pub place: Place,
    /// Whether they are to be the last of the buffer.
    pub ends_buffer: bool,
    pub fast: Fast,
}

/// How long a content may be.
pub(crate) const CONTENT_BYTES_MAX: usize = 8192;
/// How far places may be from each other.
pub(crate) const DISTANCE_MAX: i64 = 1 << 20;

/// `a|0D 0A|b`, the characters `" ; : \` behind a backslash, too. Where it is wrong, at which byte.
pub(crate) fn bytes_of(text: &str) -> Result<Vec<u8>, (usize, String)> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut hex, mut digit, mut is_escaped) = (None, None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (hex, byte) {
            (Some(_), b'|') if digit.is_some() => return Err((at, "half a byte before |".to_owned())),
            (Some(_), b'|') => hex = None,
            (Some(_), b' ' | b',' | b'\t') => {}
            (Some(_), byte) => {
                let value = (byte as char).to_digit(16);
                let value =
                    value.ok_or_else(|| (at, format!("{:?} is no hexadecimal digit", byte as char)))? as u8;
                match digit.take() {
                    Some(high) => bytes.push(high << 4 | value),
                    None => digit = Some(value),
                }
            }
            (None, b'\\') if !is_escaped => {
                is_escaped = true;
                continue;
            }
            (None, b'|') if !is_escaped => hex = Some(at),
            (None, byte) if is_escaped && !b"\";:\\|".contains(&byte) => {
                bytes.extend_from_slice(&[b'\\', byte])
            }
            (None, byte) => bytes.push(byte),
        }
        is_escaped = false;
    }
    match (hex, is_escaped) {
        (Some(at), _) => Err((at, "the closing | is missing".to_owned())),
        (None, true) => Err((text.len(), "nothing stands behind the last backslash".to_owned())),
        _ if bytes.is_empty() => Err((0, "an empty content is found everywhere".to_owned())),
        _ if bytes.len() > CONTENT_BYTES_MAX => Err((0, format!("more than {CONTENT_BYTES_MAX} bytes"))),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_hexadecimal() {
        for (text, want) in [
            ("abc", b"abc".as_slice()),
            ("a|0D 0a|b", b"a\r\nb"),
            ("|3B|", b";"),
            (r#"a\;b\"c\\d\:"#, b"a;b\"c\\d:"),
            ("a|00FF|", b"a\0\xff"),
            (r"C:\Windows", b"C:\\Windows"),
        ] {
            assert_eq!(bytes_of(text).unwrap(), want, "{text}");
        }
        for (wrong, at) in [("", 0), ("a|0", 1), ("|0 |", 3), ("|0g|", 2), ("a\\", 2)] {
            assert_eq!(bytes_of(wrong).unwrap_err().0, at, "{wrong}");
        }
    }
}
