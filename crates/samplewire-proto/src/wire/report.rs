//! REPORT: the receiver's state, numbered and cumulative; the only feedback there is.

use super::{Header, PacketType, WireError, body_of, field, seal};
use crate::number::{Departure, Seq};

/// A REPORT: its fields and the ranges that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a> {
    /// The fixed fields.
    pub fields: ReportFields,
    /// What is missing, as the receiver listed it.
    pub ranges: Ranges<'a>,
}

impl<'a> Report<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        let len = body.len();
        if len < FIXED_LEN {
            return Err(WireError::Length { kind: PacketType::Report, len });
        }
        let (fixed, ranges) = body.split_at(FIXED_LEN);
        let n = field::get_u16(fixed, at::COUNT);
        if ranges.len() != usize::from(n) * RANGE_LEN {
            return Err(WireError::Count { n, len });
        }
        let fields = ReportFields {
            released: Seq(field::get_u32(fixed, at::RELEASED)),
            limit: Seq(field::get_u32(fixed, at::LIMIT)),
            settled: Departure(field::get_u32(fixed, at::SETTLED)),
            highest_end: Seq(field::get_u32(fixed, at::HIGHEST_END)),
            echo: Departure(field::get_u32(fixed, at::ECHO)),
            hold: field::get_u32(fixed, at::HOLD),
            received: field::get_u32(fixed, at::RECEIVED),
            marked: field::get_u32(fixed, at::MARKED),
            skipped: field::get_u32(fixed, at::SKIPPED),
            late: field::get_u16(fixed, at::LATE),
        };
        Ok(Self { fields, ranges: Ranges { bytes: ranges } })
    }
}

/// The fixed fields of a REPORT; the header's `seq` is its number, `index` the consumer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReportFields {
    /// Every seq below this is delivered or given up: its slot may be reused.
    pub released: Seq,
    /// The first seq that may not be sent: credit ends here.
    pub limit: Seq,
    /// Every packet that left before this has arrived or is lost.
    pub settled: Departure,
    /// The highest seq that arrived, plus one.
    pub highest_end: Seq,
    /// The departure of the newest packet that arrived.
    pub echo: Departure,
    /// How long ago that packet came, in units of 16 ns.
    pub hold: u32,
    /// How many packets arrived, duplicates included.
    pub received: u32,
    /// How many arrived with a congestion mark (ECN-CE).
    pub marked: u32,
    /// How many packets were given up.
    pub skipped: u32,
    /// How many arrived after they had been given up or after their time; wraps.
    pub late: u16,
}

impl ReportFields {
    /// Writes the whole packet with `ranges` and returns its length.
    ///
    /// # Panics
    /// When `out` is too short, `header` is of another type, or the ranges are more than 65,535.
    pub fn emit(&self, header: &Header, ranges: &[SeqRange], out: &mut [u8]) -> usize {
        let n = u16::try_from(ranges.len()).expect("a REPORT lists at most 65,535 ranges");
        let body_len = FIXED_LEN + ranges.len() * RANGE_LEN;
        let body = body_of(PacketType::Report, header, body_len, out);
        field::put_u32(body, at::RELEASED, self.released.0);
        field::put_u32(body, at::LIMIT, self.limit.0);
        field::put_u32(body, at::SETTLED, self.settled.0);
        field::put_u32(body, at::HIGHEST_END, self.highest_end.0);
        field::put_u32(body, at::ECHO, self.echo.0);
        field::put_u32(body, at::HOLD, self.hold);
        field::put_u32(body, at::RECEIVED, self.received);
        field::put_u32(body, at::MARKED, self.marked);
        field::put_u32(body, at::SKIPPED, self.skipped);
        field::put_u16(body, at::LATE, self.late);
        field::put_u16(body, at::COUNT, n);
        for (place, range) in body[FIXED_LEN..].chunks_exact_mut(RANGE_LEN).zip(ranges) {
            field::put_u32(place, 0, range.first.0);
            field::put_u32(place, 4, range.count);
        }
        seal(header, body_len, out)
    }

    /// The length of a REPORT that lists `ranges` ranges, header and CRC included.
    pub const fn packet_len(ranges: usize) -> usize {
        super::HEADER_LEN + FIXED_LEN + ranges * RANGE_LEN + super::TRAILER_LEN
    }
}

/// A run of missing packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqRange {
    /// The first missing seq.
    pub first: Seq,
    /// How many are missing.
    pub count: u32,
}

/// The ranges of a received REPORT, decoded as they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges<'a> {
    bytes: &'a [u8],
}

impl<'a> Ranges<'a> {
    /// No ranges.
    pub const EMPTY: Self = Self { bytes: &[] };

    /// How many ranges there are.
    pub const fn len(&self) -> usize {
        self.bytes.len() / RANGE_LEN
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The ranges in the order of the packet.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SeqRange> + Clone + use<'a> {
        self.bytes.chunks_exact(RANGE_LEN).map(|place| SeqRange {
            first: Seq(field::get_u32(place, 0)),
            count: field::get_u32(place, 4),
        })
    }
}

/// Where each field of the body stands.
mod at {
    pub(super) const RELEASED: usize = 0;
    pub(super) const LIMIT: usize = 4;
    pub(super) const SETTLED: usize = 8;
    pub(super) const HIGHEST_END: usize = 12;
    pub(super) const ECHO: usize = 16;
    pub(super) const HOLD: usize = 20;
    pub(super) const RECEIVED: usize = 24;
    pub(super) const MARKED: usize = 28;
    pub(super) const SKIPPED: usize = 32;
    pub(super) const LATE: usize = 36;
    pub(super) const COUNT: usize = 38;
}

const FIXED_LEN: usize = 40;
const RANGE_LEN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_of_32_ranges_is_322_bytes() {
        assert_eq!(ReportFields::packet_len(32), 322);
    }

    #[test]
    fn report_of_no_ranges_has_none() {
        let none = Ranges::EMPTY;
        assert_eq!((none.len(), none.is_empty(), none.iter().count()), (0, true, 0));
    }
}
