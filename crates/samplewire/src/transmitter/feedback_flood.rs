//! Notices a receiver whose packets change nothing.

use std::time::Duration;

use samplewire_proto::Nanos;

/// Counts packets that the stream dropped. Each alone would wake the thread; a flood of them is
/// left to gather in the socket's buffer instead. An honest receiver sends hardly any.
#[derive(Debug, Default)]
pub(super) struct FeedbackFlood {
    since: Nanos,
    packets: u64,
}

impl FeedbackFlood {
    /// `packets` more were dropped.
    pub(super) fn note(&mut self, now: Nanos, packets: u64) {
        if now.since(self.since) > SPAN {
            *self = Self { since: now, packets: 0 };
        }
        self.packets += packets;
    }

    /// How long to look away.
    pub(super) fn pause(&self, now: Nanos) -> Option<Duration> {
        let is_flood = self.packets > PACKETS_MAX && now.since(self.since) <= SPAN;
        is_flood.then_some(PAUSE)
    }
}

/// 32,000 a second are a flood.
const PACKETS_MAX: u64 = 32;
const SPAN: Nanos = Nanos::from_millis(1);

const PAUSE: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_is_left_to_gather_and_single_packets_are_not() {
        let mut feedback_flood = FeedbackFlood::default();
        let start = Nanos::from_millis(1_000);
        for millis in 0..1_000 {
            let now = start + Nanos::from_millis(2 * millis);
            feedback_flood.note(now, 32);
            assert_eq!(feedback_flood.pause(now), None);
        }
        let now = start + Nanos::from_millis(3_000);
        feedback_flood.note(now, 20);
        feedback_flood.note(now + Nanos(1_000), 20);
        assert_eq!(feedback_flood.pause(now + Nanos(1_000)), Some(PAUSE));
        assert_eq!(feedback_flood.pause(now + Nanos::from_millis(2)), None);
    }
}
