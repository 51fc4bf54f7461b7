//! Loans: samples of a circuit that lie in another owner's memory, and are only read.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::quantum::SharedQuantum;

/// A part of a shared quantum of another pool, until it is dropped: what
/// [`Quantum::borrow`](crate::Quantum::borrow) makes a circuit's quantum of.
///
/// ```
/// use samplewire_circuit::{Loan, Pool, PoolConfig};
///
/// let pool = Pool::new(PoolConfig::new(1, 64))?;
/// let mut quantum = pool.take().unwrap();
/// quantum.set_len(4);
/// quantum.data_mut().copy_from_slice(&[1, 2, 3, 4]);
/// let loan = Loan::new(quantum.share(), 1..3)?;
/// assert_eq!((loan.bytes(), pool.free()), ([2, 3].as_slice(), 0));
/// drop(loan);
/// assert_eq!(pool.free(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Loan {
    /// Keeps the bytes where and as they are; `None` once it is given back.
    samples: Option<SharedQuantum>,
    range: Range<usize>,
    lender: Option<Arc<dyn Lender>>,
}

/// Is notified when a loan is over.
pub trait Lender: Send + Sync {
    /// The loan's handle on its quantum has just been given back, on the calling thread.
    fn returned(&self);
}

impl Loan {
    /// The bytes of `samples` in `range`.
    ///
    /// # Errors
    /// [`LoanError::Range`] when it has fewer.
    pub fn new(samples: SharedQuantum, range: Range<usize>) -> Result<Self, LoanError> {
        if range.start > range.end || range.end > samples.len() {
            let Range { start, end } = range;
            return Err(LoanError::Range { start, end, len_bytes: samples.len() });
        }
        Ok(Self { samples: Some(samples), range, lender: None })
    }

    /// Notifies `lender` when the loan is over.
    #[must_use]
    pub fn returned_to(mut self, lender: Arc<dyn Lender>) -> Self {
        self.lender = Some(lender);
        self
    }

    /// Lends `len_bytes` less, off the front; no more than there are.
    pub(crate) fn trim_front(&mut self, len_bytes: usize) {
        self.range.start = (self.range.start + len_bytes).min(self.range.end);
    }

    /// Lends `len_bytes` less, off the back; no more than there are.
    pub(crate) fn trim_back(&mut self, len_bytes: usize) {
        self.range.end = self.range.end.saturating_sub(len_bytes).max(self.range.start);
    }

    /// The borrowed bytes.
    pub fn bytes(&self) -> &[u8] {
        self.samples.as_ref().map_or(&[], |samples| &samples.data()[self.range.clone()])
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        drop(self.samples.take());
        if let Some(lender) = &self.lender {
            lender.returned();
        }
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan")
            .field("samples", &self.samples)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

/// Why samples cannot be borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoanError {
    /// The quantum has fewer bytes.
    #[error("bytes {start}..{end} are outside a quantum of {len_bytes} bytes")]
    Range {
        /// The first byte.
        start: usize,
        /// The byte after the last.
        end: usize,
        /// The quantum's length.
        len_bytes: usize,
    },
    /// The quantum has memory of its own.
    #[error("a quantum with its own memory cannot borrow: only a `BorrowedSource`'s quanta can")]
    Owned,
    /// They are no samples of the circuit's type.
    #[error(transparent)]
    View(#[from] crate::sample::ViewError),
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Pool, PoolConfig, Quantum, ViewError};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Lender for Counter {
        fn returned(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Eight bytes, 0 to 7.
    fn owned(pool: &Pool) -> SharedQuantum {
        let mut quantum = pool.take().unwrap();
        quantum.set_len(8);
        quantum.data_mut().copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7]);
        quantum.share()
    }

    fn lent_quantum() -> (Pool, Quantum) {
        let pool = Pool::of_borrowers(1).unwrap();
        let quantum = pool.take().unwrap();
        (pool, quantum)
    }

    #[test]
    fn lent_samples_are_those_of_the_owner_until_the_last_reader_is_done() {
        let owner = Pool::new(PoolConfig::new(1, 8)).unwrap();
        let lender = Arc::new(Counter::default());
        let (_pool, mut quantum) = lent_quantum();
        let address = {
            let samples = owned(&owner);
            let address = samples.data()[2..].as_ptr();
            quantum.borrow(Loan::new(samples, 2..6).unwrap().returned_to(lender.clone())).unwrap();
            address
        };
        drop(owner.take());
        assert_eq!((quantum.len(), quantum.data().as_ptr()), (4, address));
        let first = quantum.share();
        let second = first.clone();
        let reader = std::thread::spawn(move || assert_eq!(first.data(), [2, 3, 4, 5]));
        reader.join().unwrap();
        assert_eq!((owner.free(), lender.0.load(Ordering::Relaxed)), (0, 0));
        let typed = second.retyped_ref::<i16>();
        assert_eq!(typed.samples(), [i16::from_ne_bytes([2, 3]), i16::from_ne_bytes([4, 5])]);
        drop(second);
        assert_eq!((owner.free(), lender.0.load(Ordering::Relaxed)), (1, 1));
    }

    #[test]
    fn loan_outlives_every_handle_of_the_pool_it_is_of() {
        let owner = Pool::new(PoolConfig::new(1, 8)).unwrap();
        let (pool, mut quantum) = lent_quantum();
        quantum.borrow(Loan::new(owned(&owner), 0..8).unwrap()).unwrap();
        drop((owner, pool));
        assert_eq!(quantum.data()[7], 7);
    }

    #[test]
    fn lent_quantum_has_no_room_of_its_own() {
        let owner = Pool::new(PoolConfig::new(1, 8)).unwrap();
        let (_pool, mut quantum) = lent_quantum();
        quantum.borrow(Loan::new(owned(&owner), 2..6).unwrap()).unwrap();
        assert!(quantum.data_mut().is_empty() && quantum.samples_mut().is_empty());
        assert!(quantum.append(1).is_none() && quantum.prepend(1).is_none());
        assert!(quantum.fill().is_empty());
        assert_eq!(quantum.data(), [2, 3, 4, 5]);
    }

    #[test]
    fn quantum_taken_again_has_no_loan() {
        let owner = Pool::new(PoolConfig::new(1, 8)).unwrap();
        let (pool, mut quantum) = lent_quantum();
        quantum.borrow(Loan::new(owned(&owner), 0..8).unwrap()).unwrap();
        quantum.end_loan();
        assert_eq!((owner.free(), quantum.is_empty()), (1, true));
        quantum.borrow(Loan::new(owned(&owner), 0..8).unwrap()).unwrap();
        quantum.reset();
        assert_eq!((owner.free(), quantum.is_empty()), (1, true));
        quantum.borrow(Loan::new(owned(&owner), 0..8).unwrap()).unwrap();
        drop(quantum);
        assert!(owner.free() == 1 && pool.take().unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_lent_is_named() {
        let owner = Pool::new(PoolConfig::new(2, 8)).unwrap();
        let (_pool, quantum) = lent_quantum();
        let error = Loan::new(owned(&owner), 4..9).unwrap_err();
        assert_eq!(error.to_string(), "bytes 4..9 are outside a quantum of 8 bytes");
        let loan = |range| Loan::new(owned(&owner), range).unwrap();
        assert_eq!(owner.take().unwrap().borrow(loan(0..8)), Err(LoanError::Owned));
        let mut quantum = quantum.cast::<i16>().unwrap();
        let odd = ViewError::Alignment { align_bytes: 2, sample: "i16" };
        assert_eq!(quantum.borrow(loan(1..5)), Err(LoanError::View(odd)));
        assert!(matches!(quantum.borrow(loan(0..3)), Err(LoanError::View(_))));
        assert!(quantum.is_empty() && owner.free() == 2);
    }

    #[test]
    fn lent_samples_that_are_trimmed_are_fewer_and_still_cannot_be_written() {
        let pool = Pool::new(PoolConfig::new(1, 64)).unwrap();
        let mut quantum = Pool::of_borrowers(1).unwrap().take().unwrap();
        quantum.borrow(Loan::new(owned(&pool), 0..8).unwrap()).unwrap();
        quantum.trim_front(2);
        quantum.trim_back(3);
        assert_eq!(quantum.data(), [2, 3, 4]);
        assert!(quantum.data_mut().is_empty());
        drop(quantum);
        assert_eq!(pool.free(), 1);
    }
}
