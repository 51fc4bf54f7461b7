//! A RoCEv2 frame is written back as it was read; other bytes are refused.

use samplewire_proto::checksum::InternetSum;
use samplewire_proto::crc::crc32_extend;
use samplewire_roce::wire::{Body, FRAME_BYTES_MAX, Frame, PAYLOAD_BYTES_MAX, WireError};

/// Reads `bytes` as they are, and once more with right lengths, checksums and ICRC.
///
/// # Panics
/// When the reader or the emitter is wrong.
pub(crate) fn check(bytes: &[u8]) {
    read_and_write_back(bytes);
    let mut sealed = bytes.to_vec();
    if seal(&mut sealed) {
        read_and_write_back(&sealed);
        let error = Frame::new_checked(&sealed).err();
        // All else is right.
        let is_of_packet = matches!(
            error,
            None | Some(
                WireError::Padding { .. } | WireError::Opcode(_) | WireError::Length { .. }
            )
        );
        assert!(is_of_packet, "{error:?}");
    }
}

fn read_and_write_back(bytes: &[u8]) {
    let Ok(frame) = Frame::new_checked(bytes) else { return };
    let (route, packet) = (frame.route(), frame.packet());
    match packet.body {
        Body::Unsupported => return,
        Body::Request { payload, .. } if payload.len() > PAYLOAD_BYTES_MAX => return,
        _ => {}
    }
    let mut out = [0xEE; FRAME_BYTES_MAX];
    let len = packet.emit(&route, &mut out);
    assert_eq!(len, packet.frame_len());
    assert!(out[len..].iter().all(|byte| *byte == 0xEE), "it writes past its length");
    let again = Frame::new_checked(&out[..len]).expect("what is written can be read");
    assert_eq!((again.route(), again.packet()), (route, packet));
}

/// Makes a frame of bytes that are long enough; `false` where they are not.
fn seal(bytes: &mut Vec<u8>) -> bool {
    if bytes.len() < 58 || bytes.len() > FRAME_BYTES_MAX {
        return false;
    }
    bytes.truncate(58 + (bytes.len() - 58) / 4 * 4);
    let len = bytes.len();
    let mut put = |at: usize, value: u16| bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    put(12, 0x0800);
    put(16, (len - 14) as u16);
    put(20, 0x4000);
    put(24, 0);
    put(36, 4_791);
    put(38, (len - 34) as u16);
    put(40, 0);
    (bytes[14], bytes[23]) = (0x45, 17);
    bytes[43] &= 0xF0;
    let mut sum = InternetSum::default();
    sum.add(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&sum.complement().to_be_bytes());
    // IB 7.8.1 and A17.3.3.
    let mut masked = bytes[14..54].to_vec();
    for at in [1, 8, 10, 11, 26, 27, 32] {
        masked[at] = 0xFF;
    }
    let ones = crc32_extend(0, &[0xFF; 8]);
    let icrc = crc32_extend(crc32_extend(ones, &masked), &bytes[54..len - 4]);
    bytes[len - 4..].copy_from_slice(&icrc.to_le_bytes());
    true
}
