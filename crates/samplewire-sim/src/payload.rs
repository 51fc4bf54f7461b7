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
    let first = mix(key ^ index);
    for (place, chunk) in (0_u64..).zip(bytes.chunks_mut(8)) {
        let word = match place {
            0 => first.to_le_bytes(),
            1 if flags.contains(Flags::END_OF_BURST) => u64::from(samples).to_be_bytes(),
            1 => mix(first ^ u64::from(flags.0)).to_le_bytes(),
            _ => mix(first ^ place << 32).to_le_bytes(),
        };
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// Whether a payload begins so; see [`write`].
pub(crate) fn is_begun_by(
    key: u64,
    index: SampleIndex,
    samples: u32,
    flags: Flags,
    bytes: &[u8],
) -> bool {
    let mut right = [0; BYTES_MAX];
    let Some(right) = right.get_mut(..bytes.len()) else { return false };
    write(key, index, samples, flags, right);
    bytes == right
}
