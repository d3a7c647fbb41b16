//! The raw messages of two parsers' own tests: llhttp's Markdown and libhtp's `.t` files. Rule: the bytes are those that
//! the parser's own test program makes of the file.

use std::fs;
use std::path::{Path, PathBuf};

/// What a client sends, or what a server does.
pub struct Case {
    /// The file, and for one of many within it the heading.
    pub name: String,
    /// As it goes on the wire.
    pub bytes: Vec<u8>,
}

/// The cases of a directory, all of one kind.
#[derive(Default)]
pub struct Cases {
    /// What clients send.
    pub requests: Vec<Case>,
    /// What servers send.
    pub responses: Vec<Case>,
}

impl Cases {
    /// Reads every file below a directory.
    pub fn read(directory: &Path) -> Self {
        let mut cases = Self::default();
        for path in super::super::files_below(directory) {
            let extension = path.extension().and_then(|extension| extension.to_str());
            match extension {
                Some("md") => cases.markdown(&path),
                Some("t") => cases.transcript(&path),
                _ => {}
            }
        }
        cases
    }

    /// llhttp: below a heading a comment says which kind of message the next block is.
    fn markdown(&mut self, path: &PathBuf) {
        let text = fs::read_to_string(path).unwrap_or_default();
        let folder = path.parent().map(super::super::name_of).unwrap_or_default();
        let file = format!("llhttp/{folder}/{}", super::super::name_of(path));
        let (mut heading, mut kind) = ("", "");
        let mut lines = text.split_inclusive('\n');
        while let Some(line) = lines.next() {
            if line.starts_with('#') {
                heading = line.trim_start_matches('#').trim();
            } else if let Some((_, behind)) = line.split_once("\"type\":") {
                kind = behind.split('"').nth(1).unwrap_or_default();
            } else if line.trim_end() == "```http" {
                let block: String = lines.by_ref().take_while(|line| line.trim_end() != "```").collect();
                let case = Case { name: format!("{file}: {heading}"), bytes: unescaped(&block) };
                match kind.split('-').next() {
                    Some("request") => self.requests.push(case),
                    Some("response") => self.responses.push(case),
                    _ => {}
                }
            }
        }
    }

    /// libhtp: lines `>>>` and `<<<` say who sends what follows; the line end before the next of them is no part of it.
    fn transcript(&mut self, path: &PathBuf) {
        let bytes = fs::read(path).unwrap_or_default();
        let name = format!("libhtp/{}", super::super::name_of(path));
        let (mut client, mut server) = (Vec::new(), Vec::new());
        let mut to = None;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let marker = line.trim_ascii_end();
            let marks = |sign: &[u8]| marker.ends_with(sign);
            if !marks(b">>>") && !marks(b"<<<") {
                if let Some(is_client) = to {
                    let side: &mut Vec<u8> = if is_client { &mut client } else { &mut server };
                    side.extend_from_slice(line);
                }
                continue;
            }
            // The last block of a file that has no line end is followed by the marker at once.
            if let Some(is_client) = to {
                let side: &mut Vec<u8> = if is_client { &mut client } else { &mut server };
                match &marker[..marker.len() - 3] {
                    [] => without_line_end(side),
                    rest => side.extend_from_slice(rest),
                }
            }
            to = Some(marks(b">>>"));
        }
        let is_some = |bytes: &[u8]| !bytes.trim_ascii().is_empty();
        if is_some(&client) {
            self.requests.push(Case { name: name.clone(), bytes: client });
        }
        if is_some(&server) {
            self.responses.push(Case { name, bytes: server });
        }
    }
}

fn without_line_end(bytes: &mut Vec<u8>) {
    if bytes.pop_if(|byte| *byte == b'\n').is_some() {
        bytes.pop_if(|byte| *byte == b'\r');
    }
}

/// What llhttp's test program makes of a block: lines end with CR LF, and escapes stand for what they say.
fn unescaped(block: &str) -> Vec<u8> {
    let block = block.strip_suffix('\n').unwrap_or(block).replace("\\\n", "");
    let block = block.replace("\r\n", "\n").replace('\n', "\r\n");
    let mut out = Vec::new();
    let mut rest = block.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (bytes, used) = match (first, behind) {
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'f', ..]) => (0x0c, 2),
            (b'\\', [b'x', ..]) => {
                number(&behind[1..], 16, usize::MAX).map_or((b'\\', 1), |(byte, n)| (byte, n + 2))
            }
            (b'\\', _) => number(behind, 8, 3).map_or((b'\\', 1), |(byte, n)| (byte, n + 1)),
            (byte, _) => (*byte, 1),
        };
        out.push(bytes);
        rest = &rest[used..];
    }
    out
}

/// A byte said in digits, and how many.
fn number(text: &[u8], radix: u32, digits_max: usize) -> Option<(u8, usize)> {
    let digits = text.iter().take(digits_max).take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let value = text[..digits].iter().fold(0u32, |sum, byte| {
        sum.wrapping_mul(radix).wrapping_add(char::from(*byte).to_digit(radix).unwrap_or(0))
    });
    (digits > 0).then_some((value as u8, digits))
}
