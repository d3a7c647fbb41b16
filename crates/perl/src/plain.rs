//! A tree that is regular → the `regex` crate. Rule: what agrees is the same; what is not regular is not translated.

use super::syntax::{Node, Place, Set, Taste};
use std::fmt::Write as _;

/// The largest automaton that is made; what needs more is left to the backtracking machine.
const REGEX_BYTES_MAX: usize = 4 << 20;

/// `None` where the tree needs backtracking.
pub(crate) fn regex(tree: &Node) -> Option<regex::bytes::Regex> {
    let mut text = String::from("(?s-u)");
    write(tree, &mut text)?;
    regex::bytes::RegexBuilder::new(&text)
        .unicode(false)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .build()
        .ok()
}

fn write(node: &Node, text: &mut String) -> Option<()> {
    match node {
        Node::Byte(byte) => write!(text, "\\x{byte:02x}").ok(),
        Node::Set(set) => write_set(set, text),
        Node::Place(place) => {
            text.push_str(match place {
                Place::Start => "\\A",
                Place::End => "\\z",
                Place::LineStart => "(?m:^)",
                Place::LineEnd => "(?m:$)",
                Place::WordEdge => "\\b",
                Place::NotWordEdge => "\\B",
                // It looks at a byte that it does not take, or at what the other does not know.
                Place::EndOrLastLine | Place::SearchStart => return None,
            });
            Some(())
        }
        Node::All(nodes) => nodes.iter().try_for_each(|node| write(node, text)),
        Node::Either(branches) => {
            text.push_str("(?:");
            for (at, branch) in branches.iter().enumerate() {
                if at > 0 {
                    text.push('|');
                }
                write(branch, text)?;
            }
            text.push(')');
            Some(())
        }
        Node::Repeat { taste: Taste::Possessive, .. } => None,
        Node::Repeat { node, min, max, taste } => {
            text.push_str("(?:");
            write(node, text)?;
            text.push(')');
            match (min, max) {
                (0, None) => text.push('*'),
                (1, None) => text.push('+'),
                (0, Some(1)) => text.push('?'),
                (min, None) => write!(text, "{{{min},}}").ok()?,
                (min, Some(max)) => write!(text, "{{{min},{max}}}").ok()?,
            }
            if *taste == Taste::Lazy {
                text.push('?');
            }
            Some(())
        }
        Node::Capture(_, node) => {
            text.push_str("(?:");
            write(node, text)?;
            text.push(')');
            Some(())
        }
        Node::Look(..)
        | Node::Atomic(_)
        | Node::Back(..)
        | Node::If(..)
        | Node::Call(_)
        | Node::Keep
        | Node::Verb(_)
        | Node::Accept => None,
    }
}

fn write_set(set: &Set, text: &mut String) -> Option<()> {
    let members: Vec<u8> = (0..=255).filter(|byte| set.has(*byte)).collect();
    if members.is_empty() {
        // Nothing agrees with it.
        text.push_str("[^\\x00-\\xff]");
        return Some(());
    }
    text.push('[');
    let mut rest = members.as_slice();
    while let Some(first) = rest.first() {
        let length = rest.iter().zip(*first..=255).take_while(|(byte, next)| *byte == next).count();
        let last = rest.get(length.checked_sub(1)?)?;
        write!(text, "\\x{first:02x}-\\x{last:02x}").ok()?;
        rest = rest.get(length..)?;
    }
    text.push(']');
    Some(())
}
