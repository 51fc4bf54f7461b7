use std::fs;

use samplewire::StreamInfo;
use samplewire_proto::Cause;
use samplewire_proto::wire::Format;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::sigmf::RecordedGap;
use crate::sink::{SigmfSink, SinkOptions, WriteSamples};

/// A recording of indexes 100..150 and 160..170, then of another boot from 5, with every kind of
/// mark.
struct Recording {
    folder: TempDir,
}

impl Recording {
    fn written(end: impl FnOnce(SigmfSink)) -> Self {
        let recording = Self { folder: TempDir::new().unwrap() };
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let mut sink = SigmfSink::open(&recording.path(), &info, &SinkOptions::new()).unwrap();
        sink.session(0xa).unwrap();
        sink.write(100, &[1; 200]).unwrap();
        sink.gap(&gap(150, 7, 3, RecordedCause::Stream(Cause::Deadline))).unwrap();
        sink.write(160, &[2; 40]).unwrap();
        sink.write(180, &[3; 40]).unwrap();
        sink.gap(&gap(190, 1_000, 0, RecordedCause::DeviceRestarted)).unwrap();
        sink.session(0xb).unwrap();
        sink.write(5, &[4; 20]).unwrap();
        end(sink);
        recording
    }

    fn finished() -> Self {
        Self::written(|mut sink| drop(sink.finish().unwrap()))
    }

    fn killed() -> Self {
        Self::written(std::mem::forget)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("a")
    }

    fn report(&self) -> Report {
        verify(&self.path()).unwrap()
    }

    /// Returns the faults as text, without the folder.
    fn faults(&self) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        self.report().faults.iter().map(|fault| fault.to_string().replace(&folder, "")).collect()
    }

    #[track_caller]
    fn expect_fault(&self, words: &str) {
        let faults = self.faults();
        assert!(faults.iter().any(|fault| fault.contains(words)), "no `{words}` in {faults:#?}");
    }

    fn edit(&self, change: impl FnOnce(&mut Value)) -> &Self {
        let path = self.path().with_extension("sigmf-meta");
        let mut metadata = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut metadata);
        fs::write(path, metadata.to_string()).unwrap();
        self
    }

    fn edit_data(&self, change: impl FnOnce(&mut Vec<u8>)) -> &Self {
        let path = self.path().with_extension("sigmf-data");
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
        self
    }
}

fn gap(first: u64, not_repaired: u64, source_lost: u64, cause: RecordedCause) -> RecordedGap {
    RecordedGap::new(first, not_repaired, source_lost, cause)
}

#[test]
fn recording_with_every_kind_of_mark_is_proven() {
    let report = Recording::finished().report();
    assert_eq!(report.faults, []);
    assert!(report.is_finished);
    assert_eq!((report.samples, report.bytes, report.hash), (75, 300, Hash::Matches));
    let boots: Vec<_> =
        report.boots.iter().map(|boot| (boot.boot_id, boot.indexes.clone())).collect();
    assert_eq!(boots, [(Some(0xa), 100..1_190), (Some(0xb), 5..10)]);
    assert_eq!((report.gaps, report.missing(), report.jumped), (2, 1_010, 10));
    assert_eq!(report.estimated_gaps, 1);
    assert_eq!(report.gap_samples, [3, 7, 0, 0, 0, 0, 0, 0, 1_000, 0]);
}

#[test]
fn killed_recording_is_proven_by_its_journal() {
    let recording = Recording::killed();
    let report = recording.report();
    assert_eq!(report.faults, []);
    assert_eq!((report.is_finished, report.hash), (false, Hash::Unfinished));
    assert_eq!(report.samples, 50, "the rest was still gathered");
    assert_eq!(report.boots[0].indexes, 100..160, "the gap was in the journal");
}

#[test]
fn killed_recording_is_proven_wherever_its_data_end() {
    let recording = Recording::finished();
    let data = fs::read(recording.path().with_extension("sigmf-data")).unwrap();
    let killed = Recording::killed();
    for len_bytes in 200..=data.len() {
        fs::write(killed.path().with_extension("sigmf-data"), &data[..len_bytes]).unwrap();
        // The lines that `forget` did not write are in the journal of a process that wrote them.
        let lines = recording_lines(&recording);
        fs::write(killed.path().with_extension("sigmf-journal"), lines).unwrap();
        let report = killed.report();
        assert_eq!(report.faults, [], "{len_bytes} bytes");
        assert_eq!(report.samples, len_bytes as u64 / 4);
    }
}

/// Returns the journal that a finished recording had.
fn recording_lines(recording: &Recording) -> String {
    let path = recording.path().with_extension("sigmf-meta");
    let metadata: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut text = crate::sigmf::Journal::head_line(None);
    for (field, list) in [("captures", "capture"), ("annotations", "annotation")] {
        for entry in metadata[field].as_array().unwrap() {
            text += &crate::sigmf::Journal::line(list, entry.clone());
        }
    }
    text
}

#[test]
fn recording_that_lost_its_journal_is_held_against_its_metadata() {
    let recording = Recording::killed();
    fs::remove_file(recording.path().with_extension("sigmf-journal")).unwrap();
    assert_eq!(recording.report().boots[0].indexes, 100..150);
    recording.edit_data(|bytes| bytes.extend([0; 40]));
    assert_eq!(recording.report().boots[0].indexes, 100..160, "the run may have gone on");
}

#[test]
fn damaged_data_are_named() {
    let flipped = Recording::finished();
    flipped.edit_data(|bytes| bytes[123] ^= 0x10);
    flipped.expect_fault("a.sigmf-data has the SHA-512 ");
    assert_eq!(flipped.report().hash, Hash::Differs);
    let cut = Recording::finished();
    cut.edit_data(|bytes| bytes.truncate(200));
    cut.expect_fault("a.sigmf-data has 50 samples: the metadata state 75");
    cut.expect_fault("captures[2] begins at sample 60: the data end at 50");
    let partial = Recording::finished();
    partial.edit_data(|bytes| bytes.push(0));
    partial.expect_fault("a.sigmf-data has 301 bytes: no whole number of samples of 4");
    let killed = Recording::killed();
    killed.edit_data(|bytes| bytes.truncate(196));
    killed.expect_fault("a.sigmf-data has 49 samples: the metadata state 50");
    let gone = Recording::finished();
    fs::remove_file(gone.path().with_extension("sigmf-data")).unwrap();
    gone.expect_fault("a.sigmf-data is not there: the metadata state 75 samples in it");
}

#[test]
fn edited_metadata_are_named() {
    type Edit = fn(&mut Value);
    let cases: [(Edit, &str); 14] = [
        (
            |it| drop(it["annotations"].as_array_mut().unwrap().remove(0)),
            "captures[1] is at index 160: indexes 150..159 are neither there nor named",
        ),
        (
            |it| it["annotations"][0]["samplewire:not_repaired"] = json!(6),
            "captures[1] is at index 160: indexes 159..159 are neither there nor named",
        ),
        (
            |it| it["annotations"][0]["samplewire:source_lost"] = json!(4),
            "captures[1] is at index 160: 161 was to come, and indexes 160..160 are accounted for",
        ),
        (
            |it| it["annotations"][0]["samplewire:first_index"] = json!(149),
            "annotations[0] is at index 149: 150 was to come",
        ),
        (
            |it| it["annotations"][0]["core:sample_start"] = json!(49),
            "annotations[0] names a gap at sample 49: no capture begins there",
        ),
        (
            |it| drop(it["annotations"].as_array_mut().unwrap().remove(2)),
            "captures[3] is of the device's run 000000000000000b, the one before of 000000000000000a",
        ),
        (
            |it| it["captures"][0]["core:global_index"] = json!(99),
            "the account begins at index 99: the metadata state 100",
        ),
        (
            |it| it["captures"][3]["core:global_index"] = json!(6),
            "the account ends before index 11: the metadata state 10",
        ),
        (
            |it| it["captures"][1]["core:sample_start"] = json!(51),
            "annotations[0] names a gap at sample 50: no capture begins there",
        ),
        (
            |it| drop(it["captures"][1].as_object_mut().unwrap().remove("core:global_index")),
            "captures[1].core:global_index is missing",
        ),
        (|it| it["captures"] = json!([]), "75 samples before captures[0] have no index"),
        (
            |it| drop(it["captures"].as_array_mut().unwrap().remove(0)),
            "50 samples before captures[0] have no index",
        ),
        (
            |it| it["annotations"][0]["samplewire:cause"] = json!("weather"),
            "annotations[0].samplewire:cause is \"weather\": must be a cause of",
        ),
        (|it| it["global"]["core:sha512"] = json!("0".repeat(128)), "the metadata state 000000"),
    ];
    for (edit, words) in cases {
        let recording = Recording::finished();
        recording.edit(edit).expect_fault(words);
    }
}

#[test]
fn numbers_beyond_all_measure_are_faults_like_others() {
    let recording = Recording::finished();
    recording.edit(|it| {
        for field in ["samplewire:first_index", "samplewire:not_repaired", "samplewire:source_lost"]
        {
            it["annotations"][0][field] = json!((1_u64 << 63) + (1 << 32));
        }
        it["annotations"][1]["samplewire:jumped"] = json!((1_u64 << 63) + (1 << 32));
        it["captures"][1]["core:global_index"] = json!((1_u64 << 63) + (1 << 32));
    });
    recording.expect_fault("is at index 9223372041149743104");
}

#[test]
fn text_that_is_no_metadata_is_a_fault() {
    let recording = Recording::finished();
    fs::write(recording.path().with_extension("sigmf-meta"), "{").unwrap();
    recording.expect_fault("a.sigmf-meta: no JSON: EOF");
    let killed = Recording::killed();
    fs::write(killed.path().with_extension("sigmf-journal"), "{}\n").unwrap();
    killed.expect_fault("a.sigmf-journal: samplewire:journal is missing");
}

#[test]
fn recording_that_is_not_there_is_an_error() {
    let folder = TempDir::new().unwrap();
    let error = verify(&folder.path().join("a")).unwrap_err().to_string();
    assert!(error.contains("a.sigmf-meta is not there"), "{error}");
}

#[test]
fn recording_without_samples_is_proven() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a");
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
    let mut sink = SigmfSink::open(&path, &info, &SinkOptions::new()).unwrap();
    assert_eq!(verify(&path).unwrap().faults, []);
    sink.finish().unwrap();
    let report = verify(&path).unwrap();
    assert_eq!((report.faults.len(), report.boots.len(), report.hash), (0, 0, Hash::Matches));
}

#[test]
fn faults_stop_at_their_bound() {
    let mut report = Report::default();
    for _ in 0..Report::FAULTS_MAX + 2 {
        report.push(Fault::NoData { path: PathBuf::new(), expected: 1 });
    }
    assert_eq!((report.faults.len(), report.faults_left_out), (Report::FAULTS_MAX, 2));
}
