//! Scripts as Microsoft's Script Encoder writes them. Rule: the decoded text is given; what it says of its length is believed.
//!
//! `#@~^`, eight characters of base64 with the number of characters, the script, a check sum, `^#~@`. Each character stands
//! in one of three rows of a table, picked in turn; line ends and `<>@` are written behind an `@`.

/// What begins a script.
pub(super) const BEGIN: &[u8; 4] = b"#@~^";
/// The characters of the length.
pub(super) const LENGTH_BYTES: usize = 8;

/// Which row each character in turn is from.
const PICKS: &[u8; 64] = b"1201202002021020102011200210200211020201011201021020112001120102";

/// What each character is written as, in each row: a tab, then what ASCII has from the space on.
const ROWS: [[u8; 3]; 96] = rows(
    b"d7iP~,\"ZeJEra:[^yf]Yu['LBvE`cv#b*eMC_Q3~SBOR R cz&J!TZFq8 +y&f2c*W*Xlv\x7f+G{F%0R,1O)l=iIp???'x{???g_Q???\
b)zA$~Z/;f9G23AsowM!VCu_q(&9Bx|FnSJdH\\t1Hgr6}nKhp}5I]\"?jUKP:ji`.#j\x7f\tq(po5eI}t\\$,]-w'TDY7?%{m|=|#lCm48(m^1N[9+n\x7f\
0W6oLTt44krbL%N3V0Vs^:hsxU\tWGKw2a;5$D.M/dkYODE;!\\-7hAS6aXXzHy\".\t`Puk-8N)U=?",
);

const fn rows(written: &[u8; 96 * 3]) -> [[u8; 3]; 96] {
    let mut rows = [[0; 3]; 96];
    let mut at = 0;
    while at < rows.len() {
        rows[at] = [written[3 * at], written[3 * at + 1], written[3 * at + 2]];
        at += 1;
    }
    rows
}

/// What each written character stands for, in each row; itself where nothing is written so.
static READ: [[u8; 128]; 3] = read();

const fn read() -> [[u8; 128]; 3] {
    let mut read = [[0; 128]; 3];
    let mut row = 0;
    while row < 3 {
        let mut character = 0;
        while character < 128 {
            read[row][character] = character as u8;
            character += 1;
        }
        let mut at = 0;
        while at < ROWS.len() {
            // These three are written behind an `@`.
            let plain = if at == 0 { b'\t' } else { b' ' + at as u8 - 1 };
            if !matches!(plain, b'<' | b'>' | b'@') {
                read[row][ROWS[at][row] as usize] = plain;
            }
            at += 1;
        }
        row += 1;
    }
    read
}

/// A script on its way.
pub(super) struct Script {
    left: u32,
    at: usize,
    is_escape: bool,
}

impl Script {
    /// Of so many characters, as base64 says; `None` where it says nothing.
    pub(super) fn new(length: &[u8]) -> Option<Self> {
        let mut bits = 0u64;
        for character in length.get(..6)? {
            bits = bits << 6 | u64::from(super::data_url::sextet(*character)?);
        }
        let left = u32::from_le_bytes(((bits >> 4) as u32).to_be_bytes());
        Some(Self { left, at: 0, is_escape: false })
    }

    /// Whether all of it has been read.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// One character, and what it stands for.
    pub(super) fn byte(&mut self, byte: u8) -> Option<u8> {
        if byte == b'@' && !self.is_escape {
            self.is_escape = true;
            return None;
        }
        let row = usize::from(PICKS[self.at % PICKS.len()] - b'0');
        self.at += 1;
        self.left = self.left.saturating_sub(1);
        if std::mem::take(&mut self.is_escape) {
            return Some(match byte {
                b'#' => b'\r',
                b'&' => b'\n',
                b'!' => b'<',
                b'*' => b'>',
                b'$' => b'@',
                other => other,
            });
        }
        Some(READ[row % 3].get(usize::from(byte)).copied().unwrap_or(byte))
    }
}

#[cfg(test)]
pub(in crate::document) mod tests {
    use super::*;

    /// As the encoder writes it.
    pub(in crate::document) fn encode(script: &[u8]) -> Vec<u8> {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let length = u64::from(u32::from_be_bytes((script.len() as u32).to_le_bytes())) << 4;
        let digits: Vec<u8> = (0..6).map(|n| ALPHABET[(length >> (30 - 6 * n)) as usize & 63]).collect();
        let mut text = [&BEGIN[..], &digits, b"=="].concat();
        for (at, byte) in script.iter().enumerate() {
            let row = usize::from(PICKS[at % 64] - b'0');
            match byte {
                b'\r' => text.extend_from_slice(b"@#"),
                b'\n' => text.extend_from_slice(b"@&"),
                b'<' => text.extend_from_slice(b"@!"),
                b'>' => text.extend_from_slice(b"@*"),
                b'@' => text.extend_from_slice(b"@$"),
                b'\t' => text.push(ROWS[0][row]),
                b' '..=b'~' => text.push(ROWS[usize::from(byte - b' ') + 1][row]),
                other => text.push(*other),
            }
        }
        [&text[..], b"AAAAAA==^#~@"].concat()
    }

    #[test]
    fn a_known_script() {
        // As the encoder's own documents show it.
        let script = b"\r\nmsgbox \"hello\"";
        let text = encode(script);
        assert!(text.starts_with(b"#@~^EAAAAA=="));
        let mut decoder = Script::new(&text[4..12]).unwrap();
        let mut decoded = Vec::new();
        for byte in &text[12..] {
            if decoder.is_done() {
                break;
            }
            decoded.extend(decoder.byte(*byte));
        }
        assert_eq!(decoded, script);
    }

    #[test]
    fn rows_are_permutations() {
        for row in 0..3 {
            let mut written: Vec<u8> = ROWS.iter().map(|character| character[row]).collect();
            written.sort_unstable();
            written.dedup();
            // The three that are written otherwise share a character.
            assert!(written.len() >= ROWS.len() - 3, "{}", written.len());
        }
    }
}
