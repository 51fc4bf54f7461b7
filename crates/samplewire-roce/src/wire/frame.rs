//! A view of a received frame.

use samplewire_proto::checksum::InternetSum;
use samplewire_proto::wire::field;

use super::packet::{CNP_LEN, head_len};
use super::route::{
    ETHER_TYPE, ETHER_TYPE_IPV4, FRAGMENT, IP_FIRST_BYTE, IP_LEN, IP_UDP, UDP_LEN, UDP_PORT,
};
use super::{
    Aeth, Body, Bth, IMMEDIATE_LEN, Opcode, Operation, Packet, Reth, Route, WireError, aeth, at,
    bth, icrc,
};

/// A frame whose headers, lengths and ICRC are right.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// From Ethernet's header up to the ICRC, without it.
    bytes: &'a [u8],
    bth: Bth,
}

impl<'a> Frame<'a> {
    /// Checks a frame without Ethernet's checksum; bytes after the IPv4 packet are Ethernet's
    /// padding and are ignored.
    ///
    /// Not checked: Ethernet addresses, which a port filters, and that addresses, queue pair,
    /// partition and PSN are those of a connection.
    ///
    /// # Errors
    /// The first check that fails; the caller drops and counts.
    pub fn new_checked(frame: &'a [u8]) -> Result<Self, WireError> {
        if frame.len() < at::BODY + icrc::LEN {
            return Err(WireError::TooShort { len: frame.len() });
        }
        let end = check_ip(frame)?;
        check_udp(&frame[..end])?;
        let (bytes, trailer) = frame[..end].split_at(end - icrc::LEN);
        let header = &bytes[at::BTH..at::BODY];
        let (len, pad) = (bytes.len() - at::BODY, bth::pad(header));
        if !len.is_multiple_of(4) || usize::from(pad) > len {
            return Err(WireError::Padding { len, pad });
        }
        let version = bth::version(header);
        if version != 0 {
            return Err(WireError::TransportVersion(version));
        }
        if trailer != icrc::to_bytes(icrc::icrc(bytes)) {
            return Err(WireError::Icrc);
        }
        let bth = Bth::read(header)?;
        let frame = Self { bytes: &bytes[..bytes.len() - usize::from(pad)], bth };
        frame.check_body()?;
        Ok(frame)
    }

    /// Whether the headers are those of a congestion notification. Nothing is summed: for counts of
    /// frames that pass, not for what acts on them.
    pub fn is_cnp(frame: &[u8]) -> bool {
        let is_roce = frame.len() >= at::BODY
            && field::get_u16(frame, ETHER_TYPE) == ETHER_TYPE_IPV4
            && frame[at::IP] == IP_FIRST_BYTE
            && frame[at::IP + 9] == IP_UDP
            && field::get_u16(frame, at::UDP + 2) == UDP_PORT;
        is_roce && Bth::peek(frame).is_some_and(|bth| bth.opcode == Opcode::Cnp)
    }

    /// Addresses and the other choices below InfiniBand's headers.
    pub fn route(&self) -> Route {
        Route::read(self.bytes)
    }

    /// The packet.
    pub fn packet(&self) -> Packet<'a> {
        let body = self.body();
        let opcode = self.bth.opcode;
        let body = match opcode.operation() {
            Operation::Send | Operation::Write => {
                let (head, payload) = body.split_at(head_len(self.bth.opcode));
                let immediate_at = head.len().saturating_sub(IMMEDIATE_LEN);
                Body::Request {
                    reth: opcode.has_reth().then(|| Reth::read(head)),
                    immediate: opcode.has_immediate().then(|| field::get_u32(head, immediate_at)),
                    payload,
                }
            }
            Operation::Unsupported => Body::Unsupported,
            Operation::Acknowledge => Body::Acknowledge(Aeth::read(body)),
            Operation::Cnp => Body::Cnp,
        };
        Packet { bth: self.bth, body }
    }

    /// What stands between the base transport header and padding.
    fn body(&self) -> &'a [u8] {
        &self.bytes[at::BODY..]
    }

    fn check_body(&self) -> Result<(), WireError> {
        let (opcode, len) = (self.bth.opcode, self.body().len());
        let fits = match opcode.operation() {
            Operation::Send | Operation::Write => len >= head_len(self.bth.opcode),
            Operation::Unsupported => true,
            Operation::Acknowledge => len == aeth::LEN,
            Operation::Cnp => len == CNP_LEN,
        };
        if fits { Ok(()) } else { Err(WireError::Length { opcode, len }) }
    }
}

/// Checks Ethernet's type and the IPv4 header; returns where the IPv4 packet ends.
fn check_ip(frame: &[u8]) -> Result<usize, WireError> {
    let kind = field::get_u16(frame, ETHER_TYPE);
    if kind != ETHER_TYPE_IPV4 {
        return Err(WireError::EtherType(kind));
    }
    let header = &frame[at::IP..at::UDP];
    if header[0] != IP_FIRST_BYTE {
        return Err(WireError::IpHeader(header[0]));
    }
    let (stated, captured) = (field::get_u16(header, 2), frame.len() - at::IP);
    let len = usize::from(stated);
    if len > captured || len < at::BODY + icrc::LEN - at::IP {
        return Err(WireError::IpLength { stated, captured });
    }
    let fragment = field::get_u16(header, 6);
    if fragment & FRAGMENT != 0 {
        return Err(WireError::Fragment(fragment));
    }
    if header[9] != IP_UDP {
        return Err(WireError::Protocol(header[9]));
    }
    let mut sum = InternetSum::default();
    sum.add(header);
    if sum.complement() == 0 { Ok(at::IP + len) } else { Err(WireError::IpChecksum) }
}

/// Checks the UDP header of an IPv4 packet that ends with the bytes.
fn check_udp(frame: &[u8]) -> Result<(), WireError> {
    let datagram = &frame[at::UDP..];
    let port = field::get_u16(datagram, 2);
    if port != UDP_PORT {
        return Err(WireError::Port(port));
    }
    let (stated, expected) = (field::get_u16(datagram, 4), datagram.len() as u16);
    if stated != expected {
        return Err(WireError::UdpLength { stated, expected });
    }
    if field::get_u16(datagram, 6) == 0 {
        return Ok(());
    }
    let mut sum = InternetSum::default();
    sum.add(&frame[at::IP + IP_LEN - 8..at::UDP]);
    sum.add(&[0, IP_UDP]);
    sum.add(&stated.to_be_bytes());
    sum.add(datagram);
    if sum.complement() == 0 { Ok(()) } else { Err(WireError::UdpChecksum) }
}

const _: () = assert!(at::UDP + UDP_LEN == at::BTH);
