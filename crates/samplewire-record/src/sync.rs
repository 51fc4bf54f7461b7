//! The synchronisation of the hash thread. It comes from the standard library, or with `--cfg loom`
//! from the model checker.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
pub(crate) use std::thread::park;

#[cfg(loom)]
pub(crate) use samplewire_circuit::model::loom::thread::park;
#[cfg(loom)]
pub(crate) use samplewire_circuit::model::{AtomicBool, Ordering};
