//! What a part is, by its first bytes: [`Sniffer`]. Rule: the same answer for the same bytes, however they are cut.
//!
//! Rules are asked in order of precedence, and each says yes, no, or that it must see more. The first yes wins, but
//! only once every rule before it has said no; so the answer depends on the bytes alone. Containers come first and
//! are known from a few bytes: their decoders complain of what is no such container. Tar comes next, because a
//! tar's first bytes are a file name and may imitate anything that no decoder would complain of.

mod magic;
mod text;

use lockgate_model::FileType;

/// The most bytes that are looked at, and so the most that are held.
pub const PREFIX_BYTES_MAX: usize = 1024;

/// Decides the type of one part from its first bytes, in any cuts.
#[derive(Debug, Default)]
pub struct Sniffer {
    held: Vec<u8>,
}

impl Sniffer {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next bytes of the part.
    ///
    /// With `None`, the chunk is held and more must be seen. With a type, the chunk itself is not held: the caller
    /// goes on with [`take_prefix`](Self::take_prefix) and then this chunk.
    pub fn push(&mut self, chunk: &[u8]) -> Option<FileType> {
        if self.held.is_empty() {
            let decided = decide(first(chunk), Seen::Prefix);
            if decided.is_none() {
                self.held.extend_from_slice(chunk);
            }
            return decided;
        }
        let length = self.held.len();
        let room = PREFIX_BYTES_MAX.saturating_sub(length).min(chunk.len());
        self.held.extend_from_slice(&chunk[..room]);
        let decided = decide(&self.held, Seen::Prefix);
        if decided.is_some() {
            self.held.truncate(length);
        }
        decided
    }

    /// The part has ended before anything was decided: what is there must do.
    pub fn end(&mut self) -> FileType {
        decide(&self.held, Seen::Whole).unwrap_or(FileType::Data)
    }

    /// Whether something is held.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// What was held of the chunks that decided nothing. It is the first of the part's bytes.
    pub fn take_prefix(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// What is known of the part: its beginning, or all of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Prefix,
    Whole,
}

/// What one rule says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    Yes,
    No,
    /// It may become a yes with more bytes.
    Perhaps,
}

impl Says {
    fn when(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// One rule: a type, and how it is known.
struct Rule {
    file_type: FileType,
    asks: Test,
}

enum Test {
    /// These bytes at this place.
    Magic(usize, &'static [u8]),
    /// Anything else.
    Look(fn(&[u8], Seen) -> Says),
}

impl Test {
    fn ask(&self, bytes: &[u8], seen: Seen) -> Says {
        match self {
            Self::Magic(at, magic) => magic_at(bytes, *at, magic),
            Self::Look(look) => look(bytes, seen),
        }
    }
}

fn first(chunk: &[u8]) -> &[u8] {
    &chunk[..chunk.len().min(PREFIX_BYTES_MAX)]
}

/// The type of a part that begins so, or is so, if that can be said.
fn decide(bytes: &[u8], seen: Seen) -> Option<FileType> {
    let seen = if bytes.len() >= PREFIX_BYTES_MAX { Seen::Whole } else { seen };
    if bytes.is_empty() {
        return (seen == Seen::Whole).then_some(FileType::Empty);
    }
    for rule in magic::RULES.iter().chain(text::RULES) {
        match rule.asks.ask(bytes, seen) {
            Says::Yes => return Some(rule.file_type),
            Says::Perhaps if seen == Seen::Prefix => return None,
            Says::No | Says::Perhaps => {}
        }
    }
    Some(FileType::Data)
}

/// Whether the magic stands there, as far as the bytes go.
fn magic_at(bytes: &[u8], at: usize, magic: &[u8]) -> Says {
    let there = bytes.get(at..).unwrap_or_default();
    let length = there.len().min(magic.len());
    if there[..length] != magic[..length] {
        Says::No
    } else if length < magic.len() {
        Says::Perhaps
    } else {
        Says::Yes
    }
}

#[cfg(test)]
mod tests;
