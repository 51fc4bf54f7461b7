//! Blocks: what authors write. A block works on samples where they lie; the runtime hands it
//! quanta, carries indexes, rates and tags, and gives quanta back.
//!
//! ```
//! use samplewire_circuit::{Flow, InPlace, Quantum, Work};
//!
//! /// Multiplies by a factor.
//! struct Gain(f32);
//!
//! impl InPlace<f32> for Gain {
//!     fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
//!         quantum.samples_mut().iter_mut().for_each(|sample| *sample *= self.0);
//!         Ok(Flow::Pass)
//!     }
//! }
//! ```

use std::error::Error;
use std::task::Waker;

use crate::quantum::Quantum;
use crate::sample::Sample;

/// What a block did with a quantum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It goes on to the next block; an empty one returns to its pool.
    Pass,
    /// It returns to its pool: its samples end here.
    Discard,
    /// Nothing was done: to be called again with this quantum, soon.
    Wait,
    /// Nothing was done: to be called again with this quantum, when the block's
    /// [`Waker`](Context::waker) is woken, or before.
    Sleep,
    /// It goes on, and the stream ends behind it.
    End,
}

/// Why a block cannot go on: any error. The graph's names the block.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What a block's work comes to.
pub type Work = Result<Flow, Failure>;

/// What a block receives when the graph starts.
#[derive(Debug)]
pub struct Context<'a> {
    /// The block's name in the graph.
    pub name: &'a str,
    /// Wakes the block's thread after a [`Flow::Sleep`].
    pub waker: Waker,
}

/// Fills quanta.
pub trait Source<T: Sample>: Send {
    /// Fills `quantum`. It arrives empty, and its index follows that of the last one. Set its
    /// length, and its index, rate and tags where needed. A quantum that is left empty returns to
    /// its pool.
    ///
    /// # Errors
    /// Any error: the graph stops and reports it with the block's name.
    fn fill(&mut self, quantum: &mut Quantum<T>) -> Work;

    /// Returns a second source that does the same, or `None` (the default). Possible if the samples
    /// in a quantum depend on its index alone. Each replica is called with some of the indexes. It
    /// fills each quantum completely or ends the stream; a replica that waits or makes less is an
    /// error.
    fn replicate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Called once, before anything else, on the thread that will call.
    ///
    /// # Errors
    /// As for the work.
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// Called once, after the last call of the work. Not called if the start failed, or if it never
    /// ran because another block's start failed.
    ///
    /// # Errors
    /// As for the work.
    fn stop(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Lends samples from memory that belongs to another owner, for example a receiver's ring. They are
/// read only and not copied. The memory is given back as soon as the last block has read it.
///
/// ```
/// use samplewire_circuit::{Flow, BorrowedSource, Loan, Quantum, SharedQuantum, Work};
///
/// /// Shows one quantum once, and ends.
/// struct Once(Option<SharedQuantum>);
///
/// impl BorrowedSource<i16> for Once {
///     fn samples_max(&self) -> usize {
///         self.0.as_ref().map_or(0, |samples| samples.len() / 2)
///     }
///
///     fn lend(&mut self, quantum: &mut Quantum<i16>) -> Work {
///         let Some(samples) = self.0.take() else { return Ok(Flow::End) };
///         let len_bytes = samples.len();
///         quantum.borrow(Loan::new(samples, 0..len_bytes)?)?;
///         Ok(Flow::Pass)
///     }
/// }
/// ```
pub trait BorrowedSource<T: Sample>: Send {
    /// The most samples that it lends at once: what its circuit's quanta hold. More is an error.
    fn samples_max(&self) -> usize;

    /// Makes `quantum` [borrow](Quantum::borrow) samples. It arrives empty, and its index follows
    /// that of the last one. Set its index, rate and tags where needed. A quantum that is left
    /// empty returns to its pool.
    ///
    /// # Errors
    /// Any error: the graph stops and reports it with the block's name.
    fn lend(&mut self, quantum: &mut Quantum<T>) -> Work;

    /// See [`Source::start`].
    ///
    /// # Errors
    /// As for the work.
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// See [`Source::stop`].
    ///
    /// # Errors
    /// As for the work.
    fn stop(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Works on quanta in place.
pub trait InPlace<T: Sample>: Send {
    /// Works on `quantum`. It may grow into the margins, shrink, and change tags.
    ///
    /// # Errors
    /// Any error: the graph stops and reports it with the block's name.
    fn work(&mut self, quantum: &mut Quantum<T>) -> Work;

    /// Returns a second block that does the same, or `None` (the default). Possible if a quantum
    /// can be worked on without the one before it. A block that keeps state between quanta returns
    /// `None`.
    fn replicate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// See [`Source::start`].
    ///
    /// # Errors
    /// As for the work.
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// See [`Source::stop`].
    ///
    /// # Errors
    /// As for the work.
    fn stop(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Takes samples out of the graph.
pub trait Sink<T: Sample>: Send {
    /// Reads `quantum`, which then returns to its pool.
    ///
    /// # Errors
    /// Any error: the graph stops and reports it with the block's name.
    fn consume(&mut self, quantum: &Quantum<T>) -> Work;

    /// Returns a second sink for some of the quanta, or `None` (the default). Possible if neither
    /// the order of the quanta nor their distribution matters. When a block ends the stream, all
    /// quanta before the end reach one of the sinks. Some quanta behind the end may reach one too.
    fn replicate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// See [`Source::start`].
    ///
    /// # Errors
    /// As for the work.
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// See [`Source::stop`].
    ///
    /// # Errors
    /// As for the work.
    fn stop(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Reads the samples of one circuit and writes those of another: another type, another rate, or
/// with what came before in view.
///
/// The runtime cuts both streams as the quanta come, and carries index, rate and tags across by
/// [`Transform::ratio`]: output `n` stands at input `n * decimation / interpolation`. A gap's tag says
/// how many outputs are missing then: those that would stand at the missing inputs, and those that
/// were not made of the inputs before the gap.
pub trait Transform<A: Sample, B: Sample>: Send {
    /// Samples out for samples in; one for one by default.
    fn ratio(&self) -> Ratio {
        Ratio::ONE
    }

    /// Samples that it makes at once: with room for fewer it makes none. Default 1. Quanta hold a
    /// multiple of them unless their length is set.
    fn output_multiple(&self) -> usize {
        1
    }

    /// Works from the front of `input` to the front of `output`, until either is used up. Returns
    /// how many samples it used of both. If it uses none of either, it is called again when more
    /// input or room is there.
    ///
    /// # Errors
    /// Any error: the graph stops and reports it with the block's name.
    fn work(&mut self, input: &[A], output: &mut [B]) -> Result<Done, Failure>;

    /// The next input has this index and does not follow what came before: at the beginning, and
    /// after a gap. The next output is the first one that stands at or after it.
    fn restart(&mut self, index: u64) {
        let _ = index;
    }

    /// See [`Source::start`].
    ///
    /// # Errors
    /// As for the work.
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// See [`Source::stop`].
    ///
    /// # Errors
    /// As for the work.
    fn stop(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Works on the samples of one stream together with those of another that have the same indexes.
///
/// The runtime cuts both streams as the quanta come, and aligns them by index. Samples that have no
/// partner because of a gap in the other stream are not passed on, and
/// [counted](crate::Counters::unpaired): the output's index jumps there. Each missing sample is
/// reported once: by a tag of either stream, else by a [`TagKind::Gap`](crate::TagKind::Gap). All
/// other samples are passed on, once and in order, with the tags of both.
///
/// More than two streams are joins in a row.
///
/// ```
/// use samplewire_circuit::{Failure, Join};
///
/// /// Adds the second stream to the first.
/// struct Sum;
///
/// impl Join<f32, f32> for Sum {
///     fn work(&mut self, first: &mut [f32], second: &[f32]) -> Result<(), Failure> {
///         first.iter_mut().zip(second).for_each(|(first, second)| *first += second);
///         Ok(())
///     }
/// }
/// ```
pub trait Join<A: Sample, B: Sample>: Send {
    /// Works on `first` in place; sample n of `second` has the index of sample n of `first`, and there
    /// are as many.
    ///
    /// # Errors
    /// Any error: the graph stops and reports it with the block's name.
    fn work(&mut self, first: &mut [A], second: &[B]) -> Result<(), Failure>;

    /// See [`Source::start`].
    ///
    /// # Errors
    /// As for the work.
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// See [`Source::stop`].
    ///
    /// # Errors
    /// As for the work.
    fn stop(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// What a [`Transform`] used and made, in samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Taken from the front of the input.
    pub consumed: usize,
    /// Written to the front of the output.
    pub produced: usize,
}

/// Samples out for samples in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Samples out ..
    pub interpolation: u32,
    /// .. for so many in.
    pub decimation: u32,
}

impl Ratio {
    /// One for one.
    pub const ONE: Self = Self { interpolation: 1, decimation: 1 };

    /// One out for `decimation` (at least 1) in.
    pub const fn decimate(decimation: u32) -> Self {
        Self { interpolation: 1, decimation }
    }

    /// `interpolation` (at least 1) out for one in.
    pub const fn interpolate(interpolation: u32) -> Self {
        Self { interpolation, decimation: 1 }
    }

    /// The index of the first output that stands at input `index` or after it.
    pub fn output_at(self, index: u64) -> u64 {
        let numerator = u128::from(index) * u128::from(self.interpolation);
        numerator.div_ceil(u128::from(self.decimation)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_stands_at_the_input_or_after_it() {
        let eighth = Ratio::decimate(8);
        assert_eq!([0, 1, 8, 9].map(|index| eighth.output_at(index)), [0, 1, 1, 2]);
        assert_eq!(Ratio::interpolate(3).output_at(5), 15);
        let most = Ratio { interpolation: 3, decimation: 4 };
        assert_eq!(most.output_at(u64::MAX), 13_835_058_055_282_163_712);
    }
}
