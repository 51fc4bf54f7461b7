//! What is lent to a caller by value of a handle: blocks to read, rooms to fill.
//!
//! A handle names a slot and how often it has been lent. What was given back is not found under its
//! old handle, in whichever order and by whichever threads loans are given back. The slots are taken
//! once: lending allocates nothing.

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

    /// Whether another loan has a place.
    pub(crate) fn has_room(&self) -> bool {
        !lock(&self.free).is_empty()
    }

    /// Whether nothing is on loan.
    pub(crate) fn is_whole(&self) -> bool {
        lock(&self.free).len() == self.slots.len()
    }

    /// How many places there are.
    pub(crate) fn places(&self) -> usize {
        self.slots.len()
    }

    /// Lends `loan`; the handle, or the loan when every place is taken.
    pub(crate) fn lend(&self, loan: T) -> Result<u64, T> {
        let Some(place) = lock(&self.free).pop() else { return Err(loan) };
        let mut slot = lock(&self.slots[place as usize]);
        slot.loan = Some(loan);
        Ok(u64::from(slot.generation) << 32 | u64::from(place))
    }

    /// Takes back what a handle names; `None` when that was done before.
    pub(crate) fn take(&self, handle: u64) -> Option<T> {
        let (place, generation) = (handle as u32, (handle >> 32) as u32);
        let mut slot = lock(self.slots.get(place as usize)?);
        if slot.generation != generation {
            return None;
        }
        let loan = slot.loan.take()?;
        // 0 is in no handle. After 2^32 loans of one place a handle would come again.
        slot.generation = slot.generation.wrapping_add(1).max(1);
        drop(slot);
        lock(&self.free).push(place);
        Some(loan)
    }
}

/// What is locked here is whole at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loan_comes_back_once_in_any_order() {
        let loans = Loans::new(2);
        let (first, second) = (loans.lend('a').unwrap(), loans.lend('b').unwrap());
        assert!(!loans.has_room());
        assert_eq!(loans.lend('c'), Err('c'));
        assert_eq!(loans.take(first), Some('a'));
        assert_eq!(loans.take(first), None, "twice");
        let third = loans.lend('c').unwrap();
        assert_ne!(third, first, "the place is lent again under another handle");
        assert_eq!(loans.take(first), None, "an old handle does not take another's loan");
        assert_eq!((loans.take(third), loans.take(second)), (Some('c'), Some('b')));
        assert!(loans.is_whole());
        for wrong in [0, 7, u64::MAX] {
            assert_eq!(loans.take(wrong), None);
        }
    }
}
