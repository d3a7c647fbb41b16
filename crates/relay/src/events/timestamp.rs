//! Moments of the clock as EVE and mail write them. Rule: always UTC, and what is before 1970 counts as that.

use lockgate_eve::timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// A moment in EVE's format.
pub fn of(time: SystemTime) -> String {
    // Before 1970 there was no mail worth logging.
    timestamp::of(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// A moment as RFC 5322 section 3.3 writes it: `Sat, 21 Nov 2026 02:40:19 +0000`.
pub fn of_mail(time: SystemTime) -> String {
    timestamp::of_mail(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}
