//! Chromium through the proxy. Rule: a person sees the page, or why there is none, and has a file whole or not at all.

use lockgate_tests::chromium::{Chromium, Downloaded, pictures};
use lockgate_tests::gateway::interception;
use lockgate_tests::nginx::Nginx;
use lockgate_tests::websocket::Server;
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
        browser.assert_fits();
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
    let sections = format!("{sections}\n{}", interception(&[nginx.certificate()]));
    let gateway = Gateway::http_prepared(&lines, &sections, prepare);
    let browser = Chromium::trusting(gateway.address, &gateway.exported_authority());
    (nginx, gateway, browser)
}

#[test]
fn within_tls_the_same_is_shown_and_blocked_by_http_2() {
    let sections = "[webfilter]\nlists = [\"DIRECTORY/lists\"]\n[policy]\nbypass = \"10 min\"\n\
                    [page]\norganisation = \"Example School\"\ncontact = \"it@example.org\"";
    let (nginx, gateway, mut browser) = intercepted(sections, |directory| {
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

    // All that a page may have on it, and an address that has no end.
    let games = format!("{base}/games/{}?q=%C3%A4", "very-long-".repeat(12));
    for (name, width, scheme) in [("desk", 1000, "dark"), ("phone", 390, "light")] {
        browser.set_screen(width, 760, scheme);
        let shown = browser.navigate(&games);
        assert_eq!((shown.status, shown.protocol.as_str()), (403, "h2"), "{shown:?}");
        for words in ["Page blocked", "Games", "Example School", "it@example.org", "10 minutes"] {
            assert!(shown.text.contains(words), "{words}: {shown:?}");
        }
        browser.assert_fits();
        browser.screenshot(&pictures().join(format!("block-page-within-tls-{name}.png")));
    }
    let shown = browser.navigate(&format!("{base}/eicar.com"));
    assert!(shown.status == 403 && shown.text.contains("Test.Eicar"), "{shown:?}");

    assert!(browser.download(&format!("{base}/clean.bin")) == Downloaded::Whole(clean), "byte for byte");
    assert_eq!(browser.download(&format!("{base}/long.bin")), Downloaded::Broken);
}

/// Says a word by WebSocket, and returns what came back: a word, or that it was closed.
const SAY: &str = "new Promise(done => {
    const socket = new WebSocket('URL');
    socket.onopen = () => socket.send('WORD');
    socket.onmessage = async event => done(await new Response(event.data).text());
    socket.onclose = () => done('closed');
})";

#[test]
fn a_page_that_came_by_http_2_speaks_websocket_all_the_same() {
    let (nginx, gateway, mut browser) = intercepted("", |_| {});
    let server = Server::start(&mail::eicar());
    nginx.put("page.html", PAGE);
    let shown = browser.navigate(&format!("https://localhost:{}/page.html", nginx.http2.port()));
    assert_eq!((shown.status, shown.protocol.as_str()), (200, "h2"), "{shown:?}");
    // In a stream of the connection that is there (RFC 8441); the server is asked by HTTP/1.1.
    let connections = || gateway.events().iter().filter(|line| line.contains("\"intercepted\"")).count();
    let before = connections();
    let url = nginx.websocket(server.address);
    let elsewhere = url.replace("/websocket/", "/upload/");
    for (url, word, heard) in [
        (&url, "hello", "hello"),
        (&url, "bad", "closed"),
        // What is there speaks no WebSocket.
        (&elsewhere, "hello", "closed"),
        (&url, "again", "again"),
    ] {
        assert_eq!(browser.evaluate(&SAY.replace("URL", url).replace("WORD", word)), heard, "{url} {word}");
    }
    gateway.until_event(&[
        "\"verdict\"",
        "\"cut\"",
        "Test.Eicar",
        "\"status\":101",
        "\"protocol\":\"HTTP/1.1\"",
    ]);
    assert_eq!(connections(), before, "no further connection was made");
}
