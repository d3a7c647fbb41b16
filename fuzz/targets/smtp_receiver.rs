//! What a client sends by SMTP, framed. Rule: the same frames at every cut, and content never ends but at CR LF . CR LF.
#![no_main]

use lockgate_proto::line_ends::{LineEndScan, Refusal};
use lockgate_proto::smtp::receiver::{Frame, Limits, LineEnds, Receiver};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    assert_eq!(scan([content]), scan(pieces.iter().copied()));
    for line_ends in [LineEnds::Refuse, LineEnds::Pass] {
        assert_eq!(frames([content], line_ends), frames(pieces.iter().copied(), line_ends));
    }
});

/// Whether counted content could be sent with a dot at its end.
fn scan<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Option<Refusal> {
    let mut scan = LineEndScan::new();
    chunks.into_iter().for_each(|chunk| scan.push(chunk));
    scan.found().or(scan.finish())
}

#[derive(Debug, PartialEq, Eq)]
enum Said {
    Line(Vec<u8>),
    Bad(String),
    Content(Vec<u8>),
    End,
}

/// As a server does: what a command announces is awaited next.
fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, line_ends: LineEnds) -> Vec<Said> {
    let mut receiver = Receiver::new(Limits { text_line_bytes_max: 2000, ..Limits::default() });
    let mut said = Vec::new();
    for mut chunk in chunks {
        loop {
            let step = receiver.step(chunk);
            let is_waiting = step.frame == Frame::NeedInput;
            match step.frame {
                Frame::NeedInput => assert_eq!(step.consumed, chunk.len(), "all of it is used"),
                Frame::Line(line) => {
                    assert!(!line.iter().any(|byte| b"\r\n\0".contains(byte)));
                    expect(&mut receiver, &line, line_ends);
                    said.push(Said::Line(line));
                }
                Frame::BadLine(why) => said.push(Said::Bad(format!("{why:?} {}", why.text()))),
                Frame::Refused(why) => {
                    // How much of the mail was there before it was refused depends on the cuts; it goes nowhere.
                    if let Some(Said::Content(_)) = said.last() {
                        said.pop();
                    }
                    said.push(Said::Bad(format!("{why:?} {}", why.text())));
                }
                Frame::Content(bytes) => match said.last_mut() {
                    Some(Said::Content(last)) => last.extend_from_slice(bytes),
                    _ => said.push(Said::Content(bytes.to_vec())),
                },
                Frame::EndOfContent => {
                    receiver.expect_commands();
                    said.push(Said::End);
                }
            }
            let _ = receiver.noted();
            chunk = &chunk[step.consumed..];
            if is_waiting {
                break;
            }
        }
    }
    said
}

fn expect(receiver: &mut Receiver, line: &[u8], line_ends: LineEnds) {
    if line == b"DATA" {
        receiver.expect_data(line_ends);
    } else if line == b"AUTH" {
        receiver.expect_auth_line();
    } else if let Some(bytes) = line.strip_prefix(b"BDAT ") {
        let bytes = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
        receiver.expect_chunk(bytes.unwrap_or(0));
    } else {
        receiver.expect_commands();
    }
}
