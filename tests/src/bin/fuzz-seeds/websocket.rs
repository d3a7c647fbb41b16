//! Seeds of WebSocket. Rule: each rule of the reader is met by one of them, kept and broken, on either side.

use crate::{CUTS, Corpus};

/// Frames by their first byte and their content.
type Frames<'a> = &'a [(u8, &'a [u8])];

const STREAMS: &[Frames<'_>] = &[
    &[(0x81, b"hello"), (0x82, b"\0\xff"), (0x88, b"\x03\xe8bye")],
    &[(0x01, b"in "), (0x89, b"ping"), (0x00, b"three "), (0x8a, b""), (0x80, b"pieces"), (0x88, b"")],
    &[(0x01, b""), (0x89, b"first"), (0x00, b""), (0x80, b""), (0x82, b"")],
    &[(0x02, b"never ended"), (0x8a, b"pong")],
    &[(0x82, &[b'm'; 126]), (0x82, &[b'l'; 300]), (0x89, &[b'c'; 125])],
    &[(0x82, &[b'h'; 65_536]), (0x81, b"x")],
    // An extension's bits, kinds that are not defined.
    &[(0xc1, b"compressed")],
    &[(0x83, b"x")],
    &[(0x8b, b"x")],
    // A control frame in pieces, a long one.
    &[(0x09, b"ping")],
    &[(0x89, &[b'c'; 126])],
    // A piece of no message, a message within one, something behind the last frame.
    &[(0x80, b"x")],
    &[(0x01, b"x"), (0x81, b"y")],
    &[(0x88, b""), (0x81, b"x")],
];

/// Heads of frames with nothing behind them: lengths written too long, or that are none.
const HEADS: &[&[u8]] = &[
    b"\x81",
    b"\x82\x7e\x00\x7d",
    b"\x82\x7e\x00\x7e",
    b"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff",
    b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00more",
    b"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00",
    b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xffmore",
    b"GET / HTTP/1.1",
];

pub(crate) fn seeds(corpus: &Corpus) {
    // The first byte: 0 for a client's frames, 1 for a server's.
    let put = |name: &str, side: u8, content: &[u8]| {
        corpus.put("websocket", name, &[&[side], &CUTS[..], content].concat());
    };
    for (index, frames) in STREAMS.iter().enumerate() {
        for (side, mask) in [(0, Some([0x11, 0x22, 0x33, 0x44])), (1, None)] {
            let stream: Vec<u8> =
                frames.iter().flat_map(|(first, content)| frame(*first, content, mask)).collect();
            put(&format!("stream{index}.{side}"), side, &stream);
            // The other side may not frame so.
            put(&format!("stream{index}.{side}.other"), 1 - side, &stream);
        }
    }
    for (index, head) in HEADS.iter().enumerate() {
        put(&format!("head{index}"), 1, head);
        let mut masked = head.to_vec();
        if let Some(second) = masked.get_mut(1) {
            *second |= 0x80;
        }
        put(&format!("head{index}.masked"), 0, &masked);
    }
}

fn frame(first: u8, content: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let bit = if mask.is_some() { 0x80 } else { 0 };
    let mut out = vec![first];
    match u16::try_from(content.len()) {
        Ok(length @ 0..=125) => out.push(bit | length as u8),
        Ok(length) => {
            out.push(bit | 126);
            out.extend_from_slice(&length.to_be_bytes());
        }
        Err(_) => {
            out.push(bit | 127);
            out.extend_from_slice(&(content.len() as u64).to_be_bytes());
        }
    }
    out.extend(mask.into_iter().flatten());
    out.extend(content.iter().zip(mask.unwrap_or_default().iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}
