//! Finds the losses of the source that the program or its disk caused.

use std::time::Duration;

use samplewire::receiver::Stalls;
use samplewire::{Cause, DeviceInfo, SampleIndex};

use crate::account::HeldUp;
use crate::sigmf::{RecordedCause, RecordedGap};

/// Finds the causes of the gaps of one opening of the stream.
#[derive(Debug, Default)]
pub(super) struct Attribution {
    /// Whether the sink writes to a disk.
    has_disk: bool,
    held_up: HeldUp,
    /// The same by `queue_stalls`, for several streams. There the sender of one stream can also
    /// have no credit because another stalls, so only the common queue counts.
    held_up_by_queue: HeldUp,
    /// When the writer's queue was full.
    queue_stalls: Stalls,
}

impl Attribution {
    pub(super) fn new(info: &DeviceInfo, has_disk: bool) -> Self {
        let held_up = HeldUp::new(info.rate_hz());
        Self {
            has_disk,
            held_up,
            held_up_by_queue: held_up,
            // Samples that the recorder has not taken are in the windows of both ends.
            queue_stalls: Stalls::new(2 * info.window, info.packet_samples),
        }
    }

    /// Notes how long the writer's queue was full before the sample at `index`.
    pub(super) fn note_full_queue(&mut self, index: SampleIndex, lasted: Duration) {
        let lasted_ns = u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX);
        self.queue_stalls.note(index, lasted_ns);
    }

    /// Returns the gap with its cause, and whether the program delayed the stream before it.
    /// `stalls` are those of the receiver.
    pub(super) fn attribute(
        &mut self,
        gap: RecordedGap,
        stalls: impl FnOnce() -> Stalls,
    ) -> (RecordedGap, bool) {
        let is_held_up = self.held_up.before(&gap, stalls)
            || gap.stream.is_some() && self.held_up_by_queue.before(&gap, || self.queue_stalls);
        let gap = if is_held_up && self.has_disk { of_disk(gap) } else { gap };
        (gap, is_held_up)
    }
}

/// Gives the source's losses the cause "disk behind", since the file delayed the stream.
const fn of_disk(gap: RecordedGap) -> RecordedGap {
    match gap.cause {
        RecordedCause::Stream(Cause::SourceOverflow) => {
            RecordedGap { cause: RecordedCause::DiskBehind, ..gap }
        }
        _ => gap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overflow(first: SampleIndex, source_lost: u64, stream: Option<u16>) -> RecordedGap {
        let cause = RecordedCause::Stream(Cause::SourceOverflow);
        RecordedGap { stream, ..RecordedGap::new(first, 0, source_lost, cause) }
    }

    fn attribution(has_disk: bool) -> Attribution {
        Attribution {
            has_disk,
            held_up: HeldUp::new(1e6),
            held_up_by_queue: HeldUp::new(1e6),
            queue_stalls: Stalls::new(10, 100),
        }
    }

    #[test]
    fn loss_behind_a_stall_is_the_disks_where_there_is_one() {
        let mut stalls = Stalls::new(10, 100);
        stalls.note(5_000, 1_000_000);
        let causes = [true, false].map(|has_disk| {
            let (gap, is_held_up) =
                attribution(has_disk).attribute(overflow(5_500, 900, None), || stalls);
            assert!(is_held_up);
            gap.cause
        });
        let of_source = RecordedCause::Stream(Cause::SourceOverflow);
        assert_eq!(causes, [RecordedCause::DiskBehind, of_source]);
        let (gap, is_held_up) = attribution(true).attribute(overflow(90_000, 900, None), || stalls);
        assert_eq!((gap.cause, is_held_up), (of_source, false), "the stall was long before");
    }

    #[test]
    fn full_queue_explains_the_losses_of_several_streams_only() {
        let is_held_up = [None, Some(1)].map(|stream| {
            let mut attribution = attribution(true);
            attribution.note_full_queue(5_000, Duration::from_millis(1));
            attribution.attribute(overflow(5_500, 900, stream), Stalls::default).1
        });
        assert_eq!(is_held_up, [false, true]);
    }
}
