//! Content codings through the proxy. Rule: what a client makes of the bytes was looked into, and the bytes stay as they are.

use lockgate_tests::origin::origin;
use lockgate_tests::packed::{gzip, zstd};
use lockgate_tests::{Directory, Gateway, curl, mail};

/// Undoes nothing itself: what makes content coded.
type Code = fn(&[u8]) -> Vec<u8>;

/// The codings by name.
const CODINGS: [(&str, Code); 5] =
    [("gzip", gzip), ("deflate", zlib), ("deflate", deflate), ("br", brotli), ("zstd", zstd)];

/// What gzip made, without its header and trailer (RFC 1952).
fn deflate(content: &[u8]) -> Vec<u8> {
    let made = gzip(content);
    made[10..made.len() - 8].to_vec()
}

/// The same within zlib's header and check sum (RFC 1950).
fn zlib(content: &[u8]) -> Vec<u8> {
    let (mut low, mut high) = (1u32, 0u32);
    for byte in content {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    [&[0x78, 0x9c][..], &deflate(content), &(high << 16 | low).to_be_bytes()].concat()
}

/// Brotli (RFC 7932) in blocks that are not compressed: a window of 64 KiB, then length and content of each.
fn brotli(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, block) in content.chunks(1 << 16).enumerate() {
        let head = (block.len() as u32 - 1) << 3 | 1 << 19;
        // The first byte's lowest bit is the window's.
        out.extend_from_slice(&if index == 0 { head << 1 } else { head }.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    out.push(if content.is_empty() { 6 } else { 3 });
    out
}

/// The address of a response with this content, which says that it is coded so.
fn served(codings: &str, content: &[u8]) -> String {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nContent-Encoding: {codings}\r\n\r\n",
        content.len()
    );
    format!("http://{}/file", origin([head.as_bytes(), content].concat()))
}

#[test]
fn coded_content_is_looked_into_and_left_as_it_is() {
    let gateway = Gateway::http("", "");
    let text = "nowhere to go\n".repeat(6000).into_bytes();
    let clean = [Vec::new(), b"x".to_vec(), text, mail::noise(1, 600_000)];
    let bad = [mail::eicar(), mail::zip("eicar.com", &mail::eicar())];
    for (outer, code_outer) in CODINGS {
        for content in &clean {
            let coded = code_outer(content);
            let fetched = curl::through(gateway.address, &[&served(outer, &coded)]);
            assert_eq!((fetched.exit, fetched.status), (0, 200), "{outer}: {}", fetched.printed);
            assert!(fetched.body == coded, "{outer}: {} bytes of {}", fetched.body.len(), coded.len());
        }
        for content in &bad {
            let fetched = curl::through(gateway.address, &[&served(outer, &code_outer(content))]);
            assert_eq!(fetched.status, 403, "{outer}: {fetched:?}");
            assert!(fetched.text().contains("Test.Eicar"), "{}", fetched.text());
        }
        for (inner, code_inner) in CODINGS {
            let names = format!("{inner}, {outer}");
            let coded = code_outer(&code_inner(b"clean"));
            let fetched = curl::through(gateway.address, &[&served(&names, &coded)]);
            assert!(fetched.status == 200 && fetched.body == coded, "{names}: {fetched:?}");
            let coded = code_outer(&code_inner(&bad[1]));
            let fetched = curl::through(gateway.address, &[&served(&names, &coded)]);
            assert_eq!(fetched.status, 403, "{names}: {fetched:?}");
        }
    }
    gateway.until_event(&["\"event_type\":\"verdict\"", "Test.Eicar", "\"eicar.com\""]);
}

#[test]
fn what_its_coding_does_not_tell_is_refused() {
    let gateway = Gateway::http("", "");
    let long = mail::noise(2, 900_000);
    for (name, code) in CODINGS {
        let coded = code(&long);
        let (half, _) = coded.split_at(coded.len() / 2);
        let zip = mail::zip("a.txt", b"clean");
        for (what, content) in [
            ("nothing of it", b"plain text under a coding".to_vec()),
            ("cut short", code(b"short and cut")[..6].to_vec()),
            ("an archive", zip.clone()),
            ("an archive behind it", [code(b"clean"), zip.clone()].concat()),
        ] {
            let fetched = curl::through(gateway.address, &[&served(name, &content)]);
            // What stands behind a gzip file is told, and what to do is a setting.
            let expected = if (name, what) == ("gzip", "an archive behind it") { 200 } else { 403 };
            assert_eq!((fetched.exit, fetched.status), (0, expected), "{name}, {what}: {fetched:?}");
        }
        let fetched = curl::through(gateway.address, &[&served(name, half)]);
        assert_eq!((fetched.exit, fetched.status), (56, 200), "{name}, streamed: a reset");
    }
    for (names, why) in
        [("compress", "compress"), ("gzip, dcz", "dcz"), ("gzip, gzip, gzip, gzip, gzip", "more than 4")]
    {
        let fetched = curl::through(gateway.address, &[&served(names, b"x")]);
        assert_eq!(fetched.status, 502, "{names}");
        assert!(fetched.text().contains(why), "{}", fetched.text());
    }
}

#[test]
fn a_coded_upload_is_looked_into() {
    let gateway = Gateway::http("", "");
    let url = served("identity", b"thank you");
    let files = Directory::new("uploads");
    for (name, code) in CODINGS {
        let coding = format!("Content-Encoding: {name}");
        for (content, status) in [(b"clean".to_vec(), 200), (mail::eicar(), 403)] {
            let file = format!("@{}", files.write("upload", code(&content)).display());
            let arguments = ["--header", &coding, "--data-binary", &file, &url];
            assert_eq!(curl::through(gateway.address, &arguments).status, status, "{name}");
        }
    }
    let unknown = curl::through(gateway.address, &["--header", "Content-Encoding: dcz", "--data", "x", &url]);
    assert_eq!(unknown.status, 415, "{unknown:?}");
}
