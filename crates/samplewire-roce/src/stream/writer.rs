//! The end that sends.

use samplewire_proto::sender::{SendSlot as PacketSlot, Sender};
use samplewire_proto::wire::SlotRegion;
use samplewire_proto::{Nanos, Seq};

use super::{Connection, SlotsError, write_bytes};
use crate::counters::RequesterStats;
use crate::qp::{Event, QueuePair, ReadyToSendError, State};
use crate::region::Region;
use crate::requester::{AckTimeout, RequesterConfig, SendSlot, SendStatus, Verb, WorkRequest};
use crate::responder::{Placement, ReceiveSlot, ResponderConfig};
use crate::wire::{Frame, PAYLOAD_BYTES_MAX};

/// Writes the packets of a sender into the slots of its receiver.
///
/// Drain order: after any `handle` of the sender or of this, a push, or a passed timeout call
/// [`SlotWriter::settle`], [`SlotWriter::poll_transmit`] until it is `None`, and `poll_transmit` of the
/// sender; then sleep until the earlier of both timeouts.
#[derive(Clone, Debug)]
pub struct SlotWriter<W> {
    qp: WriterPair<W>,
    slots: SlotRegion,
    write_bytes: u32,
    timeout_min: AckTimeout,
    /// When the stream began, and how long its first REPORT took from there.
    begun_at: Option<Nanos>,
    opening_rtt: Option<Nanos>,
    /// The sender knows that the queue pair has failed.
    has_reported_failure: bool,
    scratch: [u8; PAYLOAD_BYTES_MAX],
}

/// A queue pair that receives nothing.
type WriterPair<W> = QueuePair<W, [ReceiveSlot; 0], [Region; 0]>;

impl<W: AsRef<[SendSlot]> + AsMut<[SendSlot]>> SlotWriter<W> {
    /// Connects a queue pair with a queue of `sends`: as many packets are under way at a time. PSN and
    /// MTU of `config` are those of the connection. Its timeout is the shortest one; where two round trips
    /// of the stream are longer, they count: acknowledgements are not late then.
    ///
    /// # Errors
    /// A slot is too short, or a choice is out of range.
    pub fn new(
        connection: &Connection,
        slots: SlotRegion,
        payload_bytes: u16,
        config: RequesterConfig,
        sends: W,
    ) -> Result<Self, SlotsError> {
        let write_bytes = write_bytes(&slots, payload_bytes)?;
        let (mtu, [psn, peer_psn]) = (connection.mtu(), connection.first_psns());
        let mut qp = QueuePair::new(connection.number(), sends, [], []);
        let responder = ResponderConfig { psn: peer_psn, mtu, ..ResponderConfig::default() };
        qp.init().map_err(ReadyToSendError::from)?;
        qp.ready_to_receive(connection.peer(), responder).map_err(ReadyToSendError::from)?;
        qp.ready_to_send(RequesterConfig { psn, mtu, ..config })?;
        let scratch = [0; PAYLOAD_BYTES_MAX];
        let timeout_min = config.timeout;
        Ok(Self {
            qp,
            slots,
            write_bytes,
            timeout_min,
            begun_at: None,
            opening_rtt: None,
            has_reported_failure: false,
            scratch,
        })
    }

    /// The queue pair: for its counters.
    pub const fn queue_pair(&self) -> &WriterPair<W> {
        &self.qp
    }

    /// Counters of what the queue pair sends.
    pub const fn stats(&self) -> &RequesterStats {
        self.qp.requester().stats()
    }

    /// Takes a frame of the queue pair. A congestion notification (CNP) goes to the sender: the
    /// stream has one reaction point, which the marks in REPORTs cut too.
    pub fn handle<S>(&mut self, now: Nanos, frame: &Frame<'_>, sender: &mut Sender<S>)
    where
        S: AsRef<[PacketSlot]> + AsMut<[PacketSlot]>,
    {
        let notified = self.qp.stats().0.cnp_received;
        // Without regions and receive requests there is no place for a payload.
        let placement = self.qp.handle(now, frame);
        debug_assert_eq!(placement, Placement::Nothing);
        if self.qp.stats().0.cnp_received != notified {
            sender.handle_congestion(now);
        }
    }

    /// Acts on passed timers of the queue pair, says to the sender what is complete, and posts what
    /// may leave.
    pub fn settle<S>(&mut self, now: Nanos, sender: &mut Sender<S>)
    where
        S: AsRef<[PacketSlot]> + AsMut<[PacketSlot]>,
    {
        self.qp.handle_timeout(now);
        self.follow_round_trip(now, sender);
        while let Some(event) = self.qp.poll_event() {
            if let Event::Sent(done) = event
                && done.status == SendStatus::Done
            {
                sender.handle_written(Seq(done.id as u32) + 1);
            }
        }
        if sender.is_ended() && self.qp.state() != State::Error {
            // Its receiver needs nothing more, and the payloads are not to be read any more.
            self.qp.fail().expect("it is connected");
        }
        if self.qp.state() == State::Error {
            if !self.has_reported_failure {
                self.has_reported_failure = true;
                sender.queue_pair_failed(now);
            }
            return;
        }
        while self.qp.requester().free_slots() > 0
            && let Some(write) = sender.poll_write(now)
        {
            let seq = write.record.seq;
            let request = WorkRequest {
                id: seq.0.into(),
                verb: Verb::Write { address: self.slots.address_of(seq), key: self.slots.rkey },
                len_bytes: self.write_bytes,
                immediate: Some(seq.0),
                is_solicited: false,
            };
            self.qp.post_send(request).expect("the queue has room");
        }
    }

    /// Waits for acknowledgements for two round trips at least. Before the stream has measured one, its
    /// first REPORT gives a bound: a listener's ACCEPT has gone to the peer since the stream began.
    fn follow_round_trip<S>(&mut self, now: Nanos, sender: &Sender<S>)
    where
        S: AsRef<[PacketSlot]> + AsMut<[PacketSlot]>,
    {
        let begun_at = *self.begun_at.get_or_insert(now);
        if sender.is_reported() {
            self.opening_rtt.get_or_insert(now.since(begun_at));
        }
        let opening_rtt = self.opening_rtt.unwrap_or_default().max(sender.rtt());
        let rtt = sender.measured_rtt().unwrap_or(opening_rtt);
        self.qp.set_timeout(self.timeout_min.max(AckTimeout::covering(Nanos(2 * rtt.0))));
    }

    /// Writes the next frame to `out` (at least [`FRAME_BYTES_MAX`](crate::wire::FRAME_BYTES_MAX))
    /// and says its length. `payload_of` gives the payload of a packet, of
    /// that length.
    pub fn poll_transmit<'p, S>(
        &mut self,
        now: Nanos,
        sender: &Sender<S>,
        payload_of: impl FnOnce(Seq, usize) -> &'p [u8],
        out: &mut [u8],
    ) -> Option<usize>
    where
        S: AsRef<[PacketSlot]> + AsMut<[PacketSlot]>,
    {
        let Self { qp, scratch, .. } = self;
        let transmit = qp.poll_transmit(now)?;
        let payload = transmit.payload().map_or(&[][..], |at| {
            let seq = Seq(at.id as u32);
            let (offset, len_bytes) = (at.offset as usize, at.len_bytes as usize);
            let write = sender.write(seq);
            let payload = payload_of(seq, write.len_bytes.into());
            write.piece(payload, offset, len_bytes, scratch)
        });
        Some(transmit.emit(qp.route(), payload, out))
    }

    /// When to call [`SlotWriter::settle`] and [`SlotWriter::poll_transmit`] again at the latest.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.qp.poll_timeout()
    }
}
