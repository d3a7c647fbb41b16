//! Random patterns over few letters, against the reference. Rule: seeded, so that a failure comes back.

use super::{Found, at_every_cut, reference, scan_cut, scan_for};
use crate::wildcard::{Cell, CountedBy, Edge, Node, Wildcard};
use crate::{Anchor, Case, PatternId, PatternSet, Sought};

pub(crate) struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// So many bytes, each below `sides`.
    pub fn bytes(&mut self, count: usize, sides: u64) -> Vec<u8> {
        (0..count).map(|_| self.roll(sides) as u8).collect()
    }

    fn cell(&mut self) -> Cell {
        match self.roll(12) {
            0 => Cell::ANY,
            1 => Cell { value: 0x60, mask: 0xf0 },
            2 => Cell { value: 0x01, mask: 0x0f },
            _ => Cell::exact(b"abA"[self.roll(3) as usize]),
        }
    }

    fn cells(&mut self, least: u64, most: u64) -> Vec<Cell> {
        (0..least + self.roll(most - least + 1)).map(|_| self.cell()).collect()
    }

    fn pattern(&mut self) -> Wildcard {
        let mut nodes: Vec<Node> = Vec::new();
        if self.roll(8) == 0 {
            nodes.push(Node::Edge([Edge::Word, Edge::Line, Edge::NotAlphanumeric][self.roll(3) as usize]));
        }
        for part in 0..1 + self.roll(4) {
            if part > 0 {
                self.joint(&mut nodes);
            }
            let most = [3, 8, 20][self.roll(3) as usize];
            nodes.extend(self.cells(1, most).into_iter().map(Node::Cell));
        }
        if self.roll(8) == 0 {
            nodes.push(Node::Gap { min: 1, max: Some(1 + self.roll(3) as u32) });
        }
        if self.roll(8) == 0 {
            nodes.push(Node::Edge([Edge::Word, Edge::Line, Edge::NotAlphanumeric][self.roll(3) as usize]));
        }
        let counted_by = [CountedBy::Starts, CountedBy::Ends][self.roll(2) as usize];
        Wildcard { nodes, counted_by }
    }

    fn joint(&mut self, nodes: &mut Vec<Node>) {
        let min = self.roll(4) as u32;
        nodes.push(match self.roll(8) {
            0 => Node::Gap { min, max: None },
            1 => Node::Gap { min, max: Some(min) },
            2 => Node::Gap { min, max: Some(min + self.roll(4) as u32) },
            3 => Node::Near { min, max: min + self.roll(4) as u32 },
            4 => Node::Gap { min, max: Some(min + 129) },
            5 => Node::Choice((0..1 + self.roll(3)).map(|_| self.cells(1, 3)).collect()),
            6 => Node::Choice((0..1 + self.roll(3)).map(|_| self.cells(2, 2)).collect()),
            _ => Node::Not((0..1 + self.roll(3)).map(|_| self.cells(2, 2)).collect()),
        });
    }

    fn content(&mut self, length: u64) -> Vec<u8> {
        let mut content = Vec::new();
        while content.len() < length as usize {
            match self.roll(4) {
                // Repeats make what a sloppy search would report twice, or at the wrong place.
                0 if content.len() > 4 => {
                    let back = 1 + self.roll(content.len() as u64 / 2) as usize;
                    content.extend_from_within(content.len() - back..);
                }
                1 => content.push(b" \n.B"[self.roll(4) as usize]),
                _ => content.push(b"abA"[self.roll(3) as usize]),
            }
        }
        content.truncate(length as usize);
        content
    }
}

#[test]
fn random_patterns_match_like_the_reference() {
    let mut matches = 0;
    for seed in 0..3000 {
        let mut dice = Dice(seed);
        let mut set = PatternSet::new();
        let mut added = Vec::new();
        for _ in 0..1 + dice.roll(6) {
            let pattern = dice.pattern();
            let case = [Case::Sensitive, Case::Insensitive][dice.roll(2) as usize];
            let anchor = match dice.roll(4) {
                0 => Anchor::Within { first: dice.roll(9), last: 9 + dice.roll(30) },
                _ => Anchor::Anywhere,
            };
            if set.add(&pattern, case, anchor).is_ok() {
                added.push((pattern, case, anchor));
            }
        }
        let database = set.compile().unwrap();
        let length = 20 + dice.roll(40);
        let content = dice.content(length);
        let found = at_every_cut(&database, &content);
        for (id, (pattern, case, anchor)) in added.iter().enumerate() {
            let expected = reference::find(pattern, *case, *anchor, &content);
            let mut actual: reference::Found = found
                .iter()
                .filter(|(pattern, _, _)| *pattern == id as u32)
                .map(|&(_, start, end)| {
                    (expected.first().is_none_or(|e| e.0.is_some()).then_some(start), end)
                })
                .collect();
            actual.sort_unstable();
            matches += actual.len();
            let text = String::from_utf8_lossy(&content);
            assert_eq!(actual, expected, "seed {seed}: {pattern:?} {case:?} {anchor:?} in {text:?}");
        }
    }
    assert!(matches > 1000, "the cases are too thin: {matches}");
}

/// Each pattern is told by the scanners that search for it, as it is where nothing is deferred.
#[test]
fn deferred_patterns_are_found_by_who_asks_for_them() {
    let mut deferred = 0;
    for seed in 0..2000 {
        let mut dice = Dice(seed);
        let (mut plain, mut set) = (PatternSet::new(), PatternSet::new());
        let mut patterns = Vec::new();
        while patterns.len() < 6 {
            let pattern = dice.pattern();
            let case = [Case::Sensitive, Case::Insensitive][dice.roll(2) as usize];
            if let Ok(id) = set.add(&pattern, case, Anchor::Anywhere) {
                plain.add(&pattern, case, Anchor::Anywhere).unwrap();
                patterns.push((id, dice.roll(2) == 0));
            }
        }
        patterns.iter().filter(|(_, is_deferred)| *is_deferred).for_each(|(id, _)| set.defer(*id));
        let (plain, database) = (plain.compile().unwrap(), set.compile().unwrap());
        let length = 20 + dice.roll(400);
        let content = dice.content(length);
        let cut = [dice.roll(length) as usize];
        let of = |found: Found, wanted: &dyn Fn(PatternId) -> bool| -> Found {
            found.into_iter().filter(|(pattern, _, _)| wanted(PatternId(*pattern))).collect()
        };
        let all = scan_cut(&plain, &content, &[]);
        let is_deferred = |id: PatternId| patterns.contains(&(id, true));
        let (usual, asked) = (of(all.clone(), &|id| !is_deferred(id)), of(all.clone(), &is_deferred));
        for cuts in [&[][..], &cut] {
            assert_eq!(scan_for(Sought::Usual, &database, &content, cuts), usual, "seed {seed}");
            assert_eq!(scan_for(Sought::Deferred, &database, &content, cuts), asked, "seed {seed}");
            for (id, _) in &patterns {
                let one = of(all.clone(), &|known| known == *id);
                assert_eq!(scan_for(Sought::One(*id), &database, &content, cuts), one, "seed {seed}");
            }
        }
        deferred += asked.len();
    }
    assert!(deferred > 1000, "the cases are too thin: {deferred}");
}

#[test]
fn long_patterns_are_found_wherever_they_stand() {
    let mut dice = Dice(77);
    let literals: Vec<Vec<u8>> =
        (0..300).map(|_| (0..10 + dice.roll(300)).map(|_| dice.roll(256) as u8).collect()).collect();
    let mut set = PatternSet::new();
    for literal in &literals {
        set.add(&Wildcard::literal(literal), Case::Sensitive, Anchor::Anywhere).unwrap();
    }
    let database = set.compile().unwrap();
    let mut content = Vec::new();
    let mut expected: Found = Vec::new();
    for round in 0..900 {
        content.extend((0..dice.roll(40)).map(|_| dice.roll(256) as u8));
        let literal = &literals[round % 300];
        expected.push(((round % 300) as u32, content.len() as u64, (content.len() + literal.len()) as u64));
        content.extend_from_slice(literal);
    }
    assert_eq!(scan_cut(&database, &content, &[]), expected);
    for _ in 0..20 {
        let mut cuts: Vec<usize> = (0..50).map(|_| dice.roll(content.len() as u64) as usize).collect();
        cuts.sort_unstable();
        assert_eq!(scan_cut(&database, &content, &cuts), expected);
    }
}

/// Windows within runs of base64 and of text, across their edges and outside, in runs of every length about a block's.
#[test]
fn patterns_are_found_in_runs_and_at_their_edges() {
    const ENCODED: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n";
    const TEXT: &[u8] = b"abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLM .,;<>&\t\n";
    let mut dice = Dice(78);
    for (alphabet, others) in [(ENCODED, &b"\0 .\x80"[..]), (TEXT, b"\0\x7f\x80\xff")] {
        for case in [Case::Sensitive, Case::Insensitive] {
            for pure in [0, 1, 4] {
                find_in_runs(&mut dice, alphabet, others, case, pure);
            }
        }
    }
}

/// Of eight patterns so many are of the alphabet alone.
fn find_in_runs(dice: &mut Dice, alphabet: &[u8], others: &[u8], case: Case, pure: u64) {
    let run = |dice: &mut Dice, length: u64| -> Vec<u8> {
        (0..length).map(|_| alphabet[dice.roll(alphabet.len() as u64) as usize]).collect()
    };
    let mut patterns: Vec<Vec<u8>> = (0..40)
        .map(|_| {
            let length = 9 + dice.roll(12);
            let mut pattern = run(dice, length);
            if dice.roll(8) >= pure {
                pattern[dice.roll(length) as usize] = others[dice.roll(others.len() as u64) as usize];
            }
            pattern
        })
        .collect();
    patterns.sort();
    patterns.dedup();
    let mut set = PatternSet::new();
    for pattern in &patterns {
        set.add(&Wildcard::literal(pattern), case, Anchor::Anywhere).unwrap();
    }
    let database = set.compile().unwrap();
    let mut content = Vec::new();
    let mut expected: Found = Vec::new();
    for round in 0..4000 {
        let length = dice.roll(200);
        content.extend(run(dice, length));
        let which = dice.roll(patterns.len() as u64) as usize;
        let end = content.len() + patterns[which].len();
        expected.push((which as u32, content.len() as u64, end as u64));
        content.extend_from_slice(&patterns[which]);
        if round % 3 == 0 {
            content.extend((0..dice.roll(100)).map(|_| dice.roll(256) as u8));
        }
    }
    assert_eq!(scan_cut(&database, &content, &[]), expected, "{case:?} {pure}");
    let mut cuts: Vec<usize> = (0..500).map(|_| dice.roll(content.len() as u64) as usize).collect();
    cuts.sort_unstable();
    assert_eq!(scan_cut(&database, &content, &cuts), expected, "{case:?} {pure}, cut");
}

/// Many short literals over few letters: windows, keys and lists that they share.
#[test]
fn short_literals_that_are_much_alike_are_found() {
    for (seed, least) in [(80, 2), (81, 3), (82, 5), (83, 6), (84, 7), (85, 9), (86, 11)] {
        for case in [Case::Sensitive, Case::Insensitive] {
            let mut dice = Dice(seed);
            let mut literals: Vec<Vec<u8>> = (0..300)
                .map(|_| {
                    let length = least + dice.roll(6);
                    (0..length).map(|_| b"abAz"[dice.roll(4) as usize]).collect()
                })
                .collect();
            if case == Case::Insensitive {
                literals.iter_mut().for_each(|literal| literal.make_ascii_lowercase());
            }
            literals.sort();
            literals.dedup();
            let mut set = PatternSet::new();
            for literal in &literals {
                set.add(&Wildcard::literal(literal), case, Anchor::Anywhere).unwrap();
            }
            let database = set.compile().unwrap();
            let mut content = Vec::new();
            while content.len() < 2000 {
                content.extend((0..dice.roll(9)).map(|_| b"abAz"[dice.roll(4) as usize]));
                content.extend_from_slice(&literals[dice.roll(literals.len() as u64) as usize]);
            }
            let text = match case {
                Case::Sensitive => content.clone(),
                Case::Insensitive => content.to_ascii_lowercase(),
            };
            let mut expected: Found = Vec::new();
            for (id, literal) in literals.iter().enumerate() {
                let places = text.windows(literal.len()).enumerate().filter(|(_, bytes)| bytes == literal);
                expected.extend(places.map(|(at, _)| (id as u32, at as u64, (at + literal.len()) as u64)));
            }
            expected.sort_unstable_by_key(|(id, start, end)| (*end, *id, *start));
            let name = format!("{least} {case:?} {}", database.strategies().join(", "));
            assert_eq!(scan_cut(&database, &content, &[]), expected, "{name}");
            for step in [1, 2, 5, 17, 23, 40, 101] {
                let cuts: Vec<usize> = (step..content.len()).step_by(step).collect();
                assert_eq!(scan_cut(&database, &content, &cuts), expected, "{name}, {step}");
            }
        }
    }
}
