//! The notification point (A17.9.3): when marked packets make the receiver send a congestion
//! notification (CNP).

use samplewire_proto::Nanos;

/// Owes a notification after a mark, and sends one at most once in an interval. A mark that comes
/// sooner after a notification is reported at the end of the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotificationPoint {
    interval: Nanos,
    is_owed: bool,
    /// When the next notification may leave.
    ready_at: Nanos,
}

impl NotificationPoint {
    /// A notification point that owes nothing. `interval` is the shortest time between two
    /// notifications: D of the [reaction point](samplewire_proto::rate::DcqcnParams::cut_interval).
    pub const fn new(interval: Nanos) -> Self {
        Self { interval, is_owed: false, ready_at: Nanos(0) }
    }

    /// A marked packet has come.
    pub const fn handle_mark(&mut self) {
        self.is_owed = true;
    }

    /// Whether a notification leaves at `now`.
    pub fn poll(&mut self, now: Nanos) -> bool {
        let is_due = self.is_owed && now >= self.ready_at;
        if is_due {
            self.is_owed = false;
            self.ready_at = now + self.interval;
        }
        is_due
    }

    /// When to call [`NotificationPoint::poll`], if a notification is owed.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.is_owed.then_some(self.ready_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: Nanos = Nanos(50_000);

    #[test]
    fn mark_is_reported_at_once_and_the_next_one_an_interval_later() {
        let mut point = NotificationPoint::new(D);
        let start = Nanos(1_000);
        assert_eq!((point.poll(start), point.poll_timeout()), (false, None));
        point.handle_mark();
        assert_eq!((point.poll(start), point.poll(start)), (true, false));
        (0..1_000).for_each(|_| point.handle_mark());
        let end = start + D;
        assert_eq!(point.poll_timeout(), Some(end));
        assert_eq!(
            (point.poll(Nanos(end.0 - 1)), point.poll(end), point.poll(end)),
            (false, true, false)
        );
        assert_eq!((point.poll_timeout(), point.poll(Nanos(u64::MAX / 2))), (None, false));
    }

    #[test]
    fn interval_begins_when_the_notification_leaves() {
        let mut point = NotificationPoint::new(D);
        point.handle_mark();
        let late = Nanos(D.0 * 3 + 7);
        assert!(point.poll(late));
        point.handle_mark();
        assert_eq!((point.poll(Nanos(late.0 + D.0 - 1)), point.poll(late + D)), (false, true));
    }
}
