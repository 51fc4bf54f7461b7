//! Prints a packet as a line of words, with its fields below.

use std::fmt::{self, Display, Formatter};

use samplewire_proto::Departure;
use samplewire_proto::session::{StreamTerms, WireText};
use samplewire_proto::wire::{
    Accept, Format, Header, Open, Packet, QueuePairTerms, Report, SlotRegion, TlvKind, Tlvs,
};

use super::Sighting;
use super::fields::{Field, Fields, Hex};
use super::names;
use super::packet::Crc;
use crate::figures::{exact, grouped, span};

/// The line of a packet; `start_ns` is the time of the first frame.
pub(super) struct Line<'a> {
    pub(super) sighting: &'a Sighting<'a>,
    pub(super) start_ns: Option<u64>,
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Sighting { time_ns, datagram, packet, samples, .. } = self.sighting;
        let time = match (time_ns, self.start_ns) {
            (Some(time_ns), Some(start_ns)) => seconds(*time_ns, start_ns),
            _ => "-".into(),
        };
        write!(f, "{time:>14}  {} > {}  ", datagram.source, datagram.destination)?;
        match packet.stated {
            Some((version, number)) => match names::of_type(number) {
                Some(name) => f.write_str(name)?,
                None if version == samplewire_proto::wire::VERSION => {
                    write!(f, "type {number} (unknown)")?;
                }
                None => write!(f, "type {number}")?,
            },
            None => f.write_str("empty")?,
        }
        if let Some(header) = &packet.header {
            write!(f, " tag {:08x} seq {} index {}", header.tag.0, header.seq, header.index)?;
            let mut between = " [";
            for name in names::of_flags(header.flags) {
                write!(f, "{between}{name}")?;
                between = " ";
            }
            if between == " " {
                f.write_str("]")?;
            }
        }
        if let Some(samples) = samples {
            write!(f, " samples {}", grouped(*samples))?;
        }
        if let (Some(header), Ok(body)) = (&packet.header, &packet.body) {
            body_words(f, header, body)?;
        }
        write!(f, " bytes {} crc ", packet.len_bytes)?;
        f.write_str(match packet.crc {
            Crc::Right => "ok",
            Crc::Wrong => "BAD",
            Crc::Absent => "not captured",
        })?;
        match &packet.body {
            Err(fault) => write!(f, "; {fault}"),
            Ok(_) => Ok(()),
        }
    }
}

/// Every field of a packet, one a line.
pub(super) struct FieldLines<'a>(pub(super) &'a Sighting<'a>);

impl Display for FieldLines<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Sighting { frame, segment, packet, .. } = self.0;
        write!(f, "    frame {frame}")?;
        if let Some(segment) = segment {
            write!(f, ", packet {segment} of its datagram")?;
        }
        let Some(header) = &packet.header else { return Ok(()) };
        let body = packet.body.as_ref().ok().map(|body| Fields::of_body(header, body, true));
        for (part, fields) in [("header", Some(Fields::of_header(header))), ("body", body)] {
            for (name, value) in fields.iter().flat_map(Fields::iter) {
                write!(f, "\n    {part}.{name:<18} ")?;
                match value {
                    Field::Number(number) => write!(f, "{number}")?,
                    Field::Wide(number) => write!(f, "{number}")?,
                    Field::Bytes(bytes) => write!(f, "{}", Hex(bytes))?,
                    Field::Ranges(ranges) => {
                        for range in ranges.iter() {
                            write!(f, "{}+{} ", range.first, range.count)?;
                        }
                    }
                    Field::Tlvs(tlvs) => tlv_words(f, tlvs)?,
                }
            }
        }
        Ok(())
    }
}

fn body_words(f: &mut Formatter<'_>, header: &Header, body: &Packet<'_>) -> fmt::Result {
    match body {
        Packet::Data(_) => match Fields::of_body(header, body, false).iter().next() {
            Some((_, Field::Tlvs(tlvs))) => tlv_words(f, tlvs),
            _ => Ok(()),
        },
        Packet::Mark(mark) => write!(
            f,
            " oldest {} report {} hold {} lost {}",
            mark.oldest,
            mark.report,
            hold_words(mark.hold),
            grouped(mark.source_lost)
        ),
        Packet::Report(report) => report_words(f, report),
        Packet::Open(open) => open_words(f, open),
        Packet::Challenge(challenge) => write!(f, " nonce {:016x}", challenge.nonce),
        Packet::Accept(accept) => accept_words(f, header, accept),
        Packet::Refuse(refuse) => {
            let reason = names::of_refusal(refuse.reason);
            write!(f, " {reason}, versions {:#06b}", refuse.versions)?;
            if refuse.retry_ms > 0 {
                write!(f, ", retry after {} ms", refuse.retry_ms)?;
            }
            write!(f, " nonce {:016x}", refuse.nonce)
        }
        Packet::Close(close) => write!(
            f,
            " {}, last report {} lost {}",
            close.reason,
            close.last,
            grouped(close.source_lost)
        ),
        Packet::CloseAck(ack) => write!(
            f,
            " {}, echoed tag {:08x} lost {}",
            names::of_close_ack(ack.reason),
            ack.echoed_tag.0,
            grouped(ack.source_lost)
        ),
    }
}

fn report_words(f: &mut Formatter<'_>, report: &Report<'_>) -> fmt::Result {
    let fields = &report.fields;
    let credit = fields.limit.distance(fields.highest_end);
    write!(
        f,
        " released {} highest end {} credit {credit} limit {} hold {} received {} marked {} \
         given up {} late {}",
        fields.released,
        fields.highest_end,
        fields.limit,
        hold_words(fields.hold),
        fields.received,
        fields.marked,
        fields.skipped,
        fields.late
    )?;
    if report.ranges.is_empty() {
        return Ok(());
    }
    write!(f, " requests")?;
    for range in report.ranges.iter().take(RANGES_SHOWN_MAX) {
        match range.count {
            1 => write!(f, " {}", range.first)?,
            count => write!(f, " {}+{count}", range.first)?,
        }
    }
    match report.ranges.len().saturating_sub(RANGES_SHOWN_MAX) {
        0 => Ok(()),
        more => write!(f, " and {more} ranges more"),
    }
}

fn open_words(f: &mut Formatter<'_>, open: &Open<'_>) -> fmt::Result {
    let has_cookie = open.cookie != [0; 16];
    write!(
        f,
        " {} stream {} {} window {} mtu {} tag {:08x} owner {:016x} {} nonce {:016x}",
        names::of_role(open.role),
        open.stream,
        names::of_delivery(open.delivery),
        open.window,
        open.max_packet_bytes,
        open.tag.0,
        open.owner,
        if has_cookie { "with cookie" } else { "without cookie" },
        open.nonce
    )?;
    if open.deadline_us > 0 {
        write!(f, " deadline {}", span(f64::from(open.deadline_us) / 1e6))?;
    }
    tlv_words(f, &open.tlvs)
}

fn accept_words(f: &mut Formatter<'_>, header: &Header, accept: &Accept<'_>) -> fmt::Result {
    write!(f, " stream {} of {} ", accept.stream, accept.streams)?;
    match Format::from_number(accept.format) {
        Some(format) => write!(f, "{format}")?,
        None => write!(f, "format {}", accept.format)?,
    }
    write!(f, " x {}", accept.channels)?;
    if accept.rate_numerator > 0 && accept.rate_denominator > 0 {
        let rate_hz = accept.rate_numerator as f64 / f64::from(accept.rate_denominator);
        write!(f, " {}", exact(rate_hz, "S/s"))?;
    }
    write!(
        f,
        " {} samples in {} bytes at {} window {} tag {:08x} boot {:016x} nonce {:016x}",
        accept.packet_samples,
        accept.payload_bytes,
        accept.payload_offset,
        accept.window,
        accept.tag.0,
        accept.boot_id,
        accept.nonce
    )?;
    tlv_words(f, &accept.tlvs)?;
    match StreamTerms::read(header, accept) {
        Ok(_) => Ok(()),
        Err(error) => write!(f, " WRONG {}: {error};", error.field()),
    }
}

/// The TLVs in words; hex digits if the value does not have the length of its kind.
fn tlv_words(f: &mut Formatter<'_>, tlvs: &Tlvs<'_>) -> fmt::Result {
    for (kind, value) in tlvs.iter() {
        match names::of_tlv(kind) {
            Some(name) => write!(f, " {name} ")?,
            None => write!(f, " tlv {kind} (unknown) ")?,
        }
        let (numbers, rest) = value.as_chunks::<8>();
        match (kind, value) {
            (TlvKind::NAME, name) => write!(f, "{:?}", WireText::from_raw(name))?,
            (TlvKind::CENTRE_FREQUENCY | TlvKind::BANDWIDTH | TlvKind::GAIN, _)
                if rest.is_empty() =>
            {
                let unit = if kind == TlvKind::GAIN { "dB" } else { "Hz" };
                for number in numbers {
                    write!(f, "{} {unit} ", f64::from_be_bytes(*number))?;
                }
            }
            (TlvKind::CLOCK_QUALITY, &[a, b, c, d]) => {
                write!(f, "{} ns", u32::from_be_bytes([a, b, c, d]))?;
            }
            (TlvKind::SAMPLE_RATE, &[.., a, b, c, d]) if value.len() == 12 => {
                let numerator = u64::from_be_bytes(numbers[0]);
                write!(f, "{numerator}/{} Hz", u32::from_be_bytes([a, b, c, d]))?;
            }
            (TlvKind::REFERENCE, [0]) => f.write_str("lost")?,
            (TlvKind::REFERENCE, [1]) => f.write_str("locked")?,
            (TlvKind::RANGES, &[a, b]) => write!(f, "{}", u16::from_be_bytes([a, b]))?,
            (TlvKind::UNDERFLOW, [0]) => f.write_str("zeros")?,
            (TlvKind::UNDERFLOW, [1]) => f.write_str("stop")?,
            (TlvKind::QUEUE_PAIR | TlvKind::SLOTS, _) => rdma_words(f, kind, value, tlvs)?,
            _ => write!(f, "{}", Hex(value))?,
        }
    }
    Ok(())
}

/// The TLVs of a stream over RDMA; one that is malformed is named.
fn rdma_words(f: &mut Formatter<'_>, kind: u16, value: &[u8], tlvs: &Tlvs<'_>) -> fmt::Result {
    if kind == TlvKind::QUEUE_PAIR {
        match QueuePairTerms::find(tlvs) {
            Ok(Some(it)) => {
                write!(f, "{} psn {} mtu {}", it.qpn, it.first_psn, it.path_mtu_bytes)
            }
            Ok(None) => Ok(()),
            Err(error) => write!(f, "{} WRONG {error};", Hex(value)),
        }
    } else {
        match SlotRegion::find(tlvs) {
            Ok(Some(it)) => {
                let SlotRegion { address, rkey, slot_bytes, slots } = it;
                write!(f, "{slots} of {slot_bytes} bytes at {address:#x} key {rkey:08x}")
            }
            Ok(None) => Ok(()),
            Err(error) => write!(f, "{} WRONG {error};", Hex(value)),
        }
    }
}

fn hold_words(hold: u32) -> String {
    if hold == u32::MAX { "none".into() } else { span(Departure::span_ns(hold).0 as f64 / 1e9) }
}

/// Seconds since the first frame; frames may stand before it in time.
pub(super) fn seconds(time_ns: u64, start_ns: u64) -> String {
    let sign = if time_ns < start_ns { "-" } else { "" };
    let span_ns = time_ns.abs_diff(start_ns);
    format!("{sign}{}.{:09}", span_ns / NS_PER_S, span_ns % NS_PER_S)
}

const NS_PER_S: u64 = 1_000_000_000;
/// Maximum number of ranges in a line; `--verbose` shows all.
const RANGES_SHOWN_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use samplewire_proto::wire::{RdmaOffer, TlvWriter};

    use super::*;

    struct Shown<'a>(Tlvs<'a>);

    impl Display for Shown<'_> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            tlv_words(f, &self.0)
        }
    }

    #[test]
    fn tlvs_of_a_stream_over_rdma_are_shown_and_a_wrong_number_is_named() {
        let mut buf = [0; 64];
        let queue_pair = QueuePairTerms { qpn: 17, first_psn: 3, path_mtu_bytes: 1024 };
        let slots = SlotRegion { address: 4096, rkey: 0x77, slot_bytes: 1152, slots: 8 };
        let offer = RdmaOffer { queue_pair, slots: Some(slots) };
        let words = Shown(offer.push(TlvWriter::new(&mut buf)).finish()).to_string();
        let slots = " slots 8 of 1152 bytes at 0x1000 key 00000077";
        assert_eq!(words, format!(" queue pair 17 psn 3 mtu 1024{slots}"));
        let wrong = QueuePairTerms { path_mtu_bytes: 1000, ..queue_pair };
        let words = Shown(wrong.push(TlvWriter::new(&mut buf)).finish()).to_string();
        assert!(words.ends_with(" WRONG path_mtu_bytes 1000 is not possible;"), "{words}");
    }
}
