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
use std::slice;
use std::sync::Arc;

use crate::pool::{Extent, Shared, State};
use crate::sample::{self, Sample, ViewError};
use crate::tag::{Tag, Tags, TagsFull};

/// One buffer of a [`Pool`](crate::Pool), owned; dropping it gives it back.
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
/// # Ok::<(), samplewire_circuit::PoolError>(())
/// ```
pub struct Quantum {
    /// The slot's only handle.
    handle: Handle,
}

impl Quantum {
    /// The empty quantum of `slot`.
    ///
    /// # Safety
    /// The caller has taken the slot from the pool's free list and hands it over: no other handle
    /// of it exists, and only this one's drop gives it back.
    pub(crate) unsafe fn new(pool: Arc<Shared>, slot: u32) -> Self {
        pool.shares(slot).start();
        let start_bytes = pool.config().head_bytes;
        let mut quantum = Self { handle: Handle { pool, slot } };
        let state = quantum.state_mut();
        state.extent = Extent { start_bytes, len_bytes: 0 };
        state.index = 0;
        state.tags.clear();
        quantum
    }

    /// The data.
    pub fn data(&self) -> &[u8] {
        self.handle.data()
    }

    /// The data, to be changed in place.
    pub fn data_mut(&mut self) -> &mut [u8] {
        self.bytes_mut(self.extent())
    }

    /// The data as samples in this machine's byte order.
    ///
    /// # Errors
    /// [`ViewError`] when they are no whole number of samples, or begin at an odd address.
    pub fn as_slice<T: Sample>(&self) -> Result<&[T], ViewError> {
        sample::view(self.data())
    }

    /// The data as samples in this machine's byte order, to be changed in place.
    ///
    /// # Errors
    /// See [`Quantum::as_slice`].
    pub fn as_mut_slice<T: Sample>(&mut self) -> Result<&mut [T], ViewError> {
        sample::view_mut(self.data_mut())
    }

    /// How long the data are, in bytes.
    pub fn len(&self) -> usize {
        self.extent().len_bytes
    }

    /// Whether there are no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes fit between the margins.
    pub fn capacity(&self) -> usize {
        self.config_end() - self.handle.pool.config().head_bytes
    }

    /// Moves the back so that the data are `len_bytes` long. Bytes that join the data are what
    /// stood there before: zero, or what an earlier owner wrote.
    ///
    /// # Panics
    /// When the back would leave the capacity: the tail margin is for [`Quantum::append`].
    pub fn set_len(&mut self, len_bytes: usize) {
        let room_bytes = self.config_end().saturating_sub(self.extent().start_bytes);
        assert!(
            len_bytes <= room_bytes,
            "{len_bytes} bytes in a quantum with room for {room_bytes}"
        );
        self.state_mut().extent.len_bytes = len_bytes;
    }

    /// Grows the data by `len_bytes` at the front and lends those bytes; `None`, and nothing
    /// changed, when less room is left before them.
    pub fn prepend(&mut self, len_bytes: usize) -> Option<&mut [u8]> {
        let extent = self.extent();
        let start_bytes = extent.start_bytes.checked_sub(len_bytes)?;
        self.state_mut().extent = Extent { start_bytes, len_bytes: extent.len_bytes + len_bytes };
        Some(self.bytes_mut(Extent { start_bytes, len_bytes }))
    }

    /// Grows the data by `len_bytes` at the back and lends those bytes; `None`, and nothing
    /// changed, when less room is left behind them, the tail margin included.
    pub fn append(&mut self, len_bytes: usize) -> Option<&mut [u8]> {
        let extent = self.extent();
        let room_bytes = self.config_end() + self.handle.pool.config().tail_bytes;
        if len_bytes > room_bytes - extent.end_bytes() {
            return None;
        }
        self.state_mut().extent.len_bytes += len_bytes;
        Some(self.bytes_mut(Extent { start_bytes: extent.end_bytes(), len_bytes }))
    }

    /// Cuts `len_bytes` off the front.
    ///
    /// # Panics
    /// When the data are shorter.
    pub fn trim_front(&mut self, len_bytes: usize) {
        self.trim_back(len_bytes);
        self.state_mut().extent.start_bytes += len_bytes;
    }

    /// Cuts `len_bytes` off the back.
    ///
    /// # Panics
    /// When the data are shorter.
    pub fn trim_back(&mut self, len_bytes: usize) {
        let data_bytes = self.len();
        assert!(len_bytes <= data_bytes, "{len_bytes} bytes off {data_bytes}");
        self.state_mut().extent.len_bytes = data_bytes - len_bytes;
    }

    /// The index of the first sample.
    pub fn index(&self) -> u64 {
        self.handle.state().index
    }

    /// Sets the index of the first sample.
    pub fn set_index(&mut self, index: u64) {
        self.state_mut().index = index;
    }

    /// What happened among the samples.
    pub fn tags(&self) -> &Tags {
        &self.handle.state().tags
    }

    /// Adds a tag.
    ///
    /// # Errors
    /// [`TagsFull`] with the tag when there are [`Tags::LEN_MAX`] already.
    pub fn push_tag(&mut self, tag: Tag) -> Result<(), TagsFull> {
        self.state_mut().tags.push(tag)
    }

    /// Gives up the right to change, so that several can read. Allocates nothing.
    pub fn share(self) -> SharedQuantum {
        SharedQuantum { handle: self.handle }
    }

    fn extent(&self) -> Extent {
        self.handle.state().extent
    }

    /// Where the capacity ends, from the start of the head margin.
    fn config_end(&self) -> usize {
        let config = self.handle.pool.config();
        config.head_bytes + config.capacity_bytes
    }

    fn state_mut(&mut self) -> &mut State {
        // SAFETY: a quantum holds its slot's unique handle, and it is mutably borrowed for as long
        // as the reference lives.
        unsafe { self.handle.pool.state_mut(self.handle.slot) }
    }

    fn bytes_mut(&mut self, extent: Extent) -> &mut [u8] {
        let start = self.handle.pool.data(self.handle.slot, extent);
        // SAFETY: `start` is the address of that many initialised bytes of this slot alone. A
        // quantum holds its slot's unique handle, mutably borrowed for as long as the slice lives.
        unsafe { slice::from_raw_parts_mut(start, extent.len_bytes) }
    }
}

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
#[derive(Clone)]
pub struct SharedQuantum {
    handle: Handle,
}

impl SharedQuantum {
    /// The data.
    pub fn data(&self) -> &[u8] {
        self.handle.data()
    }

    /// The data as samples in this machine's byte order.
    ///
    /// # Errors
    /// See [`Quantum::as_slice`].
    pub fn as_slice<T: Sample>(&self) -> Result<&[T], ViewError> {
        sample::view(self.data())
    }

    /// The index of the first sample.
    pub fn index(&self) -> u64 {
        self.handle.state().index
    }

    /// What happened among the samples.
    pub fn tags(&self) -> &Tags {
        &self.handle.state().tags
    }
}

/// The right to read one slot. The last handle of a slot gives it back to the free list.
struct Handle {
    pool: Arc<Shared>,
    slot: u32,
}

impl Handle {
    fn state(&self) -> &State {
        // SAFETY: this is a handle of the slot. The state is changed only through a `Quantum`,
        // which holds the only handle and borrows it mutably, so not while `self` is borrowed.
        unsafe { self.pool.state(self.slot) }
    }

    fn data(&self) -> &[u8] {
        let extent = self.state().extent;
        let start = self.pool.data(self.slot, extent);
        // SAFETY: `start` is the address of that many initialised bytes of this slot. They are
        // changed only through a `Quantum`, as above.
        unsafe { slice::from_raw_parts(start, extent.len_bytes) }
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.pool.shares(self.slot).add();
        Self { pool: Arc::clone(&self.pool), slot: self.slot }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.pool.shares(self.slot).remove() {
            self.pool.give(self.slot);
        }
    }
}

impl fmt::Debug for Quantum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.state().debug("Quantum", f)
    }
}

impl fmt::Debug for SharedQuantum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.state().debug("SharedQuantum", f)
    }
}

impl State {
    fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("index", &self.index)
            .field("len_bytes", &self.extent.len_bytes)
            .field("tags", &&*self.tags)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
