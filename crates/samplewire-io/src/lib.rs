//! Links that carry Samplewire packets between a port and its peers (Linux).
//!
//! A [`Link`] moves whole UDP payloads in batches and knows nothing of what they mean. Backends
//! ([`memory`], [`udp`]) and middleware ([`faults`], [`capture`]) all implement the one trait, so
//! that every test body runs over each of them. [`ether`] moves whole frames, and [`verbs`] has a
//! network card write into the memory of quanta.
//!
//! ```
//! use samplewire_io::{Batch, Ecn, FaultSpec, Faults, Link, Outgoing, memory};
//!
//! let (near, mut far) = memory::pair(64, 1_500, 1_500)?;
//! let mut near = Faults::new(near, &FaultSpec::new().loss(1.0), &FaultSpec::new())?;
//! let packet = Outgoing::whole(far.local_addr(), Ecn::Ect0, b"samples");
//! assert_eq!(near.send(&[packet])?, 1);
//!
//! let mut batch = Batch::new(64, 1_500);
//! far.recv(&mut batch)?;
//! assert!(batch.is_empty());
//! assert_eq!(near.log().entries().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batch;

mod bpf;
pub mod btf;
pub mod capture;
mod clock;
pub mod concern;
mod counters;
pub mod datagram;
pub mod ether;
pub mod ethtool;
pub mod faults;
pub mod favoured;
pub mod frame_types;
pub mod kfree;
pub mod link;
pub mod links;
pub mod memory;
pub mod netlink;
pub mod nic_counts;
pub mod pcapng;
pub mod resilient;
mod sockopt;
pub mod thread;
pub mod timekeeping;
pub mod udp;
pub mod verbs;
pub mod wake;
pub mod xdp;

pub use batch::{Batch, BatchFull, Meta};
pub use capture::{Capture, CaptureLog};
pub use clock::Clock;
pub use concern::{Call, Concern};
pub use counters::{CaptureCounts, ErrorCounts, FaultCounts, FrameCounts, HostDropCounts};
pub use faults::{FaultLog, FaultSpec, Faults};
pub use favoured::{Favoured, KnownTags, Word};
pub use link::{Capabilities, Ecn, Link, LinkError, Outgoing};
pub use links::Links;
pub use resilient::Resilient;
pub use udp::{Udp, UdpOptions};
pub use wake::{Sleep, Waker};
pub use xdp::{Bypass, Xdp};
