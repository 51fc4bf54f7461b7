//! Quanta: the buffers that go round.
//!
//! ```text
//! | head margin | capacity         | tail margin |
//!            |<-- data: len_bytes -->|
//!          front                    back
//! ```
//!
//! The data begin empty where the capacity does. [`Quantum::set_len`] moves the back inside the
//! capacity; [`Quantum::prepend`] and [`Quantum::append`] grow the data into the margins, and
//! [`Quantum::trim_front`] and [`Quantum::trim_back`] give the room back. No byte moves.

use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

use crate::loan::{Loan, LoanError};
use crate::pool::{Extent, Shared, Slot, State};
use crate::sample::{self, Sample, ViewError};
use crate::tag::{Tag, Tags, TagsFull};

/// One buffer of a [`Pool`](crate::Pool), owned; dropping it gives it back.
///
/// `T` is the unit of its lengths: bytes, or another [`Sample`].
///
/// ```
/// use samplewire_circuit::{Pool, PoolConfig};
///
/// let pool = Pool::new(PoolConfig::new(1, 1_408))?;
/// let mut quantum = pool.take().unwrap();
/// quantum.set_len(4);
/// quantum.data_mut().copy_from_slice(b"data");
/// quantum.prepend(5).expect("a head margin of 64").copy_from_slice(b"head:");
/// assert_eq!(quantum.data(), b"head:data");
/// quantum.trim_front(5);
/// assert_eq!(quantum.data(), b"data");
///
/// let mut quantum = quantum.cast::<i16>()?;
/// quantum.samples_mut()[0] = -1;
/// assert_eq!((quantum.len(), quantum.data()), (2, b"\xff\xffta".as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[repr(transparent)]
pub struct Quantum<T = u8> {
    /// A handle of the slot: the only one, unless a [`SharedQuantum`] wraps this.
    slot: NonNull<Slot>,
    samples: PhantomData<T>,
}

impl Quantum {
    /// The empty quantum of `slot`.
    ///
    /// # Safety
    /// The caller has taken the slot from the pool's free list, with a count of the pool, and hands
    /// both over: no other handle of it exists, and only this one's drop gives it back.
    pub(crate) unsafe fn new(slot: NonNull<Slot>) -> Self {
        let mut quantum = Self { slot, samples: PhantomData };
        quantum.slot().shares().start();
        quantum.reset();
        quantum
    }

    /// The quantum that [`Quantum::into_slot`] made a word of.
    ///
    /// # Safety
    /// The word came from there, and no other quantum was made of it since.
    pub(crate) unsafe fn from_slot(slot: NonNull<Slot>) -> Self {
        Self { slot, samples: PhantomData }
    }
}

impl<T> Quantum<T> {
    /// The quantum as one word, which owns it.
    pub(crate) fn into_slot(self) -> NonNull<Slot> {
        mem::ManuallyDrop::new(self).slot
    }

    /// Empties the quantum as [`Pool::take`](crate::Pool::take) gives it.
    pub(crate) fn reset(&mut self) {
        let start_bytes = self.pool().config().head_bytes;
        let state = self.state_mut();
        state.extent = Extent { start_bytes, len_bytes: 0 };
        state.index = 0;
        state.rate_hz = 0.0;
        state.tags.clear();
        self.end_loan();
    }

    /// Ends the loan, if this quantum has one, so that its memory returns to its owner.
    #[inline]
    pub(crate) fn end_loan(&mut self) {
        if self.state().loan.is_some() {
            self.state_mut().loan = None;
        }
    }

    /// The same quantum with lengths in another unit. Its views check what they see.
    pub(crate) fn retyped<U>(self) -> Quantum<U> {
        Quantum { slot: self.into_slot(), samples: PhantomData }
    }

    /// See [`Quantum::retyped`].
    pub(crate) fn retyped_ref<U>(&self) -> &Quantum<U> {
        // SAFETY: the two types are transparent around the same pointer.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// See [`Quantum::retyped`].
    pub(crate) fn retyped_mut<U>(&mut self) -> &mut Quantum<U> {
        // SAFETY: the two types are transparent around the same pointer.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }

    /// The data in bytes.
    pub fn data(&self) -> &[u8] {
        if let Some(loan) = &self.state().loan {
            return loan.bytes();
        }
        let extent = self.extent();
        // SAFETY: those are initialised bytes of this slot alone, within its margins. They are
        // changed only through the unique handle, mutably borrowed: not while `self` is borrowed.
        unsafe { slice::from_raw_parts(self.address(extent), extent.len_bytes) }
    }

    /// The data in bytes, to be changed in place.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let extent = self.extent();
        // SAFETY: those are initialised bytes of this slot alone, within its margins. A quantum
        // that is mutably borrowed is the slot's unique handle.
        unsafe { slice::from_raw_parts_mut(self.address(extent), extent.len_bytes) }
    }

    /// The data as samples in this machine's byte order.
    ///
    /// # Errors
    /// [`ViewError`] when they are no whole number of samples, or begin at an odd address.
    pub fn as_slice<U: Sample>(&self) -> Result<&[U], ViewError> {
        sample::view(self.data())
    }

    /// The data as samples in this machine's byte order, to be changed in place.
    ///
    /// # Errors
    /// See [`Quantum::as_slice`].
    pub fn as_mut_slice<U: Sample>(&mut self) -> Result<&mut [U], ViewError> {
        sample::view_mut(self.data_mut())
    }

    /// The index of the first sample.
    pub fn index(&self) -> u64 {
        self.state().index
    }

    /// Sets the index of the first sample.
    pub fn set_index(&mut self, index: u64) {
        self.state_mut().index = index;
    }

    /// Samples per second and channel; 0 when it is not known.
    pub fn rate_hz(&self) -> f64 {
        self.state().rate_hz
    }

    /// Sets the rate in samples per second and channel.
    pub fn set_rate_hz(&mut self, rate_hz: f64) {
        self.state_mut().rate_hz = rate_hz;
    }

    /// What happened among the samples.
    pub fn tags(&self) -> &Tags {
        &self.state().tags
    }

    /// What happened among the samples, to be changed.
    pub fn tags_mut(&mut self) -> &mut Tags {
        &mut self.state_mut().tags
    }

    /// Adds a tag.
    ///
    /// # Errors
    /// [`TagsFull`] with the tag when there are [`Tags::LEN_MAX`] already.
    pub fn push_tag(&mut self, tag: Tag) -> Result<(), TagsFull> {
        self.state_mut().tags.push(tag)
    }

    /// Whether there are no data.
    pub fn is_empty(&self) -> bool {
        self.len_bytes() == 0
    }

    /// Gives up the right to change, so that several can read. Allocates nothing.
    pub fn share(self) -> SharedQuantum<T> {
        SharedQuantum { quantum: self }
    }

    /// What all quanta of the pool have in common.
    pub(crate) fn pool(&self) -> &Shared {
        // SAFETY: this is a handle of the slot.
        unsafe { self.slot().pool() }
    }

    fn slot(&self) -> &Slot {
        // SAFETY: the slot's handles own a count of the pool, in which it lies and does not move.
        unsafe { self.slot.as_ref() }
    }

    fn state(&self) -> &State {
        // SAFETY: this is a handle of the slot. The state is changed only through the unique
        // handle, mutably borrowed, so not while `self` is borrowed.
        unsafe { self.slot().state() }
    }

    fn state_mut(&mut self) -> &mut State {
        // SAFETY: a quantum that is mutably borrowed is the slot's unique handle: a
        // `SharedQuantum` lends none out so.
        unsafe { self.slot().state_mut() }
    }

    fn len_bytes(&self) -> usize {
        let state = self.state();
        state.loan.as_ref().map_or(state.extent.len_bytes, |loan| loan.bytes().len())
    }

    /// Where its own data lie; empty for borrowed samples.
    fn extent(&self) -> Extent {
        self.state().extent
    }

    fn address(&self, extent: Extent) -> *mut u8 {
        // SAFETY: what changes an extent keeps its end within the margins.
        unsafe { self.slot().at(extent.start_bytes) }.as_ptr()
    }

    /// Where the capacity ends, from the start of the head margin.
    fn config_end(&self) -> usize {
        let config = self.pool().config();
        config.head_bytes + config.capacity_bytes
    }
}

impl<T: Sample> Quantum<T> {
    /// The same quantum with lengths in `U`.
    ///
    /// # Errors
    /// [`ViewError`] when the data are no whole number of those, or begin at an odd address.
    pub fn cast<U: Sample>(self) -> Result<Quantum<U>, ViewError> {
        self.as_slice::<U>()?;
        Ok(self.retyped())
    }

    /// The samples.
    ///
    /// # Panics
    /// When they begin at an odd address, which no whole number of samples leads to.
    #[inline]
    pub fn samples(&self) -> &[T] {
        if let Some(loan) = &self.state().loan {
            return sample::view(loan.bytes()).expect("checked when they were borrowed");
        }
        let extent = self.extent();
        let start = Self::aligned(self.address(extent));
        // SAFETY: those are initialised bytes of this slot alone, within its margins, aligned as
        // checked; any bytes are samples. They are changed only through the unique handle, mutably
        // borrowed: not while `self` is borrowed.
        unsafe { slice::from_raw_parts(start, extent.len_bytes / size_of::<T>()) }
    }

    /// The samples, to be changed in place.
    ///
    /// # Panics
    /// See [`Quantum::samples`].
    #[inline]
    pub fn samples_mut(&mut self) -> &mut [T] {
        self.extent_mut(self.extent())
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.len_bytes() / size_of::<T>()
    }

    /// Makes the quantum, of a [`BorrowedSource`](crate::BorrowedSource)'s circuit, show the samples of
    /// `loan` without a copy, until it returns to its pool. It has no room of its own, so the
    /// samples are only read.
    ///
    /// # Errors
    /// [`LoanError`]: the quantum has memory of its own, or the bytes are no whole number of samples,
    /// or not aligned for them.
    pub fn borrow(&mut self, loan: Loan) -> Result<(), LoanError> {
        if self.pool().config().capacity_bytes > 0 {
            return Err(LoanError::Owned);
        }
        sample::view::<T>(loan.bytes())?;
        self.state_mut().loan = Some(loan);
        Ok(())
    }

    /// The index after that of the last sample.
    pub fn end_index(&self) -> u64 {
        self.index() + self.len() as u64
    }

    /// How many samples fit between the margins.
    pub fn capacity(&self) -> usize {
        self.pool().config().capacity_bytes / size_of::<T>()
    }

    /// Moves the back so that there are `len` samples. Those that join the data are what stood
    /// there before: zero, or what an earlier owner wrote.
    ///
    /// # Panics
    /// When the back would leave the capacity: the tail margin is for [`Quantum::append`].
    pub fn set_len(&mut self, len: usize) {
        let room = self.config_end().saturating_sub(self.extent().start_bytes) / size_of::<T>();
        assert!(len <= room, "{len} {} in a quantum with room for {room}", T::PLURAL);
        self.state_mut().extent.len_bytes = len * size_of::<T>();
    }

    /// Makes the data all that fits and lends them; see [`Quantum::set_len`].
    pub fn fill(&mut self) -> &mut [T] {
        let room = self.config_end().saturating_sub(self.extent().start_bytes) / size_of::<T>();
        self.set_len(room);
        self.samples_mut()
    }

    /// Grows the data by `len` samples at the front and lends those; `None`, and nothing changed,
    /// when less room is left before them. The index stays: what grows there are no samples of the
    /// stream, until [`Quantum::set_index`] says so.
    pub fn prepend(&mut self, len: usize) -> Option<&mut [T]> {
        let extent = self.extent();
        let len_bytes = len.checked_mul(size_of::<T>())?;
        let start_bytes = extent.start_bytes.checked_sub(len_bytes)?;
        self.state_mut().extent = Extent { start_bytes, len_bytes: extent.len_bytes + len_bytes };
        Some(self.extent_mut(Extent { start_bytes, len_bytes }))
    }

    /// Grows the data by `len` samples at the back and lends those; `None`, and nothing changed,
    /// when less room is left behind them, the tail margin included.
    pub fn append(&mut self, len: usize) -> Option<&mut [T]> {
        let extent = self.extent();
        let room_bytes = self.config_end() + self.pool().config().tail_bytes;
        let len_bytes = len.checked_mul(size_of::<T>())?;
        if len_bytes > room_bytes - extent.end_bytes() {
            return None;
        }
        self.state_mut().extent.len_bytes += len_bytes;
        Some(self.extent_mut(Extent { start_bytes: extent.end_bytes(), len_bytes }))
    }

    /// Cuts `len` samples off the front. The index stays, as for [`Quantum::prepend`].
    ///
    /// # Panics
    /// When there are fewer.
    pub fn trim_front(&mut self, len: usize) {
        let there = self.len();
        assert!(len <= there, "{len} {} off {there}", T::PLURAL);
        let (state, len_bytes) = (self.state_mut(), len * size_of::<T>());
        match &mut state.loan {
            Some(loan) => loan.trim_front(len_bytes),
            None => {
                state.extent.start_bytes += len_bytes;
                state.extent.len_bytes -= len_bytes;
            }
        }
    }

    /// Cuts `len` samples off the back.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn trim_back(&mut self, len: usize) {
        let there = self.len();
        assert!(len <= there, "{len} {} off {there}", T::PLURAL);
        let (state, len_bytes) = (self.state_mut(), len * size_of::<T>());
        match &mut state.loan {
            Some(loan) => loan.trim_back(len_bytes),
            None => state.extent.len_bytes -= len_bytes,
        }
    }

    fn extent_mut(&mut self, extent: Extent) -> &mut [T] {
        let start = Self::aligned(self.address(extent));
        // SAFETY: those are initialised bytes of this slot alone, within its margins, aligned as
        // checked; any bytes are samples. A quantum that is mutably borrowed is the slot's unique
        // handle.
        unsafe { slice::from_raw_parts_mut(start, extent.len_bytes / size_of::<T>()) }
    }

    #[inline]
    fn aligned(start: *mut u8) -> *mut T {
        let start = start.cast::<T>();
        assert!(start.is_aligned(), "data at {start:?}, where no {} can begin", T::NAME);
        start
    }
}

impl<T> Drop for Quantum<T> {
    fn drop(&mut self) {
        if self.slot().shares().remove() {
            self.end_loan();
            // SAFETY: this was the last handle.
            unsafe { Slot::give(self.slot) };
        }
    }
}

// SAFETY: a handle is the right to read the slot, or as the only one to change it, from whichever
// thread has it; the count of the handles is atomic and orders what they did.
unsafe impl<T> Send for Quantum<T> {}

// SAFETY: a borrowed handle only reads.
unsafe impl<T> Sync for Quantum<T> {}

/// A [`Quantum`] that several hold and none can change; dropping the last gives it back.
///
/// ```
/// use samplewire_circuit::{Pool, PoolConfig};
///
/// let pool = Pool::new(PoolConfig::new(1, 64))?;
/// let mut quantum = pool.take().unwrap();
/// quantum.set_len(2);
/// quantum.data_mut().copy_from_slice(&[1, 2]);
/// let ours = quantum.share();
/// let theirs = ours.clone();
/// let sum = std::thread::spawn(move || theirs.data().iter().sum::<u8>());
/// assert_eq!(ours.data(), &[1, 2]);
/// drop(ours);
/// assert_eq!(sum.join().unwrap(), 3);
/// assert_eq!(pool.free(), 1);
/// # Ok::<(), samplewire_circuit::PoolError>(())
/// ```
#[repr(transparent)]
pub struct SharedQuantum<T = u8> {
    /// One of the slot's handles; only shared references to it leave this type.
    quantum: Quantum<T>,
}

impl SharedQuantum {
    /// The quantum that [`SharedQuantum::into_slot`] made a word of.
    ///
    /// # Safety
    /// See [`Quantum::from_slot`].
    pub(crate) unsafe fn from_slot(slot: NonNull<Slot>) -> Self {
        // SAFETY: by the caller's promise. Only shared references to the quantum leave this type.
        Self { quantum: unsafe { Quantum::from_slot(slot) } }
    }
}

impl<T> SharedQuantum<T> {
    /// The quantum as one word, which owns this handle.
    pub(crate) fn into_slot(self) -> NonNull<Slot> {
        self.quantum.into_slot()
    }

    /// The same quantum with lengths in another unit. Its views check what they see.
    pub(crate) fn retyped<U>(self) -> SharedQuantum<U> {
        SharedQuantum { quantum: self.quantum.retyped() }
    }

    /// Gives this handle up; the quantum to be changed, when it was the last.
    pub fn reunite(self) -> Option<Quantum<T>> {
        let slot = self.into_slot();
        // SAFETY: the handle that was this one's keeps the slot until it is counted off.
        let shares = unsafe { slot.as_ref() }.shares();
        if !shares.remove() {
            return None;
        }
        shares.start();
        Some(Quantum { slot, samples: PhantomData })
    }
}

impl<T> Deref for SharedQuantum<T> {
    type Target = Quantum<T>;
    fn deref(&self) -> &Quantum<T> {
        &self.quantum
    }
}

impl<T> Clone for SharedQuantum<T> {
    fn clone(&self) -> Self {
        self.quantum.slot().shares().add();
        Self { quantum: Quantum { slot: self.quantum.slot, samples: PhantomData } }
    }
}

impl<T> fmt::Debug for Quantum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Quantum")
            .field("index", &state.index)
            .field("len_bytes", &self.len_bytes())
            .field("tags", &&*state.tags)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SharedQuantum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedQuantum").field(&self.quantum).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
