//! What the fuzz targets share: how an input is cut. Rule: the same bytes mean the same, however they arrive.

pub mod asked;
pub mod http;
pub mod packets;
pub mod virus;

use lockgate_content::trace::{Said, trace};
use lockgate_content::{Coding, Decoder, Means, open, open_coding, open_form};
use lockgate_model::{FileType, Pool};

/// The input's first eight bytes say how the rest is cut: seeds, and what the fuzzer makes of them, stay readable.
pub const CUT_BYTES: usize = 8;

/// The content of an input, and the same in pieces: how long they are goes on as the first bytes say.
pub fn cut(input: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (lengths, content) = input.split_at_checked(CUT_BYTES)?;
    let mut pieces = Vec::new();
    let mut rest = content;
    for length in lengths.iter().cycle() {
        // Small numbers cut between neighbouring bytes, large ones make pieces of some KiB.
        let length = match *length {
            small @ 0..=127 => usize::from(small) + 1,
            large => (usize::from(large) - 127) * 64,
        };
        if rest.len() <= length {
            pieces.push(rest);
            break;
        }
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    Some((content, pieces))
}

/// What a decoder may take besides its own few hundred bytes.
pub fn means() -> Means {
    Means { pool: Pool::new(64 << 20) }
}

/// A decoder says the same of an input whole and in pieces.
pub fn decode(file_type: FileType, input: &[u8]) {
    compare(input, |means| open(file_type, means).expect("it is supported").expect("it holds parts"));
}

/// A content coding's decoder says the same of an input whole and in pieces.
pub fn undo(coding: Coding, input: &[u8]) {
    compare(input, |means| open_coding(coding, means).expect("it is supported"));
}

/// An uploaded form's decoder says the same of an input whole and in pieces.
pub fn form(input: &[u8]) {
    let types = [b"multipart/form-data; boundary=b".to_vec()];
    compare(input, |means| open_form(&types, FileType::Data, means).expect("it is no archive"));
}

fn compare(input: &[u8], open: impl Fn(&Means) -> Box<dyn Decoder>) {
    let Some((content, pieces)) = cut(input) else { return };
    let means = means();
    let whole = said(open(&means), [content]);
    let cut = said(open(&means), pieces);
    assert_eq!(whole, cut);
    assert_eq!(means.pool.bytes_taken(), 0, "what was held has been given back");
}

fn said<'a>(mut decoder: Box<dyn Decoder>, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Said> {
    trace(&mut *decoder, chunks)
}

/// Splits an input at its first blank line: what comes first says how to read what comes next.
pub fn halves(input: &[u8]) -> Option<(&str, &[u8])> {
    let at = input.windows(2).position(|window| window == b"\n\n")?;
    Some((std::str::from_utf8(&input[..at]).ok()?, &input[at + 2..]))
}
