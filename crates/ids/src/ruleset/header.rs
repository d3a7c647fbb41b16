//! A rule's head: action, protocol, addresses, ports, direction. Rule: Suricata's forms, and Snort's where they differ.

use super::Fault;
use super::network::{Addresses, Ports, Variables};
use super::words::unquoted;
use std::sync::Arc;

/// What a rule wants done with what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Say so.
    Alert,
    /// Let it not go on.
    Drop,
    /// The same, and tell both sides.
    Reject,
    /// No rule behind this one is asked.
    Pass,
}

impl Action {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "alert" | "log" => Self::Alert,
            "drop" | "sdrop" | "block" => Self::Drop,
            "reject" | "rejectsrc" | "rejectdst" | "rejectboth" => Self::Reject,
            "pass" => Self::Pass,
            _ => return None,
        })
    }
}

/// Which actions go before which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActionOrder([Action; 4]);

impl Default for ActionOrder {
    fn default() -> Self {
        Self([Action::Pass, Action::Drop, Action::Reject, Action::Alert])
    }
}

impl ActionOrder {
    /// Four words, the one first that goes before the others.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let wrong = || "the four actions pass, drop, reject and alert, each once".to_owned();
        let actions: Option<Vec<Action>> = words.iter().map(|word| Action::of(word)).collect();
        let actions: [Action; 4] = actions.and_then(|actions| actions.try_into().ok()).ok_or_else(wrong)?;
        let is_whole = Self::default().0.iter().all(|action| actions.contains(action));
        if is_whole { Ok(Self(actions)) } else { Err(wrong()) }
    }

    /// Less for what goes first.
    pub fn rank(self, action: Action) -> u8 {
        self.0.iter().zip(0..).find(|(its, _)| **its == action).map_or(0, |(_, rank)| rank)
    }
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Protocol {
    Ip,
    Ipv4,
    Ipv6,
    Tcp,
    /// Segments as they come, not the stream.
    TcpPacket,
    /// The stream alone.
    TcpStream,
    Udp,
    /// Of either version of IP.
    Icmp,
    Icmpv4,
    Icmpv6,
    Igmp,
    Sctp,
    /// Packets as such: events of decoding.
    PacketHeader,
    Http,
    Smtp,
    Pop3,
    Ftp,
    FtpData,
    Dns,
    Tls,
    /// Known by what is said, and not taken apart, as the two that follow: such rules ask of bytes.
    Smb,
    Ssh,
    Sip,
    /// A protocol on top of others that is not taken apart, known by its name: the rule is understood, and never asked.
    Unread(&'static str),
}

/// Protocols that Suricata and Snort take apart and we do not.
const UNREAD: [&str; 30] = [
    "dcerpc",
    "dnp3",
    "modbus",
    "krb5",
    "snmp",
    "tftp",
    "rdp",
    "rfb",
    "mqtt",
    "nfs",
    "ike",
    "ikev2",
    "dhcp",
    "enip",
    "quic",
    "websocket",
    "telnet",
    "bittorrent-dht",
    "pgsql",
    "ldap",
    "doh2",
    "mdns",
    "ntp",
    "imap",
    "irc",
    "msn",
    "jabber",
    "sunrpc",
    "netbios-ssn",
    "llmnr",
];

impl Protocol {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "ip" | "any" => Self::Ip,
            "ip4" | "ipv4" => Self::Ipv4,
            "ip6" | "ipv6" => Self::Ipv6,
            "tcp" => Self::Tcp,
            "tcp-pkt" => Self::TcpPacket,
            "tcp-stream" => Self::TcpStream,
            "udp" => Self::Udp,
            "icmp" => Self::Icmp,
            "icmpv4" => Self::Icmpv4,
            "icmpv6" => Self::Icmpv6,
            "igmp" => Self::Igmp,
            "sctp" => Self::Sctp,
            "pkthdr" | "ether" | "arp" => Self::PacketHeader,
            "http" | "http1" | "http2" => Self::Http,
            "smtp" => Self::Smtp,
            "pop3" => Self::Pop3,
            "ftp" => Self::Ftp,
            "ftp-data" => Self::FtpData,
            "dns" => Self::Dns,
            "tls" | "ssl" => Self::Tls,
            "smb" => Self::Smb,
            "ssh" => Self::Ssh,
            "sip" => Self::Sip,
            // Snort 3: whatever carries a file.
            "file" => Self::Ip,
            other => Self::Unread(UNREAD.into_iter().find(|name| *name == other)?),
        })
    }

    /// The protocol that `app-layer-protocol` and `service` name.
    pub fn of_application(word: &str) -> Option<Self> {
        Self::of(word).filter(|protocol| protocol.is_application())
    }

    /// Whether it is one on top of TCP or UDP.
    pub fn is_application(self) -> bool {
        use Protocol::{Dns, Ftp, FtpData, Http, Pop3, Sip, Smb, Smtp, Ssh, Tls, Unread};
        matches!(self, Http | Smtp | Pop3 | Ftp | FtpData | Dns | Tls | Smb | Ssh | Sip | Unread(_))
    }
}

/// What is to be spoken, or not to be: `app-layer-protocol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Application {
    /// `None` for what was not recognised (`failed`).
    pub protocol: Option<Protocol>,
    pub is_spoken: bool,
}

/// Which way the packets go that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// From the first addresses to the second.
    Forth,
    /// Either way.
    Both,
}

/// A rule's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub action: Action,
    pub protocol: Protocol,
    pub source: Arc<Addresses>,
    pub source_ports: Arc<Ports>,
    pub way: Way,
    pub destination: Arc<Addresses>,
    pub destination_ports: Arc<Ports>,
}

/// The words of a head with where they stand. A list in brackets is one, whatever spaces are in it.
fn split(head: &str) -> Vec<(usize, &str)> {
    let (mut words, mut depth, mut begun) = (Vec::new(), 0_i32, None);
    for (at, byte) in head.bytes().enumerate() {
        depth += i32::from(byte == b'[') - i32::from(byte == b']');
        let is_between = byte.is_ascii_whitespace() && depth <= 0;
        match begun {
            Some(from) if is_between => {
                words.push((from, &head[from..at]));
                begun = None;
            }
            None if !is_between => begun = Some(at),
            _ => {}
        }
    }
    words.extend(begun.map(|from| (from, &head[from..])));
    words
}

/// Reads a head.
pub(crate) fn parse(head: &str, variables: &Variables) -> Result<Header, Fault> {
    let words = split(head);
    let (at, action) = *words.first().ok_or_else(|| Fault::at(0, "a rule begins with its action"))?;
    let action = Action::of(action)
        .ok_or_else(|| Fault::at(at, format!("{action:?} is no action: alert, drop, reject and pass are")))?;
    let (at, protocol) =
        *words.get(1).ok_or_else(|| Fault::at(head.len(), "a protocol belongs behind the action"))?;
    let protocol = Protocol::of(protocol)
        .ok_or_else(|| Fault::at(at, format!("{protocol:?} is no protocol that is known here")))?;
    let mut header = Header {
        action,
        protocol,
        source: Arc::new(Addresses::any()),
        source_ports: Arc::new(Ports::any()),
        way: Way::Both,
        destination: Arc::new(Addresses::any()),
        destination_ports: Arc::new(Ports::any()),
    };
    let [source, source_ports, way, destination, destination_ports] = match words.get(2..) {
        // Snort 3: a rule for a service whatever its addresses.
        Some([]) => return Ok(header),
        Some([a, b, c, d, e]) => [*a, *b, *c, *d, *e],
        _ => {
            let form = "a head is: action protocol addresses ports -> addresses ports";
            return Err(Fault::at(0, form));
        }
    };
    let addresses = |(at, text): (usize, &str)| {
        variables.addresses(unquoted(text)).map_err(|reason| Fault::at(at, reason))
    };
    let ports = |(at, text): (usize, &str)| variables.ports(text).map_err(|reason| Fault::at(at, reason));
    header.source = addresses(source)?;
    header.source_ports = ports(source_ports)?;
    header.destination = addresses(destination)?;
    header.destination_ports = ports(destination_ports)?;
    header.way = match way.1 {
        "->" | "=>" => Way::Forth,
        "<>" => Way::Both,
        other => return Err(Fault::at(way.0, format!("{other:?} is no direction: -> and <> are"))),
    };
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_their_faults() {
        let variables = Variables::default();
        let header =
            parse("drop http $HOME_NET any -> [10.0.0.1, 10.0.0.2] [80, 8080] ", &variables).unwrap();
        assert_eq!((header.action, header.protocol, header.way), (Action::Drop, Protocol::Http, Way::Forth));
        assert!(header.destination_ports.contains(8080) && !header.destination_ports.contains(81));
        assert!(
            parse("alert http ", &variables).unwrap().source.contains([8, 8, 8, 8].into()),
            "Snort 3's short form"
        );
        for (wrong, at) in [
            ("", 0),
            ("allow tcp any any -> any any", 0),
            ("alert tcq any any -> any any", 6),
            ("alert tcp any any <- any any", 18),
            ("alert tcp any any -> any", 0),
            ("alert tcp $NONE any -> any any", 10),
        ] {
            assert_eq!(parse(wrong, &variables).unwrap_err().at, at, "{wrong}");
        }
    }
}
