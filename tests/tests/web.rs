//! The web through the proxy, with curl and nginx. Rule: what is clean arrives as it is, what is not does not arrive,
//! and the client knows.

use lockgate_tests::curl::{self, Fetched};
use lockgate_tests::nginx::Nginx;
use lockgate_tests::origin::origin;
use lockgate_tests::packed::gzip;
use lockgate_tests::{Directory, Gateway, mail, wait};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

fn gateway() -> Gateway {
    Gateway::http("", "")
}

/// Longer than is held, with something near its end.
fn long(last: &[u8]) -> Vec<u8> {
    [mail::noise(3, 900_000), last.to_vec(), mail::noise(4, 2000)].concat()
}

fn assert_blocked(fetched: &Fetched) {
    assert_eq!((fetched.exit, fetched.status), (0, 403), "{fetched:?}");
    let page = fetched.text();
    assert!(page.contains("Test.Eicar") && page.contains("<!DOCTYPE html>"), "{page}");
    assert!(!fetched.body.windows(20).any(|window| window == &mail::eicar()[..20]), "{page}");
}

#[test]
fn clean_content_arrives_byte_for_byte() {
    let (nginx, gateway) = (Nginx::start(), gateway());
    let text = "nowhere to go\n".repeat(60_000);
    for (name, content) in [
        ("index.html", b"<h1>hello</h1>\n".to_vec()),
        ("empty", Vec::new()),
        ("held", mail::noise(1, 200_000)),
        ("streamed", mail::noise(2, 20_000_000)),
        ("text.html", text.clone().into_bytes()),
    ] {
        let url = nginx.put(name, &content);
        let fetched = curl::through(gateway.address, &[&url]);
        assert_eq!((fetched.exit, fetched.status), (0, 200), "{name}: {}", fetched.printed);
        assert!(fetched.body == content, "{name}: {} bytes", fetched.body.len());
        let length = format!("Content-Length: {}\r\n", content.len());
        assert!(fetched.heads.contains(&length), "{name}: {}", fetched.heads);
        let compressed = nginx.url(&format!("compressed/{name}"));
        let fetched = curl::through(gateway.address, &["--compressed", &compressed]);
        assert!(fetched.body == content, "{name} compressed: {fetched:?}");
    }
    let fetched = curl::through(gateway.address, &[&nginx.url("chunked/text.html")]);
    assert!(fetched.heads.contains("Transfer-Encoding: chunked\r\n"), "{}", fetched.heads);
    assert!(fetched.text() == text.replace("nowhere", "anywhere"));
    let fetched = curl::through(gateway.address, &["--http1.0", &nginx.url("chunked/text.html")]);
    assert!(fetched.text() == text.replace("nowhere", "anywhere"), "an old client gets no chunks");
    gateway.until_event(&[
        "\"event_type\":\"verdict\"",
        "\"http_method\":\"GET\"",
        "\"url\":\"/streamed\"",
        "20000000",
    ]);
}

#[test]
fn infected_content_is_a_page_or_a_broken_transfer() {
    let (nginx, gateway) = (Nginx::start(), gateway());
    let zipped = mail::zip("a.zip", &mail::zip("eicar.com", &mail::eicar()));
    for (name, content) in [
        ("plain", mail::eicar()),
        ("b.zip", zipped),
        ("long", long(&mail::eicar())),
        ("file.gz", gzip(&mail::eicar())),
    ] {
        let url = nginx.put(name, &content);
        let fetched = curl::through(gateway.address, &[&url]);
        if name == "long" {
            assert_eq!((fetched.exit, fetched.status), (56, 200), "a reset: {}", fetched.printed);
            assert!(fetched.body.len() < 900_000, "the virus did not arrive");
            assert!(fetched.body == content[..fetched.body.len()]);
            continue;
        }
        assert_blocked(&fetched);
        let old = curl::through(gateway.address, &["--http1.0", &url]);
        assert_blocked(&old);
    }
    // Compressed on the way, and in chunks.
    let compressed = nginx.url("compressed/plain");
    assert_blocked(&curl::through(gateway.address, &["--compressed", &compressed]));
    nginx.until_logged(&["/compressed/plain 200", "gzip"]);
    assert_blocked(&curl::through(gateway.address, &[&nginx.url("chunked/plain")]));
    let event = gateway.until_event(&["\"event_type\":\"verdict\"", "/b.zip", "Test.Eicar"]);
    for words in
        ["\"reject\"", "\"replaced\"", "a.zip/eicar.com", "\"status\":200", "\"http_user_agent\":\"curl/"]
    {
        assert!(event.contains(words), "{words}: {event}");
    }
    gateway.until_event(&["\"event_type\":\"verdict\"", "\"url\":\"/long\"", "\"cut\""]);
}

#[test]
fn an_infected_upload_never_reaches_the_server() {
    let (nginx, gateway) = (Nginx::start(), gateway());
    let files = Directory::new("uploads");
    let eicar = files.write("eicar", mail::eicar());
    let data = format!("@{}", eicar.display());
    let form = format!("file=@{}", eicar.display());
    let url = nginx.url("upload/one");
    for arguments in [
        &["--data-binary", &data][..],
        &["--form", &form],
        &["--upload-file", &eicar.display().to_string()],
        &["--header", "Transfer-Encoding: chunked", "--data-binary", &data],
        &["--header", "Expect: 100-continue", "--data-binary", &data],
    ] {
        assert_blocked(&curl::through(gateway.address, &[arguments, &[&url]].concat()));
    }
    // A long one has begun to leave when it turns out bad: what the server gets of it has no end.
    let long = files.write("long", long(&mail::eicar())).display().to_string();
    for chunked in [&[][..], &["--header", "Transfer-Encoding: chunked"]] {
        let arguments = [chunked, &["--upload-file", &long, &url]].concat();
        assert_blocked(&curl::through(gateway.address, &arguments));
    }
    assert_eq!(nginx.uploaded("one"), None);
    let log = nginx.log();
    assert!(
        log.iter().all(|line| line.contains(" PUT ") && !line.contains(" 201 ")),
        "only the long ones: {log:?}"
    );
    gateway.until_event(&[
        "\"event_type\":\"verdict\"",
        "\"http_method\":\"POST\"",
        "\"refused\"",
        "Test.Eicar",
    ]);
}

#[test]
fn listed_addresses_are_a_page_and_nobody_is_asked() {
    let nginx = Nginx::start();
    let port = nginx.https.port();
    let lists = "[webfilter]\nlists = [\"DIRECTORY/lists\"]";
    let gateway = Gateway::http_prepared(&format!("connect_ports = [{port}]"), lists, |directory| {
        directory.write("lists/bannedsitelist", "#listcategory: \"Tests: sites\"\nlocalhost\n");
        directory.write("lists/bannedurllist", "#listcategory: \"Tests: parts\"\n127.0.0.1/games\n");
    });
    nginx.put("games/one", "a game");
    let lesson = nginx.put("lessons/one", "a lesson");
    let hidden = nginx.url("%67ames/one");
    let by_name = format!("http://localhost:{}/lessons/one", nginx.http.port());
    for (url, category) in
        [(&nginx.url("games/one"), "Tests: parts"), (&hidden, "Tests: parts"), (&by_name, "Tests: sites")]
    {
        let fetched = curl::through(gateway.address, &[url]);
        assert_eq!((fetched.exit, fetched.status), (0, 403), "{url}: {}", fetched.printed);
        assert!(fetched.text().contains(category), "{url}: {}", fetched.text());
    }
    let tunnel = curl::through(gateway.address, &["--insecure", &format!("https://localhost:{port}/")]);
    assert!(tunnel.heads.starts_with("HTTP/1.1 403 "), "{tunnel:?}");
    assert!(nginx.log().is_empty(), "{:?}", nginx.log());
    let fetched = curl::through(gateway.address, &[&lesson]);
    assert_eq!((fetched.status, fetched.text().as_str()), (200, "a lesson"));
    gateway.until_event(&[
        "\"event_type\":\"verdict\"",
        "http.uri",
        "bannedsitelist:",
        "\"webfilter\"",
        "CONNECT",
    ]);
}

#[test]
fn uploads_arrive_byte_for_byte() {
    let (nginx, gateway) = (Nginx::start(), gateway());
    let files = Directory::new("uploads");
    for (name, content) in
        [("empty", Vec::new()), ("held", mail::noise(5, 100_000)), ("streamed", mail::noise(6, 5_000_000))]
    {
        let file = files.write(name, &content).display().to_string();
        for (index, chunked) in [&[][..], &["--header", "Transfer-Encoding: chunked"]].into_iter().enumerate()
        {
            // curl, asked to send nothing in chunks, sends no last one either.
            if (name, index) == ("empty", 1) {
                continue;
            }
            let uploaded = format!("{name}-{index}");
            let url = nginx.url(&format!("upload/{uploaded}"));
            let sent = curl::through(gateway.address, &[chunked, &["--upload-file", &file, &url]].concat());
            assert_eq!((sent.exit, sent.status), (0, 201), "{uploaded}: {}", sent.printed);
            assert!(nginx.uploaded(&uploaded).as_ref() == Some(&content), "{uploaded}");
        }
    }
    // The server says no before it has read the upload.
    let file = files.join("streamed").display().to_string();
    let sent = curl::through(gateway.address, &["--upload-file", &file, &nginx.url("small/one")]);
    assert_eq!(sent.status, 413, "{sent:?}");
}

#[test]
fn responses_without_content_end_where_they_should() {
    let (nginx, gateway) = (Nginx::start(), gateway());
    let url = nginx.put("file", mail::noise(7, 5000));
    let head = curl::through(gateway.address, &["--head", &url]);
    assert_eq!((head.exit, head.status), (0, 200), "{}", head.printed);
    assert!(head.heads.contains("Content-Length: 5000\r\n"), "{}", head.heads);
    let tag =
        head.heads.lines().find_map(|line| line.strip_prefix("ETag: ")).expect("nginx gives one").trim();
    let condition = format!("If-None-Match: {tag}");
    let same = curl::through(gateway.address, &["--header", &condition, &url, &url]);
    assert_eq!((same.exit, same.status, same.body.len()), (0, 304, 0), "{}", same.printed);
    let empty = curl::through(gateway.address, &[&nginx.url("nothing"), &url]);
    assert_eq!((empty.exit, empty.status), (0, 200), "{}", empty.printed);
    let moved = curl::through(
        gateway.address,
        &["--location", &nginx.put("index.html", "home"), &nginx.url("moved/")],
    );
    assert_eq!(moved.exit, 0, "{}", moved.printed);
    let missing = curl::through(gateway.address, &[&nginx.url("missing")]);
    assert_eq!(missing.status, 404, "the server's own answer");
}

#[test]
fn one_connection_serves_many_requests() {
    let (nginx, gateway) = (Nginx::start(), gateway());
    let (one, two) = (nginx.put("one", "one"), nginx.put("two", mail::noise(8, 500_000)));
    let fetched = curl::through(gateway.address, &["--verbose", &one, &two, &one, "--head", &two]);
    assert_eq!(fetched.exit, 0, "{}", fetched.printed);
    assert_eq!(fetched.printed.matches("Connected to").count(), 1, "{}", fetched.printed);
    wait::until("four requests", || (nginx.log().len() == 4).then_some(()));
    let log = nginx.log();
    let connections: Vec<&str> = log.iter().filter_map(|line| line.split(' ').next()).collect();
    assert!(connections.iter().all(|one| *one == connections[0]), "one connection to the server: {log:?}");
    assert!(log.iter().all(|line| line.contains(" 1.1 ")), "Via says who passed it on: {log:?}");
}

/// Says these words and returns all that comes back until the end.
fn converse(address: SocketAddr, words: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(wait::PATIENCE)).expect("a time above zero");
    stream.write_all(words).expect("it reads");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn what_arrives_tells_explicit_from_transparent() {
    let (nginx, gateway) = (Nginx::start(), gateway());
    nginx.put("page", "the page");
    let host = nginx.http;
    let requests = [
        format!("GET http://{host}/page HTTP/1.1\r\nHost: other.example\r\n"),
        format!("GET /page HTTP/1.1\r\nHost: {host}\r\n"),
        format!("GET /page HTTP/1.1\r\nhost:{host}\r\n"),
    ];
    for request in &requests {
        let answer = converse(gateway.address, format!("{request}Connection: close\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("the page"), "{request}: {answer}");
    }
    // Pipelined: answered in order, each by itself.
    let all = format!("{0}\r\n{0}\r\n{0}Connection: close\r\n\r\n", requests[1]);
    assert_eq!(converse(gateway.address, all.as_bytes()).matches("the page").count(), 3);
    // Of what has two readings there is none.
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", " 400 "),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", " 400 "),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", " 400 "),
        ("GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", " 501 "),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", " 400 "),
    ] {
        let answer = converse(gateway.address, request.as_bytes());
        assert!(
            answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 501"),
            "{request}: {answer}"
        );
        assert!(answer[..16].contains(status), "{request}: {answer}");
    }
}

#[test]
fn no_range_and_no_unknown_coding_is_asked_for() {
    let (nginx, gateway) = (Nginx::start(), gateway());
    let url = nginx.put("eicar", mail::eicar());
    for range in ["0-33", "34-67"] {
        assert_blocked(&curl::through(gateway.address, &["--range", range, &url]));
    }
    curl::through(gateway.address, &["--header", "Accept-Encoding: br, zstd, deflate", &url]);
    nginx.until_logged(&["/eicar", "|identity|-|"]);
    assert!(nginx.log().iter().all(|line| line.contains("|-|")), "{:?}", nginx.log());
}

#[test]
fn connect_leads_to_the_server_and_nowhere_else() {
    let nginx = Nginx::start();
    let ports = format!("connect_ports = [443, {}]", nginx.https.port());
    let gateway = Gateway::http(&ports, "");
    let content = mail::noise(9, 3_000_000);
    nginx.put("file", &content);
    let certificate = nginx.certificate().display().to_string();
    let url = format!("https://localhost:{}/file", nginx.https.port());
    let fetched = curl::through(gateway.address, &["--cacert", &certificate, &url]);
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    assert!(fetched.body == content);
    gateway.until_event(&["\"http_method\":\"CONNECT\"", "\"hostname\":\"localhost\"", "\"forwarded\""]);
    // Another port, and the gateway itself.
    let port = nginx.http.port();
    let refused =
        curl::through(gateway.address, &["--proxytunnel", &format!("http://localhost:{port}/file")]);
    assert!(refused.heads.starts_with("HTTP/1.1 403 "), "{refused:?}");
    let own = curl::through(gateway.address, &[&format!("http://{}/", gateway.address)]);
    assert_eq!(own.status, 403, "{own:?}");
    assert!(
        own.text().contains("the address is the gateway&#39;s own") || own.text().contains("gateway's own")
    );
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    let gateway = gateway();
    let long = mail::noise(10, 600_000);
    let unfinished = |length: usize, bytes: &[u8]| {
        [format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").as_bytes(), bytes].concat()
    };
    let cases: [(&str, Vec<u8>, i32, u16); 6] = [
        ("it closes", Vec::new(), 0, 502),
        ("no HTTP", b"SSH-2.0-x\r\n\r\n".to_vec(), 0, 502),
        (
            "two lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_vec(),
            0,
            502,
        ),
        ("it dies in what is held", unfinished(1000, &long[..500]), 0, 502),
        ("it dies in what streams", unfinished(900_000, &long), 56, 200),
        (
            "a bad chunk",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n".to_vec(),
            0,
            502,
        ),
    ];
    for (what, answer, exit, status) in cases {
        let url = format!("http://{}/", origin(answer));
        let fetched = curl::through(gateway.address, &[&url]);
        assert_eq!((fetched.exit, fetched.status), (exit, status), "{what}: {}", fetched.printed);
        if status == 502 {
            assert!(fetched.text().contains("No answer from the server"), "{what}: {}", fetched.text());
        }
    }
    let until_close = origin(b"HTTP/1.0 200 OK\r\n\r\nto the end".to_vec());
    let fetched = curl::through(gateway.address, &[&format!("http://{until_close}/")]);
    assert_eq!((fetched.exit, fetched.text().as_str()), (0, "to the end"), "{}", fetched.printed);
    assert!(fetched.heads.contains("Transfer-Encoding: chunked\r\n"), "{}", fetched.heads);
    for url in [format!("http://{}/", wait::free_address()), "http://no-such-host.invalid/".to_owned()] {
        let fetched = curl::through(gateway.address, &[&url]);
        assert_eq!((fetched.exit, fetched.status), (0, 502), "{url}: {}", fetched.printed);
    }
    gateway.until_event(&["no-such-host.invalid", "\"lost\"", "502 "]);
}

#[test]
fn events_of_a_stream_do_not_wait_for_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let gateway = gateway();
    let mut client = TcpStream::connect(gateway.address).expect("it listens");
    client.set_read_timeout(Some(wait::PATIENCE)).expect("a time above zero");
    client.write_all(format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).expect("it reads");
    let (mut server, _) = listener.accept().expect("the gateway comes");
    assert!(server.read(&mut [0; 4096]).expect("a request") > 0);
    let mut seen = String::new();
    let mut until = |words: &str| {
        let mut piece = [0; 4096];
        while !seen.contains(words) {
            let count = client.read(&mut piece).expect("more comes");
            assert!(count > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    };
    server
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n")
        .expect("it reads");
    until("\r\n\r\n");
    for event in ["data: one\n\n", "data: two\n\n"] {
        server.write_all(event.as_bytes()).expect("it reads");
        until(event);
    }
    // Half of something bad has been held for its time and has left; the other half never does, nor what is behind it.
    let eicar = mail::eicar();
    let (half, rest) = eicar.split_at(40);
    server.write_all(half).expect("it reads");
    until(&String::from_utf8_lossy(half));
    let _ = server.write_all(&[rest, b"behind it"].concat());
    let mut last = Vec::new();
    assert!(client.read_to_end(&mut last).is_err(), "a reset: {} bytes", last.len());
    assert!(last.is_empty(), "{} bytes", last.len());
    gateway.until_event(&["\"event_type\":\"verdict\"", "text/event-stream", "\"cut\""]);
}
