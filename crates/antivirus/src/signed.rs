//! The digital signature of a `.cvd`: RSA without padding, of an MD5. Rule: all of it is here; it is made for databases, and
//! protects them against accidents and strangers as well as ClamAV's own does.
//!
//! As ClamAV has it in `sigtool` and `freshclam`: the signature is a number whose digits of six bits are written in letters,
//! the lowest first; raised to the key's exponent it is the MD5, the first byte highest.

/// How many words of 64 bits a number has.
const WORDS: usize = 16;

/// A number of 1024 bits, the low word first.
pub(crate) type Number = [u64; WORDS];

/// Who may sign.
pub(crate) struct Key {
    modulus: Number,
    exponent: u64,
}

/// The key that ClamAV's databases are signed with.
pub(crate) const CLAMAV: Key = Key {
    modulus: [
        0xb69a_5e57_4a61_30ad,
        0x352b_7504_8f2d_4778,
        0x3b86_a0e0_4926_3171,
        0x5ab6_28df_79bc_fce4,
        0xc989_d399_fa72_2ab2,
        0x6290_9d56_d2e2_5256,
        0xc84f_ab2e_2586_930f,
        0x0173_bb07_e1e2_3acb,
        0x2403_a3db_2a45_2dd8,
        0x1491_428c_a8a8_9597,
        0xeed1_ff34_2085_ecdd,
        0x90c6_08bb_48ba_8cb7,
        0x917a_9854_6ddf_c53a,
        0x3753_70c0_9cd4_60e1,
        0x1e60_8cfc_ec44_c024,
        0xa8f3_4c7b_2bae_902e,
    ],
    exponent: 100_001_027,
};

impl Key {
    /// Whether that is this key's signature of an MD5.
    pub fn has_signed(&self, md5: &[u8; 16], signature: &str) -> bool {
        let Some(signature) = number(signature).filter(|number| is_less(number, &self.modulus)) else {
            return false;
        };
        let mut expected = [0; WORDS];
        let md5 = u128::from_be_bytes(*md5);
        expected[..2].copy_from_slice(&[md5 as u64, (md5 >> 64) as u64]);
        power(&signature, &[self.exponent], &self.modulus) == expected
    }
}

/// The number that these digits write.
fn number(text: &str) -> Option<Number> {
    let mut number = [0; WORDS];
    for (at, letter) in text.bytes().enumerate() {
        let digit = u64::from(match letter {
            b'a'..=b'z' => letter - b'a',
            b'A'..=b'Z' => letter - b'A' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        });
        let (word, bit) = (at * 6 / 64, at * 6 % 64);
        // What does not fit must be nothing.
        for (word, part) in
            [(word, digit << bit), (word + 1, digit.checked_shr(64 - bit as u32).unwrap_or(0))]
        {
            match number.get_mut(word) {
                Some(place) => *place |= part,
                None if part == 0 => {}
                None => return None,
            }
        }
    }
    Some(number)
}

fn is_less(left: &Number, right: &Number) -> bool {
    left.iter().rev().lt(right.iter().rev())
}

/// `base` to a power whose low word stands first.
fn power(base: &Number, exponent: &[u64], modulus: &Number) -> Number {
    let mut result = [0; WORDS];
    result[0] = 1;
    for bit in bits(exponent) {
        result = product(&result, &result, modulus);
        if bit {
            result = product(&result, base, modulus);
        }
    }
    result
}

fn product(left: &Number, right: &Number, modulus: &Number) -> Number {
    let mut result = [0; WORDS];
    for bit in bits(right) {
        result = sum(&result, &result, modulus);
        if bit {
            result = sum(&result, left, modulus);
        }
    }
    result
}

/// The bits of a number, the highest that is set first.
fn bits(words: &[u64]) -> impl Iterator<Item = bool> {
    words
        .iter()
        .rev()
        .flat_map(|word| (0..64).rev().map(move |bit| word >> bit & 1 == 1))
        .skip_while(|bit| !bit)
}

/// The sum of two numbers below the modulus.
fn sum(left: &Number, right: &Number, modulus: &Number) -> Number {
    let mut carry = false;
    let mut sum = *left;
    for (word, right) in sum.iter_mut().zip(right) {
        let (low, first) = word.overflowing_add(*right);
        let (low, second) = low.overflowing_add(u64::from(carry));
        (*word, carry) = (low, first || second);
    }
    if carry || !is_less(&sum, modulus) {
        let mut borrow = false;
        for (word, modulus) in sum.iter_mut().zip(modulus) {
            let (low, first) = word.overflowing_sub(*modulus);
            let (low, second) = low.overflowing_sub(u64::from(borrow));
            (*word, borrow) = (low, first || second);
        }
    }
    sum
}

/// A key for tests, and what it signs.
#[cfg(test)]
pub(crate) mod testing {
    use super::{Key, Number, WORDS, bits, power};

    const MODULUS: [u64; 4] =
        [0x6b54_0c34_533b_7b37, 0x05b4_2a96_0f8f_6d4f, 0x23ec_53fb_1bf2_8800, 0xb06b_2c20_4fe4_58dd];
    const SECRET: [u64; 4] =
        [0x4501_5183_a40b_adab, 0x9e5b_1b56_7fac_5d3e, 0xd3b2_01d6_3739_a71b, 0x7e7a_df6e_7779_a096];

    fn modulus() -> Number {
        let mut modulus = [0; WORDS];
        modulus[..4].copy_from_slice(&MODULUS);
        modulus
    }

    pub fn key() -> Key {
        Key { modulus: modulus(), exponent: super::CLAMAV.exponent }
    }

    pub fn sign(md5: &[u8; 16]) -> String {
        let mut number = [0; WORDS];
        let md5 = u128::from_be_bytes(*md5);
        number[..2].copy_from_slice(&[md5 as u64, (md5 >> 64) as u64]);
        let signature = power(&number, &SECRET, &modulus());
        let mut bits: Vec<bool> = bits(&signature).collect();
        bits.reverse();
        let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/";
        let digit = |bits: &[bool]| bits.iter().rev().fold(0, |digit, bit| digit << 1 | usize::from(*bit));
        bits.chunks(6).map(|bits| char::from(letters[digit(bits)])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{key, sign};
    use super::*;

    #[test]
    fn what_a_key_has_signed() {
        for seed in 0..20_u8 {
            let md5: [u8; 16] =
                std::array::from_fn(|at| seed.wrapping_mul(37).wrapping_add((at as u8).wrapping_mul(91)));
            let signature = sign(&md5);
            assert!(key().has_signed(&md5, &signature), "{signature}");
            assert!(!CLAMAV.has_signed(&md5, &signature));
            let mut other = md5;
            other[15] ^= 1;
            assert!(!key().has_signed(&other, &signature));
            for at in 0..signature.len() {
                let mut bent = signature.clone().into_bytes();
                bent[at] = if bent[at] == b'k' { b'l' } else { b'k' };
                assert!(!key().has_signed(&md5, str::from_utf8(&bent).unwrap()), "{at}");
            }
        }
        for nothing in ["", "a", "X", "?", &"/".repeat(171), &"/".repeat(10_000), &"a".repeat(10_000)] {
            assert!(
                !key().has_signed(&[7; 16], nothing) && !CLAMAV.has_signed(&[7; 16], nothing),
                "{nothing}"
            );
        }
    }
}
