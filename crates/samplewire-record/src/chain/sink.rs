//! A sink that processes the samples written to it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use num_complex::Complex32;
use samplewire::format::Format;
use samplewire::{StreamInfo, TaiClock};
use samplewire_blocks::ChainExt;
use samplewire_blocks::kernels::ConvertFrom;
use samplewire_circuit::{Graph, Sequence, chain};
use samplewire_proto::SampleIndex;

use super::feed::{Feed, feed};
use super::spec::Scale;
use super::{ChainError, ChainSpec, Iq, info_behind, with_iq_type};
use crate::graph::SinkBlock;
use crate::sigmf::RecordedGap;
use crate::sink::{Backlog, SinkError, SinkSummary, WriteSamples};

/// Processes samples by a [`ChainSpec`] and writes them to another sink, as fc32.
///
/// Output `n` corresponds to input `n * decimation / interpolation`, so the recording counts its
/// indexes at the new rate. A gap of the input becomes a gap of the output with the same cause.
///
/// ```
/// use samplewire::StreamInfo;
/// use samplewire_record::chain::{ChainSink, ChainSpec};
/// use samplewire_record::sink::{self, WriteSamples, SinkOptions};
///
/// let spec: ChainSpec = "lowpass:200k,decimate:8".parse()?;
/// let info = StreamInfo::sc16("", 10e6)?;
/// let behind = ChainSink::info_behind(&spec, &info)?;
/// assert_eq!(behind.rate_hz(), 1.25e6);
/// let file = sink::open("null".as_ref(), &behind, &SinkOptions::new())?;
/// let mut sink = ChainSink::start(&spec, &info, file)?;
/// sink.write(0, &[0; 4 * 80_000])?;
/// assert_eq!(sink.finish()?.samples, 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ChainSink {
    feed: Feed,
    frame_bytes: usize,
    scale: Scale,
    target: Target,
    thread: Option<JoinHandle<Result<(), String>>>,
    /// Samples that were written to the chain.
    taken_samples: u64,
    /// The index after the last sample or gap.
    next_index: Option<SampleIndex>,
    backlog: Backlog,
}

impl ChainSink {
    /// Returns the stream for which the other sink must be opened.
    ///
    /// # Errors
    /// [`ChainError`]: the samples are not IQ of one channel, or a step does not suit the rate.
    pub fn info_behind(spec: &ChainSpec, info: &StreamInfo) -> Result<StreamInfo, ChainError> {
        info_behind(spec, info, Format::Fc32)
    }

    /// Starts a thread that processes samples of `info` and writes them to `sink`.
    ///
    /// # Errors
    /// As [`ChainSink::info_behind`]; also when there is not enough memory, or no thread can be
    /// started.
    pub fn start(
        spec: &ChainSpec,
        info: &StreamInfo,
        sink: Box<dyn WriteSamples>,
    ) -> Result<Self, ChainError> {
        with_iq_type!(info, start(spec, info, sink))
    }

    /// Ends the graph, and returns its error, if any.
    fn join(&mut self) -> Result<(), SinkError> {
        let Some(thread) = self.thread.take() else { return Err(SinkError::closed()) };
        let ended = thread.join().expect("a graph returns the panics of its blocks");
        ended.map_err(|why| SinkError::Chain { why })
    }

    /// Records the gap after the last sample: no later sample carries its tags.
    fn end_gap(&mut self) -> Result<(), SinkError> {
        let (mut target, Some(next_index)) = (self.target.lock(), self.next_index) else {
            return Ok(());
        };
        let Some(gap) = self.target_gap(&target, next_index) else { return Ok(()) };
        target.sink.gap(&gap)
    }

    fn target_gap(&self, target: &Written, next_index: SampleIndex) -> Option<RecordedGap> {
        let gap = target.last_gap.filter(|gap| gap.end() == next_index)?;
        let first = target.next_index.unwrap_or_else(|| self.scale.output_of(gap.first));
        let missing = self.scale.output_of(next_index).saturating_sub(first);
        let (not_repaired, source_lost) =
            if gap.not_repaired > 0 { (missing, 0) } else { (0, missing) };
        (missing > 0).then_some(RecordedGap { first, not_repaired, source_lost, ..gap })
    }
}

fn start<T: Iq>(
    spec: &ChainSpec,
    info: &StreamInfo,
    sink: Box<dyn WriteSamples>,
) -> Result<ChainSink, ChainError>
where
    Complex32: ConvertFrom<T>,
{
    let behind = ChainSink::info_behind(spec, info)?;
    let backlog = sink.backlog();
    let written = Written { sink, next_index: None, last_gap: None };
    let target = Target(Arc::new(Mutex::new(written)));
    let (feed, source) = feed::<T>(info.rate_hz());
    let blocks = spec.add_to(chain(source).named("source").convert(), info.rate_hz())?;
    let end = SinkBlock::<Complex32>::new(Box::new(target.clone()), &behind)?;
    let graph = blocks.sink(end).build()?;
    Ok(ChainSink {
        feed,
        frame_bytes: info.frame_bytes(),
        scale: spec.ratio(),
        target,
        thread: Some(spawn(graph)?),
        taken_samples: 0,
        next_index: None,
        backlog,
    })
}

/// Runs a graph in a separate thread until its stream ends; returns its error, if any.
pub(super) fn spawn(graph: Graph) -> std::io::Result<JoinHandle<Result<(), String>>> {
    let builder = std::thread::Builder::new().name("samplewire-chain".to_owned());
    builder.spawn(move || graph.run(Sequence::new()).map(|_| ()).map_err(|error| error.to_string()))
}

impl WriteSamples for ChainSink {
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        if self.feed.samples(index, bytes, self.frame_bytes).is_err() {
            return self.join().and(Err(SinkError::closed()));
        }
        let samples = (bytes.len() / self.frame_bytes) as u64;
        self.taken_samples += samples;
        self.next_index = Some(index + samples);
        Ok(())
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        if self.feed.gap(gap).is_err() {
            return self.join().and(Err(SinkError::closed()));
        }
        self.target.lock().last_gap = Some(*gap);
        self.next_index = Some(gap.end());
        Ok(())
    }

    /// A chain processes one session only: indexes of another run of the device do not continue
    /// those of the first.
    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        if self.next_index.is_some() {
            return Err(SinkError::Chain { why: "the stream was opened a second time".into() });
        }
        self.target.lock().sink.session(boot_id)
    }

    /// A chain processes one session only, which has one centre frequency.
    fn tune(&mut self, _centre_hz: Option<f64>) -> Result<(), SinkError> {
        Err(SinkError::Chain { why: "the centre frequency changed".into() })
    }

    /// The outputs have the times of the inputs to which they correspond.
    fn time(&mut self, clock: Option<TaiClock>) -> Result<(), SinkError> {
        let clock = clock.and_then(|clock| self.scale.clock_of(clock));
        self.target.lock().sink.time(clock)
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        let mut ended = Ok(());
        if self.thread.is_some() {
            // A graph that has ended reports its error in `join`.
            let _is_gone = self.feed.end().is_err();
            ended = self.join().and_then(|()| self.end_gap());
        }
        let summary = self.target.lock().sink.finish()?;
        ended.map(|()| SinkSummary { taken_samples: Some(self.taken_samples), ..summary })
    }

    fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }
}

impl Drop for ChainSink {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _is_gone = self.feed.end().is_err();
            let _has_failed = self.join().is_err();
        }
    }
}

impl fmt::Debug for ChainSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainSink").field("target", &self.target).finish_non_exhaustive()
    }
}

/// The other sink. The graph writes to it, and the [`ChainSink`] finishes it.
#[derive(Clone, Debug)]
struct Target(Arc<Mutex<Written>>);

#[derive(Debug)]
struct Written {
    sink: Box<dyn WriteSamples>,
    /// The index after the graph's last write.
    next_index: Option<SampleIndex>,
    /// The latest gap, in indexes of the input.
    last_gap: Option<RecordedGap>,
}

impl Target {
    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock().expect("no sink panics")
    }
}

/// The lock is taken once for each quantum.
impl WriteSamples for Target {
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        let mut target = self.lock();
        target.next_index = Some(index + (bytes.len() / size_of::<Complex32>()) as u64);
        target.sink.write(index, bytes)
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        let mut target = self.lock();
        target.next_index = Some(gap.end());
        target.sink.gap(gap)
    }

    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        self.lock().sink.session(boot_id)
    }

    /// The end of the graph does not finish the sink: a gap may follow.
    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        Ok(SinkSummary::default())
    }
}

#[cfg(test)]
mod tests {
    use samplewire_proto::Cause;

    use super::*;
    use crate::sigmf::RecordedCause;

    /// Everything that a chain has written.
    #[derive(Clone, Debug, Default)]
    struct Log {
        samples: Arc<Mutex<Vec<(u64, Complex32)>>>,
        gaps: Arc<Mutex<Vec<RecordedGap>>>,
    }

    impl WriteSamples for Log {
        fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
            let samples = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned);
            self.samples.lock().unwrap().extend((index..).zip(samples));
            Ok(())
        }

        fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
            self.gaps.lock().unwrap().push(*gap);
            Ok(())
        }

        fn finish(&mut self) -> Result<SinkSummary, SinkError> {
            Ok(SinkSummary::default())
        }
    }

    impl Log {
        /// All samples with their indexes, which rise by one except at gaps.
        fn samples(&self) -> Vec<(u64, Complex32)> {
            self.samples.lock().unwrap().clone()
        }

        fn gaps(&self) -> Vec<RecordedGap> {
            self.gaps.lock().unwrap().clone()
        }
    }

    fn start(text: &str, rate_hz: f64) -> (ChainSink, Log) {
        let log = Log::default();
        let info = StreamInfo::sc16("", rate_hz).unwrap();
        let spec: ChainSpec = text.parse().unwrap();
        (ChainSink::start(&spec, &info, Box::new(log.clone())).unwrap(), log)
    }

    fn gap(first: u64, samples: u64, cause: RecordedCause) -> RecordedGap {
        let (not_repaired, source_lost) = match cause {
            RecordedCause::DiskBehind => (0, samples),
            _ => (samples, 0),
        };
        RecordedGap::new(first, not_repaired, source_lost, cause)
    }

    fn constant(samples: usize) -> Vec<u8> {
        [16_384_i16, 0].repeat(samples).iter().flat_map(|part| part.to_le_bytes()).collect()
    }

    #[test]
    fn indexes_follow_the_rate_and_every_one_is_written_or_missing() {
        let (mut sink, log) = start("decimate:8", 8e6);
        let cause = RecordedCause::Stream(Cause::Deadline);
        sink.session(7).unwrap();
        // Index 1,001 lies between outputs 125 and 126.
        sink.write(1_001, &constant(100_000)).unwrap();
        sink.gap(&gap(101_001, 4_321, cause)).unwrap();
        sink.write(105_322, &constant(100_000)).unwrap();
        sink.gap(&gap(205_322, 1_000, RecordedCause::DiskBehind)).unwrap();
        let summary = sink.finish().unwrap();
        assert_eq!(summary.taken_samples, Some(200_000));
        let mut covered: Vec<u64> = log.samples().iter().map(|(index, _)| *index).collect();
        let gaps = log.gaps();
        covered.extend(gaps.iter().flat_map(|gap| gap.first..gap.end()));
        covered.sort_unstable();
        let all: Vec<u64> = (126..206_322_u64.div_ceil(8)).collect();
        assert!(covered == all, "{} of {}, {gaps:?}", covered.len(), all.len());
        let causes: Vec<_> = gaps.iter().map(|gap| gap.cause).collect();
        assert_eq!(causes, [cause, RecordedCause::DiskBehind]);
        assert!(gaps[0].count().abs_diff(4_321 / 8) <= 2, "{gaps:?}");
    }

    #[test]
    fn blocks_do_what_the_steps_say() {
        // The input is a constant. The output is 1 MHz higher, twice as strong, at an eighth of the
        // rate.
        let (mut sink, log) = start("mix:1M,gain:2", 8e6);
        sink.write(0, &constant(1_000)).unwrap();
        sink.finish().unwrap();
        let samples = log.samples();
        assert_eq!(samples.len(), 1_000);
        for (index, sample) in samples {
            let turn = Complex32::cis(std::f32::consts::TAU * (index % 8) as f32 / 8.0);
            assert!((sample - turn).norm() < 1e-3, "{index}: {sample}");
        }
        // A constant passes the filter unchanged; 3 MHz does not pass.
        for (text, height) in [("lowpass:200k,decimate:8", 0.5), ("mix:3M,lowpass:200k", 0.0)] {
            let (mut sink, log) = start(text, 8e6);
            sink.write(0, &constant(40_000)).unwrap();
            sink.finish().unwrap();
            let last = log.samples().last().unwrap().1;
            assert!((last.norm() - height).abs() < 1e-3, "{text}: {last}");
        }
    }

    #[test]
    fn failing_sink_ends_the_chain_with_its_error() {
        #[derive(Debug)]
        struct Full;
        impl WriteSamples for Full {
            fn write(&mut self, _: SampleIndex, _: &[u8]) -> Result<(), SinkError> {
                Err(SinkError::Partial { len_bytes: 3, frame_bytes: 2 })
            }
            fn gap(&mut self, _: &RecordedGap) -> Result<(), SinkError> {
                Ok(())
            }
            fn session(&mut self, _: u64) -> Result<(), SinkError> {
                Ok(())
            }
            fn finish(&mut self) -> Result<SinkSummary, SinkError> {
                Ok(SinkSummary::default())
            }
        }
        let (spec, info) = ("gain:1".parse().unwrap(), StreamInfo::sc16("", 1e6).unwrap());
        let mut sink = ChainSink::start(&spec, &info, Box::new(Full)).unwrap();
        let bytes = constant(1 << 16);
        let error = (0..1_000).find_map(|at| sink.write(at << 16, &bytes).err()).unwrap();
        assert!(error.to_string().contains("3 bytes are no whole number"), "{error}");
        assert!(sink.write(0, &bytes).is_err());
    }

    #[test]
    fn other_samples_are_refused_by_name() {
        let spec = "gain:1".parse().unwrap();
        let info = StreamInfo::new(Format::R16, 1, 1e6).unwrap();
        let error = ChainSink::start(&spec, &info, Box::new(Log::default())).unwrap_err();
        assert!(error.to_string().ends_with("not 1 of r16"), "{error}");
        let info = StreamInfo::new(Format::Sc16, 2, 1e6).unwrap();
        let error = ChainSink::start(&spec, &info, Box::new(Log::default())).unwrap_err();
        assert!(error.to_string().ends_with("not 2 of sc16"), "{error}");
    }

    #[test]
    fn mixing_moves_the_centre_frequency() {
        let mut info = StreamInfo::sc16("", 10e6).unwrap();
        info.centre_frequency_hz = Some(100e6);
        info.len_samples = Some(17);
        let spec: ChainSpec = "mix:-1.2M,decimate:8".parse().unwrap();
        let behind = ChainSink::info_behind(&spec, &info).unwrap();
        assert_eq!(behind.centre_frequency_hz, Some(101.2e6));
        assert_eq!((behind.format, behind.len_samples), (Format::Fc32, Some(3)));
    }
}
