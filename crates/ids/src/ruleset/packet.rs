//! What a rule asks of a packet's headers. Rule: each keyword of "Header Keywords" is one variant.

use super::integer::Compare;

/// A question to a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PacketTest {
    TimeToLive(Compare),
    TypeOfService(Compare),
    IpId(Compare),
    IpOption(Box<str>),
    SameAddress,
    FragmentBits {
        mode: FlagMode,
        bits: u8,
    },
    FragmentOffset(Compare),
    IpProtocol(Compare),
    TcpFlags {
        mode: FlagMode,
        flags: u8,
        ignored: u8,
    },
    Sequence(Compare),
    Acknowledgement(Compare),
    Window(Compare),
    SegmentSizeMax(Compare),
    IcmpType(Compare),
    IcmpCode(Compare),
    IcmpId(Compare),
    IcmpSequence(Compare),
    Icmpv6Mtu(Compare),
    PayloadSize(Compare),
    /// For how many seconds there have been packets of the flow.
    FlowAge(Compare),
    Checksum {
        of: Box<str>,
        is_valid: bool,
    },
    /// `decode-event`.
    DecodeEvent(Box<str>),
    /// `stream-event`.
    StreamEvent(Box<str>),
}

/// How flags are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FlagMode {
    /// These and no others.
    Exactly,
    /// These, and perhaps others (`+`).
    All,
    /// One of these (`*`).
    Any,
    /// None of these (`!`).
    None,
}

/// Flags with a sign before or behind them: `S`, `+A`, `SA+`, `!SRA`, `0`.
fn flags(text: &str, letter: impl Fn(char) -> Option<u8>) -> Result<(FlagMode, u8), String> {
    let mut mode = FlagMode::Exactly;
    let mut bits = 0;
    for c in text.trim().chars() {
        match c {
            '+' => mode = FlagMode::All,
            '*' => mode = FlagMode::Any,
            '!' => mode = FlagMode::None,
            '=' | ' ' => {}
            c => bits |= letter(c).ok_or_else(|| format!("{c:?} is no flag that is known here"))?,
        }
    }
    Ok((mode, bits))
}

/// `flags:S,12`: flags, and those that do not count.
pub(crate) fn tcp_flags(text: &str) -> Result<PacketTest, String> {
    let letter = |c: char| {
        Some(match c.to_ascii_uppercase() {
            'F' => 1,
            'S' => 2,
            'R' => 4,
            'P' => 8,
            'A' => 16,
            'U' => 32,
            'E' | '2' => 64,
            'C' | '1' => 128,
            '0' => 0,
            _ => return None,
        })
    };
    let (wanted, ignored) = text.split_once(',').unwrap_or((text, ""));
    let (mode, flags_wanted) = flags(wanted, letter)?;
    let (_, ignored) = flags(ignored, letter)?;
    Ok(PacketTest::TcpFlags { mode, flags: flags_wanted, ignored })
}

/// `fragbits:M+`. The bits are those of the header: reserved, don't fragment, more fragments.
pub(crate) fn fragment_bits(text: &str) -> Result<PacketTest, String> {
    let letter = |c: char| {
        Some(match c.to_ascii_uppercase() {
            'R' => 4,
            'D' => 2,
            'M' => 1,
            _ => return None,
        })
    };
    flags(text, letter).map(|(mode, bits)| PacketTest::FragmentBits { mode, bits })
}

/// `ip_proto:udp`, by number or name.
pub(crate) fn ip_protocol(text: &str) -> Result<PacketTest, String> {
    const NAMES: [(&str, u64); 11] = [
        ("icmp", 1),
        ("igmp", 2),
        ("ipip", 4),
        ("tcp", 6),
        ("udp", 17),
        ("ipv6", 41),
        ("gre", 47),
        ("esp", 50),
        ("ah", 51),
        ("pim", 103),
        ("sctp", 132),
    ];
    let lower = text.to_ascii_lowercase();
    let (sign, name) = lower.strip_prefix('!').map_or(("", lower.as_str()), |name| ("!", name));
    let number = NAMES.iter().find(|(known, _)| *known == name.trim()).map(|(_, number)| *number);
    let text = number.map_or(text.to_owned(), |number| format!("{sign}{number}"));
    Compare::parse(&text).map(PacketTest::IpProtocol)
}

/// `ipv4-csum:invalid`.
pub(crate) fn checksum(keyword: &str, text: &str) -> Result<PacketTest, String> {
    let is_valid = match text {
        "valid" => true,
        "invalid" => false,
        other => return Err(format!("{other:?} is neither valid nor invalid")),
    };
    Ok(PacketTest::Checksum { of: keyword.trim_end_matches("-csum").into(), is_valid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_with_signs_and_what_is_ignored() {
        let want = |mode, flags, ignored| Ok(PacketTest::TcpFlags { mode, flags, ignored });
        assert_eq!(tcp_flags("S"), want(FlagMode::Exactly, 2, 0));
        assert_eq!(tcp_flags("SA+"), want(FlagMode::All, 18, 0));
        assert_eq!(tcp_flags("S,12"), want(FlagMode::Exactly, 2, 192));
        assert_eq!(tcp_flags("0"), want(FlagMode::Exactly, 0, 0));
        assert!(tcp_flags("X").is_err());
        assert_eq!(fragment_bits("M+D"), Ok(PacketTest::FragmentBits { mode: FlagMode::All, bits: 3 }));
        assert_eq!(ip_protocol("!TCP"), Ok(PacketTest::IpProtocol(Compare::NotEqual(6))));
        assert!(checksum("ipv4-csum", "perhaps").is_err());
    }
}
