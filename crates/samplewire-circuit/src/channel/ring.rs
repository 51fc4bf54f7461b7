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
    /// When the ring is full. The caller knows that the ring has a place for every word.
    #[inline]
    pub(crate) fn push(&mut self, word: W) {
        let place = &self.shared.places[self.at].0;
        // Relaxed: only the value is compared. The store below follows the null of `pop` that this
        // load read.
        assert!(place.load(Ordering::Relaxed).is_null(), "the ring has room for every quantum");
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
        // Relaxed: nothing of this end is read through it; see `push`.
        place.store(ptr::null_mut(), Ordering::Relaxed);
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

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::thread;

    /// A word that leads to a cell: loom fails the model if one end uses it without having seen
    /// what the other did.
    struct Token(Box<UnsafeCell<u32>>);

    impl Word for Token {
        fn into_word(self) -> NonNull<Slot> {
            NonNull::from(Box::leak(self.0)).cast()
        }

        unsafe fn from_word(word: NonNull<Slot>) -> Self {
            // SAFETY: by the caller's promise, the word of one box, which becomes that once.
            Self(unsafe { Box::from_raw(word.cast().as_ptr()) })
        }
    }

    impl Token {
        fn new(value: u32) -> Self {
            Self(Box::new(UnsafeCell::new(value)))
        }

        fn add(&mut self, value: u32) -> u32 {
            // SAFETY: a token is the only way to its cell.
            self.0.with_mut(|cell| unsafe {
                *cell += value;
                *cell
            })
        }
    }

    #[test]
    fn words_arrive_in_order_by_orders_that_all_matter() {
        crate::model::every_order_matters(&[there_and_back, in_order, one_is_left]);
    }

    /// One word goes round between two threads through two rings of one place, twice.
    fn there_and_back() {
        loom::model(|| {
            let (mut there, mut comes) = ring::<Token>(1);
            let (mut back, mut home) = ring::<Token>(1);
            let other = thread::spawn(move || {
                for _ in 0..2 {
                    let mut token = wait(&mut comes);
                    token.add(1);
                    back.push(token);
                }
            });
            let mut token = Token::new(0);
            for round in 1..=2 {
                there.push(token);
                token = wait(&mut home);
                assert_eq!(token.add(0), round);
            }
            other.join().expect("no thread of a model panics");
        });
    }

    /// Three words through two places; the third waits for a place as a circuit's quanta do, for
    /// the first to come home.
    fn in_order() {
        loom::model(|| {
            let (mut there, mut comes) = ring::<Token>(2);
            let (mut back, mut home) = ring::<Token>(2);
            there.push(Token::new(10));
            there.push(Token::new(20));
            let other = thread::spawn(move || {
                let mut first = wait(&mut home);
                first.add(20);
                there.push(first);
            });
            for expected in [10, 20, 30] {
                let mut token = wait(&mut comes);
                assert_eq!(token.add(0), expected);
                back.push(token);
            }
            other.join().expect("no thread of a model panics");
        });
    }

    /// Words that are not popped are dropped with the ring: loom finds a leak otherwise.
    fn one_is_left() {
        loom::model(|| {
            let (mut there, mut comes) = ring::<Token>(2);
            let other = thread::spawn(move || {
                there.push(Token::new(1));
                there.push(Token::new(2));
            });
            assert_eq!(wait(&mut comes).add(0), 1);
            other.join().expect("no thread of a model panics");
        });
    }

    fn wait(comes: &mut Consumer<Token>) -> Token {
        loop {
            match comes.pop() {
                Some(token) => return token,
                None => thread::yield_now(),
            }
        }
    }
}
