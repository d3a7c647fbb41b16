//! A stored web page within something else: [`MailWithin`]. Rule: the line that such a page begins with begins one.
//!
//! Word opens a page that stands behind the beginning of a PDF, macros and all, where the file is called a document.

use crate::decoder::{Decoder, Entry, Event, More, Step};

/// What the page begins with, at the beginning of a line.
const FIELD: &[u8] = b"\nmime-version:";
const ANOMALY: &str = "a mail within something else";

/// Gives what stands from the first such line on.
#[derive(Debug, Default)]
pub(super) struct MailWithin {
    /// How much of the field has come.
    met: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Search,
    /// It is there, and has been said.
    Found,
    /// Its first line, as it is written.
    Field,
    Content,
    Over,
}

impl MailWithin {
    fn search(&mut self, input: &[u8]) -> Step {
        let mut used = 0;
        while let Some(byte) = input.get(used) {
            if self.met == 0 && *byte != b'\n' {
                used = memchr::memchr(b'\n', &input[used..]).map_or(input.len(), |at| used + at);
                continue;
            }
            used += 1;
            if byte.to_ascii_lowercase() == FIELD[self.met] {
                self.met += 1;
            } else {
                self.met = usize::from(*byte == b'\n');
            }
            if self.met == FIELD.len() {
                self.state = State::Found;
                return Step::new(used, Event::Anomaly(ANOMALY));
            }
        }
        Step::new(used, Event::Working)
    }
}

impl Decoder for MailWithin {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        match self.state {
            State::Search if !input.is_empty() => self.search(input),
            State::Found => {
                self.state = State::Field;
                let declared = Some("message/rfc822".to_owned());
                let entry = Entry { label: "mail".to_owned(), name: None, declared };
                Step::new(0, Event::Open(Box::new(entry)))
            }
            State::Field => {
                self.state = State::Content;
                let field = &FIELD[1..];
                scratch[..field.len()].copy_from_slice(field);
                Step::new(0, Event::Output(field.len()))
            }
            State::Content if !input.is_empty() => Step::new(input.len(), Event::Input(0..input.len())),
            State::Search | State::Content if more == More::Follows => Step::new(0, Event::NeedInput),
            State::Content => {
                self.state = State::Over;
                Step::new(0, Event::Close)
            }
            State::Search | State::Over => Step::new(0, Event::End),
        }
    }

    fn nanos_per_kib(&self) -> u32 {
        200
    }
}
