//! Samplewire's deterministic simulator.
//!
//! The endpoint of `samplewire`, unchanged, on virtual time: devices and hosts, links
//! between them, and every fault that can be drawn from a seed. A checker knows all that happened
//! and accounts for every sample index. Nothing sleeps, one seed decides everything, and a failure
//! replays. `docs/testing.md` says what each check catches.

#![forbid(unsafe_code)]

mod agenda;
mod check;
mod clock;
mod congestion;
mod dac;
mod dialect;
mod draw;
mod ether_switch;
mod hostile;
mod link;
mod net;
mod packets;
mod payload;
mod plan;
mod process;
mod repair;
mod scenes;
mod search;
mod soak;
mod source;
mod swarm;
mod tap;
mod tape;
mod trace;
mod world;

pub use check::{Machine, Tally, Transition, Transitions};
pub use congestion::{
    CongestionError, CongestionResult, CongestionRow, Control, ExploreFileError, ExploreOptions,
    ExplorePoint, Preset, Scenario, Traffic, congestion, congestion_row, explore, open_points,
    pareto_front, write_congestion_csv, write_congestion_svg, write_congestion_table,
    write_explore_svg,
};
pub use ether_switch::{
    CnpConfig, Departure, EtherSwitch, EtherSwitchConfig, EtherSwitchConfigError, PortCounts,
    wire_bytes,
};
pub use link::ETHERNET_BYTES;
pub use repair::{
    Bound, Figure, FigurePart, RepairOptions, RepairRow, figures, repair, write_csv, write_svg,
    write_table,
};
pub use samplewire_switch::{Marking, MarkingPoint, SwitchConfig, SwitchConfigError};
pub use search::{
    Broken, Explored, Mutant, Property, SearchFailure, SearchOptions, SearchResult, search,
};
pub use soak::{SoakEnd, soak};
pub use swarm::{RunResult, SwarmOptions, SwarmResult, replay_command, run_seed, swarm};
pub use tap::Tap;
