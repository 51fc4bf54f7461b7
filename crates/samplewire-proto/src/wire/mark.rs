//! MARK: the sender's state, and the probe for credit.

use super::{Header, PacketType, WireError, body_of, check_len, field, seal};
use crate::number::{Departure, Seq};

/// What the sender has; the header's `index` and `seq` are the next to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The lowest seq that is still held: what lies below is gone.
    pub oldest: Seq,
    /// The number of the newest REPORT taken.
    pub report: Seq,
    /// The departure of that REPORT.
    pub echo: Departure,
    /// How long ago that REPORT came, in units of 16 ns.
    pub hold: u32,
    /// How many samples the source has lost since the stream began.
    pub source_lost: u64,
    /// The time of the header's index in TAI nanoseconds, 0 = unknown.
    pub time_ns: u64,
}

impl Mark {
    /// Writes the whole packet and returns its length.
    ///
    /// # Panics
    /// When `out` is too short or `header` is of another type.
    pub fn emit(&self, header: &Header, out: &mut [u8]) -> usize {
        let body = body_of(PacketType::Mark, header, BODY_LEN, out);
        field::put_u32(body, at::OLDEST, self.oldest.0);
        field::put_u32(body, at::REPORT, self.report.0);
        field::put_u32(body, at::ECHO, self.echo.0);
        field::put_u32(body, at::HOLD, self.hold);
        field::put_u64(body, at::SOURCE_LOST, self.source_lost);
        field::put_u64(body, at::TIME, self.time_ns);
        seal(header, BODY_LEN, out)
    }

    pub(crate) fn parse(body: &[u8]) -> Result<Self, WireError> {
        check_len(PacketType::Mark, body, BODY_LEN)?;
        Ok(Self {
            oldest: Seq(field::get_u32(body, at::OLDEST)),
            report: Seq(field::get_u32(body, at::REPORT)),
            echo: Departure(field::get_u32(body, at::ECHO)),
            hold: field::get_u32(body, at::HOLD),
            source_lost: field::get_u64(body, at::SOURCE_LOST),
            time_ns: field::get_u64(body, at::TIME),
        })
    }
}

/// Where each field of the body stands.
mod at {
    pub(super) const OLDEST: usize = 0;
    pub(super) const REPORT: usize = 4;
    pub(super) const ECHO: usize = 8;
    pub(super) const HOLD: usize = 12;
    pub(super) const SOURCE_LOST: usize = 16;
    pub(super) const TIME: usize = 24;
}

const BODY_LEN: usize = 32;
