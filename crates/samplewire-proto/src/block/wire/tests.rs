use super::vectors::frames;
use super::*;

const NEAR: MacAddress = [2, 0, 0, 0, 0, 1];
const FAR: MacAddress = [2, 0, 0, 0, 0, 2];

fn header(transfer: Option<TransferId>) -> Header {
    Header { destination: FAR, source: NEAR, transfer }
}

/// `docs/block.md#frames`: a frame has 1,500 bytes at most, Ethernet's header included.
#[test]
fn limits_are_those_of_the_frame() {
    let plain = header(None);
    let with_id = header(Some(TransferId(7)));
    assert_eq!((plain.payload_bytes_max(), with_id.payload_bytes_max()), (1_481, 1_477));
    assert_eq!((plain.seqs_max(), with_id.seqs_max()), (370, 369));
    assert_eq!((plain.seqs_in(60), with_id.seqs_in(60)), (10, 9));
    assert_eq!([41, 42].map(|len| plain.data_frame_len(len)), [60, 61]);
    assert_eq!([37, 38].map(|len| with_id.data_frame_len(len)), [60, 61]);
    assert_eq!([1_481, 0].map(|len| plain.data_frame_len(len)), [1_500, 60]);
}

#[test]
fn summary_is_these_bytes() {
    let summary =
        Summary { packets: 0x0102_0304, bytes: 0x1112_1314_1516_1718, crc: Some(0xA1B2_C3D4) };
    let header = header(Some(TransferId(0x2122_2324)));
    let mut out = [0xEE; 64];
    let len = Frame { header, body: Body::Summary(summary) }.emit(&mut out);
    let mut expected = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5, 0x12];
    expected.extend([0x21, 0x22, 0x23, 0x24, 1, 2, 3, 4]);
    expected.extend([0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0xA1, 0xB2, 0xC3, 0xD4]);
    expected.resize(60, 0);
    assert_eq!(&out[..len], expected);
    assert_eq!(out[len..], [0xEE; 4]);
}

#[test]
fn answers_are_these_bytes() {
    let mut out = [0xEE; FRAME_BYTES_MAX];
    let len = Frame { header: header(None), body: Body::Complete }.emit(&mut out);
    assert_eq!(out[14..19], *b"\x03OK\0\0");
    assert_eq!(len, 60);
    let checking = Frame { header: header(Some(TransferId(7))), body: Body::Checking };
    assert_eq!(
        (checking.emit(&mut out), out[14..24].as_ref()),
        (60, &b"\x13\0\0\0\x07CK\xFF\xFF\0"[..])
    );
    let len = header(None).emit_missing([5, 0x0102_0304].into_iter(), &mut out);
    assert_eq!(out[14..29], *b"\x03MI\0\x02\0\0\0\x05\x01\x02\x03\x04\0\0");
    assert_eq!(len, 60);
}

/// What stands behind the count is padding, and padding reads as seq 0.
#[test]
fn count_of_a_list_separates_seqs_from_padding() {
    let mut out = [0; FRAME_BYTES_MAX];
    for transfer in [None, Some(TransferId(7))] {
        let header = header(transfer);
        for count in 1..=header.seqs_max() as u32 {
            let len = header.emit_missing(0..count, &mut out);
            assert_eq!(len, (header.list_start() + 4 * count as usize).max(60));
            let frame = Frame::parse(&out[..len]).expect("a list of ours");
            let Body::Missing(seqs) = frame.body else { panic!("a list") };
            assert!(seqs.iter().eq(0..count) && seqs.len() == count as usize);
            assert!(Frame::parse(&out[..len - 1]).is_err(), "one byte less");
        }
    }
}

#[test]
fn list_of_each_length_but_that_of_its_frame_is_refused() {
    let mut out = [0; FRAME_BYTES_MAX];
    let header = header(Some(TransferId(7)));
    let len = header.emit_missing(0..9, &mut out);
    for count in 0..=u16::MAX {
        field::put_u16(&mut out, 21, count);
        let outcome = Frame::parse(&out[..len]).err();
        let error = WireError::Count { count, room: 9 };
        assert_eq!(outcome, (!(1..=9).contains(&count)).then_some(error));
    }
}

#[test]
fn only_six_types_exist() {
    let mut out = [0; 60];
    Frame { header: header(None), body: Body::Complete }.emit(&mut out);
    for kind in 0..=u8::MAX {
        out[14] = kind;
        // With an ID the letters stand four bytes further.
        let letters_at = if kind & 0x10 == 0 { 15 } else { 19 };
        out[15..].fill(0);
        out[letters_at..letters_at + 2].copy_from_slice(b"OK");
        let is_known = [0x01, 0x02, 0x03, 0x11, 0x12, 0x13].contains(&kind);
        let error = (!is_known).then_some(WireError::UnknownType(kind));
        assert_eq!(Frame::parse(&out).err(), error, "{kind:#04x}");
    }
}

#[test]
fn each_length_of_data_comes_through() {
    let payload: Vec<u8> = (0..1_481u32).map(|at| (at * 7 + 1) as u8).collect();
    let mut out = [0; FRAME_BYTES_MAX];
    for transfer in [None, Some(TransferId(u32::MAX))] {
        let header = header(transfer);
        for len in 0..=header.payload_bytes_max() {
            let frame = Frame { header, body: Body::Data { seq: 9, payload: &payload[..len] } };
            let frame_len = frame.emit(&mut out);
            assert_eq!(frame_len, header.data_frame_len(len));
            let Body::Data { seq, payload: read } =
                Frame::parse(&out[..frame_len]).expect("ours").body
            else {
                panic!("DATA")
            };
            assert_eq!((seq, &read[..len]), (9, &payload[..len]));
            assert!(read[len..].iter().all(|byte| *byte == 0), "padding is zero");
        }
    }
}

#[test]
#[should_panic(expected = "1478 bytes")]
fn longer_payload_is_not_emitted() {
    let frame = Frame {
        header: header(Some(TransferId(1))),
        body: Body::Data { seq: 0, payload: &[0; 1_478] },
    };
    frame.emit(&mut [0; 2_000]);
}

#[test]
#[should_panic(expected = "a list of more than 370 seqs")]
fn longer_list_is_not_emitted() {
    header(None).emit_missing(0..371, &mut [0; 2_000]);
}

#[test]
fn seqs_of_a_list_differ_in_any_byte() {
    let list = [0, 1, 255, 256, 511, 0xFFFF, 0x1_0000, 0x1_0001, 0x100_0001, 0x1FF_FF02, u32::MAX];
    let mut out = [0; FRAME_BYTES_MAX];
    let len = header(None).emit_missing(list.into_iter(), &mut out);
    let Body::Missing(seqs) = Frame::parse(&out[..len]).expect("ours").body else {
        panic!("a list")
    };
    assert_eq!(seqs.iter().collect::<Vec<_>>(), list);
}

#[test]
#[should_panic(expected = "a list of nothing")]
fn empty_list_is_not_emitted() {
    header(None).emit_missing(0..0, &mut [0; 2_000]);
}

#[test]
fn truncated_frame_is_refused_or_read_to_the_same_fields() {
    for bytes in frames() {
        let whole = Frame::parse(&bytes).expect("a vector is a frame");
        for len in 0..bytes.len() {
            match (Frame::parse(&bytes[..len]).map(|frame| frame.body), whole.body) {
                (Err(_), _) => assert!(len < 60 || matches!(whole.body, Body::Missing(_))),
                (Ok(Body::Data { payload, .. }), Body::Data { payload: all, .. }) => {
                    assert!(len >= 60 && all.starts_with(payload));
                }
                (Ok(body), expected) => assert!(len >= 60 && body == expected),
            }
        }
    }
}

#[test]
fn two_changed_bits_do_not_turn_a_list_into_ok() {
    let mut out = [0; FRAME_BYTES_MAX];
    let len = header(Some(TransferId(3))).emit_missing([7].into_iter(), &mut out);
    out[19..21].copy_from_slice(b"OK");
    assert_eq!(Frame::parse(&out[..len]).err(), Some(WireError::OkWithCount(1)));
}
