//! The block in which the graph of a view begins.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use samplewire::source::StreamInfo;
use samplewire_circuit::{Failure, Flow, Quantum, Sample, Source, Work};

use crate::source::lock;

/// The samples that the graph has not read.
#[derive(Debug)]
pub(super) struct Input {
    index: u64,
    /// Samples of one channel, as on the wire.
    bytes: Vec<u8>,
    read_bytes: usize,
    sample_bytes: usize,
    frame_bytes: usize,
    channel: usize,
}

impl Input {
    pub(super) fn new(info: &StreamInfo, channel: u16) -> Self {
        Self {
            index: 0,
            bytes: Vec::new(),
            read_bytes: 0,
            sample_bytes: info.format.sample_bytes(),
            frame_bytes: info.frame_bytes(),
            channel: usize::from(channel),
        }
    }

    /// Replaces the samples by those of the channel in a run: a multiple of `len` samples.
    pub(super) fn set(&mut self, index: u64, run: &[u8], len: usize) {
        let run = &run[..run.len() / (self.frame_bytes * len) * (self.frame_bytes * len)];
        self.bytes.clear();
        (self.index, self.read_bytes) = (index, 0);
        let first = self.channel * self.sample_bytes;
        if self.frame_bytes == self.sample_bytes {
            self.bytes.extend_from_slice(run);
            return;
        }
        for frame in run.chunks_exact(self.frame_bytes) {
            self.bytes.extend_from_slice(&frame[first..first + self.sample_bytes]);
        }
    }
}

/// Fills quanta with the samples of the input.
pub(super) struct RunSource<T> {
    input: Arc<Mutex<Input>>,
    samples: PhantomData<fn() -> T>,
}

impl<T> RunSource<T> {
    pub(super) const fn new(input: Arc<Mutex<Input>>) -> Self {
        Self { input, samples: PhantomData }
    }
}

impl<T: Sample + bytemuck::Pod> Source<T> for RunSource<T> {
    fn fill(&mut self, quantum: &mut Quantum<T>) -> Work {
        let mut input = lock(&self.input);
        let left = &input.bytes[input.read_bytes..];
        let samples = (left.len() / size_of::<T>()).min(quantum.capacity());
        if samples == 0 {
            return Ok(Flow::Sleep);
        }
        let len_bytes = samples * size_of::<T>();
        quantum.set_index(input.index);
        quantum.set_len(samples);
        quantum.data_mut().copy_from_slice(&left[..len_bytes]);
        input.index += samples as u64;
        input.read_bytes += len_bytes;
        Ok::<_, Failure>(Flow::Pass)
    }
}
