//! How fast content is framed, on one core: `cargo run --release -p lockgate-proto --example framing_throughput`.
//! Rule: measures and prints, asserts nothing about time.

use lockgate_proto::line_ends::LineEndScan;
use lockgate_proto::smtp::receiver::Limits;
use lockgate_proto::smtp::{Frame, LineEnds, Receiver, Stuffing};
use std::time::Instant;

/// The size in which a relay reads.
const CHUNK_BYTES: usize = 64 << 10;
const ROUNDS: usize = 4000;

/// Gigabytes per second for so many rounds over the content.
fn measure(name: &str, content: &[u8], mut round: impl FnMut(&[u8]) -> usize) {
    let mut used = 0;
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        used = (0..ROUNDS).map(|_| round(std::hint::black_box(content))).sum();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let rate = (content.len() * ROUNDS) as f64 / best / 1e9;
    println!("{name:<44} {rate:6.1} GB/s  ({used} bytes passed)");
}

fn main() {
    let base64 = [vec![b'Q'; 76], b"\r\n".to_vec()].concat().repeat(CHUNK_BYTES / 78);
    let short = b"some words.\r\n".repeat(CHUNK_BYTES / 13);
    let dotted = b".. a line that begins with a dot, as hardly any does\r\n".repeat(CHUNK_BYTES / 54);
    for (name, content) in
        [("base64", &base64), ("lines of 13 bytes", &short), ("every line dotted", &dotted)]
    {
        let mut receiver = Receiver::new(Limits::default());
        receiver.expect_data(LineEnds::Refuse);
        measure(&format!("receiver, {name}"), content, |content| {
            let (mut rest, mut passed) = (content, 0);
            loop {
                let step = receiver.step(rest);
                rest = rest.get(step.consumed..).unwrap_or_default();
                match step.frame {
                    Frame::Content(content) => passed += content.len(),
                    _ => return passed,
                }
            }
        });
        let mut stuffing = Stuffing::new();
        measure(&format!("stuffing, {name}"), content, |content| {
            stuffing.pieces(content).map(<[u8]>::len).sum()
        });
        let mut scan = LineEndScan::new();
        measure(&format!("line-end scan, {name}"), content, |content| {
            scan.push(content);
            content.len()
        });
    }
}
