//! Splits datagrams that hold several packets.
//!
//! A packet is a whole datagram (`docs/protocol.md#2.1`). But a capture is taken above the kernel's
//! segmentation and joining: with UDP_SEGMENT or UDP_GRO, one captured datagram is a run of packets
//! of one length, except that the last may be shorter. No header has this length. The splitter
//! takes the shortest length with a valid CRC.

use samplewire_proto::crc::{Shift, crc32c};
use samplewire_proto::wire::{HEADER_LEN, TRAILER_LEN, VERSION};

/// Finds the lengths of packets.
pub(super) struct Splitter {
    /// Advances a CRC by one byte.
    shift: Shift,
    /// The CRC of each byte alone.
    of_byte: [u32; 256],
}

impl Splitter {
    pub(super) fn new() -> Self {
        let mut of_byte = [0; 256];
        for (byte, crc) in (0..=255u8).zip(&mut of_byte) {
            *crc = crc32c(&[byte]);
        }
        Self { shift: Shift::new(1), of_byte }
    }

    /// The length in bytes of the first packet in a datagram of `len_bytes`, of which `payload` was
    /// captured. `last` is the length of the previous run between the same ports. It applies if the
    /// first packet of a run is damaged, and the second one is valid.
    pub(super) fn packet_len(
        &self,
        payload: &[u8],
        len_bytes: usize,
        last: Option<usize>,
    ) -> usize {
        if payload.len() == len_bytes && is_sealed(payload) {
            return len_bytes;
        }
        let last = last.filter(|&len| len < len_bytes);
        let is_at = |at: usize, len: usize| {
            payload.get(at..).is_some_and(|rest| is_sealed(&rest[..len.min(rest.len())]))
        };
        if let Some(len) = last
            && is_at(0, len)
        {
            return len;
        }
        if payload.first().is_none_or(|byte| byte >> 4 != VERSION) {
            return len_bytes;
        }
        self.first_sealed(payload).or(last.filter(|&len| is_at(len, len))).unwrap_or(len_bytes)
    }

    /// The length of the shortest prefix of `bytes` that ends with its CRC. The chance of a false
    /// match is one in 2^32 for each length: for a damaged datagram of 64 KiB, one in 65,536.
    fn first_sealed(&self, bytes: &[u8]) -> Option<usize> {
        let mut crc = crc32c(&[]);
        for (at, byte) in bytes.iter().enumerate() {
            if at >= HEADER_LEN && bytes.get(at..at + TRAILER_LEN)? == crc.to_be_bytes() {
                return Some(at + TRAILER_LEN);
            }
            crc = self.shift.join(crc, self.of_byte[usize::from(*byte)]);
        }
        None
    }
}

/// Whether bytes end with the CRC of the bytes before it (`docs/protocol.md#2.5`).
pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    let Some((covered, crc)) = bytes.split_last_chunk::<TRAILER_LEN>() else { return false };
    covered.len() >= HEADER_LEN && u32::from_be_bytes(*crc) == crc32c(covered)
}

#[cfg(test)]
mod tests {
    use samplewire_proto::wire::{Flags, Header, PacketType, seal};
    use samplewire_proto::{Departure, Seq, Tag};

    use super::*;

    /// A DATA packet of this length.
    fn data(seq: u32, len_bytes: usize) -> Vec<u8> {
        let mut packet: Vec<u8> = (0..len_bytes).map(|at| (at as u32 * 31 + seq) as u8).collect();
        let header = Header {
            kind: PacketType::Data,
            flags: Flags::NONE,
            tag: Tag(7),
            index: 0,
            seq: Seq(seq),
            departure: Departure(0),
        };
        seal(&header, len_bytes - HEADER_LEN - TRAILER_LEN, &mut packet);
        packet
    }

    fn run(lens: &[usize]) -> Vec<u8> {
        (0..).zip(lens).flat_map(|(seq, &len)| data(seq, len)).collect()
    }

    fn len_of(payload: &[u8], last: Option<usize>) -> usize {
        Splitter::new().packet_len(payload, payload.len(), last)
    }

    #[test]
    fn run_is_split_where_the_first_crc_is_right() {
        let run = run(&[1_434, 1_434, 58]);
        assert_eq!(len_of(&run, None), 1_434);
        assert_eq!(len_of(&run, Some(1_434)), 1_434);
        assert_eq!(len_of(&run, Some(700)), 1_434, "the length has changed");
        assert_eq!(len_of(&run[..1_434], Some(700)), 1_434);
    }

    #[test]
    fn damaged_first_packet_has_the_length_of_the_run_before() {
        let mut run = run(&[1_434, 1_434]);
        run[99] ^= 1;
        assert_eq!(len_of(&run, Some(1_434)), 1_434);
        assert_eq!(len_of(&run, None), 2_868, "the length is unknown");
        assert_eq!(len_of(&run, Some(1_000)), 2_868);
    }

    #[test]
    fn run_that_the_capture_cut_is_split_too() {
        let run = run(&[500, 500, 500]);
        assert_eq!(Splitter::new().packet_len(&run[..1_200], 1_500, None), 500);
        assert_eq!(Splitter::new().packet_len(&run[..400], 1_500, None), 1_500);
    }

    #[test]
    fn shortest_packets_and_noise_have_bounds() {
        assert_eq!(len_of(&run(&[26, 26]), None), 26);
        assert_eq!(len_of(&[0x10; 40], None), 40);
        assert_eq!(len_of(&[], None), 0);
        assert!(!is_sealed(&[0; 25]) && is_sealed(&data(1, 26)));
    }
}
