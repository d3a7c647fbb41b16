//! A block: its head, LZMA2, and the filters behind it. Rule: it is as long as it says, packed and unpacked.

use super::index::number;
use crate::codec::filter::{Filter, Filtering};
use crate::codec::lzma::Lzma2;
use crate::codec::{Outcome, Run};
use crate::field::u32_le;
use lockgate_model::{Grant, Pool, Reason};
use std::sync::Arc;

/// The filters' numbers (section 5.3).
const LZMA2: u64 = 0x21;

/// A block on its way.
pub(super) struct Block {
    head_bytes: u64,
    used_said: Option<u64>,
    made_said: Option<u64>,
    used: u64,
    made: u64,
    lzma2: Lzma2,
    /// As they are undone, one behind the other.
    filters: Vec<Filtering>,
    has_ended: bool,
    failed: Option<Reason>,
    _grant: Grant,
}

impl Block {
    /// Of its head (section 3.1).
    pub fn new(pool: &Arc<Pool>, head: &[u8]) -> Result<Self, Reason> {
        let (bytes, sum) = head.split_at(head.len().saturating_sub(4));
        let [_, flags, rest @ ..] = bytes else { return Err(Reason::Damaged) };
        if crc32fast::hash(bytes) != u32_le(sum, 0) {
            return Err(Reason::Damaged);
        }
        if flags & 0x3c != 0 {
            return Err(Reason::Unsupported);
        }
        let (used_said, rest) = number_if(flags & 0x40 != 0, rest)?;
        let (made_said, mut rest) = number_if(flags & 0x80 != 0, rest)?;
        let mut filters = Vec::new();
        for _ in 0..flags & 3 {
            let (id, properties) = filter(&mut rest)?;
            filters.push(Filtering::new(known(id, properties)?));
        }
        filters.reverse();
        let lzma2 = match filter(&mut rest)? {
            (LZMA2, [dictionary]) => Lzma2::new(pool, *dictionary)?,
            (LZMA2, _) => return Err(Reason::Damaged),
            _ => return Err(Reason::Unsupported),
        };
        if rest.iter().any(|b| *b != 0) {
            return Err(Reason::Unsupported);
        }
        let mut grant = pool.grant();
        grant.grow(Filtering::HELD_BYTES * filters.len() as u64)?;
        Ok(Self {
            head_bytes: head.len() as u64,
            used_said,
            made_said,
            used: 0,
            made: 0,
            lzma2,
            filters,
            has_ended: false,
            failed: None,
            _grant: grant,
        })
    }

    /// What it makes.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Its length without padding and check.
    pub fn unpadded(&self) -> u64 {
        self.head_bytes + self.used
    }

    /// How many zeros follow it.
    pub fn padding(&self) -> usize {
        (self.used.wrapping_neg() % 4) as usize
    }

    /// Whether it was as long as its head says.
    pub fn is_as_said(&self) -> bool {
        self.used_said.is_none_or(|said| said == self.used)
            && self.made_said.is_none_or(|said| said == self.made)
    }

    /// Unpacks until the input is used, the output full, or the block at its end.
    pub fn run(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let run = if self.filters.is_empty() {
            self.lzma2.run(input, output)
        } else {
            self.filtered(input, output)
        };
        self.used += run.used as u64;
        self.made += run.made as u64;
        let is_over = |said: Option<u64>, is: u64| said.is_some_and(|said| is > said);
        if is_over(self.used_said, self.used) || is_over(self.made_said, self.made) {
            self.failed = Some(Reason::Damaged);
            return Run { outcome: Outcome::Failed(Reason::Damaged), ..run };
        }
        run
    }

    fn filtered(&mut self, input: &[u8], output: &mut [u8]) -> Run {
        let mut used = 0;
        loop {
            let Some(last) = self.filters.last_mut() else { return run(used, 0, Outcome::Going) };
            let made = last.take(output);
            if made > 0 {
                return run(used, made, Outcome::Going);
            }
            if last.is_finished() {
                return run(used, 0, Outcome::Ended);
            }
            let before = used;
            if !self.pass_on(input, &mut used) && used == before {
                return run(used, 0, self.failed.map_or(Outcome::Going, Outcome::Failed));
            }
        }
    }

    /// Each filter that has given all gets what there is before it; whether anything moved.
    fn pass_on(&mut self, input: &[u8], used: &mut usize) -> bool {
        let mut has_moved = false;
        for k in 0..self.filters.len() {
            let (before, rest) = self.filters.split_at_mut(k);
            let Some(filter) = rest.first_mut() else { break };
            if !filter.is_spent() || filter.is_finished() {
                continue;
            }
            let (count, is_last) = match before.last_mut() {
                Some(before) => (before.take(filter.room()), before.is_finished() && before.is_spent()),
                None if self.has_ended => (0, true),
                None => {
                    let run = self.lzma2.run(&input[*used..], filter.room());
                    *used += run.used;
                    match run.outcome {
                        Outcome::Failed(reason) => self.failed = Some(reason),
                        Outcome::Ended => self.has_ended = true,
                        Outcome::Going => {}
                    }
                    (run.made, self.has_ended)
                }
            };
            filter.filled(count);
            if is_last {
                filter.finish();
            }
            has_moved |= count > 0 || is_last;
        }
        has_moved
    }
}

fn run(used: usize, made: usize, outcome: Outcome) -> Run {
    Run { used, made, outcome }
}

fn number_if(is_there: bool, bytes: &[u8]) -> Result<(Option<u64>, &[u8]), Reason> {
    if !is_there {
        return Ok((None, bytes));
    }
    number(bytes).map(|(value, rest)| (Some(value), rest))
}

/// A filter's number and properties (section 3.1.5).
fn filter<'a>(rest: &mut &'a [u8]) -> Result<(u64, &'a [u8]), Reason> {
    let (id, bytes) = number(rest)?;
    let (length, bytes) = number(bytes)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (properties, bytes) = bytes.split_at_checked(length).ok_or(Reason::Damaged)?;
    *rest = bytes;
    Ok((id, properties))
}

/// A filter that is not the last (sections 5.3.2 and 5.3.3).
fn known(id: u64, properties: &[u8]) -> Result<Filter, Reason> {
    if id == 0x03 {
        return match properties {
            [distance] => Ok(Filter::delta(usize::from(*distance) + 1)),
            _ => Err(Reason::Damaged),
        };
    }
    let start = match properties.len() {
        0 | 4 => u32_le(properties, 0),
        _ => return Err(Reason::Damaged),
    };
    Ok(match id {
        0x04 => Filter::x86(start),
        0x05 => Filter::power_pc(start),
        0x06 => Filter::ia64(start),
        0x07 => Filter::arm(start),
        0x08 => Filter::arm_thumb(start),
        0x09 => Filter::sparc(start),
        0x0a => Filter::arm64(start),
        _ => return Err(Reason::Unsupported),
    })
}
