//! Scenarios on virtual time: a sender and a receiver that meet over two simulated paths.

mod arithmetic;
mod control;
mod covering;
mod faults;
mod hostile;
mod packets;
mod pair;
mod rdma;
mod receiver;
mod reordering;
mod sender;
mod traces;
