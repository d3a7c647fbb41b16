//! What the web lists say beyond sites, and what they change. Rule: a listed thing is seen by its effect on the client and
//! on the server.

use lockgate_tests::nginx::Nginx;
use lockgate_tests::process::run;
use lockgate_tests::{Directory, Gateway, curl, mail};
use std::process::Command;

/// What a program makes of content by compressing it.
fn packed(program: &str, arguments: &[&str], ending: &str, content: &[u8]) -> Vec<u8> {
    let directory = Directory::new("packed");
    let path = directory.write("file", content);
    run(Command::new(program).args(arguments).arg(&path));
    std::fs::read(directory.join(&format!("file.{ending}"))).expect("it was made")
}

fn gzip(content: &[u8]) -> Vec<u8> {
    packed("gzip", &["-n"], "gz", content)
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
