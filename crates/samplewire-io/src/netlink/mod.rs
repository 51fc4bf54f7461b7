//! Dumps of the kernel over netlink: generic netlink `netdev`, links and queueing disciplines of
//! rtnetlink, and chains of nftables. Only reads.
//!
//! The kernel's structures have been stable since they exist; a reply is still checked as if a
//! stranger had sent it, and `fuzz/fuzz_targets/netlink.rs` feeds [`Messages`] arbitrary bytes.

mod message;
pub mod netdev;
pub mod netfilter;
pub mod route;
mod sys;

pub use message::{Attribute, Attributes, Message, Messages};

/// The longest dump that is read, over all of its parts.
const DUMP_BYTES_MAX: usize = 4 << 20;
