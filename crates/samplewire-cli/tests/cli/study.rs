//! `study window`: every point is measured, and comes out as table, CSV, SVG and JSON.

use std::fs;

use serde_json::Value;

use crate::harness::{folder, has_program, run, text};

const SMALL: &[&str] =
    &["study", "window", "--windows", "16,64", "--mtu", "1500", "--rounds", "2", "--each", "60ms"];

#[test]
fn points_come_out_as_table_csv_svg_and_json() {
    let folder = folder("study");
    let (csv, svg) = (folder.join("window.csv"), folder.join("window.svg"));
    let files = ["--csv", text(&csv), "--svg", text(&svg)];
    let options = ["--damage", "0,0.05", "--no-iperf3"];
    let ran = run(&[SMALL, &options, &files].concat()).expect(0);
    for words in ["MTU 1500", "no damage", "5e-2", "      16", "      64", "b/s"] {
        assert!(ran.text().contains(words), "no `{words}` in:\n{}", ran.text());
    }
    let lines = fs::read_to_string(csv).unwrap();
    assert_eq!(lines.lines().count(), 1 + 2 * 2 * 2, "{lines}");
    for line in lines.lines().skip(1) {
        let goodput_bps: f64 = line.rsplit(',').next().unwrap().parse().unwrap();
        assert!(line.starts_with("samplewire,1500,") && goodput_bps > 1e6, "{line}");
    }
    let drawn = fs::read_to_string(svg).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("window in packets"));

    let ran = run(&[SMALL, &["--damage", "0.01", "--no-iperf3", "--json"]].concat()).expect(0);
    let document: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let rows = document["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!((&row["program"], &row["damage"]), (&"samplewire".into(), &0.01.into()));
        assert_eq!(row["goodput_bps"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn iperf3_stands_beside_it_or_is_named_as_missing() {
    let ran = run(&["study", "window", "--windows", "64", "--damage", "0", "--mtu", "1500"]
        .iter()
        .chain(&["--rounds", "1", "--each", "60ms"])
        .collect::<Vec<_>>())
    .expect(0);
    if has_program("iperf3") {
        assert!(ran.text().contains("iperf3 TCP") && ran.text().contains("iperf3 UDP"));
    } else {
        assert!(ran.stderr.contains("iperf3 is not installed"), "{}", ran.stderr);
    }
}

#[test]
fn settings_out_of_range_are_named() {
    run(&["study", "window", "--windows", "0"]).expect_error(1, &["`0` must be 1 to 2^24"]);
    run(&["study", "window", "--damage", "0.7"]).expect_error(1, &["`0.7` is not a share"]);
    run(&["study", "window", "--mtu", "100"]).expect_error(1, &["`100` must be 576 to 9000"]);
    run(&["study", "window", "--csv", "/none/x.csv"]).expect_error(1, &["/none/x.csv"]);
}

#[test]
fn waits_are_measured_asleep_and_spinning() {
    let few = ["study", "pacing", "--requests", "0,1e-323,1e-5,1e-3", "--rounds", "20"];
    let ran = run(&few).expect(0);
    for words in ["requested, s", "1e-323", "spin"] {
        assert!(ran.text().contains(words), "no `{words}` in:\n{}", ran.text());
    }
    let ran = run(&[&few[..], &["--json"]].concat()).expect(0);
    let document: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let rows = document["rows"].as_array().expect("a list");
    for (row, (seconds, least_ns)) in
        rows.iter().zip([(0.0, 0), (1e-323, 1), (1e-5, 10_000), (1e-3, 1_000_000)])
    {
        assert_eq!(
            (row["requested_seconds"].as_f64(), &row["rounds"]),
            (Some(seconds), &20.into())
        );
        for wait in ["sleep", "spin"] {
            let [median, p99] = ["median_ns", "p99_ns"].map(|it| row[wait][it].as_u64().unwrap());
            assert!(least_ns <= median && median <= p99, "{row}");
        }
    }
    run(&["study", "pacing", "--requests", "11"])
        .expect_error(1, &["`11` must be 0 to 10 seconds"]);
}
