//! Sequence numbers, which go round: [`Sequence`]. Rule: of two, the later is the one that is less than half way ahead (RFC 9293 section 3.4).

/// A sequence number of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sequence(pub(crate) u32);

impl Sequence {
    /// So many further on.
    pub(crate) fn plus(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// How far this is ahead of another, negative where it is behind.
    pub(crate) fn minus(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Whether it is before another.
    pub(crate) fn is_before(self, other: Self) -> bool {
        self.minus(other) < 0
    }

    /// Whether it is behind another.
    pub(crate) fn is_after(self, other: Self) -> bool {
        self.minus(other) > 0
    }

    /// The later of two.
    pub(crate) fn latest(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_round() {
        let (last, first) = (Sequence(u32::MAX), Sequence(0));
        assert_eq!(last.plus(1), first);
        assert!(last.is_before(first) && first.is_after(last));
        assert_eq!((first.minus(last), last.minus(first)), (1, -1));
        assert_eq!((last.latest(first), first.latest(last)), (first, first));
    }
}
