//! Which bytes of a segment are searched for: those rarest in content. Rule: a guess costs speed only, never a match.

use crate::segment::{Fragment, LOOKBACK_MAX, PREFIX_WIDTH_MAX};

/// A window of a segment: `length` bytes in a row, from which blocks are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub prefix_min: u32,
    pub prefix_width: u32,
    pub bytes: Vec<u8>,
}

/// The longest run of bytes that can be searched for.
pub(crate) fn length_max(fragments: &[Fragment]) -> usize {
    fragments.iter().map(usable).max().unwrap_or(0)
}

/// The best window of this length; there must be one.
pub(crate) fn choose(fragments: &[Fragment], length: usize, block: usize) -> Option<Window> {
    let mut best: Option<(u32, Window)> = None;
    for fragment in fragments {
        let bytes = &fragment.bytes[..usable(fragment)];
        for (at, window) in bytes.windows(length).enumerate() {
            let rarity = rarity(window, block);
            if best.as_ref().is_none_or(|(most, _)| rarity > *most) {
                best = Some((
                    rarity,
                    Window {
                        prefix_min: fragment.prefix_min + at as u32,
                        prefix_width: fragment.prefix_width,
                        bytes: window.to_vec(),
                    },
                ));
            }
        }
    }
    best.map(|(_, window)| window)
}

/// How many bytes of a fragment are near enough to the segment's start.
fn usable(fragment: &Fragment) -> usize {
    if fragment.prefix_width > PREFIX_WIDTH_MAX {
        return 0;
    }
    let room = LOOKBACK_MAX.saturating_sub(fragment.prefix_min + fragment.prefix_width) as usize;
    fragment.bytes.len().min(room)
}

/// The rarity of a window's commonest block, in eighths of a bit.
fn rarity(window: &[u8], block: usize) -> u32 {
    window.windows(block).map(block_rarity).min().unwrap_or(0)
}

fn block_rarity(block: &[u8]) -> u32 {
    let mut before = None;
    let mut sum = 0;
    for &byte in block {
        sum += match before {
            Some(before) if before == byte => 8,
            _ => byte_rarity(byte),
        };
        before = Some(byte);
    }
    sum
}

/// Rough figures for programs, text and base64 together.
fn byte_rarity(byte: u8) -> u32 {
    match byte {
        0x00 => 16,
        0xff | b' ' => 32,
        0x01 | 0x02 | 0x48 | 0x8b | b'e' | b't' | b'a' | b'o' | b'\n' | b'0' => 40,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => 48,
        b'"' | b'=' | b'.' | b',' | b'/' | b'<' | b'>' | b'-' | b'_' => 48,
        0x03..=0x10 | 0x80 | 0x89 | 0xe8 => 48,
        _ => 64,
    }
}
