//! Lists about more of a request than where it goes, and those that change it. Rule: each case names the line that decides.

use crate::tests::{MONDAY_NOON, compile};
use crate::{Database, Decision, Files, Key, Request, Sources};
use lockgate_model::rewrite::{Asking, Line, Replaced, Rewriter};
use std::sync::Arc;

fn told(decision: &Decision) -> String {
    let by = decision.by.as_ref().map(|by| format!(" {}", by.rule())).unwrap_or_default();
    format!("{}{by}", decision.outcome.name())
}

fn loaded(files: &[(&str, &str)]) -> Database {
    let (database, report) = compile(files);
    assert_eq!(report.failures, []);
    database
}

#[test]
fn headers_and_browsers() {
    let database = loaded(&[
        ("bannedregexpheaderlist", "^X-Tunnel: yes$ # a tool\nCookie:.*adult=\n"),
        ("exceptionregexpheaderlist", "^X-Pass: \n"),
        ("bannedregexpuseragentlist", "kindle\n"),
        ("exceptionregexpuseragentlist", "^Updater/\n"),
        ("bannedsitelist", "bad.example\n"),
        ("greysitelist", "grey.example\n"),
        ("localbannedsitelist", "local.example\n"),
    ]);
    for (url, header, expected) in [
        ("a.example", "x-tunnel: YES\r\n", "banned bannedregexpheaderlist:1"),
        ("a.example", "X-Tunnel: yesterday\r\n", "not listed"),
        ("a.example", "Accept: x\r\nCookie: a=b; adult=1\r\n", "banned bannedregexpheaderlist:2"),
        ("a.example", "User-Agent: Amazon Kindle/3\r\n", "banned bannedregexpuseragentlist:1"),
        ("grey.example", "User-Agent: Amazon Kindle/3\r\n", "grey greysitelist:1"),
        ("bad.example", "User-Agent: Updater/1\r\n", "exception exceptionregexpuseragentlist:1"),
        ("bad.example", "X-Pass: 1\r\n", "exception exceptionregexpheaderlist:1"),
        ("local.example", "X-Pass: 1\r\n", "banned localbannedsitelist:1"),
        ("a.example", "User-Agent: a browser\r\nAccept: kindle\r\n", "not listed"),
        ("a.example", "", "not listed"),
    ] {
        let request = Request::parse(url).unwrap().with_header(header.as_bytes());
        assert_eq!(told(&database.judge(&request, MONDAY_NOON)), expected, "{url} {header}");
    }
}

#[test]
fn where_a_request_comes_from() {
    let database = loaded(&[
        ("refererexceptionsitelist", "trusted.example\n"),
        ("refererexceptionurllist", "portal.example/links\n"),
        ("bannedsitelist", "bad.example\n"),
        ("bannediplist", "192.0.2.0/24\n"),
        ("exceptioniplist", "198.51.100.7\n"),
    ]);
    let referred = |url: &str, referrer: &str| {
        let header = format!("Referer: {referrer}\r\n");
        let request = Request::parse(url).unwrap().with_header(header.as_bytes());
        told(&database.judge(&request, MONDAY_NOON))
    };
    let excepted = "exception refererexceptionsitelist:1";
    assert_eq!(referred("bad.example/x", "http://www.trusted.example/page"), excepted);
    assert_eq!(
        referred("bad.example", "https://portal.example/links/2"),
        "exception refererexceptionurllist:1"
    );
    assert_eq!(referred("bad.example", "http://portal.example/"), "banned bannedsitelist:1");
    assert_eq!(referred("trusted.example", "http://a.example/"), "not listed");
    for (client, expected) in [
        ("192.0.2.9", "banned bannediplist:1"),
        ("::ffff:192.0.2.9", "banned bannediplist:1"),
        ("198.51.100.7", "exception exceptioniplist:1"),
        ("198.51.100.8", "banned bannedsitelist:1"),
    ] {
        let request = Request::parse("bad.example").unwrap().by(client.parse().unwrap());
        assert_eq!(told(&database.judge(&request, MONDAY_NOON)), expected, "{client}");
    }
}

#[test]
fn what_people_look_for() {
    let database = loaded(&[
        (
            "searchregexplist",
            "\"^http://[a-z.]+\\.google\\.[a-z]+/search\\?q=([^&]*).*\"->\"\\1\"\n\
             \"^http://find\\.example/.*[?&]w=([^&]*).*\"->\"$1\"\n",
        ),
        ("searchexceptionregexplist", "\"^http://www.google.com/complete\"\n"),
        ("bannedsearchlist", "girl+naughty\ncheats # games\n"),
        ("localbannedsearchlist", "roulette\n"),
        ("bannedsearchoveridelist", "cheats\n"),
        ("greysitelist", "find.example\n"),
        ("localgreysitelist", "grey.google.com\n"),
        ("exceptionsitelist", "trusted.google.com\n"),
    ]);
    for (url, expected) in [
        ("http://www.google.com/search?q=naughty+girl&x=1", "banned bannedsearchlist:1"),
        ("http://www.google.de/search?q=GIRL%20naughty", "banned bannedsearchlist:1"),
        ("https://www.google.com:8080/search?q=girl++naughty", "banned bannedsearchlist:1"),
        ("http://www.google.com/search?q=naughty+girls", "not listed"),
        ("http://www.google.com/search?q=a+naughty+girl", "not listed"),
        ("http://www.google.com/x?q=naughty+girl", "not listed"),
        ("http://find.example/?w=naughty+girl", "banned bannedsearchlist:1"),
        ("http://find.example/?w=anything", "grey greysitelist:1"),
        ("http://find.example/?w=cheats", "exception bannedsearchoveridelist:1"),
        ("http://trusted.google.com/search?q=naughty+girl", "exception exceptionsitelist:1"),
        ("http://grey.google.com/search?q=roulette", "banned localbannedsearchlist:1"),
    ] {
        let request = Request::parse(url).unwrap();
        assert_eq!(told(&database.judge(&request, MONDAY_NOON)), expected, "{url}");
    }
}

#[test]
fn tunnels_and_what_is_encrypted() {
    let database = loaded(&[("bannedsitelist", "**s\n"), ("exceptionsitelist", "bank.example\n")]);
    for (url, expected) in [
        ("http://a.example", "not listed"),
        ("https://a.example", "banned bannedsitelist:1"),
        ("https://bank.example", "exception exceptionsitelist:1"),
    ] {
        assert_eq!(told(&database.judge(&Request::parse(url).unwrap(), MONDAY_NOON)), expected, "{url}");
    }
    let database = loaded(&[("bannedsitelist", "*ips\n")]);
    for (url, expected) in [
        ("https://a.example", "not listed"),
        ("http://192.0.2.1", "not listed"),
        ("https://192.0.2.1", "banned bannedsitelist:1"),
    ] {
        assert_eq!(told(&database.judge(&Request::parse(url).unwrap(), MONDAY_NOON)), expected, "{url}");
    }
}

#[test]
fn where_all_files_are_banned_but_some() {
    let mut sources = Sources::new(Key(1, 2));
    sources.set_files(Files::OnlyExcepted);
    sources.add("exceptionextensionlist", b".html\n");
    sources.add("exceptionmimetypelist", b"text/plain\n");
    sources.add("exceptionfilesitelist", b"update.example\n");
    let (database, _) = sources.compile(Arc::new(|| MONDAY_NOON));
    for (url, media_type, expected) in [
        ("a.example/x.html", "application/x-thing", "not listed"),
        ("a.example/x", "text/plain", "not listed"),
        ("a.example/x.exe", "application/x-thing", "banned webfilter.downloads"),
        ("a.example/", "", "banned webfilter.downloads"),
        ("www.update.example/x.exe", "application/x-thing", "not listed"),
    ] {
        let request = Request::parse(url).unwrap();
        let decision = database.decide_type(&request.address, media_type, MONDAY_NOON);
        assert_eq!(told(&decision), expected, "{url} {media_type}");
    }
}

fn asking<'a>(host: &'a str, uri: &'a str, header: &'a str) -> Asking<'a> {
    Asking {
        client: "192.0.2.1".parse().unwrap(),
        scheme: "http",
        is_tunnel: false,
        host,
        uri: uri.as_bytes(),
        header: header.as_bytes(),
    }
}

fn changing() -> Database {
    loaded(&[
        (
            "urlregexplist",
            "\"(^http://find\\.example/images\\?)(.*)(&?)(safe=[^&]*)\"->\"\\1\\2\\3\"\n\
             \"(^http://find\\.example/images\\?)\"->\"\\1safe=vss&\"\n\"^http://old\\.\"->\"http://new.\"\n",
        ),
        ("urlredirectregexplist", "\"^http://moved\\.example/(.*)\"->\"https://here.example/$1\"\n"),
        ("sslsiteregexplist", "\"(^https://www.tube.example)\"->\"https://restrict.tube.example\"\n"),
        (
            "headerregexplist",
            "\"cookie:(.*)&ADLT=(OFF|DEMOTE)\"->\"Cookie:$1&ADLT=STRICT\"\n\"^upgrade:.*$\"->\"X-E2G-IgnoreMe:\"\n",
        ),
        ("addheaderregexplist", "\"(^http://tube\\.example/.*$)\"->\"YouTube-Restrict: Strict\"\n"),
        ("responseheaderregexplist", "\"^server:.*\"->\"Server: x\"\n"),
        ("contentregexplist", "\"<blink>(.*?)</blink>\"->\"$1\"\n\"bad (word)\"->\"good \\1\"\n"),
        ("exceptionsitelist", "trusted.example\n"),
    ])
}

#[test]
fn what_becomes_of_a_request() {
    let database = changing();
    let url = |host, uri| {
        let made = database.request(&asking(host, uri, ""));
        (made.url.map(|url| String::from_utf8(url).unwrap()), made.rules.join(" "))
    };
    let safe = "http://find.example/images?safe=vss&q=x&";
    assert_eq!(
        url("find.example", "/images?q=x&safe=off"),
        (Some(safe.into()), "urlregexplist:1 urlregexplist:2".into())
    );
    assert_eq!(url("find.example", "/text?q=x"), (None, String::new()));
    assert_eq!(url("old.example", "/"), (Some("http://new.example/".into()), "urlregexplist:3".into()));
    let redirect = database.request(&asking("moved.example", "/a?b", ""));
    assert_eq!(redirect.redirect.as_deref(), Some(&b"https://here.example/a?b"[..]));
    assert!(database.request(&asking("trusted.example", "/", "Upgrade: x\r\n")).is_nothing());
    let header = "Accept: x\r\nCookie: a&ADLT=off;c\r\nUpgrade: h2c\r\n";
    let made = database.request(&asking("tube.example", "/watch", header));
    assert_eq!(
        made.lines,
        [
            Line { at: Some(1), text: b"Cookie: a&ADLT=STRICT;c".to_vec() },
            Line { at: Some(2), text: Vec::new() },
            Line { at: None, text: b"YouTube-Restrict: Strict".to_vec() },
        ]
    );
    let tunnel = Asking { is_tunnel: true, scheme: "https", ..asking("www.tube.example", "/", "") };
    assert_eq!(database.request(&tunnel).url.as_deref(), Some(&b"https://restrict.tube.example"[..]));
    let lines = database.response(b"Date: x\r\nServer: y/1\r\n");
    assert_eq!(lines, [Line { at: Some(1), text: b"Server: x".to_vec() }]);
}

#[test]
fn what_becomes_of_a_page() {
    let database = changing();
    assert!(database.request(&asking("a.example", "/", "")).changes_content);
    assert!(!database.request(&asking("trusted.example", "/", "")).changes_content);
    assert_eq!(database.content_rules(), 2);
    let page = b"<p><BLINK>x</blink> bad word, Bad Word</p>";
    let (first, by) = match database.replace(0, page, 1000) {
        Replaced::With(content, by) => (content, by),
        other => panic!("{other:?}"),
    };
    assert_eq!((&*first, &*by), (&b"<p>x bad word, Bad Word</p>"[..], "contentregexplist:1"));
    let second = Replaced::With(b"<p>x good word, good Word</p>".to_vec(), "contentregexplist:2".into());
    assert_eq!(database.replace(1, &first, 1000), second);
    assert_eq!(database.replace(1, b"nothing", 1000), Replaced::Nothing);
    assert_eq!(database.replace(1, &first, 10), Replaced::TooLong);
    assert_eq!(database.replace(2, &first, 1000), Replaced::Nothing);
}

#[test]
fn where_an_expression_is_wrong() {
    let (_, report) = compile(&[
        ("contentregexplist", "\"fine\"->\"x\"\n\"x(?=y)\"->\"z\"\nno rule\n"),
        ("bannedregexpheaderlist", "a(b)\\1\n"),
        ("searchexceptionregexplist", "\"(?!a)\"\n"),
        ("bannedclientlist", "pc7.example\n"),
    ]);
    let places: Vec<_> = report.failures.iter().map(|f| (&*f.file, f.line, f.column)).collect();
    let rules = "contentregexplist";
    assert_eq!(
        places,
        [
            (rules, 2, Some(3)),
            (rules, 3, None),
            ("bannedregexpheaderlist", 1, Some(5)),
            ("searchexceptionregexplist", 1, Some(2)),
            ("bannedclientlist", 1, None),
        ]
    );
}
