//! What a queue pair sends.

use crate::number::Qpn;
use crate::requester::{PayloadAt, Request};
use crate::responder::Response;
use crate::wire::{Aeth, Body, Bth, Opcode, Packet, Reth, Route};

/// A packet to send, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    bth: Bth,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Acknowledge(Aeth),
    Cnp,
    Request { reth: Option<Reth>, immediate: Option<u32>, payload: PayloadAt },
}

impl Transmit {
    pub(super) const fn response(destination: Qpn, response: &Response) -> Self {
        let bth = Bth::new(Opcode::Acknowledge, destination, response.psn);
        let bth = Bth { migrated: true, ..bth };
        Self { bth, kind: Kind::Acknowledge(response.aeth) }
    }

    pub(super) const fn cnp(destination: Qpn) -> Self {
        Self { bth: Packet::cnp(destination).bth, kind: Kind::Cnp }
    }

    pub(super) const fn request(destination: Qpn, request: &Request) -> Self {
        let Request { opcode, psn, ack_request, is_solicited, reth, immediate, payload } = *request;
        let bth = Bth::new(opcode, destination, psn);
        let bth = Bth { migrated: true, ack_request, solicited: is_solicited, ..bth };
        Self { bth, kind: Kind::Request { reth, immediate, payload } }
    }

    /// The bytes that it carries; `None` for an acknowledgement or a congestion notification.
    pub const fn payload(&self) -> Option<PayloadAt> {
        match self.kind {
            Kind::Acknowledge(_) | Kind::Cnp => None,
            Kind::Request { payload, .. } => Some(payload),
        }
    }

    /// The packet with the bytes that [`Transmit::payload`] names; none where that is `None`.
    ///
    /// # Panics
    /// When `payload` has another length.
    pub fn packet<'a>(&self, payload: &'a [u8]) -> Packet<'a> {
        let len_bytes = self.payload().map_or(0, |at| at.len_bytes);
        assert_eq!(payload.len(), len_bytes as usize, "the payload has another length");
        let body = match self.kind {
            Kind::Acknowledge(aeth) => Body::Acknowledge(aeth),
            Kind::Cnp => Body::Cnp,
            Kind::Request { reth, immediate, .. } => Body::Request { reth, immediate, payload },
        };
        Packet { bth: self.bth, body }
    }

    /// Writes the frame around the bytes that [`Transmit::payload`] names, and returns its length.
    /// IPv4's identification is that of the PSN: those of successive requests count up, so that a
    /// link may hand them to the kernel as one (UDP segmentation counts it up too).
    ///
    /// # Panics
    /// When `payload` has another length, or `out` is too short;
    /// [`FRAME_BYTES_MAX`](crate::wire::FRAME_BYTES_MAX) fits all.
    pub fn emit(&self, route: &Route, payload: &[u8], out: &mut [u8]) -> usize {
        let route = if self.kind == Kind::Cnp { route.for_cnp() } else { *route };
        let identification = self.bth.psn.get() as u16;
        self.packet(payload).emit(&Route { identification, ..route }, out)
    }
}
