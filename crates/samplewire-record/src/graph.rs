//! The circuit block that writes a recording.
//!
//! It complements the blocks of [`samplewire::ends`], which receive, send and read. It accepts one
//! sample type, and only a stream of that format. The blocks of `samplewire-blocks` convert.
//!
//! ```no_run
//! use num_complex::Complex;
//! use samplewire::ends::ReceiverSource;
//! use samplewire_record::graph::SinkBlock;
//! use samplewire_record::sink::{self, SinkOptions};
//!
//! let receiver = samplewire::receive().open("192.168.10.2")?;
//! let info = receiver.info().stream_info();
//! let source = ReceiverSource::<Complex<i16>>::new(receiver)?;
//! let account = source.account();
//! let file = sink::open("samples".as_ref(), &info, &SinkOptions::new())?;
//!
//! source.into_chain().sink(SinkBlock::new(file, &info)?).run()?;
//! println!("{} samples are missing", account.read().missing_samples());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use samplewire::StreamInfo;
use samplewire::ends::missing_before;
use samplewire::format::{FormError, FormSample, check_form};
use samplewire_circuit::{Failure, Flow, Quantum, Sink, Tag, TagKind, Work};
use samplewire_proto::{Cause, SampleIndex};

use crate::sigmf::{RecordedCause, RecordedGap};
use crate::sink::{self, SinkSummary};

/// Writes to a [`sink::WriteSamples`]: a SigMF recording or raw samples, as [`sink::open`] chooses.
/// Missing samples that tags report become gaps of the recording with their causes.
#[derive(Debug)]
pub struct SinkBlock<T> {
    sink: Box<dyn sink::WriteSamples>,
    /// The index after the last sample written.
    next_index: Option<SampleIndex>,
    summary: Arc<OnceLock<SinkSummary>>,
    samples: PhantomData<fn(T)>,
}

impl<T: FormSample> SinkBlock<T> {
    /// Writes to `sink`, which was opened for samples of `info`.
    ///
    /// # Errors
    /// [`FormError`]: the samples of `info` are not of type `T`.
    pub fn new(sink: Box<dyn sink::WriteSamples>, info: &StreamInfo) -> Result<Self, FormError> {
        check_form::<T>(info)?;
        Ok(Self { sink, next_index: None, summary: Arc::default(), samples: PhantomData })
    }

    /// Returns the sink's summary, which is set when the graph has ended.
    pub fn summary(&self) -> Arc<OnceLock<SinkSummary>> {
        Arc::clone(&self.summary)
    }

    /// Reports the missing samples before `index` to the sink.
    fn report_gaps(&mut self, index: SampleIndex, tags: &[Tag]) -> Result<(), Failure> {
        let of = |tag: &Tag| recorded_before(&tag.kind).filter(|_| tag.index == index);
        let total: u64 = tags.iter().filter_map(of).map(|(_, samples)| samples).sum();
        if total == 0 {
            return Ok(());
        }
        // After a block that changes the rate, tags count samples of another rate than the index
        // does.
        let between = self.next_index.map_or(total, |next| index.saturating_sub(next));
        let mut first = index.saturating_sub(between);
        for (cause, samples) in tags.iter().filter_map(of) {
            let samples = (u128::from(samples) * u128::from(between) / u128::from(total)) as u64;
            self.write_gap(&mut first, cause, samples)?;
        }
        let last = tags.iter().filter_map(of).next_back().expect("there is one");
        let rest = index - first;
        self.write_gap(&mut first, last.0, rest)
    }

    fn write_gap(
        &mut self,
        first: &mut SampleIndex,
        cause: RecordedCause,
        samples: u64,
    ) -> Result<(), Failure> {
        if samples == 0 {
            return Ok(());
        }
        let at_source = [RecordedCause::Stream(Cause::SourceOverflow), RecordedCause::DiskBehind];
        let is_at_source = at_source.contains(&cause);
        let (not_repaired, source_lost) = if is_at_source { (0, samples) } else { (samples, 0) };
        let gap = RecordedGap::new(*first, not_repaired, source_lost, cause);
        *first += samples;
        Ok(self.sink.gap(&gap)?)
    }
}

impl<T: FormSample> Sink<T> for SinkBlock<T> {
    fn consume(&mut self, quantum: &Quantum<T>) -> Work {
        if self.next_index != Some(quantum.index()) {
            self.report_gaps(quantum.index(), quantum.tags())?;
        }
        self.sink.write(quantum.index(), quantum.data())?;
        self.next_index = Some(quantum.end_index());
        Ok(Flow::Pass)
    }

    fn stop(&mut self) -> Result<(), Failure> {
        let summary = self.sink.finish()?;
        self.summary.get_or_init(|| summary);
        Ok(())
    }
}

/// Returns the samples that a tag reports as missing, and the cause, which may be the recording's
/// own.
fn recorded_before(kind: &TagKind) -> Option<(RecordedCause, u64)> {
    let (cause, samples) = missing_before(kind)?;
    let recorded = match kind {
        TagKind::Gap { cause: words, .. } => RecordedCause::of_words(words),
        _ => None,
    };
    Some((recorded.unwrap_or(RecordedCause::Stream(cause)), samples))
}
