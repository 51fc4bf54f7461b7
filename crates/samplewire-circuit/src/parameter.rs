//! Parameters: fields of a block that are set while it runs, at a sample.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use crate::quantum::Quantum;
use crate::sample::Sample;

/// A field of a block that others set while the graph runs.
///
/// The block's side neither blocks nor allocates: where no change waits it costs one relaxed load
/// for each quantum.
///
/// ```
/// use samplewire_circuit::{Flow, InPlace, Parameter, Pool, PoolConfig, Quantum, Work};
///
/// struct Gain {
///     factor: Parameter<f32>,
/// }
///
/// impl InPlace<f32> for Gain {
///     fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
///         self.factor.over(quantum, |factor, samples| {
///             samples.iter_mut().for_each(|sample| *sample *= factor);
///         });
///         Ok(Flow::Pass)
///     }
/// }
///
/// let (mut handle, factor) = Parameter::new(1.0, 8);
/// let mut gain = Gain { factor };
/// handle.set_at(102, 3.0)?;
///
/// let pool = Pool::new(PoolConfig::new(1, 64))?;
/// let mut quantum = pool.take().unwrap().cast::<f32>()?;
/// quantum.set_len(4);
/// quantum.samples_mut().fill(1.0);
/// quantum.set_index(100);
/// gain.work(&mut quantum).unwrap();
/// assert_eq!(quantum.samples(), [1.0, 1.0, 3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Parameter<T> {
    value: T,
    changes: Consumer<Change<T>>,
    /// How many came of them.
    taken: u32,
    shared: Arc<Shared>,
}

/// Sets a [`Parameter`], from any thread.
pub struct ParameterHandle<T> {
    changes: Producer<Change<T>>,
    shared: Arc<Shared>,
}

/// A value from an index on.
#[derive(Debug)]
struct Change<T> {
    /// `None` for at once.
    index: Option<u64>,
    value: T,
}

/// What both sides see.
#[derive(Debug, Default)]
struct Shared {
    /// Changes that were set.
    set: AtomicU32,
    /// Changes that came after their index.
    late: AtomicU32,
}

impl<T: Send> Parameter<T> {
    /// A parameter of this value, and the handle that changes it. Up to `depth` changes (at least 1)
    /// wait for their index.
    pub fn new(value: T, depth: usize) -> (ParameterHandle<T>, Self) {
        let (producer, changes) = RingBuffer::new(depth.max(1));
        let shared = Arc::<Shared>::default();
        let handle = ParameterHandle { changes: producer, shared: Arc::clone(&shared) };
        (handle, Self { value, changes, taken: 0, shared })
    }

    /// The value as of the last sample that was requested.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Calls `work` with the quantum's samples in their order, cut where the value changes, and the
    /// value that holds for each piece.
    ///
    /// A change whose index has passed holds from this quantum's first sample on, and is
    /// [counted](ParameterHandle::late).
    #[inline]
    pub fn over<S: Sample>(&mut self, quantum: &mut Quantum<S>, work: impl FnMut(&T, &mut [S])) {
        let index = quantum.index();
        self.over_samples(index, quantum.samples_mut(), work);
    }

    /// See [`Parameter::over`], for samples of which the first has this index.
    #[inline]
    pub fn over_samples<S>(
        &mut self,
        index: u64,
        mut samples: &mut [S],
        mut work: impl FnMut(&T, &mut [S]),
    ) {
        let mut at = index;
        let end = index + samples.len() as u64;
        while let Some(change) = self.take_before(index, end) {
            let until = change.index.map_or(at, |index| index.max(at));
            let (piece, rest) = std::mem::take(&mut samples).split_at_mut((until - at) as usize);
            if !piece.is_empty() {
                work(&self.value, piece);
            }
            (self.value, samples, at) = (change.value, rest, until);
        }
        if !samples.is_empty() {
            work(&self.value, samples);
        }
    }

    /// The next change, if its index is below `end`; late, if that is below `begin`.
    #[inline]
    fn take_before(&mut self, begin: u64, end: u64) -> Option<Change<T>> {
        // Relaxed: it only says whether a look is worth while; the ring orders what is in it. One
        // that it does not show yet is found at the next quantum.
        if self.shared.set.load(Ordering::Relaxed) == self.taken {
            return None;
        }
        let index = self.changes.peek().ok()?.index;
        if index.is_some_and(|index| index >= end) {
            return None;
        }
        if index.is_some_and(|index| index < begin) {
            // Relaxed: a count.
            self.shared.late.fetch_add(1, Ordering::Relaxed);
        }
        self.taken = self.taken.wrapping_add(1);
        self.changes.pop().ok()
    }
}

impl<T: Send> ParameterHandle<T> {
    /// Sets the value from the sample of this index on, or from the next quantum on where that has
    /// passed. Changes hold in the order in which they are set: one behind a change of a later index
    /// waits for that.
    ///
    /// # Errors
    /// [`ParameterFull`] with the value when as many changes as the parameter is deep wait already.
    pub fn set_at(&mut self, index: u64, value: T) -> Result<(), ParameterFull<T>> {
        self.push(Change { index: Some(index), value })
    }

    /// Sets the value from the next quantum on, behind all changes that were set before.
    ///
    /// # Errors
    /// See [`ParameterHandle::set_at`].
    pub fn set(&mut self, value: T) -> Result<(), ParameterFull<T>> {
        self.push(Change { index: None, value })
    }

    /// How many changes came when the sample of their index had passed.
    pub fn late(&self) -> u32 {
        self.shared.late.load(Ordering::Relaxed)
    }

    /// Whether the parameter is gone: nothing that is set will hold.
    pub fn is_closed(&self) -> bool {
        self.changes.is_abandoned()
    }

    fn push(&mut self, change: Change<T>) -> Result<(), ParameterFull<T>> {
        let depth = self.changes.buffer().capacity();
        let refused = |PushError::Full(Change { value, .. })| ParameterFull { value, depth };
        self.changes.push(change).map_err(refused)?;
        // Relaxed: see `take_before`.
        self.shared.set.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl<T: fmt::Debug> fmt::Debug for Parameter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameter").field("value", &self.value).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ParameterHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterHandle").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// As many changes wait as a [`Parameter`] is deep.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{depth} changes wait for their sample already: set less ahead, or make it deeper")]
pub struct ParameterFull<T> {
    /// What was to be set.
    pub value: T,
    /// How many wait.
    pub depth: usize,
}

impl<T> fmt::Debug for ParameterFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterFull").field("depth", &self.depth).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The value at each of `len` samples from `index` on, and how many pieces they came in.
    fn over(parameter: &mut Parameter<u32>, index: u64, len: usize) -> (Vec<u32>, usize) {
        let mut samples = vec![0; len];
        let mut pieces = 0;
        parameter.over_samples(index, &mut samples, |value, samples| {
            assert!(!samples.is_empty());
            samples.fill(*value);
            pieces += 1;
        });
        (samples, pieces)
    }

    #[test]
    fn changes_cut_the_samples_where_they_fall() {
        let (mut handle, mut parameter) = Parameter::new(1, 8);
        assert_eq!(over(&mut parameter, 0, 4), (vec![1; 4], 1));
        for (index, value) in [(4, 2), (6, 3), (6, 4), (9, 5), (100, 6)] {
            handle.set_at(index, value).unwrap();
        }
        assert_eq!(over(&mut parameter, 4, 4), (vec![2, 2, 4, 4], 2));
        assert_eq!(over(&mut parameter, 8, 4), (vec![4, 5, 5, 5], 2));
        assert_eq!(handle.late(), 0);
        // The one for 100 waits in front of it.
        handle.set(7).unwrap();
        assert_eq!(over(&mut parameter, 12, 2), (vec![5; 2], 1));
        assert_eq!(over(&mut parameter, 99, 3), (vec![5, 7, 7], 2));
    }

    #[test]
    fn change_for_an_index_that_has_passed_holds_at_once_and_is_counted() {
        let (mut handle, mut parameter) = Parameter::new(1, 2);
        handle.set_at(3, 2).unwrap();
        assert_eq!(over(&mut parameter, 4, 2), (vec![2; 2], 1));
        assert_eq!(handle.late(), 1);
        handle.set(3).unwrap();
        assert_eq!(over(&mut parameter, 6, 2), (vec![3; 2], 1));
        assert_eq!((handle.late(), *parameter.value()), (1, 3));
    }

    #[test]
    fn change_too_many_is_handed_back() {
        let (mut handle, mut parameter) = Parameter::new(1, 2);
        handle.set_at(10, 2).unwrap();
        handle.set_at(20, 3).unwrap();
        let full = handle.set_at(30, 4).unwrap_err();
        assert_eq!((full.value, full.depth), (4, 2));
        let text = "2 changes wait for their sample already: set less ahead, or make it deeper";
        assert_eq!(full.to_string(), text);
        over(&mut parameter, 0, 11);
        handle.set_at(30, 4).unwrap();
    }

    #[test]
    fn changes_from_another_thread_arrive_in_order_and_all() {
        let count = if cfg!(miri) { 100 } else { 500 };
        let (mut handle, mut parameter) = Parameter::new(0, 4);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for value in 1..=count {
                    while handle.set_at(u64::from(value) * 3, value).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
            let mut last = 0;
            for index in (0..).step_by(2) {
                let (values, _) = over(&mut parameter, index, 2);
                assert!(values.is_sorted() && values[0] >= last, "{last} {values:?}");
                last = values[1];
                if last == count {
                    break;
                }
            }
        });
    }
}
