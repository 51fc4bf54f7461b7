//! Which peer has a stream, for a search.

use super::{LIFETIME_MAX, StreamSlot};
use crate::fingerprint::{Fingerprint, Stamper};
use crate::number::Nanos;

impl StreamSlot {
    pub(in crate::session) fn fingerprint(&self, now: Nanos, into: &mut impl Fingerprint) {
        into.word(self.opened.is_some().into());
        if let Some(opened) = self.opened {
            let request = opened.request;
            into.name(request.nonce.into());
            into.name(opened.tag.0.into());
            into.word(request.owner);
            into.departure(Stamper::Opener(request.peer), request.departure);
            into.instant(now, opened.at + LIFETIME_MAX);
        }
        for ended in self.ended.iter().flatten() {
            into.name(ended.nonce.into());
            into.instant(now, ended.at + LIFETIME_MAX);
        }
    }
}
