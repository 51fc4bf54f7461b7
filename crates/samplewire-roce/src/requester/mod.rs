//! The requester of a connection: cuts messages into packets, and repeats from the first packet on
//! that is missing (go-back-N, IB 9.7).
//!
//! The messages stay with the caller: a [`Request`] names the bytes that it carries. Drain order:
//! after any `post`, `handle` or passed timeout call [`Requester::poll_transmit`] until it is `None`,
//! then [`Requester::poll_event`], then sleep until [`Requester::poll_timeout`].

mod config;
mod queue;
mod retries;
#[cfg(test)]
mod tests;

use samplewire_proto::Nanos;

pub use config::{AckTimeout, RequesterConfig, RequesterConfigError, WINDOW_MAX};
use queue::Queue;
pub use queue::{SendSlot, Verb, WorkRequest};
use retries::Retries;

use crate::counters::RequesterStats;
use crate::number::{MESSAGE_BYTES_MAX, PathMtu, Psn};
use crate::wire::{Aeth, NakCode, Opcode, Reth, RnrTimer, Syndrome};

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Requester<S> {
    config: RequesterConfig,
    queue: Queue<S>,
    /// Positions of packets: the oldest that is not acknowledged, the next to send, and the first
    /// that was never sent. `acked <= next <= sent`.
    acked: u64,
    next: u64,
    sent: u64,
    /// The number of the request that `next` belongs to.
    cursor: u64,
    /// Packets since the last that requested an acknowledgement, or since the way back.
    since: u32,
    retries: Retries,
    /// The receiver is not ready for the packet at `acked`: until when to wait.
    waits_until: Option<Nanos>,
    /// When the oldest packet has waited too long.
    timeout_at: Option<Nanos>,
    /// A NAK about the packet at `acked` has been followed.
    has_gone_back: bool,
    phase: Phase,
    stats: RequesterStats,
}

/// The life of a requester.
///
/// ```text
/// Running --NAK that ends the connection, retries used up--> Failed --polled--> Flushing
///    \------------------------------flush----------------------------------------^
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// The oldest request fails with this status; the others follow flushed.
    Failed(SendStatus),
    /// What is posted is completed without being sent.
    Flushing,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the packet is.
    pub opcode: Opcode,
    /// Its number.
    pub psn: Psn,
    /// Whether it requests an acknowledgement.
    pub ack_request: bool,
    /// Whether it requests a solicited event: on the last packet of a SEND, or of a WRITE with
    /// immediate data (IB 9.2).
    pub is_solicited: bool,
    /// The place of the message; in the first packet of a WRITE.
    pub reth: Option<Reth>,
    /// The immediate data; in the last packet.
    pub immediate: Option<u32>,
    /// The bytes that it carries.
    pub payload: PayloadAt,
}

/// Bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadAt {
    /// The name of the work request.
    pub id: u64,
    /// The offset of the first byte in the message.
    pub offset: u32,
    /// How many bytes.
    pub len_bytes: u32,
}

/// A work request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendCompletion {
    /// The caller's name for it.
    pub id: u64,
    /// What became of it.
    pub status: SendStatus,
}

/// What became of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendStatus {
    /// The responder has it.
    Done,
    /// The responder answered with this NAK.
    Nak(NakCode),
    /// No acknowledgement came, however often it was sent.
    RetriesExceeded,
    /// The responder had no receive request, however often it was sent.
    RnrRetriesExceeded,
    /// The connection failed before it was acknowledged; it may have been executed.
    Flushed,
}

/// Why a work request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// Every slot of the queue is in use.
    #[error("the queue of {0} work requests is full")]
    Full(usize),
    /// The message is longer than 2^31 bytes.
    #[error("a message of {0} bytes is longer than 2^31")]
    TooLong(u32),
}

impl<S: AsRef<[SendSlot]> + AsMut<[SendSlot]>> Requester<S> {
    /// A requester with slots for work requests.
    ///
    /// # Errors
    /// A choice that is out of range.
    pub fn new(config: RequesterConfig, slots: S) -> Result<Self, RequesterConfigError> {
        config.check()?;
        Ok(Self {
            queue: Queue::new(slots),
            acked: 0,
            next: 0,
            sent: 0,
            cursor: 0,
            since: 0,
            retries: Retries::new(&config, Nanos(0)),
            waits_until: None,
            timeout_at: None,
            has_gone_back: false,
            phase: Phase::Running,
            stats: RequesterStats::default(),
            config,
        })
    }

    /// Begins the next connection. Nothing of the one before remains.
    ///
    /// # Errors
    /// A choice that is out of range; nothing changes then.
    pub fn begin(&mut self, config: RequesterConfig) -> Result<(), RequesterConfigError> {
        config.check()?;
        self.queue.clear();
        (self.acked, self.next, self.sent, self.cursor, self.since) = (0, 0, 0, 0, 0);
        self.retries = Retries::new(&config, Nanos(0));
        (self.waits_until, self.timeout_at, self.has_gone_back) = (None, None, false);
        self.phase = Phase::Running;
        self.stats = RequesterStats::default();
        self.config = config;
        Ok(())
    }

    /// The payload of a full packet.
    pub const fn mtu(&self) -> PathMtu {
        self.config.mtu
    }

    /// Work requests that can be posted before the queue is full.
    pub fn free_slots(&self) -> usize {
        self.queue.free()
    }

    /// Packets that were sent and are not acknowledged.
    pub const fn in_flight(&self) -> u32 {
        (self.sent - self.acked) as u32
    }

    /// The PSN of the oldest packet that is not acknowledged.
    pub fn oldest(&self) -> Psn {
        self.psn(self.acked)
    }

    /// Whether the connection has failed or is flushed.
    pub fn has_failed(&self) -> bool {
        self.phase != Phase::Running
    }

    /// Counters since the connection began.
    pub const fn stats(&self) -> &RequesterStats {
        &self.stats
    }

    /// Sets how long to wait for an acknowledgement. A timer that runs keeps its time.
    pub const fn set_timeout(&mut self, timeout: AckTimeout) {
        self.config.timeout = timeout;
    }

    /// Posts a work request; its slot is free again when its completion was polled. After a
    /// failure it is flushed.
    ///
    /// # Errors
    /// See [`PostError`]; nothing is taken then.
    pub fn post(&mut self, request: WorkRequest) -> Result<(), PostError> {
        if request.len_bytes > MESSAGE_BYTES_MAX {
            return Err(PostError::TooLong(request.len_bytes));
        }
        if self.queue.free() == 0 {
            return Err(PostError::Full(self.queue.capacity()));
        }
        self.queue.post(request, self.config.mtu);
        Ok(())
    }

    /// Takes an acknowledgement that is for this connection. Returns whether it is about a packet that
    /// waits for one; all others change only counters.
    pub fn handle(&mut self, now: Nanos, psn: Psn, aeth: &Aeth) -> bool {
        if self.has_failed() {
            self.stats.after_failure += 1;
            return false;
        }
        // From the oldest that is not acknowledged to the last that was sent (IB 9.7.6).
        let oldest = self.oldest();
        let behind = psn.after(oldest);
        if behind >= self.in_flight() {
            let is_stale = psn.distance(oldest) < 0;
            let counter = if is_stale { &mut self.stats.stale } else { &mut self.stats.beyond };
            *counter += 1;
            return false;
        }
        let position = self.acked + u64::from(behind);
        match aeth.syndrome {
            // The credit is ignored: a responder that is not ready sends an RNR NAK.
            Syndrome::Ack(_) => {
                self.stats.acks += 1;
                self.advance(now, position + 1);
            }
            Syndrome::RnrNak(timer) => self.handle_rnr_nak(now, position, timer),
            Syndrome::Nak(NakCode::SequenceError) => self.handle_sequence_nak(now, position),
            Syndrome::Nak(code) => {
                self.stats.fatal_naks += 1;
                self.advance(now, position);
                self.fail(SendStatus::Nak(code));
            }
            Syndrome::Reserved(_) => {
                self.stats.reserved += 1;
                return false;
            }
        }
        true
    }

    /// Acts on passed timers.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if self.waits_until.is_some_and(|at| now >= at) {
            self.waits_until = None;
        }
        if self.timeout_at.is_some_and(|at| now >= at) {
            self.stats.timeouts += 1;
            // The responder may have lost its NAK, so the next one counts.
            self.has_gone_back = false;
            if self.retries.spend_timeout(now) {
                self.go_back()
            } else {
                self.fail(SendStatus::RetriesExceeded)
            }
        }
    }

    /// The next packet to send, if one may leave at `now`.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Request> {
        if self.waits_until.is_some_and(|at| now >= at) {
            self.waits_until = None;
        }
        if !self.has_packet() {
            return None;
        }
        let request = self.build();
        if self.sent == self.acked {
            // It is the first that waits.
            self.retries = Retries::new(&self.config, now);
        }
        if self.next < self.sent {
            self.stats.retransmissions += 1;
        } else {
            self.stats.packets += 1;
        }
        self.stats.payload_bytes += u64::from(request.payload.len_bytes);
        self.since = if request.ack_request { 0 } else { self.since + 1 };
        self.next += 1;
        self.sent = self.sent.max(self.next);
        if self.next == self.queue.get(self.cursor).end {
            self.cursor += 1;
        }
        if self.timeout_at.is_none() {
            self.start_timer(now);
        }
        Some(request)
    }

    /// Whether a packet is to be sent: neither the window nor the receiver holds it back.
    pub fn has_packet(&self) -> bool {
        let is_full = self.next - self.acked >= u64::from(self.config.window);
        let is_held = is_full || self.waits_until.is_some();
        !self.has_failed() && !is_held && self.next < self.queue.end()
    }

    /// When to call [`Requester::handle_timeout`] and [`Requester::poll_transmit`] again at the
    /// latest.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.waits_until.into_iter().chain(self.timeout_at).min()
    }

    /// The next work request that is done, in the order in which they were posted.
    pub fn poll_event(&mut self) -> Option<SendCompletion> {
        if let Some(id) = self.queue.poll_completed() {
            return Some(SendCompletion { id, status: SendStatus::Done });
        }
        let status = match self.phase {
            Phase::Running => return None,
            Phase::Failed(status) => status,
            Phase::Flushing => SendStatus::Flushed,
        };
        let id = self.queue.poll_any()?;
        self.phase = Phase::Flushing;
        Some(SendCompletion { id, status })
    }

    /// Completes all work requests, and those that are posted later, without sending them. It does
    /// not change how a failed request is reported.
    pub fn flush(&mut self) {
        if self.phase == Phase::Running {
            self.phase = Phase::Flushing;
        }
        (self.waits_until, self.timeout_at) = (None, None);
    }

    /// Acknowledges the packets before it, and goes back once. Until there is progress, a timeout or
    /// an RNR NAK, a second NAK is a copy of the first.
    fn handle_sequence_nak(&mut self, now: Nanos, position: u64) {
        self.advance(now, position);
        if self.has_gone_back || self.waits_until.is_some() || self.next == self.acked {
            self.stats.naks_repeated += 1;
            return;
        }
        self.stats.sequence_naks += 1;
        if self.retries.spend(now) {
            self.go_back();
            self.has_gone_back = true;
        } else {
            self.fail(SendStatus::RetriesExceeded);
        }
    }

    /// Acknowledges the packets before it, and waits. A copy changes nothing: one that comes during
    /// the wait, or after it and before the packet was sent again.
    fn handle_rnr_nak(&mut self, now: Nanos, position: u64, timer: RnrTimer) {
        let has_returned = position == self.acked && self.next == self.acked;
        self.advance(now, position);
        if self.waits_until.is_some() || has_returned {
            self.stats.naks_repeated += 1;
            return;
        }
        self.stats.rnr_naks += 1;
        if self.retries.spend_rnr(now) {
            self.go_back();
            self.waits_until = Some(now + timer.span());
            // Packets are sent again after the wait, so a NAK about them is no copy.
            self.has_gone_back = false;
        } else {
            self.fail(SendStatus::RnrRetriesExceeded);
        }
    }

    /// All before `position` is acknowledged.
    fn advance(&mut self, now: Nanos, position: u64) {
        if position == self.acked {
            return;
        }
        self.acked = position;
        self.stats.messages += self.queue.complete_before(position);
        if self.next < position {
            self.next = position;
            self.since = 0;
            self.cursor = self.queue.completed();
        }
        self.retries = Retries::new(&self.config, now);
        self.has_gone_back = false;
        self.waits_until = None;
        self.timeout_at = None;
        if self.acked < self.sent {
            self.start_timer(now);
        }
    }

    /// The next packet to send is the oldest that is not acknowledged. The timer starts with it.
    const fn go_back(&mut self) {
        self.next = self.acked;
        self.since = 0;
        self.cursor = self.queue.completed();
        self.timeout_at = None;
    }

    fn start_timer(&mut self, now: Nanos) {
        self.timeout_at = self.retries.expires_at(now, self.config.timeout);
    }

    fn fail(&mut self, status: SendStatus) {
        self.phase = Phase::Failed(status);
        (self.waits_until, self.timeout_at) = (None, None);
    }

    fn build(&self) -> Request {
        let SendSlot { request, first, end } = *self.queue.get(self.cursor);
        debug_assert!(first <= self.next && self.next < end, "the cursor follows the next packet");
        let mtu = self.config.mtu.bytes();
        // A message has at most 2^23 packets, and its offsets are below 2^31.
        let offset = (self.next - first) as u32 * mtu;
        let (is_first, is_last) = (self.next == first, self.next + 1 == end);
        let (is_write, reth) = match request.verb {
            Verb::Send => (false, None),
            Verb::Write { address, key } => {
                (true, is_first.then_some(Reth { address, key, len_bytes: request.len_bytes }))
            }
        };
        let immediate = request.immediate.filter(|_| is_last);
        let opcode = Opcode::of_packet(is_write, is_first, is_last, immediate.is_some());
        let is_interval = self.since + 1 == self.config.ack_every;
        Request {
            opcode,
            psn: self.psn(self.next),
            ack_request: is_last || is_interval,
            is_solicited: request.is_solicited && is_last && (!is_write || immediate.is_some()),
            reth,
            immediate,
            payload: PayloadAt {
                id: request.id,
                offset,
                len_bytes: (request.len_bytes - offset).min(mtu),
            },
        }
    }

    fn psn(&self, position: u64) -> Psn {
        self.config.psn + position as u32
    }
}
