//! A copy of a mail that goes no further: [`Copy`]. Rule: written only where policy may ask for it, and a client is told
//! that it is kept only when it is on the disk.
//!
//! The directory is a maildir, so that any mail reader shows what is in it. The copy begins with the envelope, so that
//! it can be sent on.

use crate::maildir::{Delivery, Maildir};
use crate::settings::Settings;
use lockgate_inspect::Group;
use lockgate_model::{Class, Reason, Transaction, Verdict};
use std::io;

/// One mail's copy while its content comes in; dropped, it leaves nothing behind.
#[derive(Debug)]
pub struct Copy(State);

#[derive(Debug)]
enum State {
    /// Policy cannot ask for it.
    NotAsked,
    /// So far it is written.
    Open(Delivery),
    /// It could not be written, and why.
    Failed(String),
}

/// Whether the group has the action `quarantine` for anything.
pub fn is_used_by(group: &Group) -> bool {
    let findings = Class::ALL.into_iter().map(|class| group.on_finding(class));
    let incomplete = Reason::ALL.into_iter().map(|reason| group.on_incomplete(reason));
    findings.chain(incomplete).any(|verdict| verdict == Verdict::Quarantine)
        || group.banned_names.have(Verdict::Quarantine)
        || group.banned_types.have(Verdict::Quarantine)
}

impl Copy {
    /// Begins with the mail's first byte: whether it is wanted is known only after the last.
    pub fn begin(group: &Group, settings: &Settings, about: &Transaction) -> Self {
        if !is_used_by(group) {
            return Self(State::NotAsked);
        }
        let Some(directory) = &settings.quarantine_directory else {
            return Self(State::Failed("there is no quarantine directory".to_owned()));
        };
        let begun = Maildir::open(directory, &settings.hostname).and_then(|maildir| maildir.begin());
        let written = begun.and_then(|mut file| {
            file.write(envelope(about).as_bytes())?;
            Ok(file)
        });
        Self(written.map_or_else(|error| State::Failed(error.to_string()), State::Open))
    }

    /// Content as it came.
    pub fn write(&mut self, content: &[u8]) {
        if let State::Open(file) = &mut self.0
            && let Err(error) = file.write(content)
        {
            self.0 = State::Failed(error.to_string());
        }
    }

    /// The verdict asks for it: it is on the disk once this is `Ok`.
    pub async fn keep(self) -> io::Result<()> {
        match self.0 {
            State::Open(file) => file.commit().await,
            State::Failed(why) => Err(io::Error::other(why)),
            State::NotAsked => Err(io::Error::other("policy did not announce it")),
        }
    }
}

/// The envelope as header fields. Addresses have come through the command parser and hold no line ends.
fn envelope(about: &Transaction) -> String {
    let mut fields = String::new();
    if let Some(sender) = &about.sender {
        fields.push_str(&format!("Return-Path: <{sender}>\r\n"));
    }
    for recipient in &about.recipients {
        fields.push_str(&format!("X-Envelope-To: <{recipient}>\r\n"));
    }
    fields.push_str(&format!("X-Lockgate-Id: {}\r\n", about.id));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_model::{Direction, TransactionId};
    use std::fs;
    use std::path::{Path, PathBuf};

    fn about() -> Transaction {
        Transaction {
            id: TransactionId(33),
            direction: Direction::ToServer,
            group: "default".into(),
            sender: Some("a@example.org".into()),
            recipients: vec!["b@example.org".into(), "c@example.org".into()],
            name: None,
            length: None,
        }
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        let rooms = ["tmp", "new", "cur"].into_iter().map(|room| directory.join(room));
        rooms.filter_map(|room| fs::read_dir(room).ok()).flatten().map(|e| e.unwrap().path()).collect()
    }

    #[tokio::test]
    async fn a_copy_is_kept_on_the_verdict_and_not_before() {
        let directory = std::env::temp_dir().join(format!("lockgate-quarantine-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let settings = Settings { quarantine_directory: Some(directory.clone()), ..Settings::default() };
        let mut group = Group::new("g");
        assert!(!is_used_by(&group));
        let mut not_asked = Copy::begin(&group, &settings, &about());
        not_asked.write(b"x");
        assert!(not_asked.keep().await.is_err());
        assert!(!directory.exists(), "nothing is written that nobody asks for");

        group.set_finding(Class::Virus, Verdict::Quarantine);
        let mut dropped = Copy::begin(&group, &settings, &about());
        dropped.write(b"Subject: gone\r\n\r\n");
        drop(dropped);
        assert!(files(&directory).is_empty());

        let mut kept = Copy::begin(&group, &settings, &about());
        kept.write(b"Subject: kept\r\n");
        kept.write(b"\r\nbody\r\n");
        kept.keep().await.unwrap();
        let [file] = &files(&directory)[..] else { panic!("one file") };
        let text = fs::read_to_string(file).unwrap();
        assert!(
            text.starts_with("Return-Path: <a@example.org>\r\nX-Envelope-To: <b@example.org>\r\n"),
            "{text}"
        );
        assert!(text.ends_with("X-Lockgate-Id: 0000000000011\r\nSubject: kept\r\n\r\nbody\r\n"), "{text}");
        let _ = fs::remove_dir_all(&directory);

        let nowhere = Settings::default();
        assert!(Copy::begin(&group, &nowhere, &about()).keep().await.is_err());
    }
}
