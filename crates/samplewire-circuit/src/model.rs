//! Atomics that the model checker loom watches, and a proof that each of their orders is needed.
//!
//! Only under `--cfg loom`, and no part of the library's interface. [`every_order_matters`] runs
//! models that must pass, and then again with one order after another weakened to `Relaxed` (a
//! fence: left out): where none of the models fails, either the order is needless or the models
//! are too weak to show.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::task::Waker;

pub use loom;
pub use loom::sync::atomic::Ordering;

/// Runs the models, then each again with every order in the caller's file weakened in turn.
///
/// # Panics
/// When a model fails as the code is, or an order can be weakened without a failure.
#[track_caller]
pub fn every_order_matters(models: &[fn()]) {
    SITES.with_borrow_mut(BTreeSet::clear);
    for model in models {
        model();
    }
    let file = Location::caller().file();
    let mut sites = SITES.with_borrow(Clone::clone);
    sites.retain(|site| site.file == file);
    assert!(!sites.is_empty(), "the models have no order that could be weakened");
    let needless: Vec<_> = sites.into_iter().filter(|site| !is_missed(site, models)).collect();
    assert!(needless.is_empty(), "no model needs {needless:#?}");
}

/// Whether a model fails without the order at `site`.
fn is_missed(site: &Site, models: &[fn()]) -> bool {
    WEAKENED.set(Some(site.clone()));
    let fails = |model: &fn()| catch_unwind(AssertUnwindSafe(model)).is_err();
    let is_missed = models.iter().any(fails);
    WEAKENED.set(None);
    println!("weakened {site:?}: {}", if is_missed { "noticed" } else { "not noticed" });
    is_missed
}

/// An order in the source: where, which of a call's two, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    file: &'static str,
    line: u32,
    column: u32,
    name: &'static str,
    order: String,
}

thread_local! {
    // Loom runs all threads of a model in one of the system's.
    static SITES: RefCell<BTreeSet<Site>> = const { RefCell::new(BTreeSet::new()) };
    static WEAKENED: RefCell<Option<Site>> = const { RefCell::new(None) };
}

/// The order to use at the caller's place.
#[track_caller]
fn order(name: &'static str, order: Ordering) -> Ordering {
    if order == Ordering::Relaxed {
        return order;
    }
    let place = Location::caller();
    let (file, line, column) = (place.file(), place.line(), place.column());
    let site = Site { file, line, column, name, order: format!("{order:?}") };
    if WEAKENED.with_borrow(|weakened| weakened.as_ref() == Some(&site)) {
        return Ordering::Relaxed;
    }
    SITES.with_borrow_mut(|sites| sites.insert(site));
    order
}

/// See [`std::sync::atomic::fence`].
#[track_caller]
pub fn fence(kind: Ordering) {
    let kind = order("fence", kind);
    if kind != Ordering::Relaxed {
        loom::sync::atomic::fence(kind);
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        /// The atomic of this name in [`std::sync::atomic`].
        #[derive(Debug, Default)]
        pub struct $name(loom::sync::atomic::$name);

        #[expect(missing_docs, reason = "as in the standard library")]
        impl $name {
            #[track_caller]
            pub fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            #[track_caller]
            pub fn load(&self, load: Ordering) -> $value {
                self.0.load(order("load", load))
            }

            #[track_caller]
            pub fn store(&self, value: $value, store: Ordering) {
                self.0.store(value, order("store", store));
            }

            #[track_caller]
            pub fn swap(&self, value: $value, swap: Ordering) -> $value {
                self.0.swap(value, order("swap", swap))
            }

            /// # Errors
            /// The value that was found, when it is not `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (success, failure) = (order("success", success), order("failure", failure));
                self.0.compare_exchange(current, new, success, failure)
            }

            /// # Errors
            /// The value that was found, when it is not `current`.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (success, failure) = (order("success", success), order("failure", failure));
                self.0.compare_exchange_weak(current, new, success, failure)
            }

            /// # Errors
            /// The value that was found, when `update` gives none.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.0.fetch_update(order("set", set), order("fetch", fetch), update)
            }
        }
    };
}

/// See [`std::sync::atomic::AtomicPtr`].
#[derive(Debug)]
pub struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

#[expect(missing_docs, reason = "as in the standard library")]
impl<T> AtomicPtr<T> {
    #[track_caller]
    pub fn new(value: *mut T) -> Self {
        Self(loom::sync::atomic::AtomicPtr::new(value))
    }

    #[track_caller]
    pub fn load(&self, load: Ordering) -> *mut T {
        self.0.load(order("load", load))
    }

    #[track_caller]
    pub fn store(&self, value: *mut T, store: Ordering) {
        self.0.store(value, order("store", store));
    }
}

/// In place of the crate `atomic-waker`, which loom does not watch: what it says of itself, by a lock.
#[derive(Debug, Default)]
pub struct AtomicWaker(loom::sync::Mutex<Option<Waker>>);

#[expect(missing_docs, reason = "as in the crate")]
impl AtomicWaker {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn register(&self, waker: &Waker) {
        *self.0.lock().expect("no thread of a model panics") = Some(waker.clone());
    }

    pub fn wake(&self) {
        let waker = self.0.lock().expect("no thread of a model panics").take();
        waker.into_iter().for_each(Waker::wake);
    }
}

macro_rules! counting {
    ($name:ident, $value:ty) => {
        #[expect(missing_docs, reason = "as in the standard library")]
        impl $name {
            #[track_caller]
            pub fn fetch_add(&self, value: $value, add: Ordering) -> $value {
                self.0.fetch_add(value, order("add", add))
            }

            #[track_caller]
            pub fn fetch_sub(&self, value: $value, sub: Ordering) -> $value {
                self.0.fetch_sub(value, order("sub", sub))
            }

            #[track_caller]
            pub fn fetch_or(&self, value: $value, or: Ordering) -> $value {
                self.0.fetch_or(value, order("or", or))
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
counting!(AtomicU32, u32);
counting!(AtomicU64, u64);
