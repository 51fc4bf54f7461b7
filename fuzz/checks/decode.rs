//! Any bytes are parsed or refused; what is parsed is emitted as it came.

use samplewire_proto::crc::crc32c;
use samplewire_proto::wire::{
    Flags, HEADER_LEN, Header, OpenPrefix, Packet, SeqRange, TRAILER_LEN, Tlvs, parse, seal,
};

/// Parses `bytes` as they are, and again behind a CRC that matches.
///
/// # Panics
/// When the parser or the emitter is wrong.
pub(crate) fn check(bytes: &[u8]) {
    OpenPrefix::parse(bytes);
    parse_and_emit(bytes);
    if let Some(covered) = bytes.len().checked_sub(TRAILER_LEN) {
        let mut sealed = bytes.to_vec();
        let crc = crc32c(&sealed[..covered]).to_be_bytes();
        sealed[covered..].copy_from_slice(&crc);
        parse_and_emit(&sealed);
    }
}

fn parse_and_emit(bytes: &[u8]) {
    let Ok((header, packet)) = parse(bytes) else { return };
    let mut out = vec![0xEE; bytes.len()];
    let len = emit(&header, &packet, &mut out);
    assert_eq!(len, bytes.len());
    assert_eq!(parse(&out), Ok((header, packet)));
    let is_padded = matches!(packet, Packet::Open(_) | Packet::Accept(_));
    if !is_padded {
        assert_eq!(out, bytes, "only padding may differ");
    }
}

/// Emits a packet at the length of `out`.
fn emit(header: &Header, packet: &Packet<'_>, out: &mut [u8]) -> usize {
    match packet {
        Packet::Data(body) => {
            if header.flags.contains(Flags::META)
                && let Ok(tlvs) = Tlvs::parse(body)
            {
                read_all(&tlvs);
            }
            out[HEADER_LEN..HEADER_LEN + body.len()].copy_from_slice(body);
            seal(header, body.len(), out)
        }
        Packet::Mark(mark) => mark.emit(header, out),
        Packet::Report(report) => {
            let ranges: Vec<SeqRange> = report.ranges.iter().collect();
            assert_eq!(ranges.len(), report.ranges.len());
            report.fields.emit(header, &ranges, out)
        }
        Packet::Open(open) => {
            read_all(&open.tlvs);
            open.emit(header, out.len(), out)
        }
        Packet::Challenge(challenge) => challenge.emit(header, out),
        Packet::Accept(accept) => {
            read_all(&accept.tlvs);
            accept.emit(header, out.len(), out)
        }
        Packet::Refuse(refuse) => refuse.emit(header, out),
        Packet::Close(close) => close.emit(header, out),
        Packet::CloseAck(ack) => ack.emit(header, out),
    }
}

/// Reads every TLV: together they are as long as the list says.
fn read_all(tlvs: &Tlvs<'_>) {
    let len: usize = tlvs.iter().map(|(_, value)| 4 + value.len()).sum();
    assert_eq!(len, tlvs.len_bytes());
}
