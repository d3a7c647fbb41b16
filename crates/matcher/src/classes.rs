//! How pairs of bytes are dealt out to classes, so that few places pass for one of them. Rule: a guess costs speed only, never
//! a match.

use crate::rates::Rates;
use crate::wildcard::Cell;

/// How many bytes classes look at: the pair, and those before it.
pub(crate) const KNOWN: usize = 4;
/// How many classes: a bit for each in a byte.
const CLASSES: usize = 8;
/// How often all members are dealt out once more, now that the others are known.
const ROUNDS: usize = 2;

/// By byte: in which classes it stands at each of so many places.
pub(crate) type Tables<const PLACES: usize> = [[u8; 256]; PLACES];

/// Deals out what may stand at a place: of each member the pair is known, and of the bytes before it as much as cells say.
pub(crate) fn deal(mut members: Vec<[Cell; KNOWN]>, shares: &Shares) -> Tables<KNOWN> {
    // Those first that share what is frequent.
    members.sort_by(|one, other| {
        let share = |member: &[Cell; KNOWN]| shares.bytes[usize::from(member[KNOWN - 2].value)];
        share(other).total_cmp(&share(one))
    });
    let mut classes: [Class; CLASSES] = std::array::from_fn(|_| Class::default());
    let mut chosen = vec![0; members.len()];
    for round in 0..=ROUNDS {
        for (member, chosen) in members.iter().zip(&mut chosen) {
            if round > 0 {
                classes[*chosen].remove(member, shares);
            }
            let more: [f32; CLASSES] = std::array::from_fn(|class| classes[class].more(member, shares));
            *chosen = (0..CLASSES).min_by(|one, other| more[*one].total_cmp(&more[*other])).unwrap_or(0);
            classes[*chosen].add(member, shares);
        }
    }
    let mut tables = [[0; 256]; KNOWN];
    for (number, class) in classes.iter().enumerate() {
        for (place, table) in tables.iter_mut().enumerate() {
            let is_any = class.any[place] > 0;
            let stand = class.counts[place].iter().map(|count| u8::from(is_any || *count > 0) << number);
            table.iter_mut().zip(stand).for_each(|(classes, stands)| *classes |= stands);
        }
    }
    tables
}

/// How often bytes and pairs stand in content.
pub(crate) struct Shares {
    bytes: [f32; 256],
    /// Of pairs, by the first byte and by the second.
    behind: Box<[[f32; 256]; 256]>,
    before: Box<[[f32; 256]; 256]>,
}

impl Shares {
    pub fn new(rates: &Rates) -> Self {
        let (mut behind, mut before) = (Box::new([[0.0; 256]; 256]), Box::new([[0.0; 256]; 256]));
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let share = rates.of(&[first, second]);
                behind[usize::from(first)][usize::from(second)] = share;
                before[usize::from(second)][usize::from(first)] = share;
            }
        }
        Self { bytes: rates.bytes(), behind, before }
    }
}

/// A class in the making.
struct Class {
    /// How many members have each byte at each place …
    counts: [[u32; 256]; KNOWN],
    /// … and how many have any there, which are not among these.
    any: [u32; KNOWN],
    /// 1 for each byte that some member has as the pair's first, and as its second: to be summed up quickly.
    stand: [[f32; 256]; 2],
    /// The share of places where one of the firsts stands before one of the seconds …
    pairs: f32,
    /// … and of those where one of the bytes stands that may be before them.
    before: [f32; KNOWN - 2],
}

impl Default for Class {
    fn default() -> Self {
        Self {
            counts: [[0; 256]; KNOWN],
            any: [0; KNOWN],
            stand: [[0.0; 256]; 2],
            pairs: 0.0,
            before: [0.0; KNOWN - 2],
        }
    }
}

impl Class {
    /// By how much the share of places that pass grows with a member.
    fn more(&self, member: &[Cell; KNOWN], shares: &Shares) -> f32 {
        let (pairs, before) = self.with(member, shares);
        let share = |place: usize| if self.any[place] > 0 { 1.0 } else { self.before[place] };
        let share_with = |place: usize| match (self.any[place], member[place].mask) {
            (1.., _) | (_, 0) => 1.0,
            _ => before[place],
        };
        let product = |share: &dyn Fn(usize) -> f32| (0..KNOWN - 2).map(share).product::<f32>();
        pairs * product(&share_with) - self.pairs * product(&share)
    }

    fn add(&mut self, member: &[Cell; KNOWN], shares: &Shares) {
        (self.pairs, self.before) = self.with(member, shares);
        self.count(member, |count| count + 1);
    }

    fn remove(&mut self, member: &[Cell; KNOWN], shares: &Shares) {
        self.count(member, |count| count - 1);
        let (pairs, before) = self.with(member, shares);
        self.pairs -= pairs - self.pairs;
        self.before = std::array::from_fn(|place| 2.0 * self.before[place] - before[place]);
    }

    /// What the shares are with a member.
    fn with(&self, member: &[Cell; KNOWN], shares: &Shares) -> (f32, [f32; KNOWN - 2]) {
        let [.., first, second] = member.map(|cell| usize::from(cell.value));
        let [is_first, is_second] =
            [(KNOWN - 2, first), (KNOWN - 1, second)].map(|(place, byte)| self.counts[place][byte] > 0);
        let mut pairs = self.pairs;
        if !is_first {
            pairs += sum(&shares.behind[first], &self.stand[1]);
        }
        if !is_second {
            pairs += sum(&shares.before[second], &self.stand[0]);
        }
        if !is_first && !is_second {
            pairs += shares.behind[first][second];
        }
        let before = std::array::from_fn(|place| {
            let is_new = |byte: &u8| self.counts[place][usize::from(*byte)] == 0;
            let new = bytes_of(member[place]).filter(is_new).map(|byte| shares.bytes[usize::from(byte)]);
            self.before[place] + new.sum::<f32>()
        });
        (pairs, before)
    }

    fn count(&mut self, member: &[Cell; KNOWN], changed: impl Fn(u32) -> u32) {
        for ((counts, any), cell) in self.counts.iter_mut().zip(&mut self.any).zip(member) {
            if cell.mask == 0 {
                *any = changed(*any);
            }
            bytes_of(*cell).for_each(|byte| counts[usize::from(byte)] = changed(counts[usize::from(byte)]));
        }
        for (stand, (counts, cell)) in
            self.stand.iter_mut().zip(self.counts.iter().zip(member).skip(KNOWN - 2))
        {
            let byte = usize::from(cell.value);
            stand[byte] = if counts[byte] > 0 { 1.0 } else { 0.0 };
        }
    }
}

/// Which bytes a cell may be: none where it may be any.
fn bytes_of(cell: Cell) -> impl Iterator<Item = u8> {
    let free = !cell.mask;
    // Each subset of the free bits, from all of them down to none.
    let subsets = std::iter::successors(Some(free), move |set| Some(set.checked_sub(1)? & free));
    subsets.map(move |set| cell.value | set).take(if cell.mask == 0 { 0 } else { usize::MAX })
}

/// The sum of those that stand, several at once.
fn sum(shares: &[f32; 256], stand: &[f32; 256]) -> f32 {
    const TOGETHER: usize = 16;
    let mut sums = [0.0; TOGETHER];
    for (shares, stand) in shares.as_chunks::<TOGETHER>().0.iter().zip(stand.as_chunks::<TOGETHER>().0) {
        for (sum, (share, stands)) in sums.iter_mut().zip(shares.iter().zip(stand)) {
            *sum += share * stands;
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Folding;
    use crate::tests::random::Dice;

    fn members() -> Vec<[Cell; KNOWN]> {
        let mut dice = Dice(7);
        let mut next = || dice.roll(256) as u8;
        let halves = Cell { value: 0x40, mask: 0xf0 };
        (0..300)
            .map(|number| {
                let before = if number % 3 == 0 { Cell::ANY } else { Cell::exact(next()) };
                [
                    if number % 5 == 0 { halves } else { Cell::ANY },
                    before,
                    Cell::exact(next()),
                    Cell::exact(0),
                ]
            })
            .collect()
    }

    #[test]
    fn each_member_passes() {
        let tables = deal(members(), &Shares::new(&Rates::new(Folding::None)));
        for member in members() {
            let bytes = member.map(|cell| cell.value | !cell.mask & 0x0f);
            let classes =
                tables.iter().zip(bytes).fold(u8::MAX, |all, (table, byte)| all & table[usize::from(byte)]);
            assert_ne!(classes, 0, "{member:?}");
        }
    }

    #[test]
    fn what_is_taken_out_leaves_what_was() {
        let shares = Shares::new(&Rates::new(Folding::None));
        let mut class = Class::default();
        let members = members();
        for member in &members[..100] {
            class.add(member, &shares);
        }
        let before = (class.pairs, class.before, class.counts);
        for member in &members[100..] {
            class.add(member, &shares);
        }
        for member in &members[100..] {
            class.remove(member, &shares);
        }
        assert_eq!(class.counts, before.2);
        assert!((class.pairs - before.0).abs() < 1e-4, "{} {}", class.pairs, before.0);
        assert!(class.before.iter().zip(before.1).all(|(now, then)| (now - then).abs() < 1e-3));
    }
}
