//! Files in strings of base64, in text of any sort: scripts that do not begin like one. Rule: [`run`](super::run) says what one is;
//! nothing else of the text is read.

use super::super::outbox::Outbox;
use super::super::parser::{Parser, ParserDecoder};
use super::run::{Finder, Run, Took};
use crate::decoder::{Decoder, Entry};

/// Text on its way.
#[derive(Default)]
struct Strings {
    finder: Finder,
    run: Option<Run>,
    children: u32,
}

/// A decoder of text, for what it carries in strings alone.
pub(crate) fn decoder() -> impl Decoder {
    ParserDecoder::of(Strings::default())
}

impl Strings {
    /// Bytes of a run: how many were used.
    fn read(&mut self, mut run: Run, input: &[u8], out: &mut Outbox) -> usize {
        let mut made = Vec::new();
        for (at, byte) in input.iter().enumerate() {
            match run.push(*byte, &mut made) {
                Took::Byte => {}
                Took::Begin => {
                    self.children += 1;
                    out.open(Entry { label: format!("base64.{}", self.children), ..Entry::default() });
                }
                Took::Nothing => {
                    run.finish(&mut made);
                    out.bytes(&made);
                    out.close();
                    return at;
                }
            }
        }
        out.bytes(&made);
        self.run = Some(run);
        input.len()
    }
}

impl Parser for Strings {
    fn push(&mut self, input: &[u8], out: &mut Outbox) -> usize {
        let mut used = 0;
        while used < input.len() {
            match self.run.take() {
                Some(run) => {
                    used += self.read(run, &input[used..], out);
                    if self.run.is_none() {
                        self.finder.pass(used);
                    }
                }
                None => match self.finder.find(input) {
                    Some((at, before)) => {
                        self.read(Run::new(), &before, out);
                        used = used.max(at);
                    }
                    None => used = input.len(),
                },
            }
        }
        self.finder.advance(input);
        used
    }

    fn finish(&mut self, out: &mut Outbox) {
        if let Some(mut run) = self.run.take() {
            let mut made = Vec::new();
            run.finish(&mut made);
            out.bytes(&made);
            out.close();
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        if self.run.is_some() { 4_000 } else { 50 }
    }
}
