//! Bells: how a group that has nothing to do is woken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::task::{Wake, Waker};

use atomic_waker::AtomicWaker;

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
        if self.is_asleep.load(Ordering::Relaxed) && self.is_asleep.swap(false, Ordering::Relaxed) {
            self.waker.wake();
        }
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
