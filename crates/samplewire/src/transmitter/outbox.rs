//! Packets that have departed and wait for the link to take them.

use std::net::SocketAddr;

use arrayvec::ArrayVec;
use samplewire_io::{Ecn, Link, LinkError, Outgoing};
use samplewire_proto::Seq;
use samplewire_proto::sender::{CONTROL_BYTES, DataTransmit};

use super::held::Held;

/// What one call sends, at most; what the link does not take stays in front.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    entries: ArrayVec<Entry, OUTBOX_PACKETS>,
}

#[derive(Debug)]
enum Entry {
    Data(DataTransmit),
    Control { bytes: [u8; CONTROL_BYTES], len: usize },
}

impl Outbox {
    pub(super) fn is_full(&self) -> bool {
        self.entries.is_full()
    }

    pub(super) fn push_data(&mut self, data: DataTransmit) {
        self.entries.push(Entry::Data(data));
    }

    pub(super) fn push_control(&mut self, control: &[u8]) {
        let mut bytes = [0; CONTROL_BYTES];
        bytes[..control.len()].copy_from_slice(control);
        self.entries.push(Entry::Control { bytes, len: control.len() });
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Drops packets that the receiver has by now: their quanta are about to go.
    pub(super) fn forget_before(&mut self, released: Seq) {
        self.entries.retain(|entry| match entry {
            Entry::Data(data) => !data.seq.before(released),
            Entry::Control { .. } => true,
        });
    }

    /// Offers everything to the link; says whether it took all.
    pub(super) fn send(
        &mut self,
        link: &mut dyn Link,
        peer: SocketAddr,
        held: &Held,
    ) -> Result<bool, LinkError> {
        if self.entries.is_empty() {
            return Ok(true);
        }
        let mut packets = ArrayVec::<Outgoing<'_>, OUTBOX_PACKETS>::new();
        for entry in &self.entries {
            packets.push(match entry {
                Entry::Data(data) => {
                    let payload = held.payload(data.seq, usize::from(data.len_bytes));
                    Outgoing { peer, ecn: Ecn::Ect0, parts: [data.head(), payload, &data.trailer] }
                }
                Entry::Control { bytes, len } => {
                    Outgoing { peer, ecn: Ecn::NotEct, parts: [&bytes[..*len], &[], &[]] }
                }
            });
        }
        let sent = link.send(&packets)?;
        drop(packets);
        self.entries.drain(..sent);
        Ok(self.entries.is_empty())
    }
}

/// Packets that one call sends: most messages of it are as long as a message can be.
pub(super) const OUTBOX_PACKETS: usize = 128;
