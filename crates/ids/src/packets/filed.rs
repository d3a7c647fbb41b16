//! Rules by whom they are about: [`Filed`], so that not each is asked of each packet. Rule: of two ends all rules are given that may be about
//! them; whether they are, the rule itself says.

use crate::ends::{Ends, EndsBuilder, List};
use crate::ruleset::header::{Header, Way};
use std::collections::HashMap;
use std::net::SocketAddr;

/// In which of a head's four lists an end is looked for: addresses of source and destination, ports of source and destination.
const PLACES: usize = 4;

/// Rules while they are gathered, with their heads.
#[derive(Default)]
pub(crate) struct FiledBuilder {
    rules: Vec<(u32, Header)>,
}

/// Rules by the one of their lists that says most.
#[derive(Default)]
pub(crate) struct Filed {
    all: Box<[u32]>,
    by_list: [HashMap<List, Vec<u32>>; PLACES],
    /// Those that are about everybody.
    others: Vec<u32>,
}

impl FiledBuilder {
    /// One more rule.
    pub fn add(&mut self, rule: u32, header: &Header) {
        self.rules.push((rule, header.clone()));
    }

    /// No more; their lists are told apart by `ends`.
    pub fn finish(self, ends: &mut EndsBuilder) -> Filed {
        let mut filed = Filed { all: self.rules.iter().map(|(rule, _)| *rule).collect(), ..Filed::default() };
        for (rule, header) in &self.rules {
            let shares = [
                share(header.source.v4(), u32::MAX.into()),
                share(header.destination.v4(), u32::MAX.into()),
                share(header.source_ports.ranges(), u16::MAX.into()),
                share(header.destination_ports.ranges(), u16::MAX.into()),
            ];
            let least = (0..PLACES).min_by(|one, other| shares[*one].total_cmp(&shares[*other])).unwrap_or(0);
            if shares[least] >= 1.0 {
                filed.others.push(*rule);
                continue;
            }
            let list = match least {
                0 => ends.addresses(&header.source),
                1 => ends.addresses(&header.destination),
                2 => ends.ports(&header.source_ports),
                _ => ends.ports(&header.destination_ports),
            };
            let mut file = |place: usize| filed.by_list[place].entry(list).or_default().push(*rule);
            file(least);
            if header.way == Way::Both {
                // The other end may be where this one was expected.
                file(least ^ 1);
            }
        }
        filed
    }
}

/// How much of all numbers up to `last` a list has.
fn share(ranges: &[(u128, u128)], last: u128) -> f64 {
    let numbers: f64 = ranges.iter().map(|(first, last)| (last - first) as f64 + 1.0).sum();
    numbers / (last as f64 + 1.0)
}

impl Filed {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The rules that may be about what one end sends to the other, in no order; one may be there twice.
    pub fn about(&self, ends: Option<&Ends>, [from, to]: [Option<SocketAddr>; 2]) -> Vec<u32> {
        let (Some(ends), Some(from), Some(to)) = (ends, from, to) else { return self.all.to_vec() };
        let ([from, from_ports], [to, to_ports]) = (ends.lists_of(from), ends.lists_of(to));
        let mut found = self.others.clone();
        for (by_list, lists) in self.by_list.iter().zip([from, to, from_ports, to_ports]) {
            if !by_list.is_empty() {
                lists.iter().filter_map(|list| by_list.get(list)).for_each(|rules| found.extend(rules));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::network::Variables;
    use crate::ruleset::parse;

    #[test]
    fn no_rule_is_left_out() {
        let heads = [
            "ip any any -> any any",
            "ip [1.2.3.4,5.6.7.8] any -> $HOME_NET any",
            "tcp $EXTERNAL_NET any -> $HOME_NET 22",
            "tcp $HOME_NET 1024: <> 1.2.3.4 80",
            "udp any 53 <> any any",
            "ip 2001:db8::/32 any -> any any",
            "ip ![10.0.0.0/8] any -> any !80",
        ];
        let (mut builder, mut ends) = (FiledBuilder::default(), EndsBuilder::default());
        let rules: Vec<_> = heads
            .iter()
            .map(|head| parse(&format!("alert {head} (sid:1;)"), &Variables::default()).unwrap().header)
            .collect();
        rules.iter().zip(0..).for_each(|(header, rule)| builder.add(rule, header));
        let filed = builder.finish(&mut ends);
        let ends = ends.finish();
        let addresses = ["1.2.3.4", "5.6.7.8", "10.0.0.1", "9.9.9.9", "2001:db8::1"];
        let all = addresses.iter().flat_map(|address| {
            [22, 53, 80, 2000].map(|port| Some(SocketAddr::new(address.parse().unwrap(), port)))
        });
        let all: Vec<Option<SocketAddr>> = all.chain([None]).collect();
        for (from, to) in all.iter().flat_map(|from| all.iter().map(move |to| (*from, *to))) {
            let found = filed.about(ends.as_ref(), [from, to]);
            for (header, rule) in rules.iter().zip(0..) {
                if header.is_between(from, to) {
                    assert!(found.contains(&rule), "{from:?} {to:?} {}", heads[rule as usize]);
                }
            }
        }
        let by_list = filed.about(ends.as_ref(), [all[12], all[13]]);
        assert!(!by_list.contains(&1) && !by_list.contains(&2), "{by_list:?}");
    }
}
