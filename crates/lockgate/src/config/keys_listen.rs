//! The settings table of `[[listen]]`. Rule: one row for each key.

use crate::config::draft::{ListenDraft, read_next_hop};
use crate::config::table::{Key, Section, key};
use crate::config::value::Value;
use lockgate_relay::settings::{ClientAddress, Intercept, NextHopTls, Parent, Speaks, Tls, Verify};
use std::sync::Arc;

/// What the section is about.
pub const ABOUT: &str = "One listener; any number of them. What is not for its protocol is ignored.";

/// `[[listen]]`.
pub const LISTEN: Section<ListenDraft> = Section { name: "listen", keys: KEYS, below: &[] };

const KEYS: &[Key<ListenDraft>] = &[
    key("name", "name", "", "Its name in events and policy. Without it, the protocol's.", |d, v| {
        v.name().map(|name| d.name = Some(name))
    }),
    key("protocol", "\"smtp\", \"pop3\" or \"http\"", "\"smtp\"", "What is spoken.", |d, v| {
        let words = [Speaks::Smtp, Speaks::Pop3, Speaks::Http].map(|speaks| (speaks.name(), speaks));
        v.choice(&words).map(|p| d.listener.protocol = p)
    }),
    key(
        "address",
        "address",
        "",
        "Where it listens: IP:PORT. Without it, 127.0.0.1:2525, with http 127.0.0.1:3128.",
        |d, v| {
            d.address_given = true;
            v.address().map(|address| d.listener.address = address)
        },
    ),
    key(
        "intercept",
        "\"explicit\", \"redirect\" or \"tproxy\"",
        "\"explicit\"",
        "How clients come to it: by its address, or intercepted by nft `redirect` or `tproxy`. With `tproxy` the next \
         hop is dialled from the client's own address.",
        |d, v| {
            let words = [
                ("explicit", Intercept::Explicit),
                ("redirect", Intercept::Redirect),
                ("tproxy", Intercept::Tproxy),
            ];
            v.choice(&words).map(|intercept| d.listener.intercept = intercept)
        },
    ),
    key(
        "next_hop",
        "\"HOST:PORT\", \"original\" or \"maildir:PATH\"",
        "",
        "Required, but for http. Where mail goes on to: a server; the destination that an intercepted client meant; or, \
         with smtp, a maildir. A web request goes to where it is for.",
        |d, v| {
            d.next_hop_given = true;
            read_next_hop(v).map(|next_hop| d.listener.next_hop = next_hop)
        },
    ),
    key(
        "tls",
        "\"off\", \"offered\", \"required\" or \"implicit\"",
        "\"off\"",
        "TLS towards clients: STARTTLS (STLS) offered or required, or TLS from the first byte.",
        |d, v| {
            let words = [
                ("off", Tls::Off),
                ("offered", Tls::Offered),
                ("required", Tls::Required),
                ("implicit", Tls::Implicit),
            ];
            v.choice(&words).map(|tls| d.listener.tls = tls)
        },
    ),
    key("certificate", "path", "", "The certificate chain for `tls`, leaf first, PEM.", |d, v| {
        v.path().map(|path| d.certificate = Some(path))
    }),
    key("key", "path", "", "The private key for `certificate`, PEM.", |d, v| {
        v.path().map(|path| d.key = Some(path))
    }),
    key(
        "next_hop_tls",
        "\"off\", \"opportunistic\", \"required\" or \"implicit\"",
        "\"off\"",
        "TLS towards the next hop: never, where it is offered (unverified), always, or from the first byte.",
        |d, v| {
            let words = [
                ("off", NextHopTls::Off),
                ("opportunistic", NextHopTls::Opportunistic),
                ("required", NextHopTls::Required),
                ("implicit", NextHopTls::Implicit),
            ];
            v.choice(&words).map(|tls| d.listener.next_hop_tls = tls)
        },
    ),
    key(
        "next_hop_tls_verify",
        "\"name\" or \"nothing\"",
        "\"name\"",
        "Whether the next hop's certificate must be valid for its name, where TLS is required or implicit.",
        |d, v| {
            let words = [("name", Verify::Name), ("nothing", Verify::Nothing)];
            v.choice(&words).map(|verify| d.listener.next_hop_tls_verify = verify)
        },
    ),
    key("next_hop_tls_name", "name", "", "The name it must be valid for. Without it, next_hop's.", |d, v| {
        v.name().map(|name| d.listener.next_hop_tls_name = Some(name))
    }),
    key(
        "next_hop_ca_file",
        "path",
        "",
        "The roots to check it by, PEM. Without it, the system's.",
        |d, v| v.path().map(|path| d.listener.next_hop_ca_file = Some(path)),
    ),
    key(
        "client_address",
        "\"auto\", \"xclient\", \"xforward\", \"proxy_v1\", \"proxy_v2\" or \"none\"",
        "\"auto\"",
        "How the next hop learns the client's address. `auto`: XCLIENT where it is offered, else XFORWARD, else not \
         at all.",
        |d, v| {
            let words = [
                ("auto", ClientAddress::Auto),
                ("xclient", ClientAddress::Xclient),
                ("xforward", ClientAddress::Xforward),
                ("proxy_v1", ClientAddress::ProxyV1),
                ("proxy_v2", ClientAddress::ProxyV2),
                ("none", ClientAddress::None),
            ];
            v.choice(&words).map(|way| d.listener.client_address = way)
        },
    ),
    key(
        "relay_domains",
        "list of domains",
        "[]",
        "The only recipient domains accepted while the next hop does not learn the client's address by XCLIENT, PROXY \
         or tproxy: it would take every client for the gateway, which it may trust. `*.example.org` is every \
         subdomain.",
        |d, v| {
            v.list(|item| item.name().map(|name| name.to_ascii_lowercase()))
                .map(|domains| d.listener.relay_domains = domains)
        },
    ),
    key("accept_xclient_from", "list of networks", "[]", "Whose XCLIENT is believed (smtp).", |d, v| {
        v.list(|item| item.parsed()).map(|networks| d.listener.accept_xclient_from = networks)
    }),
    key("accept_xforward_from", "list of networks", "[]", "Whose XFORWARD is believed (smtp).", |d, v| {
        v.list(|item| item.parsed()).map(|networks| d.listener.accept_xforward_from = networks)
    }),
    key(
        "accept_proxy_from",
        "list of networks",
        "[]",
        "Who must begin with a PROXY header (version 1 or 2), and is believed.",
        |d, v| v.list(|item| item.parsed()).map(|networks| d.listener.accept_proxy_from = networks),
    ),
    key(
        "hold_bytes",
        "size",
        "\"256 KiB\"",
        "A mail, page or upload of up to so many bytes is held whole until its verdict, so that nothing of it leaves \
         before. A longer one streams while it is scanned; only its end is held.",
        |d, v| v.bytes().map(|n| d.listener.hold_bytes = n),
    ),
    key(
        "tail_bytes",
        "size",
        "\"64 KiB\"",
        "Of a longer one, the last so many bytes are always held (pop3, http).",
        |d, v| v.bytes().map(|n| d.listener.tail_bytes = n),
    ),
    key(
        "tail_time_max",
        "time",
        "\"100 ms\"",
        "Of a stream that says little at a time (`text/event-stream`, gRPC, WebSocket), they are held for so long at most: \
         what was scanned until then leaves (http).",
        |d, v| v.duration().map(|time| d.listener.tail_time_max = time),
    ),
    key(
        "message_bytes_max",
        "size",
        "\"50 MiB\"",
        "The longest mail accepted, offered as SIZE (smtp).",
        |d, v| v.bytes().map(|n| d.listener.message_bytes_max = n),
    ),
    key("recipients_max", "number", "1000", "Recipients in one mail (smtp).", |d, v| {
        v.number(1).map(|n| d.listener.recipients_max = n)
    }),
    key("commands_max", "number", "10000", "Commands in one session.", |d, v| {
        v.number(1).map(|n| d.listener.commands_max = n)
    }),
    key("errors_max", "number", "20", "Commands in one session that may fail; then it is closed.", |d, v| {
        v.number(1).map(|n| d.listener.errors_max = n)
    }),
    key(
        "connections_per_client_max",
        "number",
        "100",
        "Connections of one client address at once.",
        |d, v| v.number(1).map(|n| d.listener.connections_per_client_max = n),
    ),
    key(
        "next_hop_connections_max",
        "number",
        "1000",
        "Connections to the next hop at once; who comes after that gets 421.",
        |d, v| v.number(1).map(|n| d.listener.next_hop_connections_max = n),
    ),
    key(
        "plaintext_credentials_upstream",
        "true or false",
        "false",
        "Whether credentials received under TLS may go on to the next hop in clear.",
        |d, v| v.switch().map(|switch| d.listener.plaintext_credentials_upstream = switch),
    ),
    key(
        "trace_header",
        "true or false",
        "true",
        "Whether each mail gets a Received field (smtp).",
        |d, v| v.switch().map(|switch| d.listener.trace_header = switch),
    ),
    key(
        "chunking",
        "true or false",
        "true",
        "Whether CHUNKING is used towards a next hop that offers it: then a rejected mail costs no connection.",
        |d, v| v.switch().map(|switch| d.listener.chunking = switch),
    ),
    key(
        "users",
        "path",
        "",
        "Who may use the proxy (http): a file of `NAME:HASH` as `htpasswd -B` writes it, read anew on SIGHUP. Clients are \
         asked for a name and password (407, Basic); intercepted ones, which know of no proxy, are not. Without it, \
         everybody may.",
        |d, v| v.path().map(|path| d.listener.users = Some(path)),
    ),
    key(
        "realm",
        "name",
        "\"Lockgate\"",
        "What clients are told that they give a name and password for (http).",
        |d, v| {
            let realm = v.name()?;
            if realm.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
                return Err("quotes, backslashes and control characters cannot be sent in it".to_owned());
            }
            d.listener.realm = realm;
            Ok(())
        },
    ),
    key(
        "connect_ports",
        "list of ports",
        "[443]",
        "The ports that CONNECT may lead to (http): anything could be spoken there, unseen.",
        |d, v| v.list(|item| item.number(1)).map(|ports| d.listener.connect_ports = ports),
    ),
    key(
        "range_hosts",
        "list of hosts",
        "[]",
        "Hosts that may be asked for ranges (http), written as in `no_upstream`. What they send then is `partial`. Any other \
         is asked for the whole, which is inspected, and the client gets its range of that.",
        |d, v| v.names().map(|names| d.listener.range_hosts = names.into_iter().collect()),
    ),
    key(
        "range_types",
        "list of media types",
        "[]",
        "The only types that they may send ranges of, such as `video/mp4`. Empty: any.",
        |d, v| {
            v.list(|item| item.name().map(|name| name.to_ascii_lowercase()))
                .map(|types| d.listener.range_types = types)
        },
    ),
    key(
        "upgrades",
        "list of protocols",
        "[\"websocket\"]",
        "The protocols that a client and a server may change to by `Upgrade` (http). Of WebSocket the messages are \
         inspected; of any other, the bytes as they are. What is not listed is not asked for.",
        |d, v| {
            let listed = |item: Value<'_>| match item.name()?.to_ascii_lowercase() {
                name if name == "h2c" => {
                    Err("h2c is never changed to: it would lead past the inspection".to_owned())
                }
                name => Ok(name),
            };
            v.list(listed).map(|names| d.listener.upgrades = names)
        },
    ),
    key(
        "upstream",
        "proxy",
        "",
        "The proxy behind this one (http): `http://HOST:PORT`, or `socks5://HOST:PORT`, which then looks names up. With a login: \
         `http://USER:PASSWORD@HOST:PORT`. What the gateway refuses is refused before it is asked.",
        |d, v| v.parsed().map(|parent: Parent| d.listener.upstream = Some(Arc::new(parent))),
    ),
    key(
        "no_upstream",
        "list of hosts",
        "[]",
        "Hosts that are gone to without it: `example.org`, `.example.org` with all subdomains, or networks, which are \
         compared with addresses in place of a name.",
        |d, v| v.names().map(|names| d.listener.no_upstream = names.into_iter().collect()),
    ),
    key(
        "intercept_tls",
        "true or false",
        "false",
        "Whether TLS is intercepted (http), as `[tls_interception]` says: clients need the gateway's authority for it. Where it          is not, the name that a client asks for is judged, and nothing else is seen.",
        |d, v| v.switch().map(|switch| d.listener.intercept_tls = switch),
    ),
    key("connect_timeout", "time", "\"30 s\"", "For the next hop to accept the connection.", |d, v| {
        v.duration().map(|time| d.listener.timeouts.connect = time)
    }),
    key(
        "greeting_timeout",
        "time",
        "\"5 min\"",
        "For the next hop's greeting (RFC 5321 4.5.3.2.1).",
        |d, v| v.duration().map(|time| d.listener.timeouts.greeting = time),
    ),
    key("handshake_timeout", "time", "\"30 s\"", "For a TLS handshake, on either side.", |d, v| {
        v.duration().map(|time| d.listener.timeouts.handshake = time)
    }),
    key(
        "command_timeout",
        "time",
        "\"5 min\"",
        "For the client's next command (4.5.3.2.7; RFC 1939 asks for 10 min with pop3) or request, and for the next \
         bytes of either side behind CONNECT (http).",
        |d, v| v.duration().map(|time| d.listener.timeouts.command = time),
    ),
    key(
        "reply_timeout",
        "time",
        "\"5 min\"",
        "For the next hop's reply to a command (4.5.3.2.2), or the head of its response (http).",
        |d, v| v.duration().map(|time| d.listener.timeouts.reply = time),
    ),
    key("data_initiation_timeout", "time", "\"2 min\"", "For the next hop's 354 (4.5.3.2.4).", |d, v| {
        v.duration().map(|time| d.listener.timeouts.data_initiation = time)
    }),
    key(
        "data_block_timeout",
        "time",
        "\"3 min\"",
        "For the next bytes of a mail, page or upload to come, or to go out (4.5.3.2.5).",
        |d, v| v.duration().map(|time| d.listener.timeouts.data_block = time),
    ),
    key(
        "data_termination_timeout",
        "time",
        "\"10 min\"",
        "For the next hop's reply to the end of a mail (4.5.3.2.6).",
        |d, v| v.duration().map(|time| d.listener.timeouts.data_termination = time),
    ),
];
