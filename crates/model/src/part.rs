//! A node in the tree of content, and the named views that rules look into. Rule: a part knows its way from the root.

use crate::FileType;
use std::sync::Arc;

/// Names a part within its transaction; the root is 0, ids are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartId(pub u32);

impl PartId {
    /// The message or file itself.
    pub const ROOT: Self = Self(0);
}

/// One node: message → MIME part → archive entry → …
#[derive(Clone, Debug)]
pub struct Part {
    /// Names it within the transaction.
    pub id: PartId,
    /// The part that it was found in; `None` for the root.
    pub parent: Option<PartId>,
    /// 0 for the root.
    pub depth: u16,
    /// The way from the root, such as `1.2/a.zip/b.exe`: the path of its parent, then the section number or name.
    pub path: Arc<str>,
    /// The name that its container gives, decoded; it is hostile text and may hold anything.
    pub name: Option<Arc<str>>,
    /// The media type that its container declares, in lower case without parameters.
    pub declared: Option<Arc<str>>,
    /// What its first bytes say it is.
    pub detected: FileType,
}

macro_rules! buffers {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// A named view that a rule looks into. Names are those of Suricata's sticky buffers where it has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Buffer {
            $($(#[$doc])* $variant,)*
        }

        impl Buffer {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name used in rules, events and evidence.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

buffers! {
    /// The bytes of a part, decoded once: what a file would hold.
    FileData "file.data";
    /// The payload of a packet, or bytes of a stream, as they came.
    Payload "pkt_data";
    /// The header block of a message or MIME entity, as received.
    MailHeader "mail.header";
    /// The method of a request.
    HttpMethod "http.method";
    /// The host that a request is for: lower case, no port, no dot at its end; an IPv6 address without brackets.
    HttpHost "http.host";
    /// Path and query of a request, percent escapes of unreserved characters undone (RFC 3986 section 6.2.2).
    HttpUri "http.uri";
    /// The `User-Agent` of a request.
    HttpUserAgent "http.user_agent";
    /// The lines of a request's header, `Name: value` and CRLF each, without those of the connection.
    HttpHeader "http.header";
    /// The `Content-Type` of a response as its server says it: the media type, and behind `;` its parameters.
    HttpContentType "http.content_type";
    /// The first line of a request as it came, without its end.
    HttpRequestLine "http.request_line";
    /// The first line of a response as it came, without its end.
    HttpResponseLine "http.response_line";
    /// The lines of a response's header, `Name: value` and CRLF each, without those of the connection.
    HttpResponseHeader "http.response_header";
    /// The name that a client of SMTP gives itself by HELO or EHLO.
    SmtpHelo "smtp.helo";
    /// A mail's envelope sender, without angle brackets.
    SmtpMailFrom "smtp.mail_from";
    /// One of a mail's envelope recipients, without angle brackets.
    SmtpRcptTo "smtp.rcpt_to";
    /// The verb of a command of FTP, as it came.
    FtpCommand "ftp.command";
    /// What follows the verb of a command of FTP.
    FtpCommandData "ftp.command_data";
    /// The text of a reply of FTP, a line of it, without its code.
    FtpReply "ftp.reply";
    /// The three digits of a reply of FTP.
    FtpCompletionCode "ftp.completion_code";
    /// The command that a data connection of FTP is for: `retr`, `stor`.
    FtpDataCommand "ftpdata_command";
    /// A name that is asked for, in the form of names as they are written, without the dot at its end.
    DnsQuery "dns.query";
    /// The same, of what is asked in either direction.
    DnsQueryName "dns.query.name";
    /// The name that a record of the answer section is about.
    DnsAnswerName "dns.answer.name";
    /// The name that a record of the authority section is about.
    DnsAuthorityName "dns.authorities.rrname";
    /// The name that a record of the additional section is about.
    DnsAdditionalName "dns.additionals.rrname";
    /// The opcode of a message of DNS, in decimal digits.
    DnsOpcode "dns.opcode";
    /// The response code of a message of DNS, in decimal digits.
    DnsResponseCode "dns.rcode";
    /// The type of a question, in decimal digits.
    DnsRecordType "dns.rrtype";
    /// The version that is spoken, as two bytes (RFC 8446 section 4.2.1).
    TlsVersion "tls.version";
    /// The host that a ClientHello names (RFC 6066 section 3).
    TlsServerName "tls.sni";
    /// The subject of the server's certificate, `C=.., O=.., CN=..`.
    TlsSubject "tls.cert_subject";
    /// Its issuer, in the same form.
    TlsIssuer "tls.cert_issuer";
    /// Its serial number, upper-case hexadecimal digits with a colon between bytes.
    TlsSerial "tls.cert_serial";
    /// Its SHA-1, lower-case hexadecimal digits with a colon between bytes.
    TlsFingerprint "tls.cert_fingerprint";
    /// A certificate of the chain, as DER.
    TlsCertificates "tls.certs";
    /// A name of its subjectAltName.
    TlsAlternativeNames "tls.subjectaltname";
    /// The 32 random bytes of a hello.
    TlsRandom "tls.random";
    /// A protocol that a hello offers or chooses (RFC 7301).
    TlsAlpn "tls.alpn";
    /// The MD5 of `ja3.string`, lower-case hexadecimal digits.
    Ja3Hash "ja3.hash";
    /// What a ClientHello offers, as JA3 writes it.
    Ja3String "ja3.string";
    /// The MD5 of `ja3s.string`.
    Ja3sHash "ja3s.hash";
    /// What a ServerHello chooses, as JA3S writes it.
    Ja3sString "ja3s.string";
    /// What a ClientHello offers, as JA4 writes it.
    Ja4Hash "ja4.hash";
}

/// One bit for each in a word.
const _: () = assert!(Buffer::ALL.len() <= 64);

/// Which buffers an engine asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BufferSet(u64);

impl BufferSet {
    /// No buffer at all.
    pub const EMPTY: Self = Self(0);

    /// This set with one more.
    #[must_use]
    pub const fn with(self, buffer: Buffer) -> Self {
        Self(self.0 | 1 << buffer as u8)
    }

    /// What is in either.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the buffer is asked for.
    pub const fn contains(self, buffer: Buffer) -> bool {
        self.0 & (1 << buffer as u8) != 0
    }
}
