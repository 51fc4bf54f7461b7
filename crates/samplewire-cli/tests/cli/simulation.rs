//! The simulator as a verb.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{folder, has_program, run, text};

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
fn table_that_cannot_be_written_is_named() {
    let path = folder("sim").join("absent/table.csv");
    run(&["sim", "repair", "--csv", text(&path)]).expect_error(1, &["absent/table.csv"]);
}

#[test]
fn packets_of_a_seed_are_read_by_tshark_with_times_lengths_and_fates() {
    let path = folder("sim-pcap").join("tapped.pcapng");
    let document = (0..40)
        .map(|seed| tapped(seed, &path))
        .find(|document| document["counts"]["corruptions"] != 0)
        .expect("some links corrupt");
    let Some(frames) = tshark(&path) else { return };
    assert_eq!(document["pcap"]["packets"], frames.len());
    let of = |value: &Value| value.as_u64().unwrap();
    let mut last_ns = 0;
    let mut corrupted = 0;
    for frame in &frames {
        let [time, wire_bytes, kept_bytes, interface, comment, checksum] = &frame[..] else {
            panic!("{frame:?}")
        };
        let time_ns: u64 = time.replace('.', "").parse().unwrap();
        assert!((last_ns..=of(&document["counts"]["virtual_ns"])).contains(&time_ns), "{frame:?}");
        last_ns = time_ns;
        // The least packet that the protocol has, with its IP and UDP headers.
        let (wire_bytes, kept_bytes): (u64, u64) =
            (wire_bytes.parse().unwrap(), kept_bytes.parse().unwrap());
        assert!((26 + 28..=wire_bytes).contains(&kept_bytes) && wire_bytes <= 9_000, "{frame:?}");
        assert_eq!(checksum, "1", "{frame:?}");
        if interface.ends_with("departs") {
            corrupted += comment.matches("corrupted").count() as u64;
        }
    }
    assert_eq!(corrupted, of(&document["counts"]["corruptions"]));
}

/// Runs a seed with its packets written to `path`; returns the JSON.
fn tapped(seed: u64, path: &Path) -> Value {
    let seeds = format!("{seed}..{}", seed + 1);
    let arguments = ["sim", "swarm", "--seeds", &seeds, "--pcap", text(path), "--json"];
    let ran = run(&arguments).expect(0);
    assert!(ran.stderr.contains("departures and arrivals"), "{}", ran.stderr);
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// The fields of each frame, or `None` without tshark.
fn tshark(path: &Path) -> Option<Vec<Vec<String>>> {
    if !has_program("tshark") {
        return None;
    }
    let mut command = Command::new("tshark");
    command.args(["-n", "-r", text(path), "-T", "fields", "-o", "udp.check_checksum:TRUE"]);
    for field in [
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "frame.interface_name",
        "frame.comment",
        "udp.checksum.status",
    ] {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(|line| line.split('\t').map(String::from).collect()).collect())
}

#[test]
fn pcap_of_several_seeds_is_refused_with_the_range() {
    let path = folder("sim-pcap-range").join("x.pcapng");
    run(&["sim", "swarm", "--seeds", "3..9", "--pcap", text(&path)])
        .expect_error(1, &["--seeds 3..9", "are 6", "--seeds 3..4"]);
    assert!(!path.exists());
}

#[test]
fn full_pcap_says_what_is_left_out() {
    let path = folder("sim-pcap-full").join("x.pcapng");
    let limits = ["--pcap", text(&path), "--pcap-packets", "50"];
    let arguments = [&["sim", "swarm", "--seeds", "10..11"][..], &limits].concat();
    let ran = run(&arguments).expect(0);
    assert!(ran.stderr.contains("x.pcapng: 50 departures"), "{}", ran.stderr);
    assert!(ran.stderr.contains("left out: --pcap-packets "), "{}", ran.stderr);
    assert!(ran.text().lines().last().is_some_and(|line| line.starts_with("1 runs")));
}

#[test]
fn soak_as_json_is_one_object() {
    let arguments = ["sim", "soak", "--duration", "200ms", "--first", "5", "--json"];
    let document: Value = serde_json::from_slice(&run(&arguments).expect(0).stdout).unwrap();
    assert_eq!(document["first_seed"], 5);
    assert_eq!((&document["result"], &document["failures"]), (&"whole".into(), &json!([])));
    assert!(document["runs"].as_u64() > Some(0), "{document}");
    assert!(document["counts"]["data_packets"].as_u64() > Some(0), "{document}");
    assert!(document["transitions"].as_array().is_some_and(|rows| !rows.is_empty()));
}

#[test]
fn soak_of_a_count_ends_when_so_many_hostile_packets_have_come() {
    let arguments = ["sim", "soak", "--hostile", "3k", "--first", "5", "--threads", "1", "--json"];
    let document: Value = serde_json::from_slice(&run(&arguments).expect(0).stdout).unwrap();
    let kinds = ["ignored", "replayed", "refused", "on_the_path"];
    let counts = kinds.map(|kind| document["counts"][format!("hostile_{kind}")].as_u64().unwrap());
    // A seed draws at most 60 bursts of 64, and those that it offers at its end.
    assert!((3_000..7_000).contains(&counts.iter().sum::<u64>()), "{counts:?}");
    run(&["sim", "soak", "--hostile", "3k", "--duration", "1s"]).expect_error(1, &["--hostile"]);
}

#[test]
fn figures_have_a_bound_each_and_one_that_misses_it_sets_the_exit_status() {
    // Of so few packets the half ring keeps all, where some must be lost.
    let figures = |parts: &str, packets: &str, code: i32| {
        let arguments = ["sim", "figures", "--parts", parts, "--packets", packets, "--json"];
        let document: Value = serde_json::from_slice(&run(&arguments).expect(code).stdout).unwrap();
        assert_eq!(document["exit_status"], code);
        document["figures"].as_array().unwrap().clone()
    };
    let whole = figures("latency,bursts", "20000", 0);
    assert!(whole.iter().all(|it| it["holds"] == true), "{whole:?}");
    let missed = figures("rings", "2000", 4);
    assert!(missed.iter().any(|it| it["holds"] == false), "{missed:?}");
    for figure in whole.iter().chain(&missed) {
        let value = figure["value"].as_u64().unwrap();
        let holds = match figure["at_most"].as_u64() {
            Some(bound) => value <= bound,
            None => value >= figure["at_least"].as_u64().unwrap(),
        };
        assert_eq!(figure["holds"], holds, "{figure}");
    }
}

#[test]
fn command_that_a_failure_prints_traces_its_seed_and_writes_its_packets() {
    let command = samplewire_sim::replay_command(7);
    let (arguments, file) = command.rsplit_once(' ').unwrap();
    let path = folder("sim-replay").join(file);
    let words: Vec<&str> = arguments.split(' ').skip(1).chain([text(&path)]).collect();
    let ran = run(&words).expect(0);
    assert!(ran.text().contains(" sends "), "{}", ran.text());
    assert!(ran.text().lines().last().is_some_and(|line| line.starts_with("1 runs")));
    assert!(std::fs::metadata(&path).unwrap().len() > 1_000);
}

#[test]
fn options_of_congestion_that_have_no_effect_are_refused_by_name() {
    let cases: [(&[&str], [&str; 2]); 8] = [
        (&["--traffic", "stream", "--burst", "10"], ["--burst", "--traffic steady"]),
        (&["--traffic", "roce", "--burst", "10"], ["--burst", "--traffic steady"]),
        (&["--congested-acks-cut"], ["--congested-acks-cut", "--traffic roce or both"]),
        (
            &["--traffic", "both", "--control", "reference"],
            ["--control reference", "--traffic steady"],
        ),
        (&["--window", "64"], ["--window", "--traffic roce, stream or both"]),
        (&["--scenario", "turns", "--senders", "3"], ["--senders", "--scenario star"]),
        (&["--scenario", "camera", "--shared", "100G"], ["--shared", "--scenario star"]),
        (&["--preset", "hpcc", "--control", "reference"], ["--control reference", "--preset hpcc"]),
    ];
    for (options, words) in cases {
        let arguments = [&["sim", "congestion"], options].concat();
        run(&arguments).expect_error(1, &words);
    }
}

#[test]
fn lines_too_slow_for_congestion_control_are_refused_by_name() {
    let path = folder("sim-explore").join("sweep.csv");
    for arguments in [["sim", "explore", text(&path)].as_slice(), &["sim", "congestion"]] {
        let arguments = [arguments, &["--line", "10k"]].concat();
        run(&arguments).expect_error(1, &["10k", "1M to 10T"]);
    }
    assert!(!path.exists());
}
