//! Which bytes of phrases they are looked for by: [`chosen`]. Rule: an estimate that decides how fast a search is, never what it
//! finds.
//!
//! Each phrase needs one of several windows, of which all together are to be met in prose as seldom as can be; and one window
//! serves any number of phrases. To choose the best set is hard (weighted set cover); what is taken here again and again is the
//! window that costs least for each phrase that has none yet (Chvátal 1979).

use super::classes::BYTES as CLASSED;
use super::prose::Prose;
use super::windows::CORE_BYTES;
use memchr::memmem;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

/// How often something else is taken for one that was chosen, per word: the more there are the fuller is the table that they are
/// looked up in first.
const BY_CHANCE: f64 = 1e-5;

/// How often a core is met, per word, that is rather not looked for.
const COMMON: f64 = 3e-4;
/// How often that may be met, per word, which more phrases are compared at.
const COMPARED: f64 = 2e-4;

/// Four bytes without a space.
pub(super) fn cores(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.windows(CORE_BYTES).filter(|four| !four.contains(&b' '))
}

/// So many bytes, of which the first two are no spaces.
pub(super) fn beginnings(text: &[u8], bytes: usize) -> impl Iterator<Item = &[u8]> {
    text.windows(bytes).filter(|window| !window.iter().take(2).any(|byte| *byte == b' '))
}

/// One of the windows of each phrase, if it has any.
pub(super) fn chosen<'a>(windows: &[Vec<&'a [u8]>], prose: &Prose) -> Vec<Option<&'a [u8]>> {
    let mut having: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (number, windows) in windows.iter().enumerate() {
        for window in windows {
            let having = having.entry(window).or_default();
            if having.last() != Some(&number) {
                having.push(number);
            }
        }
    }
    // Costs are compared as bits, which for numbers that are not negative comes to the same.
    let cost = |window: &[u8], count: usize| ((prose.rate(window) + BY_CHANCE) / count as f64).to_bits();
    let mut cheapest: BinaryHeap<_> =
        having.iter().map(|(window, having)| Reverse((cost(window, having.len()), *window))).collect();
    let mut chosen = vec![None; windows.len()];
    while let Some(Reverse((known, window))) = cheapest.pop() {
        let Some(having) = having.get(window) else { continue };
        let left = having.iter().filter(|number| chosen.get(**number) == Some(&None)).count();
        if left == 0 {
            continue;
        }
        // Others may have served some of its phrases since.
        let now = cost(window, left);
        if now > known {
            cheapest.push(Reverse((now, window)));
            continue;
        }
        for number in having {
            if let Some(chosen) = chosen.get_mut(*number) {
                chosen.get_or_insert(window);
            }
        }
    }
    chosen
}

/// Looks for phrases whose core is common by three bytes that others are looked for by: at places that are looked at anyway.
///
/// Common cores are mostly those of few phrases, in which the other words are shorter.
pub(super) fn spare<'a>(chosen: &mut [Option<&'a [u8]>], texts: &[&'a [u8]], prose: &Prose) {
    let sought = sought(chosen, texts, prose);
    let rarest = |text: &'a [u8]| {
        let others = beginnings(text, CLASSED).filter(|window| sought.contains(window));
        others.min_by(|one, other| prose.rate_in_common(one).total_cmp(&prose.rate_in_common(other)))
    };
    let mut having: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (chosen, number) in chosen.iter().zip(0..) {
        if let Some(core) = chosen.filter(|core| core.len() == CORE_BYTES && prose.rate(core) > COMMON) {
            having.entry(core).or_default().push(number);
        }
    }
    for phrases in having.into_values() {
        let others: Option<Vec<&[u8]>> = phrases.iter().map(|number| rarest(texts[*number])).collect();
        // A core that one of its phrases needs is looked for, whatever the others do.
        for (number, other) in phrases.into_iter().zip(others.unwrap_or_default()) {
            chosen[number] = Some(other);
        }
    }
}

/// Three bytes that are looked for wherever they stand, and met seldom enough.
fn sought<'a>(chosen: &[Option<&'a [u8]>], texts: &[&'a [u8]], prose: &Prose) -> HashSet<&'a [u8]> {
    let threes = chosen.iter().zip(texts).filter_map(|(chosen, text)| {
        let three = chosen.filter(|window| window.len() == CLASSED)?;
        let at = memmem::find(text, three)?;
        (text[..at].last() != Some(&b' ')).then_some(three)
    });
    threes.filter(|three| prose.rate_in_common(three) < COMPARED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_cores_give_way_to_what_is_looked_for_anyway() {
        let texts: [&[u8]; 5] = [b"zyx", b"with zyx", b"from", b"zyx from", b"with"];
        let prose = Prose::new(texts.iter().copied());
        let mut chosen = [&b"zyx"[..], b"with", b"from", b"from", b"with"].map(Some);
        let before = chosen;
        spare(&mut chosen, &texts, &prose);
        assert_eq!(chosen, before, "some need the same cores");
        spare(&mut chosen[..2], &texts[..2], &prose);
        assert_eq!(chosen[..2], [Some(&b"zyx"[..]), Some(b"zyx")]);
        let mut beginning = [&b"zyx"[..], b"with"].map(Some);
        spare(&mut beginning, &[b" zyx", b"with zyx"], &prose);
        assert_eq!(beginning[1], Some(&b"with"[..]), "elsewhere it is not looked for");
    }

    #[test]
    fn each_text_has_a_core_that_is_rare_or_shared() {
        let texts: [&[u8]; 6] = [b"with zany", b" zanyness ", b"the with", b"cum on", b"", b"zany with them"];
        let prose = Prose::new(texts.iter().copied());
        let chosen = chosen(&texts.map(|text| cores(text).collect()), &prose);
        assert_eq!(chosen[0], Some(&b"zany"[..]));
        assert_eq!(chosen[1], Some(&b"zany"[..]));
        assert_eq!(chosen[2], Some(&b"with"[..]), "it has no other");
        assert_eq!(chosen[3..5], [None, None]);
        assert!(chosen[5].is_some());
        let threes: Vec<_> = beginnings(b"ab c de", 3).collect();
        assert_eq!(threes, [b"ab "]);
    }
}
