//! Chromium through the proxy. Rule: a person sees the page, or why there is none, and has a file whole or not at all.

use lockgate_tests::chromium::{Chromium, Downloaded, pictures};
use lockgate_tests::nginx::Nginx;
use lockgate_tests::{Directory, Gateway, mail};

const PAGE: &str = "<!DOCTYPE html><title>A page</title><h1>Good morning</h1><p id=said></p>
<script src=script.js></script><img src=picture.gif alt='no picture'>";
/// One dot.
const PICTURE: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0";

#[test]
fn a_page_is_shown_with_all_that_belongs_to_it_and_a_listed_one_is_not() {
    let nginx = Nginx::start();
    let url = nginx.put("page.html", PAGE);
    nginx.put("script.js", "document.getElementById('said').textContent = 'and a script';");
    nginx.put("picture.gif", PICTURE);
    let lists = "[webfilter]\nlists = [\"DIRECTORY/lists\"]";
    let gateway = Gateway::http_prepared("", lists, |directory| {
        directory.write("lists/bannedsitelist", "#listcategory: \"Games\"\nlocalhost\n");
    });
    let mut browser = Chromium::start(Some(gateway.address));
    let shown = browser.navigate(&url);
    assert_eq!((shown.status, shown.protocol.as_str()), (200, "http/1.1"), "{shown:?}");
    assert!(shown.text.contains("Good morning") && shown.text.contains("and a script"), "{shown:?}");
    assert_eq!(browser.evaluate("document.images[0].naturalWidth"), 1);
    nginx.until_logged(&["/picture.gif 200 1.1 "]);

    let listed = format!("http://localhost:{}/page.html", nginx.http.port());
    for (name, width, scheme) in [("desk", 1000, "light"), ("phone", 390, "dark")] {
        browser.set_screen(width, 760, scheme);
        let shown = browser.navigate(&listed);
        assert_eq!(shown.status, 403, "{shown:?}");
        assert!(shown.text.contains("blocked") && shown.text.contains("Games"), "{shown:?}");
        let is_wider = browser.evaluate("document.documentElement.scrollWidth > window.innerWidth");
        assert_eq!(is_wider, false, "nothing is beside the screen");
        browser.screenshot(&pictures().join(format!("block-page-{name}.png")));
    }
    assert!(!nginx.log().iter().any(|line| line.contains(" localhost ")));
}

#[test]
fn a_clean_file_is_downloaded_whole_and_an_infected_one_is_not() {
    let nginx = Nginx::start();
    let gateway = Gateway::http("", "");
    let mut browser = Chromium::start(Some(gateway.address));
    let clean = mail::noise(1, 3_000_000);
    let url = nginx.put("clean.bin", &clean);
    assert!(browser.download(&url) == Downloaded::Whole(clean), "byte for byte");

    let small = nginx.put("small.bin", mail::eicar());
    assert_eq!(browser.download(&small), Downloaded::Page);
    assert!(browser.navigate(&small).text.contains("Test.Eicar"));

    // A part of it is on its way when the end turns out bad.
    let long = nginx.put("long.bin", [mail::noise(2, 3_000_000), mail::eicar()].concat());
    assert_eq!(browser.download(&long), Downloaded::Broken);
    gateway.until_event(&["\"verdict\"", "/long.bin", "\"cut\"", "Test.Eicar"]);
}

/// A gateway that looks into TLS, an origin with a certificate that it checks, and a browser that trusts the gateway.
fn intercepted(sections: &str, prepare: impl FnOnce(&Directory)) -> (Nginx, Gateway, Chromium) {
    let nginx = Nginx::start();
    let lines = format!("intercept_tls = true\nconnect_ports = [{}]", nginx.http2.port());
    let roots = nginx.certificate().display();
    let sections = format!(
        "{sections}\n[tls_interception]\ndirectory = \"DIRECTORY/authority\"\nserver_roots = [\"{roots}\"]"
    );
    let gateway = Gateway::http_prepared(&lines, &sections, prepare);
    let authority = gateway.directory().join("authority/certificate.pem");
    let browser = Chromium::trusting(gateway.address, &authority);
    (nginx, gateway, browser)
}

#[test]
fn within_tls_the_same_is_shown_and_blocked_by_http_2() {
    let lists = "[webfilter]\nlists = [\"DIRECTORY/lists\"]";
    let (nginx, gateway, mut browser) = intercepted(lists, |directory| {
        directory.write("lists/bannedurllist", "#listcategory: \"Games\"\nlocalhost/games\n");
    });
    nginx.put("page.html", PAGE);
    nginx.put("script.js", "document.getElementById('said').textContent = 'and a script';");
    nginx.put("picture.gif", PICTURE);
    let clean = mail::noise(1, 3_000_000);
    nginx.put("clean.bin", &clean);
    nginx.put("eicar.com", mail::eicar());
    nginx.put("long.bin", [mail::noise(2, 3_000_000), mail::eicar()].concat());
    let base = format!("https://localhost:{}", nginx.http2.port());

    let shown = browser.navigate(&format!("{base}/page.html"));
    assert_eq!((shown.status, shown.protocol.as_str()), (200, "h2"), "{shown:?}");
    assert!(shown.text.contains("and a script"), "{shown:?}");
    assert_eq!(browser.evaluate("document.images[0].naturalWidth"), 1);
    gateway.until_event(&["\"verdict\"", "/picture.gif", "\"forwarded\""]);

    let shown = browser.navigate(&format!("{base}/games/"));
    assert_eq!(shown.status, 403, "{shown:?}");
    assert!(shown.text.contains("Page blocked") && shown.text.contains("Games"), "{shown:?}");
    browser.screenshot(&pictures().join("block-page-within-tls.png"));
    let shown = browser.navigate(&format!("{base}/eicar.com"));
    assert!(shown.status == 403 && shown.text.contains("Test.Eicar"), "{shown:?}");

    assert!(browser.download(&format!("{base}/clean.bin")) == Downloaded::Whole(clean), "byte for byte");
    assert_eq!(browser.download(&format!("{base}/long.bin")), Downloaded::Broken);
}
