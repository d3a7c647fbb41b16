//! Expressions against what Perl finds. Rule: the regular ones are run both ways and must agree.

use super::{Flags, Found, Perl, Start, machine, parser, plain, program};

fn flags(letters: &str) -> Flags {
    Flags {
        any_case: letters.contains('i'),
        dot_all: letters.contains('s'),
        multi_line: letters.contains('m'),
        extended: letters.contains('x'),
        dollar_end_only: letters.contains('E'),
        ungreedy: letters.contains('U'),
    }
}

/// Expression, flags, text, what is found.
type Case = (&'static str, &'static str, &'static [u8], Option<(usize, usize)>);

const CASES: &[Case] = &[
    ("abc", "", b"xxabcx", Some((2, 5))),
    ("abc", "", b"xxABCx", None),
    ("aBc", "i", b"xxAbCx", Some((2, 5))),
    ("a.c", "", b"a\nc", None),
    ("a.c", "s", b"a\nc", Some((0, 3))),
    ("a\\x62+c", "", b"abbbc", Some((0, 5))),
    ("[^a-c]+", "", b"abcdef", Some((3, 6))),
    ("[]a]+", "", b"x]a]", Some((1, 4))),
    ("[[:alpha:]\\d-]+", "", b"..a-1.", Some((2, 5))),
    ("(a|ab)(c|bcd)(d*)", "", b"abcd", Some((0, 4))),
    ("a{2,3}?", "", b"aaaa", Some((0, 2))),
    ("a{2,3}", "", b"aaaa", Some((0, 3))),
    ("a{,3}b", "", b"aaaab", Some((1, 5))),
    ("a{,}", "", b"a{,}", Some((0, 4))),
    ("(\\((?:[^()]|(?1))*\\))", "", b"(a(b)c", Some((2, 5))),
    ("^(?:a(?R)?b|c)$", "", b"acb", None),
    ("^(a(?1)?b)$", "", b"aaabbb", Some((0, 6))),
    ("(?<n>a|b)(?&n)\\k<n>", "", b"aab abab", Some((4, 7))),
    ("(?(DEFINE)(?<d>\\d+))x(?&d)y", "", b"xyx12y", Some((2, 6))),
    ("(?|(a)|(b))\\1", "", b"abb", Some((1, 3))),
    ("foo\\Kbar", "", b"foobar", Some((3, 6))),
    ("a+(*COMMIT)b", "", b"aacaab", None),
    ("a+(*PRUNE)b", "", b"aacaab", Some((3, 6))),
    ("(*MARK:m)a+(*SKIP:m)b|c", "", b"aac", Some((2, 3))),
    ("aaaa(*SKIP)b|a", "", b"aaaaa", Some((4, 5))),
    ("(?:a(*THEN)b|ac)|d", "", b"ac", Some((0, 2))),
    ("a(*ACCEPT)b", "", b"ac", Some((0, 1))),
    ("(?<=ab?c).", "", b"acx", Some((2, 3))),
    ("(?(?=a)ab|cd)", "", b"adcdab", Some((2, 4))),
    ("\\Gb", "", b"ab", None),
    ("(?[ [a-z] - [aeiou] ])+", "", b"aeixyz", Some((3, 6))),
    ("a++a", "", b"aaaa", None),
    ("(?>a+)b", "", b"aaab", Some((0, 4))),
    ("(\\w+)=\\1;", "", b"x=y;ab=ab;", Some((4, 10))),
    ("(?P<v>\\w)(?P=v)", "", b"abccd", Some((2, 4))),
    ("(?<v>\\w)\\k<v>", "i", b"abcC", Some((2, 4))),
    ("(a)(b)\\g{-1}\\g1", "", b"abba", Some((0, 4))),
    ("foo(?!bar)", "", b"foobar foobaz", Some((7, 10))),
    ("foo(?=baz)", "", b"foobar foobaz", Some((7, 10))),
    ("(?<=x)a", "", b"aaxa", Some((3, 4))),
    ("(?<!x|y)a", "", b"xayaa", Some((4, 5))),
    ("^b$", "m", b"a\nb\nc", Some((2, 3))),
    ("^b$", "", b"a\nb", None),
    ("b$", "", b"ab\n", Some((1, 2))),
    ("b$", "E", b"ab\n", None),
    ("\\bfoo\\b", "", b"afoo foo", Some((5, 8))),
    ("a(?i)b|c", "", b"AaB", Some((1, 3))),
    ("(?i:a)b", "", b"Ab", Some((0, 2))),
    ("(?i:a)b", "", b"AB", None),
    ("a b # c\n d", "x", b"abd", Some((0, 3))),
    ("\\Qa.b\\E.", "", b"axba.bc", Some((3, 7))),
    ("(?:a|b)*?c", "", b"ababc", Some((0, 5))),
    ("(?:a?)*c", "", b"aac", Some((0, 3))),
    ("(?:a?){3}b", "", b"ab", Some((0, 2))),
    ("(a(b)?)+(?(2)c|d)", "", b"aabd aabc", Some((5, 9))),
    ("a.*b", "U", b"axbxb", Some((0, 3))),
    ("\\101\\x{42}\\cA", "", b"AB\x01", Some((0, 3))),
    ("\\R", "", b"a\r\nb", Some((1, 3))),
    ("(?:ab){2,}", "", b"ababab", Some((0, 6))),
    ("x*", "", b"aaa", Some((0, 0))),
    ("\\<a\\>", "", b"b<a>", Some((1, 4))),
    ("(a)|b\\1", "", b"b", None),
    ("(?=(\\w+))\\1:", "", b"abc:", Some((0, 4))),
];

#[test]
fn as_perl_finds() {
    for (text, letters, bytes, want) in CASES {
        let perl = Perl::parse(text, flags(letters)).unwrap_or_else(|unread| panic!("{text}: {unread:?}"));
        let want = want.map_or(Found::Nowhere, |(from, to)| Found::At(from, to));
        assert_eq!(perl.find(bytes, 0, Start::Any, &mut 100_000), want, "{text} /{letters}");
        let tree = parser::parse(text.as_bytes(), flags(letters)).unwrap();
        let got = machine::find(&program::compile(&tree), bytes, 0, Start::Any, &mut 100_000);
        assert_eq!(got, want, "{text} /{letters}, by backtracking");
    }
}

#[test]
fn what_is_regular_is_told_from_what_is_not() {
    let cases =
        [("a(b|c)*?d{2,3}", true), ("a(?=b)", false), ("(a)\\1", false), ("a$", false), ("a++", false)];
    for (text, regular) in cases {
        let tree = parser::parse(text.as_bytes(), Flags::default()).unwrap();
        assert_eq!(plain::regex(&tree).is_some(), regular, "{text}");
    }
}

#[test]
fn faults_say_where() {
    let deep = "(".repeat(300);
    let cases = [
        ("(a", 2),
        ("a)", 1),
        ("*a", 0),
        ("[a", 2),
        ("[z-a]", 4),
        ("a{3,2}", 5),
        ("(?P=x)", 6),
        ("\\", 1),
        ("\\p{L}", 2),
        ("(?2)()", 3),
        ("(*FAILED)", 9),
        ("(?<=a+)b", 8),
        ("a{2}{2}{2}{2}{2}{2}{2}{2}{2}{2}{2}{2}{2}{2}{2}{2}{2}", 52),
        ("\\x{100}", 7),
        (deep.as_str(), 250),
    ];
    for (text, at) in cases {
        let unread = parser::parse(text.as_bytes(), Flags::default()).expect_err(text);
        assert_eq!(unread.at, at, "{text}: {}", unread.what);
    }
}

#[test]
fn steps_are_a_bound() {
    let perl = Perl::parse("(a+)+\\1b", Flags::default()).unwrap();
    let mut steps = 1_000_000;
    assert_eq!(perl.find(&[b'a'; 200], 0, Start::Any, &mut steps), Found::Spent);
    assert_eq!(steps, 0);
    let perl = Perl::parse("a+b", Flags::default()).unwrap();
    assert_eq!(perl.find(&[b'a'; 200], 0, Start::First, &mut 1000), Found::Nowhere);
}

#[test]
fn any_text_is_an_expression_or_an_error() {
    let letters = b"ab()[]{}*+?|\\^$.-:=!<>P1,0xi#&\n\xff";
    let mut word = 1_u32;
    let mut random = |bound: usize| {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (word >> 12) as usize % bound
    };
    for _ in 0..20_000 {
        let length = 1 + random(14);
        let text: Vec<u8> = (0..length).map(|_| letters[random(letters.len())]).collect();
        if let Ok(tree) = parser::parse(&text, Flags::default()) {
            let by_machine = machine::find(&program::compile(&tree), b"abab1-a", 0, Start::Any, &mut 10_000);
            if let (Some(regex), false) = (plain::regex(&tree), by_machine == Found::Spent) {
                let want = regex.find(b"abab1-a").map_or(Found::Nowhere, |f| Found::At(f.start(), f.end()));
                assert_eq!(by_machine, want, "{}", String::from_utf8_lossy(&text));
            }
        }
    }
}
