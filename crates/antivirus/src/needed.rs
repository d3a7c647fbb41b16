//! Texts without which expressions cannot match, looked for in one pass. Rule: what is not there rules an expression out; what
//! is there rules nothing in.
//!
//! Hundreds of signatures ask for a zip within a mail, which is common, and then for the name of a file in it, each by an
//! expression of its own that would read all of the zip.

use crate::database::Logic;
use crate::late::LateKind;
use lockgate_matcher::{Anchor, Case, Database, Interest, PatternSet, Scanner, Wildcard};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Shorter texts stand nearly everywhere.
const BYTES_MIN: usize = 3;

/// The texts of all expressions.
pub(crate) struct Needed {
    texts: Option<Database>,
    /// By the signature's logic and the subsignature: which text.
    numbers: HashMap<(u32, u8), u32>,
}

/// Which texts stand in some bytes, a bit for each.
pub(crate) struct Present(Vec<u64>);

impl Needed {
    /// What the expressions of these need.
    pub fn of(logics: &[Logic]) -> Self {
        let (mut set, mut numbers) = (PatternSet::new(), HashMap::new());
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        for (number, logic) in (0..).zip(logics) {
            for late in &logic.late {
                let LateKind::Perl(search) = &late.kind else { continue };
                let text = search.perl.text_needed();
                if text.len() < BYTES_MIN {
                    continue;
                }
                let of_text = known.get(&text).copied().or_else(|| add(&mut set, &text));
                if let Some(of_text) = of_text {
                    known.insert(text, of_text);
                    numbers.insert((number, late.id), of_text);
                }
            }
        }
        match set.compile() {
            Ok(texts) => Self { texts: Some(texts), numbers },
            Err(_) => Self { texts: None, numbers: HashMap::new() },
        }
    }

    /// Which of the texts stand in these bytes.
    pub fn look(&self, bytes: &[u8]) -> Present {
        let mut present = Present(Vec::new());
        let mut found = |found: lockgate_matcher::Match| {
            let (word, bit) = (found.pattern.0 as usize / 64, found.pattern.0 % 64);
            if present.0.len() <= word {
                present.0.resize(word + 1, 0);
            }
            present.0[word] |= 1 << bit;
            Interest::NoMore
        };
        if let Some(texts) = &self.texts {
            let mut scanner = Scanner::default();
            scanner.scan(texts, bytes, &mut found);
            scanner.finish(texts, &mut found);
        }
        present
    }

    /// Whether that expression cannot match where these texts are.
    pub fn rules_out(&self, logic: u32, id: u8, present: &Present) -> bool {
        let Some(number) = self.numbers.get(&(logic, id)) else { return false };
        let word = present.0.get(*number as usize / 64).copied().unwrap_or_default();
        word >> (number % 64) & 1 == 0
    }
}

fn add(set: &mut PatternSet, text: &[u8]) -> Option<u32> {
    let mut hex = String::new();
    text.iter().try_for_each(|byte| write!(hex, "{byte:02x}")).ok()?;
    let wildcard = Wildcard::parse(&hex).ok()?;
    set.add(&wildcard, Case::Insensitive, Anchor::Anywhere).ok().map(|pattern| pattern.0)
}
