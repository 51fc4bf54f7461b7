//! A listener's state for a search.

use super::Listener;
use crate::fingerprint::Fingerprint;
use crate::number::Nanos;
use crate::session::StreamSlot;

impl<S: AsRef<[StreamSlot]> + AsMut<[StreamSlot]>> Listener<S> {
    /// Passes which peer has, and which peer had, each stream. The buckets of answers and the key
    /// of cookies are left out. No answer or event may wait to be fetched.
    pub fn fingerprint(&self, now: Nanos, into: &mut impl Fingerprint) {
        for slot in self.slots.as_ref() {
            slot.fingerprint(now, into);
        }
    }
}
