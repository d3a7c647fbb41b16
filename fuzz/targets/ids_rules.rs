//! Rules, and an exchange. Rule: every rule is loaded or reported, and what is told of an exchange does not depend on its cuts.
#![no_main]

use lockgate_fuzz::packets::{Asked, Ends};
use lockgate_ids::{Database, Sources};
use lockgate_model::{
    Buffer, Database as _, Direction, FileType, Flow, Hit, Part, PartId, Protocol, Security, Sink,
    Transaction, TransactionId,
};
use lockgate_packet::{Checksums, LinkType, Settings, Time, Tracker};
use std::sync::Arc;

/// What the first rule is about, and how the buffers begin that are filled for it. Of the others it is HTTP.
const SPOKEN: [(&[u8], Protocol, &str); 5] = [
    (b"smtp", Protocol::Smtp, "smtp."),
    (b"dns", Protocol::Dns, "dns."),
    (b"tls", Protocol::Tls, "tls."),
    (b"ftp", Protocol::Ftp, "ftp."),
    (b"ftp-data", Protocol::FtpData, "ftpdata"),
];

#[derive(Default)]
struct Found(Vec<Hit>);

impl Sink for Found {
    fn hit(&mut self, hit: Hit) {
        self.0.push(hit);
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let Some(at) = content.windows(2).position(|window| window == b"\n\n") else { return };
    let (rules, exchange) = (&content[..at], &content[at + 2..]);
    let compile = || {
        let mut sources = Sources::new();
        sources.add("fuzz.rules", rules);
        // Lines of one kind are errors in a file of the other.
        sources.add("threshold.config", rules);
        let digests = exchange.to_vec();
        sources.set_lists(Box::new(move |_, _| Ok(digests.clone())));
        sources.compile(Arc::new(|| 0))
    };
    let (database, report) = compile();
    // What one exchange counts for limits and keeps in sets is not to show in the other.
    let other = Arc::new(compile().0);
    assert!(
        report.rules_loaded() + report.rules_failed()
            <= 2 * rules.split(|byte| *byte == b'\n').count() as u64
    );
    let database = Arc::new(database);
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
    let word = rules.split(u8::is_ascii_whitespace).nth(1).unwrap_or_default();
    let spoken =
        SPOKEN.iter().find(|(name, ..)| *name == word).map(|(_, protocol, buffers)| (*protocol, *buffers));
    let spoken = spoken.unwrap_or((Protocol::Http, "http."));
    for direction in [Direction::ToServer, Direction::ToClient] {
        let whole = told(&database, spoken, exchange, direction, &[exchange.len()]);
        assert_eq!(told(&other, spoken, exchange, direction, &lengths), whole);
    }
    heard(&database, spoken.0, &pieces);
});

/// The same bytes in segments, and in a datagram.
fn heard(database: &Arc<Database>, protocol: Protocol, pieces: &[&[u8]]) {
    let mut tracker = Tracker::new(Settings { checksums: Checksums::Ignored, ..Settings::default() });
    let mut asked = Asked::new(database, protocol);
    let mut put = |bytes: &[u8]| tracker.packet(Time::from_seconds(1), LinkType::Raw, bytes, &mut asked);
    let ends = Ends { port: 80 };
    let mut next = [1000u32, 2000];
    put(&ends.segment(0, 0x02, 999, 0, b""));
    put(&ends.segment(1, 0x12, 1999, 1000, b""));
    for (piece, side) in pieces.iter().take(64).zip([0, 0, 1].into_iter().cycle()) {
        put(&ends.segment(side, 0x18, next[side], next[1 - side], piece));
        next[side] = next[side].wrapping_add(piece.len() as u32);
        put(&ends.segment(1 - side, 0x10, next[1 - side], next[side], b""));
    }
    put(&ends.datagram(0, pieces.first().copied().unwrap_or_default()));
    tracker.end(&mut asked);
    assert!(asked.alerts.iter().all(|alert| alert.hit.signature.is_some()));
}

/// What is told of an exchange: its first line, its header up to an empty line, and content in pieces of these lengths.
fn told(
    database: &Arc<Database>,
    (protocol, buffers): (Protocol, &str),
    exchange: &[u8],
    direction: Direction,
    lengths: &[usize],
) -> Vec<Hit> {
    let nobody = std::net::SocketAddr::from(([192, 0, 2, 1], 1));
    let flow = Flow {
        id: 1,
        protocol,
        security: Security::Clear,
        client: nobody,
        server: nobody,
        listener: String::new(),
    };
    let about = Transaction {
        id: TransactionId(1),
        direction,
        group: "default".to_owned(),
        sender: None,
        recipients: Vec::new(),
        name: None,
        length: None,
    };
    let mut scanner = Arc::clone(database).open_flow(&flow).open(&about);
    let mut sink = Found::default();
    let line = exchange.iter().position(|byte| *byte == b'\n').unwrap_or(exchange.len());
    let (line, rest) = exchange.split_at(line);
    let head = rest.windows(2).position(|window| window == b"\n\n").unwrap_or(rest.len());
    let (header, content) = rest.split_at(head);
    let (of_line, of_header) = match direction {
        Direction::ToServer => (Buffer::HttpRequestLine, Buffer::HttpHeader),
        Direction::ToClient => (Buffer::HttpResponseLine, Buffer::HttpResponseHeader),
    };
    let mut fill = |buffer: Buffer, bytes: &[u8]| {
        scanner.push(PartId::ROOT, buffer, bytes, &mut sink);
        scanner.end(PartId::ROOT, buffer, &mut sink);
    };
    if protocol == Protocol::Http {
        fill(of_line, line);
        fill(of_header, header);
    } else {
        Buffer::ALL.iter().filter(|its| its.name().starts_with(buffers)).for_each(|its| fill(*its, line));
        fill(Buffer::MailHeader, header);
    }
    let part = Part {
        id: PartId::ROOT,
        parent: None,
        depth: 0,
        path: ".".into(),
        name: None,
        declared: None,
        detected: FileType::Text,
    };
    scanner.open(&part);
    let mut rest = content;
    for length in lengths.iter().cycle() {
        let (piece, after) = rest.split_at((*length).clamp(1, rest.len().max(1)).min(rest.len()));
        scanner.push(PartId::ROOT, Buffer::FileData, piece, &mut sink);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    scanner.end(PartId::ROOT, Buffer::FileData, &mut sink);
    sink.0
}
