//! References to characters, by their names and numbers. Rule: what is none stays as it was written.

use super::names::named;
use super::{Page, Place, Used, VALUE_BYTES_MAX};

/// From here on a number of a character is none.
const NUMBER_MAX: u64 = 1 << 59;

impl Page {
    pub(super) fn reference(&mut self, byte: u8) -> Used {
        if byte != b'#' {
            return self.leave(Place::Entity);
        }
        self.number = 0;
        self.radix = 10;
        self.go(Place::Number)
    }

    pub(super) fn entity(&mut self, byte: u8) -> Used {
        let is_name = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-');
        if is_name && self.entity.len() < VALUE_BYTES_MAX {
            self.entity.push(byte);
            return Used::Yes;
        }
        self.place = self.back;
        self.entity_ends(byte == b';');
        if byte == b';' { Used::Yes } else { Used::No }
    }

    /// The name of a character has ended.
    pub(super) fn entity_ends(&mut self, is_closed: bool) {
        let name = std::mem::take(&mut self.entity);
        let written = match named(&name).filter(|_| is_closed || self.place == Place::Entity) {
            Some(character) => character_text(character),
            None => {
                let end: &[u8] = if is_closed { b";" } else { b"" };
                [b"&", name.to_ascii_lowercase().as_slice(), end].concat()
            }
        };
        for byte in written {
            self.write(byte);
            if self.back == Place::Value {
                self.add_to_value(byte);
            }
        }
    }

    pub(super) fn number(&mut self, byte: u8) -> Used {
        if self.number == 0 && matches!(byte, b'x' | b'X') {
            self.radix = 16;
            return Used::Yes;
        }
        let digit = char::from(byte).to_digit(self.radix);
        if let Some(digit) = digit.filter(|_| self.number < NUMBER_MAX) {
            self.number = self.number * u64::from(self.radix) + u64::from(digit);
            return Used::Yes;
        }
        let low = self.number as u8;
        self.place = self.back;
        if byte != b';' {
            self.write(low);
            return if digit.is_some() { Used::Yes } else { Used::No };
        }
        if self.back == Place::Value {
            self.add_to_value(low);
        }
        if self.number < 0x80 {
            self.write(low.to_ascii_lowercase());
        } else {
            self.no_comment.extend(character_text(self.number as u16));
        }
        Used::Yes
    }
}

/// How a character that was named or numbered is written.
fn character_text(character: u16) -> Vec<u8> {
    match character {
        0 => Vec::new(),
        0x3002 | 0xff0e | 0xfe52 => vec![b'.'],
        1..0xff => vec![character as u8],
        _ => format!("&#x{character:04x};").into_bytes(),
    }
}
