//! What the thread that hashes a file waits by: the standard library's, or under `--cfg loom` what
//! the model checker watches.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
pub(crate) use std::thread::park;

#[cfg(loom)]
pub(crate) use samplewire_circuit::model::loom::thread::park;
#[cfg(loom)]
pub(crate) use samplewire_circuit::model::{AtomicBool, Ordering};
