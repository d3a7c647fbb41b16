//! In which lists of rules' heads an address or a port is: [`Ends`]. Rule: one search tells of all lists, however many there are.

use crate::ruleset::header::Header;
use crate::ruleset::network::{Addresses, Ports};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// What all places where a list begins or ends may come to, each with the lists that go on there. Where it is more, lists are not told apart.
const MEMBERS_MAX: usize = 1 << 22;
/// What is said of a set of addresses of version 6: its number is not that of one of version 4.
const VERSION_6: u32 = 1 << 31;

/// A list, by its number.
pub(crate) type List = u32;

/// Lists of numbers, by where the lists change that a number is in.
#[derive(Debug)]
struct Lists<T> {
    starts: Box<[T]>,
    /// From there on: in which set of lists it is.
    sets: Box<[u32]>,
    members: Box<[Box<[List]>]>,
}

impl<T: Copy + Ord + TryFrom<u128>> Lists<T> {
    fn new<'r>(lists: impl Iterator<Item = &'r [(u128, u128)]>) -> Option<Self> {
        let mut changes: Vec<(u128, List)> = vec![];
        for (ranges, list) in lists.zip(0..) {
            let ends = ranges.iter().flat_map(|(first, last)| [Some(*first), last.checked_add(1)]);
            changes.extend(ends.flatten().map(|at| (at, list)));
        }
        changes.sort_unstable();
        let (mut within, mut known, mut members) = (BTreeSet::new(), HashMap::new(), 0);
        let mut set_of = |within: &BTreeSet<List>| {
            let next = known.len() as u32;
            *known.entry(within.iter().copied().collect::<Box<[List]>>()).or_insert(next)
        };
        let (mut starts, mut sets) = (vec![T::try_from(0).ok()?], vec![set_of(&within)]);
        for same in changes.chunk_by(|one, other| one.0 == other.0) {
            // What is behind the last number is no place.
            let Some(start) = same.first().and_then(|(at, _)| T::try_from(*at).ok()) else { break };
            for (_, list) in same {
                if !within.remove(list) {
                    within.insert(*list);
                }
            }
            members += within.len() + 1;
            if members > MEMBERS_MAX {
                return None;
            }
            if starts.last() == Some(&start) {
                sets.pop();
                starts.pop();
            }
            starts.push(start);
            sets.push(set_of(&within));
        }
        let mut by_number = vec![Box::default(); known.len()];
        known.into_iter().for_each(|(lists, set)| by_number[set as usize] = lists);
        Some(Self { starts: starts.into(), sets: sets.into(), members: by_number.into() })
    }

    fn set_of(&self, number: T) -> u32 {
        let behind = self.starts.partition_point(|start| *start <= number);
        self.sets[behind.saturating_sub(1)]
    }

    fn members(&self, set: u32) -> &[List] {
        &self.members[set as usize]
    }
}

/// Lists of addresses and of ports, those of each kind numbered from 0.
#[derive(Debug)]
pub(crate) struct Ends {
    v4: Lists<u32>,
    v6: Lists<u128>,
    ports: Lists<u16>,
}

/// Lists while they are gathered, each once.
#[derive(Default)]
pub(crate) struct EndsBuilder {
    addresses: Vec<Arc<Addresses>>,
    ports: Vec<Arc<Ports>>,
    known_addresses: HashMap<Arc<Addresses>, List>,
    known_ports: HashMap<Arc<Ports>, List>,
}

impl EndsBuilder {
    /// The number of a list of addresses.
    pub fn addresses(&mut self, list: &Arc<Addresses>) -> List {
        let next = self.addresses.len() as List;
        *self.known_addresses.entry(Arc::clone(list)).or_insert_with(|| {
            self.addresses.push(Arc::clone(list));
            next
        })
    }

    /// The number of a list of ports.
    pub fn ports(&mut self, list: &Arc<Ports>) -> List {
        let next = self.ports.len() as List;
        *self.known_ports.entry(Arc::clone(list)).or_insert_with(|| {
            self.ports.push(Arc::clone(list));
            next
        })
    }

    /// All lists of a head.
    pub fn add(&mut self, header: &Header) {
        self.addresses(&header.source);
        self.addresses(&header.destination);
        self.ports(&header.source_ports);
        self.ports(&header.destination_ports);
    }

    /// No more; `None` where they change too often to be told apart at once.
    pub fn finish(self) -> Option<Ends> {
        Some(Ends {
            v4: Lists::new(self.addresses.iter().map(|list| list.v4()))?,
            v6: Lists::new(self.addresses.iter().map(|list| list.v6()))?,
            ports: Lists::new(self.ports.iter().map(|list| list.ranges()))?,
        })
    }
}

impl Ends {
    /// What tells an end from others as far as lists go: two with the same are in the same lists.
    pub fn sets_of(&self, end: SocketAddr) -> [u32; 2] {
        // A list counts for an address of version 4 that came mapped into one of version 6.
        let address = match end.ip().to_canonical() {
            IpAddr::V4(address) => self.v4.set_of(address.to_bits()),
            IpAddr::V6(address) => self.v6.set_of(address.to_bits()) | VERSION_6,
        };
        [address, self.ports.set_of(end.port())]
    }

    /// The lists that an end is in: of addresses, and of ports.
    pub fn lists_of(&self, end: SocketAddr) -> [&[List]; 2] {
        let [address, port] = self.sets_of(end);
        let addresses = match address & VERSION_6 {
            0 => self.v4.members(address),
            _ => self.v6.members(address & !VERSION_6),
        };
        [addresses, self.ports.members(port)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::network::Variables;

    #[test]
    fn as_each_list_says_by_itself() {
        let variables = Variables::default();
        let addresses: Vec<_> = [
            "any",
            "$HOME_NET",
            "$EXTERNAL_NET",
            "10.0.0.0/9",
            "[1.2.3.4,10.1.0.0/16,2001:db8::/32]",
            "!10.1.2.3",
        ]
        .map(|text| variables.addresses(text).unwrap())
        .into();
        let ports: Vec<_> = ["any", "80", "!80", "1024:", "[1:79,81:65535]", "65535"]
            .map(|text| variables.ports(text).unwrap())
            .into();
        let mut builder = EndsBuilder::default();
        let numbers: Vec<List> = addresses.iter().map(|list| builder.addresses(list)).collect();
        assert_eq!(builder.addresses(&addresses[2]), numbers[2], "each is there once");
        let port_numbers: Vec<List> = ports.iter().map(|list| builder.ports(list)).collect();
        let ends = builder.finish().unwrap();
        for address in [
            "0.0.0.0",
            "1.2.3.4",
            "1.2.3.5",
            "10.1.2.3",
            "10.127.255.255",
            "10.128.0.0",
            "255.255.255.255",
            "::1",
        ]
        .into_iter()
        .chain([
            "::ffff:10.1.2.3",
            "2001:db8::",
            "2001:db9::",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ]) {
            for port in [0, 79, 80, 81, 1023, 1024, 65535] {
                let end = SocketAddr::new(address.parse().unwrap(), port);
                let [in_addresses, in_ports] = ends.lists_of(end);
                for (list, number) in addresses.iter().zip(&numbers) {
                    assert_eq!(in_addresses.contains(number), list.contains(end.ip()), "{end} {list:?}");
                }
                for (list, number) in ports.iter().zip(&port_numbers) {
                    assert_eq!(in_ports.contains(number), list.contains(port), "{end} {list:?}");
                }
            }
        }
    }
}
