//! The invariant CRC (IB 7.8.1, and A17.3.3 for IPv4 and UDP).
//!
//! Ethernet's CRC-32 over what no router changes: eight bytes of ones in place of the local route
//! header, then IPv4 to the end of the padding, with ones in place of the type of service, the time
//! to live, both checksums and the byte of the base transport header with FECN and BECN.

use samplewire_proto::crc::crc32_extend;

use super::at;

/// The ICRC of a frame whose bytes end in front of it.
///
/// # Panics
/// When the frame has no base transport header.
pub(super) fn icrc(frame: &[u8]) -> u32 {
    let (headers, rest) = frame.split_at(at::BODY);
    let mut masked = [0; at::BODY - at::IP];
    masked.copy_from_slice(&headers[at::IP..]);
    for place in MASKED {
        masked[place - at::IP] = 0xFF;
    }
    crc32_extend(crc32_extend(CRC_OF_ONES, &masked), rest)
}

/// As it stands in a frame: the low byte first.
pub(super) fn to_bytes(icrc: u32) -> [u8; LEN] {
    icrc.to_le_bytes()
}

pub(super) const LEN: usize = 4;

/// That of the eight bytes of ones: the register stands at DEBB20E3 after them.
const CRC_OF_ONES: u32 = !0xDEBB_20E3;

/// Type of service, time to live, IPv4's checksum, UDP's checksum, FECN and BECN.
const MASKED: [usize; 7] =
    [at::IP + 1, at::IP + 8, at::IP + 10, at::IP + 11, at::UDP + 6, at::UDP + 7, at::BTH + 4];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn register_after_eight_bytes_of_ones_is_the_constant() {
        assert_eq!(crc32_extend(0, &[0xFF; 8]), CRC_OF_ONES);
    }
}
