//! Packets of every type come through the parser as they were built; damaged ones do not, or are
//! packets of their own.

use samplewire_proto::wire::{
    Accept, Challenge, Close, CloseAck, CloseAckReason, CloseReason, Flags, HEADER_LEN, Header,
    Mark, OPEN_LEN_MIN, Open, Packet, PacketType, Refuse, RefuseReason, ReportFields, Role,
    SeqRange, TlvWriter, Tlvs, parse, seal,
};
use samplewire_proto::{Departure, Seq, Tag};

use crate::decode::{self, LEN_MAX};
use crate::input::Input;

/// Builds the packets that `bytes` spell, at most [`PACKETS_MAX`].
///
/// # Panics
/// When the parser or the emitter is wrong.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    for _ in 0..PACKETS_MAX {
        let mut out = [0xEE; LEN_MAX];
        let len = build_and_parse(&mut input, &mut out);
        damage(&mut input, &mut out[..len]);
        if input.is_empty() {
            return;
        }
    }
}

fn build_and_parse(input: &mut Input<'_>, out: &mut [u8; LEN_MAX]) -> usize {
    let header = Header {
        kind: input.choose(&PacketType::ALL),
        flags: Flags(input.byte() & 0xBF),
        tag: Tag(input.word()),
        index: input.long(),
        seq: Seq(input.word()),
        departure: Departure(input.word()),
    };
    let mut tlv_buffer = [0; TLVS_LEN_MAX];
    match header.kind {
        PacketType::Data => {
            let body = input.slice(64);
            let body = if body.len() < 8 { &[0; 8] } else { body };
            out[HEADER_LEN..HEADER_LEN + body.len()].copy_from_slice(body);
            let len = seal(&header, body.len(), out);
            parsed(&header, &Packet::Data(body), &out[..len])
        }
        PacketType::Mark => {
            let mark = mark(input);
            let len = mark.emit(&header, out);
            parsed(&header, &Packet::Mark(mark), &out[..len])
        }
        PacketType::Report => report(input, &header, out),
        PacketType::Open => {
            let tlvs = tlvs(input, &mut tlv_buffer);
            let open = open(input, tlvs);
            let len_min = (HEADER_LEN + 56 + open.tlvs.len_bytes() + 4).max(OPEN_LEN_MIN);
            let len = open.emit(&header, len_min + usize::from(input.byte()), out);
            parsed(&header, &Packet::Open(open), &out[..len])
        }
        PacketType::Challenge => {
            let challenge = Challenge { nonce: input.long(), cookie: cookie(input) };
            let len = challenge.emit(&header, out);
            parsed(&header, &Packet::Challenge(challenge), &out[..len])
        }
        PacketType::Accept => {
            let tlvs = tlvs(input, &mut tlv_buffer);
            let accept = accept(input, tlvs);
            let len_min = Accept::packet_len_min(&accept.tlvs);
            let len = accept.emit(&header, len_min + usize::from(input.byte()), out);
            parsed(&header, &Packet::Accept(accept), &out[..len])
        }
        PacketType::Refuse => {
            let refuse = Refuse {
                nonce: input.long(),
                reason: RefuseReason::from_number(input.half()),
                versions: input.half(),
                retry_ms: input.word(),
            };
            let len = refuse.emit(&header, out);
            parsed(&header, &Packet::Refuse(refuse), &out[..len])
        }
        PacketType::Close => {
            let reason = CloseReason::from_number(input.half());
            let close = Close { reason, last: Seq(input.word()), source_lost: input.long() };
            let len = close.emit(&header, out);
            parsed(&header, &Packet::Close(close), &out[..len])
        }
        PacketType::CloseAck => {
            let reason = CloseAckReason::from_number(input.half());
            let echoed_tag = Tag(input.word());
            let ack = CloseAck { reason, echoed_tag, source_lost: input.long() };
            let len = ack.emit(&header, out);
            parsed(&header, &Packet::CloseAck(ack), &out[..len])
        }
    }
}

/// Parses what was emitted; says how long it is.
fn parsed(header: &Header, packet: &Packet<'_>, bytes: &[u8]) -> usize {
    assert_eq!(parse(bytes), Ok((*header, *packet)));
    bytes.len()
}

/// One bit fails the CRC; bytes changed before it was made give what `decode` checks.
fn damage(input: &mut Input<'_>, packet: &mut [u8]) {
    let at = usize::from(input.half()) % packet.len();
    let bit = 1 << (input.byte() % 8);
    packet[at] ^= bit;
    assert!(parse(packet).is_err(), "a bit that flipped is noticed");
    packet[at] ^= bit;
    for _ in 0..input.byte() % 4 {
        let at = usize::from(input.half()) % packet.len();
        packet[at] = input.byte();
    }
    let cut = packet.len() - usize::from(input.byte() % 16).min(packet.len() - 4);
    let packet = &mut packet[..cut];
    decode::put_crc(packet);
    decode::parse_and_emit(packet);
}

fn mark(input: &mut Input<'_>) -> Mark {
    Mark {
        oldest: Seq(input.word()),
        report: Seq(input.word()),
        echo: Departure(input.word()),
        hold: input.word(),
        source_lost: input.long(),
        time_ns: input.long(),
    }
}

fn report(input: &mut Input<'_>, header: &Header, out: &mut [u8]) -> usize {
    let fields = ReportFields {
        released: Seq(input.word()),
        limit: Seq(input.word()),
        settled: Departure(input.word()),
        highest_end: Seq(input.word()),
        echo: Departure(input.word()),
        hold: input.word(),
        received: input.word(),
        marked: input.word(),
        skipped: input.word(),
        late: input.half(),
    };
    let mut ranges = [SeqRange::default(); RANGES_MAX];
    let ranges = &mut ranges[..usize::from(input.byte()) % (RANGES_MAX + 1)];
    for range in &mut *ranges {
        *range = SeqRange { first: Seq(input.near(fields.released.0)), count: input.near(1) };
    }
    let len = fields.emit(header, ranges, out);
    assert_eq!(len, ReportFields::packet_len(ranges.len()));
    let (parsed_header, packet) = parse(&out[..len]).expect("what is emitted can be parsed");
    let Packet::Report(report) = packet else { panic!("a REPORT became {packet:?}") };
    assert_eq!((parsed_header, report.fields), (*header, fields));
    assert!(report.ranges.iter().eq(ranges.iter().copied()));
    len
}

fn open<'t>(input: &mut Input<'_>, tlvs: Tlvs<'t>) -> Open<'t> {
    Open {
        tag: Tag(input.word()),
        role: input.choose(&[Role::Describe, Role::Receive, Role::Send]),
        delivery: input.byte(),
        stream: input.half(),
        nonce: input.long(),
        owner: input.long(),
        cookie: cookie(input),
        window: input.word(),
        max_packet_bytes: input.half(),
        pad: input.byte(),
        trailer_kind: input.byte(),
        deadline_us: input.word(),
        tlvs,
    }
}

fn accept<'t>(input: &mut Input<'_>, tlvs: Tlvs<'t>) -> Accept<'t> {
    Accept {
        nonce: input.long(),
        tag: Tag(input.word()),
        stream: input.half(),
        streams: input.half(),
        boot_id: input.long(),
        rate_numerator: input.long(),
        rate_denominator: input.word(),
        format: input.half(),
        channels: input.half(),
        packet_samples: input.word(),
        payload_bytes: input.half(),
        payload_offset: input.byte(),
        trailer_kind: input.byte(),
        window: input.word(),
        reorder_tolerance: input.word(),
        dead_ms: input.half(),
        idle_ms: input.half(),
        ranges_max: input.half(),
        granularity_bytes: input.half(),
        time_ns: input.long(),
        tlvs,
    }
}

fn tlvs<'t>(input: &mut Input<'_>, buffer: &'t mut [u8; TLVS_LEN_MAX]) -> Tlvs<'t> {
    let mut writer = TlvWriter::new(buffer);
    for _ in 0..input.byte() % 5 {
        let kind = input.half().max(1);
        let len = usize::from(input.byte() % 64);
        writer = writer.push(kind, input.slice(len));
    }
    writer.finish()
}

fn cookie(input: &mut Input<'_>) -> [u8; 16] {
    let mut cookie = [0; 16];
    cookie[..8].copy_from_slice(&input.long().to_be_bytes());
    cookie[8..].copy_from_slice(&input.long().to_be_bytes());
    cookie
}

const PACKETS_MAX: usize = 8;
const RANGES_MAX: usize = 16;
/// Four of up to 63 bytes of value.
const TLVS_LEN_MAX: usize = 4 * (4 + 64);
