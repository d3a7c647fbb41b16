//! Rules, and an exchange. Rule: every rule is loaded or reported, and what is told of an exchange does not depend on its cuts.
#![no_main]

use lockgate_ids::{Database, Sources};
use lockgate_model::{
    Buffer, Database as _, Direction, FileType, Flow, Hit, Part, PartId, Protocol, Security, Sink,
    Transaction, TransactionId,
};
use std::sync::Arc;

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
    let mut sources = Sources::new();
    sources.add("fuzz.rules", rules);
    let (database, report) = sources.compile(Arc::new(|| 0));
    assert!(
        report.rules_loaded() + report.rules_failed() <= rules.split(|byte| *byte == b'\n').count() as u64
    );
    let database = Arc::new(database);
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
    for direction in [Direction::ToServer, Direction::ToClient] {
        let whole = told(&database, exchange, direction, &[exchange.len()]);
        assert_eq!(told(&database, exchange, direction, &lengths), whole);
    }
});

/// What is told of an exchange: its first line, its header up to an empty line, and content in pieces of these lengths.
fn told(database: &Arc<Database>, exchange: &[u8], direction: Direction, lengths: &[usize]) -> Vec<Hit> {
    let nobody = std::net::SocketAddr::from(([192, 0, 2, 1], 1));
    let flow = Flow {
        id: 1,
        protocol: Protocol::Http,
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
    for (buffer, bytes) in [(of_line, line), (of_header, header)] {
        scanner.push(PartId::ROOT, buffer, bytes, &mut sink);
        scanner.end(PartId::ROOT, buffer, &mut sink);
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
