//! A stream from a circuit onto the wire.

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

use samplewire_circuit::{Context, Failure, Flow, Quantum, Sink, Tag, TagKind, Work};
use samplewire_proto::SampleIndex;
use samplewire_proto::wire::Flags;

use super::account::missing_before;
use crate::format::{FormError, FormSample, check_form};
use crate::transmitter::{Filling, SendError, SendStream, SessionEnd};

/// Sends samples over a [`SendStream`], each at its index. It copies them once, into the quanta
/// that packets are cut from.
///
/// Missing samples, if tags report them, are sent as lost at the source. Any other jump of the
/// index is a new start on purpose. A burst ends at its tag and at the end of the graph, which
/// waits there until the receiver has everything. Before a jump, only whole packets do not end a
/// burst. The block sleeps while the receiver grants no credit. When the receiver ends the session,
/// the block ends the stream.
#[derive(Debug)]
pub struct TransmitterSink<T> {
    stream: SendStream,
    waker: Waker,
    /// What is being filled.
    filling: Option<Part>,
    /// The index after the last sample that was taken.
    next_index: SampleIndex,
    /// Samples of the present quantum that were taken.
    taken: usize,
    /// How the next quantum begins.
    flags: Flags,
    /// Whether samples were taken since a burst ended.
    may_end: bool,
    end: Arc<OnceLock<SessionEnd>>,
    samples: PhantomData<fn(T)>,
}

/// A quantum of the stream of which the front is filled.
#[derive(Debug)]
struct Part {
    filling: Filling,
    len_bytes: usize,
    index: SampleIndex,
}

impl<T: FormSample> TransmitterSink<T> {
    /// Into `stream`, from its first index on.
    ///
    /// # Errors
    /// [`FormError`]: the stream is of another format, or has other channels.
    pub fn new(stream: SendStream) -> Result<Self, FormError> {
        check_form::<T>(stream.info())?;
        Ok(Self {
            next_index: stream.session().first_index,
            stream,
            waker: Waker::noop().clone(),
            filling: None,
            taken: 0,
            flags: Flags::NONE,
            may_end: false,
            end: Arc::default(),
            samples: PhantomData,
        })
    }

    /// How the session ended, once the graph has.
    pub fn end(&self) -> Arc<OnceLock<SessionEnd>> {
        Arc::clone(&self.end)
    }

    /// Goes to the quantum's index, when that is not the next.
    fn jump(&mut self, quantum: &Quantum<T>) -> Result<(), Failure> {
        let (index, next) = (quantum.index(), self.next_index);
        if index == next {
            return Ok(());
        }
        if index < next {
            return Err(format!("sample {index} comes after sample {next}").into());
        }
        self.submit(Flags::NONE)?;
        let is_lost = |kind| missing_before(kind).is_some();
        let is_lost = quantum.tags().iter().any(|tag| tag.index == index && is_lost(&tag.kind));
        self.flags = if is_lost { Flags::OVERFLOW } else { Flags::START };
        self.next_index = index;
        Ok(())
    }

    /// Takes samples up to `end`; `None` when all are taken, else what the block says.
    fn take(&mut self, quantum: &Quantum<T>, end: usize) -> Result<Option<Flow>, Failure> {
        while self.taken < end {
            if let Some(flow) = self.begin()? {
                return Ok(Some(flow));
            }
            let part = self.filling.as_mut().expect("it has begun");
            let room = &mut part.filling.bytes_mut()[part.len_bytes..];
            let len = (end - self.taken).min(room.len() / size_of::<T>());
            let samples = bytemuck::cast_slice(&quantum.samples()[self.taken..self.taken + len]);
            room[..samples.len()].copy_from_slice(samples);
            part.len_bytes += samples.len();
            let is_full = room.len() - samples.len() < size_of::<T>();
            self.taken += len;
            self.next_index += len as u64;
            self.may_end = true;
            if is_full {
                self.submit(Flags::NONE)?;
            }
        }
        Ok(None)
    }

    /// Has a quantum to fill; what the block says when there is none.
    fn begin(&mut self) -> Result<Option<Flow>, Failure> {
        if self.filling.is_some() {
            return Ok(None);
        }
        match self.stream.poll_quantum(&self.waker) {
            Poll::Pending => Ok(Some(Flow::Sleep)),
            Poll::Ready(Ok(filling)) => {
                self.filling = Some(Part { filling, len_bytes: 0, index: self.next_index });
                Ok(None)
            }
            Poll::Ready(Err(SendError::Ended(end))) => {
                self.end.get_or_init(|| *end);
                Ok(Some(Flow::End))
            }
            Poll::Ready(Err(error)) => Err(error.into()),
        }
    }

    /// Sends what is filled.
    fn submit(&mut self, flags: Flags) -> Result<(), Failure> {
        if let Some(Part { filling, len_bytes, index }) = self.filling.take() {
            let flags = std::mem::replace(&mut self.flags, Flags::NONE) | flags;
            self.may_end &= !flags.contains(Flags::END_OF_BURST);
            self.stream.submit(filling, len_bytes, index, flags)?;
        }
        Ok(())
    }
}

impl<T: FormSample> Sink<T> for TransmitterSink<T> {
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.waker = context.waker.clone();
        Ok(())
    }

    fn consume(&mut self, quantum: &Quantum<T>) -> Work {
        if self.taken == 0 {
            // Where a burst ends that was taken with the last quantum.
            let ends = |tag: &Tag| tag.kind == TagKind::EndOfBurst && tag.index == quantum.index();
            if self.may_end && self.next_index <= quantum.index() && quantum.tags().iter().any(ends)
            {
                if let Some(flow) = self.begin()? {
                    return Ok(flow);
                }
                self.submit(Flags::END_OF_BURST)?;
            }
            self.jump(quantum)?;
        }
        for tag in quantum.tags().iter().filter(|tag| tag.kind == TagKind::EndOfBurst) {
            let end = tag.index.saturating_sub(quantum.index()) as usize;
            if end <= self.taken || end > quantum.len() {
                continue;
            }
            // The last sample stays behind until there is a quantum that ends the burst with it.
            if let Some(flow) = self.take(quantum, end - 1)? {
                return Ok(flow);
            }
            if let Some(flow) = self.begin()? {
                return Ok(flow);
            }
            let part = self.filling.as_mut().expect("it has begun");
            let at = part.len_bytes;
            let sample = bytemuck::bytes_of(&quantum.samples()[end - 1]);
            part.filling.bytes_mut()[at..at + size_of::<T>()].copy_from_slice(sample);
            part.len_bytes += size_of::<T>();
            (self.taken, self.next_index) = (end, self.next_index + 1);
            self.submit(Flags::END_OF_BURST)?;
        }
        if let Some(flow) = self.take(quantum, quantum.len())? {
            return Ok(flow);
        }
        self.taken = 0;
        Ok(Flow::Pass)
    }

    fn stop(&mut self) -> Result<(), Failure> {
        if self.end.get().is_some() {
            return Ok(());
        }
        self.submit(Flags::END_OF_BURST)?;
        let end = self.stream.finish(0)?;
        self.end.get_or_init(|| end);
        Ok(())
    }
}
