//! The ends of a circuit's streams: blocks that receive, transmit, read and record.
//!
//! A graph of [`samplewire_circuit`] begins and ends here. Each block is of one type of sample, and
//! is made only for a stream of that format: the blocks of `samplewire-blocks` convert.
//!
//! ```no_run
//! use num_complex::Complex;
//! use samplewire::ends::{ReceiverSource, SinkBlock};
//! use samplewire::sink::{self, SinkOptions};
//!
//! let receiver = samplewire::receive().open("192.168.10.2")?;
//! let info = receiver.info().stream_info();
//! let source = ReceiverSource::<Complex<i16>>::new(receiver)?;
//! let account = source.account();
//! let file = sink::open("samples".as_ref(), &info, &SinkOptions::new())?;
//!
//! source.into_chain().sink(SinkBlock::new(file, &info)?).run()?;
//! println!("{} samples are missing", account.read().missing_samples());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod receiver;
mod sink;
mod source;
mod transmitter;
pub(crate) mod typed;

pub use account::{Account, AccountHandle};
pub use receiver::ReceiverSource;
pub use sink::SinkBlock;
pub use source::SourceBlock;
pub use transmitter::TransmitterSink;
pub use typed::{FormError, FormSample};

/// Runs the programs of that page as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/runtime.md")]
struct RuntimePage;
