//! Which patterns are searched for in every file, and which only where a signature asks for them. Rule: a signature that holds
//! has everything searched for found first, so nothing is missed.
//!
//! Most signatures ask for all of several patterns, and files have hardly ever even the rarest of them. So that one is searched
//! for, and the others once it has been found: see [`crate::asking`].

use crate::database::Use;
use lockgate_matcher::{PatternId, Rarity};
use std::cmp::Ordering;

/// A pattern that a signature asks for once all that is searched for of it has matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub signature: u32,
    pub pattern: PatternId,
    pub subsignature: u8,
}

/// What is so common that nothing follows from it, in bits.
const COMMON: f32 = 40.0;

/// What need not be searched for, in the order in which it is to be asked for. `uses` are in the order of the signatures.
/// `may_hold` says whether a signature may hold once just these subsignatures have matched; nothing where all of it is to be
/// searched for.
pub(crate) fn choose(
    uses: &[(PatternId, Use)],
    rarities: &[Rarity],
    may_hold: &dyn Fn(u32, u64) -> Option<bool>,
) -> Vec<Ask> {
    let mut searched = Searched(vec![false; rarities.len()]);
    let mut askers = Vec::new();
    for of_one in uses.chunk_by(|(_, one), (_, other)| one.signature == other.signature) {
        let signature = of_one.first().map_or(0, |(_, usage)| usage.signature);
        let mut subsignatures = Subsignature::all(of_one, rarities);
        for one in &mut subsignatures {
            one.is_needed = may_hold(signature, !(1 << one.id)) == Some(false);
        }
        subsignatures.sort_by(|one, other| one.bits.total_cmp(&other.bits).then(other.id.cmp(&one.id)));
        // As many as there may be without which it could not hold, of the commonest.
        let (mut asked, mut common) = (0, 0);
        for one in &subsignatures {
            let bit = 1_u64 << one.id;
            if one.may_be_deferred && may_hold(signature, asked | common | bit) == Some(false) {
                asked |= bit;
            } else {
                searched.add(one);
                common |= if one.bits < COMMON { bit } else { 0 };
            }
        }
        subsignatures.retain(|one| asked >> one.id & 1 == 1);
        subsignatures.sort_by(Subsignature::order);
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
    bits: f32,
    may_be_deferred: bool,
    /// The signature does not hold without it.
    is_needed: bool,
}

impl<'a> Subsignature<'a> {
    fn all(uses: &'a [(PatternId, Use)], rarities: &[Rarity]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for found in uses {
            let (pattern, usage) = found;
            let Some(Rarity { bits, may_be_deferred }) = rarities.get(pattern.0 as usize).copied() else {
                continue;
            };
            match all.iter_mut().find(|one| one.id == usage.subsignature) {
                Some(one) => {
                    one.uses.push(found);
                    one.bits = one.bits.min(bits);
                    one.may_be_deferred &= may_be_deferred;
                }
                None => {
                    let (id, uses) = (usage.subsignature, vec![found]);
                    all.push(Self { id, uses, bits, may_be_deferred, is_needed: false });
                }
            }
        }
        all
    }

    /// Those that the signature needs first: without one of them nothing else need be asked for. Then the rarest.
    fn order(&self, other: &Self) -> Ordering {
        let rarest = other.bits.total_cmp(&self.bits);
        other.is_needed.cmp(&self.is_needed).then(rarest).then(self.id.cmp(&other.id))
    }

    fn patterns(&self) -> impl Iterator<Item = PatternId> {
        self.uses.iter().map(|(pattern, _)| *pattern)
    }
}

lockgate_stored::stored!(struct Ask { signature, pattern, subsignature });
