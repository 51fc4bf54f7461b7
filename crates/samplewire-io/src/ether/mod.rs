//! Links that carry whole Ethernet frames, without their FCS (Linux).
//!
//! [`Tap`] is an interface of the kernel whose cable ends in this process; [`Dgram`] is the datagram
//! port of QEMU (`-netdev dgram`) and of simulated boards, where a datagram is a frame; [`PacketSocket`]
//! shares an interface with the kernel. [`Headers`] reads and marks a frame. An [`EtherStation`] has an address on a link; it finds
//! others by [`Arp`]. A [`UdpStation`] has an address and a UDP port without a link: a driver that is polled,
//! such as DPDK's, gives it frames.
//!
//! A link takes and gives one frame a call, and allocates nothing a frame. One whose device takes several at
//! once keeps them until [`EtherLink::flush`].

mod arp;
mod dgram;
mod echo;
mod headers;
mod neighbours;
mod network;
mod packet;
mod routes;
#[cfg(test)]
pub(crate) mod scripted;
mod station;
mod sys;
mod tap;
mod udp_station;

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

pub use arp::Arp;
pub use dgram::{Dgram, DgramAddress};
pub use headers::{Headers, checksum_update};
pub use network::{Network, NetworkError};
pub use packet::{FrameReceive, PacketSocket};
use routes::Routes;
pub use station::EtherStation;
pub use tap::Tap;
pub use udp_station::{CardChecks, UdpStation, Verdict, Way};

/// Moves whole Ethernet frames. Never blocks; wait for its descriptor with `poll`.
pub trait EtherLink: AsFd + Send {
    /// What the user calls it.
    fn name(&self) -> &str;

    /// Writes the next frame to the start of `into` and returns its length; `None` when there is
    /// none. A longer frame is cut to `into`: give one byte more than the longest frame that counts.
    ///
    /// # Errors
    /// The system refuses, e.g. because the interface is gone.
    fn recv(&mut self, into: &mut [u8]) -> Result<Option<usize>, EtherError>;

    /// Sends a frame, at the latest with [`EtherLink::flush`]; `false` when it is not taken, because the
    /// link is full, down, or no one is there.
    ///
    /// # Errors
    /// The system refuses for another reason.
    fn send(&mut self, frame: &[u8]) -> Result<bool, EtherError>;

    /// Sends the frames that the link has kept so that they leave together; `false` when it keeps them
    /// on, because it is full or down.
    ///
    /// # Errors
    /// The system refuses for another reason.
    fn flush(&mut self) -> Result<bool, EtherError>;

    /// Forgets the frames that the link has kept, and says how many.
    fn forget(&mut self) -> usize;

    /// The longest IP packet that the link takes; `None` where it states none.
    fn mtu_bytes(&self) -> Option<usize> {
        None
    }

    /// Advice for the user, once, after something arrived that a setting of the system spoils.
    fn advice(&mut self) -> Option<String> {
        None
    }

    /// When the link has something to do although nothing comes, such as a frame that it holds back: call
    /// [`EtherLink::recv`] and [`EtherLink::flush`] then.
    fn due_at(&self) -> Option<Instant> {
        None
    }

    /// Frames that the system has dropped on their way into this process since the link was opened;
    /// `None` where the system does not count them.
    ///
    /// # Errors
    /// The count cannot be read.
    fn dropped(&mut self) -> Result<Option<u64>, EtherError>;
}

/// The system refused a link of frames.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {operation}: {source}")]
pub struct EtherError {
    /// The interface or address concerned.
    pub name: String,
    /// What was tried, e.g. `TUNSETIFF`.
    pub operation: &'static str,
    /// The system's answer.
    #[source]
    pub source: io::Error,
}

impl EtherError {
    fn of(name: &str, operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { name: name.to_owned(), operation, source }
    }
}

/// The longest frame that counts, in bytes without FCS: an IP packet of 9,000 bytes behind two VLAN
/// tags, and a reserve. Switches drop longer ones.
pub const FRAME_BYTES_MAX: usize = 9_216;
