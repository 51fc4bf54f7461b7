//! Writes what a diagnosis has read as a tree, which `--root` reads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::reader::{ERROR_SUFFIX, Reader, Why};
use super::redact::Redactor;
use crate::failure::Failure;

/// Writes a new folder. Reads that failed are kept with their error, unless nothing was there.
pub(super) fn write(reader: &Reader, folder: &Path) -> Result<(), Failure> {
    fs::create_dir(folder).map_err(Failure::of_file(folder))?;
    let redactor = redactor(reader);
    let place = |path: &str| folder.join(redactor.text(path).trim_start_matches('/'));
    for (path, names) in reader.folders() {
        for name in names.iter().flat_map(|names| names.iter()) {
            let place = place(&format!("{path}/{name}"));
            fs::create_dir_all(&place).map_err(Failure::of_file(&place))?;
        }
    }
    for (path, read) in reader.files() {
        let (place, text) = match read {
            Ok(text) => (place(&path), redactor.text(&text)),
            Err(error) => match error.why {
                Why::System(number) if !error.why.is_absence() => {
                    (place(&format!("{path}{ERROR_SUFFIX}")), format!("{number}\n"))
                }
                _ => continue,
            },
        };
        write_file(&place, &text).map_err(Failure::of_file(&place))?;
    }
    Ok(())
}

fn write_file(place: &PathBuf, text: &str) -> io::Result<()> {
    // A name in a folder that was listed is there as a folder.
    let _ = fs::remove_dir(place);
    fs::create_dir_all(place.parent().unwrap_or(Path::new(".")))?;
    fs::write(place, text)
}

fn redactor(reader: &Reader) -> Redactor {
    // Not through the reader, which would record it.
    let host_name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let groups = reader.text("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"));
    Redactor::new(&host_name, group.unwrap_or_default())
}
