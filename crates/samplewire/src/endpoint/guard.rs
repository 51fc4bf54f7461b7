//! Decides when the kernel drops packets with unknown tags, before they take room in the socket.
//!
//! An attacker that knows the addresses and ports of a stream, but not its tags, can send packets
//! in the name of the device. A few such packets are counted here and do no harm; many would fill
//! the socket. The filter has a cost: it disables joined packets and the count of drops. So it is
//! removed when the flood ends.

use samplewire_io::{Favoured, Link};
use samplewire_proto::{Nanos, Tag};

use crate::port::{echoed_tag_word, tag_word};

/// The state of the filter.
#[derive(Debug)]
pub(super) struct Guard {
    strays: u64,
    /// When the filter is removed, while it is active.
    until: Option<Nanos>,
    /// How long it stays the next time.
    hold: Nanos,
}

impl Guard {
    pub(super) const fn new() -> Self {
        Self { strays: 0, until: None, hold: HOLD_MIN }
    }

    /// Takes the number of strays so far, some milliseconds after the last call. Removes the link's
    /// filter when its time is over. Returns whether the filter must be raised.
    pub(super) fn watch(&mut self, now: Nanos, strays: u64, link: &mut dyn Link) -> bool {
        let is_flood = strays - self.strays >= FLOOD_PACKETS;
        self.strays = strays;
        if self.until.is_some_and(|until| now >= until) {
            self.lower(link);
        }
        is_flood && self.until.is_none()
    }

    /// Accepts only packets with one of the tags `local`, and answers of devices that no longer
    /// know a stream, which echo one of their tags, `peer` (`docs/protocol.md#7.6`).
    pub(super) fn raise(&mut self, now: Nanos, local: &[u32], peer: &[u32], link: &mut dyn Link) {
        let unknown = [tag_word(&[Tag::NONE.0]), echoed_tag_word(peer)];
        let favoured = Favoured { alternatives: &[&[tag_word(local)], &unknown] };
        if link.favour(Some(&favoured)) {
            self.until = Some(now + self.hold);
            self.hold = Nanos(self.hold.0 * 2).min(HOLD_MAX);
        }
    }

    /// Removes the filter.
    pub(super) fn lower(&mut self, link: &mut dyn Link) {
        if self.until.take().is_some() {
            link.favour(None);
        }
    }
}

/// The tag of a packet that may be damaged, if it has one.
pub(super) fn tag_of(bytes: &[u8]) -> Option<Tag> {
    let at = usize::from(tag_word(&[]).offset_bytes);
    let tag = bytes.get(at..)?.first_chunk()?;
    Some(Tag(u32::from_be_bytes(*tag)))
}

/// This many strays between two checks, 2 to 20 ms apart, are a flood.
const FLOOD_PACKETS: u64 = 256;

/// How long the filter stays at first; twice as long after each flood that returns.
const HOLD_MIN: Nanos = Nanos::from_millis(1_000);
const HOLD_MAX: Nanos = Nanos::from_millis(64_000);

#[cfg(test)]
mod tests {
    use samplewire_io::memory;

    use super::super::filtering::Filtering;
    use super::*;

    const LOCAL: Tag = Tag(0x0102_0304);
    const PEER: Tag = Tag(0x0506_0708);

    #[test]
    fn filter_comes_with_a_flood_and_goes_after_a_while() {
        let (near, _far) = memory::pair(1, 100, 100).unwrap();
        let (mut link, seen) = Filtering::new(near);
        let mut guard = Guard::new();
        let mut watch = |at_ms, strays| {
            let now = Nanos::from_millis(at_ms);
            if guard.watch(now, strays, &mut link) {
                guard.raise(now, &[LOCAL.0], &[PEER.0], &mut link);
            }
            seen.filter()
        };
        watch(0, 255);
        assert!(watch(20, 510).is_empty(), "strays that do no harm");
        watch(40, 766);
        assert_eq!(watch(1_039, 766), [true]);
        assert_eq!(watch(1_040, 766), [true, false]);
        watch(1_060, 9_999);
        assert_eq!(watch(3_059, 9_999), [true, false, true], "twice as long");
        assert_eq!(watch(3_060, 9_999), [true, false, true, false]);
    }

    #[test]
    fn tag_is_read_where_a_damaged_packet_has_one() {
        assert_eq!(tag_of(&[0x10, 0, 1, 2, 3, 4, 9]), Some(LOCAL));
        assert_eq!(tag_of(&[0x10, 0, 1, 2, 3, 4]), Some(LOCAL));
        assert_eq!(tag_of(&[0x10, 0, 1, 2, 3]), None);
    }
}
