//! A tree → instructions for [`machine`](super::machine). Rule: what takes single bytes again and again is one instruction.

use super::syntax::{Letters, Node, Place, Sense, Set, Taste, Way};

/// One instruction; numbers of instructions are absolute.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Byte(u8),
    Set(Set),
    Place(Place),
    /// Goes on with the first, and with the second if that fails.
    Split(u32, u32),
    Jump(u32),
    /// Notes where we are in a slot.
    Save(u32),
    Back(u32, Letters),
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
    /// Goes to a place noted in a slot.
    Return(u32),
    /// Goes back so many bytes.
    StepBack(u32),
    /// Goes on elsewhere if the group has not matched.
    Unless(u32, u32),
    Found,
}

/// An expression to run.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub ops: Vec<Op>,
    /// Registers: groups, counters, fences.
    pub registers: usize,
    /// Bytes that a match may start with; `None` where it may be empty.
    pub first: Option<Box<Set>>,
    /// Whether it can match at the first byte alone.
    pub at_start: bool,
}

pub(crate) fn compile(tree: &Node) -> Program {
    let mut writer = Writer { ops: Vec::new(), registers: 2 + 2 * highest(tree) as usize };
    writer.node(tree);
    writer.ops.push(Op::Found);
    let mut first = Set::default();
    let is_sure = firsts(tree, &mut first);
    Program {
        ops: writer.ops,
        registers: writer.registers,
        first: is_sure.then(|| Box::new(first)),
        at_start: starts(tree),
    }
}

/// The highest group.
fn highest(node: &Node) -> u32 {
    match node {
        Node::Byte(_) | Node::Set(_) | Node::Place(_) => 0,
        Node::All(nodes) | Node::Either(nodes) => nodes.iter().map(highest).max().unwrap_or(0),
        Node::Repeat { node, .. } | Node::Look(_, _, node) | Node::Atomic(node) => highest(node),
        Node::Capture(number, node) => highest(node).max(*number),
        Node::Back(number, _) => *number,
        Node::If(number, yes, no) => highest(yes).max(highest(no)).max(*number),
    }
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
        Node::Place(_) | Node::Look(..) => false,
        Node::Back(..) => {
            *first = first.and(&Set::default().inverse());
            false
        }
        Node::If(_, yes, no) => {
            let (yes, no) = (firsts(yes, first), firsts(no, first));
            yes && no
        }
    }
}

fn starts(node: &Node) -> bool {
    match node {
        Node::Place(Place::Start) => true,
        Node::All(nodes) => nodes.first().is_some_and(starts),
        Node::Either(nodes) => nodes.iter().all(starts),
        Node::Capture(_, node) | Node::Atomic(node) => starts(node),
        _ => false,
    }
}

struct Writer {
    ops: Vec<Op>,
    registers: usize,
}

impl Writer {
    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    fn register(&mut self) -> u32 {
        self.registers += 1;
        self.registers as u32 - 1
    }

    /// An instruction to be put right later.
    fn hole(&mut self) -> usize {
        self.ops.push(Op::Jump(0));
        self.ops.len() - 1
    }

    fn fill(&mut self, hole: usize, op: Op) {
        if let Some(place) = self.ops.get_mut(hole) {
            *place = op;
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Byte(byte) => self.ops.push(Op::Byte(*byte)),
            Node::Set(set) => self.ops.push(Op::Set(**set)),
            Node::Place(place) => self.ops.push(Op::Place(*place)),
            Node::All(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Either(branches) => self.either(branches),
            Node::Repeat { node, min, max, taste } => self.repeat(node, *min, *max, *taste),
            Node::Capture(number, node) => {
                self.ops.push(Op::Save(number * 2));
                self.node(node);
                self.ops.push(Op::Save(number * 2 + 1));
            }
            Node::Look(way, sense, node) => self.look(*way, *sense, node),
            Node::Atomic(node) => {
                let fence = self.register();
                self.ops.push(Op::Fence(fence));
                self.node(node);
                self.ops.push(Op::Commit(fence));
            }
            Node::Back(number, letters) => self.ops.push(Op::Back(*number, *letters)),
            Node::If(number, yes, no) => {
                let unless = self.hole();
                self.node(yes);
                let jump = self.hole();
                let other = self.here();
                self.fill(unless, Op::Unless(*number, other));
                self.node(no);
                let end = self.here();
                self.fill(jump, Op::Jump(end));
            }
        }
    }

    fn either(&mut self, branches: &[Node]) {
        let mut ends = Vec::new();
        for (at, branch) in branches.iter().enumerate() {
            let split = (at + 1 < branches.len()).then(|| self.hole());
            self.node(branch);
            if let Some(split) = split {
                ends.push(self.hole());
                let next = self.here();
                self.fill(split, Op::Split(split as u32 + 1, next));
            }
        }
        let end = self.here();
        ends.into_iter().for_each(|hole| self.fill(hole, Op::Jump(end)));
    }

    fn look(&mut self, way: Way, sense: Sense, node: &Node) {
        let branches = match node {
            Node::Either(branches) => branches.as_slice(),
            one => std::slice::from_ref(one),
        };
        let (fence, place) = (self.register(), self.register());
        self.ops.push(Op::Fence(fence));
        self.ops.push(Op::Save(place));
        let around = (sense == Sense::Negative).then(|| self.hole());
        let mut ends = Vec::new();
        for (at, branch) in branches.iter().enumerate() {
            let split = (at + 1 < branches.len()).then(|| self.hole());
            if way == Way::Behind {
                self.ops.push(Op::StepBack(branch.width().0));
            }
            self.node(branch);
            if let Some(split) = split {
                ends.push(self.hole());
                let next = self.here();
                self.fill(split, Op::Split(split as u32 + 1, next));
            }
        }
        let end = self.here();
        ends.into_iter().for_each(|hole| self.fill(hole, Op::Jump(end)));
        match around {
            Some(around) => {
                self.ops.push(Op::Refuse(fence));
                let on = self.here();
                self.fill(around, Op::Split(around as u32 + 1, on));
            }
            None => self.ops.extend([Op::Commit(fence), Op::Return(place)]),
        }
    }

    fn repeat(&mut self, node: &Node, min: u32, max: Option<u32>, taste: Taste) {
        let set = match node {
            Node::Byte(byte) => Some(Set::of(|other| other == *byte)),
            Node::Set(set) => Some(**set),
            _ => None,
        };
        if let Some(set) = set {
            self.ops.push(Op::Run { set, min, max, taste });
            return;
        }
        if max == Some(0) {
            return;
        }
        let fence = (taste == Taste::Possessive).then(|| self.register());
        if let Some(fence) = fence {
            self.ops.push(Op::Fence(fence));
        }
        let inner = if taste == Taste::Lazy { Taste::Lazy } else { Taste::Greedy };
        // A counter is two registers: the rounds, and where the last one began.
        let counter = self.register();
        self.register();
        self.ops.push(Op::Clear(counter));
        let skip = (min == 0).then(|| self.hole());
        let again = self.here();
        self.ops.push(Op::Save(counter + 1));
        self.node(node);
        self.ops.push(Op::Round { counter, min, max, taste: inner, again });
        let end = self.here();
        if let Some(skip) = skip {
            let body = skip as u32 + 1;
            self.fill(skip, if inner == Taste::Lazy { Op::Split(end, body) } else { Op::Split(body, end) });
        }
        if let Some(fence) = fence {
            self.ops.push(Op::Commit(fence));
        }
    }
}
