//! The receiver of transfers, one after the other (`docs/block.md#receiver`).
//!
//! ```text
//!         a frame of a transfer          all is there             the CRC is right
//!  Idle ------------------------> Receiving ---------> Checking -----------------> Ended
//!    ^                                |                    |                         |
//!    |                                +--------------------+------------------------>|
//!    |                           10 s of silence, another transfer, a wrong CRC       |
//!    +-------------------------------------------------------------------------------+
//!                                         listen
//! ```
//!
//! A transfer without ID has no CRC and skips `Checking`. The summary of a transfer that is done is
//! answered in any state, as the sender may have lost the `OK`.

mod answer;
mod config;
#[cfg(test)]
mod tests;
mod transfer;

use super::counters::{ReceiverStats, Rejection};
use super::seq_set::SeqSet;
use super::wire::{Body, Frame, Header, Summary};
use super::{ANSWERS_MAX, SILENCE_MAX};
use crate::number::Nanos;

pub use config::{ReceiverConfig, ReceiverConfigError, Types};
pub use transfer::Place;
use transfer::Transfer;

/// The receiving end.
#[derive(Clone, Debug)]
pub struct Receiver<S> {
    config: ReceiverConfig,
    /// The packets that are there.
    present: SeqSet<S>,
    phase: Phase,
    done: Option<DoneTransfer>,
    event: Option<ReceiveEvent>,
    stats: ReceiverStats,
}

/// What happens to a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveEvent {
    /// Every packet is there. The caller computes the CRC-32C of the first `bytes` bytes that it has
    /// placed, and calls [`Receiver::handle_crc`].
    Complete {
        /// The length of the transfer.
        bytes: u64,
    },
    /// The first `bytes` bytes that were placed are those of the sender, as far as is known: without a
    /// transfer ID there is no CRC.
    Done {
        /// The length of the transfer.
        bytes: u64,
    },
    /// The transfer has failed; what was placed is of no use.
    Failed(ReceiveFailure),
}

/// Why a transfer has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveFailure {
    /// No frame was taken for [`SILENCE_MAX`].
    #[error("the sender is silent")]
    Silent,
    /// The sender has begun another transfer: two of its frames came in a row.
    #[error("the sender has begun another transfer")]
    Superseded,
    /// The bytes are not those of the sender.
    #[error("CRC-32C {actual:#010x} is not {stated:#010x}, as the summary states")]
    Crc {
        /// That of the summary.
        stated: u32,
        /// That of the bytes.
        actual: u32,
    },
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Waits for a transfer.
    Idle,
    Receiving(Transfer),
    /// All is there; the caller computes the CRC.
    Checking {
        transfer: Transfer,
        stated: u32,
        summary: Summary,
        /// Whether a summary waits for the result.
        owes_ok: bool,
        /// Whether another has come meanwhile and has no answer yet.
        owes_check: bool,
    },
    Ended,
}

impl Phase {
    /// The transfer that is under way.
    const fn transfer(&mut self) -> Option<&mut Transfer> {
        match self {
            Self::Receiving(transfer) | Self::Checking { transfer, .. } => Some(transfer),
            Self::Idle | Self::Ended => None,
        }
    }
}

/// The last transfer that is done.
#[derive(Clone, Copy, Debug)]
struct DoneTransfer {
    header: Header,
    summary: Summary,
    /// Until when its summary is answered.
    until: Option<Nanos>,
    /// Whether its last summary has no answer yet.
    owes_ok: bool,
    /// Whether a summary has had its answer: before, its sender begins no other.
    is_answered: bool,
}

impl<S: AsRef<[u32]> + AsMut<[u32]>> Receiver<S> {
    /// A receiver that waits for a transfer. `memory` has a bit for each packet, 32 a word; a transfer
    /// of more packets is not taken.
    ///
    /// # Errors
    /// See [`ReceiverConfigError`].
    pub fn new(config: ReceiverConfig, memory: S) -> Result<Self, ReceiverConfigError> {
        config.check()?;
        Ok(Self {
            config,
            present: SeqSet::new(memory),
            phase: Phase::Idle,
            done: None,
            event: None,
            stats: ReceiverStats::default(),
        })
    }

    /// Counters over all transfers.
    pub const fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// The header of the frames of the present transfer, with its sender and its ID.
    pub const fn transfer(&self) -> Option<&Header> {
        match &self.phase {
            Phase::Receiving(transfer) | Phase::Checking { transfer, .. } => Some(&transfer.header),
            Phase::Idle | Phase::Ended => None,
        }
    }

    /// The header of the frames of the last transfer that was done.
    pub const fn last_done(&self) -> Option<&Header> {
        match &self.done {
            Some(done) => Some(&done.header),
            None => None,
        }
    }

    /// Takes a frame that has arrived, and returns where its payload belongs. `None` when there is
    /// nothing to place: the caller's memory stays as it is.
    pub fn handle<'a>(&mut self, now: Nanos, frame: &'a [u8]) -> Option<Place<'a>> {
        match self.take(now, frame) {
            Ok(place) => place,
            Err(reason) => {
                self.stats.rejected[reason as usize] += 1;
                None
            }
        }
    }

    /// Takes DATA of which the caller has the frame: it has the header of a frame that
    /// [`Receiver::handle`] placed, no event came since, and `payload_len` bytes reach to its end. True when
    /// the packet is to be kept.
    pub fn handle_data(&mut self, now: Nanos, seq: u32, payload_len: usize) -> bool {
        match self.take_data(now, seq, payload_len) {
            Ok(len) => {
                self.advance(now, false);
                len.is_some()
            }
            Err(reason) => {
                self.stats.rejected[reason as usize] += 1;
                false
            }
        }
    }

    /// Whether packet `seq` of the present transfer is there, with all bytes of a full packet or as the
    /// summary states. It stays as it is, unless it contradicts a summary that comes later.
    pub fn has(&self, seq: u32) -> bool {
        seq < self.present.capacity() && self.present.contains(seq)
    }

    /// Takes the CRC-32C of a transfer that is complete. Without one it changes nothing: the sender's
    /// silence may have ended the transfer in the meantime.
    pub fn handle_crc(&mut self, now: Nanos, actual: u32) {
        let Phase::Checking { transfer, stated, summary, owes_ok, .. } = self.phase else { return };
        if actual == stated {
            self.finish(now, transfer.header, summary, owes_ok);
        } else {
            self.fail(ReceiveFailure::Crc { stated, actual });
        }
    }

    /// Acts on passed timers.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if let Phase::Receiving(transfer) | Phase::Checking { transfer, .. } = self.phase
            && now >= transfer.heard_at + SILENCE_MAX
        {
            self.fail(ReceiveFailure::Silent);
        }
        if let Some(done) = &mut self.done {
            done.until = done.until.filter(|until| now < *until);
        }
    }

    /// Writes the next frame to send, at most [`FRAME_BYTES_MAX`](super::FRAME_BYTES_MAX) bytes, and
    /// returns its length.
    ///
    /// # Panics
    /// When `out` is shorter than the frame.
    pub fn poll_transmit(&mut self, out: &mut [u8]) -> Option<usize> {
        if let Some(done) = &mut self.done
            && core::mem::take(&mut done.owes_ok)
        {
            done.is_answered = true;
            self.stats.oks += 1;
            return Some(Frame { header: done.header.reply(), body: Body::Complete }.emit(out));
        }
        if let Phase::Checking { transfer, owes_check, .. } = &mut self.phase
            && core::mem::take(owes_check)
        {
            self.stats.checks += 1;
            let header = transfer.header.reply();
            return Some(Frame { header, body: Body::Checking }.emit(out));
        }
        let Phase::Receiving(transfer) = &mut self.phase else { return None };
        let packets = transfer.summary()?.packets;
        let header = transfer.header.reply();
        let len = transfer.answer.as_mut()?.poll_transmit(&header, &self.present, packets, out);
        match len {
            Some(_) => self.stats.lists += 1,
            None => transfer.answer = None,
        }
        len
    }

    /// When to call [`Receiver::handle_timeout`] again at the latest; `None` when it waits for a
    /// transfer, or has ended and answers no summary any more.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let silence_at = match &self.phase {
            Phase::Receiving(transfer) | Phase::Checking { transfer, .. } => {
                Some(transfer.heard_at + SILENCE_MAX)
            }
            Phase::Idle | Phase::Ended => None,
        };
        let until = self.done.and_then(|done| done.until);
        silence_at.into_iter().chain(until).min()
    }

    /// What has happened to the transfer.
    pub const fn poll_event(&mut self) -> Option<ReceiveEvent> {
        self.event.take()
    }

    /// Waits for the next transfer. One that is under way is forgotten.
    pub fn listen(&mut self) {
        self.present.clear();
        (self.phase, self.event) = (Phase::Idle, None);
    }

    fn take<'a>(&mut self, now: Nanos, bytes: &'a [u8]) -> Result<Option<Place<'a>>, Rejection> {
        let Frame { header, body } = Frame::parse(bytes).map_err(|_| Rejection::Wire)?;
        if header.destination != self.config.local {
            return Err(Rejection::OtherDestination);
        }
        if self.is_of_done(now, &header, &body)? {
            self.stats.summaries += 1;
            return Ok(None);
        }
        let is_first = self.begin(now, &header)?;
        match self.take_body(now, body, bytes.len()) {
            Ok(place) => {
                self.advance(now, matches!(body, Body::Summary(_)));
                Ok(place)
            }
            Err(reason) => {
                if is_first {
                    self.phase = Phase::Idle;
                }
                Err(reason)
            }
        }
    }

    /// Takes what a frame of `frame_len` bytes of the present transfer has.
    fn take_body<'a>(
        &mut self,
        now: Nanos,
        body: Body<'a>,
        frame_len: usize,
    ) -> Result<Option<Place<'a>>, Rejection> {
        match body {
            Body::Data { seq, payload } => {
                let len = self.take_data(now, seq, payload.len())?;
                let Some(transfer) = self.phase.transfer() else { return Err(Rejection::NotNow) };
                let offset = transfer.offset(seq);
                Ok(len.map(|len| Place { seq, offset, bytes: &payload[..len] }))
            }
            Body::Summary(summary) => {
                let Some(transfer) = self.phase.transfer() else { return Err(Rejection::NotNow) };
                transfer.take_summary(&mut self.present, summary)?;
                self.stats.summaries += 1;
                transfer.hear(now, frame_len);
                transfer.answer();
                Ok(None)
            }
            Body::Complete | Body::Checking | Body::Missing(_) => Err(Rejection::OtherDirection),
        }
    }

    /// Inlined, as this is what each packet costs a soft core.
    #[inline(always)]
    fn take_data(
        &mut self,
        now: Nanos,
        seq: u32,
        payload_len: usize,
    ) -> Result<Option<usize>, Rejection> {
        let Some(transfer) = self.phase.transfer() else { return Err(Rejection::NotNow) };
        let len = transfer.take_data(&mut self.present, seq, payload_len)?;
        let stats = &mut self.stats;
        *(if len.is_some() { &mut stats.data } else { &mut stats.duplicates }) += 1;
        transfer.hear(now, transfer.header.data_frame_len(payload_len));
        Ok(len)
    }

    /// Whether it is the summary of the transfer that is done, which is answered once more.
    fn is_of_done(
        &mut self,
        now: Nanos,
        header: &Header,
        body: &Body<'_>,
    ) -> Result<bool, Rejection> {
        let Some(done) = self.done.as_mut().filter(|done| done.header == *header) else {
            return Ok(false);
        };
        let answers = done.until.is_some_and(|until| now < until);
        if answers && *body == Body::Summary(done.summary) {
            done.owes_ok = true;
            return Ok(true);
        }
        // Without an ID it may be the first of the next transfer.
        let is_other = matches!(body, Body::Summary(summary) if *summary != done.summary);
        let is_over = done.is_answered || !answers || is_other;
        let may_be_next = header.transfer.is_none() && is_over;
        if !may_be_next || matches!(self.phase, Phase::Ended) {
            return Err(Rejection::TransferBefore);
        }
        Ok(false)
    }

    /// Checks that a frame belongs to the present transfer, or begins one and returns true.
    fn begin(&mut self, now: Nanos, header: &Header) -> Result<bool, Rejection> {
        match &mut self.phase {
            Phase::Receiving(transfer) | Phase::Checking { transfer, .. } => {
                if header.source != transfer.header.source {
                    return Err(Rejection::OtherSource);
                }
                if header.transfer != transfer.header.transfer {
                    if transfer.is_superseded_by(header.transfer) {
                        self.fail(ReceiveFailure::Superseded);
                    }
                    return Err(Rejection::OtherTransfer);
                }
                Ok(false)
            }
            Phase::Idle => {
                if self.config.peer.is_some_and(|peer| header.source != peer) {
                    return Err(Rejection::OtherSource);
                }
                if !self.config.takes(header.transfer.is_some()) {
                    return Err(Rejection::OtherTransfer);
                }
                self.phase = Phase::Receiving(Transfer::new(&self.config, *header, now));
                Ok(true)
            }
            Phase::Ended => Err(Rejection::NotNow),
        }
    }

    /// Notes what a frame has changed.
    fn advance(&mut self, now: Nanos, is_summary: bool) {
        match &mut self.phase {
            // One summary is kept for the result, so that none has two answers.
            Phase::Checking { owes_ok, owes_check, .. } => {
                *owes_check |= is_summary && *owes_ok;
                *owes_ok |= is_summary;
            }
            Phase::Receiving(transfer) => {
                if self.done.as_ref().is_some_and(|done| done.header == transfer.header) {
                    // Without an ID: frames are those of this transfer from its first one on.
                    self.done = None;
                }
                if transfer.is_complete()
                    && let Some(summary) = transfer.summary()
                {
                    let transfer = *transfer;
                    self.complete(now, transfer, summary, is_summary);
                }
            }
            Phase::Idle | Phase::Ended => {}
        }
    }

    fn complete(&mut self, now: Nanos, transfer: Transfer, summary: Summary, owes_ok: bool) {
        match summary.crc {
            Some(stated) => {
                self.phase =
                    Phase::Checking { transfer, stated, summary, owes_ok, owes_check: false };
                self.event = Some(ReceiveEvent::Complete { bytes: summary.bytes });
            }
            None => self.finish(now, transfer.header, summary, owes_ok),
        }
    }

    fn finish(&mut self, now: Nanos, header: Header, summary: Summary, owes_ok: bool) {
        let until = Some(now + ANSWERS_MAX);
        self.done = Some(DoneTransfer { header, summary, until, owes_ok, is_answered: false });
        self.phase = Phase::Ended;
        self.event = Some(ReceiveEvent::Done { bytes: summary.bytes });
    }

    fn fail(&mut self, failure: ReceiveFailure) {
        self.phase = Phase::Ended;
        self.event = Some(ReceiveEvent::Failed(failure));
    }
}
