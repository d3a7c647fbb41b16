//! Lists that end anywhere, and lists in two halves. Rule: a line means the same whatever comes before or behind it.

use crate::phrases::Settings;
use crate::tests::MONDAY_NOON;
use crate::{Database, Failure, Key, Report, Request, Sources};
use std::sync::Arc;

/// A list of each kind of content: good lines and bad ones, none of which is about the whole list.
const LISTS: [(&str, &[u8]); 16] = [
    (
        "bannedsitelist",
        b"\xef\xbb\xbfone.example # c\r\n# c\n.top\nintranet\n*ip\n**s\na b\n\n\t\nb\xfccher.example\n\xff\n",
    ),
    ("exceptionsitelist", "*.good.example\nb\u{fc}cher.example\n.Include<\nhttp://url.example/\n".as_bytes()),
    ("greysiteiplist", b"192.0.2.7\n10.0.0.0/24\n10.1.0.1-10.1.0.3\n2001:db8::/32\n10.0.0.0/99\n"),
    ("bannedurllist", b"news.example/games\na.example/d%69r/../x/\n/path\n"),
    ("bannedregexpurllist", b"(casino|poker)+.*play # c\n(open\n^http://ads\\.\na(?=b)\n"),
    ("bannedextensionlist", b".exe # Program\ntar.gz\nan end\n"),
    ("bannedmimetypelist", b"audio/mpeg\nnone\n"),
    ("own.hosts", b"127.0.0.1 localhost\n0.0.0.0 one.example two.example # both\nx y\n"),
    ("own.adblock", b"[Adblock Plus 2.0]\n! c\n||ads.example^\n@@||ads.example/ok\na##.x\n/ad[0-9]+/\n*\n"),
    ("bannedregexpheaderlist", b"^x-bad: [0-9]+ # c\n(open\n"),
    ("bannedregexpuseragentlist", b"robot.?\n)\n"),
    ("bannedsearchlist", b"naughty+girl\n+\ncasino\n"),
    ("searchregexplist", b"\"[?&]q=([^&]*).*\"->\"$1\"\nno rule\n"),
    ("urlregexplist", b"\"safe=off\"->\"safe=on\"\n\"(a\"->\"b\"\n"),
    ("bannediplist", b"192.0.2.66\n198.51.100.0/24\nhost.example\n"),
    ("weightedphraselist", "<foo><10>\n<one>,<two><18>\n<>\n<x><y>\nno phrase\n<caf\u{e9}><5>\n".as_bytes()),
];

/// What lists are asked, with a line of a header and a page.
const ASKED: [(&str, &str, &str); 8] = [
    ("http://one.example/s.exe", "X-Bad: 7", "foo"),
    ("https://www.good.example/", "", "one and two"),
    ("http://10.1.0.2/x.tar.gz", "User-Agent: robot", "caf\u{e9}"),
    ("http://news.example/games/?safe=off", "", ""),
    ("http://search.example/?q=Girl+naughty&x", "", ""),
    ("http://x.example/casino/play", "", ""),
    ("http://sub.ads.example/ok", "", ""),
    ("http://xn--bcher-kva.example/", "", ""),
];

fn loaded(files: &[(&str, &[u8])]) -> (Database, Report) {
    let mut sources = Sources::new(Key(1, 2));
    sources.judge_phrases_by(Settings { points_max: 5, ..Settings::default() });
    files.iter().for_each(|(name, bytes)| _ = sources.add(name, bytes));
    sources.compile(Arc::new(|| MONDAY_NOON))
}

/// What becomes of everything that is asked: outcomes and the words that decide, changes, points.
fn said(database: &Database) -> Vec<String> {
    let said = ASKED.iter().map(|(url, header, page)| {
        let client = "198.51.100.7".parse().unwrap();
        let request = Request::parse(url).unwrap().with_header(header.as_bytes()).by(client);
        let decision = database.judge(&request, MONDAY_NOON);
        let kind = database.decide_type(&request.address, "audio/mpeg", MONDAY_NOON);
        let by = [&decision.by, &kind.by].map(|by| by.as_ref().map(|by| by.pattern.clone()));
        let rewriting = database.rewritten(&request, MONDAY_NOON).0;
        let score = database.score(page.as_bytes(), None, MONDAY_NOON);
        format!("{} {by:?} {:?} {}", decision.outcome.name(), rewriting.url, score.points)
    });
    said.collect()
}

fn counted(report: &Report) -> [u64; 3] {
    let passed_over = report.counts.values().map(|count| count.passed_over).sum();
    [report.lines_loaded(), report.lines_failed(), passed_over]
}

#[test]
fn a_list_in_two_halves_says_what_it_says_whole() {
    let (nothing, _) = loaded(&[]);
    for (name, text) in LISTS {
        let (whole, report) = loaded(&[(name, text)]);
        // What is searched for needs both lists that are about it.
        assert!(name.contains("search") || said(&whole) != said(&nothing), "{name} is asked for nothing");
        assert_ne!(report.lines_loaded(), 0, "{name}");
        let ends = text.iter().zip(1..).filter(|(byte, _)| **byte == b'\n').map(|(_, end)| end);
        for cut in ends {
            let (first, second) = text.split_at(cut);
            let (halves, of_halves) = loaded(&[(name, first), (name, second)]);
            assert_eq!(counted(&of_halves), counted(&report), "{name} cut at {cut}");
            assert_eq!(said(&halves), said(&whole), "{name} cut at {cut}");
        }
    }
}

#[test]
fn a_list_that_ends_anywhere_says_the_same_up_to_there() {
    for (name, text) in LISTS {
        let (_, report) = loaded(&[(name, text)]);
        for end in 0..=text.len() {
            let (_, cut) = loaded(&[(name, &text[..end])]);
            let lines = text[..end].iter().filter(|byte| **byte == b'\n').count() as u32;
            let before = |report: &Report| -> Vec<Failure> {
                report.failures.iter().filter(|failure| failure.line <= lines).cloned().collect()
            };
            assert_eq!(before(&cut), before(&report), "{name} that ends at {end}");
            let [loaded, failed, passed_over] = counted(&cut);
            assert!(loaded + failed + passed_over <= u64::from(lines) + 1, "{name} that ends at {end}");
        }
    }
}
