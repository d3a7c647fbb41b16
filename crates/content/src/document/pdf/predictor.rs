//! Predictors (ISO 32000-1, section 7.4.4.4): rows that were changed so that they compress better. Rule: a row at a time.

use super::object::Prediction;

/// Rows that are longer are not undone.
const ROW_BYTES_MAX: i64 = 64 << 10;

/// Undoes the rows of one stream.
pub(super) struct Predictor {
    kind: Kind,
    /// Bytes of a pixel, and of a row.
    pixel: usize,
    row_bytes: usize,
    row: Vec<u8>,
    previous: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Each byte is the difference from the pixel before.
    Tiff,
    /// Each row says first how it was changed (PNG, section 9).
    Png,
}

impl Predictor {
    /// For a stream with these parameters; `None` where its rows are as they are.
    pub(super) fn new(prediction: &Prediction) -> Option<Self> {
        let kind = match prediction.predictor {
            2 if prediction.bits == 8 => Kind::Tiff,
            10..=15 => Kind::Png,
            _ => return None,
        };
        let bits = prediction.colors.checked_mul(prediction.bits)?;
        let row_bytes = bits.checked_mul(prediction.columns)?.checked_add(7)? / 8;
        if bits < 1 || !(1..=ROW_BYTES_MAX).contains(&row_bytes) {
            return None;
        }
        let (pixel, row_bytes) = ((bits as usize).div_ceil(8), row_bytes as usize);
        Some(Self { kind, pixel, row_bytes, row: Vec::new(), previous: vec![0; row_bytes] })
    }

    /// Reads on and gives each whole row.
    pub(super) fn push(&mut self, mut input: &[u8], give: &mut dyn FnMut(&[u8])) {
        let needed = self.row_bytes + usize::from(self.kind == Kind::Png);
        while !input.is_empty() {
            let now = (needed - self.row.len()).min(input.len());
            self.row.extend_from_slice(&input[..now]);
            input = &input[now..];
            if self.row.len() == needed {
                self.undo(give);
            }
        }
    }

    /// The stream has ended: what is there of the last row is given.
    pub(super) fn finish(&mut self, give: &mut dyn FnMut(&[u8])) {
        if !self.row.is_empty() {
            self.undo(give);
        }
    }

    fn undo(&mut self, give: &mut dyn FnMut(&[u8])) {
        let mut row = std::mem::take(&mut self.row);
        let filter = if self.kind == Kind::Png { row.remove(0) } else { 1 };
        for at in 0..row.len() {
            let left = at.checked_sub(self.pixel).map_or(0, |before| row[before]);
            let up = self.previous.get(at).copied().unwrap_or(0);
            let corner =
                at.checked_sub(self.pixel).and_then(|before| self.previous.get(before)).copied().unwrap_or(0);
            let guess = match filter {
                1 => left,
                2 => up,
                3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
                4 => paeth(left, up, corner),
                _ => 0,
            };
            row[at] = row[at].wrapping_add(guess);
        }
        give(&row);
        self.previous = row;
    }
}

/// Whichever of the three is nearest to left + up - corner.
fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i16::from(left), i16::from(up), i16::from(corner));
    let guess = a + b - c;
    let (pa, pb, pc) = ((guess - a).abs(), (guess - b).abs(), (guess - c).abs());
    if pa <= pb && pa <= pc {
        left
    } else if pb <= pc {
        up
    } else {
        corner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo(prediction: Prediction, input: &[u8], cut: usize) -> Vec<u8> {
        let mut predictor = Predictor::new(&prediction).unwrap();
        let mut output = Vec::new();
        input.chunks(cut).for_each(|piece| predictor.push(piece, &mut |row| output.extend_from_slice(row)));
        predictor.finish(&mut |row| output.extend_from_slice(row));
        output
    }

    #[test]
    fn rows() {
        let png = Prediction { predictor: 12, columns: 3, ..Prediction::default() };
        let rows = [0, 1, 2, 3, 1, 1, 1, 1, 2, 1, 1, 1, 3, 9, 9, 9, 4, 1, 1, 1, 0, 7];
        let expected = [1, 2, 3, 1, 2, 3, 2, 3, 4, 10, 15, 18, 11, 16, 19, 7];
        for cut in [1, 5, 100] {
            assert_eq!(undo(png, &rows, cut), expected);
        }
        let tiff = Prediction { predictor: 2, columns: 2, colors: 2, ..Prediction::default() };
        assert_eq!(undo(tiff, &[1, 2, 3, 4, 5, 6, 7, 8], 3), [1, 2, 4, 6, 5, 6, 12, 14]);
        for bad in [(1, 1), (12, 0), (12, -5), (12, i64::MAX)] {
            let prediction = Prediction { predictor: bad.0, columns: bad.1, ..Prediction::default() };
            assert!(Predictor::new(&prediction).is_none());
        }
    }
}
