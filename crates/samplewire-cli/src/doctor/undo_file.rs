//! The file of old values that `--fix --yes` and `--measure --yes` write before they change any.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::context::is_interface_name;
use super::fix::{CardParameter, Place};
use crate::failure::Failure;
use crate::plain::plain;

/// The old values of a run of `--fix --yes`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UndoFile {
    pub(super) version: u32,
    /// Whether a recorded tree was changed, not this host.
    pub(super) tree: bool,
    /// In the order in which they were set.
    pub(super) settings: Vec<Replaced>,
}

/// A value that was replaced.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replaced {
    pub(super) place: PlaceEntry,
    /// The whole text of a file, or the value of a card's parameter.
    pub(super) old: String,
    pub(super) new: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum PlaceEntry {
    File(String),
    Card { interface: String, parameter: String },
}

impl PlaceEntry {
    pub(super) fn of(place: &Place) -> Self {
        match place {
            Place::File(path) => Self::File(path.clone()),
            Place::Card(interface, parameter) => {
                Self::Card { interface: interface.clone(), parameter: parameter.answer().join(".") }
            }
        }
    }

    /// The place, if doctor sets such a place.
    pub(super) fn checked(&self) -> io::Result<Place> {
        let wrong = |what: &str| {
            let words = format!("`{}` is no place that doctor sets", plain(what, 80));
            Err(io::Error::new(io::ErrorKind::InvalidData, words))
        };
        match self {
            Self::File(path) => {
                let is_known =
                    ["/proc/sys/", "/proc/irq/", "/sys/"].iter().any(|it| path.starts_with(it));
                if !is_known || path.split('/').any(|part| part == "..") {
                    return wrong(path);
                }
                Ok(Place::File(path.clone()))
            }
            Self::Card { interface, parameter } => {
                let known =
                    CardParameter::ALL.into_iter().find(|it| it.answer().join(".") == *parameter);
                match known.filter(|_| is_interface_name(interface)) {
                    Some(parameter) => Ok(Place::Card(interface.clone(), parameter)),
                    None => wrong(interface),
                }
            }
        }
    }
}

/// Writes the undo file beside others, and waits until it is on the disk.
pub(super) fn write(undo: &UndoFile) -> Result<PathBuf, Failure> {
    let text = serde_json::to_string_pretty(undo).map_err(io::Error::from)?;
    for number in 1..=UNDO_FILES_MAX {
        let name = match number {
            1 => "samplewire-undo.json".to_owned(),
            number => format!("samplewire-undo-{number}.json"),
        };
        let file = OpenOptions::new().write(true).create_new(true).open(&name);
        let fail = Failure::of_file(Path::new(&name));
        let mut file = match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other.map_err(fail)?,
        };
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(fail)?;
        return Ok(name.into());
    }
    let words = format!("there are {UNDO_FILES_MAX} of its files: undo or delete them");
    let source = io::Error::new(io::ErrorKind::AlreadyExists, words);
    Err(Failure::of_file(Path::new("samplewire-undo.json"))(source))
}

const UNDO_FILES_MAX: u32 = 1_000;
