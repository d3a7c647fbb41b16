//! Names, compressed or not (RFC 1035 section 4.1.4). Rule: each pointer counts as a label, so that no name is without end.

use super::Oddity;

/// The longest name that is given, in bytes as it is written: what widely used servers take, four times what the RFC allows.
pub const NAME_BYTES_MAX: usize = 1025;
/// The most labels and pointers that are followed for one name.
pub const LABELS_MAX: usize = 255;

/// A name as it was read.
pub(super) struct Name {
    /// Labels with dots between them, as bytes: nothing is escaped.
    pub text: Vec<u8>,
    /// Where what follows it begins.
    pub end: usize,
    /// How many labels and pointers were followed.
    pub steps: usize,
    pub oddity: Option<Oddity>,
}

/// Reads the name at `at` in the message; `None` where what follows it cannot be found.
pub(super) fn read(message: &[u8], at: usize) -> Option<Name> {
    let (mut at, mut end, mut text, mut oddity) = (at, None, Vec::new(), None);
    for steps in 0..=LABELS_MAX {
        // A name that ends with the message does without its last byte.
        let Some(&length) = message.get(at) else { return done(text, end.unwrap_or(at), steps, oddity) };
        match length >> 6 {
            0 if length == 0 => return done(text, end.unwrap_or(at + 1), steps, oddity),
            0 => {
                let label = message.get(at + 1..at + 1 + usize::from(length))?;
                at += 1 + label.len();
                if oddity.is_none() {
                    if !text.is_empty() {
                        text.push(b'.');
                    }
                    text.extend_from_slice(label);
                }
            }
            3 => {
                let low = *message.get(at + 1)?;
                let to = usize::from(length & 0x3f) << 8 | usize::from(low);
                if to > message.len() {
                    return None;
                }
                if to == at {
                    return done(text, end?, steps, Some(Oddity::InfiniteLoop));
                }
                end = end.or(Some(at + 2));
                at = to;
            }
            _ => return None,
        }
        if text.len() > NAME_BYTES_MAX {
            text.truncate(NAME_BYTES_MAX);
            oddity = Some(Oddity::NameTooLong);
            if end.is_some() {
                break;
            }
        }
    }
    done(text, end?, LABELS_MAX, oddity.or(Some(Oddity::TooManyLabels)))
}

fn done(text: Vec<u8>, end: usize, steps: usize, oddity: Option<Oddity>) -> Option<Name> {
    Some(Name { text, end, steps, oddity })
}
