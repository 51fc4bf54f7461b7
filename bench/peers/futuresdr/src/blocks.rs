//! The blocks of the chain, over either kind of inbox.

use std::time::Duration;

use futuresdr::runtime::buffer::dev::BufferInbox;
use futuresdr::runtime::dev::prelude::*;

use crate::count::{Count, Outcome};

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
    count: Count,
}

impl<I: BufferInbox + 'static> Sink<I> {
    pub(crate) fn new(duration: Duration) -> Self {
        Self { input: Default::default(), count: Count::new(duration) }
    }

    /// # Panics
    ///
    /// Before the graph has ended.
    pub(crate) fn outcome(&self) -> Outcome {
        self.count.outcome()
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
            if self.count.add(buffer.slice().len()) {
                // After that many passes over a buffer that nothing else writes to.
                let fixed = B / (1.0 - A);
                let is_right = buffer.slice().iter().all(|x| (x - fixed).abs() < 1e-5);
                assert!(is_right, "the kernels have not run");
                io.finished = true;
                return Ok(());
            }
        }
        io.finished = self.input.finished();
        Ok(())
    }
}

pub(crate) const A: f32 = 0.75;
pub(crate) const B: f32 = 0.25;
