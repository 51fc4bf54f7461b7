//! Times in the format of SigMF.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use samplewire::TaiClock;

/// Formats `instant` in UTC to the millisecond, e.g. `2024-02-29T12:00:00.250Z` (RFC 3339). A time
/// before 1970 is written as 1970.
pub fn rfc3339(instant: SystemTime) -> String {
    let since = instant.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    format!("{}.{:03}Z", seconds_of(since), since.subsec_millis())
}

/// Formats a time in TAI nanoseconds as [`rfc3339`] does, in UTC to the nanosecond.
pub(crate) fn rfc3339_of_tai(tai_ns: u64) -> String {
    let since = Duration::from_nanos(tai_ns);
    let since = since.saturating_sub(Duration::from_secs(TaiClock::AHEAD_OF_UTC_S));
    format!("{}.{:09}Z", seconds_of(since), since.subsec_nanos())
}

/// Formats the whole seconds of a time since 1970.
fn seconds_of(since: Duration) -> String {
    let (days, of_day) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Returns year, month and day, `days` after 1970-01-01 in the Gregorian calendar.
///
/// It counts years from March, so the leap day is the last of a year and the month lengths repeat.
/// See Howard Hinnant, "chrono-compatible low-level date algorithms".
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_those_of_date_1() {
        // `date -u -d @N +%FT%T`
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_208_000, "2024-02-29T12:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, text) in cases {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert!(rfc3339(UNIX_EPOCH + Duration::from_millis(1_250)).ends_with("01.250Z"));
    }

    #[test]
    fn tai_is_37_s_ahead_of_the_text() {
        // `date -u -d @1800000000 +%FT%T`
        assert_eq!(rfc3339_of_tai(1_800_000_037_000_000_009), "2027-01-15T08:00:00.000000009Z");
        assert_eq!(rfc3339_of_tai(36_999_999_999), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(rfc3339_of_tai(u64::MAX).len(), "2554-07-21T23:33:56.709551615Z".len());
    }
}
