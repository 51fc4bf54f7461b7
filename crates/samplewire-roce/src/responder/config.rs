//! The choices of a responder for a connection.

use crate::number::{PathMtu, Psn};
use crate::wire::RnrTimer;

/// The receiving half of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponderConfig {
    /// The PSN of the peer's first request.
    pub psn: Psn,
    /// The payload of a full packet.
    pub mtu: PathMtu,
    /// How long the peer waits after an RNR NAK.
    pub rnr_timer: RnrTimer,
}
