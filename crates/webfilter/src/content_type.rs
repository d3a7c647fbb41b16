//! What a server says of its content: [`ContentType`]. Rule: read as browsers read it; of two parameters of one name the first holds.

/// A `Content-Type` (RFC 9110 section 8.3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentType {
    /// In lower case; empty where the server says nothing.
    pub media_type: String,
    /// The label of a charset, in lower case.
    pub charset: Option<String>,
}

impl ContentType {
    /// Reads the value of the field.
    pub fn parse(text: &str) -> Self {
        let mut pieces = text.split(';');
        let media_type = pieces.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = pieces.find_map(|piece| {
            let (name, value) = piece.split_once('=')?;
            let label = value.trim().trim_matches(['"', '\'']).trim().to_ascii_lowercase();
            (name.trim().eq_ignore_ascii_case("charset") && !label.is_empty()).then_some(label)
        });
        Self { media_type, charset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_charsets() {
        for (text, media_type, charset) in [
            ("text/html", "text/html", None),
            ("Text/HTML; Charset=ISO-8859-2", "text/html", Some("iso-8859-2")),
            ("text/html;charset=\"Shift_JIS\"", "text/html", Some("shift_jis")),
            ("text/html; level=1 ; charset = 'koi8-r' ; charset=big5", "text/html", Some("koi8-r")),
            ("text/html; charset=; x", "text/html", None),
            ("; charset=big5", "", Some("big5")),
            ("", "", None),
        ] {
            let expected = ContentType { media_type: media_type.into(), charset: charset.map(Into::into) };
            assert_eq!(ContentType::parse(text), expected, "{text}");
        }
    }
}
