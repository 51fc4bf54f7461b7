//! Compares the files of one recording with its metadata.

use std::path::Path;

use super::{Fault, Hash, Report, VerifyError};
use crate::existing::{Existing, ReadError};
use crate::sigmf::{Paths, sha512_of};
use crate::sink::part_path;
use crate::storage::{OpenMode, Storage};

/// The files of a recording, as far as they are valid.
pub(super) struct Files {
    pub(super) paths: Paths,
    /// `None` if the files are not valid: nothing else can be checked then.
    pub(super) existing: Option<Existing>,
}

impl Files {
    /// Reads everything except the data.
    pub(super) fn open(
        storage: &dyn Storage,
        paths: Paths,
        report: &mut Report,
    ) -> Result<Self, VerifyError> {
        let read = match Existing::read(storage, &paths) {
            Ok(None) => return Err(VerifyError::NotThere { path: paths.meta }),
            Ok(Some((existing, _))) => check_frames(existing),
            Err(ReadError::Wrong { path, why }) => Err(Fault::Text { path, why }),
            Err(ReadError::Io { path, source, .. }) => {
                return Err(VerifyError::Io { path, source });
            }
        };
        report.files.push(paths.meta.clone());
        match &read {
            Ok(existing) => {
                report.is_finished &= existing.metadata.claims.is_finished == Some(true);
                if existing.path == paths.journal {
                    report.files.push(existing.path.clone());
                }
            }
            Err(fault) => {
                report.is_finished = false;
                report.push(fault.clone());
            }
        }
        Ok(Self { paths, existing: read.ok() })
    }

    /// Compares the position in a series with the metadata.
    pub(super) fn check_part(&self, number: u32, has_next: bool, base: &Path, report: &mut Report) {
        let Some(Existing { metadata, .. }) = &self.existing else { return };
        let claims = &metadata.claims;
        let path = || self.paths.meta.clone();
        if claims.part != Some(number.into()) {
            report.push(Fault::Part { path: path(), found: claims.part, expected: number });
        }
        match (claims.is_continued, claims.is_finished) {
            (Some(true), _) if !has_next => {
                let next = part_path(base, number + 1);
                report.push(Fault::Continued { path: path(), next });
            }
            (Some(false), Some(true)) if has_next => report.push(Fault::Last { path: path() }),
            _ => {}
        }
    }

    /// Compares the length and the hash of the data with the metadata; returns the result of the
    /// hash.
    pub(super) fn check_data(
        &self,
        storage: &dyn Storage,
        report: &mut Report,
    ) -> Result<Hash, VerifyError> {
        let Some(existing) = &self.existing else { return Ok(Hash::default()) };
        let Existing { metadata, data_path, samples, .. } = existing;
        let (path, samples) = (|| data_path.clone(), *samples);
        let (claimed, is_finished) = (metadata.claims.sample_count, metadata.is_finished());
        if existing.len_bytes.is_none() {
            // A recorder that was killed at its start has not created the file.
            if is_finished || claimed != Some(0) {
                report.push(Fault::NoData { path: path(), expected: claimed.unwrap_or(0) });
            }
            return Ok(Hash::default());
        }
        report.files.push(path());
        let (len_bytes, frame_bytes) = (existing.frames.content_bytes, metadata.frame_bytes());
        report.samples += samples;
        report.bytes += samples * frame_bytes as u64;
        if is_finished && !len_bytes.is_multiple_of(frame_bytes as u64) {
            report.push(Fault::Partial { path: path(), len_bytes, frame_bytes });
        }
        if let Some(expected) = claimed
            && (samples < expected || (samples > expected && is_finished))
        {
            report.push(Fault::Length { path: path(), found: samples, expected });
        }
        let Some(expected) = &metadata.sha512 else {
            return Ok(if is_finished { Hash::Absent } else { Hash::Unfinished });
        };
        let io = |source| VerifyError::Io { path: path(), source };
        let mut file = storage.open(data_path, OpenMode::Read, false).map_err(io)?;
        let found = sha512_of(&mut file).map_err(io)?;
        if found == *expected {
            return Ok(Hash::Matches);
        }
        report.push(Fault::Sha512 { path: path(), found, expected: expected.clone() });
        Ok(Hash::Differs)
    }
}

/// Checks that finished compressed data are whole frames.
fn check_frames(existing: Existing) -> Result<Existing, Fault> {
    let left_bytes = existing.len_bytes.unwrap_or(0) - existing.frames.frames_bytes;
    if left_bytes == 0 || !existing.metadata.is_finished() {
        return Ok(existing);
    }
    let why = format!("the last {left_bytes} bytes are no frame");
    Err(Fault::Text { path: existing.data_path, why })
}
