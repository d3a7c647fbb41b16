//! Pages judged by the phrases in them. Rule: what is over the limit does not arrive whole, and the arithmetic is told.

use lockgate_tests::gateway::lockgate;
use lockgate_tests::nginx::Nginx;
use lockgate_tests::origin::origin;
use lockgate_tests::{Gateway, curl};

const WEIGHTED: &str = "#listcategory: \"Games\"\n< dice ><40>\n<card table><30>\n<school><-40>\n";
/// A word that ISO 8859-2 and Shift_JIS write otherwise than Unicode does.
const ELSEWHERE: &str = "<\u{15b}wi\u{119}to><60>\n<\u{30a2}\u{30c0}><60>\n";
const LISTS: &str = "[webfilter]\nlists = [\"DIRECTORY/lists\"]\n";

fn gateway(listener_lines: &str) -> Gateway {
    Gateway::http_prepared(listener_lines, LISTS, |directory| {
        directory.write("lists/weightedphraselist", [WEIGHTED, ELSEWHERE].concat());
        directory.write("lists/bannedphraselist", "<forbidden>,<words>\n");
        directory.write("lists/exceptionphraselist", "<about safety>\n");
        directory.write("lists/exceptionurllist", "127.0.0.1/excepted.html\n");
    })
}

#[test]
fn pages_are_judged_by_their_phrases() {
    let (nginx, gateway) = (Nginx::start(), gateway(""));
    for (name, page, is_blocked) in [
        ("over.html", "<p>Dice, and a card&nbsp;<b>table</b>", true),
        ("within.html", "<p>Dice, and a table of cards", false),
        ("school.html", "<p>Dice, and a card table, at school", false),
        ("banned.html", "words that are forbidden", true),
        ("safe.html", "words that are forbidden: about safety", false),
        ("excepted.html", "words that are forbidden", false),
        // A text that begins like a mail is read as the page that it is, header and all.
        ("mail.html", "From: a@b.example\nTo: c@d.example\nSubject: dice \n\nand a card table\n", true),
        ("mbox.html", "From a@b.example Sat Nov 21\nSubject: dice \n\nand a card table\n", true),
        ("dice.html", "From: a@b.example\nTo: c@d.example\nSubject: dice \n\nand a table\n", false),
    ] {
        let url = nginx.put(name, page.as_bytes());
        let fetched = curl::through(gateway.address, &[&url]);
        assert_eq!(fetched.status == 403, is_blocked, "{name}: {fetched:?}");
        assert_eq!(fetched.text() == page, !is_blocked, "{name}");
    }
    let compressed = curl::through(gateway.address, &["--compressed", &nginx.url("compressed/over.html")]);
    assert_eq!(compressed.status, 403, "a coding hides nothing");
    let event = gateway.until_event(&["\"event_type\":\"verdict\"", "/over.html", "\"reject\""]);
    for words in ["\"Games\"", "weightedphraselist:2", "\"sum\":70", "\"max\":50", "\"card table\""] {
        assert!(event.contains(words), "{words}: {event}");
    }
    let id = event.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("it has an id");
    let output = lockgate(&["explain", "--config", "lockgate.toml", id], gateway.directory().path());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in ["70 points, 50 are allowed", "+40", "+30", "weightedphraselist:3"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn a_page_that_streams_is_cut_off() {
    let nginx = Nginx::start();
    let gateway = gateway("hold_bytes = \"4 KiB\"\n");
    let page = ["<p>dice, a card table</p>", &"<p>quiet</p>\n".repeat(40_000)].concat();
    let url = nginx.put("long.html", page.as_bytes());
    let fetched = curl::through(gateway.address, &[&url]);
    assert_eq!((fetched.exit, fetched.status), (56, 200), "a reset: {}", fetched.printed);
    assert!(fetched.body.len() < page.len());
    gateway.until_event(&["\"event_type\":\"verdict\"", "/long.html", "\"cut\"", "weightedphraselist:2"]);
}

#[test]
fn a_page_is_read_in_the_charset_that_its_server_names() {
    let gateway = gateway("");
    for (content_type, page, is_blocked) in [
        ("text/html; charset=ISO-8859-2", &b"a \xb6wi\xeato b"[..], true),
        ("text/html;charset=\"shift_jis\"", b"a \x83A\x83_ b", true),
        // What the server says goes before what the page says, as in browsers; without either, nobody would see the word.
        ("text/html; charset=iso-8859-2", b"<meta charset=koi8-r> \xb6wi\xeato b", true),
        ("text/html", b"<meta charset=iso-8859-2> \xb6wi\xeato b", true),
        ("text/html; charset=iso-8859-1", b"a \xb6wi\xeato b", false),
        ("text/html", b"a \xb6wi\xeato b", false),
    ] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            page.len()
        );
        let origin = origin([head.as_bytes(), page].concat());
        let fetched = curl::through(gateway.address, &[&format!("http://{origin}/page")]);
        assert_eq!(fetched.status == 403, is_blocked, "{content_type}: {fetched:?}");
        assert!(is_blocked || fetched.body == page, "{content_type}: {fetched:?}");
    }
}

#[test]
fn explain_names_every_line_that_says_the_same() {
    let gateway = Gateway::http_prepared("", LISTS, |directory| {
        directory.write("lists/weightedphraselist", "<dice><40>\n<card table><30>\n<dice><10>\n");
        directory.write("lists/bannedsitelist", "games.example\n.Include<more>\n");
        directory.write("lists/more", "play.games.example\ngames.example\n");
    });
    let explained = |url: &str, number: &str| {
        curl::through(gateway.address, &[url]);
        let event = gateway.until_event(&["\"event_type\":\"verdict\"", "\"reject\"", number]);
        let id =
            event.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("it has an id");
        let output = lockgate(&["explain", "--config", "lockgate.toml", id], gateway.directory().path());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let told = explained("http://play.games.example/chess", "\"hostname\":\"play.games.example\"");
    for words in ["rule         more:1", "/bannedsitelist:1)", "/more:2)"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let nginx = Nginx::start();
    let told = explained(&nginx.put("dice.html", "dice, a card table"), "/dice.html");
    assert!(told.contains("also listed at weightedphraselist:3"), "{told}");
    assert_eq!(told.matches("also listed").count(), 2, "of the finding and of its points: {told}");
}
