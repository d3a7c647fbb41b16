//! Text of a Perl expression → tree. Rule: the depth of groups is bounded, and so is what repetitions may come to.

use super::escape::{self, Escape, class};
use super::syntax::{Letters, Node, Place, Sense, Set, Taste, Way};
use super::{Flags, Unread};

/// How deep groups may nest.
const DEPTH_MAX: usize = 64;
/// The most that a repetition may count to: PCRE's own bound.
const REPEAT_MAX: u32 = 65_535;

/// The text, and how far it is read.
pub(crate) struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    flags: Flags,
    depth: usize,
    groups: u32,
    groups_of_all: u32,
    names: Vec<(Vec<u8>, u32)>,
}

/// Reads a whole expression.
pub(crate) fn parse(text: &[u8], flags: Flags) -> Result<Node, Unread> {
    let mut parser = Parser {
        text,
        at: 0,
        flags,
        depth: 0,
        groups: 0,
        groups_of_all: count_groups(text),
        names: Vec::new(),
    };
    let node = parser.either()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.unread("a ) that closes nothing")),
    }
}

/// How many groups there are, about: it decides whether `\10` is one.
fn count_groups(text: &[u8]) -> u32 {
    let pairs = text.iter().zip(text.iter().skip(1).map(Some).chain([None]));
    pairs.filter(|(byte, next)| **byte == b'(' && *next != Some(&b'?')).count() as u32
}

impl Parser<'_> {
    pub fn unread(&self, what: &'static str) -> Unread {
        Unread { at: self.at, what }
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub fn next(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += usize::from(byte.is_some());
        byte
    }

    pub fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn take_all(&mut self, bytes: &[u8]) -> bool {
        let there = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(bytes));
        self.at += if there { bytes.len() } else { 0 };
        there
    }

    pub fn skip(&mut self) {
        self.at += 1;
    }

    pub fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn go(&mut self, at: usize) {
        self.at = at;
    }

    pub fn any_case(&self) -> bool {
        self.flags.any_case
    }

    pub fn groups_of_all(&self) -> u32 {
        self.groups_of_all
    }

    pub fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            number = Some(number.unwrap_or(0_u32).saturating_mul(10).saturating_add(u32::from(digit - b'0')));
            self.at += 1;
        }
        number
    }

    /// What stands before that byte, which is read, too.
    pub fn until(&mut self, close: u8) -> Result<Vec<u8>, Unread> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(length) = rest.iter().position(|byte| *byte == close) else {
            return Err(self.unread("a name that is not closed"));
        };
        self.at += length + 1;
        Ok(rest[..length].to_vec())
    }

    /// Branches up to a `)` or the end. Flags set within end with them.
    fn either(&mut self) -> Result<Node, Unread> {
        if self.depth >= DEPTH_MAX {
            return Err(self.unread("groups nested too deeply"));
        }
        self.depth += 1;
        let flags = self.flags;
        let mut branches = vec![self.all()?];
        while self.take(b'|') {
            branches.push(self.all()?);
        }
        self.flags = flags;
        self.depth -= 1;
        Ok(match branches.len() {
            1 => branches.remove(0),
            _ => Node::Either(branches),
        })
    }

    fn all(&mut self) -> Result<Node, Unread> {
        let mut nodes = Vec::new();
        loop {
            if self.flags.extended && self.skip_blank() {
                continue;
            }
            if matches!(self.peek(), None | Some(b'|' | b')')) {
                break;
            }
            if self.take_all(b"\\Q") {
                self.quoted(&mut nodes);
                continue;
            }
            let Some(node) = self.atom()? else { continue };
            nodes.push(self.repeated(node)?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::All(nodes) })
    }

    fn skip_blank(&mut self) -> bool {
        match self.peek() {
            Some(b'\t'..=b'\r' | b' ') => self.at += 1,
            Some(b'#') => while self.next().is_some_and(|byte| byte != b'\n') {},
            _ => return false,
        }
        true
    }

    /// `\Q…\E`.
    fn quoted(&mut self, nodes: &mut Vec<Node>) {
        while self.peek().is_some() && !self.take_all(b"\\E") {
            let byte = self.next().unwrap_or_default();
            nodes.push(self.byte(byte));
        }
    }

    fn byte(&self, byte: u8) -> Node {
        if self.flags.any_case && byte.is_ascii_alphabetic() {
            return Node::Set(Box::new(Set::of(|other| other.eq_ignore_ascii_case(&byte))));
        }
        Node::Byte(byte)
    }

    /// One thing that may be repeated; `None` for what stands for nothing.
    fn atom(&mut self) -> Result<Option<Node>, Unread> {
        let byte = self.next().unwrap_or_default();
        Ok(Some(match byte {
            b'.' if self.flags.dot_all => Node::Set(Box::new(Set::default().inverse())),
            b'.' => Node::Set(Box::new(Set::of(|byte| byte != b'\n'))),
            b'^' if self.flags.multi_line => Node::Place(Place::LineStart),
            b'^' => Node::Place(Place::Start),
            b'$' if self.flags.multi_line => Node::Place(Place::LineEnd),
            b'$' if self.flags.dollar_end_only => Node::Place(Place::End),
            b'$' => Node::Place(Place::EndOrLastLine),
            b'[' => Node::Set(Box::new(class(self)?)),
            b'(' => return self.group(),
            b'*' | b'+' | b'?' => {
                self.back();
                return Err(self.unread("a repetition of nothing"));
            }
            b'\\' => return self.escaped(),
            byte => self.byte(byte),
        }))
    }

    fn escaped(&mut self) -> Result<Option<Node>, Unread> {
        Ok(Some(match escape::escape(self)? {
            Escape::Byte(byte) => self.byte(byte),
            Escape::Set(set) => Node::Set(Box::new(set)),
            Escape::Letter(b'b') => Node::Place(Place::WordEdge),
            Escape::Letter(b'B') => Node::Place(Place::NotWordEdge),
            Escape::Letter(b'A' | b'G') => Node::Place(Place::Start),
            Escape::Letter(b'Z') => Node::Place(Place::EndOrLastLine),
            Escape::Letter(b'z') => Node::Place(Place::End),
            Escape::Letter(b'R') => Node::Atomic(Box::new(Node::Either(vec![
                Node::All(vec![Node::Byte(b'\r'), Node::Byte(b'\n')]),
                Node::Set(Box::new(Set::of(|byte| matches!(byte, b'\n'..=b'\r' | 0x85)))),
            ]))),
            // Where a match is said to start is asked for by nobody.
            Escape::Letter(_) => return Ok(None),
            Escape::Group(number) if number < 0 => {
                let number = u32::try_from(i64::from(self.groups) + 1 + i64::from(number))
                    .ok()
                    .filter(|number| *number > 0)
                    .ok_or_else(|| self.unread("a group that is not there"))?;
                self.reference(number)?
            }
            Escape::Group(number) => self.reference(number.unsigned_abs())?,
            Escape::Named(name) => self.named(&name)?,
        }))
    }

    fn reference(&self, number: u32) -> Result<Node, Unread> {
        if number > self.groups_of_all.max(self.groups) + self.names.len() as u32 {
            return Err(self.unread("a group that is not there"));
        }
        Ok(Node::Back(number, if self.flags.any_case { Letters::AnyCase } else { Letters::AsWritten }))
    }

    fn named(&self, name: &[u8]) -> Result<Node, Unread> {
        match self.names.iter().find(|(known, _)| known == name) {
            Some((_, number)) => self.reference(*number),
            None => Err(self.unread("a group's name that is not there")),
        }
    }

    /// Behind `(`.
    fn group(&mut self) -> Result<Option<Node>, Unread> {
        if self.peek() == Some(b'*') {
            return Err(self.unread("a verb, (*…), is not understood"));
        }
        if !self.take(b'?') {
            return self.capture(None).map(Some);
        }
        let look = |way, sense| move |node| Node::Look(way, sense, Box::new(node));
        let node = match self.next() {
            Some(b':') => self.inner()?,
            Some(b'=') => self.inner().map(look(Way::Ahead, Sense::Positive))?,
            Some(b'!') => self.inner().map(look(Way::Ahead, Sense::Negative))?,
            Some(b'>') => Node::Atomic(Box::new(self.inner()?)),
            Some(b'<') if self.take(b'=') => self.behind(Sense::Positive)?,
            Some(b'<') if self.take(b'!') => self.behind(Sense::Negative)?,
            Some(b'<') => self.named_capture(b'>')?,
            Some(b'\'') => self.named_capture(b'\'')?,
            Some(b'P') if self.take(b'<') => self.named_capture(b'>')?,
            Some(b'P') if self.take(b'=') => {
                let name = self.until(b')')?;
                self.named(&name)?
            }
            Some(b'#') => {
                self.until(b')')?;
                return Ok(None);
            }
            Some(b'(') => self.conditional()?,
            Some(b'i' | b'm' | b's' | b'x' | b'U' | b'J' | b'-' | b'^') => {
                self.back();
                return self.flagged();
            }
            _ => return Err(self.unread("a group of a kind that is not understood")),
        };
        Ok(Some(node))
    }

    fn inner(&mut self) -> Result<Node, Unread> {
        let node = self.either()?;
        if self.take(b')') { Ok(node) } else { Err(self.unread("a group that is not closed")) }
    }

    fn capture(&mut self, name: Option<Vec<u8>>) -> Result<Node, Unread> {
        self.groups += 1;
        let number = self.groups;
        if let Some(name) = name {
            self.names.push((name, number));
        }
        Ok(Node::Capture(number, Box::new(self.inner()?)))
    }

    fn named_capture(&mut self, close: u8) -> Result<Node, Unread> {
        let name = self.until(close)?;
        self.capture(Some(name))
    }

    fn behind(&mut self, sense: Sense) -> Result<Node, Unread> {
        let node = self.inner()?;
        let branches = match &node {
            Node::Either(branches) => branches.as_slice(),
            one => std::slice::from_ref(one),
        };
        if branches.iter().any(|branch| matches!(branch.width(), (min, max) if max != Some(min))) {
            return Err(self.unread("what stands behind has no fixed length"));
        }
        Ok(Node::Look(Way::Behind, sense, Box::new(node)))
    }

    /// `(?(1)yes|no)`, from behind the second parenthesis.
    fn conditional(&mut self) -> Result<Node, Unread> {
        let group = match self.number() {
            Some(number) if self.take(b')') => number,
            Some(_) => return Err(self.unread("a condition that is not understood")),
            None => {
                let name = self.until(b')')?;
                let name = name.trim_ascii();
                let bare = name.get(1..name.len().max(1) - 1).unwrap_or_default();
                let known = self.names.iter().find(|(known, _)| known == name || known == bare);
                known.map(|(_, number)| *number).ok_or_else(|| {
                    self.unread("a condition that is not understood; expected a group's number or name")
                })?
            }
        };
        let mut branches = match self.inner()? {
            Node::Either(branches) if branches.len() > 2 => {
                return Err(self.unread("a condition with more than two branches"));
            }
            Node::Either(branches) => branches,
            one => vec![one],
        };
        let yes = branches.remove(0);
        Ok(Node::If(group, Box::new(yes), Box::new(branches.pop().unwrap_or_default())))
    }

    /// `(?i)` up to the end of the group it stands in, or `(?i:…)`.
    fn flagged(&mut self) -> Result<Option<Node>, Unread> {
        let before = self.flags;
        let mut value = true;
        loop {
            match self.next() {
                Some(b'i') => self.flags.any_case = value,
                Some(b'm') => self.flags.multi_line = value,
                Some(b's') => self.flags.dot_all = value,
                Some(b'x') => self.flags.extended = value,
                Some(b'U') => self.flags.ungreedy = value,
                Some(b'J') => {}
                Some(b'^') => {
                    self.flags = Flags { dollar_end_only: before.dollar_end_only, ..Flags::default() }
                }
                Some(b'-') => value = false,
                Some(b')') => return Ok(None),
                Some(b':') => {
                    let node = self.inner()?;
                    self.flags = before;
                    return Ok(Some(node));
                }
                _ => return Err(self.unread("a flag that is not understood")),
            }
        }
    }

    /// The repetitions behind a node.
    fn repeated(&mut self, mut node: Node) -> Result<Node, Unread> {
        loop {
            if self.flags.extended && self.skip_blank() {
                continue;
            }
            let (min, max) = match self.peek() {
                Some(b'*') => (0, None),
                Some(b'+') => (1, None),
                Some(b'?') => (0, Some(1)),
                Some(b'{') => match self.braces()? {
                    Some(counts) => counts,
                    None => return Ok(node),
                },
                _ => return Ok(node),
            };
            self.at += 1;
            let taste = match (self.peek(), self.flags.ungreedy) {
                (Some(b'+'), _) => Taste::Possessive,
                (Some(b'?'), false) => Taste::Lazy,
                (Some(b'?'), true) => Taste::Greedy,
                (_, true) => Taste::Lazy,
                (_, false) => Taste::Greedy,
            };
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'?')));
            node = Node::Repeat { node: Box::new(node), min, max, taste };
        }
    }

    /// `{n}`, `{n,}` or `{n,m}`, read up to its `}`; `None`, and nothing is read, where it is just a brace.
    fn braces(&mut self) -> Result<Option<(u32, Option<u32>)>, Unread> {
        let mark = self.at;
        self.at += 1;
        let counts = self.number().map(|min| match self.take(b',') {
            true => (min, self.number()),
            false => (min, Some(min)),
        });
        let Some((min, max)) = counts.filter(|_| self.peek() == Some(b'}')) else {
            self.at = mark;
            return Ok(None);
        };
        if min > REPEAT_MAX || max.is_some_and(|max| max > REPEAT_MAX || max < min) {
            return Err(self.unread("a repetition whose counts are crossed or above 65535"));
        }
        Ok(Some((min, max)))
    }
}
