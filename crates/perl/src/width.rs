//! How many bytes a piece of an expression takes. Rule: a group is measured once, however often it is called.

use super::syntax::{Condition, Node, Verb, Way};

/// The least and, if there is one, the greatest number of bytes.
pub(crate) type Width = (u32, Option<u32>);

/// The most bytes that may be looked back by what has no fixed length: PCRE2's own bound.
pub(crate) const BEHIND_MAX: u32 = 255;

const ANY: Width = (0, None);
const NONE: Width = (0, Some(0));

/// The groups of an expression, and what is known of them.
pub(crate) struct Widths<'a> {
    groups: Vec<Option<&'a Node>>,
    known: Vec<Known>,
}

#[derive(Clone, Copy)]
enum Known {
    Not,
    /// It is being measured: one that calls itself has no bound.
    Soon,
    Is(Width),
}

impl<'a> Widths<'a> {
    pub fn of(tree: &'a Node) -> Self {
        let mut groups = vec![Some(tree)];
        gather(tree, &mut groups);
        let known = vec![Known::Not; groups.len()];
        Self { groups, known }
    }

    pub fn width(&mut self, node: &Node) -> Width {
        match node {
            Node::Byte(_) | Node::Set(_) => (1, Some(1)),
            Node::Place(_) | Node::Look(..) | Node::Keep | Node::Verb(_) | Node::Accept => NONE,
            Node::All(nodes) => {
                // PCRE2 measures no further than where a branch ends for certain.
                let ends = |node: &&Node| !matches!(node, Node::Accept | Node::Verb(Verb::Fail));
                nodes.iter().take_while(ends).fold(NONE, |(min, max), node| {
                    let (low, high) = self.width(node);
                    (min.saturating_add(low), max.zip(high).and_then(|(a, b)| a.checked_add(b)))
                })
            }
            Node::Either(nodes) => {
                let widths: Vec<Width> = nodes.iter().map(|node| self.width(node)).collect();
                widths.into_iter().reduce(either).unwrap_or(NONE)
            }
            Node::Repeat { node, min, max, .. } => {
                let (low, high) = self.width(node);
                let most = match (high, max) {
                    (Some(0), _) => Some(0),
                    (high, max) => high.zip(*max).and_then(|(a, b)| a.checked_mul(b)),
                };
                (low.saturating_mul(*min), most)
            }
            Node::Capture(_, node) | Node::Atomic(node) => self.width(node),
            Node::Back(groups, _) => {
                let widths: Vec<Width> = groups.iter().map(|group| self.group(*group)).collect();
                widths.into_iter().reduce(either).unwrap_or(ANY)
            }
            Node::If(Condition::Define, ..) => NONE,
            Node::If(_, yes, no) => either(self.width(yes), self.width(no)),
            Node::Call(group) => self.group(*group),
        }
    }

    /// Whether everything that looks back knows how far, at most.
    pub fn all_known(&mut self, node: &Node) -> bool {
        let behind = match node {
            Node::Look(Way::Behind, _, node) | Node::If(Condition::Look(Way::Behind, _, node), ..) => {
                node.branches()
            }
            _ => &[],
        };
        behind.iter().all(|branch| self.is_known(branch)) && node.inner().all(|node| self.all_known(node))
    }

    /// Whether one can look back by this.
    pub fn is_known(&mut self, branch: &Node) -> bool {
        let (min, max) = self.width(branch);
        max.is_some_and(|max| max == min || max <= BEHIND_MAX)
    }

    fn group(&mut self, number: u32) -> Width {
        let at = number as usize;
        let Some((Some(node), known)) = self.groups.get(at).copied().zip(self.known.get(at).copied()) else {
            return ANY;
        };
        match known {
            Known::Is(width) => width,
            Known::Soon => ANY,
            Known::Not => {
                self.known[at] = Known::Soon;
                let width = self.width(node);
                self.known[at] = Known::Is(width);
                width
            }
        }
    }
}

fn either((low, high): Width, (other_low, other_high): Width) -> Width {
    (low.min(other_low), high.zip(other_high).map(|(a, b)| a.max(b)))
}

/// Of groups with one number the first counts.
fn gather<'a>(node: &'a Node, groups: &mut Vec<Option<&'a Node>>) {
    if let Node::Capture(number, inner) = node {
        let at = *number as usize;
        if at >= groups.len() {
            groups.resize(at + 1, None);
        }
        groups[at].get_or_insert(inner);
    }
    node.inner().for_each(|node| gather(node, groups));
}
