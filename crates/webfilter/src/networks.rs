//! Ranges of addresses that are listed: [`Networks`]. Rule: found by bisection, however many there are.

use crate::table::ListId;
use std::net::IpAddr;

/// Addresses from one to another, on one line of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub first: IpAddr,
    pub last: IpAddr,
    pub list: ListId,
    pub line: u32,
}

/// All ranges, by where they start.
#[derive(Debug, Default)]
pub(crate) struct Networks {
    ranges: Vec<Listed>,
    /// For each range, how far it and those before it reach: behind that, nothing before it needs to be looked at.
    reach: Vec<IpAddr>,
}

impl Networks {
    pub fn new(mut ranges: Vec<Listed>) -> Self {
        ranges.sort_by_key(|range| (range.first, range.last, range.list, range.line));
        let mut reach: Vec<IpAddr> = Vec::with_capacity(ranges.len());
        for range in &ranges {
            reach.push(reach.last().map_or(range.last, |so_far| range.last.max(*so_far)));
        }
        Self { ranges, reach }
    }

    /// The ranges that hold an address, the last to start first.
    pub fn find(&self, address: IpAddr) -> impl Iterator<Item = &Listed> {
        let end = self.ranges.partition_point(|range| range.first <= address);
        let (ranges, reach) = (&self.ranges[..end], &self.reach[..end]);
        let near = ranges.iter().zip(reach).rev().take_while(move |(_, reach)| **reach >= address);
        near.map(|(range, _)| range).filter(move |range| range.last >= address)
    }

    pub fn heap_bytes(&self) -> usize {
        self.ranges.len() * size_of::<Listed>() + self.reach.len() * size_of::<IpAddr>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_may_overlap() {
        let range = |first: &str, last: &str, line| Listed {
            first: first.parse().unwrap(),
            last: last.parse().unwrap(),
            list: 0,
            line,
        };
        let networks = Networks::new(vec![
            range("10.0.0.0", "10.255.255.255", 1),
            range("10.0.0.5", "10.0.0.5", 2),
            range("10.0.0.9", "10.0.0.20", 3),
            range("2001:db8::", "2001:db8::ffff", 4),
        ]);
        let lines = |address: &str| {
            networks.find(address.parse().unwrap()).map(|range| range.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("10.0.0.5"), [2, 1]);
        assert_eq!(lines("10.0.0.20"), [3, 1]);
        assert_eq!(lines("10.1.0.0"), [1]);
        assert_eq!(lines("11.0.0.0"), [0; 0]);
        assert_eq!(lines("9.255.255.255"), [0; 0]);
        assert_eq!(lines("2001:db8::1"), [4]);
        assert_eq!(lines("2001:db9::"), [0; 0]);
    }
}
