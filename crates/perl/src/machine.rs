//! Runs a program by backtracking. Rule: no recursion; each instruction and each way back is a step, and steps end.

use super::escape::word;
use super::program::{Op, Program};
use super::syntax::{Letters, Place, Set, Taste, Verb};
use super::{Found, Start};

/// How many ways back are kept at most; beyond them the search is spent.
const WAYS_MAX: usize = 1 << 20;
/// How many registers are kept for calls at most; beyond them the search is spent.
const KEPT_MAX: usize = 1 << 20;
/// Stands for a register that holds nothing.
const UNSET: usize = usize::MAX;

/// Registers behind those of the groups: the call that we are in,
const CALL: u32 = 0;
/// how many ways back there were where verbs end,
pub(crate) const BARRIER: u32 = 1;
/// and where the branch began that `(*THEN)` leaves.
pub(crate) const THEN: u32 = 2;
pub(crate) const SCOPES: u32 = 3;

/// A way back.
#[derive(Clone, Copy)]
enum Back {
    /// Go on there.
    To { op: u32, at: usize },
    /// Give back a byte, as long as there is one to give.
    Less { op: u32, least: usize, at: usize },
    /// Take a byte more, as long as it belongs.
    More { op: u32, at: usize, most: usize },
    /// Go on there a byte later, up to the last.
    Later { op: u32, at: usize, last: usize },
    /// A register had this before.
    Register { register: u32, before: usize },
    /// A call was begun.
    Call,
    /// A verb stands there.
    Verb { op: u32, at: usize },
}

/// A group that was called.
struct Call {
    group: u32,
    /// Where it goes on.
    op: u32,
    /// What all registers had before.
    registers: Box<[usize]>,
}

/// The first match from `from` on.
pub(crate) fn find(program: &Program, bytes: &[u8], from: usize, start: Start, steps: &mut u64) -> Found {
    Machine::new(program, bytes, from).find(from, start, steps)
}

/// What a group has in the first match, where the group has matched.
pub(crate) fn group(program: &Program, bytes: &[u8], group: u32, steps: &mut u64) -> Found {
    let mut machine = Machine::new(program, bytes, 0);
    match machine.find(0, Start::Any, steps) {
        Found::At(..) => machine.matched(group).map_or(Found::Nowhere, |(from, to)| Found::At(from, to)),
        other => other,
    }
}

enum Ran {
    /// From, and to.
    Found(usize, usize),
    Failed,
    /// No match begins before that byte.
    Skipped(usize),
    /// There is none.
    Committed,
    Spent,
}

struct Machine<'a> {
    program: &'a Program,
    bytes: &'a [u8],
    from: usize,
    registers: Vec<usize>,
    ways: Vec<Back>,
    calls: Vec<Call>,
}

/// What an instruction came to.
enum Step {
    /// On with that instruction, at that byte.
    On(u32, usize),
    Fail,
    Found(usize),
    /// More is asked for than may be kept.
    Spent,
}

impl<'a> Machine<'a> {
    fn new(program: &'a Program, bytes: &'a [u8], from: usize) -> Self {
        Self { program, bytes, from, registers: Vec::new(), ways: Vec::new(), calls: Vec::new() }
    }

    fn find(&mut self, from: usize, start: Start, steps: &mut u64) -> Found {
        let mut at = from;
        while at <= self.bytes.len() {
            if start == Start::Any
                && let Some(first) = &self.program.first
            {
                let rest = self.bytes.get(at..).unwrap_or_default();
                let skipped = rest.iter().position(|byte| first.has(*byte));
                *steps = steps.saturating_sub((skipped.unwrap_or(rest.len()) / 4) as u64);
                match skipped {
                    Some(skipped) => at += skipped,
                    None => return Found::Nowhere,
                }
            }
            let next = match self.run(at, steps) {
                // What is called by an assertion may say that the match begins elsewhere; it does not.
                Ran::Found(start, end) => return Found::At(start.max(at).min(end), end),
                Ran::Failed => at + 1,
                Ran::Skipped(to) => to.max(at + 1),
                Ran::Committed => return Found::Nowhere,
                Ran::Spent => return Found::Spent,
            };
            if start == Start::First || self.program.at_start {
                break;
            }
            at = next;
        }
        Found::Nowhere
    }

    /// From where to where a group has matched.
    fn matched(&self, group: u32) -> Option<(usize, usize)> {
        let from = *self.registers.get(group as usize * 2)?;
        let to = *self.registers.get(group as usize * 2 + 1)?;
        let is_group = (group as usize) < self.program.entries.len();
        (is_group && from <= to && to <= self.bytes.len()).then_some((from, to))
    }

    fn run(&mut self, start: usize, steps: &mut u64) -> Ran {
        self.registers.clear();
        self.registers.resize(self.program.registers, UNSET);
        self.registers[0] = start;
        self.ways.clear();
        self.calls.clear();
        let (mut op, mut at) = (0_u32, start);
        loop {
            if *steps == 0 || self.ways.len() > WAYS_MAX {
                *steps = 0;
                return Ran::Spent;
            }
            *steps -= 1;
            match self.step(op, at) {
                Step::On(next, place) => (op, at) = (next, place),
                Step::Found(end) => return Ran::Found(self.registers[0], end),
                Step::Spent => *steps = 0,
                Step::Fail => match self.back() {
                    Ok((next, place)) => (op, at) = (next, place),
                    Err(ran) => return ran,
                },
            }
        }
    }

    /// The last way back, or what the search came to.
    fn back(&mut self) -> Result<(u32, usize), Ran> {
        loop {
            match self.ways.pop().ok_or(Ran::Failed)? {
                Back::To { op, at } => return Ok((op, at)),
                Back::Less { op, least, at } => {
                    if at > least + 1 {
                        self.ways.push(Back::Less { op, least, at: at - 1 });
                    }
                    return Ok((op, at - 1));
                }
                Back::More { op, at, most } => {
                    let Some(Op::Run { set, .. }) = self.program.ops.get(op as usize) else { continue };
                    if at < most && self.bytes.get(at).is_some_and(|byte| set.has(*byte)) {
                        self.ways.push(Back::More { op, at: at + 1, most });
                        return Ok((op + 1, at + 1));
                    }
                }
                Back::Later { op, at, last } => {
                    if at < last {
                        self.ways.push(Back::Later { op, at: at + 1, last });
                    }
                    return Ok((op, at));
                }
                Back::Verb { op, at } => self.verb(op, at)?,
                undo => self.undo(undo),
            }
        }
    }

    /// Comes back to a verb.
    fn verb(&mut self, op: u32, at: usize) -> Result<(), Ran> {
        let program = self.program;
        let Some(Op::Verb(verb)) = program.ops.get(op as usize) else { return Ok(()) };
        let (scope, ran) = match verb {
            Verb::Fail | Verb::Everywhere | Verb::Mark(_) => return Ok(()),
            Verb::Then => (THEN, Ran::Failed),
            Verb::Prune => (BARRIER, Ran::Failed),
            Verb::Commit => (BARRIER, Ran::Committed),
            Verb::Skip => (BARRIER, Ran::Skipped(at)),
            Verb::SkipTo(name) => match self.mark(name) {
                Some(mark) => (BARRIER, Ran::Skipped(mark)),
                // Without such a mark it is none.
                None => return Ok(()),
            },
        };
        match self.registers[(program.scopes + scope) as usize] {
            UNSET => Err(ran),
            height => {
                while self.ways.len() > height
                    && let Some(way) = self.ways.pop()
                {
                    self.undo(way);
                }
                Ok(())
            }
        }
    }

    /// Where the last mark of that name stands.
    fn mark(&self, name: &[u8]) -> Option<usize> {
        self.ways.iter().rev().find_map(|way| match way {
            Back::Verb { op, at } => match self.program.ops.get(*op as usize) {
                Some(Op::Verb(Verb::Mark(mark))) if **mark == *name => Some(*at),
                _ => None,
            },
            _ => None,
        })
    }

    fn undo(&mut self, way: Back) {
        match way {
            Back::Register { register, before } => self.registers[register as usize] = before,
            Back::Call => {
                self.calls.pop();
            }
            _ => {}
        }
    }

    fn set(&mut self, register: u32, value: usize) {
        let place = &mut self.registers[register as usize];
        let before = std::mem::replace(place, value);
        self.ways.push(Back::Register { register, before });
    }

    fn step(&mut self, op: u32, at: usize) -> Step {
        let program = self.program;
        let on = |ok: bool, at: usize| if ok { Step::On(op + 1, at) } else { Step::Fail };
        match &program.ops[op as usize] {
            Op::Byte(byte) => on(self.bytes.get(at) == Some(byte), at + 1),
            Op::Set(set) => on(self.bytes.get(at).is_some_and(|byte| set.has(*byte)), at + 1),
            Op::Place(place) => on(holds(*place, self.bytes, self.from, at), at),
            Op::Split(first, second) => {
                self.ways.push(Back::To { op: *second, at });
                Step::On(*first, at)
            }
            Op::Jump(to) => Step::On(*to, at),
            Op::Back(groups, letters) => match self.again(groups, *letters, at) {
                Some(end) => on(true, end),
                None => Step::Fail,
            },
            Op::Run { set, min, max, taste } => self.take(op, at, set, (*min, *max), *taste),
            Op::Round { counter, min, max, taste, again } => {
                self.round(op, at, (*counter, *again), (*min, *max), *taste)
            }
            Op::Refuse(register) => {
                self.commit(*register);
                Step::Fail
            }
            Op::Return(register) => on(true, self.registers[*register as usize]),
            Op::Here(register) => on(self.registers[*register as usize] == at, at),
            Op::StepBack(bytes) => match at.checked_sub(*bytes as usize) {
                Some(at) => on(true, at),
                None => Step::Fail,
            },
            Op::StepsBack(min, max) => self.steps_back(op, at, (*min, *max)),
            Op::Unless(groups, other) => match groups.iter().any(|group| self.has_matched(*group)) {
                true => on(true, at),
                false => Step::On(*other, at),
            },
            Op::UnlessCalled(groups, other) => match self.is_called(groups.as_deref()) {
                true => on(true, at),
                false => Step::On(*other, at),
            },
            Op::Call(group) => self.call(op, at, *group),
            Op::Ret(group) => match self.called() {
                Some(call) if self.calls[call].group == *group => self.come_back(call, at),
                _ => on(true, at),
            },
            Op::Accept => match self.called() {
                Some(call) => self.come_back(call, at),
                None => Step::Found(at),
            },
            Op::Verb(Verb::Fail) => Step::Fail,
            Op::Verb(_) => {
                self.ways.push(Back::Verb { op, at });
                on(true, at)
            }
            Op::Found => Step::Found(at),
            note => {
                self.note(note, at);
                on(true, at)
            }
        }
    }

    /// What only changes registers, and always holds.
    fn note(&mut self, op: &Op, at: usize) {
        match op {
            Op::Save(register) => self.set(*register, at),
            Op::Copy(to, from) => {
                let value = self.registers[*from as usize];
                self.set(*to, value);
            }
            Op::Close(group, begin) => {
                let begin = self.registers[*begin as usize];
                self.set(group * 2, begin);
                self.set(group * 2 + 1, at);
            }
            Op::Clear(counter) => self.set(*counter, 0),
            Op::Fence(register) => {
                let ways = self.ways.len();
                self.set(*register, ways);
            }
            Op::Commit(register) => self.commit(*register),
            _ => {}
        }
    }

    /// Begins as far back as may be, and comes nearer when that fails.
    fn steps_back(&mut self, op: u32, at: usize, (min, max): (u32, u32)) -> Step {
        let Some(last) = at.checked_sub(min as usize) else { return Step::Fail };
        let first = at.saturating_sub(max as usize);
        if first < last {
            self.ways.push(Back::Later { op: op + 1, at: first + 1, last });
        }
        Step::On(op + 1, first)
    }

    fn has_matched(&self, group: u32) -> bool {
        self.registers[group as usize * 2 + 1] != UNSET
    }

    /// The call that we are in.
    fn called(&self) -> Option<usize> {
        Some(self.registers[(self.program.scopes + CALL) as usize]).filter(|call| *call < self.calls.len())
    }

    fn is_called(&self, groups: Option<&[u32]>) -> bool {
        let Some(call) = self.called() else { return false };
        groups.is_none_or(|groups| groups.contains(&self.calls[call].group))
    }

    /// Verbs in what is called end there: a failure of it is one like any other.
    fn call(&mut self, op: u32, at: usize, group: u32) -> Step {
        let program = self.program;
        if (self.calls.len() + 1).saturating_mul(program.registers) > KEPT_MAX {
            return Step::Spent;
        }
        self.calls.push(Call { group, op: op + 1, registers: self.registers.as_slice().into() });
        let ways = self.ways.len();
        self.ways.push(Back::Call);
        self.set(program.scopes + CALL, self.calls.len() - 1);
        self.set(program.scopes + BARRIER, ways);
        self.set(program.scopes + THEN, ways);
        Step::On(program.entries[group as usize], at)
    }

    /// Groups have what they had before the call, and so does all else but where the match is said to begin.
    fn come_back(&mut self, call: usize, at: usize) -> Step {
        for register in 1..self.registers.len() {
            let before = self.calls[call].registers[register];
            if self.registers[register] != before {
                self.set(register as u32, before);
            }
        }
        Step::On(self.calls[call].op, at)
    }

    /// Forgets ways back, but not what registers had before: that must be undone all the same.
    fn commit(&mut self, fence: u32) {
        let height = self.registers[fence as usize].min(self.ways.len());
        let mut kept = height;
        for at in height..self.ways.len() {
            if matches!(self.ways[at], Back::Register { .. } | Back::Call) {
                self.ways.swap(kept, at);
                kept += 1;
            }
        }
        self.ways.truncate(kept);
    }

    fn again(&self, groups: &[u32], letters: Letters, at: usize) -> Option<usize> {
        let group = groups.iter().copied().find(|group| self.has_matched(*group))?;
        let (from, to) = (self.registers[group as usize * 2], self.registers[group as usize * 2 + 1]);
        let was = self.bytes.get(from..to)?;
        let now = self.bytes.get(at..at.checked_add(was.len())?)?;
        let same = match letters {
            Letters::AsWritten => was == now,
            Letters::AnyCase => was.eq_ignore_ascii_case(now),
        };
        same.then_some(at + was.len())
    }

    fn take(&mut self, op: u32, at: usize, set: &Set, (min, max): (u32, Option<u32>), taste: Taste) -> Step {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let most = max.map_or(rest.len(), |max| rest.len().min(max as usize));
        let wanted = if taste == Taste::Lazy { (min as usize).min(most) } else { most };
        let taken = rest.iter().take(wanted).position(|byte| !set.has(*byte)).unwrap_or(wanted);
        if taken < min as usize {
            return Step::Fail;
        }
        let (least, end) = (at + min as usize, at + taken);
        match taste {
            Taste::Greedy if end > least => self.ways.push(Back::Less { op: op + 1, least, at: end }),
            Taste::Lazy if at + most > end => self.ways.push(Back::More { op, at: end, most: at + most }),
            _ => {}
        }
        Step::On(op + 1, end)
    }

    fn round(
        &mut self,
        op: u32,
        at: usize,
        (counter, again): (u32, u32),
        (min, max): (u32, Option<u32>),
        taste: Taste,
    ) -> Step {
        let rounds = self.registers[counter as usize].saturating_add(1);
        let began = self.registers[counter as usize + 1];
        self.set(counter, rounds);
        if rounds < min as usize {
            return Step::On(again, at);
        }
        // A round that takes nothing would go on for ever.
        if began == at || max.is_some_and(|max| rounds >= max as usize) {
            return Step::On(op + 1, at);
        }
        let (first, second) = if taste == Taste::Lazy { (op + 1, again) } else { (again, op + 1) };
        self.ways.push(Back::To { op: second, at });
        Step::On(first, at)
    }
}

fn holds(place: Place, bytes: &[u8], from: usize, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
    let behind = bytes.get(at).copied();
    match place {
        Place::Start => at == 0,
        Place::SearchStart => at == from,
        Place::End => behind.is_none(),
        Place::EndOrLastLine => behind.is_none() || (behind == Some(b'\n') && at + 1 == bytes.len()),
        Place::LineStart => before.is_none() || (before == Some(b'\n') && behind.is_some()),
        Place::LineEnd => matches!(behind, None | Some(b'\n')),
        Place::WordEdge => before.is_some_and(word) != behind.is_some_and(word),
        Place::NotWordEdge => before.is_some_and(word) == behind.is_some_and(word),
    }
}
