//! Lists at work: what they decide. Rule: each case is a few lists, a URL and the line that decides.

use crate::{Address, Database, Key, Moment, Outcome, Report, Sources};
use std::sync::Arc;

pub(crate) const MONDAY_NOON: Moment = Moment { weekday: 0, minute: 12 * 60 };

pub(crate) fn compile(files: &[(&str, &str)]) -> (Database, Report) {
    let mut sources = Sources::new(Key(1, 2));
    let is_included = |name: &str| files.iter().any(|(_, text)| text.contains(&format!("<{name}>")));
    for (name, text) in files.iter().filter(|(name, _)| !is_included(name)) {
        let mut waiting = sources.add(name, text.as_bytes());
        while let Some(include) = waiting.pop() {
            match files.iter().find(|(name, _)| *name == include.path) {
                Some((name, text)) => waiting.extend(sources.include(&include, name, text.as_bytes())),
                None => sources.include_failed(&include, "cannot be read"),
            }
        }
    }
    sources.compile(Arc::new(|| MONDAY_NOON))
}

/// `outcome RULE [pattern]`.
fn decide(database: &Database, url: &str) -> String {
    let decision = database.decide(&Address::parse(url).unwrap(), MONDAY_NOON);
    let by = decision.by.map_or_else(String::new, |by| format!(" {} {}", by.rule(), by.pattern));
    format!("{}{by}", decision.outcome.name())
}

fn table(files: &[(&str, &str)], cases: &[(&str, &str)]) {
    let (database, report) = compile(files);
    assert_eq!(report.failures, []);
    for (url, expected) in cases {
        assert_eq!(decide(&database, url), *expected, "{url}");
    }
}

#[test]
fn sites_and_all_below_them() {
    table(
        &[("bannedsitelist", "# sites\nbad.example\n\n.xxx\nintranet\n*ip\n")],
        &[
            ("http://bad.example/x", "banned bannedsitelist:2 bad.example"),
            ("http://WWW.Bad.Example.:8080/", "banned bannedsitelist:2 bad.example"),
            ("notbad.example", "not listed"),
            ("bad.example.org", "not listed"),
            ("a.xxx", "banned bannedsitelist:4 xxx"),
            ("intranet/x", "banned bannedsitelist:5 intranet"),
            ("www.intranet", "not listed"),
            ("192.0.2.1", "banned bannedsitelist:6 *ip"),
            ("[2001:db8::1]", "banned bannedsitelist:6 *ip"),
        ],
    );
}

#[test]
fn urls_and_all_below_them() {
    table(
        &[("bannedurllist", "news.example/games\na.example/x.php?id=7\nb.example/dir/\n192.0.2.1/x\n")],
        &[
            ("news.example/games", "banned bannedurllist:1 news.example/games"),
            ("http://www.news.example/Games/chess?x", "banned bannedurllist:1 news.example/games"),
            ("news.example/a/../%67ames", "banned bannedurllist:1 news.example/games"),
            ("news.example//games?x", "banned bannedurllist:1 news.example/games"),
            ("news.example/gamesmaster", "not listed"),
            ("news.example/x/games", "not listed"),
            ("news.example", "not listed"),
            ("othernews.example/games", "not listed"),
            ("a.example/x.php?id=7&y", "banned bannedurllist:2 a.example/x.php?id=7"),
            ("a.example/x.php?id=77", "not listed"),
            ("b.example/dir", "banned bannedurllist:3 b.example/dir"),
            ("b.example/dir/x", "banned bannedurllist:3 b.example/dir"),
            ("192.0.2.1/x/y", "banned bannedurllist:4 192.0.2.1/x"),
        ],
    );
}

#[test]
fn addresses() {
    table(
        &[
            ("bannedsiteiplist", "192.0.2.7\n10.0.0.0/24\n10.1.0.1-10.1.0.3\n"),
            ("exceptionsiteiplist", "10.0.0.9\n"),
        ],
        &[
            ("192.0.2.7", "banned bannedsiteiplist:1 192.0.2.7"),
            ("192.0.2.8", "not listed"),
            ("10.0.0.8:80", "banned bannedsiteiplist:2 10.0.0.8"),
            ("10.0.0.9", "exception exceptionsiteiplist:1 10.0.0.9"),
            ("[::ffff:10.1.0.2]", "banned bannedsiteiplist:3 10.1.0.2"),
        ],
    );
}

#[test]
fn expressions_see_the_whole_url() {
    table(
        &[
            ("bannedregexpurllist", "(casino|poker)+.*play  # games\n^https?://ads\\.\n"),
            ("tracker/expressions", "^[0-9.]+/track\\?id=[0-9]+$\n"),
            ("exceptionregexpurllist", "casino.museum/\n"),
        ],
        &[
            ("http://x.example/Poker/PLAY", "banned bannedregexpurllist:1 (casino|poker)+.*play"),
            ("http://ads.example", "banned bannedregexpurllist:2 ^https?://ads\\."),
            ("192.0.2.1/track?id=77", "banned tracker/expressions:1 ^[0-9.]+/track\\?id=[0-9]+$"),
            ("casino.museum/play", "exception exceptionregexpurllist:1 casino.museum/"),
            ("x.example", "not listed"),
        ],
    );
}

#[test]
fn the_order_of_lists() {
    table(
        &[
            ("localexceptionsitelist", "a.example\n"),
            ("localgreysitelist", "a.example\nb.example\n"),
            ("localbannedsitelist", "a.example\nb.example\nc.example\n"),
            ("exceptionsitelist", "c.example\nd.example\n"),
            ("greyurllist", "d.example/x\ne.example/x\n"),
            ("bannedsitelist", "d.example\ne.example\n**\n"),
        ],
        &[
            ("a.example", "exception localexceptionsitelist:1 a.example"),
            ("b.example", "grey localgreysitelist:2 b.example"),
            ("c.example", "banned localbannedsitelist:3 c.example"),
            ("d.example/x", "exception exceptionsitelist:2 d.example"),
            ("e.example/x/y", "grey greyurllist:2 e.example/x"),
            ("e.example/y", "banned bannedsitelist:2 e.example"),
            ("f.example", "banned bannedsitelist:3 **"),
        ],
    );
}

#[test]
fn types_of_files_are_banned_wherever_they_are_not_allowed() {
    let (database, report) = compile(&[
        ("bannedextensionlist", ".exe  # Program\n.tar.gz\n"),
        ("bannedmimetypelist", "video/mpeg\n"),
        ("exceptionextensionlist", ".exe\n"),
        ("exceptionfilesitelist", "update.example\n"),
        ("exceptionsitelist", "trusted.example\n"),
        ("greysitelist", "grey.example\n"),
    ]);
    assert_eq!(report.failures, []);
    for (url, expected) in [
        ("a.example/x/Setup.EXE?y=z.txt", "banned bannedextensionlist:1 .exe"),
        ("a.example/x.tar.gz", "banned bannedextensionlist:2 .tar.gz"),
        ("a.example/x.gz", "not listed"),
        ("a.example/x.exe/", "not listed"),
        ("www.update.example/x.exe", "not listed"),
        ("trusted.example/x.exe", "exception exceptionsitelist:1 trusted.example"),
        ("grey.example/x.exe", "banned bannedextensionlist:1 .exe"),
        ("grey.example/x.html", "grey greysitelist:1 grey.example"),
    ] {
        assert_eq!(decide(&database, url), expected, "{url}");
    }
    for (url, expected) in [("a.example/v", Outcome::Banned), ("update.example/v", Outcome::NotListed)] {
        let address = Address::parse(url).unwrap();
        assert_eq!(database.decide_type(&address, "video/mpeg", MONDAY_NOON).outcome, expected, "{url}");
        assert_eq!(database.decide_type(&address, "text/html", MONDAY_NOON).outcome, Outcome::NotListed);
    }
}

#[test]
fn lists_of_today() {
    table(
        &[
            ("plain.txt", "# ads\r\nads.example\r\n"),
            ("own.hosts", "127.0.0.1 localhost\n0.0.0.0 one.example two.example # both\n"),
            ("ut1/games/domains", "play.example\nodd.example/x.asp\n"),
            ("ut1/games/urls", "site.example/play\n"),
            ("ut1/school/domains", "school.example\n"),
            ("ut1/school/usage", "white\n"),
            ("ut1/games/usage", "black\nwhite\n"),
        ],
        &[
            ("www.ads.example", "banned plain.txt:2 ads.example"),
            ("two.example", "banned own.hosts:2 two.example"),
            ("www.two.example", "not listed"),
            ("www.play.example", "banned games/domains:1 play.example"),
            ("odd.example/x.asp?1", "banned games/domains:2 odd.example/x.asp"),
            ("site.example/play/1", "banned games/urls:1 site.example/play"),
            ("school.example", "grey school/domains:1 school.example"),
        ],
    );
}

#[test]
fn what_a_list_includes_is_of_its_kind() {
    let (database, report) = compile(&[
        (
            "exceptionsitelist",
            "#listcategory: \"Trusted\"\n.Include<ut1/bank/domains>\n.Include<more>\n.Include<gone>\n",
        ),
        ("ut1/bank/domains", "bank.example\n"),
        ("more", "more.example\n"),
    ]);
    assert_eq!(decide(&database, "bank.example"), "exception bank/domains:1 bank.example");
    let category = |url| database.decide(&Address::parse(url).unwrap(), MONDAY_NOON).by.unwrap().category;
    assert_eq!((&*category("bank.example"), &*category("more.example")), ("bank", "Trusted"));
    let failures: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    assert_eq!(failures, ["exceptionsitelist:4: gone: cannot be read"]);
}

#[test]
fn a_list_holds_at_its_time() {
    let (database, _) = compile(&[
        ("bannedsitelist", "a.example\n#time: 9 0 17 0 01234\n.Include<more>\n"),
        ("more", "#time: 13 0 23 0 0\nb.example\n"),
    ]);
    let at = |url, weekday, hour: u16| {
        let now = Moment { weekday, minute: hour * 60 };
        database.decide(&Address::parse(url).unwrap(), now).outcome == Outcome::Banned
    };
    assert!(at("a.example", 0, 12) && !at("a.example", 0, 18) && !at("a.example", 6, 12));
    // What is included holds when both hold.
    assert!(at("b.example", 0, 14) && !at("b.example", 0, 12) && !at("b.example", 0, 20));
}

#[test]
fn what_is_not_understood_is_reported_with_its_line() {
    let (_, report) = compile(&[
        ("bannedsitelist", "good.example\na b\n<x>\n#time: soon\n"),
        ("bannedregexpurllist", "(?=x)\n(open\n(fine)\n"),
        ("README", "Nothing to see."),
    ]);
    assert_eq!((report.lines_loaded(), report.lines_failed()), (2, 5));
    let lines: Vec<_> = report.failures.iter().map(|failure| (&*failure.file, failure.line)).collect();
    let (sites, patterns) = ("bannedsitelist", "bannedregexpurllist");
    assert_eq!(lines, [(sites, 2), (sites, 3), (sites, 4), (patterns, 1), (patterns, 2)]);
    assert_eq!(report.unknown, [Arc::from("README")]);
}

#[test]
fn all_that_list_a_site_are_told() {
    let (database, _) = compile(&[
        ("a/domains", "x.example\n"),
        ("b/domains", "y.example\nx.example\n"),
        ("b/urls", "x.example/p\n"),
    ]);
    let decision = database.decide(&Address::parse("x.example/p").unwrap(), MONDAY_NOON);
    let rules: Vec<_> = decision.by.iter().chain(&decision.also).map(|listing| listing.rule()).collect();
    assert_eq!(rules, ["b/urls:1", "a/domains:1", "b/domains:2"]);
}

#[test]
fn adblock_filters() {
    table(
        &[
            (
                "ads.txt",
                "[Adblock Plus 2.0]\n! ads\n||ads.example^\n@@||ads.example/logo\n/banner/*.gif|\na.example##.x\n||own.example^\n\
                 ||bad.example^$important\n@@||bad.example^\n@@||games.example^\n/count[0-9]+\\.js/\n",
            ),
            ("bannedsitelist", "games.example\n"),
        ],
        &[
            ("www.ads.example/x", "banned ads.txt:3 ads.example"),
            ("www.ads.example/logo.png", "grey ads.txt:4 ||ads.example/logo"),
            ("x.example/banner/1.gif", "banned ads.txt:5 /banner/*.gif|"),
            ("x.example/banner/1.gif?", "not listed"),
            ("bad.example", "banned ads.txt:8 bad.example"),
            ("x.example/count7.js", "banned ads.txt:11 count[0-9]+\\.js"),
            // What a list of filters excepts, other lists may still ban.
            ("games.example", "banned bannedsitelist:1 games.example"),
        ],
    );
}
