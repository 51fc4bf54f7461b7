//! What a [`Faults`](super::Faults) did, to be read while it runs and after it is gone.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::counters::FaultCounts;

/// A handle to the list of faults; clones read the same list.
///
/// The first [`ENTRIES_MAX`] faults are kept one by one, the counts always hold all.
#[derive(Clone, Debug)]
pub struct FaultLog {
    record: Arc<Mutex<Record>>,
}

impl FaultLog {
    pub(super) fn new() -> Self {
        let record = Record {
            transmit: FaultCounts::default(),
            receive: FaultCounts::default(),
            entries: Vec::with_capacity(ENTRIES_MAX),
            left_out: 0,
        };
        Self { record: Arc::new(Mutex::new(record)) }
    }

    /// The counts of one direction.
    pub fn counts(&self, direction: Direction) -> FaultCounts {
        *self.record().counts(direction)
    }

    /// The faults in the order in which they were done, those that were kept.
    pub fn entries(&self) -> Vec<Entry> {
        self.record().entries.clone()
    }

    /// How many faults came after the list was full.
    pub fn left_out(&self) -> u64 {
        self.record().left_out
    }

    pub(super) fn count(&self, direction: Direction, change: impl FnOnce(&mut FaultCounts)) {
        change(self.record().counts(direction));
    }

    /// Counts a fault and keeps it if there is room.
    pub(super) fn enter(&self, entry: Entry) {
        let mut record = self.record();
        let counts = record.counts(entry.direction);
        *match entry.action {
            Action::Lost => &mut counts.lost,
            Action::QueueFull => &mut counts.queue_full,
            Action::Corrupted => &mut counts.corrupted,
            Action::Duplicated => &mut counts.duplicated,
            Action::Reordered => &mut counts.reordered,
        } += 1;
        if record.entries.len() < ENTRIES_MAX {
            record.entries.push(entry);
        } else {
            record.left_out += 1;
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("nothing panics while it holds this lock")
    }
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which way the packet went.
    pub direction: Direction,
    /// Its number in that direction, from 0, of all that passed here.
    pub ordinal: u64,
    /// Its packet type by number; see [`type_name`](super::type_name).
    pub packet_type: u8,
    /// Its seq field, 0 where it is too short for one.
    pub seq: u32,
    /// What was done to it.
    pub action: Action,
}

/// Which way a packet goes, seen from the link's user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It is sent.
    Transmit,
    /// It is received.
    Receive,
}

/// What is done to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It does not arrive.
    Lost,
    /// It does not arrive, because the queue before the slowest hop was full.
    QueueFull,
    /// Bytes of it change.
    Corrupted,
    /// It arrives twice.
    Duplicated,
    /// Later ones pass before it.
    Reordered,
}

/// How many faults the list keeps.
pub const ENTRIES_MAX: usize = 65_536;

#[derive(Debug)]
struct Record {
    transmit: FaultCounts,
    receive: FaultCounts,
    entries: Vec<Entry>,
    left_out: u64,
}

impl Record {
    fn counts(&mut self, direction: Direction) -> &mut FaultCounts {
        match direction {
            Direction::Transmit => &mut self.transmit,
            Direction::Receive => &mut self.receive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_where_the_list_is_full() {
        let log = FaultLog::new();
        let entry = Entry {
            direction: Direction::Receive,
            ordinal: 9,
            packet_type: 0,
            seq: 5,
            action: Action::Lost,
        };
        for _ in 0..ENTRIES_MAX + 3 {
            log.enter(entry);
        }
        assert_eq!(log.counts(Direction::Receive).lost, ENTRIES_MAX as u64 + 3);
        assert_eq!(log.counts(Direction::Transmit), FaultCounts::default());
        assert_eq!(log.entries().len(), ENTRIES_MAX);
        assert_eq!(log.left_out(), 3);
    }
}
