//! The header of an acknowledgement (IB 9.3, 9.7.5).

use core::fmt;

use samplewire_proto::Nanos;
use samplewire_proto::wire::field;

use crate::number::U24_MAX;

/// An answer of a responder, and how many messages it has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aeth {
    /// Accepted, or why not.
    pub syndrome: Syndrome,
    /// Message sequence number, 24 bits: messages completed since the connection began.
    pub msn: u32,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// Accepted, with a credit of requests, which a requester may ignore; a responder that counts
    /// none gives [`CREDIT_INVALID`](Self::CREDIT_INVALID).
    Ack(u8),
    /// Receiver not ready: send again after this time.
    RnrNak(RnrTimer),
    /// Not accepted.
    Nak(NakCode),
    /// A reserved type or code, as it came.
    Reserved(u8),
}

/// Why a request is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum NakCode {
    /// A packet is missing: its PSN is that of the NAK.
    SequenceError = 0,
    /// The request breaks a rule, or is not supported.
    InvalidRequest = 1,
    /// Key, bounds or rights of the memory do not permit it.
    RemoteAccess = 2,
    /// The responder failed.
    RemoteOperation = 3,
}

impl fmt::Display for NakCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SequenceError => "sequence error",
            Self::InvalidRequest => "invalid request",
            Self::RemoteAccess => "remote access error",
            Self::RemoteOperation => "remote operational error",
        })
    }
}

impl Syndrome {
    /// The credit of a responder that counts none.
    pub const CREDIT_INVALID: u8 = 31;

    /// The byte of a syndrome: type in bits 6 and 5, value below.
    pub const fn number(self) -> u8 {
        match self {
            Self::Ack(credit) => credit & VALUE,
            Self::RnrNak(timer) => RNR_NAK | timer.0,
            Self::Nak(code) => NAK | code as u8,
            Self::Reserved(number) => number,
        }
    }

    /// The syndrome of a byte; bit 7 is reserved and ignored.
    pub const fn from_number(number: u8) -> Self {
        let value = number & VALUE;
        match (number & TYPE, value) {
            (ACK, _) => Self::Ack(value),
            (RNR_NAK, _) => Self::RnrNak(RnrTimer(value)),
            (NAK, 0) => Self::Nak(NakCode::SequenceError),
            (NAK, 1) => Self::Nak(NakCode::InvalidRequest),
            (NAK, 2) => Self::Nak(NakCode::RemoteAccess),
            (NAK, 3) => Self::Nak(NakCode::RemoteOperation),
            _ => Self::Reserved(number),
        }
    }
}

impl Aeth {
    pub(super) fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = (self.msn & U24_MAX).to_be_bytes();
        bytes[0] = self.syndrome.number();
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        let syndrome = Syndrome::from_number(bytes[0]);
        Self { syndrome, msn: field::get_u32(bytes, 0) & U24_MAX }
    }
}

/// How long a requester waits at least after a receiver was not ready: a code of 5 bits
/// (IB 9.7.5.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RnrTimer(u8);

impl RnrTimer {
    /// The timer of a code, `None` above 31.
    pub const fn new(code: u8) -> Option<Self> {
        if code <= VALUE { Some(Self(code)) } else { None }
    }

    /// The code.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The time to wait. Code 0 is the longest.
    pub const fn span(self) -> Nanos {
        Nanos(RNR_TENS_OF_US[self.0 as usize] * 10_000)
    }
}

/// The code of 0.64 ms.
impl Default for RnrTimer {
    fn default() -> Self {
        Self(12)
    }
}

pub(super) const LEN: usize = 4;

const TYPE: u8 = 0x60;
const VALUE: u8 = 0x1F;
const ACK: u8 = 0x00;
const RNR_NAK: u8 = 0x20;
const NAK: u8 = 0x60;

/// The standard's table, in units of 10 us.
const RNR_TENS_OF_US: [u64; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024,
    1_536, 2_048, 3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_these_bytes() {
        let cases = [
            (Syndrome::Ack(Syndrome::CREDIT_INVALID), 0x1F),
            (Syndrome::Ack(0), 0x00),
            (Syndrome::RnrNak(RnrTimer(0)), 0x20),
            (Syndrome::RnrNak(RnrTimer(31)), 0x3F),
            (Syndrome::Nak(NakCode::SequenceError), 0x60),
            (Syndrome::Nak(NakCode::InvalidRequest), 0x61),
            (Syndrome::Nak(NakCode::RemoteAccess), 0x62),
            (Syndrome::Nak(NakCode::RemoteOperation), 0x63),
            (Syndrome::Reserved(0x64), 0x64),
            (Syndrome::Reserved(0x40), 0x40),
        ];
        for (syndrome, byte) in cases {
            let aeth = Aeth { syndrome, msn: 0x01_0203 };
            assert_eq!(aeth.to_bytes(), [byte, 1, 2, 3]);
            assert_eq!(Aeth::read(&[byte, 1, 2, 3]), aeth);
        }
        assert_eq!(Syndrome::from_number(0x9F), Syndrome::Ack(31), "bit 7 is reserved");
    }

    /// IB 9.7.5.2.8, the table of RNR NAK timers.
    #[test]
    fn timers_are_those_of_the_table() {
        let span = |code| RnrTimer::new(code).map(RnrTimer::span);
        assert_eq!(span(0), Some(Nanos(655_360_000)));
        assert_eq!(span(1), Some(Nanos::from_micros(10)));
        assert_eq!(span(14), Some(Nanos::from_micros(1_280)));
        assert_eq!(span(25), Some(Nanos::from_micros(61_440)));
        assert_eq!(span(31), Some(Nanos::from_micros(491_520)));
        assert_eq!(span(32), None);
        assert_eq!(RnrTimer::default().span(), Nanos::from_micros(640));
        assert!((1..31).all(|code| span(code) < span(code + 1)));
    }
}
