//! Frames that come back: what is in them, and whether they are as they left.
//!
//! Behind Ethernet's header: type 0x20, which the block transfer does not have; the run, 32 bits; the
//! frame's number, 32 bits; and bytes that depend on the number.

use samplewire_proto::block::MacAddress;
use samplewire_proto::block::trial::Probe;

/// The frames of a run.
pub(super) struct Probes {
    local: MacAddress,
    peer: MacAddress,
    run: u32,
    content: Content,
}

/// What the frames carry.
enum Content {
    /// Bytes of a table, from a place that depends on the number.
    Pattern { table: Box<[u8]>, len: usize },
    /// A picture, cut into frames.
    Picture(Vec<u8>),
}

/// A frame that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Back {
    /// Of this run, as it left.
    Right(u32),
    /// Of this run, changed.
    Wrong,
    /// Of another run or program.
    Foreign,
}

impl Probes {
    /// Frames of `size` bytes behind Ethernet's header.
    pub(super) fn pattern(local: MacAddress, peer: MacAddress, size: usize) -> Self {
        // xorshift32: every byte differs from most others.
        let mut state = 0x2545_F491_u32;
        let table = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        });
        let table = table.take(PLACES + size).collect();
        let content = Content::Pattern { table, len: size + ETHERNET_BYTES };
        Self { local, peer, run: super::random() as u32, content }
    }

    /// Frames that carry a picture.
    pub(super) fn picture(local: MacAddress, peer: MacAddress, bytes: Vec<u8>) -> Self {
        Self { local, peer, run: super::random() as u32, content: Content::Picture(bytes) }
    }

    /// How many frames a picture has.
    pub(super) fn frames_of(bytes: usize) -> u32 {
        // Below 2^20.
        bytes.div_ceil(PICTURE_FRAME_BYTES) as u32
    }

    /// Writes a frame and returns its length.
    pub(super) fn write(&self, number: u32, out: &mut [u8]) -> usize {
        Probe { run: self.run, number }.emit(self.peer, self.local, out);
        let content = self.content(number);
        let len = HEADER_BYTES + content.len();
        out[HEADER_BYTES..len].copy_from_slice(content);
        out[len..len.max(FRAME_BYTES_MIN)].fill(0);
        len.max(FRAME_BYTES_MIN)
    }

    /// Bytes of the content in a frame, which throughput counts.
    pub(super) fn counted_bytes(&self, number: u32) -> u64 {
        match &self.content {
            Content::Pattern { len, .. } => (len - ETHERNET_BYTES) as u64,
            Content::Picture(_) => self.content(number).len() as u64,
        }
    }

    /// What a frame is that has come. The addresses may be swapped.
    pub(super) fn check(&self, frame: &[u8], frames: u32) -> Back {
        let Some(Probe { number, .. }) = Probe::parse(frame).filter(|probe| probe.run == self.run)
        else {
            return Back::Foreign;
        };
        if number >= frames {
            return Back::Wrong;
        }
        let content = self.content(number);
        let end = HEADER_BYTES + content.len();
        let is_right = frame.len() == end.max(FRAME_BYTES_MIN)
            && frame[HEADER_BYTES..end] == *content
            && frame[end..].iter().all(|byte| *byte == 0);
        if is_right { Back::Right(number) } else { Back::Wrong }
    }

    fn content(&self, number: u32) -> &[u8] {
        match &self.content {
            Content::Pattern { table, len } => {
                // Numbers that differ in one bit have other places.
                let place = number.wrapping_mul(0x9E37_79B1) >> (u32::BITS - PLACE_BITS);
                &table[place as usize..][..len - HEADER_BYTES]
            }
            Content::Picture(bytes) => {
                let start = number as usize * PICTURE_FRAME_BYTES;
                &bytes[start..bytes.len().min(start + PICTURE_FRAME_BYTES)]
            }
        }
    }
}

const ETHERNET_BYTES: usize = 14;
const HEADER_BYTES: usize = Probe::BYTES;
const FRAME_BYTES_MIN: usize = 60;
const PLACE_BITS: u32 = 10;
const PLACES: usize = 1 << PLACE_BITS;

/// Of a picture in a frame of 1,500 bytes.
const PICTURE_FRAME_BYTES: usize = 1_500 - HEADER_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: MacAddress = [2, 0, 0, 0, 0, 1];
    const FAR: MacAddress = [2, 0, 0, 0, 0, 2];

    #[test]
    fn each_changed_bit_is_seen_and_swapped_addresses_are_not() {
        for probes in [
            Probes::pattern(NEAR, FAR, 46),
            Probes::pattern(NEAR, FAR, 200),
            Probes::picture(NEAR, FAR, (0..255).collect()),
        ] {
            let mut frame = [0; 300];
            let len = probes.write(0, &mut frame);
            let frame = &mut frame[..len];
            assert_eq!(probes.check(frame, 1), Back::Right(0));
            frame[..12].rotate_left(6);
            assert_eq!(probes.check(frame, 1), Back::Right(0));
            for bit in 12 * 8..len * 8 {
                frame[bit / 8] ^= 1 << (bit % 8);
                let expected = if bit < 19 * 8 { Back::Foreign } else { Back::Wrong };
                assert_eq!(probes.check(frame, 1), expected, "bit {bit}");
                if let Content::Pattern { .. } = probes.content {
                    assert_eq!(probes.check(frame, u32::MAX), expected, "bit {bit}");
                }
                frame[bit / 8] ^= 1 << (bit % 8);
            }
            assert_eq!(probes.check(&frame[..59], 1), Back::Foreign);
            assert_eq!(probes.check(&[&frame[..], &[0][..]].concat(), 1), Back::Wrong);
            let other = Probes::pattern(NEAR, FAR, 46);
            assert_eq!(other.check(frame, 1), Back::Foreign);
        }
    }

    #[test]
    fn picture_is_cut_without_a_rest() {
        for (bytes, frames, last) in
            [(1, 1, 1), (1_477, 1, 1_477), (1_478, 2, 1), (355_840, 241, 1_360)]
        {
            assert_eq!(Probes::frames_of(bytes), frames);
            let probes = Probes::picture(NEAR, FAR, vec![7; bytes]);
            assert_eq!(probes.counted_bytes(frames - 1), last);
        }
    }
}
