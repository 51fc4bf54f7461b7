//! CHALLENGE: a cookie for an address that has not been proven; shorter than any OPEN.

use super::{Header, PacketType, WireError, body_of, check_len, field, seal};

/// The answer to an OPEN without a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Challenge {
    /// The nonce of the OPEN.
    pub nonce: u64,
    /// What the next OPEN must carry.
    pub cookie: [u8; 16],
}

impl Challenge {
    /// Writes the whole packet and returns its length.
    ///
    /// # Panics
    /// When `out` is too short or `header` is of another type.
    pub fn emit(&self, header: &Header, out: &mut [u8]) -> usize {
        let body = body_of(PacketType::Challenge, header, BODY_LEN, out);
        field::put_u64(body, at::NONCE, self.nonce);
        field::put(body, at::COOKIE, self.cookie);
        seal(header, BODY_LEN, out)
    }

    pub(crate) fn parse(body: &[u8]) -> Result<Self, WireError> {
        check_len(PacketType::Challenge, body, BODY_LEN)?;
        Ok(Self { nonce: field::get_u64(body, at::NONCE), cookie: field::get(body, at::COOKIE) })
    }
}

/// Where each field of the body stands.
mod at {
    pub(super) const NONCE: usize = 0;
    pub(super) const COOKIE: usize = 8;
}

const BODY_LEN: usize = 24;
