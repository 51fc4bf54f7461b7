//! What a simulator runs: an endpoint by calls that state the time. The handles on its streams never
//! wait; give them no timeout.

pub use crate::driver::Stepped;
pub use crate::endpoint::{Machine, Rest, View};
pub use crate::receiver::PendingReceiver;
pub use crate::transmitter::PendingSender;
