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
    /// More stretches waited than a receiver must tell apart: blame may then fall on the holes of
    /// another.
    is_blurred: bool,
}

impl SocketDrops {
    pub(super) fn note(&mut self, packets: u32) {
        self.fresh += packets;
    }

    /// A packet came that shows `first..end` to be missing.
    pub(super) fn reveal(&mut self, first: Seq, end: Seq) {
        let packets = std::mem::take(&mut self.fresh).min(end - first);
        if packets > 0 {
            self.stretches.push_back(Stretch { first, end, packets });
            self.is_blurred |= self.stretches.len() > STRETCHES_MAX;
        }
    }

    /// Accounts for the next seq: whether the socket dropped it, given whether it was lost at first.
    pub(super) fn take(&mut self, seq: Seq, was_lost: bool) -> bool {
        while self.stretches.front().is_some_and(|stretch| !seq.before(stretch.end)) {
            self.stretches.pop_front();
        }
        match self.stretches.front_mut() {
            Some(stretch) if !seq.before(stretch.first) && was_lost && stretch.packets > 0 => {
                stretch.packets -= 1;
                true
            }
            _ => false,
        }
    }

    pub(super) const fn is_blurred(&self) -> bool {
        self.is_blurred
    }
}

const STRETCHES_MAX: usize = 32;
