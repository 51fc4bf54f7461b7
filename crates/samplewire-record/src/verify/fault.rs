//! The faults that a recording can have.

use std::path::PathBuf;

use samplewire_proto::SampleIndex;

/// A fault of a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The metadata or the journal are not valid.
    #[error("{path}: {why}", path = path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The data file is missing.
    #[error("{path} is not there: the metadata state {expected} samples in it", path = path.display())]
    NoData {
        /// The data file.
        path: PathBuf,
        /// How many samples it should have.
        expected: u64,
    },
    /// The data do not have the length that the metadata state.
    #[error("{path} has {found} samples: the metadata state {expected}", path = path.display())]
    Length {
        /// The data file.
        path: PathBuf,
        /// How many samples it has.
        found: u64,
        /// How many the metadata state.
        expected: u64,
    },
    /// The data end within a sample.
    #[error(
        "{path} has {len_bytes} bytes: no whole number of samples of {frame_bytes}",
        path = path.display()
    )]
    Partial {
        /// The data file.
        path: PathBuf,
        /// Its length.
        len_bytes: u64,
        /// The length of one sample of all channels.
        frame_bytes: usize,
    },
    /// The data do not match the hash in the metadata.
    #[error("{path} has the SHA-512 {found}: the metadata state {expected}", path = path.display())]
    Sha512 {
        /// The data file.
        path: PathBuf,
        /// The hash of the data.
        found: String,
        /// The hash in the metadata.
        expected: String,
    },
    /// The metadata do not state the indexes of some samples.
    #[error("{path}: {count} samples before captures[{capture}] have no index", path = path.display())]
    Unplaced {
        /// The metadata file.
        path: PathBuf,
        /// The first capture that has an index, or the number of captures.
        capture: usize,
        /// The number of samples.
        count: u64,
    },
    /// A capture does not state its index.
    #[error(
        "{path}: captures[{capture}].core:global_index is missing: the indexes of these samples are not known",
        path = path.display()
    )]
    NoIndex {
        /// The metadata file.
        path: PathBuf,
        /// The capture, from 0.
        capture: usize,
    },
    /// A capture or an annotation lies after the end of the data.
    #[error("{path}: {entry} begins at sample {sample_start}: the data end at {end}", path = path.display())]
    Beyond {
        /// The metadata file.
        path: PathBuf,
        /// E.g. `captures[3]`.
        entry: String,
        /// The sample at which it begins.
        sample_start: u64,
        /// The length of the data in samples.
        end: u64,
    },
    /// A gap lies within a capture.
    #[error(
        "{path}: annotations[{annotation}] names a gap at sample {sample_start}: no capture begins there",
        path = path.display()
    )]
    Within {
        /// The metadata file.
        path: PathBuf,
        /// The annotation, counted among those that name gaps, from 0.
        annotation: usize,
        /// The sample at which the gap lies.
        sample_start: u64,
    },
    /// Indexes are neither present nor in a gap.
    #[error(
        "{path}: {entry} is at index {found}: indexes {expected}..{last} are neither there nor named",
        path = path.display(), last = .found - 1
    )]
    Unnamed {
        /// The metadata file.
        path: PathBuf,
        /// E.g. `captures[3]`, or the end stated in the metadata.
        entry: String,
        /// The index up to which all are accounted for.
        expected: SampleIndex,
        /// The index that follows instead.
        found: SampleIndex,
    },
    /// Indexes are present twice, or both present and in a gap.
    #[error(
        "{path}: {entry} is at index {found}: {expected} was to come, and indexes {found}..{last} \
         are accounted for already",
        path = path.display(), last = .expected - 1
    )]
    Twice {
        /// The metadata file.
        path: PathBuf,
        /// E.g. `captures[3]`.
        entry: String,
        /// The index up to which all are accounted for.
        expected: SampleIndex,
        /// The index that follows instead.
        found: SampleIndex,
    },
    /// The first index is not the one in the metadata.
    #[error("{path}: the account begins at index {found}: the metadata state {expected}", path = path.display())]
    First {
        /// The metadata file.
        path: PathBuf,
        /// The first index that is present or in a gap.
        found: SampleIndex,
        /// The index in the metadata.
        expected: SampleIndex,
    },
    /// The last index is not the one in the metadata.
    #[error("{path}: the account ends before index {found}: the metadata state {expected}", path = path.display())]
    End {
        /// The metadata file.
        path: PathBuf,
        /// The index after the last that is present or in a gap.
        found: SampleIndex,
        /// The index in the metadata.
        expected: SampleIndex,
    },
    /// A part of a series has the number of another part.
    #[error(
        "{path}: samplewire:part is {}, in the place of part {expected}",
        .found.map_or("missing".to_owned(), |part| part.to_string()),
        path = path.display()
    )]
    Part {
        /// The metadata file.
        path: PathBuf,
        /// The number in the metadata.
        found: Option<u64>,
        /// The number in the name.
        expected: u32,
    },
    /// The last part of a series is missing.
    #[error("{path}: it continues in {next}, which is not there", path = path.display(), next = next.display())]
    Continued {
        /// The metadata file.
        path: PathBuf,
        /// The next part.
        next: PathBuf,
    },
    /// A part states that it is the last of its series, but another part exists.
    #[error("{path}: it was the last of its series, and there is another part", path = path.display())]
    Last {
        /// The metadata file.
        path: PathBuf,
    },
    /// The device's run changes without a gap that states it.
    #[error(
        "{path}: captures[{capture}] is of the device's run {found:016x}, the one before of \
         {before:016x}: no gap names the restart",
        path = path.display()
    )]
    Restart {
        /// The metadata file.
        path: PathBuf,
        /// The capture, from 0.
        capture: usize,
        /// The previous run.
        before: u64,
        /// The run of the capture.
        found: u64,
    },
}
