//! The blocks of the chain, over either kind of inbox.

use std::time::{Duration, Instant};

use futuresdr::runtime::buffer::dev::BufferInbox;
use futuresdr::runtime::dev::prelude::*;

/// Hands on empty buffers as they are.
#[derive(Block)]
pub(crate) struct Source<I: BufferInbox + 'static> {
    #[output]
    output: circuit::Writer<f32, I>,
}

impl<I: BufferInbox + 'static> Source<I> {
    /// With `buffers` buffers of `floats` floats that go round.
    pub(crate) fn new(buffers: usize, floats: usize) -> Self {
        let mut output = circuit::Writer::default();
        output.inject_buffers_with_items(buffers, floats);
        Self { output }
    }
}

impl<I: BufferInbox + 'static> Kernel for Source<I> {
    async fn work(
        &mut self,
        _io: &mut WorkIo,
        _messages: &mut MessageOutputs,
        _meta: &BlockMeta,
    ) -> Result<()> {
        while let Some(buffer) = self.output.get_empty_buffer() {
            self.output.put_full_buffer(buffer)?;
        }
        Ok(())
    }
}

/// `y = a x + b` in place.
#[derive(Block)]
pub(crate) struct Saxpy<I: BufferInbox + 'static> {
    #[input]
    input: circuit::Reader<f32, I>,
    #[output]
    output: circuit::Writer<f32, I>,
    a: f32,
    b: f32,
}

impl<I: BufferInbox + 'static> Saxpy<I> {
    pub(crate) fn new() -> Self {
        Self { input: Default::default(), output: Default::default(), a: A, b: B }
    }
}

impl<I: BufferInbox + 'static> Kernel for Saxpy<I> {
    async fn work(
        &mut self,
        io: &mut WorkIo,
        _messages: &mut MessageOutputs,
        _meta: &BlockMeta,
    ) -> Result<()> {
        while let Some(mut buffer) = self.input.get_full_buffer() {
            saxpy(buffer.slice(), self.a, self.b);
            self.output.put_full_buffer(buffer)?;
        }
        io.finished = self.input.finished();
        Ok(())
    }
}

#[inline(never)]
fn saxpy(floats: &mut [f32], a: f32, b: f32) {
    for x in floats {
        *x = a * *x + b;
    }
}

/// Counts, and ends it all when the time is over.
#[derive(Block)]
pub(crate) struct Sink<I: BufferInbox + 'static> {
    #[input]
    input: circuit::Reader<f32, I>,
    duration: Duration,
    /// Between two looks at the clock.
    look_buffers: u64,
    buffers: u64,
    start: Option<Instant>,
    outcome: Option<Outcome>,
}

/// What came to the sink.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) samples: u64,
    pub(crate) seconds: f64,
}

impl<I: BufferInbox + 'static> Sink<I> {
    pub(crate) fn new(floats: usize, duration: Duration) -> Self {
        Self {
            input: Default::default(),
            duration,
            look_buffers: (LOOK_FLOATS / floats as u64).max(1),
            buffers: 0,
            start: None,
            outcome: None,
        }
    }

    /// # Panics
    ///
    /// Before the graph has ended.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome.expect("the sink ends the graph when it has one")
    }

    /// Whether this buffer is the last; the count begins with the first look.
    fn look(&mut self, floats: &[f32]) -> bool {
        let Some(start) = self.start else {
            (self.start, self.buffers) = (Some(Instant::now()), 0);
            return false;
        };
        let elapsed = start.elapsed();
        if elapsed < self.duration {
            return false;
        }
        // After that many passes over a buffer that nothing else writes to.
        let fixed = B / (1.0 - A);
        assert!(floats.iter().all(|x| (x - fixed).abs() < 1e-5), "the kernels have not run");
        let samples = self.buffers * floats.len() as u64;
        self.outcome = Some(Outcome { samples, seconds: elapsed.as_secs_f64() });
        true
    }
}

impl<I: BufferInbox + 'static> Kernel for Sink<I> {
    async fn work(
        &mut self,
        io: &mut WorkIo,
        _messages: &mut MessageOutputs,
        _meta: &BlockMeta,
    ) -> Result<()> {
        while let Some(mut buffer) = self.input.get_full_buffer() {
            self.buffers += 1;
            if self.buffers % self.look_buffers == 0 && self.look(buffer.slice()) {
                io.finished = true;
                return Ok(());
            }
        }
        io.finished = self.input.finished();
        Ok(())
    }
}

const A: f32 = 0.75;
const B: f32 = 0.25;

/// Some milliseconds between two looks at the clock, which is slower than a short buffer.
const LOOK_FLOATS: u64 = 1 << 22;
