//! What is to go wrong: options, checked when a link is made; [`text`] reads them.

mod text;

use std::fmt;
use std::time::Duration;

pub use self::text::{Side, parse, type_name};

/// The faults of one direction. A new one is a direction without faults.
///
/// Probabilities are per packet, 0 to 1, and independent of each other: each kind of fault draws
/// from a sequence of its own, so turning one on leaves the others where they were.
/// [`Faults::new`](crate::Faults::new) finds the contradictions.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSpec {
    pub(super) loss: f64,
    pub(super) burst_packets: Option<f64>,
    pub(super) corrupt: f64,
    pub(super) duplicate: f64,
    pub(super) reorder: f64,
    pub(super) depth_packets: u32,
    pub(super) delay: Duration,
    pub(super) jitter: Duration,
    pub(super) rate_bps: Option<f64>,
    pub(super) only: PacketTypes,
    pub(super) hold_packets_max: usize,
    pub(super) seed: u64,
}

impl FaultSpec {
    /// No faults.
    pub fn new() -> Self {
        Self {
            loss: 0.0,
            burst_packets: None,
            corrupt: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            depth_packets: 3,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            rate_bps: None,
            only: PacketTypes::ALL,
            hold_packets_max: 1024,
            seed: 0,
        }
    }

    /// The share of packets that are lost. Default 0.
    #[must_use]
    pub fn loss(mut self, probability: f64) -> Self {
        self.loss = probability;
        self
    }

    /// Makes losses come in bursts of this mean length in packets, 1 or more (Gilbert-Elliott with
    /// a good state that loses nothing and a bad one that loses all). The share stays that of
    /// `loss`, which must then be at most burst / (burst + 1). Default: independent losses.
    #[must_use]
    pub fn burst(mut self, mean_packets: f64) -> Self {
        self.burst_packets = Some(mean_packets);
        self
    }

    /// The share of packets in which 1 to 4 bytes change, by one bit or by several, anywhere.
    /// Default 0.
    #[must_use]
    pub fn corrupt(mut self, probability: f64) -> Self {
        self.corrupt = probability;
        self
    }

    /// The share of packets that arrive twice. Default 0.
    #[must_use]
    pub fn duplicate(mut self, probability: f64) -> Self {
        self.duplicate = probability;
        self
    }

    /// The share of packets that are held back until 1 to `depth` later ones have passed, or for
    /// [`REORDER_WAIT`](super::REORDER_WAIT) where those do not come. Default 0.
    #[must_use]
    pub fn reorder(mut self, probability: f64) -> Self {
        self.reorder = probability;
        self
    }

    /// How many packets may overtake a reordered one, 1 or more. Default 3.
    #[must_use]
    pub fn depth(mut self, packets: u32) -> Self {
        self.depth_packets = packets;
        self
    }

    /// How long every packet is on its way. Default 0.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The most by which a packet's delay exceeds `delay`, drawn uniformly for each packet. Packets
    /// overtake each other if they are closer than that. Default 0.
    #[must_use]
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.jitter = jitter;
        self
    }

    /// The rate of the slowest hop in bits of IP packets a second. What it cannot pass on waits
    /// in the hold queue; where that is full, the newest packet is lost. Default: no limit.
    #[must_use]
    pub fn rate(mut self, bps: f64) -> Self {
        self.rate_bps = Some(bps);
        self
    }

    /// Which packets have faults; all others pass as if there were none. Default all.
    #[must_use]
    pub fn only(mut self, types: PacketTypes) -> Self {
        self.only = types;
        self
    }

    /// How many packets can be held for delay, rate, reordering and duplication, 1 to 65,536.
    /// Default 1024. At the bound packets pass at once and are counted as undelayed. Memory is
    /// taken for all, 9,216 bytes at most for each.
    #[must_use]
    pub fn hold(mut self, packets_max: usize) -> Self {
        self.hold_packets_max = packets_max;
        self
    }

    /// Where the drawing starts.
    pub const fn chosen_seed(&self) -> u64 {
        self.seed
    }

    /// Where the drawing starts: the same seed and the same packets give the same faults.
    /// Default 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Finds values out of range and contradictions.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        let probabilities = [
            ("loss", self.loss),
            ("corrupt", self.corrupt),
            ("dup", self.duplicate),
            ("reorder", self.reorder),
        ];
        for (key, probability) in probabilities {
            if !(0.0..=1.0).contains(&probability) {
                return Err(out_of_range(key, probability, "a probability is 0 to 1"));
            }
        }
        if let Some(burst) = self.burst_packets {
            if !(burst >= 1.0 && burst.is_finite()) {
                return Err(out_of_range("burst", burst, "a mean length is 1 packet or more"));
            }
            if self.loss == 0.0 {
                return Err(out_of_range("burst", burst, "bursts need a loss above 0"));
            }
            if self.loss > burst / (burst + 1.0) {
                return Err(out_of_range(
                    "loss",
                    self.loss,
                    "bursts end, so it is at most burst / (burst + 1)",
                ));
            }
        }
        if let Some(bps) = self.rate_bps.filter(|bps| !(*bps >= 1.0 && bps.is_finite())) {
            return Err(out_of_range("rate", bps, "a rate is 1 bit a second or more"));
        }
        if self.depth_packets == 0 {
            return Err(out_of_range("depth", 0, "a depth is 1 packet or more"));
        }
        if !(1..=HOLD_PACKETS_MAX).contains(&self.hold_packets_max) {
            return Err(out_of_range("hold", self.hold_packets_max, "it is 1 to 65536 packets"));
        }
        for (key, time) in [("delay", self.delay), ("jitter", self.jitter)] {
            if time > TIME_MAX {
                return Err(out_of_range(key, format!("{time:?}"), "it is 60 s at most"));
            }
        }
        Ok(())
    }
}

impl Default for FaultSpec {
    fn default() -> Self {
        Self::new()
    }
}

/// A set of packet types of the protocol (docs/protocol.md, byte 0, low four bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTypes(u16);

impl PacketTypes {
    /// Every type, reserved ones too.
    pub const ALL: Self = Self(u16::MAX);

    /// No type.
    pub const NONE: Self = Self(0);

    /// The set of one type, by its number: the low four bits of `number`.
    pub const fn one(number: u8) -> Self {
        Self(1 << (number & 0xf))
    }

    /// Both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the type of that number is in the set.
    pub const fn contains(self, number: u8) -> bool {
        self.0 & Self::one(number).0 != 0
    }
}

/// Why a description of faults is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Neither `data` nor `feedback`.
    #[error("{side}: faults are for `data:` or `feedback:`")]
    UnknownSide {
        /// What stood before the colon.
        side: String,
    },
    /// No such fault.
    #[error("{key}: unknown; known are {known}")]
    UnknownKey {
        /// What stood before the equals sign.
        key: String,
        /// The keys that there are.
        known: &'static str,
    },
    /// A key without a value.
    #[error("{key}: has no value; write {key}=..")]
    NoValue {
        /// The key.
        key: String,
    },
    /// The value is not what the key takes.
    #[error("{key}={value}: not {expected}")]
    NotAValue {
        /// The key.
        key: String,
        /// What stood after the equals sign.
        value: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// The value is out of its range, or contradicts another.
    #[error("{key}={value}: {rule}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// What holds for it.
        rule: &'static str,
    },
    /// No such packet type.
    #[error("only={name}: no packet type; known are data, mark, report, open, ..")]
    UnknownType {
        /// What stood there.
        name: String,
    },
}

fn out_of_range(key: &'static str, value: impl fmt::Display, rule: &'static str) -> SpecError {
    SpecError::OutOfRange { key, value: value.to_string(), rule }
}

const HOLD_PACKETS_MAX: usize = 65_536;

const TIME_MAX: Duration = Duration::from_secs(60);
