//! Pieces of HTTP in any order, at arbitrary cuts. Rule: no panic, the cut makes no difference, a spectator never refuses.

use lockgate_proto::http::{Disposition, Frame, Limits, RequestReader, ResponseReader, Step};
use proptest::prelude::*;

const WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\r\n\r\n",
    b"\r",
    b"\n",
    b" ",
    b"\t",
    b"\0",
    b":",
    b"\xff",
    b"a",
    b"0",
    b"3",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"0\r\nA: b\r\n\r\n",
    b";x=y",
    b"GET / HTTP/1.1\r\nHost: a\r\n",
    b"POST http://a/ HTTP/1.1\r\nHost: a\r\n",
    b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n",
    b"GET / HTTP/1.0\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100\r\n",
    b"HTTP/1.0 204 x\r\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 4, 4\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Connection: close\r\n",
    b"X: y\r\n",
    b" folded\r\n",
];

fn wire() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(WORDS), 0..24).prop_map(|words| words.concat())
}

/// Where the input is cut, as parts of its length.
fn cuts() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..1.0, 0..6)
}

fn pieces<'a>(input: &'a [u8], cuts: &[f64]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| (cut * input.len() as f64) as usize).collect();
    ends.push(input.len());
    ends.sort_unstable();
    let mut from = 0;
    ends.into_iter().map(|to| &input[std::mem::replace(&mut from, to)..to]).collect()
}

/// A line for each frame, bodies joined, and whether the reader refused.
fn said<H: std::fmt::Debug>(
    pieces: &[&[u8]],
    mut step: impl for<'a> FnMut(&'a [u8]) -> Step<'a, H>,
) -> (Vec<String>, bool) {
    let (mut said, mut body) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut rest = *piece;
        loop {
            let Step { consumed, frame } = step(rest);
            rest = &rest[consumed..];
            match frame {
                Frame::NeedInput => {
                    assert!(rest.is_empty(), "all that was given has been used");
                    break;
                }
                Frame::Body(bytes) => body.extend_from_slice(bytes),
                Frame::Refused(refusal) => {
                    said.push(format!("{} {refusal:?}", body.escape_ascii()));
                    return (said, true);
                }
                frame => said.push(format!("{} {frame:?}", std::mem::take(&mut body).escape_ascii())),
            }
        }
    }
    said.push(body.escape_ascii().to_string());
    (said, false)
}

proptest! {
    #[test]
    fn requests(input in wire(), cuts in cuts()) {
        for disposition in [Disposition::Strict, Disposition::Passive] {
            let read = |pieces: &[&[u8]]| {
                let mut reader = RequestReader::new(disposition, Limits::default());
                said(pieces, |bytes| reader.step(bytes))
            };
            let whole = read(&[&input]);
            prop_assert!(!whole.1 || disposition == Disposition::Strict);
            prop_assert_eq!(whole, read(&pieces(&input, &cuts)));
        }
    }

    #[test]
    fn responses(input in wire(), cuts in cuts(), method in prop::sample::select(&["GET", "HEAD", "CONNECT"][..])) {
        for disposition in [Disposition::Strict, Disposition::Passive] {
            let read = |pieces: &[&[u8]]| {
                let mut reader = ResponseReader::new(disposition, Limits::default());
                reader.expect(method.as_bytes());
                let said = said(pieces, |bytes| reader.step(bytes));
                (said, reader.eof(), reader.keeps_alive(), reader.quirks().to_vec())
            };
            let whole = read(&[&input]);
            prop_assert!(!whole.0.1 || disposition == Disposition::Strict);
            prop_assert_eq!(whole, read(&pieces(&input, &cuts)));
        }
    }
}
