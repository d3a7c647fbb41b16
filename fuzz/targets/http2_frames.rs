//! One side of HTTP/2 in clear. Rule: the same messages at every cut, and no head larger than it may be.
#![no_main]

use lockgate_proto::http::{Http2Frame, Http2Reader};

/// What a spectator makes of a side: heads as they are, content joined.
fn read<'p>(is_client: bool, pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<(u32, String, Vec<u8>)> {
    let mut reader = Http2Reader::new(is_client);
    let mut all: Vec<(u32, String, Vec<u8>)> = Vec::new();
    for mut bytes in pieces {
        loop {
            let (used, frame) = reader.step(bytes);
            bytes = &bytes[used..];
            match frame {
                Http2Frame::NeedInput => break,
                Http2Frame::Head { stream, fields, is_last } => {
                    let bytes: usize = fields.iter().map(|(name, value)| name.len() + value.len()).sum();
                    assert!(bytes <= 128 << 10);
                    all.push((stream, format!("{is_last} {fields:?}"), Vec::new()));
                }
                Http2Frame::Content { stream, bytes } => match all.last_mut() {
                    Some((last, what, content)) if *last == stream && what == "content" => {
                        content.extend(bytes)
                    }
                    _ => all.push((stream, "content".to_owned(), bytes.to_vec())),
                },
                Http2Frame::End { stream, is_reset } => {
                    all.push((stream, format!("ends {is_reset}"), Vec::new()))
                }
                Http2Frame::Lost => all.push((0, "lost".to_owned(), Vec::new())),
            }
        }
    }
    all
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((content, pieces)) = lockgate_fuzz::cut(input) else { return };
    for is_client in [true, false] {
        assert_eq!(read(is_client, [content]), read(is_client, pieces.iter().copied()));
    }
});
