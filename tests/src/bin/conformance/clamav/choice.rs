//! Logical expression → how often each subsignature is to match. Rule: one way to meet it, by chance.

use crate::random::Random;

/// How many subsignatures there may be.
const SUBSIGNATURES_MAX: usize = 64;

/// How often each is to match.
pub type Counts = [u32; SUBSIGNATURES_MAX];

enum Node {
    Sub(usize),
    Both(Box<Node>, Box<Node>),
    Either(Box<Node>, Box<Node>),
    Count(Box<Node>, u8, u32, usize),
}

/// Adds what meets the expression.
pub fn meet(text: &str, random: &mut Random, counts: &mut Counts) -> Option<()> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let node = reader.chain(false)?;
    (reader.at == text.len()).then_some(())?;
    node.meet(random, counts);
    Some(())
}

impl Node {
    fn meet(&self, random: &mut Random, counts: &mut Counts) {
        match self {
            Self::Sub(id) => counts[*id] = counts[*id].max(1),
            Self::Both(left, right) => {
                left.meet(random, counts);
                right.meet(random, counts);
            }
            Self::Either(left, right) => {
                let one = if random.below(2) == 0 { left } else { right };
                one.meet(random, counts);
            }
            Self::Count(node, comparison, bound, distinct) => {
                let wanted = match comparison {
                    b'=' => *bound,
                    b'>' => bound + 1,
                    _ => bound.saturating_sub(1).min(2),
                };
                if wanted == 0 {
                    return;
                }
                let mut ids = Vec::new();
                node.ids(&mut ids);
                let mut inner: Counts = [0; SUBSIGNATURES_MAX];
                node.meet(random, &mut inner);
                for id in &ids {
                    if inner.iter().filter(|count| **count > 0).count() < *distinct {
                        inner[*id] = inner[*id].max(1);
                    }
                }
                let sum: u32 = inner.iter().sum();
                if let Some(first) = inner.iter_mut().find(|count| **count > 0) {
                    *first += wanted.saturating_sub(sum);
                }
                inner.iter().zip(counts).for_each(|(inner, count)| *count = (*count).max(*inner));
            }
        }
    }

    fn ids(&self, ids: &mut Vec<usize>) {
        match self {
            Self::Sub(id) => ids.push(*id),
            Self::Both(left, right) | Self::Either(left, right) => {
                left.ids(ids);
                right.ids(ids);
            }
            Self::Count(node, ..) => node.ids(ids),
        }
    }
}

fn joined(join: u8, left: Node, right: Node) -> Node {
    let (left, right) = (Box::new(left), Box::new(right));
    if join == b'&' { Node::Both(left, right) } else { Node::Either(left, right) }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Terms joined from the right; in parentheses the last one is joined to all that of the others.
    fn chain(&mut self, is_inside: bool) -> Option<Node> {
        let mut terms = vec![self.term()?];
        let mut joins = Vec::new();
        while let Some(join @ (b'&' | b'|')) = self.text.get(self.at) {
            joins.push(*join);
            self.at += 1;
            terms.push(self.term()?);
        }
        let last = if is_inside && !joins.is_empty() { joins.pop().zip(terms.pop()) } else { None };
        let mut node = terms.pop()?;
        while let (Some(join), Some(term)) = (joins.pop(), terms.pop()) {
            node = joined(join, term, node);
        }
        Some(match last {
            Some((join, last)) => joined(join, node, last),
            None => node,
        })
    }

    fn term(&mut self) -> Option<Node> {
        let node = if self.text.get(self.at)? == &b'(' {
            self.at += 1;
            let node = self.chain(true)?;
            (self.text.get(self.at)? == &b')').then_some(())?;
            self.at += 1;
            node
        } else {
            Node::Sub(self.number().filter(|id| *id < SUBSIGNATURES_MAX)?)
        };
        let comparison = self.text.get(self.at).copied().filter(|byte| b"=<>".contains(byte));
        let Some(comparison) = comparison else { return Some(node) };
        self.at += 1;
        let bound = self.number()? as u32;
        let mut distinct = 0;
        if self.text.get(self.at) == Some(&b',') {
            self.at += 1;
            distinct = self.number().unwrap_or(0);
        }
        Some(Node::Count(Box::new(node), comparison, bound, distinct))
    }

    fn number(&mut self) -> Option<usize> {
        let digits = self.text.get(self.at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = str::from_utf8(self.text.get(self.at..self.at + digits)?).ok()?;
        self.at += digits;
        text.parse().ok()
    }
}
