//! Whole requests, and pages, against lists of every kind that looks at them. Rule: the same findings at every cut, and what
//! changes a request or a page keeps its bounds.
#![no_main]

use lockgate_fuzz::asked;
use lockgate_model::rewrite::{Asking, Replaced, Rewriter};
use lockgate_model::{Buffer, Database as _, Direction, Flow, Hit, PartId, Protocol, Security, Sink};
use lockgate_webfilter::{Database, Key, Moment, Outcome, Request, Sources};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

const NOW: Moment = Moment { weekday: 0, minute: 0 };
/// What a page may become.
const PAGE_BYTES_MAX: usize = 4096;
/// The longest line of a request that comes of rules, as `Rewriter` makes it.
const LINE_BYTES_MAX: usize = 16 << 10;

static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut sources = Sources::new(Key(1, 2));
    for (name, text) in [
        ("bannedsitelist", "bad.example\n**s\n"),
        ("exceptionsitelist", "good.example\n"),
        ("greysitelist", "search.example\n"),
        ("refererexceptionsitelist", "portal.example\n"),
        ("refererexceptionurllist", "news.example/list\n"),
        ("bannedregexpheaderlist", "^x-bad: .*[0-9]+\nevil\n"),
        ("exceptionregexpheaderlist", "^x-good: \n"),
        ("bannedregexpuseragentlist", "robot.?\n"),
        ("exceptionregexpuseragentlist", "^tester/[0-9.]+$\n"),
        ("searchregexplist", "\"^http://search\\.example/.*[?&]q=([^&]*).*\"->\"$1\"\n"),
        ("searchexceptionregexplist", "\"/own-search\"\n"),
        ("bannedsearchlist", "naughty+girl\ncasino\n"),
        ("localbannedsearchlist", "poker\n"),
        ("bannedsearchoverridelist", "girl+school\n"),
        ("urlregexplist", "\"(safe)=off\"->\"$1=on\"\n\"a+\"->\"$9aa\"\n"),
        ("urlredirectregexplist", "\"^http://old\\.example(.*)\"->\"http://new.example\\1\"\n"),
        ("sslsiteregexplist", "\"^https://old\\.example\"->\"https://new.example\"\n"),
        ("headerregexplist", "\"^x-away.*\"->\"X-E2G-IgnoreMe:\"\n\"^x-grow: (.*)\"->\"X-Grow: $1$1\"\n"),
        ("addheaderregexplist", "\"^http://(video)\\.example.*\"->\"X-Added: $1\"\n"),
        ("responseheaderregexplist", "\"^set-cookie: (.*)\"->\"Set-Cookie: $1; Secure\"\n"),
        (
            "contentregexplist",
            "\"b(a*)d\"->\"g$1d\"\n\"x\"->\"$0xx\"\n\"\\$(\"->\"(\"\n\"(<)script\"->\"$1template\"\n",
        ),
        ("bannediplist", "192.0.2.66\n198.51.100.0/24\n"),
        ("exceptioniplist", "2001:db8::1\n"),
    ] {
        sources.add(name, text.as_bytes());
    }
    let (database, _) = sources.compile(Arc::new(|| NOW));
    Arc::new(database)
});

struct Found(Vec<Hit>);

impl Sink for Found {
    fn hit(&mut self, hit: Hit) {
        self.0.push(hit);
    }
}

// A byte that says who asks and how, then method, host, URI and media type, a line each; the header up to a blank line, and
// the page.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let Some((how, content)) = content.split_first() else { return };
    let mut lines = content.splitn(5, |byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let buffers = [
        (Buffer::HttpMethod, line()),
        (Buffer::HttpHost, line()),
        (Buffer::HttpUri, line()),
        (Buffer::HttpContentType, line()),
    ];
    let rest = line();
    let at = rest.windows(2).position(|window| window == b"\n\n").unwrap_or(rest.len());
    let (header, page) = rest.split_at(at);
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len().max(1)).collect();
    let whole = found(*how, &buffers, header, &[usize::MAX]);
    assert_eq!(whole, found(*how, &buffers, header, &lengths));
    let [(_, method), (_, host), (_, uri), _] = buffers;
    changed(*how, method == b"CONNECT", host, uri, header);
    replaced(page);
});

/// Where it comes from, by the first byte.
fn client(how: u8) -> SocketAddr {
    let clients = ["192.0.2.1:1", "192.0.2.66:1", "[::ffff:198.51.100.7]:1", "[2001:db8::1]:1"];
    clients[usize::from(how & 3)].parse().expect("an address")
}

fn scheme(how: u8) -> &'static str {
    if how & 4 == 0 { "http" } else { "https" }
}

/// What the engine finds, each buffer in pieces of these lengths.
fn found(how: u8, buffers: &[(Buffer, &[u8]); 4], header: &[u8], lengths: &[usize]) -> Vec<Hit> {
    let security = if scheme(how) == "https" { Security::Tls } else { Security::Clear };
    let flow = Flow { security, server: client(0), ..asked::flow(Protocol::Http, client(how)) };
    let about = asked::transaction(Direction::ToClient);
    let mut scanner = Arc::clone(&*DATABASE).open_flow(&flow).open(&about);
    let mut sink = Found(Vec::new());
    let [method, host, uri, media_type] = *buffers;
    for (buffer, text) in [method, host, (Buffer::HttpHeader, header), uri, media_type] {
        let (mut rest, mut lengths) = (text, lengths.iter().cycle());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(lengths.next().map_or(1, |length| rest.len().min(*length)));
            scanner.push(PartId::ROOT, buffer, piece, &mut sink);
            rest = after;
        }
        scanner.end(PartId::ROOT, buffer, &mut sink);
    }
    sink.0
}

fn changed(how: u8, is_tunnel: bool, host: &[u8], uri: &[u8], header: &[u8]) {
    let host = String::from_utf8_lossy(host);
    let asking =
        Asking { client: client(how).ip(), scheme: scheme(how), is_tunnel, host: &host, uri, header };
    let rewriting = DATABASE.request(&asking);
    assert_eq!(rewriting, DATABASE.request(&asking));
    assert!(rewriting.is_nothing() || !rewriting.rules.is_empty(), "a rule says so");
    let lines = header.split(|byte| *byte == b'\n').count();
    for line in rewriting.lines.iter().chain(&DATABASE.response(header)) {
        assert!(line.text.len() <= LINE_BYTES_MAX && line.at.is_none_or(|at| at < lines));
    }
    for url in rewriting.url.iter().chain(&rewriting.redirect) {
        assert!(url.len() <= LINE_BYTES_MAX);
    }
    let request = Request::new(scheme(how), host.as_bytes(), uri)
        .with_header(header)
        .through_tunnel(is_tunnel)
        .by(client(how).ip());
    let decision = DATABASE.judge(&request, NOW);
    assert_eq!(decision.by.is_some(), decision.outcome != Outcome::NotListed);
    let is_left_alone = decision.outcome == Outcome::Exception;
    assert!(!is_left_alone || rewriting.is_nothing(), "what is excepted is left as it is");
    // As a person asks for it.
    let _ = Request::parse(&format!("{host}{}", String::from_utf8_lossy(uri)));
}

/// Each rule over what the one before has made.
fn replaced(page: &[u8]) {
    let mut page = page.get(..PAGE_BYTES_MAX).unwrap_or(page).to_vec();
    for rule in 0..DATABASE.content_rules() {
        match DATABASE.replace(rule, &page, PAGE_BYTES_MAX) {
            Replaced::Nothing | Replaced::TooLong => {}
            Replaced::With(text, by) => {
                assert!(text.len() <= PAGE_BYTES_MAX && !by.is_empty());
                page = text;
            }
        }
    }
    assert_eq!(DATABASE.replace(DATABASE.content_rules(), &page, PAGE_BYTES_MAX), Replaced::Nothing);
}
