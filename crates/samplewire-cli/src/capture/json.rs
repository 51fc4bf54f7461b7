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
    /// The packet's position in the frame, from 0, if a datagram held several.
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<usize>,
    /// Since the Unix epoch or the start of a virtual clock; null if the capture does not state it.
    time_ns: Option<u64>,
    source: String,
    destination: String,
    len_bytes: usize,
    version: Option<u8>,
    /// The name of the type, null for a reserved number.
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    type_number: Option<u8>,
    /// `ok`, `bad`, or null if it was not captured.
    crc: Option<&'static str>,
    flags: Vec<&'static str>,
    /// Number of samples in DATA, null if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
    header: Option<Fields<'static>>,
    body: Option<Fields<'a>>,
    /// The term of an ACCEPT that is out of range or contradicts another.
    #[serde(skip_serializing_if = "Option::is_none")]
    terms_error: Option<Error>,
    /// Null for a valid packet of this version.
    error: Option<Error>,
}

/// Why the packet is invalid.
#[derive(Debug, Serialize)]
struct Error {
    /// As in `vectors/README.md`: the error of a packet, or the field of the terms; `Cut` if the
    /// packet was not captured whole.
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
