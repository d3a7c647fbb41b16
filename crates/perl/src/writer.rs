//! A tree → instructions. Rule: what takes single bytes again and again is one instruction.

use super::machine::{BARRIER, SCOPES, THEN};
use super::program::Op;
use super::syntax::{Condition, Node, Sense, Set, Taste, Verb, Way};
use super::width::Widths;

/// What became of a tree.
pub(crate) struct Written {
    pub ops: Vec<Op>,
    pub entries: Vec<u32>,
    pub registers: usize,
    pub scopes: u32,
}

/// Writes the instructions of a tree with so many groups.
pub(crate) fn write(tree: &Node, groups: u32) -> Written {
    let scopes = 2 + 2 * groups;
    let mut writer = Writer {
        ops: Vec::new(),
        entries: vec![0; groups as usize + 1],
        registers: (scopes + SCOPES) as usize,
        scopes,
        widths: Widths::of(tree),
        open: Vec::new(),
        accepts: Vec::new(),
        has_verbs: tree.has(&|node| matches!(node, Node::Verb(verb) if *verb != Verb::Fail)),
        has_then: tree.has(&|node| *node == Node::Verb(Verb::Then)),
        has_calls: tree.has(&|node| matches!(node, Node::Call(_))),
    };
    writer.node(tree);
    if writer.has_calls {
        writer.ops.push(Op::Ret(0));
    }
    writer.ops.push(Op::Found);
    let Writer { ops, entries, registers, scopes, .. } = writer;
    Written { ops, entries, registers, scopes }
}

struct Writer<'a> {
    ops: Vec<Op>,
    entries: Vec<u32>,
    registers: usize,
    scopes: u32,
    widths: Widths<'a>,
    /// The groups that we are in, and where each notes its beginning.
    open: Vec<(u32, u32)>,
    /// For each assertion that we are in: what jumps to its end.
    accepts: Vec<Vec<usize>>,
    has_verbs: bool,
    has_then: bool,
    has_calls: bool,
}

/// Which verbs stay within what is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// `(*THEN)`; the others are for the whole search.
    Then,
    All,
}

impl Writer<'_> {
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

    /// Lets these jump to here.
    fn land(&mut self, holes: Vec<usize>) {
        let here = self.here();
        holes.into_iter().for_each(|hole| self.fill(hole, Op::Jump(here)));
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Byte(byte) => self.ops.push(Op::Byte(*byte)),
            Node::Set(set) => self.ops.push(Op::Set(**set)),
            Node::Place(place) => self.ops.push(Op::Place(*place)),
            Node::All(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Either(branches) => self.either(branches),
            Node::Repeat { node, min, max, taste } => self.repeat(node, *min, *max, *taste),
            Node::Capture(number, node) => self.capture(*number, node),
            Node::Look(way, sense, node) => self.look(*way, *sense, node),
            Node::Atomic(node) => {
                let fence = self.register();
                self.ops.push(Op::Fence(fence));
                self.node(node);
                self.ops.push(Op::Commit(fence));
            }
            Node::Back(groups, letters) => self.ops.push(Op::Back(groups.clone(), *letters)),
            Node::If(condition, yes, no) => self.conditional(condition, yes, no),
            Node::Call(group) => self.ops.push(Op::Call(*group)),
            Node::Keep => self.ops.push(Op::Save(0)),
            Node::Verb(Verb::Everywhere) => {}
            Node::Verb(verb) => self.ops.push(Op::Verb(verb.clone())),
            Node::Accept => self.accept(),
        }
    }

    fn capture(&mut self, number: u32, node: &Node) {
        let begin = self.register();
        if let Some(entry) = self.entries.get_mut(number as usize)
            && *entry == 0
        {
            *entry = self.ops.len() as u32;
        }
        self.ops.push(Op::Save(begin));
        self.open.push((number, begin));
        self.node(node);
        self.open.pop();
        if self.has_calls {
            self.ops.push(Op::Ret(number));
        }
        self.ops.push(Op::Close(number, begin));
    }

    /// Groups that are open end here; then the assertion that we are in does, or all.
    fn accept(&mut self) {
        let closes: Vec<Op> =
            self.open.iter().rev().map(|(number, begin)| Op::Close(*number, *begin)).collect();
        self.ops.extend(closes);
        if self.accepts.is_empty() {
            self.ops.push(Op::Accept);
            return;
        }
        let hole = self.hole();
        if let Some(accepts) = self.accepts.last_mut() {
            accepts.push(hole);
        }
    }

    fn either(&mut self, branches: &[Node]) {
        let before = self.has_then.then(|| self.register());
        if let Some(before) = before {
            self.ops.push(Op::Copy(before, self.scopes + THEN));
        }
        self.each(branches, |writer, branch| {
            if before.is_some() {
                writer.ops.push(Op::Fence(writer.scopes + THEN));
            }
            writer.node(branch);
        });
        if let Some(before) = before {
            self.ops.push(Op::Copy(self.scopes + THEN, before));
        }
    }

    /// One branch, and the next if it fails.
    fn each(&mut self, branches: &[Node], mut write: impl FnMut(&mut Self, &Node)) {
        let mut ends = Vec::new();
        for (at, branch) in branches.iter().enumerate() {
            let split = (at + 1 < branches.len()).then(|| self.hole());
            write(self, branch);
            if let Some(split) = split {
                ends.push(self.hole());
                let next = self.here();
                self.fill(split, Op::Split(split as u32 + 1, next));
            }
        }
        self.land(ends);
    }

    fn look(&mut self, way: Way, sense: Sense, node: &Node) {
        let (fence, place) = (self.register(), self.register());
        self.ops.push(Op::Fence(fence));
        self.ops.push(Op::Save(place));
        match sense {
            Sense::Positive => {
                self.within(Kept::Then, |writer| writer.looked_for(way, node, place));
                self.ops.extend([Op::Commit(fence), Op::Return(place)]);
            }
            Sense::Negative => {
                let around = self.hole();
                self.within(Kept::All, |writer| writer.looked_for(way, node, place));
                self.ops.push(Op::Refuse(fence));
                let on = self.here();
                self.fill(around, Op::Split(around as u32 + 1, on));
            }
        }
    }

    /// Verbs and `(*ACCEPT)` in what is written reach no further than that.
    fn within(&mut self, kept: Kept, write: impl FnOnce(&mut Self)) {
        let mut scopes = Vec::new();
        if self.has_then {
            scopes.push((self.register(), self.scopes + THEN));
        }
        if self.has_verbs && kept == Kept::All {
            scopes.push((self.register(), self.scopes + BARRIER));
        }
        self.ops.extend(scopes.iter().map(|(before, scope)| Op::Copy(*before, *scope)));
        self.ops.extend(scopes.iter().map(|(_, scope)| Op::Fence(*scope)));
        self.accepts.push(Vec::new());
        write(self);
        let accepts = self.accepts.pop().unwrap_or_default();
        self.land(accepts);
        self.ops.extend(scopes.iter().map(|(before, scope)| Op::Copy(*scope, *before)));
    }

    fn looked_for(&mut self, way: Way, node: &Node, place: u32) {
        if way == Way::Ahead {
            return self.node(node);
        }
        self.each(node.branches(), |writer, branch| {
            // That it has a bound was seen to when it was read.
            let (min, max) = writer.widths.width(branch);
            let max = max.unwrap_or(min);
            if min == max {
                writer.ops.push(Op::StepBack(min));
                writer.node(branch);
            } else {
                writer.ops.push(Op::StepsBack(min, max));
                writer.node(branch);
                writer.ops.push(Op::Here(place));
            }
        });
    }

    fn conditional(&mut self, condition: &Condition, yes: &Node, no: &Node) {
        match condition {
            Condition::Define => {
                let jump = self.hole();
                self.node(yes);
                self.land(vec![jump]);
            }
            Condition::Matched(groups) => {
                self.one_of(yes, no, |other| Op::Unless(groups.clone(), other));
            }
            Condition::Called(groups) => {
                self.one_of(yes, no, |other| Op::UnlessCalled(groups.clone(), other));
            }
            Condition::Look(way, sense, node) => {
                let (fence, place) = (self.register(), self.register());
                self.ops.extend([Op::Fence(fence), Op::Save(place)]);
                let split = self.hole();
                self.within(Kept::All, |writer| writer.looked_for(*way, node, place));
                self.ops.extend([Op::Commit(fence), Op::Return(place)]);
                let (holds, fails) = match sense {
                    Sense::Positive => (yes, no),
                    Sense::Negative => (no, yes),
                };
                self.node(holds);
                let jump = self.hole();
                let other = self.here();
                self.fill(split, Op::Split(split as u32 + 1, other));
                self.node(fails);
                self.land(vec![jump]);
            }
        }
    }

    fn one_of(&mut self, yes: &Node, no: &Node, unless: impl FnOnce(u32) -> Op) {
        let hole = self.hole();
        self.node(yes);
        let jump = self.hole();
        let other = self.here();
        self.fill(hole, unless(other));
        self.node(no);
        self.land(vec![jump]);
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
            // It may still be called.
            let jump = self.hole();
            self.node(node);
            self.land(vec![jump]);
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
