//! A mail's header → the sticky buffers of its fields. Rule: a folded line is one line (RFC 5322 section 2.2.3), and nothing else
//! is changed.

use crate::http::Fill;
use crate::ruleset::sticky::Sticky;

const FIELDS: [(&str, Sticky); 8] = [
    ("from", Sticky::EmailFrom),
    ("to", Sticky::EmailTo),
    ("cc", Sticky::EmailCc),
    ("subject", Sticky::EmailSubject),
    ("date", Sticky::EmailDate),
    ("message-id", Sticky::EmailMessageId),
    ("x-mailer", Sticky::EmailMailer),
    ("received", Sticky::EmailReceived),
];

/// The fields of a header as it came, each an instance of its buffer.
pub(crate) fn header(lines: &[u8], fill: &mut Fill<'_>) {
    let mut field: Vec<u8> = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
        if !is_folded {
            one(&field, fill);
            field.clear();
        }
        field.extend_from_slice(line.trim_ascii_end());
    }
    one(&field, fill);
}

fn one(field: &[u8], fill: &mut Fill<'_>) {
    let Some(colon) = field.iter().position(|byte| *byte == b':') else { return };
    let (name, value) = (field[..colon].trim_ascii(), field[colon + 1..].trim_ascii());
    let known = FIELDS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
    if let Some((_, sticky)) = known {
        fill(*sticky, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_unfolded() {
        let mut got = Vec::new();
        let lines = b"Subject: one\r\n two\r\nX: y\r\nfrom : a@b\r\nReceived: 1\nReceived: 2";
        header(lines, &mut |sticky, bytes| {
            got.push((sticky.name(), String::from_utf8_lossy(bytes).into_owned()));
        });
        let got: Vec<(&str, &str)> = got.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let want = [
            ("email.subject", "one two"),
            ("email.from", "a@b"),
            ("email.received", "1"),
            ("email.received", "2"),
        ];
        assert_eq!(got, want);
    }
}
