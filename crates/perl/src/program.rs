//! What [`machine`](super::machine) runs, and what is known of it before. Rule: what is said to be needed is needed by every match.

use super::syntax::{Condition, Letters, Node, Place, Set, Taste, Verb};
use super::{literal, writer};

/// One instruction; numbers of instructions are absolute.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Byte(u8),
    Set(Set),
    Place(Place),
    /// Goes on with the first, and with the second if that fails.
    Split(u32, u32),
    Jump(u32),
    /// Notes where we are in a register.
    Save(u32),
    /// Copies a register to the first from the second.
    Copy(u32, u32),
    /// A group ends that began where the register says.
    Close(u32, u32),
    Back(Box<[u32]>, Letters),
    /// Takes bytes of a set, so many.
    Run {
        set: Set,
        min: u32,
        max: Option<u32>,
        taste: Taste,
    },
    /// Sets a counter to nothing.
    Clear(u32),
    /// At the end of a round: counts it, and goes back to `again` or on.
    Round {
        counter: u32,
        min: u32,
        max: Option<u32>,
        taste: Taste,
        again: u32,
    },
    /// Notes how many ways back there are.
    Fence(u32),
    /// Forgets the ways back since the fence.
    Commit(u32),
    /// Forgets them and fails.
    Refuse(u32),
    /// Goes to a place noted in a register.
    Return(u32),
    /// Goes back so many bytes.
    StepBack(u32),
    /// Goes back so many bytes at most and at least, those furthest back first.
    StepsBack(u32, u32),
    /// Holds at the place noted in a register alone.
    Here(u32),
    /// Goes on elsewhere if none of the groups has matched.
    Unless(Box<[u32]>, u32),
    /// Goes on elsewhere if we are not in a call of one of them, or of any.
    UnlessCalled(Option<Box<[u32]>>, u32),
    /// Runs a group, and goes on behind this.
    Call(u32),
    /// The end of a group, if it was called.
    Ret(u32),
    /// The end of whatever was called, or of all.
    Accept,
    Verb(Verb),
    Found,
}

/// An expression to run.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub ops: Vec<Op>,
    /// Where the groups begin that are called.
    pub entries: Vec<u32>,
    /// Registers: groups, what is asked for at run time, counters, fences.
    pub registers: usize,
    /// The first register of those that the machine itself asks for.
    pub scopes: u32,
    /// Bytes that a match may start with; `None` where it may be empty.
    pub first: Option<Box<Set>>,
    /// Whether it can match at the first byte alone.
    pub at_start: bool,
}

pub(crate) fn compile(tree: &Node) -> Program {
    let written = writer::write(tree, highest(tree));
    let mut first = Set::default();
    let is_unsure = |node: &Node| matches!(node, Node::Accept | Node::Verb(Verb::Everywhere));
    let mut is_sure = firsts(tree, &mut first) && !tree.has(&is_unsure);
    // PCRE2 looks for one first letter before it runs a verb, and not for one of several: a verb there is met or not.
    if tree.has(&|node| matches!(node, Node::Verb(verb) if *verb != Verb::Fail)) {
        is_sure &= literal::letter(&first).is_some();
    }
    Program {
        ops: written.ops,
        entries: written.entries,
        registers: written.registers,
        scopes: written.scopes,
        first: is_sure.then(|| Box::new(first)),
        at_start: starts(tree),
    }
}

/// The highest group.
fn highest(node: &Node) -> u32 {
    let own = match node {
        Node::Capture(number, _) | Node::Call(number) => *number,
        Node::Back(groups, _) | Node::If(Condition::Matched(groups), ..) => {
            groups.iter().copied().max().unwrap_or(0)
        }
        _ => 0,
    };
    node.inner().map(highest).max().unwrap_or(0).max(own)
}

/// Adds what a match may start with; says whether it takes a byte at all.
fn firsts(node: &Node, first: &mut Set) -> bool {
    match node {
        Node::Byte(byte) => {
            first.add(*byte);
            true
        }
        Node::Set(set) => {
            *first = first.and(set);
            true
        }
        Node::All(nodes) => nodes.iter().any(|node| firsts(node, first)),
        // Each branch has its say, also behind one that may be empty.
        Node::Either(nodes) => nodes.iter().filter(|node| !firsts(node, first)).count() == 0,
        Node::Repeat { node, min, .. } => firsts(node, first) && *min > 0,
        Node::Capture(_, node) | Node::Atomic(node) => firsts(node, first),
        Node::Place(_) | Node::Look(..) | Node::Keep | Node::Verb(_) | Node::Accept => false,
        Node::Back(..) | Node::Call(_) => {
            *first = first.and(&Set::default().inverse());
            false
        }
        Node::If(Condition::Define, ..) => false,
        Node::If(_, yes, no) => {
            let (yes, no) = (firsts(yes, first), firsts(no, first));
            yes && no
        }
    }
}

fn starts(node: &Node) -> bool {
    match node {
        Node::Place(Place::Start | Place::SearchStart) => true,
        Node::All(nodes) => nodes.first().is_some_and(starts),
        Node::Either(nodes) => nodes.iter().all(starts),
        Node::Capture(_, node) | Node::Atomic(node) => starts(node),
        _ => false,
    }
}
