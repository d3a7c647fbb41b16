//! What is said between two, so that a rule finds what it asks for: [`Spoken`]. Rule: what a rule does not ask for is as plain as can be.

use super::buffer;
use super::rule::Rule;
use super::{http, tls};

/// Who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Client,
    Server,
}

/// What is said, and where.
#[derive(Clone, Debug, Default)]
pub struct Spoken {
    pub turns: Vec<(Speaker, Vec<u8>)>,
    pub is_datagrams: bool,
    /// The server's port, where the rule does not say.
    pub port: u16,
}

/// A rule's buffers by name, made.
pub struct Made(pub Vec<(String, Vec<u8>)>);

impl Made {
    /// Takes a buffer.
    pub fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        let at = self.0.iter().position(|(its, _)| its == name)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// What is said for a rule; `None` where nobody here can say it.
pub fn spoken(rule: &Rule) -> Option<Spoken> {
    let made = rule.buffers.iter().map(|(name, asks)| Some((name.clone(), buffer::made(asks)?)));
    let mut made = Made(made.collect::<Option<Vec<_>>>()?);
    let spoken = match rule.protocol.as_str() {
        "http" => http::spoken(&mut made, rule.is_to_client)?,
        "dns" => dns(&mut made)?,
        "tls" => tls::spoken(&mut made)?,
        "smtp" => smtp(&mut made, rule.is_to_client)?,
        "ftp" => ftp(&mut made, rule.is_to_client)?,
        _ => tcp(&mut made, rule.is_to_client)?,
    };
    // What nobody has said cannot be found.
    made.0.is_empty().then_some(spoken)
}

fn speaker(is_to_client: bool) -> Speaker {
    if is_to_client { Speaker::Server } else { Speaker::Client }
}

fn tcp(made: &mut Made, is_to_client: bool) -> Option<Spoken> {
    let said = made.take("")?;
    let mut turns = vec![(speaker(is_to_client), said)];
    if is_to_client {
        turns.insert(0, (Speaker::Client, b"\0\0\0\0".to_vec()));
    }
    Some(Spoken { turns, is_datagrams: false, port: 4444 })
}

fn ftp(made: &mut Made, is_to_client: bool) -> Option<Spoken> {
    let said = made.take("")?;
    let mut turns = vec![(Speaker::Server, b"220 ready\r\n".to_vec())];
    // By which Suricata recognises it.
    turns.push((Speaker::Client, b"USER a\r\n".to_vec()));
    if !is_to_client {
        turns.push((Speaker::Server, b"331 go on\r\n".to_vec()));
    }
    turns.push((speaker(is_to_client), line(said)));
    Some(Spoken { turns, is_datagrams: false, port: 21 })
}

fn line(mut bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.ends_with(b"\n") {
        bytes.extend(b"\r\n");
    }
    bytes
}

const COMMANDS: [&[u8]; 5] = [b"EHLO", b"HELO", b"MAIL", b"RCPT", b"BDAT"];

fn smtp(made: &mut Made, is_to_client: bool) -> Option<Spoken> {
    let server = |line: &[u8]| (Speaker::Server, [line, b"\r\n"].concat());
    let client = |line: &[u8]| (Speaker::Client, [line, b"\r\n"].concat());
    let mut turns =
        vec![server(b"220 mx.example ESMTP"), client(b"EHLO a.example"), server(b"250 mx.example")];
    let said = made.take("");
    let file = made.take("file.data");
    let is_command = said.as_ref().is_some_and(|said| {
        is_to_client
            || COMMANDS.iter().any(|its| said.get(..4).is_some_and(|verb| verb.eq_ignore_ascii_case(its)))
    });
    if is_command {
        turns.push((speaker(is_to_client), line(said?)));
        return Some(Spoken { turns, is_datagrams: false, port: 25 });
    }
    turns.extend([
        client(b"MAIL FROM:<ann@example.org>"),
        server(b"250 ok"),
        client(b"RCPT TO:<bob@example.net>"),
        server(b"250 ok"),
        client(b"DATA"),
        server(b"354 go on"),
    ]);
    turns.push((Speaker::Client, mail(said, file)));
    turns.push(server(b"250 taken"));
    Some(Spoken { turns, is_datagrams: false, port: 25 })
}

/// A mail has no CR and no LF alone (RFC 5321 section 2.3.8).
fn with_line_ends(bytes: &[u8]) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if !all.ends_with(b"\r") => all.extend(b"\r\n"),
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => all.extend(b"\r\n"),
            byte => all.push(byte),
        }
    }
    all
}

/// A mail that has these bytes as they are, or in an attachment.
fn mail(said: Option<Vec<u8>>, file: Option<Vec<u8>>) -> Vec<u8> {
    let mut mail = b"From: ann@example.org\r\n".to_vec();
    let said = with_line_ends(&said.unwrap_or_default());
    let is_field = said.iter().take_while(|byte| !b"\r\n ".contains(byte)).any(|byte| *byte == b':');
    if is_field {
        mail.extend(line(said.clone()));
    }
    mail.extend(b"MIME-Version: 1.0\r\nContent-Type: text/plain\r\n");
    match file {
        Some(file) => {
            mail.extend(b"Content-Transfer-Encoding: base64\r\n\r\n");
            let text = lockgate_tests::mail::base64(&file);
            mail.extend(text.as_bytes());
        }
        None => mail.extend(b"\r\n"),
    }
    if !is_field {
        mail.extend(said);
    }
    // No line of it ends the mail.
    let mut mail = line(lockgate_tests::smtp::dot_stuffed(&mail));
    mail.extend(b".\r\n");
    mail
}

fn dns(made: &mut Made) -> Option<Spoken> {
    let mut name = made.take("dns.query")?;
    if name.starts_with(b".") {
        name.splice(..0, *b"www");
    }
    let mut question = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.strip_suffix(b".").unwrap_or(&name).split(|byte| *byte == b'.') {
        if label.is_empty() || label.len() > 63 {
            return None;
        }
        question.push(label.len() as u8);
        question.extend(label);
    }
    question.extend([0, 0, 1, 0, 1]);
    if question.len() > 12 + 255 {
        return None;
    }
    let mut answer = question.clone();
    answer[2..4].copy_from_slice(&[0x81, 0x80]);
    answer[7] = 1;
    answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 203, 0, 113, 9]);
    let turns = vec![(Speaker::Client, question), (Speaker::Server, answer)];
    Some(Spoken { turns, is_datagrams: true, port: 53 })
}
