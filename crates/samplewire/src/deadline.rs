//! When a wait ends.

use std::time::{Duration, Instant};

/// The end of a wait. A wait of zero does not read the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    /// The wait was of zero.
    Passed,
    At(Instant),
    /// Later than the clock counts.
    Never,
}

impl Deadline {
    /// The end of a wait of `timeout` from now.
    #[inline]
    pub(crate) fn after(timeout: Duration) -> Self {
        if timeout.is_zero() {
            return Self::Passed;
        }
        Instant::now().checked_add(timeout).map_or(Self::Never, Self::At)
    }

    /// The remaining time.
    #[inline]
    pub(crate) fn left(self) -> Duration {
        match self {
            Self::Passed => Duration::ZERO,
            Self::At(at) => at.saturating_duration_since(Instant::now()),
            Self::Never => Duration::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_and_longest_waits_need_no_clock() {
        assert!(matches!(Deadline::after(Duration::ZERO), Deadline::Passed));
        assert_eq!(Deadline::after(Duration::ZERO).left(), Duration::ZERO);
        assert!(matches!(Deadline::after(Duration::MAX), Deadline::Never));
        assert_eq!(Deadline::after(Duration::MAX).left(), Duration::MAX);
        let left = Deadline::after(Duration::from_secs(60)).left();
        assert!(left > Duration::ZERO && left <= Duration::from_secs(60), "{left:?}");
    }
}
