//! Says when the kernel is to drop packets of other tags before they take room in the socket.
//!
//! Whoever knows the addresses and ports of a stream, and not its tags, can send as if from the
//! device. A few such packets are counted here and do no harm; many would fill the socket. The
//! filter has a price, no joined packets and no count of drops, so it goes when the flood does.

use samplewire_io::{Link, Word};
use samplewire_proto::{Nanos, Tag};

use crate::port::{echoed_tag_word, tag_word};

/// The state of the filter.
#[derive(Debug)]
pub(super) struct Guard {
    /// The stream's own packets.
    own: [Word; 1],
    /// The answer of a device that knows the stream no more (`docs/protocol.md#7.6`).
    unknown: [Word; 2],
    strays: u64,
    /// Until when it stays, while it is there.
    until: Option<Nanos>,
    /// How long it stays the next time.
    hold: Nanos,
}

impl Guard {
    pub(super) const fn new(local: Tag, peer: Tag) -> Self {
        Self {
            own: [tag_word(local)],
            unknown: [tag_word(Tag::NONE), echoed_tag_word(peer)],
            strays: 0,
            until: None,
            hold: HOLD_MIN,
        }
    }

    /// Whether packet `bytes` carries another tag than the stream's.
    pub(super) fn is_stray(&self, bytes: &[u8]) -> bool {
        let [own] = self.own;
        let tag = bytes.get(usize::from(own.offset_bytes)..).and_then(|rest| rest.first_chunk());
        tag.is_none_or(|tag| u32::from_be_bytes(*tag) != own.value)
    }

    /// Takes how many strays have come so far, some milliseconds after the last time, and turns
    /// the link's filter on or off.
    pub(super) fn watch(&mut self, now: Nanos, strays: u64, link: &mut dyn Link) {
        let is_flood = strays - self.strays >= FLOOD_PACKETS;
        self.strays = strays;
        match self.until {
            None if is_flood => {
                let alternatives: [&[Word]; 2] = [&self.own, &self.unknown];
                let favoured = samplewire_io::Favoured { alternatives: &alternatives };
                if link.favour(Some(&favoured)) {
                    self.until = Some(now + self.hold);
                    self.hold = Nanos(self.hold.0 * 2).min(HOLD_MAX);
                }
            }
            Some(until) if now >= until => {
                link.favour(None);
                self.until = None;
            }
            _ => {}
        }
    }
}

/// Strays from one look to the next, 2 to 20 ms, that are a flood.
const FLOOD_PACKETS: u64 = 256;

/// How long the filter stays at first; after each flood that comes back twice as long.
const HOLD_MIN: Nanos = Nanos::from_millis(1_000);
const HOLD_MAX: Nanos = Nanos::from_millis(64_000);

#[cfg(test)]
mod tests {
    use samplewire_io::{Favoured, memory};

    use super::*;

    const LOCAL: Tag = Tag(0x0102_0304);
    const PEER: Tag = Tag(0x0506_0708);

    /// A link that keeps what was asked of it.
    struct Asked(memory::Memory, Vec<bool>);

    impl Link for Asked {
        fn capabilities(&self) -> samplewire_io::Capabilities {
            self.0.capabilities()
        }
        fn local_addr(&self) -> std::net::SocketAddr {
            self.0.local_addr()
        }
        fn send(
            &mut self,
            packets: &[samplewire_io::Outgoing<'_>],
        ) -> Result<usize, samplewire_io::LinkError> {
            self.0.send(packets)
        }
        fn recv(
            &mut self,
            batch: &mut samplewire_io::Batch,
        ) -> Result<(), samplewire_io::LinkError> {
            self.0.recv(batch)
        }
        fn wait(&mut self, timeout: std::time::Duration) -> Result<(), samplewire_io::LinkError> {
            self.0.wait(timeout)
        }
        fn waker(&self) -> samplewire_io::Waker {
            self.0.waker()
        }
        fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
            self.1.push(favoured.is_some());
            true
        }
    }

    #[test]
    fn filter_comes_with_a_flood_and_goes_after_a_while() {
        let (near, _far) = memory::pair(1, 100, 100).unwrap();
        let mut link = Asked(near, Vec::new());
        let mut guard = Guard::new(LOCAL, PEER);
        let ms = Nanos::from_millis;
        guard.watch(ms(0), 255, &mut link);
        guard.watch(ms(20), 510, &mut link);
        assert!(link.1.is_empty(), "strays that do no harm");
        guard.watch(ms(40), 766, &mut link);
        guard.watch(ms(1_039), 766, &mut link);
        assert_eq!(link.1, [true]);
        guard.watch(ms(1_040), 766, &mut link);
        assert_eq!(link.1, [true, false]);
        guard.watch(ms(1_060), 9_999, &mut link);
        guard.watch(ms(3_059), 9_999, &mut link);
        assert_eq!(link.1, [true, false, true], "twice as long");
        guard.watch(ms(3_060), 9_999, &mut link);
        assert_eq!(link.1, [true, false, true, false]);
    }

    #[test]
    fn stray_is_what_carries_another_tag() {
        let guard = Guard::new(LOCAL, PEER);
        assert!(!guard.is_stray(&[0x10, 0, 1, 2, 3, 4, 9]));
        assert!(guard.is_stray(&[0x10, 0, 1, 2, 3, 5, 9]));
        assert!(guard.is_stray(&[0x10, 0, 1, 2, 3]));
    }
}
