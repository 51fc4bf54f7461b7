use super::*;
use crate::sigmf::{HostDrops, MarkKind, Metadata, RecordedCause, marks};
use samplewire_proto::Cause;
use samplewire_proto::wire::Format;

fn info() -> StreamInfo {
    let mut info = StreamInfo::new(Format::Sc16, 2, 1e6).unwrap();
    info.centre_frequency_hz = Some(1.09e9);
    info
}

fn notes() -> Notes {
    let mut notes = Notes::default();
    notes.set("core:author", "N. N.");
    notes
}

fn text(document: &Document, progress: &Progress<'_>) -> String {
    let mut out = Vec::new();
    document.write(&mut out, progress).unwrap();
    String::from_utf8(out).unwrap()
}

fn gap(first: u64, not_repaired: u64, source_lost: u64) -> RecordedGap {
    RecordedGap::new(first, not_repaired, source_lost, RecordedCause::Stream(Cause::Deadline))
}

fn run(document: &mut Document, sample_start: u64, index: u64) -> Option<Value> {
    document.begin_run(sample_start, index, || "2024-02-29T12:00:00.000Z".into())
}

#[test]
fn document_reads_back_as_what_was_written() {
    let mut document = Document::new(&info(), &notes());
    let nothing = text(&document, &Progress::default());
    assert!(Metadata::parse(&nothing).unwrap().captures.is_empty());
    document.begin_session(0x1f);
    run(&mut document, 0, 100).unwrap();
    document.add_gap(50, &gap(150, 40, 10)).unwrap();
    run(&mut document, 50, 200).unwrap();
    let sha512 = "0f".repeat(64);
    let progress = Progress { samples: 60, is_finished: true, sha512: Some(&sha512) };
    let written = text(&document, &progress);
    let metadata = Metadata::parse(&written).unwrap();
    assert_eq!((metadata.format, metadata.channels), (Format::Sc16, 2));
    assert_eq!(metadata.rate_hz, Some(1e6));
    assert_eq!(metadata.notes.get("core:author"), Some("N. N."));
    let claims = &metadata.claims;
    assert_eq!((claims.is_finished, claims.sample_count), (Some(true), Some(60)));
    assert_eq!((claims.first_index, claims.end_index), (Some(100), Some(210)));
    assert_eq!(metadata.sha512, Some(sha512));
    let runs: Vec<_> =
        metadata.captures.iter().map(|run| (run.sample_start, run.global_index)).collect();
    assert_eq!(runs, [(0, Some(100)), (50, Some(200))]);
    assert!(metadata.captures.iter().all(|run| run.boot_id == Some(0x1f)));
    assert!(metadata.captures[0].datetime.is_some() && metadata.captures[1].datetime.is_none());
    assert_eq!(metadata.captures[1].frequency_hz, Some(1.09e9));
    assert!(written.contains("samples 150..199 (50) are missing: deadline"), "{written}");
}

#[test]
fn what_the_host_dropped_of_a_gap_reads_back_and_is_at_most_the_gap() {
    let read = |host| {
        let mut document = Document::new(&info(), &notes());
        run(&mut document, 0, 0).unwrap();
        document.add_gap(10, &RecordedGap { host, ..gap(10, 40, 5) }).unwrap();
        run(&mut document, 10, 55).unwrap();
        let written = text(&document, &Progress { samples: 20, ..Progress::default() });
        let gaps = marks(&serde_json::from_str(&written).unwrap()).map(|marks| {
            let MarkKind::Gap(gap) = marks[0].kind else { panic!("a gap: {marks:?}") };
            gap.host
        });
        (gaps.map_err(|error| error.to_string()), written.contains("_dropped"))
    };
    assert_eq!(read(HostDrops::NONE), (Ok(HostDrops::NONE), false));
    let whole = HostDrops { nic: 3, kernel: 37 };
    assert_eq!(read(whole), (Ok(whole), true));
    for (host, words) in [
        (HostDrops { nic: 3, kernel: 38 }, "kernel_dropped is 38"),
        (HostDrops { nic: 41, kernel: 0 }, "nic_dropped is 41"),
        (HostDrops { nic: u64::MAX / 4, kernel: u64::MAX / 4 }, "nic_dropped is"),
    ] {
        let error = read(host).0.unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn text_describes_only_samples_in_the_file() {
    let mut document = Document::new(&info(), &notes());
    run(&mut document, 0, 0).unwrap();
    document.add_gap(10, &gap(10, 5, 0)).unwrap();
    run(&mut document, 10, 15).unwrap();
    document.add_gap(20, &gap(20, 5, 0)).unwrap();
    run(&mut document, 20, 30).unwrap();
    let at_ten = text(&document, &Progress { samples: 10, ..Progress::default() });
    assert_eq!(Metadata::parse(&at_ten).unwrap().captures.len(), 1);
    assert!(at_ten.contains("samples 10..14") && !at_ten.contains("samples 20..24"), "{at_ten}");
    document.truncate(10);
    assert_eq!((document.runs.len(), document.marks.len()), (1, 1));
}

#[test]
fn unknown_rate_is_not_written_and_a_broken_one_is_a_float() {
    let unknown = StreamInfo { rate_numerator: 0, ..info() };
    assert!(
        !text(&Document::new(&unknown, &notes()), &Progress::default()).contains("sample_rate")
    );
    let third = StreamInfo { rate_denominator: 3, ..info() };
    assert_eq!(rate(&third), json!(1e6 / 3.0));
    assert_eq!(rate(&info()), json!(1_000_000));
}

#[test]
fn text_stays_within_its_longest_length() {
    let mut document = Document::new(&info(), &notes());
    for cause in RecordedCause::ALL.into_iter().cycle().take(100) {
        let most = u64::MAX / 2;
        let host = HostDrops { nic: most / 2, kernel: most / 2 };
        let longest = RecordedGap { cause, host, ..gap(most, most, 1) };
        document.begin_session(u64::MAX);
        document.tune(Some(-f64::MAX));
        document.set_tai_clock(info().tai_clock(most, u64::MAX));
        run(&mut document, most, most).unwrap();
        document.begin_session(u64::MAX);
        document.add_gap(most, &longest).unwrap();
        let sha512 = "0".repeat(128);
        let progress = Progress { samples: most + 1, is_finished: true, sha512: Some(&sha512) };
        let len_bytes = text(&document, &progress).len() as u64;
        assert!(len_bytes <= document.len_bytes_max(), "{len_bytes}");
    }
}

#[test]
fn gaps_stop_at_their_bound() {
    let mut document = Document::new(&info(), &notes());
    for at in 0..GAPS_MAX as u64 {
        document.add_jump(at, at, 1).unwrap();
    }
    assert!(document.add_gap(u64::MAX, &gap(0, 1, 0)).is_none());
}
