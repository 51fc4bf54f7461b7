//! `verify`: whether a recording matches its metadata.

use std::path::PathBuf;

use samplewire_record::verify::{Fault, Hash, Report};
use serde::Serialize;

use crate::account::{Counts, gap_counts};
use crate::arguments::VerifyArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::{grouped, indexes_words};
use crate::outcome::Outcome;
use crate::record::summary::causes_words;

/// Verifies the recording and prints the result.
pub(crate) fn run(arguments: &VerifyArguments) -> Result<Outcome, Failure> {
    let report = samplewire_record::verify(&arguments.file)?;
    let outcome = if report.is_proven() { Outcome::Whole } else { Outcome::Missing };
    let mut console = Console::new(Lines::Stdout, false);
    if arguments.json {
        let text = serde_json::to_string_pretty(&Document::new(&report, outcome));
        console.line(format_args!("{}", text.map_err(std::io::Error::from)?));
    } else {
        print(&mut console, &report, &arguments.file.display().to_string());
    }
    Ok(outcome)
}

fn print(console: &mut Console, report: &Report, file: &str) {
    let verdict = if report.is_proven() { "proven" } else { "not proven" };
    console.line(format_args!("{file}: {verdict}"));
    if report.boots.is_empty()
        && let Some(data) = data_of_unread(report)
    {
        print_faults(console, report);
        if data.is_file() {
            let (data, raw) = (data.display(), data.with_extension("raw"));
            let raw = raw.display();
            console.line(format_args!(
                "  samples    are in {data}: a copy of it as {raw} is read with --format and --rate"
            ));
        }
        return;
    }
    let (samples, bytes) = (grouped(report.samples), grouped(report.bytes));
    console.line(format_args!("  data       {samples} samples, {bytes} bytes"));
    console.line(format_args!("  hash       {}", hash_words(report.hash)));
    for boot in &report.boots {
        let of = boot.boot_id.map(|id| format!(" of the device's run {id:016x}"));
        let indexes = indexes_words(boot.indexes.clone());
        console.line(format_args!("  indexes    {indexes}{}", of.unwrap_or_default()));
    }
    // The metadata do not store why counts are not exact.
    let causes = causes_words(&report.gap_samples, |_| "");
    let (missing, gaps) = (grouped(report.missing()), grouped(report.gaps));
    console.line(format_args!("  missing    {missing} samples in {gaps} gaps{causes}"));
    if report.estimated_gaps > 0 {
        let gaps = grouped(report.estimated_gaps);
        console.line(format_args!("  estimated  the length of {gaps} of the gaps"));
    }
    if report.jumped > 0 {
        let jumped = grouped(report.jumped);
        console.line(format_args!("  left out   {jumped} indexes, by the device on purpose"));
    }
    if !report.is_finished {
        console.line(format_args!(
            "  state      not finished: it is under way, or its recorder was killed"
        ));
    }
    print_faults(console, report);
}

fn print_faults(console: &mut Console, report: &Report) {
    for fault in &report.faults {
        console.error(format_args!("{fault}"), None);
    }
    if report.faults_left_out > 0 {
        let more = grouped(report.faults_left_out);
        console.error(format_args!("{more} more of the kind"), None);
    }
}

/// Returns the data of a recording whose metadata are not valid: nothing else is known about them.
fn data_of_unread(report: &Report) -> Option<PathBuf> {
    report.faults.iter().find_map(|fault| match fault {
        Fault::Text { path, .. } if path.extension()? == "sigmf-meta" => {
            Some(path.with_extension("sigmf-data"))
        }
        _ => None,
    })
}

const fn hash_words(hash: Hash) -> &'static str {
    match hash {
        Hash::Matches => "SHA-512 of the data is that of the metadata",
        Hash::Differs => "SHA-512 of the data is NOT that of the metadata",
        Hash::Unfinished => "none yet: it is made when a recording is finished",
        Hash::Absent => {
            "none: recorded with --no-hash, or an error or a kill came before the hash was made"
        }
    }
}

/// The object of `verify --json`. Later versions add fields, and never change them.
#[derive(Debug, Serialize)]
struct Document {
    /// `proven` or `not proven`.
    result: &'static str,
    /// The exit status of the command.
    exit_status: u8,
    /// The files that were read.
    files: Vec<String>,
    /// Whether the recorder finished it. If not, it is in progress, or its recorder was killed.
    finished: bool,
    /// Samples in the data.
    samples: u64,
    /// Bytes of whole samples in the data.
    bytes: u64,
    /// `matches`, `differs`, `unfinished` or `absent`.
    sha512: &'static str,
    /// The indexes that are present or in a gap, for each run of the device.
    boots: Vec<BootEntry>,
    /// Gaps.
    gaps: u64,
    /// Gaps whose length is an estimate.
    gaps_estimated: u64,
    /// Samples missing.
    samples_missing: u64,
    /// Samples missing, by cause.
    gap_samples: Counts,
    /// Indexes that the device left out on purpose.
    indexes_jumped: u64,
    /// The faults as text.
    faults: Vec<String>,
    /// The number of faults that are not listed: the list is bounded.
    faults_left_out: u64,
}

/// A run of the device.
#[derive(Debug, Serialize)]
struct BootEntry {
    /// In hex; null if the metadata do not state it.
    boot_id: Option<String>,
    /// The first index.
    first_index: u64,
    /// The index after the last.
    end_index: u64,
}

impl Document {
    fn new(report: &Report, outcome: Outcome) -> Self {
        let boots = report.boots.iter().map(|boot| BootEntry {
            boot_id: boot.boot_id.map(|id| format!("{id:016x}")),
            first_index: boot.indexes.start,
            end_index: boot.indexes.end,
        });
        Self {
            result: if report.is_proven() { "proven" } else { "not proven" },
            exit_status: outcome.code(),
            files: report.files.iter().map(|path| path.display().to_string()).collect(),
            finished: report.is_finished,
            samples: report.samples,
            bytes: report.bytes,
            sha512: match report.hash {
                Hash::Matches => "matches",
                Hash::Differs => "differs",
                Hash::Unfinished => "unfinished",
                Hash::Absent => "absent",
            },
            boots: boots.collect(),
            gaps: report.gaps,
            gaps_estimated: report.estimated_gaps,
            samples_missing: report.missing(),
            gap_samples: gap_counts(&report.gap_samples),
            indexes_jumped: report.jumped,
            faults: report.faults.iter().map(ToString::to_string).collect(),
            faults_left_out: report.faults_left_out,
        }
    }
}
