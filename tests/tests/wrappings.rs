//! Through every wrapping: a virus in each format, and in each two of them. Rule: the clean twin arrives as it was sent.

use lockgate_tests::gateway::Gateway;
use lockgate_tests::mail;
use lockgate_tests::smtp::Client;
use lockgate_tests::wrapping::{ALL, Wrapping};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const ANN: &str = "ann@example.org";
const BOB: &str = "bob@example.org";

/// What is done to content, and what that is called.
type Wrap<'a> = (String, Box<dyn Fn(&[u8]) -> Vec<u8> + Sync + 'a>);

/// Text that packs well, what may be a virus, and bytes that do not.
fn content(middle: &[u8]) -> Vec<u8> {
    let text = "What is written twice is packed once. ".repeat(40);
    [text.as_bytes(), middle, &mail::noise(5, 500)].concat()
}

/// Sends what each makes of bad and of clean content; what went wrong, by name.
fn outcomes(gateway: &Gateway, wraps: &[Wrap<'_>]) -> Vec<String> {
    let (wrong, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let sent = Mutex::new(HashSet::new());
    let (bad, clean) = (content(&mail::eicar()), content(b"nothing"));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut client = Client::greeted(gateway.address);
                while let Some((name, wrap)) = wraps.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut send = |content: &[u8]| {
                        let mail = mail::with_attachment(name, "content", &wrap(content));
                        let reply = client.mail(ANN, &[BOB], &mail);
                        (reply.code, reply.text, mail)
                    };
                    let (code, text, _) = send(&bad);
                    if code != 550 || !text.contains("Test.Eicar") {
                        wrong.lock().expect("no one panicked").push(format!("{name}: {code} {text}"));
                    }
                    let (code, text, mail) = send(&clean);
                    if code != 250 {
                        wrong.lock().expect("no one panicked").push(format!("{name}, clean: {code} {text}"));
                    }
                    sent.lock().expect("no one panicked").insert(mail::body(&mail).to_vec());
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("no one panicked");
    let mut missing = sent.into_inner().expect("no one panicked");
    for delivered in gateway.delivered() {
        missing.remove(mail::body(&delivered));
    }
    if !missing.is_empty() {
        wrong.push(format!("{} clean mails did not arrive as they were sent", missing.len()));
    }
    wrong
}

#[test]
fn a_virus_is_found_in_each_format() {
    let gateway = Gateway::with_maildir("trace_header = false", "");
    let wraps: Vec<_> =
        ALL.iter().map(|w| (w.name.to_owned(), Box::new(|c: &[u8]| w.wrap(c)) as Box<_>)).collect();
    let wrong = outcomes(&gateway, &wraps);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), 2 * wraps.len(), wrong.join("\n"));
}

#[test]
fn a_virus_is_found_in_each_two_formats_nested() {
    let gateway = Gateway::with_maildir("trace_header = false", "");
    let formats: Vec<&Wrapping> = ALL.iter().filter(|w| w.is_first_of_its_format()).collect();
    let pairs = formats.iter().flat_map(|outer| formats.iter().map(move |inner| (outer, inner)));
    let wraps: Vec<_> = pairs
        .map(|(outer, inner)| {
            let wrap = move |content: &[u8]| outer.wrap(&inner.wrap(content));
            (format!("{} in {}", inner.name, outer.name), Box::new(wrap) as Box<_>)
        })
        .collect();
    let wrong = outcomes(&gateway, &wraps);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), 2 * wraps.len(), wrong.join("\n"));
}
