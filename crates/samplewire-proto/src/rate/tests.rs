//! The machine against histories of an independent program, and what must hold in every history.

use super::*;
use crate::number::Nanos;
use crate::random::Rng;
use serde_json::Value;

/// What a test does to valid parameters.
type Change = fn(&mut DcqcnParams);

fn params() -> DcqcnParams {
    DcqcnParams {
        gain_shift: 8,
        alpha_period: Nanos::from_micros(55),
        rise_period: Nanos::from_micros(55),
        rise_bytes: 1_000_000,
        recovery_stages: 5,
        additive: WireRate::from_bps(5_000_000),
        hyper: WireRate::from_bps(100_000_000),
        minimum: WireRate::from_bps(10_000_000),
        start: WireRate::from_bps(100_000_000),
        first_cut: WireRate::from_bps(10_000_000_000),
        cut_interval: Nanos::from_micros(50),
        line: WireRate::from_bps(10_000_000_000),
        rules: Rules::Paper,
    }
}

fn params_of(json: &Value) -> DcqcnParams {
    let number = |name: &str| json[name].as_u64().expect("a number");
    let rate = |name: &str| WireRate::from_raw(number(name) as u32);
    DcqcnParams {
        gain_shift: number("gain_shift") as u8,
        alpha_period: Nanos(number("alpha_period")),
        rise_period: Nanos(number("rise_period")),
        rise_bytes: number("rise_bytes") as u32,
        recovery_stages: number("recovery_stages") as u8,
        additive: rate("additive"),
        hyper: rate("hyper"),
        minimum: rate("minimum"),
        start: rate("start"),
        first_cut: rate("first_cut"),
        cut_interval: Nanos(number("cut_interval")),
        line: rate("line"),
        rules: Rules::Paper,
    }
}

#[test]
fn histories_of_the_vectors_are_kept_bit_by_bit() {
    let path = format!("{}/../../vectors/dcqcn.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the vectors are in the repository");
    let histories: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    let histories = histories.as_array().expect("a list");
    assert!(histories.len() >= 11, "{} histories", histories.len());
    for history in histories {
        let instant = |json: &Value| Nanos(json.as_str().expect("ns").parse().expect("ns"));
        let begin = instant(&history["begin"]);
        let mut flow = Dcqcn::new(params_of(&history["params"]), begin).expect("valid");
        for (row, event) in history["events"].as_array().expect("a list").iter().enumerate() {
            let (now, value) = (instant(&event[0]), event[2].as_u64().expect("a number"));
            let cut = match event[1].as_str().expect("a kind") {
                "time" => {
                    flow.handle_time(now);
                    None
                }
                "departure" => {
                    flow.handle_departure(now, value as u16);
                    None
                }
                "notification" => {
                    Some(flow.handle_notification(now, Nanos(value)) == Notified::Cut)
                }
                other => panic!("no event is called {other}"),
            };
            let (timer, bytes) = flow.stages();
            let state = [
                flow.rate().raw(),
                flow.target().raw(),
                flow.alpha(),
                timer.into(),
                bytes.into(),
                flow.bytes_left(),
            ];
            let wanted: Vec<u64> =
                (4..10).map(|column| event[column].as_u64().expect("a number")).collect();
            let name = &history["name"];
            assert_eq!(state.map(u64::from)[..], wanted, "{name}, event {row}");
            assert_eq!(cut, event[3].as_bool(), "{name}, event {row}");
        }
    }
}

#[test]
fn rate_stays_within_its_bounds_and_cuts_keep_their_distance() {
    for seed in 0..50 {
        let mut rng = Rng::new(seed);
        let params = params();
        let mut now = Nanos(rng.below(u64::MAX / 2));
        let mut flow = Dcqcn::new(params, now).expect("valid");
        let mut last_cut: Option<(Nanos, Nanos)> = None;
        for _ in 0..20_000 {
            now = now + Nanos(rng.below(30_000));
            match rng.below(20) {
                0 => {
                    let rtt = Nanos(rng.below(200_000));
                    let before = flow.rate();
                    if flow.handle_notification(now, rtt) == Notified::Cut {
                        if let Some((at, interval)) = last_cut {
                            assert!(now.since(at) >= interval, "seed {seed}");
                        }
                        last_cut = Some((now, rtt.max(params.cut_interval)));
                        assert!(flow.rate() <= flow.target(), "seed {seed}");
                    } else {
                        assert!(flow.rate() >= before, "seed {seed}");
                    }
                }
                1 => flow.handle_time(now),
                _ => flow.handle_departure(now, rng.below(65_536) as u16),
            }
            let rates = [params.minimum, flow.rate(), flow.target(), params.line];
            assert!(rates.is_sorted(), "seed {seed}: {rates:?}");
            assert!(flow.alpha() <= 1 << 16, "seed {seed}");
            assert!(flow.due() > now, "seed {seed}");
        }
    }
}

#[test]
fn times_of_calls_do_not_change_the_history() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut now = Nanos(0);
        let mut seldom = Dcqcn::new(params(), now).expect("valid");
        let mut often = seldom.clone();
        for _ in 0..500 {
            let end = now + Nanos(rng.below(3_000_000));
            while now < end {
                often.handle_time(now);
                now = now + Nanos(1 + rng.below(100_000));
            }
            now = end;
            if rng.below(10) == 0 {
                let outcomes =
                    [&mut seldom, &mut often].map(|flow| flow.handle_notification(now, Nanos(0)));
                assert_eq!(outcomes[0], outcomes[1], "seed {seed}");
            } else {
                seldom.handle_departure(now, 9_000);
                often.handle_departure(now, 9_000);
            }
            assert_eq!(seldom, often, "seed {seed}");
        }
    }
}

#[test]
fn link_that_is_never_marked_is_used_whole() {
    let mut flow = Dcqcn::new(params(), Nanos(0)).expect("valid");
    let mut now = Nanos(0);
    while flow.rate() < params().line {
        assert!(now < Nanos::from_millis(200), "{:?} after 200 ms", flow.rate());
        let wire_bytes = 9_000;
        flow.handle_departure(now, wire_bytes);
        now = now + Nanos((u64::from(wire_bytes) << 16).div_ceil(u64::from(flow.rate().raw())));
    }
    flow.handle_time(now + Nanos::from_millis(1_000));
    assert_eq!(flow.rate(), params().line);
}

#[test]
fn each_parameter_is_held_to_its_range() {
    let with = |change: Change| {
        let mut params = params();
        change(&mut params);
        Dcqcn::new(params, Nanos(0)).map(|_| ()).map_err(|error| error.to_string())
    };
    let cases: [(Change, &str); 15] = [
        (|p| p.gain_shift = 0, "gain shift 0: must be 1 to 16"),
        (|p| p.gain_shift = 17, "gain shift 17: must be 1 to 16"),
        (|p| p.alpha_period = Nanos(0), "alpha period of 0 ns: must be 1 to 1048575 ns"),
        (
            |p| p.alpha_period = Nanos(1 << 20),
            "alpha period of 1048576 ns: must be 1 to 1048575 ns",
        ),
        (|p| p.rise_period = Nanos(0), "rise period of 0 ns: must be 1 to 1048575 ns"),
        (|p| p.rise_period = Nanos(1 << 20), "rise period of 1048576 ns: must be 1 to 1048575 ns"),
        (|p| p.rise_bytes = 65_535, "byte counter of 65535 bytes: must be 65536 to 67108863"),
        (|p| p.rise_bytes = 1 << 26, "byte counter of 67108864 bytes: must be 65536 to 67108863"),
        (|p| p.recovery_stages = 0, "recovery stages 0: must be 1 to 31"),
        (|p| p.recovery_stages = 32, "recovery stages 32: must be 1 to 31"),
        (
            |p| p.cut_interval = Nanos(1 << 20),
            "cut interval of 1048576 ns: must be at most 1048575 ns",
        ),
        (|p| p.minimum = WireRate::from_raw(0), "minimum rate 0: must be above 0"),
        (
            |p| p.minimum = WireRate::from_bps(20_000_000_000),
            "minimum rate of 20000000000 b/s: must be at most the line's 10000000000 b/s",
        ),
        (
            |p| p.start = WireRate::from_raw(81),
            "start rate of 9887695 b/s: must be 10009765 to 10000000000 b/s",
        ),
        (
            |p| p.first_cut = WireRate::from_raw(81_921),
            "first cut rate of 10000122070 b/s: must be 10009765 to 10000000000 b/s",
        ),
    ];
    for (change, message) in cases {
        assert_eq!(with(change), Err(message.to_owned()));
    }
    let least: [Change; 6] = [
        |p| p.gain_shift = 16,
        |p| p.alpha_period = Nanos(1),
        |p| p.rise_bytes = (1 << 26) - 1,
        |p| p.recovery_stages = 31,
        |p| p.cut_interval = Nanos(0),
        |p| p.start = p.minimum,
    ];
    for change in least {
        assert_eq!(with(change), Ok(()));
    }
}

#[test]
fn presets_are_valid_on_every_line() {
    for line_bps in [10_000_000, 1_000_000_000, 10_000_000_000, 400_000_000_000] {
        for preset in [DcqcnParams::samplewire, DcqcnParams::paper, DcqcnParams::hpcc] {
            assert_eq!(preset(line_bps).check(), Ok(()), "{line_bps} b/s");
        }
    }
}

#[test]
fn alpha_of_hpcc_follows_the_share_of_periods_with_a_notification() {
    let params = DcqcnParams::hpcc(25_000_000_000);
    let alpha_after = |notified_in: u64| {
        let mut flow = Dcqcn::new(params, Nanos(0)).expect("valid");
        for period in 0..4_000 {
            if period % notified_in == 0 {
                flow.handle_notification(Nanos(period * 1_000 + 500), Nanos(0));
            }
        }
        flow.handle_time(Nanos(4_000_000));
        f64::from(flow.alpha()) / 65_536.0
    };
    assert!(alpha_after(1) > 0.999);
    for notified_in in [2, 4, 10] {
        let (alpha, share) = (alpha_after(notified_in), 1.0 / notified_in as f64);
        assert!((alpha - share).abs() < 0.02, "{alpha} for a share of {share}");
    }
}

#[test]
fn hpcc_has_no_byte_counter_and_holds_alpha_until_the_first_cut() {
    let params = DcqcnParams::hpcc(25_000_000_000);
    let mut flow = Dcqcn::new(params, Nanos(0)).expect("valid");
    flow.handle_time(Nanos(200_000));
    assert_eq!(flow.alpha(), 65_536);
    assert_eq!(flow.handle_notification(Nanos(200_000), Nanos(0)), Notified::Cut);
    assert_eq!(flow.rate().raw(), params.line.raw() - params.line.raw() / 2);
    for _ in 0..100 {
        flow.handle_departure(Nanos(200_001), u16::MAX);
    }
    assert_eq!(flow.stages(), (0, 0));
    assert_eq!(flow.handle_notification(Nanos(203_999), Nanos(0)), Notified::Ignored);
    // The first expiry of the timer is fast recovery's end at F = 1, the second is hyper increase.
    // One call handles 256 expiries.
    (2..=8).for_each(|call| flow.handle_time(Nanos(100_000 * call)));
    assert_eq!(flow.stages().0, 2);
    assert_eq!(flow.target(), params.line, "the line bounds what was added");
}

#[test]
fn rates_in_bits_a_second_come_back() {
    assert_eq!(WireRate::from_bps(10_000_000_000).raw(), 81_920);
    assert_eq!(WireRate::from_raw(81_920).bps(), 10_000_000_000);
    assert_eq!(WireRate::from_bps(100_000_000_000).raw(), 819_200);
    assert_eq!(WireRate::from_bps(61_035).raw(), 0, "below half a unit");
    assert_eq!(WireRate::from_bps(61_036).raw(), 1);
    assert_eq!(WireRate::from_bps(u64::MAX), WireRate::MAX);
    assert_eq!(WireRate::from_raw(u32::MAX), WireRate::MAX);
}

#[test]
fn flow_at_the_lines_rate_catches_up_with_one_that_was_called_at_each_expiry() {
    let mut often = Dcqcn::new(params(), Nanos(0)).expect("valid");
    let mut now = Nanos(0);
    while !often.is_at_line() {
        now = now + Nanos::from_micros(7);
        often.handle_departure(now, 9_000);
    }
    for pause_us in [0, 1, 54, 55, 56, 1_000, 20_000, 1_000_000] {
        let mut once = often.clone();
        let end = now + Nanos::from_micros(pause_us);
        once.handle_time(end);
        while often.due() <= end {
            let due = often.due();
            often.handle_time(due);
        }
        assert_eq!(once, often, "after {pause_us} us");
        now = end;
        // A cut too small to leave the line's rate changes alpha alone.
        if often.alpha() == 0 {
            often.handle_notification(now, Nanos(0));
            assert!(often.is_at_line());
        }
    }
    assert_eq!(often.alpha(), 256, "one step from 0");
}

/// How far a converter that needs `rate` falls behind, in ns of that rate, when the flow starts there
/// and so many cuts come 50 us apart.
fn behind_ns(params: DcqcnParams, cuts: u32) -> u64 {
    const STEP: Nanos = Nanos::from_micros(5);
    let needed = u64::from(params.start.raw());
    let mut flow = Dcqcn::new(params, Nanos(0)).expect("valid");
    let (mut now, mut cuts_done) = (Nanos(0), 0);
    let (mut behind, mut worst, mut departed) = (0, 0, 0);
    loop {
        if cuts_done < cuts && now >= Nanos(50_000 * u64::from(cuts_done)) {
            flow.handle_notification(now, Nanos(0));
            cuts_done += 1;
        }
        // What waits, and what comes in a step.
        behind += needed * STEP.0;
        let leaves = (u64::from(flow.rate().raw()) * STEP.0).min(behind);
        behind -= leaves;
        worst = worst.max(behind);
        departed += leaves;
        while departed >= 9_000 << 16 {
            departed -= 9_000 << 16;
            flow.handle_departure(now, 9_000);
        }
        now = now + STEP;
        flow.handle_time(now);
        if cuts_done == cuts && u64::from(flow.rate().raw()) >= needed {
            return worst / needed;
        }
    }
}

/// The table of `docs/congestion.md#converters`.
#[test]
fn ring_of_a_converter_bridges_cuts_in_a_row_for_the_times_of_the_table() {
    for (cuts, bridge_us) in [(1, 60), (2, 6_000), (3, 13_000), (5, 24_000)] {
        let mut most_us = 0;
        for line_bps in [10_000_000_000, 40_000_000_000, 100_000_000_000] {
            for percent in [50, 80, 100] {
                let start = WireRate::from_bps(line_bps / 100 * percent);
                let params = DcqcnParams { start, ..DcqcnParams::samplewire(line_bps) };
                most_us = most_us.max(behind_ns(params, cuts) / 1_000);
            }
        }
        assert!((bridge_us * 9 / 10..=bridge_us).contains(&most_us), "{cuts} cuts: {most_us} us");
    }
}
