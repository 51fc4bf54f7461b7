//! The ends of a circuit's streams: blocks that receive, send, and read a source.
//!
//! A graph of [`samplewire_circuit`] begins and ends here. Each block is of one type of sample, and
//! is made only for a stream of that format: the blocks of `samplewire-blocks` convert. The
//! block that writes recordings is in `samplewire-record`.
//!
//! ```no_run
//! use num_complex::Complex;
//! use samplewire::ends::{ReceiverSource, TransmitterSink};
//!
//! let receiver = samplewire::receive().open("192.168.10.2")?;
//! let stream = samplewire::send().open("192.168.10.3")?;
//! let source = ReceiverSource::<Complex<i16>>::new(receiver)?;
//! let account = source.account();
//!
//! source.into_chain().sink(TransmitterSink::new(stream)?).run()?;
//! println!("{} samples are missing", account.read().missing_samples());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod receiver;
mod source;
mod transmitter;

pub use account::{Account, AccountHandle, missing_before};
pub use receiver::ReceiverSource;
pub use source::SourceBlock;
pub use transmitter::TransmitterSink;

/// Runs the programs of that page as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/runtime.md")]
struct RuntimePage;
