//! Frames of the block transfer (`docs/block.md#frames`).
//!
//! [`Frame::parse`] is the one place that checks a peer's bytes. What stands behind the fields of a
//! frame is padding and is not read, so that a frame that was parsed and is emitted again may be
//! shorter. `vectors/block.json` holds frames that an independent program wrote.

mod seqs;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

use crate::wire::field;

pub use seqs::Seqs;

/// An Ethernet address.
pub type MacAddress = [u8; 6];

/// Names a transfer, so that frames of two in a row are kept apart. The sender draws it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransferId(pub u32);

/// A frame, borrowed from the bytes it was parsed from or from the payload that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What every frame begins with.
    pub header: Header,
    /// What follows it.
    pub body: Body<'a>,
}

/// Addresses, and the transfer where the type has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The address that it goes to.
    pub destination: MacAddress,
    /// The address that it comes from.
    pub source: MacAddress,
    /// The transfer, in frames of types 0x11 to 0x13; `None` in those of types 0x01 to 0x03.
    pub transfer: Option<TransferId>,
}

/// What a frame is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// One packet.
    Data {
        /// Its number, from 0.
        seq: u32,
        /// Its bytes, and padding up to the end of the frame.
        payload: &'a [u8],
    },
    /// What the transfer consists of.
    Summary(Summary),
    /// `OK`: everything is there.
    Complete,
    /// `CK`: everything is there, and the CRC is being computed; only in frames with a transfer ID.
    Checking,
    /// `MI`: some of the packets that are missing, at least one.
    Missing(Seqs<'a>),
}

/// What a transfer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many packets.
    pub packets: u32,
    /// How many bytes they carry, padding apart.
    pub bytes: u64,
    /// The CRC-32C of those bytes, where the frame names its transfer.
    pub crc: Option<u32>,
}

impl<'a> Frame<'a> {
    /// Checks and reads a frame without Ethernet's checksum.
    ///
    /// # Errors
    /// The first check that fails; the caller drops and counts.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let len = bytes.len();
        if len < FRAME_BYTES_MIN {
            return Err(WireError::TooShort { len });
        }
        if len > FRAME_BYTES_MAX {
            return Err(WireError::TooLong { len });
        }
        let ether_type = field::get_u16(bytes, at::ETHER_TYPE);
        if ether_type != ETHER_TYPE {
            return Err(WireError::EtherType(ether_type));
        }
        let (destination, source) = (field::get(bytes, 0), field::get(bytes, at::SOURCE));
        if is_group(source) {
            return Err(WireError::GroupSource(source));
        }
        let kind = bytes[at::KIND];
        let (with_id, number) = (kind & WITH_ID, kind & !WITH_ID);
        if !(DATA..=ANSWER).contains(&number) {
            return Err(WireError::UnknownType(kind));
        }
        let transfer = (with_id != 0).then(|| TransferId(field::get_u32(bytes, at::ID)));
        let header = Header { destination, source, transfer };
        let rest = &bytes[header.len()..];
        let body = match number {
            DATA => Body::Data { seq: field::get_u32(rest, 0), payload: &rest[SEQ_LEN..] },
            SUMMARY => Body::Summary(Summary {
                packets: field::get_u32(rest, 0),
                bytes: field::get_u64(rest, 4),
                crc: transfer.map(|_| field::get_u32(rest, 12)),
            }),
            _ => header.parse_answer(rest)?,
        };
        Ok(Self { header, body })
    }

    /// Writes the frame with its padding and returns its length.
    ///
    /// # Panics
    /// When `out` is shorter than the frame, a payload longer than [`Header::payload_bytes_max`], a
    /// list longer than [`Header::seqs_max`] or empty, when a summary has a CRC and its frame no
    /// transfer, or the reverse, or a `CK` has no transfer.
    pub fn emit(&self, out: &mut [u8]) -> usize {
        let header = &self.header;
        let start = header.len();
        let len = match self.body {
            Body::Data { seq, payload } => {
                assert!(payload.len() <= header.payload_bytes_max(), "{} bytes", payload.len());
                out[start + SEQ_LEN..][..payload.len()].copy_from_slice(payload);
                return header.emit_data_in_place(seq, payload.len(), out);
            }
            Body::Summary(Summary { packets, bytes, crc }) => {
                assert_eq!(crc.is_some(), header.transfer.is_some(), "the CRC goes with the ID");
                header.put(SUMMARY, out);
                field::put_u32(out, start, packets);
                field::put_u64(out, start + 4, bytes);
                let Some(crc) = crc else { return pad(out, start + 12) };
                field::put_u32(out, start + 12, crc);
                start + 16
            }
            Body::Complete => {
                header.put(ANSWER, out);
                field::put(out, start, OK);
                start + OK.len()
            }
            Body::Checking => {
                assert!(header.transfer.is_some(), "only a transfer with ID has a CRC");
                header.put(ANSWER, out);
                field::put(out, start, CHECKING);
                field::put_u16(out, start + CHECKING.len(), CHECKING_COUNT);
                start + CHECKING.len() + COUNT_LEN
            }
            Body::Missing(seqs) => return header.emit_missing(seqs.iter(), out),
        };
        pad(out, len)
    }
}

impl Header {
    /// The header of a frame in the other direction.
    #[must_use]
    pub const fn reply(self) -> Self {
        Self { destination: self.source, source: self.destination, transfer: self.transfer }
    }

    /// The longest payload of DATA.
    pub const fn payload_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX - self.len() - SEQ_LEN
    }

    /// The seqs of the longest list.
    pub const fn seqs_max(&self) -> usize {
        self.seqs_in(FRAME_BYTES_MAX)
    }

    /// The seqs of the longest list in a frame of at most `len_max` bytes, which is a frame's length.
    pub(super) const fn seqs_in(&self, len_max: usize) -> usize {
        (len_max - self.list_start()) / SEQ_LEN
    }

    /// The length of the frame of DATA with so many bytes of payload.
    pub const fn data_frame_len(&self, payload_len: usize) -> usize {
        padded(self.len() + SEQ_LEN + payload_len)
    }

    /// Writes a list of missing packets with its padding and returns the frame's length.
    ///
    /// # Panics
    /// See [`Frame::emit`].
    pub fn emit_missing(&self, seqs: impl Iterator<Item = u32>, out: &mut [u8]) -> usize {
        self.put(ANSWER, out);
        field::put(out, self.len(), MISSING);
        let start = self.list_start();
        let (mut count, mut last) = (0, 0);
        let (mut b0, mut b1, mut b2) = (0, 0, 0);
        for seq in seqs {
            assert!(count < self.seqs_max(), "a list of more than {} seqs", self.seqs_max());
            // A soft core shifts by a bit a cycle, and most of a list differ from the one before in the
            // last byte alone.
            if (seq ^ last) & !0xFF != 0 {
                [b0, b1, b2, _] = seq.to_be_bytes();
            }
            last = seq;
            let at = &mut out[start + SEQ_LEN * count..][..SEQ_LEN];
            (at[0], at[1], at[2], at[3]) = (b0, b1, b2, seq as u8);
            count += 1;
        }
        assert!(count > 0, "a list of nothing");
        // Below 371.
        field::put_u16(out, start - COUNT_LEN, count as u16);
        pad(out, start + SEQ_LEN * count)
    }

    /// Writes DATA around a payload of `payload_len` bytes that is in its place, and returns the
    /// frame's length.
    pub(super) fn emit_data_in_place(&self, seq: u32, payload_len: usize, out: &mut [u8]) -> usize {
        self.put(DATA, out);
        field::put_u32(out, self.len(), seq);
        pad(out, self.len() + SEQ_LEN + payload_len)
    }

    /// Where the fields of a type begin.
    const fn len(&self) -> usize {
        if self.transfer.is_some() { at::ID + ID_LEN } else { at::ID }
    }

    /// Where the seqs of a list begin.
    const fn list_start(&self) -> usize {
        self.len() + MISSING.len() + COUNT_LEN
    }

    fn put(&self, number: u8, out: &mut [u8]) {
        field::put(out, 0, self.destination);
        field::put(out, at::SOURCE, self.source);
        field::put_u16(out, at::ETHER_TYPE, ETHER_TYPE);
        out[at::KIND] = number;
        if let Some(TransferId(id)) = self.transfer {
            out[at::KIND] |= WITH_ID;
            field::put_u32(out, at::ID, id);
        }
    }

    /// The body of an answer, from its letters to the end of the frame.
    fn parse_answer<'a>(&self, rest: &'a [u8]) -> Result<Body<'a>, WireError> {
        let letters: [u8; 2] = field::get(rest, 0);
        let count = field::get_u16(rest, MISSING.len());
        match letters {
            // A changed bit in each letter of a list makes it `OK`, but not its count 0.
            OK if self.transfer.is_some() && count != 0 => Err(WireError::OkWithCount(count)),
            OK => Ok(Body::Complete),
            CHECKING if self.transfer.is_some() && count == CHECKING_COUNT => Ok(Body::Checking),
            CHECKING if self.transfer.is_some() => Err(WireError::CheckingWithCount(count)),
            MISSING => {
                let list = &rest[MISSING.len() + COUNT_LEN..];
                let len = SEQ_LEN * usize::from(count);
                if count == 0 || len > list.len() {
                    return Err(WireError::Count { count, room: list.len() / SEQ_LEN });
                }
                Ok(Body::Missing(Seqs::new(&list[..len])))
            }
            other => Err(WireError::Answer(other)),
        }
    }
}

/// Why bytes are not a frame of the block transfer, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum WireError {
    /// Shorter than a frame of Ethernet.
    #[error("{len} bytes are less than the {FRAME_BYTES_MIN} of a frame")]
    TooShort {
        /// The length in bytes.
        len: usize,
    },
    /// Longer than [`FRAME_BYTES_MAX`].
    #[error("{len} bytes are more than the {FRAME_BYTES_MAX} of a frame")]
    TooLong {
        /// The length in bytes.
        len: usize,
    },
    /// Another protocol, or a VLAN tag.
    #[error("ether type {0:#06x} is not {ETHER_TYPE:#06x}")]
    EtherType(u16),
    /// The source address is that of a group.
    #[error("source address {0:02x?} of a group")]
    GroupSource(MacAddress),
    /// A type that does not exist.
    #[error("type {0:#04x} does not exist")]
    UnknownType(u8),
    /// An answer of other letters than `OK`, `MI` and, in a frame that names its transfer, `CK`.
    #[error("answer {0:02x?} is none of OK, MI and CK")]
    Answer([u8; 2]),
    /// An empty list, or one that the frame has no room for.
    #[error("a list of {count} seqs in a frame with room for {room}")]
    Count {
        /// The count that the list states.
        count: u16,
        /// Seqs that the rest of the frame could hold.
        room: usize,
    },
    /// `OK` in front of a count, in a frame that names its transfer.
    #[error("OK in front of {0:#06x} in place of padding")]
    OkWithCount(u16),
    /// `CK` with a count other than 0xFFFF.
    #[error("CK in front of {0:#06x} in place of {CHECKING_COUNT:#06x}")]
    CheckingWithCount(u16),
}

impl WireError {
    /// Its name in `vectors/README.md`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "TooShort",
            Self::TooLong { .. } => "TooLong",
            Self::EtherType(_) => "EtherType",
            Self::GroupSource(_) => "GroupSource",
            Self::UnknownType(_) => "UnknownType",
            Self::Answer(_) => "Answer",
            Self::Count { .. } => "Count",
            Self::OkWithCount(_) => "OkWithCount",
            Self::CheckingWithCount(_) => "CheckingWithCount",
        }
    }
}

/// Whether an address is that of a group, broadcast included (IEEE 802.3, 3.2.3).
pub const fn is_group(address: MacAddress) -> bool {
    address[0] & 1 != 0
}

/// The length with padding.
const fn padded(len: usize) -> usize {
    if len < FRAME_BYTES_MIN { FRAME_BYTES_MIN } else { len }
}

/// Writes zeros up to the shortest frame and returns the length.
fn pad(out: &mut [u8], len: usize) -> usize {
    let whole = padded(len);
    out[len..whole].fill(0);
    whole
}

/// The EtherType, that of local experiments (IEEE 802, 9.2.4).
pub const ETHER_TYPE: u16 = 0x88B5;

/// The shortest frame, without Ethernet's checksum; shorter ones are padded.
pub const FRAME_BYTES_MIN: usize = 60;

/// The longest frame, Ethernet's header included and its checksum not.
pub const FRAME_BYTES_MAX: usize = 1_500;

const DATA: u8 = 0x01;
const SUMMARY: u8 = 0x02;
const ANSWER: u8 = 0x03;
/// The bit of the types that name their transfer.
const WITH_ID: u8 = 0x10;

const OK: [u8; 2] = *b"OK";
const MISSING: [u8; 2] = *b"MI";
const CHECKING: [u8; 2] = *b"CK";
/// Behind `CK`: a few changed bits cannot turn it into `OK` or a list.
const CHECKING_COUNT: u16 = 0xFFFF;

const ID_LEN: usize = 4;
const SEQ_LEN: usize = 4;
const COUNT_LEN: usize = 2;

/// Where each field of a frame stands.
mod at {
    pub(super) const SOURCE: usize = 6;
    pub(super) const ETHER_TYPE: usize = 12;
    pub(super) const KIND: usize = 14;
    /// The transfer's ID, or the fields of a type without.
    pub(super) const ID: usize = 15;
}
