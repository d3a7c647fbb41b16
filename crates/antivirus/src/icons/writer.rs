//! Writes icons as programs carry them, for tests. Rule: by the formats' structure alone; it needs nothing, so that others may
//! include it.

/// Where the resources begin in memory.
pub const ADDRESS: u32 = 0x1000;

/// A picture of stripes and a blot, as a resource has it; one of them without colours.
pub fn picture(width: usize, height: usize, depth: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [40, width as u32, height as u32 * 2, 1 | (depth as u32) << 16, 0, 0, 0, 0, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    if depth <= 8 {
        for entry in 0..1_u32 << depth {
            let grey = entry * 255 / ((1 << depth) - 1);
            bytes.extend([grey as u8, (grey * 3 % 256) as u8, (255 - grey) as u8, 0]);
        }
    }
    let line_bytes = 4 * (width * depth).div_ceil(32);
    for y in 0..height {
        let mut line = vec![0_u8; line_bytes];
        for x in 0..width {
            let blot = (x * 3).abs_diff(width) + (y * 2).abs_diff(height) < width;
            let value = if blot { 200 + x } else { x * 7 + y / 5 * 40 } % 256;
            match depth {
                1 | 4 | 8 => {
                    line[x * depth / 8] |= ((value >> (8 - depth)) << (8 - depth - x * depth % 8)) as u8
                }
                _ => {
                    let colour = match width {
                        28 => [value as u8; 4],
                        _ => [value as u8, (value / 2 + y * 3) as u8, (255 - value / 3) as u8, (x * y) as u8],
                    };
                    let bytes = depth / 8;
                    line[x * bytes..(x + 1) * bytes].copy_from_slice(&colour[..bytes]);
                }
            }
        }
        bytes.extend(line);
    }
    for y in 0..height {
        bytes.extend((0..4 * width.div_ceil(32)).map(|x| if y < 3 && x == 0 { 0xf0 } else { 0 }));
    }
    bytes
}

/// Resources with these pictures as a program's one icon, padded to a sector.
pub fn resources(pictures: &[Vec<u8>]) -> Vec<u8> {
    let list = |count: usize| [&[0; 14][..], &(count as u16).to_le_bytes()].concat();
    let count = pictures.len();
    // The lists: types, pictures, icons, a list of languages for each; then where data stands, then the data.
    let names_at = 16 + 2 * 8;
    let icons_at = names_at + 16 + count * 8;
    let languages_at = icons_at + 16 + 8;
    let entries_at = languages_at + (count + 1) * 24;
    let mut data_at = entries_at + (count + 1) * 16;
    let below = |at: usize| 1_u32 << 31 | at as u32;
    let mut out = list(2);
    let entry =
        |out: &mut Vec<u8>, id: u32, to: u32| out.extend([id.to_le_bytes(), to.to_le_bytes()].concat());
    entry(&mut out, 3, below(names_at));
    entry(&mut out, 14, below(icons_at));
    out.extend(list(count));
    for number in 0..count {
        entry(&mut out, number as u32 + 1, below(languages_at + number * 24));
    }
    out.extend(list(1));
    entry(&mut out, 1, below(languages_at + count * 24));
    for number in 0..=count {
        out.extend(list(1));
        entry(&mut out, 1033, (entries_at + number * 16) as u32);
    }
    let mut icon = [0, 0, 1, 0, count as u8, 0].to_vec();
    for number in 0..count {
        icon.extend([0; 12]);
        icon.extend((number as u16 + 1).to_le_bytes());
    }
    let data: Vec<&Vec<u8>> = pictures.iter().chain([&icon]).collect();
    for bytes in &data {
        for word in [ADDRESS + data_at as u32, bytes.len() as u32, 0, 0] {
            out.extend(word.to_le_bytes());
        }
        data_at += bytes.len();
    }
    data.iter().for_each(|bytes| out.extend_from_slice(bytes));
    out.resize(out.len().next_multiple_of(0x200), 0);
    out
}
