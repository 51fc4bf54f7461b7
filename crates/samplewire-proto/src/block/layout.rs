//! How the bytes of a transfer lie in packets: each is full but the last.

use core::ops::Range;

use super::wire::{Header, Summary};

/// Bytes cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    packet_bytes: u16,
    packets: u32,
    bytes: u64,
}

impl Layout {
    /// `None` when there are more packets than seqs.
    pub(super) fn new(packet_bytes: u16, bytes: u64) -> Option<Self> {
        let packets = bytes.div_ceil(u64::from(packet_bytes));
        // Their number has 32 bits too.
        Some(Self { packet_bytes, packets: u32::try_from(packets).ok()?, bytes })
    }

    /// That of a summary, `None` when its numbers contradict each other.
    pub(super) fn of_summary(packet_bytes: u16, summary: &Summary) -> Option<Self> {
        Self::new(packet_bytes, summary.bytes).filter(|layout| layout.packets == summary.packets)
    }

    pub(super) const fn packets(&self) -> u32 {
        self.packets
    }

    /// The bytes of one packet.
    pub(super) fn range(&self, seq: u32) -> Range<u64> {
        debug_assert!(seq < self.packets, "{seq} of {}", self.packets);
        let start = offset(self.packet_bytes, seq);
        start..self.bytes.min(start + u64::from(self.packet_bytes))
    }

    /// How many bytes one packet carries.
    pub(super) fn payload_len(&self, seq: u32) -> usize {
        // A soft core multiplies in 33 cycles: only the last packet takes its range.
        if seq + 1 < self.packets {
            return self.packet_bytes.into();
        }
        let Range { start, end } = self.range(seq);
        // Below 2^16.
        (end - start) as usize
    }

    /// How long the frame of a packet is.
    pub(super) fn frame_len(&self, header: &Header, seq: u32) -> usize {
        header.data_frame_len(self.payload_len(seq))
    }
}

/// Where a packet's bytes begin, which does not depend on how many there are.
pub(super) const fn offset(packet_bytes: u16, seq: u32) -> u64 {
    packet_bytes as u64 * seq as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_cover_the_bytes_once_and_only_the_last_is_short() {
        for (packet_bytes, bytes, lens) in [
            (4, 0, &[][..]),
            (4, 1, &[1]),
            (4, 4, &[4]),
            (4, 5, &[4, 1]),
            (4, 8, &[4, 4]),
            (1_477, 2_955, &[1_477, 1_477, 1]),
        ] {
            let layout = Layout::new(packet_bytes, bytes).expect("few packets");
            assert_eq!(layout.packets() as usize, lens.len());
            let mut end = 0;
            for (seq, len) in lens.iter().enumerate() {
                let range = layout.range(seq as u32);
                assert_eq!((range.start, layout.payload_len(seq as u32)), (end, *len));
                end = range.end;
            }
            assert_eq!(end, bytes);
        }
    }

    #[test]
    fn seqs_have_32_bits_and_their_number_too() {
        let most = u64::from(u32::MAX);
        assert_eq!(Layout::new(1, most).map(|it| it.packets()), Some(u32::MAX));
        assert_eq!(Layout::new(1, most + 1), None);
        let layout = Layout::new(1_481, 1_481 * most).expect("as many packets as there can be");
        assert_eq!(layout.range(u32::MAX - 1), 1_481 * (most - 1)..1_481 * most);
        assert_eq!(Layout::new(1_481, u64::MAX), None);
    }

    #[test]
    fn summary_whose_numbers_contradict_each_other_has_none() {
        let fits = |packets, bytes| {
            Layout::of_summary(10, &Summary { packets, bytes, crc: None }).is_some()
        };
        assert!(fits(0, 0) && fits(1, 1) && fits(1, 10) && fits(2, 11) && fits(2, 20));
        assert!(!fits(0, 1) && !fits(1, 0) && !fits(1, 11) && !fits(2, 10) && !fits(2, 21));
    }
}
