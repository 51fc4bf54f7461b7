//! A recording preserves all terms that a stream can have.

use std::ops::Range;
use std::path::Path;

use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire::{Cause, Gap, SampleIndex};
use samplewire_proto::number::INDEX_MAX;
use samplewire_record::sigmf::Metadata;
use samplewire_record::sink::{self, SinkError, SinkOptions};
use samplewire_record::verify;

/// Rates: unknown, the extremes of the wire format, and some that binary fractions cannot
/// represent.
const RATES: [(u64, u32); 9] = [
    (0, 0),
    (0, 1),
    (1, 1),
    (1, u32::MAX),
    (u64::MAX, 1),
    (u64::MAX, u32::MAX),
    (1_000_000_000_001, 1),
    (245_760_000, 7),
    (u64::MAX - 1, 3),
];

const CENTRES: [Option<f64>; 8] = [
    None,
    Some(0.0),
    Some(-0.0),
    Some(-1e9),
    Some(f64::MAX),
    Some(f64::MIN),
    Some(f64::MIN_POSITIVE),
    Some(1.420_405_751_768e9),
];

/// The last is the largest index at which a packet can begin.
const FIRSTS: [SampleIndex; 8] = [
    0,
    1,
    (1 << 53) + 1,
    i64::MAX as u64 - 20,
    i64::MAX as u64,
    INDEX_MAX - 1_000,
    INDEX_MAX - 1,
    INDEX_MAX,
];

/// Writes samples, a gap, samples, a jump and samples from `first` on; returns their indexes.
fn write(
    path: &Path,
    info: &StreamInfo,
    first: SampleIndex,
    options: &SinkOptions,
) -> Range<SampleIndex> {
    let mut sink = sink::open(path, info, options).expect("the terms hold");
    let bytes = vec![7; 3 * info.frame_bytes()];
    sink.session(5).expect("it takes a session");
    sink.write(first, &bytes).expect("it takes samples");
    let gap = Gap { first: first + 3, not_repaired: 4, source_lost: 0, cause: Cause::Deadline };
    sink.gap(&(&gap).into()).expect("it takes a gap");
    sink.write(first + 7, &bytes).expect("it takes samples");
    sink.write(first + 15, &bytes).expect("it takes samples");
    sink.finish().expect("it ends");
    first..first + 18
}

fn check(path: &Path, info: &StreamInfo, first: SampleIndex) {
    let words = format!("{info:?} from {first}");
    let indexes = write(path, info, first, &SinkOptions::new());
    let report = verify(path).unwrap_or_else(|error| panic!("{words}: {error}"));
    assert!(report.faults.is_empty(), "{words}: {:?}", report.faults);
    assert_eq!((report.samples, report.is_finished), (9, true), "{words}");
    assert_eq!(report.boots[0].indexes, indexes, "{words}");
    let text = std::fs::read_to_string(path.with_extension("sigmf-meta")).expect("it is there");
    let metadata = Metadata::parse(&text).unwrap_or_else(|error| panic!("{words}: {error}"));
    let rate_hz = (info.rate_numerator > 0).then(|| info.rate_hz());
    assert_eq!(metadata.rate_hz.is_some(), rate_hz.is_some(), "{words}");
    for (read, written) in
        [(metadata.rate_hz, rate_hz), (metadata.captures[0].frequency_hz, info.centre_frequency_hz)]
    {
        let apart = (read.unwrap_or(0.0) / 2.0 - written.unwrap_or(0.0) / 2.0).abs();
        assert!(apart <= written.unwrap_or(0.0).abs() * 1e-15, "{words}: {read:?}");
    }
    let next = indexes.end + 2;
    let indexes = write(path, info, next, &SinkOptions::new().append(true));
    let report = verify(path).unwrap_or_else(|error| panic!("{words}: {error}"));
    assert!(report.faults.is_empty(), "{words}: {:?}", report.faults);
    assert_eq!((report.samples, report.boots[0].indexes.end), (18, indexes.end), "{words}");
}

/// Tests every pair of a rate, a centre frequency, a first index, a format and a number of
/// channels.
#[test]
fn recording_of_any_terms_is_verified_and_appended_to() {
    let folder = tempfile::tempdir().expect("there is room");
    let mut count = 0;
    let mut one = |format, channels, rate: (u64, u32), centre_frequency_hz, first| {
        let info = StreamInfo {
            rate_numerator: rate.0,
            rate_denominator: rate.1,
            centre_frequency_hz,
            ..StreamInfo::new(format, channels, 1e6).expect("in range")
        };
        info.check().expect("the terms hold");
        count += 1;
        check(&folder.path().join(format!("r{count}")), &info, first);
    };
    for (at, rate) in RATES.into_iter().enumerate() {
        for (of, centre) in CENTRES.into_iter().enumerate() {
            one(Format::ALL[(at + of) % 7], 1, rate, centre, FIRSTS[(at + of) % FIRSTS.len()]);
        }
        for first in FIRSTS {
            one(Format::Sc16, 2, rate, Some(1e9), first);
        }
    }
    for (at, first) in FIRSTS.into_iter().enumerate() {
        for centre in CENTRES {
            one(Format::ALL[at % 7], 3, (1_000_000, 1), centre, first);
        }
        for format in Format::ALL {
            for channels in [1, 2, 1_000, u16::MAX] {
                one(format, channels, RATES[at], None, first);
            }
        }
    }
}

#[test]
fn recording_of_contradictory_terms_is_refused() {
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).expect("it is in range");
    let cases = [
        StreamInfo { rate_denominator: 0, ..info.clone() },
        StreamInfo { channels: 0, ..info.clone() },
        StreamInfo { centre_frequency_hz: Some(f64::NAN), ..info.clone() },
    ];
    let folder = tempfile::tempdir().expect("there is room");
    for info in cases {
        for name in ["a", "a.raw", "null"] {
            let path = if name == "null" { name.into() } else { folder.path().join(name) };
            let error = sink::open(&path, &info, &SinkOptions::new()).err();
            assert!(matches!(error, Some(SinkError::Terms(_))), "{info:?}: {error:?}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
}
