//! Sites, URLs, addresses and types of files, one line each. Rule: what stands there is brought to the form in which a
//! request is looked up, or it is a fault.

use super::{Entry, Fault, Scope, punycode};
use crate::address::{host_of, path_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest label of a name (RFC 1035 section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 253;

/// A line of a site list.
pub(crate) fn parse_site(line: &str) -> Result<Entry, Fault> {
    match line {
        "**" => return Ok(Entry::Blanket(Scope::All)),
        "*ip" => return Ok(Entry::Blanket(Scope::Addresses)),
        "**s" => return Ok(Entry::Blanket(Scope::Encrypted)),
        "*ips" => return Ok(Entry::Blanket(Scope::EncryptedAddresses)),
        _ => {}
    }
    if let Some((first, last)) = network(line) {
        return Ok(Entry::Network { first, last });
    }
    let text = without_scheme(line);
    match text.split_once('/') {
        // A path in a list of sites: it can only be meant as a URL.
        Some((_, path)) if !path.trim_matches('/').is_empty() => parse_url(line),
        Some((host, _)) => site(host),
        None => site(text),
    }
}

/// A line of a URL list.
pub(crate) fn parse_url(line: &str) -> Result<Entry, Fault> {
    let text = without_scheme(line);
    let end = text.find(['/', '?']).unwrap_or(text.len());
    let (host, path) = text.split_at(end);
    let mut path = path_of(path.as_bytes());
    while path.last() == Some(&b'/') {
        path.pop();
    }
    if path.is_empty() {
        return site(host);
    }
    let host = host_of(host);
    match host.parse::<IpAddr>() {
        Ok(_) => Ok(Entry::Url { host, path }),
        Err(_) => Ok(Entry::Url { host: name(&host)?, path }),
    }
}

/// A line of an extension list.
pub(crate) fn parse_extension(line: &str) -> Result<Entry, Fault> {
    let text = line.to_lowercase();
    if text.len() > EXTENSION_BYTES_MAX || text.contains(char::is_whitespace) {
        return Err(Fault(format!("{text:?} is no end of a file's name: write it as \".exe\"")));
    }
    let dot = if text.starts_with('.') { "" } else { "." };
    Ok(Entry::Extension(format!("{dot}{text}")))
}

/// The longest extension that is looked for.
pub(crate) const EXTENSION_BYTES_MAX: usize = 64;

/// A line of a list of media types.
pub(crate) fn parse_media_type(line: &str) -> Result<Entry, Fault> {
    let text = line.to_ascii_lowercase();
    match text.split_once('/') {
        Some((kind, rest)) if !kind.is_empty() && !rest.is_empty() && !text.contains(char::is_whitespace) => {
            Ok(Entry::MediaType(text))
        }
        _ => Err(Fault(format!("{text:?} is no media type: write it as \"video/mpeg\""))),
    }
}

/// A line of a list of clients.
pub(crate) fn parse_client(line: &str) -> Result<Entry, Fault> {
    match network(line) {
        Some((first, last)) => Ok(Entry::Client { first, last }),
        None => Err(Fault(format!(
            "{line:?} is no address: write it as 192.0.2.1, 192.0.2.0/24 or 192.0.2.1-192.0.2.9"
        ))),
    }
}

/// A line of a hosts file: the names that it sends nowhere.
pub(crate) fn parse_hosts(line: &str) -> Result<Vec<Entry>, Fault> {
    let mut words = line.split_whitespace();
    let address = words.next().unwrap_or_default();
    let Ok(address) = address.split('%').next().unwrap_or_default().parse::<IpAddr>() else {
        return Err(Fault(format!("{address:?} is no address: a hosts file has one first on each line")));
    };
    let address = address.to_canonical();
    // Where the name is sent to a machine of its own, nothing is banned.
    if !address.is_unspecified() && !address.is_loopback() {
        return Ok(Vec::new());
    }
    let own = ["localhost", "localhost.localdomain", "local", "broadcasthost", "0.0.0.0"];
    let names = words.filter(|word| !own.contains(word) && !word.starts_with("ip6-"));
    names.map(|word| name(word).map(Entry::Name)).collect()
}

/// Whether a word may be a site, for telling a list by its first lines.
pub(crate) fn is_site(word: &str) -> bool {
    let is_site = |entry| matches!(entry, Entry::Site(_) | Entry::Network { .. });
    word.contains(['.', ':']) && !word.contains('/') && parse_site(word).is_ok_and(is_site)
}

/// The same for a URL.
pub(crate) fn is_url(word: &str) -> bool {
    parse_url(word).is_ok_and(|entry| matches!(&entry, Entry::Url { host, .. } if host.contains('.')))
}

fn without_scheme(line: &str) -> &str {
    line.split_once("://").map_or(line, |(_, rest)| rest)
}

fn site(host: &str) -> Result<Entry, Fault> {
    if let Some((first, last)) = network(host) {
        return Ok(Entry::Network { first, last });
    }
    let is_below = host.starts_with('.') || host.starts_with("*.");
    let bare = host.strip_prefix("*.").unwrap_or(host).trim_start_matches('.');
    let name = name(bare)?;
    Ok(match name.contains('.') {
        true => Entry::Site(name),
        false if is_below => Entry::Top(name),
        // One label alone is a machine nearby: taken for a top-level domain it would ban too much.
        false => Entry::Name(name),
    })
}

/// A host's name as it comes on the wire: lower case, other letters than ASCII's as RFC 3492 spells them.
pub(crate) fn name(text: &str) -> Result<String, Fault> {
    let no_name = |why: &str| Err(Fault(format!("{text:?} is no name of a host: {why}")));
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.is_empty() {
        return no_name("nothing is left of it");
    }
    let mut labels = Vec::new();
    for label in text.split('.') {
        let label = match label.is_ascii() {
            true => label.to_ascii_lowercase(),
            false => match punycode::encode(&label.to_lowercase()) {
                Some(encoded) => format!("xn--{encoded}"),
                None => return no_name("it has letters that no name can have"),
            },
        };
        if label.is_empty() || label.len() > LABEL_BYTES_MAX {
            return no_name("between dots there are 1 to 63 characters");
        }
        if !label.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_')) {
            return no_name("letters, digits, - and _ are in one, and dots between them");
        }
        labels.push(label);
    }
    let name = labels.join(".");
    if name.len() > NAME_BYTES_MAX { no_name("it is longer than 253 characters") } else { Ok(name) }
}

/// An address, `ADDRESS/BITS`, `ADDRESS/MASK` or `ADDRESS-ADDRESS`.
fn network(text: &str) -> Option<(IpAddr, IpAddr)> {
    if let Some((first, last)) = text.split_once('-') {
        let (first, last) = (first.trim().parse::<IpAddr>().ok()?, last.trim().parse::<IpAddr>().ok()?);
        return (first <= last && first.is_ipv4() == last.is_ipv4()).then_some((first, last));
    }
    let Some((address, bits)) = text.split_once('/') else {
        let address = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok()?;
        return Some((address.to_canonical(), address.to_canonical()));
    };
    let address = address.parse::<IpAddr>().ok()?;
    let own_bits = if address.is_ipv4() { 32 } else { 128 };
    let bits = match bits.parse::<Ipv4Addr>() {
        Ok(mask)
            if address.is_ipv4() && mask.to_bits().leading_ones() + mask.to_bits().trailing_zeros() >= 32 =>
        {
            mask.to_bits().leading_ones()
        }
        _ => bits.parse::<u32>().ok().filter(|bits| *bits <= own_bits)?,
    };
    Some(match address {
        IpAddr::V4(address) => {
            let rest = u32::MAX.checked_shr(bits).unwrap_or(0);
            let of = |bits| IpAddr::V4(Ipv4Addr::from_bits(bits));
            (of(address.to_bits() & !rest), of(address.to_bits() | rest))
        }
        IpAddr::V6(address) => {
            let rest = u128::MAX.checked_shr(bits).unwrap_or(0);
            let of = |bits| IpAddr::V6(Ipv6Addr::from_bits(bits));
            (of(address.to_bits() & !rest), of(address.to_bits() | rest))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(first: &str, last: &str) -> Entry {
        Entry::Network { first: first.parse().unwrap(), last: last.parse().unwrap() }
    }

    #[test]
    fn sites() {
        let site = |name: &str| Entry::Site(name.to_owned());
        for (line, expected) in [
            ("Badboys.COM", site("badboys.com")),
            ("http://badboys.com/", site("badboys.com")),
            (".badboys.com", site("badboys.com")),
            ("*.badboys.com.", site("badboys.com")),
            ("under_score.example", site("under_score.example")),
            ("bücher.example", site("xn--bcher-kva.example")),
            (".xxx", Entry::Top("xxx".into())),
            ("intranet", Entry::Name("intranet".into())),
            ("**", Entry::Blanket(Scope::All)),
            ("*ip", Entry::Blanket(Scope::Addresses)),
            ("**s", Entry::Blanket(Scope::Encrypted)),
            ("*ips", Entry::Blanket(Scope::EncryptedAddresses)),
            ("a.example/x.asp", Entry::Url { host: "a.example".into(), path: b"/x.asp".into() }),
            ("192.0.2.7", net("192.0.2.7", "192.0.2.7")),
            ("10.0.0.0/24", net("10.0.0.0", "10.0.0.255")),
            ("10.0.0.9/255.255.0.0", net("10.0.0.0", "10.0.255.255")),
            ("10.0.0.1-10.0.0.3", net("10.0.0.1", "10.0.0.3")),
            ("0.0.0.0/0", net("0.0.0.0", "255.255.255.255")),
            ("2001:db8::/127", net("2001:db8::", "2001:db8::1")),
        ] {
            assert_eq!(parse_site(line), Ok(expected), "{line}");
        }
        let long = format!("{}.example", "a".repeat(64));
        for line in ["a b", "a..b", "-", "host:80", "é\u{0}.example", &long, ".", "*"] {
            match parse_site(line) {
                Err(_) => {}
                Ok(Entry::Name(name)) if name == "-" => {}
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn urls() {
        let url = |host: &str, path: &str| Entry::Url { host: host.to_owned(), path: path.into() };
        for (line, expected) in [
            ("Members.home.net/Uporn/", url("members.home.net", "/uporn")),
            ("https://a.example/x?y=%41", url("a.example", "/x?y=a")),
            ("a.example:8080/x", url("a.example", "/x")),
            ("192.0.2.1/x", url("192.0.2.1", "/x")),
            ("a.example/", Entry::Site("a.example".into())),
        ] {
            assert_eq!(parse_url(line), Ok(expected), "{line}");
        }
        for line in ["/path", "a b/x", ""] {
            assert!(parse_url(line).is_err(), "{line}");
        }
    }

    #[test]
    fn types_of_files() {
        assert_eq!(parse_extension("EXE"), Ok(Entry::Extension(".exe".into())));
        assert_eq!(parse_extension(".tar.gz"), Ok(Entry::Extension(".tar.gz".into())));
        assert!(parse_extension("an end").is_err());
        assert_eq!(parse_media_type("Audio/MPEG"), Ok(Entry::MediaType("audio/mpeg".into())));
        for line in ["audio", "/mpeg", "audio/", "a b/c"] {
            assert!(parse_media_type(line).is_err(), "{line}");
        }
    }

    #[test]
    fn hosts() {
        let names = |line: &str| parse_hosts(line).map(|entries| entries.len());
        for (line, count) in [
            ("0.0.0.0 ads.example", Ok(1)),
            ("127.0.0.1\tlocalhost a.example B.example", Ok(2)),
            ("::1 ip6-localhost ip6-loopback", Ok(0)),
            ("fe80::1%lo0 localhost", Ok(0)),
            ("192.0.2.1 nas.example", Ok(0)),
        ] {
            assert_eq!(names(line), count, "{line}");
        }
        assert_eq!(parse_hosts("0.0.0.0 Ads.Example"), Ok(vec![Entry::Name("ads.example".into())]));
        assert!(parse_hosts("ads.example").is_err());
        assert!(parse_hosts("0.0.0.0 a/b").is_err());
    }
}
