//! Packets that are on their way: a bounded queue in memory that is taken once, ordered by time.
//!
//! A packet enters either with a delay, or behind a number of packets that must pass first. What
//! is due leaves in the order of its time, and of entering where that is equal.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use crate::batch::Meta;

/// The packets held back in one direction.
#[derive(Debug)]
pub(super) struct HoldQueue {
    arena: Box<[u8]>,
    stride_bytes: usize,
    held: Box<[Held]>,
    free: Vec<u32>,
    due: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    behind: Vec<Behind>,
    behind_max: usize,
    entered: u64,
}

impl HoldQueue {
    /// Takes memory for `packets_max` packets of `packet_bytes_max` bytes; longer ones are
    /// refused.
    pub(super) fn new(packets_max: usize, packet_bytes_max: usize) -> Self {
        let packets = u32::try_from(packets_max).expect("FaultSpec bounds it");
        Self {
            arena: vec![0; packets_max * packet_bytes_max].into_boxed_slice(),
            stride_bytes: packet_bytes_max,
            held: vec![Held { len_bytes: 0, meta: Meta::NONE }; packets_max].into_boxed_slice(),
            free: (0..packets).rev().collect(),
            due: BinaryHeap::with_capacity(packets_max),
            behind: Vec::with_capacity(packets_max.min(BEHIND_MAX)),
            behind_max: packets_max.min(BEHIND_MAX),
            entered: 0,
        }
    }

    /// Takes a packet that is due at `until`; false at the bound.
    pub(super) fn hold(&mut self, until: Instant, bytes: &[u8], meta: Meta) -> bool {
        let Some(slot) = self.store(bytes, meta) else { return false };
        self.schedule(until, slot);
        true
    }

    /// Takes a packet that enters once `packets` later ones have, or at `limit`, and is due
    /// `delay` after that; false at the bound.
    pub(super) fn hold_behind(
        &mut self,
        packets: u32,
        limit: Instant,
        delay: Duration,
        bytes: &[u8],
        meta: Meta,
    ) -> bool {
        if self.behind.len() == self.behind_max {
            return false;
        }
        let Some(slot) = self.store(bytes, meta) else { return false };
        self.behind.push(Behind { packets, limit, delay, slot });
        true
    }

    /// Counts `packets` that have passed those which wait behind some.
    pub(super) fn passed(&mut self, packets: usize, now: Instant) {
        let mut index = 0;
        while let Some(behind) = self.behind.get_mut(index) {
            behind.packets = behind.packets.saturating_sub(packets as u32);
            if behind.packets == 0 {
                let Behind { delay, slot, .. } = self.behind.remove(index);
                self.schedule(now + delay, slot);
            } else {
                index += 1;
            }
        }
    }

    /// How many packets can pass before one of those behind must enter; `usize::MAX` for none.
    pub(super) fn until_next_enters(&self) -> usize {
        self.behind.iter().map(|behind| behind.packets as usize).min().unwrap_or(usize::MAX)
    }

    /// When something is due next.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let limits = self.behind.iter().map(|behind| behind.limit + behind.delay);
        let due = self.due.peek().map(|Reverse((due, ..))| *due);
        limits.chain(due).min()
    }

    /// The packet that is due at `now`, if there is one.
    pub(super) fn first_due(&mut self, now: Instant) -> Option<(&[u8], Meta)> {
        while let Some(index) = self.behind.iter().position(|behind| behind.limit <= now) {
            let Behind { limit, delay, slot, .. } = self.behind.remove(index);
            self.schedule(limit + delay, slot);
        }
        let Reverse((due, _, slot)) = *self.due.peek()?;
        if due > now {
            return None;
        }
        let Held { len_bytes, meta } = self.held[slot as usize];
        let start = slot as usize * self.stride_bytes;
        Some((&self.arena[start..start + len_bytes], meta))
    }

    /// Forgets the packet that `first_due` gave.
    pub(super) fn remove_first(&mut self) {
        if let Some(Reverse((_, _, slot))) = self.due.pop() {
            self.free.push(slot);
        }
    }

    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty() && self.behind.is_empty()
    }

    /// Whether it holds as many packets as it can.
    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    fn store(&mut self, bytes: &[u8], meta: Meta) -> Option<u32> {
        if bytes.len() > self.stride_bytes {
            return None;
        }
        let slot = self.free.pop()?;
        let start = slot as usize * self.stride_bytes;
        self.arena[start..start + bytes.len()].copy_from_slice(bytes);
        self.held[slot as usize] = Held { len_bytes: bytes.len(), meta };
        Some(slot)
    }

    fn schedule(&mut self, due: Instant, slot: u32) {
        self.due.push(Reverse((due, self.entered, slot)));
        self.entered += 1;
    }
}

#[derive(Clone, Copy, Debug)]
struct Held {
    len_bytes: usize,
    meta: Meta,
}

/// A packet that waits for others to pass.
#[derive(Clone, Copy, Debug)]
struct Behind {
    packets: u32,
    limit: Instant,
    delay: Duration,
    slot: u32,
}

/// Each packet that passes looks at all of these.
const BEHIND_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn due(queue: &mut HoldQueue, now: Instant) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some((bytes, _)) = queue.first_due(now) {
            all.extend_from_slice(bytes);
            queue.remove_first();
        }
        all
    }

    #[test]
    fn packets_leave_by_their_time_and_then_by_their_order() {
        let (mut queue, start) = (HoldQueue::new(8, 4), Instant::now());
        for (after, name) in [(2, b"c"), (1, b"a"), (2, b"d"), (1, b"b")] {
            assert!(queue.hold(start + after * MS, name, Meta::NONE));
        }
        assert_eq!(queue.next_due(), Some(start + MS));
        assert_eq!(due(&mut queue, start), b"");
        assert_eq!(due(&mut queue, start + MS), b"ab");
        assert_eq!(due(&mut queue, start + 5 * MS), b"cd");
        assert!(queue.is_empty());
    }

    #[test]
    fn bound_refuses_and_slots_are_used_again() {
        let (mut queue, now) = (HoldQueue::new(2, 4), Instant::now());
        for _ in 0..3 {
            assert!(queue.hold(now, b"1", Meta::NONE));
            assert!(queue.hold(now, b"2", Meta::NONE));
            assert!(!queue.hold(now, b"3", Meta::NONE));
            assert_eq!(due(&mut queue, now), b"12");
        }
        assert!(!queue.hold(now, b"12345", Meta::NONE));
    }

    #[test]
    fn packet_behind_two_enters_after_exactly_two() {
        let (mut queue, now) = (HoldQueue::new(4, 4), Instant::now());
        assert!(queue.hold_behind(2, now + MS, Duration::ZERO, b"x", Meta::NONE));
        assert_eq!(queue.until_next_enters(), 2);
        queue.passed(1, now);
        assert_eq!(due(&mut queue, now), b"");
        queue.passed(1, now);
        assert_eq!(due(&mut queue, now), b"x");
        assert_eq!(queue.until_next_enters(), usize::MAX);
    }

    #[test]
    fn packet_behind_others_that_never_come_enters_at_its_limit() {
        let (mut queue, now) = (HoldQueue::new(4, 4), Instant::now());
        assert!(queue.hold_behind(2, now + MS, 2 * MS, b"x", Meta::NONE));
        assert_eq!(queue.next_due(), Some(now + 3 * MS));
        assert_eq!(due(&mut queue, now + 2 * MS), b"");
        assert_eq!(due(&mut queue, now + 3 * MS), b"x");
    }

    #[test]
    fn overtaken_packet_keeps_its_delay_behind_those_that_overtook() {
        let (mut queue, now) = (HoldQueue::new(4, 4), Instant::now());
        assert!(queue.hold_behind(1, now + 9 * MS, 5 * MS, b"x", Meta::NONE));
        assert!(queue.hold(now + MS + 5 * MS, b"y", Meta::NONE));
        queue.passed(1, now + MS);
        assert_eq!(due(&mut queue, now + 6 * MS), b"yx");
    }
}
