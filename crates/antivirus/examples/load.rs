//! Loads database files, says what was understood and how long that took; scans files with them, if any are given.
//!
//! `cargo run --release --example load -- DATABASE... [--scan CHUNK_BYTES FILE...]`

use lockgate_antivirus::Sources;
use lockgate_model::{
    Buffer, Database as _, Direction, FileType, Flow, Hit, Part, PartId, Protocol, Sink, Transaction,
    TransactionId,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (databases, scan_arguments) = match arguments.iter().position(|argument| argument == "--scan") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (&arguments[..], &[][..]),
    };
    let (chunk_bytes, files) = match scan_arguments.split_first() {
        Some((bytes, files)) => (bytes.parse().unwrap_or(16 << 10), files),
        None => (1, &[][..]),
    };
    let mut sources = Sources::new();
    for path in databases {
        sources.add(path, std::fs::read(path)?);
    }
    let started = Instant::now();
    let (database, report) = sources.compile();
    eprintln!(
        "{} signatures, {} MB, compiled in {:.2?}",
        database.signatures(),
        database.heap_bytes() >> 20,
        started.elapsed()
    );
    for (kind, count) in &report.counts {
        eprintln!("{:5} {count:?}", kind.name());
    }
    for (target, strategies) in database.strategies() {
        eprintln!("target {target}: {strategies}");
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for failure in &report.failures {
        *reasons.entry(&failure.reason).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in reasons.iter().take(30) {
        eprintln!("{count:6} lines: {reason}");
    }
    if files.is_empty() {
        for failure in &report.failures {
            println!("{failure}");
        }
    }
    for unknown in &report.unknown {
        eprintln!("{}: databases of kind {:?} are not understood yet", unknown.file, unknown.kind);
    }
    let database = Arc::new(database);
    for path in files {
        scan(&database, path, &std::fs::read(path)?, chunk_bytes);
    }
    Ok(())
}

struct Lines<'a>(&'a str);

impl Sink for Lines<'_> {
    fn hit(&mut self, hit: Hit) {
        println!("{}: {} FOUND", self.0, hit.name);
    }
}

fn scan(database: &Arc<lockgate_antivirus::Database>, path: &str, bytes: &[u8], chunk_bytes: usize) {
    let address = ([127, 0, 0, 1], 0).into();
    let flow = Flow {
        security: lockgate_model::Security::Clear,
        id: 0,
        protocol: Protocol::File,
        client: address,
        server: address,
        listener: String::new(),
    };
    let about = Transaction {
        id: TransactionId(0),
        direction: Direction::ToClient,
        group: String::new(),
        sender: None,
        recipients: Vec::new(),
        name: Some(path.to_owned()),
        length: None,
    };
    let mut scanner = Arc::clone(database).open_flow(&flow).open(&about);
    let part = Part {
        id: PartId::ROOT,
        parent: None,
        depth: 0,
        path: path.into(),
        name: None,
        declared: None,
        detected: sniff(bytes),
    };
    let mut sink = Lines(path);
    scanner.open(&part);
    for chunk in bytes.chunks(chunk_bytes.max(1)) {
        scanner.push(PartId::ROOT, Buffer::FileData, chunk, &mut sink);
    }
    scanner.end(PartId::ROOT, Buffer::FileData, &mut sink);
    scanner.close(PartId::ROOT, &mut sink);
    scanner.finish(&mut sink);
}

/// A stand-in for the content crate's recognition, which this crate does not see.
fn sniff(bytes: &[u8]) -> FileType {
    let magics: [(&[u8], FileType); 11] = [
        (b"MZ", FileType::Pe),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileType::Ole2),
        (b"<html", FileType::Html),
        (b"Received: ", FileType::Mail),
        (b"GIF8", FileType::Gif),
        (b"\x7fELF", FileType::Elf),
        (b"\xcf\xfa\xed\xfe", FileType::MachO),
        (b"%PDF-", FileType::Pdf),
        (b"FWS", FileType::Swf),
        (b"\xca\xfe\xba\xbe", FileType::JavaClass),
        (b"PK\x03\x04", FileType::Zip),
    ];
    match magics.into_iter().find(|(magic, _)| bytes.starts_with(magic)) {
        Some((_, file_type)) => file_type,
        None if bytes.iter().filter(|byte| is_text(**byte)).count() * 20 >= bytes.len() * 19 => {
            FileType::Text
        }
        None => FileType::Data,
    }
}

fn is_text(byte: u8) -> bool {
    byte.is_ascii_graphic() || byte.is_ascii_whitespace()
}
