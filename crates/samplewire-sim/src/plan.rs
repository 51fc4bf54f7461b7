//! Everything that a run does, settled before it begins.

use samplewire_proto::Nanos;

use crate::clock::Clock;
use crate::hostile::HostileSpec;
use crate::link::LinkSpec;
use crate::packets::ProcessId;
use crate::process::{ClientSpec, DeviceSpec};

/// A world: a host (machine 0) with clients, and devices, each a machine of its own.
///
/// Processes are numbered devices first, then clients.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) host: MachineSpec,
    pub(crate) devices: Vec<(MachineSpec, DeviceSpec, Cable)>,
    pub(crate) clients: Vec<ClientSpec>,
    /// Links, each with the one that takes what comes out of it.
    pub(crate) links: Vec<(LinkSpec, Option<usize>)>,
    /// Packets that no process in the world has sent, until it heals.
    pub(crate) hostile: Option<HostileSpec>,
    /// In order of time.
    pub(crate) faults: Vec<(Nanos, Fault)>,
    /// From here on there are no faults, and no further openings.
    pub(crate) heals_at: Nanos,
    /// By then everything has ended.
    pub(crate) ends_by: Nanos,
}

/// What a machine is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineSpec {
    pub(crate) clock: Clock,
    /// How often its processes look at their sockets at most.
    pub(crate) poll: Nanos,
    pub(crate) socket_packets: usize,
}

/// The first links from a device to the host and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cable {
    pub(crate) up: usize,
    pub(crate) down: usize,
}

/// Something that goes wrong at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// A machine does nothing for a while; its sockets fill.
    Pause { machine: usize, span: Nanos },
    /// A link's queue does not move for a while.
    Stall { link: usize, span: Nanos },
    /// A link loses everything for a while.
    Down { link: usize, span: Nanos },
    /// A process dies and starts again.
    Restart { process: ProcessId, pause: Nanos },
}
