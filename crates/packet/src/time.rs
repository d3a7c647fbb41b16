//! When a packet was captured: [`Time`]. Rule: it comes with the packet; nothing here asks a clock.

use std::time::Duration;

/// Microseconds since 1970, UTC, as a capture has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Microseconds since 1970.
    pub micros: u64,
}

impl Time {
    /// So many microseconds since 1970.
    pub fn from_micros(micros: u64) -> Self {
        Self { micros }
    }

    /// So many seconds since 1970.
    pub fn from_seconds(seconds: u64) -> Self {
        Self { micros: seconds.saturating_mul(1_000_000) }
    }

    /// How long after `earlier`; nothing where it is before it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.micros.saturating_sub(earlier.micros))
    }
}
