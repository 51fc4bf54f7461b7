//! A sent stream over RDMA: its queue pair writes the payloads of the window into the slots of the
//! receiver.

use samplewire_io::LinkError;
use samplewire_io::ether::EtherStation;
use samplewire_proto::Nanos;
use samplewire_proto::sender::{SendSlot as PacketSlot, Sender};
use samplewire_proto::wire::SlotRegion;
use samplewire_roce::requester::{RequesterConfig, SendSlot};
use samplewire_roce::stream::{Connection, SlotWriter, SlotsError};
use samplewire_roce::wire::{Frame, Route};

use super::retransmit_buffer::RetransmitBuffer;
use crate::endpoint::Station;

/// What a stream over RDMA has besides a sender.
pub(crate) struct Writes {
    writer: SlotWriter<Box<[SendSlot]>>,
    /// When more frames may leave, if they may.
    more_at: Option<Nanos>,
    /// The way to the peer, until its station is looked for.
    looks_for: Option<Route>,
}

impl Writes {
    /// For a sender that holds `window` packets.
    pub(crate) fn new(
        connection: &Connection,
        slots: SlotRegion,
        payload_bytes: u16,
        window: u32,
    ) -> Result<Self, SlotsError> {
        // No larger for a peer that claims more slots.
        let sends = vec![SendSlot::default(); window as usize].into_boxed_slice();
        let config = RequesterConfig { window: WINDOW_FRAMES, ..RequesterConfig::default() };
        let writer = SlotWriter::new(connection, slots, payload_bytes, config, sends)?;
        Ok(Self { writer, more_at: None, looks_for: Some(connection.route) })
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
        if let Some(route) = self.looks_for.take() {
            station.look_for(now, &route)?;
        }
        self.writer.settle(now, sender);
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

/// Frames of one visit, so that others get their turn.
const FRAMES_MAX: usize = 64;

/// Frames that may wait for an acknowledgement: a loss repeats up to so many.
const WINDOW_FRAMES: u32 = 256;
