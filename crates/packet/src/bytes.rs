//! Numbers out of bytes from the wire, and one's-complement sums of them. Rule: what is not there is `None`, never a panic.

/// The byte at `at`.
pub(crate) fn byte(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// Two bytes at `at`, most significant first.
pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two))
}

/// Four bytes at `at`, most significant first.
pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

/// So many bytes at `at`.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// A one's-complement sum (RFC 1071), not yet folded. Slices of odd length may only come last.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// With these bytes too.
    pub(crate) fn add(mut self, bytes: &[u8]) -> Self {
        // Four bytes at a time give the same sum modulo 0xffff: 2^16 is 1 there.
        let (words, rest) = bytes.as_chunks::<4>();
        for word in words {
            self.0 += u64::from(u32::from_be_bytes(*word));
        }
        let mut last = [0; 4];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.0 += u64::from(u32::from_be_bytes(last));
        self
    }

    /// With this number too.
    pub(crate) fn add_number(mut self, number: u32) -> Self {
        self.0 += u64::from(number);
        self
    }

    /// The checksum of what was summed up: 0 where its own checksum was in it and is right.
    pub(crate) fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().add(&bytes).checksum(), !0xddf2);
        // An odd byte is the upper half of a last word.
        assert_eq!(Sum::default().add(&[1, 2, 3]).checksum(), !0x0402);
        assert_eq!(Sum::default().add(&bytes).add_number(0x220d).checksum(), 0);
    }

    #[test]
    fn what_is_not_there_is_none() {
        assert_eq!(be16(&[1, 2], 0), Some(0x102));
        assert_eq!(be16(&[1, 2], 1), None);
        assert_eq!(be32(&[1, 2, 3], 0), None);
        assert_eq!(byte(&[], usize::MAX), None);
        assert_eq!(array::<2>(&[1], 0), None);
    }
}
