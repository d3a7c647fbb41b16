//! The web under TLS, through the gateway in the servers' place. Rule: what a client is told is what a server has proved, and
//! what nobody looks into is known by name.

use lockgate_tests::authority::{Authority, Pair, self_signed};
use lockgate_tests::curl::{self, Fetched};
use lockgate_tests::gateway::{interception, lockgate};
use lockgate_tests::nginx::Nginx;
use lockgate_tests::openssl::{self, Server, hello, with_ech};
use lockgate_tests::process::printed_by;
use lockgate_tests::{Directory, Gateway, mail};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A gateway that intercepts TLS towards these servers, and trusts these roots; `lines` stand in `[tls_interception]`.
fn intercepting(servers: &[SocketAddr], roots: &[&Path], lines: &str) -> Gateway {
    let sections = format!("stats_interval = \"1 s\"\n{}{lines}\n", interception(roots));
    Gateway::http(&format!("intercept_tls = true\n{}", ports(servers)), &sections)
}

fn ports(servers: &[SocketAddr]) -> String {
    let ports: Vec<_> = servers.iter().map(SocketAddr::port).chain([443]).collect();
    format!("connect_ports = {ports:?}\n")
}

fn get(gateway: &Gateway, arguments: &[&str]) -> Fetched {
    let authority = gateway.exported_authority();
    let trust = ["--cacert", authority.to_str().expect("text")];
    curl::through(gateway.address, &[&trust, arguments].concat())
}

fn url(server: SocketAddr, name: &str) -> String {
    format!("https://localhost:{}/{name}", server.port())
}

#[test]
fn pages_are_looked_into_and_arrive_as_they_are() {
    let nginx = Nginx::start();
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], "");
    let clean = mail::noise(1, 3_000_000);
    nginx.put("clean", &clean);
    nginx.put("infected", mail::eicar());
    nginx.put("long", [mail::noise(3, 900_000), mail::eicar(), mail::noise(4, 2000)].concat());
    let (clean_url, infected_url) = (url(nginx.https, "clean"), url(nginx.https, "infected"));
    let fetched = get(&gateway, &[&clean_url]);
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    assert!(fetched.body == clean, "{} bytes", fetched.body.len());
    nginx.until_logged(&["GET localhost /clean 200 1.1 "]);
    gateway.until_event(&["\"event_type\":\"tls\"", "\"sni\":\"localhost\"", "TLSv1.3", "\"intercepted\""]);
    let blocked = get(&gateway, &[&infected_url]);
    assert_eq!((blocked.exit, blocked.status), (0, 403), "{}", blocked.printed);
    assert!(
        blocked.text().contains("Test.Eicar") && blocked.text().contains(&infected_url),
        "{}",
        blocked.text()
    );
    let cut = get(&gateway, &[&url(nginx.https, "long")]);
    assert!(cut.exit != 0 && cut.body.len() < 900_000, "{} {}", cut.exit, cut.printed);
    let files = Directory::new("upload");
    let data = format!("@{}", files.write("eicar", mail::eicar()).display());
    let upload = get(&gateway, &["--data-binary", &data, &url(nginx.https, "upload/one")]);
    assert_eq!((upload.exit, upload.status), (0, 403), "{}", upload.printed);
    assert_eq!(nginx.uploaded("one"), None);
    gateway.until_event(&["\"verdict\"", "Test.Eicar", "\"url\":\"/infected\"", "\"replaced\""]);
}

#[test]
fn one_connection_serves_request_after_request() {
    let nginx = Nginx::start();
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], "");
    nginx.put("a", "first");
    nginx.put("b", "second");
    let output = ["--output", "/dev/null"];
    let (a, b) = (url(nginx.https, "a"), url(nginx.https, "b"));
    let fetched = get(&gateway, &[&[a.as_str()], &output[..], &[&b]].concat());
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    let line = |name: &str| nginx.until_logged(&[name]).split(' ').next().map(str::to_owned);
    assert_eq!(line(" /a 200"), line(" /b 200"), "one connection to the server: {:?}", nginx.log());
}

#[test]
fn a_listed_site_is_a_page_within_tls() {
    let gateway = intercepting(&[], &[Nginx::start().certificate()], "");
    for version in ["--http1.1", "--http2"] {
        let fetched = get(&gateway, &[version, "https://blocked.example/"]);
        assert_eq!((fetched.exit, fetched.status), (0, 403), "{}", fetched.printed);
        assert!(fetched.text().contains("https://blocked.example/"), "{}", fetched.text());
    }
    // A list knows of a part of a site only: the rest is asked for, and there is none.
    let elsewhere = get(&gateway, &["https://news.example/games"]);
    assert_eq!((elsewhere.exit, elsewhere.status), (0, 403), "{}", elsewhere.printed);
    let rest = get(&gateway, &["https://news.example/"]);
    assert_eq!((rest.exit, rest.status), (0, 502), "{}", rest.printed);
}

#[test]
fn each_fault_of_a_server_is_a_page_that_says_which() {
    let (trusted, stranger) = (Authority::new("ec", "/CN=trusted"), Authority::new("ec", "/CN=stranger"));
    let directory = Directory::new("own");
    let localhost = "DNS:localhost,IP:127.0.0.1";
    let expired = Server::start(&trusted.issue(localhost, -1), &[]);
    let other = Server::start(&trusted.issue("DNS:other.example", 30), &[]);
    let pair = trusted.issue(localhost, 30);
    let (fine, old) =
        (Server::start(&pair, &[]), Server::start(&pair, &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]));
    let unknown = Server::start(&stranger.issue(localhost, 30), &[]);
    let own = Server::start(&self_signed(directory.path(), localhost), &[]);
    let nginx = Nginx::start();
    let root = trusted.certificate();
    let servers = [&expired, &other, &fine, &old, &unknown, &own].map(|server| server.address);
    let gateway = intercepting(&[&servers[..], &[nginx.http]].concat(), &[&root], "");
    let cases = [
        ("expired", servers[0], "has expired"),
        ("another name", servers[1], "is for another name"),
        ("old", servers[3], "broke the TLS handshake off"),
        ("unknown", servers[4], "signed by nobody who is trusted"),
        ("its own", servers[5], "signed by nobody but itself"),
        ("in clear", nginx.http, "is not TLS"),
    ];
    for (name, server, words) in cases {
        let fetched = get(&gateway, &[&url(server, "")]);
        assert_eq!((fetched.exit, fetched.status), (0, 502), "{name}: {}", fetched.printed);
        assert!(fetched.text().contains(words), "{name}: {}", fetched.text());
        gateway.until_event(&["\"event_type\":\"tls\"", "\"server_refused\"", words]);
    }
    let fetched = get(&gateway, &[&url(servers[2], "")]);
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    let nobody = get(&gateway, &["https://no-such-host.invalid/"]);
    assert_eq!((nobody.exit, nobody.status), (0, 502), "{}", nobody.printed);
}

#[test]
fn an_exception_sees_the_servers_own_certificate() {
    let nginx = Nginx::start();
    nginx.put("page", "hello");
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], "except = [\"localhost\"]");
    let own = nginx.certificate().to_str().expect("text");
    let fetched = curl::through(gateway.address, &["--cacert", own, &url(nginx.https, "page")]);
    assert_eq!((fetched.exit, fetched.text().as_str()), (0, "hello"), "{}", fetched.printed);
    let why = "never intercepted: tls_interception.except";
    gateway.until_event(&["\"event_type\":\"tls\"", "\"unseen\"", "\"sni\":\"localhost\"", why]);
    // An excepted name over another destination is no exception.
    let port = nginx.https.port();
    let lie = format!("localhost:{port}:127.0.0.1:{port}");
    let arguments = ["--cacert", own, "--connect-to", &lie, &url(nginx.https, "page")];
    assert_eq!(curl::through(gateway.address, &arguments).exit, 60, "it is the gateway's certificate");
}

#[test]
fn a_list_leads_to_another_server_and_it_must_be_the_host_all_the_same() {
    let authority = Authority::new("ec", "/CN=trusted");
    let root = authority.certificate();
    let tube = Server::start(&authority.issue("DNS:www.tube.test", 30), &[]);
    let other = Server::start(&authority.issue("DNS:localhost", 30), &[]);
    let ports = ports(&[tube.address, other.address]);
    // Nobody but the list knows where www.tube.test is.
    let gateway = |lines: &str| {
        let sections = format!("[webfilter]\nlists = [\"DIRECTORY/lists\"]\n{}", interception(&[&root]));
        Gateway::http_prepared(&format!("{lines}\n{ports}"), &sections, |directory| {
            let rule = "\"^https://www\\.tube\\.test\"->\"https://localhost\"\n";
            directory.write("lists/sslsiteregexplist", rule);
        })
    };
    let url = |server: &Server| format!("https://www.tube.test:{}/", server.address.port());
    let (seen, unseen) = (gateway("intercept_tls = true"), gateway(""));
    for version in ["--http1.1", "--http2"] {
        let fetched = get(&seen, &[version, &url(&tube)]);
        assert_eq!((fetched.exit, fetched.status), (0, 200), "{fetched:?}");
        let page = get(&seen, &[version, &url(&other)]);
        assert_eq!((page.exit, page.status), (0, 502), "{page:?}");
        assert!(page.text().contains("is for another name"), "{}", page.text());
    }
    let trust = ["--cacert", root.to_str().expect("text")];
    let fetched = curl::through(unseen.address, &[&trust[..], &[&url(&tube)]].concat());
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{fetched:?}");
    assert_eq!(curl::through(unseen.address, &[&trust[..], &[&url(&other)]].concat()).exit, 60);
}

#[test]
fn a_name_under_tls_that_differs_is_judged_and_must_be_proved() {
    let nginx = Nginx::start();
    nginx.put("page", "hello");
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], "");
    let port = nginx.https.port();
    // CONNECT by address; the certificate proves the name.
    let to = |name: &str| format!("{name}:{port}:127.0.0.1:{port}");
    let fetched = get(&gateway, &["--connect-to", &to("localhost"), &url(nginx.https, "page")]);
    assert_eq!((fetched.exit, fetched.text().as_str()), (0, "hello"), "{}", fetched.printed);
    for (name, status, words) in
        [("blocked.example", 403, "blocked.example"), ("free.example", 502, "is for another name")]
    {
        let fetched = get(&gateway, &["--connect-to", &to(name), &format!("https://{name}:{port}/page")]);
        assert_eq!((fetched.exit, fetched.status), (0, status), "{name}: {}", fetched.printed);
        assert!(fetched.text().contains(words), "{name}: {}", fetched.text());
    }
    // Within TLS there is the one host that was proved.
    for host in ["other.example", "localhost:1"] {
        let host = format!("Host: {host}");
        let fetched = get(&gateway, &["--header", &host, &url(nginx.https, "page")]);
        assert_eq!((fetched.exit, fetched.status), (0, 421), "{}", fetched.printed);
    }
    assert_eq!(nginx.log().len(), 1, "{:?}", nginx.log());
}

#[test]
fn old_and_new_clients_and_sessions_that_are_resumed() {
    let nginx = Nginx::start();
    nginx.put("page", "hello");
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], "");
    let page = url(nginx.https, "page");
    let old = get(&gateway, &["--tls-max", "1.2", &page]);
    assert_eq!((old.exit, old.text().as_str()), (0, "hello"), "{}", old.printed);
    gateway.until_event(&["\"event_type\":\"tls\"", "TLSv1.2", "\"intercepted\""]);
    let by_address = get(&gateway, &[&format!("https://127.0.0.1:{}/page", nginx.https.port())]);
    assert_eq!((by_address.exit, by_address.status), (0, 200), "{}", by_address.printed);
    let (authority, session) = (gateway.exported_authority(), gateway.directory().join("session"));
    let session = session.to_str().expect("text");
    for version in ["-tls1_2", "-tls1_3"] {
        let arguments = [version, "-servername", "localhost", "-verify_return_error", "-ign_eof"];
        let request = b"GET /page HTTP/1.0\r\nConnection: close\r\n\r\n";
        let ask = |more: &[&str]| {
            openssl::ask(gateway.address, nginx.https, &authority, &[&arguments, more].concat(), request)
        };
        let first = ask(&["-sess_out", session]);
        assert!(first.contains("New, TLSv1") && first.contains("hello"), "{first}");
        let second = ask(&["-sess_in", session]);
        assert!(second.contains("Reused, TLSv1") && second.contains("hello"), "{second}");
    }
}

#[test]
fn a_client_that_does_not_trust_the_gateway_is_reported() {
    let nginx = Nginx::start();
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], "");
    let own = nginx.certificate().to_str().expect("text");
    let refused = curl::through(gateway.address, &["--cacert", own, &url(nginx.https, "page")]);
    assert_eq!(refused.exit, 60, "{}", refused.printed);
    let event = gateway.until_event(&["\"event_type\":\"tls\"", "\"client_refused\""]);
    assert!(event.contains("\"sni\":\"localhost\""), "{event}");
}

#[test]
fn what_is_not_http_under_tls_is_refused_or_passes() {
    let nginx = Nginx::start();
    nginx.put("page", "hello");
    let in_clear = format!("http://localhost:{}/page", nginx.http.port());
    let authority = Authority::new("ec", "/CN=trusted");
    let server = Server::start(&authority.issue("DNS:localhost", 30), &[]);
    let servers = [nginx.http, server.address];
    for (lines, exit) in [("", false), ("other_protocols = \"pass\"", true)] {
        let gateway = intercepting(&servers, &[nginx.certificate()], lines);
        let fetched = curl::through(gateway.address, &["--proxytunnel", &in_clear]);
        assert_eq!(fetched.exit == 0 && fetched.text() == "hello", exit, "{lines}: {}", fetched.printed);
        let other = ["-alpn", "imap", "-servername", "localhost"];
        let said = openssl::client(gateway.address, server.address, &authority.certificate(), &other);
        assert_eq!(said.contains("CN = leaf"), exit, "{lines}: {said}");
        let passage = if exit { "\"unseen\"" } else { "\"refused\"" };
        gateway.until_event(&["\"event_type\":\"tls\"", passage, "not HTTP within TLS"]);
    }
}

/// What comes back of the first bytes behind a CONNECT.
fn answer(gateway: SocketAddr, to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(gateway).expect("it listens");
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").expect("it reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("it answers");
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&head));
    stream.write_all(bytes).expect("it reads");
    let mut got = [0; 7];
    let count = stream.read(&mut got).expect("it answers");
    got[..count].to_vec()
}

#[test]
fn without_interception_names_are_judged_and_nothing_is_touched() {
    let nginx = Nginx::start();
    nginx.put("page", "hello");
    let gateway = Gateway::http(&ports(&[nginx.https, nginx.http]), "[tls_interception]\nech = \"refuse\"\n");
    let own = nginx.certificate().to_str().expect("text");
    let fetched = curl::through(gateway.address, &["--cacert", own, &url(nginx.https, "page")]);
    assert_eq!((fetched.exit, fetched.text().as_str()), (0, "hello"), "{}", fetched.printed);
    gateway.until_event(&["\"event_type\":\"tls\"", "\"unseen\"", "does not intercept"]);
    // What is not TLS passes as it did.
    let in_clear = format!("http://localhost:{}/page", nginx.http.port());
    assert_eq!(curl::through(gateway.address, &["--proxytunnel", &in_clear]).text(), "hello");
    let banned = hello("blocked.example");
    assert_eq!(answer(gateway.address, nginx.https, &banned), [21, 3, 3, 0, 2, 2, 49], "access_denied");
    gateway.until_event(&["\"event_type\":\"verdict\"", "blocked.example", "\"refused\""]);
    let free = hello("localhost");
    assert_eq!(answer(gateway.address, nginx.https, &free)[..3], [22, 3, 3], "the server's hello");
    let grease = with_ech(&free);
    assert_eq!(answer(gateway.address, nginx.https, &grease), [21, 3, 3, 0, 2, 2, 49], "access_denied");
    gateway.until_event(&["\"event_type\":\"tls\"", "\"refused\"", "ECH"]);
}

#[test]
fn a_hello_that_may_hide_another_is_answered_for_the_name_that_it_shows() {
    let nginx = Nginx::start();
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], "ech = \"refuse\"");
    let grease = with_ech(&hello("localhost"));
    assert_eq!(answer(gateway.address, nginx.https, &grease)[..3], [22, 3, 3], "the gateway's hello");
}

#[test]
fn an_authority_is_made_once_or_given() {
    let nginx = Nginx::start();
    nginx.put("page", "hello");
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], "");
    let key = gateway.directory().join("authority/key.pem");
    let mode = std::fs::metadata(&key).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let config = gateway.directory().join("lockgate.toml");
    let shown =
        lockgate(&["ca", "show", "--config", config.to_str().expect("text")], gateway.directory().path());
    assert!(
        String::from_utf8_lossy(&shown.stdout).contains("Lockgate authority of "),
        "{}",
        printed_by(&shown)
    );
    // One with a name and a key of another kind than ours.
    let given = Authority::new("rsa", "/C=DE/ST=Hessen/O=Müller, Söhne & Co/CN=Firewall CA");
    let Pair { certificate, key } = given.pair();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).expect("it is ours");
    let lines = format!("certificate = {certificate:?}\nkey = {key:?}");
    assert!(!gateway.events().iter().any(|line| line.contains("ends soon")), "it is valid for ten years");
    let gateway = intercepting(&[nginx.https], &[nginx.certificate()], &lines);
    let trusted = certificate.to_str().expect("text");
    let fetched = curl::through(gateway.address, &["--cacert", trusted, &url(nginx.https, "page")]);
    assert_eq!((fetched.exit, fetched.text().as_str()), (0, "hello"), "{}", fetched.printed);
    assert!(!gateway.directory().join("authority").exists(), "none is made where one is given");
    // Ours are valid for thirty days.
    gateway.until_event(&["authority ends soon", "for 29 more days"]);
    gateway.until_event(&["\"stats\"", "\"tls_authority_seconds_left\":25"]);
    let config = gateway.directory().join("lockgate.toml");
    let arguments = ["ca", "show", "--config", config.to_str().expect("text")];
    let shown = printed_by(&lockgate(&arguments, gateway.directory().path()));
    assert!(shown.contains("\nwarning ") && shown.contains("for 29 more days"), "{shown}");
}
