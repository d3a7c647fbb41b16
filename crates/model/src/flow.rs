//! Who talks to whom, and about what: [`Flow`] and [`Transaction`]. Rule: known before the first byte of content.

use std::fmt;
use std::net::SocketAddr;

/// What is spoken on a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Mail on its way to a server (RFC 5321).
    Smtp,
    /// Mail fetched by its reader (RFC 1939).
    Pop3,
    /// The web (RFC 9110).
    Http,
    /// No network: `lockgate scan`.
    File,
    /// Names of hosts (RFC 1035).
    Dns,
    /// Files, the control connection (RFC 959).
    Ftp,
    /// Files, a connection for one of them.
    FtpData,
    /// TLS that nobody intercepts (RFC 8446): its handshake.
    Tls,
    /// Files and printers of Windows ([MS-SMB2]): known by its messages, and not taken apart.
    Smb,
    /// Remote shells (RFC 4253): known by what both sides begin with, and not taken apart.
    Ssh,
    /// Calls (RFC 3261): known by its first lines, and not taken apart.
    Sip,
    /// On the wire, what is none of the others, or not known yet.
    Unknown,
}

impl Protocol {
    /// The name used in configuration and in EVE's `app_proto`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smtp => "smtp",
            Self::Pop3 => "pop3",
            Self::Http => "http",
            Self::File => "file",
            Self::Dns => "dns",
            Self::Ftp => "ftp",
            Self::FtpData => "ftp-data",
            Self::Tls => "tls",
            Self::Smb => "smb",
            Self::Ssh => "ssh",
            Self::Sip => "sip",
            Self::Unknown => "failed",
        }
    }
}

/// What the content of a flow is protected by on the client's side, where it is called something else for that: `https`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Security {
    /// Nothing.
    #[default]
    Clear,
    /// TLS.
    Tls,
}

/// Which way the content goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client: a mail by SMTP, an upload.
    ToServer,
    /// To the client: a mail by POP3, a download.
    ToClient,
}

impl Direction {
    /// The other way.
    pub fn reverse(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}

/// Whose fault an error is: it decides whether the client retries, and what is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The client's side.
    Downstream,
    /// The server's side.
    Upstream,
    /// The gateway's own: a limit met, a disk full.
    Ours,
}

/// One connection through the gateway.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Unique within the process; EVE's `flow_id`.
    pub id: u64,
    /// What is spoken.
    pub protocol: Protocol,
    /// What protects it.
    pub security: Security,
    /// The client, as it is known after XCLIENT or PROXY.
    pub client: SocketAddr,
    /// Where the client connected to.
    pub server: SocketAddr,
    /// The listener's name in the configuration.
    pub listener: String,
}

/// A transaction's name in logs and replies: short, readable over the telephone, unique in practice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransactionId(pub u64);

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Crockford's base 32: no I, L, O, U, so that it survives being read aloud.
        const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        for shift in (0..13).rev() {
            let digit = (self.0 >> (shift * 5)) & 31;
            write!(f, "{}", char::from(DIGITS[digit as usize]))?;
        }
        Ok(())
    }
}

impl std::str::FromStr for TransactionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut value: u64 = 0;
        if text.len() != 13 {
            return Err(format!("a transaction id has 13 characters, {text:?} has {}", text.len()));
        }
        for c in text.bytes() {
            let c = c.to_ascii_uppercase();
            let digit = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ".iter().position(|d| *d == c);
            let digit =
                digit.ok_or_else(|| format!("{:?} is no digit of a transaction id", char::from(c)))?;
            value = value.wrapping_shl(5) | digit as u64;
        }
        Ok(Self(value))
    }
}

/// One mail, one HTTP exchange, one file.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Its name in logs and replies.
    pub id: TransactionId,
    /// Which way its content goes.
    pub direction: Direction,
    /// The policy group that judges it.
    pub group: String,
    /// A mail's envelope sender, `None` where there is no envelope.
    pub sender: Option<String>,
    /// A mail's envelope recipients.
    pub recipients: Vec<String>,
    /// What a file is called that comes as the transaction: that of `lockgate scan`, that of FTP.
    pub name: Option<String>,
    /// How many bytes its content has, where that is certain and not only said by whoever sends it.
    pub length: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transaction_id_reads_back() {
        for id in [0, 1, 31, 32, 0x0123_4567_89ab_cdef, u64::MAX] {
            let id = TransactionId(id);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert!("short".parse::<TransactionId>().is_err());
        assert!("UUUUUUUUUUUUU".parse::<TransactionId>().is_err());
    }
}
