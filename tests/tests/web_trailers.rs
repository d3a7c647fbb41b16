//! Fields behind the content, through the gateway. Rule: who gets them has asked for them or speaks what has them, and they
//! come behind what was let go to its end.

use lockgate_tests::curl::{self, Fetched};
use lockgate_tests::gateway::interception;
use lockgate_tests::nghttpd::Nghttpd;
use lockgate_tests::trailing::Trailing;
use lockgate_tests::{Gateway, grpc, mail};
use std::path::Path;

/// A gateway that looks into TLS to a server on this port.
fn gateway(port: u16, certificate: &Path) -> Gateway {
    let lines = format!("intercept_tls = true\nconnect_ports = [{port}]\n");
    Gateway::http(&lines, &interception(&[certificate]))
}

#[test]
fn by_http_1_they_are_for_who_asks_for_them() {
    let origin = Trailing::start();
    let gateway = Gateway::http("", "");
    let clean = mail::noise(1, 3_000_000);
    let clean_url = origin.put("clean", &clean);
    let get = |arguments: &[&str]| curl::through(gateway.address, arguments);
    for (arguments, asks) in [
        (&["-H", "TE: trailers", "-H", "Connection: TE"][..], true),
        (&["-H", "TE: deflate;q=0.5, Trailers"], true),
        (&["-H", "TE: deflate"], false),
        (&["--http1.0", "-H", "TE: trailers"], false),
        (&[], false),
    ] {
        let fetched = get(&[arguments, &[&clean_url]].concat());
        assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
        assert!(fetched.body == clean, "{} bytes", fetched.body.len());
        let heads = fetched.heads.to_ascii_lowercase();
        assert_eq!(heads.contains("\r\nx-sum: 42\r\n"), asks, "{arguments:?}: {heads}");
        // They are announced where they come, without those that do not.
        assert_eq!(heads.contains("\r\ntrailer: x-sum\r\n"), asks, "{arguments:?}: {heads}");
        assert!(!heads.contains("evil") && !heads.contains("set-cookie"), "{heads}");
        let told = if asks { "x-te: trailers/te" } else { "x-te: none/none" };
        assert!(heads.contains(told), "{arguments:?}: {heads}");
    }
    let asking = ["-H", "TE: trailers"];
    let bad = get(&[&asking[..], &[&origin.put("bad", mail::eicar())]].concat());
    assert_eq!((bad.exit, bad.status), (0, 403), "{}", bad.printed);
    assert!(!bad.heads.to_ascii_lowercase().contains("x-sum"), "{}", bad.heads);
    let late = [mail::noise(3, 900_000), mail::eicar(), mail::noise(4, 2000)].concat();
    let cut = get(&[&asking[..], &[&origin.put("late", late)]].concat());
    assert_ne!(cut.exit, 0, "{}", cut.printed);
    assert!(!cut.heads.contains("X-Sum: 42"), "{}", cut.heads);
}

#[test]
fn by_http_2_they_come_behind_what_leaves_as_it_came() {
    let origin = Nghttpd::start(&["x-sum: 42", "set-cookie: a=b", "content-type: text/evil"]);
    let gateway = gateway(origin.address.port(), origin.certificate());
    let get = |arguments: &[&str]| -> Fetched {
        let authority = gateway.exported_authority();
        let trust = ["--http2", "--cacert", authority.to_str().expect("text")];
        curl::through(gateway.address, &[&trust, arguments].concat())
    };
    let clean = mail::noise(1, 3_000_000);
    let clean_url = origin.put("clean", &clean);
    let fetched = get(&[&clean_url]);
    assert_eq!((fetched.exit, fetched.status), (0, 200), "{}", fetched.printed);
    assert!(fetched.body == clean, "{} bytes", fetched.body.len());
    let heads = &fetched.heads;
    // curl takes them, and tells nobody.
    assert!(heads.contains("HTTP/2 200") && heads.contains("\r\ntrailer: x-sum\r\n"), "{heads}");
    // What they say is of the whole.
    let part = get(&["--range", "10-19", &clean_url]);
    assert_eq!((part.exit, part.status), (0, 206), "{}", part.printed);
    assert!(part.body == clean[10..20] && !part.heads.contains("x-sum"), "{}", part.heads);
    let bad = get(&[&origin.put("bad", mail::eicar())]);
    assert_eq!((bad.exit, bad.status), (0, 403), "{}", bad.printed);
    assert!(!bad.heads.contains("x-sum"), "{}", bad.heads);
}

#[test]
fn calls_of_grpc_go_through_with_their_status() {
    let server = grpc::Server::start(&mail::eicar());
    let gateway = gateway(server.address.port(), server.certificate());
    let authority = gateway.exported_authority();
    let long = "x".repeat(100_000);
    let called = server.called(gateway.address, &authority, &["hello", &long, "wrong"]);
    let expected = "said 5 OK 5\nsaid 100000 OK 100000\nover NOT_FOUND no such thing\n\
        talked 5\ntalked 100000\nover NOT_FOUND no such thing\n";
    assert_eq!(called, expected);
    gateway.until_event(&["\"verdict\"", "\"url\":\"/test.Echo/Say\"", "\"forwarded\""]);
    let called = server.called(gateway.address, &authority, &["hello"]);
    assert_eq!(called, "said 5 OK 5\ntalked 5\nended 0 OK\n");
    let called = server.called(gateway.address, &authority, &["bad"]);
    assert!(!called.contains("said") && !called.contains("talked"), "{called}");
    gateway.until_event(&["\"verdict\"", "\"url\":\"/test.Echo/Say\"", "Test.Eicar"]);
}
