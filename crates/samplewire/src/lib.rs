//! Samples over ordinary Ethernet: every index is delivered, or listed in a gap with its cause.
//!
//! The feature `graph`, off by default, adds the blocks in which graphs of `samplewire-circuit` begin
//! and end. Recordings are in `samplewire-record`.

#![forbid(unsafe_code)]

mod counters;
mod deadline;
mod delivery;
pub mod device;
mod driver;
mod endpoint;
#[cfg(feature = "graph")]
pub mod ends;
mod error;
pub mod find;
pub mod format;
mod info;
mod opening;
pub mod options;
mod port;
mod published;
mod quantum;
pub mod real_time;
pub mod receiver;
pub mod source;
#[doc(hidden)]
pub mod stepped;
mod sync;
pub mod transmitter;
mod wakeups;

pub use delivery::Delivery;
pub use device::Device;
pub use endpoint::{RdmaEnd, StationConfig};
pub use error::{BoxError, OpenError, ReceiveError};
pub use find::find;
pub use format::Format;
pub use info::DeviceInfo;
pub use num_complex::{Complex, Complex32};
pub use opening::{RdmaProbe, probe, probe_rdma, probe_stream};
pub use options::{
    Control, DEFAULT_PORT, DeviceOptions, OpenOptions, ReceiveOptions, SendOptions, ToAddress,
    device, receive, resolve, send,
};
pub use port::draw_owner;
pub use real_time::{Granted, RealTime, Waits};
pub use receiver::{AlignedStreams, Block, ReceiveStream};
pub use samplewire_io::verbs::{Card, CardConfig, VerbsError};
pub use samplewire_io::{Capabilities, FaultSpec, Faults, Link, LinkError, Links, Udp, UdpOptions};
pub use samplewire_proto::stream::{Carriage, End, Underflow};
pub use samplewire_proto::wire::{CloseReason, Flags, RefuseReason};
pub use samplewire_proto::{Cause, Gap, Latencies, SampleIndex, TaiClock};
pub use source::StreamInfo;
pub use transmitter::{Listener, SendStream};
