//! Text of a Perl expression → tree. Rule: the depth of groups is bounded, and so is what repetitions may come to.

use super::class::class;
use super::escape::{self, Escape};
use super::syntax::{Letters, Node, Place, Set, Taste, Verb};
use super::width::Widths;
use super::{Flags, Unread};

/// How deep groups may nest: PCRE2's own bound.
const DEPTH_MAX: usize = 250;
/// The most that a repetition may count to: PCRE2's own bound.
const REPEAT_MAX: u32 = 65_535;
/// How many repetitions may stand behind one thing.
const REPEATS_MAX: usize = 16;

/// The text, and how far it is read.
pub(crate) struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    pub modes: Modes,
    /// Whether we are between `\Q` and `\E`.
    quote: Quote,
    depth: usize,
    /// Groups that have begun.
    pub groups: u32,
    pub names: Names,
    /// Whether something was named that stands further on: it is known when the text is read again.
    pub looks_on: bool,
}

/// What is switched on here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Modes {
    pub flags: Flags,
    /// `xx`: blanks within a class mean nothing either.
    pub blanks: Blanks,
    /// `n`: plain parentheses are no groups.
    pub plain: Plain,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Blanks {
    #[default]
    Count,
    MeanNothing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Plain {
    #[default]
    Captures,
    Groups,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Open,
    Closed,
}

/// The names of groups, and how many groups there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    names: Vec<(Vec<u8>, u32)>,
    /// The highest number of all; known when the text was read once.
    pub last: Option<u32>,
}

impl Names {
    pub fn add(&mut self, name: Vec<u8>, number: u32) {
        if !self.names.contains(&(name.clone(), number)) {
            self.names.push((name, number));
        }
    }

    /// The groups of that name.
    pub fn of(&self, name: &[u8]) -> Box<[u32]> {
        self.names.iter().filter(|(known, _)| known == name).map(|(_, number)| *number).collect()
    }
}

/// Reads a whole expression.
pub(crate) fn parse(text: &[u8], flags: Flags) -> Result<Node, Unread> {
    let modes = Modes { flags, ..Modes::default() };
    let mut parser = Parser::new(text, modes, Names::default());
    let mut tree = parser.whole()?;
    if parser.looks_on {
        let names = Names { last: Some(parser.groups), ..parser.names };
        parser = Parser::new(text, modes, names);
        tree = parser.whole()?;
    }
    if !Widths::of(&tree).all_known(&tree) {
        return Err(parser.unread("what stands behind has no length that is bounded"));
    }
    Ok(tree)
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], modes: Modes, names: Names) -> Self {
        Self { text, at: 0, modes, quote: Quote::Closed, depth: 0, groups: 0, names, looks_on: false }
    }

    fn whole(&mut self) -> Result<Node, Unread> {
        let setting = self.settings();
        let node = self.either()?;
        match self.peek() {
            None => Ok(match setting {
                Some(verb) => Node::All(vec![Node::Verb(verb), node]),
                None => node,
            }),
            Some(_) => Err(self.unread("a ) that closes nothing")),
        }
    }

    /// What PCRE2 takes at the very beginning; most of it changes no answer here.
    fn settings(&mut self) -> Option<Verb> {
        const NO_CHANGE: [&[u8]; 4] =
            [b"(*NO_JIT)", b"(*NO_AUTO_POSSESS)", b"(*NO_DOTSTAR_ANCHOR)", b"(*LF)"];
        let mut setting = None;
        loop {
            if self.take_all(b"(*NO_START_OPT)") {
                setting = Some(Verb::Everywhere);
            } else if !NO_CHANGE.iter().any(|word| self.take_all(word)) {
                return setting;
            }
        }
    }

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

    pub fn take_all(&mut self, bytes: &[u8]) -> bool {
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

    /// What was read from there on.
    pub fn since(&self, begins: usize) -> &[u8] {
        self.text.get(begins..self.at).unwrap_or_default()
    }

    pub fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            number = Some(number.unwrap_or(0_u32).saturating_mul(10).saturating_add(u32::from(digit - b'0')));
            self.at += 1;
        }
        number
    }

    pub fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
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

    /// One level deeper, and back.
    pub fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Unread>) -> Result<T, Unread> {
        if self.depth >= DEPTH_MAX {
            return Err(self.unread("groups nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Branches up to a `)` or the end. Flags set within end with them.
    pub fn either(&mut self) -> Result<Node, Unread> {
        self.branches(|_| {})
    }

    /// The same; something is done before each branch.
    pub fn branches(&mut self, before_each: impl Fn(&mut Self)) -> Result<Node, Unread> {
        self.deeper(|parser| {
            let modes = parser.modes;
            before_each(parser);
            let mut branches = vec![parser.all()?];
            while parser.take(b'|') {
                before_each(parser);
                branches.push(parser.all()?);
            }
            parser.modes = modes;
            Ok(match branches.len() {
                1 => branches.remove(0),
                _ => Node::Either(branches),
            })
        })
    }

    fn all(&mut self) -> Result<Node, Unread> {
        let mut nodes = Vec::new();
        loop {
            if self.quote == Quote::Open {
                if self.peek().is_none() || self.take_all(b"\\E") {
                    self.quote = Quote::Closed;
                    continue;
                }
                let byte = self.next().unwrap_or_default();
                let node = self.byte(byte);
                nodes.push(self.repeated(node)?);
                continue;
            }
            if self.modes.flags.extended && self.skip_blank() {
                continue;
            }
            if matches!(self.peek(), None | Some(b'|' | b')')) {
                break;
            }
            if self.take_all(b"\\Q") {
                self.quote = Quote::Open;
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

    pub fn byte(&self, byte: u8) -> Node {
        if self.modes.flags.any_case && byte.is_ascii_alphabetic() {
            return Node::Set(Box::new(Set::of(|other| other.eq_ignore_ascii_case(&byte))));
        }
        Node::Byte(byte)
    }

    /// One thing that may be repeated; `None` for what stands for nothing.
    fn atom(&mut self) -> Result<Option<Node>, Unread> {
        let flags = self.modes.flags;
        let byte = self.next().unwrap_or_default();
        Ok(Some(match byte {
            b'.' if flags.dot_all => Node::Set(Box::new(Set::default().inverse())),
            b'.' => Node::Set(Box::new(Set::of(|byte| byte != b'\n'))),
            b'^' if flags.multi_line => Node::Place(Place::LineStart),
            b'^' => Node::Place(Place::Start),
            b'$' if flags.multi_line => Node::Place(Place::LineEnd),
            b'$' if flags.dollar_end_only => Node::Place(Place::End),
            b'$' => Node::Place(Place::EndOrLastLine),
            b'[' => Node::Set(Box::new(class(self)?)),
            b'(' => return self.group(),
            b'*' | b'+' | b'?' => {
                self.back();
                return Err(self.unread("a repetition of nothing"));
            }
            b'{' => {
                self.back();
                if self.braces()?.is_some() {
                    return Err(self.unread("a repetition of nothing"));
                }
                self.skip();
                Node::Byte(b'{')
            }
            b'\\' => return self.escaped(),
            byte => self.byte(byte),
        }))
    }

    fn escaped(&mut self) -> Result<Option<Node>, Unread> {
        let line_end = || {
            Node::Atomic(Box::new(Node::Either(vec![
                Node::All(vec![Node::Byte(b'\r'), Node::Byte(b'\n')]),
                Node::Set(Box::new(Set::of(|byte| matches!(byte, b'\n'..=b'\r' | 0x85)))),
            ])))
        };
        // A character as a reader sees it: of bytes, a line's end of two is the only one of several.
        let cluster = || {
            Node::Atomic(Box::new(Node::Either(vec![
                Node::All(vec![Node::Byte(b'\r'), Node::Byte(b'\n')]),
                Node::Set(Box::new(Set::default().inverse())),
            ])))
        };
        Ok(Some(match escape::escape(self)? {
            Escape::Byte(byte) => self.byte(byte),
            Escape::Set(set) => Node::Set(Box::new(set)),
            Escape::Letter(b'b') => Node::Place(Place::WordEdge),
            Escape::Letter(b'B') => Node::Place(Place::NotWordEdge),
            Escape::Letter(b'A') => Node::Place(Place::Start),
            Escape::Letter(b'G') => Node::Place(Place::SearchStart),
            Escape::Letter(b'Z') => Node::Place(Place::EndOrLastLine),
            Escape::Letter(b'z') => Node::Place(Place::End),
            Escape::Letter(b'K') => Node::Keep,
            Escape::Letter(b'R') => line_end(),
            Escape::Letter(b'X') => cluster(),
            Escape::Letter(_) => return Ok(None),
            Escape::Group(number) => Node::Back([self.there(number)?].into(), self.letters()),
            Escape::Named(name) => Node::Back(self.named(&name)?, self.letters()),
            Escape::Call(number) => Node::Call(self.there(number)?),
            Escape::CallNamed(name) => self.call(&name)?,
        }))
    }

    pub fn letters(&self) -> Letters {
        if self.modes.flags.any_case { Letters::AnyCase } else { Letters::AsWritten }
    }

    pub fn call(&mut self, name: &[u8]) -> Result<Node, Unread> {
        Ok(Node::Call(self.named(name)?.first().copied().unwrap_or_default()))
    }

    /// A group's number, if there is one of that number anywhere.
    pub fn there(&mut self, number: u32) -> Result<u32, Unread> {
        match self.names.last {
            _ if number <= self.groups => Ok(number),
            Some(last) if number > last => Err(self.unread("a group that is not there")),
            _ => {
                self.looks_on = true;
                Ok(number)
            }
        }
    }

    /// The groups of a name, of which some may stand further on.
    pub fn named(&mut self, name: &[u8]) -> Result<Box<[u32]>, Unread> {
        let groups = self.names.of(name);
        if groups.is_empty() && self.names.last.is_some() {
            return Err(self.unread("a group's name that is not there"));
        }
        self.looks_on = true;
        Ok(groups)
    }

    /// The repetitions behind a node.
    fn repeated(&mut self, mut node: Node) -> Result<Node, Unread> {
        let mut repeats = 0;
        loop {
            if self.quote == Quote::Open {
                if !self.take_all(b"\\E") {
                    return Ok(node);
                }
                self.quote = Quote::Closed;
            }
            if self.take_all(b"\\Q\\E") || self.take_all(b"\\E") || self.comment()? {
                continue;
            }
            if self.modes.flags.extended && self.skip_blank() {
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
            repeats += 1;
            if repeats > REPEATS_MAX {
                return Err(self.unread("too many repetitions of one thing"));
            }
            let taste = match (self.peek(), self.modes.flags.ungreedy) {
                (Some(b'+'), _) => Taste::Possessive,
                (Some(b'?'), false) => Taste::Lazy,
                (Some(b'?'), true) => Taste::Greedy,
                (_, true) => Taste::Lazy,
                (_, false) => Taste::Greedy,
            };
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'?')));
            // What decides by itself is not repeated: once is as good as often.
            let (min, max) = match node {
                Node::Verb(Verb::Fail) | Node::Look(..) => {
                    (min.min(1), max.map(|max| max.min(1)).or(Some(1)))
                }
                _ => (min, max),
            };
            node = Node::Repeat { node: Box::new(node), min, max, taste };
        }
    }

    /// `(?#…)`.
    fn comment(&mut self) -> Result<bool, Unread> {
        if !self.take_all(b"(?#") {
            return Ok(false);
        }
        self.until(b')').map(|_| true)
    }

    /// `{n}`, `{n,}`, `{n,m}` or `{,m}`, read up to its `}`; `None`, and nothing is read, where it is just a brace.
    fn braces(&mut self) -> Result<Option<(u32, Option<u32>)>, Unread> {
        let mark = self.at;
        self.at += 1;
        self.skip_spaces();
        let min = self.number();
        self.skip_spaces();
        let max = if self.take(b',') {
            self.skip_spaces();
            self.number()
        } else {
            min
        };
        let is_range = self.text.get(mark..self.at).is_some_and(|text| text.contains(&b','));
        self.skip_spaces();
        if self.peek() != Some(b'}') || (min.is_none() && max.is_none()) {
            self.at = mark;
            return Ok(None);
        }
        let max = if is_range { max } else { min };
        let min = min.unwrap_or(0);
        if min > REPEAT_MAX || max.is_some_and(|max| max > REPEAT_MAX || max < min) {
            return Err(self.unread("a repetition whose counts are crossed or above 65535"));
        }
        Ok(Some((min, max)))
    }
}
