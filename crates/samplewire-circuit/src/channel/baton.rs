//! A baton: a value that several threads use in turn.
//!
//! Whose turn it is stands beside the value, so that of a small value one cache line goes from thread
//! to thread with the turn.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::atomic::{AtomicU32, Ordering};

/// One of the places between which a baton goes round.
pub(crate) struct Place<T> {
    baton: Arc<Baton<T>>,
    number: u32,
    next: u32,
}

/// The baton where it has come to: [pass it on](Held::pass_on), or it stays.
pub(crate) struct Held<'a, T> {
    baton: &'a Baton<T>,
    next: u32,
    /// Threads may share it where they may share the value.
    value: PhantomData<&'a mut T>,
}

#[repr(C, align(128))]
struct Baton<T> {
    /// The number of the place whose turn it is.
    turn: AtomicU32,
    value: UnsafeCell<T>,
}

/// `count` places, at least one, for `value`, which is at the first.
pub(crate) fn baton<T>(value: T, count: usize) -> Vec<Place<T>> {
    let baton = Arc::new(Baton { turn: AtomicU32::new(0), value: UnsafeCell::new(value) });
    let count = u32::try_from(count.max(1)).expect("far fewer threads");
    let place = |number| Place { baton: Arc::clone(&baton), number, next: (number + 1) % count };
    (0..count).map(place).collect()
}

impl<T> Place<T> {
    /// The baton, if it is here.
    #[inline]
    pub(crate) fn hold(&mut self) -> Option<Held<'_, T>> {
        // Acquire pairs with the Release in `pass_on`: the value is as it was left.
        let is_here = self.baton.turn.load(Ordering::Acquire) == self.number;
        is_here.then(|| Held { baton: &self.baton, next: self.next, value: PhantomData })
    }

    /// Whether the baton is here.
    pub(crate) fn is_here(&self) -> bool {
        // Relaxed: what is done with it begins with `hold`.
        self.baton.turn.load(Ordering::Relaxed) == self.number
    }

    /// The place that is next.
    pub(crate) fn next(&self) -> usize {
        self.next as usize
    }

    /// The value, once all other places are gone.
    pub(crate) fn into_value(self) -> Option<T> {
        Some(Arc::into_inner(self.baton)?.value.into_inner())
    }
}

impl<T> Held<'_, T> {
    /// Passes the baton to the next place.
    #[inline]
    pub(crate) fn pass_on(self) {
        // Release: the next holder sees the value as it is.
        self.baton.turn.store(self.next, Ordering::Release);
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the turn is this place's until `pass_on` consumes the only `Held`: it borrows its
        // place mutably, and each place has its own number. So no other reference to the value
        // exists.
        unsafe { &*self.baton.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.baton.value.get() }
    }
}

// SAFETY: the value is used from one thread after another, each of which sees what the one before it
// did; the turn is atomic.
unsafe impl<T: Send> Sync for Baton<T> {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn baton_goes_round_and_its_value_stays_with_the_last_place() {
        let mut places = baton(0, 3);
        for turn in 0..6 {
            let at = turn % 3;
            let here = [0, 1, 2].map(|place| places[place].is_here());
            assert_eq!(here, [0, 1, 2].map(|place| place == at));
            assert!(places[(at + 1) % 3].hold().is_none());
            let mut held = places[at].hold().unwrap();
            *held += 1;
            held.pass_on();
        }
        let last = places.pop().unwrap();
        assert_eq!(places.remove(0).into_value(), None);
        drop(places);
        assert_eq!(last.into_value(), Some(6));
    }

    #[test]
    fn baton_that_is_not_passed_on_stays() {
        let mut places = baton((), 2);
        assert!(places[0].hold().is_some());
        assert!(places[0].is_here() && !places[1].is_here());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::thread;

    #[test]
    fn value_is_used_in_turn_by_orders_that_all_matter() {
        crate::model::every_order_matters(&[twice_round]);
    }

    /// Two threads add to a cell in turn: loom fails the model if one uses it without having seen
    /// what the other did.
    fn twice_round() {
        loom::model(|| {
            let mut places = baton(UnsafeCell::new(0), 2);
            let mut second = places.pop().expect("there are two");
            let mut first = places.pop().expect("there are two");
            let other = thread::spawn(move || {
                add(&mut second, 1);
                add(&mut second, 3);
            });
            add(&mut first, 0);
            add(&mut first, 2);
            other.join().expect("no thread of a model panics");
            let sum = first.into_value().expect("the other place is gone").into_inner();
            assert_eq!(sum, 4);
        });
    }

    fn add(place: &mut Place<UnsafeCell<u32>>, expected: u32) {
        let held = loop {
            match place.hold() {
                Some(held) => break held,
                None => thread::yield_now(),
            }
        };
        // SAFETY: only the holder of the baton uses the cell.
        held.with_mut(|sum| unsafe {
            assert_eq!(*sum, expected);
            *sum += 1;
        });
        held.pass_on();
    }
}
