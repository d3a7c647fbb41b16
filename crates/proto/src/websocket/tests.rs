//! Frames read and written. Rule: messages are the same at every cut, in whatever frames they leave.

use super::*;

/// A frame, masked if a client's.
fn frame(side: Side, first: u8, content: &[u8]) -> Vec<u8> {
    let bit = if side == Side::Client { 0x80 } else { 0 };
    let mut out = vec![first];
    match content.len() {
        length @ 0..=125 => out.push(bit | length as u8),
        length @ 126..=0xffff => {
            out.push(bit | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(bit | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    let mask = if side == Side::Client { [0x11, 0x22, 0x33, 0x44] } else { [0; 4] };
    if side == Side::Client {
        out.extend_from_slice(&mask);
    }
    out.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

/// What was read, with the content of each message in one piece: `[text hello]`, `(9 ping)`.
#[derive(Default, PartialEq, Eq, Debug)]
struct Read {
    said: String,
    content: Vec<u8>,
    refusal: Option<Refusal>,
}

fn read(reader: &mut Reader, input: &[u8], piece_bytes: usize) -> Read {
    let (mut all, mut content) = (Read::default(), Vec::new());
    for piece in input.chunks(piece_bytes.max(1)) {
        let mut rest = piece;
        loop {
            let (count, what) = reader.step(rest, &mut content);
            rest = &rest[count..];
            match what {
                Piece::NeedInput => break,
                Piece::Begin(kind) => {
                    all.said.push_str(if kind == Kind::Text { "[text " } else { "[binary " })
                }
                Piece::End => all.said.push(']'),
                Piece::Control(opcode) => {
                    all.said.push_str(&format!("({opcode} {})", content.escape_ascii()))
                }
                Piece::Content => {
                    all.said.push_str(&content.escape_ascii().to_string());
                    all.content.extend_from_slice(&content);
                }
                Piece::Refused(refusal) => {
                    all.refusal = Some(refusal);
                    return all;
                }
            }
        }
        assert!(rest.is_empty(), "what is no frame's is refused");
    }
    all
}

fn stream(side: Side) -> Vec<u8> {
    let frame = |first, content: &[u8]| frame(side, first, content);
    let long: Vec<u8> = [b'l'; 300].to_vec();
    [
        frame(0x81, b"hello"),
        frame(0x82, b""),
        frame(0x01, b"in "),
        frame(0x89, b"ping"),
        frame(0x00, b""),
        frame(0x00, b"three "),
        frame(0x8a, b""),
        frame(0x80, b"pieces"),
        frame(0x82, &long),
        frame(0x88, b"\x03\xe8bye"),
    ]
    .concat()
}

fn expected() -> String {
    // What stands within a message comes where it stood.
    format!(
        "[text hello][binary ][text in (9 ping)three (10 )pieces][binary {}](8 \\x03\\xe8bye)",
        "l".repeat(300)
    )
}

#[test]
fn messages_are_the_same_at_every_cut() {
    for side in [Side::Client, Side::Server] {
        let stream = stream(side);
        for piece_bytes in 1..=stream.len() {
            let mut reader = Reader::new(side);
            let seen = read(&mut reader, &stream, piece_bytes);
            assert_eq!((seen.said, seen.refusal), (expected(), None), "{piece_bytes}");
            assert!(reader.has_closed() && reader.is_between());
        }
        let huge = vec![b'x'; 70_000];
        for piece_bytes in [1, 1000, 70_014] {
            let seen = read(&mut Reader::new(side), &frame(side, 0x82, &huge), piece_bytes);
            assert!(seen.content == huge);
        }
        for end in 1..7 {
            let mut reader = Reader::new(side);
            read(&mut reader, &frame(side, 0x81, b"hello")[..end], 1);
            assert!(!reader.is_between(), "{end}");
        }
    }
}

#[test]
fn frames_without_content_cost_no_stack() {
    let many = [vec![0x01, 0], [0, 0].repeat(500_000), vec![0x80, 0]].concat();
    let seen = read(&mut Reader::new(Side::Server), &many, many.len());
    assert_eq!((seen.said.as_str(), seen.refusal), ("[text ]", None));
}

#[test]
fn what_has_two_readings_is_refused() {
    let server = |first, content: &[u8]| frame(Side::Server, first, content);
    let cases: [(Side, Vec<u8>, Refusal); 17] = [
        (Side::Server, server(0xc1, b"compressed"), Refusal::Extension),
        (Side::Server, server(0x83, b"x"), Refusal::Opcode),
        (Side::Server, server(0x8b, b"x"), Refusal::Opcode),
        (Side::Server, frame(Side::Client, 0x81, b"x"), Refusal::Mask),
        (Side::Client, server(0x81, b"x"), Refusal::Mask),
        (Side::Server, vec![0x81, 126, 0, 125], Refusal::Length),
        (Side::Server, [&[0x81, 127][..], &[0; 6], &[255, 255]].concat(), Refusal::Length),
        (Side::Server, [&[0x81, 127][..], &[255; 8]].concat(), Refusal::Length),
        (Side::Server, vec![0x89, 126, 0, 200], Refusal::Control),
        (Side::Server, server(0x09, b"x"), Refusal::Control),
        (Side::Server, server(0x80, b"x"), Refusal::Fragment),
        (Side::Server, [server(0x01, b"x"), server(0x81, b"y")].concat(), Refusal::Fragment),
        (Side::Server, [server(0x81, b"x"), server(0x80, b"y")].concat(), Refusal::Fragment),
        (Side::Server, [server(0x88, b""), server(0x81, b"y")].concat(), Refusal::AfterClose),
        (Side::Server, [server(0x88, b""), b"HTTP/1.1".to_vec()].concat(), Refusal::AfterClose),
        (Side::Server, b"HTTP/1.1 200 OK\r\n".to_vec(), Refusal::Extension),
        (Side::Client, b"GET / HTTP/1.1\r\n".to_vec(), Refusal::Extension),
    ];
    for (side, stream, expected) in cases {
        for piece_bytes in 1..=stream.len() {
            let mut reader = Reader::new(side);
            let seen = read(&mut reader, &stream, piece_bytes);
            assert_eq!(seen.refusal, Some(expected), "{stream:x?} {piece_bytes}");
            assert!(seen.content.len() <= 1, "{stream:x?} {piece_bytes}");
            assert_eq!(read(&mut reader, b"\x81\x01x", 9).refusal, Some(expected), "it stays so");
        }
    }
}

/// Reads all of it, holds its content, and lets it go in pieces, the first of them when `early` bytes have been read.
fn reframed(from: Side, to: Side, input: &[u8], early: usize, piece_bytes: usize) -> Vec<u8> {
    let (mut reader, mut writer) = (Reader::new(from), Writer::new(to));
    let (mut held, mut content, mut out, mut masks) = (Vec::new(), Vec::new(), Vec::new(), 0u32);
    let mut mask = || {
        masks += 1;
        masks.wrapping_mul(0x9e37_79b9).to_be_bytes()
    };
    for part in [&input[..early], &input[early..]] {
        let mut rest = part;
        loop {
            let (count, what) = reader.step(rest, &mut content);
            rest = &rest[count..];
            match what {
                Piece::NeedInput => break,
                Piece::Begin(kind) => writer.begin(kind),
                Piece::Content => {
                    writer.content(content.len());
                    held.extend_from_slice(&content);
                }
                Piece::End => writer.end(),
                Piece::Control(opcode) => writer.control(opcode, &content),
                Piece::Refused(refusal) => panic!("{refusal}"),
            }
        }
        for piece in std::mem::take(&mut held).chunks(piece_bytes) {
            writer.write(piece, &mut mask, &mut out);
        }
        writer.write(&[], &mut mask, &mut out);
    }
    assert_eq!(writer.waiting(), 0);
    out
}

#[test]
fn what_leaves_says_the_same_in_other_frames() {
    for (from, to) in
        [(Side::Client, Side::Client), (Side::Server, Side::Server), (Side::Client, Side::Server)]
    {
        let stream = stream(from);
        for early in 0..=stream.len() {
            for piece_bytes in [1, 2, 7, 1000] {
                let out = reframed(from, to, &stream, early, piece_bytes);
                let seen = read(&mut Reader::new(to), &out, out.len());
                assert_eq!((seen.said, seen.refusal), (expected(), None), "{early} {piece_bytes}");
            }
        }
        // In one piece its frames are as they came, but for a message of several.
        let out = reframed(from, to, &frame(from, 0x81, b"hello"), 0, 1000);
        assert_eq!(out.len(), frame(to, 0x81, b"hello").len());
    }
}
