//! What a switch is set to.

use samplewire_proto::{Odds, Rng};

/// Buffer, marks and PFC of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchConfig {
    /// The buffer that all ports share.
    pub buffer_bytes: u64,
    /// ECN marks; none by default.
    pub marking: Option<Marking>,
    /// IEEE 802.1Qbb; none by default: what finds no room is dropped.
    pub pfc: Option<Pfc>,
}

/// Marks by the length of a queue at one instant: none below `min_bytes`, with a probability that
/// rises to `probability_max` at `max_bytes`, and all above (RED without an average).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// Kmin.
    pub min_bytes: u64,
    /// Kmax.
    pub max_bytes: u64,
    /// Pmax, 0 to 1.
    pub probability_max: f64,
    /// Where the length is looked at.
    pub at: MarkingPoint,
}

/// Where a frame is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkingPoint {
    /// As it joins the queue (the DCQCN paper).
    Enqueue,
    /// As it leaves the queue: its receiver hears a queue's time earlier.
    Dequeue,
}

/// Priority flow control, for each port that frames come in by, and each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// A neighbour with more bytes than this in the buffer is paused.
    pub xoff_bytes: u64,
    /// A paused neighbour with this many bytes or fewer is resumed.
    pub xon_bytes: u64,
}

/// Settings that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SwitchConfigError {
    /// A port without a rate.
    #[error("port {0}: its rate is 0 b/s")]
    Rate(usize),
    /// Kmin exceeds Kmax.
    #[error("marks from {min_bytes} bytes on, all above {max_bytes}: Kmin must not exceed Kmax")]
    Thresholds {
        /// Kmin.
        min_bytes: u64,
        /// Kmax.
        max_bytes: u64,
    },
    /// Pmax is no probability.
    #[error("probability {0} of a mark: must be 0 to 1")]
    Probability(f64),
    /// XON exceeds XOFF.
    #[error("XON of {xon_bytes} bytes above XOFF of {xoff_bytes} bytes")]
    Pfc {
        /// XON.
        xon_bytes: u64,
        /// XOFF.
        xoff_bytes: u64,
    },
}

impl SwitchConfig {
    /// A switch that drops at the tail and marks nothing.
    pub const fn plain(buffer_bytes: u64) -> Self {
        Self { buffer_bytes, marking: None, pfc: None }
    }

    pub(super) fn check(&self, port_bps: &[u64]) -> Result<(), SwitchConfigError> {
        if let Some(port) = port_bps.iter().position(|&bps| bps == 0) {
            return Err(SwitchConfigError::Rate(port));
        }
        if let Some(Marking { min_bytes, max_bytes, probability_max, .. }) = self.marking {
            if min_bytes > max_bytes {
                return Err(SwitchConfigError::Thresholds { min_bytes, max_bytes });
            }
            if !(0.0..=1.0).contains(&probability_max) {
                return Err(SwitchConfigError::Probability(probability_max));
            }
        }
        if let Some(Pfc { xoff_bytes, xon_bytes }) = self.pfc
            && xon_bytes > xoff_bytes
        {
            return Err(SwitchConfigError::Pfc { xon_bytes, xoff_bytes });
        }
        Ok(())
    }
}

impl Marking {
    /// What the preset for streams is made for, on a line of so many bits a second.
    pub const fn samplewire(line_bps: u64) -> Self {
        let min_bytes = if line_bps > 20_000_000_000 { 20_000 } else { 40_000 };
        let at = MarkingPoint::Dequeue;
        Self { min_bytes, max_bytes: 400_000, probability_max: 1.0, at }
    }

    /// Whether a frame is marked where so many bytes wait.
    pub(super) fn draws(&self, waiting_bytes: u64, rng: &mut Rng) -> bool {
        if waiting_bytes > self.max_bytes {
            return true;
        }
        if waiting_bytes <= self.min_bytes {
            return false;
        }
        let share =
            (waiting_bytes - self.min_bytes) as f64 / (self.max_bytes - self.min_bytes) as f64;
        rng.chance(Odds::of(share * self.probability_max))
    }
}
