//! An opening that runs in an endpoint beside its streams.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use samplewire_io::{Ecn, Link, LinkError, Outgoing};
use samplewire_proto::session::{AcceptInfo, OpenConfig, OpenEvent, Opener};
use samplewire_proto::wire::{Header, Packet, RdmaOffer, Role, SlotRegion};
use samplewire_proto::{Nanos, Tag};
use samplewire_roce::stream::Connection;

use super::gather::Gather;
use super::station::Station;
use crate::error::OpenError;

/// A stream that the device has accepted or described, and its place in the endpoint's table.
pub(crate) struct Accepted {
    pub(crate) place: usize,
    pub(crate) accept: AcceptInfo,
    /// Of a stream over RDMA: the queue pairs, and the slots of this end if it receives.
    pub(crate) rdma: Option<(Connection, Option<SlotRegion>)>,
    /// The time of the turn.
    pub(crate) at: Nanos,
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
    /// It has ended, and a stream with this tag must begin.
    Accepted(Tag),
}

impl Opening {
    pub(crate) const fn new(
        address: SocketAddr,
        timeout: Duration,
        config: OpenConfig,
        seed: [u8; 16],
        answers: mpsc::Sender<Result<Accepted, OpenError>>,
    ) -> Self {
        Self { address, timeout, config, seed, answers, under_way: None, offer: None }
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
        if let Some(station) = station.filter(|_| is_possible) {
            self.offer = Some(station.offer(place, Some(&self.config)));
        }
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
        station: Option<&Station>,
    ) -> Result<Progress, LinkError> {
        let Some(UnderWay { place, opener, unreachable }) = &mut self.under_way else {
            return Ok(Progress::Over);
        };
        while let Some(len) = opener.poll_transmit(now, out) {
            link.send(&[Outgoing::whole(self.address, Ecn::NotEct, &out[..len])])?;
        }
        let answer = match opener.poll_event() {
            None => return Ok(Progress::Waiting),
            Some(OpenEvent::Accepted(accept)) => {
                let theirs = accept.params.rdma.as_ref();
                let rdma = theirs.zip(self.offer).zip(station).and_then(|((theirs, ours), it)| {
                    let peer = theirs.queue_pair;
                    Some((it.connection(ours.queue_pair, peer, self.address)?, ours.slots))
                });
                Ok(Accepted { place: *place, accept, rdma, at: now })
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
                        is_unreachable: link.unreachable_hint() > *unreachable && !answers_seen,
                        is_challenged: answers_seen,
                    },
                })
            }
        };
        let is_stream = self.config.role() != Role::Describe;
        let tag = answer.as_ref().ok().map(|accepted| accepted.accept.tag).filter(|_| is_stream);
        let is_awaited = self.answer(answer);
        Ok(tag.filter(|_| is_awaited).map_or(Progress::Over, Progress::Accepted))
    }

    pub(super) fn wakes_at(&self, now: Nanos) -> Nanos {
        let opener = self.under_way.as_ref().map(|under_way| &under_way.opener);
        opener.and_then(Opener::poll_timeout).unwrap_or(now)
    }
}
