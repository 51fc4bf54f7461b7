//! When the next frame may leave: the sending schemes 1 to 3, for frames that come back.

use super::pacing::{Bursts, Pacing};
use crate::number::Nanos;

/// How frames are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// 1: a fixed delay between frames.
    Delay(Nanos),
    /// 2: bursts with a pause between them.
    Bursts(Bursts),
    /// 3: a burst of so many frames, 1 at least, then a frame for each that came back.
    Returns(u32),
}

impl Scheme {
    /// The scheme of a number from 1 to 3, with bursts of so many frames and a delay where it has them.
    /// `None` of another number, or a burst of 0 frames.
    pub const fn new(number: u8, frames: u32, gap: Nanos) -> Option<Self> {
        match number {
            1 => Some(Self::Delay(gap)),
            2 if frames > 0 => Some(Self::Bursts(Bursts { frames, gap })),
            3 if frames > 0 => Some(Self::Returns(frames)),
            _ => None,
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Delay(_) => 1,
            Self::Bursts(_) => 2,
            Self::Returns(_) => 3,
        }
    }

    /// Frames of a burst, and the time between two frames or bursts; `None` for what it does not have.
    pub const fn setting(self) -> (Option<u32>, Option<Nanos>) {
        match self {
            Self::Delay(delay) => (None, Some(delay)),
            Self::Bursts(Bursts { frames, gap }) => (Some(frames), Some(gap)),
            Self::Returns(burst) => (Some(burst), None),
        }
    }
}

/// When the next frame may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextFrame {
    /// At once.
    Now,
    /// At this time.
    At(Nanos),
    /// When a frame has come back.
    OnReturn,
}

/// A run of a scheme.
///
/// ```
/// use samplewire_proto::Nanos;
/// use samplewire_proto::block::{NextFrame, Pace, Scheme};
///
/// let mut pace = Pace::new(Scheme::Returns(2));
/// for _ in 0..2 {
///     assert_eq!(pace.next(Nanos(5)), NextFrame::Now);
///     pace.spend(Nanos(5));
/// }
/// assert_eq!(pace.next(Nanos(6)), NextFrame::OnReturn);
/// pace.take_return(Nanos(7));
/// assert_eq!(pace.next(Nanos(7)), NextFrame::Now);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pace(State);

#[derive(Clone, Copy, Debug)]
enum State {
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
    /// The first frame may leave at once.
    pub const fn new(scheme: Scheme) -> Self {
        Self(match scheme {
            Scheme::Delay(Nanos(0)) => State::Timed(Pacing::new(None)),
            Scheme::Delay(gap) => State::Timed(Pacing::new(Some(Bursts { frames: 1, gap }))),
            Scheme::Bursts(bursts) => State::Timed(Pacing::new(Some(bursts))),
            Scheme::Returns(burst) => State::Returns { burst, credit: burst, moved_at: Nanos(0) },
        })
    }

    /// Whether a frame may leave.
    pub fn next(&mut self, now: Nanos) -> NextFrame {
        match &mut self.0 {
            State::Timed(pacing) if pacing.ready_at() <= now => NextFrame::Now,
            State::Timed(pacing) => NextFrame::At(pacing.ready_at()),
            State::Returns { credit: 1.., .. } => NextFrame::Now,
            // All that is out is lost: another burst.
            State::Returns { burst, credit, moved_at } if now >= *moved_at + LOST_AFTER => {
                *credit = *burst;
                NextFrame::Now
            }
            State::Returns { .. } => NextFrame::OnReturn,
        }
    }

    /// A frame leaves, which [`Pace::next`] allowed.
    pub fn spend(&mut self, now: Nanos) {
        match &mut self.0 {
            State::Timed(pacing) => pacing.spend(now),
            State::Returns { credit, moved_at, .. } => {
                *credit -= 1;
                *moved_at = now;
            }
        }
    }

    /// A frame has come back.
    pub fn take_return(&mut self, now: Nanos) {
        if let State::Returns { burst, credit, moved_at } = &mut self.0 {
            // Copies of frames do not add to the burst.
            *credit = (*credit + 1).min(*burst);
            *moved_at = now;
        }
    }
}

/// When nothing has come back for so long, scheme 3 begins again.
const LOST_AFTER: Nanos = Nanos::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    /// When frames leave, if each comes back after `trip`.
    fn departures(scheme: Scheme, frames: usize, trip: Option<u64>) -> Vec<u64> {
        let (mut pace, mut now, mut left) = (Pace::new(scheme), Nanos(0), vec![]);
        let mut back = std::collections::VecDeque::<u64>::new();
        while left.len() < frames {
            while back.front().is_some_and(|at| *at <= now.0) {
                back.pop_front();
                pace.take_return(now);
            }
            match pace.next(now) {
                NextFrame::Now => {
                    pace.spend(now);
                    left.push(now.0);
                    back.extend(trip.map(|trip| now.0 + trip));
                }
                NextFrame::At(at) => now = at,
                NextFrame::OnReturn => now = Nanos(back.front().copied().unwrap_or(now.0 + 1_000)),
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
    fn numbers_are_those_of_the_schemes() {
        let gap = Nanos(9);
        for number in 1..=3 {
            let scheme = Scheme::new(number, 4, gap).expect("a scheme");
            assert_eq!(scheme.number(), number);
            assert_eq!(Scheme::new(number, 0, gap).is_some(), number == 1, "a burst of no frames");
        }
        assert_eq!((Scheme::new(0, 4, gap), Scheme::new(4, 4, gap)), (None, None));
    }

    #[test]
    fn burst_that_is_lost_is_followed_by_another() {
        let pause = LOST_AFTER.0;
        assert_eq!(departures(Scheme::Returns(2), 4, None), [0, 0, pause, pause]);
    }
}
