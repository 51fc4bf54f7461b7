use super::*;
use crate::draw;

/// Runs `seed` and fails with what did not hold.
fn assert_holds(seed: u64) -> RunResult {
    let run = run_seed(seed, false);
    assert_eq!(run.failure, None, "seed {seed}");
    run
}

/// The counts of hostile packets are those that the swarm must have met: each that changed nothing,
/// was refused or did as a copy was looked at one by one.
#[test]
fn first_seeds_hold() {
    let mut tally = Tally::default();
    for seed in 0..1_000 {
        tally += assert_holds(seed).tally;
    }
    assert!(tally.hostile() >= 1_000_000, "{tally:?}");
    assert!(tally.hostile_ignored >= 800_000, "{tally:?}");
    assert!(tally.hostile_replayed >= 50_000, "{tally:?}");
    assert!(tally.hostile_refused >= 50_000, "{tally:?}");
    assert!(tally.hostile_on_path >= 10_000, "{tally:?}");
    assert!(tally.hostile_accepts >= 30_000, "{tally:?}");
    assert!(tally.hostile_opens >= 15_000, "{tally:?}");
}

#[test]
fn shipped_probe() {
    let parse =
        |name: &str, or: u64| std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(or);
    let (first, count) = (parse("FIRST", 0), parse("COUNT", 20));
    let is_hostile = parse("HOSTILE", 0) == 1;
    let trace = parse("TRACE", 0) == 1;
    let mut failures = 0;
    let mut tally = Tally::default();
    let mut transitions = Transitions::default();
    let started = Instant::now();
    for seed in first..first + count {
        let mut plan = scenes::plan(seed);
        if !is_hostile {
            plan.hostile = None;
        }
        let run = run_plan(plan, seed, trace, None);
        tally += run.tally;
        transitions.add(&run.transitions);
        if trace {
            eprintln!("{}", run.trace);
        }
        if let Some(what) = run.failure {
            failures += 1;
            eprintln!("seed {seed}: {}", &what[..]);
            if failures > 12 {
                break;
            }
        }
    }
    eprintln!("{tally:?}");
    eprintln!("{:?}", transitions.unknown().collect::<Vec<_>>());
    eprintln!("{:.0} data packets/s", tally.data_packets as f64 / started.elapsed().as_secs_f64());
    assert_eq!(failures, 0);
}

/// Each once showed something that did not hold; `docs/testing.md` says what.
#[test]
fn seeds_that_once_failed_hold() {
    for seed in [
        45, 80, 221, 291, 336, 588, 1475, 1_046_992, 1_068_092, 1_096_307, 1_098_273, 1_123_968,
        1_148_083, 1_191_317,
    ] {
        let run = run_plan(draw::mixture(seed), seed, false, None);
        assert_eq!(run.failure, None, "seed {seed}");
    }
}

/// A CLOSE of a stream that an earlier copy of the same OPEN had opened came to the one that a later
/// copy opened, and ended it (`docs/protocol.md#3.16`).
#[test]
fn late_copies_of_an_open_do_not_mix_two_streams() {
    for seed in [12_827, 26_106, 59_435, 67_805, 140_310, 165_912] {
        assert_holds(seed);
    }
}

/// More stretches with drops wait than a receiver tells apart, and those beyond the bound count as of the
/// last: with any other bound the checker names other causes in each of these (`docs/protocol.md#6.3`).
#[test]
fn drops_of_more_stretches_than_are_told_apart_are_blamed_on_the_last() {
    for seed in [3_436, 9_250, 17_233, 21_626, 53_676] {
        assert_holds(seed);
    }
}

#[test]
fn one_seed_decides_everything() {
    for seed in [3, 10, 77] {
        let (first, second) = (run_seed(seed, true), run_seed(seed, true));
        assert_eq!(first.tally, second.tally);
        assert_eq!(first.transitions, second.transitions);
        assert!(first.trace == second.trace, "seed {seed}: the traces differ");
        assert!(!first.trace.is_empty());
    }
}

#[test]
fn no_seed_takes_a_transition_that_no_state_table_has() {
    let mut transitions = Transitions::default();
    for seed in 0..100 {
        transitions.add(&run_seed(seed, false).transitions);
    }
    assert_eq!(transitions.unknown().collect::<Vec<_>>(), Vec::<&crate::Transition>::new());
}

#[test]
fn summary_is_the_last_line() {
    let options = SwarmOptions {
        seeds: 0..4,
        threads: 2,
        time: None,
        hostile: None,
        trace: false,
        tap_packets: None,
    };
    let mut text = vec![];
    let result = swarm(&options, &mut text).expect("a vector takes all");
    let text = String::from_utf8(text).expect("the summary is text");
    assert_eq!(result.runs, 4);
    assert!(text.lines().last().is_some_and(|line| line.starts_with("4 runs, ")), "{text}");
}
