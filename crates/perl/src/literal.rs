//! Text that stands in whatever an expression matches. Rule: where that is not certain, it is left out.

use super::syntax::{Condition, Node, Set};

/// Text beyond this would tell no more.
const BYTES_MAX: usize = 32;

/// The longest text that each match has, letters in lower case; empty where none is certain.
pub fn of(tree: &Node) -> Vec<u8> {
    if tree.has(&|node| *node == Node::Accept) {
        return Vec::new();
    }
    let mut texts = Texts::default();
    texts.read(tree);
    texts.cut();
    texts.longest
}

#[derive(Default)]
struct Texts {
    /// What stands right before the place that has been read up to.
    last: Vec<u8>,
    longest: Vec<u8>,
}

impl Texts {
    fn read(&mut self, node: &Node) {
        match node {
            Node::Byte(byte) => self.byte(*byte),
            Node::Set(set) => match letter(set) {
                Some(byte) => self.byte(byte),
                None => self.cut(),
            },
            // They take nothing: what stands before them is next to what stands behind.
            Node::Place(_) | Node::Look(..) | Node::Keep | Node::Verb(_) | Node::Accept => {}
            Node::If(Condition::Define, ..) => {}
            Node::All(nodes) => nodes.iter().for_each(|node| self.read(node)),
            Node::Capture(_, node) | Node::Atomic(node) => self.read(node),
            Node::Repeat { node, min: 1.., max, .. } => {
                self.read(node);
                if *max != Some(1) {
                    // Another one may come in between.
                    self.cut();
                }
            }
            Node::Either(_) | Node::Repeat { .. } | Node::Back(..) | Node::If(..) | Node::Call(_) => {
                self.cut()
            }
        }
    }

    fn byte(&mut self, byte: u8) {
        if self.last.len() == BYTES_MAX {
            self.cut();
        }
        self.last.push(byte.to_ascii_lowercase());
    }

    fn cut(&mut self) {
        if self.last.len() > self.longest.len() {
            self.longest = std::mem::take(&mut self.last);
        }
        self.last.clear();
    }
}

/// The one byte that belongs to the set, or the letter that does in both cases.
pub(crate) fn letter(set: &Set) -> Option<u8> {
    let mut members = (0..=255).filter(|byte| set.has(*byte));
    let first: u8 = members.next()?;
    members.all(|byte| byte.eq_ignore_ascii_case(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, parser};

    #[test]
    fn the_longest_certain_text_is_found() {
        for (expression, expected) in [
            ("report[\\d]{7,9}\\.pdf\\.lnk", ".pdf.lnk"),
            ("\\bVisualizar\\s\\-\\sFatura", "visualizar"),
            ("a(?:bc|bd)ef", "ef"),
            ("(ab)+cde?f", "ab"),
            ("(ab){1}cd?e", "abc"),
            ("x*abc", "abc"),
            ("ab(?=zzzz)c$", "abc"),
            ("(?>ab)(c)", "abc"),
            ("a.b|cdef", ""),
            ("(a)\\1bb", "bb"),
            ("[e][xX]e", "exe"),
            ("(ab)?", ""),
            ("[^a]", ""),
            ("", ""),
        ] {
            let tree = parser::parse(expression.as_bytes(), Flags::default()).unwrap();
            assert_eq!(String::from_utf8_lossy(&of(&tree)), expected, "{expression}");
            let any_case = parser::parse(expression.as_bytes(), Flags { any_case: true, ..Flags::default() });
            assert_eq!(of(&any_case.unwrap()), expected.as_bytes(), "{expression}");
        }
        let long = parser::parse("x".repeat(100).as_bytes(), Flags::default()).unwrap();
        assert_eq!(of(&long).len(), BYTES_MAX);
    }
}
