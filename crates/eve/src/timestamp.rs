//! Times as Suricata writes them: `2026-11-21T02:40:19.123456+0000`, and as mail does. Rule: always UTC.

use std::time::Duration;

const DAY: u64 = 86_400;

/// A moment in EVE's format, given as the time since 1970.
pub fn of(since: Duration) -> String {
    let seconds = since.as_secs();
    let (year, month, day) = civil(seconds / DAY);
    let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
    let mut text = *b"0000-00-00T00:00:00.000000+0000";
    // Each exchange has such a time: digits are put in their places without a formatter.
    let places = [(4, year), (7, month), (10, day), (13, hour), (16, minute), (19, second)];
    for (end, number) in places.into_iter().chain([(26, since.subsec_micros().into())]) {
        let (mut at, mut rest) = (end, number);
        while rest > 0 && at > 0 {
            at -= 1;
            text[at] += (rest % 10) as u8;
            rest /= 10;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A moment as RFC 5322 section 3.3 writes it: `Sat, 21 Nov 2026 02:40:19 +0000`. It is given as the time since 1970.
pub fn of_mail(since: Duration) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = since.as_secs();
    let (year, month, day) = civil(seconds / DAY);
    let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
    // 1970-01-01 was a Thursday.
    let (weekday, month) = (DAYS[(seconds / DAY % 7) as usize], MONTHS[(month as usize - 1) % 12]);
    format!("{weekday}, {day} {month} {year} {hour:02}:{minute:02}:{second:02} +0000")
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

    #[test]
    fn mail_has_its_own_form() {
        for (seconds, expected) in
            [(0, "Thu, 1 Jan 1970 00:00:00 +0000"), (1_795_228_819, "Sat, 21 Nov 2026 02:40:19 +0000")]
        {
            assert_eq!(of_mail(Duration::from_secs(seconds)), expected);
        }
    }

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
            let time = Duration::from_secs(seconds) + Duration::from_micros(micros);
            assert_eq!(of(time), expected);
        }
    }
}
