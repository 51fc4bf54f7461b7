//! Kills a recorder after each of its file operations, and lets `verify` prove the remaining files.
//!
//! The recorder writes into memory, with parts of a few packets. A failure prints how to replay it:
//! `SAMPLEWIRE_SEED=1 cargo test -p samplewire --test crash_points`.

mod memory;
mod proof;
mod recorder;

use std::env;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use memory::{Beside, Cut, Fate, Memory, Point, Snapshot};
use proof::{Proof, check_whole};
use recorder::{Device, Mode, record};
use samplewire_proto::Rng;

#[test]
fn every_state_that_a_kill_leaves_is_proven() {
    for (mode, beside) in cases() {
        let device = Device::new(SEED);
        let (ops, states) = watch(&mode, beside, Snapshot::new(), &device, PACKETS);
        assert!((150..2_000).contains(&ops), "{mode:?}: {ops} operations");
        println!("{}, {beside:?}: {ops} operations, {states} states", mode.name);
    }
}

#[test]
fn every_state_that_a_kill_of_a_successor_leaves_is_proven() {
    for (mode, beside) in cases() {
        let mut device = Device::new(SEED);
        let memory = Memory::new(Snapshot::new(), beside, Fate::Lives);
        record(&memory, &mode, &mut device, PACKETS).0.expect("nothing fails");
        let point = Point { ops: memory.ops() * 2 / 3, cut: Cut::Half };
        let (files, mut device) = killed(&mode, beside, Snapshot::new(), Device::new(SEED), point);
        device.pass();
        let (ops, states) = watch(&mode, beside, files, &device, PACKETS / 2);
        println!("{}, {beside:?}: {ops} operations, {states} states", mode.name);
    }
}

#[test]
fn recording_is_gone_on_with_after_a_kill_at_every_operation() {
    for (mode, beside) in cases() {
        for ops in 0.. {
            let point = Point { ops, cut: Cut::ALL[ops as usize % 3] };
            let memory = Memory::new(Snapshot::new(), beside, Fate::Killed(point));
            let mut device = Device::new(SEED);
            drop(record(&memory, &mode, &mut device, PACKETS / 2));
            if memory.ops() < ops {
                break;
            }
            let files = memory.snapshot();
            device.pass();
            let memory = Memory::new(files, beside, Fate::Lives);
            let case = format!("{mode:?}, {beside:?}, killed at {point:?}, seed {SEED}");
            finish(&memory, &mode, &mut device, &case);
        }
    }
}

#[test]
fn recording_is_gone_on_with_after_two_kills_anywhere() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
    let first = env::var("SAMPLEWIRE_SEED").ok().map(|text| text.parse().expect("a number"));
    let seeds = first.map_or(now.as_nanos() as u64 | 1..u64::MAX, |seed| seed..seed + 1);
    for seed in seeds.step_by(2).take(PAIRS) {
        let mut rng = Rng::new(seed);
        let all: Vec<_> = cases().collect();
        let (mode, beside) = all[rng.below(all.len() as u64) as usize];
        let mut device = Device::new(seed);
        let mut files = Snapshot::new();
        let mut case = format!("SAMPLEWIRE_SEED={seed}: {mode:?}, {beside:?}");
        for ops_max in [500, 200] {
            let cut = Cut::ALL[rng.below(3) as usize];
            let point = Point { ops: rng.below(ops_max), cut };
            let before = Proof::of(&files).unwrap_or_else(|why| panic!("{case}: {why}"));
            (files, device) = killed(&mode, beside, files, device, point);
            case += &format!(", killed at {point:?}");
            let proof = Proof::of(&files).unwrap_or_else(|why| panic!("{case}: {why}"));
            assert!(proof.holds(&before), "{case}: {before:?} became {proof:?}");
            device.pass();
        }
        finish(&Memory::new(files, beside, Fate::Lives), &mode, &mut device, &case);
    }
}

/// The previous recording may be truncated or absent afterwards. It is never taken for a part of
/// another one: a new recorder refuses it at once, or continues with the proven samples.
#[test]
fn recording_that_is_overwritten_never_mixes_with_the_next() {
    for (mode, beside) in cases() {
        let memory = Memory::new(Snapshot::new(), beside, Fate::Lives);
        record(&memory, &mode, &mut Device::new(SEED), PACKETS / 2).0.expect("nothing fails");
        let files = memory.snapshot();
        for ops in 0..OVERWRITE_OPS {
            let point = Point { ops, cut: Cut::Nothing };
            let overwriting = Mode { overwrites: true, ..mode };
            let (files, mut device) =
                killed(&overwriting, beside, files.clone(), Device::other(SEED + 2), point);
            device.pass();
            let case = format!("{mode:?}, {beside:?}, overwritten until {point:?}, seed {SEED}");
            let memory = Memory::new(files.clone(), beside, Fate::Lives);
            finish(&memory, &overwriting, &mut device.clone(), &case);
            let memory = Memory::new(files.clone(), beside, Fate::Lives);
            let recorded = record(&memory, &mode, &mut device, PACKETS / 2).0;
            match recorded {
                Ok(()) => check_whole(&memory.snapshot(), &mode, &device)
                    .unwrap_or_else(|why| panic!("{case}, continued: {why}")),
                Err(error) => assert!(memory.snapshot() == files, "{case}: {error}, too late"),
            }
        }
    }
}

#[test]
fn full_disk_leaves_what_was_written_and_the_summary_counts_that() {
    for (mode, beside) in cases() {
        for write in 0.. {
            let mut device = Device::new(SEED);
            let memory = Memory::new(Snapshot::new(), beside, Fate::Full(write));
            let (recorded, summary) = record(&memory, &mode, &mut device, PACKETS / 2);
            let case = format!("{mode:?}, {beside:?}, full at write {write}, seed {SEED}");
            if memory.writes() <= write {
                recorded.unwrap_or_else(|error| panic!("{case}: {error}"));
                break;
            }
            let files = memory.snapshot();
            let proof = Proof::of(&files).unwrap_or_else(|why| panic!("{case}: {why}"));
            assert_eq!(summary.samples, proof.samples, "{case}");
            finish(&Memory::new(files, beside, Fate::Lives), &mode, &mut device, &case);
        }
    }
}

/// Returns every mode, with the parallel work done at once or as late as possible.
fn cases() -> impl Iterator<Item = (Mode, Beside)> {
    Mode::ALL.into_iter().flat_map(|mode| {
        let is_split = mode.part_samples.is_some();
        let both = [(mode, Beside::AtOnce), (mode, Beside::Last)];
        both.into_iter().take(if is_split { 2 } else { 1 })
    })
}

/// Records after `files`, and proves each intermediate state: at least as much as in the state
/// before. Returns the numbers of operations and of states.
fn watch(
    mode: &Mode,
    beside: Beside,
    files: Snapshot,
    device: &Device,
    packets: u32,
) -> (u64, u64) {
    let before = Proof::of(&files).expect("it is proven before");
    let seen = Arc::new(Mutex::new((before, 0, None)));
    let mut last = Snapshot::new();
    let observer = {
        let seen = Arc::clone(&seen);
        Box::new(move |point: Point, snapshot: Snapshot| {
            let (before, states, failure) = &mut *seen.lock().expect("nothing panics here");
            *states += 1;
            let is_same = is_same(&last, &snapshot);
            last.clone_from(&snapshot);
            if is_same || failure.is_some() {
                return;
            }
            match Proof::of(&snapshot) {
                Ok(proof) if proof.holds(before) => *before = proof,
                Ok(proof) => *failure = Some(format!("{point:?}: {before:?} became {proof:?}")),
                Err(why) => *failure = Some(format!("{point:?}: {why}")),
            }
        })
    };
    let memory = Memory::new(files, beside, Fate::Watched(observer));
    let mut device = device.clone();
    let (recorded, _) = record(&memory, mode, &mut device, packets);
    let (_, states, failure) = &*seen.lock().expect("nothing panics here");
    assert!(failure.is_none(), "{mode:?}, {beside:?}, seed {SEED}: {}", failure.as_ref().unwrap());
    recorded.expect("nothing fails");
    check_whole(&memory.snapshot(), mode, &device).unwrap_or_else(|why| panic!("{mode:?}: {why}"));
    (memory.ops(), *states)
}

/// Returns whether two states differ only in the content of a spare file, which is read only after
/// it is renamed.
fn is_same(before: &Snapshot, after: &Snapshot) -> bool {
    let is_spare = |path: &Path| path.extension().is_some_and(|it| it == "spare");
    before.len() == after.len()
        && before.iter().zip(after).all(|((path, content), (other_path, other))| {
            path == other_path && (is_spare(path) || Arc::ptr_eq(content, other))
        })
}

/// Records after `files` until the kill at `point`.
fn killed(
    mode: &Mode,
    beside: Beside,
    files: Snapshot,
    mut device: Device,
    point: Point,
) -> (Snapshot, Device) {
    let memory = Memory::new(files, beside, Fate::Killed(point));
    // The return value of a killed recorder is lost.
    drop(record(&memory, mode, &mut device, PACKETS));
    (memory.snapshot(), device)
}

/// Continues to the end, and compares the whole recording with the device.
fn finish(memory: &Memory, mode: &Mode, device: &mut Device, case: &str) {
    let (recorded, _) = record(memory, mode, device, 4);
    recorded.unwrap_or_else(|error| panic!("{case}: {error}"));
    check_whole(&memory.snapshot(), mode, device).unwrap_or_else(|why| panic!("{case}: {why}"));
}

/// Packets in a recording: 10 parts.
const PACKETS: u32 = 25;

/// The seed of the recordings that are killed at every operation.
const SEED: u64 = 21;

/// More operations than are needed to remove a recording and to start another.
const OVERWRITE_OPS: u64 = 60;

/// The number of pairs of kills.
const PAIRS: usize = 200;
