//! What time of the week it is here, for lists with time limits. Rule: the system's time zone, asked anew each time.

use lockgate_webfilter::Moment;

/// Now, by the local clock.
pub fn local() -> Moment {
    // SAFETY: all of a tm may be zero; the calls read and write the variables that they are given and nothing else.
    let now = unsafe {
        let seconds = libc::time(std::ptr::null_mut());
        let mut now: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const seconds, &raw mut now);
        now
    };
    of(now.tm_wday, now.tm_hour, now.tm_min)
}

/// Days are counted from Sunday there, and from Monday here.
fn of(day_from_sunday: i32, hour: i32, minute: i32) -> Moment {
    Moment {
        weekday: u8::try_from((day_from_sunday + 6) % 7).unwrap_or(0),
        minute: u16::try_from(hour * 60 + minute).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_monday() {
        for (day, expected) in [(0, 6), (1, 0), (6, 5)] {
            assert_eq!(of(day, 23, 59), Moment { weekday: expected, minute: 1439 });
        }
        let now = local();
        assert!(now.weekday < 7 && now.minute < 24 * 60);
    }
}
