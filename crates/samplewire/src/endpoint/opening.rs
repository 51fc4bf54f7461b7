//! An opening that runs in an endpoint beside its streams.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;

use samplewire_io::verbs::{CardSlots, Peer, SlotShape};
use samplewire_io::{Ecn, Link, LinkError, Outgoing};
use samplewire_proto::session::{AcceptInfo, OpenConfig, OpenEvent, Opener};
use samplewire_proto::wire::{Header, Packet, QueuePairTerms, RdmaOffer, Role, SlotRegion};
use samplewire_proto::{Nanos, Tag};
use samplewire_roce::stream::Connection;

use super::gather::Gather;
use super::station::Station;
use crate::error::OpenError;

/// A stream that the device has accepted or described, and its place in the endpoint's table.
pub(crate) struct Accepted {
    pub(crate) place: usize,
    pub(crate) accept: AcceptInfo,
    /// Of a stream over RDMA to this end.
    pub(crate) rdma: Option<AcceptedRdma>,
    /// The time of the turn.
    pub(crate) at: Nanos,
    /// The program may still begin the stream: its place stays taken until this is dropped.
    pub(crate) claim: Arc<()>,
}

/// Whether the program can no longer begin the stream, unless it has already sent the command.
pub(super) fn is_gone(claim: &Weak<()>) -> bool {
    let is_gone = claim.strong_count() == 0;
    // Acquire: `strong_count` orders nothing, and a command that the program sent before it dropped
    // the claim must be visible.
    fence(Ordering::Acquire);
    is_gone
}

/// The queue pairs of a stream to this end, and its slots.
pub(crate) enum AcceptedRdma {
    /// The endpoint is the queue pair.
    Software { connection: Connection, region: SlotRegion },
    /// A card has it, and is to be connected.
    Card { slots: Box<CardSlots>, region: SlotRegion, peer: Peer },
}

/// The request, and the channel for its answer.
pub(crate) struct Opening {
    address: SocketAddr,
    timeout: Duration,
    config: OpenConfig,
    seed: [u8; 16],
    answers: mpsc::Sender<Result<Accepted, OpenError>>,
    /// Set once it has a place.
    under_way: Option<UnderWay>,
    /// The slots of a card, where it is to write.
    card: Option<Box<CardSlots>>,
    /// What its OPENs say of RDMA.
    offer: Option<RdmaOffer>,
}

struct UnderWay {
    place: usize,
    opener: Opener,
    /// The link's count of unreachable errors before the opening.
    unreachable: u64,
}

/// The progress of an opening.
pub(super) enum Progress {
    /// The device has not answered.
    Waiting,
    /// It has ended without a stream.
    Over,
    /// It has ended, and the program must begin a stream with this tag.
    Accepted(Tag, Weak<()>),
}

impl Opening {
    pub(crate) const fn new(
        address: SocketAddr,
        timeout: Duration,
        config: OpenConfig,
        seed: [u8; 16],
        answers: mpsc::Sender<Result<Accepted, OpenError>>,
    ) -> Self {
        Self { address, timeout, config, seed, answers, under_way: None, card: None, offer: None }
    }

    /// Offers the slots of a card, whose queue pair is not connected yet.
    pub(crate) fn set_card(&mut self, slots: CardSlots) {
        self.card = Some(Box::new(slots));
    }

    /// The protocol machine, once the opening has a place.
    pub(super) fn opener(&self) -> Option<&Opener> {
        self.under_way.as_ref().map(|under_way| &under_way.opener)
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts at a place in a table of `places`; the stream's tag contains the place.
    pub(super) fn start(
        &mut self,
        now: Nanos,
        place: usize,
        places: usize,
        unreachable: u64,
        station: Option<&mut Station>,
    ) {
        // Devices do not play over RDMA, and RoCEv2 of a station is over IPv4.
        let is_possible = self.config.role() == Role::Receive && self.address.is_ipv4();
        self.offer = match (&self.card, station) {
            _ if !is_possible => None,
            (Some(slots), _) => Some(card_offer(slots, self.seed)),
            (None, Some(station)) => Some(station.offer(place, Some(&self.config))),
            (None, None) => None,
        };
        let mut config = self.config.with_tag_slot(place as u16, places as u16);
        if let Some(offer) = self.offer {
            config = config.with_rdma(offer);
        }
        let opener = Opener::new(config, self.seed, now);
        self.under_way = Some(UnderWay { place, opener, unreachable });
    }

    /// Fails because there is no free place: the endpoint has `max`.
    pub(super) fn refuse(&self, max: usize) {
        self.answer(Err(OpenError::PortFull { max }));
    }

    /// Fails because the link has failed.
    pub(super) fn fail(&self, error: LinkError) {
        self.answer(Err(error.into()));
    }

    /// Answers the handle; returns whether it still waits.
    fn answer(&self, answer: Result<Accepted, OpenError>) -> bool {
        self.answers.send(answer).is_ok()
    }

    /// Processes a packet of the device.
    pub(super) fn handle(&mut self, now: Nanos, header: &Header, packet: &Packet<'_>, len: usize) {
        if let Some(under_way) = &mut self.under_way {
            under_way.opener.handle(now, header, packet, len);
        }
    }

    /// Does the pending work. Once it has ended, the handle has its answer.
    pub(super) fn advance(
        &mut self,
        now: Nanos,
        link: &mut Gather,
        out: &mut [u8],
        mut station: Option<&mut Station>,
    ) -> Result<Progress, LinkError> {
        let Some(UnderWay { place, opener, unreachable }) = &mut self.under_way else {
            return Ok(Progress::Over);
        };
        let (place, unreachable) = (*place, *unreachable);
        while let Some(len) = opener.poll_transmit(now, out) {
            if let (Some(_), Some(station), IpAddr::V4(ip)) =
                (self.offer, &mut station, self.address.ip())
            {
                // Its first acknowledgement would be lost otherwise.
                station.knows(now, ip)?;
            }
            link.send(&[Outgoing::whole(self.address, Ecn::NotEct, &out[..len])])?;
        }
        let answer = match opener.poll_event() {
            None => return Ok(Progress::Waiting),
            Some(OpenEvent::Accepted(accept)) => {
                let theirs = accept.params.rdma.map(|it| it.queue_pair);
                let rdma = theirs.and_then(|theirs| self.agreed(theirs, station.as_deref()));
                Ok(Accepted { place, accept, rdma, at: now, claim: Arc::default() })
            }
            Some(OpenEvent::Refused { reason, retry_ms, .. }) => {
                let (address, stream) = (self.address, self.config.stream());
                Err(OpenError::Refused { address, stream, reason, retry_ms })
            }
            Some(OpenEvent::Contradicted(error)) => {
                Err(OpenError::PeerTerms { address: self.address, error })
            }
            Some(OpenEvent::TimedOut { answers_seen, .. }) => {
                let refused = link.resilient().take_send_error(self.address);
                Err(match refused.filter(|_| !answers_seen) {
                    // If there is no answer because this host could not send, that is the error.
                    Some(error) => OpenError::Link(error),
                    None => OpenError::NoAnswer {
                        address: self.address,
                        waited: self.timeout,
                        is_unreachable: link.unreachable_hint() > unreachable && !answers_seen,
                        is_challenged: answers_seen,
                    },
                })
            }
        };
        let is_stream = self.config.role() != Role::Describe;
        let awaited = answer.as_ref().ok().filter(|_| is_stream);
        let awaited =
            awaited.map(|it| Progress::Accepted(it.accept.tag, Arc::downgrade(&it.claim)));
        let is_awaited = self.answer(answer);
        Ok(awaited.filter(|_| is_awaited).unwrap_or(Progress::Over))
    }

    /// The queue pairs, once the device has named its own.
    fn agreed(&mut self, peer: QueuePairTerms, station: Option<&Station>) -> Option<AcceptedRdma> {
        let RdmaOffer { queue_pair: local, slots: region } = self.offer?;
        let (region, IpAddr::V4(address)) = (region?, self.address.ip()) else { return None };
        if let Some(slots) = self.card.take() {
            let mtu_bytes = local.path_mtu_bytes.min(peer.path_mtu_bytes).into();
            let (psn, own_psn) = (peer.first_psn, local.first_psn);
            let peer = Peer { address, qpn: peer.qpn, psn, own_psn, mtu_bytes };
            return Some(AcceptedRdma::Card { slots, region, peer });
        }
        let connection = station?.connection(local, peer, self.address)?;
        Some(AcceptedRdma::Software { connection, region })
    }

    pub(super) fn wakes_at(&self, now: Nanos) -> Nanos {
        let opener = self.under_way.as_ref().map(|under_way| &under_way.opener);
        opener.and_then(Opener::poll_timeout).unwrap_or(now)
    }
}

/// What an OPEN says of the slots of a card. Its queue pair sends no request, so the PSN of its first only
/// has to be another one each time.
fn card_offer(slots: &CardSlots, seed: [u8; 16]) -> RdmaOffer {
    let [first, second, third, ..] = seed;
    let queue_pair = QueuePairTerms {
        qpn: slots.qpn(),
        first_psn: u32::from_be_bytes([0, first, second, third]),
        path_mtu_bytes: slots.card().mtu_bytes() as u16,
    };
    let SlotShape { slots: count, slot_bytes } = slots.shape();
    let (address, rkey) = (slots.address(), slots.remote_key());
    let slots = Some(SlotRegion { address, rkey, slot_bytes, slots: count });
    RdmaOffer { queue_pair, slots }
}
