//! Packets that have departed and wait for the link to take them.

use std::net::SocketAddr;
use std::ops::Range;

use arrayvec::ArrayVec;
use samplewire_io::{Ecn, Outgoing};
use samplewire_proto::Seq;
use samplewire_proto::sender::{CONTROL_BYTES, DataTransmit};

use super::retransmit_buffer::RetransmitBuffer;

/// What leaves with one call, at most; what the link does not take stays in front.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) entries: ArrayVec<Entry, OUTBOX_PACKETS>,
}

#[derive(Debug)]
pub(super) enum Entry {
    Data(DataTransmit),
    Control { bytes: [u8; CONTROL_BYTES], len: usize },
}

impl Outbox {
    pub(super) fn push_control(&mut self, control: &[u8]) {
        let mut bytes = [0; CONTROL_BYTES];
        bytes[..control.len()].copy_from_slice(control);
        self.entries.push(Entry::Control { bytes, len: control.len() });
    }

    /// Drops packets that the receiver has by now: their quanta are about to go.
    pub(super) fn forget_before(&mut self, released: Seq) {
        self.entries.retain(|entry| match entry {
            Entry::Data(data) => !data.seq.before(released),
            Entry::Control { .. } => true,
        });
    }

    /// Control packets before the first DATA.
    pub(super) fn controls(&self) -> usize {
        self.entries.iter().take_while(|entry| matches!(entry, Entry::Control { .. })).count()
    }

    /// The packets at these places of what waits.
    pub(super) fn packets<'a>(
        &'a self,
        which: Range<usize>,
        peer: SocketAddr,
        held: &'a RetransmitBuffer,
    ) -> impl Iterator<Item = Outgoing<'a>> {
        self.entries[which].iter().map(move |entry| match entry {
            Entry::Data(data) => {
                let payload = held.payload(data.seq, usize::from(data.len_bytes));
                Outgoing { peer, ecn: Ecn::Ect0, parts: [data.head(), payload, &data.trailer] }
            }
            Entry::Control { bytes, len } => {
                Outgoing { peer, ecn: Ecn::NotEct, parts: [&bytes[..*len], &[], &[]] }
            }
        })
    }
}

/// Packets that one stream has ready at once: most messages of them are as long as a message can be.
pub(crate) const OUTBOX_PACKETS: usize = 128;
