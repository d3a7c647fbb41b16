//! What an EHLO reply announces, and what is announced to the client. Rule: nothing is offered that one side cannot do.

use super::reply::Reply;

macro_rules! extensions {
    ($($(#[$doc:meta])* $variant:ident $keyword:literal,)*) => {
        /// An extension that the gateway understands. Others are dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Extension { $($(#[$doc])* $variant,)* }

        impl Extension {
            /// All of them, in the order in which they are announced.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// As it is announced.
            pub fn keyword(self) -> &'static str {
                match self { $(Self::$variant => $keyword,)* }
            }
        }
    };
}

extensions! {
    /// Several commands at once (RFC 2920).
    Pipelining "PIPELINING",
    /// The size of a mail is told beforehand (RFC 1870).
    Size "SIZE",
    /// TLS on this connection (RFC 3207).
    StartTls "STARTTLS",
    /// Authentication (RFC 4954).
    Auth "AUTH",
    /// Eight-bit content (RFC 6152).
    EightBitMime "8BITMIME",
    /// Status codes in replies (RFC 2034).
    EnhancedStatusCodes "ENHANCEDSTATUSCODES",
    /// Notices as the sender wants them (RFC 3461).
    Dsn "DSN",
    /// UTF-8 in addresses and headers (RFC 6531).
    Smtputf8 "SMTPUTF8",
    /// Content in counted chunks (RFC 3030).
    Chunking "CHUNKING",
    /// Whose connection it is, for the rest of the session.
    Xclient "XCLIENT",
    /// Whose mail it is, for logs.
    Xforward "XFORWARD",
}

/// The extensions of one side with their arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    bits: u16,
    size_max: Option<u64>,
    auth: Vec<String>,
    xclient: Vec<String>,
    xforward: Vec<String>,
}

/// Whether a thing is offered to the client now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is.
    Yes,
    /// It is not.
    No,
}

/// What is ours to decide at an EHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms<'a> {
    /// The largest mail that the gateway takes.
    pub size_max: Option<u64>,
    /// STARTTLS: there is a certificate, and TLS has not started.
    pub start_tls: Offer,
    /// AUTH: credentials are safe on both sides, or the configuration allows it.
    pub auth: Offer,
    /// The XCLIENT attributes that this client may set; mostly none.
    pub xclient: &'a [&'a str],
    /// The XFORWARD attributes that this client may set.
    pub xforward: &'a [&'a str],
}

impl Capabilities {
    /// None at all: a server that knows only HELO.
    pub fn none() -> Self {
        Self::default()
    }

    /// What the gateway can do by itself, for a next hop that is no server.
    pub fn ours() -> Self {
        use Extension::{Chunking, Dsn, EightBitMime, EnhancedStatusCodes, Pipelining, Size, Smtputf8};
        let list = [Pipelining, Size, EightBitMime, EnhancedStatusCodes, Dsn, Smtputf8, Chunking];
        list.into_iter().fold(Self::none(), Self::with)
    }

    /// Reads the reply to EHLO; its first line is the server's name. A reply that is not 2xx announces nothing.
    pub fn parse(reply: &Reply) -> Self {
        let mut found = Self::none();
        if !reply.is_completed() {
            return found;
        }
        for line in reply.lines().iter().skip(1) {
            // Old servers write `AUTH=LOGIN` for clients that are older still.
            let mut words = line.split([' ', '=']).filter(|word| !word.is_empty());
            let Some(keyword) = words.next() else { continue };
            let known = Extension::ALL.iter().find(|e| e.keyword().eq_ignore_ascii_case(keyword));
            let Some(&extension) = known else { continue };
            found = found.with(extension);
            let mut arguments = words.map(str::to_ascii_uppercase);
            match extension {
                // RFC 1870 section 4: 0 stands for no limit.
                Extension::Size => {
                    found.size_max = arguments.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                }
                Extension::Auth => extend(&mut found.auth, arguments),
                Extension::Xclient => extend(&mut found.xclient, arguments),
                Extension::Xforward => extend(&mut found.xforward, arguments),
                _ => {}
            }
        }
        found
    }

    /// What is offered to a client in front of a next hop that can do this.
    #[must_use]
    pub fn offered_under(&self, terms: &Terms<'_>) -> Self {
        use Extension::{Chunking, Dsn, EightBitMime, EnhancedStatusCodes, Smtputf8};
        // The gateway takes commands one by one and knows sizes, whatever the next hop does.
        let mut offered = Self::none().with(Extension::Pipelining).with(Extension::Size);
        offered.size_max = [self.size_max, terms.size_max].into_iter().flatten().min();
        for extension in [EightBitMime, EnhancedStatusCodes, Dsn, Smtputf8, Chunking] {
            if self.has(extension) {
                offered = offered.with(extension);
            }
        }
        if terms.start_tls == Offer::Yes {
            offered = offered.with(Extension::StartTls);
        }
        offered.auth = self.auth.iter().filter(|m| can_be_relayed(m)).cloned().collect();
        if terms.auth == Offer::Yes && !offered.auth.is_empty() {
            offered = offered.with(Extension::Auth);
        } else {
            offered.auth.clear();
        }
        offered.xclient = terms.xclient.iter().map(|name| name.to_ascii_uppercase()).collect();
        offered.xforward = terms.xforward.iter().map(|name| name.to_ascii_uppercase()).collect();
        if !offered.xclient.is_empty() {
            offered = offered.with(Extension::Xclient);
        }
        if !offered.xforward.is_empty() {
            offered = offered.with(Extension::Xforward);
        }
        offered
    }

    /// The reply to EHLO that announces this.
    pub fn to_reply(&self, hostname: &str) -> Reply {
        let mut lines = vec![hostname.to_owned()];
        for &extension in Extension::ALL.iter().filter(|e| self.has(**e)) {
            let keyword = extension.keyword();
            let arguments = match extension {
                Extension::Size => self.size_max.map(|n| n.to_string()).unwrap_or_default(),
                Extension::Auth => self.auth.join(" "),
                Extension::Xclient => self.xclient.join(" "),
                Extension::Xforward => self.xforward.join(" "),
                _ => String::new(),
            };
            lines.push(format!("{keyword} {arguments}").trim_end().to_owned());
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        Reply::plain(250, &lines)
    }

    /// Whether an extension is there.
    pub fn has(&self, extension: Extension) -> bool {
        self.bits & 1 << extension as u8 != 0
    }

    /// The same with one more.
    #[must_use]
    pub fn with(mut self, extension: Extension) -> Self {
        self.bits |= 1 << extension as u8;
        self
    }

    /// The same without one.
    #[must_use]
    pub fn without(mut self, extension: Extension) -> Self {
        self.bits &= !(1 << extension as u8);
        self
    }

    /// The largest mail taken; `None` where no limit is told.
    pub fn size_max(&self) -> Option<u64> {
        self.size_max
    }

    /// The mechanisms of AUTH, in capital letters.
    pub fn auth(&self) -> &[String] {
        &self.auth
    }

    /// The attributes of XCLIENT, in capital letters.
    pub fn xclient(&self) -> &[String] {
        &self.xclient
    }

    /// The attributes of XFORWARD, in capital letters.
    pub fn xforward(&self) -> &[String] {
        &self.xforward
    }
}

/// Arguments of hostile length are cut off: no server has so many.
fn extend(list: &mut Vec<String>, words: impl Iterator<Item = String>) {
    for word in words.take(64) {
        if list.len() < 64 && !list.contains(&word) {
            list.push(word);
        }
    }
}

/// Whether authentication works when someone stands between: not if it is bound to the TLS connection (`-PLUS`), to
/// its certificate (`EXTERNAL`), or may bind or encrypt by itself (GSSAPI and its relatives).
pub(crate) fn can_be_relayed(mechanism: &str) -> bool {
    let bound = ["EXTERNAL", "GSSAPI", "GSS-SPNEGO", "NTLM"];
    let is = |name: &str| mechanism.eq_ignore_ascii_case(name);
    let starts = |prefix: &str| mechanism.get(..prefix.len()).is_some_and(|m| m.eq_ignore_ascii_case(prefix));
    let is_plus = mechanism.len() >= 5 && mechanism.to_ascii_uppercase().ends_with("-PLUS");
    !is_plus && !bound.into_iter().any(is) && !starts("GS2-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn postfix() -> Capabilities {
        Capabilities::parse(&Reply::plain(
            250,
            &[
                "mx.example",
                "PIPELINING",
                "SIZE 10240000",
                "VRFY",
                "ETRN",
                "STARTTLS",
                "AUTH PLAIN LOGIN SCRAM-SHA-256 SCRAM-SHA-256-PLUS EXTERNAL GSSAPI",
                "AUTH=PLAIN LOGIN",
                "enhancedstatuscodes",
                "8BITMIME",
                "DSN",
                "SMTPUTF8",
                "CHUNKING",
                "BINARYMIME",
                "LIMITS RCPTMAX=100",
                "XCLIENT NAME ADDR PORT",
                "XFORWARD NAME ADDR",
            ],
        ))
    }

    const TERMS: Terms<'_> =
        Terms { size_max: None, start_tls: Offer::No, auth: Offer::No, xclient: &[], xforward: &[] };

    #[test]
    fn what_is_announced_is_understood() {
        let caps = postfix();
        assert!(Extension::ALL.iter().all(|e| caps.has(*e)));
        assert_eq!(caps.size_max(), Some(10_240_000));
        assert_eq!(caps.auth().len(), 6);
        assert_eq!(caps.xclient(), ["NAME", "ADDR", "PORT"]);
        assert_eq!(Capabilities::parse(&Reply::plain(502, &["no", "SIZE"])), Capabilities::none());
    }

    #[test]
    fn the_offer_is_the_intersection() {
        let offered = postfix().offered_under(&TERMS);
        let text = String::from_utf8(offered.to_reply("gate.example").to_bytes()).expect("text");
        let expected = "250-gate.example\r\n250-PIPELINING\r\n250-SIZE 10240000\r\n250-8BITMIME\r\n\
                        250-ENHANCEDSTATUSCODES\r\n250-DSN\r\n250-SMTPUTF8\r\n250 CHUNKING\r\n";
        assert_eq!(text, expected);
        let poor = Capabilities::none().offered_under(&TERMS);
        assert_eq!(poor.to_reply("g").lines(), ["g", "PIPELINING", "SIZE"]);
    }

    #[test]
    fn the_terms_are_ours() {
        let terms = Terms {
            size_max: Some(1000),
            start_tls: Offer::Yes,
            auth: Offer::Yes,
            xclient: &["addr"],
            xforward: &["NAME", "ADDR"],
        };
        let offered = postfix().offered_under(&terms);
        assert_eq!(offered.size_max(), Some(1000));
        assert_eq!(offered.auth(), ["PLAIN", "LOGIN", "SCRAM-SHA-256"]);
        let lines = offered.to_reply("g").lines().join("\n");
        for line in
            ["SIZE 1000", "STARTTLS", "AUTH PLAIN LOGIN SCRAM-SHA-256", "XCLIENT ADDR", "XFORWARD NAME ADDR"]
        {
            assert!(lines.contains(line), "{line} in {lines}");
        }
        let offered = Capabilities::none().offered_under(&terms);
        assert!(!offered.has(Extension::Auth));
    }

    #[test]
    fn bound_mechanisms_are_known() {
        let cases = [
            ("PLAIN", true),
            ("XOAUTH2", true),
            ("SCRAM-SHA-1", true),
            ("scram-sha-1-plus", false),
            ("External", false),
            ("GSSAPI", false),
            ("GS2-KRB5", false),
            ("NTLM", false),
        ];
        for (mechanism, relayed) in cases {
            assert_eq!(can_be_relayed(mechanism), relayed, "{mechanism}");
        }
    }
}
