//! Queue pairs that break and are created again under other numbers.

use samplewire_proto::Rng;

use super::pair::{Pair, Settings};
use crate::number::PathMtu;
use crate::qp::State;

/// Breaks `rounds` connections at any moment, while frames of each are on their way into the next.
fn break_and_recreate(rounds: u64) {
    let settings = Settings {
        seed: 7,
        mtu: PathMtu::Bytes256,
        window: 32,
        loss: [0.01; 2],
        others: 0.01,
        starves: true,
    };
    let mut pair = Pair::new(settings);
    let mut rng = Rng::new(8);
    let (mut old_frames, mut broken_by_peer) = (0, 0);
    for round in 0..rounds {
        for _ in 0..rng.below(120) {
            pair.step([u64::MAX; 2]);
        }
        let end = rng.index(2);
        match rng.below(4) {
            0 => pair.post_wrong_key(end),
            1 => pair.ends[end].qp.fail().expect("it is connected"),
            2 => pair.ends.iter_mut().for_each(|it| it.qp.fail().expect("it is connected")),
            // Forgotten at once, with all that is posted.
            _ => {
                close(&mut pair, &mut old_frames);
                continue;
            }
        }
        let mut steps = 0;
        while pair.ends.iter().any(|it| it.qp.state() != State::Error) {
            pair.step([u64::MAX; 2]);
            steps += 1;
            assert!(steps < 100_000, "round {round}: {:?}", pair.ends.map(|it| it.qp.state()));
        }
        broken_by_peer += u64::from(steps > 0);
        // Once more, for what was flushed.
        pair.step([u64::MAX; 2]);
        for it in &pair.ends {
            assert_eq!(it.completed, it.posted, "round {round}: every request is completed once");
        }
        close(&mut pair, &mut old_frames);
    }
    assert!(old_frames > rounds / 2, "{old_frames} frames came for a queue pair that was gone");
    assert!(broken_by_peer > rounds / 4, "{broken_by_peer}");
    // The last connection is as good as the first.
    pair.run([500; 2]);
}

/// Connects again, with frames of the old connection still on their way.
fn close(pair: &mut Pair, old_frames: &mut u64) {
    for it in &pair.ends {
        it.check_counters();
        *old_frames += it.qp.stats().0.other_number;
    }
    pair.connect();
}

#[test]
fn queue_pairs_break_and_are_created_again_a_thousand_times() {
    break_and_recreate(1_000);
}

#[test]
#[ignore = "ten seconds: cargo test -p samplewire-roce -- --ignored ten_thousand_times"]
fn queue_pairs_break_and_are_created_again_ten_thousand_times() {
    break_and_recreate(10_000);
}
