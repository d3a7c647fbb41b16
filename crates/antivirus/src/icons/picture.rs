//! The picture of an icon, small and square, from a program's resources. Rule: what does not lie in the file is no picture.
//!
//! A BITMAPINFOHEADER, a palette, the picture from its last line up, and a mask of one bit for each point. It is put on white
//! and brought to 16, 24 or 32 points a side, or near that, as ClamAV does it: halved in each direction, or picked.

/// A picture: red, green and blue in the low bytes of each point.
pub(super) struct Picture {
    pub side: usize,
    pub points: Vec<u32>,
}

/// The header's length.
const HEADER_BYTES: usize = 40;
/// Sides that a picture may have.
const SIDES: std::ops::RangeInclusive<usize> = 16..=256;
const OPAQUE: u32 = 0xff00_0000;

/// As the header has it.
struct Shape {
    width: usize,
    height: usize,
    /// Bits of a point.
    depth: usize,
}

impl Picture {
    /// From the header on.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_le_bytes(four) as usize)
        };
        let header_bytes = word(0).filter(|length| *length >= HEADER_BYTES)?;
        bytes.get(..HEADER_BYTES)?;
        // Picture and mask stand one on the other.
        let shape = Shape { width: word(4)?, height: word(8)? / 2, depth: word(14)? & 0xffff };
        let (width, height) = (shape.width, shape.height);
        let is_square = width >= height * 3 / 4 && height >= width * 3 / 4;
        if !SIDES.contains(&width) || !SIDES.contains(&height) || !is_square {
            return None;
        }
        let points = shape.points(bytes.get(header_bytes..)?)?;
        Some(if width != height {
            picked(&shape, &points)
        } else if matches!(width, 16 | 24 | 32) {
            Self { side: width, points }
        } else if width % 32 == 0 || width % 24 == 0 {
            halved(width, points)
        } else {
            picked(&shape, &points)
        })
    }
}

impl Shape {
    /// The points on white, the first line first.
    fn points(&self, bytes: &[u8]) -> Option<Vec<u32>> {
        let Self { width, height, depth } = *self;
        let (palette, bytes) = match depth {
            1 | 4 | 8 => bytes.split_at_checked(4 << depth)?,
            16 | 24 | 32 => (&[][..], bytes),
            _ => return None,
        };
        let line_bytes = 4 * (width * depth).div_ceil(32);
        let mask_line_bytes = 4 * width.div_ceil(32);
        let (lines, after) = bytes.split_at_checked(height * line_bytes)?;
        let mut points = Vec::with_capacity(width * height);
        for line in lines.chunks_exact(line_bytes).rev() {
            points.extend((0..width).map(|x| point(line, palette, depth, x)));
        }
        // Some say that they have 32 bits and mean 24.
        let has_alpha = depth == 32 && points.iter().any(|point| point & OPAQUE != 0);
        match after.get(..height * mask_line_bytes) {
            _ if has_alpha => {}
            Some(mask) => {
                let lines = mask.chunks_exact(mask_line_bytes).rev();
                for (line, points) in lines.zip(points.chunks_exact_mut(width)) {
                    for (x, point) in points.iter_mut().enumerate() {
                        let is_masked = line.get(x / 8).is_some_and(|byte| byte << (x % 8) & 0x80 != 0);
                        *point |= if is_masked { 0 } else { OPAQUE };
                    }
                }
            }
            None if depth == 32 => points.iter_mut().for_each(|point| *point |= OPAQUE),
            None => return None,
        }
        points.iter_mut().for_each(|point| *point = on_white(*point));
        Some(points)
    }
}

fn point(line: &[u8], palette: &[u8], depth: usize, x: usize) -> u32 {
    let byte = |at: usize| u32::from(line.get(at).copied().unwrap_or(0));
    match depth {
        16 => {
            let (low, high) = (byte(x * 2), byte(x * 2 + 1));
            let (b, g, r) = (low & 0x1f, low >> 5 | (high & 3) << 3, high & 0xfc);
            // As ClamAV has it, one bit off.
            (b << 3 | b >> 2) | (g << 3 | g >> 2) << 11 | (r << 3 | r >> 2) << 17
        }
        24 => byte(x * 3) | byte(x * 3 + 1) << 8 | byte(x * 3 + 2) << 16,
        32 => byte(x * 4) | byte(x * 4 + 1) << 8 | byte(x * 4 + 2) << 16 | byte(x * 4 + 3) << 24,
        _ => {
            let bit = x * depth;
            let index = byte(bit / 8) >> (8 - depth - bit % 8) & ((1 << depth) - 1);
            let entry = palette.get(index as usize * 4..).and_then(|rest| rest.first_chunk());
            entry.map_or(0, |entry| u32::from_le_bytes(*entry))
        }
    }
}

fn on_white(point: u32) -> u32 {
    let alpha = point >> 24;
    let blend = |shift: u32| (0xff - alpha + alpha * (point >> shift & 0xff) / 0xff) << shift;
    OPAQUE | blend(16) | blend(8) | blend(0)
}

/// Halved until it is small enough, each point of four.
fn halved(mut side: usize, mut points: Vec<u32>) -> Picture {
    let mean = |a: u32, b: u32| ((a ^ b) & 0xfefe_fefe) / 2 + (a & b);
    while side > 32 {
        let half = side / 2;
        let at = |x: usize, y: usize| points.get(y * side + x).copied().unwrap_or(0);
        let of =
            |x: usize, y: usize| mean(mean(at(x, y), at(x + 1, y)), mean(at(x, y + 1), at(x + 1, y + 1)));
        points = (0..half * half).map(|place| of(place % half * 2, place / half * 2)).collect();
        side = half;
    }
    Picture { side, points }
}

/// Points picked, so that it gets the nearest side there is.
fn picked(shape: &Shape, points: &[u32]) -> Picture {
    let off = |side: usize| shape.width.abs_diff(side) + shape.height.abs_diff(side);
    let side = if off(32) < off(24) {
        32
    } else if off(24) < off(16) {
        24
    } else {
        16
    };
    let (x_scale, y_scale) = (shape.width as f64 / side as f64, shape.height as f64 / side as f64);
    let of = |x: usize, y: usize| {
        let line = (y as f64 * y_scale) as usize * shape.width;
        points.get(line + (x as f64 * x_scale + 0.5) as usize).copied().unwrap_or(0)
    };
    Picture { side, points: (0..side * side).map(|place| of(place % side, place / side)).collect() }
}
