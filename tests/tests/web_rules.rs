//! What the web lists say beyond sites, and what they change. Rule: a listed thing is seen by its effect on the client and
//! on the server.

use lockgate_tests::nginx::Nginx;
use lockgate_tests::origin::origin;
use lockgate_tests::packed::{gzip, packed};
use lockgate_tests::{Directory, Gateway, curl, mail};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A server that answers one request, and tells the head that it got.
fn recording(answer: &'static [u8]) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let (tell, told) = channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let (mut request, mut piece) = (Vec::new(), [0; 4096]);
        while !request.windows(4).any(|window| window == b"\r\n\r\n") {
            let count = stream.read(&mut piece)?;
            request.extend_from_slice(&piece[..count]);
        }
        stream.write_all(answer)?;
        let _ = tell.send(String::from_utf8_lossy(&request).into_owned());
        io::Result::Ok(())
    });
    (address, told)
}

#[test]
fn each_part_of_a_form_is_a_part() {
    let (gateway, nginx) = (Gateway::http("", ""), Nginx::start());
    let files = Directory::new("forms");
    let bad = files.write("a.zip", mail::zip_of_gzip("eicar.com", &gzip(&mail::eicar())));
    let form = format!("file=@{}", bad.display());
    let url = nginx.url("upload/bad");
    let sent = curl::through(gateway.address, &["-X", "PUT", "-F", "note=hello", "-F", &form, &url]);
    assert_eq!(sent.status, 403, "{sent:?}");
    assert!(sent.text().contains("Test.Eicar"), "{}", sent.text());
    assert_eq!(nginx.uploaded("bad"), None);
    gateway.until_event(&["\"event_type\":\"verdict\"", "\"file/a.zip/eicar.com\""]);
    // Nothing of it is another thing on the other side.
    let content = [
        b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.bin\"\r\n\r\n".as_slice(),
        &mail::noise(3, 70_000),
        b"\r\n--b--\r\n",
    ]
    .concat();
    let clean = format!("@{}", files.write("clean", &content).display());
    let url = nginx.url("upload/clean");
    let kind = "Content-Type: multipart/form-data; boundary=b";
    let sent = curl::through(gateway.address, &["-X", "PUT", "-H", kind, "--data-binary", &clean, &url]);
    assert_eq!(sent.status, 201, "{sent:?}");
    assert!(nginx.uploaded("clean").is_some_and(|arrived| arrived == content));
    // An archive that calls itself a form is an archive to a server that does not look.
    let zip = format!("@{}", files.write("b.zip", mail::zip("a.txt", b"clean")).display());
    let sent = curl::through(gateway.address, &["-X", "PUT", "-H", kind, "--data-binary", &zip, &url]);
    assert_eq!(sent.status, 403, "{sent:?}");
}

/// A gateway with these lists, and an origin.
fn listing(lists: &[(&str, &str)]) -> (Gateway, Nginx) {
    let sections = "[webfilter]\nlists = [\"DIRECTORY/lists\"]";
    let gateway = Gateway::http_prepared("", sections, |directory| {
        for (name, text) in lists {
            directory.write(&format!("lists/{name}"), text);
        }
    });
    (gateway, Nginx::start())
}

#[test]
fn headers_browsers_and_words_that_are_looked_for() {
    let (gateway, nginx) = listing(&[
        ("bannedregexpuseragentlist", "#listcategory: \"Tests: readers\"\nkindle\n"),
        ("bannedregexpheaderlist", "#listcategory: \"Tests: headers\"\n^X-Tunnel: yes$\n"),
        ("exceptionregexpheaderlist", "^X-Pass: \n"),
        ("searchregexplist", "\"^http://127\\.0\\.0\\.1/find\\?q=([^&]*).*\"->\"\\1\"\n"),
        ("bannedsearchlist", "#listcategory: \"Tests: words\"\ngirl+naughty\n"),
        ("bannedsearchoveridelist", "naughty+x\n"),
        ("bannedextensionlist", "#listcategory: \"Tests: files\"\n.exe\n"),
        ("refererexceptionsitelist", "trusted.example\n"),
    ]);
    let page = nginx.put("find", "found");
    nginx.put("a.exe", "a program");
    let program = nginx.url("a.exe");
    let find = |words: &str| format!("{page}?q={words}&x=1");
    for (arguments, expected) in [
        (vec![page.as_str()], None),
        (vec!["-A", "Amazon Kindle/3", &page], Some("Tests: readers")),
        (vec!["-A", "Amazon Kindle/3", "-H", "X-Pass: 1", &page], None),
        (vec!["-H", "X-Tunnel: yes", &page], Some("Tests: headers")),
        (vec!["-H", "X-Tunnel: yes, please", &page], None),
        (vec![&find("naughty+girl")], Some("Tests: words")),
        (vec![&find("girl%20NAUGHTY")], Some("Tests: words")),
        (vec![&find("naughty+girls")], None),
        (vec![&program], Some("Tests: files")),
        (vec!["-e", "http://www.trusted.example/", &program], None),
    ] {
        let fetched = curl::through(gateway.address, &arguments);
        match expected {
            Some(category) => {
                assert_eq!(fetched.status, 403, "{arguments:?}: {fetched:?}");
                assert!(fetched.text().contains(category), "{arguments:?}: {}", fetched.text());
            }
            None => assert_eq!(fetched.status, 200, "{arguments:?}: {fetched:?}"),
        }
    }
    gateway.until_event(&["\"event_type\":\"verdict\"", "bannedregexpuseragentlist:2", "Tests: readers"]);
    gateway.until_event(&["bannedsearchlist:2", "naughty"]);
}

/// The lists of the tests for what is changed.
const CHANGES: [(&str, &str); 5] = [
    ("contentregexplist", "\"<blink>(.*?)</blink>\"->\"<b>$1</b>\"\n\"bad (word)\"->\"good \\1\"\n"),
    (
        "urlregexplist",
        "\"(^http://127\\.0\\.0\\.1/images\\?)(.*)(&safe=[^&]*)\"->\"\\1\\2\"\n\
         \"(^http://127\\.0\\.0\\.1/images\\?)\"->\"\\1safe=vss&\"\n",
    ),
    (
        "headerregexplist",
        "\"^accept-language:.*\"->\"Accept-Language: de\"\n\"^x-secret:.*\"->\"X-E2G-IgnoreMe:\"\n",
    ),
    ("addheaderregexplist", "\"(^http://127\\.0\\.0\\.1/tube.*$)\"->\"YouTube-Restrict: Strict\"\n"),
    ("responseheaderregexplist", "\"^server: .*\"->\"Server: none\"\n"),
];

#[test]
fn a_page_under_a_rule_is_replaced_in_whole_or_left_as_it_is() {
    let (gateway, nginx) = listing(&CHANGES);
    let text = "<html><BLINK>x</blink> a bad word".to_owned() + &"<p>nothing of it\n".repeat(400);
    let became = text.replace("<BLINK>x</blink>", "<b>x</b>").replace("bad word", "good word");
    let plain = nginx.put("page.html", &text);
    let packed = nginx.url("compressed/page.html");
    for arguments in
        [vec![plain.as_str()], vec!["--compressed", &packed], vec!["-H", "Accept-Encoding: gzip", &packed]]
    {
        let fetched = curl::through(gateway.address, &arguments);
        assert_eq!((fetched.exit, fetched.status), (0, 200), "{fetched:?}");
        assert_eq!(fetched.text(), became, "{arguments:?}");
        let length = format!("content-length: {}\r\n", became.len());
        let heads = fetched.heads.to_lowercase();
        assert!(heads.contains(&length) && !heads.contains("content-encoding"), "{heads}");
        assert!(heads.contains("server: none\r\n"), "{heads}");
    }
    nginx.until_logged(&["/compressed/page.html", "|gzip|"]);
    gateway.until_event(&["replaced by contentregexplist:1, contentregexplist:2", "/page.html"]);
    // What no rule knows, and what is no text, is left as it came.
    let clean = nginx.put("clean.html", "<html>nothing");
    let fetched =
        curl::through(gateway.address, &["-H", "Accept-Encoding: gzip", &nginx.url("compressed/clean.html")]);
    assert!(fetched.heads.to_lowercase().contains("content-encoding: gzip"), "{}", fetched.heads);
    assert_eq!(curl::through(gateway.address, &[&clean]).text(), "<html>nothing");
    let file = nginx.put("file.bin", "a bad word");
    assert_eq!(curl::through(gateway.address, &[&file]).text(), "a bad word");
    let head = curl::through(gateway.address, &["--head", &plain]);
    assert_eq!((head.exit, head.status), (0, 200), "{head:?}");
}

#[test]
fn a_page_that_is_too_long_for_its_rules_passes_as_it_came_and_the_event_says_so() {
    let sections = "[webfilter]\nlists = [\"DIRECTORY/lists\"]\nhold_bytes_max = \"64 KiB\"";
    let gateway = Gateway::http_prepared("", sections, |directory| {
        directory
            .write("lists/contentregexplist", "\"bad\"->\"good\"\n\"grow\"->\"ggggggggggggggggggggrow\"\n");
    });
    let nginx = Nginx::start();
    let long = "a bad word\n".repeat(100_000);
    let grows = "bad grow\n".repeat(5000);
    nginx.put("long.html", &long);
    nginx.put("grows.html", &grows);
    for (name, content) in [
        ("long.html", &long),
        ("chunked/long.html", &long),
        ("compressed/long.html", &long),
        ("grows.html", &grows),
    ] {
        let fetched = curl::through(gateway.address, &["--compressed", &nginx.url(name)]);
        assert_eq!((fetched.exit, fetched.status), (0, 200), "{name}: {}", fetched.printed);
        assert!(fetched.text() == *content, "{name}");
        gateway.until_event(&["not replaced: longer than webfilter.hold_bytes_max", name]);
    }
}

#[test]
fn what_a_page_becomes_is_inspected_too() {
    let eicar = String::from_utf8(mail::eicar()).expect("it is text");
    let (front, back) = eicar.split_at(30);
    let (gateway, nginx) = listing(&[("contentregexplist", "\"<cut>\"->\"\"\n")]);
    let made = nginx.put("made.html", format!("{front}<cut>{back}"));
    let fetched = curl::through(gateway.address, &[&made]);
    assert_eq!(fetched.status, 403, "{fetched:?}");
    assert!(fetched.text().contains("Test.Eicar"), "{}", fetched.text());
    // And as it came: a rule is no way past the scanner.
    let (gateway, _) = listing(&[("contentregexplist", "\"STANDARD\"->\"\"\n")]);
    let bad = nginx.put("bad.html", &eicar);
    assert_eq!(curl::through(gateway.address, &[&bad]).status, 403);
}

#[test]
fn urls_and_headers_are_changed_on_their_way() {
    let (gateway, nginx) = listing(&CHANGES);
    let page = nginx.put("images", "pictures");
    nginx.put("tube", "films");
    let fetched = curl::through(gateway.address, &[&format!("{page}?q=x&safe=off")]);
    assert_eq!((fetched.status, fetched.text().as_str()), (200, "pictures"));
    nginx.until_logged(&["/images?safe=vss&q=x"]);
    assert!(nginx.log().iter().all(|line| !line.contains("safe=off")), "{:?}", nginx.log());
    let echo = |path: &str| {
        let (address, requests) =
            recording(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        let url = format!("http://{address}{path}");
        let arguments = ["-H", "Accept-Language: en", "-H", "X-Secret: 1", "-H", "X-Other: 2", &url];
        assert_eq!(curl::through(gateway.address, &arguments).status, 200);
        requests.recv().expect("the server got it")
    };
    let request = echo("/tube/x");
    for (line, is_there) in [
        ("Accept-Language: de\r\n", true),
        ("Accept-Language: en\r\n", false),
        ("X-Secret", false),
        ("X-E2G", false),
        ("X-Other: 2\r\n", true),
        ("YouTube-Restrict: Strict\r\n", true),
    ] {
        assert_eq!(request.contains(line), is_there, "{line}: {request}");
    }
    assert!(!echo("/else").contains("YouTube-Restrict"));
}

#[test]
fn people_are_led_to_another_page() {
    let (gateway, nginx) = listing(&[
        (
            "urlredirectregexplist",
            "\"^http://127\\.0\\.0\\.1/old/(.*)\"->\"http://moved.example/\\1?from=x y\"\n",
        ),
        (
            "urlregexplist",
            "\"^http://127\\.0\\.0\\.1/safe/\"->\"https://safe.example/\"\n\"/alias$\"->\"/page\"\n",
        ),
        ("exceptionurllist", "127.0.0.1/old/kept\n"),
    ]);
    for (path, location) in [
        ("old/a/b", "location: http://moved.example/a/b?from=x%20y\r\n"),
        ("safe/x", "location: https://safe.example/x\r\n"),
    ] {
        let fetched = curl::through(gateway.address, &[&nginx.url(path)]);
        assert_eq!((fetched.exit, fetched.status), (0, 302), "{fetched:?}");
        assert!(fetched.heads.to_lowercase().contains(location), "{}", fetched.heads);
    }
    assert!(nginx.log().is_empty(), "{:?}", nginx.log());
    gateway.until_event(&["led to another page by urlredirectregexplist:1", "/old/a/b"]);
    nginx.put("page", "here");
    assert_eq!(curl::through(gateway.address, &[&nginx.url("alias")]).text(), "here");
    assert_eq!(curl::through(gateway.address, &[&nginx.url("old/kept")]).status, 404);
}

#[test]
fn a_page_in_zstd_is_looked_into_and_asked_for() {
    let (gateway, nginx) = (Gateway::http("", ""), Nginx::start());
    let zstd = |content: &[u8]| packed("zstd", &["-q", "-19"], "zst", content);
    let served = |content: Vec<u8>| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: zstd\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        format!("http://{}/page", origin([head.as_bytes(), &content].concat()))
    };
    let words = b"nothing to be found here\n".repeat(20_000);
    let clean = zstd(&words);
    let fetched = curl::through(gateway.address, &[&served(clean.clone())]);
    assert!(fetched.status == 200 && fetched.body == clean, "{}", fetched.printed);
    let bad = zstd(&[&words[..], &mail::eicar()].concat());
    for content in [zstd(&mail::eicar()), zstd(&mail::zip_of_gzip("eicar.com", &gzip(&mail::eicar()))), bad] {
        let fetched = curl::through(gateway.address, &[&served(content)]);
        assert_eq!(fetched.status, 403, "{fetched:?}");
        assert!(fetched.text().contains("Test.Eicar"), "{}", fetched.text());
    }
    // A file of that type is an archive like any other.
    let file = nginx.put("file.zst", zstd(&mail::eicar()));
    assert_eq!(curl::through(gateway.address, &["-H", "Accept-Encoding: zstd, dcz", &file]).status, 403);
    nginx.until_logged(&["/file.zst", "|zstd|"]);
}
