//! The host's side of a stream behind a small C ABI, for benches that drive simulated hardware.
//!
//! The machines are those of `samplewire-proto`; time is the bench's. [`host`] holds the stream and
//! checks every delivered byte; [`abi`] is what C++ calls, declared in
//! `include/samplewire_cosim.h`. [`rate`] is the machine of congestion control alone,
//! [`network`] a switch between several boards, [`roce`] a requester of RoCEv2,
//! [`roce_responder`] a responder, [`roce_notification`] its notification point.

pub mod abi;
pub mod host;
pub mod network;
pub mod pattern;
pub mod rate;
pub mod roce;
pub mod roce_notification;
pub mod roce_responder;
