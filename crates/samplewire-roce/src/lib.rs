//! RoCEv2 reliable connections (RC): wire formats and state machines.
//!
//! Sources: InfiniBand Architecture Specification Vol. 1 ("IB") and its annex A17. Code that
//! implements a rule of theirs cites the section.
//!
//! Nothing here reads a clock, opens a socket, allocates or prints: time is an argument
//! ([`Nanos`](samplewire_proto::Nanos)), and the caller owns queues, regions and all payload.
//!
//! A queue pair writes five bytes into the memory of another:
//!
//! ```
//! use samplewire_proto::Nanos;
//! use samplewire_roce::qp::{Event, Peer, QueuePair};
//! use samplewire_roce::requester::{RequesterConfig, SendSlot, SendStatus, Verb, WorkRequest};
//! use samplewire_roce::responder::{Placement, ReceiveSlot, ResponderConfig};
//! use samplewire_roce::wire::{Body, FRAME_BYTES_MAX, Frame, Route};
//! use samplewire_roce::{Access, Qpn, Region};
//!
//! let region = Region::new(0x77, 0x1000, 64, Access::Write)?;
//! let end = |number, regions| {
//!     let (sends, receives) = ([SendSlot::default(); 4], [ReceiveSlot::default(); 4]);
//!     QueuePair::new(Qpn::new(number), sends, receives, regions)
//! };
//! let (mut near, mut far) = (end(1, vec![]), end(2, vec![region]));
//! let ips = [[192, 0, 2, 1], [192, 0, 2, 2]];
//! for (qp, peer, source_ip, destination_ip) in
//!     [(&mut near, 2, ips[0], ips[1]), (&mut far, 1, ips[1], ips[0])]
//! {
//!     let route = Route { source_ip, destination_ip, ttl: 64, ..Route::default() };
//!     qp.init()?;
//!     qp.ready_to_receive(Peer { number: Qpn::new(peer), route }, ResponderConfig::default())?;
//!     qp.ready_to_send(RequesterConfig::default())?;
//! }
//!
//! let (now, message, mut memory) = (Nanos(0), *b"hello", [0; 64]);
//! let verb = Verb::Write { address: 0x1010, key: 0x77 };
//! near.post_send(WorkRequest { id: 9, verb, len_bytes: 5, ..WorkRequest::default() })?;
//! let mut bytes = [0; FRAME_BYTES_MAX];
//! while let Some(transmit) = near.poll_transmit(now) {
//!     let at = transmit.payload().expect("it is no acknowledgement");
//!     let payload = &message[at.offset as usize..][..at.len_bytes as usize];
//!     let len = transmit.emit(near.route(), payload, &mut bytes);
//!
//!     let frame = Frame::new_checked(&bytes[..len])?;
//!     if let (Placement::Region { offset, .. }, Body::Request { payload, .. }) =
//!         (far.handle(now, &frame), frame.packet().body)
//!     {
//!         memory[offset as usize..][..payload.len()].copy_from_slice(payload);
//!     }
//! }
//! assert_eq!(&memory[0x10..0x15], b"hello");
//!
//! let ack = far.poll_transmit(now).expect("the last packet requests one");
//! let len = ack.emit(far.route(), &[], &mut bytes);
//! let placement = near.handle(now, &Frame::new_checked(&bytes[..len])?);
//! assert_eq!(placement, Placement::Nothing, "an acknowledgement has no payload");
//! let Some(Event::Sent(done)) = near.poll_event() else { panic!("it is acknowledged") };
//! assert_eq!((done.id, done.status), (9, SendStatus::Done));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![forbid(unsafe_code)]

mod counters;
mod number;
pub mod qp;
mod region;
pub mod requester;
pub mod responder;
pub mod stream;
pub mod wire;

pub use counters::{QpStats, RequesterStats, ResponderStats};
pub use number::{MESSAGE_BYTES_MAX, PathMtu, Psn, Qpn};
pub use region::{Access, Region, RegionError};

#[cfg(test)]
mod tests;
