//! Driver of the NIC (`docs/nic.md`) for a program on one of its processors, without allocation.
//!
//! A [`Buffer`] is a value that can be moved and not copied. [`Server::receive`] and
//! [`Server::allocate`] return one, [`Server::transmit`] consumes it, and dropping it frees it. So a
//! program has a buffer or the NIC has it, and never both.
//!
//! The crate has no `unsafe` code and no addresses: registers and memory are behind [`Bus`].

#![cfg_attr(not(any(test, feature = "model")), no_std)]
#![forbid(unsafe_code)]

mod buffer;
mod bus;
#[cfg(any(test, feature = "model"))]
pub mod model;
mod nic;
pub mod regs;
mod sender;
mod server;

pub use buffer::{Buffer, FRAME_OFFSET};
pub use bus::{Bus, Pointer, Unit};
pub use nic::{Choice, Config, Nic, StartError, is_accessible};
pub use sender::{Addresses, NAME_BYTES_MAX, Setup, SetupError, Source, configure};
pub use server::Server;
