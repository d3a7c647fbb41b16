//! Files of many messages, one behind the other (mbox, RFC 4155). Rule: a line divides where it can hardly be a sentence.
//!
//! A line that begins with `From ` begins a message if it stands behind a blank line and has a time in it, and behind
//! any other line if it ends with date and year as well; so does the bare one that Mozilla writes. Any other is a line
//! of the message: a sentence may begin so.

use crate::decoder::{Decoder, Entry, Event, More, Step};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What a line that divides begins with, and the end of the line before it.
const FROM: &[u8] = b"\nFrom ";
/// The longest such line.
const FROM_LINE_BYTES_MAX: usize = 512;

static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(FROM));

/// Reads one mailbox; each message is a child.
#[derive(Debug, Default)]
pub struct MboxDecoder {
    messages: u32,
    is_open: bool,
    /// What may be a dividing line, from the line end before it on.
    held: Vec<u8>,
    /// How much of what is held has turned out to be content, and how much of that has been given.
    content: usize,
    given: usize,
    /// The last two bytes before what is held.
    last: [u8; 2],
    /// A message is to be opened, or the end is to be told.
    due: Due,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Due {
    #[default]
    Nothing,
    Open,
    End,
}

impl MboxDecoder {
    /// Awaits the first line.
    pub fn new() -> Self {
        // The first line stands as if behind a blank one.
        Self { held: b"\n".to_vec(), last: *b"\n\n", ..Self::default() }
    }

    /// Holds on for as long as it may be a dividing line: how much was used.
    fn hold(&mut self, input: &[u8]) -> usize {
        let mut used = 0;
        while let Some(byte) = input.get(used) {
            let is_expected = FROM.get(self.held.len()).is_none_or(|expected| expected == byte);
            if !is_expected || self.held.len() >= FROM_LINE_BYTES_MAX {
                self.content = self.held.len();
                return used;
            }
            self.held.push(*byte);
            used += 1;
            if *byte == b'\n' && self.held.len() > FROM.len() {
                self.meet_line();
                return used;
            }
        }
        used
    }

    /// A line that begins so is whole.
    fn meet_line(&mut self) {
        if self.messages > 0 && !self.divides() {
            // Its line end may stand before the next.
            self.content = self.held.len() - 1;
            return;
        }
        self.begin_message();
    }

    fn begin_message(&mut self) {
        self.held.clear();
        self.last = *b"\n\n";
        self.messages = self.messages.saturating_add(1);
        self.due = Due::Open;
    }

    /// Gives on what was held and is content.
    fn give_held(&mut self, scratch: &mut [u8]) -> Step {
        if !self.is_open {
            self.messages = self.messages.saturating_add(1);
            self.due = Due::Open;
            // The line end that was put before the first line is none of its own.
            self.given = 1;
            return Step::new(0, Event::Working);
        }
        let rest = &self.held[self.given..self.content];
        let made = rest.len().min(scratch.len());
        scratch[..made].copy_from_slice(&rest[..made]);
        remember(&mut self.last, &rest[..made]);
        self.given += made;
        if self.given == self.content {
            self.held.drain(..self.content);
            (self.given, self.content) = (0, 0);
        }
        Step::new(0, if made > 0 { Event::Output(made) } else { Event::Working })
    }

    /// Gives content up to what may be a dividing line.
    fn give(&mut self, input: &[u8]) -> Step {
        let end = FINDER.find(input).unwrap_or_else(|| {
            let tail = (1..FROM.len()).rev().find(|length| input.ends_with(&FROM[..*length]));
            input.len() - tail.unwrap_or(0)
        });
        if end > 0 {
            remember(&mut self.last, &input[..end]);
            return Step::new(end, Event::Input(0..end));
        }
        self.held.push(b'\n');
        Step::new(1, Event::Working)
    }

    /// Whether what is held is a line that begins a message.
    fn divides(&self) -> bool {
        let line = self.held.get(FROM.len()..).unwrap_or_default().trim_ascii_end();
        let is_behind_blank = matches!(self.last, [_, b'\n'] | [b'\n', b'\r']);
        line == b"-" || line.starts_with(b"- ") || ends_with_date(line) || is_behind_blank && has_time(line)
    }
}

impl Decoder for MboxDecoder {
    fn step(&mut self, input: &[u8], more: More, scratch: &mut [u8]) -> Step {
        match self.due {
            Due::Open if self.is_open => {
                self.is_open = false;
                return Step::new(0, Event::Close);
            }
            Due::Open => {
                (self.is_open, self.due) = (true, Due::Nothing);
                let label = self.messages.to_string();
                let declared = Some("message/rfc822".to_owned());
                return Step::new(0, Event::Open(Box::new(Entry { label, name: None, declared })));
            }
            Due::End => return Step::new(0, Event::End),
            Due::Nothing => {}
        }
        if self.content > 0 {
            return self.give_held(scratch);
        }
        if !input.is_empty() {
            if self.held.is_empty() {
                return self.give(input);
            }
            return Step::new(self.hold(input), Event::Working);
        }
        if more == More::Follows {
            return Step::new(0, Event::NeedInput);
        }
        if self.held.len() > FROM.len() && (self.messages == 0 || self.divides()) {
            self.begin_message();
            return Step::new(0, Event::Working);
        }
        if !self.held.is_empty() && (self.is_open || self.held.len() > 1) {
            self.content = self.held.len();
            return Step::new(0, Event::Working);
        }
        self.held.clear();
        self.due = Due::End;
        let is_open = std::mem::take(&mut self.is_open);
        Step::new(0, if is_open { Event::Close } else { Event::Working })
    }

    fn nanos_per_kib(&self) -> u32 {
        100
    }
}

/// Whether there is a time of day in it.
fn has_time(line: &[u8]) -> bool {
    line.windows(5).any(|window| {
        matches!(window, [a, b, b':', c, d] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()))
    })
}

/// Whether it ends as C's `asctime` writes dates: `12:00:00 2026`.
fn ends_with_date(line: &[u8]) -> bool {
    let mut words = line.rsplit(|byte| *byte == b' ');
    let is_year = |word: &[u8]| word.len() == 4 && word.iter().all(u8::is_ascii_digit);
    words.next().is_some_and(is_year) && words.next().is_some_and(|word| word.len() == 8 && has_time(word))
}

/// The last two bytes, when these have come.
fn remember(last: &mut [u8; 2], bytes: &[u8]) {
    match bytes {
        [.., a, b] => *last = [*a, *b],
        [b] => *last = [last[1], *b],
        [] => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Said, assert_cut_invariant};

    /// The messages of a mailbox.
    fn messages(mailbox: &str) -> Vec<String> {
        let said = assert_cut_invariant(&|| Box::new(MboxDecoder::new()), mailbox.as_bytes());
        let mut messages = Vec::new();
        for said in said {
            match said {
                Said::Open(_) => messages.push(String::new()),
                Said::Bytes(bytes) => {
                    messages.last_mut().unwrap().push_str(std::str::from_utf8(&bytes).unwrap())
                }
                _ => {}
            }
        }
        messages
    }

    #[test]
    fn mailboxes() {
        for (mailbox, expected) in [
            ("", &[][..]),
            ("From a@b Sat Nov 21 12:00:00 2026\nA: b\n\none\n", &["A: b\n\none\n"]),
            (
                "From a 12:00\nA: b\n\none\n\nFrom b 13:00\r\nC: d\n\ntwo\nFrom here 14:00\n\nFrom me to you.\n",
                &["A: b\n\none\n", "C: d\n\ntwo\nFrom here 14:00\n\nFrom me to you.\n"],
            ),
            (
                "From a 12:00\nA: b\n\none\nFrom b Sat Nov 21 12:00:00 2026\n\ntwo\n",
                &["A: b\n\none", "\ntwo\n"],
            ),
            ("From - \nA: b\r\n\r\none\r\n\r\nFrom - \r\nC: d\r\n", &["A: b\r\n\r\none\r\n\r", "C: d\r\n"]),
            ("From no time\nA: b\n\n\n\nFrom a 12:00", &["A: b\n\n\n", ""]),
            ("From a 12:00\n\nFrom b 12:00\n\nFrom", &["", "\nFrom"]),
            ("A: b\n\nFrom", &["A: b\n\nFrom"]),
            ("From", &["From"]),
        ] {
            assert_eq!(messages(mailbox), expected, "{mailbox:?}");
        }
        let long = format!("From {}\nA: b\n", "x".repeat(2 * FROM_LINE_BYTES_MAX));
        assert_eq!(messages(&long), [long]);
    }
}
