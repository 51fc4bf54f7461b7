//! A value that one thread publishes and any number of threads read, without a lock: a sequence lock
//! over two copies.
//!
//! The version counts the publications, and the latest value lies in the copy `version % 2`. The writer
//! fills the other copy and then raises the version, so it never waits for a reader. A reader copies
//! the latest value and starts again if the version has moved meanwhile. It never waits for the writer
//! either: it repeats a read only after a whole publication, and a writer that is interrupted half way
//! leaves the latest value alone. So a reader that copies faster than the writer publishes repeats a
//! read once at most.
//!
//! The copies are atomic words, because a reader may load them while they are written. The loom tests
//! below run with `RUSTFLAGS="--cfg loom" cargo test -p samplewire-circuit --lib loom`.

use std::slice;
use std::sync::Arc;

use crate::atomic::{AtomicU64, Ordering, fence};

/// The writer's side of a value that one thread publishes and any number read, without a lock.
///
/// ```
/// use samplewire_circuit::{Codec, Publisher};
///
/// let codec = Codec {
///     words: 2,
///     encode: |value: &[u64; 2], to| value.iter().for_each(|&word| to.put(word)),
///     decode: |from| [from.take(), from.take()],
/// };
/// let mut publisher = Publisher::new(&[0, 0], codec);
/// let published = publisher.reader();
/// publisher.publish(&[3, 4]);
/// assert_eq!(published.read(), [3, 4]);
/// ```
#[derive(Debug)]
pub struct Publisher<T> {
    shared: Arc<Shared<T>>,
    /// As in `shared`, which no one else changes.
    version: u64,
}

/// A reader's side of a [`Publisher`]; clones read the same value.
#[derive(Debug)]
pub struct Published<T> {
    shared: Arc<Shared<T>>,
}

/// How a value becomes words and back.
#[derive(Debug)]
pub struct Codec<T> {
    /// The most words of a value.
    pub words: usize,
    /// Puts the words of a value one by one, at most `words` of them.
    pub encode: fn(&T, &mut WordWriter<'_>),
    /// Makes a value of the words, which it takes in the order of `encode`. It may be given words of
    /// two values, or more than were put: it does not panic then, and the result is dropped.
    pub decode: fn(&mut WordReader<'_>) -> T,
}

/// Takes the words of a value from [`Codec::encode`].
#[derive(Debug)]
pub struct WordWriter<'a>(slice::Iter<'a, AtomicU64>);

/// Gives the words of a value to [`Codec::decode`].
#[derive(Debug)]
pub struct WordReader<'a>(slice::Iter<'a, AtomicU64>);

#[derive(Debug)]
struct Shared<T> {
    version: AtomicU64,
    /// The two copies, one behind the other.
    words: Box<[AtomicU64]>,
    codec: Codec<T>,
}

impl<T> Publisher<T> {
    /// Takes the memory of two values, and publishes the first.
    ///
    /// # Panics
    /// When a value has more words than the codec states, here and in [`Publisher::publish`].
    pub fn new(initial: &T, codec: Codec<T>) -> Self {
        let words = (0..2 * codec.words).map(|_| AtomicU64::new(0)).collect();
        let shared = Shared { version: AtomicU64::new(0), words, codec };
        shared.store(0, initial);
        Self { shared: Arc::new(shared), version: 0 }
    }

    /// Has readers see `value` from here on. Neither waits nor allocates.
    pub fn publish(&mut self, value: &T) {
        // Release, with the fence of the reader: one that sees a word stored below also sees the
        // version that was stored before, and drops what it has read of this copy.
        fence(Ordering::Release);
        self.version += 1;
        self.shared.store(self.version, value);
        // Release: a reader that sees this version sees the words of its copy.
        self.shared.version.store(self.version, Ordering::Release);
    }

    /// A reader of what is published here.
    pub fn reader(&self) -> Published<T> {
        Published { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Published<T> {
    /// The value that was published last.
    pub fn read(&self) -> T {
        let shared = &*self.shared;
        loop {
            // Acquire: pairs with the store of the version, after that of the words.
            let version = shared.version.load(Ordering::Acquire);
            let value = shared.load(version);
            // Acquire: pairs with the fence of the writer; see there.
            fence(Ordering::Acquire);
            // Relaxed: ordered by the fence. The version cannot come round to the same value.
            if shared.version.load(Ordering::Relaxed) == version {
                return value;
            }
        }
    }
}

impl<T> Clone for Published<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl WordWriter<'_> {
    /// Adds a word.
    ///
    /// # Panics
    /// When the value has more words than its codec states.
    #[inline]
    pub fn put(&mut self, word: u64) {
        let next = self.0.next().expect("a codec states the most words of its values");
        // Relaxed: ordered by the fence before, and by the store of the version after.
        next.store(word, Ordering::Relaxed);
    }
}

impl WordReader<'_> {
    /// The next word; 0 after the last that a value may have.
    #[inline]
    pub fn take(&mut self) -> u64 {
        // Relaxed: ordered by the load of the version before, and by the fence after.
        self.0.next().map_or(0, |word| word.load(Ordering::Relaxed))
    }
}

impl<T> Shared<T> {
    fn copy(&self, version: u64) -> slice::Iter<'_, AtomicU64> {
        let (even, odd) = self.words.split_at(self.codec.words);
        if version.is_multiple_of(2) { even.iter() } else { odd.iter() }
    }

    fn store(&self, version: u64, value: &T) {
        (self.codec.encode)(value, &mut WordWriter(self.copy(version)));
    }

    fn load(&self, version: u64) -> T {
        (self.codec.decode)(&mut WordReader(self.copy(version)))
    }
}

/// A value whose words are all equal: a mixture shows.
#[cfg(test)]
fn equal_words<const N: usize>() -> Publisher<[u64; N]> {
    let codec = Codec {
        words: N,
        encode: |value: &[u64; N], to| value.iter().for_each(|&word| to.put(word)),
        decode: |from| std::array::from_fn(|_| from.take()),
    };
    Publisher::new(&[0; N], codec)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread;

    use super::*;

    const LAST: u64 = if cfg!(miri) { 100 } else { 100_000 };

    #[test]
    fn readers_see_whole_values_in_order_while_the_writer_goes_on() {
        let mut publisher = equal_words::<40>();
        thread::scope(|scope| {
            for _ in 0..3 {
                let published = publisher.reader();
                scope.spawn(move || {
                    let mut seen = 0;
                    while seen < LAST {
                        let value = published.read();
                        assert_eq!(value, [value[0]; 40]);
                        assert!(value[0] >= seen, "{} came after {seen}", value[0]);
                        seen = value[0];
                    }
                });
            }
            (1..=LAST).for_each(|value| publisher.publish(&[value; 40]));
        });
    }

    #[test]
    fn value_may_have_fewer_words_than_its_codec_states() {
        let codec = Codec {
            words: 3,
            encode: |value: &Vec<u64>, to| {
                to.put(value.len() as u64);
                value.iter().for_each(|&word| to.put(word));
            },
            decode: |from| (0..from.take()).map(|_| from.take()).collect(),
        };
        let mut publisher = Publisher::new(&vec![1, 2], codec);
        let published = publisher.reader();
        assert_eq!(published.read(), [1, 2]);
        for value in [vec![7], vec![], vec![8, 9]] {
            publisher.publish(&value);
            assert_eq!(published.clone().read(), value);
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::thread;

    #[test]
    fn no_reader_sees_a_mixture_and_no_order_is_spare() {
        crate::model::every_order_matters(&[one_reader]);
    }

    /// Two publications, so that the second fills the copy that a reader may have begun to read.
    fn one_reader() {
        check(1, 1);
    }

    #[test]
    fn two_reads_of_one_reader_are_in_order() {
        check(1, 2);
    }

    #[test]
    fn two_readers_see_whole_values() {
        check(2, 1);
    }

    fn check(readers: usize, reads: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let mut publisher = equal_words::<2>();
            let reader = |published: Published<[u64; 2]>| {
                move || {
                    let mut seen = 0;
                    for _ in 0..reads {
                        let value = published.read();
                        assert_eq!(value[0], value[1]);
                        assert!(value[0] >= seen);
                        seen = value[0];
                    }
                }
            };
            let readers: Vec<_> =
                (0..readers).map(|_| thread::spawn(reader(publisher.reader()))).collect();
            (1..=2).for_each(|value| publisher.publish(&[value; 2]));
            assert_eq!(publisher.reader().read(), [2, 2]);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
    }
}
