//! Pages and what `sigtool --html-normalise` of ClamAV 1.4 makes of them; characters stand for bytes. Rule: at every cut.

use super::{Page, Text};

fn texts<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> [String; 3] {
    let (mut page, mut texts) = (Page::new(), [Vec::new(), Vec::new(), Vec::new()]);
    let mut out = |text: Text, bytes: &[u8]| texts[text as usize].extend_from_slice(bytes);
    for chunk in chunks {
        page.push(chunk, &mut out);
    }
    page.finish(&mut out);
    texts.map(|text| text.into_iter().map(char::from).collect())
}

fn assert_texts(page: &str, want: [&str; 3]) {
    let page: Vec<u8> = page.chars().map(|character| u8::try_from(character).unwrap()).collect();
    assert_eq!(texts([&page[..]]), want);
    assert_eq!(texts(page.chunks(1)), want, "byte by byte");
    for cut in 0..=page.len() {
        let (first, second) = page.split_at(cut);
        assert_eq!(texts([first, second]), want, "cut at {cut}");
    }
}

#[test]
fn pages() {
    let cases: [(&str, [&str; 2]); 9] = [
        (
            "<html><HEAD Class=Foo x = \"A B\" y='q\"r'>Hello  &amp; &lt;World&gt; &#65;&#x42;&no; &not<b>T\r\n</b>",
            [
                "<html><head class=foo x=\"a b\" y=\"q\"r\">hello & <world> ab&no; &not<b>t </b>",
                " hello world t ",
            ],
        ),
        (" <!-- a comment > Behind -->x<!DOCTYPE y>z", ["behind -->xz", " behind -->x z"]),
        (
            "caf\u{e9} <a title=x href=\"HTTP://X/y\">T</a><img src=Z alt><A HREF='q'>",
            [
                "caf\u{e9} <a title=x href=\"http://x/y\">t</a><img src=z alt><a href=\"q\">",
                "caf\0 HTTP://X/y t Z ",
            ],
        ),
        ("<style> b { C: url('x') } </style><p>", ["<style>b{c:url(\"x\")}</style><p>", " "]),
        ("<img src=\"data:image/png;base64,QUJD\" alt=x><p>y", ["<img src=\"data\"alt=x><p>y", " y"]),
        ("<a href=javascript:a&#58;b>k</a>&", ["<a href=javascript:a:b>k</a>", " javascript:a:b k "]),
        ("a\u{1}b\0c\u{b}d <x  =  y/>", ["a\u{1}bc d <x=y/>", "a bc d "]),
        (
            "\u{e3}\u{80}\u{82} \u{a1}C.\u{c3}\u{a9}x<a b=\u{e3}\u{80}\u{82}\u{c3}\u{a9}c>",
            [". .\0.\u{c3}\u{a9}x<a b=.\u{c3}\u{a9}c>", ". .\0.\u{c3}\u{c3}x "],
        ),
        ("a &eacute; &alpha; &#x3b1; &#xff; <", ["a \u{e9} &#x03b1; &#x03b1; &#x00ff; <", "a "]),
    ];
    for (page, [no_comment, no_tags]) in cases {
        assert_texts(page, [no_comment, no_tags, ""]);
    }
}

#[test]
fn scripts() {
    let cases: [(&str, [&str; 3]); 4] = [
        (
            "<script>var  Aa = \"B\" + 'c'; // one two\n f(Aa, a.Aa);/* no */function Gg(Hh, I){return Hh+I+Jj}\
             eval('x=1+\"y\"')</script>t<script>g(unescape('%41%u0042'), 0x1F, 1.50, 1e3, 1.5e9</script>",
            [
                "<script>varaa=\"b\"+\"c\";//onetwof(aa,a.aa);/*no*/functiongg(hh,i){returnhh+i+jj}\
                 eval(\"x=1+\"y\"\")</script>t<script>g(unescape(\"%41%u0042\"),0x1f,1.50,1e3,1.5e9</script>",
                " t ",
                "<script>var n000=\"bc\";one two f(n000,a.aa);function n001(n002,n003){return n002+n003+jj}\
                 x=1+\"y\"</script>\n<script>g(\"ab\",0 x1f,1.5,1 e3,1.5e+09</script>)</script>",
            ],
        ),
        (
            "<script language='vb'>x = 1 < 2 ' <b> & </b>\n</script ><p",
            [
                "<script language=\"vb\">x=1<2\"<b>&</b></script><p",
                " > ",
                "<script>x=1<2\" <b> & </b> </script \"</script>",
            ],
        ),
        (
            "<script>s='a\\x41\\u0042\\n\\'' + \"b\" ; s += '' + s; s ++ + 'x'</script>",
            [
                "<script>s=\"a\\x41\\u0042\\n\\\"\"+\"b\";s+=\"\"+s;s+++\"x\"</script>",
                " ",
                "<script>s=\"aab 'b\";s+=\"\"+s;s+++\"x\"</script>",
            ],
        ),
        (
            "<script>function a(b){var c=function(d,e){return d+b+c};[f=1,g];var h=[1,i],j={k:l};m;}a(h)",
            [
                "<script>functiona(b){varc=function(d,e){returnd+b+c};[f=1,g];varh=[1,i],j={k:l};m;}a(h)",
                " ",
                "<script>function n000(n001){var n002=function(n003,n004){return n003+n001+n002};[f=1,g];\
                 var n005=[1,i],j={k:l};m;}a(h)</script>",
            ],
        ),
    ];
    for (page, want) in cases {
        assert_texts(page, want);
    }
}

#[test]
fn hostile_pages_take_a_bounded_time() {
    // Each of them would take minutes if something were looked at again and again.
    let long = 300 << 10;
    let cases = [
        "eval('eval(",
        "eval('x')",
        "function a(){",
        "unescape('%",
        "\"a\"+",
        "[(",
        "/*",
        "1.",
        "\\u",
        "&a",
        "''+",
    ];
    for case in cases {
        let script = format!("<script>{}</script>", case.repeat(long / case.len()));
        assert!(!texts([script.as_bytes()])[2].is_empty(), "{case}");
        let page = case.repeat(long / case.len());
        assert!(!texts([page.as_bytes()])[0].is_empty(), "{case}");
    }
    for case in ["<a href=", "<a b='", "<", "&#x1", "<script>x</script>", "<style>", "<a href=data:,%"] {
        let page = case.repeat(long / case.len());
        assert!(!texts([page.as_bytes()])[0].is_empty(), "{case}");
    }
}

#[test]
fn random_pages_come_to_the_same_at_every_cut() {
    let pieces = [
        "word",
        " ",
        "  ",
        "\n",
        "<",
        ">",
        "<b ",
        "<a href=",
        "\"",
        "'",
        "&amp;",
        "&",
        "#65;",
        "<!-- ",
        "<script>",
        "</script>",
        "<style>",
        "</style>",
        "data:,",
        "=",
        "\u{e9}",
        "\r",
        "\t",
        "!",
        "/",
        "%41",
        "x='a'+\"b\";",
        "function f(a){",
        "}",
        "A",
    ];
    let mut word = 1u32;
    let mut random = |most: usize| {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (word >> 8) as usize % most
    };
    for _ in 0..400 {
        let count = random(40);
        let page: Vec<u8> =
            (0..count).flat_map(|_| pieces[random(pieces.len())].chars()).map(|c| c as u8).collect();
        let whole = texts([&page[..]]);
        assert_eq!(texts(page.chunks(1)), whole, "{}", String::from_utf8_lossy(&page));
        let (first, second) = page.split_at(random(page.len() + 1));
        assert_eq!(texts([first, second]), whole, "{}", String::from_utf8_lossy(&page));
    }
}
