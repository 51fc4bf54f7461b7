//! The simulator as a verb.

use crate::harness::{folder, run, text};

#[test]
fn swarm_of_some_seeds_holds_and_sums_up() {
    let ran = run(&["sim", "swarm", "--seeds", "0..20"]).expect(0);
    let words = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(words.lines().last().is_some_and(|line| line.contains("0 fail")), "{words}");
}

#[test]
fn seeds_that_are_no_range_are_named() {
    run(&["sim", "swarm", "--seeds", "7..7"]).expect_error(1, &["7..7", "A below B"]);
}

#[test]
fn figure_that_misses_its_bound_tells_by_the_exit_status() {
    // Too few packets for the slowest repair to show, so each bound holds or is told.
    let ran = run(&["sim", "figures", "--packets", "20000"]);
    let words = String::from_utf8_lossy(&ran.stdout).into_owned();
    let misses = words.contains("FAILS");
    ran.expect(if misses { 4 } else { 0 });
}

#[test]
fn table_that_cannot_be_written_is_named() {
    let path = folder("sim").join("absent/table.csv");
    run(&["sim", "repair", "--csv", text(&path)]).expect_error(1, &["absent/table.csv"]);
}
