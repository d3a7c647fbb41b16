//! Two bytes at a fixed distance, at every place. Rule: exact, and in order.

use super::{Hits, LOOKS_MAX, PLACES, Speed};

/// A byte that is known, or nearly.
#[derive(Clone, Copy, Debug)]
pub struct Landmark {
    /// How far behind the place it stands.
    pub at: usize,
    pub mask: u8,
    pub value: u8,
}

/// The places where both stand.
pub struct Landmarks {
    both: [Landmark; 2],
    speed: Speed,
}

impl Landmarks {
    pub fn new(both: [Landmark; 2]) -> Self {
        Self { both, speed: Speed::detect() }
    }

    /// Looks at so many places of some bytes from `first` on, at most [`LOOKS_MAX`]. Returns at how many both stand; a place that has not
    /// both of its bytes there is not looked at.
    pub fn look(&self, bytes: &[u8], first: usize, looks: usize, hits: &mut Hits) -> usize {
        let farthest = self.both[0].at.max(self.both[1].at);
        let last = bytes.len().saturating_sub(farthest);
        let looks = looks.min(last.saturating_sub(first)).min(LOOKS_MAX);
        let (mut done, mut count) = match self.speed {
            Speed::Portable => (0, 0),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `detect` found the instructions that the function is compiled for.
            Speed::Avx512 => unsafe { avx512::look(self.both, bytes, first, looks, hits) },
        };
        while done < looks {
            let place = first + done;
            let step = PLACES.min(looks - done);
            // Where a block has none, which is told quickly, none is written.
            if step < PLACES || self.stands_in(bytes, place) {
                for place in place..place + step {
                    hits.places[count] = place as u32;
                    count += usize::from(self.stands_at(bytes, place));
                }
            }
            done += step;
        }
        count
    }

    fn stands_at(&self, bytes: &[u8], place: usize) -> bool {
        self.both.iter().all(|landmark| {
            bytes.get(place + landmark.at).is_some_and(|byte| byte & landmark.mask == landmark.value)
        })
    }

    /// Whether they stand at some place of a block that is there. Nothing in the loop branches, so that the compiler makes vector
    /// instructions of it.
    fn stands_in(&self, bytes: &[u8], place: usize) -> bool {
        let block = |landmark: Landmark| bytes.get(place + landmark.at..)?.first_chunk::<PLACES>();
        let [one, other] = self.both;
        let (Some(ones), Some(others)) = (block(one), block(other)) else { return true };
        let stands = |landmark: Landmark, byte: u8| u8::from(byte & landmark.mask == landmark.value);
        ones.iter()
            .zip(others)
            .fold(0, |any, (first, second)| any | stands(one, *first) & stands(other, *second))
            != 0
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    //! 64 places at once.

    use super::super::{Hits, PLACES};
    use super::Landmark;
    use std::arch::x86_64::*;

    /// Looks at as many of the places as whole vectors cover, and returns how many, and at how many both stand.
    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    pub fn look(
        [one, other]: [Landmark; 2],
        bytes: &[u8],
        first: usize,
        looks: usize,
        hits: &mut Hits,
    ) -> (usize, usize) {
        let known = |landmark: Landmark| [landmark.mask, landmark.value].map(|byte| byte as i8);
        let ([one_mask, one_value], [other_mask, other_value]) = (known(one), known(other));
        let one_known = (_mm512_set1_epi8(one_mask), _mm512_set1_epi8(one_value));
        let other_known = (_mm512_set1_epi8(other_mask), _mm512_set1_epi8(other_value));
        let (mut done, mut count) = (0, 0);
        while done + PLACES <= looks {
            let place = first + done;
            let ones = bytes.get(place + one.at..).and_then(|bytes| bytes.first_chunk::<PLACES>());
            let others = bytes.get(place + other.at..).and_then(|bytes| bytes.first_chunk::<PLACES>());
            let (Some(ones), Some(others)) = (ones, others) else { break };
            let mut mask = stand(ones, one_known) & stand(others, other_known);
            while mask != 0 {
                hits.places[count] = (place + mask.trailing_zeros() as usize) as u32;
                count += 1;
                mask &= mask - 1;
            }
            done += PLACES;
        }
        (done, count)
    }

    /// Where a byte stands of which these bits are known.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn stand(bytes: &[u8; PLACES], (mask, value): (__m512i, __m512i)) -> u64 {
        // SAFETY: there are the 64 bytes that are read.
        let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        _mm512_cmpeq_epi8_mask(_mm512_and_si512(bytes, mask), value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random::Dice;

    #[test]
    fn all_instructions_find_the_same_places() {
        let bytes = Dice(1).bytes(700, 8);
        let landmark = |at, mask, value| Landmark { at, mask, value };
        for both in
            [[landmark(0, 0xff, 3), landmark(1, 0xff, 5)], [landmark(7, 0xfb, 3), landmark(2, 0xff, 0)]]
        {
            let stands = |place: usize| {
                both.iter().all(|known| {
                    bytes.get(place + known.at).is_some_and(|byte| byte & known.mask == known.value)
                })
            };
            for (first, looks) in
                [(0, 512), (3, 64), (200, 1000), (640, 64), (690, 64), (699, 1), (800, 3), (5, 0)]
            {
                let end = first + looks.min(LOOKS_MAX);
                let expected: Vec<u32> =
                    (first..end).filter(|place| stands(*place)).map(|place| place as u32).collect();
                for speed in [Speed::Portable, Speed::detect()] {
                    let mut hits = Hits::new();
                    let count = Landmarks { both, speed }.look(&bytes, first, looks, &mut hits);
                    assert_eq!(hits.first(count), expected, "{both:?} from {first}, {looks}, {speed:?}");
                }
            }
        }
    }
}
