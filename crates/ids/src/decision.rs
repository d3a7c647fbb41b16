//! A rule's last questions, when all holds that it asks of bytes: what is noted of flow and hosts, how often it is told, and what
//! it wants by then: [`Decision`]. Rule: transactions and packets decide alike.

use crate::database::{Compiled, CompiledInteger, CompiledValue, Database};
use crate::flow::locked;
use crate::hosts::Hosts;
use crate::memory::Memory;
use crate::ruleset::bits::{BitAction, Track};
use crate::thresholds::{Admission, Pair};
use lockgate_model::Wish;

/// What becomes of a rule that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// What it asks of flow and hosts does not hold now; it may later.
    NotNow,
    /// It has matched, and not as often as it must: nothing follows.
    TooFew,
    /// It is not told (`noalert`, `suppress`, a limit), and wants this all the same.
    Silent(Wish),
    /// It is told, and wants this.
    Told(Wish),
}

impl Decision {
    /// What a proxy does about it. Rule: what it stops, it says.
    pub fn in_proxy(self) -> Option<Wish> {
        match self {
            Self::Told(wish) | Self::Silent(wish @ (Wish::Stop | Wish::Pass)) => Some(wish),
            Self::Silent(Wish::Tell) | Self::TooFew | Self::NotNow => None,
        }
    }
}

impl Database {
    /// Decides on a rule of which all else holds.
    pub(crate) fn decide(&self, number: u32, memory: &mut Memory, pair: Pair) -> Decision {
        let rule = &self.rules[number as usize];
        if !rule.bits.is_empty() || !rule.integers.is_empty() {
            let now = if rule.notes_hosts { (self.clock)() } else { 0 };
            let hosts = rule.notes_hosts.then(|| locked(&self.hosts));
            let mut noted = Noted { memory, hosts, pair, now };
            if !rule.agrees(&noted) {
                return Decision::NotNow;
            }
            rule.change(&mut noted);
        }
        let mut wish = rule.signature.wish;
        let mut is_told = !rule.is_silent && !rule.tuning.is_suppressed(pair);
        if rule.threshold.is_some() || rule.tuning.rate.is_some() {
            let (now, mut thresholds) = ((self.clock)(), locked(&self.thresholds));
            match rule.threshold.as_ref().map(|its| thresholds.admit(number, its, pair, now)) {
                Some(Admission::TooFew) => return Decision::TooFew,
                Some(Admission::Silenced) => is_told = false,
                Some(Admission::Told) | None => {}
            }
            if let Some(rate) = &rule.tuning.rate
                && thresholds.exceeds(number, rate, pair, now)
            {
                wish = rate.wish;
            }
        }
        if is_told { Decision::Told(wish) } else { Decision::Silent(wish) }
    }
}

/// All that rules note and ask.
struct Noted<'a> {
    memory: &'a mut Memory,
    /// Locked where the rule asks for it.
    hosts: Option<std::sync::MutexGuard<'a, Hosts>>,
    pair: Pair,
    now: u64,
}

impl Noted<'_> {
    fn is_set(&self, track: Track, bit: u32) -> bool {
        match (track, &self.hosts) {
            (Track::Flow | Track::Transaction, _) => self.memory.is_set(bit),
            (track, Some(hosts)) => hosts.is_set(bit, track, self.pair, self.now),
            _ => false,
        }
    }

    fn put(&mut self, track: Track, bit: u32, is_set: bool, expire: u32) {
        match (track, &mut self.hosts) {
            (Track::Flow | Track::Transaction, _) if is_set => self.memory.set(bit),
            (Track::Flow | Track::Transaction, _) => self.memory.unset(bit),
            (track, Some(hosts)) if is_set => hosts.set(bit, track, self.pair, self.now + u64::from(expire)),
            (track, Some(hosts)) => hosts.unset(bit, track, self.pair),
            _ => {}
        }
    }
}

impl Compiled {
    /// Whether what the rule asks of bits and numbers holds.
    fn agrees(&self, noted: &Noted<'_>) -> bool {
        let bits = self.bits.iter().all(|bit| {
            let is_one_set = || bit.names.iter().any(|name| noted.is_set(bit.track, *name));
            match bit.action {
                BitAction::IsSet => is_one_set(),
                BitAction::IsNotSet => !is_one_set(),
                _ => true,
            }
        });
        let memory = &*noted.memory;
        bits && self.integers.iter().all(|(name, integer)| match integer {
            CompiledInteger::IsSet => memory.integer(*name).is_some(),
            CompiledInteger::IsNotSet => memory.integer(*name).is_none(),
            CompiledInteger::Compare(how, with) => {
                let with = value(*with, memory);
                memory.integer(*name).zip(with).is_some_and(|(own, with)| how.holds(own, with))
            }
            _ => true,
        })
    }

    /// What the rule does to them when it matches.
    fn change(&self, noted: &mut Noted<'_>) {
        for bit in &self.bits {
            for name in &bit.names {
                match bit.action {
                    BitAction::Set => noted.put(bit.track, *name, true, bit.expire),
                    BitAction::Unset => noted.put(bit.track, *name, false, 0),
                    BitAction::Toggle => {
                        let is_set = noted.is_set(bit.track, *name);
                        noted.put(bit.track, *name, !is_set, bit.expire);
                    }
                    BitAction::IsSet | BitAction::IsNotSet => {}
                }
            }
        }
        let memory = &mut *noted.memory;
        for (name, integer) in &self.integers {
            let own = memory.integer(*name);
            let new = match integer {
                CompiledInteger::Set(to) => value(*to, memory),
                CompiledInteger::Add(more) => {
                    value(*more, memory).map(|more| own.unwrap_or(0).saturating_add(more))
                }
                CompiledInteger::Subtract(less) => {
                    value(*less, memory).map(|less| own.unwrap_or(0).saturating_sub(less))
                }
                _ => None,
            };
            if let Some(new) = new {
                memory.set_integer(*name, new);
            }
        }
    }
}

fn value(value: CompiledValue, memory: &Memory) -> Option<u32> {
    match value {
        CompiledValue::Number(number) => Some(number),
        CompiledValue::Named(name) => memory.integer(name),
    }
}
