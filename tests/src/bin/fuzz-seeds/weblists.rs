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
    for (index, url) in URLS.iter().enumerate() {
        corpus.put("url_lookup", &format!("url{index}"), url.as_bytes());
    }
}
