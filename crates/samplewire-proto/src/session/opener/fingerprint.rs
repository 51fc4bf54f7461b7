//! An opener's state for a search.

use super::{Opener, State};
use crate::fingerprint::Fingerprint;
use crate::number::Nanos;
use crate::session::cookie::NONCE_STEPS;

impl Opener {
    /// Passes all that decides how the opening goes on.
    pub fn fingerprint(&self, now: Nanos, into: &mut impl Fingerprint) {
        into.word(self.phase() as u64);
        into.name(self.tag.0.into());
        into.name(self.nonce.into());
        into.name((self.nonce | NONCE_STEPS).into());
        into.word(self.refused_size.is_some().into());
        into.word(self.event.is_some().into());
        let Some(tries) = self.tries() else { return };
        into.word(tries.count.into());
        into.instant(now, tries.next_at);
        into.instant(now, self.give_up_at);
        if let Some(rtt) = self.rtt {
            into.span(rtt);
        }
        if let State::Trying { cookie, packet_bytes, .. } = self.state {
            into.name(u128::from_be_bytes(cookie));
            into.word(packet_bytes.into());
        }
    }
}
