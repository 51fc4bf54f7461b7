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
    /// It goes on to the next block; an empty one goes home.
    Pass,
    /// It goes home: its samples end here.
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

/// What a block is told when the graph starts.
#[derive(Debug)]
pub struct Context<'a> {
    /// The block's name in the graph.
    pub name: &'a str,
    /// Wakes the block's thread after a [`Flow::Sleep`].
    pub waker: Waker,
}

/// Fills quanta.
pub trait Source<T: Sample>: Send {
    /// Fills `quantum`, which is empty and whose index follows that of the last one: sets its length,
    /// and its index, rate and tags where there is something to say. Left empty it goes home.
    ///
    /// # Errors
    /// Any: the graph stops and tells it with the block's name.
    fn fill(&mut self, quantum: &mut Quantum<T>) -> Work;

    /// Another that does the same, where what stands in a quantum follows from its index alone:
    /// `None`, unless said. Each of several is called with some indexes, and fills its quanta wholly
    /// or ends the stream; one that waits or makes less is an error.
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

    /// Called once, when no more calls will come: not where the start failed, or never came because
    /// another block's failed.
    ///
    /// # Errors
    /// As for the work.
    fn stop(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Gives samples that lie in memory of somebody else, which nobody copies: what a receiver's ring
/// holds. They are read only; the memory goes back as soon as the last block has read it.
///
/// ```
/// use samplewire_circuit::{Flow, LentSource, Loan, Quantum, SharedQuantum, Work};
///
/// /// Shows one quantum once, and ends.
/// struct Once(Option<SharedQuantum>);
///
/// impl LentSource<i16> for Once {
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
pub trait LentSource<T: Sample>: Send {
    /// The most samples that it lends at once: what its circuit's quanta hold. More is an error.
    fn samples_max(&self) -> usize;

    /// Has `quantum`, which is empty and whose index follows that of the last one,
    /// [borrow](Quantum::borrow) samples, and sets its index, rate and tags where there is something
    /// to say. Left empty it goes home.
    ///
    /// # Errors
    /// Any: the graph stops and tells it with the block's name.
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
    /// Any: the graph stops and tells it with the block's name.
    fn work(&mut self, quantum: &mut Quantum<T>) -> Work;

    /// Another that does the same, where a quantum can be worked on without the one before it:
    /// `None`, unless said, for blocks that keep something from one quantum to the next.
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
    /// Reads `quantum`, which then goes home.
    ///
    /// # Errors
    /// Any: the graph stops and tells it with the block's name.
    fn consume(&mut self, quantum: &Quantum<T>) -> Work;

    /// Another for some of the quanta, where neither their order matters nor who gets which: `None`,
    /// unless said. Where a block ends the stream all that comes before reaches one of them, and
    /// something of what would have come behind may.
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
    /// Samples out for samples in; one for one unless said.
    fn ratio(&self) -> Ratio {
        Ratio::ONE
    }

    /// Samples that it makes at once: with room for fewer it makes none. Quanta hold a multiple of them
    /// unless their length is set; 1 unless said.
    fn output_multiple(&self) -> usize {
        1
    }

    /// Works from the front of `input` to the front of `output`, as far as either goes: says how
    /// many of both. With neither nothing is done until more input or room is there.
    ///
    /// # Errors
    /// Any: the graph stops and tells it with the block's name.
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
/// [counted](crate::Counters::unpaired): the output's index jumps there. What is missing is said once,
/// by the tags of either stream, and as far as none of them says it by a
/// [`TagKind::Gap`](crate::TagKind::Gap). All other samples are passed on, once and in order, with the
/// tags of both.
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
    /// Any: the graph stops and tells it with the block's name.
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
