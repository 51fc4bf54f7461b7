//! The fields of a packet under the names, and in the number forms, of `vectors/README.md`.

use std::fmt;

use samplewire_proto::wire::{Flags, Header, Packet, Ranges, Tlvs};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// Fields in wire order.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields<'a>(Vec<(&'static str, Field<'a>)>);

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    /// A number of up to 32 bits.
    Number(u32),
    /// A number of 64 bits.
    Wide(u64),
    Bytes(&'a [u8]),
    Ranges(Ranges<'a>),
    Tlvs(Tlvs<'a>),
}

impl<'a> Fields<'a> {
    /// The fields of a header.
    pub(super) fn of_header(header: &Header) -> Self {
        Self(vec![
            ("flags", Field::Number(header.flags.0.into())),
            ("tag", Field::Number(header.tag.0)),
            ("index", Field::Wide(header.index)),
            ("seq", Field::Number(header.seq.0)),
            ("departure", Field::Number(header.departure.0)),
        ])
    }

    /// The fields of a body. Includes the payload of DATA if requested, and its TLVs if it is META.
    pub(super) fn of_body(header: &Header, packet: &'a Packet<'a>, wants_payload: bool) -> Self {
        use Field::{Bytes, Number, Wide};
        Self(match packet {
            Packet::Data(payload) => {
                let meta = header.flags.contains(Flags::META).then(|| Tlvs::parse(payload));
                let tlvs = meta.and_then(Result::ok).map(|tlvs| ("tlvs", Field::Tlvs(tlvs)));
                let payload = wants_payload.then_some(("payload", Bytes(payload)));
                payload.into_iter().chain(tlvs).collect()
            }
            Packet::Mark(mark) => vec![
                ("oldest", Number(mark.oldest.0)),
                ("report", Number(mark.report.0)),
                ("echo", Number(mark.echo.0)),
                ("hold", Number(mark.hold)),
                ("source_lost", Wide(mark.source_lost)),
                ("time_ns", Wide(mark.time_ns)),
            ],
            Packet::Report(report) => {
                let fields = &report.fields;
                vec![
                    ("released", Number(fields.released.0)),
                    ("limit", Number(fields.limit.0)),
                    ("settled", Number(fields.settled.0)),
                    ("highest_end", Number(fields.highest_end.0)),
                    ("echo", Number(fields.echo.0)),
                    ("hold", Number(fields.hold)),
                    ("received", Number(fields.received)),
                    ("marked", Number(fields.marked)),
                    ("skipped", Number(fields.skipped)),
                    ("late", Number(fields.late.into())),
                    ("ranges", Field::Ranges(report.ranges)),
                ]
            }
            Packet::Open(open) => vec![
                ("tag", Number(open.tag.0)),
                ("role", Number(open.role as u32)),
                ("delivery", Number(open.delivery.into())),
                ("stream", Number(open.stream.into())),
                ("nonce", Wide(open.nonce)),
                ("owner", Wide(open.owner)),
                ("cookie", Bytes(&open.cookie)),
                ("window", Number(open.window)),
                ("max_packet_bytes", Number(open.max_packet_bytes.into())),
                ("pad", Number(open.pad.into())),
                ("trailer_kind", Number(open.trailer_kind.into())),
                ("deadline_us", Number(open.deadline_us)),
                ("tlvs", Field::Tlvs(open.tlvs)),
            ],
            Packet::Challenge(challenge) => {
                vec![("nonce", Wide(challenge.nonce)), ("cookie", Bytes(&challenge.cookie))]
            }
            Packet::Accept(accept) => vec![
                ("nonce", Wide(accept.nonce)),
                ("tag", Number(accept.tag.0)),
                ("stream", Number(accept.stream.into())),
                ("streams", Number(accept.streams.into())),
                ("boot_id", Wide(accept.boot_id)),
                ("rate_numerator", Wide(accept.rate_numerator)),
                ("rate_denominator", Number(accept.rate_denominator)),
                ("format", Number(accept.format.into())),
                ("channels", Number(accept.channels.into())),
                ("packet_samples", Number(accept.packet_samples)),
                ("payload_bytes", Number(accept.payload_bytes.into())),
                ("payload_offset", Number(accept.payload_offset.into())),
                ("trailer_kind", Number(accept.trailer_kind.into())),
                ("window", Number(accept.window)),
                ("reorder_tolerance", Number(accept.reorder_tolerance)),
                ("dead_ms", Number(accept.dead_ms.into())),
                ("idle_ms", Number(accept.idle_ms.into())),
                ("ranges_max", Number(accept.ranges_max.into())),
                ("granularity_bytes", Number(accept.granularity_bytes.into())),
                ("time_ns", Wide(accept.time_ns)),
                ("tlvs", Field::Tlvs(accept.tlvs)),
            ],
            Packet::Refuse(refuse) => vec![
                ("nonce", Wide(refuse.nonce)),
                ("reason", Number(refuse.reason.number().into())),
                ("versions", Number(refuse.versions.into())),
                ("retry_ms", Number(refuse.retry_ms)),
            ],
            Packet::Close(close) => vec![
                ("reason", Number(close.reason.number().into())),
                ("last", Number(close.last.0)),
                ("source_lost", Wide(close.source_lost)),
            ],
            Packet::CloseAck(ack) => vec![
                ("reason", Number(ack.reason.number().into())),
                ("echoed_tag", Number(ack.echoed_tag.0)),
                ("source_lost", Wide(ack.source_lost)),
            ],
        })
    }

    /// Names and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(&'static str, Field<'a>)> {
        self.0.iter()
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u32(*number),
            Self::Wide(number) => serializer.collect_str(&format_args!("0x{number:016x}")),
            Self::Bytes(bytes) => serializer.collect_str(&Hex(bytes)),
            Self::Ranges(ranges) => {
                let mut list = serializer.serialize_seq(Some(ranges.len()))?;
                for range in ranges.iter() {
                    list.serialize_element(&Pair([
                        ("first", Field::Number(range.first.0)),
                        ("count", Field::Number(range.count)),
                    ]))?;
                }
                list.end()
            }
            Self::Tlvs(tlvs) => {
                let mut list = serializer.serialize_seq(None)?;
                for (kind, value) in tlvs.iter() {
                    list.serialize_element(&Pair([
                        ("kind", Field::Number(kind.into())),
                        ("value", Field::Bytes(value)),
                    ]))?;
                }
                list.end()
            }
        }
    }
}

/// An object of two fields.
struct Pair<'a>([(&'static str, Field<'a>); 2]);

impl Serialize for Pair<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Bytes as hex digits.
pub(super) struct Hex<'a>(pub(super) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
