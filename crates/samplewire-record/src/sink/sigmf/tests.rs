use super::*;
use crate::sigmf::RecordedCause;
use samplewire_proto::Cause;
use samplewire_proto::wire::Format;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use tempfile::TempDir;

use crate::sigmf::{Metadata, TEXT_BYTES_MAX, marks, sha512_of};
use crate::sink::resumable;
use crate::source::{Repeat, SourceOptions, open_recording};
use samplewire::source::ReadSamples;

struct Recording {
    folder: TempDir,
}

impl Recording {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn create(&self, overwrite: bool) -> Result<SigmfSink, SinkError> {
        SigmfSink::open(&self.path("a"), &info(), &SinkOptions::new().overwrite(overwrite))
    }

    /// Returns the current metadata, after checking that they match the current data.
    fn metadata(&self) -> Metadata {
        let text = fs::read_to_string(self.path("a.sigmf-meta")).unwrap();
        assert!(text.ends_with("\n]\n}\n"), "nothing of the spare's room is left");
        let metadata = Metadata::parse(&text).unwrap();
        metadata.check_length(self.data().len() as u64 / 4).unwrap();
        metadata
    }

    fn data(&self) -> Vec<u8> {
        fs::read(self.path("a.sigmf-data")).unwrap()
    }

    fn runs(&self) -> Vec<(u64, u64)> {
        let run =
            |capture: &crate::sigmf::Capture| (capture.sample_start, capture.global_index.unwrap());
        self.metadata().captures.iter().map(run).collect()
    }
}

fn info() -> StreamInfo {
    StreamInfo::new(Format::Sc16, 1, 2e6).unwrap()
}

fn gap(first: u64, count: u64) -> RecordedGap {
    let cause = RecordedCause::Stream(Cause::Deadline);
    RecordedGap::new(first, count, 0, cause)
}

#[test]
fn runs_between_gaps_keep_their_indexes() {
    let recording = Recording::new();
    let mut sink = recording.create(false).unwrap();
    sink.write(1_000, &[1; 40]).unwrap();
    sink.write(1_010, &[2; 40]).unwrap();
    sink.gap(&gap(1_020, 5)).unwrap();
    sink.gap(&gap(1_025, 5)).unwrap();
    sink.write(1_030, &[3; 4]).unwrap();
    sink.write(5_000, &[4; 8]).unwrap();
    sink.gap(&gap(5_002, 1)).unwrap();
    let summary = sink.finish().unwrap();
    assert_eq!((summary.samples, summary.bytes), (23, 92));
    assert_eq!((summary.gaps, summary.missing_samples), (3, 11));
    assert_eq!(recording.runs(), [(0, 1_000), (20, 1_030), (21, 5_000)]);
    let data = recording.data();
    assert_eq!(data, [[1; 40].as_slice(), &[2; 40], &[3; 4], &[4; 8]].concat());
    assert_eq!(recording.metadata().sha512, summary.sha512);
    assert_eq!(summary.sha512, Some(sha512_of(&mut &data[..]).unwrap()));
    let mut left: Vec<_> =
        fs::read_dir(recording.folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.sigmf-data", "a.sigmf-meta"], "neither spare nor journal is left");
}

#[test]
fn recording_is_valid_before_it_is_finished() {
    let recording = Recording::new();
    let mut sink = recording.create(false).unwrap();
    assert_eq!(recording.runs(), [], "at the start");
    sink.write(7, &[1; 4]).unwrap();
    assert_eq!(recording.runs(), [(0, 7)], "at the first sample");
    assert_eq!(recording.data(), [1; 4]);
    sink.gap(&gap(8, 2)).unwrap();
    sink.write(10, &vec![2; 3 << 20]).unwrap();
    assert_eq!(recording.runs(), [(0, 7)], "within the same second");
    assert_eq!(recording.data().len(), 4 + (3 << 20), "whole chunks");
    std::mem::forget(sink);
    assert_eq!(recording.metadata().sha512, None, "as if the process had been killed");
}

#[test]
fn gaps_that_outgrow_the_spare_are_written_within_the_second() {
    let recording = Recording::new();
    let mut sink = recording.create(false).unwrap();
    for index in (0..600).step_by(3) {
        sink.write(index, &[1; 4]).unwrap();
        sink.gap(&gap(index + 1, 2)).unwrap();
    }
    let written = recording.runs();
    assert!((50..200).contains(&written.len()), "{} of 200 runs", written.len());
    assert!(written.iter().all(|&(start, index)| index == start * 3));
    std::mem::forget(sink);
}

#[test]
fn every_format_is_read_back_as_it_was_written() {
    let folder = TempDir::new().unwrap();
    let samples: Vec<u8> = (0..240).collect();
    for format in Format::ALL {
        let path = folder.path().join(format.as_str());
        let info = StreamInfo::new(format, 2, 1e7 / 3.0).unwrap();
        let mut sink = SigmfSink::open(&path, &info, &SinkOptions::new()).unwrap();
        sink.write(0, &samples).unwrap();
        sink.finish().unwrap();
        let mut source = open_recording(&path, &SourceOptions::new().verify(true)).unwrap();
        assert_eq!(source.info().format, format);
        assert_eq!((source.info().channels, source.info().rate_denominator), (2, 3));
        let mut read = vec![0; 256];
        let whole_bytes = 256 - 256 % info.frame_bytes();
        assert_eq!(source.read(&mut read).unwrap(), 240.min(whole_bytes), "{format}");
        assert_eq!(read[..240], samples);
    }
}

#[test]
fn chunks_hold_whole_samples_of_any_size() {
    let recording = Recording::new();
    let info = StreamInfo { channels: 3, ..info() };
    let mut sink = SigmfSink::open(&recording.path("a"), &info, &SinkOptions::new()).unwrap();
    let samples: Vec<u8> = (0..12_u32 * 300_000).map(|at| (at / 7) as u8).collect();
    for (index, bytes) in (0..).step_by(1_000).zip(samples.chunks(12_000)) {
        sink.write(index, bytes).unwrap();
        assert_eq!(recording.data().len() % 12, 0);
    }
    assert_eq!(sink.finish().unwrap().samples, 300_000);
    assert_eq!(recording.data(), samples);
}

#[test]
fn existing_recording_is_kept_by_default() {
    let recording = Recording::new();
    let mut sink = recording.create(false).unwrap();
    sink.write(0, &[1; 4]).unwrap();
    sink.finish().unwrap();
    let error = recording.create(false).unwrap_err().to_string();
    assert!(error.contains("a.sigmf-meta exists"), "{error}");
    fs::remove_file(recording.path("a.sigmf-meta")).unwrap();
    let error = recording.create(false).unwrap_err().to_string();
    assert!(error.contains("a.sigmf-data exists"), "{error}");
    assert_eq!(recording.data(), [1; 4]);
    recording.create(true).unwrap().finish().unwrap();
    assert!(recording.data().is_empty());
}

#[test]
fn full_disk_is_named_and_the_recording_stays_valid() {
    let recording = Recording::new();
    symlink("/dev/full", recording.path("a.sigmf-data")).unwrap();
    let mut sink = recording.create(true).unwrap();
    let error = sink.write(0, &[1; 4]).unwrap_err().to_string();
    assert!(error.contains("a.sigmf-data: no room for more than 0 samples: No space"), "{error}");
    let error = sink.write(1, &[1; 4]).unwrap_err();
    assert!(matches!(error, SinkError::Closed { .. }), "{error}");
    let summary = sink.finish().unwrap();
    assert_eq!((summary.samples, summary.sha512), (0, None));
    fs::remove_file(recording.path("a.sigmf-data")).unwrap();
    fs::write(recording.path("a.sigmf-data"), []).unwrap();
    assert_eq!(recording.runs(), []);
}

#[test]
fn finished_sink_takes_nothing_and_finishes_again() {
    let recording = Recording::new();
    let mut sink = recording.create(false).unwrap();
    sink.write(0, &[1; 4]).unwrap();
    let summary = sink.finish().unwrap();
    assert!(sink.write(1, &[1; 4]).is_err() && sink.gap(&gap(1, 1)).is_err());
    assert_eq!(sink.finish().unwrap(), summary);
}

#[test]
fn half_a_sample_is_refused() {
    let mut sink = Recording::new().create(false).unwrap();
    let error = sink.write(0, &[1; 6]).unwrap_err().to_string();
    assert_eq!(error, "6 bytes are no whole number of samples of 4 bytes");
}

#[test]
fn recording_of_a_recording_keeps_samples_and_notes() {
    let Some(path) = crate::source::test_recording() else { return };
    let mut source = open_recording(&path, &SourceOptions::new()).unwrap();
    let recording = Recording::new();
    let name = recording.path("a.sigmf-meta");
    let options = SinkOptions::new().notes(source.notes().clone());
    let mut sink = SigmfSink::open(&name, source.info(), &options).unwrap();
    let mut piece = vec![0; 8_000];
    let mut index = 0;
    loop {
        let len_bytes = source.read(&mut piece).unwrap();
        if len_bytes == 0 {
            break;
        }
        sink.write(index, &piece[..len_bytes]).unwrap();
        index += len_bytes as u64 / 2;
    }
    sink.finish().unwrap();
    assert_eq!(recording.data(), fs::read(path.with_extension("sigmf-data")).unwrap());
    let original = Metadata::parse(&fs::read_to_string(&path).unwrap()).unwrap();
    let ours = Metadata::parse(&fs::read_to_string(&name).unwrap()).unwrap();
    assert_eq!((ours.notes, ours.sha512), (original.notes, original.sha512));
    assert_eq!(ours.captures[0].frequency_hz, Some(1.09e9));
}

/// Ends a recording as a kill does: nothing more is written, and the lock is released.
fn kill(sink: SigmfSink) {
    drop(sink);
}

fn restart(first: u64, count: u64, cause: RecordedCause) -> RecordedGap {
    RecordedGap::new(first, count, 0, cause)
}

fn appending() -> SinkOptions {
    SinkOptions::new().append(true).owner(7)
}

#[test]
fn killed_recording_is_gone_on_with() {
    let recording = Recording::new();
    let path = recording.path("a");
    assert_eq!(resumable(&path, false).unwrap(), None);
    let mut sink = SigmfSink::open(&path, &info(), &appending()).unwrap();
    sink.session(1).unwrap();
    sink.write(100, &[1; 40]).unwrap();
    sink.gap(&gap(110, 5)).unwrap();
    sink.write(115, &[2; 40]).unwrap();
    kill(sink);
    let found = resumable(&path, false).unwrap().unwrap();
    assert_eq!((found.samples, found.next_index), (10, Some(115)), "the rest was gathered");
    assert_eq!((found.boot_id, found.owner), (Some(1), Some(7)));
    let mut sink = SigmfSink::open(&path, &info(), &appending()).unwrap();
    sink.gap(&restart(115, 85, RecordedCause::RecorderRestarted)).unwrap();
    sink.session(1).unwrap();
    sink.write(200, &[3; 40]).unwrap();
    kill(sink);
    let next = resumable(&path, false).unwrap().unwrap().next_index.unwrap();
    assert_eq!(next, 200, "the samples were gathered, their gap is recorded");
    let mut sink = SigmfSink::open(&path, &info(), &appending()).unwrap();
    sink.gap(&restart(next, 1_000, RecordedCause::DeviceRestarted)).unwrap();
    sink.session(2).unwrap();
    sink.write(0, &[4; 40]).unwrap();
    sink.finish().unwrap();
    let report = crate::verify(&path).unwrap();
    assert_eq!(report.faults, []);
    assert_eq!((report.samples, report.gaps, report.is_finished), (20, 3, true));
    assert_eq!(recording.data(), [[1; 40], [4; 40]].concat());
    assert!(recording.metadata().captures[1].datetime.is_some());
}

#[test]
fn journal_that_ends_within_a_character_is_read_up_to_its_last_line() {
    let recording = Recording::new();
    let path = recording.path("a");
    let mut sink = SigmfSink::open(&path, &info(), &appending()).unwrap();
    sink.write(100, &[1; 40]).unwrap();
    kill(sink);
    let journal = recording.path("a.sigmf-journal");
    let micro = "\u{b5}".as_bytes();
    let cut = [&fs::read(&journal).unwrap(), &b"{\"annotation\": \""[..], &micro[..1]].concat();
    fs::write(&journal, cut).unwrap();
    assert_eq!(resumable(&path, false).unwrap().unwrap().next_index, Some(110));
    assert_eq!(crate::verify(&path).unwrap().faults, []);
}

#[test]
fn metadata_and_journals_beyond_their_bound_are_not_read() {
    let recording = Recording::new();
    let path = recording.path("a");
    let mut sink = SigmfSink::open(&path, &info(), &appending()).unwrap();
    sink.write(100, &[1; 40]).unwrap();
    kill(sink);
    let lengthen = |name| {
        let file = fs::File::options().write(true).open(recording.path(name)).unwrap();
        file.set_len(TEXT_BYTES_MAX + 1).unwrap();
    };
    let expect = |error: String, name: &str| {
        assert!(error.ends_with(&format!("{name}: it has more than 1073741824 bytes")), "{error}");
    };
    for name in ["a.sigmf-journal", "a.sigmf-meta"] {
        lengthen(name);
        expect(resumable(&path, false).unwrap_err().to_string(), name);
        expect(crate::verify(&path).unwrap_err().to_string(), name);
    }
    let played = open_recording(&path, &SourceOptions::new()).unwrap_err();
    expect(played.to_string(), "a.sigmf-meta");
}

#[test]
fn finished_recording_is_gone_on_with_while_it_is_what_it_was() {
    let recording = Recording::new();
    let path = recording.path("a");
    let mut sink = recording.create(false).unwrap();
    sink.session(1).unwrap();
    sink.write(0, &[1; 40]).unwrap();
    sink.finish().unwrap();
    let mut sink = SigmfSink::open(&path, &info(), &appending()).unwrap();
    assert!(!crate::verify(&path).unwrap().is_finished);
    sink.session(1).unwrap();
    sink.write(10, &[2; 40]).unwrap();
    sink.finish().unwrap();
    let report = crate::verify(&path).unwrap();
    assert_eq!(
        (report.faults.len(), report.samples, report.hash),
        (0, 20, crate::verify::Hash::Matches)
    );
    let mut data = recording.data();
    data[7] ^= 1;
    fs::write(recording.path("a.sigmf-data"), data).unwrap();
    let mut sink = SigmfSink::open(&path, &info(), &appending()).unwrap();
    let error = sink.finish().unwrap_err().to_string();
    assert!(error.contains("a.sigmf-data: its first 80 bytes have changed"), "{error}");
    assert_eq!(recording.metadata().sha512, None);
}

#[test]
fn recording_of_other_samples_is_not_gone_on_with() {
    let recording = Recording::new();
    let path = recording.path("a");
    recording.create(false).unwrap().finish().unwrap();
    let refused =
        |info: &StreamInfo| SigmfSink::open(&path, info, &appending()).unwrap_err().to_string();
    let other = StreamInfo::new(Format::Sc8, 1, 2e6).unwrap();
    assert!(refused(&other).ends_with("a.sigmf-meta: format sc16, and sc8 of what is to come"));
    assert!(refused(&StreamInfo { channels: 2, ..info() }).contains("channels 1, and 2 of"));
    let slower = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
    assert!(refused(&slower).contains("sample rate 2000000, and 1000000 of"));
    fs::write(recording.path("a.sigmf-meta"), "{}").unwrap();
    assert!(refused(&info()).ends_with("a.sigmf-meta: global is missing"));
    fs::remove_file(recording.path("a.sigmf-meta")).unwrap();
    fs::write(recording.path("a.sigmf-data"), [0; 4]).unwrap();
    assert!(refused(&info()).contains("a.sigmf-data exists"));
    let raw = recording.path("a.raw");
    let error = super::super::open(&raw, &info(), &appending()).map(drop).unwrap_err().to_string();
    assert!(
        error.ends_with("a.raw: only a SigMF recording can be continued, split or compressed"),
        "{error}"
    );
}

#[test]
fn recording_that_was_cut_is_not_gone_on_with() {
    let recording = Recording::new();
    let mut sink = recording.create(false).unwrap();
    sink.write(0, &[1; 40]).unwrap();
    sink.finish().unwrap();
    fs::write(recording.path("a.sigmf-data"), [1; 36]).unwrap();
    let error = SigmfSink::open(&recording.path("a"), &info(), &appending()).unwrap_err();
    assert!(error.to_string().ends_with("has 9 samples: the metadata state 10"), "{error}");
}

#[test]
fn recording_has_one_recorder() {
    let recording = Recording::new();
    let sink = recording.create(false).unwrap();
    for options in [appending(), SinkOptions::new().overwrite(true)] {
        let error = SigmfSink::open(&recording.path("a"), &info(), &options).unwrap_err();
        assert!(error.to_string().ends_with("another recorder writes it"), "{error}");
    }
    kill(sink);
    recording.create(true).unwrap();
}

/// Returns `count` compressible samples of 4 bytes.
fn samples(count: u32) -> Vec<u8> {
    (0..count).flat_map(|at| (at / 5).to_le_bytes()).collect()
}

#[test]
fn compressed_recording_is_proven_and_holds_what_was_written() {
    let recording = Recording::new();
    let path = recording.path("a");
    let bytes = samples(3_000_000);
    let mut sink = SigmfSink::open(&path, &info(), &SinkOptions::new().compress(true)).unwrap();
    sink.session(1).unwrap();
    sink.write(0, &bytes[..8_000_000]).unwrap();
    sink.gap(&gap(2_000_000, 5)).unwrap();
    sink.write(2_000_005, &bytes[8_000_000..]).unwrap();
    let summary = sink.finish().unwrap();
    assert_eq!(summary.samples, 3_000_000);
    assert!(summary.bytes < 6_000_000, "{} bytes", summary.bytes);
    let report = crate::verify(&path).unwrap();
    assert_eq!(report.faults, []);
    assert_eq!((report.samples, report.bytes), (3_000_000, 12_000_000));
    assert_eq!((report.hash, report.gaps), (crate::verify::Hash::Matches, 1));
    let file = fs::File::open(recording.path("a.sigmf-data.zst")).unwrap();
    assert!(zstd::decode_all(file).unwrap() == bytes);
    assert_eq!(crate::verify(&recording.path("a.sigmf-data.zst")).unwrap(), report);
    for name in ["a", "a.sigmf-data.zst"] {
        let options = SourceOptions::new().verify(true).repeat(Repeat::Times(2));
        let mut source = open_recording(&recording.path(name), &options).unwrap();
        assert_eq!(source.info().len_samples, Some(6_000_000));
        let mut back = vec![0; bytes.len() * 2 + 4];
        assert_eq!(source.read(&mut back).unwrap(), bytes.len() * 2);
        assert!(back[..bytes.len()] == bytes && back[bytes.len()..2 * bytes.len()] == bytes);
    }
}

#[test]
fn killed_compressed_recording_is_proven_wherever_it_ends_and_gone_on_with() {
    let recording = Recording::new();
    let path = recording.path("a");
    let bytes = samples(3_000_000);
    let options = appending().compress(true);
    let mut sink = SigmfSink::open(&path, &info(), &options).unwrap();
    sink.session(1).unwrap();
    sink.write(0, &bytes[..4]).unwrap();
    sink.write(1, &bytes[4..]).unwrap();
    sink.flush().unwrap();
    kill(sink);
    let data = recording.path("a.sigmf-data.zst");
    let whole = fs::read(&data).unwrap();
    assert!(whole.len() > 10_000);
    let meta = fs::read_to_string(recording.path("a.sigmf-meta")).unwrap();
    let claimed = Metadata::parse(&meta).unwrap().claims.sample_count.unwrap();
    let mut last = 0;
    for len_bytes in (0..=whole.len()).step_by(whole.len() / 50) {
        fs::write(&data, &whole[..len_bytes]).unwrap();
        let report = crate::verify(&path).unwrap();
        let is_short = report.samples < claimed;
        assert_eq!(report.faults.len(), usize::from(is_short), "{len_bytes}: {:?}", report.faults);
        last = report.samples;
    }
    let mut sink = SigmfSink::open(&path, &info(), &options).unwrap();
    sink.session(1).unwrap();
    sink.write(last, &bytes[last as usize * 4..]).unwrap();
    sink.finish().unwrap();
    assert_eq!(crate::verify(&path).unwrap().faults, []);
    assert!(zstd::decode_all(fs::File::open(&data).unwrap()).unwrap() == bytes);
    let error = SigmfSink::open(&path, &info(), &appending()).unwrap_err().to_string();
    assert!(error.contains("compression zstd, and none of what is to come"), "{error}");
}

#[test]
fn damaged_frame_is_a_fault_also_without_a_hash() {
    let recording = Recording::new();
    let path = recording.path("a");
    let options = SinkOptions::new().compress(true).sha512(false);
    let mut sink = SigmfSink::open(&path, &info(), &options).unwrap();
    sink.write(0, &samples(1_000_000)).unwrap();
    sink.finish().unwrap();
    let data = recording.path("a.sigmf-data.zst");
    let whole = fs::read(&data).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    for damaged in [&flipped[..], &whole[..whole.len() - 3]] {
        fs::write(&data, damaged).unwrap();
        let report = crate::verify(&path).unwrap();
        assert_eq!(report.faults.len(), 1, "{:?}", report.faults);
    }
}

#[test]
fn events_lie_at_their_indexes_and_a_continued_recording_keeps_them() {
    let recording = Recording::new();
    let path = recording.path("a");
    let mut sink = recording.create(false).unwrap();
    sink.session(7).unwrap();
    sink.write(100, &[1; 400]).unwrap();
    sink.event(199, "last \"before\" the gap").unwrap();
    sink.gap(&gap(200, 50)).unwrap();
    sink.event(220, "in the gap").unwrap();
    sink.write(250, &[2; 400]).unwrap();
    sink.event(260, "after it").unwrap();
    sink.event(150, "long before").unwrap();
    // Without its end: the journal has what the metadata do not.
    sink.flush().unwrap();
    drop(sink);
    let options = SinkOptions::new().append(true);
    let mut sink = SigmfSink::open(&path, &info(), &options).unwrap();
    sink.session(7).unwrap();
    sink.write(350, &[3; 40]).unwrap();
    sink.event(360, "at the end").unwrap();
    sink.finish().unwrap();
    let text = fs::read_to_string(recording.path("a.sigmf-meta")).unwrap();
    let root: serde_json::Value = serde_json::from_str(&text).unwrap();
    let annotations = root["annotations"].as_array().unwrap();
    let places: Vec<_> = annotations
        .iter()
        .map(|it| {
            let comment = it["core:comment"].as_str().unwrap();
            let start = it["core:sample_start"].as_u64().unwrap();
            let index = it["samplewire:event_index"].as_u64();
            (start, index, if index.is_some() { comment } else { "gap" })
        })
        .collect();
    let expected = [
        (50, Some(150), "long before"),
        (99, Some(199), "last \"before\" the gap"),
        (100, None, "gap"),
        (100, Some(220), "in the gap"),
        (110, Some(260), "after it"),
        (210, Some(360), "at the end"),
    ];
    assert_eq!(places, expected);
    let report = crate::verify(&path).unwrap();
    assert!(report.is_proven(), "{:?}", report.faults);
    assert_eq!(report.boots[0].indexes, 100..360);
}

#[test]
fn change_of_the_centre_frequency_begins_a_capture_and_no_gap() {
    let recording = Recording::new();
    let path = recording.path("a");
    let at = |hz| StreamInfo { centre_frequency_hz: hz, ..info() };
    let options = SinkOptions::new().append(true).sha512(true);
    let mut sink = SigmfSink::open(&path, &at(Some(1e9)), &options).unwrap();
    sink.session(1).unwrap();
    // Without effect: the same frequency, and one before the first sample.
    sink.tune(Some(2e9)).unwrap();
    sink.tune(Some(1e9)).unwrap();
    sink.write(100, &[1; 40]).unwrap();
    sink.tune(Some(1e9)).unwrap();
    sink.write(110, &[1; 40]).unwrap();
    sink.tune(Some(2e9)).unwrap();
    sink.write(120, &[2; 40]).unwrap();
    sink.event(105, "before it").unwrap();
    sink.gap(&gap(130, 5)).unwrap();
    sink.tune(None).unwrap();
    sink.write(135, &[3; 40]).unwrap();
    sink.finish().unwrap();
    // What is appended has a frequency of its own, and what was there keeps its.
    let mut sink = SigmfSink::open(&path, &at(Some(3e9)), &options).unwrap();
    sink.session(1).unwrap();
    sink.write(145, &[4; 40]).unwrap();
    sink.finish().unwrap();
    let metadata = recording.metadata();
    let captures = metadata
        .captures
        .iter()
        .map(|it| (it.sample_start, it.global_index.unwrap(), it.boot_id, it.frequency_hz));
    let expected = [
        (0, 100, Some(1), Some(1e9)),
        (20, 120, Some(1), Some(2e9)),
        (30, 135, Some(1), None),
        (40, 145, Some(1), Some(3e9)),
    ];
    assert_eq!(captures.collect::<Vec<_>>(), expected);
    // The index has the time of a segment; only an opening has a time of arrival.
    let dated = metadata.captures.iter().map(|it| it.datetime.is_some());
    assert_eq!(dated.collect::<Vec<_>>(), [true, false, false, true]);
    let document: Value =
        serde_json::from_slice(&fs::read(recording.path("a.sigmf-meta")).unwrap()).unwrap();
    let event = &document["annotations"][0];
    assert_eq!(
        (&event["core:comment"], &event["core:sample_start"]),
        (&"before it".into(), &5.into())
    );
    let report = crate::verify(&path).unwrap();
    assert!(report.is_proven(), "{:?}", report.faults);
    assert_eq!((report.samples, report.gaps, report.boots[0].indexes.clone()), (50, 1, 100..155));
}

#[test]
fn change_that_is_taken_back_before_a_sample_begins_no_capture() {
    let recording = Recording::new();
    let mut sink = recording.create(false).unwrap();
    sink.session(1).unwrap();
    sink.tune(Some(1e9)).unwrap();
    sink.write(100, &[1; 40]).unwrap();
    sink.tune(Some(2e9)).unwrap();
    sink.tune(Some(f64::NAN)).unwrap();
    sink.tune(Some(1e9)).unwrap();
    sink.write(110, &[1; 40]).unwrap();
    // Not a number is not known, and no other value than that.
    sink.tune(Some(f64::NAN)).unwrap();
    sink.write(120, &[1; 40]).unwrap();
    sink.tune(None).unwrap();
    sink.write(130, &[1; 40]).unwrap();
    sink.finish().unwrap();
    assert_eq!(recording.runs(), [(0, 100), (20, 120)]);
}

#[test]
fn gap_between_a_change_of_the_centre_frequency_and_its_first_sample_is_within_the_opening() {
    let recording = Recording::new();
    let path = recording.path("a");
    let options = SinkOptions::new().append(true);
    for first in [100, 130] {
        let mut sink = SigmfSink::open(&path, &info(), &options).unwrap();
        // Before the first sample, the gap states the run of its opening.
        sink.session(1).unwrap();
        sink.tune(Some(1e9)).unwrap();
        sink.gap(&gap(first - 5, 5)).unwrap();
        sink.write(first, &[1; 40]).unwrap();
        sink.tune(Some(2e9)).unwrap();
        sink.gap(&gap(first + 10, 5)).unwrap();
        sink.write(first + 15, &[1; 40]).unwrap();
        sink.finish().unwrap();
    }
    let metadata = recording.metadata();
    let text = fs::read(recording.path("a.sigmf-meta")).unwrap();
    let marks = marks(&serde_json::from_slice(&text).unwrap()).unwrap();
    let marks: Vec<_> = marks.iter().map(|mark| (mark.first(), mark.boot_id)).collect();
    assert_eq!(marks, [(95, Some(1)), (110, None), (125, Some(1)), (140, None)]);
    let captures = metadata.captures.iter();
    let captures = captures.map(|it| (it.boot_id, it.frequency_hz, it.datetime.is_some()));
    let expected = [
        (Some(1), Some(1e9), true),
        (Some(1), Some(2e9), false),
        (Some(1), Some(1e9), true),
        (Some(1), Some(2e9), false),
    ];
    assert_eq!(captures.collect::<Vec<_>>(), expected);
    let report = crate::verify(&path).unwrap();
    assert!(report.is_proven(), "{:?}", report.faults);
}

#[test]
fn more_changes_of_the_centre_frequency_than_the_metadata_can_list_are_an_error() {
    let recording = Recording::new();
    let mut sink = recording.create(false).unwrap();
    sink.session(1).unwrap();
    sink.write(0, &[1; 4]).unwrap();
    for sample_start in 1..=GAPS_MAX as u64 {
        sink.document.begin_run(sample_start, sample_start, String::new).unwrap();
    }
    sink.write(1, &[1; 4]).unwrap();
    sink.tune(Some(1e9)).unwrap();
    let error = sink.write(2, &[1; 4]).unwrap_err().to_string();
    assert!(error.ends_with("more than 1048577 captures"), "{error}");
}

#[test]
fn capture_has_the_newest_time_of_its_opening() {
    let recording = Recording::new();
    let path = recording.path("a");
    let options = SinkOptions::new().append(true).sha512(true);
    let mut sink = SigmfSink::open(&path, &info(), &options).unwrap();
    sink.session(1).unwrap();
    // 2 MS/s: 500 ns a sample.
    sink.time(info().tai_clock(0, 1_800_000_037_000_000_000)).unwrap();
    sink.write(100, &[1; 40]).unwrap();
    sink.gap(&gap(110, 5)).unwrap();
    sink.time(info().tai_clock(100, 1_800_000_037_000_051_000)).unwrap();
    sink.write(115, &[1; 40]).unwrap();
    // Another opening, whose time is not known.
    sink.session(1).unwrap();
    sink.gap(&gap(125, 5)).unwrap();
    sink.write(130, &[1; 40]).unwrap();
    sink.finish().unwrap();
    let global = |field: &str| {
        let text = fs::read(recording.path("a.sigmf-meta")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["global"][field].clone()
    };
    assert_eq!(global("samplewire:timed_index"), Value::Null, "that of an earlier opening");
    // What is appended has its own, and what was there keeps its times.
    let mut sink = SigmfSink::open(&path, &info(), &options).unwrap();
    sink.session(1).unwrap();
    sink.time(info().tai_clock(140, 1_800_000_038_000_000_000)).unwrap();
    sink.write(140, &[1; 40]).unwrap();
    sink.time(info().tai_clock(145, 1_800_000_038_000_002_501)).unwrap();
    sink.finish().unwrap();
    let captures = recording.metadata().captures;
    let times: Vec<_> = captures.iter().map(|it| (it.global_index.unwrap(), it.tai_ns)).collect();
    let expected = [
        (100, Some(1_800_000_037_000_050_000)),
        (115, Some(1_800_000_037_000_058_500)),
        (130, None),
        (140, Some(1_800_000_038_000_000_000)),
    ];
    assert_eq!(times, expected);
    let dated = |at: usize| captures[at].datetime.as_deref().unwrap();
    assert_eq!(dated(0), "2027-01-15T08:00:00.000050000Z");
    assert_eq!(dated(1), "2027-01-15T08:00:00.000058500Z");
    assert_eq!(dated(2).len(), "2027-01-15T08:00:00.000Z".len(), "its arrival: {}", dated(2));
    assert_eq!(global("samplewire:timed_index"), Value::from(145));
    assert_eq!(global("samplewire:timed_index_tai_ns"), Value::from(1_800_000_038_000_002_501_u64));
    assert!(crate::verify(&path).unwrap().is_proven());
    // An opening that stops before its first sample.
    let mut sink = SigmfSink::open(&path, &info(), &options).unwrap();
    sink.session(2).unwrap();
    sink.time(info().tai_clock(0, 1_900_000_000_000_000_000)).unwrap();
    sink.finish().unwrap();
    assert_eq!(global("samplewire:timed_index"), Value::Null, "no capture belongs to it");
}
