//! The applications of the firmware, without hardware: each is a function or a state machine over any
//! [`Bus`](samplewire_nic_driver::Bus), so that a host tests what a processor runs.

#![no_std]
#![forbid(unsafe_code)]

mod block;
mod raw;
mod send;
mod stack;

pub use block::{BUFFERS_TO_RECEIVE, BlockEcho, Crc32c};
pub use raw::{answer, echo, forward, swap};
pub use send::SendByOrder;
pub use stack::{DeviceCounters, Stack, StackConfig, Storage};
