//! Forms of captures that no writer of ours makes.

use super::*;

/// A block of pcapng in one of the byte orders.
fn block(kind: u32, body: &[u8], is_big_endian: bool) -> Vec<u8> {
    let word = |value: u32| {
        if is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    };
    let len = word(12 + body.len() as u32);
    [&word(kind)[..], &len, body, &len].concat()
}

fn section(is_big_endian: bool) -> Vec<u8> {
    let magic =
        if is_big_endian { BYTE_ORDER_MAGIC.to_be_bytes() } else { BYTE_ORDER_MAGIC.to_le_bytes() };
    let version = if is_big_endian { [0, 1, 0, 0] } else { [1, 0, 0, 0] };
    block(SECTION_HEADER, &[&magic[..], &version, &[0xff; 8]].concat(), is_big_endian)
}

/// A frame's time, link type and bytes.
type Kept = (Option<u64>, u16, Vec<u8>);

fn read(file: &[u8]) -> Result<Vec<Kept>, CaptureError> {
    let mut reader = CaptureReader::new(file)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next()? {
        assert_eq!(frame.number, frames.len() as u64 + 1);
        frames.push((frame.time_ns, frame.link_type, frame.bytes.to_vec()));
    }
    Ok(frames)
}

#[test]
fn big_endian_section_with_an_offset_follows_a_little_endian_one() {
    let mut file = section(false);
    file.extend(block(INTERFACE_DESCRIPTION, &[101, 0, 0, 0, 0, 0, 0, 0], false));
    // Microseconds, unless an option says otherwise.
    let packet = [0u32, 0, 5, 4, 4, 0x0403_0201].map(u32::to_le_bytes).concat();
    file.extend(block(ENHANCED_PACKET, &packet, false));
    file.extend(section(true));
    // Units of 2^-10 s, and 3 s more; then a resolution that no clock has.
    let options = [0, 9, 0, 1, 0x8a, 0, 0, 0, 0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3];
    let body = [&[0, 1, 0, 0, 0, 0, 0, 0][..], &options].concat();
    file.extend(block(INTERFACE_DESCRIPTION, &body, true));
    let options = [0, 9, 0, 1, 0x7f, 0, 0, 0];
    let body = [&[0, 1, 0, 0, 0, 0, 0, 0][..], &options].concat();
    file.extend(block(INTERFACE_DESCRIPTION, &body, true));
    for id in [0u32, 1] {
        let packet = [id, 0, 512, 3, 90, 0x0908_0700].map(u32::to_be_bytes).concat();
        file.extend(block(ENHANCED_PACKET, &packet, true));
    }
    let frames = read(&file).unwrap();
    assert_eq!(frames[0], (Some(5_000), 101, vec![1, 2, 3, 4]));
    assert_eq!(frames[1], (Some(3_500_000_000), 1, vec![9, 8, 7]));
    assert_eq!(frames[2], (None, 1, vec![9, 8, 7]));
    assert_eq!(frames.len(), 3);
}

#[test]
fn simple_packets_are_cut_to_the_snap_length_and_have_no_time() {
    let mut file = section(false);
    file.extend(block(INTERFACE_DESCRIPTION, &[101, 0, 0, 0, 2, 0, 0, 0], false));
    file.extend(block(SIMPLE_PACKET, &[9, 0, 0, 0, 1, 2, 0, 0], false));
    file.extend(block(0x0bad, &[1, 2, 3, 4], false));
    file.extend(block(SIMPLE_PACKET, &[1, 0, 0, 0, 7, 0, 0, 0], false));
    assert_eq!(read(&file).unwrap(), [(None, 101, vec![1, 2]), (None, 101, vec![7])]);
}

#[test]
fn simple_packet_before_any_interface_is_an_error() {
    let mut file = section(false);
    file.extend(block(SIMPLE_PACKET, &[1, 0, 0, 0, 7, 0, 0, 0], false));
    let error = read(&file).unwrap_err();
    assert!(matches!(error, CaptureError::Interface { frames: 0, at: 28, id: 0, known: 0 }));
}

#[test]
fn pcap_of_other_byte_order_and_of_nanoseconds_is_read() {
    for (magic, second_ns) in [(0xa1b2_c3d4u32, 1_000_007_000), (0xa1b2_3c4d, 1_000_000_007u64)] {
        let words = [magic, 0x0002_0004, 0, 0, 65_535, 101, 1, 7, 2, 2];
        let mut file = words.map(u32::to_be_bytes).concat();
        file.extend([5, 6]);
        assert_eq!(read(&file).unwrap(), [(Some(second_ns), 101, vec![5, 6])]);
        file.extend([0; 15]);
        assert!(matches!(read(&file).unwrap_err(), CaptureError::Cut { frames: 1, at: 42 }));
    }
}

#[test]
fn block_that_is_too_long_is_not_awaited() {
    let mut file = section(false);
    file.extend(6u32.to_le_bytes());
    file.extend((BLOCK_BYTES_MAX as u32 + 1).to_le_bytes());
    let error = read(&file).unwrap_err();
    assert!(matches!(error, CaptureError::Length { frames: 0, at: 28, len: 0x0100_0001 }));
}
