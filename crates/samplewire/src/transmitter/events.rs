//! Events of a device that plays: samples missing at their time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use samplewire_circuit::wait::Bell;
use samplewire_proto::SampleIndex;
use samplewire_proto::sender::SenderStats;

use super::shared::Shared;
use super::{SendError, WAIT_MAX};
use crate::deadline::Deadline;
use crate::sync::{Mutex, lock};

/// What happened to samples that a device had to play (`docs/protocol.md#6.10`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayEventKind {
    /// Packets came after their time, and were not played.
    Late,
    /// Samples were missing at their time, and zeros were played.
    Underflow,
}

/// Samples that a device did not have at their time.
///
/// A REPORT of a device states the index that it plays and the number of late packets. Only the end
/// of the stream states how many samples were missing. An underflow is reported at once if the
/// device has reached samples that were not sent, within a burst. Such a
/// [`PlayEventKind::Underflow`] is exact, and a long one is reported in consecutive pieces. Samples
/// missing for other reasons, such as a late repair, are one event at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayEvent {
    /// What happened.
    pub kind: PlayEventKind,
    /// The first index that may be affected.
    pub index: SampleIndex,
    /// The end of the affected range: the index that the device played when it reported this, or
    /// the index after the last. A late packet is late by at most about `end - index` samples.
    pub end: SampleIndex,
    /// Number of late packets, or of missing samples.
    pub count: u64,
    /// Events after this one that were dropped because the program took none.
    pub lost: u64,
}

/// Takes the events of a device that plays; works in any thread while another one sends.
#[derive(Clone, Debug)]
pub struct PlayEvents {
    pub(super) shared: Arc<Shared>,
}

impl PlayEvents {
    /// Returns the next event; `None` after `timeout`.
    ///
    /// # Errors
    /// The session has ended, and all its events have been taken; or the port failed.
    ///
    /// # Blocking
    /// At most for `timeout`. Where no I/O thread runs ([`Waits::Inline`](crate::Waits::Inline)) events
    /// come with the calls of the thread that sends.
    pub fn next_within(&self, timeout: Duration) -> Result<Option<PlayEvent>, SendError> {
        let deadline = Deadline::after(timeout);
        let bell = &self.shared.events.notices.bell;
        loop {
            if let Some(found) = self.look() {
                return found.map(Some);
            }
            let left = deadline.left();
            if left.is_zero() {
                return Ok(None);
            }
            bell.announce();
            if let Some(found) = self.look() {
                return found.map(Some);
            }
            bell.wait(left.min(WAIT_MAX));
        }
    }

    fn look(&self) -> Option<Result<PlayEvent, SendError>> {
        // The end is read first: all events come before it.
        let error = self.shared.error_of(Some(FIRST_SESSION));
        self.shared.events.pop().map(Ok).or(error.map(Err))
    }
}

/// Events that wait for the program.
#[derive(Debug)]
pub(super) struct EventQueue {
    /// Only program threads lock it: the I/O thread has the other end of the ring.
    waiting: Mutex<rtrb::Consumer<PlayEvent>>,
    notices: Arc<Notices>,
}

/// The I/O thread's end of an [`EventQueue`].
#[derive(Debug)]
pub(super) struct EventSender {
    ring: rtrb::Producer<PlayEvent>,
    notices: Arc<Notices>,
}

/// The state that both ends of the ring share.
#[derive(Debug)]
struct Notices {
    /// Events that were dropped since the program took one.
    lost: AtomicU64,
    /// Rings when an event comes, or the session ends.
    bell: Bell,
}

impl EventQueue {
    pub(super) fn new() -> (EventSender, Self) {
        let (ring, waiting) = rtrb::RingBuffer::new(EVENTS_MAX);
        let notices = Arc::new(Notices { lost: AtomicU64::new(0), bell: Bell::new() });
        let sender = EventSender { ring, notices: Arc::clone(&notices) };
        (sender, Self { waiting: Mutex::new(waiting), notices })
    }

    /// Takes the oldest event, merged with the following ones if they continue an underflow.
    fn pop(&self) -> Option<PlayEvent> {
        let mut waiting = lock(&self.waiting);
        let mut event = waiting.pop().ok()?;
        let goes_on = |event: &PlayEvent, next: &PlayEvent| {
            event.kind == PlayEventKind::Underflow
                && (next.kind, next.index) == (event.kind, event.end)
        };
        while waiting.peek().is_ok_and(|next| goes_on(&event, next))
            && let Ok(next) = waiting.pop()
        {
            (event.end, event.count) = (next.end, event.count + next.count);
        }
        // Relaxed: a count, which orders nothing.
        event.lost = self.notices.lost.swap(0, Ordering::Relaxed);
        Some(event)
    }
}

impl EventSender {
    /// Adds an event; `false` if there is no room.
    fn push(&mut self, event: PlayEvent) -> bool {
        let has_room = self.ring.push(event).is_ok();
        if has_room {
            self.ring_bell();
        }
        has_room
    }

    /// Adds an event, or counts it if there is no room.
    pub(super) fn push_or_count(&mut self, event: PlayEvent) {
        if !self.push(event) {
            // Relaxed: a count, which orders nothing.
            self.notices.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wakes a program that waits for an event: one has come, or the session has ended.
    pub(super) fn ring_bell(&self) {
        self.notices.bell.ring();
    }
}

/// Derives events from the REPORTs of one stream.
#[derive(Debug)]
pub(super) struct PlayWatch {
    first: SampleIndex,
    late_seen: u16,
    /// The played index in the last REPORT but one, and in the last.
    positions: [SampleIndex; 2],
    /// The lowest index known to be late: since the last event, and before it. A device counts a
    /// packet as late shortly after it has reported the packet as received.
    late_from: [Option<SampleIndex>; 2],
    /// Missing samples before this index were already reported.
    reported_to: SampleIndex,
    reported_samples: u64,
}

impl PlayWatch {
    pub(super) const fn new(first: SampleIndex) -> Self {
        let (positions, late_from) = ([first; 2], [None; 2]);
        Self { first, late_seen: 0, positions, late_from, reported_to: first, reported_samples: 0 }
    }

    /// Samples from `index` on were not at the device when it last reported.
    pub(super) fn note_absent(&mut self, index: SampleIndex) {
        if index < self.positions[1] {
            let [late_from, _] = &mut self.late_from;
            *late_from = Some(late_from.map_or(index, |it| it.min(index)));
        }
    }

    /// After a REPORT: `oldest` is the first packet that the device has not acknowledged, and
    /// `sent_end` is the end of the submitted samples.
    pub(super) fn take_report(
        &mut self,
        stats: &SenderStats,
        oldest: SampleIndex,
        sent_end: SampleIndex,
        is_in_burst: bool,
        events: &mut EventSender,
    ) {
        let position = stats.position_of_peer;
        let late_packets = stats.late_at_peer.wrapping_sub(self.late_seen);
        if late_packets > 0 {
            self.late_seen = stats.late_at_peer;
            let [newer, older] = self.late_from;
            // A packet that was late by less than the time of a REPORT was not known to be late.
            let index = newer.into_iter().chain(older).min().unwrap_or(self.positions[0]);
            self.late_from = [None, newer];
            let late = event(PlayEventKind::Late, index, position, late_packets.into());
            events.push_or_count(late);
        }
        self.positions = [self.positions[1], position];
        if oldest < sent_end {
            self.note_absent(oldest);
        }
        let missing_from = self.reported_to.max(sent_end);
        if is_in_burst && missing_from < position {
            let samples = position - missing_from;
            // If there is no room, a later event counts these samples too.
            if events.push(event(PlayEventKind::Underflow, missing_from, position, samples)) {
                (self.reported_to, self.reported_samples) =
                    (position, self.reported_samples + samples);
            }
        }
    }

    /// At the end: the missing samples that were not reported.
    pub(super) fn take_end(
        &self,
        stats: &SenderStats,
        final_index: SampleIndex,
    ) -> Option<PlayEvent> {
        let samples = stats.underflow_at_peer.saturating_sub(self.reported_samples);
        let end = stats.position_of_peer.max(final_index);
        (samples > 0).then(|| event(PlayEventKind::Underflow, self.first, end, samples))
    }
}

const fn event(kind: PlayEventKind, index: SampleIndex, end: SampleIndex, count: u64) -> PlayEvent {
    PlayEvent { kind, index, end, count, lost: 0 }
}

/// Capacity for events: several seconds of a device that reports late packets in each REPORT.
const EVENTS_MAX: usize = 256;

/// An opener has only one session.
const FIRST_SESSION: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(position: u64, late: u16, underflow: u64) -> SenderStats {
        let mut stats = SenderStats::default();
        (stats.position_of_peer, stats.late_at_peer) = (position, late);
        stats.underflow_at_peer = underflow;
        stats
    }

    #[test]
    fn late_packets_lie_between_what_was_absent_and_what_is_played() {
        let mut watch = PlayWatch::new(100);
        let (mut events, queue) = EventQueue::new();
        let mut report = |watch: &mut PlayWatch, stats: SenderStats, oldest| {
            watch.take_report(&stats, oldest, 900, false, &mut events);
        };
        report(&mut watch, stats(150, 0, 0), 900);
        report(&mut watch, stats(250, 3, 0), 240);
        // Held at 250, and due; the second count is of packets before its first REPORT.
        report(&mut watch, stats(350, 65_535, 0), 900);
        report(&mut watch, stats(360, 2, 0), 900);
        watch.note_absent(300);
        watch.note_absent(370);
        report(&mut watch, stats(450, 2, 0), 900);
        report(&mut watch, stats(550, 4, 0), 900);
        report(&mut watch, stats(650, 5, 0), 900);
        report(&mut watch, stats(750, 6, 0), 900);
        let events: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(
            events,
            [
                (100, 250, 3),
                (240, 350, 65_532),
                (240, 360, 3),
                (300, 550, 2),
                (300, 650, 1),
                (550, 750, 1)
            ]
            .map(|(index, end, count)| event(PlayEventKind::Late, index, end, count))
        );
    }

    #[test]
    fn underflow_is_reported_once_in_pieces_and_the_rest_at_the_end() {
        let mut watch = PlayWatch::new(0);
        let (mut events, queue) = EventQueue::new();
        let reports = [
            (50, (100, true)),
            (120, (100, true)),
            (140, (100, true)),
            (160, (150, true)),
            (260, (200, false)),
            (300, (270, true)),
        ];
        for (position, (sent_end, is_in_burst)) in reports {
            watch.take_report(&stats(position, 0, 0), 0, sent_end, is_in_burst, &mut events);
        }
        events
            .push_or_count(watch.take_end(&stats(300, 0, 90), 280).expect("10 were not reported"));
        assert!(watch.take_end(&stats(300, 0, 80), 280).is_none());
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(
            popped,
            [(100, 140, 40), (150, 160, 10), (270, 300, 30), (0, 300, 10)]
                .map(|(index, end, count)| event(PlayEventKind::Underflow, index, end, count))
        );
    }

    #[test]
    fn events_beyond_the_bound_are_counted_with_the_next() {
        let (mut events, queue) = EventQueue::new();
        for at in 0..EVENTS_MAX as u64 + 3 {
            events.push_or_count(event(PlayEventKind::Late, at, at + 1, 1));
        }
        assert_eq!(queue.pop().map(|event| (event.index, event.lost)), Some((0, 3)));
        assert_eq!(queue.pop().map(|event| (event.index, event.lost)), Some((1, 0)));
    }

    #[test]
    fn underflow_that_found_no_room_is_part_of_the_next_event() {
        let mut watch = PlayWatch::new(0);
        let (mut events, queue) = EventQueue::new();
        (0..EVENTS_MAX as u64)
            .for_each(|at| events.push_or_count(event(PlayEventKind::Late, at, at + 1, 1)));
        watch.take_report(&stats(120, 0, 0), 0, 100, true, &mut events);
        watch.take_report(&stats(140, 0, 0), 0, 100, true, &mut events);
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), EVENTS_MAX);
        watch.take_report(&stats(160, 0, 0), 0, 100, true, &mut events);
        assert_eq!(queue.pop(), Some(event(PlayEventKind::Underflow, 100, 160, 60)));
        assert!(watch.take_end(&stats(160, 0, 60), 100).is_none(), "all were reported");
    }
}
