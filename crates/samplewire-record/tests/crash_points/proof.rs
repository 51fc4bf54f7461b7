//! Compares the remaining files of a recording with the device.

use samplewire_record::sigmf::Metadata;
use samplewire_record::verify::{Hash, Report, VerifyError, verify_in};

use crate::memory::{Memory, Snapshot};
use crate::recorder::{Device, Mode, NAME, sample};

/// The part of a recording that `verify` proves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proof {
    /// Samples in the data.
    pub(crate) samples: u64,
    /// Indexes that are present or in a gap, over all runs of the device.
    indexes: u64,
}

impl Proof {
    /// Proves a recording; nothing before its first metadata.
    pub(crate) fn of(files: &Snapshot) -> Result<Self, String> {
        let has_samples =
            || files.iter().any(|(path, content)| is_data(path) && !content.is_empty());
        let report = match verify_in(&Memory::of(files.clone()), NAME.as_ref()) {
            Err(VerifyError::NotThere { .. }) if !has_samples() => return Ok(Self::default()),
            verified => verified.map_err(|error| error.to_string())?,
        };
        proven(&report)?;
        let indexes = report.boots.iter().map(|boot| boot.indexes.end - boot.indexes.start).sum();
        Ok(Self { samples: report.samples, indexes })
    }

    /// Returns whether it includes everything of an earlier proof.
    pub(crate) const fn holds(&self, before: &Self) -> bool {
        self.samples >= before.samples && self.indexes >= before.indexes
    }
}

/// Compares a finished recording with the device: it ends where the device is, states no other
/// restarts, and each sample is that of its index.
pub(crate) fn check_whole(files: &Snapshot, mode: &Mode, device: &Device) -> Result<(), String> {
    let report = verify_in(&Memory::of(files.clone()), NAME.as_ref());
    let report = report.map_err(|error| error.to_string())?;
    proven(&report)?;
    if (report.is_finished, report.hash) != (true, Hash::Matches) {
        return Err(format!("finished {}, hash {:?}", report.is_finished, report.hash));
    }
    let last = report.boots.last().ok_or("no index is named")?;
    if (last.boot_id, last.indexes.end) != (Some(device.boot_id), device.index) {
        return Err(format!("it ends with {last:?}, the device is at {device:?}"));
    }
    let boot_ids: Vec<_> = report.boots.iter().filter_map(|boot| boot.boot_id).collect();
    if !boot_ids.is_sorted_by(|before, after| before < after) {
        return Err(format!("a restart of the device that was none: {boot_ids:?}"));
    }
    let metas = files.iter().filter(|(path, _)| path.to_str().is_some_and(is_metadata));
    for (path, text) in metas {
        let text = str::from_utf8(text).map_err(|error| error.to_string())?;
        let metadata = Metadata::parse(text).map_err(|error| error.to_string())?;
        let data = path.with_extension("sigmf-data");
        let bytes = match mode.is_compressed {
            true => zstd::decode_all(&files[&data.with_extension("sigmf-data.zst")][..])
                .map_err(|error| error.to_string())?,
            false => files[&data].to_vec(),
        };
        check_samples(mode, &metadata, &bytes)
            .map_err(|why| format!("{}: {why}", path.display()))?;
    }
    Ok(())
}

fn check_samples(mode: &Mode, metadata: &Metadata, bytes: &[u8]) -> Result<(), String> {
    let captures = &metadata.captures;
    let ends = captures.iter().skip(1).map(|next| next.sample_start as usize * 4);
    for (capture, end) in captures.iter().zip(ends.chain([bytes.len()])) {
        let (boot_id, first) =
            capture.boot_id.zip(capture.global_index).ok_or("a capture without its place")?;
        let samples = bytes[capture.sample_start as usize * 4..end].chunks(4);
        for (index, found) in (first..).zip(samples) {
            if found != sample(mode, boot_id, index) {
                return Err(format!("index {index} of run {boot_id} is another sample"));
            }
        }
    }
    Ok(())
}

fn proven(report: &Report) -> Result<(), String> {
    let words = report.faults.iter().map(ToString::to_string).collect::<Vec<_>>();
    if words.is_empty() { Ok(()) } else { Err(words.join("; ")) }
}

fn is_data(path: &std::path::Path) -> bool {
    path.extension().is_some_and(|it| it == "sigmf-data" || it == "zst")
}

fn is_metadata(path: &str) -> bool {
    path.ends_with(".sigmf-meta")
}
