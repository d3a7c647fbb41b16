//! A proxy behind the gateway: Squid by HTTP, microsocks by SOCKS5. Rule: what is refused is refused before it is asked.

use lockgate_tests::nginx::Nginx;
use lockgate_tests::parent::{LOGIN, Parent};
use lockgate_tests::{Gateway, curl, mail};

fn gateway(nginx: &Nginx, upstream: &str, more: &str) -> Gateway {
    let port = nginx.https.port();
    let lines = format!("upstream = \"{upstream}\"\nconnect_ports = [{port}]\n{more}");
    let lists = "[webfilter]\nlists = [\"DIRECTORY/lists\"]";
    Gateway::http_prepared(&lines, lists, |directory| {
        directory.write("lists/bannedurllist", "#listcategory: \"Tests: parts\"\n127.0.0.1/games\n");
    })
}

/// What arrives is whole, what is bad does not, what is listed is not asked for.
fn carries_what_may_pass(nginx: &Nginx, gateway: &Gateway) {
    let content = mail::noise(1, 2_000_000);
    let (file, bad) = (nginx.put("file", &content), nginx.put("bad", mail::eicar()));
    let certificate = nginx.certificate().display().to_string();
    let encrypted = format!("https://localhost:{}/file", nginx.https.port());
    for arguments in [&[file.as_str()][..], &[&file, &file], &["--cacert", &certificate, &encrypted]] {
        let fetched = curl::through(gateway.address, arguments);
        assert_eq!((fetched.exit, fetched.status), (0, 200), "{arguments:?} {}", fetched.printed);
        assert!(fetched.body.ends_with(&content), "{arguments:?}");
    }
    let upload = nginx.url("upload/one");
    let sent = curl::through(gateway.address, &["--request", "PUT", "--data-binary", "some words", &upload]);
    assert_eq!((sent.exit, sent.status), (0, 201), "{sent:?}");
    assert_eq!(nginx.uploaded("one").as_deref(), Some(&b"some words"[..]));
    assert_eq!(curl::through(gateway.address, &[&bad]).status, 403);
    let asked = nginx.log().len();
    assert_eq!(curl::through(gateway.address, &[&nginx.url("games/one")]).status, 403);
    assert_eq!(nginx.log().len(), asked, "what is listed is not asked for");
}

#[test]
fn requests_go_through_a_web_proxy() {
    let (nginx, parent) = (Nginx::start(), Parent::squid());
    let gateway = gateway(&nginx, &format!("http://{LOGIN}@{}", parent.address), "");
    carries_what_may_pass(&nginx, &gateway);
    let get = parent.until_logged(&["GET http://", "/file 200 gate 1.1%20"]);
    assert!(get.contains(&nginx.http.to_string()), "{get}");
    parent.until_logged(&["CONNECT localhost:", " 200 gate"]);
    assert!(!parent.log().contains("/games"), "{}", parent.log());
    nginx.until_logged(&["/file 200", ", 1.1 parent"]);
}

#[test]
fn requests_go_through_socks() {
    let (nginx, parent) = (Nginx::start(), Parent::microsocks());
    let gateway = gateway(&nginx, &format!("socks5://{LOGIN}@{}", parent.address), "");
    carries_what_may_pass(&nginx, &gateway);
    // The name is looked up where the connection is made.
    parent.until_logged(&["connected to localhost"]);
    parent.until_logged(&["connected to 127.0.0.1"]);
}

#[test]
fn a_proxy_that_opens_no_way_is_a_page_and_who_needs_none_does_without() {
    let nginx = Nginx::start();
    nginx.put("file", "words");
    let by_name = format!("http://localhost:{}/file", nginx.http.port());
    for (parent, scheme) in [(Parent::squid(), "http"), (Parent::microsocks(), "socks5")] {
        let upstream = format!("{scheme}://gate:wrong@{}", parent.address);
        let gateway = gateway(&nginx, &upstream, "no_upstream = [\"localhost\"]");
        let refused = curl::through(gateway.address, &[&nginx.url("file")]);
        assert_eq!((refused.exit, refused.status), (0, 502), "{refused:?}");
        let direct = curl::through(gateway.address, &[&by_name]);
        assert_eq!((direct.status, direct.text().as_str()), (200, "words"), "{direct:?}");
        // An address that only the gateway's neighbours may mean is not asked for either.
        let local = curl::through(gateway.address, &["http://169.254.169.254/"]);
        assert_eq!(local.status, 403, "{local:?}");
        drop(parent);
        let gone = curl::through(gateway.address, &[&nginx.url("file")]);
        assert_eq!((gone.exit, gone.status), (0, 502), "{gone:?}");
    }
}
