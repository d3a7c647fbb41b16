//! What stands in parentheses. Rule: a kind of group that is not known is an error, never a plain group.

use super::parser::{Blanks, Modes, Parser, Plain};
use super::syntax::{Condition, Node, Sense, Verb, Way};
use super::{Flags, Unread};

impl Parser<'_> {
    /// Behind `(`; `None` for what stands for nothing.
    pub fn group(&mut self) -> Result<Option<Node>, Unread> {
        if self.take(b'*') {
            return self.starred().map(Some);
        }
        if !self.take(b'?') {
            return match self.modes.plain {
                Plain::Captures => self.capture(None).map(Some),
                Plain::Groups => self.inner().map(Some),
            };
        }
        let node = match self.next() {
            Some(b':') => self.inner()?,
            Some(b'|') => self.same_numbers()?,
            Some(b'=') => self.look(Way::Ahead, Sense::Positive)?,
            Some(b'!') => self.look(Way::Ahead, Sense::Negative)?,
            Some(b'>') => Node::Atomic(Box::new(self.inner()?)),
            Some(b'<') if self.take(b'=') => self.look(Way::Behind, Sense::Positive)?,
            Some(b'<') if self.take(b'!') => self.look(Way::Behind, Sense::Negative)?,
            Some(b'<') => self.named_capture(b'>')?,
            Some(b'\'') => self.named_capture(b'\'')?,
            Some(b'P') if self.take(b'<') => self.named_capture(b'>')?,
            Some(b'P') if self.take(b'=') => {
                let name = self.until(b')')?;
                Node::Back(self.named(&name)?, self.letters())
            }
            Some(b'P') if self.take(b'>') => self.call_by_name()?,
            Some(b'&') => self.call_by_name()?,
            Some(b'R') if self.take(b')') => Node::Call(0),
            Some(b'0'..=b'9' | b'+') => {
                self.back();
                self.call_by_number()?
            }
            Some(b'-') if self.peek().is_some_and(|byte| byte.is_ascii_digit()) => {
                self.back();
                self.call_by_number()?
            }
            Some(b'#') => {
                self.until(b')')?;
                return Ok(None);
            }
            Some(b'(') => self.conditional()?,
            Some(b'[') => super::class::extended(self)?,
            Some(b'i' | b'm' | b's' | b'x' | b'n' | b'U' | b'J' | b'-' | b'^' | b')') => {
                self.back();
                return self.flagged();
            }
            _ => return Err(self.unread("a group of a kind that is not understood")),
        };
        Ok(Some(node))
    }

    pub fn inner(&mut self) -> Result<Node, Unread> {
        let node = self.either()?;
        self.close()?;
        Ok(node)
    }

    fn close(&mut self) -> Result<(), Unread> {
        if self.take(b')') { Ok(()) } else { Err(self.unread("a group that is not closed")) }
    }

    /// `(?|…)`: each branch counts its groups from the same number.
    fn same_numbers(&mut self) -> Result<Node, Unread> {
        let first = self.groups;
        let highest = std::cell::Cell::new(first);
        let node = self.branches(|parser| {
            highest.set(highest.get().max(parser.groups));
            parser.groups = first;
        })?;
        self.groups = self.groups.max(highest.get());
        self.close()?;
        Ok(node)
    }

    fn capture(&mut self, name: Option<Vec<u8>>) -> Result<Node, Unread> {
        self.groups += 1;
        let number = self.groups;
        if let Some(name) = name {
            self.names.add(name, number);
        }
        Ok(Node::Capture(number, Box::new(self.inner()?)))
    }

    fn named_capture(&mut self, close: u8) -> Result<Node, Unread> {
        let name = self.until(close)?;
        self.capture(Some(name))
    }

    fn look(&mut self, way: Way, sense: Sense) -> Result<Node, Unread> {
        let node = self.inner()?;
        if (way, sense) == (Way::Ahead, Sense::Negative) && node == Node::default() {
            return Ok(Node::Verb(Verb::Fail));
        }
        if node.has(&|node| *node == Node::Keep) {
            return Err(self.unread("\\K within an assertion"));
        }
        Ok(Node::Look(way, sense, Box::new(node)))
    }

    fn call_by_name(&mut self) -> Result<Node, Unread> {
        let name = self.until(b')')?;
        self.call(&name)
    }

    fn call_by_number(&mut self) -> Result<Node, Unread> {
        let number = self.relative()?;
        let number = self.there(number)?;
        self.close()?;
        Ok(Node::Call(number))
    }

    /// A group's number, counted from here where it has a sign.
    pub fn relative(&mut self) -> Result<u32, Unread> {
        let sign = self.peek().filter(|byte| matches!(byte, b'+' | b'-'));
        if sign.is_some() {
            self.skip();
        }
        let number = self.number().ok_or_else(|| self.unread("a group's number"))?;
        let number = match sign {
            Some(b'-') => (self.groups + 1).checked_sub(number).filter(|_| number > 0),
            Some(_) => self.groups.checked_add(number).filter(|_| number > 0),
            None => Some(number),
        };
        number
            .filter(|number| sign.is_none() || *number > 0)
            .ok_or_else(|| self.unread("a group that is not there"))
    }

    /// `(?(1)yes|no)`, from behind the second parenthesis.
    fn conditional(&mut self) -> Result<Node, Unread> {
        let condition = self.condition()?;
        let mut branches = match self.inner()? {
            Node::Either(branches) if branches.len() > 2 => {
                return Err(self.unread("a condition with more than two branches"));
            }
            Node::Either(branches) => branches,
            one => vec![one],
        };
        let yes = branches.remove(0);
        Ok(Node::If(condition, Box::new(yes), Box::new(branches.pop().unwrap_or_default())))
    }

    fn condition(&mut self) -> Result<Condition, Unread> {
        if matches!(self.peek(), Some(b'?' | b'*')) {
            let unread = self.unread("a condition that is not understood");
            return match self.group()? {
                Some(Node::Look(way, sense, node)) => Ok(Condition::Look(way, sense, node)),
                // What stands for (?!).
                Some(Node::Verb(Verb::Fail)) => {
                    Ok(Condition::Look(Way::Ahead, Sense::Negative, Box::default()))
                }
                _ => Err(unread),
            };
        }
        if matches!(self.peek(), Some(b'0'..=b'9' | b'+' | b'-')) {
            let number = self.relative()?;
            let number = self.there(number)?;
            self.close()?;
            return Ok(Condition::Matched([number].into()));
        }
        let name = self.until(b')')?;
        let bare = match name.as_slice() {
            [b'<', bare @ .., b'>'] | [b'\'', bare @ .., b'\''] => Some(bare),
            _ => None,
        };
        if let Some(bare) = bare {
            return self.named(bare).map(Condition::Matched);
        }
        let is_named = !self.names.of(&name).is_empty();
        match name.as_slice() {
            b"DEFINE" => Ok(Condition::Define),
            b"R" if !is_named => Ok(Condition::Called(None)),
            [b'R', b'&', name @ ..] => self.named(name).map(|groups| Condition::Called(Some(groups))),
            [b'R', digits @ ..] if !is_named && digits.iter().all(u8::is_ascii_digit) => {
                let number = digits.iter().fold(0_u32, |number, digit| {
                    number.saturating_mul(10).saturating_add(u32::from(digit - b'0'))
                });
                Ok(Condition::Called(Some([self.there(number)?].into())))
            }
            name => self.named(name).map(Condition::Matched),
        }
    }

    /// `(?i)` up to the end of the group it stands in, or `(?i:…)`.
    fn flagged(&mut self) -> Result<Option<Node>, Unread> {
        let before = self.modes;
        let mut value = true;
        loop {
            match self.next() {
                Some(b'i') => self.modes.flags.any_case = value,
                Some(b'm') => self.modes.flags.multi_line = value,
                Some(b's') => self.modes.flags.dot_all = value,
                Some(b'x') => {
                    let twice = value && self.take(b'x');
                    while self.take(b'x') {}
                    self.modes.flags.extended = value;
                    self.modes.blanks = if twice { Blanks::MeanNothing } else { Blanks::Count };
                }
                Some(b'n') => self.modes.plain = if value { Plain::Groups } else { Plain::Captures },
                Some(b'U') => self.modes.flags.ungreedy = value,
                Some(b'J') => {}
                Some(b'^') => {
                    let Flags { dollar_end_only, ungreedy, .. } = before.flags;
                    let flags = Flags { dollar_end_only, ungreedy, ..Flags::default() };
                    self.modes = Modes { flags, ..Modes::default() };
                }
                Some(b'-') => value = false,
                Some(b')') => return Ok(None),
                Some(b':') => {
                    let node = self.inner()?;
                    self.modes = before;
                    return Ok(Some(node));
                }
                _ => return Err(self.unread("a flag that is not understood")),
            }
        }
    }

    /// Behind `(*`: a verb, or a group by its name.
    fn starred(&mut self) -> Result<Node, Unread> {
        let begins = self.at();
        while self.peek().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
            self.skip();
        }
        let name = self.since(begins).to_vec();
        if name.first().is_some_and(u8::is_ascii_lowercase) {
            return self.spelled_out(&name);
        }
        let argument = match self.next() {
            Some(b')') => None,
            Some(b':') => Some(self.until(b')')?.into_boxed_slice()).filter(|argument| !argument.is_empty()),
            _ => return Err(self.unread("a verb, (*…), that is not understood")),
        };
        Ok(match (name.as_slice(), argument) {
            (b"F" | b"FAIL", _) => Node::Verb(Verb::Fail),
            (b"ACCEPT", _) => Node::Accept,
            (b"COMMIT", _) => Node::Verb(Verb::Commit),
            (b"PRUNE", _) => Node::Verb(Verb::Prune),
            (b"THEN", _) => Node::Verb(Verb::Then),
            (b"SKIP", None) => Node::Verb(Verb::Skip),
            (b"SKIP", Some(name)) => Node::Verb(Verb::SkipTo(name)),
            (b"" | b"MARK", Some(name)) => Node::Verb(Verb::Mark(name)),
            _ => return Err(self.unread("a verb, (*…), that is not understood")),
        })
    }

    /// `(*positive_lookahead:…)` and the like.
    fn spelled_out(&mut self, name: &[u8]) -> Result<Node, Unread> {
        if !self.take(b':') {
            return Err(self.unread("a group of a kind that is not understood"));
        }
        match name {
            b"pla" | b"positive_lookahead" => self.look(Way::Ahead, Sense::Positive),
            b"nla" | b"negative_lookahead" => self.look(Way::Ahead, Sense::Negative),
            b"plb" | b"positive_lookbehind" => self.look(Way::Behind, Sense::Positive),
            b"nlb" | b"negative_lookbehind" => self.look(Way::Behind, Sense::Negative),
            b"atomic" => Ok(Node::Atomic(Box::new(self.inner()?))),
            _ => Err(self.unread("a group of a kind that is not understood")),
        }
    }
}
