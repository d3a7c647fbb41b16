//! The engine as the waist uses it. Rule: the same findings however host, path and type are cut.

use crate::{Key, Moment, Sources};
use lockgate_model::{
    Buffer, Class, Database as _, Direction, Flow, FlowState, Hit, PartId, Protocol, Sink, Transaction,
    TransactionId,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Found(Vec<Hit>);

impl Sink for Found {
    fn hit(&mut self, hit: Hit) {
        self.0.push(hit);
    }
}

fn connection() -> Box<dyn FlowState> {
    connection_at(|| Moment { weekday: 0, minute: 0 })
}

fn connection_at(now: impl Fn() -> Moment + Send + Sync + 'static) -> Box<dyn FlowState> {
    let mut sources = Sources::new(Key(1, 2));
    sources.add("bannedsitelist", b"#listcategory: \"Bad\"\nbad.example\n");
    sources.add("bannedurllist", b"news.example/games\n");
    sources.add("bannedregexpurllist", b"^https://.*/secret\n");
    sources.add("bannedmimetypelist", b"video/mpeg\n");
    sources.add("exceptionsitelist", b"good.example\n");
    // With it the clock is asked for each look.
    sources.add("greysitelist", b"#time: 0 0 23 59 0123456\ngrey.example\n");
    let (database, report) = sources.compile(Arc::new(now));
    assert_eq!(report.failures, []);
    let flow = Flow {
        security: lockgate_model::Security::Tls,
        id: 1,
        protocol: Protocol::Http,
        client: "192.0.2.1:1".parse().unwrap(),
        server: "192.0.2.2:443".parse().unwrap(),
        listener: "web".to_owned(),
    };
    let database = Arc::new(database);
    let wants = database.wants();
    assert!(wants.contains(Buffer::HttpHost) && !wants.contains(Buffer::FileData));
    database.open_flow(&flow)
}

#[test]
fn an_answer_is_judged_as_its_request_was_without_another_look() {
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let mut connection = connection_at(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Moment { weekday: 0, minute: 0 }
    });
    let mut ask = |id, direction, host: &str, uri: &str| {
        let about = Transaction { id: TransactionId(id), direction, ..about() };
        let mut sink = Found(Vec::new());
        let mut scanner = connection.open(&about);
        for (buffer, text) in [(Buffer::HttpHost, host), (Buffer::HttpUri, uri)] {
            scanner.push(PartId::ROOT, buffer, text.as_bytes(), &mut sink);
            scanner.end(PartId::ROOT, buffer, &mut sink);
        }
        (looks.swap(0, Ordering::Relaxed), sink.0)
    };
    use Direction::{ToClient, ToServer};
    let (looked, found) = ask(1, ToServer, "bad.example", "/");
    assert_eq!((looked, found.len()), (1, 1));
    // Others come between, on the same connection.
    assert_eq!(ask(2, ToServer, "other.example", "/"), (1, vec![]));
    assert_eq!(ask(1, ToClient, "bad.example", "/"), (0, found.clone()));
    assert_eq!(ask(2, ToClient, "other.example", "/"), (0, vec![]));
    // Once: and what is about something else is looked up.
    assert_eq!(ask(1, ToClient, "bad.example", "/"), (1, found.clone()));
    ask(3, ToServer, "other.example", "/");
    assert_eq!(ask(3, ToClient, "bad.example", "/"), (1, found.clone()));
    let long = "/x".repeat(2000);
    assert_eq!(ask(4, ToServer, "bad.example", &long).0, 1);
    assert_eq!(ask(4, ToClient, "bad.example", &long).0, 1);
    // The latest are remembered.
    (10..30).for_each(|id| _ = ask(id, ToServer, "bad.example", "/"));
    assert_eq!(ask(10, ToClient, "bad.example", "/").0, 1);
    assert_eq!(ask(29, ToClient, "bad.example", "/"), (0, found));
}

fn about() -> Transaction {
    Transaction {
        id: TransactionId(1),
        direction: Direction::ToClient,
        group: "default".to_owned(),
        sender: None,
        recipients: Vec::new(),
        name: None,
        length: None,
    }
}

/// The rules that were found, each buffer cut into pieces of so many bytes.
fn found(connection: &mut dyn FlowState, host: &str, uri: &str, media_type: &str, piece: usize) -> Vec<Hit> {
    let mut scanner = connection.open(&about());
    let mut sink = Found(Vec::new());
    for (buffer, text) in
        [(Buffer::HttpHost, host), (Buffer::HttpUri, uri), (Buffer::HttpContentType, media_type)]
    {
        for chunk in text.as_bytes().chunks(piece) {
            scanner.push(PartId::ROOT, buffer, chunk, &mut sink);
        }
        scanner.end(PartId::ROOT, buffer, &mut sink);
    }
    scanner.close(PartId::ROOT, &mut sink);
    scanner.finish(&mut sink);
    sink.0
}

#[test]
fn what_is_banned_is_a_finding_of_class_web() {
    let mut connection = connection();
    for (host, uri, media_type, expected) in [
        ("www.bad.example", "/", "text/html", &[("bannedsitelist:2", "Bad", Buffer::HttpUri)][..]),
        (
            "news.example",
            "/a/../games?x",
            "video/mpeg",
            &[
                ("bannedurllist:1", "bannedurllist", Buffer::HttpUri),
                ("bannedmimetypelist:1", "bannedmimetypelist", Buffer::HttpContentType),
            ],
        ),
        (
            "a.example",
            "/v",
            "Video/MPEG; charset=x",
            &[("bannedmimetypelist:1", "bannedmimetypelist", Buffer::HttpContentType)],
        ),
        ("a.example", "/secret/", "", &[("bannedregexpurllist:1", "bannedregexpurllist", Buffer::HttpUri)]),
        // What is on a list of exceptions is left alone to its end.
        ("good.example", "/secret", "video/mpeg", &[]),
        ("a.example", "/", "text/html", &[]),
        ("", "", "", &[]),
    ] {
        for piece in [1, 2, 3, 7, usize::MAX] {
            let hits = found(&mut *connection, host, uri, media_type, piece);
            let got: Vec<_> = hits.iter().map(|hit| (&*hit.rule, &*hit.name, hit.buffer)).collect();
            assert_eq!(got, expected, "{host}{uri} in pieces of {piece}");
            assert!(hits.iter().all(|hit| hit.class == Class::Web && hit.part == PartId::ROOT));
        }
    }
}

#[test]
fn what_never_ends_takes_bounded_memory() {
    let mut connection = connection();
    let long = "x/".repeat(1 << 20);
    assert_eq!(found(&mut *connection, &long, &long, &long, 4096), []);
}
