//! How often rules say what they find, over all flows: [`Thresholds`]. Rule: the table has a bound; when it is full, what is
//! oldest goes, and what is not counted is told.

use crate::ruleset::threshold::{Counting, Threshold, ThresholdKind};
use crate::tuning::RateFilter;
use std::collections::HashMap;
use std::net::IpAddr;

/// How many counters there are at most.
const COUNTERS_MAX: usize = 65_536;

/// Marks the number of a rule whose rate is counted.
const RATE: u32 = 1 << 31;

/// What is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    rule: u32,
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    flow: u64,
}

impl Key {
    fn of(rule: u32, threshold: &Threshold, between: Pair) -> Self {
        let source =
            matches!(threshold.counting, Counting::Source | Counting::Pair).then_some(between.source);
        let destination = matches!(threshold.counting, Counting::Destination | Counting::Pair)
            .then_some(between.destination);
        let flow = if threshold.counting == Counting::Flow { between.flow } else { 0 };
        // Of a pair it does not matter who sends.
        let is_swapped = threshold.counting == Counting::Pair && source > destination;
        let (source, destination) = if is_swapped { (destination, source) } else { (source, destination) };
        Self { rule, source, destination, flow }
    }
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    since: u64,
    count: u32,
    /// At which count the next one is told (`backoff`).
    next: u32,
}

/// What becomes of one more match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The rule has not matched as often as it must: nothing follows.
    TooFew,
    Told,
    /// It has been told often enough; what it wants is done all the same.
    Silenced,
}

/// Who is between whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub flow: u64,
}

/// The counters of all rules.
#[derive(Debug, Default)]
pub(crate) struct Thresholds {
    counters: HashMap<Key, Counter>,
}

impl Thresholds {
    /// The rule has matched once more, at that second.
    pub fn admit(&mut self, rule: u32, threshold: &Threshold, between: Pair, now: u64) -> Admission {
        let key = Key::of(rule, threshold, between);
        if self.counters.len() >= COUNTERS_MAX && !self.counters.contains_key(&key) {
            self.make_room();
        }
        let fresh = Counter { since: now, count: 0, next: threshold.count };
        let counter = self.counters.entry(key).or_insert(fresh);
        let is_over =
            threshold.seconds > 0 && now.saturating_sub(counter.since) >= u64::from(threshold.seconds);
        if is_over {
            *counter = fresh;
        }
        counter.count = counter.count.saturating_add(1);
        let told_or = |is_told, otherwise| if is_told { Admission::Told } else { otherwise };
        match threshold.kind {
            ThresholdKind::Limit => told_or(counter.count <= threshold.count, Admission::Silenced),
            ThresholdKind::Both if counter.count > threshold.count => Admission::Silenced,
            ThresholdKind::Both => told_or(counter.count == threshold.count, Admission::TooFew),
            ThresholdKind::Filter => told_or(counter.count > threshold.count, Admission::TooFew),
            ThresholdKind::Threshold => {
                let is_full = counter.count >= threshold.count;
                if is_full {
                    counter.count = 0;
                }
                told_or(is_full, Admission::TooFew)
            }
            ThresholdKind::Backoff { multiplier } => {
                let is_next = counter.count == counter.next;
                if is_next {
                    counter.next = counter.next.saturating_mul(multiplier.max(2));
                }
                told_or(is_next, Admission::Silenced)
            }
        }
    }

    /// The rule has matched once more: whether it has done so too often of late.
    pub fn exceeds(&mut self, rule: u32, rate: &RateFilter, between: Pair, now: u64) -> bool {
        let RateFilter { counting, count, seconds, timeout, .. } = *rate;
        let threshold = Threshold { kind: ThresholdKind::Filter, counting, count, seconds };
        // Counted apart from how often the rule is told.
        let is_over = self.admit(rule | RATE, &threshold, between, now) == Admission::Told;
        let key = Key::of(rule | RATE, &threshold, between);
        if is_over
            && let Some(counter) = self.counters.get_mut(&key)
            && counter.count == count.saturating_add(1)
        {
            // For so long it stays so.
            counter.since = (now + u64::from(timeout)).saturating_sub(u64::from(seconds));
        }
        is_over
    }

    /// Half of the counters go, the oldest.
    fn make_room(&mut self) {
        let mut begun: Vec<u64> = self.counters.values().map(|counter| counter.since).collect();
        let middle = begun.len() / 2;
        let (_, middle, _) = begun.select_nth_unstable(middle);
        let middle = *middle;
        let mut left = COUNTERS_MAX / 2;
        self.counters.retain(|_, counter| {
            let stays = counter.since >= middle && left > 0;
            left -= usize::from(stays);
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a match at each of these seconds: told (T), silenced (s), or too few (-).
    fn becomes(kind: ThresholdKind, count: u32, times: &[u64]) -> String {
        let threshold = Threshold { kind, counting: Counting::Source, count, seconds: 60 };
        let address = IpAddr::from([10, 0, 0, 1]);
        let pair = Pair { source: address, destination: address, flow: 1 };
        let mut thresholds = Thresholds::default();
        let letter = |now: &u64| match thresholds.admit(1, &threshold, pair, *now) {
            Admission::Told => 'T',
            Admission::Silenced => 's',
            Admission::TooFew => '-',
        };
        times.iter().map(letter).collect()
    }

    #[test]
    fn each_kind_counts_in_its_way() {
        let times = [0, 1, 2, 3, 60, 61];
        assert_eq!(becomes(ThresholdKind::Limit, 1, &times), "TsssTs");
        assert_eq!(becomes(ThresholdKind::Threshold, 2, &times), "-T-T-T");
        assert_eq!(becomes(ThresholdKind::Both, 2, &times), "-Tss-T");
        assert_eq!(becomes(ThresholdKind::Filter, 2, &times), "--TT--");
        let backoff = ThresholdKind::Backoff { multiplier: 2 };
        assert_eq!(becomes(backoff, 1, &[0, 1, 2, 3, 4]), "TTsTs");
    }

    #[test]
    fn the_table_has_a_bound() {
        let threshold =
            Threshold { kind: ThresholdKind::Limit, counting: Counting::Source, count: 1, seconds: 60 };
        let mut thresholds = Thresholds::default();
        for host in 0..COUNTERS_MAX as u32 * 2 {
            let source = IpAddr::from(host.to_be_bytes());
            let pair = Pair { source, destination: source, flow: 0 };
            assert_eq!(thresholds.admit(1, &threshold, pair, host.into()), Admission::Told);
            assert!(thresholds.counters.len() <= COUNTERS_MAX);
        }
    }
}
