//! The responder of a connection: takes request packets in the order of their PSN, and answers.
//!
//! It owns no memory: [`Responder::handle`] returns where the payload belongs. Drain order: after a
//! batch of `handle` calls [`Responder::poll_transmit`] until it is `None`, then
//! [`Responder::poll_event`]. Requests of one batch are acknowledged together (IB 9.7.5.1.2).
//!
//! A packet that breaks a rule gets its NAK and ends the connection: the caller moves the queue pair
//! to ERROR and calls [`Responder::flush`] (IB 9.9.3).

mod config;
mod message;
mod receives;
#[cfg(test)]
mod tests;

pub use config::ResponderConfig;
pub use receives::{ReceiveRequest, ReceiveSlot};

use crate::counters::ResponderStats;
use crate::number::{MESSAGE_BYTES_MAX, Psn, U24_MAX};
use crate::region::{self, Region};
use crate::wire::{Aeth, Body, NakCode, Opcode, Operation, Packet, Reth, Syndrome};

use message::{Message, WriteLeft};
use receives::Receives;

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Responder<Q, R> {
    config: ResponderConfig,
    regions: R,
    receives: Receives<Q>,
    expected: Psn,
    msn: u32,
    message: Option<Message>,
    /// The packet at `expected` got a NAK: later ones are dropped unanswered until it comes.
    has_nacked: bool,
    answer: Option<Answer>,
    fault: Option<Fault>,
    is_flushing: bool,
    stats: ResponderStats,
}

/// Where the payload of a packet belongs. The caller copies it before the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the payload of an accepted packet is lost unless the caller copies it"]
pub enum Placement {
    /// Into a region.
    Region {
        /// Its index among the regions.
        region: usize,
        /// The offset of the first byte.
        offset: u64,
    },
    /// Into the memory of a receive request.
    Receive {
        /// The request's name.
        id: u64,
        /// The offset of the first byte.
        offset: u32,
    },
    /// There is nothing to copy: the payload is empty, or the packet is dropped.
    Nothing,
}

/// A receive request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveCompletion {
    /// The caller's name for it.
    pub id: u64,
    /// What became of it.
    pub status: ReceiveStatus,
}

/// What became of a receive request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveStatus {
    /// A SEND is in its memory.
    Send {
        /// The length of the message.
        len_bytes: u32,
        /// The immediate data, if there is any.
        immediate: Option<u32>,
    },
    /// An RDMA WRITE with immediate data is in its region; the request's memory is untouched.
    Write {
        /// The length of the message.
        len_bytes: u32,
        /// The immediate data.
        immediate: u32,
    },
    /// The connection failed within the message that uses it; a part of that may be in its memory.
    Failed,
    /// The connection failed before a message used it.
    Flushed,
}

/// A rule that a request broke. Each ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// An opcode that does not follow on the packet before: MIDDLE without FIRST, FIRST within a
    /// message.
    Order,
    /// READ, an atomic operation, an invalidation, FLUSH, or a reserved opcode.
    Unsupported,
    /// A packet or message with a length that its opcode, the MTU or its first packet forbid.
    Length,
    /// A SEND that is longer than the receive request.
    TooLong,
    /// A key of no region.
    Key,
    /// A region that the peer may not write.
    Rights,
    /// Bytes outside the region.
    Bounds,
}

impl Fault {
    /// Every fault, in the order of the counters.
    pub const ALL: [Self; 7] = [
        Self::Order,
        Self::Unsupported,
        Self::Length,
        Self::TooLong,
        Self::Key,
        Self::Rights,
        Self::Bounds,
    ];

    /// The NAK that it gets (IB 9.7.5.2.2).
    pub const fn nak(self) -> NakCode {
        match self {
            Self::Order | Self::Unsupported | Self::Length | Self::TooLong => {
                NakCode::InvalidRequest
            }
            Self::Key | Self::Rights | Self::Bounds => NakCode::RemoteAccess,
        }
    }
}

/// An acknowledgement to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The PSN of the request that it answers.
    pub psn: Psn,
    /// The answer.
    pub aeth: Aeth,
}

/// The answer that is due. There is at most one: every answer acknowledges all that came before the
/// packet it is about (IB 9.7.5.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Everything before `expected` is accepted.
    Ack,
    /// About the packet at `expected`.
    Nak(Syndrome),
}

/// Why a packet at `expected` is not accepted.
enum Refusal {
    NotReady,
    Fault(Fault),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The queue of receive requests is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue of {0} receive requests is full")]
pub struct ReceiveQueueFull(pub usize);

impl<Q, R> Responder<Q, R>
where
    Q: AsRef<[ReceiveSlot]> + AsMut<[ReceiveSlot]>,
    R: AsRef<[Region]>,
{
    /// A responder with slots for receive requests, and regions that the peer may write to.
    pub fn new(config: ResponderConfig, receives: Q, regions: R) -> Self {
        Self {
            config,
            regions,
            receives: Receives::new(receives),
            expected: config.psn,
            msn: 0,
            message: None,
            has_nacked: false,
            answer: None,
            fault: None,
            is_flushing: false,
            stats: ResponderStats::default(),
        }
    }

    /// Begins the next connection. Of the one before nothing remains but the regions and the receive
    /// requests that are not completed.
    pub fn begin(&mut self, config: ResponderConfig) {
        self.config = config;
        self.expected = config.psn;
        self.msn = 0;
        self.message = None;
        self.has_nacked = false;
        self.answer = None;
        self.fault = None;
        self.is_flushing = false;
        self.stats = ResponderStats::default();
    }

    /// Forgets all receive requests without a completion, and the message that uses one.
    pub(crate) const fn clear(&mut self) {
        self.receives.clear();
        self.message = None;
    }

    /// The regions. A change takes effect with the next packet, within a message too.
    pub const fn regions_mut(&mut self) -> &mut R {
        &mut self.regions
    }

    /// The regions.
    pub const fn regions(&self) -> &R {
        &self.regions
    }

    /// The PSN of the next request packet.
    pub const fn expected(&self) -> Psn {
        self.expected
    }

    /// The rule that a packet broke: the connection has failed.
    pub const fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Counters since the connection began.
    pub const fn stats(&self) -> &ResponderStats {
        &self.stats
    }

    /// Posts a receive request; its slot is free again when its completion was polled.
    ///
    /// # Errors
    /// The queue is full.
    pub fn post_receive(&mut self, request: ReceiveRequest) -> Result<(), ReceiveQueueFull> {
        let is_posted = self.receives.post(request);
        if is_posted { Ok(()) } else { Err(ReceiveQueueFull(self.receives.capacity())) }
    }

    /// Takes a request packet that is for this connection.
    #[must_use = "the caller copies the payload to its place"]
    pub fn handle(&mut self, packet: &Packet<'_>) -> Placement {
        if !matches!(packet.body, Body::Request { .. } | Body::Unsupported) {
            self.stats.unexpected += 1;
            return Placement::Nothing;
        }
        if self.fault.is_some() || self.is_flushing {
            self.stats.after_fault += 1;
            return Placement::Nothing;
        }
        match packet.bth.psn.distance(self.expected) {
            0 => self.handle_expected(packet),
            1.. => self.handle_gap(),
            // None was accepted before, so this is no duplicate: a READ waits for data, not for an ACK.
            _ if packet.body == Body::Unsupported => {
                self.stats.unexpected += 1;
                Placement::Nothing
            }
            _ => self.handle_duplicate(),
        }
    }

    /// The next acknowledgement, if one is due.
    pub fn poll_transmit(&mut self) -> Option<Response> {
        let (psn, syndrome) = match self.answer.take()? {
            Answer::Ack => (self.expected + U24_MAX, Syndrome::Ack(Syndrome::CREDIT_INVALID)),
            Answer::Nak(syndrome) => (self.expected, syndrome),
        };
        let counter = match syndrome {
            Syndrome::Ack(_) | Syndrome::Reserved(_) => &mut self.stats.acks,
            Syndrome::RnrNak(_) => &mut self.stats.rnr_naks,
            Syndrome::Nak(NakCode::SequenceError) => &mut self.stats.sequence_naks,
            Syndrome::Nak(_) => &mut self.stats.fault_naks,
        };
        *counter += 1;
        Some(Response { psn, aeth: Aeth { syndrome, msn: self.msn } })
    }

    /// The next receive request that is done, in the order in which they were posted.
    pub fn poll_event(&mut self) -> Option<ReceiveCompletion> {
        if self.is_flushing && self.receives.front().is_some() {
            let is_in_use = matches!(self.message.take(), Some(Message::Send { .. }));
            let status = if is_in_use { ReceiveStatus::Failed } else { ReceiveStatus::Flushed };
            self.receives.complete(status);
        }
        self.receives.poll()
    }

    /// Completes all receive requests, and those that are posted later, without a message, and takes
    /// no more packets. A NAK that is due is still sent.
    pub const fn flush(&mut self) {
        self.is_flushing = true;
    }

    fn handle_expected(&mut self, packet: &Packet<'_>) -> Placement {
        match self.accept(packet) {
            Ok(placement) => {
                self.has_nacked = false;
                self.expected = self.expected + 1;
                self.stats.packets += 1;
                // A NAK that is still due would be about a packet that has come.
                if packet.bth.ack_request || self.answer.is_some() {
                    self.answer = Some(Answer::Ack);
                }
                placement
            }
            Err(Refusal::NotReady) => {
                self.stats.not_ready += 1;
                self.has_nacked = true;
                self.answer = Some(Answer::Nak(Syndrome::RnrNak(self.config.rnr_timer)));
                Placement::Nothing
            }
            Err(Refusal::Fault(fault)) => {
                self.stats.faults[fault as usize] += 1;
                self.fault = Some(fault);
                self.answer = Some(Answer::Nak(Syndrome::Nak(fault.nak())));
                Placement::Nothing
            }
        }
    }

    /// One NAK a gap, until the expected packet comes (IB 9.7.5).
    fn handle_gap(&mut self) -> Placement {
        self.stats.out_of_order += 1;
        if !self.has_nacked {
            self.has_nacked = true;
            self.answer = Some(Answer::Nak(Syndrome::Nak(NakCode::SequenceError)));
        }
        Placement::Nothing
    }

    /// Acknowledged again and not executed: its ACK may be lost (IB 9.7.5).
    fn handle_duplicate(&mut self) -> Placement {
        self.stats.duplicates += 1;
        self.answer.get_or_insert(Answer::Ack);
        Placement::Nothing
    }

    /// Executes the expected packet, unless it breaks a rule or finds no receive request.
    fn accept(&mut self, packet: &Packet<'_>) -> Result<Placement, Refusal> {
        let opcode = packet.bth.opcode;
        message::check_order(self.message, opcode)?;
        let Body::Request { reth, immediate, payload } = packet.body else {
            return Err(Fault::Unsupported.into());
        };
        let is_write = opcode.operation() == Operation::Write;
        let takes_request = if is_write { opcode.has_immediate() } else { opcode.is_first() };
        if takes_request && self.receives.front().is_none() {
            return Err(Refusal::NotReady);
        }
        let len_bytes = payload.len() as u32;
        message::check_len(opcode, len_bytes, self.config.mtu)?;
        let placement = if is_write {
            self.accept_write(opcode, reth, immediate, len_bytes)?
        } else {
            self.accept_send(opcode, immediate, len_bytes)?
        };
        if opcode.is_last() {
            self.message = None;
            self.msn = (self.msn + 1) & U24_MAX;
            self.stats.messages += 1;
        }
        self.stats.payload_bytes += u64::from(len_bytes);
        Ok(if len_bytes == 0 { Placement::Nothing } else { placement })
    }

    fn accept_send(
        &mut self,
        opcode: Opcode,
        immediate: Option<u32>,
        len_bytes: u32,
    ) -> Result<Placement, Fault> {
        let offset = match self.message {
            Some(Message::Send { received }) => received,
            _ => 0,
        };
        let request = self.receives.front().expect("the first packet found one");
        // Both are below 2^32: the length of a packet is at most the MTU.
        let received = u64::from(offset) + u64::from(len_bytes);
        if received > u64::from(request.len_bytes) {
            // A message of one packet uses the request too.
            self.message = Some(Message::Send { received: offset });
            return Err(Fault::TooLong);
        }
        if received > u64::from(MESSAGE_BYTES_MAX) {
            return Err(Fault::Length);
        }
        let received = received as u32;
        if opcode.is_last() {
            self.receives.complete(ReceiveStatus::Send { len_bytes: received, immediate });
        } else {
            self.message = Some(Message::Send { received });
        }
        Ok(Placement::Receive { id: request.id, offset })
    }

    fn accept_write(
        &mut self,
        opcode: Opcode,
        reth: Option<Reth>,
        immediate: Option<u32>,
        len_bytes: u32,
    ) -> Result<Placement, Fault> {
        let write = match (self.message, reth) {
            (Some(Message::Write(write)), None) => write,
            (_, Some(reth)) => WriteLeft::begin(reth)?,
            _ => return Err(Fault::Order),
        };
        let left = message::left_behind(opcode, write.left, len_bytes)?;
        // An empty WRITE names no memory: neither key nor address is looked at (IB 9.7.4.1.5).
        let placement = if write.left == 0 {
            Placement::Nothing
        } else {
            // All that is left, so that a message out of bounds fails with its first packet.
            let WriteLeft { key, address, left, .. } = write;
            let located = region::locate(self.regions.as_ref(), key, address, left)?;
            Placement::Region { region: located.region, offset: located.offset }
        };
        if left > 0 {
            let address = write.address + u64::from(len_bytes);
            self.message = Some(Message::Write(WriteLeft { address, left, ..write }));
        }
        if let Some(immediate) = immediate {
            let len_bytes = write.total;
            self.receives.complete(ReceiveStatus::Write { len_bytes, immediate });
        }
        Ok(placement)
    }
}
