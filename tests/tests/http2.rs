//! HTTP/2 through the gateway, from curl to nginx. Rule: what becomes of one stream is not seen on another.

use lockgate_tests::curl::{self, Fetched};
use lockgate_tests::gateway::interception;
use lockgate_tests::nginx::Nginx;
use lockgate_tests::{Directory, Gateway, mail};

/// A gateway in the place of nginx' TLS.
fn gateway(nginx: &Nginx) -> Gateway {
    let ports = [nginx.http2.port(), nginx.https.port()];
    let lines = format!("intercept_tls = true\nconnect_ports = {ports:?}\n");
    Gateway::http(&lines, &interception(&[nginx.certificate()]))
}

fn get(gateway: &Gateway, arguments: &[&str]) -> Fetched {
    let authority = gateway.exported_authority();
    let trust = ["--http2", "--cacert", authority.to_str().expect("text")];
    curl::through(gateway.address, &[&trust, arguments].concat())
}

fn url(nginx: &Nginx, name: &str) -> String {
    format!("https://localhost:{}/{name}", nginx.http2.port())
}

/// Longer than is held, with something near its end.
fn long(last: &[u8]) -> Vec<u8> {
    [mail::noise(3, 900_000), last.to_vec(), mail::noise(4, 2000)].concat()
}

#[test]
fn pages_and_uploads_go_by_http_2_on_both_sides() {
    let nginx = Nginx::start();
    let gateway = gateway(&nginx);
    let clean = mail::noise(1, 3_000_000);
    nginx.put("clean", &clean);
    nginx.put("empty", "");
    nginx.put("infected", mail::eicar());
    let fetched = get(&gateway, &[&url(&nginx, "clean")]);
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    assert!(fetched.body == clean, "{} bytes", fetched.body.len());
    // What came from the server came by HTTP/2, and so did what went there.
    let heads = fetched.heads.to_ascii_lowercase();
    assert!(heads.contains("http/2 200") && heads.contains("via: 2 "), "{heads}");
    nginx.until_logged(&["GET localhost /clean 200 2 "]);
    gateway.until_event(&["\"verdict\"", "\"url\":\"/clean\"", "\"protocol\":\"HTTP/2\"", "3000000"]);
    let fetched = get(&gateway, &[&url(&nginx, "empty")]);
    assert_eq!((fetched.exit, fetched.status, fetched.body.len()), (0, 200, 0), "{}", fetched.printed);
    let fetched = get(&gateway, &["--head", &url(&nginx, "clean")]);
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    assert!(fetched.heads.contains("content-length: 3000000"), "{}", fetched.heads);
    let blocked = get(&gateway, &[&url(&nginx, "infected")]);
    assert_eq!((blocked.exit, blocked.status), (0, 403), "{}", blocked.printed);
    assert!(blocked.text().contains("Test.Eicar"), "{}", blocked.text());
    let files = Directory::new("uploads");
    for (name, content, status) in
        [("clean", clean.clone(), 201), ("eicar", mail::eicar(), 403), ("late", long(&mail::eicar()), 403)]
    {
        let file = files.write(name, &content);
        let to = url(&nginx, &format!("upload/{name}"));
        let fetched = get(&gateway, &["--upload-file", file.to_str().expect("text"), &to]);
        assert_eq!((fetched.exit, fetched.status), (0, status), "{name}: {}", fetched.printed);
        assert_eq!(nginx.uploaded(name), (status == 201).then_some(content), "{name}");
    }
}

#[test]
fn what_is_bad_late_breaks_its_own_stream_only() {
    let nginx = Nginx::start();
    let gateway = gateway(&nginx);
    let clean = mail::noise(1, 30_000_000);
    nginx.put("clean", &clean);
    let bad = long(&mail::eicar());
    nginx.put("bad", &bad);
    let files = Directory::new("parallel");
    let broken = files.join("broken");
    let arguments = [
        "--parallel",
        &url(&nginx, "clean"),
        "--output",
        broken.to_str().expect("text"),
        &url(&nginx, "bad"),
    ];
    let fetched = get(&gateway, &arguments);
    assert!(fetched.printed.contains("INTERNAL_ERROR"), "a stream was reset: {}", fetched.printed);
    assert!(fetched.body == clean, "{} bytes of the other", fetched.body.len());
    let arrived = std::fs::read(&broken).unwrap_or_default();
    assert!(arrived.len() < 900_000 && bad.starts_with(&arrived), "{} bytes", arrived.len());
    let line = |name: &str| nginx.until_logged(&[name]).split(' ').next().map(str::to_owned);
    assert_eq!(line(" /clean 200"), line(" /bad "), "one connection: {:?}", nginx.log());
    gateway.until_event(&["\"verdict\"", "\"url\":\"/bad\"", "\"cut\""]);
    gateway.until_event(&["\"verdict\"", "\"url\":\"/clean\"", "\"forwarded\""]);
}

#[test]
fn a_hundred_streams_go_beside_one_another() {
    let nginx = Nginx::start();
    let gateway = gateway(&nginx);
    for number in 1..=100 {
        nginx.put(&format!("n{number}"), format!("this is {number} ").repeat(3000));
    }
    let files = Directory::new("many");
    let output = format!("{}/n#1", files.path().display());
    nginx.put("first", "");
    let first = url(&nginx, "first");
    let many = url(&nginx, "n[1-100]");
    let arguments = ["--parallel", "--parallel-max", "100", &first, "--output", &output, &many];
    let fetched = get(&gateway, &arguments);
    assert_eq!(fetched.exit, 0, "{}", fetched.printed);
    for number in 1..=100 {
        let content = std::fs::read_to_string(files.join(&format!("n{number}"))).unwrap_or_default();
        assert!(content == format!("this is {number} ").repeat(3000), "{number}: {} bytes", content.len());
    }
    let connections: std::collections::BTreeSet<_> =
        nginx.log().iter().map(|line| line.split(' ').next().map(str::to_owned)).collect();
    assert_eq!(connections.len(), 1, "they share one connection: {connections:?}");
}

#[test]
fn each_side_speaks_what_it_can() {
    let nginx = Nginx::start();
    let gateway = gateway(&nginx);
    nginx.put("page", "hello");
    let old = format!("https://localhost:{}/page", nginx.https.port());
    for (arguments, version) in [
        (["--http2", &old], "HTTP/1.1 200"),
        (["--http1.1", &url(&nginx, "page")], "HTTP/1.1 200"),
        (["--http2", &url(&nginx, "page")], "HTTP/2 200"),
    ] {
        let fetched = get(&gateway, &arguments);
        assert_eq!((fetched.exit, fetched.text().as_str()), (0, "hello"), "{}", fetched.printed);
        assert!(fetched.heads.contains(version), "{version}: {}", fetched.heads);
    }
}

#[test]
fn long_downloads_beside_one_another_go_on_to_their_ends() {
    let nginx = Nginx::start();
    let gateway = gateway(&nginx);
    let clean = mail::noise(1, 3_000_000);
    for number in 1..=20 {
        nginx.put(&format!("n{number}"), &clean);
    }
    let files = Directory::new("long");
    let output = format!("{}/n#1", files.path().display());
    let many = url(&nginx, "n[1-20]");
    nginx.put("first", "");
    let first = url(&nginx, "first");
    let fetched = get(&gateway, &["--parallel", &first, "--output", &output, &many]);
    for number in 1..=20 {
        let arrived = std::fs::read(files.join(&format!("n{number}"))).unwrap_or_default();
        assert!(arrived == clean, "{number}: {} bytes: {}", arrived.len(), fetched.printed);
    }
}
