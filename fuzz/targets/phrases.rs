//! A phrase list, and a page. Rule: every line is loaded, passed over or reported, and a page has one score, however it is cut.
#![no_main]

use lockgate_fuzz::asked;
use lockgate_model::{Buffer, Database as _, Direction, FileType, Hit, PartId, Points, Protocol, Sink};
use lockgate_webfilter::phrases::{Counting, Readings, Settings};
use lockgate_webfilter::{Database, Key, Moment, Sources};
use std::sync::Arc;

const NOW: Moment = Moment { weekday: 3, minute: 700 };

#[derive(Default)]
struct Found(Option<Points>);

impl Sink for Found {
    fn hit(&mut self, _hit: Hit) {}

    fn points(&mut self, points: Points) {
        self.0 = Some(points);
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let Some(at) = content.windows(2).position(|window| window == b"\n\n") else { return };
    let (list, page) = (&content[..at], &content[at + 2..]);
    // A comment for lists: what the page's server says of its charset.
    let charset = list.split(|byte| *byte == b'\n').next().and_then(|line| line.strip_prefix(b"#charset="));
    let charset = charset.filter(|label| label.iter().all(u8::is_ascii_alphanumeric) && !label.is_empty());
    for (counting, readings) in [(Counting::Once, Readings::Both), (Counting::EachTime, Readings::Meta)] {
        let mut sources = Sources::new(Key(1, 2));
        sources.judge_phrases_by(Settings { counting, readings, ..Settings::default() });
        let names = ["weightedphraselist", "bannedphraselist", "russian/weightedphraselist"];
        names.iter().for_each(|name| drop(sources.add(name, list)));
        let (database, report) = sources.compile(Arc::new(|| NOW));
        let lines = list.split(|byte| *byte == b'\n').count() as u64 * 3;
        assert!(report.lines_loaded() + report.lines_failed() <= lines, "each line counts once");
        let database = Arc::new(database);
        let whole = database.score(page, charset, NOW);
        // The pieces are of list and page together: those of the list come to nothing.
        let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
        if let Some(points) = streamed(&database, page, charset, &lengths) {
            assert_eq!(points.sum, whole.points);
        }
    }
});

/// What the engine says of the page as it comes in pieces.
fn streamed(
    database: &Arc<Database>,
    page: &[u8],
    charset: Option<&[u8]>,
    lengths: &[usize],
) -> Option<Points> {
    let parameter = charset.map(|label| [b"; charset=", label].concat()).unwrap_or_default();
    let content_type = [&b"text/html"[..], &parameter].concat();
    let nobody = "192.0.2.1:1".parse().ok()?;
    let flow = asked::flow(Protocol::Http, nobody);
    let about = asked::transaction(Direction::ToClient);
    let mut scanner = Arc::clone(database).open_flow(&flow).open(&about);
    let mut sink = Found::default();
    for (buffer, text) in [
        (Buffer::HttpHost, &b"a.example"[..]),
        (Buffer::HttpUri, b"/"),
        (Buffer::HttpContentType, &content_type),
    ] {
        scanner.push(PartId::ROOT, buffer, text, &mut sink);
        scanner.end(PartId::ROOT, buffer, &mut sink);
    }
    let part = asked::part(FileType::Text);
    scanner.open(&part);
    let mut rest = page;
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
