//! Bursts of a sender, so that the receiver's FIFO can empty itself between them.

use crate::number::Nanos;

/// How frames follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Frames that leave at once, 1 at least.
    pub frames: u32,
    /// The time from the last frame of a burst to the first of the next.
    pub gap: Nanos,
}

/// When the next frame may leave.
///
/// ```
/// use samplewire_proto::Nanos;
/// use samplewire_proto::block::{Bursts, Pacing};
///
/// let mut pacing = Pacing::new(Some(Bursts { frames: 2, gap: Nanos(100) }));
/// pacing.spend(Nanos(5));
/// assert_eq!(pacing.ready_at(), Nanos(0));
/// pacing.spend(Nanos(6));
/// assert_eq!(pacing.ready_at(), Nanos(106));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// Without, frames leave as soon as they are polled.
    bursts: Option<Bursts>,
    left: u32,
    ready_at: Nanos,
}

impl Pacing {
    /// The first burst may leave at once. Without bursts, so may every frame.
    ///
    /// A burst of 0 frames never ends: [`SenderConfig::check`](super::SenderConfig::check) rejects it.
    pub const fn new(bursts: Option<Bursts>) -> Self {
        let left = match bursts {
            Some(Bursts { frames, .. }) => frames,
            None => 0,
        };
        Self { bursts, left, ready_at: Nanos(0) }
    }

    /// When the next frame may leave; not after the present means at once.
    pub const fn ready_at(&self) -> Nanos {
        self.ready_at
    }

    /// A frame leaves.
    pub fn spend(&mut self, now: Nanos) {
        let Some(Bursts { frames, gap }) = self.bursts else { return };
        self.left -= 1;
        if self.left == 0 {
            (self.left, self.ready_at) = (frames, now + gap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_follows_each_burst() {
        let mut pacing = Pacing::new(Some(Bursts { frames: 3, gap: Nanos(100) }));
        let mut now = Nanos(5);
        let mut left_at = vec![];
        for _ in 0..7 {
            now = now.max(pacing.ready_at());
            pacing.spend(now);
            left_at.push(now.0);
        }
        assert_eq!(left_at, [5, 5, 5, 105, 105, 105, 205]);
    }

    #[test]
    fn without_bursts_all_leaves_at_once() {
        let mut pacing = Pacing::new(None);
        (0..1_000).for_each(|_| pacing.spend(Nanos(5)));
        assert_eq!(pacing.ready_at(), Nanos(0));
    }
}
