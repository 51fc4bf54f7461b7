//! Diagnoses of recorded trees: one good tree, and for each check a fault laid over it.

use std::fs;
use std::path::Path;

use clap::Parser;

use super::check::{Check, Checked, NoReading};
use super::context::Context;
use super::diagnose;
use super::reader::Reader;
use super::table;
use crate::arguments::{Cli, Command, DoctorArguments};

const GOOD: &str = include_str!("tests/good.tree");
const FAULTS: &str = include_str!("tests/faults.tree");

/// Writes the files of `== PATH` and their text.
pub(super) fn write_tree(root: &Path, tree: &str) {
    for file in tree.split("== ").skip(1) {
        let (path, text) = file.split_once('\n').expect("a path and a text");
        let place = root.join(path.trim_start_matches('/'));
        if let Some(failing) = place.to_str().and_then(|it| it.strip_suffix(".error")) {
            fs::remove_file(failing).expect("a read that fails has no file");
        }
        fs::create_dir_all(place.parent().expect("below the root")).expect("a folder");
        fs::write(place, text).expect("a file");
    }
}

fn arguments(words: &str) -> DoctorArguments {
    let cli = Cli::try_parse_from(format!("samplewire doctor {words}").split(' '));
    match cli.expect("options").command {
        Command::Doctor(arguments) => arguments,
        other => panic!("{other:?}"),
    }
}

/// Diagnoses the tree below `root` for the device that the good tree has.
fn diagnosed<T>(root: &Path, words: &str, look: impl FnOnce(Vec<Checked>) -> T) -> T {
    let reader = Reader::new(Some(root.to_owned()));
    let peer = "10.0.0.2:9100".parse().expect("an address");
    let arguments = arguments(words);
    let context = Context::new(&reader, &arguments, Some(peer));
    look(diagnose(&context, &arguments.only))
}

/// The words of all checks that are not good.
fn not_good(checked: &[Checked]) -> Vec<String> {
    let words = |it: &Checked| match &it.answer {
        Ok(reading) if reading.is_right() => None,
        Ok(reading) => Some(format!("{}: {}, not {}", it.check.id, reading.value, reading.limit)),
        Err(NoReading::Unread(error)) => Some(format!("{}: {error}", it.check.id)),
        Err(NoReading::NotApplicable(why)) => Some(format!("{}: n/a: {why}", it.check.id)),
    };
    checked.iter().filter_map(words).collect()
}

fn good_tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write_tree(folder.path(), GOOD);
    folder
}

#[test]
fn good_tree_passes_every_check() {
    let folder = good_tree();
    let words = diagnosed(folder.path(), "10.0.0.2", |checked| not_good(&checked));
    assert_eq!(words, [""; 0]);
    assert!(table::checks().count() >= 40);
}

#[test]
fn planted_fault_of_each_check_comes_first_in_its_group() {
    let faults: Vec<_> = FAULTS.split("## ").skip(1).collect();
    let folder = good_tree();
    for check in table::checks() {
        let fault = faults.iter().find(|it| it.lines().next() == Some(check.id));
        let fault = fault.unwrap_or_else(|| panic!("no fault for {}", check.id));
        write_tree(folder.path(), fault);
        diagnosed(folder.path(), &format!("10.0.0.2 --only {}", check.group()), |checked| {
            let first = checked.first().expect("the group has checks");
            let all = not_good(&checked);
            assert_eq!(first.check.id, check.id, "{all:#?}");
            let reading = first.finding().unwrap_or_else(|| panic!("{}: {all:#?}", check.id));
            assert!(reading.fix.is_some(), "{}", check.id);
        });
        // Back to the good tree.
        let restored = fault.lines().filter_map(|line| line.strip_prefix("== "));
        for path in restored {
            let place = folder.path().join(path.trim_start_matches('/'));
            if path.ends_with(".error") {
                fs::remove_file(&place).expect("it was planted");
            }
            let path = format!("{}\n", path.trim_end_matches(".error"));
            let good =
                GOOD.split("== ").find(|it| it.starts_with(&path)).expect("it is in the good tree");
            write_tree(folder.path(), &format!("== {good}"));
        }
    }
}

#[test]
fn feature_that_is_fixed_has_no_command() {
    let folder = good_tree();
    for (state, settings) in [("off", 1), ("off fixed", 0)] {
        let features = format!("== /ethtool/eth0/features\nrx-checksum on\nrx-gro {state}\n");
        write_tree(folder.path(), &features);
        diagnosed(folder.path(), "10.0.0.2 --only card.gro", |checked| {
            let fix = checked[0].finding().and_then(|found| found.fix.as_ref()).expect("a fix");
            assert_eq!((fix.settings.len(), fix.advice.is_some()), (settings, settings == 0));
        });
    }
}

#[test]
fn no_fault_is_for_a_check_that_does_not_exist() {
    for fault in FAULTS.split("## ").skip(1) {
        let id = fault.lines().next().expect("an ID");
        assert!(table::checks().any(|check| check.id == id), "{id}");
    }
}

#[test]
fn limits_follow_the_rate() {
    let folder = good_tree();
    let findings = |words: &str| diagnosed(folder.path(), words, |checked| not_good(&checked));
    assert_eq!(findings("10.0.0.2 --rate 1M"), [""; 0]);
    let fast = findings("10.0.0.2 --rate 2G");
    for id in ["card.speed", "card.rx_ring", "cpu.count", "cpu.quota", "disk.rate"] {
        assert!(fast.iter().any(|it| it.starts_with(id)), "{id}: {fast:#?}");
    }
    let paused = findings("10.0.0.2 --stall 200ms");
    assert!(paused.iter().any(|it| it.starts_with("socket.rmem_max")), "{paused:#?}");
}

#[test]
fn manual_has_the_rows_of_the_table() {
    let manual = include_str!("../../../../docs/doctor.md");
    let rows: Vec<_> =
        manual.lines().filter(|line| line.starts_with("| `") && line.contains('.')).collect();
    let expected = |check: &Check| {
        let Check { id, title, reason, cost, .. } = check;
        format!("| `{id}` | {title} | {reason} | {cost} |")
    };
    let expected: Vec<_> = table::checks().map(expected).collect();
    for (row, expected) in rows.iter().zip(&expected) {
        let shown = row.strip_prefix(expected.as_str());
        assert!(matches!(shown, Some(" live |" | " tree |")), "{row}\n{expected}");
    }
    assert_eq!(rows.len(), expected.len());
}

#[test]
fn figures_of_costs_are_in_the_page_of_measurements() {
    let manual = include_str!("../../../../docs/performance.md");
    for check in table::checks() {
        let words = check.measured.unwrap_or_default().split([' ', ':', '(', ')']);
        let words = words.map(|word| word.trim_end_matches(','));
        for word in words.filter(|word| word.starts_with(|it: char| it.is_ascii_digit())) {
            assert!(manual.contains(word), "{}: {word}", check.id);
        }
    }
}
