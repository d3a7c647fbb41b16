//! Web lists and URLs to begin with. Rule: each kind of list, each form of a line, good and bad.

use crate::Corpus;

const LISTS: &[(&str, &str)] = &[
    (
        "bannedsitelist",
        "# c\n#listcategory: \"Bad\"\n#time: 9 0 17 0 01234\nbad.example # why\n.xxx\nintranet\n**\n*ip\n**s\n",
    ),
    (
        "exceptionsitelist",
        ".Include<more>\n.Include<>\nhttp://good.example/\n*.good.example\nbücher.example\n中国.example\n",
    ),
    ("greysiteiplist", "192.0.2.7\n10.0.0.0/24\n10.0.0.9/255.255.0.0\n10.1.0.1-10.1.0.3\n2001:db8::/32\n"),
    ("localbannedurllist", "news.example/games\na.example/x.php?id=7\nb.example:80/d%69r/../x/\n/path\n"),
    (
        "bannedregexpurllist",
        "(casino|poker)+.*play  # games\n(?=x)\n(open\n^https?://ads\\.\na{1000}{1000}\n",
    ),
    ("bannedextensionlist", ".exe  # Program\ntar.gz\nan end\n"),
    ("bannedmimetypelist", "audio/mpeg\nvideo/mpeg\nnone\n"),
    ("exceptionfilesitelist", "update.example\n"),
    ("ut1/games/domains", "play.example\nplay.example/x.asp\na b\n.play.example\n"),
    ("ut1/games/usage", "black\nwhite\n"),
    ("ut1/school/usage", "white\nut1/school/domains\n"),
    ("ut1/games/expressions", "^[0-9.]+/track\\?id=[0-9]+$\n"),
    (
        "own.hosts",
        "127.0.0.1 localhost\n0.0.0.0 one.example two.example # both\n::1 ip6-loopback\n192.0.2.1 nas\nx y\n",
    ),
    (
        "ads.adblock",
        "[Adblock Plus 2.0]\n! c\n||ads.example^\n@@||ads.example/logo\n/banner/*.gif|\na##.x\n||b.example^$important\n/ad[0-9]+/\n||c.example^$third-party\n*\n|http://x*y^z|\n#c\n",
    ),
    ("plain.txt", "# c\nads.example\n"),
    ("plain.txt", "0.0.0.0 ads.example\n"),
    ("plain.txt", "||ads.example^\n"),
    ("README", "What this is.\n"),
    ("bannedregexpheaderlist", "# c\n^x-bad: .*[0-9]+  # why\n(open\n\n#listcategory: \"Headers\"\na(?=b)\n"),
    ("exceptionregexpuseragentlist", "^tester/[0-9.]+$\nrobot.?\n)\n"),
    ("bannedsearchlist", "naughty+girl\ncasino # games\n+\n%43asino b\n"),
    ("localbannedsearchlist", "caf\u{c9}\n"),
    ("bannedsearchoveridelist", "girl+school\n"),
    ("searchregexplist", "\"[?&]q=([^&]*)\"->\"$1\"\n\"\"->\"x\"\nno rule\n\"a\"->b\n"),
    ("searchexceptionregexplist", "\"^http://a/\"\n(plain)\n\"(\"\n"),
    ("urlregexplist", "#\n\"(safe)=off\"->\"\\1=on\\\\\\$$9\"\n\"(a\"->\"b\"\n"),
    ("urlredirectregexplist\nsslsiteregexplist", "\"^https?://old\\.(.*)\"->\"http://new.$1\"\n"),
    ("headerregexplist\naddheaderregexplist\nresponseheaderregexplist", "\"^x: (.*)\"->\"Y: $1\"\n"),
    ("contentregexplist", "\"<script\"->\"<template\"\n#time: 9 0 17 0 5\n"),
    ("bannediplist\nexceptioniplist", "192.0.2.66\n198.51.100.0/24\n2001:db8::1-2001:db8::9\nhost.example\n"),
    ("bannedclientlist", "desk.example\n"),
    ("refererexceptionsitelist\nrefererexceptionurllist", "portal.example/list\n"),
    (
        "weightedphraselist\nexceptionphraselist\nbannedphraselist",
        "#noconvert\n<foo><10>\n<one>,<two><18>\n<a>,<b>,<c>\n<bare>\n<>\n<x><1234567890>\n.Include</more>\n#listcategory: \"P\"\n<\u{e4}\u{2022}><1>\n",
    ),
    ("ut1/school/usage\nut1/school/domains\nut1/school/urls\nut1/school/expressions", "white\n"),
    ("phraselists/goodphrases/weighted", "<x><1>\n"),
    ("loggingregexplist", "x\n"),
    (
        "greysitelist",
        "a..b\n-\nx_y.example\n\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}\u{5555}.example\n",
    ),
    ("exceptionurllist", "http://192.0.2.1/x\n[2001:db8::1]/x\nsite.example\n/\n"),
    ("bannedextensionlist", "[a]\n.\n"),
];

/// Who asks and how, by the bits of the first byte; method, host, URI, media type; the header; and the page.
const REQUESTS: &[(u8, [&str; 4], &str, &str)] = &[
    (0, ["GET", "www.bad.example", "/x", "text/html"], "Accept: a", "a bad page x"),
    (1, ["GET", "a.example", "/", ""], "", "baaad $( <script>"),
    (2, ["POST", "a.example", "/aaaa", "Video/MPEG; charset=\"koi8-r\""], "X-Bad: 17", "bbd"),
    (3, ["GET", "bad.example", "/", ""], "X-Good: yes", ""),
    (4, ["CONNECT", "old.example", "", ""], "", ""),
    (4, ["GET", "192.0.2.9", "/", "text/plain"], "evil: 1", "x"),
    (0, ["CONNECT", "good.example", "", ""], "", ""),
    (0, ["GET", "search.example", "/find?q=Naughty+girl&x", ""], "Host: search.example", ""),
    (0, ["GET", "search.example", "/find?q=poker", ""], "", ""),
    (0, ["GET", "search.example", "/?q=school%20girl", ""], "", ""),
    (0, ["GET", "search.example", "/own-search?q=casino", ""], "", ""),
    (0, ["GET", "bad.example", "/", ""], "Referer: https://portal.example/start", ""),
    (0, ["GET", "bad.example", "/", ""], "referer:news.example/list/1\nUser-Agent: tester/1.0", ""),
    (0, ["GET", "a.example", "/", ""], "User-Agent: A robot 2", ""),
    (0, ["GET", "x.example", "/?safe=off", ""], "X-Away: 1\nX-Grow: 12", ""),
    (0, ["GET", "old.example", "/deep?er", ""], "no line of a header\n: x\nX-Grow:", ""),
    (0, ["GET", "video.example", "/v", ""], "Set-Cookie: a=b\nset-cookie: c", ""),
    (0, ["", "", "", ""], "", ""),
];

const URLS: &[&str] = &[
    "http://www.bad.example/",
    "a.example/games/chess?x=y&z",
    "https://u:p@b.example:8080/./a/..//x?y=%31#part",
    "192.0.2.1/x/y",
    "http://[2001:db8::1]:80/x",
    "[::ffff:10.1.2.3]",
    "intranet",
    "a.xxx",
    "x.example/casino/a.jpg",
    "x.example/s.tar.gz?q",
    "files.example/s.exe",
    "s.example/s.exe",
    "http://ads.example/ok/1",
    "sub.ads.example",
    "x.example/banner/7/img?x",
    "http://pop.example/up",
    "bad.example/grey/x",
    "bad.example\n/grey/x",
    "%zz%4.example/%41%",
];

/// A list, and a page.
const PHRASES: &[(&str, &[u8])] = &[
    (
        "<foo><10>\n< bar ><-5>\n<two words>,<18><20%>\n<no>",
        b"<title>foo</title><p>two&nbsp;words, 18 &#98;ar <b>no",
    ),
    (
        "#listcategory: \"A\"\n#time: 9 0 17 0 01234\n.Include<x>\n<e-mail><3>\nnone\n<a><0>\n<",
        b"<meta name=k content='foo'>e-mail</head>",
    ),
    (
        "#noconvert\n<\u{421}\u{435}><7>\n<x><1>\n<xy><1>\n<m\u{e4}dchen><9>",
        "<meta charset=koi8-r>\u{ad}M\u{c4}DCHEN xy \u{2003}m&auml;dchen".as_bytes(),
    ),
    ("<abcdef ghi><5>\n<abc><1>\n<bcde><2>", b"\xff\xfea\0b\0c\0d\0e\0f\0 \0g\0h\0i\0"),
    (
        "<a&b><1>\n<quo ted><2>\n<gut>\n<one>,<two>,<three><7>\n<x>,<y>",
        b"<title>&quot;quo&mdash;ted&quot; a&amp;b &#150; &#x65; &nothing; &toolongtobeone; &#99999999; &#; &",
    ),
    ("<\u{65e5}\u{672c}><5>", b"<?xml version='1.0' encoding='iso-2022-jp'?>\x1b$BF|K\\\x1b(B"),
    ("#charset=gb18030\n<\u{4e2d}\u{6587}><5>\n<foo><1>", b"\xd6\xd0\xce\xc4 foo \x81\x30\x81"),
    ("#charset=nothing\n<foo><1>", b"foo"),
    ("<wide><5>\n<zero><1>", "\u{ff37}\u{ff29}DE z\u{200b}e\u{feff}ro\u{3000}\u{20ac}".as_bytes()),
    ("<caf\u{e9}><5>", b"CAF\xc9 caf\xe9 caf\xc3\xa9 &eacute &#xe9 &#233; \xe2\x82"),
];

pub fn seeds(corpus: &Corpus) {
    for (index, (list, page)) in PHRASES.iter().enumerate() {
        let long = [list.as_bytes(), b"\n\n", page, " a quiet page".repeat(90).as_bytes(), page].concat();
        corpus.put_cut("phrases", &format!("page{index}"), &long);
    }
    corpus.put_cut(
        "phrases",
        "latin",
        b"<m\xe4dchen><9>\n<\xd3\xc5><3>\n\n<meta charset=windows-1251>\xd1\xe5 m\xe4dchen",
    );
    for (index, (name, text)) in LISTS.iter().enumerate() {
        corpus.put("weblists", &format!("list{index}"), format!("{name}\n\n{text}").as_bytes());
    }
    let latin = b"bannedsitelist\n\nb\xfccher.example\r\n\xff\r\n";
    corpus.put("weblists", "latin", latin);
    for (index, (how, words, header, page)) in REQUESTS.iter().enumerate() {
        let content = [&[*how], format!("{}\n{header}\n\n{page}", words.join("\n")).as_bytes()].concat();
        corpus.put_cut("web_requests", &format!("request{index}"), &content);
    }
    // What grows more than it may.
    let grown = format!(
        "\0GET\na.example\n/{}\n\nX-Grow: {}\n\n{}",
        "a".repeat(900),
        "g".repeat(900),
        "x".repeat(1900)
    );
    corpus.put_cut("web_requests", "grown", grown.as_bytes());
    for (index, url) in URLS.iter().enumerate() {
        corpus.put("url_lookup", &format!("url{index}"), url.as_bytes());
    }
}
