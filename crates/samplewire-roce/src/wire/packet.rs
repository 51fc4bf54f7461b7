//! An InfiniBand packet: what a frame carries between its addresses and its ICRC.

use samplewire_proto::wire::field;

use crate::number::{Psn, Qpn};

use super::{Aeth, Bth, IMMEDIATE_LEN, Opcode, Operation, PAYLOAD_BYTES_MAX, Reth, Route};
use super::{aeth, at, bth, icrc, reth};

/// A packet, borrowed from the bytes that it was read from or from the message that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The header of every packet.
    pub bth: Bth,
    /// What follows it.
    pub body: Body<'a>,
}

/// What follows the base transport header; which one follows from the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A packet of a SEND or an RDMA WRITE.
    Request {
        /// Where to write; in the first packet of a WRITE.
        reth: Option<Reth>,
        /// Immediate data; in the last packet, if there is any.
        immediate: Option<u32>,
        /// Bytes of the message, without padding.
        payload: &'a [u8],
    },
    /// A request that gets a NAK; its headers are not read.
    Unsupported,
    /// An acknowledgement.
    Acknowledge(Aeth),
    /// A congestion notification: 16 reserved bytes (A17.9.3).
    Cnp,
}

impl Packet<'_> {
    /// The length of the frame, without Ethernet's padding and checksum.
    pub fn frame_len(&self) -> usize {
        let (head, payload) = self.body_len();
        frame_len(head, payload)
    }

    /// Writes the whole frame, without Ethernet's padding and checksum, and returns its length.
    ///
    /// # Panics
    /// When `out` is too short, the payload is longer than [`PAYLOAD_BYTES_MAX`], the body is not
    /// that of the opcode, or it is a request that this crate does not send.
    pub fn emit(&self, route: &Route, out: &mut [u8]) -> usize {
        let opcode = self.bth.opcode;
        let (head_len, payload_len) = self.body_len();
        assert!(payload_len <= PAYLOAD_BYTES_MAX, "a payload of {payload_len} bytes is too long");
        let pad = pad_of(payload_len);
        let len = self.frame_len();
        let frame = &mut out[..len];
        route.emit(len - at::BTH, frame);
        frame[at::BTH..at::BODY].copy_from_slice(&self.bth.to_bytes(pad as u8));
        let body = &mut frame[at::BODY..];
        match self.body {
            Body::Request { reth, immediate, payload } => {
                assert_eq!(reth.is_some(), opcode.has_reth(), "{opcode:?} with {reth:?}");
                assert_eq!(immediate.is_some(), opcode.has_immediate(), "{opcode:?}");
                if let Some(reth) = reth {
                    field::put(body, 0, reth.to_bytes());
                }
                if let Some(immediate) = immediate {
                    field::put_u32(body, head_len - IMMEDIATE_LEN, immediate);
                }
                body[head_len..head_len + payload_len].copy_from_slice(payload);
                body[head_len + payload_len..][..pad].fill(0);
            }
            Body::Acknowledge(aeth) => {
                assert_eq!(opcode.operation(), Operation::Acknowledge);
                field::put(body, 0, aeth.to_bytes());
            }
            Body::Cnp => {
                assert_eq!(opcode.operation(), Operation::Cnp);
                body[..CNP_LEN].fill(0);
            }
            Body::Unsupported => panic!("{opcode:?} is not sent"),
        }
        let (covered, trailer) = frame.split_at_mut(len - icrc::LEN);
        trailer.copy_from_slice(&icrc::to_bytes(icrc::icrc(covered)));
        len
    }

    /// A congestion notification for a queue pair (A17.9.3). Its frame goes by [`Route::for_cnp`].
    /// BECN is set as network cards set it: A17.9.3 does not name the bit.
    pub const fn cnp(destination: Qpn) -> Self {
        let bth = Bth::new(Opcode::Cnp, destination, Psn::new(0));
        Self { bth: Bth { becn: true, ..bth }, body: Body::Cnp }
    }

    /// Bytes of headers after the base transport header, and of payload.
    fn body_len(&self) -> (usize, usize) {
        match self.body {
            Body::Request { payload, .. } => (head_len(self.bth.opcode), payload.len()),
            Body::Acknowledge(_) => (aeth::LEN, 0),
            Body::Cnp => (CNP_LEN, 0),
            Body::Unsupported => (0, 0),
        }
    }
}

/// The length of the frame of a SEND or WRITE, without Ethernet's padding and checksum.
pub(crate) const fn request_frame_len(opcode: Opcode, payload_len: usize) -> usize {
    frame_len(head_len(opcode), payload_len)
}

const fn frame_len(head_len: usize, payload_len: usize) -> usize {
    at::BODY + head_len + payload_len + pad_of(payload_len) + icrc::LEN
}

/// Bytes of headers between the base transport header and the payload of a request.
pub(super) const fn head_len(opcode: Opcode) -> usize {
    let reth = if opcode.has_reth() { reth::LEN } else { 0 };
    let immediate = if opcode.has_immediate() { IMMEDIATE_LEN } else { 0 };
    reth + immediate
}

/// Bytes up to the next multiple of 4 (IB 9.2).
const fn pad_of(payload_len: usize) -> usize {
    payload_len.wrapping_neg() & 3
}

/// The reserved bytes of a congestion notification (A17.9.3).
pub(super) const CNP_LEN: usize = 16;

const _: () = assert!(at::BODY - at::BTH == bth::LEN);
