//! The block transfer: a file over raw Ethernet, from one end to the other.
//!
//! `docs/block.md` is the reference. The sender sends all DATA, then a summary; the receiver answers
//! `OK`, or the numbers of the packets that are missing. The bytes stay with the caller: the sender
//! returns which of them a frame carries, the receiver where those of a frame belong.
//!
//! Nothing here reads a clock, opens a socket, allocates or draws numbers. Drain order of both ends:
//! hand over every frame that has arrived, then call `handle_timeout`, `poll_transmit` until it is
//! `None`, `poll_event` until it is `None`, then sleep until `poll_timeout`.
//!
//! Five bytes, and a receiver that knows nothing of them before:
//!
//! ```
//! use samplewire_proto::Nanos;
//! use samplewire_proto::block::{
//!     FRAME_BYTES_MAX, ReceiveEvent, Receiver, ReceiverConfig, SendEnd, Sender, SenderConfig,
//!     TransferId,
//! };
//! use samplewire_proto::crc::crc32c;
//!
//! let (near, far) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
//! let (file, mut memory, mut bytes) = (*b"hello", [0; 64], [0; FRAME_BYTES_MAX]);
//! let config = SenderConfig::new(near, far, Some(TransferId(0x5EED)));
//! let mut sender = Sender::new(config, 5, crc32c(&file), [0; 1])?;
//! let mut receiver = Receiver::new(ReceiverConfig::new(far, 64), [0; 1])?;
//!
//! let now = Nanos(0);
//! while let Some(transmit) = sender.poll_transmit(now) {
//!     let payload = transmit.payload().map_or(&[][..], |at| &file[at.start as usize..at.end as usize]);
//!     let len = transmit.emit(payload, &mut bytes);
//!     if let Some(place) = receiver.handle(now, &bytes[..len]) {
//!         memory[place.offset as usize..][..place.bytes.len()].copy_from_slice(place.bytes);
//!     }
//! }
//! assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Complete { bytes: 5 }));
//! receiver.handle_crc(now, crc32c(&memory[..5]));
//! assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Done { bytes: 5 }));
//!
//! let len = receiver.poll_transmit(&mut bytes).expect("it answers the summary");
//! sender.handle(now, &bytes[..len]);
//! assert_eq!(sender.poll_event(), Some(SendEnd::Done));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counters;
mod layout;
mod pacing;
mod receiver;
mod scheme;
mod sender;
mod seq_set;
#[cfg(test)]
mod tests;
pub mod trial;
pub mod wire;

use crate::number::Nanos;

pub use counters::{ReceiverStats, Rejection, SenderStats};
pub use pacing::{Bursts, Pacing};
pub use receiver::{
    Place, ReceiveEvent, ReceiveFailure, Receiver, ReceiverConfig, ReceiverConfigError, Types,
};
pub use scheme::{NextFrame, Pace, Scheme};
pub use sender::{SendEnd, Sender, SenderConfig, SenderConfigError, Transmit};
pub use wire::{FRAME_BYTES_MAX, MacAddress, TransferId};

/// Each end gives up after so long without a word of the other.
pub const SILENCE_MAX: Nanos = Nanos::from_millis(10_000);

/// A sender gives up when the receiver has computed the CRC for so long.
pub const CHECK_MAX: Nanos = Nanos::from_millis(3_600_000);

/// For so long a receiver answers the summary of a transfer that is done.
pub const ANSWERS_MAX: Nanos = Nanos::from_millis(10_000);

/// Frames of one answer.
pub const ANSWER_FRAMES_MAX: u32 = 32;
