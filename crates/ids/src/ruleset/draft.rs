//! A rule while it is read: [`Draft`]. Rule: a modifier changes the content before it, a sticky buffer holds for what follows.

use super::Fault;
use super::bits::FlowTest;
use super::content::{Amount, Content, Fast, Place};
use super::header::{Application, Header, Protocol};
use super::rule::{List, Rule, Test};
use super::sticky::Sticky;
use super::transform::Transform;
use super::words::Word;
use lockgate_model::Direction;

/// How many variables a rule may have.
const VARIABLES_MAX: usize = 32;
/// How many tests a rule may have.
const TESTS_MAX: usize = 256;

/// The variables that a rule has set so far.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<Box<str>>);

impl Names {
    /// A number, or a variable that has been set.
    pub fn amount(&self, text: &str) -> Result<Amount, String> {
        let text = text.trim();
        if let Some(variable) = self.0.iter().position(|name| **name == *text) {
            return Ok(Amount::Variable(variable as u8));
        }
        super::bytes::signed(text)
            .map(Amount::Number)
            .map_err(|_| format!("{text:?} is neither a number nor a variable that was set before"))
    }

    /// A variable to be set.
    pub fn set(&mut self, name: &str) -> Result<u8, String> {
        let name = name.trim();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Err(format!("{name:?} is no name of a variable"));
        }
        if let Some(known) = self.0.iter().position(|known| **known == *name) {
            return Ok(known as u8);
        }
        if self.0.len() == VARIABLES_MAX {
            return Err(format!("more than {VARIABLES_MAX} variables"));
        }
        self.0.push(name.into());
        Ok(self.0.len() as u8 - 1)
    }
}

/// How a rule is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Suricata, and Snort up to 2.9.
    Suricata,
    /// Snort 3: modifiers stand in the content's own value, and all buffers are sticky.
    Snort3,
}

/// A rule while it is read.
pub(crate) struct Draft {
    pub rule: Rule,
    pub names: Names,
    pub dialect: Dialect,
    /// The list that the next content goes to.
    current: usize,
    /// Where the last content stands: its list and its place there.
    last: Option<(usize, usize)>,
    tests: usize,
}

impl Draft {
    pub fn new(header: Header, is_snort3: bool) -> Self {
        let rule = Rule {
            header,
            message: "".into(),
            generator: 1,
            id: 0,
            revision: 0,
            class: None,
            priority: None,
            references: Vec::new(),
            metadata: Vec::new(),
            lists: vec![List { sticky: Sticky::Payload, transforms: Vec::new(), tests: Vec::new() }],
            packet: Vec::new(),
            flow: FlowTest::default(),
            bits: Vec::new(),
            integers: Vec::new(),
            stream_sizes: Vec::new(),
            threshold: None,
            is_silent: false,
            is_told_of_pass: false,
            applications: Vec::new(),
            events: Vec::new(),
        };
        let dialect = if is_snort3 { Dialect::Snort3 } else { Dialect::Suricata };
        Self { rule, names: Names::default(), dialect, current: 0, last: None, tests: 0 }
    }

    /// The contents that follow are looked for in that buffer.
    pub fn look_into(&mut self, sticky: Sticky) {
        self.current = self.list_of(sticky);
    }

    fn list_of(&mut self, sticky: Sticky) -> usize {
        let known =
            self.rule.lists.iter().position(|list| list.sticky == sticky && list.transforms.is_empty());
        known.unwrap_or_else(|| {
            self.rule.lists.push(List { sticky, transforms: Vec::new(), tests: Vec::new() });
            self.rule.lists.len() - 1
        })
    }

    /// The buffer at hand is looked at as this makes it.
    pub fn transform(&mut self, transform: Transform, word: &Word<'_>) -> Result<(), Fault> {
        let list = &self.rule.lists[self.current];
        if self.current == 0 {
            return Err(Fault::at(word.at, format!("{} needs a sticky buffer before it", word.name)));
        }
        if !list.tests.is_empty() {
            let (sticky, transforms) = (list.sticky, list.transforms.clone());
            self.rule.lists.push(List { sticky, transforms, tests: Vec::new() });
            self.current = self.rule.lists.len() - 1;
        }
        self.rule.lists[self.current].transforms.push(transform);
        Ok(())
    }

    /// One more question to the buffer at hand.
    ///
    /// What is relative belongs to the match before it, into whichever buffer a modifier has moved that.
    pub fn ask(&mut self, test: Test, word: &Word<'_>) -> Result<(), Fault> {
        let is_moved = self.current == 0 && test.is_relative() && self.rule.lists[0].tests.is_empty();
        let list = self.last.filter(|_| is_moved).map_or(self.current, |(list, _)| list);
        self.ask_of(list, test, word)
    }

    /// One more question to another buffer.
    pub fn ask_in(&mut self, sticky: Sticky, test: Test, word: &Word<'_>) -> Result<(), Fault> {
        let list = self.list_of(sticky);
        self.ask_of(list, test, word)
    }

    fn ask_of(&mut self, list: usize, test: Test, word: &Word<'_>) -> Result<(), Fault> {
        self.tests += 1;
        if self.tests > TESTS_MAX {
            return Err(Fault::at(word.at, format!("a rule may have {TESTS_MAX} tests")));
        }
        let tests = &mut self.rule.lists[list].tests;
        if matches!(test, Test::Content(_)) {
            self.last = Some((list, tests.len()));
        }
        tests.push(test);
        Ok(())
    }

    /// The content that a modifier is about.
    pub fn content(&mut self, word: &Word<'_>) -> Result<&mut Content, Fault> {
        let last = self.last.and_then(|(list, at)| self.rule.lists.get_mut(list)?.tests.get_mut(at));
        match last {
            Some(Test::Content(content)) => Ok(content),
            _ => Err(Fault::at(word.at, format!("{} needs a content before it", word.name))),
        }
    }

    /// The content that was asked for just now is to end its buffer; `false` where it was something else.
    pub fn end_buffer(&mut self) -> bool {
        let Some((list, at)) = self.last.filter(|(list, _)| *list == self.current || self.current == 0)
        else {
            return false;
        };
        match self.rule.lists[list].tests.get_mut(at..) {
            Some([Test::Content(content)]) => {
                content.ends_buffer = true;
                true
            }
            _ => false,
        }
    }

    /// The last content is looked for in that buffer.
    pub fn move_content(&mut self, sticky: Sticky, word: &Word<'_>) -> Result<(), Fault> {
        self.content(word)?;
        let Some((list, at)) = self.last else { return Ok(()) };
        let to = self.list_of(sticky);
        if to != list {
            let test = self.rule.lists[list].tests.remove(at);
            self.last = Some((to, self.rule.lists[to].tests.len()));
            self.rule.lists[to].tests.push(test);
        }
        Ok(())
    }

    /// The rule is at its end.
    pub fn finish(mut self, end: usize) -> Result<Rule, Fault> {
        let rule = &mut self.rule;
        if rule.id == 0 {
            return Err(Fault::at(end, "a rule needs its number: sid:…;"));
        }
        rule.lists.retain(|list| !list.tests.is_empty());
        self.check(end)?;
        Ok(self.rule)
    }

    fn check(&mut self, end: usize) -> Result<(), Fault> {
        let rule = &self.rule;
        let fast = |test: &&Test| matches!(test, Test::Content(content) if content.fast != Fast::Perhaps);
        if rule.lists.iter().flat_map(|list| &list.tests).filter(fast).count() > 1 {
            return Err(Fault::at(end, "fast_pattern belongs to one content of a rule"));
        }
        for list in &rule.lists {
            if let Some(of) = list.sticky.protocol()
                && !is_possible(rule.header.protocol, of)
            {
                let name = list.sticky.name();
                return Err(Fault::at(end, format!("{name} is never there in a rule for that protocol")));
            }
        }
        self.find_protocol();
        Ok(())
    }

    /// A rule for TCP that looks into a buffer of one protocol is about that.
    fn find_protocol(&mut self) {
        let of = self.rule.lists.iter().find_map(|list| list.sticky.protocol());
        if let Some(of) =
            of.filter(|_| self.rule.applications.is_empty() && !self.rule.header.protocol.is_application())
        {
            self.rule.applications.push(Application { protocol: Some(of), is_spoken: true });
        }
        if self.rule.flow.direction.is_none() {
            let sides = self.rule.lists.iter().map(|list| list.sticky.side());
            self.rule.flow.direction = sides.fold(None, |known, side| match side {
                super::sticky::Side::Client => Some(Direction::ToServer),
                super::sticky::Side::Server => known.or(Some(Direction::ToClient)),
                super::sticky::Side::Either => known,
            });
        }
    }
}

fn is_possible(protocol: Protocol, of: Protocol) -> bool {
    match protocol {
        Protocol::Ip
        | Protocol::Ipv4
        | Protocol::Ipv6
        | Protocol::Tcp
        | Protocol::TcpStream
        | Protocol::TcpPacket => true,
        Protocol::Udp => of == Protocol::Dns,
        // Mail by any way has the same buffers.
        Protocol::Pop3 => of == Protocol::Smtp,
        protocol => protocol == of,
    }
}

/// A place that is being written down: `offset` and `depth`, or `distance` and `within`.
pub(crate) enum PlaceWord {
    Offset,
    Depth,
    Distance,
    Within,
}

impl Content {
    /// Adds one of the four; those of both kinds together are a contradiction.
    pub fn place(&mut self, word: &PlaceWord, amount: Amount) -> Result<(), String> {
        let is_untouched = self.place == Place::ANYWHERE;
        let none = Amount::Number(0);
        self.place = match (word, self.place) {
            (PlaceWord::Offset, Place::Absolute { depth, .. }) => Place::Absolute { offset: amount, depth },
            (PlaceWord::Depth, Place::Absolute { offset, .. }) => {
                Place::Absolute { offset, depth: Some(amount) }
            }
            (PlaceWord::Distance, Place::Relative { within, .. }) => {
                Place::Relative { distance: amount, within }
            }
            (PlaceWord::Within, Place::Relative { distance, .. }) => {
                Place::Relative { distance, within: Some(amount) }
            }
            (PlaceWord::Distance, _) if is_untouched => Place::Relative { distance: amount, within: None },
            (PlaceWord::Within, _) if is_untouched => {
                Place::Relative { distance: none, within: Some(amount) }
            }
            _ => return Err("offset and depth do not go with distance and within".to_owned()),
        };
        Ok(())
    }
}
