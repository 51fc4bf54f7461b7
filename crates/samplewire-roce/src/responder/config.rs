//! The choices of a responder for a connection.

use samplewire_proto::Nanos;

use crate::number::{PathMtu, Psn};
use crate::wire::RnrTimer;

/// The receiving half of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponderConfig {
    /// The PSN of the peer's first request.
    pub psn: Psn,
    /// The payload of a full packet.
    pub mtu: PathMtu,
    /// How long the peer waits after an RNR NAK.
    pub rnr_timer: RnrTimer,
    /// The shortest time between two congestion notifications (CNP) to the peer: D of its reaction
    /// point. `None` sends none.
    pub cnp_interval: Option<Nanos>,
}

impl Default for ResponderConfig {
    /// At most one congestion notification in 50 us, as Zhu et al. (SIGCOMM 2015) have it.
    fn default() -> Self {
        Self {
            psn: Psn::default(),
            mtu: PathMtu::default(),
            rnr_timer: RnrTimer::default(),
            cnp_interval: Some(Nanos::from_micros(50)),
        }
    }
}
