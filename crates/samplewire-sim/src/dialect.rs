//! A program that speaks another version of the protocol.
//!
//! Its machines are those of version 1 in a world where the numbers of two versions are exchanged:
//! what it says is of version 2, and it takes what is of version 2. So a listener meets OPENs that
//! it does not understand, and an opener answers that it does (`docs/protocol.md#2.8`).

use samplewire_proto::crc::crc32c;
use samplewire_proto::wire::{TRAILER_LEN, VERSION};

/// Exchanges the versions in a packet. A wrong CRC stays wrong.
pub(crate) fn translate(bytes: &mut [u8]) {
    let Some(at) = bytes.len().checked_sub(TRAILER_LEN).filter(|at| *at > 0) else { return };
    let other = match bytes[0] >> 4 {
        VERSION => OTHER,
        OTHER => VERSION,
        _ => return,
    };
    let is_sealed = bytes[at..] == crc32c(&bytes[..at]).to_be_bytes();
    bytes[0] = other << 4 | bytes[0] & 0x0F;
    if is_sealed {
        let crc = crc32c(&bytes[..at]).to_be_bytes();
        bytes[at..].copy_from_slice(&crc);
    }
}

/// The version that is not this one.
const OTHER: u8 = VERSION + 1;
