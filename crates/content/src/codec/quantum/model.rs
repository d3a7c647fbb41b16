//! How often symbols come, as it is learnt. Rule: whoever writes and whoever reads learn the same.

/// What a symbol counts for each time.
const STEP: u16 = 8;
/// From here on all that was counted counts less.
const TOTAL_MAX: u16 = 3800;
/// How often it is only halved, before symbols are sorted: at first, and later.
const HALVINGS_FIRST: u8 = 4;
const HALVINGS: u8 = 50;

/// Symbols, and for each how often it or those behind it have come.
pub(super) struct Model {
    symbols: Vec<u16>,
    /// One more than there are symbols: the last is 0.
    counts: Vec<u16>,
    halvings: u8,
}

impl Model {
    /// So many symbols, as often as each other.
    pub(super) fn new(first: u16, count: usize) -> Self {
        Self {
            symbols: (first..).take(count).collect(),
            counts: (0..=count as u16).rev().collect(),
            halvings: HALVINGS_FIRST,
        }
    }

    pub(super) fn total(&self) -> u32 {
        self.counts[0].into()
    }

    /// The symbol that this much of the total belongs to, and its number.
    pub(super) fn find(&self, wanted: u16) -> Option<(usize, u16)> {
        let last = self.symbols.len() - 1;
        let nth = (0..last).find(|nth| self.counts[nth + 1] <= wanted).unwrap_or(last);
        (wanted < self.counts[0]).then(|| (nth, self.symbols[nth]))
    }

    /// Where it ends and begins in the total.
    pub(super) fn bounds(&self, nth: usize) -> (u32, u32) {
        (self.counts[nth].into(), self.counts[nth + 1].into())
    }

    #[cfg(test)]
    pub(super) fn symbols_count(&self) -> usize {
        self.symbols.len()
    }

    #[cfg(test)]
    pub(super) fn number_of(&self, symbol: u16) -> usize {
        self.symbols.iter().position(|s| *s == symbol).unwrap()
    }

    /// It has come once more.
    pub(super) fn learn(&mut self, nth: usize) {
        self.counts[..=nth].iter_mut().for_each(|count| *count += STEP);
        if self.counts[0] > TOTAL_MAX {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.halvings -= 1;
        let last = self.symbols.len();
        if self.halvings > 0 {
            for nth in (0..last).rev() {
                self.counts[nth] = (self.counts[nth] / 2).max(self.counts[nth + 1] + 1);
            }
            return;
        }
        self.halvings = HALVINGS;
        for nth in 0..last {
            self.counts[nth] = (self.counts[nth] - self.counts[nth + 1]).div_ceil(2);
        }
        // A sort that leaves symbols that come as often as each other where this one does.
        for nth in 0..last {
            for other in nth + 1..last {
                if self.counts[nth] < self.counts[other] {
                    self.counts.swap(nth, other);
                    self.symbols.swap(nth, other);
                }
            }
        }
        for nth in (0..last).rev() {
            self.counts[nth] += self.counts[nth + 1];
        }
    }
}
