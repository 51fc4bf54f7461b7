//! Streams over RDMA on long paths, through pauses and cuts ([protocol 13](../../../../../docs/protocol.md#13)).

use samplewire_roce::PathMtu;

use super::*;

const SAMPLES: u32 = 16;
const WRITES: u64 = 2_000;
const WINDOW: u64 = 64;

/// A device that sends some packets over RDMA along a path of this round trip, as fast as it goes.
fn writer(round_trip: Nanos, faults: Vec<(Nanos, Fault)>) -> Plan {
    let mut plan = plan(Role::Receive, WINDOW as u32, ConsumerSpec::Immediate, faults);
    for (link, _) in &mut plan.links {
        link.delay = Nanos(round_trip.0 / 2);
    }
    let (_, device, _) = &mut plan.devices[0];
    device.path_mtu = Some(PathMtu::Bytes1024);
    device.source.packets = Some(WRITES);
    device.source.pace = Pace::Greedy;
    plan.clients[0].path_mtu = Some(PathMtu::Bytes1024);
    plan.ends_by = Nanos::from_millis(120_000);
    plan
}

/// `docs/protocol.md#13.7`: the timeout of the queue pair follows the round trip. With 67 ms for
/// all each left twice over a path of 84 ms, and five times over one of 300 ms.
#[test]
fn each_request_leaves_once_whatever_the_round_trip() {
    for round_trip_ms in [1, 20, 84, 300] {
        let tally = run(&writer(Nanos::from_millis(round_trip_ms), vec![]));
        let share = tally.requests as f64 / (tally.requests - tally.requests_repeated) as f64;
        println!("{round_trip_ms} ms: {} requests, each left {share:.2} times", tally.requests);
        assert_eq!((tally.openings_over_rdma, tally.writes), (1, WRITES));
        assert_eq!(tally.requests_repeated, 0, "round trip of {round_trip_ms} ms");
        assert_eq!(tally.indexes_delivered, WRITES * u64::from(SAMPLES));
    }
}

/// A receiver that pauses, and a path that is cut, for less than the stream waits for its peer.
#[test]
fn pause_of_five_seconds_is_survived() {
    let span = Nanos::from_millis(5_000);
    let at = Nanos::from_millis(500);
    let cut = |link| (at, Fault::Down { link, span });
    for faults in [vec![(at, Fault::Pause { machine: 0, span })], vec![cut(0), cut(1)]] {
        let tally = run(&writer(Nanos::from_millis(84), faults.clone()));
        println!("{faults:?}: {} requests, {} again", tally.requests, tally.requests_repeated);
        assert_eq!((tally.queue_pairs_failed, tally.gaps), (0, 0), "{faults:?}");
        assert_eq!(tally.indexes_delivered, WRITES * u64::from(SAMPLES), "{faults:?}");
        // 5 s are some timeouts of a window each, which become rare.
        assert!((1..8 * WINDOW).contains(&tally.requests_repeated), "{tally:?}");
    }
}

/// The stream ends as one of DATA does, dead_after (15 s) after it has last heard of its peer.
#[test]
fn peer_that_is_gone_ends_the_stream_in_time() {
    let (at, span) = (Nanos::from_millis(500), Nanos::from_millis(60_000));
    let cut = |link| (at, Fault::Down { link, span });
    let mut plan = writer(Nanos::from_millis(84), vec![cut(0), cut(1)]);
    // The links would come back then.
    plan.heals_at = Nanos::from_millis(60_000);
    let mut world = World::new(&plan, 1);
    world.run_until(at + Nanos::from_millis(14_000));
    assert!(!world.is_idle(), "it waits for its peer");
    world.run_until(at + Nanos::from_millis(16_000));
    assert_eq!(world.checker.failure(), None);
    assert!(world.is_idle(), "both ends have ended");
}
