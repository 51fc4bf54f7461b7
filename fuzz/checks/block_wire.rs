//! A frame of the block transfer is written back as it was parsed; other bytes are refused.

use samplewire_proto::block::FRAME_BYTES_MAX;
use samplewire_proto::block::wire::{Body, ETHER_TYPE, FRAME_BYTES_MIN, Frame, WireError};

/// Parses `bytes` as they are, and once more as a frame of the right EtherType and a type that exists.
///
/// # Panics
/// When the parser or the emitter is wrong.
pub(crate) fn check(bytes: &[u8]) {
    parse_and_write_back(bytes);
    let mut sealed = bytes.to_vec();
    if sealed.len() < 21 {
        return;
    }
    sealed.resize(sealed.len().clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX), 0);
    sealed[6] &= !1;
    sealed[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    sealed[14] = [0x01, 0x02, 0x03, 0x11, 0x12, 0x13][usize::from(sealed[14]) % 6];
    let letters_at = if sealed[14] & 0x10 == 0 { 15 } else { 19 };
    match sealed[letters_at] % 4 {
        0 => sealed[letters_at..letters_at + 2].copy_from_slice(b"OK"),
        1 => sealed[letters_at..letters_at + 2].copy_from_slice(b"MI"),
        2 => sealed[letters_at..letters_at + 4].copy_from_slice(b"CK\xFF\xFF"),
        _ => {}
    }
    // All else is right.
    let is_of_answer = matches!(
        Frame::parse(&sealed),
        Ok(_)
            | Err(WireError::Answer(_)
                | WireError::Count { .. }
                | WireError::OkWithCount(_)
                | WireError::CheckingWithCount(_))
    );
    assert!(is_of_answer, "{sealed:02x?}");
    parse_and_write_back(&sealed);
}

fn parse_and_write_back(bytes: &[u8]) {
    let Ok(frame) = Frame::parse(bytes) else { return };
    let mut out = [0xEE; FRAME_BYTES_MAX];
    let len = frame.emit(&mut out);
    assert!(out[len..].iter().all(|byte| *byte == 0xEE), "it writes past its length");
    assert!((FRAME_BYTES_MIN..=bytes.len()).contains(&len));
    let again = Frame::parse(&out[..len]).expect("what is written can be parsed");
    assert_eq!(again, frame);
    match frame.body {
        // Padding is a part of the payload here.
        Body::Data { .. } => assert_eq!(&out[..len], bytes),
        Body::Missing(seqs) => assert_eq!(seqs.iter().count(), seqs.len()),
        Body::Summary(_) | Body::Complete | Body::Checking => assert_eq!(len, FRAME_BYTES_MIN),
    }
}
