//! FTP's control connection; what the server says stands in lines behind a `<`. Rule: the same at every cut, in bounded memory.
#![no_main]

use lockgate_proto::Side;
use lockgate_proto::ftp::{Conversation, LINE_BYTES_MAX, Said};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    let length = pieces.first().map_or(1, |piece| piece.len()).max(1);
    let whole = run(content, usize::MAX);
    assert_eq!(run(content, length), whole);
    assert_eq!(run(content, 1), whole);
    for said in &whole {
        match said {
            Said::Expect(connection) => {
                assert!(connection.to.port > 0 && !connection.transfer.name().is_empty())
            }
            Said::Odd(_, oddity) => assert!(oddity.name().starts_with("ftp.")),
            Said::Command { verb, argument, .. } => {
                assert!(!verb.is_empty() && verb.len() + argument.len() <= LINE_BYTES_MAX);
            }
            Said::Reply { text, .. } => assert!(text.len() <= LINE_BYTES_MAX),
            Said::Secured => {}
        }
    }
});

fn run(script: &[u8], piece: usize) -> Vec<Said> {
    let (mut conversation, mut said) = (Conversation::new(), Vec::new());
    for (at, line) in script.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let (side, line) = match line.strip_prefix(b"<") {
            Some(line) => (Side::Server, line),
            None => (Side::Client, line),
        };
        if at % 64 == 63 {
            conversation.gap(side);
        }
        for chunk in line.chunks(piece) {
            let taken = conversation.push(side, chunk, &mut |one| said.push(one));
            assert!(taken == chunk.len() || conversation.is_secured());
        }
        assert!(conversation.held_bytes() <= 2 * (LINE_BYTES_MAX + 1));
    }
    said
}
