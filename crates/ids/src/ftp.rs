//! Where a client of FTP wants its data. Rule: only whether that is elsewhere; who connects to whom, the wire knows.

use std::net::{IpAddr, Ipv4Addr};

/// Whether a `PORT` names an address that is not the client's own (RFC 959 section 4.1.2, RFC 2577 section 2).
pub(crate) fn elsewhere(verb: &[u8], argument: &[u8], own: IpAddr) -> bool {
    if !verb.eq_ignore_ascii_case(b"PORT") {
        return false;
    }
    let mut numbers = argument
        .trim_ascii()
        .split(|byte| *byte == b',')
        .map(|number| std::str::from_utf8(number).ok().and_then(|number| number.trim().parse::<u8>().ok()));
    let mut next = || numbers.next().flatten();
    let named = next().zip(next()).zip(next().zip(next()));
    named.is_some_and(|((a, b), (c, d))| own.to_canonical() != IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_elsewhere() {
        let own = IpAddr::from([10, 0, 0, 1]);
        assert!(elsewhere(b"port", b"10,0,0,2,4,1", own));
        assert!(!elsewhere(b"PORT", b" 10,0,0,1,4,1", own));
        assert!(!elsewhere(b"RETR", b"10,0,0,2,4,1", own));
        for broken in ["", "10,0,0", "10,0,0,300,1,1", "a,b,c,d"] {
            assert!(!elsewhere(b"PORT", broken.as_bytes(), own), "{broken}");
        }
    }
}
