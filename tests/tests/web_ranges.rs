//! Parts of content. Rule: the whole is inspected whatever part of it the client asks for, and a download goes on where it
//! was broken off.

use lockgate_tests::nginx::Nginx;
use lockgate_tests::origin::origin;
use lockgate_tests::process::outcome;
use lockgate_tests::{Directory, Gateway, curl, mail};
use std::process::Command;

#[test]
fn a_virus_fetched_in_two_ranges_does_not_arrive() {
    let (nginx, gateway) = (Nginx::start(), Gateway::http("", ""));
    let eicar = mail::eicar();
    let url = nginx.put("eicar", &eicar);
    for range in ["0-33", "34-67", "34-", "-34"] {
        let fetched = curl::through(gateway.address, &["--range", range, &url]);
        assert_eq!((fetched.exit, fetched.status), (0, 403), "{range}: {fetched:?}");
    }
    // Longer than is held: no part that has its end arrives in whole.
    let content = [mail::noise(1, 900_000), eicar.clone(), mail::noise(2, 5000)].concat();
    let url = nginx.put("long", &content);
    for (first, last) in [(900_000, 900_033), (900_034, 900_067), (899_000, 901_000), (900_000, 904_000)] {
        let fetched = curl::through(gateway.address, &["--range", &format!("{first}-{last}"), &url]);
        assert!(fetched.exit != 0 || fetched.status == 403, "{first}: {fetched:?}");
        let whole = &content[first..=last];
        assert!(
            fetched.status == 403 || fetched.body.len() < whole.len(),
            "{first}: {} bytes",
            fetched.body.len()
        );
    }
    assert!(nginx.log().iter().all(|line| line.contains("|-|")), "no range is asked for: {:?}", nginx.log());
}

#[test]
fn a_download_goes_on_where_it_was_broken_off() {
    let (nginx, gateway, files) = (Nginx::start(), Gateway::http("", ""), Directory::new("downloads"));
    for (name, length) in [("held", 50_000), ("streamed", 3_000_000)] {
        let content = mail::noise(3, length);
        let url = nginx.put(name, &content);
        for had in [0, 1, length / 2, length - 1] {
            let file = files.write("file", &content[..had]);
            let mut command = Command::new("curl");
            command.args(["-q", "--silent", "--show-error", "--max-time", "30", "--proxy"]);
            command
                .arg(format!("http://{}", gateway.address))
                .args(["-C", "-", "--output"])
                .arg(&file)
                .arg(&url);
            let output = outcome(&mut command);
            assert_eq!(output.status.code(), Some(0), "{name} {had}: {output:?}");
            assert!(std::fs::read(&file).expect("it is there") == content, "{name} {had}");
        }
    }
}

#[test]
fn a_range_is_what_the_whole_says_there_and_several_are_the_whole() {
    let (nginx, gateway) = (Nginx::start(), Gateway::http("", ""));
    let content = mail::noise(4, 400_000);
    let url = nginx.put("file", &content);
    let asked = |arguments: &[&str]| curl::through(gateway.address, &[arguments, &[&url]].concat());
    for (range, span) in
        [("0-0", 0..1), ("100-199999", 100..200_000), ("399999-", 399_999..400_000), ("-7", 399_993..400_000)]
    {
        let fetched = asked(&["--range", range]);
        assert_eq!((fetched.exit, fetched.status), (0, 206), "{range}: {}", fetched.printed);
        let said = format!("Content-Range: bytes {}-{}/400000\r\n", span.start, span.end - 1);
        assert!(fetched.heads.contains(&said), "{range}: {}", fetched.heads);
        assert!(fetched.body == content[span], "{range}");
    }
    let tag = asked(&["--head"]).heads;
    let tag = tag.lines().find_map(|line| line.strip_prefix("ETag: ")).expect("nginx gives one").trim();
    let same = format!("If-Range: {tag}");
    for (arguments, status) in [
        (vec!["--range", "400000-"], 416),
        (vec!["--range", "0-1,5-6"], 200),
        (vec!["--range", "5-4"], 200),
        (vec!["--range", "5-9", "--header", "If-Range: \"other\""], 200),
        (vec!["--range", "5-9", "--header", &same], 206),
    ] {
        let fetched = asked(&arguments);
        assert_eq!((fetched.exit, fetched.status), (0, status), "{arguments:?}: {}", fetched.printed);
        let length =
            [(200, 400_000), (206, 5), (416, 0)].iter().find(|(known, _)| *known == status).map(|it| it.1);
        assert_eq!(Some(fetched.body.len()), length, "{arguments:?}");
    }
}

#[test]
fn a_range_is_asked_for_where_policy_lets_it_and_is_partial() {
    let nginx = Nginx::start();
    let content = mail::noise(5, 10_000);
    let (page, file) = (nginx.put("page.html", &content), nginx.put("file", &content));
    let lines = "range_hosts = [\"127.0.0.1\"]\nrange_types = [\"application/octet-stream\"]";
    let gateway = Gateway::http(lines, "");
    let fetched = curl::through(gateway.address, &["--range", "10-19", &file]);
    assert_eq!((fetched.status, fetched.body.as_slice()), (206, &content[10..20]), "{fetched:?}");
    nginx.until_logged(&["/file 206", "|bytes=10-19|"]);
    gateway.until_event(&["\"url\":\"/file\"", "partial"]);
    assert_eq!(curl::through(gateway.address, &["--range", "10-19", &page]).status, 502);
}

#[test]
fn a_request_that_goes_round_is_stopped() {
    let gateway = Gateway::http("", "[gateway]\nhostname = \"gate.example\"");
    let server = origin(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec());
    let url = format!("http://{server}/");
    for (fields, status) in [
        (vec!["Via: 1.1 gate.example"], 200),
        (vec!["Via: 1.1 other.example, 1.1 gate.example (x)", "Via: HTTP/1.1 GATE.example"], 508),
        (vec!["Max-Forwards: 0"], 200),
    ] {
        let arguments: Vec<&str> =
            fields.iter().flat_map(|field| ["--header", field]).chain([url.as_str()]).collect();
        let fetched = curl::through(gateway.address, &arguments);
        assert_eq!((fetched.exit, fetched.status), (0, status), "{fields:?}: {fetched:?}");
    }
    for (forwards, status) in [("0", 405), ("1", 200)] {
        let field = format!("Max-Forwards: {forwards}");
        let fetched = curl::through(gateway.address, &["--request", "OPTIONS", "--header", &field, &url]);
        assert_eq!(fetched.status, status, "{fetched:?}");
    }
}
