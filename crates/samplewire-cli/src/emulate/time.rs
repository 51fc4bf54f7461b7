//! TAI of a device in software, from the system's clock.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};
use samplewire::TaiClock;
use samplewire::device::SampleClock;
use samplewire::source::StreamInfo;

/// The time at which the clock of a device starts. Later corrections of the system's clock do not
/// change it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartTime {
    origin: Instant,
    tai_ns: u64,
    /// How far the kernel's TAI is ahead of UTC in seconds; `None` if that is not set.
    offset_s: Option<u64>,
}

impl StartTime {
    /// Reads the system's clock.
    pub(super) fn read() -> Self {
        // The shortest of several readings: the thread may be interrupted between two clocks.
        let readings = (0..READINGS).map(|_| Reading::take());
        let Reading { origin, utc, tai, .. } =
            readings.min_by_key(|it| it.len).expect("there are readings");
        let (tai_ns, offset_s) = tai_ns(nanoseconds(utc), tai.map(nanoseconds));
        Self { origin, tai_ns, offset_s }
    }

    /// Starts a clock whose index 0 has this time.
    pub(super) fn start(&self, info: &StreamInfo) -> SampleClock {
        SampleClock::start(info, self.origin).with_tai_ns(self.tai_ns)
    }

    /// The time of each index of a stream by this clock.
    pub(super) fn clock_of(&self, info: &StreamInfo) -> Option<TaiClock> {
        info.tai_clock(0, self.tai_ns)
    }

    /// Where the time comes from, in words.
    pub(super) fn words(&self) -> String {
        let ahead_s = TaiClock::AHEAD_OF_UTC_S;
        self.offset_s.map_or_else(
            || format!("UTC of the system + {ahead_s} s: the kernel's TAI offset is not set"),
            |offset_s| format!("TAI of the system: UTC + {offset_s} s"),
        )
    }
}

/// Clocks that were read one after the other.
struct Reading {
    origin: Instant,
    utc: Timespec,
    /// `None` if the kernel has no TAI.
    tai: Option<Timespec>,
    /// How long it took.
    len: Duration,
}

impl Reading {
    fn take() -> Self {
        let origin = Instant::now();
        let utc = clock_gettime(ClockId::Realtime);
        let tai = clock_gettime_dynamic(DynamicClockId::Tai).ok();
        Self { origin, utc, tai, len: origin.elapsed() }
    }
}

/// Returns TAI, and how many seconds the kernel's is ahead of UTC, from what the kernel states. TAI that
/// equals UTC is not set.
fn tai_ns(utc_ns: u64, tai_ns: Option<u64>) -> (u64, Option<u64>) {
    let offset_s = |tai_ns: u64| (tai_ns.saturating_sub(utc_ns) + NS_PER_S / 2) / NS_PER_S;
    match tai_ns.map(offset_s).filter(|&offset_s| offset_s > 0) {
        Some(offset_s) => (utc_ns + offset_s * NS_PER_S, Some(offset_s)),
        None => (utc_ns + TaiClock::AHEAD_OF_UTC_S * NS_PER_S, None),
    }
}

/// Nanoseconds since 1970; 0 before.
fn nanoseconds(time: Timespec) -> u64 {
    u64::try_from(i128::from(time.tv_sec) * i128::from(NS_PER_S) + i128::from(time.tv_nsec))
        .unwrap_or(0)
}

const READINGS: u32 = 5;

const NS_PER_S: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_of_the_kernel_applies_where_it_is_set() {
        let utc_ns = 1_700_000_000_123_456_789;
        // The kernel's clocks are read one after the other.
        let read = |ahead_s: u64| tai_ns(utc_ns, Some(utc_ns + ahead_s * NS_PER_S + 800));
        assert_eq!(read(38), (utc_ns + 38 * NS_PER_S, Some(38)));
        assert_eq!(read(0), (utc_ns + 37 * NS_PER_S, None));
        assert_eq!(tai_ns(utc_ns, None), (utc_ns + 37 * NS_PER_S, None));
        let words = |offset_s| StartTime { origin: Instant::now(), tai_ns: 0, offset_s }.words();
        assert_eq!(words(Some(38)), "TAI of the system: UTC + 38 s");
        let unset = "UTC of the system + 37 s: the kernel's TAI offset is not set";
        assert_eq!(words(None), unset);
    }
}
