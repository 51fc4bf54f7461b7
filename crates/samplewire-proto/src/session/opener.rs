//! The opening end: requests a cookie, then finds the largest packet that the path carries
//! (`docs/protocol.md#3.15`).
//!
//! ```text
//! Asking --CHALLENGE--> Trying(largest) --3 losses--> Trying(next size) .. --ACCEPT--> Done
//! Trying --no size left, or REFUSE packet size after a loss--> Asking
//! Asking, Trying --any other REFUSE--> Done
//! Asking, Trying --timeout--> Done
//! ```
//!
//! Each size and each cookie is an attempt of its own, with a tag of its own and a nonce that differs
//! in the lowest byte: a responder may have opened the stream for a larger size, or in its former
//! run, whose ACCEPT was lost, and what it says of that stream must not be taken for the one that is
//! open. The listener's cookie does not cover that byte, so one CHALLENGE serves all sizes. For the same reason each OPEN without
//! cookie may differ in it, and a CHALLENGE shows which it answers: a round trip measured from the
//! wrong one would stretch every wait that follows.
//!
//! Drain order: after [`Opener::handle`] or a passed timeout call [`Opener::poll_transmit`] until
//! it is `None`, then [`Opener::poll_event`], then sleep until [`Opener::poll_timeout`].

#[cfg(feature = "search")]
mod fingerprint;

use super::cookie::NONCE_STEPS;
use super::open_config::TLVS_LEN_MAX;
use super::terms::check_slots;
use super::{AcceptInfo, OpenConfig, OpenEvent, Secrets, StreamTerms};
use crate::clock::DepartureClock;
use crate::number::{Nanos, Tag};
use crate::stream::TermsError;
use crate::wire::{
    Accept, Challenge, Flags, Header, OPEN_LEN_MIN, Open, Packet, PacketType, Refuse, RefuseReason,
    Role, TRAILER_CRC32C,
};

/// Opens one stream.
#[derive(Clone, Debug)]
pub struct Opener {
    config: OpenConfig,
    secrets: Secrets,
    clock: DepartureClock,
    state: State,
    give_up_at: Nanos,
    tag: Tag,
    nonce: u64,
    /// The shortest time to an answer.
    rtt: Option<Nanos>,
    /// The smallest IP packet tried, 0 before the first CHALLENGE.
    packet_bytes_tried: u16,
    /// A REFUSE of the packet's size that a later round may still fix.
    refused_size: Option<Refuse>,
    event: Option<OpenEvent>,
}

/// Where an opening stands (`docs/protocol.md`, state table of the opener).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenPhase {
    /// No cookie has come.
    Asking,
    /// OPENs with the cookie find the size of packets.
    Trying,
    /// It has ended.
    Done,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// OPEN without cookie repeats until a CHALLENGE comes. The last departures, by the lowest
    /// byte of their nonce.
    Asking { tries: Tries, departed: [Nanos; ASKED_KEPT] },
    /// OPEN with the cookie, padded to a size.
    Trying { cookie: [u8; 16], packet_bytes: u16, tries: Tries },
    /// The event has been given out or waits to be.
    Done,
}

/// The departures of one OPEN.
#[derive(Clone, Copy, Debug)]
struct Tries {
    count: u32,
    first_at: Nanos,
    next_at: Nanos,
}

impl Opener {
    /// Starts at `now`; `seed` is 16 secret random bytes, for this opening only.
    pub fn new(config: OpenConfig, seed: [u8; 16], now: Nanos) -> Self {
        let mut opener = Self {
            config,
            secrets: Secrets::new(seed),
            clock: DepartureClock::default(),
            state: State::Done,
            give_up_at: now + config.timeout,
            tag: Tag::NONE,
            nonce: 0,
            rtt: None,
            packet_bytes_tried: 0,
            refused_size: None,
            event: None,
        };
        opener.ask(now);
        opener
    }

    /// The tag of the present attempt: packets that carry it are for [`Opener::handle`].
    pub const fn tag(&self) -> Tag {
        self.tag
    }

    /// Where the opening stands.
    pub const fn phase(&self) -> OpenPhase {
        match self.state {
            State::Asking { .. } => OpenPhase::Asking,
            State::Trying { .. } => OpenPhase::Trying,
            State::Done => OpenPhase::Done,
        }
    }

    /// Writes the packet that is due and returns its length.
    ///
    /// # Panics
    /// When `out` is shorter than the largest packet chosen less its IP and UDP headers.
    pub fn poll_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<usize> {
        let tries = self.tries()?;
        if now >= self.give_up_at {
            self.finish_in_vain();
            return None;
        }
        if now < tries.next_at {
            return None;
        }
        self.step_down_after_losses(now);
        let open_len = self.count_try(now);
        let header = Header {
            kind: PacketType::Open,
            flags: Flags::FROM_OPENER,
            tag: Tag::NONE,
            index: self.config.start_index,
            seq: self.config.first_seq,
            departure: self.clock.stamp(now),
        };
        let mut tlv_buf = [0; TLVS_LEN_MAX];
        Some(self.open(&mut tlv_buf).emit(&header, open_len, out))
    }

    /// Takes a packet of `len_bytes` bytes that [`parse`](crate::wire::parse) has checked.
    ///
    /// Believes only what carries the tag of the present attempt and its nonce.
    pub fn handle(&mut self, now: Nanos, header: &Header, packet: &Packet<'_>, len_bytes: usize) {
        if header.tag != self.tag {
            return;
        }
        match packet {
            Packet::Challenge(challenge) if self.is_of_round(challenge.nonce) => {
                self.handle_challenge(now, challenge);
            }
            Packet::Accept(accept) if accept.nonce == self.nonce => {
                self.handle_accept(now, header, accept, len_bytes);
            }
            Packet::Refuse(refuse) if self.is_of_round(refuse.nonce) => {
                self.handle_refuse(now, refuse);
            }
            _ => {}
        }
    }

    /// When to call [`Opener::poll_transmit`] next; `None` when the opening has ended.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.tries().map(|tries| tries.next_at.min(self.give_up_at))
    }

    /// How the opening ended, once.
    pub const fn poll_event(&mut self) -> Option<OpenEvent> {
        self.event.take()
    }

    fn handle_challenge(&mut self, now: Nanos, challenge: &Challenge) {
        match &mut self.state {
            State::Asking { tries, departed } => {
                let age = (self.nonce as u8).wrapping_sub(challenge.nonce as u8);
                if u32::from(age) >= tries.count.min(ASKED_KEPT as u32) {
                    return;
                }
                let departed_at = departed[challenge.nonce as usize % ASKED_KEPT];
                self.measure(now, departed_at);
                self.state = State::Trying {
                    cookie: challenge.cookie,
                    packet_bytes: self.config.packet_bytes_max,
                    tries: Tries::at(now),
                };
            }
            // The cookie grew too old on the way, or its maker restarted: it may have opened the
            // stream before.
            State::Trying { cookie, tries, .. } if *cookie != challenge.cookie => {
                *cookie = challenge.cookie;
                tries.next_at = now;
                self.tag = self.config.draw_tag(&mut self.secrets);
                self.step_nonce();
            }
            _ => {}
        }
    }

    fn handle_accept(&mut self, now: Nanos, header: &Header, accept: &Accept<'_>, len: usize) {
        let State::Trying { packet_bytes, tries, .. } = self.state else { return };
        if tries.count == 0 {
            return;
        }
        let names_stream = accept.tag != Tag::NONE || self.config.role == Role::Describe;
        let keeps_seq = self.config.role != Role::Send || header.seq == self.config.first_seq;
        if !names_stream || !keeps_seq {
            return;
        }
        let params = match StreamTerms::read(header, accept) {
            Ok(params) => params,
            Err(error) => return self.finish(OpenEvent::Contradicted(error)),
        };
        if let Err(error) = self.check_rdma(&params) {
            return self.finish(OpenEvent::Contradicted(error));
        }
        let open_len = usize::from(packet_bytes - self.config.ip_overhead);
        let proven_len = match self.config.role {
            // No IP packet holds a slot.
            _ if params.rdma.is_some() => usize::MAX,
            Role::Describe => usize::MAX,
            Role::Receive => len,
            Role::Send => open_len,
        };
        if params.data_len() > proven_len {
            return;
        }
        let rtt = self.measure(now, tries.first_at);
        let bytes_in = len.saturating_add(self.config.ip_overhead.into());
        self.finish(OpenEvent::Accepted(AcceptInfo {
            params,
            boot_id: accept.boot_id,
            tag: self.tag,
            peer_tag: accept.tag,
            rtt,
            packet_bytes_out: packet_bytes,
            packet_bytes_in: u16::try_from(bytes_in).unwrap_or(u16::MAX),
        }));
    }

    /// Checks what an ACCEPT says of RDMA against the request (`docs/protocol.md#13.1`).
    fn check_rdma(&self, params: &StreamTerms) -> Result<(), TermsError> {
        let Some(theirs) = &params.rdma else { return Ok(()) };
        let ours = self.config.rdma.as_ref().ok_or(TermsError::RdmaUnasked)?;
        match self.config.role {
            Role::Describe => Ok(()),
            Role::Send => theirs.slots.map(|_| ()).ok_or(TermsError::RdmaNowhere),
            Role::Receive => {
                let slots = ours.slots.as_ref().ok_or(TermsError::RdmaNowhere)?;
                check_slots(slots, self.config.window, params.payload_bytes)
            }
        }
    }

    fn handle_refuse(&mut self, now: Nanos, refuse: &Refuse) {
        match self.state {
            // It answers a size that has been given up; the present one will be answered too.
            State::Trying { .. } if refuse.nonce != self.nonce => {}
            // The larger sizes may have been lost by chance.
            State::Trying { packet_bytes, .. }
                if refuse.reason == RefuseReason::PacketSize
                    && packet_bytes < self.config.packet_bytes_max =>
            {
                self.refused_size = Some(*refuse);
                self.ask(now);
            }
            State::Asking { .. } | State::Trying { .. } => self.finish(OpenEvent::from(refuse)),
            State::Done => {}
        }
    }

    /// Starts a round: a fresh attempt, from the cookie and the largest size.
    fn ask(&mut self, now: Nanos) {
        self.tag = self.config.draw_tag(&mut self.secrets);
        self.nonce = self.secrets.nonce();
        self.state = State::Asking { tries: Tries::at(now), departed: [now; ASKED_KEPT] };
    }

    /// Whether a nonce is of this round, whatever it was tried with.
    const fn is_of_round(&self, nonce: u64) -> bool {
        nonce & !NONCE_STEPS == self.nonce & !NONCE_STEPS
    }

    /// Moves on to the next nonce for which the same cookie is good.
    fn step_nonce(&mut self) {
        self.nonce = self.nonce & !NONCE_STEPS | self.nonce.wrapping_add(1) & NONCE_STEPS;
    }

    /// Moves on to the next size, or the next round, when the present size has been lost enough.
    fn step_down_after_losses(&mut self, now: Nanos) {
        let State::Trying { packet_bytes, tries, .. } = &mut self.state else { return };
        if tries.count < TRIES_MAX {
            return;
        }
        match LADDER.into_iter().find(|size| size < packet_bytes) {
            Some(size) => {
                *packet_bytes = size;
                *tries = Tries::at(now);
                self.tag = self.config.draw_tag(&mut self.secrets);
                self.step_nonce();
            }
            None => self.ask(now),
        }
    }

    /// Counts a departure, sets the next, and returns the length of the OPEN.
    fn count_try(&mut self, now: Nanos) -> usize {
        let wait = self.rtt.map_or(TRY_WAIT_MIN, |rtt| Nanos(rtt.0 * 3).max(TRY_WAIT_MIN));
        match &mut self.state {
            State::Asking { tries, departed } => {
                let pause = Nanos(ASK_WAIT_MIN.0 << tries.count.min(ASK_DOUBLINGS_MAX));
                tries.depart(now, pause);
                let nonce = self.nonce.wrapping_add(1);
                departed[nonce as usize % ASKED_KEPT] = now;
                self.step_nonce();
                OPEN_LEN_MIN
            }
            State::Trying { packet_bytes, tries, .. } => {
                tries.depart(now, Nanos(wait.0 << tries.count));
                let tried = *packet_bytes;
                self.packet_bytes_tried = match self.packet_bytes_tried {
                    0 => tried,
                    smallest => smallest.min(tried),
                };
                usize::from(tried - self.config.ip_overhead)
            }
            State::Done => unreachable!("an opening that has ended has no departures"),
        }
    }

    fn open<'b>(&self, tlv_buf: &'b mut [u8; TLVS_LEN_MAX]) -> Open<'b> {
        let cookie = match self.state {
            State::Trying { cookie, .. } => cookie,
            State::Asking { .. } | State::Done => [0; 16],
        };
        Open {
            tag: self.tag,
            role: self.config.role,
            delivery: self.config.delivery,
            stream: self.config.stream,
            nonce: self.nonce,
            owner: self.config.owner,
            cookie,
            window: self.config.window,
            max_packet_bytes: self.config.packet_bytes_max,
            pad: self.config.pad,
            trailer_kind: TRAILER_CRC32C,
            deadline_us: self.config.deadline_us,
            tlvs: self.config.tlvs(tlv_buf),
        }
    }

    /// Takes the time to an answer from the first departure that it may answer.
    fn measure(&mut self, now: Nanos, departed_at: Nanos) -> Nanos {
        let elapsed = now.since(departed_at).min(RTT_MAX);
        let rtt = self.rtt.map_or(elapsed, |rtt| rtt.min(elapsed));
        self.rtt = Some(rtt);
        rtt
    }

    fn finish_in_vain(&mut self) {
        self.finish(match self.refused_size {
            Some(refuse) => OpenEvent::from(&refuse),
            None => OpenEvent::TimedOut {
                answers_seen: self.rtt.is_some(),
                packet_bytes: self.packet_bytes_tried,
            },
        });
    }

    fn finish(&mut self, event: OpenEvent) {
        self.state = State::Done;
        self.event = Some(event);
    }

    fn tries(&self) -> Option<Tries> {
        match self.state {
            State::Asking { tries, .. } | State::Trying { tries, .. } => Some(tries),
            State::Done => None,
        }
    }
}

impl Tries {
    /// None yet, the first at `now`.
    const fn at(now: Nanos) -> Self {
        Self { count: 0, first_at: now, next_at: now }
    }

    fn depart(&mut self, now: Nanos, pause: Nanos) {
        if self.count == 0 {
            self.first_at = now;
        }
        self.count += 1;
        self.next_at = now + pause;
    }
}

/// The sizes of IP packets to try, below the largest chosen.
const LADDER: [u16; 4] = [9_000, 4_096, 1_500, 1_280];
/// How often a size is tried before the next.
const TRIES_MAX: u32 = 3;
/// The first pause before a padded OPEN repeats, unless three round trips are longer.
const TRY_WAIT_MIN: Nanos = Nanos::from_millis(20);
/// The first pause before an OPEN without cookie repeats, and how often it doubles: to 800 ms.
const ASK_WAIT_MIN: Nanos = Nanos::from_millis(100);
const ASK_DOUBLINGS_MAX: u32 = 3;
/// OPENs without cookie whose departures are kept: older ones left 5 s ago or more.
const ASKED_KEPT: usize = 8;
/// Keeps the waits of the ladder finite when a first answer took for ever.
const RTT_MAX: Nanos = Nanos::from_millis(10_000);
