//! Any bytes are parsed or refused; what is parsed is emitted as it came.

use samplewire_proto::crc::crc32c;
use samplewire_proto::wire::{
    Flags, HEADER_LEN, Header, OpenPrefix, Packet, SeqRange, TRAILER_LEN, Tlvs, parse, seal,
};

/// Parses `bytes` as they are, and again behind a CRC that matches. Bytes beyond [`LEN_MAX`] are
/// not looked at.
///
/// # Panics
/// When the parser or the emitter is wrong.
#[expect(clippy::allow_attributes, reason = "the target `packets` needs the rest alone")]
#[allow(dead_code)]
pub(crate) fn check(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LEN_MAX)];
    OpenPrefix::parse(bytes);
    parse_and_emit(bytes);
    if bytes.len() >= TRAILER_LEN {
        let mut sealed = [0; LEN_MAX];
        let sealed = &mut sealed[..bytes.len()];
        sealed.copy_from_slice(bytes);
        put_crc(sealed);
        parse_and_emit(sealed);
    }
}

/// Ends `packet` with the CRC of what comes before.
pub(crate) fn put_crc(packet: &mut [u8]) {
    let covered = packet.len() - TRAILER_LEN;
    let crc = crc32c(&packet[..covered]).to_be_bytes();
    packet[covered..].copy_from_slice(&crc);
}

/// Parses at most [`LEN_MAX`] bytes; what is a packet must come out again.
///
/// # Panics
/// When it does not.
pub(crate) fn parse_and_emit(bytes: &[u8]) {
    let Ok((header, packet)) = parse(bytes) else { return };
    let mut out = [0xEE; LEN_MAX];
    let out = &mut out[..bytes.len()];
    let len = emit(&header, &packet, out);
    assert_eq!(len, bytes.len());
    assert_eq!(parse(out), Ok((header, packet)));
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
            let mut ranges = [SeqRange::default(); RANGES_MAX];
            let ranges = &mut ranges[..report.ranges.len()];
            let mut read = 0;
            for (place, range) in ranges.iter_mut().zip(report.ranges.iter()) {
                *place = range;
                read += 1;
            }
            assert_eq!(read, ranges.len());
            report.fields.emit(header, ranges, out)
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

/// The longest input; nothing depends on length beyond a full REPORT.
pub(crate) const LEN_MAX: usize = 2_048;
const RANGES_MAX: usize = LEN_MAX / 8;
