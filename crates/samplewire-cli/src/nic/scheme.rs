//! When the next frame may leave: the sending schemes 1 to 3.

use std::time::Duration;

use samplewire_proto::Nanos;
use samplewire_proto::block::{Bursts, Pacing};

use crate::arguments::SchemeOptions;

/// How frames are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// 1: a fixed delay between frames.
    Delay(Nanos),
    /// 2: bursts with a pause between them.
    Bursts(Bursts),
    /// 3: a burst, then a frame for each that came back.
    Returns(u32),
}

impl Scheme {
    pub(super) fn new(options: &SchemeOptions) -> Self {
        let gap = nanos(options.delay);
        match options.scheme {
            1 => Self::Delay(gap),
            2 => Self::Bursts(Bursts { frames: options.burst, gap }),
            _ => Self::Returns(options.burst),
        }
    }

    /// The number on the command line.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Delay(_) => 1,
            Self::Bursts(_) => 2,
            Self::Returns(_) => 3,
        }
    }

    /// Frames of a burst, and the time between two frames or bursts; `None` for what it does not have.
    pub(super) const fn setting(self) -> (Option<u32>, Option<Nanos>) {
        match self {
            Self::Delay(delay) => (None, Some(delay)),
            Self::Bursts(Bursts { frames, gap }) => (Some(frames), Some(gap)),
            Self::Returns(burst) => (Some(burst), None),
        }
    }
}

/// What a scheme says of the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Now,
    At(Nanos),
    /// When a frame has come back.
    OnReturn,
}

/// A run of a scheme.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    Timed(Pacing),
    Returns {
        burst: u32,
        /// Frames that may leave.
        credit: u32,
        /// When a frame left or came back.
        moved_at: Nanos,
    },
}

impl Pace {
    pub(super) fn new(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Delay(Nanos(0)) => Self::Timed(Pacing::new(None)),
            Scheme::Delay(gap) => Self::Timed(Pacing::new(Some(Bursts { frames: 1, gap }))),
            Scheme::Bursts(bursts) => Self::Timed(Pacing::new(Some(bursts))),
            Scheme::Returns(burst) => Self::Returns { burst, credit: burst, moved_at: Nanos(0) },
        }
    }

    /// Whether a frame may leave.
    pub(super) fn next(&mut self, now: Nanos) -> Next {
        match self {
            Self::Timed(pacing) if pacing.ready_at() <= now => Next::Now,
            Self::Timed(pacing) => Next::At(pacing.ready_at()),
            Self::Returns { credit: 1.., .. } => Next::Now,
            // All that is out is lost: another burst.
            Self::Returns { burst, credit, moved_at } if now >= *moved_at + LOST_AFTER => {
                *credit = *burst;
                Next::Now
            }
            Self::Returns { .. } => Next::OnReturn,
        }
    }

    /// A frame leaves.
    pub(super) fn spend(&mut self, now: Nanos) {
        match self {
            Self::Timed(pacing) => pacing.spend(now),
            Self::Returns { credit, moved_at, .. } => {
                *credit -= 1;
                *moved_at = now;
            }
        }
    }

    /// A frame has come back.
    pub(super) fn take_return(&mut self, now: Nanos) {
        if let Self::Returns { burst, credit, moved_at } = self {
            // Copies of frames do not add to the burst.
            *credit = (*credit + 1).min(*burst);
            *moved_at = now;
        }
    }
}

/// An option's time.
pub(super) fn nanos(span: Duration) -> Nanos {
    Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX / 2))
}

/// When nothing has come back for so long, scheme 3 begins again.
const LOST_AFTER: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    /// When frames leave, if each comes back after `trip`.
    fn departures(scheme: Scheme, frames: usize, trip: Option<u64>) -> Vec<u64> {
        let (mut pace, mut now, mut left) = (Pace::new(scheme), Nanos(0), vec![]);
        let mut back: std::collections::VecDeque<u64> = Default::default();
        while left.len() < frames {
            while back.front().is_some_and(|at| *at <= now.0) {
                back.pop_front();
                pace.take_return(now);
            }
            match pace.next(now) {
                Next::Now => {
                    pace.spend(now);
                    left.push(now.0);
                    back.extend(trip.map(|trip| now.0 + trip));
                }
                Next::At(at) => now = at,
                Next::OnReturn => now = Nanos(back.front().copied().unwrap_or(now.0 + 1_000)),
            }
        }
        left
    }

    #[test]
    fn schemes_space_frames_as_they_are_documented() {
        let bursts = Bursts { frames: 3, gap: Nanos(100) };
        assert_eq!(departures(Scheme::Delay(Nanos(10)), 4, None), [0, 10, 20, 30]);
        assert_eq!(departures(Scheme::Delay(Nanos(0)), 3, None), [0, 0, 0]);
        assert_eq!(departures(Scheme::Bursts(bursts), 7, None), [0, 0, 0, 100, 100, 100, 200]);
        assert_eq!(departures(Scheme::Returns(2), 6, Some(7)), [0, 0, 7, 7, 14, 14]);
    }

    #[test]
    fn burst_that_is_lost_is_followed_by_another() {
        let pause = LOST_AFTER.0;
        assert_eq!(departures(Scheme::Returns(2), 4, None), [0, 0, pause, pause]);
    }
}
