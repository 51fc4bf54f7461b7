//! Quanta: fixed, aligned sample buffers that are allocated once and go round.
//!
//! A [`Pool`] takes its memory in one piece and never again. [`Pool::take`] lends a [`Quantum`],
//! dropping the quantum gives it back, and [`Pool::free`] is how many can still be taken: that
//! number, counted in packets, is the credit which a receiver advertises. Nothing here knows of
//! packets, and nothing allocates, locks or enters the kernel after [`Pool::new`].
//!
//! ```
//! use samplewire_circuit::{Pool, PoolConfig};
//!
//! let pool = Pool::new(PoolConfig::new(4, 8_000))?;
//! let mut quantum = pool.take().expect("nothing was taken yet");
//! assert_eq!(pool.free(), 3);
//!
//! quantum.set_len(8);
//! quantum.data_mut().copy_from_slice(&[1, 0, 2, 0, 3, 0, 4, 0]);
//! quantum.set_index(1 << 40);
//! assert_eq!(quantum.as_slice::<i16>()?, &[1, 2, 3, 4]);
//!
//! let first = quantum.share();
//! let second = first.clone();
//! drop(first);
//! assert_eq!(second.index(), 1 << 40);
//! drop(second);
//! assert_eq!(pool.free(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
pub mod blocks;
mod channel;
mod config;
mod free_list;
mod graph;
mod group;
mod loan;
mod mailbox;
mod memory;
mod meter;
#[cfg(loom)]
#[doc(hidden)]
pub mod model;
mod pages;
mod parameter;
mod pool;
mod ports;
mod published;
mod quantum;
mod region;
mod sample;
mod schedule;
mod shares;
mod tag;
mod task;
pub mod wait;

pub use block::{
    BorrowedSource, Context, Done, Failure, Flow, InPlace, Join, Ratio, Sink, Source, Transform,
    Work,
};
pub use config::{PoolConfig, PoolError};
pub use graph::{
    BlockReport, BlockView, BuildError, Chain, Circuit, CircuitReport, Control, Feedback, Graph,
    GraphBuilder, Placement, PortsBuilder, Readable, Report, RunError, SharedStream, Stream, chain,
    chain_borrowed,
};
pub use group::{Group, Polled};
pub use loan::{Lender, Loan, LoanError};
pub use mailbox::{Full, MailSender, Mailbox, Refused};
pub use memory::{Memory, SharedMemory};
pub use meter::{Counters, TIMED_EVERY};
pub use pages::Pages;
pub use parameter::{Parameter, ParameterFull, ParameterHandle};
pub use pool::Pool;
pub use ports::{Custom, Handle, Held, Input, Output, Ports, SharedInput, WrongCircuit};
pub use published::{Codec, Published, Publisher, WordReader, WordWriter};
pub use quantum::{Quantum, SharedQuantum};
pub use sample::{Bit, Sample, ViewError, view};
pub use schedule::{Async, ByQuantum, ByStage, Scheduler, Sequence, Waiting};
pub use tag::{Tag, TagKind, Tags, TagsFull};

/// The atomics that the model checker loom watches under `--cfg loom`.
mod atomic {
    #[cfg(loom)]
    pub(crate) use crate::model::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicWaker, Ordering, fence,
    };
    #[cfg(not(loom))]
    pub(crate) use atomic_waker::AtomicWaker;
    #[cfg(loom)]
    pub(crate) use loom::thread::{Thread, current};
    #[cfg(not(loom))]
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence,
    };
    #[cfg(not(loom))]
    pub(crate) use std::thread::{Thread, current, park_timeout};

    /// No time passes in a model: a wake that is lost is lost for ever, and the model says so.
    #[cfg(loom)]
    pub(crate) fn park_timeout(_timeout: std::time::Duration) {
        loom::thread::park();
    }
}
