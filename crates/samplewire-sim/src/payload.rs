//! The bytes of a packet, derived from its stream and index, so that any reader can verify them.

use samplewire_proto::SampleIndex;
use samplewire_proto::wire::Flags;

use samplewire_proto::random::mix;

/// Payload bytes of every packet; how large it counts on the wire is a matter of padding.
pub(crate) const BYTES: usize = 16;

/// The payload of the packet at `index` of the stream with `key`.
pub(crate) fn of(key: u64, index: SampleIndex, samples: u32, flags: Flags) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let first = mix(key ^ index);
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    let last = if flags.contains(Flags::END_OF_BURST) {
        u64::from(samples).to_be_bytes()
    } else {
        mix(first ^ u64::from(flags.0)).to_le_bytes()
    };
    bytes[8..].copy_from_slice(&last);
    bytes
}
