//! Which station has an IPv4 address: ARP over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use etherparse::{ArpEthIpv4Packet, ArpOperation, ArpPacketSlice, EtherType, Ethernet2Slice};

/// An ARP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// Whether it is a request; otherwise a reply.
    pub is_request: bool,
    /// The station that sends it.
    pub sender: (Ipv4Addr, [u8; 6]),
    /// The address that is looked for, or the station that is answered.
    pub target: (Ipv4Addr, [u8; 6]),
}

impl Arp {
    /// The length of a message's frame, without FCS: the shortest of Ethernet.
    pub const FRAME_BYTES: usize = 60;

    /// The request of a station for the station of `address`.
    pub const fn request(sender: (Ipv4Addr, [u8; 6]), address: Ipv4Addr) -> Self {
        Self { is_request: true, sender, target: (address, [0; 6]) }
    }

    /// The answer of the station `me`; `None` where another one is looked for.
    pub fn answer(&self, me: (Ipv4Addr, [u8; 6])) -> Option<Self> {
        let is_for_me = self.is_request && self.target.0 == me.0;
        is_for_me.then_some(Self { is_request: false, sender: me, target: self.sender })
    }

    /// Reads the message of a station; `None` for any other frame.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        Self::read(frame).ok()
    }

    /// Reads the message of a station.
    pub(super) fn read(frame: &[u8]) -> Result<Self, NoMessage> {
        let ethernet =
            Ethernet2Slice::from_slice_without_fcs(frame).map_err(|_| NoMessage::Malformed)?;
        if ethernet.ether_type() != EtherType::ARP {
            return Err(NoMessage::Other);
        }
        let slice = ArpPacketSlice::from_slice(ethernet.payload_slice())
            .map_err(|_| NoMessage::Malformed)?;
        let packet = slice.to_packet().try_eth_ipv4().map_err(|_| NoMessage::Other)?;
        // Frames to a group reach every station: no address of one is believed (RFC 1812, 3.3.2).
        if packet.sender_mac[0] & 1 != 0 {
            return Err(NoMessage::Group);
        }
        let is_request = match packet.operation {
            ArpOperation::REQUEST => true,
            ArpOperation::REPLY => false,
            _ => return Err(NoMessage::Other),
        };
        Ok(Self {
            is_request,
            sender: (packet.sender_ipv4_addr(), packet.sender_mac),
            target: (packet.target_ipv4_addr(), packet.target_mac),
        })
    }

    /// The frame of the message: a request to all stations, a reply to one.
    pub fn frame(&self) -> [u8; Self::FRAME_BYTES] {
        let message = ArpEthIpv4Packet {
            operation: if self.is_request { ArpOperation::REQUEST } else { ArpOperation::REPLY },
            sender_mac: self.sender.1,
            sender_ipv4: self.sender.0.octets(),
            target_mac: self.target.1,
            target_ipv4: self.target.0.octets(),
        };
        let mut frame = [0; Self::FRAME_BYTES];
        frame[..6].copy_from_slice(if self.is_request { &[0xFF; 6] } else { &self.target.1 });
        frame[6..12].copy_from_slice(&self.sender.1);
        frame[12..14].copy_from_slice(&EtherType::ARP.0.to_be_bytes());
        frame[14..14 + ArpEthIpv4Packet::LEN].copy_from_slice(&message.to_bytes());
        frame
    }
}

/// Why a frame is no message of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoMessage {
    /// It is cut.
    Malformed,
    /// Its sender has the hardware address of a group.
    Group,
    /// It is not ARP, or of another operation or network.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: (Ipv4Addr, [u8; 6]) = (Ipv4Addr::new(10, 0, 0, 1), [2, 0, 0, 0, 0, 1]);
    const PEER: (Ipv4Addr, [u8; 6]) = (Ipv4Addr::new(10, 0, 0, 2), [2, 0, 0, 0, 0, 2]);

    #[test]
    fn request_is_these_bytes() {
        let frame = Arp::request(ME, PEER.0).frame();
        let expected = [
            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 0, 1, 0x08, 0x06, // Ethernet
            0, 1, 0x08, 0, 6, 4, 0, 1, // Ethernet, IPv4, lengths, request
            2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
        ];
        assert_eq!(frame[..expected.len()], expected);
        assert_eq!(frame[expected.len()..], [0; 18]);
    }

    #[test]
    fn station_answers_for_its_address_alone() {
        let request = Arp::parse(&Arp::request(ME, PEER.0).frame()).expect("it was written so");
        let answer = request.answer(PEER).expect("it is for the peer");
        let frame = answer.frame();
        assert_eq!(frame[..6], ME.1);
        assert_eq!(Arp::parse(&frame), Some(answer));
        assert_eq!((answer.sender, answer.target), (PEER, ME));
        assert_eq!(request.answer(ME), None, "another address");
        assert_eq!(answer.answer(ME), None, "a reply is not answered");
    }

    #[test]
    fn frames_that_are_no_message_are_none() {
        let frame = Arp::request(ME, PEER.0).frame();
        for len in 0..14 + ArpEthIpv4Packet::LEN {
            assert_eq!(Arp::read(&frame[..len]), Err(NoMessage::Malformed), "{len} bytes");
        }
        for group in [[0xFF; 6], [1, 0, 0x5E, 0, 0, 1]] {
            let reply = Arp { is_request: false, sender: (PEER.0, group), target: ME };
            assert_eq!(Arp::read(&reply.frame()), Err(NoMessage::Group));
        }
        // Type, hardware, protocol, both lengths, operation.
        for at in [12, 15, 16, 18, 19, 21] {
            let mut wrong = frame;
            wrong[at] ^= 0x40;
            assert_eq!(Arp::parse(&wrong), None, "byte {at}");
        }
    }
}
