//! What holds for packets of every type.

use super::*;
use crate::number::{Departure, Seq, Tag};

#[test]
fn every_flipped_bit_is_caught() {
    for packet in vectors::packets() {
        let mut bytes = packet.clone();
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let error = parse(&bytes).expect_err("a flipped bit is caught");
            if bit / 8 >= 2 {
                assert_eq!(error, WireError::Crc, "bit {bit} of {packet:02x?}");
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(bytes, packet);
    }
}

#[test]
fn every_truncation_is_an_error() {
    for packet in vectors::packets() {
        for len in 0..packet.len() {
            assert!(parse(&packet[..len]).is_err(), "{len} bytes of {packet:02x?}");
        }
    }
}

#[test]
fn every_truncation_with_a_matching_crc_is_parsed_or_refused() {
    for packet in vectors::packets() {
        for len in HEADER_LEN + TRAILER_LEN..packet.len() {
            let mut bytes = packet[..len].to_vec();
            seal_written(len - HEADER_LEN - TRAILER_LEN, &mut bytes);
            let extensible = match packet[0] & 0x0F {
                0 => len - HEADER_LEN - TRAILER_LEN >= 8,
                3 => len >= OPEN_LEN_MIN,
                5 => true,
                _ => false,
            };
            assert!(parse(&bytes).is_err() || extensible, "{len} bytes of {packet:02x?}");
        }
    }
}

#[test]
fn mark_is_these_bytes() {
    let mark = Mark {
        oldest: Seq(0x0102_0304),
        report: Seq(0x1112_1314),
        echo: Departure(0x2122_2324),
        hold: 0x3132_3334,
        source_lost: 0x4142_4344_4546_4748,
        time_ns: 0x5152_5354_5556_5758,
    };
    let body = [
        0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33,
        0x34, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56,
        0x57, 0x58,
    ];
    assert_body(PacketType::Mark, &body, |header, out| mark.emit(header, out));
    assert_eq!(Mark::parse(&body), Ok(mark));
}

#[test]
fn report_is_these_bytes() {
    let fields = ReportFields {
        released: Seq(0x0102_0304),
        limit: Seq(0x0506_0708),
        settled: Departure(0x1112_1314),
        highest_end: Seq(0x1516_1718),
        echo: Departure(0x2122_2324),
        hold: 0x2526_2728,
        received: 0x3132_3334,
        marked: 0x3536_3738,
        skipped: 0x4142_4344,
        late: 0x4546,
    };
    let ranges = [SeqRange { first: Seq(0x5152_5354), count: 0x5556_5758 }];
    let body = [
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
        0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36,
        0x37, 0x38, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x00, 0x01, 0x51, 0x52, 0x53, 0x54, 0x55,
        0x56, 0x57, 0x58,
    ];
    assert_body(PacketType::Report, &body, |header, out| fields.emit(header, &ranges, out));
    let report = Report::parse(&body).expect("the count is true");
    assert_eq!(report.fields, fields);
    assert_eq!(report.ranges.len(), 1);
    assert!(report.ranges.iter().eq(ranges));
}

#[test]
fn close_is_these_bytes() {
    let close = Close {
        reason: CloseReason::TakenOver,
        last: Seq(0x0102_0304),
        source_lost: 0x1112_1314_1516_1718,
    };
    let body = [0, 2, 0, 0, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];
    assert_body(PacketType::Close, &body, |header, out| close.emit(header, out));
    assert_eq!(Close::parse(&body), Ok(close));
}

#[test]
fn close_ack_is_these_bytes() {
    let ack = CloseAck {
        reason: CloseAckReason::UnknownTag,
        echoed_tag: Tag(0x0102_0304),
        source_lost: 0x1112_1314_1516_1718,
    };
    let body = [0, 1, 0, 0, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];
    assert_body(PacketType::CloseAck, &body, |header, out| ack.emit(header, out));
    assert_eq!(CloseAck::parse(&body), Ok(ack));
}

#[test]
fn refuse_is_these_bytes() {
    let refuse = Refuse {
        nonce: 0x0102_0304_0506_0708,
        reason: RefuseReason::Unknown(0x1112),
        versions: 0x1314,
        retry_ms: 0x2122_2324,
    };
    let body = [1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24];
    assert_body(PacketType::Refuse, &body, |header, out| refuse.emit(header, out));
    assert_eq!(Refuse::parse(&body), Ok(refuse));
}

#[test]
fn challenge_is_these_bytes_and_shorter_than_any_open() {
    let cookie = [0xA0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xAF];
    let challenge = Challenge { nonce: 0x0102_0304_0506_0708, cookie };
    let body = [&[1, 2, 3, 4, 5, 6, 7, 8][..], &cookie].concat();
    let len = assert_body(PacketType::Challenge, &body, |header, out| challenge.emit(header, out));
    assert!(len < OPEN_LEN_MIN);
    assert_eq!(Challenge::parse(&body), Ok(challenge));
}

#[test]
fn open_is_these_bytes() {
    let open = Open {
        tag: Tag(0x0102_0304),
        role: Role::Send,
        delivery: 0x06,
        stream: 0x0708,
        nonce: 0x1112_1314_1516_1718,
        owner: 0x2122_2324_2526_2728,
        cookie: [0xC0; 16],
        window: 0x3132_3334,
        max_packet_bytes: 0x3536,
        pad: 0x37,
        trailer_kind: 0x38,
        deadline_us: 0x4142_4344,
        tlvs: Tlvs::EMPTY,
    };
    #[rustfmt::skip]
    let fixed = [
        0x01, 0x02, 0x03, 0x04, 0x02, 0x06, 0x07, 0x08,
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
        0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
        0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0,
        0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0, 0xC0,
        0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
        0x41, 0x42, 0x43, 0x44, 0x00, 0x00, 0x00, 0x00,
    ];
    let body = [&fixed[..], &[0; 46]].concat();
    let len =
        assert_body(PacketType::Open, &body, |header, out| open.emit(header, OPEN_LEN_MIN, out));
    assert_eq!(len, OPEN_LEN_MIN);
    assert_eq!(Open::parse(&body), Ok(open));
}

#[test]
fn accept_is_these_bytes() {
    let mut buf = [0; 8];
    let accept = Accept {
        nonce: 0x0102_0304_0506_0708,
        tag: Tag(0x1112_1314),
        stream: 0x1516,
        streams: 0x1718,
        boot_id: 0x2122_2324_2526_2728,
        rate_numerator: 0x3132_3334_3536_3738,
        rate_denominator: 0x4142_4344,
        format: 0x4546,
        channels: 0x4748,
        packet_samples: 0x5152_5354,
        payload_bytes: 0x5556,
        payload_offset: 0x57,
        trailer_kind: 0x58,
        window: 0x6162_6364,
        reorder_tolerance: 0x6566_6768,
        dead_ms: 0x7172,
        idle_ms: 0x7374,
        ranges_max: 0x7576,
        granularity_bytes: 0x7778,
        time_ns: 0x8182_8384_8586_8788,
        tlvs: TlvWriter::new(&mut buf).push(0x9192, &[0x95]).finish(),
    };
    #[rustfmt::skip]
    let body = [
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
        0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
        0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
        0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
        0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
        0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
        0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78,
        0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88,
        0x91, 0x92, 0x00, 0x01, 0x95, 0x00,
    ];
    let total_len = Accept::packet_len_min(&accept.tlvs) + 1;
    assert_body(PacketType::Accept, &body, |header, out| accept.emit(header, total_len, out));
    assert_eq!(Accept::parse(&body), Ok(accept));
}

#[test]
fn open_and_refuse_of_another_version_are_understood() {
    let mut open = vectors::packets()
        .into_iter()
        .find(|packet| packet[0] == 0x13)
        .expect("the vectors hold an OPEN");
    open[0] = 0x23;
    assert_eq!(parse(&open), Err(WireError::Version(2)));
    let prefix = OpenPrefix { version: 2, tag: Tag(0x5EED_0001), nonce: 0x0123_4567_89AB_CDEF };
    assert_eq!(OpenPrefix::parse(&open), Some(prefix));
    assert_eq!(OpenPrefix::parse(&open[..OPEN_LEN_MIN - 1]), None);

    let refuse =
        Refuse { nonce: 1, reason: RefuseReason::Version, versions: 1 << VERSION, retry_ms: 0 };
    let mut out = [0; 64];
    let len = refuse.emit_in_version(2, &header(PacketType::Refuse), &mut out);
    assert_eq!(out[0], 0x26);
    out[0] = 0x16;
    seal_written(len - HEADER_LEN - TRAILER_LEN, &mut out);
    assert_eq!(parse(&out[..len]), Ok((header(PacketType::Refuse), Packet::Refuse(refuse))));
}

#[test]
#[should_panic(expected = "another type")]
fn header_of_another_type_is_our_own_error() {
    let close = Close { reason: CloseReason::Finished, last: Seq(0), source_lost: 0 };
    close.emit(&header(PacketType::Mark), &mut [0; 64]);
}

/// Emits a packet whose body must be `body`, and returns its length.
fn assert_body(
    kind: PacketType,
    body: &[u8],
    emit: impl FnOnce(&Header, &mut [u8]) -> usize,
) -> usize {
    let header = header(kind);
    let mut out = [0xEE; 256];
    let len = emit(&header, &mut out);
    assert_eq!(&out[..HEADER_LEN], header.to_bytes());
    assert_eq!(&out[HEADER_LEN..len - TRAILER_LEN], body);
    assert_eq!(out[len - TRAILER_LEN..len], crc32c(&out[..len - TRAILER_LEN]).to_be_bytes());
    assert!(parse(&out[..len]).is_ok());
    len
}

fn header(kind: PacketType) -> Header {
    Header {
        kind,
        flags: Flags::FROM_OPENER,
        tag: Tag(1),
        index: 2,
        seq: Seq(3),
        departure: Departure(4),
    }
}
