//! The answer to an ICMP echo request (RFC 792): what `ping` waits for.

use etherparse::{IpNumber, Ipv4Header, Ipv4HeaderSlice};
use samplewire_proto::checksum::InternetSum;

use super::{Arp, checksum_update};

/// Writes the answer to the frame of a request, which went to this station alone, to the start of `into`,
/// and returns its length: at least [`Arp::FRAME_BYTES`]. `ip` is the frame's IP header, which is right, and
/// `message` what it carries.
///
/// `None` for any other message, one with a wrong checksum, and one from a group or longer than `into`.
pub(super) fn answer(
    frame: &[u8],
    ip: &Ipv4HeaderSlice<'_>,
    message: &[u8],
    into: &mut [u8],
) -> Option<usize> {
    let (head, body) = message.split_first_chunk::<HEAD_BYTES>()?;
    let mut sum = InternetSum::default();
    sum.add(message);
    if head[..2] != [ECHO_REQUEST, 0] || sum.complement() != 0 {
        return None;
    }
    let source = ip.source_addr();
    let is_group = source.is_multicast() || source.is_broadcast() || frame[SOURCE_MAC] & 1 != 0;
    if is_group || source.is_unspecified() {
        return None;
    }
    let len_bytes = u16::try_from(message.len()).ok()?;
    let header =
        Ipv4Header::new(len_bytes, TTL, IpNumber::ICMP, ip.destination(), ip.source()).ok()?;
    let header = Ipv4Header { header_checksum: header.calc_header_checksum(), ..header };
    let header = header.to_bytes();
    let end_bytes = ETHERNET_BYTES + header.len() + message.len();
    let frame_bytes = end_bytes.max(Arp::FRAME_BYTES);
    let (into, padding) = into.get_mut(..frame_bytes)?.split_at_mut(end_bytes);
    padding.fill(0);
    let (ethernet, rest) = into.split_at_mut(ETHERNET_BYTES);
    ethernet[..6].copy_from_slice(&frame[6..12]);
    ethernet[6..12].copy_from_slice(&frame[..6]);
    ethernet[12..].copy_from_slice(&frame[12..14]);
    let (to, rest) = rest.split_at_mut(header.len());
    to.copy_from_slice(&header);
    let checksum = u16::from_be_bytes([head[2], head[3]]);
    let checksum = checksum_update(checksum, u16::from_be_bytes([ECHO_REQUEST, 0]), 0);
    rest[..2].copy_from_slice(&[ECHO_REPLY, 0]);
    rest[2..4].copy_from_slice(&checksum.to_be_bytes());
    rest[4..HEAD_BYTES].copy_from_slice(&head[4..]);
    rest[HEAD_BYTES..].copy_from_slice(body);
    Some(frame_bytes)
}

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
/// Type, code, checksum, identifier and number.
const HEAD_BYTES: usize = 8;
const TTL: u8 = 64;
const ETHERNET_BYTES: usize = 14;
/// The first byte of the sender's hardware address.
const SOURCE_MAC: usize = 6;
