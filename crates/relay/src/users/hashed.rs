//! One hashed password: [`Hashed`]. Rule: what `htpasswd` and `crypt` write, but for what is no protection any more.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use md5::{Digest as _, Md5};
use ring::digest;
use sha_crypt::{PasswordVerifier as _, ShaCrypt};
use subtle::ConstantTimeEq as _;

/// The most work that a line of the file may ask for: with more, a single login would take seconds.
const BCRYPT_COST_MAX: u32 = 16;
const ROUNDS_MAX: u32 = 1_000_000;

/// A password as the file has it.
#[derive(Clone, PartialEq, Eq)]
pub enum Hashed {
    /// `$2y$`, `$2b$`, `$2a$`: `htpasswd -B`.
    Bcrypt(String),
    /// `$5$`, `$6$`: `htpasswd -2` and `-5`, `openssl passwd -5` and `-6`, `crypt`.
    ShaCrypt(String),
    /// `$apr1$`, `$1$`: `htpasswd -m`, which is its default.
    Md5 { magic: &'static str, salt: String, digest: String },
    /// `{SHA}`: `htpasswd -s`.
    Sha1([u8; 20]),
}

impl Hashed {
    /// Reads what stands behind the name; what is wrong with it where it cannot be used.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(encoded) = text.strip_prefix("{SHA}") {
            let digest = BASE64_STANDARD.decode(encoded).ok().and_then(|digest| digest.try_into().ok());
            return digest.map(Self::Sha1).ok_or_else(|| "{SHA} wants 20 bytes in base64".to_owned());
        }
        match text.strip_prefix('$').and_then(|rest| rest.split('$').next()) {
            Some("2a" | "2b" | "2y") => {
                let parts: bcrypt::HashParts =
                    text.parse().map_err(|_| "this is no whole bcrypt hash".to_owned())?;
                if parts.get_cost() > BCRYPT_COST_MAX {
                    return Err(format!("a cost of more than {BCRYPT_COST_MAX} would take too long"));
                }
                Ok(Self::Bcrypt(text.to_owned()))
            }
            Some("5") => sha_crypt(text, 43),
            Some("6") => sha_crypt(text, 86),
            Some("apr1") => md5(text, "$apr1$"),
            Some("1") => md5(text, "$1$"),
            _ => Err("this is no hash that is known: make one with htpasswd -B".to_owned()),
        }
    }

    /// Whether it is of that password. It takes as long as its maker wanted.
    pub fn is_of(&self, password: &[u8]) -> bool {
        match self {
            Self::Bcrypt(hash) => bcrypt::verify(password, hash).unwrap_or(false),
            Self::ShaCrypt(hash) => ShaCrypt::default().verify_password(password, hash.as_str()).is_ok(),
            Self::Md5 { magic, salt, digest } => {
                let other = md5_crypt(password, magic.as_bytes(), salt.as_bytes());
                other.as_bytes().ct_eq(digest.as_bytes()).into()
            }
            Self::Sha1(expected) => {
                let other = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, password);
                other.as_ref().ct_eq(expected).into()
            }
        }
    }
}

/// `$5$[rounds=N$]SALT$DIGEST`.
fn sha_crypt(text: &str, digest_length: usize) -> Result<Hashed, String> {
    let mut fields: Vec<&str> = text.split('$').skip(2).collect();
    if let Some(rounds) = fields.first().and_then(|field| field.strip_prefix("rounds=")) {
        let is_fine = rounds.parse().is_ok_and(|rounds: u32| (1000..=ROUNDS_MAX).contains(&rounds));
        if !is_fine {
            return Err(format!("rounds are from 1000 to {ROUNDS_MAX}"));
        }
        fields.remove(0);
    }
    match fields[..] {
        [salt, digest] if salt.len() <= 16 && is_digest(digest, digest_length) => {
            Ok(Hashed::ShaCrypt(text.to_owned()))
        }
        _ => Err("this is no whole SHA-crypt hash".to_owned()),
    }
}

/// `$apr1$SALT$DIGEST`.
fn md5(text: &str, magic: &'static str) -> Result<Hashed, String> {
    let rest = text.strip_prefix(magic).unwrap_or_default();
    match rest.split_once('$') {
        Some((salt, digest)) if salt.len() <= 8 && is_digest(digest, 22) => {
            Ok(Hashed::Md5 { magic, salt: salt.to_owned(), digest: digest.to_owned() })
        }
        _ => Err("this is no whole MD5 hash".to_owned()),
    }
}

/// The alphabet of `crypt`.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

fn is_digest(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|c| DIGITS.contains(&c))
}

/// The digest of `$1$` (Poul-Henning Kamp's, of FreeBSD), which Apache uses with another word in front.
fn md5_crypt(password: &[u8], magic: &[u8], salt: &[u8]) -> String {
    let mut digest = Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut context = Md5::new().chain_update(password).chain_update(magic).chain_update(salt);
    for piece in password.chunks(digest.len()) {
        context.update(&digest[..piece.len()]);
    }
    let mut bits = password.len();
    while bits > 0 {
        // Meant to be the password's bytes; it has always been its first one.
        context.update(if bits & 1 == 1 { &[0][..] } else { password.get(..1).unwrap_or_default() });
        bits >>= 1;
    }
    digest = context.finalize();
    for round in 0..1000 {
        let is_odd = round % 2 == 1;
        let mut context = Md5::new();
        context.update(if is_odd { password } else { &digest[..] });
        if round % 3 > 0 {
            context.update(salt);
        }
        if round % 7 > 0 {
            context.update(password);
        }
        context.update(if is_odd { &digest[..] } else { password });
        digest = context.finalize();
    }
    let mut out = String::new();
    for [a, b, c] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        let value = u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c]);
        push_digits(&mut out, value, 4);
    }
    push_digits(&mut out, u32::from(digest[11]), 2);
    out
}

fn push_digits(out: &mut String, mut value: u32, count: usize) {
    for _ in 0..count {
        out.push(char::from(DIGITS[(value & 63) as usize]));
        value >>= 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `openssl passwd` and `crypt`, but for the last two: test vectors of SHA-crypt's description.
    const HASHES: [(&str, &str); 8] = [
        ("{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "password"),
        ("$apr1$saltsalt$ZoYlGsDFB5678i/N.cZFS.", "My secret"),
        ("$apr1$12345678$HRA6fax94NO5iwegHTwlV.", "pässwörd über alles und mehr als sechzehn Zeichen"),
        ("$1$abc$Y.5JwZlXvTsMEFhYjLCbq.", "p"),
        ("$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a", "secret"),
        (
            "$6$abcdefgh$nzRkcbNLLzBDifsvDQ9yyFrbeIT3KpSCRNulH3IN/8fGPDYh9T7rsgHWXGi8P9CydJ/mJByY32T79XRPFlXxQ0",
            "pässwörd über alles und mehr als sechzehn Zeichen",
        ),
        ("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!"),
        (
            "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
            "Hello world!",
        ),
    ];

    #[test]
    fn each_format_knows_its_password_and_no_other() {
        for (hash, password) in HASHES {
            let hashed = Hashed::parse(hash).unwrap_or_else(|wrong| panic!("{hash}: {wrong}"));
            assert!(hashed.is_of(password.as_bytes()), "{hash}");
            for other in ["", "x", &password[1..], &format!("{password} "), &password.to_uppercase()] {
                assert!(!hashed.is_of(other.as_bytes()), "{hash} {other}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_no_hash() {
        for (hash, _) in HASHES {
            for end in 0..hash.len() {
                assert!(Hashed::parse(&hash[..end]).is_err(), "{}", &hash[..end]);
            }
        }
        for text in [
            "",
            "secret",
            "rqXexS6ZhobKA",
            "$apr1$saltsaltsalt$4hDaMUNIuSJOdKgkpqyqY.",
            "$2y$31$Pq9kIbrJvAIqhLXXGOFlyeF9iMTwKXQ6xoZY1xPdaFhVBLIkMBYuG",
            "$6$rounds=999999999$saltstring$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
            "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9",
            "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA",
        ] {
            assert!(Hashed::parse(text).is_err(), "{text}");
        }
    }
}
