//! Opening a stream: [`Opener`] sends requests, [`Listener`] answers.
//!
//! ```text
//! opener                                listener
//!   OPEN, 128 bytes      ------------>             no cookie: nothing is kept
//!             <------------  CHALLENGE             the address is proven by its cookie
//!   OPEN with it, padded ------------>  Opening    proves the path towards the listener
//!             <------------  ACCEPT, padded        proves the path towards the opener
//! ```
//!
//! Until a valid cookie has come, a listener never sends more bytes than it received and keeps
//! nothing. What happens in a stream after ACCEPT is not of this module.

mod bucket;
mod cookie;
mod listen_config;
mod listener;
mod open_config;
mod open_event;
mod opener;
mod params;
mod peer;
mod secrets;
mod slot;
mod terms;
#[cfg(test)]
mod tests;
mod text;

pub use crate::counters::ListenStats;
pub use bucket::Bucket;
pub use listen_config::{ListenConfig, ListenConfigError};
pub use listener::{AcceptError, ListenEvent, Listener};
pub use open_config::{OpenConfig, OpenConfigError};
pub use open_event::{AcceptInfo, OpenEvent};
pub use opener::{OpenPhase, Opener};
pub use params::AcceptParams;
pub use peer::Peer;
pub use secrets::Secrets;
pub use slot::{OpenRequest, StreamSlot};
pub use terms::{EndView, StreamTerms, check_number, check_samples};
pub use text::WireText;
