//! Lists and pages together: what is found, and what it comes to, however a page is cut.

use super::*;
use crate::{Key, Moment, Sources};
use proptest::prelude::*;
use std::sync::Arc;

const NOW: Moment = Moment { weekday: 0, minute: 600 };

fn database(lists: &[(&str, &[u8])], settings: Settings) -> crate::Database {
    let mut sources = Sources::new(Key(1, 2));
    sources.judge_phrases_by(settings);
    for (name, bytes) in lists {
        sources.add(name, bytes);
    }
    sources.compile(Arc::new(|| NOW)).0
}

fn weighted(list: &[u8]) -> crate::Database {
    database(&[("weightedphraselist", list)], Settings::default())
}

fn points(database: &crate::Database, page: &[u8]) -> i64 {
    database.score(page, None, NOW).points
}

#[test]
fn what_is_found_in_which_page() {
    let list =
        "<foo><1>\n< bar ><2>\n<two words><4>\n< m\u{e4}dchen ><8>\n<x>,<y z><16>\n<n.p/q=r><32>\n<18><64>\n";
    let list = weighted(list.as_bytes());
    for (page, expected) in [
        (&b"foo"[..], 1),
        (b"food FOO", 1),
        (b"bar", 2),
        (b"bars", 0),
        (b"a-bar!", 2),
        (b"<b>bar</b>", 2),
        (b"two words", 4),
        (b"two\n words", 4),
        (b"two<br>words", 4),
        (b"two<img alt=\"two\">words", 4),
        (b"two&nbsp;words", 4),
        (b"tw&#111; w&#x6F;rds", 4),
        (b"tw<b>o</b> words", 0),
        (b"<img alt='two words'>", 4),
        (b"<!-- two  words -->", 0),
        ("Mädchen".as_bytes(), 8),
        ("MÄDCHEN".as_bytes(), 8),
        (b"M\xc4DCHEN", 8),
        (b"m&auml;dchen", 8),
        (b"<meta charset=utf-16le>m\xe4dchen", 8),
        (b"\xff\xfem\0\xe4\0d\0c\0h\0e\0n\0", 8),
        ("m\u{200b}äd\u{ad}chen".as_bytes(), 8),
        ("ｍädchen".as_bytes(), 8),
        (b"x y", 0),
        (b"y z", 0),
        (b"y z, x", 16),
        (b"n.p/q=r", 32),
        (b"in 2018", 64),
        (b"", 0),
        (b"<", 0),
        (b"&", 0),
    ] {
        assert_eq!(points(&list, page), expected, "{:?}", String::from_utf8_lossy(page));
    }
}

#[test]
fn lists_and_pages_in_other_charsets() {
    let koi8: &[u8] = b"<\xd3\xc5\xcb\xd3\xd5><60>\n";
    let list = database(&[("russian-koi8-r/weightedphraselist", koi8)], Settings::default());
    for page in [
        "СЕКСУ".as_bytes(),
        b"<meta charset=windows-1251>\xd1\xc5\xca\xd1\xd3",
        b"<meta charset=koi8-r>\xd3\xc5\xcb\xd3\xd5",
        b"\xfe\xff\x04\x21\x04\x15\x04\x1a\x04\x21\x04\x23",
    ] {
        assert_eq!(points(&list, page), 60, "{page:?}");
    }
    let declared = list.score(b"\xd1\xc5\xca\xd1\xd3", Some(b"windows-1251"), NOW);
    assert_eq!(declared.points, 60, "what the server says");
    let shift_jis: &[u8] = b"#noconvert\n<\x83A\x83_><60>\n";
    let list = database(&[("weighted_japanese/weightedphraselist", shift_jis)], Settings::default());
    assert_eq!(points(&list, "アダ".as_bytes()), 60);
    assert_eq!(points(&list, b"<meta charset=shift_jis>\x83A\x83_"), 60);
}

#[test]
fn what_decides() {
    let lists: [(&str, &[u8]); 3] = [
        (
            "weightedphraselist",
            b"#listcategory: \"One\"\n<a one><30>\n<two><40>\n<good><-50>\n<once>,<again><70%>\n",
        ),
        ("bannedphraselist", b"#listcategory: \"Never\"\n<banned>\n<this>,<that>\n"),
        ("exceptionphraselist", b"#listcategory: \"Always\"\n<fine>\n<quite>,<well>\n"),
    ];
    let database = database(&lists, Settings::default());
    for (page, outcome, points, rule) in [
        ("a one", Outcome::Within, 30, ""),
        ("a one, two", Outcome::Over, 70, "weightedphraselist:3"),
        ("a one, two, good", Outcome::Within, 20, ""),
        ("good", Outcome::Within, -50, ""),
        ("once again", Outcome::Within, 35, ""),
        ("a one, once, again", Outcome::Over, 65, "weightedphraselist:5"),
        ("banned", Outcome::Banned, 0, "bannedphraselist:2"),
        ("this and that, a one", Outcome::Banned, 30, "bannedphraselist:3"),
        ("this", Outcome::Within, 0, ""),
        ("banned but fine", Outcome::Exception, 0, "exceptionphraselist:2"),
        ("two, a one, quite well", Outcome::Exception, 70, "exceptionphraselist:3"),
        ("<i banned>", Outcome::Banned, 0, "bannedphraselist:2"),
    ] {
        let score = database.score(page.as_bytes(), None, NOW);
        let by = score.deciding().map_or_else(String::new, Term::rule);
        assert_eq!((score.outcome, score.points, &*by), (outcome, points, rule), "{page}");
    }
    let score = database.score(b"a one, two, good two times, two", None, NOW);
    let terms: Vec<_> = score.terms.iter().map(|term| (&*term.phrase, term.points, term.times)).collect();
    assert_eq!(terms, [("two", Some(40), 1), ("a one", Some(30), 1), ("good", Some(-50), 1)]);
}

#[test]
fn modes() {
    let list: &[u8] = b"<foo><10>\n<bar>,<baz><100>\n";
    let page = b"<title>foo</title><meta name=k content=foo,bar><body foo>foo bar<i title=baz>bar";
    for (counting, readings, expected) in [
        (Counting::Once, Readings::Both, 110),
        (Counting::Once, Readings::Text, 10),
        (Counting::Once, Readings::Raw, 110),
        (Counting::Once, Readings::Meta, 10),
        (Counting::EachTime, Readings::Text, 20),
        (Counting::EachTime, Readings::Meta, 20),
        (Counting::EachTime, Readings::Raw, 140),
        (Counting::EachTime, Readings::Both, 140),
    ] {
        let settings = Settings { counting, readings, ..Settings::default() };
        let database = database(&[("weightedphraselist", list)], settings);
        assert_eq!(points(&database, page), expected, "{counting:?} {readings:?}");
    }
    let settings = Settings { counting: Counting::Never, ..Settings::default() };
    assert!(database(&[("weightedphraselist", list)], settings).phrases().is_empty());
}

#[test]
fn a_phrase_in_several_lists_counts_once() {
    for (list, expected) in [
        (&b"<foo><10>\n<foo><20>\n"[..], 20),
        (b"<foo><20>\n<FOO><10>\n", 20),
        (b"<foo><-20>\n<foo><10>\n", 10),
        (b"<foo>,<bar><10>\n<foo><5>\n", 15),
        ("<mädchen><10>\n".as_bytes(), 0),
    ] {
        assert_eq!(points(&weighted(list), b"foo bar"), expected, "{list:?}");
    }
    let lists: [(&str, &[u8]); 2] = [
        ("weightedphraselist", "<mädchen><30>".as_bytes()),
        ("german/weightedphraselist", b"<m\xe4dchen><20>"),
    ];
    let database = database(&lists, Settings::default());
    assert_eq!(points(&database, "Mädchen".as_bytes()), 30, "two charsets, one phrase");
}

#[test]
fn times_and_limits() {
    let night: &[u8] = b"#time: 22 0 6 0 0123456\n<foo><60>\n";
    assert_eq!(points(&weighted(night), b"foo"), 0);
    let settings = Settings { bytes_max: 2000, ..Settings::default() };
    let database = database(&[("weightedphraselist", b"<foo><60>\n")], settings);
    for (before, expected) in [(1900, 60), (1998, 0), (9000, 0)] {
        let page = [vec![b'-'; before], b"foo".to_vec()].concat();
        assert_eq!(points(&database, &page), expected, "{before}");
    }
}

#[test]
fn what_is_never_found_is_passed_over() {
    let mut sources = Sources::new(Key(1, 2));
    sources.add("weightedphraselist", b"<e-mail><10>\n<a>,<b_c><10>\n<good><1>\nnothing\n");
    let (_, report) = sources.compile(Arc::new(|| NOW));
    let count = report.counts.values().next().copied().unwrap_or_default();
    assert_eq!((count.loaded, count.failed, count.passed_over), (1, 1, 2));
}

const PIECES: [&[u8]; 25] = [
    b"<b>",
    b"</b>",
    b"<",
    b">",
    b"&",
    b"&eacute;",
    b"&#101;",
    b"&#x65",
    b";",
    b"foo",
    b" bar ",
    b"two",
    b" ",
    b"words",
    b"\n\n",
    "é".as_bytes(),
    "中文".as_bytes(),
    b"\xe9",
    b"\xc3",
    b"\xa9",
    b"<title>",
    b"<meta ",
    b"\x1b$BF|K\\",
    b"\x1b(B",
    b"f\0o\0o\0",
];

/// The last two are of charsets in which what a byte means depends on those before it.
const DECLARED: [&[u8]; 4] = [b"", b"<meta charset=gbk>", b"<meta charset=iso-2022-jp>", b"\xff\xfe"];

fn page() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60).prop_map(|pieces| pieces.concat())
}

fn readings(page: &[u8], cuts: &[usize], readings: Readings) -> (Vec<u8>, Vec<u8>) {
    let mut out = normal::Output::default();
    let mut normaliser = normal::Normaliser::new(readings, None);
    let mut from = 0;
    for cut in cuts.iter().copied().chain([page.len()]) {
        normaliser.push(&page[from..cut], &mut out);
        from = cut;
    }
    normaliser.finish(&mut out);
    for (raw, text) in out.text.copies.pairs() {
        assert_eq!(out.raw[raw], out.text.bytes[text], "what is said to be a copy is one");
    }
    (out.raw, out.text.bytes)
}

proptest! {
    /// The first kilobyte is held back, so that pages are pushed behind so much that says nothing.
    #[test]
    fn readings_are_the_same_however_cut(page in page(), declared in prop::sample::select(&DECLARED[..])) {
        let page = [declared, &vec![b'-'; 1024 - declared.len()], &page].concat();
        for mode in [Readings::Both, Readings::Meta] {
            let whole = readings(&page, &[], mode);
            let each: Vec<usize> = (0..page.len()).collect();
            prop_assert_eq!(&readings(&page, &each, mode), &whole);
            for cut in 1000..page.len() {
                prop_assert_eq!(&readings(&page, &[cut], mode), &whole, "cut at {}", cut);
            }
            prop_assert!(!whole.1.windows(2).any(|two| two == b"  ") || whole.1.ends_with(b"   "));
        }
    }

    #[test]
    fn scores_are_the_same_however_cut(page in page(), cuts in prop::collection::vec(0_usize..2000, 0..6)) {
        let list = weighted("<foo><1>\n< bar ><2>\n<two words><4>\n<é><8>\n<foo bar>,<two><16>\n<中><32>\n".as_bytes());
        let page = [&vec![b'-'; 1020], &page[..]].concat();
        let whole = list.score(&page, None, NOW);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(page.len())).collect();
        cuts.sort_unstable();
        let each: Vec<usize> = (0..page.len()).collect();
        for cuts in [cuts, each] {
            let mut state = Page::new(list.phrases(), None);
            let mut from = 0;
            for cut in cuts.into_iter().chain([page.len()]) {
                state.push(list.phrases(), &page[from..cut]);
                from = cut;
            }
            prop_assert_eq!(&list.score_of(state, NOW, Told::Always), &whole);
        }
    }
}

/// Words that begin and end alike, so that windows of many phrases meet in few places.
fn phrase() -> impl Strategy<Value = String> {
    let words = prop::sample::select(
        &["a", "ab", "bab", "abab", "babcab", "abcabcabc", "cccc", "with", "the", "1"][..],
    );
    let edges = prop::sample::select(&["", " "][..]);
    (edges.clone(), prop::collection::vec(words, 1..5), edges)
        .prop_map(|(before, words, behind)| format!("{before}{}{behind}", words.join(" ")))
}

proptest! {
    /// However windows are chosen and shared: what stands in a reading is found there, and nothing else.
    #[test]
    fn what_stands_in_a_reading_is_found(
        phrases in prop::collection::btree_set(phrase(), 1..40),
        page in prop::collection::vec((phrase(), prop::sample::select(&[" ", ", ", "<b>", "</p>\n", "é", "&amp;", ""][..])), 0..300),
    ) {
        let page: String = page.into_iter().flat_map(|(words, behind)| [words, behind.to_owned()]).collect();
        let lines: String = phrases.iter().map(|phrase| format!("<{phrase}><1>\n")).collect();
        let (raw, text) = readings(page.as_bytes(), &[], Readings::Both);
        let count = |reading: &[u8]| {
            let stands = |phrase: &&String| reading.windows(phrase.len()).any(|window| window == phrase.as_bytes());
            phrases.iter().filter(stands).count()
        };
        prop_assert_eq!(points(&weighted(lines.as_bytes()), page.as_bytes()), count(&raw).max(count(&text)) as i64);
        // Each place is looked at once, in whichever reading.
        let settings = Settings { counting: Counting::EachTime, points_max: i32::MAX, ..Settings::default() };
        let each_time = database(&[("weightedphraselist", lines.as_bytes())], settings);
        let times = |reading: &[u8]| {
            let of = |phrase: &String| reading.windows(phrase.len()).filter(|window| *window == phrase.as_bytes()).count();
            phrases.iter().map(of).sum::<usize>()
        };
        prop_assert_eq!(points(&each_time, page.as_bytes()), times(&raw).max(times(&text)) as i64);
    }
}

#[test]
fn what_is_told_is_what_the_points_are_of() {
    let list = weighted("<good><-50>\n<gu\u{161}><-20>\n<raw\u{e4}tag><-5>\n<two><3>\n".as_bytes());
    for (page, points, phrases) in [
        // In the text only: the raw reading has more points, none, and does not decide.
        ("gu\u{160}", -20, &["gu\u{161}"][..]),
        ("good", -50, &["good"]),
        ("<img alt=gu\u{160}>", 0, &[]),
        ("good two", -47, &["two", "good"]),
    ] {
        let score = list.score(page.as_bytes(), None, NOW);
        let told: Vec<_> = score.terms.iter().map(|term| &*term.phrase).collect();
        assert_eq!((score.points, told), (points, phrases.to_vec()), "{page}");
    }
}
