//! Events of a device that plays: what it did not have at its time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use samplewire_circuit::wait::Bell;
use samplewire_proto::SampleIndex;
use samplewire_proto::sender::SenderStats;

use super::shared::Shared;
use super::{SendError, WAIT_MAX};
use crate::sync::{Mutex, lock};

/// What happened to samples that a device was to play (`docs/protocol.md#6.10`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayEventKind {
    /// Packets came after their time, and were not played.
    Late,
    /// Samples were not there at their time, and zeros were played.
    Underflow,
}

/// Samples that a device did not have at their time.
///
/// A device's REPORT says which index it plays and how many packets were late, and only the
/// stream's end says how many samples lacked. So [`PlayEventKind::Underflow`] is told at once where
/// the device has come to what was not sent, in a burst that has not ended; then it is exact, and
/// one that goes on is told in pieces that follow one another. What lacked for other reasons, as a
/// repair that came too late, is one event at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayEvent {
    /// What happened.
    pub kind: PlayEventKind,
    /// It happened to samples of this index or later ones.
    pub index: SampleIndex,
    /// And to samples before this index: what the device played when it said so, or the index after
    /// the last. What is late is so by about `end - index` samples at most.
    pub end: SampleIndex,
    /// How many packets were late, or samples lacked.
    pub count: u64,
    /// Events after this one that found no room, since the program took none.
    pub lost: u64,
}

/// Takes the events of a device that plays, in any thread, while another sends.
#[derive(Clone, Debug)]
pub struct PlayEvents {
    pub(super) shared: Arc<Shared>,
}

impl PlayEvents {
    /// The next event; `None` when none comes within `timeout`.
    ///
    /// # Errors
    /// The session has ended, and all its events have been taken; or the port failed.
    ///
    /// # Blocking
    /// At most for `timeout`. Where no I/O thread runs ([`Waits::Inline`](crate::Waits::Inline)) events
    /// come with the calls of the thread that sends.
    pub fn next_within(&self, timeout: Duration) -> Result<Option<PlayEvent>, SendError> {
        let until = Instant::now().checked_add(timeout);
        let events = &self.shared.events;
        loop {
            if let Some(found) = self.look() {
                return found.map(Some);
            }
            let left = until.map_or(WAIT_MAX, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            events.bell.announce();
            if let Some(found) = self.look() {
                return found.map(Some);
            }
            events.bell.wait(left.min(WAIT_MAX));
        }
    }

    fn look(&self) -> Option<Result<PlayEvent, SendError>> {
        // The end is looked at first: all events come before it.
        let error = super::session_error(&self.shared, FIRST_SESSION);
        self.shared.events.pop().map(Ok).or(error.map(Err))
    }
}

/// Events that wait for the program.
#[derive(Debug)]
pub(super) struct EventQueue {
    waiting: Mutex<Waiting>,
    /// Rings when an event comes, or the session ends.
    pub(super) bell: Bell,
}

#[derive(Debug)]
struct Waiting {
    events: VecDeque<PlayEvent>,
    lost: u64,
}

impl EventQueue {
    pub(super) fn new() -> Self {
        let waiting = Waiting { events: VecDeque::with_capacity(EVENTS_MAX), lost: 0 };
        Self { waiting: Mutex::new(waiting), bell: Bell::new() }
    }

    /// Adds an event, to the newest where that goes on, and counts it where there is no room.
    pub(super) fn push(&self, event: PlayEvent) {
        let mut waiting = lock(&self.waiting);
        let goes_on = |last: &&mut PlayEvent| {
            event.kind == PlayEventKind::Underflow
                && (last.kind, last.end) == (event.kind, event.index)
        };
        if let Some(last) = waiting.events.back_mut().filter(goes_on) {
            (last.end, last.count) = (event.end, last.count + event.count);
        } else if waiting.events.len() < EVENTS_MAX {
            waiting.events.push_back(event);
        } else {
            waiting.lost += 1;
        }
        drop(waiting);
        self.bell.ring();
    }

    fn pop(&self) -> Option<PlayEvent> {
        let mut waiting = lock(&self.waiting);
        let event = waiting.events.pop_front()?;
        Some(PlayEvent { lost: std::mem::take(&mut waiting.lost), ..event })
    }
}

/// Makes events of what the REPORTs of one stream say.
#[derive(Debug)]
pub(super) struct PlayWatch {
    first: SampleIndex,
    late_seen: u16,
    /// What the device played by the last REPORT but one, and by the last.
    positions: [SampleIndex; 2],
    /// The lowest index that is known to come late, or to have come so: since the last event, and
    /// before it. A device counts a packet as late a little after it has said that it came.
    late_from: [Option<SampleIndex>; 2],
    /// The index up to which was told what lacks.
    told_to: SampleIndex,
    told_samples: u64,
}

impl PlayWatch {
    pub(super) const fn new(first: SampleIndex) -> Self {
        let (positions, late_from) = ([first; 2], [None; 2]);
        Self { first, late_seen: 0, positions, late_from, told_to: first, told_samples: 0 }
    }

    /// Samples from `index` on were not with the device when it last reported.
    pub(super) fn note_absent(&mut self, index: SampleIndex) {
        if index < self.positions[1] {
            let [late_from, _] = &mut self.late_from;
            *late_from = Some(late_from.map_or(index, |it| it.min(index)));
        }
    }

    /// After a REPORT: what the device has not said to have begins at `oldest`, and `sent_end` is the
    /// end of what was given to be sent.
    pub(super) fn take_report(
        &mut self,
        stats: &SenderStats,
        oldest: SampleIndex,
        (sent_end, is_in_burst): (SampleIndex, bool),
        mut tell: impl FnMut(PlayEvent),
    ) {
        let position = stats.position_of_peer;
        let late_packets = stats.late_at_peer.wrapping_sub(self.late_seen);
        if late_packets > 0 {
            self.late_seen = stats.late_at_peer;
            let [newer, older] = self.late_from;
            // What came late by less than a REPORT's time was not known to.
            let index = newer.into_iter().chain(older).min().unwrap_or(self.positions[0]);
            self.late_from = [None, newer];
            tell(event(PlayEventKind::Late, index, position, late_packets.into()));
        }
        self.positions = [self.positions[1], position];
        if oldest < sent_end {
            self.note_absent(oldest);
        }
        let lacks_from = self.told_to.max(sent_end);
        if is_in_burst && lacks_from < position {
            let samples = position - lacks_from;
            (self.told_to, self.told_samples) = (position, self.told_samples + samples);
            tell(event(PlayEventKind::Underflow, lacks_from, position, samples));
        }
    }

    /// At the end: what lacked and was not told.
    pub(super) fn take_end(
        &self,
        stats: &SenderStats,
        final_index: SampleIndex,
    ) -> Option<PlayEvent> {
        let samples = stats.underflow_at_peer.saturating_sub(self.told_samples);
        let end = stats.position_of_peer.max(final_index);
        (samples > 0).then(|| event(PlayEventKind::Underflow, self.first, end, samples))
    }
}

const fn event(kind: PlayEventKind, index: SampleIndex, end: SampleIndex, count: u64) -> PlayEvent {
    PlayEvent { kind, index, end, count, lost: 0 }
}

/// Events that wait; some seconds of a device that has each REPORT tell of late packets.
const EVENTS_MAX: usize = 256;

/// Who opens has one session.
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
        let mut told = vec![];
        let mut report = |watch: &mut PlayWatch, stats: SenderStats, oldest| {
            watch.take_report(&stats, oldest, (900, false), |event| told.push(event));
        };
        report(&mut watch, stats(150, 0, 0), 900);
        report(&mut watch, stats(250, 3, 0), 240);
        // Held at 250, and due; the second count is of what came before the first report of it.
        report(&mut watch, stats(350, 65_535, 0), 900);
        report(&mut watch, stats(360, 2, 0), 900);
        watch.note_absent(300);
        watch.note_absent(370);
        report(&mut watch, stats(450, 2, 0), 900);
        report(&mut watch, stats(550, 4, 0), 900);
        report(&mut watch, stats(650, 5, 0), 900);
        report(&mut watch, stats(750, 6, 0), 900);
        assert_eq!(
            told,
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
    fn underflow_is_told_once_in_pieces_and_the_rest_at_the_end() {
        let mut watch = PlayWatch::new(0);
        let queue = EventQueue::new();
        let reports = [
            (50, (100, true)),
            (120, (100, true)),
            (140, (100, true)),
            (160, (150, true)),
            (260, (200, false)),
            (300, (270, true)),
        ];
        for (position, sent) in reports {
            watch.take_report(&stats(position, 0, 0), 0, sent, |event| queue.push(event));
        }
        queue.push(watch.take_end(&stats(300, 0, 90), 280).expect("10 were not told"));
        assert!(watch.take_end(&stats(300, 0, 80), 280).is_none());
        let told: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(
            told,
            [(100, 140, 40), (150, 160, 10), (270, 300, 30), (0, 300, 10)]
                .map(|(index, end, count)| event(PlayEventKind::Underflow, index, end, count))
        );
    }

    #[test]
    fn events_beyond_the_bound_are_counted_with_the_next() {
        let queue = EventQueue::new();
        for at in 0..EVENTS_MAX as u64 + 3 {
            queue.push(event(PlayEventKind::Late, at, at + 1, 1));
        }
        assert_eq!(queue.pop().map(|event| (event.index, event.lost)), Some((0, 3)));
        assert_eq!(queue.pop().map(|event| (event.index, event.lost)), Some((1, 0)));
    }
}
