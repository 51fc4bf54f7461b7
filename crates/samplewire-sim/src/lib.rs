//! Samplewire's deterministic simulator.
//!
//! The endpoint of `samplewire`, unchanged, on virtual time: devices and hosts, links
//! between them, and every fault that can be drawn from a seed. A checker knows all that happened
//! and accounts for every sample index. Nothing sleeps, one seed decides everything, and a failure
//! replays. `docs/testing.md` says what each check catches.
//!
//! Without the feature `endpoint` (on by default) the crate is the model of a switch alone.

#![forbid(unsafe_code)]

#[cfg(feature = "endpoint")]
mod agenda;
#[cfg(feature = "endpoint")]
mod check;
#[cfg(feature = "endpoint")]
mod clock;
#[cfg(feature = "endpoint")]
mod congestion;
#[cfg(feature = "endpoint")]
mod dac;
#[cfg(feature = "endpoint")]
mod dialect;
#[cfg(feature = "endpoint")]
mod draw;
#[cfg(feature = "endpoint")]
mod ether_switch;
#[cfg(feature = "endpoint")]
mod hostile;
#[cfg(feature = "endpoint")]
mod link;
#[cfg(feature = "endpoint")]
mod net;
#[cfg(feature = "endpoint")]
mod packets;
#[cfg(feature = "endpoint")]
mod payload;
#[cfg(feature = "endpoint")]
mod plan;
#[cfg(feature = "endpoint")]
mod process;
#[cfg(feature = "endpoint")]
mod repair;
#[cfg(feature = "endpoint")]
mod scenes;
#[cfg(feature = "endpoint")]
mod search;
#[cfg(feature = "endpoint")]
mod soak;
#[cfg(feature = "endpoint")]
mod source;
#[cfg(feature = "endpoint")]
mod swarm;
mod switch;
#[cfg(feature = "endpoint")]
mod tap;
#[cfg(feature = "endpoint")]
mod tape;
#[cfg(feature = "endpoint")]
mod trace;
#[cfg(feature = "endpoint")]
mod world;

#[cfg(feature = "endpoint")]
pub use check::{Machine, Tally, Transition, Transitions};
#[cfg(feature = "endpoint")]
pub use congestion::{
    CongestionError, CongestionResult, CongestionRow, Control, ExploreFileError, ExploreOptions,
    ExploreParameters, ExplorePoint, FlowSpec, Preset, Scenario, Timeline, Topology, Traffic,
    congestion, congestion_row, explore, open_points, pareto_front, write_congestion_csv,
    write_congestion_svg, write_congestion_table, write_explore_svg,
};
#[cfg(feature = "endpoint")]
pub use ether_switch::{
    ADDRESSES_MAX, Departure, EtherSwitch, EtherSwitchConfig, EtherSwitchConfigError, PortCounts,
    wire_bytes,
};
#[cfg(feature = "endpoint")]
pub use repair::{
    Bound, Figure, RepairOptions, RepairRow, figures, repair, write_csv, write_svg, write_table,
};
#[cfg(feature = "endpoint")]
pub use search::{
    Broken, Explored, Mutant, Property, SearchFailure, SearchOptions, SearchResult, search,
};
#[cfg(feature = "endpoint")]
pub use soak::{SoakEnd, soak};
#[cfg(feature = "endpoint")]
pub use swarm::{RunResult, SwarmOptions, SwarmResult, replay_command, run_seed, swarm};
pub use switch::{
    CLASSES, FRAME_BYTES_MIN, FrameIn, FrameOut, Marking, MarkingPoint, PauseFrame, Pfc, Switch,
    SwitchConfig, SwitchConfigError, SwitchCounts,
};
#[cfg(feature = "endpoint")]
pub use tap::Tap;
