//! RoCEv2 packets: datagrams to UDP port 4791.

use std::fmt::{self, Display, Formatter};

use samplewire_roce::wire::{self, Body, Bth, Packet, Syndrome, WireError};
use serde::Serialize;
use serde_json::Value;

use super::datagram::Datagram;
use super::fields::Hex;
use super::reader::Frame;
use super::words::seconds;
use crate::figures::grouped;

/// A captured packet with its context.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoceSighting<'a> {
    frame: u64,
    time_ns: Option<u64>,
    start_ns: Option<u64>,
    datagram: &'a Datagram<'a>,
    bytes: &'a [u8],
    packet: Result<Packet<'a>, WireError>,
}

/// The IP packet behind an Ethernet header of no address: the capture may have another link type, or
/// VLAN tags.
pub(super) fn frame_of(datagram: &Datagram<'_>) -> Vec<u8> {
    let (kind, packet) = datagram.ip;
    [&[0; 12], &kind.0.to_be_bytes()[..], packet].concat()
}

impl<'a> RoceSighting<'a> {
    /// `bytes` are those of [`frame_of`].
    pub(super) fn new(
        frame: &Frame<'_>,
        datagram: &'a Datagram<'a>,
        bytes: &'a [u8],
        start_ns: Option<u64>,
    ) -> Self {
        let packet = wire::Frame::new_checked(bytes).map(|checked| checked.packet());
        let Frame { number, time_ns, .. } = *frame;
        Self { frame: number, time_ns, start_ns, datagram, bytes, packet }
    }

    /// Why the packet is invalid, or not one of those that are supported.
    pub(super) fn error(&self) -> Option<WireError> {
        self.packet.err()
    }

    /// The base transport header, of an invalid packet too.
    pub(super) fn bth(&self) -> Option<Bth> {
        self.packet.map_or_else(|_| Bth::peek(self.bytes), |packet| Some(packet.bth))
    }

    /// `ok`, `bad`, or `None` when a check before it failed.
    fn icrc(&self) -> Option<&'static str> {
        match self.error() {
            None | Some(WireError::Opcode(_) | WireError::Length { .. }) => Some("ok"),
            Some(WireError::Icrc) => Some("bad"),
            Some(_) => None,
        }
    }
}

impl Display for RoceSighting<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let time = match (self.time_ns, self.start_ns) {
            (Some(time_ns), Some(start_ns)) => seconds(time_ns, start_ns),
            _ => "-".into(),
        };
        let Datagram { source, destination, len_bytes, .. } = self.datagram;
        write!(f, "{time:>14}  {source} > {destination}  ")?;
        match self.bth() {
            Some(bth) => bth_words(f, &bth)?,
            None => f.write_str("RoCE")?,
        }
        if let Ok(packet) = &self.packet {
            body_words(f, &packet.body)?;
        }
        let icrc = match self.icrc() {
            Some("bad") => "BAD",
            Some(right) => right,
            None => "not checked",
        };
        write!(f, " bytes {len_bytes} icrc {icrc}")?;
        match self.error() {
            Some(error) => write!(f, "; {error}"),
            None => Ok(()),
        }
    }
}

fn bth_words(f: &mut Formatter<'_>, bth: &Bth) -> fmt::Result {
    write!(f, "{} qp {:#08x} psn {}", bth.opcode.name(), bth.destination.get(), bth.psn)?;
    let flags = [
        (bth.solicited, "SOLICITED"),
        (bth.ack_request, "ACK_REQUEST"),
        (bth.fecn, "FECN"),
        (bth.becn, "BECN"),
    ];
    let names: Vec<_> = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect();
    if names.is_empty() { Ok(()) } else { write!(f, " [{}]", names.join(" ")) }
}

fn body_words(f: &mut Formatter<'_>, body: &Body<'_>) -> fmt::Result {
    match body {
        Body::Request { reth, immediate, payload } => {
            if let Some(reth) = reth {
                let len_bytes = grouped(reth.len_bytes.into());
                write!(f, " {len_bytes} bytes to {:#x} key {:#x}", reth.address, reth.key)?;
            }
            if let Some(immediate) = immediate {
                write!(f, " immediate {immediate:#x}")?;
            }
            write!(f, " payload {}", payload.len())
        }
        Body::Acknowledge(aeth) => {
            match aeth.syndrome {
                Syndrome::Ack(Syndrome::CREDIT_INVALID) => f.write_str(" ack")?,
                Syndrome::Ack(credit) => write!(f, " ack credit code {credit}")?,
                Syndrome::RnrNak(timer) => {
                    let wait_us = grouped(timer.span().0 / 1_000);
                    write!(f, " receiver not ready, wait {wait_us} us")?;
                }
                Syndrome::Nak(code) => write!(f, " nak {code}")?,
                Syndrome::Reserved(number) => write!(f, " syndrome {number:#04x} (reserved)")?,
            }
            write!(f, " msn {}", aeth.msn)
        }
        Body::Unsupported | Body::Cnp => Ok(()),
    }
}

/// Every field of a packet, one a line.
pub(super) struct FieldLines<'a>(pub(super) &'a RoceSighting<'a>);

impl Display for FieldLines<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "    frame {}", self.0.frame)?;
        let line = Line::new(self.0, true);
        let parts = [
            ("bth", serde_json::to_value(line.bth)),
            ("reth", serde_json::to_value(line.reth)),
            ("aeth", serde_json::to_value(line.aeth)),
            ("immediate", serde_json::to_value(line.immediate)),
            ("payload", serde_json::to_value(line.payload)),
        ];
        for (part, value) in parts {
            match value {
                Ok(Value::Object(fields)) => {
                    for (name, value) in fields {
                        write!(f, "\n    {part}.{name:<18} {}", plain(&value))?;
                    }
                }
                Ok(Value::Null) | Err(_) => {}
                Ok(value) => write!(f, "\n    {part:<23} {}", plain(&value))?,
            }
        }
        Ok(())
    }
}

/// A string without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The object of `decode --json`, with the field names of `vectors/README.md`.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    frame: u64,
    time_ns: Option<u64>,
    source: String,
    destination: String,
    len_bytes: usize,
    protocol: &'static str,
    /// Null for an opcode that is not handled.
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    opcode: Option<u8>,
    /// `ok`, `bad`, or null if a check before it failed.
    icrc: Option<&'static str>,
    bth: Option<BthFields>,
    reth: Option<RethFields>,
    immediate: Option<u32>,
    aeth: Option<AethFields>,
    payload_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    error: Option<Error>,
}

#[derive(Debug, Serialize)]
struct BthFields {
    solicited: bool,
    migrated: bool,
    p_key: u16,
    fecn: bool,
    becn: bool,
    destination: u32,
    ack_request: bool,
    psn: u32,
}

#[derive(Debug, Serialize)]
struct RethFields {
    address: String,
    key: u32,
    len_bytes: u32,
}

#[derive(Debug, Serialize)]
struct AethFields {
    syndrome: u8,
    msn: u32,
}

#[derive(Debug, Serialize)]
struct Error {
    name: &'static str,
    words: String,
}

impl Line {
    pub(super) fn new(sighting: &RoceSighting<'_>, wants_payload: bool) -> Self {
        let bth = sighting.bth();
        let mut line = Self {
            frame: sighting.frame,
            time_ns: sighting.time_ns,
            source: sighting.datagram.source.to_string(),
            destination: sighting.datagram.destination.to_string(),
            len_bytes: sighting.datagram.len_bytes,
            protocol: "roce",
            kind: bth.map(|bth| bth.opcode.name()),
            opcode: bth.map(|bth| bth.opcode as u8),
            icrc: sighting.icrc(),
            bth: bth.map(|bth| BthFields {
                solicited: bth.solicited,
                migrated: bth.migrated,
                p_key: bth.p_key,
                fecn: bth.fecn,
                becn: bth.becn,
                destination: bth.destination.get(),
                ack_request: bth.ack_request,
                psn: bth.psn.get(),
            }),
            reth: None,
            immediate: None,
            aeth: None,
            payload_bytes: None,
            payload: None,
            error: sighting
                .error()
                .map(|error| Error { name: error.name(), words: error.to_string() }),
        };
        match sighting.packet.map(|packet| packet.body) {
            Ok(Body::Request { reth, immediate, payload }) => {
                line.reth = reth.map(|reth| RethFields {
                    address: format!("0x{:016x}", reth.address),
                    key: reth.key,
                    len_bytes: reth.len_bytes,
                });
                line.immediate = immediate;
                line.payload_bytes = Some(payload.len());
                line.payload = wants_payload.then(|| Hex(payload).to_string());
            }
            Ok(Body::Acknowledge(aeth)) => {
                let (syndrome, msn) = (aeth.syndrome.number(), aeth.msn);
                line.aeth = Some(AethFields { syndrome, msn });
            }
            Ok(Body::Unsupported | Body::Cnp) | Err(_) => {}
        }
        line
    }
}
