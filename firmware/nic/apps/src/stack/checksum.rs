//! Checksums of IPv4, TCP, UDP and ICMP over frames in packet memory, in whole words.
//!
//! smoltcp sums bytes, with shifts that cost a processor without a barrel shifter ten times as much. So
//! the device verifies received frames before smoltcp sees them, and fills in those of sent frames.
//!
//! The sum of RFC 1071 is the same in either byte order, so words are summed as memory holds them. In a
//! buffer an IPv4 header begins two bytes behind a multiple of 4, and so does what follows it: both
//! are a half, then whole words.

use samplewire_nic_driver::{Buffer, Bus, FRAME_OFFSET};

/// What a received frame is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its checksums are right, or it has none.
    Good,
    /// A checksum is wrong, or a length does not fit.
    Bad,
    /// A fragment: its checksum is over others too.
    Fragment,
}

/// Verifies the checksums of a received frame. UDP without a checksum is good, as IPv4 allows it.
pub(super) fn verify<B: Bus>(buffer: &mut Buffer<B>) -> Verdict {
    let len = buffer.len();
    let head = match buffer.units(HEAD_BYTES, |halves: &mut [u16]| Head::parse(halves, len)) {
        Ok(Some(head)) => head,
        Ok(None) => return Verdict::Good,
        Err(verdict) => return verdict,
    };
    let Some(checksum_at) = head.checksum_at() else { return Verdict::Good };
    let is_unsummed = head.protocol == UDP
        && buffer.units(HEAD_BYTES_MAX, |halves: &mut [u16]| halves[checksum_at] == 0);
    let sum = buffer.units(head.memory_bytes(), |words: &mut [u32]| head.sum(words));
    if is_unsummed || sum == ALL_ONES { Verdict::Good } else { Verdict::Bad }
}

/// Fills in the checksums of a frame to be sent, whose checksum fields are 0. Frames without are left.
pub(super) fn fill<B: Bus>(buffer: &mut Buffer<B>) {
    let len = buffer.len();
    let head = buffer.units(HEAD_BYTES, |halves: &mut [u16]| {
        if !is_ipv4(halves, len) {
            return None;
        }
        halves[IP_CHECKSUM] = !header_sum(halves);
        Head::parse(halves, len).ok().flatten()
    });
    let Some(head) = head else { return };
    let Some(checksum_at) = head.checksum_at() else { return };
    let sum = buffer.units(head.memory_bytes(), |words: &mut [u32]| head.sum(words));
    // UDP sends 0 as its complement, as 0 means that there is none.
    let checksum = if head.protocol == UDP && sum == ALL_ONES { ALL_ONES } else { !sum };
    buffer.units(HEAD_BYTES_MAX, |halves: &mut [u16]| halves[checksum_at] = checksum);
}

/// What follows the IPv4 header of a frame.
struct Head {
    protocol: u8,
    /// The half of the buffer at which it begins.
    at: usize,
    /// Its bytes.
    len: usize,
    /// The sum of what a checksum covers beside it.
    pseudo: u32,
}

impl Head {
    /// From the first halves of a buffer with a frame of `len` bytes; none if it is not IPv4.
    fn parse(halves: &[u16], len: usize) -> Result<Option<Self>, Verdict> {
        if !is_ipv4(halves, len) {
            return Ok(None);
        }
        let [version, _] = halves[IP].to_le_bytes();
        let header_bytes = 4 * usize::from(version & 15);
        let ip_bytes = usize::from(u16::from_be(halves[IP_LENGTH]));
        if header_bytes < IP_BYTES || ip_bytes < header_bytes || ip_bytes > len - ETHERNET_BYTES {
            return Err(Verdict::Bad);
        }
        let mut sum = header_sum(halves);
        let at = IP + header_bytes / 2;
        for option in &halves[IP + IP_BYTES / 2..at] {
            sum = add_halves(sum, *option);
        }
        if sum != ALL_ONES {
            return Err(Verdict::Bad);
        }
        if halves[IP_FRAGMENT] & FRAGMENT_MASK.to_be() != 0 {
            return Err(Verdict::Fragment);
        }
        let [_, protocol] = halves[IP_PROTOCOL].to_le_bytes();
        let mut length = (ip_bytes - header_bytes) as u16;
        let room = length;
        if length < minimum(protocol) {
            return Err(Verdict::Bad);
        }
        if protocol == UDP {
            length = u16::from_be(halves[at + UDP_LENGTH]);
            if length < minimum(UDP) || length > room {
                return Err(Verdict::Bad);
            }
        }
        let addresses: u32 =
            halves[IP_ADDRESSES..IP_ADDRESSES + 4].iter().map(|h| u32::from(*h)).sum();
        let pseudo = match protocol {
            TCP | UDP => {
                let protocol = u16::from(protocol).to_be();
                addresses + u32::from(protocol) + u32::from(length.to_be())
            }
            _ => 0,
        };
        Ok(Some(Self { protocol, at, len: usize::from(length), pseudo }))
    }

    /// The half of the buffer that has the checksum.
    fn checksum_at(&self) -> Option<usize> {
        match self.protocol {
            ICMP => Some(self.at + 1),
            TCP => Some(self.at + 8),
            UDP => Some(self.at + 3),
            _ => None,
        }
    }

    /// Bytes of the buffer up to its end, in whole words.
    fn memory_bytes(&self) -> usize {
        (2 * self.at + self.len).next_multiple_of(4)
    }

    /// The sum over what the checksum covers; all ones if it is right.
    fn sum(&self, words: &[u32]) -> u16 {
        // `at` is odd, and there are two bytes or more.
        let first = self.at / 2;
        let [_, _, b2, b3] = words[first].to_le_bytes();
        let begin = u32::from(u16::from_le_bytes([b2, b3]));
        let rest = self.len - 2;
        let (whole, tail) = (rest / 4, rest % 4);
        let words = &words[first + 1..];
        let mut sum = add_words(self.pseudo + begin, &words[..whole]);
        if let Some(last) = words.get(whole) {
            sum = add(sum, last & TAIL_MASKS[tail]);
        }
        fold(sum)
    }
}

fn is_ipv4(halves: &[u16], len: usize) -> bool {
    len >= ETHERNET_BYTES + IP_BYTES
        && halves[ETHERTYPE] == ETHERTYPE_IPV4.to_be()
        && halves[IP] as u8 & 0xF0 == 0x40
}

/// The sum of an IPv4 header without options.
fn header_sum(halves: &[u16]) -> u16 {
    let header = &halves[IP..IP + IP_BYTES / 2];
    fold(header.iter().map(|half| u32::from(*half)).sum())
}

/// Adds words with the carry brought around.
fn add_words(mut sum: u32, words: &[u32]) -> u32 {
    let (chunks, rest) = words.as_chunks::<8>();
    for chunk in chunks {
        for word in chunk {
            sum = add(sum, *word);
        }
    }
    for word in rest {
        sum = add(sum, *word);
    }
    sum
}

#[inline(always)]
fn add(sum: u32, word: u32) -> u32 {
    let (sum, is_carry) = sum.overflowing_add(word);
    // No second carry: the sum is at most 2^32 - 2 if there was one.
    sum.wrapping_add(u32::from(is_carry))
}

fn add_halves(sum: u16, half: u16) -> u16 {
    fold(u32::from(sum) + u32::from(half))
}

/// 32 bits as 16, with the carries brought around.
fn fold(sum: u32) -> u16 {
    let once = (sum & 0xFFFF) + (sum >> 16);
    let (low, is_carry) = (once as u16, once > 0xFFFF);
    low.wrapping_add(u16::from(is_carry))
}

/// The shortest header.
const fn minimum(protocol: u8) -> u16 {
    match protocol {
        ICMP | UDP => 8,
        TCP => 20,
        _ => 0,
    }
}

/// Halves of a buffer.
const ETHERTYPE: usize = FRAME_OFFSET / 2 + 6;
const IP: usize = FRAME_OFFSET / 2 + 7;
const IP_LENGTH: usize = IP + 1;
const IP_FRAGMENT: usize = IP + 3;
const IP_PROTOCOL: usize = IP + 4;
const IP_CHECKSUM: usize = IP + 5;
const IP_ADDRESSES: usize = IP + 6;
/// From the start of the UDP header.
const UDP_LENGTH: usize = 2;

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
/// An IPv4 header with all its options, and a UDP header; a buffer has 128 bytes or more.
const HEAD_BYTES: usize = FRAME_OFFSET + 80;
/// The same with a TCP header.
const HEAD_BYTES_MAX: usize = FRAME_OFFSET + 96;

const ETHERTYPE_IPV4: u16 = 0x0800;
/// More fragments, and the offset.
const FRAGMENT_MASK: u16 = 0x3FFF;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ALL_ONES: u16 = 0xFFFF;
const TAIL_MASKS: [u32; 4] = [0, 0xFF, 0xFFFF, 0xFF_FFFF];
