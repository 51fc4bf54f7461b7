//! The objects of `decode --json`.

use samplewire_proto::session::StreamTerms;
use samplewire_proto::wire::Packet;
use serde::Serialize;

use super::Sighting;
use super::fields::Fields;
use super::names;
use super::packet::Crc;

/// A packet.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    /// The frame's number in the capture, from 1.
    frame: u64,
    /// The packet's place in the frame, from 0, where a datagram held several.
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<usize>,
    /// Since the Unix epoch or the start of a virtual clock; null where the capture does not tell.
    time_ns: Option<u64>,
    source: String,
    destination: String,
    len_bytes: usize,
    version: Option<u8>,
    /// The type's name, null for a number that has none.
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    type_number: Option<u8>,
    /// `ok`, `bad`, or null where it was not captured.
    crc: Option<&'static str>,
    flags: Vec<&'static str>,
    /// How many samples DATA has, null where nothing tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
    header: Option<Fields<'static>>,
    body: Option<Fields<'a>>,
    /// The term of an ACCEPT that is out of its range or contradicts another.
    #[serde(skip_serializing_if = "Option::is_none")]
    terms_error: Option<Error>,
    /// Null where it is a packet of this version.
    error: Option<Error>,
}

/// Why it is none.
#[derive(Debug, Serialize)]
struct Error {
    /// As in `vectors/README.md`: of a packet the error, `Cut` where the capture did not keep all of
    /// it; of terms the field.
    name: &'static str,
    words: String,
}

impl<'a> Line<'a> {
    pub(super) fn new(sighting: &'a Sighting<'a>, wants_payload: bool) -> Self {
        let Sighting { frame, time_ns, datagram, segment, packet, samples } = sighting;
        let body = match (&packet.header, &packet.body) {
            (Some(header), Ok(body)) => Some(Fields::of_body(header, body, wants_payload)),
            _ => None,
        };
        let error = packet.body.as_ref().err();
        let terms_error = match (&packet.header, &packet.body) {
            (Some(header), Ok(Packet::Accept(accept))) => StreamTerms::read(header, accept).err(),
            _ => None,
        };
        let flags = packet.header.map(|header| names::of_flags(header.flags).collect());
        Self {
            frame: *frame,
            segment: *segment,
            time_ns: *time_ns,
            source: datagram.source.to_string(),
            destination: datagram.destination.to_string(),
            len_bytes: packet.len_bytes,
            version: packet.stated.map(|(version, _)| version),
            kind: packet.type_number().and_then(names::of_type),
            type_number: packet.type_number(),
            crc: match packet.crc {
                Crc::Right => Some("ok"),
                Crc::Wrong => Some("bad"),
                Crc::Absent => None,
            },
            flags: flags.unwrap_or_default(),
            samples: *samples,
            header: packet.header.as_ref().map(Fields::of_header),
            body,
            terms_error: terms_error
                .map(|error| Error { name: error.field(), words: error.to_string() }),
            error: error.map(|fault| Error { name: fault.name(), words: fault.to_string() }),
        }
    }
}
