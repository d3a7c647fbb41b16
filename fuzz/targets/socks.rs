//! A SOCKS5 server's replies. Rule: the same conversation at every cut, and not a byte behind the last reply is taken.
#![no_main]

use lockgate_proto::socks::{Client, Step};

/// What is said to the server, what it comes to, and how many bytes of the replies that took.
#[derive(Debug, PartialEq, Eq)]
struct Conversation {
    said: Vec<u8>,
    over: Step,
    consumed: usize,
}

// Host, user and password, a line each, then a blank one and what the server says.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((words, replies)) = lockgate_fuzz::halves(input) else { return };
    let Some((replies, pieces)) = lockgate_fuzz::cut(replies) else { return };
    let mut words = words.lines();
    let host = words.next().unwrap_or_default();
    let login = words.next().map(|user| (user, words.next().unwrap_or_default()));
    let Some(whole) = converse(host, login, [replies]) else {
        let fits = |word: &str| (1..=255).contains(&word.len());
        assert!(!fits(host) || login.is_some_and(|(user, password)| !fits(user) || !fits(password)));
        return;
    };
    assert_eq!(converse(host, login, pieces).as_ref(), Some(&whole));
    match &whole.over {
        Step::NeedInput => assert_eq!(whole.consumed, replies.len()),
        Step::Say(_) => panic!("a conversation does not end with words of ours"),
        Step::Open | Step::Refused(_) => {
            if let Step::Refused(refusal) = &whole.over {
                assert!(!refusal.to_string().is_empty());
            }
            // What the server behind it says comes next, whatever it is.
            assert_eq!(converse(host, login, [&replies[..whole.consumed]]).as_ref(), Some(&whole));
            let more = [&replies[..whole.consumed], b"\x05\x00\x00\x01"].concat();
            assert_eq!(converse(host, login, [more.as_slice()]), Some(whole));
        }
    }
});

fn converse<'a>(
    host: &str,
    login: Option<(&str, &str)>,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Option<Conversation> {
    let mut client = Client::new(host, 443, login)?;
    let mut said = client.greeting().to_vec();
    let mut all = 0;
    for mut chunk in chunks {
        loop {
            let (consumed, step) = client.step(chunk);
            all += consumed;
            chunk = &chunk[consumed..];
            match step {
                Step::NeedInput => break,
                Step::Say(words) => {
                    assert!(!words.is_empty());
                    said.extend_from_slice(&words);
                }
                over => return Some(Conversation { said, over, consumed: all }),
            }
        }
        assert!(chunk.is_empty(), "all of it was read");
    }
    Some(Conversation { said, over: Step::NeedInput, consumed: all })
}
