//! Parsers of option values: times, rates, deliveries, thresholds.

use std::net::SocketAddr;
use std::time::Duration;

use samplewire::Delivery;
use samplewire::Underflow;
use samplewire::format::{self, Format};
use samplewire::source::{
    parse_bit_rate, parse_quantity, parse_rate, parse_share, parse_size, parse_time,
};
use samplewire_proto::OutOfRange;

/// How fast a device plays its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// By a converter's clock, which cannot wait.
    Clock {
        /// Samples per second.
        rate_hz: f64,
    },
    /// As fast as the receiver takes it.
    Max {
        /// The sample rate to announce, if it is not the source's own.
        rate_hz: Option<f64>,
    },
}

/// Reads `20M`, `20MS/s`, `max` or `max:20M`.
pub(crate) fn pace(text: &str) -> Result<Pace, String> {
    let rate = |text: &str| parse_rate(text).map_err(|error| error.to_string());
    match text.split_once(':') {
        None if text == "max" => Ok(Pace::Max { rate_hz: None }),
        Some(("max", of)) => Ok(Pace::Max { rate_hz: Some(rate(of)?) }),
        _ => Ok(Pace::Clock { rate_hz: rate(text)? }),
    }
}

/// Reads the number of a stream.
pub(crate) fn stream(text: &str) -> Result<u16, String> {
    let wrong = || format!("`{text}` is not a stream number: 0 is the first, and 0,1 names two");
    text.parse().map_err(|_| wrong())
}

/// Reads a sample rate above zero: `10M`, `10MHz`, `2.5MS/s`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let number = parse_rate(text).map_err(|error| error.to_string())?;
    if number > 0.0 { Ok(number) } else { Err(format!("`{text}` must be above 0")) }
}

/// Reads bits a second of wire time, 10k to 10T: `800M`, `2.5Gb/s`.
pub(crate) fn link_rate(text: &str) -> Result<f64, String> {
    let number = parse_bit_rate(text).map_err(|error| error.to_string())?;
    let is_allowed = (1e4..=1e13).contains(&number);
    if is_allowed { Ok(number) } else { Err(format!("`{text}` must be 10k to 10T")) }
}

/// Reads the speed of an interface in bits a second, 1M to 10T.
pub(crate) fn line_rate(text: &str) -> Result<f64, String> {
    let number = parse_bit_rate(text).map_err(|error| error.to_string())?;
    let is_allowed = (1e6..=1e13).contains(&number);
    if is_allowed { Ok(number) } else { Err(format!("`{text}` must be 1M to 10T")) }
}

/// Reads bits a second of congestion control, 100k to 1T.
pub(crate) fn control_rate(text: &str) -> Result<f64, String> {
    let number = parse_bit_rate(text).map_err(|error| error.to_string())?;
    let is_allowed = (1e5..=1e12).contains(&number);
    if is_allowed { Ok(number) } else { Err(format!("`{text}` must be 100k to 1T")) }
}

/// Reads a share, 0 to 0.5: `0.01`, `1%`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a share from 0 to 0.5, such as 0.01 or 1%");
    parse_share(text).ok().filter(|share| (0.0..=0.5).contains(share)).ok_or_else(wrong)
}

/// Reads a whole number from 1: `1e6`, `100M`, `81920000`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    whole(text, 1)
}

/// A parser of whole numbers from `first` to `last`.
pub(crate) fn between<T: TryFrom<u64> + Clone + Send + Sync + 'static>(
    first: u64,
    last: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = whole(text, first).ok().filter(|&number| number <= last);
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match last {
            u64::MAX => format!("`{text}` must be {first} or more"),
            WINDOW_MAX => format!("`{text}` must be {first} to 2^24"),
            _ => format!("`{text}` must be {first} to {last}"),
        })
    }
}

/// Reads a number of threads.
pub(crate) fn threads() -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    between(1, 1_024)
}

/// Reads a size in bytes from 1: `4G`, `4MB`, `4MiB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let bytes = text.parse().ok().or_else(|| exact(parse_size(text).ok()?));
    bytes.filter(|&bytes| bytes >= 1).ok_or_else(|| {
        format!("`{text}` is no whole number of bytes from 1, such as 4M, 4MB or 4MiB")
    })
}

fn whole(text: &str, least: u64) -> Result<u64, String> {
    let by_digits = text.parse().ok();
    by_digits
        .or_else(|| exact(parse_quantity(text).ok()?))
        .filter(|&number| number >= least)
        .ok_or_else(|| format!("`{text}` is not a whole number from {least}"))
}

fn exact(number: f64) -> Option<u64> {
    ((0.0..=EXACT_MAX).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// Reads a time above zero: `5ms`, `1.5s`, `2min`; a bare number is in seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    parse_time(text).map_err(|error| error.to_string())
}

/// Reads an interval: no shorter than people can see, or a process can answer.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = time(text)?;
    let least = Duration::from_millis(50);
    if interval < least { Err(format!("`{text}` is less than {least:?}")) } else { Ok(interval) }
}

/// Reads `127.0.0.1:9464` or `[::1]:9464`.
pub(crate) fn ip_and_port(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not an IP:PORT such as 127.0.0.1:9464 or [::1]:9464"))
}

/// When a burst starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// At an index of the device.
    Index(u64),
    /// This time after the opening.
    After(Duration),
}

/// Reads `81920000` or `+0.5s`.
pub(crate) fn at(text: &str) -> Result<At, String> {
    match text.strip_prefix('+') {
        Some("0") => Ok(At::After(Duration::ZERO)),
        Some(span) => Ok(At::After(time(span)?)),
        None => match count(text) {
            Ok(index) => Ok(At::Index(index)),
            Err(_) => Err(format!(
                "`{text}` is not an index from 1, and not a time after the opening such as +0.5s"
            )),
        },
    }
}

/// Reads `zeros` or `stop`.
pub(crate) fn underflow(text: &str) -> Result<Underflow, String> {
    match text {
        "zeros" => Ok(Underflow::Zeros),
        "stop" => Ok(Underflow::Stop),
        _ => Err(format!("`{text}` is neither zeros nor stop")),
    }
}

/// Reads `complete`, `deadline:5ms` or `best-effort`.
pub(crate) fn delivery(text: &str) -> Result<Delivery, String> {
    match text.split_once(':') {
        None if text == "complete" => Ok(Delivery::Complete),
        None if text == "best-effort" => Ok(Delivery::BestEffort),
        Some(("deadline", deadline)) => {
            let deadline = time(deadline)?;
            let allowed = Duration::from_micros(1)..=Duration::from_secs(30);
            if !allowed.contains(&deadline) {
                return Err(
                    OutOfRange("deadline", format_args!("{deadline:?}"), "1us to 30s").to_string()
                );
            }
            Ok(Delivery::Deadline(deadline))
        }
        _ => Err(format!("`{text}` is none of complete, deadline:TIME, best-effort")),
    }
}

/// Writes the text that [`delivery`] reads.
pub(crate) fn delivery_words(delivery: Delivery) -> String {
    match delivery {
        Delivery::Complete => "complete".into(),
        Delivery::Deadline(deadline) => format!("deadline:{deadline:?}"),
        Delivery::BestEffort => "best-effort".into(),
    }
}

/// Reads the name of a sample format.
pub(crate) fn sample_format(text: &str) -> Result<Format, String> {
    format::parse(text).map_err(|error| error.to_string())
}

/// A count that makes the command fail when it is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threshold<S = Subject> {
    /// What is counted.
    pub(crate) subject: S,
    /// The highest count that is accepted.
    pub(crate) count_max: u64,
}

/// What a threshold limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Samples missing.
    Gap,
    /// Packets that came too late.
    Late,
    /// Packets that were missing and were sent again.
    Repaired,
    /// Packets whose checksum was wrong.
    Corrupted,
    /// Packets that came twice.
    Duplicate,
    /// Times that no memory was left to grant.
    Stall,
    /// Samples that were missing when a device had to play them.
    Underflow,
}

impl Subject {
    /// The counts of a received stream.
    const RECEIVED: [Self; 6] =
        [Self::Gap, Self::Late, Self::Repaired, Self::Corrupted, Self::Duplicate, Self::Stall];

    /// The counts of a sent stream.
    const SENT: [Self; 4] = [Self::Late, Self::Underflow, Self::Repaired, Self::Stall];

    /// The counts of streams in both directions.
    const BOTH: [Self; 7] = [
        Self::Gap,
        Self::Late,
        Self::Underflow,
        Self::Repaired,
        Self::Corrupted,
        Self::Duplicate,
        Self::Stall,
    ];

    /// The name on the command line.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Late => "late",
            Self::Repaired => "repaired",
            Self::Corrupted => "corrupted",
            Self::Duplicate => "duplicate",
            Self::Stall => "stall",
            Self::Underflow => "underflow",
        }
    }
}

/// Reads `gap=0` for a stream that is received; clap splits a list at its commas.
pub(crate) fn threshold(text: &str) -> Result<Threshold, String> {
    threshold_of(text, &Subject::RECEIVED, Subject::as_str)
}

/// Reads `late=0` for a stream that is sent.
pub(crate) fn threshold_of_sent(text: &str) -> Result<Threshold, String> {
    threshold_of(text, &Subject::SENT, Subject::as_str)
}

/// Reads `gap=0` or `underflow=0` for streams both ways.
pub(crate) fn threshold_of_both(text: &str) -> Result<Threshold, String> {
    threshold_of(text, &Subject::BOTH, Subject::as_str)
}

/// What a threshold of `doctor` limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FindingSubject {
    /// Findings that lose samples at the rate.
    Severe,
    /// All findings.
    Finding,
    /// Checks whose value could not be read.
    Unread,
}

impl FindingSubject {
    const ALL: [Self; 3] = [Self::Severe, Self::Finding, Self::Unread];

    /// The name on the command line.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Severe => "severe",
            Self::Finding => "finding",
            Self::Unread => "unread",
        }
    }
}

/// Reads `severe=0` for a diagnosis.
pub(crate) fn threshold_of_findings(text: &str) -> Result<Threshold<FindingSubject>, String> {
    threshold_of(text, &FindingSubject::ALL, FindingSubject::as_str)
}

/// Reads `NAME=N`, with a name of `subjects`.
pub(crate) fn threshold_of<S: Copy>(
    text: &str,
    subjects: &[S],
    name_of: fn(S) -> &'static str,
) -> Result<Threshold<S>, String> {
    let (name, count) = text.split_once('=').ok_or_else(|| format!("`{text}`: write {text}=N"))?;
    let subject = subjects.iter().find(|subject| name_of(**subject) == name);
    let subject = *subject.ok_or_else(|| {
        let known: Vec<_> = subjects.iter().map(|subject| name_of(*subject)).collect();
        format!("`{name}` is not counted; known are {}", known.join(", "))
    })?;
    Ok(Threshold { subject, count_max: whole(count, 0)? })
}

/// Every whole number up to here is a double.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Printed as the power that it is.
const WINDOW_MAX: u64 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_are_a_clock_or_max() {
        assert_eq!(pace("2.5e8"), Ok(Pace::Clock { rate_hz: 2.5e8 }));
        assert_eq!(pace("max"), Ok(Pace::Max { rate_hz: None }));
        assert_eq!(pace("max:20M"), Ok(Pace::Max { rate_hz: Some(2e7) }));
        assert_eq!(pace("2.5MS/s"), Ok(Pace::Clock { rate_hz: 2.5e6 }));
        assert!(pace("fast").unwrap_err().contains("`fast`"));
        assert!(pace("min:20M").is_err());
    }

    #[test]
    fn counts_are_whole_and_exact() {
        assert_eq!(count("100M"), Ok(100_000_000));
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        for text in ["0", "-1", "1.5", "1e20", "many", ""] {
            assert!(count(text).unwrap_err().contains(&format!("`{text}`")), "{text}");
        }
    }

    #[test]
    fn rates_sizes_and_shares_have_units() {
        assert_eq!(rate("10MHz"), Ok(1e7));
        assert_eq!(link_rate("2.5Gb/s"), Ok(2.5e9));
        assert_eq!(
            (size("4MB"), size("4MiB"), size("4G")),
            (Ok(4_000_000), Ok(1 << 22), Ok(4_000_000_000))
        );
        assert_eq!(share("1%"), Ok(0.01));
        for (error, words) in [
            (rate("0").unwrap_err(), "`0` must be above 0"),
            (rate("10MB").unwrap_err(), "`10MB` is no number such as 250M"),
            (link_rate("1k").unwrap_err(), "`1k` must be 10k to 10T"),
            (control_rate("99k").unwrap_err(), "`99k` must be 100k to 1T"),
            (between::<u16>(1, 99)("0").unwrap_err(), "`0` must be 1 to 99"),
            (between::<u8>(1, 999)("256").unwrap_err(), "`256` must be 1 to 999"),
            (between::<u64>(1, u64::MAX)("x").unwrap_err(), "`x` must be 1 or more"),
            (size("0").unwrap_err(), "`0` is no whole number of bytes from 1"),
            (share("51%").unwrap_err(), "`51%` is not a share from 0 to 0.5"),
        ] {
            assert!(error.starts_with(words), "{error}");
        }
    }

    #[test]
    fn times_have_units_or_are_seconds() {
        assert_eq!(time("3"), Ok(Duration::from_secs(3)));
        assert_eq!(time("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(time("0.5min"), Ok(Duration::from_secs(30)));
        assert_eq!(time("20us"), Ok(Duration::from_micros(20)));
        for text in ["0", "-1s", "5m", "soon", "1e-12", "nan", "1e300"] {
            assert!(time(text).unwrap_err().contains(&format!("`{text}`")), "{text}");
        }
    }

    #[test]
    fn intervals_have_a_least() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(interval("49ms").unwrap_err(), "`49ms` is less than 50ms");
        assert!(interval("often").unwrap_err().contains("`often`"));
    }

    #[test]
    fn address_of_an_interface_needs_its_port() {
        assert_eq!(ip_and_port("[::1]:0").unwrap().to_string(), "[::1]:0");
        for text in ["9464", "localhost:9464", "127.0.0.1", "127.0.0.1:99999", ""] {
            assert!(ip_and_port(text).unwrap_err().contains(&format!("`{text}`")), "{text}");
        }
    }

    #[test]
    fn deliveries_read_back_as_they_print() {
        for text in ["complete", "deadline:5ms", "best-effort"] {
            assert_eq!(delivery_words(delivery(text).unwrap()), text);
        }
        for text in ["deadline", "deadline:31s", "deadline:0", "whole"] {
            assert!(delivery(text).is_err(), "{text}");
        }
    }

    #[test]
    fn start_is_an_index_or_a_time_from_now() {
        assert_eq!(at("81920000"), Ok(At::Index(81_920_000)));
        assert_eq!(at("+250ms"), Ok(At::After(Duration::from_millis(250))));
        assert_eq!(at("+0"), Ok(At::After(Duration::ZERO)));
        for text in ["soon", "-5", "+soon", "0.5s", "+-1"] {
            assert!(at(text).is_err(), "{text}");
        }
        assert_eq!(underflow("stop"), Ok(Underflow::Stop));
        assert!(underflow("wait").unwrap_err().contains("`wait`"));
    }

    #[test]
    fn thresholds_of_what_is_sent_are_others() {
        let zero = Threshold { subject: Subject::Underflow, count_max: 0 };
        assert_eq!(threshold_of_sent("underflow=0"), Ok(zero));
        assert!(threshold_of_sent("gap=0").unwrap_err().contains("known are late, underflow"));
        assert!(threshold("underflow=0").is_err());
    }

    #[test]
    fn thresholds_name_what_is_counted() {
        assert_eq!(threshold("late=7"), Ok(Threshold { subject: Subject::Late, count_max: 7 }));
        let zero = Threshold { subject: Subject::Gap, count_max: 0 };
        assert_eq!(threshold("gap=0"), Ok(zero));
        assert_eq!(threshold("late").unwrap_err(), "`late`: write late=N");
        assert!(threshold("speed=1").unwrap_err().contains("known are gap, late"));
        assert_eq!(threshold("gap=-1").unwrap_err(), "`-1` is not a whole number from 0");
    }
}
