//! A response that can be read in more than one way: [`Doubt`] has the other readings inspected, too. Rule: all that some client
//! makes of it is seen, and what more than one reading shows is told once.

use super::content::{Content, Envelope, Inspector};
use crate::eve::Alarm;
use lockgate_inspect::{Coding, Root};
use lockgate_model::{Direction, Reason};
use lockgate_proto::http::{Chunks, Fields};

/// The other readings of one response.
pub struct Doubt {
    readings: Vec<Reading>,
}

/// One of them.
struct Reading {
    /// Where it takes the head to go on: how much of its line has come.
    line: Option<usize>,
    /// Where it takes the body to be in chunks.
    chunks: Option<Chunks>,
    content: Content,
}

impl Doubt {
    /// Of a response whose head is this, as it came; without one, all is content.
    pub fn of(inspector: &mut Inspector, head: &[u8], at: u64) -> Self {
        let words: Vec<u8> =
            head.iter().filter(|byte| byte.is_ascii_graphic()).map(u8::to_ascii_lowercase).collect();
        let mentions = |word: &[u8]| words.windows(word.len()).any(|window| window == word);
        let mut roots = vec![Root::File];
        if mentions(b"deflate") {
            roots.push(Root::Coded(vec![Coding::Deflate]));
        }
        let mut framings = vec![(false, None)];
        if mentions(b"chunked") {
            framings.push((true, None));
        }
        if !head.is_empty() && !head.ends_with(b"\n\r\n") && !head.ends_with(b"\n\n") {
            // Its last line is empty for some, and for others the head goes on.
            framings.extend([(false, Some(0)), (true, Some(0))]);
        }
        let envelope = Envelope { is_other_reading: true, ..Envelope::default() };
        let mut readings = Vec::new();
        for (is_chunked, line) in framings {
            for root in &roots {
                let content =
                    Content::begin(inspector, root.clone(), at, Direction::ToClient, envelope.clone());
                readings.push(Reading { line, chunks: is_chunked.then(Chunks::new), content });
            }
        }
        Self { readings }
    }

    /// More of what follows the head, as it came.
    pub fn push(&mut self, bytes: &[u8], alarms: &mut Vec<Alarm>) {
        for reading in &mut self.readings {
            reading.push(bytes);
            reading.content.tell(alarms);
        }
    }

    /// Nothing more comes. What a reading could not make out is no loss, since it is one of several; that rules were not asked of it
    /// is. Says whether that was so.
    pub fn finish(self, cut: Option<Reason>, alarms: &mut Vec<Alarm>) -> bool {
        let mut is_spent = false;
        for reading in self.readings {
            is_spent |= reading.content.finish(cut, alarms).contains(&Reason::Work);
        }
        is_spent
    }
}

impl Reading {
    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let (Some(line), Some((byte, behind))) = (self.line, rest.split_first()) {
            rest = behind;
            self.line = match byte {
                b'\n' if line == 0 => None,
                b'\n' => Some(0),
                b'\r' => Some(line),
                _ => Some(line + 1),
            };
        }
        let Some(chunks) = &mut self.chunks else { return self.content.push(rest) };
        while !rest.is_empty() {
            let (used, content) = chunks.step(rest);
            self.content.push(content.unwrap_or_default());
            rest = rest.get(used..).unwrap_or_default();
        }
    }
}

/// Whether the codings that a head names are not one that is known.
pub fn is_oddly_coded(fields: &Fields) -> bool {
    let mut names = fields.list("content-encoding").filter(|name| !name.is_empty());
    match (names.next(), names.next()) {
        (None, _) => false,
        (Some(name), None) => Coding::named(name).is_none() && !name.eq_ignore_ascii_case(b"identity"),
        (Some(_), Some(_)) => true,
    }
}
