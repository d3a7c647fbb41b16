//! Which letters of a phrase it is looked for by: [`cores`]. Rule: an estimate that decides how fast a search is, never what it
//! finds.
//!
//! Each phrase needs a core: four letters of one of its words. All of them together are to be met in prose as seldom as can
//! be, and one core serves any number of phrases. To choose the best set is hard (weighted set cover); what is taken here again
//! and again is the core that costs least for each phrase that has none yet (Chvátal 1979).

use super::prose::Prose;
use super::windows::CORE_BYTES;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

pub(super) type Core = [u8; CORE_BYTES];

/// A core of each text that has one.
pub(super) fn cores(texts: &[&[u8]], prose: &Prose) -> Vec<Option<Core>> {
    let mut having: HashMap<Core, Vec<usize>> = HashMap::new();
    for (number, text) in texts.iter().enumerate() {
        for core in cores_of(text) {
            let having = having.entry(core).or_default();
            if having.last() != Some(&number) {
                having.push(number);
            }
        }
    }
    // Costs are compared as bits, which for numbers that are not negative comes to the same.
    let cost = |core: &Core, count: usize| (prose.rate(core) / count as f64).to_bits();
    let mut cheapest: BinaryHeap<_> =
        having.iter().map(|(core, having)| Reverse((cost(core, having.len()), *core))).collect();
    let mut chosen = vec![None; texts.len()];
    while let Some(Reverse((known, core))) = cheapest.pop() {
        let Some(having) = having.get(&core) else { continue };
        let left = having.iter().filter(|number| chosen.get(**number) == Some(&None)).count();
        if left == 0 {
            continue;
        }
        // Others may have served some of its texts since.
        let now = cost(&core, left);
        if now > known {
            cheapest.push(Reverse((now, core)));
            continue;
        }
        for number in having {
            if let Some(chosen) = chosen.get_mut(*number) {
                chosen.get_or_insert(core);
            }
        }
    }
    chosen
}

/// Four bytes in a row without a space.
fn cores_of(text: &[u8]) -> impl Iterator<Item = Core> {
    text.windows(CORE_BYTES)
        .filter_map(|four| four.first_chunk().copied())
        .filter(|four| !four.contains(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_a_core_that_is_rare_or_shared() {
        let texts: [&[u8]; 6] = [b"with zany", b" zanyness ", b"the with", b"cum on", b"", b"zany with them"];
        let prose = Prose::new(texts.iter().copied());
        let chosen = cores(&texts, &prose);
        assert_eq!(chosen[0], Some(*b"zany"));
        assert_eq!(chosen[1], Some(*b"zany"));
        assert_eq!(chosen[2], Some(*b"with"), "it has no other");
        assert_eq!(chosen[3..5], [None, None]);
        assert!(chosen[5].is_some());
    }
}
