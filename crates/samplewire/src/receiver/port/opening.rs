//! An opening that an I/O thread runs beside its streams.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use samplewire_io::{Ecn, Link, LinkError, Outgoing};
use samplewire_proto::Nanos;
use samplewire_proto::session::{OpenConfig, OpenEvent, Opener};
use samplewire_proto::wire::{Header, Packet};

use super::{Accepted, Port};
use crate::error::OpenError;
use crate::gather::Gather;

/// What is asked for, and who waits for it.
pub(super) struct Opening {
    address: SocketAddr,
    timeout: Duration,
    config: OpenConfig,
    seed: [u8; 16],
    told: mpsc::Sender<Result<Accepted, OpenError>>,
    /// Once it has a place.
    under_way: Option<UnderWay>,
}

struct UnderWay {
    place: usize,
    opener: Opener,
    /// What the link had said before.
    unreachable: u64,
}

impl Opening {
    pub(super) const fn new(
        (address, timeout): (SocketAddr, Duration),
        config: OpenConfig,
        seed: [u8; 16],
        told: mpsc::Sender<Result<Accepted, OpenError>>,
    ) -> Self {
        Self { address, timeout, config, seed, told, under_way: None }
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts, for the place of the port's tables that the stream's tag is to name.
    pub(super) fn start(&mut self, now: Nanos, place: usize, unreachable: u64) {
        let config = self.config.with_tag_slot(place as u16, Port::STREAMS_MAX as u16);
        let opener = Opener::new(config, self.seed, now);
        self.under_way = Some(UnderWay { place, opener, unreachable });
    }

    /// There is no place for it.
    pub(super) fn refuse(&self) {
        // Nobody waits any more where it cannot be told.
        let _gone = self.told.send(Err(OpenError::PortFull { max: Port::STREAMS_MAX })).is_err();
    }

    /// Takes a packet of the device.
    pub(super) fn handle(&mut self, now: Nanos, header: &Header, packet: &Packet<'_>, len: usize) {
        if let Some(under_way) = &mut self.under_way {
            under_way.opener.handle(now, header, packet, len);
        }
    }

    /// Does what is due. When it is settled the program is told; says whether it was accepted.
    pub(super) fn advance(
        &mut self,
        now: Nanos,
        link: &mut Gather,
        out: &mut [u8],
    ) -> Result<Option<bool>, LinkError> {
        let Some(UnderWay { place, opener, unreachable }) = &mut self.under_way else {
            return Ok(Some(false));
        };
        while let Some(len) = opener.poll_transmit(now, out) {
            link.send(&[Outgoing::whole(self.address, Ecn::NotEct, &out[..len])])?;
        }
        let answer = match opener.poll_event() {
            None => return Ok(None),
            Some(OpenEvent::Accepted(accept)) => Ok((*place, accept)),
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
                    // That the host itself refused to send is the reason, where there is no answer.
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
        let is_accepted = answer.is_ok();
        let is_told = self.told.send(answer).is_ok();
        Ok(Some(is_accepted && is_told))
    }

    pub(super) fn wakes_at(&self, now: Nanos) -> Nanos {
        let opener = self.under_way.as_ref().map(|under_way| &under_way.opener);
        opener.and_then(Opener::poll_timeout).unwrap_or(now)
    }
}
