//! A sent stream over RDMA: its queue pair writes the payloads of the window into the slots of the
//! receiver.

use std::net::Ipv4Addr;

use samplewire_io::LinkError;
use samplewire_io::ether::EtherStation;
use samplewire_proto::Nanos;
use samplewire_proto::sender::{SendSlot as PacketSlot, Sender};
use samplewire_proto::stream::Terms;
use samplewire_proto::wire::SlotRegion;
use samplewire_roce::Qpn;
use samplewire_roce::requester::{AckTimeout, RequesterConfig, SendSlot};
use samplewire_roce::stream::{Connection, SlotWriter, SlotsError};
use samplewire_roce::wire::Frame;

use super::retransmit_buffer::RetransmitBuffer;
use crate::endpoint::Station;

/// What a stream over RDMA has besides a sender.
pub(crate) struct Writes {
    writer: SlotWriter<Box<[SendSlot]>>,
    /// When more frames may leave, if they may.
    more_at: Option<Nanos>,
    /// The peer, until its station is known: what leaves before is lost.
    looks_for: Option<LookFor>,
}

impl Writes {
    /// For a sender of these terms.
    pub(crate) fn new(
        connection: &Connection,
        slots: SlotRegion,
        terms: &Terms,
    ) -> Result<Self, SlotsError> {
        // No larger for a peer that claims more slots.
        let sends = vec![SendSlot::default(); terms.window as usize].into_boxed_slice();
        let config = RequesterConfig {
            window: WINDOW_FRAMES,
            timeout: AckTimeout::covering(TIMEOUT_MIN),
            // A peer that pauses is waited for as long as the stream waits for it.
            patience: Some(terms.dead_after),
            ..RequesterConfig::default()
        };
        let writer = SlotWriter::new(connection, slots, terms.payload_bytes, config, sends)?;
        let ip = connection.route.destination_ip.into();
        let looks_for = Some(LookFor { ip, until: None });
        Ok(Self { writer, more_at: None, looks_for })
    }

    /// All memory of a stream with this window, in bytes.
    pub(crate) const fn memory_bytes(window: u32) -> usize {
        window as usize * size_of::<SendSlot>() + size_of::<Self>()
    }

    /// The number of the queue pair.
    pub(super) const fn number(&self) -> Qpn {
        self.writer.queue_pair().number()
    }

    /// Frames that were sent again.
    pub(super) const fn retransmissions(&self) -> u64 {
        self.writer.stats().retransmissions
    }

    pub(super) fn handle(
        &mut self,
        now: Nanos,
        frame: &Frame<'_>,
        sender: &mut Sender<Box<[PacketSlot]>>,
    ) {
        self.writer.handle(now, frame, sender);
    }

    /// Posts what may leave, and sends frames that are due.
    pub(super) fn transmit(
        &mut self,
        now: Nanos,
        sender: &mut Sender<Box<[PacketSlot]>>,
        held: &RetransmitBuffer,
        station: &mut Station,
    ) -> Result<(), LinkError> {
        self.writer.settle(now, sender);
        if let Some(peer) = &mut self.looks_for {
            if !station.knows(now, peer.ip)? && !peer.is_over(now) {
                self.more_at = Some(now + LOOK_PAUSE);
                return Ok(());
            }
            self.looks_for = None;
        }
        for _ in 0..FRAMES_MAX {
            if !station.has_room(now)? {
                self.more_at = Some(now + EtherStation::FULL_PAUSE);
                return Ok(());
            }
            let payload_of = |seq, len_bytes| held.payload(seq, len_bytes);
            let out = station.out();
            let Some(len) = self.writer.poll_transmit(now, sender, payload_of, out) else {
                self.more_at = None;
                return Ok(());
            };
            station.send(now, len)?;
        }
        self.more_at = Some(now);
        Ok(())
    }

    /// When there is something to send again; a time that has passed means at once.
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        self.more_at.into_iter().chain(self.writer.poll_timeout()).min()
    }
}

/// A peer whose station is not known yet.
struct LookFor {
    ip: Ipv4Addr,
    /// Until when frames wait for it. One that does not answer ends the connection by its patience.
    until: Option<Nanos>,
}

impl LookFor {
    fn is_over(&mut self, now: Nanos) -> bool {
        now >= *self.until.get_or_insert(now + LOOK_FOR)
    }
}

/// How long frames wait for the peer's station, and how often it is looked whether it is known.
const LOOK_FOR: Nanos = Nanos::from_millis(500);
const LOOK_PAUSE: Nanos = Nanos::from_millis(1);

/// Frames of one visit, so that others get their turn.
const FRAMES_MAX: usize = 64;

/// A busy host reads its packets in less time: they are not all sent again because of it.
const TIMEOUT_MIN: Nanos = Nanos::from_millis(16);

/// Frames that may wait for an acknowledgement: a loss repeats up to so many.
const WINDOW_FRAMES: u32 = 256;
