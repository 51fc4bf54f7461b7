//! The metadata of a recording that is being written.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use samplewire_proto::{Gap, SampleIndex};

use super::datatype::datatype_of;
use crate::source::StreamInfo;

/// What will be said of the data: global fields, one capture for each run of samples without a gap,
/// one annotation for each gap. Prints as it stands at any moment.
#[derive(Debug)]
pub(crate) struct Document {
    global: Map<String, Value>,
    global_bytes_max: u64,
    frequency_hz: Option<f64>,
    datetime: Option<String>,
    runs: Vec<Run>,
    gaps: Vec<(u64, Gap)>,
}

/// Samples of consecutive indexes.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where it begins in the file.
    sample_start: u64,
    /// The index of its first sample.
    index: SampleIndex,
}

impl Document {
    /// A document of no samples yet.
    pub(crate) fn new(info: &StreamInfo) -> Self {
        let mut global = info.notes.fields().clone();
        global.insert("core:datatype".into(), datatype_of(info.format).into());
        global.insert("core:version".into(), SIGMF_VERSION.into());
        global.insert("core:num_channels".into(), info.channels.into());
        global.insert("core:recorder".into(), RECORDER.into());
        global.insert(
            "core:extensions".into(),
            json!([{ "name": "samplewire", "version": "1.0.0", "optional": true }]),
        );
        if info.rate_numerator > 0 {
            global.insert("core:sample_rate".into(), rate(info));
        }
        let text = serde_json::to_string_pretty(&global).expect("all keys are texts");
        Self {
            global,
            global_bytes_max: (text.len() + AROUND_BYTES_MAX) as u64,
            frequency_hz: info.centre_frequency_hz,
            datetime: None,
            runs: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Says when the first sample came.
    pub(crate) fn set_datetime(&mut self, datetime: String) {
        self.datetime = Some(datetime);
    }

    /// Begins a run at `sample_start` of the file; false when there are [`GAPS_MAX`] already.
    #[must_use]
    pub(crate) fn begin_run(&mut self, sample_start: u64, index: SampleIndex) -> bool {
        let room = self.runs.len() <= GAPS_MAX;
        if room {
            self.runs.push(Run { sample_start, index });
        }
        room
    }

    /// Notes a gap before `sample_start` of the file; false when there are [`GAPS_MAX`] already.
    #[must_use]
    pub(crate) fn add_gap(&mut self, sample_start: u64, gap: &Gap) -> bool {
        let room = self.gaps.len() < GAPS_MAX;
        if room {
            self.gaps.push((sample_start, *gap));
        }
        room
    }

    /// Forgets what lies behind the first `len_samples` of the file.
    pub(crate) fn truncate(&mut self, len_samples: u64) {
        self.runs.retain(|run| run.sample_start < len_samples);
        self.gaps.retain(|&(sample_start, _)| sample_start <= len_samples);
    }

    /// A length in bytes that the text does not exceed.
    pub(crate) fn len_bytes_max(&self) -> u64 {
        let lists = self.runs.len() * RUN_BYTES_MAX + self.gaps.len() * GAP_BYTES_MAX;
        self.global_bytes_max + lists as u64
    }

    /// Prints the whole, with the hash of the data when it is known.
    pub(crate) fn write(&self, out: &mut impl Write, sha512: Option<&str>) -> io::Result<()> {
        let mut global = self.global.clone();
        if let Some(sha512) = sha512 {
            global.insert("core:sha512".into(), sha512.into());
        }
        out.write_all(b"{\n\"global\": ")?;
        serde_json::to_writer_pretty(&mut *out, &global)?;
        out.write_all(b",\n\"captures\": [")?;
        list(out, (0..).zip(&self.runs).map(|(number, run)| self.capture(number, run)))?;
        out.write_all(b"\n],\n\"annotations\": [")?;
        list(out, self.gaps.iter().map(|(sample_start, gap)| annotation(*sample_start, gap)))?;
        out.write_all(b"\n]\n}\n")
    }

    fn capture(&self, number: usize, run: &Run) -> Value {
        let mut capture =
            json!({ "core:sample_start": run.sample_start, "core:global_index": run.index });
        if let Some(frequency_hz) = self.frequency_hz {
            capture["core:frequency"] = frequency_hz.into();
        }
        if let (0, Some(datetime)) = (number, &self.datetime) {
            capture["core:datetime"] = datetime.as_str().into();
        }
        capture
    }
}

/// A gap takes no samples of the file: it lies at the boundary before `sample_start`.
fn annotation(sample_start: u64, gap: &Gap) -> Value {
    let comment = match gap.count() {
        1 => format!("sample {} is missing: {}", gap.first, gap.cause),
        count => {
            format!("samples {}..{} ({count}) are missing: {}", gap.first, gap.end() - 1, gap.cause)
        }
    };
    json!({
        "core:sample_start": sample_start,
        "core:sample_count": 0,
        "core:label": "gap",
        "core:comment": comment,
        "core:generator": RECORDER,
        "samplewire:first_index": gap.first,
        "samplewire:not_repaired": gap.not_repaired,
        "samplewire:source_lost": gap.source_lost,
        "samplewire:cause": gap.cause.as_str(),
    })
}

fn list(out: &mut impl Write, values: impl Iterator<Item = Value>) -> io::Result<()> {
    for (number, value) in values.enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &value)?;
    }
    Ok(())
}

/// The sample rate, as a whole number where it is one.
fn rate(info: &StreamInfo) -> Value {
    match info.rate_numerator % u64::from(info.rate_denominator) {
        0 => (info.rate_numerator / u64::from(info.rate_denominator)).into(),
        _ => info.rate_hz().into(),
    }
}

/// How many gaps a recording can tell of: their places take 64 MiB, their text some 300 MB.
pub(crate) const GAPS_MAX: usize = 1 << 20;

/// The hash, the first capture's time and the brackets.
const AROUND_BYTES_MAX: usize = 512;

/// The longest text of a capture and of an annotation, with numbers of 20 digits.
const RUN_BYTES_MAX: usize = 160;
/// See [`RUN_BYTES_MAX`].
const GAP_BYTES_MAX: usize = 512;

const SIGMF_VERSION: &str = "1.2.5";
const RECORDER: &str = concat!("samplewire ", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sigmf::Metadata;
    use samplewire_proto::Cause;
    use samplewire_proto::wire::Format;

    fn info() -> StreamInfo {
        let mut info = StreamInfo::new(Format::Sc16, 2, 1e6).unwrap();
        info.centre_frequency_hz = Some(1.09e9);
        info.notes.set("core:author", "N. N.");
        info
    }

    fn text(document: &Document, sha512: Option<&str>) -> String {
        let mut out = Vec::new();
        document.write(&mut out, sha512).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn document_reads_back_as_what_was_written() {
        let mut document = Document::new(&info());
        assert!(Metadata::parse(&text(&document, None)).unwrap().captures.is_empty());
        document.set_datetime("2024-02-29T12:00:00.000Z".into());
        assert!(document.begin_run(0, 100));
        let gap = Gap { first: 150, not_repaired: 40, source_lost: 10, cause: Cause::Deadline };
        assert!(document.add_gap(50, &gap));
        assert!(document.begin_run(50, 200));
        let sha512 = "0f".repeat(64);
        let written = text(&document, Some(&sha512));
        let metadata = Metadata::parse(&written).unwrap();
        assert_eq!((metadata.format, metadata.channels), (Format::Sc16, 2));
        assert_eq!((metadata.rate_hz, metadata.sha512), (Some(1e6), Some(sha512)));
        assert_eq!(metadata.notes.get("core:author"), Some("N. N."));
        let runs: Vec<_> =
            metadata.captures.iter().map(|run| (run.sample_start, run.global_index)).collect();
        assert_eq!(runs, [(0, Some(100)), (50, Some(200))]);
        assert!(metadata.captures[0].datetime.is_some() && metadata.captures[1].datetime.is_none());
        assert_eq!(metadata.captures[1].frequency_hz, Some(1.09e9));
        assert!(written.contains("samples 150..199 (50) are missing: deadline"), "{written}");
    }

    #[test]
    fn truncation_forgets_what_the_file_does_not_hold() {
        let mut document = Document::new(&info());
        let gap = Gap { first: 10, not_repaired: 5, source_lost: 0, cause: Cause::Deadline };
        assert!(document.begin_run(0, 0));
        assert!(document.add_gap(10, &gap) && document.begin_run(10, 15));
        assert!(document.add_gap(20, &gap) && document.begin_run(20, 30));
        document.truncate(10);
        assert_eq!((document.runs.len(), document.gaps.len()), (1, 1));
    }

    #[test]
    fn unknown_rate_is_not_written_and_a_broken_one_is_a_float() {
        let unknown = StreamInfo { rate_numerator: 0, ..info() };
        assert!(!text(&Document::new(&unknown), None).contains("sample_rate"));
        let third = StreamInfo { rate_denominator: 3, ..info() };
        assert_eq!(rate(&third), json!(1e6 / 3.0));
        assert_eq!(rate(&info()), json!(1_000_000));
    }

    #[test]
    fn text_stays_within_its_longest_length() {
        let mut document = Document::new(&info());
        document.set_datetime("2024-02-29T12:00:00.000Z".into());
        let cause = Cause::ReceiverBehind;
        for _ in 0..100 {
            let most = u64::MAX / 2;
            let gap = Gap { first: most, not_repaired: most, source_lost: 1, cause };
            assert!(document.begin_run(u64::MAX, u64::MAX) && document.add_gap(u64::MAX, &gap));
            let len_bytes = text(&document, Some(&"0".repeat(128))).len() as u64;
            assert!(len_bytes <= document.len_bytes_max(), "{len_bytes}");
        }
    }

    #[test]
    fn gaps_stop_at_their_bound() {
        let mut document = Document::new(&info());
        let gap = Gap { first: 0, not_repaired: 1, source_lost: 0, cause: Cause::NeverAsked };
        for _ in 0..GAPS_MAX {
            assert!(document.add_gap(0, &gap));
        }
        assert!(!document.add_gap(0, &gap));
    }
}
