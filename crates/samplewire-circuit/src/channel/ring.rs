//! A ring from one thread to another: places that are empty or hold one word.
//!
//! A word in a place is its own flag, so that the two ends share no position: the producer writes a
//! place that the consumer left a lap ago, and the consumer reads one cache line for each word
//! (Giacomoni et al., "FastForward for efficient pipeline parallelism", 2008). Each place has a
//! cache line of its own: neighbours would be fetched from one another for each word.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::atomic::{AtomicPtr, Ordering};
use crate::channel::Word;
use crate::pool::Slot;

/// A ring of `capacity` places, at least one.
pub(crate) fn ring<W: Word>(capacity: usize) -> (Producer<W>, Consumer<W>) {
    let places = (0..capacity.max(1)).map(|_| Place(AtomicPtr::new(ptr::null_mut()))).collect();
    let shared = Arc::new(Places { places, words: PhantomData });
    (Producer { shared: Arc::clone(&shared), at: 0 }, Consumer { shared, at: 0 })
}

struct Places<W: Word> {
    places: Box<[Place]>,
    /// The places own the words that they hold.
    words: PhantomData<W>,
}

#[repr(align(64))]
struct Place(AtomicPtr<Slot>);

/// The end that pushes.
pub(crate) struct Producer<W: Word> {
    shared: Arc<Places<W>>,
    at: usize,
}

impl<W: Word> Producer<W> {
    /// Passes `word` on.
    ///
    /// # Panics
    /// When the ring is full: who pushes knows that it holds as many as there can be.
    #[inline]
    pub(crate) fn push(&mut self, word: W) {
        let place = &self.shared.places[self.at].0;
        // Acquire pairs with the Release in `pop`: its store of null comes before the one below.
        assert!(place.load(Ordering::Acquire).is_null(), "the ring has room for every quantum");
        // Release: publishes all that was done with the word.
        place.store(word.into_word().as_ptr(), Ordering::Release);
        self.at = next(self.at, self.shared.places.len());
    }
}

/// The end that pops.
pub(crate) struct Consumer<W: Word> {
    shared: Arc<Places<W>>,
    at: usize,
}

impl<W: Word> Consumer<W> {
    /// Takes the next word, `None` when there is none.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<W> {
        let place = &self.shared.places[self.at].0;
        // Acquire pairs with the Release in `push`.
        let word = NonNull::new(place.load(Ordering::Acquire))?;
        // Release: the producer that sees it empty writes after this.
        place.store(ptr::null_mut(), Ordering::Release);
        self.at = next(self.at, self.shared.places.len());
        // SAFETY: the producer made the word of a `W`, and the place was emptied, so that it is
        // taken once.
        Some(unsafe { W::from_word(word) })
    }
}

impl<W: Word> Drop for Places<W> {
    fn drop(&mut self) {
        for place in &self.places {
            if let Some(word) = NonNull::new(place.0.load(Ordering::Relaxed)) {
                // SAFETY: both ends are gone; the place owns what it holds.
                drop(unsafe { W::from_word(word) });
            }
        }
    }
}

#[inline]
fn next(at: usize, len: usize) -> usize {
    if at + 1 == len { 0 } else { at + 1 }
}

// SAFETY: words are handles that may be used from any thread; places are atomic.
unsafe impl<W: Word> Send for Places<W> {}
// SAFETY: as above.
unsafe impl<W: Word> Sync for Places<W> {}
