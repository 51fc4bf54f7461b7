//! A source that processes its samples with a chain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use num_complex::Complex32;
use rtrb::{Consumer, Producer, RingBuffer};
use samplewire::StreamInfo;
use samplewire::ends::SourceBlock;
use samplewire::format::{FormSample, Format};
use samplewire::source::{ReadSamples, whole_frames};
use samplewire_blocks::ChainExt;
use samplewire_blocks::kernels::ConvertFrom;
use samplewire_circuit::wait::Bell;
use samplewire_circuit::{Context, Control, Failure, Flow, Quantum, Sink, Work, chain};

use super::sink::spawn;
use super::{ChainError, ChainSpec, Iq, info_behind, with_iq_type};

/// Processes the samples of another source with a [`ChainSpec`], and keeps the source's format.
///
/// ```
/// use samplewire::source::{CounterSource, ReadSamples};
/// use samplewire_record::chain::{ChainSource, ChainSpec};
///
/// let spec: ChainSpec = "decimate:4".parse()?;
/// let mut source = ChainSource::start(&spec, Box::new(CounterSource::new(8e6, 0)?))?;
/// assert_eq!(source.info().rate_hz(), 2e6);
/// let mut samples = [0; 4_000];
/// assert_eq!(source.read(&mut samples)?, 4_000);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct ChainSource {
    info: StreamInfo,
    bytes: Consumer<u8>,
    shared: Arc<Shared>,
    control: Control,
    thread: Option<JoinHandle<Result<(), String>>>,
}

/// What the graph and the reader share.
#[derive(Debug)]
struct Shared {
    /// Rings when there are samples in the ring.
    filled: Bell,
    /// Rings when there is room in the ring.
    room: Bell,
    /// The graph has ended and gives no more samples.
    is_gone: AtomicBool,
}

impl ChainSource {
    /// Starts a thread that reads `source` and processes its samples.
    ///
    /// # Errors
    /// [`ChainError`]: the samples are not IQ of one channel, or a step is not possible at the
    /// rate. Also when there is not enough memory, or no thread can be started.
    pub fn start(spec: &ChainSpec, source: Box<dyn ReadSamples>) -> Result<Self, ChainError> {
        let info = source.info().clone();
        with_iq_type!(info, start(spec, &info, source))
    }
}

fn start<T: Iq>(
    spec: &ChainSpec,
    info: &StreamInfo,
    source: Box<dyn ReadSamples>,
) -> Result<ChainSource, ChainError>
where
    Complex32: ConvertFrom<T>,
{
    let behind = info_behind(spec, info, info.format)?;
    let (bytes, bytes_out) = RingBuffer::new(BYTES);
    let shared = Arc::new(Shared {
        filled: Bell::new(),
        room: Bell::new(),
        is_gone: AtomicBool::new(false),
    });
    let end = RingSink { bytes, shared: Arc::clone(&shared), waker: None };
    let source = SourceBlock::<T>::new(source)?;
    let blocks = spec.add_to(chain(source).named("source").convert(), info.rate_hz())?;
    let graph = blocks.convert::<T>().sink(end).build()?;
    let control = graph.control();
    let thread = Some(spawn(graph)?);
    Ok(ChainSource { info: behind, bytes: bytes_out, shared, control, thread })
}

impl ReadSamples for ChainSource {
    fn info(&self) -> &StreamInfo {
        &self.info
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        let frame_bytes = self.info.frame_bytes();
        let out = whole_frames(out, frame_bytes);
        let mut filled = 0;
        while filled < out.len() {
            // Acquire: samples that were pushed before the end are seen after it.
            let is_gone = self.shared.is_gone.load(Ordering::Acquire);
            let len_bytes = self.bytes.slots().min(out.len() - filled);
            if len_bytes == 0 && is_gone {
                break;
            }
            if len_bytes == 0 {
                self.shared.filled.announce();
                if self.bytes.is_empty() && !self.shared.is_gone.load(Ordering::Acquire) {
                    self.shared.filled.wait(PAUSE_MAX);
                }
                continue;
            }
            let place = &mut out[filled..filled + len_bytes];
            self.bytes.pop_entire_slice(place).expect("they are there");
            self.shared.room.ring();
            filled += len_bytes;
        }
        if filled == 0
            && let Some(thread) = self.thread.take()
        {
            thread.join().expect("a graph returns the panics of its blocks")?;
        }
        Ok(filled)
    }
}

impl Drop for ChainSource {
    fn drop(&mut self) {
        self.control.stop();
        self.shared.room.ring();
        if let Some(thread) = self.thread.take() {
            // The reader no longer needs the remaining samples, nor the reason for the end.
            let _ended = thread.join();
        }
    }
}

/// The last block: passes its samples to the reader.
struct RingSink {
    bytes: Producer<u8>,
    shared: Arc<Shared>,
    waker: Option<std::task::Waker>,
}

impl<T: FormSample> Sink<T> for RingSink {
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.waker = Some(context.waker.clone());
        Ok(())
    }

    fn consume(&mut self, quantum: &Quantum<T>) -> Work {
        let bytes = quantum.data();
        if self.bytes.slots() < bytes.len() {
            let waker = self.waker.as_ref().expect("it was started");
            self.shared.room.announce_to(waker);
            if self.bytes.slots() < bytes.len() {
                return Ok(Flow::Sleep);
            }
        }
        self.bytes.push_entire_slice(bytes).expect("there is room");
        self.shared.filled.ring();
        Ok(Flow::Pass)
    }
}

impl Drop for RingSink {
    fn drop(&mut self) {
        // Release: a thread that reads `true` also sees all samples pushed before.
        self.shared.is_gone.store(true, Ordering::Release);
        self.shared.filled.ring();
    }
}

/// Bytes in the ring: 16 quanta of the largest size that a circuit chooses.
const BYTES: usize = 1 << 20;

/// The longest sleep of a reader.
const PAUSE_MAX: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use samplewire::source::CounterSource;

    use super::*;
    use crate::source::{SourceOptions, SourceSpec};

    fn open(spec: &str, samples: u64) -> Box<dyn ReadSamples> {
        let spec: SourceSpec = spec.parse().unwrap();
        let mut source = spec.open(&SourceOptions::new().rate_hz(8e6)).unwrap();
        let frame_bytes = source.info().frame_bytes();
        let mut bytes = vec![0; samples as usize * frame_bytes];
        assert_eq!(source.read(&mut bytes).unwrap(), bytes.len());
        Box::new(Some(bytes, source.info().clone()))
    }

    /// A source of some samples, which then ends.
    struct Some(Vec<u8>, StreamInfo);

    impl ReadSamples for Some {
        fn info(&self) -> &StreamInfo {
            &self.1
        }

        fn read(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
            let len_bytes = whole_frames(out, self.1.frame_bytes()).len().min(self.0.len());
            out[..len_bytes].copy_from_slice(&self.0[..len_bytes]);
            self.0.drain(..len_bytes);
            Ok(len_bytes)
        }
    }

    #[test]
    fn all_samples_come_and_then_the_end() {
        let spec = "decimate:8".parse().unwrap();
        let mut source = ChainSource::start(&spec, open("tone:100k", 1_000_003)).unwrap();
        assert_eq!(source.info().rate_hz(), 1e6);
        let (mut out, mut bytes) = (vec![0; 99_999], 0);
        loop {
            match source.read(&mut out).unwrap() {
                0 => break,
                len_bytes => bytes += len_bytes,
            }
        }
        assert_eq!(bytes, 4 * 1_000_003_usize.div_ceil(8));
        assert_eq!(source.read(&mut out).unwrap(), 0, "and ever after");
    }

    #[test]
    fn reader_that_stops_ends_the_graph() {
        let spec = "gain:1".parse().unwrap();
        let counter = Box::new(CounterSource::new(8e6, 0).unwrap());
        let mut source = ChainSource::start(&spec, counter).unwrap();
        let mut out = [0; 400];
        source.read(&mut out).unwrap();
        assert_eq!(out[4..8], [1, 0, 0, 0], "a gain of 1 changes nothing");
        drop(source);
    }

    #[test]
    fn error_of_the_source_is_that_of_the_chain() {
        struct Broken(StreamInfo);
        impl ReadSamples for Broken {
            fn info(&self) -> &StreamInfo {
                &self.0
            }
            fn read(&mut self, _: &mut [u8]) -> Result<usize, Failure> {
                Err("the disk is gone".into())
            }
        }
        let source = Broken(StreamInfo::sc16("", 1e6).unwrap());
        let mut source = ChainSource::start(&"gain:1".parse().unwrap(), Box::new(source)).unwrap();
        let error = source.read(&mut [0; 4]).unwrap_err().to_string();
        assert!(error.contains("'source': the disk is gone"), "{error}");
    }

    #[test]
    fn real_samples_are_refused() {
        let info = StreamInfo::new(Format::Rf32, 1, 1e6).unwrap();
        let source = Box::new(Some(Vec::new(), info));
        assert!(matches!(
            ChainSource::start(&"gain:1".parse().unwrap(), source),
            Err(ChainError::Samples { .. })
        ));
    }
}
