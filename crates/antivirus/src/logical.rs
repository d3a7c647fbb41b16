//! Compiled logical expressions. Rule: equal expressions are kept once; evaluation needs no heap and no recursion.

use crate::ruleset::expression::{Comparison, Expression, Op, STACK_MAX, SUBSIGNATURES_MAX};
use std::collections::HashMap;

/// When an expression that holds is sure to go on holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decide {
    /// At once: more matches cannot undo it.
    AtOnce,
    /// When the file has ended.
    AtEnd,
}

/// An expression ready for evaluation.
#[derive(Debug)]
pub(crate) struct Program {
    first_op: u32,
    ops: u32,
    /// If not 0: the expression asks for just these subsignatures.
    all_of: u64,
    /// Counting beyond this changes nothing; 0: whether a subsignature has matched is all that matters.
    pub count_max: u32,
    pub decide: Decide,
}

/// All expressions of a database.
#[derive(Default)]
pub(crate) struct Programs {
    ops: Vec<Op>,
    programs: Vec<Program>,
}

/// What a part of an expression comes to.
#[derive(Clone, Copy)]
struct Value {
    holds: bool,
    count: u64,
    /// Which subsignatures have matched.
    distinct: u64,
}

impl Value {
    const NO: Self = Self { holds: false, count: 0, distinct: 0 };
}

impl Programs {
    pub fn get(&self, index: u32) -> &Program {
        &self.programs[index as usize]
    }

    /// Whether the expression holds, given which subsignatures have matched and how often each has.
    pub fn holds(&self, program: &Program, matched: u64, count: &dyn Fn(u8) -> u32) -> bool {
        if program.all_of != 0 {
            return matched & program.all_of == program.all_of;
        }
        let ops = &self.ops[program.first_op as usize..(program.first_op + program.ops) as usize];
        evaluate(ops, matched, count)
    }
}

/// Collects programs; equal expressions get the same index.
#[derive(Default)]
pub(crate) struct ProgramsBuilder {
    programs: Programs,
    known: HashMap<Expression, u32>,
}

impl ProgramsBuilder {
    pub fn add(&mut self, expression: Expression) -> u32 {
        if let Some(known) = self.known.get(&expression) {
            return *known;
        }
        let ops = &expression.ops;
        let index = self.programs.programs.len() as u32;
        let plain = ops.iter().all(|op| matches!(op, Op::Sub(_) | Op::All));
        let all_of = ops.iter().fold(0, |mask, op| match op {
            Op::Sub(id) if plain => mask | 1 << id,
            _ => mask,
        });
        self.programs.programs.push(Program {
            first_op: self.programs.ops.len() as u32,
            ops: ops.len() as u32,
            all_of,
            count_max: count_max(&expression),
            decide: if ops.iter().all(|op| is_monotone(*op)) { Decide::AtOnce } else { Decide::AtEnd },
        });
        self.programs.ops.extend_from_slice(ops);
        self.known.insert(expression, index);
        index
    }

    pub fn finish(mut self) -> Programs {
        self.programs.ops.shrink_to_fit();
        self.programs.programs.shrink_to_fit();
        self.programs
    }
}

/// Counting beyond this changes nothing; 0: nothing is counted.
pub(crate) fn count_max(expression: &Expression) -> u32 {
    expression.ops.iter().map(|op| bound(*op)).max().unwrap_or(0)
}

/// One more than what a count is compared to: from there on, all counts compare alike.
fn bound(op: Op) -> u32 {
    match op {
        Op::Counted(_, _, bound) | Op::Compare(_, _, bound) => bound.saturating_add(1),
        Op::Sub(_) | Op::All | Op::Any => 0,
    }
}

fn is_monotone(op: Op) -> bool {
    match op {
        Op::Counted(_, comparison, _) | Op::Compare(comparison, ..) => comparison == Comparison::More,
        Op::Sub(_) | Op::All | Op::Any => true,
    }
}

fn evaluate(ops: &[Op], matched: u64, count: &dyn Fn(u8) -> u32) -> bool {
    let mut stack = [Value::NO; STACK_MAX];
    let mut top = 0_usize;
    for op in ops {
        match *op {
            Op::Sub(id) => {
                let distinct = matched & 1 << id;
                let value = if distinct == 0 {
                    Value::NO
                } else {
                    Value { holds: true, count: u64::from(count(id)), distinct }
                };
                stack[top] = value;
                top += 1;
            }
            Op::Counted(id, comparison, bound) => {
                let distinct = matched & 1 << id;
                let count = if distinct == 0 { 0 } else { u64::from(count(id)) };
                let holds = comparison.holds(count, bound);
                // As ClamAV has it, a subsignature that holds for its absence counts as one of those that matched.
                stack[top] = if holds { Value { holds, count, distinct: 1 << id } } else { Value::NO };
                top += 1;
            }
            Op::All | Op::Any => {
                top -= 1;
                let (left, right) = (stack[top - 1], stack[top]);
                let holds =
                    if *op == Op::All { left.holds && right.holds } else { left.holds || right.holds };
                let joined = Value {
                    holds,
                    count: left.count + right.count,
                    distinct: left.distinct | right.distinct,
                };
                stack[top - 1] = if holds { joined } else { Value::NO };
            }
            Op::Compare(comparison, distinct_min, bound) => {
                let value = stack[top - 1];
                let holds = comparison.holds(value.count, bound)
                    && value.distinct.count_ones() >= u32::from(distinct_min);
                stack[top - 1] = if holds { Value { holds, distinct: 0, ..value } } else { Value::NO };
            }
        }
    }
    top == 1 && stack[0].holds
}

lockgate_stored::stored!(enum Decide { 0 => AtOnce, 1 => AtEnd });
lockgate_stored::stored!(struct Program { first_op, ops, all_of, count_max, decide });
lockgate_stored::stored!(struct Programs { ops, programs }, sound);

impl Programs {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.programs.len()
    }

    /// Whether each has its instructions, and these find on the stack what they ask for.
    fn is_sound(&self) -> bool {
        self.programs.iter().all(|program| {
            let end = program.first_op.checked_add(program.ops);
            let ops = end.and_then(|end| self.ops.get(program.first_op as usize..end as usize));
            ops.is_some_and(has_stack)
        })
    }
}

/// Whether evaluation never asks for more values than there are, nor makes more than there is room for.
fn has_stack(ops: &[Op]) -> bool {
    let after = ops.iter().try_fold(0_usize, |height, op| {
        let next = match op {
            Op::Sub(id) | Op::Counted(id, ..) => (usize::from(*id) < SUBSIGNATURES_MAX).then_some(height + 1),
            Op::All | Op::Any => height.checked_sub(1).filter(|height| *height > 0),
            Op::Compare(..) => (height > 0).then_some(height),
        };
        next.filter(|height| *height <= STACK_MAX)
    });
    after.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::expression;

    #[test]
    fn as_the_manual_says() {
        // Expression, counts of the subsignatures, whether it holds.
        let cases: [(&str, &[u32], bool); 24] = [
            ("0&1", &[1, 1], true),
            ("0&1", &[1, 0], false),
            ("(0&1&2&3)&(4|1)", &[1, 1, 1, 1, 0], true),
            ("(0|1|2)=2&3", &[1, 1, 0, 1], true),
            ("((0|1|2)>5,2)&(3|1)", &[5, 1, 0, 0], true),
            ("((0|1|2)>5,2)&(3|1)", &[6, 0, 0, 1], false),
            ("((0|1|2)>5,2)&(3|1)", &[3, 1, 1, 1], false),
            ("((0|1|2|3)=2)&(4|1)", &[0, 2, 0, 0, 0], true),
            ("((0|1|2|3)=2)&(4|1)", &[0, 3, 0, 0, 0], false),
            ("0=0", &[0], true),
            ("0=0", &[1], false),
            ("0&1=0", &[1, 0], true),
            ("0&1=0", &[1, 1], false),
            ("(0|1)=0", &[0, 0], true),
            ("(0|1)=0", &[0, 1], false),
            ("0>2", &[3], true),
            ("0>2", &[2], false),
            ("0<2", &[1], true),
            ("0<2", &[2], false),
            ("0&1|2", &[1, 0, 1], true),
            ("0&1|2", &[0, 0, 1], false),
            ("0|1&2", &[1, 0, 0], true),
            ("(0&1)>1&2", &[1, 1, 1], true),
            ("(0&1)>2", &[1, 1], false),
        ];
        let mut builder = ProgramsBuilder::default();
        let indexes: Vec<u32> =
            cases.iter().map(|(text, _, _)| builder.add(expression::parse(text).expect(text))).collect();
        let programs = builder.finish();
        for ((text, counts, want), index) in cases.iter().zip(indexes) {
            let matched = counts.iter().zip(0..).fold(0, |mask, (n, id)| mask | u64::from(*n > 0) << id);
            let program = programs.get(index);
            let got = programs.holds(program, matched, &|id| counts[usize::from(id)]);
            assert_eq!(got, *want, "{text} {counts:?}");
        }
    }

    #[test]
    fn what_more_matches_cannot_undo_is_decided_at_once() {
        let cases = [
            ("0&(1|2)", Decide::AtOnce, 0),
            ("(0|1)>3,2", Decide::AtOnce, 4),
            ("0&1=0", Decide::AtEnd, 1),
            ("0<5", Decide::AtEnd, 6),
        ];
        for (text, decide, count_max) in cases {
            let mut builder = ProgramsBuilder::default();
            let first = builder.add(expression::parse(text).unwrap());
            assert_eq!(builder.add(expression::parse(text).unwrap()), first);
            let programs = builder.finish();
            assert_eq!(
                (programs.get(first).decide, programs.get(first).count_max),
                (decide, count_max),
                "{text}"
            );
        }
    }
}
