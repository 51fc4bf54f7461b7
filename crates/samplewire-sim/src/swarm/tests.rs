use super::*;

/// Runs `seed` and fails with what did not hold.
fn assert_holds(seed: u64) -> RunResult {
    let run = run_seed(seed, false);
    assert_eq!(run.failure, None, "seed {seed}");
    run
}

/// The counts of hostile packets are those that the swarm must have met: each that changed nothing,
/// was refused or did as a copy was looked at one by one. No seed takes a transition that no state table
/// has.
#[test]
fn first_seeds_hold() {
    let mut tally = Tally::default();
    let mut transitions = Transitions::default();
    for seed in 0..400 {
        let run = assert_holds(seed);
        tally += run.tally;
        transitions.add(&run.transitions);
    }
    assert_eq!(transitions.unknown().collect::<Vec<_>>(), Vec::<&crate::Transition>::new());
    assert!(tally.hostile() >= 400_000, "{tally:?}");
    assert!(tally.hostile_ignored >= 320_000, "{tally:?}");
    assert!(tally.hostile_replayed >= 20_000, "{tally:?}");
    assert!(tally.hostile_refused >= 20_000, "{tally:?}");
    assert!(tally.hostile_on_path >= 4_000, "{tally:?}");
    assert!(tally.hostile_accepts >= 12_000, "{tally:?}");
    assert!(tally.hostile_opens >= 6_000, "{tally:?}");
    assert!(tally.openings_over_rdma >= 200, "{tally:?}");
    assert!(tally.writes >= 20_000, "{tally:?}");
    assert!(tally.queue_pairs_failed >= 4, "{tally:?}");
    assert!(tally.hostile_cnps >= 2_000, "{tally:?}");
    assert!(tally.cuts >= 2_000, "{tally:?}");
}

/// Each once showed something that did not hold; `docs/testing.md` says what.
#[test]
fn seeds_that_once_failed_hold() {
    for seed in [
        2, 9, 29, 450, 651, 733, 1140, 1497, 2516, 3144, 3588, 7_067, 1_000_846, 1_013_132,
        600_671, 1_029_588, 1_050_990, 1_054_065, 3_000_281, 3_013_268, 4_050_384, 4_141_107,
        5_065_133, 5_158_153, 5_228_801, 20_026_673, 50_320_470, 60_082_073,
    ] {
        assert_holds(seed);
    }
}

/// Late copies of an OPEN, and those under another's cookie, open streams whose packets bear the same
/// tag.
#[test]
fn streams_of_one_tag_are_distinguished() {
    for seed in [436, 2_056, 1_052_961, 60_010_516, 60_040_373] {
        assert_holds(seed);
    }
}

#[test]
fn one_seed_decides_everything() {
    for seed in [3, 10, 32, 77] {
        let (first, second) = (run_seed(seed, true), run_seed(seed, true));
        assert_eq!(first.tally, second.tally);
        assert_eq!(first.transitions, second.transitions);
        assert!(first.trace == second.trace, "seed {seed}: the traces differ");
        assert!(!first.trace.is_empty());
    }
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
