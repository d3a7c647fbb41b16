//! TLS's own way of writing down what is within something else (RFC 8446 section 3). Rule: what ends behind what holds it is
//! malformed.

use super::Refusal;

/// Bytes that are taken from the front.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Refusal> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Refusal::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn u8(&mut self) -> Result<u8, Refusal> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub fn u16(&mut self) -> Result<u16, Refusal> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// What stands behind its length in three bytes.
    pub fn within_u24(&mut self) -> Result<Self, Refusal> {
        let length = self.take(3)?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        self.take(length).map(Self)
    }

    /// What stands behind its length in one byte.
    pub fn within_u8(&mut self) -> Result<Self, Refusal> {
        let length = self.u8()?;
        self.take(length.into()).map(Self)
    }

    /// What stands behind its length in two bytes.
    pub fn within_u16(&mut self) -> Result<Self, Refusal> {
        let length = self.u16()?;
        self.take(length.into()).map(Self)
    }

    pub fn numbers(self) -> Result<Vec<u16>, Refusal> {
        let (pairs, rest) = self.0.as_chunks::<2>();
        if rest.is_empty() {
            Ok(pairs.iter().copied().map(u16::from_be_bytes).collect())
        } else {
            Err(Refusal::Malformed)
        }
    }

    pub fn end(self) -> Result<(), Refusal> {
        if self.0.is_empty() { Ok(()) } else { Err(Refusal::Malformed) }
    }
}
