//! What matches, at every cut. Rule: each table row says the pattern, the content and the matches.

pub(crate) mod random;
mod reference;

use super::*;

/// Pattern, content in hex, (start, end) of each match.
type Row = (&'static str, &'static str, &'static [(u64, u64)]);
type Found = Vec<(u32, u64, u64)>;

fn scan_cut(database: &Database, content: &[u8], cuts: &[usize]) -> Found {
    scan_for(Sought::Usual, database, content, cuts)
}

fn scan_for(sought: Sought, database: &Database, content: &[u8], cuts: &[usize]) -> Found {
    let (begun, last) = content.split_at(cuts.last().copied().unwrap_or(0));
    let [mut found, mut of_last] = [Vec::new(), Vec::new()];
    for (is_at_once, found) in [(false, &mut found), (true, &mut of_last)] {
        let mut scanner = Scanner::new(sought);
        let mut push = |m: Match| {
            found.push((m.pattern.0, m.start, m.end));
            Interest::More
        };
        let mut at = 0;
        for &cut in cuts {
            scanner.scan(database, &begun[at..cut], &mut push);
            at = cut;
        }
        if is_at_once {
            scanner.scan_last(database, last, &mut push);
        } else {
            scanner.scan(database, last, &mut push);
            scanner.finish(database, &mut push);
        }
    }
    of_last.sort_unstable();
    let mut sorted = found.clone();
    sorted.sort_unstable();
    assert_eq!(of_last, sorted, "the last bytes and the end at once, cut at {cuts:?}");
    found
}

fn at_every_cut(database: &Database, content: &[u8]) -> Found {
    let whole = scan_cut(database, content, &[]);
    let every: Vec<usize> = (0..content.len()).collect();
    assert_eq!(scan_cut(database, content, &every), whole, "byte by byte");
    for cut in 0..=content.len() {
        assert_eq!(scan_cut(database, content, &[cut]), whole, "cut at {cut}");
    }
    whole
}

fn database(patterns: &[(&str, Case, Anchor)]) -> Database {
    let mut set = PatternSet::new();
    for (hex, case, anchor) in patterns {
        set.add(&Wildcard::parse(hex).unwrap(), *case, *anchor).unwrap();
    }
    set.compile().unwrap()
}

#[test]
fn constructs_match() {
    let cases: &[Row] = &[
        ("aabb", "00aabbaabb", &[(1, 3), (3, 5)]),
        ("aa??bb", "aa00bbaabbbb", &[(0, 3), (3, 6)]),
        ("a?bb", "abbbcbbbaabb", &[(0, 2), (4, 6)]),
        ("?abb", "0abbfabb0bbb", &[(0, 2), (2, 4)]),
        ("aa*bb", "bbaa0000bb00bb", &[(1, 5), (1, 7)]),
        ("aabb{2}cc", "aabb0000ccaabb00cc", &[(0, 5)]),
        ("aabb{2-}cc", "aabbcc00cc", &[(0, 5)]),
        ("aabb{-2}cc", "aabbccaabb0000cc", &[(0, 3), (3, 8)]),
        ("aabb{-2}cc", "aabb000000cc", &[]),
        ("aabb{1-2}cc", "aabbcccccc", &[(0, 4)]),
        ("aabb{1-300}cc", "aabbcc00cc", &[(0, 5)]),
        ("aa[1-2]bbcc", "aa00bbccaabbcc", &[(0, 4)]),
        ("aabb(11|22)cc", "aabb11ccaabb22ccaabb33cc", &[(0, 4), (4, 8)]),
        ("aabb(11|2233)cc", "aabb2233ccaabb22cc", &[(0, 5)]),
        ("(11|2233)aabb", "2233aabb11aabb", &[(0, 4), (4, 7)]),
        ("aabb!(11|22)cc", "aabb11ccaabb33cc", &[(4, 8)]),
        ("aabb!(1122|3344)cc", "aabb1122ccaabb1123cc", &[(5, 10)]),
        ("aabb{2}", "aabb00aabb0000", &[(0, 4), (3, 7)]),
        ("aabb{1-2}", "aabb00", &[(0, 3)]),
        ("(W)6161(W)", "61612061612e6161", &[(0, 2), (3, 5), (6, 8)]),
        ("(W)6161(W)", "616161", &[]),
        ("(L)6161(L)", "61610d61610a2061610a", &[(0, 2), (3, 5)]),
        ("(B)6161(B)", "20616120", &[(1, 3)]),
    ];
    for (hex, content, expected) in cases {
        let content = bytes(content);
        let found = at_every_cut(&database(&[(hex, Case::Sensitive, Anchor::Anywhere)]), &content);
        let expected: Found = expected.iter().map(|&(start, end)| (0, start, end)).collect();
        assert_eq!(found, expected, "{hex}");
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn hostile_content_stays_bounded() {
    // Patterns that agree with themselves at every offset, and content that is nothing else.
    let long = "61".repeat(600);
    let wide = "6161{1-300}6262";
    let patterns = ["6161*6262", wide, "61{0-100}61{0-100}62", &long, "6161{2000-2001}63"];
    let patterns = patterns.map(|hex| (hex, Case::Sensitive, Anchor::Anywhere));
    let database = database(&patterns);
    let mut content = vec![b'a'; 6000];
    content.extend_from_slice(b"bbc");
    let whole = scan_cut(&database, &content, &[]);
    let cuts: Vec<usize> = (0..content.len()).step_by(97).collect();
    assert_eq!(scan_cut(&database, &content, &cuts), whole);
    let of = |id: u32| whole.iter().filter(|found| found.0 == id).count();
    assert_eq!((of(0), of(1), of(3)), (1, 1, 6000 - 600 + 1));
    // The one `c` ends a match from each of two starts.
    assert_eq!(of(4), 2);
}

#[test]
fn ends_are_counted_however_many_starts_lead_there() {
    let wildcard = |hex| Wildcard::parse(hex).unwrap().counted_by(CountedBy::Ends);
    let mut set = PatternSet::new();
    // The last has its rarest piece at the end, where many starts are taken at once.
    for hex in ["6161{0-128}6161", "61{0-100}61{0-100}6262", "6161{1-3}6262*6161{1-3}6262", "61{0-60}626263"]
    {
        set.add(&wildcard(hex), Case::Sensitive, Anchor::Anywhere).unwrap();
    }
    let database = set.compile().unwrap();
    let content = [&[b'a'; 6000][..], b"bbbc", &[b'a'; 300], b"bbb"].concat();
    let whole = scan_cut(&database, &content, &[]);
    let cuts: Vec<usize> = (0..content.len()).step_by(97).collect();
    assert_eq!(scan_cut(&database, &content, &cuts), whole);
    let of = |id: u32| whole.iter().filter(|found| found.0 == id).count();
    assert_eq!([of(0), of(1), of(2), of(3)], [5997 + 299, 2 + 2, 2, 1]);
}

#[test]
fn ranges_beyond_the_bound_are_joined_and_lose_nothing() {
    // Each second offset allows one start, far behind: more ranges than are kept.
    let database = database(&[("6162{4000}{0-200}636465", Case::Sensitive, Anchor::Anywhere)]);
    let mut content = Vec::new();
    for _ in 0..1000 {
        content.extend_from_slice(b"ab..");
    }
    content.resize(6000, b'.');
    content.extend_from_slice(b"cde");
    assert_eq!(scan_cut(&database, &content, &[]).len(), 1);
    assert_eq!(scan_cut(&database, &content, &[100, 4321]).len(), 1);
}

#[test]
fn anchors_are_kept() {
    let within = |first, last| Anchor::Within { first, last };
    let cases: &[(Anchor, &[u64])] = &[
        (Anchor::Anywhere, &[0, 3, 5000]),
        (within(0, 0), &[0]),
        (within(1, 10), &[3]),
        (within(4, 4999), &[]),
        (within(5000, 5000), &[5000]),
        (within(3, u64::MAX), &[3, 5000]),
    ];
    let mut content = b"abcabc".to_vec();
    content.resize(5000, b'.');
    content.extend_from_slice(b"abc");
    for (anchor, expected) in cases {
        let database = database(&[("616263", Case::Sensitive, *anchor)]);
        let starts = |cuts: &[usize]| -> Vec<u64> {
            scan_cut(&database, &content, cuts).into_iter().map(|found| found.1).collect()
        };
        assert_eq!(starts(&[]), *expected, "{anchor:?}");
        assert_eq!(starts(&[1, 4, 4999, 5001]), *expected, "{anchor:?}");
    }
}

#[test]
fn what_cannot_be_searched_is_refused_and_leaves_the_set_whole() {
    let mut set = PatternSet::new();
    for (hex, part) in [("????", 1), ("aabb*a?", 2), ("{200}aabb", 1), ("!(aa|bb)", 1)] {
        let refused = set.add(&Wildcard::parse(hex).unwrap(), Case::Sensitive, Anchor::Anywhere);
        assert_eq!(refused, Err(PatternError::NoFixedByte { part }), "{hex}");
    }
    assert!(set.is_empty());
    let id = set.add(&Wildcard::literal(b"abc"), Case::Insensitive, Anchor::Anywhere);
    assert_eq!(id, Ok(PatternId(0)));
    assert_eq!(scan_cut(&set.compile().unwrap(), b"xABcx", &[]), [(0, 1, 4)]);
}

#[test]
fn a_stream_is_small() {
    let mut set = PatternSet::new();
    for length in 10..=100u8 {
        let bytes: Vec<u8> = (0..length).map(|at| at.wrapping_mul(37) ^ length).collect();
        set.add(&Wildcard::literal(&bytes), Case::Sensitive, Anchor::Anywhere).unwrap();
    }
    let database = set.compile().unwrap();
    assert_eq!(database.strategies(), ["blocks(stride 7, 4 KiB) × 91"]);
    assert!(database.tail_bytes() + size_of::<Scanner>() <= 512);
    let empty = PatternSet::new().compile().unwrap();
    assert_eq!((empty.strategies().len(), empty.tail_bytes()), (0, 0));
    assert_eq!(scan_cut(&empty, b"anything", &[3]), []);
}

/// Pairs stand everywhere in text: what is long enough for a table is not searched by one there.
#[test]
fn fewer_are_searched_by_pairs_in_text() {
    for (mut set, strategies) in [
        (PatternSet::new(), &["blocks of 2(stride 1, 11 KiB) × 100"][..]),
        (PatternSet::for_text(), &["blocks of 2(stride 1, 11 KiB) × 20", "blocks(stride 4, 2 KiB) × 80"][..]),
    ] {
        for (length, number) in
            (0..100u8).map(|number| (if number < 10 { 3 } else { 6 + number / 20 }, number))
        {
            let bytes: Vec<u8> =
                (0..length).map(|at: u8| at.wrapping_mul(37) ^ number.wrapping_mul(11)).collect();
            set.add(&Wildcard::literal(&bytes), Case::Sensitive, Anchor::Anywhere).unwrap();
        }
        assert_eq!(set.compile().unwrap().strategies(), strategies);
    }
}

/// Segments that can start near the beginning only are found by their first byte, however many they are.
#[test]
fn many_places_near_the_beginning() {
    let texts: Vec<String> = (0..40).map(|at| format!("{:02x}61{:02x}", at + 60, at)).collect();
    let patterns: Vec<_> = texts
        .iter()
        .zip(0..)
        .map(|(text, at)| {
            let case = if at % 2 == 0 { Case::Sensitive } else { Case::Insensitive };
            (text.as_str(), case, Anchor::Within { first: at % 3, last: at % 5 + 2 })
        })
        .collect();
    let database = database(&patterns);
    assert_eq!(database.strategies(), ["places × 40"]);
    for (number, (_, case, anchor)) in (0u8..).zip(&patterns) {
        for start in 0..9u64 {
            let mut content = vec![0xff; 16];
            let first =
                if *case == Case::Insensitive { (number + 60).to_ascii_uppercase() } else { number + 60 };
            content[start as usize..start as usize + 3].copy_from_slice(&[first, b'a', number]);
            let wanted = anchor.admits(start).then_some((u32::from(number), start, start + 3));
            for cut in 1..6 {
                assert_eq!(
                    scan_cut(&database, &content, &[cut]),
                    Vec::from_iter(wanted),
                    "{number} at {start}"
                );
            }
        }
    }
}

/// What stands at few places is found there, and nowhere else; what is told, where it is told.
#[test]
fn places_are_looked_at_and_nothing_else() {
    let within = |first, last| Anchor::Within { first, last };
    let database = database(&[
        ("aabb", Case::Sensitive, within(0, 0)),
        ("aabb", Case::Sensitive, within(3, 8)),
        ("a?", Case::Sensitive, within(9, 9)),
        ("aabb*cc", Case::Sensitive, Anchor::Told(5)),
        ("{2}bb", Case::Sensitive, Anchor::Told(5)),
        ("aa", Case::Sensitive, Anchor::Told(6)),
        ("cccc", Case::Sensitive, Anchor::BeforeEnd { distance: 2, shift: 0 }),
        ("(L)cc", Case::Sensitive, Anchor::BeforeEnd { distance: 5, shift: 4 }),
        ("bb", Case::Sensitive, Anchor::BeforeEnd { distance: 15, shift: 63 }),
        ("aa", Case::Sensitive, Anchor::BeforeEnd { distance: 14, shift: 0 }),
    ]);
    assert_eq!(database.strategies(), ["places × 10", "blocks of 1(stride 1, 1 KiB, where led to) × 1"]);
    let content = b"\xaa\xbb\xaa\xaa\xbb\x00\xaa\xaa\xbb\xa0\xaa\xbb\xcc\xcc";
    // The second of two is looked at with what has been kept of the stream.
    let expected = [
        (9, 0, 1),
        (0, 0, 2),
        (1, 3, 5),
        (1, 7, 9),
        (4, 6, 9),
        (2, 9, 10),
        (3, 7, 13),
        (3, 7, 14),
        (6, 12, 14),
    ];
    for cut in 0..=content.len() {
        let mut found = Vec::new();
        let mut push = |m: Match| {
            found.push((m.pattern.0, m.start, m.end));
            Interest::More
        };
        let mut scanner = database.scanner();
        scanner.place(5, 6, 7);
        scanner.place(6, 100, u64::MAX);
        scanner.scan(&database, &content[..cut], &mut push);
        scanner.scan(&database, &content[cut..], &mut push);
        scanner.finish(&database, &mut push);
        found.sort_by_key(|(pattern, start, end)| (*end, *pattern, *start));
        assert_eq!(found, expected, "{cut}");
    }
}

/// Zeros and nothing else, by themselves and in patterns, wherever the chunks are cut.
#[test]
fn runs_of_one_byte_are_found() {
    let database = database(&[
        ("00000000", Case::Sensitive, Anchor::Anywhere),
        ("000000??77", Case::Sensitive, Anchor::Anywhere),
        ("6100000000*62", Case::Sensitive, Anchor::Anywhere),
    ]);
    assert_eq!(database.strategies()[0], "runs of 00 × 1");
    let content = b"\0\0\0a\0\0\0\0\0b\0\0\0\0w\0\0\0\0";
    let expected = [(0, 4, 8), (0, 5, 9), (2, 3, 10), (0, 10, 14), (1, 10, 15), (0, 15, 19)];
    assert_eq!(at_every_cut(&database, content), expected);
}

/// Patterns whose fixed bytes are common everywhere are found by a byte beside them.
#[test]
fn common_bytes_are_found_by_their_neighbours() {
    let database = database(&[
        ("ba??000000", Case::Sensitive, Anchor::Anywhere),
        ("0000??7?", Case::Sensitive, Anchor::Anywhere),
        ("4d5a", Case::Sensitive, Anchor::Anywhere),
    ]);
    let mut content = vec![0; 300];
    content[100] = 0xba;
    content[200] = 0xba;
    content[203] = 1;
    content[253] = 0x7f;
    let expected = [(0, 100, 105), (1, 250, 254)];
    assert_eq!(at_every_cut(&database, &content), expected);
}

/// A pattern that nobody wants to hear of any more is not verified again, and the others are.
#[test]
fn interest_ends_for_one_pattern_only() {
    let database = database(&[
        ("000000", Case::Sensitive, Anchor::Anywhere),
        ("00000001", Case::Sensitive, Anchor::Anywhere),
    ]);
    let content = [vec![0; 4000], vec![1]].concat();
    let mut found = Vec::new();
    let mut scanner = database.scanner();
    for chunk in content.chunks(100) {
        scanner.scan(&database, chunk, &mut |m| {
            found.push((m.pattern.0, m.start));
            Interest::NoMore
        });
    }
    assert_eq!(found, [(0, 0), (1, 3997)]);
}

/// Runs about the lengths of the registers and about the longest that is found as a run, one within the other.
#[test]
fn runs_of_every_length_are_found() {
    let lengths = [3, 63, 64, 65, 130, 255, 256, 300];
    let mut set = PatternSet::new();
    for length in lengths {
        set.add(&Wildcard::literal(&vec![0; length]), Case::Sensitive, Anchor::Anywhere).unwrap();
    }
    let database = set.compile().unwrap();
    assert_eq!(database.strategies(), ["runs of 00 × 8"]);
    let mut content = Vec::new();
    for length in [2, 3, 4, 62, 63, 64, 65, 66, 127, 128, 129, 131, 254, 255, 256, 257, 299, 300, 301] {
        content.extend(vec![0; length]);
        content.push(1);
    }
    let mut expected = Vec::new();
    for end in 1..=content.len() {
        let run = content[..end].iter().rev().take_while(|byte| **byte == 0).count();
        let ending = lengths.iter().enumerate().filter(|(_, length)| **length <= run);
        expected.extend(ending.map(|(id, length)| (id as u32, (end - length) as u64, end as u64)));
    }
    assert_eq!(scan_cut(&database, &content, &[]), expected);
    for first in (0..content.len()).step_by(5) {
        let cuts: Vec<usize> = (first..content.len()).step_by(97).collect();
        assert_eq!(scan_cut(&database, &content, &cuts), expected, "from {first}");
    }
}

/// Of patterns of which one match is enough each is told of, and of none each time.
#[test]
fn what_changes_nothing_is_told_at_least_once() {
    let literal = |number: usize| format!("<{number:05}>").into_bytes();
    let mut set = PatternSet::new();
    (0..3000).for_each(|number| {
        set.add(&Wildcard::literal(&literal(number)), Case::Sensitive, Anchor::Anywhere).unwrap();
    });
    let database = set.compile().unwrap();
    let content: Vec<u8> = (0..30_000).flat_map(|number| literal(number % 3000)).collect();
    let mut told = vec![0; 3000];
    let mut scanner = database.scanner();
    let mut count = |found: Match| {
        told[found.pattern.0 as usize] += 1;
        Interest::NoMore
    };
    content.chunks(1000).for_each(|chunk| scanner.scan(&database, chunk, &mut count));
    scanner.finish(&database, &mut count);
    assert!(told.iter().all(|told| (1..=10).contains(told)));
    assert!(told.iter().sum::<usize>() < 15_000, "{}", told.iter().sum::<usize>());
}
