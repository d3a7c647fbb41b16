//! URLs in any spelling. Rule: an answer for each, the same however it is spelled again, and quickly.
#![no_main]

use lockgate_webfilter::{Address, Database, Key, Moment, Outcome, Sources};
use std::sync::{Arc, LazyLock};

const NOW: Moment = Moment { weekday: 0, minute: 0 };

static DATABASE: LazyLock<Database> = LazyLock::new(|| {
    let mut sources = Sources::new(Key(1, 2));
    for (name, text) in [
        ("bannedsitelist", "bad.example\n.xxx\nintranet\n*ip\n"),
        ("bannedurllist", "a.example/games\nb.example/x?y=1\n192.0.2.1/x\n"),
        ("exceptionsiteiplist", "10.0.0.0/8\n2001:db8::/32\n"),
        ("greyurllist", "bad.example/grey\n"),
        ("bannedregexpurllist", "(sex|casino)+.*\\.jpg\n^http://[0-9.]+/\n"),
        ("bannedextensionlist", ".exe\n.tar.gz\n"),
        ("exceptionfilesitelist", "files.example\n"),
        ("bannedmimetypelist", "video/mpeg\n"),
        ("ads.adblock", "||ads.example^\n@@||ads.example/ok\n/banner/*/img^\n|http://pop*up|\n"),
    ] {
        sources.add(name, text.as_bytes());
    }
    let (database, report) = sources.compile(Arc::new(|| NOW));
    assert_eq!(report.failures, []);
    database
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let mut lines = input.splitn(2, |c| *c == b'\n');
    let (host, uri) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let apart = Address::new("https", host, uri);
    for address in Address::parse(&text).into_iter().chain([apart]) {
        let decision = DATABASE.decide(&address, NOW);
        assert_eq!(decision.by.is_some(), decision.outcome != Outcome::NotListed);
        // A host in its final form stays as it is.
        let again = Address::new(address.scheme, address.host.as_bytes(), b"");
        assert_eq!(again.ip, address.ip);
        let _ = DATABASE.decide_type(&address, &text, NOW);
        for listing in decision.by.iter().chain(&decision.also) {
            assert!(listing.line > 0 && !listing.rule().is_empty() && !listing.to_string().is_empty());
        }
    }
});
