//! The gap between two openings of a stream in one recording.

use std::time::{Duration, SystemTime};

use samplewire::{DeviceInfo, SampleIndex};

use super::stop::Changed;
use crate::sigmf::{RecordedCause, RecordedGap};
use crate::sink::Resumable;

/// Where a recording stands when the stream is opened again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Resume {
    /// The next index.
    pub(super) next_index: SampleIndex,
    /// The device's run of that index; `None` if it is not known.
    pub(super) boot_id: Option<u64>,
    /// The cause of missing samples if the device's run is the same.
    pub(super) cause: RecordedCause,
    /// The time since the last samples arrived.
    pub(super) silence: Duration,
}

impl Resume {
    /// Continues an existing recording; `None` if nothing is known about the next index.
    pub(super) fn behind(found: &Resumable) -> Option<Self> {
        Some(Self {
            next_index: found.next_index?,
            boot_id: found.boot_id,
            cause: RecordedCause::RecorderRestarted,
            // A clock that was set back gives no duration.
            silence: SystemTime::now().duration_since(found.written_at).unwrap_or_default(),
        })
    }

    /// Returns the gap before the first sample of the stream `info`; `None` if no index is missing.
    /// If the device has restarted, the length is the time multiplied by the rate.
    pub(super) fn gap(&self, info: &DeviceInfo) -> Option<RecordedGap> {
        let first = self.next_index;
        let (not_repaired, cause) = match self.boot_id {
            Some(boot_id) if boot_id == info.boot_id => {
                (info.first_index.saturating_sub(first), self.cause)
            }
            _ => {
                let samples = self.silence.as_secs_f64() * info.rate_hz();
                (samples as u64, RecordedCause::DeviceRestarted)
            }
        };
        let gap = RecordedGap::new(first, not_repaired, 0, cause);
        (gap.count() > 0 || gap.is_estimated()).then_some(gap)
    }
}

/// Checks that samples of `now` may follow those of `before` in one recording.
///
/// # Errors
/// [`Changed`].
pub(super) fn check_same(before: &DeviceInfo, now: &DeviceInfo) -> Result<(), Box<Changed>> {
    let what = |info: &DeviceInfo| {
        (info.stream, info.format, info.channels, info.rate_numerator, info.rate_denominator)
    };
    if what(before) == what(now) {
        return Ok(());
    }
    Err(Box::new(Changed { before: before.clone(), now: now.clone() }))
}

/// Detects two receivers of one owner that keep taking a stream from each other.
#[derive(Debug, Default)]
pub(super) struct Contest {
    losses: u32,
}

/// A finished opening of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    /// Whether the device no longer knew the stream.
    pub(super) is_taken: bool,
    /// How long the stream was open.
    pub(super) lasted: Duration,
    /// Whether the device has not restarted.
    pub(super) is_same_boot: bool,
}

impl Contest {
    /// Counts an opening; returns whether too many in a row were taken over at once.
    pub(super) fn is_lost_again(&mut self, lost: Lost) -> bool {
        let is_contested = lost.is_taken && lost.is_same_boot && lost.lasted < LASTING;
        self.losses = if is_contested { self.losses + 1 } else { 0 };
        self.losses >= LOSSES_MAX
    }
}

/// An opening that lasted this long was not taken over at once.
const LASTING: Duration = Duration::from_secs(2);

/// The limit for openings in a row that were taken over at once.
const LOSSES_MAX: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn device(boot_id: u64, first_index: u64) -> DeviceInfo {
        DeviceInfo {
            address: "127.0.0.1:9100".parse().unwrap(),
            name: Default::default(),
            stream: 0,
            streams: 1,
            boot_id,
            format: samplewire::format::Format::Sc16,
            channels: 1,
            rate_numerator: 1_000_000,
            rate_denominator: 1,
            centre_frequency_hz: None,
            first_index,
            first_index_tai_ns: None,
            clock_quality_ns: None,
            packet_samples: 352,
            payload_bytes: 1_408,
            window: 1_024,
            path_mtu_bytes: 1_500,
            rtt: Duration::ZERO,
            version: 1,
            carriage: samplewire::Carriage::Data,
        }
    }

    fn resume() -> Resume {
        Resume {
            next_index: 1_000,
            boot_id: Some(7),
            cause: RecordedCause::Reconnected,
            silence: Duration::from_millis(3),
        }
    }

    #[test]
    fn gap_within_one_run_of_the_device_is_exact() {
        let gap = resume().gap(&device(7, 1_234)).unwrap();
        assert_eq!((gap.first, gap.count(), gap.cause), (1_000, 234, RecordedCause::Reconnected));
        assert_eq!(resume().gap(&device(7, 1_000)), None);
        assert_eq!(resume().gap(&device(7, 900)), None, "what is there already is no gap");
    }

    #[test]
    fn gap_across_runs_of_the_device_is_an_estimate() {
        let gap = resume().gap(&device(8, 0)).unwrap();
        assert!(gap.is_estimated());
        assert_eq!((gap.first, gap.count()), (1_000, 3_000));
        let unknown = DeviceInfo { rate_numerator: 0, ..device(8, 0) };
        assert_eq!(resume().gap(&unknown).unwrap().count(), 0, "named all the same");
        let foreign = Resume { boot_id: None, ..resume() };
        assert!(foreign.gap(&device(7, 2_000)).unwrap().is_estimated());
    }

    #[test]
    fn stream_that_came_back_different_is_named() {
        let other = DeviceInfo { channels: 2, ..device(7, 0) };
        assert!(check_same(&device(7, 0), &device(8, 9)).is_ok());
        let changed = check_same(&device(7, 0), &other).unwrap_err();
        assert_eq!((changed.before.channels, changed.now.channels), (1, 2));
        let other = DeviceInfo { stream: 1, ..device(7, 0) };
        assert!(check_same(&device(7, 0), &other).is_err());
    }

    #[test]
    fn stream_that_is_taken_again_and_again_is_given_up() {
        let mut contest = Contest::default();
        let at_once = Duration::from_millis(100);
        let mut lose = |lasted, is_same_boot| {
            contest.is_lost_again(Lost { is_taken: true, lasted, is_same_boot })
        };
        assert!((1..LOSSES_MAX).all(|_| !lose(at_once, true)));
        assert!(!lose(at_once, false), "the device restarted");
        assert!((1..LOSSES_MAX).all(|_| !lose(at_once, true)));
        assert!(lose(at_once, true));
        assert!(!lose(LASTING, true));
    }
}
