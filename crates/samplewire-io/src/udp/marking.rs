//! The ECN bits that a socket gives to what leaves without bits of its own.

use crate::link::Ecn;

/// Follows what most calls send: their packets then leave without a control message, which costs the
/// kernel its look at the message and the route that the socket keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marking {
    own: Ecn,
    /// Calls with other bits, less those with these.
    others: u32,
}

impl Marking {
    /// Of a socket as it was opened.
    pub(super) const fn new() -> Self {
        Self { own: Ecn::NotEct, others: 0 }
    }

    /// What the socket marks packets with.
    pub(super) const fn own(self) -> Ecn {
        self.own
    }

    /// Packets with `ecn` are about to leave; says what the socket is to be set to, if anything.
    pub(super) fn note(&mut self, ecn: Ecn) -> Option<Ecn> {
        if ecn == self.own {
            self.others = self.others.saturating_sub(1);
            return None;
        }
        self.others += 1;
        if self.others < OTHERS_MAX {
            return None;
        }
        self.others = 0;
        Some(ecn)
    }

    /// The socket was set.
    pub(super) const fn set(&mut self, ecn: Ecn) {
        self.own = ecn;
    }
}

/// Setting it costs a call, and the route that the socket keeps.
const OTHERS_MAX: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_follows_what_most_calls_send() {
        let mut marking = Marking::new();
        let mut set = 0;
        for round in 0..1_000 {
            let ecn = if round % 3 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
            if let Some(ecn) = marking.note(ecn) {
                marking.set(ecn);
                set += 1;
            }
        }
        assert_eq!((marking.own(), set), (Ecn::Ect0, 1));
    }

    #[test]
    fn as_many_of_either_change_nothing() {
        let mut marking = Marking::new();
        for _ in 0..1_000 {
            assert_eq!((marking.note(Ecn::Ect0), marking.note(Ecn::NotEct)), (None, None));
        }
    }
}
