//! Streams past the kernel, between two network namespaces that a veth pair joins.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use samplewire_testing::{NetworkNamespace, PATIENCE, in_namespace, skip, wait_until};

use crate::harness::{Device, Ran, Running, folder, run, text};
use crate::playing::grouped;

/// A namespace `far` behind `near0`.
pub(crate) const INTERFACES: &str = "mount -t tmpfs tmpfs /run && ip netns add far && \
     ip link add near0 type veth peer name far0 netns far && \
     ip addr add 10.9.0.1/24 dev near0 && ip -n far addr add 10.9.0.2/24 dev far0 && \
     ip link set near0 up && ip -n far link set far0 up && ip link set lo up";

/// A third of a second of them, at [`PACE`]: a link goes past the kernel some 10 ms after its stream has
/// begun.
const SAMPLES: usize = 3_000_000;
pub(crate) const PACE: [&str; 2] = ["--link-rate", "300M"];

/// Starts a device in the far namespace.
fn device(options: &[&str]) -> Device {
    device_at("10.9.0.2:0", options)
}

/// Starts a device at this address of the far namespace.
pub(crate) fn device_at(address: &str, options: &[&str]) -> Device {
    let near = NetworkNamespace::current().unwrap();
    NetworkNamespace::named("far").unwrap().enter().unwrap();
    let samples = ["--source", "counter", "--rate", "max", "--listen", address, "--once"];
    let device = Device::start(&[&samples, options].concat());
    near.enter().unwrap();
    device
}

/// Records all of a device's samples; both ends have these options.
fn record(file: &Path, options: &[&str], more: &[&str]) -> [Ran; 2] {
    let device = device(&[&PACE, options].concat());
    let samples = SAMPLES.to_string();
    let arguments = ["record", &device.address, text(file), "--overwrite", "--nsamps", &samples];
    let recorded = run(&[&arguments, options, more].concat()).expect(0);
    [recorded, device.finish().expect(0)]
}

/// Whether the kernel refuses what AF_XDP needs; the test is then skipped.
pub(crate) fn is_refused(ran: &Ran) -> bool {
    let is_refused = ran.stderr.contains("not permitted");
    if is_refused {
        skip(&ran.stderr);
    }
    is_refused
}

#[test]
fn recording_past_the_kernel_is_the_same_with_and_without_losses() {
    let name = "bypass::recording_past_the_kernel_is_the_same_with_and_without_losses";
    if !in_namespace(name, INTERFACES) {
        return;
    }
    let folder = folder("bypass");
    let file = folder.join("udp");
    let data = |file: &Path| fs::read(file.with_extension("sigmf-data")).unwrap();
    record(&file, &[], &[]);
    let expected = data(&file);
    assert_eq!(expected.len(), 4 * SAMPLES);
    for (kind, mode) in [("xdp", "native mode"), ("xdp-generic", "generic mode")] {
        for fault in ["loss=0", "loss=1e-3,seed=1", "loss=1e-2,seed=2"] {
            let file = folder.join(kind);
            let fault = format!("data:{fault}");
            let ran = record(&file, &["--link", kind], &["--fault", &fault]);
            if is_refused(&ran[0]) {
                return;
            }
            for (ran, interface) in ran.iter().zip(["near0", "far0"]) {
                let words = format!("  link       {interface}, {mode}, copy, 1 queue");
                assert!(ran.text().contains(&words), "{}", ran.text());
            }
            assert!(data(&file) == expected, "{kind} {fault}");
        }
    }
}

#[test]
fn both_ways_share_the_interface_and_every_sample_is_accounted_for() {
    let name = "bypass::both_ways_share_the_interface_and_every_sample_is_accounted_for";
    if !in_namespace(name, INTERFACES) {
        return;
    }
    for (kind, mode) in [("xdp", "native mode"), ("xdp-generic", "generic mode")] {
        for loss in ["0", "1e-3"] {
            let sides = ["data", "feedback"].map(|side| format!("{side}:loss={loss},seed=1"));
            let faults = ["--fault", &sides[0], "--fault", &sides[1]];
            let device = device(&[&["--play", "null", "--link", kind], &faults[..]].concat());
            let both = ["--way", "both", "--duration", "500ms", "--link", kind, "--json"];
            let ran = run(&[&["rate", &device.address], &both[..]].concat()).expect(0);
            if is_refused(&ran) {
                return;
            }
            let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
            let end = &document["end"];
            let words = format!("near0, {mode}, copy, 1 queue");
            let link = serde_json::json!({ "bypassed": true, "words": words });
            assert_eq!(end["links"], serde_json::json!([link, link]), "{end}");
            assert_eq!(
                (&end["result"], &end["receive"]["samples_missing"]),
                (&"whole".into(), &0.into())
            );
            assert!(!end["receive"]["account"].is_null(), "{end}");
            if loss != "0" {
                assert!(end["receive"]["packets_repaired"].as_u64() > Some(0), "{end}");
                assert!(end["transmit"]["packets_repaired"].as_u64() > Some(0), "{end}");
            }
            // A device without a clock plays each sample once.
            let sent = grouped(end["transmit"]["samples_sent"].as_u64().unwrap());
            let played = device.finish().expect(0);
            let words = format!("play 1: finished: {sent} samples");
            assert!(played.text().contains(&words), "{sent}: {}", played.text());
            let words = format!("  link       far0, {mode}, copy, 1 queue");
            assert!(played.text().contains(&words), "{}", played.text());
        }
    }
}

#[test]
fn both_ways_of_a_bridge_share_the_interface() {
    let name = "bypass::both_ways_of_a_bridge_share_the_interface";
    if !in_namespace(name, INTERFACES) {
        return;
    }
    let device = device(&["--play", "null", "--link-rate", "50M"]);
    let sockets = ["--zmq-pub", "tcp://127.0.0.1:0", "--zmq-sub", "tcp://127.0.0.1:9"];
    let bridge = ["bridge", &device.address, "--link", "xdp"];
    let mut bridge = Running::start(&[&bridge[..], &sockets].concat());
    wait_until("a program on the interface", PATIENCE, || has_program() || bridge.is_over());
    let is_attached = has_program();
    bridge.signal(libc::SIGINT);
    let ran = bridge.finish();
    if !is_attached && is_refused(&ran) {
        return;
    }
    let links: Vec<_> = ran.text().lines().filter(|line| line.starts_with("  link ")).collect();
    let expected = "  link       near0, native mode, copy, 1 queue";
    assert_eq!(links, [expected], "one for both ways: {}{}", ran.text(), ran.stderr);
    device.finish().expect(0);
}

/// Whether a program is attached to this end's interface.
fn has_program() -> bool {
    let shown = Command::new("ip").args(["link", "show", "near0"]).output().unwrap();
    String::from_utf8_lossy(&shown.stdout).contains("xdp")
}

#[test]
fn killed_recorder_leaves_the_interface_as_it_was() {
    let name = "bypass::killed_recorder_leaves_the_interface_as_it_was";
    if !in_namespace(name, INTERFACES) {
        return;
    }
    let file = folder("bypass-killed").join("out");
    // By UDP: a program at the other end of a pair changes the features of this one.
    let device = device(&[]);
    let features = || {
        let shown = Command::new("ethtool").args(["-k", "near0"]).output();
        shown.map(|it| it.stdout).unwrap_or_default()
    };
    let before = (has_program(), features());
    assert!(!before.0);
    let arguments = ["record", &device.address, text(&file), "--link", "xdp"];
    let mut recorder = crate::harness::spawn(&arguments);
    wait_until("a program on the interface", PATIENCE, || {
        has_program() || recorder.try_wait().unwrap().is_some()
    });
    if recorder.try_wait().unwrap().is_some() {
        return skip("bpf(2) or AF_XDP is refused");
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    wait_until("an interface as before", PATIENCE, || (has_program(), features()) == before);
}

#[test]
fn user_without_rights_records_by_udp_and_learns_why() {
    let name = "bypass::user_without_rights_records_by_udp_and_learns_why";
    if !in_namespace(name, INTERFACES) {
        return;
    }
    let folder = folder("bypass-user");
    let program = folder.join("samplewire");
    // The build's own folder may be closed to others.
    fs::copy(env!("CARGO_BIN_EXE_samplewire"), &program).unwrap();
    let device = device(&[]);
    let ran = Command::new(&program)
        .args(["record", &device.address, "null", "--nsamps", "100000", "--link", "xdp"])
        .uid(NOBODY)
        .gid(NOBODY)
        .stdin(Stdio::null())
        .output();
    let ran = match ran {
        Err(error) => return skip(format_args!("{}: {error}", program.display())),
        Ok(ran) => ran,
    };
    let words = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{words}");
    for word in ["packets go by UDP", "not permitted", "setcap cap_net_admin,cap_net_raw,cap_bpf"] {
        assert!(words.contains(word), "no `{word}` in:\n{words}");
    }
}

/// A user without rights.
const NOBODY: u32 = 65_534;
