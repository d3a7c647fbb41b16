//! The answer to CAPA (RFC 2449), filtered. Rule: nothing is offered that the gateway does not relay.

use crate::smtp::capabilities::{Offer, can_be_relayed};

/// Longest answer taken; the caller gathers no more.
pub const ANSWER_BYTES_MAX: usize = 8192;

/// What is ours to decide at CAPA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// STLS: there is a certificate, and TLS has not started.
    pub stls: Offer,
    /// USER, APOP and SASL: passwords are safe on both sides, or the configuration allows it.
    pub credentials: Offer,
}

/// Capabilities whose commands are relayed, or that are only told.
const RELAYED: [&str; 13] = [
    "TOP",
    "USER",
    "SASL",
    "RESP-CODES",
    "AUTH-RESP-CODE",
    "LOGIN-DELAY",
    "PIPELINING",
    "EXPIRE",
    "UIDL",
    "IMPLEMENTATION",
    "UTF8",
    "LANG",
    "APOP",
];

/// The lines to send in place of the server's, each with CR LF, without the dot line.
pub fn filter_capa(answer: &[u8], terms: Terms) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines(answer) {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let Some((keyword, arguments)) = words.split_first() else { continue };
        let keyword = keyword.to_ascii_uppercase();
        let is_credentials = ["USER", "SASL", "APOP"].contains(&keyword.as_str());
        if !RELAYED.contains(&keyword.as_str()) || (is_credentials && terms.credentials == Offer::No) {
            continue;
        }
        if keyword != "SASL" {
            push_line(&mut out, &line);
            continue;
        }
        let mechanisms: Vec<&str> = arguments.iter().copied().filter(|m| can_be_relayed(m)).collect();
        if !mechanisms.is_empty() {
            push_line(&mut out, &format!("SASL {}", mechanisms.join(" ")));
        }
    }
    if terms.stls == Offer::Yes {
        push_line(&mut out, "STLS");
    }
    out
}

/// The same for AUTH without argument, which lists a mechanism on each line.
pub fn filter_auth_list(answer: &[u8], credentials: Offer) -> Vec<u8> {
    let mut out = Vec::new();
    if credentials == Offer::Yes {
        lines(answer)
            .iter()
            .filter(|line| can_be_relayed(line.trim()))
            .for_each(|line| push_line(&mut out, line));
    }
    out
}

fn lines(answer: &[u8]) -> Vec<String> {
    let texts = answer.split(|b| *b == b'\n').map(|line| String::from_utf8_lossy(line).trim_end().to_owned());
    texts.filter(|line| !line.is_empty() && !line.chars().any(|c| c.is_control() && c != '\t')).collect()
}

fn push_line(out: &mut Vec<u8>, line: &str) {
    out.extend_from_slice(line.as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] =
        b"TOP\r\nUSER\r\nSTLS\r\nSASL PLAIN SCRAM-SHA-1-PLUS GSSAPI LOGIN\r\nPIPELINING\r\nXTND\r\n\
        UIDL\r\nEXPIRE NEVER\r\nbad\x01\r\nIMPLEMENTATION Example 1.0\r\n";

    #[test]
    fn the_offer_is_what_is_relayed() {
        let terms = Terms { stls: Offer::Yes, credentials: Offer::Yes };
        let expected = "TOP\r\nUSER\r\nSASL PLAIN LOGIN\r\nPIPELINING\r\nUIDL\r\nEXPIRE NEVER\r\n\
                        IMPLEMENTATION Example 1.0\r\nSTLS\r\n";
        assert_eq!(String::from_utf8(filter_capa(ANSWER, terms)).as_deref(), Ok(expected));
        let terms = Terms { stls: Offer::No, credentials: Offer::No };
        let expected = "TOP\r\nPIPELINING\r\nUIDL\r\nEXPIRE NEVER\r\nIMPLEMENTATION Example 1.0\r\n";
        assert_eq!(String::from_utf8(filter_capa(ANSWER, terms)).as_deref(), Ok(expected));
        assert_eq!(
            filter_capa(b"SASL EXTERNAL\r\n", Terms { stls: Offer::No, credentials: Offer::Yes }),
            b""
        );
    }

    #[test]
    fn mechanisms_are_filtered_line_by_line() {
        assert_eq!(filter_auth_list(b"PLAIN\r\nGSSAPI\r\nLOGIN\r\n", Offer::Yes), b"PLAIN\r\nLOGIN\r\n");
        assert_eq!(filter_auth_list(b"PLAIN\r\n", Offer::No), b"");
    }
}
