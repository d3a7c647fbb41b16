//! When a list holds: [`Moment`], [`TimeLimit`]. Rule: the clock is an argument; nothing here reads one.

use std::str::FromStr;
use std::sync::Arc;

/// A time of the week where the gateway stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// 0 is Monday.
    pub weekday: u8,
    /// Minutes since midnight.
    pub minute: u16,
}

/// Says what time it is. It is asked once for each request, and only where some list has a time limit.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

/// `#time: START-HOUR START-MINUTE END-HOUR END-MINUTE DAYS` of e2guardian's lists; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimit {
    first_minute: u16,
    last_minute: u16,
    /// A bit for each day, Monday the lowest.
    days: u8,
}

impl TimeLimit {
    /// Whether it holds. A limit that ends before it begins goes over midnight: its days are those on which it begins.
    pub fn holds(self, now: Moment) -> bool {
        let on = |day: u8| self.days >> day & 1 == 1;
        let Moment { weekday, minute } = now;
        if self.first_minute <= self.last_minute {
            return on(weekday % 7) && (self.first_minute..=self.last_minute).contains(&minute);
        }
        (on(weekday % 7) && minute >= self.first_minute)
            || (on((weekday + 6) % 7) && minute <= self.last_minute)
    }
}

impl FromStr for TimeLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{:?} is no time limit: write #time: START-HOUR START-MINUTE END-HOUR END-MINUTE DAYS, the days as digits from 0 (Monday) to 6",
                text.trim()
            )
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let [start_hour, start_minute, end_hour, end_minute, days] = words[..] else { return Err(wrong()) };
        let minutes = |hour: &str, minute: &str| {
            let (hour, minute) = (hour.parse::<u16>().ok()?, minute.parse::<u16>().ok()?);
            // 24 0 is the end of a day.
            (hour < 24 && minute < 60 || (hour, minute) == (24, 0)).then_some(hour * 60 + minute)
        };
        let day = |digit: u8| (b'0'..=b'6').contains(&digit).then(|| 1 << (digit - b'0'));
        let days = days.bytes().try_fold(0_u8, |days, digit| Some(days | day(digit)?));
        Ok(Self {
            first_minute: minutes(start_hour, start_minute).ok_or_else(wrong)?,
            last_minute: minutes(end_hour, end_minute).ok_or_else(wrong)?,
            days: days.ok_or_else(wrong)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_list_holds() {
        let day = "9 0 17 0 01234";
        let night = "22 30 6 0 4";
        for (limit, weekday, hour, minute, expected) in [
            (day, 0, 9, 0, true),
            (day, 4, 17, 0, true),
            (day, 0, 8, 59, false),
            (day, 0, 17, 1, false),
            (day, 5, 12, 0, false),
            (night, 4, 22, 29, false),
            (night, 4, 23, 0, true),
            (night, 5, 6, 0, true),
            (night, 5, 6, 1, false),
            (night, 4, 5, 0, false),
            ("0 0 24 0 0123456", 6, 23, 59, true),
        ] {
            let now = Moment { weekday, minute: hour * 60 + minute };
            let limit: TimeLimit = limit.parse().unwrap();
            assert_eq!(limit.holds(now), expected, "{limit:?} {now:?}");
        }
    }

    #[test]
    fn what_is_no_time_limit() {
        for text in ["", "9 0 17 0", "25 0 17 0 0", "9 60 17 0 0", "9 0 17 0 7", "9 0 17 0 0 0", "a 0 17 0 0"]
        {
            assert!(text.parse::<TimeLimit>().is_err(), "{text}");
        }
    }
}
