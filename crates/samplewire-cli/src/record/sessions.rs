//! What lies between two openings of the stream that go into one recording.

use std::time::{Duration, SystemTime};

use samplewire::DeviceInfo;
use samplewire::sigmf::{RecordedCause, RecordedGap};
use samplewire::sink::Resumable;
use samplewire_proto::SampleIndex;
use samplewire_proto::stream::End;

use super::stop::Stop;
use crate::stream::{stream_of, stream_words};

/// Where the recording stands when the stream is opened anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seam {
    /// The index that was to come.
    pub(super) next_index: SampleIndex,
    /// The device's run that it is of; `None` where nobody knows.
    pub(super) boot_id: Option<u64>,
    /// Why there is a seam within one run of the device.
    pub(super) cause: RecordedCause,
    /// How long ago the samples before it came.
    pub(super) silence: Duration,
}

impl Seam {
    /// The seam behind a recording that was there; `None` when it says nothing of what comes next.
    pub(super) fn behind(found: &Resumable) -> Option<Self> {
        Some(Self {
            next_index: found.next_index?,
            boot_id: found.boot_id,
            cause: RecordedCause::RecorderRestarted,
            // A clock that was set back says nothing.
            silence: SystemTime::now().duration_since(found.written_at).unwrap_or_default(),
        })
    }

    /// The gap before the first sample of the stream that `info` tells of; `None` when there is
    /// none. Where the device's run is another, its length is the time times the rate.
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
        let gap = RecordedGap { first, not_repaired, source_lost: 0, cause, stream: None };
        (gap.count() > 0 || gap.is_estimated()).then_some(gap)
    }
}

/// Checks that samples of `info` may follow those of `before`.
///
/// # Errors
/// [`Stop::Changed`].
pub(super) fn check_same(before: &DeviceInfo, info: &DeviceInfo) -> Result<(), Stop> {
    let what = |info: &DeviceInfo| {
        (info.stream, info.format, info.channels, info.rate_numerator, info.rate_denominator)
    };
    if what(before) == what(info) {
        return Ok(());
    }
    let words =
        |info: &DeviceInfo| format!("stream {}, {}", info.stream, stream_words(&stream_of(info)));
    Err(Stop::Changed(format!(
        "the device came back with another stream: {}; the recording is of {}",
        words(info),
        words(before)
    )))
}

/// Tells when two receivers of one owner take a stream from each other.
#[derive(Debug, Default)]
pub(super) struct Contest {
    losses: u32,
}

impl Contest {
    /// Takes note of a session of the device's run that it began with; whether it was the last of too
    /// many that were lost at once.
    pub(super) fn is_lost_again(&mut self, stop: &Stop, lasted: Duration, same_boot: bool) -> bool {
        let is_taken = matches!(stop.root(), Stop::Broken(End::PeerRestarted)) && same_boot;
        self.losses = if is_taken && lasted < LASTING { self.losses + 1 } else { 0 };
        self.losses >= LOSSES_MAX
    }
}

/// A session that lasted as long was not taken at once.
const LASTING: Duration = Duration::from_secs(2);

/// Sessions in a row that were.
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
            packet_samples: 352,
            payload_bytes: 1_408,
            window: 1_024,
            path_mtu_bytes: 1_500,
            rtt: Duration::ZERO,
            version: 1,
        }
    }

    fn seam() -> Seam {
        Seam {
            next_index: 1_000,
            boot_id: Some(7),
            cause: RecordedCause::Reconnected,
            silence: Duration::from_millis(3),
        }
    }

    #[test]
    fn gap_within_one_run_of_the_device_is_exact() {
        let gap = seam().gap(&device(7, 1_234)).unwrap();
        assert_eq!((gap.first, gap.count(), gap.cause), (1_000, 234, RecordedCause::Reconnected));
        assert_eq!(seam().gap(&device(7, 1_000)), None);
        assert_eq!(seam().gap(&device(7, 900)), None, "what is there already is no gap");
    }

    #[test]
    fn gap_across_runs_of_the_device_is_an_estimate() {
        let gap = seam().gap(&device(8, 0)).unwrap();
        assert!(gap.is_estimated());
        assert_eq!((gap.first, gap.count()), (1_000, 3_000));
        let unknown = DeviceInfo { rate_numerator: 0, ..device(8, 0) };
        assert_eq!(seam().gap(&unknown).unwrap().count(), 0, "named all the same");
        let foreign = Seam { boot_id: None, ..seam() };
        assert!(foreign.gap(&device(7, 2_000)).unwrap().is_estimated());
    }

    #[test]
    fn stream_that_came_back_different_is_named() {
        let other = DeviceInfo { channels: 2, ..device(7, 0) };
        assert!(check_same(&device(7, 0), &device(8, 9)).is_ok());
        let words = check_same(&device(7, 0), &other).unwrap_err().words();
        assert!(
            words.contains("2 channels, 1 MS/s; the recording is of stream 0, sc16, 1 channel"),
            "{words}"
        );
        let other = DeviceInfo { stream: 1, ..device(7, 0) };
        assert!(check_same(&device(7, 0), &other).is_err());
    }

    #[test]
    fn stream_that_is_taken_again_and_again_is_given_up() {
        let taken = Stop::Broken(End::PeerRestarted);
        let mut contest = Contest::default();
        let at_once = Duration::from_millis(100);
        let mut lose = |lasted, same_boot| contest.is_lost_again(&taken, lasted, same_boot);
        assert!((1..LOSSES_MAX).all(|_| !lose(at_once, true)));
        assert!(!lose(at_once, false), "the device restarted");
        assert!((1..LOSSES_MAX).all(|_| !lose(at_once, true)));
        assert!(lose(at_once, true));
        assert!(!lose(LASTING, true));
    }
}
