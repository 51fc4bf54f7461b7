//! Runs the settings that correct findings, and restores what they replaced.
//!
//! The old values are written to a file before the first setting is made, so that an interrupted run
//! can be undone as well.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::check::Checked;
use super::context::is_interface_name;
use super::fix::{CardParameter, Place, Setting};
use super::reader::Reader;
use crate::console::{Console, plain};
use crate::failure::Failure;

/// The old values of a run of `--fix --yes`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UndoFile {
    version: u32,
    /// Whether a recorded tree was changed, not this host.
    tree: bool,
    /// In the order in which they were set.
    settings: Vec<Replaced>,
}

/// A value that was replaced.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Replaced {
    place: PlaceEntry,
    /// The whole text of a file, or the value of a card's parameter.
    old: String,
    new: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum PlaceEntry {
    File(String),
    Card { interface: String, parameter: String },
}

/// Prints the commands of all findings. With `is_run`, makes the settings and writes the undo file.
pub(super) fn fix(
    console: &mut Console,
    reader: &Reader,
    checked: &[Checked],
    is_run: bool,
) -> Result<(), Failure> {
    let mut settings: Vec<&Setting> = Vec::new();
    let fixes = checked.iter().filter_map(|it| it.finding()?.fix.as_ref());
    for setting in fixes.flat_map(|fix| &fix.settings) {
        if !settings.iter().any(|it| it.place == setting.place) {
            settings.push(setting);
        }
    }
    for setting in &settings {
        console.note(format_args!("# {}", setting.command_line()));
    }
    if !is_run || settings.is_empty() {
        return Ok(());
    }
    let mut replaced = Vec::new();
    for setting in &settings {
        let old = current(reader, &setting.place).map_err(of_place(&setting.place))?;
        let place = PlaceEntry::of(&setting.place);
        replaced.push(Replaced { place, old, new: setting.value.clone() });
    }
    let undo = UndoFile { version: 1, tree: reader.is_recorded(), settings: replaced };
    let path = write_undo(&undo)?;
    console.note(format_args!("old values are in {}: doctor --undo {0}", path.display()));
    // One that is refused does not keep the others back.
    let mut result = Ok(());
    for setting in settings {
        match set(reader, setting).and_then(|()| current(reader, &setting.place)) {
            Ok(granted) if is_same(chosen(&granted), &setting.value) => {}
            Ok(granted) => console.warn(format_args!(
                "{}: {} was granted, not {}",
                setting.place.path().0,
                plain(chosen(&granted), 40),
                setting.value
            )),
            Err(error) => result = result.and(Err(of_place(&setting.place)(error))),
        }
    }
    result
}

/// Restores the values of an undo file, the last first.
pub(super) fn undo(console: &mut Console, reader: &Reader, path: &Path) -> Result<(), Failure> {
    let fail = |source| Failure::Output { path: path.display().to_string(), source };
    let mut text = String::new();
    let file = fs::File::open(path).map_err(fail)?;
    file.take(UNDO_BYTES_MAX).read_to_string(&mut text).map_err(fail)?;
    let undo: UndoFile = serde_json::from_str(&text).map_err(|error| fail(error.into()))?;
    if undo.version != 1 || undo.tree != reader.is_recorded() {
        let words = if undo.tree {
            "it is of a recorded tree: name it with --root"
        } else {
            "it is of a host"
        };
        return Err(fail(io::Error::new(io::ErrorKind::InvalidData, words)));
    }
    // All places are checked before the first is changed.
    let places: Result<Vec<_>, _> = undo.settings.iter().map(|it| it.place.checked()).collect();
    let places = places.map_err(fail)?;
    let mut result = Ok(());
    for (place, Replaced { old, new, .. }) in places.into_iter().zip(&undo.settings).rev() {
        // A setting that was refused has its old value still.
        let found = current(reader, &place).map_err(of_place(&place))?;
        if !is_same(chosen(&found), new) && found != *old {
            let (found, new) = (plain(chosen(&found), 40), plain(new, 40));
            let path = place.path().0;
            console.warn(format_args!("{path} is {found}, not {new} as doctor set it: restored"));
        }
        let restored = restore(reader, &place, old).map_err(of_place(&place));
        if restored.is_ok() {
            let setting = Setting { place, value: chosen(old).to_owned() };
            console.line(format_args!("{}", setting.command_line()));
        }
        result = result.and(restored);
    }
    result
}

impl PlaceEntry {
    fn of(place: &Place) -> Self {
        match place {
            Place::File(path) => Self::File(path.clone()),
            Place::Card(interface, parameter) => {
                Self::Card { interface: interface.clone(), parameter: parameter.answer().join(".") }
            }
        }
    }

    /// The place, if doctor sets such a place.
    fn checked(&self) -> io::Result<Place> {
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

/// The text of a file, or the value of a card's parameter.
fn current(reader: &Reader, place: &Place) -> io::Result<String> {
    let (path, key) = place.path();
    // A second reader: the first keeps what it has read.
    let text = reader.again().text(&path).map_err(|error| io::Error::other(error.to_string()))?;
    let Some(key) = key else { return Ok(text.to_string()) };
    value_in(&text, key).map(|range| text[range].to_owned()).ok_or_else(|| missing(key))
}

fn set(reader: &Reader, setting: &Setting) -> io::Result<()> {
    match (&setting.place, reader.is_recorded()) {
        (Place::File(path), false) => write_over(Path::new(path), &setting.value),
        (Place::File(path), true) => {
            let old = current(reader, &setting.place)?;
            let new = match chosen(&old) {
                // A choice in brackets moves.
                old_choice if old_choice != old.trim() => old
                    .replace(&format!("[{old_choice}]"), old_choice)
                    .replace(&setting.value, &format!("[{}]", setting.value)),
                _ => format!("{}\n", setting.value),
            };
            write_over(&tree_place(reader, path)?, &new)
        }
        (Place::Card(..), false) => run(&setting.command()),
        (Place::Card(..), true) => set_in_tree(reader, &setting.place, &setting.value),
    }
}

fn restore(reader: &Reader, place: &Place, old: &str) -> io::Result<()> {
    match (place, reader.is_recorded()) {
        (Place::File(path), false) => write_over(Path::new(path), chosen(old)),
        (Place::File(path), true) => write_over(&tree_place(reader, path)?, old),
        (Place::Card(..), false) => {
            run(&Setting { place: place.clone(), value: old.to_owned() }.command())
        }
        (Place::Card(..), true) => set_in_tree(reader, place, old),
    }
}

/// Replaces the value of a card's parameter in a recorded answer.
fn set_in_tree(reader: &Reader, place: &Place, value: &str) -> io::Result<()> {
    let (path, key) = place.path();
    let key = key.expect("a card's answer has several values");
    let place = tree_place(reader, &path)?;
    let mut text = fs::read_to_string(&place)?;
    let range = value_in(&text, key).ok_or_else(|| missing(key))?;
    text.replace_range(range, value);
    write_over(&place, &text)
}

fn tree_place(reader: &Reader, path: &str) -> io::Result<PathBuf> {
    let fail = |why| {
        let error = super::reader::ReadError { path: path.to_owned(), why };
        io::Error::other(error.to_string())
    };
    reader.place(path).map_err(fail)
}

/// Where the value of `KEY VALUE` lies in a text.
fn value_in(text: &str, key: &str) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(value) = line.trim_end().strip_prefix(key).and_then(|it| it.strip_prefix(' ')) {
            let first = start + key.len() + 1;
            return Some(first..first + value.len());
        }
        start += line.len();
    }
    None
}

/// The word in brackets, as files of choices have it; else the whole text without its end of line.
fn chosen(text: &str) -> &str {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text.trim(), |(word, _)| word)
}

/// Whether two texts have the same words: the kernel separates some by tabs.
fn is_same(a: &str, b: &str) -> bool {
    a.split_ascii_whitespace().eq(b.split_ascii_whitespace())
}

/// Writes to a file that is there.
fn write_over(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

/// Runs a command without a shell.
fn run(words: &[String]) -> io::Result<()> {
    let (program, arguments) = words.split_first().expect("a command has a word");
    let ran = Command::new(program).args(arguments).output()?;
    if ran.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&ran.stderr);
    Err(io::Error::other(format!("{}: {}", words.join(" "), plain(error.trim(), 200))))
}

/// Writes the undo file beside others, and waits until it is on the disk.
fn write_undo(undo: &UndoFile) -> Result<PathBuf, Failure> {
    let text = serde_json::to_string_pretty(undo).map_err(io::Error::from)?;
    for number in 1..=UNDO_FILES_MAX {
        let name = match number {
            1 => "samplewire-undo.json".to_owned(),
            number => format!("samplewire-undo-{number}.json"),
        };
        let file = OpenOptions::new().write(true).create_new(true).open(&name);
        let fail = |source| Failure::Output { path: name.clone(), source };
        let mut file = match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other.map_err(fail)?,
        };
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(fail)?;
        return Ok(name.into());
    }
    let words = format!("there are {UNDO_FILES_MAX} of its files: undo or delete them");
    let source = io::Error::new(io::ErrorKind::AlreadyExists, words);
    Err(Failure::Output { path: "samplewire-undo.json".into(), source })
}

fn of_place(place: &Place) -> impl FnOnce(io::Error) -> Failure {
    let path = place.path().0;
    move |source| Failure::Output { path, source }
}

fn missing(key: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no {key}"))
}

const UNDO_BYTES_MAX: u64 = 1 << 20;
const UNDO_FILES_MAX: u32 = 1_000;
