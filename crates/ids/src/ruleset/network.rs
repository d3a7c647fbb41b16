//! Addresses and ports of a rule's head. Rule: what is resolved is a list of ranges; nothing refers to a variable any more.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Lists within lists, and variables within variables.
const DEPTH_MAX: usize = 32;
/// Ranges that a list may come to.
const RANGES_MAX: usize = 100_000;

/// Ranges of numbers, sorted and apart from each other, both ends in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ranges(Vec<(u128, u128)>);

impl Ranges {
    pub fn all(last: u128) -> Self {
        Self(vec![(0, last)])
    }

    pub fn contains(&self, number: u128) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        after.checked_sub(1).is_some_and(|at| self.0[at].1 >= number)
    }

    fn joined(mut ranges: Vec<(u128, u128)>) -> Self {
        ranges.sort_unstable();
        let mut joined: Vec<(u128, u128)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// All up to `last` that is not in these.
    fn inverted(&self, last: u128) -> Self {
        let mut free = Vec::with_capacity(self.0.len() + 1);
        let mut next = Some(0);
        for (first, end) in &self.0 {
            if let Some(next) = next.filter(|next| next < first) {
                free.push((next, first - 1));
            }
            next = end.checked_add(1);
        }
        free.extend(next.filter(|next| *next <= last).map(|next| (next, last)));
        Self(free)
    }

    /// What is in these and not in the others.
    fn without(&self, others: &Self, last: u128) -> Self {
        let outside = others.inverted(last);
        let mut left = Vec::new();
        for (first, end) in &self.0 {
            let from = outside.0.partition_point(|range| range.1 < *first);
            let within = outside.0[from..].iter().take_while(|range| range.0 <= *end);
            left.extend(within.map(|range| (range.0.max(*first), range.1.min(*end))));
        }
        Self(left)
    }
}

/// Addresses of a head.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Addresses {
    v4: Ranges,
    v6: Ranges,
}

const LAST_V4: u128 = u32::MAX as u128;
const LAST_V6: u128 = u128::MAX;
const LAST_PORT: u128 = u16::MAX as u128;

impl Addresses {
    pub fn any() -> Self {
        Self { v4: Ranges::all(LAST_V4), v6: Ranges::all(LAST_V6) }
    }

    /// Ranges of addresses of version 4.
    pub fn v4(&self) -> &[(u128, u128)] {
        &self.v4.0
    }

    /// Ranges of addresses of version 6.
    pub fn v6(&self) -> &[(u128, u128)] {
        &self.v6.0
    }

    /// An IPv4 address that came mapped into IPv6 counts as what it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => self.v4.contains(address.to_bits().into()),
            IpAddr::V6(address) => self.v6.contains(address.to_bits()),
        }
    }
}

/// Ports of a head.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ports(Ranges);

impl Ports {
    pub fn any() -> Self {
        Self(Ranges::all(LAST_PORT))
    }

    pub fn is_any(&self) -> bool {
        *self == Self::any()
    }

    /// Their ranges.
    pub fn ranges(&self) -> &[(u128, u128)] {
        &self.0.0
    }

    pub fn contains(&self, port: u16) -> bool {
        self.0.contains(port.into())
    }
}

/// What `$NAME` stands for in rules: lists as they are written there.
#[derive(Debug)]
pub(crate) struct Variables {
    addresses: HashMap<String, String>,
    ports: HashMap<String, String>,
    /// What has been read: rules by the thousand have the same few lists.
    known_addresses: std::cell::RefCell<HashMap<String, Arc<Addresses>>>,
    known_ports: std::cell::RefCell<HashMap<String, Arc<Ports>>>,
}

/// Variables that published rules expect, with what Suricata's own configuration says of them.
const ADDRESSES: [(&str, &str); 14] = [
    ("HOME_NET", "[192.168.0.0/16,10.0.0.0/8,172.16.0.0/12]"),
    ("EXTERNAL_NET", "!$HOME_NET"),
    ("HTTP_SERVERS", "$HOME_NET"),
    ("SMTP_SERVERS", "$HOME_NET"),
    ("SQL_SERVERS", "$HOME_NET"),
    ("DNS_SERVERS", "$HOME_NET"),
    ("TELNET_SERVERS", "$HOME_NET"),
    ("SSH_SERVERS", "$HOME_NET"),
    ("SIP_SERVERS", "$HOME_NET"),
    ("FTP_SERVERS", "$HOME_NET"),
    ("AIM_SERVERS", "$EXTERNAL_NET"),
    ("DC_SERVERS", "$HOME_NET"),
    ("MODBUS_SERVER", "$HOME_NET"),
    ("MODBUS_CLIENT", "$HOME_NET"),
];
const PORTS: [(&str, &str); 11] = [
    ("HTTP_PORTS", "80"),
    ("SHELLCODE_PORTS", "!80"),
    ("ORACLE_PORTS", "1521"),
    ("SSH_PORTS", "22"),
    ("DNP3_PORTS", "20000"),
    ("MODBUS_PORTS", "502"),
    ("FILE_DATA_PORTS", "[$HTTP_PORTS,110,143]"),
    ("FTP_PORTS", "21"),
    ("SIP_PORTS", "[5060,5061,5600]"),
    ("GENEVE_PORTS", "6081"),
    ("VXLAN_PORTS", "4789"),
];

impl Default for Variables {
    fn default() -> Self {
        let table = |rows: &[(&str, &str)]| {
            rows.iter().map(|(name, list)| ((*name).to_owned(), (*list).to_owned())).collect()
        };
        Self {
            addresses: table(&ADDRESSES),
            ports: table(&PORTS),
            known_addresses: Default::default(),
            known_ports: Default::default(),
        }
    }
}

impl Variables {
    /// Says what a variable stands for, a list as in rules. The same name may be one of addresses and one of ports.
    pub fn set_addresses(&mut self, name: &str, list: &str) -> Result<(), String> {
        let before = self.addresses.insert(name.to_owned(), list.to_owned());
        self.known_addresses.get_mut().clear();
        self.addresses(list).map(drop).inspect_err(|_| restore(&mut self.addresses, name, before))
    }

    /// The same for ports.
    pub fn set_ports(&mut self, name: &str, list: &str) -> Result<(), String> {
        let before = self.ports.insert(name.to_owned(), list.to_owned());
        self.known_ports.get_mut().clear();
        self.ports(list).map(drop).inspect_err(|_| restore(&mut self.ports, name, before))
    }

    pub fn addresses(&self, text: &str) -> Result<Arc<Addresses>, String> {
        if let Some(known) = self.known_addresses.borrow().get(text) {
            return Ok(Arc::clone(known));
        }
        let v4 = Reading { variables: &self.addresses, last: LAST_V4, item: &v4_item };
        let v6 = Reading { variables: &self.addresses, last: LAST_V6, item: &v6_item };
        let read = Addresses { v4: v4.list(text, 0)?.ranges, v6: v6.list(text, 0)?.ranges };
        if read.v4.0.is_empty() && read.v6.0.is_empty() {
            return Err(format!("{text:?} leaves no address"));
        }
        let read = Arc::new(read);
        self.known_addresses.borrow_mut().insert(text.to_owned(), Arc::clone(&read));
        Ok(read)
    }

    pub fn ports(&self, text: &str) -> Result<Arc<Ports>, String> {
        if let Some(known) = self.known_ports.borrow().get(text) {
            return Ok(Arc::clone(known));
        }
        let reading = Reading { variables: &self.ports, last: LAST_PORT, item: &port_item };
        let ranges = reading.list(text, 0)?.ranges;
        if ranges.0.is_empty() {
            return Err(format!("{text:?} leaves no port"));
        }
        let read = Arc::new(Ports(ranges));
        self.known_ports.borrow_mut().insert(text.to_owned(), Arc::clone(&read));
        Ok(read)
    }
}

fn restore(table: &mut HashMap<String, String>, name: &str, before: Option<String>) {
    match before {
        Some(list) => table.insert(name.to_owned(), list),
        None => table.remove(name),
    };
}

/// What an item of a list comes to: `None` for one of the other family of addresses.
type Item = Result<Option<(u128, u128)>, String>;

/// Reads lists of one kind.
struct Reading<'a> {
    variables: &'a HashMap<String, String>,
    last: u128,
    item: &'a dyn Fn(&str) -> Item,
}

/// What a list came to.
struct Read {
    ranges: Ranges,
    /// Whether it names nothing of the kind: then, not naming it says nothing either.
    is_silent: bool,
}

impl Reading<'_> {
    fn list(&self, text: &str, depth: usize) -> Result<Read, String> {
        if depth > DEPTH_MAX {
            return Err(format!(
                "{text:?}: lists or variables stand in each other more than {DEPTH_MAX} deep"
            ));
        }
        let text = text.trim();
        if let Some(rest) = text.strip_prefix('!') {
            let read = self.list(rest, depth + 1)?;
            let ranges =
                if read.is_silent { Ranges::all(self.last) } else { read.ranges.inverted(self.last) };
            return Ok(Read { ranges, is_silent: false });
        }
        if let Some(name) = text.strip_prefix('$') {
            let list = self.variables.get(name);
            let list =
                list.ok_or_else(|| format!("${name} is not set: say what it is in the configuration"))?;
            return self.list(list, depth + 1);
        }
        if let Some(items) = text.strip_prefix('[') {
            let items = items.strip_suffix(']').ok_or_else(|| format!("{text:?} lacks its ]"))?;
            return self.items(items, depth);
        }
        if text == "any" {
            return Ok(Read { ranges: Ranges::all(self.last), is_silent: false });
        }
        let range = (self.item)(text)?;
        Ok(Read { ranges: Ranges(range.into_iter().collect()), is_silent: range.is_none() })
    }

    fn items(&self, items: &str, depth: usize) -> Result<Read, String> {
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        let mut names_some = false;
        for item in split_list(items) {
            let (item, into) = match item.strip_prefix('!') {
                Some(item) => (item, &mut unwanted),
                None => {
                    names_some = true;
                    (item, &mut wanted)
                }
            };
            into.extend(self.list(item, depth + 1)?.ranges.0);
            if into.len() > RANGES_MAX {
                return Err(format!("a list of more than {RANGES_MAX} ranges"));
            }
        }
        let is_silent = wanted.is_empty() && unwanted.is_empty();
        let wanted = if names_some { Ranges::joined(wanted) } else { Ranges::all(self.last) };
        Ok(Read {
            ranges: wanted.without(&Ranges::joined(unwanted), self.last),
            is_silent: is_silent && names_some,
        })
    }
}

/// Splits at the commas that are in no list within.
fn split_list(items: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let pieces = items.split(move |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    pieces.map(str::trim).filter(|item| !item.is_empty())
}

fn v4_item(text: &str) -> Item {
    address_item(text).map(|(first, last)| match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => Some((first.to_bits().into(), last.to_bits().into())),
        _ => None,
    })
}

fn v6_item(text: &str) -> Item {
    address_item(text).map(|(first, last)| match (first, last) {
        (IpAddr::V6(first), IpAddr::V6(last)) => Some((first.to_bits(), last.to_bits())),
        _ => None,
    })
}

/// `10.0.0.1`, `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `10.0.0.1-10.0.0.9`.
fn address_item(text: &str) -> Result<(IpAddr, IpAddr), String> {
    let wrong = || format!("{text:?} is no address: write one, a prefix such as 10.0.0.0/8, or a variable");
    if let Some((first, last)) = text.split_once('-') {
        let (first, last): (IpAddr, IpAddr) =
            (first.trim().parse().map_err(|_| wrong())?, last.trim().parse().map_err(|_| wrong())?);
        return if first <= last && first.is_ipv4() == last.is_ipv4() {
            Ok((first, last))
        } else {
            Err(wrong())
        };
    }
    let (address, prefix) =
        text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
    let Some(prefix) = prefix.map(str::trim) else { return Ok((address, address)) };
    match address {
        IpAddr::V4(address) => {
            let netmask = prefix.parse::<Ipv4Addr>().ok().map(Ipv4Addr::to_bits);
            let bits = netmask.filter(|mask| mask.leading_ones() == mask.count_ones()).map(u32::count_ones);
            let bits = bits.or_else(|| prefix.parse().ok()).filter(|bits| *bits <= 32).ok_or_else(wrong)?;
            let host = u32::MAX.checked_shr(bits).unwrap_or(0);
            let address = address.to_bits();
            Ok((Ipv4Addr::from_bits(address & !host).into(), Ipv4Addr::from_bits(address | host).into()))
        }
        IpAddr::V6(address) => {
            let bits: u32 = prefix.parse().ok().filter(|bits| *bits <= 128).ok_or_else(wrong)?;
            let host = u128::MAX.checked_shr(bits).unwrap_or(0);
            let address = address.to_bits();
            Ok((Ipv6Addr::from_bits(address & !host).into(), Ipv6Addr::from_bits(address | host).into()))
        }
    }
}

/// `80`, `1024:`, `:1023`, `6000:6010`.
fn port_item(text: &str) -> Item {
    let wrong =
        || format!("{text:?} is no port: write one from 0 to 65535, a range such as 1024:, or a variable");
    let end = |end: &str, default: u16| -> Result<u16, String> {
        let end = end.trim();
        if end.is_empty() { Ok(default) } else { end.parse().map_err(|_| wrong()) }
    };
    let (first, last) = match text.split_once(':') {
        Some((first, last)) => (end(first, 0)?, end(last, u16::MAX)?),
        None => {
            let port = text.parse().map_err(|_| wrong())?;
            (port, port)
        }
    };
    if first > last { Err(wrong()) } else { Ok(Some((first.into(), last.into()))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lists_variables_and_negation() {
        let mut variables = Variables::default();
        variables.set_addresses("OFFICE", "[10.1.0.0/16,2001:db8::/32]").unwrap();
        for (text, inside, outside) in [
            ("any", vec!["1.2.3.4", "::1"], vec![]),
            ("$HOME_NET", vec!["10.0.0.1", "::ffff:192.168.1.1"], vec!["8.8.8.8", "::1"]),
            ("$EXTERNAL_NET", vec!["8.8.8.8", "::1"], vec!["10.0.0.1"]),
            ("[$OFFICE,!10.1.2.0/24]", vec!["10.1.3.1", "2001:db8::1"], vec!["10.1.2.1", "10.2.0.1", "::1"]),
            ("![10.0.0.0/8, 11.0.0.1]", vec!["12.0.0.1", "::1"], vec!["10.9.9.9", "11.0.0.1"]),
            ("1.1.1.1-1.1.1.3", vec!["1.1.1.2"], vec!["1.1.1.4"]),
            ("10.0.0.0/255.0.0.0", vec!["10.1.1.1"], vec!["11.0.0.0"]),
            ("0.0.0.0/0", vec!["255.255.255.255"], vec!["::1"]),
        ] {
            let addresses = variables.addresses(text).unwrap();
            let has = |address: &&str| addresses.contains(address.parse().unwrap());
            assert!(inside.iter().all(has), "{text}");
            assert!(!outside.iter().any(has), "{text}");
        }
        for wrong in
            ["$NOWHERE", "[1.2.3.4", "1.2.3", "!any", "1.2.3.4/33", "2.2.2.2-1.1.1.1", "[1.1.1.1,!1.1.1.1]"]
        {
            assert!(variables.addresses(wrong).is_err(), "{wrong}");
        }
        assert!(variables.set_addresses("ROUND", "$ROUND").is_err(), "one that stands in itself");
        assert!(variables.addresses("$ROUND").is_err(), "and it is not kept");
    }

    #[test]
    fn ports_and_their_ranges() {
        let variables = Variables::default();
        for (text, inside, outside) in [
            ("any", vec![0, 65535], vec![]),
            ("$HTTP_PORTS", vec![80], vec![81]),
            ("$SHELLCODE_PORTS", vec![79, 81], vec![80]),
            ("[80,8000:8080,!8008]", vec![80, 8000, 8080], vec![8008, 8081]),
            ("1024:", vec![1024, 65535], vec![1023]),
            (":1023", vec![0, 1023], vec![1024]),
            ("!21:443", vec![20, 444], vec![21, 100, 443]),
        ] {
            let ports = variables.ports(text).unwrap();
            assert!(inside.iter().all(|port| ports.contains(*port)), "{text}");
            assert!(!outside.iter().any(|port| ports.contains(*port)), "{text}");
        }
        for wrong in ["65536", "9:8", "http", "$NOWHERE", "!any"] {
            assert!(variables.ports(wrong).is_err(), "{wrong}");
        }
    }
}
