//! Which streams of a port call for its I/O thread: one bit per stream, so that a turn reads a few
//! words instead of the rings of a thousand streams.
//!
//! A program makes its change and calls; the thread takes the calls and checks those streams.
//! Before it sleeps, it announces the sleep and reads the bits once more ([`WaitFlag`]).
//!
//! One of several callers wakes the thread; the others rely on that one, and their calls are not
//! lost. A caller that reads the flag as taken has its fence before the fence of the thread's next
//! announcement: otherwise it would read that announcement. So the read after the announcement sees
//! the caller's bit, and the thread does not sleep. *Checked* for one caller by the loom tests of
//! the flag; for several callers by this argument alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use samplewire_circuit::wait::WaitFlag;
use samplewire_io::{Link, LinkError, Waker};

/// The I/O thread's side: the calls of all its streams.
#[derive(Debug)]
pub(crate) struct Wakeups {
    bits: Bits,
    waker: Waker,
    /// How long the thread sleeps before it waits, whatever comes.
    coalesce: Duration,
}

impl Wakeups {
    /// Creates the bits of `places` streams, for the thread that `waker` wakes.
    pub(crate) fn new(places: usize, waker: Waker, coalesce: Duration) -> Arc<Self> {
        Arc::new(Self { bits: Bits::new(places), waker, coalesce })
    }

    /// The program's side of the stream at `place`.
    pub(crate) fn wake_handle(self: &Arc<Self>, place: usize) -> WakeHandle {
        assert!(place < self.bits.words.len() * BITS, "place {place} has no bit");
        WakeHandle { wakeups: Arc::clone(self), place }
    }

    /// Takes all calls since the last time.
    #[inline]
    pub(crate) fn take(&self, of: impl FnMut(usize)) {
        self.bits.take(of);
    }

    /// Sleeps for the coalescing time, then waits on `link`, together for at most `span`. It does
    /// not wait if a stream has called.
    ///
    /// # Errors
    /// Errors of the link.
    pub(crate) fn sleep(&self, link: &mut dyn Link, span: Duration) -> Result<(), LinkError> {
        // No caller wakes the thread from this sleep, so calls during it are cheap.
        let rest = self.coalesce.min(span);
        if !rest.is_zero() {
            std::thread::sleep(rest);
        }
        let span = span - rest;
        if span.is_zero() {
            return Ok(());
        }
        let result = if self.fall_asleep() { link.wait(span) } else { Ok(()) };
        self.awake();
        result
    }

    /// Whether a program has called since the last calls were taken. Certain for calls of this thread
    /// alone: those of others may be seen later.
    pub(crate) fn is_called(&self) -> bool {
        !self.bits.is_clear()
    }

    /// Announces a sleep; returns whether it may begin: a call from here on ends it.
    fn fall_asleep(&self) -> bool {
        self.bits.asleep.announce();
        self.bits.is_clear()
    }

    fn awake(&self) {
        self.bits.asleep.clear();
    }
}

/// A stream's handle to call the I/O thread.
#[derive(Clone, Debug)]
pub(crate) struct WakeHandle {
    wakeups: Arc<Wakeups>,
    place: usize,
}

impl WakeHandle {
    /// Call it after a change: the thread then checks the stream, and wakes up if it sleeps.
    pub(crate) fn wake(&self) {
        if self.wakeups.bits.set(self.place) {
            self.wakeups.waker.wake();
        }
    }
}

/// The bits, and the flag of the thread that takes them.
#[derive(Debug)]
struct Bits {
    words: Box<[AtomicU64]>,
    asleep: WaitFlag,
}

impl Bits {
    fn new(places: usize) -> Self {
        let words = (0..places.div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect();
        Self { words, asleep: WaitFlag::new() }
    }

    /// Returns whether the thread must be woken.
    fn set(&self, place: usize) -> bool {
        // Release: the thread that takes the bit also sees the change before it.
        self.words[place / BITS].fetch_or(1 << (place % BITS), Ordering::Release);
        self.asleep.claim()
    }

    #[inline]
    fn take(&self, mut of: impl FnMut(usize)) {
        for (position, word) in self.words.iter().enumerate() {
            // Relaxed: a missed bit is read once more before a sleep.
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            // Acquire: the changes that were called for are seen.
            let mut bits = word.swap(0, Ordering::Acquire);
            while bits != 0 {
                of(position * BITS + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    fn is_clear(&self) -> bool {
        // Relaxed: the fence of the announcement orders it.
        self.words.iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }
}

/// Bits of a word.
const BITS: usize = 64;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use samplewire_io::{Ecn, Outgoing};

    use super::*;

    #[test]
    fn calls_are_taken_once_and_end_a_sleep() {
        let wakeups = Wakeups::new(130, Waker::new().unwrap(), Duration::ZERO);
        let taken = || {
            let mut places = Vec::new();
            wakeups.take(|place| places.push(place));
            places
        };
        assert!(wakeups.fall_asleep());
        wakeups.awake();
        for place in [129, 0, 64, 0] {
            wakeups.wake_handle(place).wake();
        }
        assert!(!wakeups.fall_asleep(), "it was called before");
        assert_eq!(taken(), [0, 64, 129]);
        assert!(taken().is_empty());
        assert!(wakeups.fall_asleep());
    }

    #[test]
    fn thread_rests_whatever_comes_and_then_does_not_wait() {
        let (mut link, mut other) = samplewire_io::memory::pair(1, 64, 1_500).unwrap();
        let rest = Duration::from_millis(10);
        let wakeups = Wakeups::new(1, link.waker(), rest);
        let peer = link.local_addr();
        let mut sleeps = |span| {
            let before = Instant::now();
            wakeups.sleep(&mut link, Duration::from_millis(span)).unwrap();
            before.elapsed()
        };
        assert!(sleeps(5) >= Duration::from_millis(5), "the span is shorter");
        wakeups.wake_handle(0).wake();
        let called = sleeps(600_000);
        assert!(called >= rest && called < Duration::from_secs(60), "{called:?}");
        wakeups.take(|_| {});
        let packet = Outgoing { peer, ecn: Ecn::NotEct, parts: [&[0; 64], &[], &[]] };
        assert_eq!(other.send(&[packet]).unwrap(), 1);
        let came = sleeps(600_000);
        assert!(came >= rest && came < Duration::from_secs(60), "{came:?}");
    }
}
