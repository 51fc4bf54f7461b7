//! What a [`Faults`](super::Faults) did, to be read while it runs and after it is gone.

use std::sync::{Arc, Mutex, MutexGuard};

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
            transmit: Counts::default(),
            receive: Counts::default(),
            entries: Vec::with_capacity(ENTRIES_MAX),
            left_out: 0,
        };
        Self { record: Arc::new(Mutex::new(record)) }
    }

    /// The counts of one direction.
    pub fn counts(&self, direction: Direction) -> Counts {
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

    pub(super) fn count(&self, direction: Direction, change: impl FnOnce(&mut Counts)) {
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

/// How often what was done in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came here, whatever happened to them.
    pub packets: u64,
    /// See [`Action::Lost`].
    pub lost: u64,
    /// See [`Action::QueueFull`].
    pub queue_full: u64,
    /// See [`Action::Corrupted`].
    pub corrupted: u64,
    /// See [`Action::Duplicated`].
    pub duplicated: u64,
    /// See [`Action::Reordered`].
    pub reordered: u64,
    /// Packets that were held for delay or rate; these are no entries of the list.
    pub delayed: u64,
    /// Packets that should have been held and were not, because the hold queue was full or the
    /// packet longer than its places: they passed at once, a duplicate not at all.
    pub undelayed: u64,
    /// Packets that were held, and that the link then refused to send: they did not arrive.
    pub refused: u64,
}

/// How many faults the list keeps.
pub const ENTRIES_MAX: usize = 65_536;

#[derive(Debug)]
struct Record {
    transmit: Counts,
    receive: Counts,
    entries: Vec<Entry>,
    left_out: u64,
}

impl Record {
    fn counts(&mut self, direction: Direction) -> &mut Counts {
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
        assert_eq!(log.counts(Direction::Transmit), Counts::default());
        assert_eq!(log.entries().len(), ENTRIES_MAX);
        assert_eq!(log.left_out(), 3);
    }
}
