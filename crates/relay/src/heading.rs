//! What people know a mail by: its From, To, Subject and Message-ID ([`Heading`]). Rule: hostile text, so bounded, one
//! line, and without control characters.

/// The fields, as the mail gives them.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// `From`.
    pub from: Option<Box<str>>,
    /// `To`.
    pub to: Option<Box<str>>,
    /// `Subject`, encoded words (RFC 2047) left as they are.
    pub subject: Option<Box<str>>,
    /// `Message-ID`.
    pub message_id: Option<Box<str>>,
    field: Vec<u8>,
    line_bytes: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    InHeader,
    Behind,
}

/// What is kept of one field.
const FIELD_BYTES_MAX: usize = 400;

impl Heading {
    /// More of the mail, cut anywhere. Costs nothing behind the header.
    pub fn push(&mut self, content: &[u8]) {
        for piece in content.split_inclusive(|b| *b == b'\n') {
            if self.place == Place::Behind {
                return;
            }
            self.piece(piece);
        }
    }

    /// Part of one line, with its LF if that has come.
    fn piece(&mut self, piece: &[u8]) {
        let is_folded = matches!(piece.first(), Some(b' ' | b'\t'));
        if self.line_bytes == 0 && !is_folded {
            self.complete();
        }
        let text = piece.strip_suffix(b"\n").unwrap_or(piece);
        let room = FIELD_BYTES_MAX.saturating_sub(self.field.len());
        self.field.extend_from_slice(&text[..text.len().min(room)]);
        self.line_bytes += piece.len();
        if piece.ends_with(b"\n") {
            if self.field.trim_ascii().is_empty() {
                self.place = Place::Behind;
                self.field = Vec::new();
            }
            self.line_bytes = 0;
        }
    }

    /// A field has come whole, with the lines that it was folded into.
    fn complete(&mut self) {
        let field = std::mem::take(&mut self.field);
        let Some(colon) = field.iter().position(|b| *b == b':') else { return };
        let (name, value) = (field[..colon].trim_ascii(), &field[colon + 1..]);
        let place = match name.to_ascii_lowercase().as_slice() {
            b"from" => &mut self.from,
            b"to" => &mut self.to,
            b"subject" => &mut self.subject,
            b"message-id" => &mut self.message_id,
            _ => return,
        };
        // The first counts: it is what most readers show.
        place.get_or_insert_with(|| text_of(value));
    }
}

fn text_of(value: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(value);
    // The CR of a fold is no space of the text.
    let visible = text.trim().chars().filter(|c| *c != '\r');
    visible.map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Fields<'a> = [Option<&'a str>; 4];

    fn read(pieces: &[&[u8]]) -> [Option<Box<str>>; 4] {
        let mut heading = Heading::default();
        pieces.iter().for_each(|piece| heading.push(piece));
        assert!(heading.field.capacity() <= FIELD_BYTES_MAX * 2);
        [heading.from, heading.to, heading.subject, heading.message_id]
    }

    #[test]
    fn fields_are_read_at_every_cut() {
        let long = format!("Subject: {}\r\n\r\n", "x".repeat(5000));
        let cases: [(&[u8], Fields<'_>); 5] = [
            (
                b"Received: x\r\nFROM: A <a@b.example>\r\nSubject: one\r\n\ttwo\r\nTo: c\r\n\r\nMessage-ID: body\r\n",
                [Some("A <a@b.example>"), Some("c"), Some("one two"), None],
            ),
            (b"Subject: first\r\nSubject: second\r\n\r\n", [None, None, Some("first"), None]),
            (b"Message-Id:<1@x>\n\n", [None, None, None, Some("<1@x>")]),
            (b"Subject: a\x1b[2Jb\r\n\r\n", [None, None, Some("a [2Jb"), None]),
            (b"\r\nSubject: body\r\n\r\n", [None; 4]),
        ];
        for (mail, expected) in cases {
            let expected = expected.map(|field| field.map(Box::from));
            assert_eq!(read(&[mail]), expected);
            for cut in 0..mail.len() {
                let (a, b) = mail.split_at(cut);
                assert_eq!(read(&[a, b]), expected, "cut at {cut} of {}", mail.escape_ascii());
            }
        }
        assert_eq!(read(&[long.as_bytes()])[2].as_deref().map(str::len), Some(FIELD_BYTES_MAX - 9));
    }
}
