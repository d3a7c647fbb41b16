//! How fast a mail with a 1 MiB attachment is taken apart: megabytes of wire bytes a second. Rule: prints, asserts nothing but the count.

use lockgate_content::mime::MimeDecoder;
use lockgate_content::{Decoder, Event, More};
use lockgate_model::Pool;
use std::time::Instant;

const ATTACHMENT_BYTES: usize = 1 << 20;
/// The best of so many batches is printed, since other work on the machine only ever slows one down.
const BATCHES: u32 = 40;
const ROUNDS: u32 = 10;

fn main() {
    let attachment = noise();
    for (name, line_bytes) in
        [("76 characters a line", 57), ("75 characters a line", 0), ("one line", usize::MAX)]
    {
        let mail = mail(&attachment, line_bytes);
        for chunk_bytes in [4 << 10, 16 << 10, 64 << 10] {
            for scratch_bytes in [4 << 10, 64 << 10] {
                let mut scratch = vec![0; scratch_bytes];
                let micros = (0..BATCHES)
                    .map(|_| {
                        let start = Instant::now();
                        for _ in 0..ROUNDS {
                            let decoded = read(&mail, chunk_bytes, &mut scratch);
                            // Lines that cut groups of characters in two are read in a second way, too.
                            let is_exact = decoded == ATTACHMENT_BYTES + 5 || line_bytes == 0;
                            assert!(is_exact && decoded > ATTACHMENT_BYTES, "the attachment and the text");
                        }
                        start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
                    })
                    .fold(f64::INFINITY, f64::min);
                println!(
                    "{name}, chunks of {:2} KiB, scratch {:2} KiB: {:6.0} MB/s, {micros:5.0} us a mail of {} bytes",
                    chunk_bytes >> 10,
                    scratch_bytes >> 10,
                    mail.len() as f64 / micros,
                    mail.len(),
                );
            }
        }
    }
}

/// Takes a mail apart; how many bytes its parts have.
fn read(mail: &[u8], chunk_bytes: usize, scratch: &mut [u8]) -> usize {
    let pool = Pool::new(1 << 26);
    let mut decoder = MimeDecoder::new(&pool);
    let mut decoded = 0;
    let chunks = mail.chunks(chunk_bytes).map(|chunk| (chunk, More::Follows));
    for (chunk, more) in chunks.chain([(&[][..], More::Ended)]) {
        let mut rest = chunk;
        loop {
            let step = decoder.step(rest, more, scratch);
            rest = &rest[step.consumed..];
            match step.event {
                Event::NeedInput | Event::End => break,
                Event::Input(range) => decoded += range.len(),
                Event::Output(length) => decoded += length,
                _ => {}
            }
        }
    }
    decoded
}

fn mail(attachment: &[u8], line_bytes: usize) -> Vec<u8> {
    let head = concat!(
        "From: a@example.org\r\nTo: b@example.org\r\nSubject: x\r\nMIME-Version: 1.0\r\n",
        "Content-Type: multipart/mixed; boundary=\"=_boundary\"\r\n\r\n--=_boundary\r\n\r\ntext\n\r\n--=_boundary\r\n",
        "Content-Type: application/octet-stream; name=x.exe\r\nContent-Transfer-Encoding: base64\r\n\r\n",
    );
    let mut mail = head.as_bytes().to_vec();
    let text = encode(attachment);
    let line_characters = match line_bytes {
        0 => 75,
        bytes => (bytes / 3).saturating_mul(4).min(text.len()),
    };
    for line in text.chunks(line_characters) {
        mail.extend_from_slice(line);
        mail.extend_from_slice(b"\r\n");
    }
    mail.extend_from_slice(b"--=_boundary--\r\n");
    mail
}

fn encode(bytes: &[u8]) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::new();
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(padded);
        for at in 0..4 {
            let character = alphabet[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= group.len() { character } else { b'=' });
        }
    }
    text
}

fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(ATTACHMENT_BYTES).collect()
}
