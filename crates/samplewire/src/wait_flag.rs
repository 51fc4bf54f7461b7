//! The flag by which a thread that is about to sleep asks to be woken, at no cost while none is.
//!
//! ```text
//! who waits: announce, look once more, sleep        who changes: change, claim, wake if claimed
//! ```
//!
//! Either the look sees the change, or the claim sees the announcement. The loom tests below run
//! with `RUSTFLAGS="--cfg loom" cargo test -p samplewire --release --lib loom`; `make loom` runs all.

use crate::sync::{AtomicBool, Ordering, fence};

/// Whether somebody waits.
#[derive(Debug)]
pub(crate) struct WaitFlag {
    is_awaited: AtomicBool,
}

impl WaitFlag {
    pub(crate) fn new() -> Self {
        Self { is_awaited: AtomicBool::new(false) }
    }

    /// Says that the caller is about to sleep; it looks once more after this.
    pub(crate) fn announce(&self) {
        // Relaxed: the fences order it.
        self.is_awaited.store(true, Ordering::Relaxed);
        // SeqCst: this store before the second look, and the change before the load in `claim`, are
        // in one order, so that one side sees the other. A store that is SeqCst itself would not
        // do: loads that follow it may come before it where they are weaker.
        fence(Ordering::SeqCst);
    }

    /// After a change: true when somebody is to be woken, for one caller of many.
    pub(crate) fn claim(&self) -> bool {
        // SeqCst: see `announce`.
        fence(Ordering::SeqCst);
        // Relaxed: who waits looks for the change itself; the swap only picks one caller.
        self.is_awaited.load(Ordering::Relaxed) && self.is_awaited.swap(false, Ordering::Relaxed)
    }

    /// Takes the announcement back: the caller is awake.
    pub(crate) fn clear(&self) {
        // Relaxed: a claim that misses it wakes once in vain.
        self.is_awaited.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::bell::Bell;
    use samplewire_circuit::model::{every_order_matters, loom};
    use samplewire_circuit::{Pool, PoolConfig};
    // Loom's own fails in a destructor where a model ends in a deadlock, as some are to.
    use std::sync::Arc;
    use std::time::Duration;

    use loom::sync::atomic::AtomicU32;
    use loom::thread;

    /// A wake that is lost leaves a thread parked for ever, which loom calls a deadlock.
    #[test]
    fn no_wake_is_lost_and_no_fence_is_spare() {
        every_order_matters(&[bell_rings_for_an_item, bell_rings_twice, quantum_comes_back]);
    }

    /// A program waits for items, as `Receiver::wait_for_item` does. The look is as weak as any
    /// can be.
    fn bell_rings_for_an_item() {
        wait_for(1);
    }

    fn bell_rings_twice() {
        wait_for(2);
    }

    /// In a thread that does nothing else: loom's wakes end any other block too.
    fn wait_for(items: u32) {
        loom::model(move || {
            let shared = Arc::new((Bell::new(), AtomicU32::new(0)));
            let program = thread::spawn({
                let shared = shared.clone();
                move || {
                    let has_all = || shared.1.load(Ordering::Relaxed) == items;
                    while !has_all() {
                        shared.0.announce();
                        if has_all() {
                            break;
                        }
                        shared.0.wait(Duration::MAX);
                    }
                }
            });
            for _ in 0..items {
                shared.1.fetch_add(1, Ordering::Relaxed);
                shared.0.ring();
            }
            program.join().unwrap();
        });
    }

    /// The I/O thread waits for a quantum, as `receiver::Engine::wait` does; the program gives one
    /// back, as `Block` does when it is dropped. Parking stands for the link's waker, which keeps
    /// a wake as a parked thread's token does.
    fn quantum_comes_back() {
        loom::model(|| {
            let pool = Pool::new(PoolConfig::new(1, 64)).unwrap();
            let quantum = pool.take().unwrap();
            let flag = Arc::new(WaitFlag::new());
            let engine = thread::spawn({
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
                engine.thread().unpark();
            }
            engine.join().unwrap();
        });
    }
}
