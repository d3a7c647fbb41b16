//! The model against what was packed by it. Rule: what is damaged ends.

use super::*;
use crate::codec::ppmd::CarrylessCoder;

pub(crate) use crate::codec::ppmd::i::tests::sung;

/// What 7-Zip packed of it, by a model of order 6 in a megabyte.
pub(crate) const PROPERTIES: [u8; 5] = [6, 0, 0, 0x10, 0];
pub(crate) const PACKED: &[u8] = b"\x00\x32\xfc\x37\x17\x52\x71\xb7\xa7\xdd\x03\x23\x33\xa0\x1f\x99\xab\xdf\x1b\xc4\xf2\xb3\x01\xef\xd3\x32\x64\x6e\x5e\x89\x5a\x68\x20\x69\xe2\
      \x78\xcd\xc3\x07\x84\xfc\xa8\x7a\xb1\xab\xae\xb7\xef\x76\x87\x9f\xf0\xd8\x5b\xb3\x82\x79\xa0\x73\xe8\x32\x5b\xc0\x43\xc4\xe5\xe9\x62\xc1\x98";

/// Bytes from a slice, then zeros.
struct Slice<'a>(&'a [u8]);

impl Bytes for Slice<'_> {
    fn next(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }
}

#[test]
fn noise_is_read_to_some_end() {
    for seed in 0..40 {
        let noise = crate::samples::noise(seed, 20_000);
        let pool = Pool::new(4 << 20);
        let mut bytes = Slice(&noise);
        let mut coder = CarrylessCoder::new(&mut bytes);
        let mut model = Model::new(&pool, 2 + seed as u32, 40_000 + 20_000 * seed as u32).unwrap();
        for _ in 0..30_000 {
            if model.next(&mut coder, &mut bytes).is_err() {
                break;
            }
        }
        drop(model);
        assert_eq!(pool.bytes_taken(), 0);
    }
}

#[test]
fn a_model_makes_sense_or_is_refused() {
    let pool = Pool::new(1 << 20);
    for (order, memory) in [(1, 1 << 20), (65, 1 << 20), (6, 100)] {
        assert!(Model::new(&pool, order, memory).is_err());
    }
    assert!(Model::new(&Pool::new(1000), 6, 1 << 20).is_err(), "it is drawn from the pool");
}
