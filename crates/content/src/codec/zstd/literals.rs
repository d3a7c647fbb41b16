//! The literals of a block (RFC 8878 section 3.1.1.3.1). Rule: no more of them than a block may have.

use super::huffman::Code;
use super::{BLOCK_BYTES_MAX, number};

/// Reads the literals at the front of a block; answers how many bytes they take.
pub(super) fn read(block: &[u8], code: &mut Option<Code>, out: &mut Vec<u8>) -> Option<usize> {
    let head = *block.first()?;
    out.clear();
    match head & 3 {
        kind @ (0 | 1) => plain(block, kind == 1, out),
        kind => {
            let (head_bytes, size_bits, streams) = match head >> 2 & 3 {
                0 => (3, 10, 1),
                1 => (3, 10, 4),
                2 => (4, 14, 4),
                _ => (5, 18, 4),
            };
            let sizes = number(block.get(..head_bytes)?) >> 4;
            let mask = (1_u64 << size_bits) - 1;
            let made = usize::try_from(sizes & mask).ok()?;
            let packed = usize::try_from(sizes >> size_bits & mask).ok()?;
            if made > BLOCK_BYTES_MAX {
                return None;
            }
            let mut rest = block.get(head_bytes..)?.get(..packed)?;
            if kind == 2 {
                let (own, used) = Code::read(rest)?;
                rest = &rest[used..];
                *code = Some(own);
            }
            let code = code.as_ref()?;
            if streams == 1 {
                code.decode(rest, made, out)?
            } else {
                four(code, rest, made, out)?
            }
            Some(head_bytes + packed)
        }
    }
}

/// As they are, or one of them again and again.
fn plain(block: &[u8], is_run: bool, out: &mut Vec<u8>) -> Option<usize> {
    let (head_bytes, shift) = match block.first()? >> 2 & 3 {
        0 | 2 => (1, 3),
        1 => (2, 4),
        _ => (3, 4),
    };
    let made = usize::try_from(number(block.get(..head_bytes)?) >> shift).ok()?;
    if made > BLOCK_BYTES_MAX {
        return None;
    }
    let rest = block.get(head_bytes..)?;
    if is_run {
        out.resize(made, *rest.first()?);
        return Some(head_bytes + 1);
    }
    out.extend_from_slice(rest.get(..made)?);
    Some(head_bytes + made)
}

/// Four streams behind a table of the lengths of the first three.
fn four(code: &Code, bytes: &[u8], made: usize, out: &mut Vec<u8>) -> Option<()> {
    let (lengths, mut rest) = bytes.split_at_checked(6)?;
    let each = made.div_ceil(4);
    for length in lengths.chunks_exact(2) {
        let (stream, behind) = rest.split_at_checked(usize::try_from(number(length)).ok()?)?;
        code.decode(stream, each, out)?;
        rest = behind;
    }
    code.decode(rest, made.checked_sub(3 * each)?, out)
}
