//! The sticky buffers of rules: [`Sticky`]. Rule: one table says how each is called, and of what it is.

use super::header::Protocol;

/// Which side's bytes a buffer is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
    Either,
}

macro_rules! sticky_buffers {
    ($($(#[$doc:meta])* $variant:ident $name:literal $others:expr, $protocol:expr, $side:ident;)*) => {
        /// A named view that contents are looked for in, until the next one is named.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub(crate) enum Sticky {
            $($(#[$doc])* $variant,)*
        }

        impl Sticky {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in rules.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Other names of it.
            fn others(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &$others,)* }
            }

            /// The protocol that it is of; `None` for any.
            pub fn protocol(self) -> Option<Protocol> {
                match self { $(Self::$variant => $protocol,)* }
            }

            /// Whose bytes it is of.
            pub fn side(self) -> Side {
                match self { $(Self::$variant => Side::$side,)* }
            }
        }
    };
}

const HTTP: Option<Protocol> = Some(Protocol::Http);
const SMTP: Option<Protocol> = Some(Protocol::Smtp);
const DNS: Option<Protocol> = Some(Protocol::Dns);
const FTP: Option<Protocol> = Some(Protocol::Ftp);
const TLS: Option<Protocol> = Some(Protocol::Tls);

sticky_buffers! {
    /// The packet's payload, or the stream.
    Payload "pkt_data" ["payload"], None, Either;
    /// What `base64_decode` has decoded.
    Base64Data "base64_data" [], None, Either;
    FileData "file.data" ["file_data"], None, Either;
    FileName "file.name" [], None, Either;
    FileMagic "file.magic" [], None, Either;
    /// The digest of a file, once it has ended.
    FileMd5 "file.md5" [], None, Either;
    FileSha1 "file.sha1" [], None, Either;
    FileSha256 "file.sha256" [], None, Either;
    HttpUri "http.uri" ["http_uri"], HTTP, Client;
    HttpUriRaw "http.uri.raw" ["http_raw_uri", "http.raw_uri"], HTTP, Client;
    HttpMethod "http.method" ["http_method"], HTTP, Client;
    HttpRequestLine "http.request_line" ["http_request_line"], HTTP, Client;
    HttpRequestBody "http.request_body" ["http_client_body", "http.client_body"], HTTP, Client;
    HttpHeader "http.header" ["http_header"], HTTP, Either;
    HttpHeaderRaw "http.header.raw" ["http_raw_header", "http.raw_header"], HTTP, Either;
    HttpRequestHeader "http.request_header" [], HTTP, Client;
    HttpResponseHeader "http.response_header" [], HTTP, Server;
    HttpHeaderNames "http.header_names" ["http_header_names"], HTTP, Either;
    HttpCookie "http.cookie" ["http_cookie"], HTTP, Either;
    HttpUserAgent "http.user_agent" ["http_user_agent"], HTTP, Client;
    HttpHost "http.host" ["http_host"], HTTP, Client;
    HttpHostRaw "http.host.raw" ["http_raw_host", "http.raw_host"], HTTP, Client;
    HttpAccept "http.accept" ["http_accept"], HTTP, Client;
    HttpAcceptEncoding "http.accept_enc" ["http_accept_enc"], HTTP, Client;
    HttpAcceptLanguage "http.accept_lang" ["http_accept_lang"], HTTP, Client;
    HttpReferer "http.referer" ["http_referer"], HTTP, Client;
    HttpConnection "http.connection" ["http_connection"], HTTP, Either;
    HttpContentLength "http.content_len" ["http_content_len"], HTTP, Either;
    HttpContentType "http.content_type" ["http_content_type"], HTTP, Either;
    HttpProtocol "http.protocol" ["http_protocol"], HTTP, Either;
    HttpStart "http.start" ["http_start"], HTTP, Either;
    HttpStatusCode "http.stat_code" ["http_stat_code"], HTTP, Server;
    HttpStatusMessage "http.stat_msg" ["http_stat_msg"], HTTP, Server;
    HttpResponseLine "http.response_line" ["http_response_line"], HTTP, Server;
    HttpResponseBody "http.response_body" ["http_server_body", "http.server_body"], HTTP, Server;
    HttpServer "http.server" ["http_server"], HTTP, Server;
    HttpLocation "http.location" ["http_location"], HTTP, Server;
    SmtpHelo "smtp.helo" [], SMTP, Client;
    SmtpMailFrom "smtp.mail_from" [], SMTP, Client;
    SmtpRcptTo "smtp.rcpt_to" [], SMTP, Client;
    EmailFrom "email.from" [], SMTP, Either;
    EmailTo "email.to" [], SMTP, Either;
    EmailCc "email.cc" [], SMTP, Either;
    EmailSubject "email.subject" [], SMTP, Either;
    EmailDate "email.date" [], SMTP, Either;
    EmailMessageId "email.message_id" [], SMTP, Either;
    EmailMailer "email.x_mailer" [], SMTP, Either;
    EmailUrl "email.url" [], SMTP, Client;
    EmailReceived "email.received" [], SMTP, Either;
    EmailBodyMd5 "email.body_md5" [], SMTP, Client;
    DnsQuery "dns.query" ["dns_query"], DNS, Client;
    DnsQueryName "dns.query.name" ["dns.queries.rrname"], DNS, Either;
    DnsAnswerName "dns.answer.name" ["dns.answers.rrname"], DNS, Server;
    DnsAuthorityName "dns.authorities.rrname" [], DNS, Server;
    DnsAdditionalName "dns.additionals.rrname" [], DNS, Server;
    DnsOpcode "dns.opcode" [], DNS, Either;
    DnsResponseCode "dns.rcode" [], DNS, Either;
    DnsRecordType "dns.rrtype" [], DNS, Either;
    FtpCommand "ftp.command" [], FTP, Client;
    FtpCommandData "ftp.command_data" [], FTP, Client;
    /// The address of a data connection that a client asks for, where it is not its own.
    FtpBounce "ftpbounce" [], FTP, Client;
    FtpReply "ftp.reply" [], FTP, Server;
    FtpCompletionCode "ftp.completion_code" [], FTP, Server;
    FtpDataCommand "ftpdata_command" ["ftpdata.command"], Some(Protocol::FtpData), Either;
    TlsVersion "tls.version" [], TLS, Either;
    TlsServerName "tls.sni" ["tls_sni"], TLS, Client;
    TlsSubject "tls.cert_subject" ["tls_cert_subject"], TLS, Server;
    TlsIssuer "tls.cert_issuer" ["tls_cert_issuer"], TLS, Server;
    TlsSerial "tls.cert_serial" ["tls_cert_serial"], TLS, Server;
    TlsFingerprint "tls.cert_fingerprint" ["tls_cert_fingerprint"], TLS, Server;
    TlsCertificates "tls.certs" [], TLS, Server;
    TlsAlternativeNames "tls.subjectaltname" [], TLS, Server;
    TlsRandom "tls.random" [], TLS, Either;
    TlsRandomTime "tls.random_time" [], TLS, Either;
    TlsRandomBytes "tls.random_bytes" [], TLS, Either;
    TlsAlpn "tls.alpn" [], TLS, Either;
    Ja3Hash "ja3.hash" ["ja3_hash"], TLS, Client;
    Ja3String "ja3.string" ["ja3_string"], TLS, Client;
    Ja3sHash "ja3s.hash" ["ja3s_hash"], TLS, Server;
    Ja3sString "ja3s.string" ["ja3s_string"], TLS, Server;
    Ja4Hash "ja4.hash" [], TLS, Client;
    /// The bytes of a header.
    Ipv4Header "ipv4.hdr" [], None, Either;
    Ipv6Header "ipv6.hdr" [], None, Either;
    TcpHeader "tcp.hdr" [], None, Either;
    UdpHeader "udp.hdr" [], None, Either;
    Icmpv4Header "icmpv4.hdr" [], None, Either;
    Icmpv6Header "icmpv6.hdr" [], None, Either;
}

impl Sticky {
    /// The buffer of that name.
    pub fn of(name: &str) -> Option<Self> {
        let is_called = |sticky: &&Self| sticky.name() == name || sticky.others().contains(&name);
        Self::ALL.iter().find(is_called).copied()
    }

    /// What the content before the word is looked for in: the words of old that stand behind their content.
    pub fn of_modifier(name: &str) -> Option<Self> {
        const MODIFIERS: [&str; 13] = [
            "http_client_body",
            "http_server_body",
            "http_header",
            "http_raw_header",
            "http_method",
            "http_cookie",
            "http_uri",
            "http_raw_uri",
            "http_stat_code",
            "http_stat_msg",
            "http_user_agent",
            "http_host",
            "http_raw_host",
        ];
        MODIFIERS.contains(&name).then(|| Self::of(name)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_name_is_of_one_buffer() {
        let names =
            Sticky::ALL.iter().flat_map(|sticky| sticky.others().iter().copied().chain([sticky.name()]));
        let names: Vec<&str> = names.collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(Sticky::of("file_data"), Some(Sticky::FileData));
        assert_eq!(Sticky::of_modifier("http_uri"), Some(Sticky::HttpUri));
        assert_eq!(Sticky::of_modifier("file_data"), None);
    }
}
