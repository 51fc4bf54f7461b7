//! `verify` on recordings as they are, and on damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use samplewire_testing::{PATIENCE, wait_until};
use serde_json::Value;

use crate::harness::{Device, Running, folder, run, signal, spawn, text, until_long, wait};

/// Records from a device that loses packets, without repairing them.
fn recording_with_gaps(test: &str) -> PathBuf {
    let faults = "data:loss=0.02,seed=5";
    let arguments =
        ["--source", "counter", "--rate", "max", "--payload", "1408", "--fault", faults];
    let device = Device::start(&arguments);
    let file = folder(test).join("out");
    let arguments = ["record", &device.address, text(&file), "--nsamps", "200k"];
    run(&[&arguments[..], &["--delivery", "best-effort"]].concat()).expect(3);
    file
}

fn verified(file: &Path, status: i32) -> Value {
    let ran = run(&["verify", text(file), "--json"]).expect(status);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["exit_status"], status);
    document
}

#[test]
fn recording_with_gaps_is_proven_and_each_damage_is_found() {
    let file = recording_with_gaps("verify");
    let ran = run(&["verify", text(&file)]).expect(0);
    for words in [": proven", "SHA-512 of the data is that", "indexes    0..199999 (200,000)"] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
    let document = verified(&file.with_extension("sigmf-data"), 0);
    assert!(document["gaps"].as_u64() > Some(2), "{document}");
    let missing = document["gap_samples"]["never_asked"].as_u64().unwrap();
    assert_eq!(document["samples"].as_u64().unwrap() + missing, 200_000);
    assert_eq!((&document["finished"], &document["sha512"]), (&true.into(), &"matches".into()));

    let (data, meta) = (file.with_extension("sigmf-data"), file.with_extension("sigmf-meta"));
    let (bytes, words) = (fs::read(&data).unwrap(), fs::read_to_string(&meta).unwrap());
    let mut flipped = bytes.clone();
    flipped[4_321] ^= 1;
    fs::write(&data, flipped).unwrap();
    run(&["verify", text(&file)]).expect_error(3, &["has the SHA-512", "the metadata state"]);
    assert_eq!(verified(&file, 3)["sha512"], "differs");
    fs::write(&data, &bytes[..bytes.len() - 4]).unwrap();
    run(&["verify", text(&file)]).expect_error(3, &["samples: the metadata state"]);
    fs::write(&data, &bytes).unwrap();

    // The state after an error, or after a kill when the metadata already say "finished".
    let mut edited: Value = serde_json::from_str(&words).unwrap();
    edited["global"].as_object_mut().unwrap().remove("core:sha512").unwrap();
    fs::write(&meta, edited.to_string()).unwrap();
    let ran = run(&["verify", text(&file)]).expect(0);
    assert!(ran.text().contains("--no-hash, or an error or a kill came before"), "{ran:?}");
    assert_eq!(verified(&file, 0)["sha512"], "absent");

    let mut edited: Value = serde_json::from_str(&words).unwrap();
    edited["annotations"].as_array_mut().unwrap().remove(1);
    fs::write(&meta, edited.to_string()).unwrap();
    run(&["verify", text(&file)])
        .expect_error(3, &["captures[2] is at index", "are neither there nor named"]);
    assert_eq!(verified(&file, 3)["result"], "not proven");
    fs::write(&meta, "{}").unwrap();
    let ran = run(&["verify", text(&file)]);
    assert!(!ran.text().contains(" 0 samples"), "of what is not known: {}", ran.text());
    assert!(ran.text().contains("out.raw is read with"), "{}", ran.text());
    ran.expect_error(3, &["out.sigmf-meta: global is missing"]);
    fs::remove_file(&meta).unwrap();
    run(&["verify", text(&file)]).expect_error(1, &["out.sigmf-meta is not there", "tip: name a"]);
}

#[test]
fn recording_whose_recorder_was_killed_is_proven() {
    let faults = "data:loss=0.02,seed=5";
    let arguments =
        ["--source", "counter", "--rate", "10M", "--payload", "1408", "--fault", faults];
    let device = Device::start(&arguments);
    let file = folder("verify-killed").join("out");
    let arguments = ["record", &device.address, text(&file), "--delivery", "best-effort"];
    let mut recorder = spawn(&arguments);
    until_long(&file.with_extension("sigmf-data"), 6_000_000);
    signal(&recorder, libc::SIGKILL);
    wait(&mut recorder);
    let document = verified(&file, 0);
    assert_eq!(document["finished"], false);
    assert_eq!(document["sha512"], "unfinished");
    let samples = document["samples"].as_u64().unwrap();
    assert!(samples > 1_000_000, "{document}");
    let end = document["boots"][0]["end_index"].as_u64().unwrap();
    let missing = document["samples_missing"].as_u64().unwrap();
    assert_eq!(samples + missing, end - document["boots"][0]["first_index"].as_u64().unwrap());
    let ran = run(&["verify", text(&file)]).expect(0);
    assert!(ran.text().contains("not finished: it is under way, or its recorder"), "{ran:?}");
    assert!(ran.text().contains("hash       none yet"), "{ran:?}");
}

#[test]
fn recording_under_way_is_proven_at_every_look() {
    let arguments = ["--source", "counter", "--rate", "5M", "--payload", "1408"];
    let faults = ["--fault", "data:loss=0.01,seed=5"];
    let device = Device::start(&[&arguments[..], &faults].concat());
    let file = folder("verify-under-way").join("out");
    let arguments = ["record", &device.address, text(&file), "--duration", "1500ms"];
    let mut recorder = Running::start(&[&arguments[..], &["--delivery", "deadline:1ms"]].concat());
    let meta = file.with_extension("sigmf-meta");
    wait_until("the recording", PATIENCE, || meta.exists());
    let mut looks = 0;
    while !recorder.is_over() {
        verified(&file, 0);
        looks += 1;
    }
    assert!(looks > 1, "{looks} looks at a recording under way");
    recorder.finish();
    assert_eq!(verified(&file, 0)["finished"], true);
}
