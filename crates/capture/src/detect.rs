//! What is spoken, by the first bytes of either side: [`detect`]. Rule: content decides, a port only where content says nothing.

use lockgate_model::Protocol;
use lockgate_proto::dns::Stream;

/// What the first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detected {
    /// This is spoken.
    Spoken(Protocol),
    /// They may be the beginning of something.
    Unsure,
    /// They are of nothing that is taken apart.
    Nothing,
}

/// Where names are asked for.
pub const DNS_PORT: u16 = 53;

/// How much of a side is looked at before it is given up.
pub const BEGINNING_BYTES_MAX: usize = 1024;

/// Methods that a client begins with.
const METHODS: [&[u8]; 38] = [
    b"GET ",
    b"POST ",
    b"HEAD ",
    b"PUT ",
    b"OPTIONS ",
    b"DELETE ",
    b"TRACE ",
    b"CONNECT ",
    b"PATCH ",
    b"PROPFIND ",
    b"PROPPATCH ",
    b"MKCOL ",
    b"COPY ",
    b"MOVE ",
    b"LOCK ",
    b"UNLOCK ",
    b"CHECKOUT ",
    b"CHECKIN ",
    b"UNCHECKOUT ",
    b"VERSION-CONTROL ",
    b"REPORT ",
    b"SEARCH ",
    b"SUBSCRIBE ",
    b"UNSUBSCRIBE ",
    b"NOTIFY ",
    b"BMOVE ",
    b"BDELETE ",
    b"BCOPY ",
    b"BPROPFIND ",
    b"BPROPPATCH ",
    b"POLL ",
    b"MERGE ",
    b"LABEL ",
    b"UPDATE ",
    b"MKWORKSPACE ",
    b"MKACTIVITY ",
    b"ORDERPATCH ",
    b"ACL ",
];

/// Verbs of clients that speak first, or of whom the server's greeting was not seen.
const MAIL_VERBS: [&[u8]; 2] = [b"EHLO ", b"HELO "];
const FTP_VERBS: [&[u8]; 4] = [b"USER ", b"PASS ", b"PORT ", b"AUTH TLS"];

/// The methods of SIP (IANA, "Session Initiation Protocol Parameters").
const SIP_METHODS: [&[u8]; 14] = [
    b"INVITE",
    b"ACK",
    b"BYE",
    b"CANCEL",
    b"OPTIONS",
    b"REGISTER",
    b"PRACK",
    b"SUBSCRIBE",
    b"NOTIFY",
    b"PUBLISH",
    b"INFO",
    b"REFER",
    b"MESSAGE",
    b"UPDATE",
];
const SIP_METHOD_BYTES_MAX: usize = 9;
/// What the targets of its requests begin with.
const SIP_SCHEMES: [&[u8]; 3] = [b"sip:", b"sips:", b"tel:"];

/// What is spoken, by the first bytes of the client and of the server, and the server's port.
pub fn detect(client: &[u8], server: &[u8], port: u16) -> Detected {
    match (of_client(client, server, port), of_server(server, port)) {
        (Detected::Spoken(spoken), _) | (_, Detected::Spoken(spoken)) => Detected::Spoken(spoken),
        (Detected::Nothing, Detected::Nothing) => Detected::Nothing,
        _ if client.len().max(server.len()) >= BEGINNING_BYTES_MAX => Detected::Nothing,
        _ => Detected::Unsure,
    }
}

/// What a datagram is by itself, on whatever port.
pub fn of_datagram(bytes: &[u8]) -> Detected {
    match of_sip(bytes) {
        Detected::Spoken(spoken) => Detected::Spoken(spoken),
        Detected::Unsure | Detected::Nothing => Detected::Nothing,
    }
}

fn of_client(bytes: &[u8], server: &[u8], port: u16) -> Detected {
    // Some clients send an empty line first.
    let line = bytes.trim_ascii_start();
    for detected in [of_either(bytes), of_sip(line)] {
        if detected != Detected::Nothing {
            return detected;
        }
    }
    match begins(line, &METHODS) {
        Detected::Spoken(_) => return Detected::Spoken(Protocol::Http),
        Detected::Unsure => return Detected::Unsure,
        Detected::Nothing => {}
    }
    if begins(line, &MAIL_VERBS) == Detected::Spoken(Protocol::Unknown) {
        return Detected::Spoken(Protocol::Smtp);
    }
    if begins(line, &FTP_VERBS) == Detected::Spoken(Protocol::Unknown) {
        return match server.first() {
            Some(b'+') => Detected::Spoken(Protocol::Pop3),
            Some(b'2') => Detected::Spoken(Protocol::Ftp),
            _ if port == 110 => Detected::Spoken(Protocol::Pop3),
            _ if port == 21 => Detected::Spoken(Protocol::Ftp),
            _ => Detected::Unsure,
        };
    }
    match bytes {
        [] => Detected::Unsure,
        [22, 3, 0..=4, _, _, 1, ..] | [0x80..=0xff, _, 1, 3, 0..=3, ..] => Detected::Spoken(Protocol::Tls),
        [22, 3, ..] | [22] if bytes.len() < 6 => Detected::Unsure,
        _ if port == DNS_PORT => of_dns(bytes),
        _ if line.len() < 8 => Detected::Unsure,
        // An unknown method is one all the same, where the line says what it is a line of.
        _ if first_line(line).is_some_and(is_request_line) => Detected::Spoken(Protocol::Http),
        _ if first_line(line).is_none()
            && line.iter().take(16).all(|byte| byte.is_ascii_graphic() || *byte == b' ') =>
        {
            Detected::Unsure
        }
        _ => Detected::Nothing,
    }
}

fn of_server(bytes: &[u8], port: u16) -> Detected {
    for detected in [of_either(bytes), of_sip(bytes)] {
        if detected != Detected::Nothing {
            return detected;
        }
    }
    match bytes {
        [] => Detected::Unsure,
        [b'H', b'T', b'T', b'P', b'/', ..] => Detected::Spoken(Protocol::Http),
        [b'+', b'O', b'K', ..] => Detected::Spoken(Protocol::Pop3),
        [b'2', b'2', b'0', b' ' | b'-', ..] => of_greeting(bytes, port),
        [22, 3, 0..=4, _, _, 2, ..] => Detected::Spoken(Protocol::Tls),
        _ if bytes.len() < 6 => Detected::Unsure,
        _ if port == DNS_PORT => of_dns(bytes),
        _ => Detected::Nothing,
    }
}

/// What both sides begin with in the same way.
fn of_either(bytes: &[u8]) -> Detected {
    match bytes {
        [b'S', b'S', b'H', b'-', ..] => Detected::Spoken(Protocol::Ssh),
        [b'S'] | [b'S', b'S'] | [b'S', b'S', b'H'] => Detected::Unsure,
        _ => of_smb(bytes),
    }
}

/// Messages of SMB 1 to 3 in those of NetBIOS' sessions (RFC 1002 section 4.3), which may begin with who speaks to whom.
fn of_smb(mut bytes: &[u8]) -> Detected {
    if let [0x81 | 0x82, 0, high, low, rest @ ..] = bytes {
        let Some(behind) = rest.get(usize::from(u16::from_be_bytes([*high, *low]))..) else {
            return Detected::Unsure;
        };
        bytes = behind;
        if bytes.is_empty() {
            return Detected::Unsure;
        }
    }
    match bytes {
        [0, _, _, _, 0xfc..=0xff, b'S', b'M', b'B', ..] => Detected::Spoken(Protocol::Smb),
        [0, ..] if bytes.len() < 5 => Detected::Unsure,
        [0, _, _, _, 0xfc..=0xff]
        | [0, _, _, _, 0xfc..=0xff, b'S']
        | [0, _, _, _, 0xfc..=0xff, b'S', b'M'] => Detected::Unsure,
        _ => Detected::Nothing,
    }
}

/// A request of SIP, by its method and what it is for, or a response (RFC 3261 sections 7.1 and 7.2).
fn of_sip(line: &[u8]) -> Detected {
    const RESPONSE: &[u8] = b"SIP/2.0 ";
    if line.len() >= 4 && (line.starts_with(RESPONSE) || RESPONSE.starts_with(line)) {
        let is_whole = line.len() >= RESPONSE.len();
        return if is_whole { Detected::Spoken(Protocol::Sip) } else { Detected::Unsure };
    }
    let Some(at) = line.iter().take(SIP_METHOD_BYTES_MAX + 1).position(|byte| *byte == b' ') else {
        return Detected::Nothing;
    };
    let (method, target) = line.split_at(at);
    if !SIP_METHODS.contains(&method) {
        return Detected::Nothing;
    }
    let target = target.get(1..).unwrap_or_default();
    let is_scheme =
        |scheme: &&[u8]| target.get(..scheme.len()).is_some_and(|its| its.eq_ignore_ascii_case(scheme));
    if SIP_SCHEMES.iter().any(is_scheme) {
        return Detected::Spoken(Protocol::Sip);
    }
    let may_be =
        |scheme: &&[u8]| scheme.get(..target.len()).is_some_and(|its| its.eq_ignore_ascii_case(target));
    if SIP_SCHEMES.iter().any(may_be) { Detected::Unsure } else { Detected::Nothing }
}

/// Servers of mail and of files both begin with 220: they say which they are, or the client does.
fn of_greeting(bytes: &[u8], port: u16) -> Detected {
    let says = |word: &[u8]| bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    match () {
        () if says(b"SMTP") => Detected::Spoken(Protocol::Smtp),
        () if says(b"FTP") => Detected::Spoken(Protocol::Ftp),
        () if matches!(port, 25 | 587 | 2525) => Detected::Spoken(Protocol::Smtp),
        () if port == 21 => Detected::Spoken(Protocol::Ftp),
        () => Detected::Unsure,
    }
}

/// Over TCP, on its port.
fn of_dns(bytes: &[u8]) -> Detected {
    match Stream::looks_like(bytes) {
        Some(true) => Detected::Spoken(Protocol::Dns),
        Some(false) => Detected::Nothing,
        None => Detected::Unsure,
    }
}

fn begins(line: &[u8], words: &[&[u8]]) -> Detected {
    let mut found = Detected::Nothing;
    for word in words {
        let length = word.len().min(line.len());
        if line.get(..length).is_some_and(|head| head.eq_ignore_ascii_case(&word[..length])) {
            if length == word.len() {
                return Detected::Spoken(Protocol::Unknown);
            }
            found = Detected::Unsure;
        }
    }
    found
}

fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').next().filter(|line| line.ends_with(b"\n"))
}

fn is_request_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let version = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    version.starts_with(b"HTTP/") && line.contains(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings() {
        use Detected::{Nothing, Spoken, Unsure};
        use Protocol::{Dns, Ftp, Http, Pop3, Sip, Smb, Smtp, Ssh, Tls};
        let cases: [(&[u8], &[u8], u16, Detected); 26] = [
            (b"GET / HTTP/1.1\r\n", b"", 9999, Spoken(Http)),
            (b"\r\nget /", b"", 80, Spoken(Http)),
            (b"GE", b"", 80, Unsure),
            (b"FOO / HTTP/1.1\r\n", b"", 80, Spoken(Http)),
            (b"", b"HTTP/1.0 200 OK\r\n", 80, Spoken(Http)),
            (b"", b"220 mx ESMTP\r\n", 9999, Spoken(Smtp)),
            (b"EHLO a\r\n", b"", 9999, Spoken(Smtp)),
            (b"", b"220 hello\r\n", 21, Spoken(Ftp)),
            (b"", b"220 ProFTPD\r\n", 9999, Spoken(Ftp)),
            (b"USER a\r\n", b"220 hello\r\n", 9999, Spoken(Ftp)),
            (b"USER a\r\n", b"+OK\r\n", 9999, Spoken(Pop3)),
            (b"", b"+OK hello\r\n", 9999, Spoken(Pop3)),
            (b"\x16\x03\x01\x02\x00\x01\x00", b"", 9999, Spoken(Tls)),
            (b"\x00\x1d\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00", b"", 53, Spoken(Dns)),
            (b"\x00\x01\x02\x03\x04\x05\x06\x07\x08", b"\x00\x01\x02\x03\x04\x05\x06", 9999, Nothing),
            (b"", b"", 80, Unsure),
            (b"SSH-2.0-x\r\n", b"SSH-2.0-y\r\n", 22, Spoken(Ssh)),
            (b"", b"SSH-1.99-y\r\n", 9999, Spoken(Ssh)),
            (b"SS", b"", 22, Unsure),
            (b"\0\0\0\x40\xfeSMB\x40\0", b"", 9999, Spoken(Smb)),
            (b"\x81\0\0\x04abcd\0\0\0\x40\xffSMB\x72", b"\x82\0\0\0", 139, Spoken(Smb)),
            (b"\x81\0\0\x44abcd", b"", 139, Unsure),
            (b"OPTIONS sip:a@example SIP/2.0\r\n", b"", 5060, Spoken(Sip)),
            (b"OPTIONS s", b"", 5060, Unsure),
            (b"OPTIONS /s HTTP/1.1\r\n", b"", 80, Spoken(Http)),
            (b"", b"SIP/2.0 200 OK\r\n", 5060, Spoken(Sip)),
        ];
        for (client, server, port, expected) in cases {
            assert_eq!(
                detect(client, server, port),
                expected,
                "{} {}",
                client.escape_ascii(),
                server.escape_ascii()
            );
        }
    }
}
