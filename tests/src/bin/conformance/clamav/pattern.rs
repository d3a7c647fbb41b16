//! Hexadecimal text of a signature → bytes that it matches. Rule: what is fixed is known, so that it can be spoiled.

use crate::random::{Random, Texture};

/// Bytes that a body matches.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// Where a byte stands that no other may stand for.
    pub fixed: Vec<usize>,
}

impl Piece {
    /// Changes one byte that must be as it is; says whether there was one.
    pub fn spoil(&mut self, random: &mut Random) -> bool {
        let Some(at) = random.pick(&self.fixed).copied() else { return false };
        // Not just the case of a letter.
        self.bytes[at] ^= 0x11;
        true
    }
}

/// `None` for what this reads no further than ClamAV's manual.
pub fn piece(hex: &str, modifiers: &str, random: &mut Random, texture: Texture) -> Option<Piece> {
    let mut reader = Reader { text: hex.as_bytes(), at: 0, texture, piece: Piece::default() };
    while reader.at < reader.text.len() {
        reader.node(random)?;
    }
    let mut piece = reader.piece;
    if modifiers.contains('i') {
        for byte in &mut piece.bytes {
            if byte.is_ascii_alphabetic() && random.below(2) == 0 && texture == Texture::Binary {
                *byte ^= 0x20;
            }
        }
    }
    if modifiers.contains('w') && (!modifiers.contains('a') || random.below(2) == 0) {
        piece.bytes = piece.bytes.iter().flat_map(|byte| [*byte, 0]).collect();
        piece.fixed.iter_mut().for_each(|at| *at *= 2);
    }
    if modifiers.contains('f') {
        piece.bytes.insert(0, b' ');
        piece.bytes.push(b' ');
        piece.fixed.iter_mut().for_each(|at| *at += 1);
    }
    Some(piece)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    texture: Texture,
    piece: Piece,
}

impl Reader<'_> {
    fn node(&mut self, random: &mut Random) -> Option<()> {
        match self.text.get(self.at)? {
            b'*' => {
                self.at += 1;
                let gap = random.below(6);
                self.fill(gap, random);
            }
            b'{' | b'[' => {
                let close = if self.text[self.at] == b'{' { b'}' } else { b']' };
                let inside = self.until(close)?;
                let (least, most) = inside.split_once('-').unwrap_or((&inside, &inside));
                let least: usize = if least.is_empty() { 0 } else { least.parse().ok()? };
                let most: usize = if most.is_empty() { least + 3 } else { most.parse().ok()? };
                let gap = random.between(least, most.min(least + 40));
                self.fill(gap, random);
            }
            b'!' => {
                self.at += 2;
                let members = self.until(b')')?;
                let length = members.split('|').next()?.len() / 2;
                self.fill(length, random);
            }
            b'(' => self.group(random)?,
            _ => {
                let pair = self.text.get(self.at..self.at + 2)?;
                self.at += 2;
                self.byte([pair[0], pair[1]], random, true)?;
            }
        }
        Some(())
    }

    fn group(&mut self, random: &mut Random) -> Option<()> {
        self.at += 1;
        let inside = self.until(b')')?;
        match inside.as_str() {
            "B" | "W" => self.piece.bytes.push(b' '),
            "L" => self.piece.bytes.push(b'\n'),
            _ => {
                let branches: Vec<&str> = inside.split('|').collect();
                let branch = random.pick(&branches)?.as_bytes();
                let mut at = 0;
                while at < branch.len() {
                    if branch[at] == b'{' {
                        let end = branch[at..].iter().position(|byte| *byte == b'}')? + at;
                        let count = str::from_utf8(&branch[at + 1..end]).ok()?.parse().ok()?;
                        self.fill(count, random);
                        at = end + 1;
                        continue;
                    }
                    self.byte([branch[at], *branch.get(at + 1)?], random, false)?;
                    at += 2;
                }
            }
        }
        Some(())
    }

    fn byte(&mut self, pair: [u8; 2], random: &mut Random, is_fixed: bool) -> Option<()> {
        let digit = |letter: u8| match letter {
            b'?' => Some(None),
            letter => char::from(letter).to_digit(16).map(|digit| Some(digit as u8)),
        };
        let (high, low) = (digit(pair[0])?, digit(pair[1])?);
        if is_fixed && high.is_some() && low.is_some() {
            self.piece.fixed.push(self.piece.bytes.len());
        }
        let filler = random.filler(self.texture);
        self.piece.bytes.push(high.unwrap_or(filler >> 4) << 4 | low.unwrap_or(filler & 15));
        Some(())
    }

    fn fill(&mut self, count: usize, random: &mut Random) {
        let texture = self.texture;
        self.piece.bytes.extend((0..count).map(|_| random.filler(texture)));
    }

    /// What stands before that byte; both are read, and what opened it.
    fn until(&mut self, close: u8) -> Option<String> {
        let opened = usize::from(matches!(self.text.get(self.at), Some(b'{' | b'[')));
        let rest = self.text.get(self.at + opened..)?;
        let end = rest.iter().position(|byte| *byte == close)?;
        self.at += opened + end + 1;
        String::from_utf8(rest[..end].to_vec()).ok()
    }
}
