//! Which missing packets a socket dropped, by the simulator's own count of its drops
//! (`docs/protocol.md#6.3`).

use std::collections::VecDeque;

use samplewire_proto::Seq;

/// The drops between two packets that were each the newest when they came, and the holes that these
/// two left between them.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    end: Seq,
    first: Seq,
    /// Holes that the socket is still to be blamed for.
    packets: u32,
}

/// The stretches of one stream, in order of seq.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketDrops {
    /// Dropped since the newest packet came.
    fresh: u32,
    stretches: VecDeque<Stretch>,
}

impl SocketDrops {
    pub(super) fn note(&mut self, packets: u32) {
        self.fresh += packets;
    }

    /// A packet came that shows `first..end` to be missing.
    pub(super) fn reveal(&mut self, first: Seq, end: Seq) {
        let packets = std::mem::take(&mut self.fresh).min(end - first);
        if packets == 0 {
            return;
        }
        if self.stretches.len() < STRETCHES_MAX {
            self.stretches.push_back(Stretch { first, end, packets });
        } else if let Some(last) = self.stretches.back_mut() {
            (last.end, last.packets) = (end, last.packets + packets);
        }
    }

    /// Accounts for the next seq: whether the socket dropped it, given whether it was lost at first.
    pub(super) fn take(&mut self, seq: Seq, was_lost: bool) -> bool {
        let is_own = match self.stretches.front_mut() {
            Some(stretch) if !seq.before(stretch.first) && was_lost && stretch.packets > 0 => {
                stretch.packets -= 1;
                true
            }
            _ => false,
        };
        while self.stretches.front().is_some_and(|stretch| !(seq + 1).before(stretch.end)) {
            self.stretches.pop_front();
        }
        is_own
    }
}

/// Stretches that a receiver keeps apart; what follows counts as part of the last.
const STRETCHES_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_beyond_the_bound_count_as_of_the_last() {
        let mut drops = SocketDrops::default();
        // Of each stretch of two holes the socket dropped one.
        for first in (0..).step_by(10).take(STRETCHES_MAX + 1) {
            drops.note(1);
            drops.reveal(Seq(first), Seq(first + 2));
        }
        let end = 10 * (STRETCHES_MAX as u32 + 1);
        let blamed: Vec<u32> = (0..end).filter(|&seq| drops.take(Seq(seq), seq % 10 < 2)).collect();
        let last = end - 20;
        assert_eq!(&blamed[blamed.len() - 3..], [last - 10, last, last + 1]);
    }
}
