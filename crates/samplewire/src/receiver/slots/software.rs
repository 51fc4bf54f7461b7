//! Slots that exist only for the peer: this program is the queue pair, and stores what is written to them
//! in the quanta.

use samplewire_io::LinkError;
use samplewire_io::ether::EtherStation;
use samplewire_proto::receiver::{Receiver, ReceiverStats, RecvSlot};
use samplewire_proto::wire::{RECORD_LEN, SlotRegion, record_at};
use samplewire_proto::{Nanos, Seq};
use samplewire_roce::Qpn;
use samplewire_roce::responder::{ReceiveSlot, ResponderConfig};
use samplewire_roce::stream::{Connection, SlotReader, SlotsError};
use samplewire_roce::wire::{Frame, Route};

use super::super::payload_ring::PayloadRing;
use crate::endpoint::Station;

/// A queue pair of software, and the records of the slots.
pub(crate) struct SoftwareSlots {
    reader: SlotReader<Box<[ReceiveSlot]>>,
    /// By seq modulo their number.
    records: Box<[[u8; RECORD_LEN]]>,
    record_at: usize,
    /// The way to the peer, until its station is looked for.
    looks_for: Option<Route>,
    /// When more frames may leave, if they may.
    more_at: Option<Nanos>,
}

impl SoftwareSlots {
    pub(super) fn new(
        connection: &Connection,
        region: SlotRegion,
        payload_bytes: u16,
        first_seq: Seq,
    ) -> Result<Self, SlotsError> {
        let len = region.slots as usize;
        let receives = vec![ReceiveSlot::default(); len].into_boxed_slice();
        let config = ResponderConfig::default();
        let reader =
            SlotReader::new(connection, region, payload_bytes, first_seq, config, receives)?;
        let records = vec![[0; RECORD_LEN]; len].into();
        Ok(Self {
            reader,
            records,
            record_at: record_at(payload_bytes),
            looks_for: Some(connection.route),
            more_at: None,
        })
    }

    /// The number of the queue pair.
    pub(super) const fn number(&self) -> Qpn {
        self.reader.queue_pair().number()
    }

    /// All memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.records.len() * (RECORD_LEN + size_of::<ReceiveSlot>()) + size_of::<Self>()
    }

    /// Adds what the queue pair counts to the counters of its stream.
    pub(super) fn add_to(&self, stats: &mut ReceiverStats) {
        let (_, _, responder) = self.reader.queue_pair().stats();
        stats.duplicates += responder.duplicates;
        stats.ranges += responder.sequence_naks;
        stats.refused += self.reader.strays();
    }

    /// Takes a frame, and stores what it carries; returns whether it carried something.
    pub(super) fn handle<S>(
        &mut self,
        now: Nanos,
        frame: &Frame<'_>,
        receiver: &Receiver<S>,
        payloads: &mut PayloadRing,
    ) -> bool
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        let Self { reader, records, record_at, .. } = self;
        let mask = records.len() - 1;
        let mut has_stored = false;
        reader.handle(now, frame, receiver, |seq, offset, bytes| {
            has_stored = true;
            payloads.store_part(seq, offset, bytes);
            // What of it lies in the record.
            let (start, end) = (offset.max(*record_at), offset + bytes.len());
            let end = end.min(*record_at + RECORD_LEN);
            if start < end {
                let record = &mut records[seq.0 as usize & mask];
                record[start - *record_at..end - *record_at]
                    .copy_from_slice(&bytes[start - offset..end - offset]);
            }
        });
        has_stored
    }

    /// Hands complete packets to the receiver.
    pub(super) fn settle<S>(
        &mut self,
        now: Nanos,
        receiver: &mut Receiver<S>,
        payloads: &PayloadRing,
    ) where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        let records = &self.records;
        self.reader.settle(now, receiver, |seq| {
            let record = &records[seq.0 as usize & (records.len() - 1)];
            (payloads.payload(seq).unwrap_or(&[]), record)
        });
    }

    /// See [`SlotReader::grant`].
    pub(super) fn grant<S>(&mut self, receiver: &mut Receiver<S>, limit: Seq)
    where
        S: AsRef<[RecvSlot]> + AsMut<[RecvSlot]>,
    {
        self.reader.grant(receiver, limit);
    }

    /// Sends what is due.
    pub(super) fn transmit(&mut self, now: Nanos, station: &mut Station) -> Result<(), LinkError> {
        if let Some(route) = self.looks_for.take() {
            station.look_for(now, &route)?;
        }
        loop {
            if !station.has_room(now)? {
                self.more_at = Some(now + EtherStation::FULL_PAUSE);
                return Ok(());
            }
            let Some(len) = self.reader.poll_transmit(now, station.out()) else {
                self.more_at = None;
                return Ok(());
            };
            station.send(now, len)?;
        }
    }

    /// When there is something to send again.
    pub(super) fn poll_timeout(&self) -> Option<Nanos> {
        self.more_at.into_iter().chain(self.reader.poll_timeout()).min()
    }
}
