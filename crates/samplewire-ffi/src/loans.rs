//! Objects that a caller borrows by handle: blocks to read, rooms to fill.
//!
//! A handle is a slot number and a generation. A returned object is not found under its old handle,
//! in whatever order and by whatever threads objects are returned. The slots are allocated once:
//! borrowing allocates nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A fixed number of places for `T`.
#[derive(Debug)]
pub(crate) struct Loans<T> {
    slots: Box<[Mutex<Slot<T>>]>,
    free: Mutex<Vec<u32>>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    loan: Option<T>,
}

impl<T> Loans<T> {
    pub(crate) fn new(places: u32) -> Self {
        let slot = || Mutex::new(Slot { generation: 1, loan: None });
        Self {
            slots: (0..places).map(|_| slot()).collect(),
            free: Mutex::new((0..places).rev().collect()),
        }
    }

    /// Whether a place is free.
    pub(crate) fn has_room(&self) -> bool {
        !lock(&self.free).is_empty()
    }

    /// Whether nothing is borrowed.
    pub(crate) fn is_whole(&self) -> bool {
        lock(&self.free).len() == self.slots.len()
    }

    /// The number of places.
    pub(crate) fn places(&self) -> usize {
        self.slots.len()
    }

    /// Stores `loan`; returns its handle, or the loan if all places are taken.
    pub(crate) fn insert(&self, loan: T) -> Result<u64, T> {
        let Some(place) = lock(&self.free).pop() else { return Err(loan) };
        let mut slot = lock(&self.slots[place as usize]);
        slot.loan = Some(loan);
        Ok(u64::from(slot.generation) << 32 | u64::from(place))
    }

    /// Removes the object of a handle; `None` if that was done before.
    pub(crate) fn take(&self, handle: u64) -> Option<T> {
        let (place, generation) = (handle as u32, (handle >> 32) as u32);
        let mut slot = lock(self.slots.get(place as usize)?);
        if slot.generation != generation {
            return None;
        }
        let loan = slot.loan.take()?;
        // No handle is 0. A handle repeats only after 2^32 loans of one place.
        slot.generation = slot.generation.wrapping_add(1).max(1);
        drop(slot);
        lock(&self.free).push(place);
        Some(loan)
    }
}

/// Locks even after a panic: the guarded data is consistent at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loan_comes_back_once_in_any_order() {
        let loans = Loans::new(2);
        let (first, second) = (loans.insert('a').unwrap(), loans.insert('b').unwrap());
        assert!(!loans.has_room());
        assert_eq!(loans.insert('c'), Err('c'));
        assert_eq!(loans.take(first), Some('a'));
        assert_eq!(loans.take(first), None, "twice");
        let third = loans.insert('c').unwrap();
        assert_ne!(third, first, "the place has another handle");
        assert_eq!(loans.take(first), None, "an old handle does not take another's loan");
        assert_eq!((loans.take(third), loans.take(second)), (Some('c'), Some('b')));
        assert!(loans.is_whole());
        for wrong in [0, 7, u64::MAX] {
            assert_eq!(loans.take(wrong), None);
        }
    }
}
