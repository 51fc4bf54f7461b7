//! Frames of the block transfer: EtherType 0x88B5.

use std::fmt::{self, Display, Formatter};

use samplewire_proto::block::MacAddress;
use samplewire_proto::block::wire::{self, Body, ETHER_TYPE, Header, Summary, WireError};
use serde::Serialize;
use serde_json::Value;

use super::fields::Hex;
use super::reader::Frame;
use super::words::seconds;
use crate::figures::grouped;

/// A captured frame with its context.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSighting<'a> {
    frame: Frame<'a>,
    start_ns: Option<u64>,
    parsed: Result<wire::Frame<'a>, BlockFault>,
}

/// Why a frame is not one of the block transfer, or cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BlockFault {
    /// The protocol forbids it.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The frame was not captured whole.
    #[error("{captured} of {len} bytes were captured")]
    Cut {
        /// Number of captured bytes.
        captured: usize,
        /// Length of the frame.
        len: usize,
    },
}

impl BlockFault {
    /// The error's name in `vectors/README.md`, or `Cut`.
    const fn name(&self) -> &'static str {
        match self {
            Self::Wire(error) => error.name(),
            Self::Cut { .. } => "Cut",
        }
    }
}

impl<'a> BlockSighting<'a> {
    /// `None` for a frame of another protocol or link type.
    pub(super) fn new(frame: &Frame<'a>, start_ns: Option<u64>) -> Option<Self> {
        let ether_type = frame.bytes.get(12..14)?;
        if frame.link_type != LINK_ETHERNET || ether_type != ETHER_TYPE.to_be_bytes() {
            return None;
        }
        let captured = frame.bytes.len();
        let parsed = if captured < frame.len_bytes {
            Err(BlockFault::Cut { captured, len: frame.len_bytes })
        } else {
            wire::Frame::parse(frame.bytes).map_err(BlockFault::from)
        };
        Some(Self { frame: *frame, start_ns, parsed })
    }

    /// Why the frame is invalid.
    pub(super) fn error(&self) -> Option<BlockFault> {
        self.parsed.err()
    }

    /// The name of its type, `None` for an invalid frame.
    pub(super) fn kind(&self) -> Option<&'static str> {
        self.parsed.ok().map(|frame| match frame.body {
            Body::Data { .. } => "DATA",
            Body::Summary(_) => "SUMMARY",
            Body::Complete => "OK",
            Body::Checking => "CK",
            Body::Missing(_) => "MI",
        })
    }

    /// Its addresses, of an invalid frame too.
    fn addresses(&self) -> (MacAddress, MacAddress) {
        let address = |at: usize| {
            let bytes = self.frame.bytes.get(at..at + 6).and_then(|bytes| bytes.try_into().ok());
            bytes.expect("the EtherType stands behind both")
        };
        (address(6), address(0))
    }
}

impl Display for BlockSighting<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let time = match (self.frame.time_ns, self.start_ns) {
            (Some(time_ns), Some(start_ns)) => seconds(time_ns, start_ns),
            _ => "-".into(),
        };
        let (source, destination) = self.addresses();
        write!(f, "{time:>14}  {} > {}  ", mac(source), mac(destination))?;
        match &self.parsed {
            Ok(frame) => {
                write!(f, "BLOCK_{}", self.kind().unwrap_or_default())?;
                body_words(f, &frame.header, &frame.body)?;
                write!(f, " bytes {}", self.frame.len_bytes)
            }
            Err(error) => write!(f, "BLOCK bytes {}; {error}", self.frame.len_bytes),
        }
    }
}

fn body_words(f: &mut Formatter<'_>, header: &Header, body: &Body<'_>) -> fmt::Result {
    if let Some(id) = header.transfer {
        write!(f, " id {:08x}", id.0)?;
    }
    match body {
        Body::Data { seq, payload } => write!(f, " seq {seq} payload {}", payload.len()),
        Body::Summary(Summary { packets, bytes, crc }) => {
            let (packets, bytes) = (grouped((*packets).into()), grouped(*bytes));
            write!(f, " packets {packets} payload {bytes}")?;
            crc.map_or(Ok(()), |crc| write!(f, " crc-32c {crc:08x}"))
        }
        Body::Complete | Body::Checking => Ok(()),
        Body::Missing(seqs) => {
            write!(f, " missing {}:", seqs.len())?;
            seqs.iter().take(SEQS_SHOWN).try_for_each(|seq| write!(f, " {seq}"))?;
            if seqs.len() > SEQS_SHOWN { f.write_str(" ..") } else { Ok(()) }
        }
    }
}

/// Every field of a frame, one a line.
pub(super) struct FieldLines<'a>(pub(super) &'a BlockSighting<'a>);

impl Display for FieldLines<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "    frame {}", self.0.frame.number)?;
        let Ok(Value::Object(fields)) = serde_json::to_value(Line::new(self.0, true).fields) else {
            return Ok(());
        };
        fields.iter().filter(|(_, value)| !value.is_null()).try_for_each(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            write!(f, "\n    {name:<23} {text}")
        })
    }
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
    /// Null for an invalid frame.
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    #[serde(flatten)]
    fields: BlockFields,
    error: Option<Error>,
}

/// Those that the type does not have are null.
#[derive(Debug, Default, Serialize)]
struct BlockFields {
    transfer: Option<u32>,
    seq: Option<u32>,
    packets: Option<u32>,
    bytes: Option<String>,
    crc: Option<u32>,
    seqs: Option<Vec<u32>>,
    payload_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
}

#[derive(Debug, Serialize)]
struct Error {
    name: &'static str,
    words: String,
}

impl Line {
    pub(super) fn new(sighting: &BlockSighting<'_>, wants_payload: bool) -> Self {
        let (source, destination) = sighting.addresses();
        let Frame { number, time_ns, len_bytes, .. } = sighting.frame;
        let error = |fault: BlockFault| Error { name: fault.name(), words: fault.to_string() };
        let fields = sighting.parsed.map(|frame| BlockFields::new(&frame, wants_payload));
        Self {
            frame: number,
            time_ns,
            source: mac(source),
            destination: mac(destination),
            len_bytes,
            protocol: "block",
            kind: sighting.kind(),
            fields: fields.unwrap_or_default(),
            error: sighting.error().map(error),
        }
    }
}

impl BlockFields {
    fn new(frame: &wire::Frame<'_>, wants_payload: bool) -> Self {
        let mut fields = Self { transfer: frame.header.transfer.map(|id| id.0), ..Self::default() };
        match frame.body {
            Body::Data { seq, payload } => {
                (fields.seq, fields.payload_bytes) = (Some(seq), Some(payload.len()));
                fields.payload = wants_payload.then(|| Hex(payload).to_string());
            }
            Body::Summary(Summary { packets, bytes, crc }) => {
                (fields.packets, fields.crc) = (Some(packets), crc);
                fields.bytes = Some(format!("0x{bytes:016x}"));
            }
            Body::Complete | Body::Checking => {}
            Body::Missing(seqs) => fields.seqs = Some(seqs.iter().collect()),
        }
        fields
    }
}

fn mac(address: MacAddress) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

const LINK_ETHERNET: u16 = 1;
/// Of a list in a line.
const SEQS_SHOWN: usize = 8;
