use samplewire::SampleIndex;
use samplewire_record::sigmf::RecordedGap;
use samplewire_record::sink::{SigmfSink, WriteSamples};

use super::*;
use crate::control::input::UnqueuedSamples;

/// A recording whose write or finish fails.
#[derive(Debug)]
struct Failing {
    inner: SigmfSink,
    when: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Never,
    WritePanics,
    FinishPanics,
    FinishFails,
}

impl WriteSamples for Failing {
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        assert!(self.when != When::WritePanics, "a write");
        self.inner.write(index, bytes)
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.inner.gap(gap)
    }

    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        self.inner.session(boot_id)
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        assert!(self.when != When::FinishPanics, "a finish");
        let summary = self.inner.finish()?;
        match self.when {
            // The second call after an error returns the summary.
            When::FinishFails => {
                self.when = When::Never;
                Err(SinkError::Busy { path: "a".into() })
            }
            _ => Ok(summary),
        }
    }
}

/// Completes a recording of 1,000 samples; returns its state, and the line for the program.
fn complete(when: When, has_hash: bool) -> (Arc<RecordingProgress>, String) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::open(temporary.path()).unwrap();
    let info = StreamInfo::sc16("a", 1e6).unwrap();
    let options = SinkOptions::new().storage(folder.storage()).sha512(has_hash);
    let inner = SigmfSink::open("a".as_ref(), &info, &options).unwrap();
    let mut writer = Writer::start(Box::new(Failing { inner, when }), SLOTS).unwrap();
    writer.copied(5, vec![0; 4_000]).unwrap();
    let progress = Arc::new(RecordingProgress::new("a".to_owned(), Form::Sigmf, 4, 5));
    progress.begin(5);
    progress.end("a test ended it");
    let threads = RecordingThreads::default();
    threads.supervise(|opened| {
        threads.open(&progress);
        *opened = Some(Arc::clone(&progress));
        let over = Over { writer, rest: UnqueuedSamples::default(), has_begun: true };
        threads.complete(&*folder.storage(), &progress, over);
    });
    // Returns: nothing waits for a recording that failed.
    threads.wait();
    assert!(lock(&threads.at_work.0).open.is_empty());
    let line = threads.take_report().expect("a line for the program");
    assert_eq!(threads.take_report(), None);
    (progress, line)
}

#[test]
fn recording_is_proven_only_if_its_data_match_a_hash_and_it_was_finished_well() {
    for (when, has_hash, phase, words) in [
        (When::Never, true, Phase::Proven, "from index 5 to 1005 (a test ended it): proven"),
        (When::Never, false, Phase::NotProven, "not proven: its data have no hash"),
        (When::FinishFails, true, Phase::NotProven, "not proven: a: another recorder writes it"),
    ] {
        let (progress, line) = complete(when, has_hash);
        assert_eq!(progress.phase(), phase, "{when:?}");
        assert!(line.ends_with(words), "{line}");
    }
}

#[test]
fn panic_of_a_sink_ends_its_recording_and_nothing_waits_for_it() {
    for (when, words) in [
        (When::WritePanics, "not proven: a defect in writing: a write"),
        (When::FinishPanics, "not proven: a defect: a finish"),
    ] {
        let (progress, line) = complete(when, true);
        assert_eq!(progress.phase(), Phase::NotProven, "{when:?}");
        assert!(line.ends_with(words), "{line}");
    }
}
