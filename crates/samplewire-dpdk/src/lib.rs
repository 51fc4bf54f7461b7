//! A link over DPDK 22.11 or later: packets go between a network card and this process, past the kernel.
//!
//! `DpdkLink` implements [`Link`](samplewire_io::Link), so that every stream of the crate `samplewire`
//! runs over it. The port of a card belongs to it alone, and has an IPv4 address that the kernel does not
//! know: the link answers ARP and ping itself ([`UdpStation`](samplewire_io::ether::UdpStation)).
//!
//! The feature `dpdk` builds it, and needs libdpdk. Without the feature the crate has only
//! [`DpdkOptions`], so that a workspace is built where DPDK is not installed.
//!
#![cfg_attr(feature = "dpdk", doc = "```no_run")]
#![cfg_attr(not(feature = "dpdk"), doc = "```text")]
//! use samplewire::{RealTime, receiver::Port};
//! use samplewire_dpdk::{DpdkLink, DpdkOptions};
//!
//! let options = DpdkOptions::new("0000:03:00.0", "10.0.0.1/24".parse()?);
//! let port = Port::over(Box::new(DpdkLink::open(&options)?), &RealTime::default())?;
//! let stream = port.open("10.0.0.2:5000".parse()?, &samplewire::receive())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/bypass.md` has what was measured, and what was not tried.

#[cfg(feature = "dpdk")]
mod link;
mod options;
#[cfg(feature = "dpdk")]
mod sys;

#[cfg(feature = "dpdk")]
pub use link::{DpdkLink, DpdkLog};
pub use options::{DpdkOptions, OptionError};
#[cfg(feature = "dpdk")]
pub use sys::DpdkError;
