//! The chain as one has it without a thought for speed: the default buffers, which are circular, and
//! FutureSDR's own block for a function of each sample.

use std::time::Duration;

use futuresdr::blocks::Apply;
use futuresdr::runtime::dev::prelude::*;

use crate::blocks::{A, B};
use crate::count::{Count, Outcome};

/// `y = a x + b`.
pub(crate) fn saxpy() -> Apply<impl FnMut(&f32) -> f32 + Send + 'static, f32, f32> {
    Apply::new(|x: &f32| A * x + B)
}

/// Hands on what stands in the buffer.
#[derive(Block)]
pub(crate) struct Source {
    #[output]
    output: DefaultCpuWriter<f32>,
}

impl Source {
    pub(crate) fn new() -> Self {
        Self { output: Default::default() }
    }
}

impl Kernel for Source {
    async fn work(
        &mut self,
        _io: &mut WorkIo,
        _messages: &mut MessageOutputs,
        _meta: &BlockMeta,
    ) -> Result<()> {
        let room = self.output.slice().len();
        self.output.produce(room);
        Ok(())
    }
}

/// Counts, and ends it all when the time is over.
#[derive(Block)]
pub(crate) struct Sink {
    #[input]
    input: DefaultCpuReader<f32>,
    count: Count,
    /// What the kernels make of the zeros in the source's buffer.
    expected: f32,
}

impl Sink {
    pub(crate) fn new(kernels: usize, duration: Duration) -> Self {
        let expected = (0..kernels).fold(0.0, |x, _| A * x + B);
        Self { input: Default::default(), count: Count::new(duration), expected }
    }

    /// # Panics
    ///
    /// Before the graph has ended.
    pub(crate) fn outcome(&self) -> Outcome {
        self.count.outcome()
    }
}

impl Kernel for Sink {
    async fn work(
        &mut self,
        io: &mut WorkIo,
        _messages: &mut MessageOutputs,
        _meta: &BlockMeta,
    ) -> Result<()> {
        let floats = self.input.slice();
        let len = floats.len();
        let is_over = self.count.add(len);
        let is_right = |x: &f32| (x - self.expected).abs() < 1e-5;
        assert!(!is_over || floats.iter().all(is_right), "the kernels have not run");
        self.input.consume(len);
        io.finished = is_over || self.input.finished();
        Ok(())
    }
}
