//! The model against what was packed by it. Rule: what is damaged ends.

use super::*;
use crate::codec::ppmd::CarrylessCoder;

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
