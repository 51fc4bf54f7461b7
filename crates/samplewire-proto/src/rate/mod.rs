//! The reaction point of congestion control: which rate a sender keeps (`docs/congestion.md`).
//!
//! [`Dcqcn`] takes notifications, departures and time, and states a rate. It is a machine of
//! integers, so that the RTL, the host and the simulator keep the same state bit by bit;
//! `vectors/dcqcn.json` holds histories that an independent program wrote. It does not space
//! packets: a [`Pacer`] does, at the rate stated here.
//!
//! Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
//! section 3.

mod dcqcn;
mod pacer;
mod params;
#[cfg(test)]
mod tests;

pub use dcqcn::{Dcqcn, Notified};
pub use pacer::{FRAME_OVERHEAD_BYTES, Pacer};
pub use params::{DcqcnParams, ParamsError, Rules};

/// A rate of wire bytes, in units of 2^-16 bytes per nanosecond: 122.07 kb/s. At most 24 bits, which
/// is 2 Tb/s. The pacer of the RTL takes the same unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireRate(u32);

impl WireRate {
    /// The highest rate.
    pub const MAX: Self = Self((1 << 24) - 1);

    /// A rate in its own unit; above [`MAX`](Self::MAX) it is `MAX`.
    pub const fn from_raw(raw: u32) -> Self {
        if raw > Self::MAX.0 { Self::MAX } else { Self(raw) }
    }

    /// The nearest rate to so many bits a second; above [`MAX`](Self::MAX) it is `MAX`.
    pub const fn from_bps(bps: u64) -> Self {
        let raw = ((bps as u128 * 65_536 + 4_000_000_000) / 8_000_000_000) as u64;
        if raw > Self::MAX.0 as u64 { Self::MAX } else { Self(raw as u32) }
    }

    /// In its own unit.
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// In bits a second, rounded down.
    pub const fn bps(self) -> u64 {
        self.0 as u64 * 8_000_000_000 / 65_536
    }
}
