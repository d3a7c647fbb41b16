//! A regular expression → text that it matches, as far as that can be had without search. Rule: look-around is taken to
//! hold; whether it does, the programs that are compared say.

use crate::random::Random;
use std::collections::HashMap;

/// How deep groups are followed.
const DEPTH_MAX: usize = 40;

/// `None` for what this does not read.
pub fn sentence(expression: &str, random: &mut Random) -> Option<Vec<u8>> {
    let mut writer = Writer {
        text: expression.as_bytes(),
        at: 0,
        out: Vec::new(),
        groups: Vec::new(),
        names: HashMap::new(),
        depth: 0,
        random,
    };
    writer.either()?;
    (writer.at == writer.text.len()).then_some(writer.out)
}

struct Writer<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
    groups: Vec<Vec<u8>>,
    names: HashMap<Vec<u8>, usize>,
    depth: usize,
    random: &'a mut Random,
}

impl Writer<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, text: &[u8]) -> bool {
        let there = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(text));
        self.at += if there { text.len() } else { 0 };
        there
    }

    /// Branches up to `)` or the end: each is written, one is kept.
    fn either(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth < DEPTH_MAX).then_some(())?;
        let start = self.out.len();
        let mut branches = Vec::new();
        loop {
            while !matches!(self.peek(), None | Some(b'|' | b')')) {
                self.item()?;
            }
            branches.push(self.out.split_off(start));
            if !self.take(b"|") {
                break;
            }
        }
        let chosen = self.random.pick(&branches)?.clone();
        self.out.extend(chosen);
        self.depth -= 1;
        Some(())
    }

    /// Something with its repetition.
    fn item(&mut self) -> Option<()> {
        let start = self.out.len();
        self.atom()?;
        let (least, most) = match self.peek() {
            Some(b'*') => (0, 3),
            Some(b'+') => (1, 3),
            Some(b'?') => (0, 1),
            Some(b'{') => match self.counts() {
                Some(counts) => counts,
                None => return Some(()),
            },
            _ => return Some(()),
        };
        self.at += 1;
        if matches!(self.peek(), Some(b'?' | b'+')) {
            self.at += 1;
        }
        let once = self.out.split_off(start);
        for _ in 0..self.random.between(least, most) {
            self.out.extend_from_slice(&once);
        }
        Some(())
    }

    /// `{n}`, `{n,}`, `{n,m}`, read up to the brace that closes.
    fn counts(&mut self) -> Option<(usize, usize)> {
        let rest = self.text.get(self.at + 1..)?;
        let end = rest.iter().position(|byte| *byte == b'}')?;
        let inside = str::from_utf8(&rest[..end]).ok()?;
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let least: usize = least.parse().ok()?;
        let most: usize = if most.is_empty() { least + 2 } else { most.parse().ok()? };
        self.at += end + 1;
        Some((least, most.min(least + 4)))
    }

    fn atom(&mut self) -> Option<()> {
        match self.next()? {
            b'(' => return self.group(),
            b'[' => {
                let members = self.class()?;
                let byte = *self.random.pick(&members)?;
                self.out.push(byte);
            }
            b'\\' => return self.escape(),
            b'.' => self.out.push(b'q'),
            b'^' | b'$' => {}
            byte => self.out.push(byte),
        }
        Some(())
    }

    fn group(&mut self) -> Option<()> {
        let start = self.out.len();
        let mut name = None;
        if self.take(b"?P=") {
            let name = self.until(b')')?;
            let group = *self.names.get(&name)?;
            let again = self.groups.get(group)?.clone();
            self.out.extend(again);
            return Some(());
        }
        let is_look = self.take(b"?=") || self.take(b"?!") || self.take(b"?<=") || self.take(b"?<!");
        let is_bare = is_look || self.take(b"?:") || self.take(b"?>");
        if !is_bare && (self.take(b"?P<") || self.take(b"?<")) {
            name = Some(self.until(b'>')?);
        } else if !is_bare && self.peek() == Some(b'?') {
            return None;
        }
        let number = self.groups.len();
        if !is_bare {
            self.groups.push(Vec::new());
        }
        self.either()?;
        self.take(b")").then_some(())?;
        if is_look {
            self.out.truncate(start);
        } else if !is_bare {
            self.groups[number] = self.out[start..].to_vec();
            if let Some(name) = name {
                self.names.insert(name, number);
            }
        }
        Some(())
    }

    fn until(&mut self, close: u8) -> Option<Vec<u8>> {
        let rest = self.text.get(self.at..)?;
        let end = rest.iter().position(|byte| *byte == close)?;
        self.at += end + 1;
        Some(rest[..end].to_vec())
    }

    fn escape(&mut self) -> Option<()> {
        let letter = self.next()?;
        match letter {
            b'1'..=b'9' => {
                let again = self.groups.get(usize::from(letter - b'1'))?.clone();
                self.out.extend(again);
            }
            b'b' | b'B' | b'A' | b'z' | b'Z' => {}
            _ => {
                let members = self.escaped(letter)?;
                let byte = *self.random.pick(&members)?;
                self.out.push(byte);
            }
        }
        Some(())
    }

    /// What an escape may stand for.
    fn escaped(&mut self, letter: u8) -> Option<Vec<u8>> {
        Some(match letter {
            b'x' => {
                let digits = self.text.get(self.at..self.at + 2)?;
                self.at += 2;
                vec![u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?]
            }
            b'd' => b"0123456789".to_vec(),
            b'w' => b"abyz09".to_vec(),
            b's' => b" ".to_vec(),
            b'S' | b'D' => b"kmx".to_vec(),
            b'W' => b" ;-".to_vec(),
            b'n' => vec![b'\n'],
            b'r' => vec![b'\r'],
            b't' => vec![b'\t'],
            letter if letter.is_ascii_alphanumeric() => return None,
            other => vec![other],
        })
    }

    /// A class, from behind its bracket on: some bytes that belong to it.
    fn class(&mut self) -> Option<Vec<u8>> {
        let is_inverted = self.take(b"^");
        let mut members: Vec<u8> = Vec::new();
        let mut is_first = true;
        loop {
            let byte = self.next()?;
            if byte == b']' && !is_first {
                break;
            }
            is_first = false;
            let mut some = if byte == b'\\' {
                let letter = self.next()?;
                self.escaped(letter)?
            } else {
                vec![byte]
            };
            if let [low] = some[..]
                && self.peek() == Some(b'-')
                && self.text.get(self.at + 1).is_some_and(|byte| *byte != b']')
            {
                self.at += 1;
                let high = match self.next()? {
                    b'\\' => {
                        let letter = self.next()?;
                        *self.escaped(letter)?.last()?
                    }
                    byte => byte,
                };
                some = (low..=high).collect();
            }
            members.extend(some);
        }
        if is_inverted {
            members = b"kqz09 ;~".iter().copied().filter(|byte| !members.contains(byte)).collect();
        }
        Some(members)
    }
}
