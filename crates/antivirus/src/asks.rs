//! Which patterns are searched for in every file, and which only where a signature asks for them. Rule: a signature that holds
//! has everything searched for found first, so nothing is missed.
//!
//! Most signatures ask for all of several patterns, and files have hardly ever even the rarest of them. So that one is searched
//! for, and the others once it has been found: see [`crate::asking`].

use crate::database::Use;
use lockgate_matcher::PatternId;

/// A pattern that a signature asks for once all that is searched for of it has matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub signature: u32,
    pub pattern: PatternId,
    pub subsignature: u8,
}

/// What need not be searched for, the rarest of each signature first. `uses` are in the order of the signatures, `rarities` those
/// of the patterns that may be asked for. `may_hold` says whether a signature may hold once just these subsignatures have
/// matched; nothing where all of it is to be searched for.
pub(crate) fn choose(
    uses: &[(PatternId, Use)],
    rarities: &[Option<f32>],
    may_hold: &dyn Fn(u32, u64) -> Option<bool>,
) -> Vec<Ask> {
    let rarity = |pattern: PatternId| rarities.get(pattern.0 as usize).copied().flatten();
    let mut searched = Searched(vec![false; rarities.len()]);
    let mut askers = Vec::new();
    for of_one in uses.chunk_by(|(_, one), (_, other)| one.signature == other.signature) {
        let signature = of_one.first().map_or(0, |(_, usage)| usage.signature);
        let mut subsignatures = Subsignature::all(of_one, &rarity);
        subsignatures.sort_by(|one, other| other.rarity.total_cmp(&one.rarity).then(one.id.cmp(&other.id)));
        // As many as there may be without which it could not hold, of the commonest.
        let mut asked = 0;
        for one in subsignatures.iter().rev() {
            let with = asked | 1_u64 << one.id;
            if one.rarity > 0.0 && may_hold(signature, with) == Some(false) {
                asked = with;
            } else {
                searched.add(one);
            }
        }
        subsignatures.retain(|one| asked >> one.id & 1 == 1);
        askers.push((signature, subsignatures));
    }
    // A subsignature is searched for with all its patterns, or with none.
    let mut count = 0;
    while count != searched.count() {
        count = searched.count();
        for one in askers.iter().flat_map(|(_, subsignatures)| subsignatures) {
            if one.patterns().any(|pattern| searched.has(pattern)) {
                searched.add(one);
            }
        }
    }
    let mut asks = Vec::new();
    for (signature, subsignatures) in &askers {
        for one in subsignatures {
            let left = one.patterns().filter(|pattern| !searched.has(*pattern));
            asks.extend(left.map(|pattern| Ask { signature: *signature, pattern, subsignature: one.id }));
        }
    }
    asks
}

/// The patterns that are searched for in every file.
struct Searched(Vec<bool>);

impl Searched {
    fn add(&mut self, subsignature: &Subsignature<'_>) {
        for pattern in subsignature.patterns() {
            if let Some(searched) = self.0.get_mut(pattern.0 as usize) {
                *searched = true;
            }
        }
    }

    fn has(&self, pattern: PatternId) -> bool {
        self.0.get(pattern.0 as usize).copied().unwrap_or(true)
    }

    fn count(&self) -> usize {
        self.0.iter().filter(|searched| **searched).count()
    }
}

/// A subsignature of a signature, with all its patterns.
struct Subsignature<'a> {
    id: u8,
    uses: Vec<&'a (PatternId, Use)>,
    /// In bits; 0 where it is not to be asked for.
    rarity: f32,
}

impl<'a> Subsignature<'a> {
    fn all(uses: &'a [(PatternId, Use)], rarity: &dyn Fn(PatternId) -> Option<f32>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for found in uses {
            let (pattern, usage) = found;
            let here = rarity(*pattern).unwrap_or(0.0);
            match all.iter_mut().find(|one| one.id == usage.subsignature) {
                Some(one) => {
                    one.uses.push(found);
                    one.rarity = one.rarity.min(here);
                }
                None => all.push(Self { id: usage.subsignature, uses: vec![found], rarity: here }),
            }
        }
        all
    }

    fn patterns(&self) -> impl Iterator<Item = PatternId> {
        self.uses.iter().map(|(pattern, _)| *pattern)
    }
}

lockgate_stored::stored!(struct Ask { signature, pattern, subsignature });
