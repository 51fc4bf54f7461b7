//! Bells: how a group that has nothing to do is woken.

use std::sync::Arc;
use std::task::{Wake, Waker};

use crate::atomic::{AtomicBool, AtomicWaker, Ordering, fence};

/// The bell of one group.
#[derive(Debug)]
pub(crate) struct Bell {
    is_asleep: AtomicBool,
    waker: AtomicWaker,
    /// Whether the group never sleeps.
    spins: bool,
}

impl Bell {
    /// The bell of a group that is awake, and always is when it `spins`.
    pub(crate) fn new(spins: bool) -> Self {
        Self { is_asleep: AtomicBool::new(false), waker: AtomicWaker::new(), spins }
    }

    /// Whether the group never sleeps.
    pub(crate) fn spins(&self) -> bool {
        self.spins
    }

    /// Wakes the group, if it is asleep, to see what was done before.
    #[inline]
    pub(crate) fn ring(&self) {
        if !self.spins {
            self.ring_sleeper();
        }
    }

    fn ring_sleeper(&self) {
        // With the fence in `lie_down`: either the group's next look finds what was done before
        // this, or this finds it asleep.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) && self.was_asleep() {
            self.waker.wake();
        }
    }

    /// Whether this was the first to find the group asleep.
    fn was_asleep(&self) -> bool {
        let (asleep, awake) = (true, false);
        // Relaxed: the waker orders itself.
        let relaxed = Ordering::Relaxed;
        self.is_asleep.compare_exchange(asleep, awake, relaxed, relaxed).is_ok()
    }

    /// The group will sleep unless it finds something on one more look, and be woken by `waker`.
    pub(crate) fn lie_down(&self, waker: &Waker) {
        self.waker.register(waker);
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether nobody has woken the group since it lay down.
    pub(crate) fn is_asleep(&self) -> bool {
        self.is_asleep.load(Ordering::Relaxed)
    }

    /// The group is awake.
    pub(crate) fn get_up(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring_sleeper();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring_sleeper();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::atomic::AtomicU32;
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

    /// No thread sleeps on what was done before the bell rang: as [`Group::sleep`](crate::Group)
    /// sleeps, without an end to it, so that loom finds a lost wake a deadlock.
    #[test]
    fn sleeper_is_woken_by_orders_that_all_matter() {
        crate::model::every_order_matters(&[once, twice]);
    }

    fn once() {
        check(1);
    }

    fn twice() {
        check(2);
    }

    fn check(rings: u32) {
        loom::model(move || {
            let (bell, done) = (Arc::new(Bell::new(false)), Arc::new(AtomicU32::new(0)));
            let sleeper = thread::spawn({
                let (bell, done) = (bell.clone(), done.clone());
                move || {
                    let parked = Arc::<Parked>::default();
                    let waker = Waker::from(parked.clone());
                    let mut seen = 0;
                    while seen < rings {
                        bell.lie_down(&waker);
                        if done.load(Ordering::Relaxed) == seen {
                            parked.park();
                        }
                        bell.get_up();
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
}
