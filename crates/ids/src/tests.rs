//! Rules over whole transactions, at every cut. Rule: what is told does not depend on how the bytes came.

use crate::stream::{PIECE_BYTES, STEP_BYTES};
use crate::{Database, Sources};
use lockgate_model::{
    Buffer, Class, Database as _, Direction, FileType, Flow, FlowState, Hit, Part, PartId, Protocol, Reason,
    Security, Sink, Transaction, TransactionId, Want,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn compiled(rules: &str) -> Arc<Database> {
    let mut sources = Sources::new();
    sources.add("test.rules", rules.as_bytes());
    let seconds = AtomicU64::new(0);
    let (database, report) = sources.compile(Arc::new(move || seconds.fetch_add(1, Ordering::Relaxed)));
    assert_eq!(report.failures, []);
    assert_eq!(report.both, rules.lines().count() as u64, "{report:?}");
    Arc::new(database)
}

fn flow(protocol: Protocol) -> Flow {
    Flow {
        id: 1,
        protocol,
        security: Security::Clear,
        client: "192.168.0.2:40000".parse().unwrap(),
        server: "192.0.2.1:80".parse().unwrap(),
        listener: "web".to_owned(),
    }
}

fn about(direction: Direction) -> Transaction {
    Transaction {
        id: TransactionId(1),
        direction,
        group: "default".to_owned(),
        sender: None,
        recipients: Vec::new(),
        name: None,
        length: None,
    }
}

fn part(id: u32) -> Part {
    Part {
        id: PartId(id),
        parent: (id > 0).then_some(PartId::ROOT),
        depth: u16::from(id > 0),
        path: format!("{id}").into(),
        name: None,
        declared: None,
        detected: FileType::Text,
    }
}

#[derive(Default)]
struct Found(Vec<(u32, Class, Buffer, Option<u64>)>);

impl Sink for Found {
    fn incomplete(&mut self, _part: PartId, reason: Reason) {
        panic!("not inspected: {reason:?}");
    }

    fn hit(&mut self, hit: Hit) {
        let id = hit.signature.as_ref().map_or(0, |signature| signature.id);
        self.0.push((id, hit.class, hit.buffer, hit.offset));
    }
}

/// One request, or one response.
struct Message<'a> {
    line: &'a str,
    header: &'a str,
    content: &'a [u8],
}

impl Message<'_> {
    fn run(&self, flow: &mut dyn FlowState, direction: Direction, piece: usize) -> Found {
        let (mut found, root) = (Found::default(), part(0));
        let mut scanner = flow.open(&about(direction));
        let (line, header) = match direction {
            Direction::ToServer => (Buffer::HttpRequestLine, Buffer::HttpHeader),
            Direction::ToClient => (Buffer::HttpResponseLine, Buffer::HttpResponseHeader),
        };
        for (buffer, bytes) in [(line, self.line.as_bytes()), (header, self.header.as_bytes())] {
            scanner.push(root.id, buffer, bytes, &mut found);
            scanner.end(root.id, buffer, &mut found);
        }
        if scanner.open(&root) == Want::More {
            for chunk in self.content.chunks(piece.max(1)) {
                scanner.push(root.id, Buffer::FileData, chunk, &mut found);
            }
            scanner.end(root.id, Buffer::FileData, &mut found);
        }
        scanner.close(root.id, &mut found);
        scanner.finish(&mut found);
        found
    }
}

fn ids(found: &Found) -> Vec<u32> {
    found.0.iter().map(|(id, ..)| *id).collect()
}

const GET: Message<'static> = Message {
    line: "GET /a/../x.php?id=%31 HTTP/1.1",
    header: "Host: www.example\r\nUser-Agent: probe\r\nCookie: c=d\r\n",
    content: b"",
};

#[test]
fn the_buffers_of_a_request() {
    let rules = r#"alert http any any -> any any (msg:"1"; http.uri; content:"/x.php?id=1"; startswith; endswith; sid:1;)
alert http any any -> any any (msg:"2"; flow:established,to_server; content:"GET"; http_method; content:"x.php"; http_uri; content:"probe"; http_user_agent; sid:2;)
alert http any any -> any any (msg:"3"; http.host; dotprefix; content:".example"; endswith; sid:3;)
alert http any any -> any any (msg:"4"; http.header; content:!"Cookie"; http.cookie; content:"c=d"; bsize:3; sid:4;)
alert http any any -> any any (msg:"5"; http.uri.raw; pcre:"/%3[0-9]$/"; sid:5;)
alert http any any -> any any (msg:"6"; http.uri; content:"/y.php"; sid:6;)
alert http any any -> any any (msg:"7"; flow:to_client; http.stat_code; content:"200"; sid:7;)
drop tcp any any -> any any (msg:"8"; urilen:>10; http.uri; content:"x.php"; sid:8;)
alert http 10.0.0.0/8 any -> any any (msg:"9"; http.uri; content:"x.php"; sid:9;)
alert smtp any any -> any any (msg:"10"; file.data; content:"x.php"; sid:10;)"#;
    let database = compiled(rules);
    let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
    let mut found = ids(&GET.run(&mut *flow, Direction::ToServer, 1));
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3, 4, 5, 8]);
}

#[test]
fn streams_are_the_same_at_every_cut() {
    let rules = r#"alert http any any -> any any (msg:"1"; flow:to_client; file.data; content:"begin"; content:"end"; distance:4; within:20; sid:1;)
alert http any any -> any any (msg:"2"; flow:to_client; file_data; content:"tail"; endswith; sid:2;)
alert http any any -> any any (msg:"3"; flow:to_client; file_data; content:"never"; offset:5; sid:3;)
alert http any any -> any any (msg:"4"; flow:to_client; http.stat_code; content:"200"; file_data; content:"begin"; depth:50; sid:4;)
drop http any any -> any any (msg:"5"; flow:to_client; http.response_body; content:"far"; content:"away"; distance:0; sid:5;)
alert http any any -> any any (msg:"6"; flow:to_client; file_data; content:"begin"; depth:10; sid:6;)"#;
    let database = compiled(rules);
    let mut content = vec![b'.'; 3 * PIECE_BYTES];
    let mut put = |at: usize, text: &[u8]| content[at..at + text.len()].copy_from_slice(text);
    put(40, b"begin");
    put(STEP_BYTES - 3, b"begin and end");
    put(2 * PIECE_BYTES - 5, b"far and away");
    let length = content.len();
    content[length - 4..].copy_from_slice(b"tail");
    let message = Message { line: "HTTP/1.1 200 OK", header: "Server: s\r\n", content: &content };
    let run = |piece: usize| {
        let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
        let mut found = message.run(&mut *flow, Direction::ToClient, piece).0;
        found.sort_unstable_by_key(|(id, ..)| *id);
        found
    };
    let whole = run(content.len());
    assert_eq!(whole.iter().map(|(id, ..)| *id).collect::<Vec<_>>(), [1, 2, 4, 5]);
    assert_eq!(whole[0].3, Some(STEP_BYTES as u64 - 3));
    assert_eq!(whole[3].1, Class::Intrusion);
    for piece in [1, 7, 1000, STEP_BYTES - 1, STEP_BYTES, STEP_BYTES + 1, PIECE_BYTES, PIECE_BYTES + 1] {
        assert_eq!(run(piece), whole, "in pieces of {piece}");
    }
}

#[test]
fn a_file_is_known_by_its_name() {
    let rules = r#"alert http any any -> any any (msg:"1"; fileext:"exe"; sid:1;)
alert http any any -> any any (msg:"2"; file.name; content:"other"; sid:2;)"#;
    let mut flow = compiled(rules).open_flow(&flow(Protocol::Http));
    let (mut found, mut named) = (Found::default(), part(1));
    named.name = Some("Setup.EXE".into());
    let mut scanner = flow.open(&about(Direction::ToClient));
    scanner.open(&named);
    scanner.end(named.id, Buffer::FileData, &mut found);
    assert_eq!(ids(&found), [1]);
}

#[test]
fn a_flow_remembers_bits_and_numbers() {
    let rules = r#"alert http any any -> any any (msg:"1"; flow:to_server; http.uri; content:"x.php"; flowbits:set,seen; flowbits:noalert; flowint:n,+,1; sid:1;)
alert http any any -> any any (msg:"2"; flow:to_client; http.stat_code; content:"200"; flowbits:isset,seen; sid:2;)
alert http any any -> any any (msg:"3"; flow:to_client; http.stat_code; content:"200"; flowbits:isnotset,seen; sid:3;)
alert http any any -> any any (msg:"4"; flow:to_client; http.stat_code; content:"200"; flowint:n,>=,2; sid:4;)"#;
    let database = compiled(rules);
    let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
    let answer = Message { line: "HTTP/1.1 200 OK", header: "", content: b"" };
    assert_eq!(ids(&answer.run(&mut *flow, Direction::ToClient, 1)), [3]);
    assert_eq!(ids(&GET.run(&mut *flow, Direction::ToServer, 1)), [0_u32; 0]);
    assert_eq!(ids(&answer.run(&mut *flow, Direction::ToClient, 1)), [2]);
    GET.run(&mut *flow, Direction::ToServer, 1);
    assert_eq!(ids(&answer.run(&mut *flow, Direction::ToClient, 1)), [4, 2]);
}

/// Buffers that a protocol fills by itself, in this order.
fn told(rules: &str, protocol: Protocol, direction: Direction, buffers: &[(Buffer, &[u8])]) -> Vec<u32> {
    let mut sources = Sources::new();
    sources.add("test.rules", rules.as_bytes());
    let (database, report) = sources.compile(Arc::new(|| 0));
    assert_eq!((report.failures.len(), database.rules()), (0, rules.lines().count()), "{report:?}");
    let database = Arc::new(database);
    let run = |cut: usize| {
        let mut flow = Arc::clone(&database).open_flow(&flow(protocol));
        let (mut found, mut scanner) = (Found::default(), flow.open(&about(direction)));
        for (buffer, bytes) in buffers {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            scanner.push(PartId::ROOT, *buffer, first, &mut found);
            scanner.push(PartId::ROOT, *buffer, second, &mut found);
            scanner.end(PartId::ROOT, *buffer, &mut found);
        }
        let mut found = ids(&found);
        found.sort_unstable();
        found
    };
    let whole = run(usize::MAX);
    let longest = buffers.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or_default();
    (0..longest).for_each(|cut| assert_eq!(run(cut), whole, "cut at {cut}"));
    whole
}

#[test]
fn what_dns_says_is_asked_of_each_instance() {
    let rules = r#"alert dns any any -> any any (dns.query; content:"evil"; dotprefix; content:".evil.example"; endswith; sid:1;)
alert dns any any -> any any (dns_query; content:"b.example"; dns.opcode:0; sid:2;)
alert dns any any -> any 80 (dns.query; bsize:9; content:"b.example"; sid:3;)
alert dns any any -> any any (dns.opcode:!0; sid:4;)
alert dns any any -> any any (dns.rrtype:28; dns.query; content:"a."; startswith; sid:5;)
alert dns any any -> any any (dns.rcode:3; sid:6;)
alert http any any -> any any (file.data; content:"b.example"; sid:7;)"#;
    let buffers: [(Buffer, &[u8]); 5] = [
        (Buffer::DnsOpcode, b"0"),
        (Buffer::DnsQuery, b"a.evil.example"),
        (Buffer::DnsRecordType, b"1"),
        (Buffer::DnsQuery, b"b.example"),
        (Buffer::DnsRecordType, b"28"),
    ];
    assert_eq!(told(rules, Protocol::Dns, Direction::ToServer, &buffers), [1, 2, 3, 5]);
}

#[test]
fn what_tls_says_is_asked_and_remembered() {
    let rules = r#"alert tls any any -> any any (tls.version:1.2; tls.sni; content:"bad."; startswith; sid:1;)
alert tcp any any -> any any (ssl_version:tls1.0,tls1.2; ssl_state:client_hello; tls.sni; content:"bad"; sid:2;)
alert tls any any -> any any (ssl_version:!tls1.2; tls.sni; content:"bad"; sid:3;)
alert tls any any -> any any (ssl_state:server_hello; tls.sni; content:"bad"; sid:4;)
alert tls any any -> any any (ja3_hash; content:"0123456789abcdef0123456789abcdef"; sid:5;)
alert tls any any -> any any (tls.random_time; bsize:4; sid:6;)
alert tls any any -> any any (tls.version:1.3; sid:7;)"#;
    let buffers: [(Buffer, &[u8]); 4] = [
        (Buffer::TlsRandom, &[7; 32]),
        (Buffer::TlsVersion, &[3, 3]),
        (Buffer::Ja3Hash, b"0123456789abcdef0123456789abcdef"),
        (Buffer::TlsServerName, b"bad.example"),
    ];
    assert_eq!(told(rules, Protocol::Tls, Direction::ToServer, &buffers), [1, 2, 5, 6]);
    let rules = r#"alert tls any any -> any any (tls.subject:"CN=a"; sid:1;)
alert tls any any -> any any (tls.issuerdn:!"CN=a"; sid:2;)
alert tls any any -> any any (tls.cert_serial; content:"01:0A"; bsize:5; ssl_version:tls1.3; sid:3;)"#;
    let buffers: [(Buffer, &[u8]); 3] =
        [(Buffer::TlsSubject, b"O=b, CN=a"), (Buffer::TlsIssuer, b"CN=b"), (Buffer::TlsSerial, b"01:0A")];
    assert_eq!(told(rules, Protocol::Tls, Direction::ToClient, &buffers), [1, 2]);
}

#[test]
fn what_ftp_and_mail_say() {
    let rules = r#"alert ftp any any -> any any (ftp.command; content:"PORT"; ftpbounce; sid:1;)
alert ftp any any -> any any (ftp.command_data; content:"192,168,0,2"; startswith; sid:2;)"#;
    let port =
        |data: &'static [u8]| [(Buffer::FtpCommand, b"PORT".as_slice()), (Buffer::FtpCommandData, data)];
    assert_eq!(told(rules, Protocol::Ftp, Direction::ToServer, &port(b"10,0,0,9,1,2")), [1]);
    assert_eq!(told(rules, Protocol::Ftp, Direction::ToServer, &port(b"192,168,0,2,1,2")), [2]);
    let rules = r#"alert smtp any any -> any any (smtp.rcpt_to; content:"b@"; smtp.helo; content:"host"; sid:1;)
alert smtp any any -> any any (email.subject; content:"one two"; sid:2;)
alert smtp any any -> any any (email.from; content:"one two"; sid:3;)"#;
    let buffers: [(Buffer, &[u8]); 4] = [
        (Buffer::SmtpHelo, b"host"),
        (Buffer::SmtpRcptTo, b"a@example"),
        (Buffer::SmtpRcptTo, b"b@example"),
        (
            Buffer::MailHeader,
            b"Subject: one
 two

",
        ),
    ];
    assert_eq!(told(rules, Protocol::Smtp, Direction::ToServer, &buffers), [1, 2]);
}

#[test]
fn pass_goes_before_others_and_thresholds_count() {
    let rules = r#"alert http any any -> any any (msg:"1"; http.uri; content:"x.php"; threshold:type limit, track by_src, count 1, seconds 60; sid:1;)
pass http any any -> any any (msg:"2"; http.user_agent; content:"friend"; sid:2;)"#;
    let database = compiled(rules);
    let run = |header: &str| {
        let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
        ids(&Message { header, ..GET }.run(&mut *flow, Direction::ToServer, 1))
    };
    assert_eq!(
        run("User-Agent: friend\r\n"),
        [0_u32; 0],
        "a rule lets it pass, whichever buffer comes first"
    );
    assert_eq!(run("Host: a\r\n"), [1]);
    assert_eq!(run("Host: a\r\n"), [0_u32; 0], "the limit is one in a minute");
}

#[test]
fn what_stops_does_so_however_seldom_it_is_told() {
    let rules = r#"drop http any any -> any any (http.uri; content:"x.php"; threshold:type limit, track by_src, count 1, seconds 60; sid:1;)
drop http any any -> any any (http.user_agent; content:"robot"; threshold:type both, track by_src, count 3, seconds 60; sid:2;)
drop http any any -> any any (http.host; content:"hidden"; noalert; sid:3;)
alert http any any -> any any (http.host; content:"hidden"; noalert; sid:4;)"#;
    let database = compiled(rules);
    let run = |header: &str| {
        let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
        ids(&Message { header, ..GET }.run(&mut *flow, Direction::ToServer, 1))
    };
    let often: Vec<_> = (0..4).map(|_| run("User-Agent: robot\r\n")).collect();
    assert_eq!(often, [vec![1], vec![1], vec![1, 2], vec![1, 2]]);
    assert_eq!(run("Host: hidden\r\n"), [1, 3]);
}

#[test]
fn what_is_not_loaded_is_said() {
    let mut sources = Sources::new();
    let rules = "alert tcp any any -> any any (content:\"a\"; lua:x; sid:1;)\nalert dcerpc any any -> any any (content:\"a\"; sid:2;)\n\
        alert tcp any any -> any any (flags:S; sid:3;)\nalert http any any -> any any (http.uri; content:\"a\"; sid:4;)\n\
        alert http any any -> any any (http.uri; content:\"b\"; sid:4;)\n";
    sources.add("dir/some.rules", rules.as_bytes());
    let (database, report) = sources.compile(Arc::new(|| 0));
    assert_eq!((database.rules(), report.both, report.wire, report.rules_failed()), (2, 1, 1, 3));
    let failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    assert_eq!(failures[0], "dir/some.rules:1:44: lua: programs in rules are not run");
    assert!(failures[1].starts_with("dir/some.rules:5: another rule has the number 1:4"));
}

#[test]
fn bytes_of_the_connection_are_asked_where_no_packet_is_seen() {
    let rules = r#"alert http any any -> any any (msg:"1"; flow:established,to_server; content:"probe|0d 0a|Cookie"; sid:1;)
alert http any any -> any any (msg:"2"; content:"|0d 0a 0d 0a|begin"; content:"end"; distance:2; sid:2;)
alert tcp any any -> any 80 (msg:"3"; content:"x.php"; content:"end"; sid:3;)
alert tcp any any -> any 25 (msg:"4"; content:"x.php"; sid:4;)
alert http any any -> any any (msg:"5"; content:"begin"; http.method; content:"GET"; sid:5;)
alert http any any -> any any (msg:"6"; content:"begin"; http.method; content:"POST"; sid:6;)
alert smtp any any -> any any (msg:"7"; content:"begin"; sid:7;)
drop http any any -> any any (msg:"8"; flow:to_server; content:"begin"; depth:5; sid:8;)
alert http any any -> any any (msg:"9"; content:"far"; content:"away"; distance:1500; within:600; isdataat:!1,relative; sid:9;)
alert http any any -> any any (msg:"10"; content:"farther"; sid:10;)"#;
    // Where rules look at the content, too, it is searched for both at once.
    let both = format!("{rules}\nalert http any any -> any any (file.data; content:\"farthest\"; sid:11;)");
    let begin = b"begin to end, begin to end";
    let long = [begin, &[b' '; 9000][..], b"far", &[b' '; 1900][..], b"away"].concat();
    for database in [compiled(rules), compiled(&both)] {
        let told = |content: &[u8], direction: Direction, piece: usize| {
            let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
            let mut found = Message { content, ..GET }.run(&mut *flow, direction, piece).0;
            found.sort_unstable_by_key(|(id, ..)| *id);
            found.iter().map(|(id, _, buffer, _)| (*id, *buffer)).collect::<Vec<_>>()
        };
        let of_payload = |ids: &[u32]| ids.iter().map(|id| (*id, Buffer::Payload)).collect::<Vec<_>>();
        for piece in 1..=begin.len() {
            assert_eq!(
                told(begin, Direction::ToServer, piece),
                of_payload(&[1, 2, 3, 5]),
                "pieces of {piece}"
            );
        }
        for piece in [1, 3000, 4095, 4096, 8192, 9028, 20_000] {
            assert_eq!(told(&long, Direction::ToClient, piece), of_payload(&[2, 9]), "pieces of {piece}");
        }
    }
}

/// A limit counts a transaction once, and what waits for another rule need not be found again.
#[test]
fn rules_about_bytes_are_decided_on_once() {
    let rules = r#"alert http any any -> any any (content:"a"; detection_filter:track by_src, count 2, seconds 60; sid:1;)
alert http any any -> any any (content:"a"; threshold:type threshold, track by_src, count 2, seconds 60; sid:2;)
alert http any any -> any any (content:"GET"; flowbits:isset,late; sid:3;)
alert http any any -> any any (content:"late"; flowbits:set,late; flowbits:noalert; sid:4;)"#;
    let content = b"a gap, a gap, a late one";
    for piece in 1..=content.len() {
        let database = compiled(rules);
        let told = || {
            let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
            let mut told = ids(&Message { content, ..GET }.run(&mut *flow, Direction::ToServer, piece));
            told.sort_unstable();
            told
        };
        let often: Vec<_> = (0..4).map(|_| told()).collect();
        assert_eq!(often, [vec![3], vec![2, 3], vec![1, 3], vec![1, 2, 3]], "pieces of {piece}");
    }
}

/// What is asked of the bytes may come long before what is asked of a buffer, and long behind it.
#[test]
fn a_buffer_and_bytes_far_from_each_other() {
    let rules = r#"alert http any any -> any any (msg:"1"; http.method; content:"GET"; pkt_data; content:"late"; sid:1;)
alert http any any -> any any (msg:"2"; http.method; content:"GET"; pkt_data; content:"first"; sid:2;)
alert http any any -> any any (msg:"3"; file.data; content:"early"; pkt_data; content:"late"; sid:3;)
alert http any any -> any any (msg:"4"; file.data; content:"late"; pkt_data; content:"first"; sid:4;)
alert http any any -> any any (msg:"5"; http.method; content:"GET"; pkt_data; pcre:"/l.te/"; sid:5;)
alert http any any -> any any (msg:"6"; http.method; content:"GET"; pkt_data; content:"early"; content:"late"; distance:0; sid:6;)
alert http any any -> any any (msg:"7"; http.method; content:"POST"; pkt_data; content:"late"; sid:7;)
alert http any any -> any any (msg:"8"; http.host; content:"www"; pkt_data; pcre:"/^GET/"; sid:8;)"#;
    // Where rules look at bytes alone, and where none looks at the content, it is searched otherwise.
    let others = format!("{rules}\nalert http any any -> any any (content:\"farthest\"; sid:9;)");
    let no_content: Vec<&str> = rules.lines().filter(|rule| !rule.contains("file.data")).collect();
    let mut content = vec![b'.'; 4 * PIECE_BYTES];
    for (at, text) in [(0, &b"first"[..]), (9_000, b"early"), (3 * PIECE_BYTES, b"late")] {
        content[at..at + text.len()].copy_from_slice(text);
    }
    let header = format!("X: {}\r\n{}", "x".repeat(20_000), GET.header);
    let message = Message { header: &header, content: &content, ..GET };
    for (rules, want) in [
        (rules, &[1, 2, 3, 4, 5, 8][..]),
        (&*others, &[1, 2, 3, 4, 5, 8]),
        (&*no_content.join("\n"), &[1, 2, 5, 8]),
    ] {
        let database = compiled(rules);
        for piece in [100, 4096, 65_536, content.len()] {
            let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
            let mut found = ids(&message.run(&mut *flow, Direction::ToServer, piece));
            found.sort_unstable();
            assert_eq!(found, want, "in pieces of {piece}");
        }
    }
}

/// What waited for bytes that did not come is over with its transaction, however many follow on the connection.
#[test]
fn what_waits_ends_with_its_exchange() {
    let rules = r#"alert http any any -> any any (msg:"1"; http.method; content:"GET"; pkt_data; content:"never"; sid:1;)
alert http any any -> any any (msg:"2"; http.method; content:"GET"; pkt_data; pcre:"/n.ver/"; sid:2;)"#;
    let mut flow = compiled(rules).open_flow(&flow(Protocol::Http));
    for _ in 0..200 {
        assert_eq!(ids(&GET.run(&mut *flow, Direction::ToServer, 1)), [0_u32; 0]);
    }
}

#[test]
fn what_packets_alone_have_is_not_taken_for_there() {
    let rule =
        r#"alert http any any -> any any (tcp.hdr; content:"|00 50|"; pkt_data; content:"begin"; sid:1;)"#;
    let mut sources = Sources::new();
    sources.add("test.rules", rule.as_bytes());
    let (database, report) = sources.compile(Arc::new(|| 0));
    assert_eq!((report.failures.len(), report.wire), (0, 1));
    let mut flow = Arc::new(database).open_flow(&flow(Protocol::Http));
    let found = Message { content: b"begin", ..GET }.run(&mut *flow, Direction::ToServer, 5);
    assert_eq!(ids(&found), [0_u32; 0]);
}

#[test]
fn content_that_comes_first_is_the_beginning_of_the_bytes() {
    let rules = r#"alert smtp any any -> any any (msg:"1"; content:"begin"; depth:7; sid:1;)
alert smtp any any -> any any (msg:"2"; content:"begin"; depth:6; sid:2;)
alert smtp any any -> any any (msg:"3"; file.data; content:"begin"; depth:7; sid:3;)"#;
    let database = compiled(rules);
    for piece in 1..9 {
        let (mut found, root) = (Found::default(), part(0));
        let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Smtp));
        let mut scanner = flow.open(&about(Direction::ToServer));
        assert_eq!(scanner.open(&root), Want::More);
        for chunk in b"a begin".chunks(piece) {
            scanner.push(root.id, Buffer::FileData, chunk, &mut found);
        }
        scanner.end(root.id, Buffer::FileData, &mut found);
        let mut found = ids(&found);
        found.sort_unstable();
        assert_eq!(found, [1, 3], "in pieces of {piece}");
    }
}

#[test]
fn data_sets_are_shared_and_grow() {
    let rules = r#"alert http any any -> any any (http.user_agent; dataset:isset,robots,type string,load robots; sid:1;)
alert http any any -> any any (http.user_agent; to_md5; dataset:isnotset,digests,type md5,load digests; sid:2;)
alert http any any -> any any (http.host; dataset:set,hosts,type string; sid:3;)
alert http any any -> any any (http.host; dataset:isset,hosts; http.uri; content:"/seen"; sid:4;)
alert http any any -> any any (http.host; dataset:isset,unknown; sid:5;)
alert http any any -> any any (http.host; dataset:isset,hosts,type md5; sid:6;)
alert http any any -> any any (http.host; dataset:set,kept,type string,save here; sid:7;)
alert http any any -> any any (http.host; dataset:isset,lost,type string,load missing; sid:8;)"#;
    let mut sources = Sources::new();
    sources.add("test.rules", rules.as_bytes());
    // "robot", and the MD5 of "abc" (RFC 1321).
    sources.set_lists(Box::new(|_, list| match list {
        "robots" => Ok(b"cm9ib3Q=\n".to_vec()),
        "digests" => Ok(b"900150983cd24fb0d6963f7d28e17f72\n".to_vec()),
        _ => Err("is not there".to_owned()),
    }));
    let (database, report) = sources.compile(Arc::new(|| 0));
    let failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    assert_eq!((report.both, failures.len()), (4, 4), "{failures:?}");
    let database = Arc::new(database);
    let run = |uri: &str, agent: &str, host: &str| {
        let (line, header) =
            (format!("GET {uri} HTTP/1.1"), format!("Host: {host}\r\nUser-Agent: {agent}\r\n"));
        let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
        let mut told = ids(&Message { line: &line, header: &header, content: b"" }.run(
            &mut *flow,
            Direction::ToServer,
            1,
        ));
        told.sort_unstable();
        told
    };
    assert_eq!(run("/", "robot", "a"), [1, 2, 3]);
    assert_eq!(run("/seen", "abc", "a"), [4]);
    assert_eq!(run("/seen", "abc", "b"), [3, 4]);
    assert_eq!(run("/", "abc", "b"), [0_u32; 0]);
}

#[test]
fn digests_of_files_by_lists() {
    let rules = r#"alert http any any -> any any (msg:"1"; flow:to_client; filemd5:known; sid:1;)
alert http any any -> any any (msg:"2"; flow:to_client; filesha1:!known1; sid:2;)
alert http any any -> any any (msg:"3"; flow:to_client; filesha256:known; sid:3;)
alert http any any -> any any (msg:"4"; filemd5:missing; sid:4;)"#;
    let mut sources = Sources::new();
    sources.add("rules/test.rules", rules.as_bytes());
    // Of "abc" (RFC 1321, RFC 3174).
    sources.set_lists(Box::new(|rules, list| match (rules, list) {
        ("rules/test.rules", "known") => Ok(b"900150983cd24fb0d6963f7d28e17f72  abc\n".to_vec()),
        ("rules/test.rules", "known1") => Ok(b"A9993E364706816ABA3E25717850C26C9CD0D89D\n".to_vec()),
        _ => Err("is not there".to_owned()),
    }));
    let (database, report) = sources.compile(Arc::new(|| 0));
    let failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    assert!(
        failures[0].contains("line 1 is no digest") && failures[1].ends_with("missing: is not there"),
        "{failures:?}"
    );
    assert_eq!((report.both, failures.len()), (2, 2));
    let database = Arc::new(database);
    for (content, expected) in [(&b"abc"[..], &[1][..]), (b"abd", &[2])] {
        for piece in [1, 2, 3] {
            let message = Message { line: "HTTP/1.1 200 OK", header: "Server: s\r\n", content };
            let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
            assert_eq!(ids(&message.run(&mut *flow, Direction::ToClient, piece)), expected);
        }
    }
}

/// What may stand at the beginning only is looked for there, and nowhere else.
#[test]
fn contents_at_the_beginning() {
    let rules = r#"alert http any any -> any any (msg:"1"; flow:to_client; file.data; content:"MZ"; depth:2; sid:1;)
alert http any any -> any any (msg:"2"; flow:to_client; http.response_body; content:"mz9"; nocase; startswith; sid:2;)
alert http any any -> any any (msg:"3"; flow:to_client; file.data; content:"Z9"; offset:1; depth:2; sid:3;)
alert http any any -> any any (msg:"4"; flow:to_client; file.data; content:"MZ"; within:2; sid:4;)
alert http any any -> any any (msg:"5"; flow:to_client; file.data; content:"MZ9b"; depth:4; fast_pattern:1,3; sid:5;)
alert http any any -> any any (msg:"6"; flow:to_client; file.data; content:"beg"; offset:3; depth:5; sid:6;)
alert http any any -> any any (msg:"7"; flow:to_client; file.data; content:"MZ9"; sid:7;)
alert http any any -> any any (msg:"8"; flow:to_client; file.data; content:"in"; depth:40; sid:8;)"#;
    let database = compiled(rules);
    let mut late = vec![b' '; STEP_BYTES];
    late.extend_from_slice(b"MZ9begin");
    late.resize(2 * PIECE_BYTES, b' ');
    for (content, want) in
        [(&b"MZ9begin"[..], &[1, 2, 3, 4, 5, 6, 7, 8][..]), (b" MZ9begin", &[6, 7, 8]), (&late, &[7])]
    {
        let message = Message { line: "HTTP/1.1 200 OK", header: "Content-Type: text/plain\r\n", content };
        for piece in [1, 2, 7, 4096, content.len()] {
            let mut flow = Arc::clone(&database).open_flow(&flow(Protocol::Http));
            let mut found = ids(&message.run(&mut *flow, Direction::ToClient, piece));
            found.sort_unstable();
            assert_eq!(found, want, "{} bytes in pieces of {piece}", content.len());
        }
    }
}
