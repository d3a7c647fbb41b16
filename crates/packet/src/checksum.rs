//! What is said of a checksum: [`Checksum`]. Rule: it is computed when somebody asks, not before.

use crate::bytes::Sum;

/// Whether a checksum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// It is.
    Valid,
    /// It is not: the receiver throws the packet away.
    Invalid,
    /// The sender computed none (UDP over IPv4), or there is nothing that has one.
    Absent,
}

impl Checksum {
    pub(crate) fn of_sum(sum: Sum) -> Self {
        if sum.checksum() == 0 { Self::Valid } else { Self::Invalid }
    }
}
