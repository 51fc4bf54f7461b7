//! What may happen in a search: a scenario bounds it so that a search comes to an end.

use super::host::HostStanding;
use super::world::World;

/// Bounds of a search. What is counted can happen at any moment, but no more often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Packets that the source has in each session.
    pub(super) packets: u32,
    /// Packets, 1 or 2.
    pub(super) window: u32,
    pub(super) faults: Faults,
    /// The owner of host B, when it opens a stream too; host A's is [`OWNER_A`].
    pub(super) rival: Option<u64>,
    pub(super) start: Start,
}

/// What may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A packet is lost.
    Loss,
    /// A packet comes twice.
    Copy,
    /// A packet is overtaken by a timer; those in flight at a partition do not count.
    Late,
    /// Nothing comes through for longer than a peer is waited for, one way or both.
    Partition,
    DeviceRestart,
    /// The program on host A starts again.
    HostRestart,
    /// Host A cancels its stream.
    Cancel,
}

/// How often what may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Faults {
    /// Of all kinds together.
    any: u8,
    left: [u8; Fault::Cancel as usize + 1],
}

impl Faults {
    pub(super) const NONE: Self = Self::up_to(0, [0; 7]);

    const fn up_to(any: u8, left: [u8; Fault::Cancel as usize + 1]) -> Self {
        Self { any, left }
    }

    /// Whether `count` more of a kind may happen.
    pub(super) fn allow(&self, fault: Fault, count: usize) -> bool {
        count <= usize::from(self.left[fault as usize].min(self.any))
    }

    /// One has happened.
    pub(super) fn take(&mut self, fault: Fault) {
        self.any = self.any.saturating_sub(1);
        let left = &mut self.left[fault as usize];
        *left = left.saturating_sub(1);
    }

    /// As a number; what can no longer happen does not distinguish two states.
    pub(super) fn word(&self) -> u64 {
        self.left
            .iter()
            .fold(self.any.into(), |word, left| word << 8 | u64::from(*left.min(&self.any)))
    }
}

/// Where a search starts: the events up to there happen without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Host A begins to open.
    Opening,
    /// Host A has been accepted.
    Accepted,
    /// Host A has all packets, and a CLOSE is on its way.
    Closing,
}

impl Start {
    /// Whether a world is there.
    pub(super) fn is_reached(self, world: &World) -> bool {
        match self {
            Self::Opening => true,
            Self::Accepted => world.host_standing(0) == HostStanding::Streaming,
            Self::Closing => world.is_closing(),
        }
    }
}

pub(super) const OWNER_A: u64 = 1;
const OWNER_OTHER: u64 = 2;
pub(super) const OWNER_NEW: u64 = 3;

/// Packets in flight from which on no timer fires until one has come or was lost.
pub(super) const IN_FLIGHT_MAX: usize = 6;

impl Scenario {
    /// One packet in a window of one, host A alone, nothing that happens.
    const fn new(name: &'static str, start: Start) -> Self {
        Self { name, packets: 1, window: 1, faults: Faults::NONE, rival: None, start }
    }

    const fn with_stream(self, packets: u32, window: u32) -> Self {
        Self { packets, window, ..self }
    }

    const fn with_rival(self, owner: u64) -> Self {
        Self { rival: Some(owner), ..self }
    }

    const fn with_faults(self, any: u8, left: [u8; Fault::Cancel as usize + 1]) -> Self {
        Self { faults: Faults::up_to(any, left), ..self }
    }
}

/// Up to how many faults every run is looked at. Rows of what is allowed: losses, copies, late
/// packets, partitions, restarts of the device and of host A, cancels.
pub(super) const SCENARIOS: [Scenario; 8] = [
    Scenario::new("open", Start::Opening).with_faults(3, [2, 1, 1, 1, 1, 1, 0]),
    Scenario::new("open, take over", Start::Opening)
        .with_rival(OWNER_A)
        .with_faults(2, [1, 1, 1, 0, 0, 0, 0]),
    Scenario::new("stream, take over", Start::Accepted)
        .with_rival(OWNER_A)
        .with_faults(2, [1, 1, 1, 0, 0, 1, 0]),
    Scenario::new("stream, busy", Start::Accepted)
        .with_rival(OWNER_OTHER)
        .with_faults(2, [1, 1, 1, 1, 1, 0, 0]),
    Scenario::new("stream", Start::Accepted)
        .with_stream(3, 2)
        .with_faults(3, [2, 1, 2, 1, 0, 0, 0]),
    Scenario::new("stream, restarts, cancel", Start::Accepted)
        .with_stream(2, 2)
        .with_faults(3, [1, 1, 1, 0, 1, 1, 1]),
    Scenario::new("close", Start::Closing).with_stream(2, 2).with_faults(3, [2, 2, 2, 1, 1, 1, 1]),
    Scenario::new("all", Start::Opening)
        .with_stream(2, 1)
        .with_rival(OWNER_A)
        .with_faults(1, [1, 1, 1, 1, 1, 1, 1]),
];
