//! The bytes of a packet, derived from its stream and index, so that any reader can verify them.

use samplewire_proto::SampleIndex;
use samplewire_proto::wire::Flags;

use samplewire_proto::random::mix;

/// Payload bytes of a packet where streams go as DATA; how large it counts on the wire is a matter of
/// padding.
pub(crate) const BYTES: usize = 16;

/// The longest payload, of devices whose streams may go over RDMA: the frames of a queue pair are as
/// long as they are.
pub(crate) const BYTES_MAX: usize = 1_408;

/// Writes what a payload begins with, of the packet at `index` of the stream with `key`.
pub(crate) fn write(key: u64, index: SampleIndex, samples: u32, flags: Flags, bytes: &mut [u8]) {
    let words = Words::new(key, index, samples, flags);
    let (chunks, rest) = bytes.as_chunks_mut::<WORD_BYTES>();
    let end = words.at(chunks.len() as u64);
    (0..).zip(chunks).for_each(|(place, chunk)| *chunk = words.at(place));
    rest.copy_from_slice(&end[..rest.len()]);
}

/// Whether a payload begins so; see [`write`].
pub(crate) fn is_begun_by(
    key: u64,
    index: SampleIndex,
    samples: u32,
    flags: Flags,
    bytes: &[u8],
) -> bool {
    let words = Words::new(key, index, samples, flags);
    let (chunks, rest) = bytes.as_chunks::<WORD_BYTES>();
    let is_right = |(place, chunk): (u64, &[u8; WORD_BYTES])| *chunk == words.at(place);
    let end = words.at(chunks.len() as u64);
    bytes.len() <= BYTES_MAX && (0..).zip(chunks).all(is_right) && *rest == end[..rest.len()]
}

/// The words of a payload.
struct Words {
    first: u64,
    second: [u8; WORD_BYTES],
}

impl Words {
    fn new(key: u64, index: SampleIndex, samples: u32, flags: Flags) -> Self {
        let first = mix(key ^ index);
        let second = if flags.contains(Flags::END_OF_BURST) {
            u64::from(samples).to_be_bytes()
        } else {
            mix(first ^ u64::from(flags.0)).to_le_bytes()
        };
        Self { first, second }
    }

    fn at(&self, place: u64) -> [u8; WORD_BYTES] {
        match place {
            0 => self.first.to_le_bytes(),
            1 => self.second,
            _ => mix(self.first ^ place << 32).to_le_bytes(),
        }
    }
}

const WORD_BYTES: usize = 8;
