//! `rate` and `latency`.

use std::time::Duration;

use crate::harness::{Device, METRICS, Running, run};

#[test]
fn rate_of_both_ways_is_that_of_the_device_with_nothing_lost() {
    let device = Device::start(&[
        "--source", "counter", "--play", "null", "--rate", "1M", "--window", "4096",
    ]);
    let arguments = ["rate", &device.address, "--way", "both", "--duration", "4s", "--json"];
    let list = ["--lead", "1500ms", "--fail-on", "gap=0,late=0,underflow=0"];
    let ran = run(&[&arguments[..], &list[..]].concat()).expect(0);
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let end = &document["end"];
    assert_eq!(end["result"], "whole");
    let delivered = end["receive"]["samples_delivered"].as_u64().unwrap();
    assert!((3_000_000..5_000_000).contains(&delivered), "{delivered} in 4 s at 1 MS/s");
    assert_eq!(end["transmit"]["samples_underflow"], 0);
    assert!(end["transmit"]["samples_sent"].as_u64().unwrap() > 1_000_000);
    let intervals = document["intervals"].as_array().unwrap();
    assert!(intervals.len() >= 2, "{intervals:?}");
    let by_second: u64 =
        intervals.iter().map(|it| it["receive"]["samples"].as_u64().unwrap()).sum();
    assert!(by_second <= delivered && by_second > 1_000_000, "{by_second} of {delivered}");
    device.interrupt().expect(0);
}

#[test]
fn rate_reports_each_second_and_fails_above_a_threshold() {
    let arguments = ["--source", "null", "--rate", "1M", "--fault", "data:loss=0.2,seed=2"];
    let device = Device::start(&arguments);
    let arguments = ["rate", &device.address, "--duration", "1500ms", "--mtu", "1500"];
    let ran = run(&[&arguments[..], &["--fail-on", "repaired=1"]].concat()).expect(4);
    assert!(ran.text().contains("1.0 s  received "), "{}", ran.text());
    assert!(ran.text().contains("threshold  repaired: "), "{}", ran.text());
    let best_effort = ["--delivery", "best-effort"];
    let ran = run(&[&arguments[..], &best_effort[..]].concat()).expect(3);
    assert!(!ran.text().contains("missing    0 samples"), "{}", ran.text());
    run(&[&arguments[..], &["--way", "transmit"]].concat())
        .expect_error(2, &["refused: Role", "emulate --play"]);
    run(&["rate", &device.address, "--way", "up"]).expect_error(1, &["receive, transmit, both"]);
    run(&["rate", &device.address, "--fail-on", "speed=1"]).expect_error(1, &["underflow"]);
}

/// What is missing, and how much of it was lost at each hop: the sum.
fn lost_at(end: &serde_json::Value) -> (u64, serde_json::Map<String, serde_json::Value>) {
    let lost = end["lost_at"].as_object().unwrap().clone();
    let sum: u64 = lost.values().map(|samples| samples.as_u64().unwrap()).sum();
    assert_eq!(end["samples_missing"], sum, "{lost:?}");
    (sum, lost)
}

#[test]
fn samples_that_the_wire_loses_are_reported_as_the_wires() {
    for seed in ["1", "2", "3"] {
        let fault = format!("data:loss=0.05,seed={seed}");
        let device = Device::start(&["--source", "null", "--rate", "1M", "--fault", &fault]);
        let list = ["--duration", "800ms", "--mtu", "1500", "--delivery", "best-effort", "--json"];
        let ran = run(&[&["rate", &device.address], &list[..]].concat()).expect(3);
        let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        let end = &document["end"]["receive"];
        let (sum, lost) = lost_at(end);
        assert!(sum > 0 && (lost["wire"].as_u64() > Some(0)), "{end}");
        assert_eq!(end["host_hints"]["interface"], "lo");
        let is_sure = end["packets_dropped_by_socket"] == 0;
        let bound = &end["lost_at_bounds"]["wire"];
        let is_counted = end["host_hints"]["kernel_uncounted"].is_null();
        let sure = if is_counted { "exact" } else { "at most" };
        assert!(bound == "about" || is_sure && bound == sure, "{end}");
    }
}

#[test]
fn samples_that_a_stopped_host_costs_are_not_reported_as_the_wires() {
    let device = Device::start(&["--source", "null", "--rate", "20M", "--window", "4096"]);
    let list = ["--duration", "2500ms", "--mtu", "9000", "--delivery", "best-effort"];
    let rate = [&["rate", &device.address, "--json"], &list[..], &METRICS].concat();
    let rate = Running::start(&rate);
    rate.until_metric("samplewire_receiver_received_total", |packets| packets > 1_000.0);
    rate.signal(libc::SIGSTOP);
    // The stall is the fault: longer than both ends hold samples.
    std::thread::sleep(Duration::from_millis(1_200));
    rate.signal(libc::SIGCONT);
    let ran = rate.finish().expect(3);
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let (_, lost) = lost_at(&document["end"]["receive"]);
    // The socket overflows first where this user may not have one that holds the window. Whichever
    // thread runs first when the process goes on decides whether the program is seen to hold all.
    let unsent = lost["device"].as_u64().max(lost["application"].as_u64());
    assert!(unsent > Some(0), "the device had no credit: {lost:?}");
    assert_eq!(lost["wire"], 0, "{lost:?}");
}

#[test]
fn interrupted_rate_is_130() {
    let device = Device::start(&["--source", "null", "--rate", "1M"]);
    let rate = Running::start(&["rate", &device.address, "--duration", "1min"]);
    rate.until(" s  received ");
    rate.signal(libc::SIGINT);
    let ran = rate.finish().expect(130);
    assert!(ran.text().contains("received "), "{}", ran.text());
}

#[test]
fn bursts_without_a_lead_are_late_and_those_with_a_long_one_are_not() {
    let device = Device::start(&["--source", "counter", "--play", "null", "--rate", "1M"]);
    let arguments = ["latency", &device.address, "--leads", "1us,1500ms", "--bursts", "3"];
    let ran = run(&[&arguments[..], &["--rounds", "10", "--json"]].concat()).expect(0);
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let leads = document["leads"].as_array().unwrap();
    assert_eq!((&leads[0]["bursts"], &leads[0]["bursts_late"]), (&3.into(), &3.into()));
    assert_eq!((&leads[1]["bursts"], &leads[1]["bursts_late"]), (&3.into(), &0.into()));
    assert_eq!(document["round_trips"]["count"], 10);
    let ran = run(&[&arguments[..], &["--rounds", "3"]].concat()).expect(0);
    assert!(ran.text().contains("round trip 3 times: "), "{}", ran.text());
    assert!(ran.text().contains("100.0 %  ####"), "{}", ran.text());
    assert!(ran.text().lines().all(|line| line.chars().count() <= 80), "{}", ran.text());
    // Without an I/O thread, and with one where an option is of it.
    for (more, thread) in
        [(&["--spin"][..], "in the program's own"), (&["--spin", "--cpu", "0"], "CPU 0")]
    {
        let ran = run(&[&arguments[..], &["--rounds", "0"], more].concat()).expect(0);
        assert!(ran.text().contains(&format!("I/O thread {thread}")), "{}", ran.text());
        assert!(ran.text().contains("1.5 s           3        0 "), "{}", ran.text());
    }
    let long = ["latency", &device.address, "--nsamps", "1M", "--rounds", "0"];
    run(&long).expect_error(1, &["--nsamps 1000000", "has room for"]);
    let sender = Device::start(&["--source", "null", "--rate", "1M"]);
    run(&["latency", &sender.address, "--rounds", "0"]).expect_error(2, &["refused: Role"]);
}

/// Each lead ends with a wait of some 0.3 s for the device's report, and a window holds 0.1 s of samples.
#[test]
fn latency_takes_samples_while_it_waits_for_the_end_of_a_lead() {
    let samples = ["--source", "null", "--play", "null", "--rate", "10M", "--window", "450"];
    let device = Device::start(&[&samples[..], &["--once"]].concat());
    let leads = ["--leads", "5ms,5ms,5ms,5ms", "--bursts", "3", "--rounds", "0"];
    run(&[&["latency", &device.address], &leads[..]].concat()).expect(0);
    let device = device.finish();
    let line = device.text().lines().find_map(|line| line.strip_prefix("  overflow")).unwrap();
    let lost: u64 = line.split_whitespace().next().unwrap().replace(',', "").parse().unwrap();
    // A busy host may not run for a moment; without samples taken, 0.2 s of them are lost each time.
    assert!(lost < 2_000_000, "{lost} samples of 10 MS/s were lost at the device");
}
