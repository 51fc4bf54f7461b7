//! A frame of the block transfer, and of trials, is written back as it was parsed; other bytes are refused.

use samplewire_proto::block::FRAME_BYTES_MAX;
use samplewire_proto::block::trial::{Order, Probe, Report};
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
    trial_writes_back(&sealed);
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

/// The same as each type of `trial`, an order with most of its numbers in range.
fn trial_writes_back(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    let address = |at: usize| bytes[at..at + 6].try_into().expect("six bytes");
    let (destination, source) = (address(0), address(6));
    let mut out = [0xEE; FRAME_BYTES_MAX];
    sealed[14] = 0x20;
    let probe = Probe::parse(&sealed).expect("it has its type");
    probe.emit(destination, source, &mut out);
    assert_eq!(out[..Probe::BYTES], sealed[..Probe::BYTES]);
    sealed[14] = 0x22;
    let report = Report::parse(&sealed).expect("it has its type");
    assert_eq!(report.emit(destination, source, &mut out), FRAME_BYTES_MIN);
    assert_eq!(Report::parse(&out), Some(report));
    sealed[14] = 0x21;
    (sealed[19], sealed[36]) = (sealed[19] % 5, sealed[36] % 8);
    sealed[24..29].fill(0);
    sealed[32..34].fill(0);
    if let Some((from, order)) = Order::parse(&sealed) {
        assert_eq!(order.emit(destination, from, &mut out), FRAME_BYTES_MIN);
        assert_eq!(Order::parse(&out), Some((source, order)));
        assert!((1..=Order::FRAMES_MAX).contains(&order.frames) && order.size <= Order::SIZE_MAX);
    }
}
