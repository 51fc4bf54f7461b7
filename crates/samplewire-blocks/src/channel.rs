//! Channels out of a stream of several, and into one.

use samplewire_circuit::{Context, Done, Failure, Join, Sample, Transform};

/// Takes one channel out of a stream of several: `TakeChannel(0)` the first.
///
/// For all of them, [broadcast](samplewire_circuit::GraphBuilder::broadcast) the stream.
///
/// ```
/// use samplewire_blocks::{PutChannel, Ramp, TakeChannel};
/// use samplewire_circuit::blocks::{Head, NullSink};
/// use samplewire_circuit::{Circuit, GraphBuilder, Sequence};
///
/// let mut graph = GraphBuilder::new();
/// let pairs = Circuit::<[f32; 2]>::default();
/// let first = graph.source("first", Ramp::new(100)?, Circuit::default());
/// let first = graph.in_place("head", Head::new(1_000), first);
/// let second = graph.source("second", Ramp::new(77)?, Circuit::default());
/// let stream = graph.transform("pair", PutChannel(0), first, pairs);
/// let stream = graph.join("second of the pair", PutChannel(1), stream, second);
/// let stream = graph.transform("one again", TakeChannel(1), stream, Circuit::<f32>::default());
/// graph.sink("end", NullSink, stream);
/// let report = graph.build()?.run(Sequence::new())?;
/// assert_eq!(report.block("end").unwrap().counters.samples, 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeChannel(pub usize);

impl<S: Sample, const N: usize> Transform<[S; N], S> for TakeChannel {
    fn work(&mut self, input: &[[S; N]], output: &mut [S]) -> Result<Done, Failure> {
        output.iter_mut().zip(input).for_each(|(sample, channels)| *sample = channels[self.0]);
        Ok(one_for_one(input.len(), output.len()))
    }

    fn start(&mut self, _: &Context<'_>) -> Result<(), Failure> {
        check::<N>(self.0)
    }
}

/// Puts a stream in the place of one channel of several: as a transform of the stream, with the other
/// channels 0; as a join of a stream of several channels with it, with theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutChannel(pub usize);

impl<S: Sample, const N: usize> Transform<S, [S; N]> for PutChannel {
    fn work(&mut self, input: &[S], output: &mut [[S; N]]) -> Result<Done, Failure> {
        for (channels, &sample) in output.iter_mut().zip(input) {
            *channels = [S::zeroed(); N];
            channels[self.0] = sample;
        }
        Ok(one_for_one(input.len(), output.len()))
    }

    fn start(&mut self, _: &Context<'_>) -> Result<(), Failure> {
        check::<N>(self.0)
    }
}

impl<S: Sample, const N: usize> Join<[S; N], S> for PutChannel {
    fn work(&mut self, first: &mut [[S; N]], second: &[S]) -> Result<(), Failure> {
        first.iter_mut().zip(second).for_each(|(channels, &sample)| channels[self.0] = sample);
        Ok(())
    }

    fn start(&mut self, _: &Context<'_>) -> Result<(), Failure> {
        check::<N>(self.0)
    }
}

fn one_for_one(input: usize, output: usize) -> Done {
    let len = input.min(output);
    Done { consumed: len, produced: len }
}

/// Refuses a channel that there is not.
fn check<const N: usize>(channel: usize) -> Result<(), Failure> {
    if channel < N {
        return Ok(());
    }
    Err(format!("there is no channel {channel}: the stream has {N}, from 0").into())
}
