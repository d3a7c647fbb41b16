//! A next hop's replies and what it offers. Rule: the same replies at every cut.
#![no_main]

use lockgate_proto::smtp::capabilities::Capabilities;
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
