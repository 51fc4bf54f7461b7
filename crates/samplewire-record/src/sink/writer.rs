//! A thread that writes to a sink, with a bounded queue of quanta before it.

use std::any::Any;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use samplewire::{Block, TaiClock};
use samplewire_proto::SampleIndex;

use super::{Backlog, SinkError, SinkSummary, WriteSamples};
use crate::sigmf::RecordedGap;

/// Writes blocks directly from the receiver's memory: there is no copy before the sink.
///
/// Waiting blocks hold the stream's memory. A sink that is too slow therefore reduces the sender's
/// credit, and a converter then loses samples. The queue itself adds only its slots. A program that
/// must not hold the stream's memory passes [copies](Self::copied).
#[derive(Debug)]
pub struct Writer {
    /// `None` after the end of the input.
    jobs: Option<SyncSender<Job>>,
    /// `None` after the thread was joined.
    thread: Option<JoinHandle<Ended>>,
    sink: Option<Box<dyn WriteSamples>>,
    waiting: Arc<AtomicUsize>,
    /// Copies that were written.
    spares: Receiver<Vec<u8>>,
    backlog: Backlog,
    depth: Depth,
}

/// How full a writer's queue was. Its entries are quanta, or parts of quanta between gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// The number of slots.
    pub max: usize,
    /// The most entries that waited.
    pub highest: usize,
    /// How often there was no room.
    pub full: u64,
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all jobs are samples, and a box would be an allocation for each"
)]
#[derive(Debug)]
enum Job {
    Samples { block: Block, index: SampleIndex, bytes: Range<usize> },
    Copied { index: SampleIndex, bytes: Vec<u8> },
    Gap(RecordedGap),
    Event { index: SampleIndex, text: String },
    Session(u64),
    Tune(Option<f64>),
    Time(Option<TaiClock>),
}

/// What the thread returns.
#[derive(Debug)]
struct Ended {
    sink: Box<dyn WriteSamples>,
    result: Result<(), SinkError>,
}

impl Writer {
    /// Starts the thread, with a queue of `depth_max` slots, at least [`Writer::ROOM`].
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(sink: Box<dyn WriteSamples>, depth_max: usize) -> io::Result<Self> {
        let max = depth_max.max(Self::ROOM);
        let (jobs, to_do) = sync_channel(max);
        let (written, spares) = sync_channel(SPARES_MAX);
        let waiting = Arc::new(AtomicUsize::new(0));
        let backlog = sink.backlog();
        let done = Done { waiting: Arc::clone(&waiting), backlog: backlog.clone(), written };
        let builder = Builder::new().name("samplewire-file".to_owned());
        let thread = builder.spawn(move || write(sink, &to_do, &done))?;
        let depth = Depth { max, ..Depth::default() };
        let (jobs, thread) = (Some(jobs), Some(thread));
        Ok(Self { jobs, thread, sink: None, waiting, spares, backlog, depth })
    }

    /// The number of slots that one block and its gaps may need.
    pub const ROOM: usize = 8;

    /// Returns whether the sink has ended before [`Self::finish`]. The next call returns its error.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns whether a block and its gaps fit without blocking; counts the times when they do
    /// not. A sink that [has ended](Self::has_ended) has room: its error must not wait.
    pub fn has_room(&mut self) -> bool {
        if self.has_ended() {
            return true;
        }
        // Relaxed: a count only; the channel hands over the entries.
        let has_room = self.waiting.load(Ordering::Relaxed) + Self::ROOM <= self.depth.max;
        self.depth.full += u64::from(!has_room);
        has_room
    }

    /// Queues the samples in `bytes` of a block; the first has `index`.
    ///
    /// # Errors
    /// The [`SinkError`] that ended the sink, once; then [`SinkError::Closed`].
    ///
    /// # Blocking
    /// Until there is room.
    pub fn samples(
        &mut self,
        block: Block,
        index: SampleIndex,
        bytes: Range<usize>,
    ) -> Result<(), SinkError> {
        self.backlog.add_to_write(bytes.len());
        self.queue(Job::Samples { block, index, bytes })
    }

    /// Queues a copy of samples; the first has `index`.
    ///
    /// # Errors
    /// As [`Self::samples`].
    ///
    /// # Blocking
    /// Until there is room.
    pub fn copied(&mut self, index: SampleIndex, bytes: Vec<u8>) -> Result<(), SinkError> {
        self.backlog.add_to_write(bytes.len());
        self.queue(Job::Copied { index, bytes })
    }

    /// Returns the empty memory of a copy that was written, if any, for the next one.
    pub fn spare(&mut self) -> Option<Vec<u8>> {
        self.spares.try_recv().ok()
    }

    /// Queues [`WriteSamples::gap`].
    ///
    /// # Errors
    /// As [`Self::samples`].
    ///
    /// # Blocking
    /// Until there is room.
    pub fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.queue(Job::Gap(*gap))
    }

    /// Queues [`WriteSamples::event`].
    ///
    /// # Errors
    /// As [`Self::samples`].
    ///
    /// # Blocking
    /// Until there is room.
    pub fn event(&mut self, index: SampleIndex, text: String) -> Result<(), SinkError> {
        self.queue(Job::Event { index, text })
    }

    /// Queues [`WriteSamples::session`].
    ///
    /// # Errors
    /// As [`Self::samples`].
    ///
    /// # Blocking
    /// Until there is room.
    pub fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        self.queue(Job::Session(boot_id))
    }

    /// Queues [`WriteSamples::tune`].
    ///
    /// # Errors
    /// As [`Self::samples`].
    ///
    /// # Blocking
    /// Until there is room.
    pub fn tune(&mut self, centre_hz: Option<f64>) -> Result<(), SinkError> {
        self.queue(Job::Tune(centre_hz))
    }

    /// Queues [`WriteSamples::time`].
    ///
    /// # Errors
    /// As [`Self::samples`].
    ///
    /// # Blocking
    /// Until there is room.
    pub fn time(&mut self, clock: Option<TaiClock>) -> Result<(), SinkError> {
        self.queue(Job::Time(clock))
    }

    /// Returns the unfinished work of the queue and of the sink.
    pub fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }

    /// Returns how full the queue was.
    pub const fn depth(&self) -> Depth {
        self.depth
    }

    /// Waits until everything is written, and finishes the sink. Returns the sink's summary, also
    /// after an error, and the sink's first error that was not returned before. The summary of a sink
    /// that panicked is empty.
    ///
    /// # Blocking
    /// As long as the sink blocks.
    pub fn finish(mut self) -> (SinkSummary, Option<SinkError>) {
        let unheard = self.end().err();
        let Some(sink) = &mut self.sink else { return (SinkSummary::default(), unheard) };
        match sink.finish() {
            Ok(summary) => (summary, unheard),
            Err(error) => (sink.finish().unwrap_or_default(), unheard.or(Some(error))),
        }
    }

    fn queue(&mut self, job: Job) -> Result<(), SinkError> {
        let Some(jobs) = &self.jobs else { return Err(SinkError::closed()) };
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        self.depth.highest = self.depth.highest.max(waiting.min(self.depth.max));
        match jobs.send(job) {
            Ok(()) => Ok(()),
            // The thread has ended, which happens only after an error.
            Err(_) => self.end().and(Err(SinkError::closed())),
        }
    }

    /// Ends the thread; returns its error at the first call.
    fn end(&mut self) -> Result<(), SinkError> {
        self.jobs = None;
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let ended = thread.join();
        self.backlog.forget_writes();
        // The stream does not end with the sink.
        let Ended { sink, result } = ended.map_err(|panic| SinkError::of_panic(&*panic))?;
        self.sink = Some(sink);
        result
    }
}

impl SinkError {
    /// The sink accepts no more samples.
    pub(crate) fn closed() -> Self {
        Self::Closed { path: "the file".into() }
    }

    fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let words = panic.downcast_ref::<&str>().map(|&words| words.to_owned());
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Panicked { words: words.unwrap_or_default() }
    }
}

/// What the thread reports while it works.
struct Done {
    waiting: Arc<AtomicUsize>,
    backlog: Backlog,
    written: SyncSender<Vec<u8>>,
}

impl Done {
    /// Gives the memory of a copy back. What finds no room there is freed.
    fn give_back(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        drop(self.written.try_send(bytes));
    }
}

fn write(mut sink: Box<dyn WriteSamples>, to_do: &Receiver<Job>, done: &Done) -> Ended {
    for job in to_do {
        let written = match job {
            Job::Samples { block, index, bytes } => {
                let len_bytes = bytes.len();
                let written = sink.write(index, &block.bytes()[bytes]);
                done.backlog.wrote(len_bytes);
                written
            }
            Job::Copied { index, bytes } => {
                let written = sink.write(index, &bytes);
                done.backlog.wrote(bytes.len());
                done.give_back(bytes);
                written
            }
            Job::Gap(gap) => sink.gap(&gap),
            Job::Event { index, text } => sink.event(index, &text),
            Job::Session(boot_id) => sink.session(boot_id),
            Job::Tune(centre_hz) => sink.tune(centre_hz),
            Job::Time(clock) => sink.time(clock),
        };
        done.waiting.fetch_sub(1, Ordering::Relaxed);
        if written.is_err() {
            return Ended { sink, result: written };
        }
    }
    Ended { sink, result: Ok(()) }
}

/// Memory of copies that is kept for the next ones.
const SPARES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use samplewire::StreamInfo;
    use samplewire_proto::wire::Format;

    use super::*;
    use crate::sigmf::RecordedCause;
    use crate::sink::NullSink;

    /// Accepts a gap for each message in the channel, and fails at index 13.
    #[derive(Debug)]
    struct Slow(mpsc::Receiver<()>, u64);

    impl WriteSamples for Slow {
        fn write(&mut self, _index: SampleIndex, _bytes: &[u8]) -> Result<(), SinkError> {
            Ok(())
        }

        fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
            self.0.recv().unwrap();
            self.1 += 1;
            if gap.first == 13 { Err(SinkError::Busy { path: "13".into() }) } else { Ok(()) }
        }

        fn finish(&mut self) -> Result<SinkSummary, SinkError> {
            Ok(SinkSummary { gaps: self.1, ..SinkSummary::default() })
        }
    }

    fn gap(first: u64) -> RecordedGap {
        RecordedGap::new(first, 1, 0, RecordedCause::DiskBehind)
    }

    #[test]
    fn depth_is_counted_and_bounded() {
        let (go, wait) = mpsc::channel();
        let mut writer = Writer::start(Box::new(Slow(wait, 0)), 10).unwrap();
        for first in 0..3 {
            assert!(writer.has_room());
            writer.gap(&gap(first)).unwrap();
        }
        assert!(!writer.has_room(), "3 of 10 wait, and a block may take 8");
        (0..3).for_each(|_| go.send(()).unwrap());
        while !writer.has_room() {
            std::thread::yield_now();
        }
        assert_eq!((writer.depth().max, writer.depth().highest), (10, 3));
        assert!(writer.depth().full >= 1);
        let (summary, error) = writer.finish();
        assert_eq!((summary.gaps, error.is_none()), (3, true));
    }

    #[test]
    fn error_of_the_sink_is_returned_once_and_the_sink_is_finished() {
        for fails_at_the_end in [false, true] {
            let (go, wait) = mpsc::channel();
            let mut writer = Writer::start(Box::new(Slow(wait, 0)), 10).unwrap();
            writer.gap(&gap(13)).unwrap();
            go.send(()).unwrap();
            let mut error_before = None;
            while !fails_at_the_end && error_before.is_none() {
                error_before = writer.gap(&gap(14)).err();
            }
            let (summary, error) = writer.finish();
            assert!(matches!(error_before.or(error), Some(SinkError::Busy { .. })));
            assert_eq!(summary.gaps, 1);
        }
    }

    /// Panics at the first write.
    #[derive(Debug)]
    struct Broken;

    impl WriteSamples for Broken {
        fn write(&mut self, index: SampleIndex, _bytes: &[u8]) -> Result<(), SinkError> {
            panic!("at index {index}")
        }

        fn gap(&mut self, _gap: &RecordedGap) -> Result<(), SinkError> {
            Ok(())
        }

        fn finish(&mut self) -> Result<SinkSummary, SinkError> {
            Ok(SinkSummary::default())
        }
    }

    #[test]
    fn panic_of_the_sink_is_an_error_of_the_writer() {
        for fails_at_the_end in [false, true] {
            let mut writer = Writer::start(Box::new(Broken), 10).unwrap();
            writer.copied(7, vec![1; 40]).unwrap();
            let mut error_before = None;
            while !fails_at_the_end && error_before.is_none() {
                error_before = writer.gap(&gap(14)).err();
            }
            if !fails_at_the_end {
                assert!(writer.has_ended() && writer.has_room());
                assert!(matches!(writer.gap(&gap(15)), Err(SinkError::Closed { .. })));
            }
            let backlog = writer.backlog();
            let (summary, error) = writer.finish();
            let words = error_before.or(error).expect("an error").to_string();
            assert_eq!(words, "a defect in writing: at index 7");
            assert_eq!((summary.samples, backlog.to_write_bytes()), (0, 0));
        }
    }

    #[test]
    fn memory_of_a_copy_comes_back_when_it_is_written() {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let mut writer = Writer::start(Box::new(NullSink::new(&info)), 10).unwrap();
        let copy = vec![1; 4_000];
        let place = copy.as_ptr();
        writer.copied(5, copy).unwrap();
        let spare = loop {
            match writer.spare() {
                Some(spare) => break spare,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!((spare.as_ptr(), spare.len(), spare.capacity()), (place, 0, 4_000));
        assert_eq!(writer.backlog().to_write_bytes(), 0);
        assert_eq!(writer.finish().0.samples, 1_000);
    }
}
