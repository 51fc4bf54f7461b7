//! When a wait ends.

use std::time::{Duration, Instant};

/// The end of a wait. A wait of zero does not read the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    Passed,
    At(Instant),
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
