//! Wakes a program's thread from an I/O thread, at no cost while nobody waits.

use std::sync::PoisonError;
use std::task::Waker;
use std::time::Duration;

use crate::sync::{Mutex, MutexGuard, Thread, current, park_timeout};
use crate::wait_flag::WaitFlag;

/// One waiting thread or task and the flag that says so.
#[derive(Debug)]
pub(crate) struct Bell {
    flag: WaitFlag,
    sleeper: Mutex<Option<Sleeper>>,
}

/// Whom to wake.
#[derive(Clone, Debug)]
enum Sleeper {
    Thread(Thread),
    Task(Waker),
}

impl Bell {
    pub(crate) fn new() -> Self {
        Self { flag: WaitFlag::new(), sleeper: Mutex::new(None) }
    }

    /// Announces a wait. The caller looks once more for what it waits for, then calls
    /// [`Bell::wait`].
    pub(crate) fn announce(&self) {
        *lock(&self.sleeper) = Some(Sleeper::Thread(current()));
        self.flag.announce();
    }

    /// Announces a wait that `waker` ends. The caller looks once more for what it waits for.
    pub(crate) fn announce_to(&self, waker: &Waker) {
        let mut sleeper = lock(&self.sleeper);
        if !matches!(&*sleeper, Some(Sleeper::Task(known)) if known.will_wake(waker)) {
            *sleeper = Some(Sleeper::Task(waker.clone()));
        }
        drop(sleeper);
        self.flag.announce();
    }

    /// Waits for [`Bell::ring`], at most for `timeout`; may return early.
    pub(crate) fn wait(&self, timeout: Duration) {
        park_timeout(timeout);
        self.flag.clear();
    }

    /// Ends the wait, if there is one, after a change.
    pub(crate) fn ring(&self) {
        if self.flag.claim() {
            // Who is woken locks it again, and would run into a lock that is held while it wakes.
            let sleeper = lock(&self.sleeper).clone();
            match sleeper {
                Some(Sleeper::Thread(thread)) => thread.unpark(),
                Some(Sleeper::Task(waker)) => waker.wake(),
                None => {}
            }
        }
    }
}

/// Locks what is whole at every moment: a poisoned lock is still good.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
