//! What threads wait and wake by: the standard library's, or under `--cfg loom` what the model
//! checker watches.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::thread::{Thread, current, park, park_timeout};

#[cfg(loom)]
pub(crate) use samplewire_circuit::model::loom::sync::{Mutex, MutexGuard};
#[cfg(loom)]
pub(crate) use samplewire_circuit::model::loom::thread::{Thread, current, park};
#[cfg(loom)]
pub(crate) use samplewire_circuit::model::{AtomicBool, AtomicU64, Ordering, fence};

/// No time passes in a model: a wake that is lost is lost for ever, and the model says so.
#[cfg(loom)]
pub(crate) fn park_timeout(_timeout: std::time::Duration) {
    park();
}
