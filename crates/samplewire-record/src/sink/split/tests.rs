use std::fs;

use samplewire_proto::Cause;
use samplewire_proto::wire::Format;
use tempfile::TempDir;

use super::*;
use crate::sigmf::{Metadata, RecordedCause, marks};
use crate::sink::resumable;
use crate::storage::OsStorage;
use crate::verify::{Hash, Report};

struct Series {
    folder: TempDir,
}

impl Series {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("a")
    }

    /// Opens a series with parts of 10 samples.
    fn open(&self, options: &SinkOptions) -> Result<SplitSink, SinkError> {
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        SplitSink::open(&self.path(), &info, options, 43)
    }

    fn report(&self) -> Report {
        crate::verify(&self.path()).unwrap()
    }

    #[track_caller]
    fn expect_fault(&self, words: &str) {
        let faults: Vec<_> = self.report().faults.iter().map(ToString::to_string).collect();
        assert!(faults.iter().any(|fault| fault.contains(words)), "no `{words}` in {faults:#?}");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn gap(first: u64, count: u64) -> RecordedGap {
    let cause = RecordedCause::Stream(Cause::Deadline);
    RecordedGap::new(first, count, 0, cause)
}

/// Writes 27 samples, with a gap at the boundary of two parts and one within a part.
fn write(sink: &mut SplitSink) {
    sink.session(7).unwrap();
    sink.write(100, &[1; 40]).unwrap();
    sink.gap(&gap(110, 5)).unwrap();
    sink.write(115, &[2; 48]).unwrap();
    sink.gap(&gap(127, 3)).unwrap();
    sink.write(140, &[3; 20]).unwrap();
}

#[test]
fn parts_are_proven_as_one_series_and_each_alone() {
    let series = Series::new();
    let mut sink = series.open(&SinkOptions::new()).unwrap();
    write(&mut sink);
    let summary = sink.finish().unwrap();
    assert_eq!((summary.samples, summary.gaps, summary.files.len()), (27, 2, 6));
    let report = series.report();
    assert_eq!(report.faults, []);
    assert_eq!((report.samples, report.is_finished, report.hash), (27, true, Hash::Matches));
    assert_eq!(report.boots.len(), 1);
    assert_eq!(report.boots[0].indexes, 100..145);
    assert_eq!((report.gaps, report.missing(), report.jumped), (2, 8, 10));
    for part in 1..=3 {
        let report = crate::verify(&part_path(&series.path(), part)).unwrap();
        assert_eq!(report.faults, [], "part {part}");
    }
    let names: Vec<_> = series.names().into_iter().filter(|name| name.ends_with("-data")).collect();
    assert_eq!(names, ["a-0001.sigmf-data", "a-0002.sigmf-data", "a-0003.sigmf-data"]);
    assert_eq!(series.names().len(), 6, "neither journals nor spares are left");
}

#[test]
fn change_of_the_centre_frequency_holds_in_the_next_parts() {
    let series = Series::new();
    let mut sink = series.open(&SinkOptions::new()).unwrap();
    sink.session(7).unwrap();
    sink.write(100, &[1; 20]).unwrap();
    sink.tune(Some(1e9)).unwrap();
    sink.write(105, &[1; 60]).unwrap();
    sink.finish().unwrap();
    let found = [1, 2].map(|part| {
        let path = part_path(&series.path(), part).with_extension("sigmf-meta");
        let metadata = Metadata::parse(&fs::read_to_string(path).unwrap()).unwrap();
        metadata.captures.iter().map(|it| (it.sample_start, it.frequency_hz)).collect::<Vec<_>>()
    });
    assert_eq!(found, [vec![(0, None), (5, Some(1e9))], vec![(0, Some(1e9))]]);
    assert!(series.report().is_proven(), "{:?}", series.report().faults);
}

#[test]
fn time_holds_in_the_next_parts() {
    let series = Series::new();
    let mut sink = series.open(&SinkOptions::new()).unwrap();
    sink.session(7).unwrap();
    let clock = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap().tai_clock(0, 5_000).unwrap();
    sink.time(Some(clock)).unwrap();
    sink.write(100, &[1; 60]).unwrap();
    sink.session(7).unwrap();
    sink.write(115, &[1; 60]).unwrap();
    sink.finish().unwrap();
    let times = |part: u32| {
        let path = Paths::of(&part_path(&series.path(), part)).meta;
        let metadata = Metadata::parse(&fs::read_to_string(path).unwrap()).unwrap();
        metadata.captures.iter().map(|it| it.tai_ns).collect::<Vec<_>>()
    };
    assert_eq!(times(1), [Some(105_000)]);
    assert_eq!(times(2), [Some(115_000), None], "another opening has its own time");
    assert_eq!(times(3), [None]);
    assert!(series.report().is_proven());
}

#[test]
fn gap_after_a_change_of_the_centre_frequency_is_within_the_opening_of_its_part() {
    let series = Series::new();
    let mut sink = series.open(&SinkOptions::new()).unwrap();
    sink.session(7).unwrap();
    for first in [100, 120] {
        sink.tune(None).unwrap();
        sink.write(first, &[1; 20]).unwrap();
        sink.tune(Some(1e9)).unwrap();
        sink.gap(&gap(first + 5, 10)).unwrap();
        sink.write(first + 15, &[1; 20]).unwrap();
    }
    sink.finish().unwrap();
    for part in [1, 2] {
        let path = part_path(&series.path(), part).with_extension("sigmf-meta");
        let text = fs::read_to_string(path).unwrap();
        let metadata = Metadata::parse(&text).unwrap();
        let marks = marks(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(marks.iter().map(|mark| mark.boot_id).collect::<Vec<_>>(), [None]);
        let captures = metadata.captures.iter().map(|it| (it.boot_id, it.frequency_hz));
        assert_eq!(captures.collect::<Vec<_>>(), [(Some(7), None), (Some(7), Some(1e9))]);
    }
    assert!(series.report().is_proven(), "{:?}", series.report().faults);
}

#[test]
fn missing_and_misplaced_parts_are_named() {
    let remove = |series: &Series, part| {
        let path = part_path(&series.path(), part);
        for file in ["sigmf-meta", "sigmf-data"] {
            fs::remove_file(path.with_extension(file)).unwrap();
        }
    };
    let series = Series::new();
    let mut sink = series.open(&SinkOptions::new()).unwrap();
    write(&mut sink);
    sink.finish().unwrap();
    let [second, third] = [2, 3].map(|part| part_path(&series.path(), part));
    for file in ["sigmf-meta", "sigmf-data"] {
        fs::rename(second.with_extension(file), series.path().with_extension(file)).unwrap();
        fs::rename(third.with_extension(file), second.with_extension(file)).unwrap();
        fs::rename(series.path().with_extension(file), third.with_extension(file)).unwrap();
    }
    series.expect_fault("a-0002.sigmf-meta: samplewire:part is 3, in the place of part 2");
    series.expect_fault("a-0002.sigmf-meta: it was the last of its series");
    remove(&series, 3);
    remove(&series, 2);
    series.expect_fault("a-0001.sigmf-meta: it continues in ");
    remove(&series, 1);
    assert!(crate::verify(&series.path()).is_err());
}

#[test]
fn killed_series_is_proven_and_gone_on_with() {
    let series = Series::new();
    let append = SinkOptions::new().append(true).owner(7);
    assert_eq!(resumable(&series.path(), true).unwrap(), None);
    let mut sink = series.open(&append).unwrap();
    write(&mut sink);
    // Waits for the thread: here it does not end with a process, as in a kill.
    sink.join().unwrap();
    drop(sink);
    let report = series.report();
    assert_eq!((report.faults.len(), report.is_finished), (0, false));
    let found = resumable(&series.path(), true).unwrap().unwrap();
    assert_eq!(found.owner, Some(7));
    let next = found.next_index.unwrap();
    assert_eq!(next, report.boots[0].indexes.end);
    let mut sink = series.open(&append).unwrap();
    sink.gap(&RecordedGap { cause: RecordedCause::RecorderRestarted, ..gap(next, 200 - next) })
        .unwrap();
    sink.session(7).unwrap();
    sink.write(200, &[4; 80]).unwrap();
    sink.finish().unwrap();
    let report = series.report();
    assert_eq!(report.faults, []);
    assert_eq!((report.is_finished, report.hash), (true, Hash::Matches));
    assert_eq!(report.boots[0].indexes, 100..220);
}

/// The recorder was killed between the creation of the newest part and its first sample.
#[test]
fn part_without_samples_goes_on_where_the_part_before_it_ended() {
    for has_gap in [false, true] {
        let series = Series::new();
        let append = SinkOptions::new().append(true).owner(7);
        let mut sink = series.open(&append).unwrap();
        sink.session(7).unwrap();
        sink.write(100, &[1; 40]).unwrap();
        sink.next_part().unwrap();
        if has_gap {
            sink.gap(&gap(110, 5)).unwrap();
            sink.part.flush().unwrap();
        }
        sink.join().unwrap();
        drop(sink);
        assert_eq!(series.report().faults, []);
        let found = resumable(&series.path(), true).unwrap().unwrap();
        let next = if has_gap { 115 } else { 110 };
        assert_eq!((found.next_index, found.boot_id), (Some(next), Some(7)));
        let mut sink = series.open(&append).unwrap();
        sink.session(7).unwrap();
        sink.write(200, &[2; 4]).unwrap();
        sink.finish().unwrap();
        let report = series.report();
        assert_eq!(report.faults, []);
        assert_eq!((report.boots.len(), report.jumped), (1, 200 - next));
        assert_eq!(report.boots[0].indexes, 100..201);
    }
}

#[test]
fn jump_between_two_parts_is_named() {
    let series = Series::new();
    let mut sink = series.open(&SinkOptions::new()).unwrap();
    sink.session(7).unwrap();
    sink.write(100, &[1; 40]).unwrap();
    sink.write(130, &[2; 8]).unwrap();
    sink.finish().unwrap();
    let report = series.report();
    assert_eq!(report.faults, []);
    assert_eq!((report.jumped, report.samples, report.files.len()), (20, 12, 4));
    assert_eq!(report.boots[0].indexes, 100..132);
}

#[test]
fn part_below_a_sample_is_refused_and_makes_no_file() {
    let series = Series::new();
    let info = StreamInfo::new(Format::Sc16, 2, 1e6).unwrap();
    let refused = |part_bytes| {
        let opened = SplitSink::open(&series.path(), &info, &SinkOptions::new(), part_bytes);
        opened.map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused(7).contains("parts of 7 bytes"), "{}", refused(7));
    assert_eq!(series.names().len(), 0);
    SplitSink::open(&series.path(), &info, &SinkOptions::new(), 8).unwrap();
}

#[test]
fn series_is_gone_on_with_by_parts_alone() {
    let series = Series::new();
    let mut sink = series.open(&SinkOptions::new()).unwrap();
    write(&mut sink);
    sink.finish().unwrap();
    let names = series.names();
    let is_series = |error: SinkError| matches!(error, SinkError::Series { .. });
    assert!(is_series(resumable(&series.path(), false).unwrap_err()));
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
    let append = SinkOptions::new().append(true);
    assert!(is_series(crate::sink::open(&series.path(), &info, &append).map(|_| ()).unwrap_err()));
    assert_eq!(series.names(), names);
}

/// The parts before the newest may have a terabyte.
#[test]
fn series_is_gone_on_with_without_the_data_of_its_earlier_parts_and_verify_reads_them() {
    for is_compressed in [false, true] {
        let series = Series::new();
        let append = SinkOptions::new().append(true).compress(is_compressed);
        let mut sink = series.open(&append).unwrap();
        write(&mut sink);
        sink.finish().unwrap();
        let first = Paths::of(&part_path(&series.path(), 1));
        let data = if is_compressed { first.compressed() } else { first.data };
        let len_bytes = fs::metadata(&data).unwrap().len() as usize;
        fs::write(&data, vec![0xFF; len_bytes]).unwrap();
        let next = resumable(&series.path(), true).unwrap().unwrap().next_index.unwrap();
        let mut sink = series.open(&append).unwrap();
        sink.session(7).unwrap();
        sink.write(next, &[4; 200]).unwrap();
        sink.finish().unwrap();
        assert_eq!(fs::read(&data).unwrap(), vec![0xFF; len_bytes]);
        series.expect_fault("a-0001");
    }
}

/// Kills a recorder at the start of a part, and between the end of a part and its hash.
#[test]
fn series_killed_between_its_parts_is_gone_on_with() {
    for is_compressed in [false, true] {
        let series = Series::new();
        let append = SinkOptions::new().append(true).compress(is_compressed);
        let mut sink = series.open(&append).unwrap();
        write(&mut sink);
        sink.finish().unwrap();
        let parts = parts_of(&OsStorage, &series.path());
        let data = Paths::of(&part_path(&series.path(), parts + 1));
        let data = if is_compressed { data.compressed() } else { data.data };
        fs::write(&data, []).unwrap();
        let meta = Paths::of(&part_path(&series.path(), parts - 1)).meta;
        let mut document: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&meta).unwrap()).unwrap();
        document["global"].as_object_mut().unwrap().remove("core:sha512").unwrap();
        fs::write(&meta, document.to_string()).unwrap();
        let report = series.report();
        assert_eq!((report.faults.len(), report.hash), (0, Hash::Absent));
        let next = resumable(&series.path(), true).unwrap().unwrap().next_index.unwrap();
        let mut sink = series.open(&append).unwrap();
        sink.session(7).unwrap();
        sink.write(next, &[4; 200]).unwrap();
        sink.finish().unwrap();
        let report = series.report();
        assert_eq!((report.faults, report.hash), (vec![], Hash::Matches));
        assert!(parts_of(&OsStorage, &series.path()) > parts);
    }
}

#[test]
fn series_that_is_there_is_kept_by_default() {
    let series = Series::new();
    let mut sink = series.open(&SinkOptions::new()).unwrap();
    write(&mut sink);
    let overwrite = SinkOptions::new().overwrite(true);
    let busy = series.open(&overwrite).unwrap_err().to_string();
    assert!(busy.ends_with("another recorder writes it"), "{busy}");
    sink.finish().unwrap();
    let error = series.open(&SinkOptions::new()).unwrap_err().to_string();
    assert!(error.contains("a-0001.sigmf-meta exists"), "{error}");
    let mut sink = series.open(&overwrite).unwrap();
    sink.session(8).unwrap();
    sink.write(0, &[1; 8]).unwrap();
    sink.finish().unwrap();
    assert_eq!(series.names(), ["a-0001.sigmf-data", "a-0001.sigmf-meta"]);
    assert_eq!(series.report().faults, []);
}
