//! ClamAV's hex patterns as a syntax tree. Rule: text in, tree out; nothing here knows how a pattern is searched.
//!
//! The format is that of the ClamAV manual, "Body-based Signature Content Format".

use crate::segment::{Case, cased};
use std::fmt;

/// The longest pattern text that is read, in characters.
pub const TEXT_LENGTH_MAX: usize = 1 << 16;
/// How many branches an alternation may have.
pub const BRANCHES_MAX: usize = 1024;
/// The longest branch of an alternation, in bytes.
pub const BRANCH_BYTES_MAX: usize = 255;
/// The furthest that `[x-y]` reaches: the manual's own bound.
const BRACKET_GAP_MAX: u32 = 32;

/// A pattern as it is written: bytes, nibbles, gaps and alternations in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcard {
    pub(crate) nodes: Vec<Node>,
    pub(crate) counted_by: CountedBy,
}

/// Which matches of a pattern are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CountedBy {
    /// Those that start at different places.
    #[default]
    Starts,
    /// Where there is a gap `{n-m}`, those whose end stands elsewhere, however many starts lead there.
    Ends,
}

/// One byte of a pattern: it agrees with `byte` where `byte & mask == value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub value: u8,
    pub mask: u8,
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Cell(Cell),
    /// Any bytes, at least `min`, at most `max` (`None`: any number).
    Gap {
        min: u32,
        max: Option<u32>,
    },
    /// Any bytes between a byte and what it stands beside, `[x-y]`: for whoever counts the two are one.
    Near {
        min: u32,
        max: u32,
    },
    /// One of several strings.
    Choice(Vec<Vec<Cell>>),
    /// As many bytes as the members have, which are none of the members.
    Not(Vec<Vec<Cell>>),
    Edge(Edge),
}

/// What must stand next to the match, without being part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// `(B)`: the edge of a word, or of the stream.
    Word,
    /// `(L)`: CR, LF or the edge of the stream.
    Line,
    /// `(W)`: a character that is neither letter nor digit, or the edge of the stream.
    NotAlphanumeric,
}

/// Where a pattern's text is wrong, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WildcardError {
    /// The column, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub what: &'static str,
    /// What to write instead.
    pub remedy: &'static str,
}

impl fmt::Display for WildcardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; {}", self.column, self.what, self.remedy)
    }
}

impl std::error::Error for WildcardError {}

impl Cell {
    /// Any byte.
    pub const ANY: Cell = Cell { value: 0, mask: 0 };

    /// Exactly this byte.
    pub fn exact(value: u8) -> Self {
        Cell { value, mask: 0xff }
    }

    /// Its byte, a letter of either case as the small one.
    pub fn lower(self) -> u8 {
        if self.mask == !0x20 { self.value | 0x20 } else { self.value }
    }
}

impl Wildcard {
    /// Reads the hex text of a pattern.
    pub fn parse(hex: &str) -> Result<Wildcard, WildcardError> {
        let text = hex.as_bytes();
        if text.len() > TEXT_LENGTH_MAX {
            return Err(WildcardError {
                column: TEXT_LENGTH_MAX,
                what: "the pattern is longer than 65536 characters",
                remedy: "shorten it; a part of it is enough to recognise the whole",
            });
        }
        let mut reader = Reader { text, at: 0 };
        // Mostly two characters are a byte.
        let mut nodes = Vec::with_capacity(text.len() / 2);
        while reader.at < text.len() {
            nodes.push(reader.node()?);
        }
        let wildcard = Wildcard { nodes, counted_by: CountedBy::Starts };
        wildcard.check(&reader)?;
        Ok(wildcard)
    }

    /// A pattern of exactly these bytes.
    pub fn literal(bytes: &[u8]) -> Wildcard {
        let nodes = bytes.iter().map(|&byte| Node::Cell(Cell::exact(byte))).collect();
        Wildcard { nodes, counted_by: CountedBy::Starts }
    }

    /// The same pattern, of which other matches are told apart.
    pub fn counted_by(self, counted_by: CountedBy) -> Wildcard {
        Wildcard { counted_by, ..self }
    }

    /// Whether what it matches can consist of such bytes alone, as far as the pattern says what bytes these are.
    pub fn can_consist_of(&self, case: Case, belongs: &dyn Fn(u8) -> bool) -> bool {
        let fits = |cell: &Cell| match cased(*cell, case) {
            Cell { value, mask: 0xff } => belongs(value),
            Cell { value, mask } => (0..=255).any(|byte| byte & mask == value && belongs(byte)),
        };
        self.nodes.iter().all(|node| match node {
            Node::Cell(cell) => fits(cell),
            Node::Choice(branches) => branches.iter().any(|branch| branch.iter().all(fits)),
            Node::Gap { .. } | Node::Near { .. } | Node::Not(_) | Node::Edge(_) => true,
        })
    }

    /// Rules on the whole: it isn't empty, has no open end, and edges stand only at its ends.
    fn check(&self, reader: &Reader<'_>) -> Result<(), WildcardError> {
        let open = |node: Option<&Node>| matches!(node, Some(Node::Gap { max: None, .. }));
        if self.nodes.is_empty() {
            return Err(reader.error(
                0,
                "the pattern is empty",
                "write at least one byte, as two hex digits",
            ));
        }
        if open(self.nodes.first()) || open(self.nodes.last()) {
            let at = if open(self.nodes.first()) { 0 } else { reader.text.len() - 1 };
            return Err(reader.error(
                at,
                "an open gap at the end of a pattern matches anything",
                "leave it out",
            ));
        }
        let inner = self.nodes.get(1..self.nodes.len() - 1).unwrap_or_default();
        if inner.iter().any(|node| matches!(node, Node::Edge(_))) {
            return Err(reader.error(
                0,
                "(B), (L) or (W) in the middle",
                "put it at the pattern's beginning or end",
            ));
        }
        Ok(())
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn error(&self, at: usize, what: &'static str, remedy: &'static str) -> WildcardError {
        WildcardError { column: at + 1, what, remedy }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn node(&mut self) -> Result<Node, WildcardError> {
        match self.peek() {
            Some(b'*') => {
                self.at += 1;
                Ok(Node::Gap { min: 0, max: None })
            }
            Some(b'{') => self.braces(),
            Some(b'[') => self.brackets(),
            Some(b'!') => self.negated(),
            Some(b'(') => self.group(),
            _ => Ok(Node::Cell(self.cell()?)),
        }
    }

    /// Two of: hex digit, `?`.
    fn cell(&mut self) -> Result<Cell, WildcardError> {
        let mut cell = Cell::ANY;
        for shift in [4, 0] {
            let digit = match self.peek() {
                Some(b'?') => None,
                Some(byte) => match (byte as char).to_digit(16) {
                    Some(digit) => Some(digit as u8),
                    None => {
                        return Err(self.error(
                            self.at,
                            "not a hex digit or wildcard",
                            "write 0-9, a-f or ?",
                        ));
                    }
                },
                None => {
                    return Err(self.error(
                        self.at,
                        "half a byte at the end",
                        "write two digits for each byte",
                    ));
                }
            };
            self.at += 1;
            if let Some(digit) = digit {
                cell.value |= digit << shift;
                cell.mask |= 0xf << shift;
            }
        }
        Ok(cell)
    }

    fn number(&mut self) -> Result<Option<u32>, WildcardError> {
        let start = self.at;
        let mut number: Option<u32> = None;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let grown =
                number.unwrap_or(0).checked_mul(10).and_then(|n| n.checked_add(u32::from(digit - b'0')));
            let Some(grown) = grown.filter(|n| *n <= i32::MAX as u32) else {
                return Err(self.error(start, "the number is too large", "write one below 2147483648"));
            };
            number = Some(grown);
            self.at += 1;
        }
        Ok(number)
    }

    /// `{n}`, `{n-}`, `{-m}`, `{n-m}`.
    fn braces(&mut self) -> Result<Node, WildcardError> {
        let start = self.at;
        self.at += 1;
        let first = self.number()?;
        let (min, max) =
            if self.take(b'-') { (first.unwrap_or(0), self.number()?) } else { (first.unwrap_or(0), first) };
        if !self.take(b'}') || (first.is_none() && max.is_none()) {
            return Err(self.error(start, "not a gap", "write {n}, {n-}, {-m} or {n-m}"));
        }
        if max.is_some_and(|max| max < min) {
            return Err(self.error(start, "the gap's bounds are crossed", "write the smaller number first"));
        }
        Ok(Node::Gap { min, max })
    }

    /// `[x-y]`.
    fn brackets(&mut self) -> Result<Node, WildcardError> {
        let start = self.at;
        self.at += 1;
        let first = self.number()?;
        let second = if self.take(b'-') { self.number()? } else { first };
        let (Some(min), Some(max), true) = (first, second, self.take(b']')) else {
            return Err(self.error(start, "not a gap", "write [x-y] with two numbers"));
        };
        if max < min || max > BRACKET_GAP_MAX {
            return Err(self.error(
                start,
                "the gap's bounds are crossed or beyond 32",
                "write [x-y] with x ≤ y ≤ 32",
            ));
        }
        Ok(Node::Near { min, max })
    }

    fn negated(&mut self) -> Result<Node, WildcardError> {
        let start = self.at;
        self.at += 1;
        if self.peek() != Some(b'(') {
            return Err(self.error(start, "! without a group", "write !(aa|bb)"));
        }
        let Node::Choice(members) = self.group()? else {
            return Err(self.error(start, "! before an edge", "write !(aa|bb)"));
        };
        let length = members.first().map_or(0, Vec::len);
        if members.iter().any(|member| member.len() != length) {
            return Err(self.error(
                start,
                "members of different lengths",
                "give all members of !(..) one length",
            ));
        }
        Ok(Node::Not(members))
    }

    fn group(&mut self) -> Result<Node, WildcardError> {
        let start = self.at;
        self.at += 1;
        for (name, edge) in [(b'B', Edge::Word), (b'L', Edge::Line), (b'W', Edge::NotAlphanumeric)] {
            if self.text.get(self.at..self.at + 2) == Some(&[name, b')']) {
                self.at += 2;
                return Ok(Node::Edge(edge));
            }
        }
        let mut branches = Vec::new();
        loop {
            branches.push(self.branch()?);
            if branches.len() > BRANCHES_MAX {
                return Err(self.error(start, "more than 1024 branches", "split the pattern in several"));
            }
            if self.take(b')') {
                return Ok(Node::Choice(branches));
            }
            if !self.take(b'|') {
                return Err(self.error(self.at, "the group isn't closed", "close it with )"));
            }
        }
    }

    /// One branch: bytes, nibbles and `{n}`, all of a fixed length.
    fn branch(&mut self) -> Result<Vec<Cell>, WildcardError> {
        let start = self.at;
        let mut cells = Vec::new();
        loop {
            match self.peek() {
                Some(b'|' | b')') | None => break,
                Some(b'{') => match self.braces()? {
                    Node::Gap { min, max } if max == Some(min) && min as usize <= BRANCH_BYTES_MAX => {
                        cells.resize(cells.len() + min as usize, Cell::ANY);
                    }
                    _ => {
                        return Err(self.error(
                            start,
                            "an open gap in a branch",
                            "write {n} with n below 128",
                        ));
                    }
                },
                Some(b'*' | b'[' | b'(' | b'!') => {
                    return Err(self.error(
                        self.at,
                        "a gap or group within a branch",
                        "write bytes, ? and {n} only",
                    ));
                }
                Some(_) => cells.push(self.cell()?),
            }
            if cells.len() > BRANCH_BYTES_MAX {
                return Err(self.error(
                    start,
                    "a branch of more than 255 bytes",
                    "split the pattern in several",
                ));
            }
        }
        if cells.is_empty() {
            return Err(self.error(start, "an empty branch", "write at least one byte"));
        }
        Ok(cells)
    }
}

lockgate_stored::stored!(enum CountedBy { 0 => Starts, 1 => Ends });
lockgate_stored::stored!(enum Edge { 0 => Word, 1 => Line, 2 => NotAlphanumeric });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructs_are_read() {
        let gap = |min, max| Node::Gap { min, max };
        let cell = |value, mask| Node::Cell(Cell { value, mask });
        let row = |bytes: &[u8]| bytes.iter().map(|&byte| Cell::exact(byte)).collect::<Vec<_>>();
        let cases: Vec<(&str, Node)> = vec![
            ("a?", cell(0xa0, 0xf0)),
            ("?B", cell(0x0b, 0x0f)),
            ("??", cell(0, 0)),
            ("*", gap(0, None)),
            ("{7}", gap(7, Some(7))),
            ("{7-}", gap(7, None)),
            ("{-7}", gap(0, Some(7))),
            ("{3-7}", gap(3, Some(7))),
            ("[3-7]", Node::Near { min: 3, max: 7 }),
            ("(aa|bbcc)", Node::Choice(vec![row(&[0xaa]), row(&[0xbb, 0xcc])])),
            (
                "(aa{2}?1)",
                Node::Choice(vec![vec![
                    Cell::exact(0xaa),
                    Cell::ANY,
                    Cell::ANY,
                    Cell { value: 1, mask: 0xf },
                ]]),
            ),
            ("!(aa|bb)", Node::Not(vec![row(&[0xaa]), row(&[0xbb])])),
        ];
        for (text, node) in cases {
            let parsed = Wildcard::parse(&format!("01{text}02")).unwrap();
            assert_eq!(parsed.nodes, vec![cell(1, 0xff), node, cell(2, 0xff)], "{text}");
        }
        assert_eq!(Wildcard::parse("0aFf").unwrap(), Wildcard::literal(&[0x0a, 0xff]));
    }

    #[test]
    fn a_pattern_consists_of_what_it_names() {
        let lower = |byte: u8| matches!(byte, 0x20..=0x7f) && !byte.is_ascii_uppercase();
        let cases: [(&str, bool, bool); 14] = [
            ("6162", true, true),
            ("6142", false, true),
            ("610a", false, false),
            ("6180", false, false),
            ("617f", true, true),
            ("61*62", true, true),
            ("61{4}0062", false, false),
            ("61?262", true, true),
            ("61?0", true, true),
            ("618?62", false, false),
            ("61(00|62)", true, true),
            ("61(00|4262)", false, true),
            ("61!(00|62)62", true, true),
            ("61(B)", true, true),
        ];
        for (text, sensitive, insensitive) in cases {
            let wildcard = Wildcard::parse(text).unwrap();
            assert_eq!(wildcard.can_consist_of(Case::Sensitive, &lower), sensitive, "{text}");
            assert_eq!(wildcard.can_consist_of(Case::Insensitive, &lower), insensitive, "{text}, any case");
        }
    }

    #[test]
    fn errors_name_their_column() {
        let cases = [
            ("", 1),
            ("a", 2),
            ("aazz", 3),
            ("aa*", 3),
            ("*aa", 1),
            ("aa{}bb", 3),
            ("aa{5-3}bb", 3),
            ("aa{5bb", 3),
            ("aa[3-40]bb", 3),
            ("aa[-4]bb", 3),
            ("aa(bb", 6),
            ("aa(bb|)", 7),
            ("aa!bb", 3),
            ("aa!(bb|ccdd)", 3),
            ("aa(bb*cc)", 6),
            ("aa(B)bb", 1),
            ("aa{99999999999}bb", 4),
            ("aa(bb|(cc))", 7),
            ("é", 1),
        ];
        for (text, column) in cases {
            assert_eq!(Wildcard::parse(text).unwrap_err().column, column, "{text}");
        }
    }
}
