//! What matches, at every cut. Rule: each table row says the pattern, the content and the matches.

mod random;
mod reference;

use super::*;

/// Pattern, content in hex, (start, end) of each match.
type Row = (&'static str, &'static str, &'static [(u64, u64)]);
type Found = Vec<(u32, u64, u64)>;

fn scan_cut(database: &Database, content: &[u8], cuts: &[usize]) -> Found {
    let mut found = Vec::new();
    let mut scanner = database.scanner();
    let mut push = |m: Match| found.push((m.pattern.0, m.start, m.end));
    let mut at = 0;
    for &cut in cuts.iter().chain([&content.len()]) {
        scanner.scan(database, &content[at..cut], &mut push);
        at = cut;
    }
    scanner.finish(database, &mut push);
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
