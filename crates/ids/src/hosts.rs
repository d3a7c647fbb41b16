//! What rules note of hosts and pairs of hosts, over all flows: [`Hosts`]. Rule: each bit has its end, and the table a bound.

use crate::memory::Name;
use crate::ruleset::bits::Track;
use crate::thresholds::Pair;
use std::collections::HashMap;
use std::net::IpAddr;

/// How many bits there are at most.
const BITS_MAX: usize = 65_536;

/// Whose bit it is: one address, or two in their order.
type Whose = (IpAddr, Option<IpAddr>);

/// Bits of hosts, each with the second at which it ends.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    bits: HashMap<(Name, Whose), u64>,
}

fn whose(track: Track, pair: Pair) -> Whose {
    let (source, destination) = (pair.source, pair.destination);
    match track {
        Track::Destination => (destination, None),
        Track::Pair => (source.min(destination), Some(source.max(destination))),
        Track::Source | Track::Flow | Track::Transaction => (source, None),
    }
}

impl Hosts {
    pub fn is_set(&self, bit: Name, track: Track, pair: Pair, now: u64) -> bool {
        self.bits.get(&(bit, whose(track, pair))).is_some_and(|until| *until > now)
    }

    pub fn set(&mut self, bit: Name, track: Track, pair: Pair, until: u64) {
        if self.bits.len() >= BITS_MAX {
            self.make_room();
        }
        self.bits.insert((bit, whose(track, pair)), until);
    }

    pub fn unset(&mut self, bit: Name, track: Track, pair: Pair) {
        self.bits.remove(&(bit, whose(track, pair)));
    }

    /// Half of the bits go, those that would end first.
    fn make_room(&mut self) {
        let mut ends: Vec<u64> = self.bits.values().copied().collect();
        let middle = ends.len() / 2;
        let (_, middle, _) = ends.select_nth_unstable(middle);
        let (middle, mut left) = (*middle, BITS_MAX / 2);
        self.bits.retain(|_, until| {
            let stays = *until >= middle && left > 0;
            left -= usize::from(stays);
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_end_and_are_bounded() {
        let address = |last: u32| IpAddr::V4((0x0a00_0000 + last).into());
        let pair = |from, to| Pair { source: address(from), destination: address(to), flow: 1 };
        let mut hosts = Hosts::default();
        hosts.set(1, Track::Source, pair(1, 2), 10);
        assert!(hosts.is_set(1, Track::Source, pair(1, 3), 9));
        assert!(hosts.is_set(1, Track::Destination, pair(3, 1), 9), "an address has one bit of a name");
        assert!(!hosts.is_set(1, Track::Source, pair(1, 3), 10));
        hosts.set(2, Track::Pair, pair(1, 2), 10);
        assert!(
            hosts.is_set(2, Track::Pair, pair(2, 1), 0) && !hosts.is_set(2, Track::Source, pair(1, 2), 0)
        );
        hosts.unset(2, Track::Pair, pair(2, 1));
        assert!(!hosts.is_set(2, Track::Pair, pair(1, 2), 0));
        for last in 0..BITS_MAX as u32 + 10 {
            hosts.set(3, Track::Source, pair(last, 0), u64::from(last));
            assert!(hosts.bits.len() <= BITS_MAX);
        }
        assert!(hosts.is_set(3, Track::Source, pair(BITS_MAX as u32, 0), 0));
    }
}
