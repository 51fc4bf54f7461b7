//! Endpoints of `samplewire` as they ship, over simulated links and on virtual time: a device that
//! samples by its clock, and a host that takes blocks. What lies between them is the world's [`Net`].

mod link;
mod pair;

use std::collections::BTreeSet;
use std::time::Duration;

use samplewire::receiver::ReceiveOptions;
use samplewire::{Cause, Delivery};
use samplewire_io::faults::Loss;
use samplewire_proto::{Nanos, Odds};

use crate::link::LinkSpec;
use pair::{Pair, Run};

/// 10 Gb/s, 20 us away.
const LINE: LinkSpec =
    LinkSpec { mtu_bytes: 1_500, ..LinkSpec::clean(10_000_000_000, Nanos::from_micros(20)) };

fn lossy(percent: u64) -> LinkSpec {
    LinkSpec { loss: Loss::Independent(Odds::ppm(percent * 10_000)), ..LINE }
}

fn every_fault() -> LinkSpec {
    LinkSpec {
        corrupt: Odds::ppm(1_000),
        duplicate: Odds::ppm(1_000),
        reorder: Odds::ppm(10_000),
        reorder_by: Nanos::from_micros(100),
        ..lossy(1)
    }
}

fn run(line: LinkSpec, seed: u64, samples: u64, delivery: Delivery) -> Run {
    let options = ReceiveOptions::new().owner(1).delivery(delivery);
    Pair::new(line, seed, samples, &options).run()
}

#[test]
fn gaps_of_thirty_percent_loss_both_ways_are_of_packets_that_the_wire_lost() {
    let deadline = Delivery::Deadline(Duration::from_micros(500));
    let run = run(lossy(30), 6, 15_000_000, deadline);
    let delivered: BTreeSet<u64> = run.delivered_packets().collect();
    for packet in 0..run.samples.div_ceil(run.packet_samples) {
        let index = packet * run.packet_samples;
        let gap = run.gaps.iter().find(|gap| gap.first <= index && index < gap.end());
        assert_ne!(gap.is_some(), delivered.contains(&index), "packet {packet}: one of both");
        let (departed, arrived) = (run.departed[&index], run.arrived.get(&index).copied());
        match gap {
            Some(gap) => {
                assert_eq!(gap.cause, Cause::Deadline, "{gap:?}");
                assert!(departed > arrived.unwrap_or(0), "packet {packet} was never lost");
            }
            None => assert!(arrived.is_some(), "packet {packet} never came"),
        }
    }
    assert!(run.gaps.len() > 10, "{} gaps", run.gaps.len());
}

#[test]
fn every_sample_arrives_through_every_fault_both_ways() {
    for seed in 1..=4 {
        let run = run(every_fault(), seed, 3_000_000, Delivery::Complete);
        assert_eq!(run.gaps, [], "seed {seed}");
        assert!(run.arrived.len() < run.departed.values().sum::<u32>() as usize, "seed {seed}");
    }
}

#[test]
fn best_effort_delivers_what_came_and_lists_the_rest() {
    let run = run(lossy(5), 8, 4_000_000, Delivery::BestEffort);
    assert!(run.departed.values().all(|&departed| departed == 1), "nothing is repeated");
    let missing: BTreeSet<u64> =
        run.departed.keys().filter(|index| !run.arrived.contains_key(index)).copied().collect();
    let listed: BTreeSet<u64> = (0..run.samples)
        .step_by(run.packet_samples as usize)
        .filter(|&index| run.gaps.iter().any(|gap| gap.first <= index && index < gap.end()))
        .collect();
    assert_eq!(listed, missing);
    assert!(run.gaps.iter().all(|gap| gap.cause == Cause::NeverAsked));
    assert!(listed.len() > 400, "{} packets", listed.len());
}

#[test]
fn same_seed_is_the_same_run_to_the_nanosecond() {
    let deadline = Delivery::Deadline(Duration::from_millis(2));
    let runs = [1, 1, 2].map(|seed| run(every_fault(), seed, 1_000_000, deadline).trace);
    assert!(runs[0] == runs[1], "an endpoint knows more than it is given");
    assert!(runs[0] != runs[2]);
}
