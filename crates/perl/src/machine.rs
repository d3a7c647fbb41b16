//! Runs a program by backtracking. Rule: no recursion; each instruction and each way back is a step, and steps end.

use super::escape::word;
use super::program::{Op, Program};
use super::syntax::{Letters, Place, Set, Taste};
use super::{Found, Start};

/// How many ways back are kept at most; beyond them the search is spent.
const WAYS_MAX: usize = 1 << 20;
/// Stands for a register that holds nothing.
const UNSET: usize = usize::MAX;

/// A way back.
#[derive(Clone, Copy)]
enum Back {
    /// Go on there.
    To { op: u32, at: usize },
    /// Give back a byte, as long as there is one to give.
    Less { op: u32, least: usize, at: usize },
    /// Take a byte more, as long as it belongs.
    More { op: u32, at: usize, most: usize },
    /// A register had this before.
    Register { register: u32, before: usize },
}

/// The first match from `from` on.
pub(crate) fn find(program: &Program, bytes: &[u8], from: usize, start: Start, steps: &mut u64) -> Found {
    let mut machine = Machine { program, bytes, registers: Vec::new(), ways: Vec::new() };
    let mut at = from;
    while at <= bytes.len() {
        if start == Start::Any
            && let Some(first) = &program.first
        {
            let rest = bytes.get(at..).unwrap_or_default();
            let skipped = rest.iter().position(|byte| first.has(*byte));
            *steps = steps.saturating_sub((skipped.unwrap_or(rest.len()) / 4) as u64);
            match skipped {
                Some(skipped) => at += skipped,
                None => return Found::Nowhere,
            }
        }
        match machine.run(at, steps) {
            Ran::Found(end) => return Found::At(at, end),
            Ran::Failed => {}
            Ran::Spent => return Found::Spent,
        }
        if start == Start::First || program.at_start {
            break;
        }
        at += 1;
    }
    Found::Nowhere
}

enum Ran {
    Found(usize),
    Failed,
    Spent,
}

struct Machine<'a> {
    program: &'a Program,
    bytes: &'a [u8],
    registers: Vec<usize>,
    ways: Vec<Back>,
}

/// What an instruction came to.
enum Step {
    /// On with that instruction, at that byte.
    On(u32, usize),
    Fail,
    Found(usize),
}

impl Machine<'_> {
    fn run(&mut self, start: usize, steps: &mut u64) -> Ran {
        self.registers.clear();
        self.registers.resize(self.program.registers, UNSET);
        self.ways.clear();
        let (mut op, mut at) = (0_u32, start);
        loop {
            if *steps == 0 || self.ways.len() > WAYS_MAX {
                *steps = 0;
                return Ran::Spent;
            }
            *steps -= 1;
            match self.step(op, at) {
                Step::On(next, place) => (op, at) = (next, place),
                Step::Found(end) => return Ran::Found(end),
                Step::Fail => match self.back() {
                    Some((next, place)) => (op, at) = (next, place),
                    None => return Ran::Failed,
                },
            }
        }
    }

    /// The last way back.
    fn back(&mut self) -> Option<(u32, usize)> {
        loop {
            match self.ways.pop()? {
                Back::To { op, at } => return Some((op, at)),
                Back::Less { op, least, at } => {
                    if at > least + 1 {
                        self.ways.push(Back::Less { op, least, at: at - 1 });
                    }
                    return Some((op, at - 1));
                }
                Back::More { op, at, most } => {
                    let Some(Op::Run { set, .. }) = self.program.ops.get(op as usize) else { continue };
                    if at < most && self.bytes.get(at).is_some_and(|byte| set.has(*byte)) {
                        self.ways.push(Back::More { op, at: at + 1, most });
                        return Some((op + 1, at + 1));
                    }
                }
                Back::Register { register, before } => self.registers[register as usize] = before,
            }
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
            Op::Place(place) => on(holds(*place, self.bytes, at), at),
            Op::Split(first, second) => {
                self.ways.push(Back::To { op: *second, at });
                Step::On(*first, at)
            }
            Op::Jump(to) => Step::On(*to, at),
            Op::Save(register) => {
                self.set(*register, at);
                on(true, at)
            }
            Op::Back(group, letters) => match self.again(*group, *letters, at) {
                Some(end) => on(true, end),
                None => Step::Fail,
            },
            Op::Run { set, min, max, taste } => self.take(op, at, set, (*min, *max), *taste),
            Op::Clear(counter) => {
                self.set(*counter, 0);
                on(true, at)
            }
            Op::Round { counter, min, max, taste, again } => {
                self.round(op, at, (*counter, *again), (*min, *max), *taste)
            }
            Op::Fence(register) => {
                let ways = self.ways.len();
                self.set(*register, ways);
                on(true, at)
            }
            Op::Commit(register) => {
                self.commit(*register);
                on(true, at)
            }
            Op::Refuse(register) => {
                self.commit(*register);
                Step::Fail
            }
            Op::Return(register) => on(true, self.registers[*register as usize]),
            Op::StepBack(bytes) => match at.checked_sub(*bytes as usize) {
                Some(at) => on(true, at),
                None => Step::Fail,
            },
            Op::Unless(group, other) => match self.registers[*group as usize * 2 + 1] {
                UNSET => Step::On(*other, at),
                _ => on(true, at),
            },
            Op::Found => Step::Found(at),
        }
    }

    /// Forgets ways back, but not what registers had before: that must be undone all the same.
    fn commit(&mut self, fence: u32) {
        let height = self.registers[fence as usize].min(self.ways.len());
        let mut kept = height;
        for at in height..self.ways.len() {
            if matches!(self.ways[at], Back::Register { .. }) {
                self.ways.swap(kept, at);
                kept += 1;
            }
        }
        self.ways.truncate(kept);
    }

    fn again(&self, group: u32, letters: Letters, at: usize) -> Option<usize> {
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
        if rounds < min as usize && began != at {
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

fn holds(place: Place, bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
    let behind = bytes.get(at).copied();
    match place {
        Place::Start => at == 0,
        Place::End => behind.is_none(),
        Place::EndOrLastLine => behind.is_none() || (behind == Some(b'\n') && at + 1 == bytes.len()),
        Place::LineStart => before.is_none() || (before == Some(b'\n') && behind.is_some()),
        Place::LineEnd => matches!(behind, None | Some(b'\n')),
        Place::WordEdge => before.is_some_and(word) != behind.is_some_and(word),
        Place::NotWordEdge => before.is_some_and(word) == behind.is_some_and(word),
    }
}
