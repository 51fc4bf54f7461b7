//! DATA: samples, or TLVs when the header's flags hold `META`.

use super::{PacketType, WireError};

/// Checks the least length of a body: the payload offset that the opening agreed may put pad bytes
/// before the payload, so only the receiver of the stream can check the rest.
pub(super) const fn parse(body: &[u8]) -> Result<&[u8], WireError> {
    if body.len() < PAYLOAD_LEN_MIN {
        return Err(WireError::Length { kind: PacketType::Data, len: body.len() });
    }
    Ok(body)
}

/// A payload is a positive multiple of 8 bytes.
const PAYLOAD_LEN_MIN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_holds_at_least_8_bytes() {
        let bytes = [0x5A; 24];
        for len in 0..8 {
            let expected = Err(WireError::Length { kind: PacketType::Data, len });
            assert_eq!(parse(&bytes[..len]), expected);
        }
        for len in 8..=24 {
            assert_eq!(parse(&bytes[..len]), Ok(&bytes[..len]));
        }
    }
}
