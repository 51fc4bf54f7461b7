//! Which missing packets this host's socket dropped (`docs/protocol.md#6.3`).

use crate::number::Seq;

/// What the socket dropped, and the stretches of seq that it was dropped from.
#[derive(Clone, Debug)]
pub(super) struct Drops {
    /// Dropped since the newest packet came.
    fresh: u32,
    /// In order of seq, the first at `head`; the others follow around the end.
    stretches: [Stretch; STRETCHES_MAX],
    head: usize,
    len: usize,
}

/// What was missing between two packets that were the newest when they came.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: Seq,
    end: Seq,
    /// How many of them the socket dropped.
    packets: u32,
}

impl Drops {
    pub(super) const fn new() -> Self {
        let stretch = Stretch { first: Seq(0), end: Seq(0), packets: 0 };
        Self { fresh: 0, stretches: [stretch; STRETCHES_MAX], head: 0, len: 0 }
    }

    /// The socket has dropped `packets` since the last call.
    pub(super) const fn note(&mut self, packets: u32) {
        self.fresh = self.fresh.saturating_add(packets);
    }

    /// A packet came that is newer than all before: `first..end` is missing before it. Drops that
    /// left no hole there were of duplicates, repeats or control packets.
    pub(super) fn reveal(&mut self, first: Seq, end: Seq) {
        let packets = core::mem::take(&mut self.fresh).min(end - first);
        if packets == 0 {
            return;
        }
        if self.len == STRETCHES_MAX {
            let last = &mut self.stretches[(self.head + self.len - 1) % STRETCHES_MAX];
            last.end = end;
            last.packets += packets;
        } else {
            let stretch = Stretch { first, end, packets };
            self.stretches[(self.head + self.len) % STRETCHES_MAX] = stretch;
            self.len += 1;
        }
    }

    /// Accounts for `seq`, which follows on the last: whether it is one that the socket dropped.
    /// Of a stretch these are the first that were lost, repaired or not.
    pub(super) fn settle(&mut self, seq: Seq, was_lost: bool) -> bool {
        if self.len == 0 {
            return false;
        }
        let stretch = &mut self.stretches[self.head];
        if seq.before(stretch.first) {
            return false;
        }
        let is_own = was_lost && stretch.packets > 0;
        stretch.packets -= u32::from(is_own);
        if seq + 1 == stretch.end {
            self.head = (self.head + 1) % STRETCHES_MAX;
            self.len -= 1;
        }
        is_own
    }
}

/// Stretches with drops that are kept apart within the window. Beyond them the last two become one;
/// then drops of one may count for a hole of the other.
const STRETCHES_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of `0..end` the socket is blamed for, of those that `is_lost`.
    fn blamed(drops: &mut Drops, end: u32, is_lost: impl Fn(u32) -> bool) -> Vec<u32> {
        (0..end).filter(|&seq| drops.settle(Seq(seq), is_lost(seq))).collect()
    }

    #[test]
    fn drops_belong_to_what_is_missing_between_two_packets() {
        let mut drops = Drops::new();
        drops.reveal(Seq(1), Seq(3));
        drops.note(1);
        drops.reveal(Seq(4), Seq(7));
        drops.reveal(Seq(8), Seq(9));
        assert_eq!(blamed(&mut drops, 10, |seq| [1, 2, 4, 5, 6, 8].contains(&seq)), [4]);
    }

    #[test]
    fn packet_that_was_only_late_leaves_the_blame_to_another() {
        let mut drops = Drops::new();
        drops.note(1);
        drops.reveal(Seq(1), Seq(3));
        assert_eq!(blamed(&mut drops, 4, |seq| seq == 2), [2], "1 came without a repair");
    }

    #[test]
    fn drops_without_a_hole_are_of_something_else() {
        let mut drops = Drops::new();
        drops.note(3);
        drops.reveal(Seq(5), Seq(5));
        drops.reveal(Seq(6), Seq(8));
        assert!(blamed(&mut drops, 9, |_| true).is_empty());
    }

    #[test]
    fn stretches_beyond_the_bound_keep_their_number() {
        let mut drops = Drops::new();
        let stretches = 2 * STRETCHES_MAX as u32;
        for first in (0..stretches).map(|at| 10 * at) {
            drops.note(2);
            drops.reveal(Seq(first), Seq(first + 4));
        }
        let is_hole = |seq: u32| seq % 10 < 4;
        assert_eq!(blamed(&mut drops, 10 * stretches, is_hole).len() as u32, 2 * stretches);
        assert_eq!(drops.len, 0);
    }
}
