//! Names → 64 bits: SipHash-1-3 under a secret key. Rule: the key is given and never shown, so that nobody outside can
//! look for a name that meets another's hash.
//!
//! Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).

/// The key of all hashes of one database: chance, as an argument.
#[derive(Clone, Copy)]
pub struct Key(pub u64, pub u64);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

struct State {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl State {
    fn new(key: Key) -> Self {
        Self {
            v0: key.0 ^ 0x736f_6d65_7073_6575,
            v1: key.1 ^ 0x646f_7261_6e64_6f6d,
            v2: key.0 ^ 0x6c79_6765_6e65_7261,
            v3: key.1 ^ 0x7465_6462_7974_6573,
        }
    }

    fn round(&mut self) {
        let Self { v0, v1, v2, v3 } = self;
        *v0 = v0.wrapping_add(*v1);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v3);
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.wrapping_add(*v3);
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.wrapping_add(*v1);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v2 = v2.rotate_left(32);
    }

    fn word(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.v0 ^= word;
    }
}

impl Key {
    /// The hash of bytes; `before` is another hash that they go on from, or a number for what they mean.
    pub(crate) fn hash(self, before: u64, bytes: &[u8]) -> u64 {
        let mut state = State::new(Self(self.0, self.1 ^ before));
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            state.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The last word bears the length, modulo 256.
        last[7] = bytes.len() as u8;
        state.word(u64::from_le_bytes(last));
        state.v2 ^= 0xff;
        for _ in 0..3 {
            state.round();
        }
        state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{DefaultHasher, Hasher};

    /// The standard library's own hasher is the same function under the key 0.
    #[test]
    fn as_the_standard_library_has_it() {
        let bytes: Vec<u8> = (0..100).collect();
        for length in 0..bytes.len() {
            let mut theirs = DefaultHasher::new();
            theirs.write(&bytes[..length]);
            assert_eq!(Key(0, 0).hash(0, &bytes[..length]), theirs.finish(), "{length}");
        }
    }

    #[test]
    fn key_and_what_comes_before_matter() {
        let of = |a, b, before| Key(a, b).hash(before, b"example.org");
        let all = [of(0, 0, 0), of(1, 0, 0), of(0, 1, 0), of(0, 0, 2), of(2, 2, 0)];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
    }
}
