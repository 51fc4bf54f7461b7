//! Real-time options: granted ones are printed, and refused ones with the command that grants them;
//! the stream runs either way. An idle device sleeps, and a spinning one does not.

use std::process::Command;
use std::time::Duration;

use samplewire_testing::skip;
use serde_json::Value;

use crate::harness::{Device, folder, run, text};

#[test]
fn values_that_cannot_be_are_named() {
    for (option, value, words) in [
        ("--cpu", "100000", ["--cpu 100000", "must be 0 to "]),
        ("--priority", "0", ["--priority", "`0` must be 1 to 99"]),
        ("--priority", "100", ["--priority", "`100` must be 1 to 99"]),
        ("--timer-slack", "2s", ["--timer-slack 2s", "must be 1ns to 1s"]),
        ("--coalesce", "11ms", ["--coalesce 11ms", "must be 1ns to 10ms"]),
        ("--cpu", "first", ["--cpu", "first"]),
    ] {
        for verb in [&["record", "127.0.0.1:9", "null"][..], &["rate", "127.0.0.1:9"], &["emulate"]]
        {
            let arguments = [verb, &[option, value]].concat();
            run(&arguments).expect_error(1, &words);
        }
    }
}

#[test]
fn what_was_asked_for_is_had_or_missing_and_the_stream_runs() {
    let device = Device::start(&["--source", "null", "--rate", "4M", "--timer-slack", "2us"]);
    let options = ["--cpu", "0", "--priority", "1", "--lock-memory", "--huge-pages"];
    let short = ["--nsamps", "400k", "--json", "--timer-slack", "1us", "--coalesce", "50us"];
    let ran = run(&[&["record", &device.address, "null"][..], &options, &short].concat());
    let printed = ran.stderr.clone();
    let document: Value = serde_json::from_slice(&ran.expect(0).stdout).expect("JSON");
    assert_eq!(document["end"]["samples_delivered"], 400_000);
    let had = &document["start"]["real_time"][0];
    assert_eq!(had["waits"], "asleep");
    assert_eq!(had["timer_slack_ns"], 1_000);
    assert_eq!(had["coalesce_ns"], 50_000);
    let refused: Vec<&str> = had["refused"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["what"].as_str().expect("text"))
        .collect();
    for (key, value, what) in
        [("cpu", 0, "CPU 0"), ("priority", 1, "SCHED_FIFO 1"), ("locked_bytes", 1, "locked memory")]
    {
        let is_had = had[key].as_u64().is_some_and(|number| number >= value);
        assert_ne!(is_had, refused.contains(&what), "{key} in {had}");
    }
    for what in refused {
        assert!(
            printed.contains(&format!("no {what}: ")) && printed.contains("tip: "),
            "{printed}"
        );
    }
    // In words, and in both directions.
    let device = Device::start(&["--source", "null", "--play", "null", "--rate", "1M"]);
    let ran = run(&["rate", &device.address, "--way", "both", "--duration", "0.3s", "--cpu", "0"]);
    let ran = ran.expect(0);
    assert_eq!(ran.text().matches("I/O thread CPU 0").count(), 1, "{}", ran.text());
}

/// Without real-time options, nothing is printed about them.
#[test]
fn nothing_is_printed_of_what_was_not_requested() {
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    let ran = run(&["rate", &device.address, "--duration", "0.2s"]).expect(0);
    assert!(!ran.text().contains("I/O thread") && !ran.stderr.contains("SCHED_FIFO"), "{ran:?}");
}

#[test]
fn file_says_it_too() {
    let file = folder("real-time").join("settings.toml");
    std::fs::write(&file, "[record]\nspin = true\ncpu = 0\nnsamps = 1000\n").unwrap();
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    let ran = run(&["record", "--config", text(&file), &device.address, "null", "--json"]);
    let document: Value = serde_json::from_slice(&ran.expect(0).stdout).expect("JSON");
    let had = &document["start"]["real_time"][0];
    assert_eq!((had["waits"].as_str(), had["cpu"].as_u64()), (Some("spinning"), Some(0)), "{had}");
}

/// A user without rights gets a stream, and a report of the rights that are missing.
#[test]
fn stranger_to_all_rights_sees_what_each_would_take() {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout == b"0\n");
    let has_setpriv = Command::new("setpriv").arg("--version").output().is_ok();
    if !is_root || !has_setpriv {
        return skip("setpriv is not there, or may not change the user");
    }
    // The binary may be in a folder that the other user cannot enter.
    let place = std::env::temp_dir().join(format!("samplewire-stranger-{}", std::process::id()));
    std::fs::copy(env!("CARGO_BIN_EXE_samplewire"), &place).unwrap();
    let device = Device::start(&["--source", "null", "--rate", "4M"]);
    let stranger = |options: &[&str]| {
        let out = Command::new("prlimit")
            .args(["--memlock=65536:65536", "--rtprio=0:0", "setpriv", "--reuid", "65534"])
            .args(["--clear-groups", "--bounding-set=-all", "--inh-caps=-all"])
            .arg(&place)
            .args(["record", &device.address, "null", "--nsamps", "400k"])
            .args(options)
            .output()
            .expect("it can be run");
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let (plain_code, plain) = stranger(&[]);
    let (code, printed) = stranger(&["--priority", "50", "--lock-memory", "--cpu", "0"]);
    std::fs::remove_file(&place).unwrap();
    assert_eq!((plain_code, code), (Some(0), Some(0)), "{plain}\n{printed}");
    for words in [
        "no locked memory: ",
        "no SCHED_FIFO 50: Operation not permitted",
        "sudo setcap cap_ipc_lock,cap_sys_nice=ep ",
        "ulimit -l unlimited; ulimit -r 50",
    ] {
        assert!(printed.contains(words), "no `{words}` in:\n{printed}");
    }
    assert!(!printed.contains("no CPU"), "affinity needs no right:\n{printed}");
    let rmem_max = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let is_little = rmem_max.trim().parse::<usize>().unwrap() < 8 << 20;
    assert_eq!(plain.contains("net.core.rmem_max"), is_little, "{plain}");
    assert!(plain.lines().count() <= 3, "no option was requested:\n{plain}");
}

/// CPU seconds of a device with one receiver, over a second in which no samples come.
fn idle_cpu_s(options: &[&str]) -> f64 {
    let device = Device::start(&[&["--source", "null", "--rate", "1M"], options].concat());
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", device.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let [user, system] = [11, 12].map(|at| fields[at].parse::<f64>().unwrap());
        user + system
    };
    // What is measured is a second of time, and not the start before it.
    std::thread::sleep(Duration::from_millis(200));
    let before = ticks();
    std::thread::sleep(Duration::from_secs(1));
    // Ticks are a hundredth of a second on every Linux that this runs on.
    (ticks() - before) / 100.0
}

#[test]
fn idle_device_sleeps_and_one_that_spins_does_not() {
    let asleep = idle_cpu_s(&[]);
    assert!(asleep <= 0.02, "{asleep} s of CPU time in a second of sleep");
    let spinning = idle_cpu_s(&["--spin"]);
    assert!(spinning >= 0.1, "{spinning} s of CPU time in a second of spinning");
}
