//! One side's WebSocket frames. Rule: the same messages at every cut, and what is written of them reads back as the same.
#![no_main]

use lockgate_proto::websocket::{CONTROL_BYTES_MAX, Kind, Piece, Reader, Refusal, Side, Writer};

/// What comes, with the content that follows itself in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Begin(Kind),
    Content(Vec<u8>),
    End,
    Control(u8, Vec<u8>),
}

#[derive(Debug, PartialEq, Eq)]
struct Read {
    said: Vec<Said>,
    refused: Option<Refusal>,
    has_closed: bool,
    is_between: bool,
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else { return };
    let side = if first & 1 == 0 { Side::Client } else { Side::Server };
    let Some((content, pieces)) = lockgate_fuzz::cut(rest) else { return };
    let whole = read(side, [content]);
    assert_eq!(whole, read(side, pieces.iter().copied()));
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
    for letting_go in [LettingGo::AsItComes, LettingGo::AtTheEnd] {
        let again = read(side, [written(side, &whole.said, letting_go, &lengths).as_slice()]);
        assert_eq!((again.refused, again.has_closed), (None, whole.has_closed));
        assert_eq!(again.said, in_order(&whole.said));
    }
});

fn read<'a>(side: Side, chunks: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let (mut reader, mut content) = (Reader::new(side), Vec::new());
    let (mut said, mut refused): (Vec<Said>, _) = (Vec::new(), None);
    'chunks: for mut chunk in chunks {
        loop {
            let (consumed, piece) = reader.step(chunk, &mut content);
            chunk = &chunk[consumed..];
            match piece {
                Piece::NeedInput => break,
                Piece::Begin(kind) => said.push(Said::Begin(kind)),
                Piece::Content => {
                    assert!(!content.is_empty());
                    match said.last_mut() {
                        Some(Said::Content(before)) => before.extend_from_slice(&content),
                        _ => said.push(Said::Content(content.clone())),
                    }
                }
                Piece::End => said.push(Said::End),
                Piece::Control(opcode) => {
                    assert!(content.len() <= CONTROL_BYTES_MAX && (8..=10).contains(&opcode));
                    said.push(Said::Control(opcode, content.clone()));
                }
                Piece::Refused(refusal) => {
                    assert!(!refusal.to_string().is_empty());
                    assert_eq!(reader.step(b"\x81\x00", &mut content), (0, piece), "it stays refused");
                    refused = Some(refusal);
                    break 'chunks;
                }
            }
        }
        assert!(chunk.is_empty(), "all of it was read");
    }
    Read { said, refused, has_closed: reader.has_closed(), is_between: reader.is_between() }
}

/// When content may leave.
#[derive(Clone, Copy)]
enum LettingGo {
    AsItComes,
    AtTheEnd,
}

/// The same messages in frames of our own.
fn written(side: Side, said: &[Said], letting_go: LettingGo, lengths: &[usize]) -> Vec<u8> {
    let (mut writer, mut out, mut held) = (Writer::new(side), Vec::new(), Vec::new());
    let mut count = 0_u8;
    let mut mask = || {
        count = count.wrapping_add(1);
        [count, 0x22, 0xff, !count]
    };
    for one in said {
        match one {
            Said::Begin(kind) => writer.begin(*kind),
            Said::Content(bytes) => {
                writer.content(bytes.len());
                held.extend_from_slice(bytes);
            }
            Said::End => writer.end(),
            Said::Control(opcode, content) => writer.control(*opcode, content),
        }
        if let LettingGo::AsItComes = letting_go {
            writer.write(&std::mem::take(&mut held), &mut mask, &mut out);
        }
    }
    let mut rest = held.as_slice();
    for length in lengths.iter().cycle() {
        let (now, later) = rest.split_at(rest.len().min((*length).max(1)));
        writer.write(now, &mut mask, &mut out);
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    assert_eq!(writer.waiting(), 0, "nothing waits when all has left");
    out
}

/// What leaves: a message begins with the first frame of its content or with its end, so that what stood between comes
/// before it, and one of which nothing has come does not begin.
fn in_order(said: &[Said]) -> Vec<Said> {
    let mut out = Vec::with_capacity(said.len());
    let mut begun = None;
    for one in said {
        match one {
            Said::Begin(_) => begun = Some(one.clone()),
            Said::Control(..) => out.push(one.clone()),
            Said::Content(_) | Said::End => {
                out.extend(begun.take());
                out.push(one.clone());
            }
        }
    }
    out
}
