//! Scenarios of opening on virtual time, and packets that lie.

mod hostile;
mod listening;
mod opening;
mod rdma;
mod world;
