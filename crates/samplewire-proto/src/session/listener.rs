//! The answering end: proves addresses without keeping state, and records which peer has which
//! stream (`docs/protocol.md#3.16`).
//!
//! [`Listener::handle`] takes every packet whose tag names no stream of the caller's. Each leaves
//! at most one answer and one event. An answer that is not fetched before the next packet is lost,
//! as a packet is, and its opener sends the request again. Drain order: after `handle` call
//! [`Listener::poll_event`] and answer it by [`Listener::accept`] or [`Listener::refuse`], then
//! [`Listener::poll_transmit`].

#[cfg(feature = "search")]
mod fingerprint;

use super::bucket::Bucket;
use super::cookie::Cookies;
use super::open_config::RANGES_MAX_DEFAULT;
use super::params::TLVS_LEN_MAX;
use super::slot::Opened;
use super::terms::check_slots;
use super::{ListenConfig, ListenStats, OpenRequest, Peer, Secrets, StreamSlot, StreamTerms};
use crate::clock::DepartureClock;
use crate::number::{Nanos, Seq, Tag};
use crate::stream::{TermsError, Underflow};
use crate::wire::{
    self, Accept, Challenge, CloseAck, CloseAckReason, Flags, Header, Open, OpenPrefix, Packet,
    PacketType, RdmaOffer, Refuse, RefuseReason, Role, TRAILER_CRC32C, TlvKind, Tlvs, WireError,
};

/// Answers the openers of a device's streams; slot `n` of the storage is stream `n`.
#[derive(Clone, Debug)]
pub struct Listener<S> {
    slots: S,
    config: ListenConfig,
    boot_id: u64,
    secrets: Secrets,
    cookies: Cookies,
    /// Bounds the answers to peers whose address is not proven.
    strangers: Bucket,
    /// Bounds REFUSEs to peers whose address is proven.
    refusals: Bucket,
    clock: DepartureClock,
    answer: Option<Answer>,
    event: Option<ListenEvent>,
    stats: ListenStats,
}

/// What the application must decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenEvent {
    /// A stream is to be opened, or described: the request's role says which.
    Opening {
        /// What is requested.
        request: OpenRequest,
        /// The tag of a stream of the same owner that ends when this is accepted.
        takes_over: Option<Tag>,
    },
}

/// Why a stream cannot be opened so.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum AcceptError {
    /// Another owner has opened the stream since the event.
    #[error("stream {0} has been opened by another owner")]
    Busy(u16),
    /// A full packet is longer than what the opening proved.
    #[error("data packets of {len} bytes exceed the {len_max} that the path was shown to carry")]
    PacketSize {
        /// The length of a full DATA packet.
        len: usize,
        /// The longest that came through.
        len_max: u16,
    },
    /// The stream cannot be over RDMA as was requested.
    #[error(transparent)]
    Rdma(#[from] TermsError),
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    peer: Peer,
    /// The tag that the answer carries.
    peer_tag: Tag,
    body: Body,
}

#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "a listener has one")]
enum Body {
    Challenge(Challenge),
    Accept { nonce: u64, tag: Tag, len: u16, params: StreamTerms },
    Refuse { refuse: Refuse, version: u8 },
    CloseAck(CloseAck),
}

impl<S: AsRef<[StreamSlot]> + AsMut<[StreamSlot]>> Listener<S> {
    /// Listens for the streams that `slots` has room for. `seed` is 16 secret random bytes;
    /// `boot_id` names the run in which sample indexes are comparable.
    ///
    /// # Panics
    /// When the slots are none or more than [`Listener::STREAMS_MAX`].
    pub fn new(slots: S, config: ListenConfig, seed: [u8; 16], boot_id: u64) -> Self {
        let streams = slots.as_ref().len();
        assert!((1..=Self::STREAMS_MAX).contains(&streams), "{streams} streams cannot be served");
        let mut secrets = Secrets::new(seed);
        let cookies = Cookies::new(secrets.key());
        Self {
            slots,
            config,
            boot_id,
            secrets,
            cookies,
            strangers: Bucket::new(),
            refusals: Bucket::new(),
            clock: DepartureClock::default(),
            answer: None,
            event: None,
            stats: ListenStats::default(),
        }
    }

    /// The most streams: a tag's low bits are its slot, which leaves 20 bits to guess.
    pub const STREAMS_MAX: usize = 4096;

    /// Takes a packet whose tag names no stream of the caller's, as [`wire::parse`] has read it.
    ///
    /// # Errors
    /// When the bytes are not a packet of this version; the caller counts. An OPEN of another
    /// version is refused nevertheless.
    pub fn handle(
        &mut self,
        now: Nanos,
        peer: Peer,
        bytes: &[u8],
        parsed: &Result<(Header, Packet<'_>), WireError>,
    ) -> Result<(), WireError> {
        if !peer.is_answerable() {
            self.stats.unanswerable += 1;
            return Ok(());
        }
        let (header, packet) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                if let WireError::Version(_) = error {
                    self.refuse_version(peer, bytes);
                }
                return Err(*error);
            }
        };
        match packet {
            Packet::Open(open) if header.tag == Tag::NONE && open.tag != Tag::NONE => {
                self.handle_open(now, peer, header, open, bytes.len());
            }
            // An answer to an answer could go on for ever.
            Packet::Open(_) | Packet::Challenge(_) | Packet::Refuse(_) | Packet::CloseAck(_) => {}
            Packet::Data(_)
            | Packet::Mark(_)
            | Packet::Report(_)
            | Packet::Accept(_)
            | Packet::Close(_) => self.handle_foreign(now, peer, header.tag, bytes.len()),
        }
        Ok(())
    }

    /// What the application must decide next.
    pub const fn poll_event(&mut self) -> Option<ListenEvent> {
        self.event.take()
    }

    /// Opens or describes a stream as asked, and returns the tag of packets to this end, `None`
    /// when the stream was only described. A stream of the same owner ends here.
    ///
    /// # Errors
    /// An [`AcceptError`]; nothing is answered, and [`Listener::refuse`] remains to be called.
    ///
    /// # Panics
    /// When the request is not of this listener.
    pub fn accept(
        &mut self,
        now: Nanos,
        request: &OpenRequest,
        params: &StreamTerms,
    ) -> Result<Option<Tag>, AcceptError> {
        let stream = usize::from(request.stream);
        if request.role == Role::Describe {
            self.stats.accepted += 1;
            self.answer_accept(request, Tag::NONE, params);
            return Ok(None);
        }
        let len_max = if request.role == Role::Send { request.len_in } else { request.len_out };
        // No IP packet holds a slot.
        if params.rdma.is_none() && params.data_len() > usize::from(len_max) {
            return Err(AcceptError::PacketSize { len: params.data_len(), len_max });
        }
        check_rdma(request, params)?;
        if self.slots.as_ref()[stream].is_of_another(request.owner) {
            return Err(AcceptError::Busy(request.stream));
        }
        let tag = self.draw_tag(stream);
        self.slots.as_mut()[stream].open(Opened {
            request: *request,
            tag,
            params: *params,
            at: now,
        });
        self.stats.accepted += 1;
        self.answer_accept(request, tag, params);
        Ok(Some(tag))
    }

    /// Refuses a request; another attempt makes sense after `retry_ms`, 0 = never.
    pub fn refuse(&mut self, request: &OpenRequest, reason: RefuseReason, retry_ms: u32) {
        self.answer_refuse(request.peer, request.peer_tag, request.nonce, reason, retry_ms);
    }

    /// Forgets a stream that has ended; a tag that names no stream is not an error, since a
    /// takeover may have come first.
    pub fn release(&mut self, tag: Tag) {
        if let Some(stream) = self.stream_of(tag) {
            self.slots.as_mut()[usize::from(stream)].release();
        }
    }

    /// The stream that a tag of this end names.
    pub fn stream_of(&self, tag: Tag) -> Option<u16> {
        let stream = tag.0 & self.slot_mask();
        let opened = self.slots.as_ref().get(stream as usize)?.opened?;
        (opened.tag == tag).then_some(stream as u16)
    }

    /// Writes the answer that waits, and returns its destination and length.
    ///
    /// # Panics
    /// When `out` is shorter than the largest packet chosen less its IP and UDP headers.
    pub fn poll_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<(Peer, usize)> {
        let Answer { peer, peer_tag, body } = self.answer.take()?;
        if !self.may_answer(now, &body) {
            self.stats.unanswered += 1;
            return None;
        }
        let (kind, index, seq) = match &body {
            Body::Challenge(_) => (PacketType::Challenge, 0, Seq(0)),
            Body::Accept { params, .. } => {
                (PacketType::Accept, params.first_index, params.first_seq)
            }
            Body::Refuse { .. } => (PacketType::Refuse, 0, Seq(0)),
            Body::CloseAck(_) => (PacketType::CloseAck, 0, Seq(0)),
        };
        let departure = self.clock.stamp(now);
        let header = Header { kind, flags: Flags::NONE, tag: peer_tag, index, seq, departure };
        let len = match body {
            Body::Challenge(challenge) => challenge.emit(&header, out),
            Body::Accept { nonce, tag, len, params } => {
                let mut tlv_buf = [0; TLVS_LEN_MAX];
                let accept = params.to_wire(nonce, tag, self.boot_id, &mut tlv_buf);
                let len_min = Accept::packet_len_min(&accept.tlvs);
                accept.emit(&header, len_min.max(len.into()), out)
            }
            Body::Refuse { refuse, version } => refuse.emit_in_version(version, &header, out),
            Body::CloseAck(ack) => ack.emit(&header, out),
        };
        Some((peer, len))
    }

    /// What has been counted.
    pub const fn stats(&self) -> &ListenStats {
        &self.stats
    }

    fn handle_open(
        &mut self,
        now: Nanos,
        peer: Peer,
        header: &Header,
        open: &Open<'_>,
        len_bytes: usize,
    ) {
        if !self.cookies.check(now, &peer, open.nonce, &open.cookie) {
            let cookie = self.cookies.make(now, &peer, open.nonce);
            let body = Body::Challenge(Challenge { nonce: open.nonce, cookie });
            self.stats.challenged += 1;
            self.answer = Some(Answer { peer, peer_tag: open.tag, body });
            return;
        }
        let Some(slot) = self.slots.as_ref().get(usize::from(open.stream)) else {
            return self.answer_refuse(peer, open.tag, open.nonce, RefuseReason::NoSuchStream, 0);
        };
        if open.trailer_kind != TRAILER_CRC32C {
            return self.answer_refuse(peer, open.tag, open.nonce, RefuseReason::Trailer, 0);
        }
        let rdma = match find_rdma(open) {
            Ok(rdma) => rdma,
            Err(reason) => return self.answer_refuse(peer, open.tag, open.nonce, reason, 0),
        };
        let request = OpenRequest { rdma, ..self.request(peer, header, open, len_bytes) };
        if request.role == Role::Describe {
            self.event = Some(ListenEvent::Opening { request, takes_over: None });
            return;
        }
        match slot.opened {
            Some(opened) if opened.is_repeated_by(&request) => {
                self.stats.repeated += 1;
                self.answer_accept(&request, opened.tag, &opened.params);
            }
            Some(opened) if opened.request.owner != request.owner => {
                let retry_ms = self.config.busy_retry_ms;
                self.answer_refuse(peer, open.tag, open.nonce, RefuseReason::Busy, retry_ms);
            }
            _ if slot.has_ended(now, &request) => self.stats.late += 1,
            Some(opened) if opened.overtook(now, &request) => self.stats.late += 1,
            Some(opened) => {
                let takes_over = Some(opened.tag);
                self.event = Some(ListenEvent::Opening { request, takes_over });
            }
            None => self.event = Some(ListenEvent::Opening { request, takes_over: None }),
        }
    }

    fn request(&self, peer: Peer, header: &Header, open: &Open<'_>, len: usize) -> OpenRequest {
        let overhead = peer.ip_overhead();
        let len_in = u16::try_from(len).unwrap_or(u16::MAX);
        let len_taken = open.max_packet_bytes.saturating_sub(overhead);
        let len_sent = self.config.packet_bytes_max - overhead;
        OpenRequest {
            peer,
            peer_tag: open.tag,
            role: open.role,
            delivery: open.delivery,
            deadline_us: open.deadline_us,
            stream: open.stream,
            nonce: open.nonce,
            owner: open.owner,
            window: open.window,
            pad: open.pad,
            start_index: header.index,
            first_seq: header.seq,
            ranges_max: ranges_of(&open.tlvs),
            underflow: underflow_of(&open.tlvs),
            rdma: None,
            len_in,
            len_out: len_in.min(len_taken).min(len_sent),
            departure: header.departure,
        }
    }

    /// Whether the rate of REFUSEs allows this answer (`docs/protocol.md#3.17`).
    fn may_answer(&mut self, now: Nanos, body: &Body) -> bool {
        match body {
            Body::Refuse { version: wire::VERSION, .. } => self.refusals.take(now),
            // Without a cookie, so of an address that is not proven.
            Body::Refuse { .. } => self.strangers.take(now),
            Body::Challenge(_) | Body::Accept { .. } | Body::CloseAck(_) => true,
        }
    }

    /// Informs the sender of a packet without a stream that its stream has ended.
    fn handle_foreign(&mut self, now: Nanos, peer: Peer, tag: Tag, len_bytes: usize) {
        let is_known = tag == Tag::NONE || self.stream_of(tag).is_some();
        if is_known || len_bytes < CloseAck::PACKET_LEN {
            return;
        }
        if !self.strangers.take(now) {
            self.stats.unanswered += 1;
            return;
        }
        self.stats.unknown += 1;
        let reason = CloseAckReason::UnknownTag;
        let body = Body::CloseAck(CloseAck { reason, echoed_tag: tag, source_lost: 0 });
        self.answer = Some(Answer { peer, peer_tag: Tag::NONE, body });
    }

    fn refuse_version(&mut self, peer: Peer, bytes: &[u8]) {
        if let Some(OpenPrefix { version, tag, nonce }) = OpenPrefix::parse(bytes) {
            let refuse = Refuse {
                nonce,
                reason: RefuseReason::Version,
                versions: 1 << wire::VERSION,
                retry_ms: 0,
            };
            self.stats.refused += 1;
            let body = Body::Refuse { refuse, version };
            self.answer = Some(Answer { peer, peer_tag: tag, body });
        }
    }

    fn answer_refuse(
        &mut self,
        peer: Peer,
        peer_tag: Tag,
        nonce: u64,
        reason: RefuseReason,
        retry_ms: u32,
    ) {
        self.stats.refused += 1;
        let refuse = Refuse { nonce, reason, versions: 1 << wire::VERSION, retry_ms };
        let body = Body::Refuse { refuse, version: wire::VERSION };
        self.answer = Some(Answer { peer, peer_tag, body });
    }

    fn answer_accept(&mut self, request: &OpenRequest, tag: Tag, params: &StreamTerms) {
        let body =
            Body::Accept { nonce: request.nonce, tag, len: request.len_out, params: *params };
        self.answer = Some(Answer { peer: request.peer, peer_tag: request.peer_tag, body });
    }

    /// A tag whose low bits are the slot; the other bits are unpredictable.
    fn draw_tag(&mut self, stream: usize) -> Tag {
        let mask = self.slot_mask();
        self.secrets.tag_of(stream as u32, mask)
    }

    fn slot_mask(&self) -> u32 {
        self.slots.as_ref().len().next_power_of_two() as u32 - 1
    }
}

/// What an OPEN says of RDMA (`docs/protocol.md#13.1`): one that receives has a slot for each
/// packet of its window.
fn find_rdma(open: &Open<'_>) -> Result<Option<RdmaOffer>, RefuseReason> {
    let offer = RdmaOffer::find(&open.tlvs).map_err(|_| RefuseReason::Format)?;
    let has_slots = |it: RdmaOffer| it.slots.is_some_and(|it| it.slots == open.window);
    if open.role == Role::Receive && !offer.is_none_or(has_slots) {
        return Err(RefuseReason::Format);
    }
    Ok(offer)
}

/// Checks a stream over RDMA against the request (`docs/protocol.md#13.1`).
fn check_rdma(request: &OpenRequest, params: &StreamTerms) -> Result<(), TermsError> {
    let Some(ours) = &params.rdma else { return Ok(()) };
    let theirs = request.rdma.as_ref().ok_or(TermsError::RdmaUnasked)?;
    if request.delivery != 0 {
        return Err(TermsError::RdmaDelivery);
    }
    if request.role == Role::Send {
        return ours.slots.map(|_| ()).ok_or(TermsError::RdmaNowhere);
    }
    let slots = theirs.slots.as_ref().ok_or(TermsError::RdmaNowhere)?;
    check_slots(slots, request.window, params.payload_bytes)
}

/// How many ranges an OPEN takes; a sender that takes none repairs nothing.
fn ranges_of(tlvs: &Tlvs<'_>) -> u16 {
    let value = tlvs.find(TlvKind::RANGES).and_then(|value| value.first_chunk());
    value.map_or(RANGES_MAX_DEFAULT, |value| u16::from_be_bytes(*value).max(1))
}

fn underflow_of(tlvs: &Tlvs<'_>) -> Underflow {
    let number = tlvs.find(TlvKind::UNDERFLOW).and_then(|value| value.first());
    number.map_or(Underflow::Zeros, |&number| Underflow::from_number(number))
}
