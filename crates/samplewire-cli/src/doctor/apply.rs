//! Runs the settings that correct findings, and restores what they replaced.
//!
//! The old values are written to a file before the first setting is made, so that an interrupted run
//! can be undone as well.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::check::Checked;
use super::fix::{Place, Setting};
use super::reader::Reader;
use super::undo_file::{self, PlaceEntry, Replaced, UndoFile};
use crate::console::Console;
use crate::failure::Failure;
use crate::plain::plain;

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
    let mut changes = Changes::new(reader);
    for setting in &settings {
        changes.add(setting)?;
    }
    let path = changes.write()?;
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

/// Settings that are changed, with their old values.
#[derive(Debug)]
pub(super) struct Changes<'a> {
    reader: &'a Reader,
    settings: Vec<Setting>,
    replaced: Vec<Replaced>,
}

impl<'a> Changes<'a> {
    pub(super) const fn new(reader: &'a Reader) -> Self {
        Self { reader, settings: Vec::new(), replaced: Vec::new() }
    }

    /// The number of settings.
    pub(super) const fn len(&self) -> usize {
        self.settings.len()
    }

    /// Reads the old value of a setting, which gets the next number.
    pub(super) fn add(&mut self, setting: &Setting) -> Result<(), Failure> {
        let old = current(self.reader, &setting.place).map_err(of_place(&setting.place))?;
        let place = PlaceEntry::of(&setting.place);
        self.replaced.push(Replaced { place, old, new: setting.value.clone() });
        self.settings.push(setting.clone());
        Ok(())
    }

    /// Writes the undo file.
    pub(super) fn write(&mut self) -> Result<PathBuf, Failure> {
        let settings = std::mem::take(&mut self.replaced);
        let undo = UndoFile { version: 1, tree: self.reader.is_recorded(), settings };
        let path = undo_file::write(&undo)?;
        self.replaced = undo.settings;
        Ok(path)
    }

    /// Makes a setting.
    pub(super) fn set(&self, number: usize) -> Result<(), Failure> {
        let setting = &self.settings[number];
        set(self.reader, setting).map_err(of_place(&setting.place))
    }

    /// Restores the old values of these settings, the last first. One that is refused does not keep the
    /// others back.
    pub(super) fn restore(&self, numbers: Range<usize>) -> Result<(), Failure> {
        let mut result = Ok(());
        for number in numbers.rev() {
            let place = &self.settings[number].place;
            let restored = restore(self.reader, place, &self.replaced[number].old);
            result = result.and(restored.map_err(of_place(place)));
        }
        result
    }

    /// Restores all old values, and then removes the undo file.
    pub(super) fn end(self, undo_file: &Path) -> Result<(), Failure> {
        self.restore(0..self.len())?;
        fs::remove_file(undo_file).map_err(Failure::of_file(undo_file))
    }
}

/// Restores the values of an undo file, the last first.
pub(super) fn undo(console: &mut Console, reader: &Reader, path: &Path) -> Result<(), Failure> {
    let fail = Failure::of_file(path);
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

fn of_place(place: &Place) -> impl FnOnce(io::Error) -> Failure {
    let path = place.path().0;
    move |source| Failure::File { path, source }
}

fn missing(key: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no {key}"))
}

const UNDO_BYTES_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_that_cannot_be_restored_keeps_no_other_back() {
        let root = tempfile::tempdir().unwrap();
        let paths = ["/proc/sys/kernel/a", "/proc/sys/kernel/b", "/proc/sys/kernel/c"];
        let place = |path: &str| root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place("/proc/sys/kernel")).unwrap();
        let reader = Reader::new(Some(root.path().to_owned()));
        let mut changes = Changes::new(&reader);
        for path in paths {
            fs::write(place(path), "1\n").unwrap();
            changes.add(&Setting { place: Place::File(path.into()), value: "2".into() }).unwrap();
        }
        (0..3).for_each(|number| changes.set(number).unwrap());
        assert_eq!(fs::read_to_string(place(paths[0])).unwrap(), "2\n");
        fs::remove_file(place(paths[1])).unwrap();
        let undo_file = root.path().join("undo.json");
        fs::write(&undo_file, "").unwrap();
        let error = changes.end(&undo_file).unwrap_err().to_string();
        assert!(error.contains(paths[1]), "{error}");
        for path in [paths[0], paths[2]] {
            assert_eq!(fs::read_to_string(place(path)).unwrap(), "1\n");
        }
        assert!(undo_file.exists(), "it is needed still");
    }
}
