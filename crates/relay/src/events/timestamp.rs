//! Times as Suricata writes them: `2026-11-21T02:40:19.123456+0000`. Rule: always UTC.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// A moment in EVE's format.
pub fn of(time: SystemTime) -> String {
    // Before 1970 there was no mail worth logging.
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (year, month, day) = civil(seconds / DAY);
    let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}+0000")
}

/// The day since 1970-01-01 in the Gregorian calendar: years begin in March, so that the leap day is the last
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_moments() {
        for (seconds, micros, expected) in [
            (0, 0, "1970-01-01T00:00:00.000000+0000"),
            (951_782_399, 1, "2000-02-28T23:59:59.000001+0000"),
            (951_782_400, 999_999, "2000-02-29T00:00:00.999999+0000"),
            (1_709_251_200, 0, "2024-03-01T00:00:00.000000+0000"),
            (4_102_444_800, 0, "2100-01-01T00:00:00.000000+0000"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000000+0000"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(micros);
            assert_eq!(of(time), expected);
        }
    }
}
