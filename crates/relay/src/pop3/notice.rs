//! What a reader gets in place of a mail, or at the end of one that was cut. Rule: plain text of our own, in which
//! nothing of the mail's can be anything but text.

use crate::events::timestamp;
use crate::heading::Heading;
use crate::reasons::{because, of_finding};
use lockgate_inspect::Judgement;
use lockgate_model::TransactionId;
use std::fmt::Write;
use std::time::SystemTime;

/// A mail in place of another.
pub fn mail(judgement: &Judgement, heading: &Heading, id: TransactionId, hostname: &str) -> String {
    let date = timestamp::of_mail(SystemTime::now());
    let mut text = format!(
        "From: Lockgate <lockgate@{hostname}>\r\n\
         Date: {date}\r\n\
         Message-ID: <{id}.notice@{hostname}>\r\n\
         Subject: A mail to you was held back\r\n\
         Auto-Submitted: auto-generated\r\n\
         MIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: 8bit\r\n\
         \r\n\
         A mail to you was held back, because it holds what is not let through:\r\n\r\n"
    );
    push_reasons(&mut text, judgement);
    text.push_str("\r\nThe mail said of itself:\r\n\r\n");
    for (name, value) in [("From", &heading.from), ("Subject", &heading.subject)] {
        let _ = write!(text, "    {name}: {}\r\n", value.as_deref().unwrap_or("(nothing)"));
    }
    push_end(&mut text, id);
    text
}

/// The end of a mail whose first part has gone to the reader.
pub fn end(judgement: &Judgement, id: TransactionId) -> String {
    let mut text = String::from(
        "\r\n\r\n-- \r\nThe rest of this mail was cut off, because it holds what is not let through:\r\n\r\n",
    );
    push_reasons(&mut text, judgement);
    text.push_str("\r\nDo not open its attachments; they are incomplete.\r\n");
    push_end(&mut text, id);
    text
}

fn push_reasons(text: &mut String, judgement: &Judgement) {
    if judgement.deciding_finding().is_none() {
        let _ = write!(text, "    {}\r\n", one_line(&because(judgement)));
    }
    for finding in judgement.findings.iter().take(8) {
        let _ = write!(text, "    {}\r\n", one_line(&of_finding(finding)));
    }
}

fn push_end(text: &mut String, id: TransactionId) {
    let _ = write!(
        text,
        "\r\nThe original is no danger where it is, and you can delete it as you would this one.\r\n\
         If you need it, ask your administrator and name this number: {id}\r\n"
    );
}

/// Names of parts are hostile text.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_model::{Buffer, Class, Engine, Finding};

    #[test]
    fn nothing_of_the_mail_is_anything_but_text() {
        let finding = Finding {
            engine: Engine::Antivirus,
            class: Class::Virus,
            rule: "a.ndb:1".into(),
            name: "Demo.Virus".into(),
            part: "1.2/a\r\n.\r\n+OK.zip".into(),
            buffer: Buffer::FileData,
            offset: None,
            signature: None,
        };
        let judgement = Judgement { findings: vec![finding], deciding: Some(0), ..Judgement::default() };
        let mut heading = Heading::default();
        heading.push(b"From: a <a@b.example>\r\nSubject: in\x0b\x1bvoice\r\n\r\n");
        let mail = mail(&judgement, &heading, TransactionId(7), "mx.example");
        assert!(mail.contains("    the virus Demo.Virus in part 1.2/a??.??+OK.zip\r\n"), "{mail}");
        assert!(mail.contains("    From: a <a@b.example>\r\n    Subject: in  voice\r\n"), "{mail}");
        assert!(mail.contains("number: 0000000000007\r\n"), "{mail}");
        for text in [mail, end(&judgement, TransactionId(7))] {
            assert!(text.split_inclusive('\n').all(|line| line.ends_with("\r\n") && line.len() < 500));
            assert_eq!(text.matches('\r').count(), text.matches('\n').count());
        }
    }
}
