//! A listener's state for a search.

use super::Listener;
use crate::fingerprint::Fingerprint;
use crate::number::Nanos;
use crate::session::StreamSlot;

impl<S: AsRef<[StreamSlot]> + AsMut<[StreamSlot]>> Listener<S> {
    /// Tells who has which stream, and who had it: the buckets of answers and the key of cookies
    /// are left out, and nothing waits to be fetched.
    pub fn fingerprint(&self, now: Nanos, into: &mut impl Fingerprint) {
        for slot in self.slots.as_ref() {
            slot.fingerprint(now, into);
        }
    }
}
