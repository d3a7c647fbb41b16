//! Logical expressions: text → a short program for a stack. Rule: groups as ClamAV, without precedence.
//!
//! `0&1|2&3` is `0&(1|(2&3))`, but `(0&1|2&3)` is `((0&(1|2))&3)`: within parentheses ClamAV parts the last from all the
//! others first, as `clamscan` shows. A comparison behind a subsignature counts its matches; behind a block it counts those of all
//! its subsignatures, if the block holds.

use super::Fault;

/// How many subsignatures a logical signature may have.
pub(crate) const SUBSIGNATURES_MAX: usize = 64;
/// How deep parentheses may nest.
const DEPTH_MAX: usize = 64;
/// How long a program may be.
const OPS_MAX: usize = 1024;
/// How many values wait on the stack at most.
pub(crate) const STACK_MAX: usize = 64;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// Pushes a subsignature: it holds if it has matched.
    Sub(u8),
    /// Pushes a subsignature: it holds if its count compares so.
    Counted(u8, Comparison, u32),
    /// Joins two values: both must hold.
    All,
    /// Joins two values: one must hold.
    Any,
    /// The value on top holds if its count compares so and at least so many different subsignatures have matched.
    Compare(Comparison, u8, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Equal,
    Less,
    More,
}

impl Comparison {
    pub fn holds(self, count: u64, bound: u32) -> bool {
        match self {
            Self::Equal => count == u64::from(bound),
            Self::Less => count < u64::from(bound),
            Self::More => count > u64::from(bound),
        }
    }
}

/// A whole expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Expression {
    pub ops: Vec<Op>,
    /// The highest subsignature named.
    pub highest: u8,
}

/// The expression that asks for one subsignature.
pub(crate) fn just(id: u8) -> Expression {
    Expression { ops: vec![Op::Sub(id)], highest: id }
}

/// The expression that asks for none of it.
pub(crate) fn none_of(id: u8) -> Expression {
    Expression { ops: vec![Op::Counted(id, Comparison::Equal, 0)], highest: id }
}

pub(crate) fn parse(text: &str) -> Result<Expression, Fault> {
    let mut parser = Parser { text: text.as_bytes(), at: 0, depth: 0, ops: Vec::new(), highest: 0 };
    parser.chain()?;
    if parser.at < text.len() {
        return Err(parser.fault("expected & or |"));
    }
    if stack_needed(&parser.ops) > STACK_MAX {
        return Err(Fault::new("the logical expression is nested too deeply"));
    }
    Ok(Expression { ops: parser.ops, highest: parser.highest })
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    ops: Vec<Op>,
    highest: u8,
}

impl Parser<'_> {
    /// `term (& | |) term …`, joined from the right; in parentheses, the last term is joined to all that of the others.
    fn chain(&mut self) -> Result<(), Fault> {
        let mut joins = Vec::new();
        let last_term = loop {
            let term = self.ops.len();
            self.term()?;
            // A run of the same operator gives the same from the left and needs no stack.
            let op = match self.peek() {
                Some(b'&') => Op::All,
                Some(b'|') => Op::Any,
                _ => break term,
            };
            if joins.last() == Some(&op) {
                joins.pop();
                self.ops.push(op);
            }
            joins.push(op);
            self.at += 1;
        };
        if self.depth > 0
            && let Some(last) = joins.pop()
        {
            self.ops.splice(last_term..last_term, joins.into_iter().rev());
            self.ops.push(last);
        } else {
            self.ops.extend(joins.into_iter().rev());
        }
        Ok(())
    }

    fn term(&mut self) -> Result<(), Fault> {
        if self.ops.len() >= OPS_MAX {
            return Err(self.fault("the logical expression is too long"));
        }
        match self.peek() {
            Some(b'(') => self.block(),
            Some(b'0'..=b'9') => self.subsignature(),
            _ => Err(self.fault("expected a subsignature's number or (")),
        }
    }

    fn block(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.fault("too many parentheses inside each other"));
        }
        self.at += 1;
        let first = self.ops.len();
        self.chain()?;
        if self.peek() != Some(b')') {
            return Err(self.fault("expected )"));
        }
        self.at += 1;
        self.depth -= 1;
        let Some((comparison, bound, distinct)) = self.comparison()? else {
            return Ok(());
        };
        // Parentheses around one subsignature change nothing.
        match self.ops.get(first..) {
            Some([Op::Sub(id)]) => {
                let id = *id;
                self.ops.truncate(first);
                self.ops.push(Op::Counted(id, comparison, bound));
            }
            _ => self.ops.push(Op::Compare(comparison, distinct, bound)),
        }
        Ok(())
    }

    fn subsignature(&mut self) -> Result<(), Fault> {
        let at = self.at;
        let id = self.number()?;
        let id =
            u8::try_from(id).ok().filter(|id| usize::from(*id) < SUBSIGNATURES_MAX).ok_or_else(|| {
                Fault::at(at + 1, format!("subsignature {id}; there may be {SUBSIGNATURES_MAX}"))
            })?;
        self.highest = self.highest.max(id);
        let op = match self.comparison()? {
            Some((comparison, bound, _)) => Op::Counted(id, comparison, bound),
            None => Op::Sub(id),
        };
        self.ops.push(op);
        Ok(())
    }

    /// `=n`, `>n,m` and so on. Of several operators the last one holds: ClamAV reads `>=2` as `=2`.
    fn comparison(&mut self) -> Result<Option<(Comparison, u32, u8)>, Fault> {
        let mut comparison = None;
        loop {
            comparison = match self.peek() {
                Some(b'=') => Some(Comparison::Equal),
                Some(b'<') => Some(Comparison::Less),
                Some(b'>') => Some(Comparison::More),
                _ => break,
            };
            self.at += 1;
        }
        let Some(comparison) = comparison else { return Ok(None) };
        let bound = self.number()?;
        if self.peek() != Some(b',') {
            return Ok(Some((comparison, bound, 0)));
        }
        self.at += 1;
        // A comma with nothing behind it is left over in some databases and asks for nothing.
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Ok(Some((comparison, bound, 0)));
        }
        let distinct = self.number()?;
        let distinct =
            u8::try_from(distinct).map_err(|_| self.fault("too many different subsignatures asked for"))?;
        Ok(Some((comparison, bound, distinct)))
    }

    fn number(&mut self) -> Result<u32, Fault> {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = self.text.get(from..self.at).unwrap_or_default();
        str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| Fault::at(from + 1, "expected a number"))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn fault(&self, what: &str) -> Fault {
        Fault::at(self.at + 1, format!("logical expression: {what}"))
    }
}

fn stack_needed(ops: &[Op]) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for op in ops {
        match op {
            Op::Sub(_) | Op::Counted(..) => now += 1,
            Op::All | Op::Any => now = now.saturating_sub(1),
            Op::Compare(..) => {}
        }
        most = most.max(now);
    }
    most
}

lockgate_stored::stored!(enum Comparison { 0 => Equal, 1 => Less, 2 => More });
lockgate_stored::stored!(enum Op {
    0 => Sub(id),
    1 => Counted(id, comparison, bound),
    2 => All,
    3 => Any,
    4 => Compare(comparison, distinct_min, bound),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_from_the_right_but_for_the_last_in_parentheses() {
        use Op::{All, Any, Compare, Counted, Sub};
        let cases: [(&str, &[Op]); 14] = [
            ("0", &[Sub(0)]),
            ("0&1&2", &[Sub(0), Sub(1), All, Sub(2), All]),
            ("0&1|2", &[Sub(0), Sub(1), Sub(2), Any, All]),
            ("(0&1)|2", &[Sub(0), Sub(1), All, Sub(2), Any]),
            ("(0&1|2)", &[Sub(0), Sub(1), All, Sub(2), Any]),
            ("(0|1&2|3)&4", &[Sub(0), Sub(1), Sub(2), All, Any, Sub(3), Any, Sub(4), All]),
            ("(0&1|2&3)", &[Sub(0), Sub(1), Sub(2), Any, All, Sub(3), All]),
            ("(0|1&2&3)", &[Sub(0), Sub(1), Sub(2), All, Any, Sub(3), All]),
            ("0=0&1>2", &[Counted(0, Comparison::Equal, 0), Counted(1, Comparison::More, 2), All]),
            ("(0|1)>5,2", &[Sub(0), Sub(1), Any, Compare(Comparison::More, 2, 5)]),
            ("0>=2", &[Counted(0, Comparison::Equal, 2)]),
            ("0=2,&1", &[Counted(0, Comparison::Equal, 2), Sub(1), All]),
            ("((0))<3", &[Counted(0, Comparison::Less, 3)]),
            ("(0&1)=0", &[Sub(0), Sub(1), All, Compare(Comparison::Equal, 0, 0)]),
        ];
        for (text, want) in cases {
            assert_eq!(parse(text).unwrap().ops, want, "{text}");
        }
    }

    #[test]
    fn faults_say_where() {
        let deep = "(".repeat(100);
        let cases = [
            ("", 1),
            ("0&", 3),
            ("(0", 3),
            ("0)", 2),
            ("0=x", 3),
            ("64", 1),
            ("0 & 1", 2),
            ("a", 1),
            (deep.as_str(), 65),
            ("0>99999999999", 3),
        ];
        for (text, column) in cases {
            assert_eq!(parse(text).map_err(|fault| fault.column), Err(Some(column)), "{text}");
        }
        assert!(parse(&vec!["0"; 2000].join("&")).is_err());
    }
}
