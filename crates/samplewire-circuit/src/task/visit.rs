//! Blocks without their types: how tasks call them.

use std::marker::PhantomData;

use crate::block::{
    BorrowedSource, Context, Done, Failure, InPlace, Join, Ratio, Sink, Source, Transform, Work,
};
use crate::quantum::Quantum;
use crate::sample::Sample;

/// A block that is started and stopped.
pub(crate) trait Live: Send {
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure>;
    fn stop(&mut self) -> Result<(), Failure>;
}

/// A block of a wrapper's, which is stopped if it was started: in cache lines (which this kind of
/// machine fetches by pairs) that no block of another thread shares.
#[repr(align(128))]
pub(crate) struct Own<B> {
    block: B,
    is_started: bool,
}

impl<B> Own<B> {
    pub(crate) fn new(block: B) -> Self {
        Self { block, is_started: false }
    }
}

/// Starts and stops the block that is a wrapper's field.
macro_rules! live {
    ($(<$($generic:ident: $bound:path),+> $wrapper:ty, $field:tt;)+) => {$(
        impl<$($generic: $bound),+> Live for $wrapper {
            fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
                self.$field.block.start(context)?;
                self.$field.is_started = true;
                Ok(())
            }

            fn stop(&mut self) -> Result<(), Failure> {
                let is_started = std::mem::take(&mut self.$field.is_started);
                if is_started { self.$field.block.stop() } else { Ok(()) }
            }
        }
    )+};
}

live! {
    <T: Sample, B: Source<T>> Filling<B, T>, 0;
    <T: Sample, B: BorrowedSource<T>> Lending<B, T>, block;
    <T: Sample, B: InPlace<T>> Working<B, T>, 0;
    <T: Sample, B: Sink<T>> Consuming<B, T>, 0;
    <A: Sample, B: Sample, X: Transform<A, B>> Crossing<X, A, B>, 0;
    <A: Sample, B: Sample, J: Join<A, B>> Joining<J, A, B>, 0;
}

/// A block that is visited by quanta.
pub(crate) trait Visit: Live {
    fn visit(&mut self, quantum: &mut Quantum) -> Work;
    fn replicate(&self) -> Option<Box<dyn Visit>> {
        None
    }
}

/// A block that reads quanta of others.
pub(crate) trait Read: Live {
    fn read(&mut self, quantum: &Quantum) -> Work;
}

/// A [`Source`].
pub(crate) struct Filling<B, T>(pub(crate) Own<B>, pub(crate) PhantomData<fn(T)>);

impl<T: Sample, B: Source<T> + 'static> Visit for Filling<B, T> {
    fn visit(&mut self, quantum: &mut Quantum) -> Work {
        self.0.block.fill(quantum.retyped_mut())
    }

    fn replicate(&self) -> Option<Box<dyn Visit>> {
        Some(Box::new(Self(Own::new(self.0.block.replicate()?), PhantomData)))
    }
}

/// A [`BorrowedSource`], in quanta for so many samples.
pub(crate) struct Lending<B, T> {
    pub(crate) block: Own<B>,
    pub(crate) len_max: usize,
    pub(crate) samples: PhantomData<fn(T)>,
}

impl<T: Sample, B: BorrowedSource<T>> Visit for Lending<B, T> {
    fn visit(&mut self, quantum: &mut Quantum) -> Work {
        let quantum = quantum.retyped_mut::<T>();
        let flow = self.block.block.lend(quantum)?;
        let (len, len_max) = (quantum.len(), self.len_max);
        if len > len_max {
            return Err(format!("lends {len} samples: it declared {len_max} at most").into());
        }
        Ok(flow)
    }
}

/// An [`InPlace`].
pub(crate) struct Working<B, T>(pub(crate) Own<B>, pub(crate) PhantomData<fn(T)>);

impl<T: Sample, B: InPlace<T> + 'static> Visit for Working<B, T> {
    fn visit(&mut self, quantum: &mut Quantum) -> Work {
        self.0.block.work(quantum.retyped_mut())
    }

    fn replicate(&self) -> Option<Box<dyn Visit>> {
        Some(Box::new(Self(Own::new(self.0.block.replicate()?), PhantomData)))
    }
}

/// A [`Sink`].
pub(crate) struct Consuming<B, T>(pub(crate) Own<B>, pub(crate) PhantomData<fn(T)>);

impl<T: Sample, B: Sink<T> + 'static> Visit for Consuming<B, T> {
    fn visit(&mut self, quantum: &mut Quantum) -> Work {
        self.0.block.consume(quantum.retyped_ref())
    }

    fn replicate(&self) -> Option<Box<dyn Visit>> {
        Some(Box::new(Self(Own::new(self.0.block.replicate()?), PhantomData)))
    }
}

impl<T: Sample, B: Sink<T>> Read for Consuming<B, T> {
    fn read(&mut self, quantum: &Quantum) -> Work {
        self.0.block.consume(quantum.retyped_ref())
    }
}

/// A block that goes from one circuit to another.
pub(crate) trait Cross: Live {
    fn ratio(&self) -> Ratio;
    fn output_multiple(&self) -> usize;

    /// Works on `input` from sample `from` on, into `output` behind its first `filled` samples, but
    /// on no more than `input_max` of them. Leaves `output` with what it holds then.
    fn cross(
        &mut self,
        input: &Quantum,
        from: usize,
        input_max: usize,
        output: &mut Quantum,
    ) -> Result<Done, Failure>;
    fn restart(&mut self, index: u64);
}

/// A [`Transform`].
pub(crate) struct Crossing<X, A, B>(pub(crate) Own<X>, pub(crate) PhantomData<fn(A, B)>);

impl<A: Sample, B: Sample, X: Transform<A, B>> Cross for Crossing<X, A, B> {
    fn ratio(&self) -> Ratio {
        self.0.block.ratio()
    }

    fn output_multiple(&self) -> usize {
        self.0.block.output_multiple()
    }

    fn cross(
        &mut self,
        input: &Quantum,
        from: usize,
        input_max: usize,
        output: &mut Quantum,
    ) -> Result<Done, Failure> {
        let input = &input.retyped_ref::<A>().samples()[from..];
        let input = &input[..input.len().min(input_max)];
        let output = output.retyped_mut::<B>();
        let filled = output.len();
        let room = &mut output.fill()[filled..];
        let room_len = room.len();
        let done = self.0.block.work(input, room)?;
        let produced = done.produced.min(room_len);
        output.set_len(filled + produced);
        if done.consumed > input.len() || done.produced > room_len {
            let (given, room) = (input.len(), room_len);
            return Err(format!("says {done:?} of {given} samples and room for {room}").into());
        }
        Ok(done)
    }

    fn restart(&mut self, index: u64) {
        self.0.block.restart(index);
    }
}

/// A block that works on one stream together with another.
pub(crate) trait Pair: Live {
    /// How many samples a quantum of the second has.
    fn second_len(&self, second: &Quantum) -> usize;

    /// Works on `len` samples of `first` from `at` on, with those of `second` from `from` on.
    fn pair(
        &mut self,
        first: &mut Quantum,
        at: usize,
        second: &Quantum,
        from: usize,
        len: usize,
    ) -> Result<(), Failure>;
}

/// A [`Join`].
pub(crate) struct Joining<J, A, B>(pub(crate) Own<J>, pub(crate) PhantomData<fn(A, B)>);

impl<A: Sample, B: Sample, J: Join<A, B>> Pair for Joining<J, A, B> {
    fn second_len(&self, second: &Quantum) -> usize {
        second.retyped_ref::<B>().len()
    }

    fn pair(
        &mut self,
        first: &mut Quantum,
        at: usize,
        second: &Quantum,
        from: usize,
        len: usize,
    ) -> Result<(), Failure> {
        let first = &mut first.retyped_mut::<A>().samples_mut()[at..at + len];
        self.0.block.work(first, &second.retyped_ref::<B>().samples()[from..from + len])
    }
}
