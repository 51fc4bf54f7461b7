//! How a thread or a task that has nothing to do is woken. A wake costs a fence where no one waits.
//!
//! ```text
//! waiter: announce, look once more, wait        changer: change, ring
//! ```
//!
//! Either the look sees the change, or the ring sees the announcement. The loom tests below run with
//! `RUSTFLAGS="--cfg loom" cargo test -p samplewire-circuit --lib loom`.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::atomic::{AtomicBool, AtomicWaker, Ordering, Thread, current, fence, park_timeout};

/// Whether a thread is about to sleep, for those that wake it by means of their own.
#[derive(Debug)]
pub struct WaitFlag {
    is_awaited: AtomicBool,
}

impl WaitFlag {
    /// A flag of a thread that is awake.
    #[expect(clippy::new_without_default, reason = "the atomic of the model has no const")]
    pub fn new() -> Self {
        Self { is_awaited: AtomicBool::new(false) }
    }

    /// The caller is about to sleep; it looks once more after this.
    pub fn announce(&self) {
        // Relaxed: the fences order it.
        self.is_awaited.store(true, Ordering::Relaxed);
        // SeqCst: this store before the second look, and the change before the load in `claim`, are
        // in one order, so that one side sees the other. A store that is SeqCst itself would not
        // do: loads that follow it may come before it where they are weaker.
        fence(Ordering::SeqCst);
    }

    /// After a change: true when the thread is to be woken, for one caller of many.
    pub fn claim(&self) -> bool {
        // SeqCst: see `announce`.
        fence(Ordering::SeqCst);
        // Relaxed: the waiter looks for the change itself; the exchange only picks one caller. It does
        // not write where another has claimed, so that it never hides a later announcement.
        let relaxed = Ordering::Relaxed;
        self.is_announced()
            && self.is_awaited.compare_exchange(true, false, relaxed, relaxed).is_ok()
    }

    /// Whether a sleep is announced that no one has claimed.
    pub fn is_announced(&self) -> bool {
        // Relaxed: the fences order the caller that acts on it.
        self.is_awaited.load(Ordering::Relaxed)
    }

    /// Takes the announcement back: the caller is awake.
    pub fn clear(&self) {
        // Relaxed: a claim that misses it causes one wake that was not needed.
        self.is_awaited.store(false, Ordering::Relaxed);
    }
}

/// Wakes one waiting thread or task. Several may ring it; one waits at a time.
#[derive(Debug)]
pub struct Bell {
    flag: WaitFlag,
    waker: AtomicWaker,
    /// Whether the one that it wakes never sleeps.
    spins: bool,
}

impl Bell {
    /// A bell at which no one waits.
    #[expect(clippy::new_without_default, reason = "the atomic of the model has no const")]
    pub fn new() -> Self {
        Self { flag: WaitFlag::new(), waker: AtomicWaker::new(), spins: false }
    }

    /// The bell of a waiter that never sleeps where it `spins`: then ringing it costs nothing.
    pub(crate) fn of(spins: bool) -> Self {
        Self { spins, ..Self::new() }
    }

    /// Whether the waiter never sleeps.
    pub(crate) fn spins(&self) -> bool {
        self.spins
    }

    /// Announces a wait of this thread. The caller looks once more for what it waits for, then calls
    /// [`Bell::wait`]. The first wait of a thread allocates a few bytes.
    pub fn announce(&self) {
        self.announce_to(&thread_waker());
    }

    /// Announces a wait that `waker` ends. The caller looks once more for what it waits for.
    pub fn announce_to(&self, waker: &Waker) {
        self.waker.register(waker);
        self.flag.announce();
    }

    /// Waits for [`Bell::ring`], at most for `timeout`; may return early.
    ///
    /// # Blocking
    /// At most for `timeout`.
    pub fn wait(&self, timeout: Duration) {
        park_timeout(timeout);
        self.clear();
    }

    /// Whether a wait is announced that no ring has ended.
    pub(crate) fn is_announced(&self) -> bool {
        self.flag.is_announced()
    }

    /// Takes the announcement back: the waiter is awake.
    pub(crate) fn clear(&self) {
        self.flag.clear();
    }

    /// Ends the wait, if there is one, after a change.
    #[inline]
    pub fn ring(&self) {
        if !self.spins {
            self.wake_waiter();
        }
    }

    fn wake_waiter(&self) {
        if self.flag.claim() {
            self.waker.wake();
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_waiter();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_waiter();
    }
}

/// Unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Unparks the calling thread. It is made once for each thread, so that no later wait allocates.
#[cfg(not(loom))]
pub(crate) fn thread_waker() -> Waker {
    thread_local! {
        static WAKER: Waker = Waker::from(Arc::new(Unpark(current())));
    }
    // A thread that ends has no locals any more, and may still wait in a destructor.
    WAKER.try_with(Waker::clone).unwrap_or_else(|_| Waker::from(Arc::new(Unpark(current()))))
}

/// The threads of a model share the locals of one thread of the system.
#[cfg(loom)]
pub(crate) fn thread_waker() -> Waker {
    Waker::from(Arc::new(Unpark(current())))
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::atomic::AtomicU32;
    use crate::{Pool, PoolConfig};
    use loom::sync::{Condvar, Mutex};
    use loom::thread;

    /// A parked thread: loom's own forgets that it was unparked when it waits for a lock then.
    #[derive(Default)]
    struct Parked {
        is_unparked: Mutex<bool>,
        unparked: Condvar,
    }

    impl Parked {
        fn park(&self) {
            let mut is_unparked = self.is_unparked.lock().expect("no thread of a model panics");
            while !*is_unparked {
                is_unparked = self.unparked.wait(is_unparked).expect("as above");
            }
            *is_unparked = false;
        }
    }

    impl Wake for Parked {
        fn wake(self: Arc<Self>) {
            *self.is_unparked.lock().expect("no thread of a model panics") = true;
            self.unparked.notify_one();
        }
    }

    /// A wake that is lost leaves a thread asleep for ever, which loom calls a deadlock.
    #[test]
    fn no_wake_is_lost_and_no_fence_is_spare() {
        crate::model::every_order_matters(&[rung_once, rung_twice, quantum_comes_back]);
    }

    fn rung_once() {
        check(1);
    }

    fn rung_twice() {
        check(2);
    }

    /// As [`Group::sleep`](crate::Group) sleeps, without an end to it.
    fn check(rings: u32) {
        loom::model(move || {
            let (bell, done) = (Arc::new(Bell::new()), Arc::new(AtomicU32::new(0)));
            let sleeper = thread::spawn({
                let (bell, done) = (bell.clone(), done.clone());
                move || {
                    let parked = Arc::<Parked>::default();
                    let waker = Waker::from(parked.clone());
                    let mut seen = 0;
                    while seen < rings {
                        bell.announce_to(&waker);
                        if done.load(Ordering::Relaxed) == seen {
                            parked.park();
                        }
                        bell.clear();
                        seen = done.load(Ordering::Relaxed);
                    }
                }
            });
            for count in 1..=rings {
                // Relaxed: as an end of a channel, which orders nothing for the bell.
                done.store(count, Ordering::Relaxed);
                bell.ring();
            }
            sleeper.join().expect("no thread of a model panics");
        });
    }

    /// A thread waits for a quantum, and another gives one back and wakes it by means of its own, which
    /// keeps a wake as a parked thread does.
    fn quantum_comes_back() {
        loom::model(|| {
            let pool = Pool::new(PoolConfig::new(1, 64)).unwrap();
            let quantum = pool.take().unwrap();
            let flag = Arc::new(WaitFlag::new());
            let waiter = thread::spawn({
                let (pool, flag) = (pool.clone(), flag.clone());
                move || {
                    while pool.take().is_none() {
                        flag.announce();
                        if pool.take().is_some() {
                            break;
                        }
                        thread::park();
                        flag.clear();
                    }
                }
            });
            drop(quantum);
            if flag.claim() {
                waiter.thread().unpark();
            }
            waiter.join().unwrap();
        });
    }
}
