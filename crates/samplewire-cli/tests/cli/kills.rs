//! A recording lives through SIGKILL of its recorder, of its device, or of both, at any moment.
//!
//! `make kills KILLS=100` kills a hundred times; `SAMPLEWIRE_SEED` replays the moments of a run.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use samplewire_proto::Rng;
use samplewire_record::sigmf::Metadata;
use samplewire_testing::{PATIENCE, wait_until};
use serde_json::Value;

use crate::harness::{Device, folder, run, signal, spawn, text, wait};

#[test]
fn recording_survives_kills_of_either_side() {
    let kills = kills();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("SAMPLEWIRE_SEED").unwrap_or(now.as_nanos() as u64 | 1);
    println!("SAMPLEWIRE_SEED={seed}");
    let mut rng = Rng::new(seed);
    let file = folder("kills").join("out");
    let mut device = start_device("127.0.0.1:0");
    let mut recorder = start_recorder(&device, &file);
    let mut returns = Vec::new();
    let (mut killed, mut before) = ([0; 2], 0);
    for kill in 0..kills {
        // The moment is drawn: any may be the wrong one.
        sleep(Duration::from_millis(20 + rng.below(700)));
        // Each side alone, and both, are killed at least once.
        let sides = if kill < 3 { kill + 1 } else { 1 + rng.below(3) };
        let (kills_device, kills_recorder) = (sides & 1 > 0, sides & 2 > 0);
        if kills_device {
            device.kill();
        }
        if kills_recorder {
            signal(&recorder, libc::SIGKILL);
            wait(&mut recorder);
        }
        before = verified(&file, before);
        // How long it is away is drawn too.
        sleep(Duration::from_millis(rng.below(200)));
        let started = Instant::now();
        if kills_recorder {
            recorder = start_recorder(&device, &file);
        }
        if kills_device {
            device = start_device(&device.address);
        }
        if kill % 2 == 1 {
            returns.push(until_it_grows(&file, before, started));
        }
        killed[0] += u64::from(kills_device);
        killed[1] += u64::from(kills_recorder);
    }
    until_it_grows(&file, before, Instant::now());
    signal(&recorder, libc::SIGTERM);
    assert_eq!(wait(&mut recorder).code(), Some(128 + libc::SIGTERM));
    let document = verification(&file);
    assert_eq!((&document["finished"], &document["sha512"]), (&true.into(), &"matches".into()));
    assert_eq!(check_samples(&file), document["samples"], "each sample is checked");
    assert!(killed.iter().all(|&times| times >= 2), "{killed:?} kills of devices and recorders");
    assert!(document["gaps"].as_u64() > Some(0), "a device that restarts leaves a gap: {document}");
    returns.sort();
    println!(
        "{} kills of devices, {} of recorders: {} gaps, {} of them estimated: {}",
        killed[0], killed[1], document["gaps"], document["gaps_estimated"], document["gap_samples"]
    );
    if let Some(longest) = returns.last() {
        let median = returns[returns.len() / 2];
        println!("samples again after {median:?} (median), {longest:?} (longest)");
    }
}

#[test]
fn series_survives_kills_of_its_recorder_between_parts() {
    kill_recorders_of_a_series("kills-series", &[]);
}

#[test]
fn compressed_series_survives_kills_of_its_recorder_between_parts() {
    kill_recorders_of_a_series("kills-zstd", &["--compress", "zstd"]);
}

/// Kills recorders when they begin a part, or soon after. A part of 50 KB takes 6 ms, so many kills
/// come before its first sample, or while the previous part is finished.
fn kill_recorders_of_a_series(name: &str, options: &[&str]) {
    let kills = kills();
    let seed = number("SAMPLEWIRE_SEED").unwrap_or_else(|| u64::from(std::process::id()) | 1);
    println!("SAMPLEWIRE_SEED={seed}");
    let mut rng = Rng::new(seed);
    let file = folder(name).join("out");
    let device = start_device("127.0.0.1:0");
    let arguments = ["record", &device.address, text(&file), "--append", "--reconnect"];
    let arguments = [&arguments[..], &["--split", "50k"], options].concat();
    let mut without_samples = 0;
    for kill in 0..kills {
        let mut recorder = spawn(&arguments);
        let part = until_a_part_is_added(&file);
        if kill % 2 == 1 {
            // Drawn: within three parts.
            sleep(Duration::from_micros(rng.below(20_000)));
        }
        signal(&recorder, libc::SIGKILL);
        wait(&mut recorder);
        let document = verification(&file);
        assert_eq!(document["finished"], false);
        without_samples += u64::from(fs::metadata(data_of(&part)).is_ok_and(|it| it.len() == 0));
    }
    let mut recorder = spawn(&arguments);
    until_a_part_is_added(&file);
    signal(&recorder, libc::SIGTERM);
    assert_eq!(wait(&mut recorder).code(), Some(128 + libc::SIGTERM));
    let document = verification(&file);
    assert_eq!((&document["finished"], &document["sha512"]), (&true.into(), &"matches".into()));
    assert!(document["samples"].as_u64() > Some(0), "{document}");
    println!("{kills} kills, {without_samples} of them before the first sample of a part");
}

/// How often to kill; three kinds of kills come first.
fn kills() -> u64 {
    let kills = number("SAMPLEWIRE_KILLS").unwrap_or(6);
    assert!(kills >= 3, "SAMPLEWIRE_KILLS={kills}: must be 3 or more");
    kills
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

fn start_device(address: &str) -> Device {
    Device::start(&["--source", "counter", "--rate", "2M", "--listen", address])
}

fn start_recorder(device: &Device, file: &Path) -> Child {
    spawn(&["record", &device.address, text(file), "--append", "--reconnect"])
}

/// The report of `verify` for a recording that must be proven.
fn verification(file: &Path) -> Value {
    let ran = run(&["verify", text(file), "--json"]).expect(0);
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// The number of samples in the file, which must be proven, if a recorder lived long enough to
/// create it; `before` is the number after the last kill.
fn verified(file: &Path, before: u64) -> u64 {
    if !file.with_extension("sigmf-meta").exists() {
        assert_eq!(before, 0, "the recording is gone");
        return 0;
    }
    verification(file)["samples"].as_u64().unwrap()
}

/// Time until new samples arrive.
fn until_it_grows(file: &Path, before: u64, started: Instant) -> Duration {
    let len = || fs::metadata(file.with_extension("sigmf-data")).map_or(0, |data| data.len());
    wait_until("samples", PATIENCE, || len() / 4 > before);
    started.elapsed()
}

/// Waits until a recorder begins one more part than there is; its metadata.
fn until_a_part_is_added(file: &Path) -> PathBuf {
    let part = |number| file.with_file_name(format!("out-{number:04}.sigmf-meta"));
    let next = (1..).map(part).find(|part| !part.exists()).expect("there are fewer parts");
    let started = Instant::now();
    // A millisecond, as `wait_until` pauses, is too long: a part takes 6.
    while !next.exists() {
        assert!(started.elapsed() < PATIENCE, "no part began for {PATIENCE:?}");
        sleep(Duration::from_micros(50));
    }
    next
}

/// The data file beside the metadata.
fn data_of(part: &Path) -> PathBuf {
    let [plain, zstd] = ["sigmf-data", "sigmf-data.zst"].map(|it| part.with_extension(it));
    if zstd.exists() { zstd } else { plain }
}

/// Checks that the samples of each capture match its index: the gaps have their stated length.
/// Returns the number of checked samples.
pub(crate) fn check_samples(file: &Path) -> u64 {
    let metadata = fs::read_to_string(file.with_extension("sigmf-meta")).unwrap();
    let captures = Metadata::parse(&metadata).unwrap().captures;
    let bytes = fs::read(file.with_extension("sigmf-data")).unwrap();
    assert!(!captures.is_empty() && !bytes.is_empty(), "nothing was recorded");
    assert_eq!(captures[0].sample_start, 0, "all samples belong to a capture");
    let ends = captures.iter().skip(1).map(|next| next.sample_start as usize * 4);
    for (capture, end) in captures.iter().zip(ends.chain([bytes.len()])) {
        let samples = &bytes[capture.sample_start as usize * 4..end];
        let index = capture.global_index.unwrap();
        assert_eq!(samplewire::source::counter_mismatch(index, samples), None, "{capture:?}");
    }
    bytes.len() as u64 / 4
}
