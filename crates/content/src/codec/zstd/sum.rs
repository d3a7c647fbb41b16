//! XXH64 with seed 0 (xxHash's `xxhash_spec.md`), of whose value a frame has the low half for its check sum (RFC 8878 section
//! 3.1.1). Rule: the same value however the bytes come.

const PRIME: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];
/// What the four lanes take in one step.
const STRIPE: usize = 32;

/// The sum of what has come so far.
#[derive(Clone)]
pub(super) struct Sum {
    lanes: [u64; 4],
    /// Less than a stripe, that waits.
    rest: [u8; STRIPE],
    bytes: u64,
}

impl Sum {
    pub fn new() -> Self {
        let [first, second, ..] = PRIME;
        let lanes = [first.wrapping_add(second), second, 0, first.wrapping_neg()];
        Self { lanes, rest: [0; STRIPE], bytes: 0 }
    }

    pub fn update(&mut self, mut content: &[u8]) {
        let waiting = self.waiting();
        self.bytes = self.bytes.wrapping_add(content.len() as u64);
        if waiting > 0 {
            let taken = content.len().min(STRIPE - waiting);
            let (head, tail) = content.split_at(taken);
            self.rest[waiting..waiting + taken].copy_from_slice(head);
            content = tail;
            if waiting + taken < STRIPE {
                return;
            }
            let stripe = self.rest;
            self.stripe(&stripe);
        }
        let mut stripes = content.chunks_exact(STRIPE);
        stripes.by_ref().for_each(|stripe| self.stripe(stripe));
        let left = stripes.remainder();
        self.rest[..left.len()].copy_from_slice(left);
    }

    /// The low half of the value.
    pub fn value(&self) -> u32 {
        let mut value = PRIME[4];
        if self.bytes >= STRIPE as u64 {
            let [a, b, c, d] = self.lanes;
            let turned = [a.rotate_left(1), b.rotate_left(7), c.rotate_left(12), d.rotate_left(18)];
            value = turned.into_iter().fold(0, u64::wrapping_add);
            for lane in self.lanes {
                value = (value ^ round(0, lane)).wrapping_mul(PRIME[0]).wrapping_add(PRIME[3]);
            }
        }
        value = value.wrapping_add(self.bytes);
        let mut words = self.rest[..self.waiting()].chunks_exact(8);
        for word in words.by_ref() {
            value ^= round(0, word_of(word));
            value = value.rotate_left(27).wrapping_mul(PRIME[0]).wrapping_add(PRIME[3]);
        }
        let mut rest = words.remainder();
        if let Some((half, behind)) = rest.split_at_checked(4) {
            value ^= word_of(half).wrapping_mul(PRIME[0]);
            value = value.rotate_left(23).wrapping_mul(PRIME[1]).wrapping_add(PRIME[2]);
            rest = behind;
        }
        for byte in rest {
            value ^= u64::from(*byte).wrapping_mul(PRIME[4]);
            value = value.rotate_left(11).wrapping_mul(PRIME[0]);
        }
        value = (value ^ value >> 33).wrapping_mul(PRIME[1]);
        value = (value ^ value >> 29).wrapping_mul(PRIME[2]);
        (value ^ value >> 32) as u32
    }

    fn waiting(&self) -> usize {
        (self.bytes % STRIPE as u64) as usize
    }

    fn stripe(&mut self, stripe: &[u8]) {
        for (lane, word) in self.lanes.iter_mut().zip(stripe.chunks_exact(8)) {
            *lane = round(*lane, word_of(word));
        }
    }
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME[1])).rotate_left(31).wrapping_mul(PRIME[0])
}

/// Up to eight bytes, the first the lowest.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::Sum;

    /// What `zstd --check` writes behind such content, and the low half of what xxHash's own tools print.
    const KNOWN: [(&[u8], u32); 4] = [
        (b"", 0x51d8_e999),
        (b"a", 0xa98c_6e5b),
        (b"abc", 0xad77_0999),
        (b"Nobody inspects the spammish repetition", 0x8a37_8bf1),
    ];

    #[test]
    fn known_values_at_every_cut() {
        for (content, expected) in KNOWN {
            for cut in 0..=content.len() {
                let mut sum = Sum::new();
                sum.update(&content[..cut]);
                sum.update(&content[cut..]);
                assert_eq!(sum.value(), expected, "{content:?} at {cut}");
            }
        }
        let content: Vec<u8> = (0..300_u32).map(|n| (n * 7) as u8).collect();
        let mut whole = Sum::new();
        whole.update(&content);
        for piece in 1..100 {
            let mut sum = Sum::new();
            content.chunks(piece).for_each(|piece| sum.update(piece));
            assert_eq!(sum.value(), whole.value(), "in pieces of {piece}");
        }
    }
}
