use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use samplewire::source::StreamInfo;
use samplewire_record::sink::{SigmfSink, SinkOptions, SinkSummary, WriteSamples};

use super::*;

/// A file that stalls until the test lets it go, or that is full.
#[derive(Debug)]
struct Slow {
    inner: SigmfSink,
    go: Option<Receiver<()>>,
    left_writes: u32,
}

impl WriteSamples for Slow {
    fn write(&mut self, index: SampleIndex, bytes: &[u8]) -> Result<(), SinkError> {
        if let Some(go) = self.go.take() {
            go.recv().expect("the test lets it go");
        }
        if self.left_writes == 0 {
            let source = io::ErrorKind::StorageFull.into();
            return Err(SinkError::Full { path: "a".into(), len_samples: 7, source });
        }
        self.left_writes -= 1;
        self.inner.write(index, bytes)
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.inner.gap(gap)
    }

    fn session(&mut self, boot_id: u64) -> Result<(), SinkError> {
        self.inner.session(boot_id)
    }

    fn finish(&mut self) -> Result<SinkSummary, SinkError> {
        self.inner.finish()
    }
}

/// Samples of a block: 64 KiB of sc16.
const BLOCK: u64 = 16 << 10;
const ROOM_BYTES: u64 = 1 << 20;

fn input(
    path: &Path,
    go: Option<Receiver<()>>,
    left_writes: u32,
) -> (RecordingInput, Receiver<Over>) {
    let info = StreamInfo::sc16("a", 1e6).unwrap();
    let inner = SigmfSink::open(path, &info, &SinkOptions::new()).unwrap();
    let writer = Writer::start(Box::new(Slow { inner, go, left_writes }), 100).unwrap();
    let progress = Arc::new(RecordingProgress::new("a".to_owned(), Form::Sigmf, 4, 0));
    let layout = Layout { room_bytes: ROOM_BYTES, ..Layout::new(4, 1e6) };
    let (over, result) = channel();
    let mut input = RecordingInput::new(progress, (None, None), layout, writer, over);
    input.begin(0).unwrap();
    (input, result)
}

/// Passes a block; returns whether it is recorded.
fn pass(input: &mut RecordingInput, next: &mut u64) -> bool {
    let is_recorded = input.open(*next, BLOCK as usize);
    if is_recorded {
        input.put(0, 4, &vec![1; 4 * BLOCK as usize]);
    }
    *next += BLOCK;
    is_recorded
}

#[test]
fn stalled_file_leaves_a_gap_of_its_own_and_never_holds_the_stream_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let (let_go, go) = channel();
    let (mut input, over) = input(&path, Some(go), u32::MAX);
    let mut next = 0;
    let recorded = (0..40).filter(|_| pass(&mut input, &mut next)).count();
    assert_eq!(recorded as u64, ROOM_BYTES / (4 * BLOCK), "what fits, while the file takes none");
    let_go.send(()).unwrap();
    while !pass(&mut input, &mut next) {
        std::thread::yield_now();
    }
    assert_eq!(input.is_over(next), None);
    drop(input);
    let Over { mut writer, rest, has_begun } = over.recv().unwrap();
    let progress = RecordingProgress::new("a".to_owned(), Form::Sigmf, 4, 0);
    rest.write(&mut writer, &progress).unwrap();
    let (summary, error) = writer.finish();
    assert!(error.is_none() && has_begun, "{error:?}");
    let report = samplewire_record::verify(&path).unwrap();
    assert!(report.is_proven(), "{:?}", report.faults);
    assert_eq!(report.boots[0].indexes, 0..next);
    assert_eq!(summary.samples, (recorded as u64 + 1) * BLOCK);
    let behind = report.gap_samples[RecordedCause::DiskBehind.position()];
    assert_eq!((behind, report.gaps), (next - summary.samples, 1));
}

#[test]
fn full_disk_ends_the_recording_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let (mut input, over) = input(&path, None, 1);
    let mut next = 0;
    let words = loop {
        pass(&mut input, &mut next);
        if let Some(words) = input.is_over(next) {
            break words;
        }
        std::thread::yield_now();
    };
    assert!(words.contains("no room for more than 7 samples"), "{words}");
    assert!(!pass(&mut input, &mut next), "it takes no more");
    drop(input);
    let Over { mut writer, rest, .. } = over.recv().unwrap();
    let progress = RecordingProgress::new("a".to_owned(), Form::Sigmf, 4, 0);
    // What was not queued finds the file closed.
    let is_empty = rest.bytes.is_empty() && rest.behind.is_none();
    assert_eq!(rest.write(&mut writer, &progress).is_ok(), is_empty);
    let (summary, _) = writer.finish();
    let report = samplewire_record::verify(&path).unwrap();
    assert!(report.is_proven() && report.is_finished, "what it has is valid: {report:?}");
    assert_eq!(summary.samples, report.samples);
}
