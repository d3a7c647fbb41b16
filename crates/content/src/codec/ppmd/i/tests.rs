//! The model against what 7-Zip packed by it. Rule: what is damaged ends, and what is forgotten is forgotten alike at every cut.

use super::*;
use crate::codec::Outcome;
use crate::decoder::More;

/// What the samples are of.
pub(crate) fn sung() -> Vec<u8> {
    let line = |n| format!("{n} bottles of beer on the wall, {n} bottles of beer. ");
    (21..=30).rev().map(line).collect::<String>().into_bytes()
}

/// Of orders 8, 16 and 2, the second one cutting off.
pub(crate) const PACKED: [&[u8]; 3] = [
    b"\x07\x00\x32\xfc\x37\x04\x18\xf0\x20\x6e\x83\x53\xd3\x58\xb8\xe5\x9f\x11\x48\x86\xa0\x72\x37\x1f\xa3\x5a\x1d\x45\
      \x4f\x53\x0f\x70\x88\x9a\xdb\x16\x32\xee\xfe\xba\x4d\x76\x3a\x20\x49\x0b\xbf\x8b\x9f\xd3\x5b\xab\x9e\xfc\xbf\x6d\
      \x31\x11\x75\x20\xe3\xe7\xea\x60\x6c\x21\xba\xa2\xe8\xea\x0d\x00",
    b"\x0f\x10\x32\xfc\x37\x04\x18\xf0\x20\x6e\x83\x53\xd3\x58\xb8\xe5\x9f\x11\x48\x86\xa0\x72\x37\x1f\xa3\x5a\x1d\x45\
      \x4f\x53\x0f\x70\x9c\xc3\x9a\xda\x11\x09\x2a\x3d\xe4\x3f\x9b\x65\x6b\xc2\xa7\x59\xea\xcf\xcb\xda\xe6\x65\xb2\xe7\
      \x07\x88\xd0\x51\xbb\x7e\x5a\x77\x2d\x9d\x9b\x20\xca\x47\xeb\x00",
    b"\x01\x00\x32\xfc\x37\x04\x18\xf0\x20\x6e\x83\x53\xd3\x58\xb8\xe5\x9f\x11\x48\x86\xa0\x72\x37\x1f\xa3\x5a\x1d\x45\
      \x4f\x53\x0f\x2c\x0f\x51\xcf\x2b\xae\xcf\xc2\xb2\x19\x7d\x8b\x25\x91\x09\xf4\xfc\x74\x12\xde\xf7\x4d\xc5\x4f\x75\
      \xce\x82\x3e\xa6\xce\x37\x14\x5c\x6c\xe9\xa8\xfd\x9d\x42\xea\x72\x36\xf0\xb3\xdf\x06\xe2\x28\x82\x92\x4c\x12\x72\
      \x2c\x96\x99\x9f\x2b\x00",
];

fn unpack(pool: &Arc<Pool>, packed: &[u8], size: usize, piece: usize) -> (Vec<u8>, Outcome) {
    let mut unlz = in_zip(pool, size as u64).unwrap();
    let (mut made, mut at, mut output) = (Vec::new(), 0, vec![0; 5000]);
    loop {
        let end = (at + piece).min(packed.len());
        let more = if end == packed.len() { More::Ended } else { More::Follows };
        let run = unlz.run(&packed[at..end], more, &mut output);
        at += run.used;
        made.extend_from_slice(&output[..run.made]);
        if run.outcome != Outcome::Going {
            return (made, run.outcome);
        }
    }
}

#[test]
fn what_was_packed_is_read_at_every_cut() {
    let pool = Pool::new(4 << 20);
    for packed in PACKED {
        for piece in 1..=packed.len() {
            let (made, outcome) = unpack(&pool, packed, sung().len(), piece);
            assert!(made == sung() && outcome == Outcome::Ended, "{piece}: {outcome:?}");
        }
        // The end is told by the stream, too.
        let (made, outcome) = unpack(&pool, packed, 100, 7);
        assert_eq!((&made[..], outcome), (&sung()[..100], Outcome::Failed(Reason::Damaged)));
        let (made, outcome) = unpack(&pool, packed, 1000, 7);
        assert_eq!((&made[..], outcome), (&sung()[..], Outcome::Ended));
        for length in 0..packed.len() {
            let (made, outcome) = unpack(&pool, &packed[..length], sung().len(), 7);
            // What the last bytes are does not matter.
            assert!(sung().starts_with(&made) || length < 6, "{length}");
            assert!(outcome != Outcome::Ended || made.len() == sung().len(), "{length}");
        }
    }
    assert_eq!(pool.bytes_taken(), 0);
}

/// Chooses symbols by chance, and seldom none.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % bound.max(1)
    }
}

impl Bytes for () {
    fn next(&mut self) -> u8 {
        0
    }
}

impl Coder for Chance {
    fn count(&mut self, scale: u32) -> u32 {
        // The shortest context's escape ends the stream.
        let bound = if scale > 200 { scale - 1 - scale / 16 } else { scale };
        self.below(bound)
    }

    fn decode(&mut self, _: u32, _: u32, _: &mut impl Bytes) {}

    fn is_first(&mut self, size: u32, _: &mut impl Bytes) -> bool {
        self.below(1 << BINARY_SCALE_BITS) < size
    }
}

#[test]
fn what_is_forgotten_makes_room() {
    for order in [2, 5, 16] {
        let pool = Pool::new(4 << 20);
        let mut model = Model::new(&pool, order, 1 << 20, Restoration::CutOff).unwrap();
        let (mut chance, mut pieces, mut times) = (Chance(order.into()), 0, 0);
        for _ in 0..400_000 {
            if model.next(&mut chance, &mut ()).unwrap().is_none() {
                break;
            }
            times += u32::from(model.is_forgetting());
            while model.is_forgetting() {
                model.forget().unwrap();
                pieces += 1;
            }
            let (size, used) = model.counting.arena.size_and_used();
            assert!(used <= size, "{used}");
        }
        assert!(times > 2 && pieces > 5 * times || order == 2, "{order}: {times} times in {pieces} pieces");
        assert!(pool.bytes_taken() > 1 << 19 || order == 2);
        drop(model);
        assert_eq!(pool.bytes_taken(), 0);
    }
}

#[test]
fn noise_is_read_to_some_end() {
    for seed in 0..40_u64 {
        let mut noise = crate::samples::noise(seed, 5_000);
        noise[..2].copy_from_slice(&[1 + seed as u8 % 15, 0x10 * (seed as u8 % 2)]);
        let pool = Pool::new(4 << 20);
        let (whole, outcome) = unpack(&pool, &noise, 1 << 30, noise.len());
        let (cut, in_pieces) = unpack(&pool, &noise, 1 << 30, 100);
        assert!(whole == cut && outcome == in_pieces && outcome != Outcome::Going);
        assert_eq!(pool.bytes_taken(), 0);
    }
}

#[test]
fn a_model_makes_sense_or_is_refused() {
    let pool = Pool::new(1 << 20);
    for (properties, reason) in [
        ([0x00, 0x00], Reason::Damaged),
        ([0x07, 0x20], Reason::Unsupported),
        ([0x07, 0x30], Reason::Damaged),
    ] {
        let (made, outcome) = unpack(&pool, &[&properties[..], &[0; 20]].concat(), 10, 1);
        assert_eq!((made.len(), outcome), (0, Outcome::Failed(reason)));
    }
    assert!(
        Model::new(&Pool::new(1000), 6, 1 << 20, Restoration::Restart).is_err(),
        "it is drawn from the pool"
    );
}
