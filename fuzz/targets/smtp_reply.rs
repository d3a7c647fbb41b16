//! A next hop's replies and what it offers. Rule: the same replies at every cut.
#![no_main]

use lockgate_proto::smtp::capabilities::{Capabilities, Extension, Offer, Terms};
use lockgate_proto::smtp::reply::{Parsed, Reply, ReplyParser};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let whole = replies([content]);
    assert_eq!(whole, replies(pieces));
    for reply in whole.iter().flatten() {
        let capabilities = Capabilities::parse(reply);
        let again = capabilities.to_reply("gateway.example.org");
        assert!(again.is_completed());
        let bytes = reply.to_bytes();
        assert!(bytes.ends_with(b"\r\n"));
        let _ = (reply.class(), reply.enhanced(), capabilities.size_max(), capabilities.auth());
        let _ = (reply.is_intermediate(), reply.is_transient(), reply.is_permanent(), capabilities.xclient());
        for (auth, names) in [(Offer::Yes, &["addr"][..]), (Offer::No, &[])] {
            let terms =
                Terms { size_max: Some(1000), start_tls: auth, auth, xclient: names, xforward: names };
            let offered = capabilities.offered_under(&terms);
            assert!(offered.size_max().is_some_and(|size| size <= 1000));
            // What is bound to the client's own TLS session cannot go on.
            assert!(!offered.auth().iter().any(|name| name.ends_with("-PLUS") || name == "EXTERNAL"));
            let read = Capabilities::parse(&offered.to_reply("gateway.example.org"));
            // A line of a reply has its bound, so a next hop that offers more than fits is told in part.
            if offered.auth().iter().map(String::len).sum::<usize>() < 200 {
                assert_eq!(read.auth().len(), offered.auth().len());
            }
            assert_eq!(read.size_max(), offered.size_max());
            assert_eq!(offered.xforward().len(), names.len());
            assert!(!offered.without(Extension::Chunking).has(Extension::Chunking));
        }
    }
});

fn replies<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Result<Reply, String>> {
    let mut parser = ReplyParser::new();
    let mut said = Vec::new();
    for mut chunk in chunks {
        loop {
            let (consumed, parsed) = parser.step(chunk);
            chunk = &chunk[consumed..];
            match parsed {
                Parsed::NeedInput => break,
                Parsed::Reply(reply) => said.push(Ok(reply)),
                Parsed::Malformed(why) => {
                    said.push(Err(why.to_string()));
                    return said;
                }
            }
        }
    }
    said
}
