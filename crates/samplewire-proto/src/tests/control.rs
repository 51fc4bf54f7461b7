//! A sender under congestion control: what marks do to its rate, and what nothing else does.

use super::sender::Bench;
use crate::number::Nanos;
use crate::rate::WireRate;
use crate::sender::{Control, DcqcnConfig, SenderConfig};
use crate::stream::Terms;
use crate::wire::ReportFields;

/// A full packet of the bench on the wire: 24 + 64 + 4 bytes and 66 of frame.
const FRAME_BYTES: u64 = 158;
const LINE_BPS: u64 = 10_000_000_000;
const D: Nanos = Nanos::from_micros(50);

fn config(control: Control) -> SenderConfig {
    SenderConfig::default().with_control(control).expect("it holds")
}

fn line() -> DcqcnConfig {
    DcqcnConfig::new().with_line_bps(Some(LINE_BPS))
}

/// A sender of a window of 4,096 that may send so many, with a round trip of 20 us.
fn bench(control: Control) -> Bench {
    bench_of(|_| (), config(control))
}

fn bench_of(change: fn(&mut Terms), config: SenderConfig) -> Bench {
    let with = |terms: &mut Terms| {
        (terms.window, terms.rtt) = (4_096, Nanos::from_micros(20));
        change(terms);
    };
    let mut bench = Bench::with(with, config);
    report(&mut bench, 0);
    bench
}

/// Reports all that has departed as received, and so many marks.
fn report(bench: &mut Bench, marked: u32) {
    let sent = bench.sender.next_seq().0 - bench.sender.waiting();
    let fields = ReportFields { marked, ..bench.fields(sent, sent + 4_096) };
    assert!(bench.take(&fields, &[]));
}

fn limit_bps(bench: &Bench) -> u64 {
    bench.sender.stats().limit_bps
}

/// Runs the sender for a time with a full window, and returns what left in wire bytes. The receiver
/// reports so many marks after each ms.
fn run_saturated(bench: &mut Bench, span: Nanos, marked: u32) -> u64 {
    let wire_bytes = |bench: &Bench| FRAME_BYTES * bench.sender.stats().packets;
    let (before, end) = (wire_bytes(bench), bench.now + span);
    let mut report_at = bench.now + Nanos::from_millis(1);
    while bench.now < end {
        bench.push(bench.sender.free_slots());
        bench.leave();
        let wakes_at = bench.sender.poll_timeout(bench.now).expect("it lives");
        bench.now = wakes_at.max(bench.now + Nanos(1)).min(report_at).min(end);
        if bench.now == report_at {
            report(bench, marked);
            report_at = bench.now + Nanos::from_millis(1);
        }
    }
    wire_bytes(bench) - before
}

/// `docs/protocol.md#8.2`, `#8.3`
#[test]
fn notification_cuts_once_per_interval_or_round_trip() {
    for (rtt, interval) in
        [(Nanos::from_micros(20), D), (Nanos::from_millis(8), Nanos::from_millis(8))]
    {
        let mut bench = Bench::with(|terms| terms.rtt = rtt, config(Control::Dcqcn(line())));
        report(&mut bench, 0);
        assert_eq!(limit_bps(&bench), 0, "at line rate there is no limit");
        report(&mut bench, 1);
        assert_eq!(limit_bps(&bench), LINE_BPS / 2, "alpha begins at 1");
        let cut_at = bench.now;
        bench.now = cut_at + interval - Nanos(1);
        report(&mut bench, 2);
        assert_eq!((bench.sender.stats().cuts, bench.sender.stats().congestion), (1, 2));
        bench.now = cut_at + interval;
        report(&mut bench, 3);
        assert_eq!((bench.sender.stats().cuts, bench.sender.stats().congestion), (2, 3));
    }
}

/// `docs/protocol.md#8.2`
#[test]
fn count_that_jumps_wraps_or_runs_backwards_is_one_notification_per_report() {
    let mut bench = bench(Control::Dcqcn(line()));
    for (marked, notifications) in
        [(0, 0), (5, 1), (5, 1), (3, 2), (u32::MAX, 3), (u32::MAX, 3), (2, 4), (1 << 31, 5), (0, 6)]
    {
        bench.now = bench.now + D;
        report(&mut bench, marked);
        let stats = bench.sender.stats();
        assert_eq!((stats.congestion, stats.cuts), (notifications, notifications), "{marked}");
    }
}

/// `docs/protocol.md#4.6`
#[test]
fn older_report_notifies_of_nothing() {
    let mut bench = bench(Control::Dcqcn(line()));
    report(&mut bench, 0);
    bench.reports = 0;
    report(&mut bench, 7);
    assert_eq!((bench.sender.stats().congestion, limit_bps(&bench)), (0, 0));
}

#[test]
fn marks_without_end_leave_the_minimum_rate() {
    let mut bench = bench(Control::Dcqcn(line()));
    for marked in 1..=100 {
        bench.now = bench.now + D;
        report(&mut bench, marked);
    }
    let minimum = WireRate::from_bps(10_000_000);
    assert_eq!(limit_bps(&bench), minimum.bps());
    let bytes = run_saturated(&mut bench, Nanos(1), 100);
    assert_eq!(bytes, 2 * FRAME_BYTES, "two packets at once");
}

/// `docs/protocol.md#8.4`
#[test]
fn departures_keep_the_limit_of_each_moment() {
    let mut bench = bench(Control::Dcqcn(line()));
    // Three cuts in a row lower the target too.
    for marked in 1..=3 {
        report(&mut bench, marked);
        bench.now = bench.now + D;
    }
    let (mut allowed, mut left) = (0, 0);
    for marked in 4..=14 {
        let before = bench.sender.stats().limited_bytes;
        left += run_saturated(&mut bench, Nanos::from_millis(3), marked);
        allowed += bench.sender.stats().limited_bytes - before;
    }
    assert!(bench.sender.stats().cuts >= 13, "{:?}", bench.sender.stats());
    let burst_bytes = 50_000 * LINE_BPS / 8_000_000_000;
    assert!(left.abs_diff(allowed) <= allowed / 1_000 + burst_bytes, "{left} of {allowed}");
    let ns = bench.sender.stats().limited_ns;
    assert!((33_000_000..=33_150_000).contains(&ns), "limited for {ns} ns of 33.15 ms");
}

/// `docs/protocol.md#8.4`: each repeat takes 158 bytes of the rate, as a new packet does.
#[test]
fn repeats_are_paced_too() {
    let rate = WireRate::from_bps(8_000_000);
    let mut bench = Bench::with(|_| (), config(Control::Fixed(rate)));
    bench.push(4);
    bench.report(0, 16);
    while bench.sender.stats().packets < 4 {
        bench.now = bench.sender.poll_timeout(bench.now).expect("it lives");
        bench.leave();
    }
    bench.ask(0, &[(0, 4)]);
    let mut at = vec![];
    while at.len() < 4 {
        at.extend(bench.leaving_seqs().iter().map(|_| bench.now));
        if at.len() < 4 {
            bench.now = bench.sender.poll_timeout(bench.now).expect("it lives");
        }
    }
    let span_ns = (FRAME_BYTES << 16).div_ceil(u64::from(rate.raw()));
    let spans: Vec<u64> = at.windows(2).map(|pair| pair[1].since(pair[0]).0).collect();
    assert_eq!(spans[0], 0, "a pause leaves two packets");
    assert!(spans[1..].iter().all(|span| span.abs_diff(span_ns) <= 1), "{spans:?}");
    assert_eq!(limit_bps(&bench), rate.bps());
}

#[test]
fn lower_of_pace_and_limit_counts() {
    let span = Nanos::from_millis(10);
    let bytes_of = |pace_bps: u64, limit_bps: u64| {
        let fixed = Control::Fixed(WireRate::from_bps(limit_bps));
        let config = config(fixed).with_link_bps(pace_bps).expect("in its range");
        run_saturated(&mut bench_of(|_| (), config), span, 0)
    };
    for (pace_bps, limit_bps) in [(100_000_000, 200_000_000), (200_000_000, 100_000_000)] {
        let bytes = bytes_of(pace_bps, limit_bps);
        assert!(bytes.abs_diff(125_000) <= 5 * FRAME_BYTES, "{bytes} bytes in 10 ms at 100 Mb/s");
    }
}

/// Times of departure and of wake-ups in a run with losses and without marks.
fn history(control: Control) -> Vec<(Nanos, usize)> {
    let mut bench = bench(control);
    let mut history = vec![];
    for round in 0..500 {
        bench.push(bench.sender.free_slots().min(3));
        history.push((bench.now, bench.leaving_seqs().len()));
        let wakes_at = bench.sender.poll_timeout(bench.now).expect("it lives");
        history.push((wakes_at, 0));
        bench.now = bench.now + Nanos(7_000);
        match round % 10 {
            3 => report(&mut bench, 0),
            7 => {
                let released = bench.sender.released().0;
                bench.ask(released, &[(released, 2)]);
            }
            _ => {}
        }
    }
    assert_eq!((limit_bps(&bench), bench.sender.stats().cuts), (0, 0));
    assert!(bench.sender.stats().retransmissions > 50);
    history
}

/// `docs/protocol.md#8.3`, `#8.5`
#[test]
fn path_without_marks_costs_nothing_and_loss_never_cuts() {
    let none = history(Control::None);
    assert_eq!(history(Control::Dcqcn(line())), none);
    assert_eq!(history(Control::default()), none);
}

#[test]
fn marks_change_nothing_without_control() {
    let mut bench = bench(Control::None);
    bench.push(100);
    report(&mut bench, 9);
    assert_eq!(bench.leaving_seqs().len(), 100);
    let stats = bench.sender.stats();
    assert_eq!((stats.congestion, stats.cuts, stats.limit_bps), (1, 0, 0));
}

/// `docs/protocol.md#8.5`
#[test]
fn line_of_unknown_rate_is_limited_from_what_departs() {
    let mut bench = bench(Control::default());
    bench.push(200);
    assert_eq!(bench.leaving_seqs().len(), 200, "no limit before the first notification");
    for _ in 0..500 {
        bench.now = bench.now + Nanos::from_micros(10);
        bench.push(1);
        assert_eq!(bench.leaving_seqs().len(), 1);
    }
    let departing_bps = FRAME_BYTES * 8 * 100_000;
    report(&mut bench, 1);
    let limit = limit_bps(&bench);
    assert!(limit.abs_diff(departing_bps / 2) < departing_bps / 100, "half of it: {limit}");
    // Twice the rate is not exceeded; once it is reached, the limit is gone.
    let mut most = 0;
    let begin = bench.now;
    while limit_bps(&bench) != 0 {
        run_saturated(&mut bench, Nanos::from_micros(500), 1);
        most = most.max(limit_bps(&bench));
        assert!(bench.now.since(begin) < Nanos::from_millis(500), "it stays at {most}");
    }
    assert!((departing_bps..=2 * departing_bps + 300_000).contains(&most), "{most}");
    report(&mut bench, 1);
    bench.push(bench.sender.free_slots());
    assert!(bench.leaving_seqs().len() > 1_000, "at once");
}

/// `docs/protocol.md#8.5`
#[test]
fn burst_after_a_pause_is_measured_over_a_millisecond_at_least() {
    let mut bench = bench(Control::default());
    bench.now = bench.now + Nanos::from_millis(10_000);
    bench.push(1_000);
    bench.leave();
    bench.now = bench.now + Nanos::from_micros(100);
    report(&mut bench, 1);
    let limit = limit_bps(&bench);
    // The span that the first packet ended is long and does not count; 999 packets in 1 ms do.
    let expected = 999 * FRAME_BYTES * 8 * 1_000 / 2;
    assert!(limit.abs_diff(expected) < expected / 1_000, "{limit}, not {expected}");
}

/// `docs/protocol.md#8.5`: 16 samples take 158 bytes.
#[test]
fn stream_starts_at_the_rate_of_its_source_or_the_chosen_or_the_lines() {
    let start_bps = |dcqcn: DcqcnConfig| limit_bps(&bench(Control::Dcqcn(dcqcn)));
    let source = line().with_source_rate(20_000_000, 1);
    let needed_bps = 20_000_000 / 16 * FRAME_BYTES * 8;
    let start = start_bps(source);
    assert!((needed_bps..needed_bps + 130_000).contains(&start), "{start} for {needed_bps}");
    assert_eq!(start_bps(source.with_start_bps(Some(1_000_000_000))), start);
    let chosen = WireRate::from_bps(1_000_000_000).bps();
    assert_eq!(start_bps(line().with_start_bps(Some(1_000_000_000))), chosen);
    assert_eq!(start_bps(line()), 0, "no limit at the line's rate");
    assert_eq!(start_bps(line().with_source_rate(u64::MAX, 1)), 0);
    assert_eq!(start_bps(line().with_source_rate(1, u64::MAX)), WireRate::from_raw(82).bps());
    assert_eq!(start_bps(DcqcnConfig::new().with_source_rate(20_000_000, 1)), 0, "unknown line");
}

#[test]
fn source_that_its_start_rate_carries_is_never_short() {
    let mut bench = bench(Control::Dcqcn(line().with_source_rate(20_000_000, 1)));
    // One packet of 16 samples each 800 ns.
    for _ in 0..4_000 {
        bench.push(1);
        assert_eq!(bench.leaving_seqs().len(), 1);
        bench.now = bench.now + Nanos(800);
        if bench.sender.free_slots() < 100 {
            report(&mut bench, 0);
        }
    }
    assert_eq!(bench.sender.stats().limited_ns, 0);
}

/// `docs/congestion.md#converters`: the window of 4,096 packets holds 3.28 ms of this source.
#[test]
fn shortage_that_outlasts_the_window_counts_once() {
    let mut bench = bench(Control::Dcqcn(line().with_source_rate(20_000_000, 1)));
    let span = |bench: &mut Bench, us: u64, marked: u32| {
        run_saturated(bench, Nanos::from_micros(us), marked);
        bench.sender.stats().shortages
    };
    report(&mut bench, 1);
    assert_eq!(span(&mut bench, 3_000, 1), 0, "one cut ends within the window");
    // A mark in each 100 us for longer than that.
    for marked in 2..=60 {
        report(&mut bench, marked);
        let count = span(&mut bench, 100, marked);
        let short_us = 100 * u64::from(marked - 1);
        if !(3_200..=3_400).contains(&short_us) {
            assert_eq!(count, u64::from(short_us > 3_276), "after {short_us} us");
        }
    }
}

#[test]
fn control_that_cannot_hold_is_refused_by_name() {
    let refused = |control| SenderConfig::default().with_control(control).unwrap_err().to_string();
    assert_eq!(
        refused(Control::Fixed(WireRate::from_bps(0))),
        "fixed rate of 0 b/s: must be 10^5 to 2 * 10^12 b/s"
    );
    assert_eq!(
        refused(Control::Dcqcn(line().with_start_bps(Some(20_000_000_000)))),
        "congestion control: start rate of 20000000000 b/s: must be 10009765 to 10000000000 b/s"
    );
    assert_eq!(
        refused(Control::Dcqcn(line().with_start_bps(Some(5_000_000)))),
        "congestion control: start rate of 5004882 b/s: must be 10009765 to 10000000000 b/s"
    );
    assert_eq!(
        refused(Control::Dcqcn(line().with_line_bps(Some(0)))),
        "congestion control: minimum rate 0: must be above 0"
    );
    for line_bps in [10_000_000, 100_000_000, 2_500_000_000, 400_000_000_000] {
        let control = Control::Dcqcn(DcqcnConfig::new().with_line_bps(Some(line_bps)));
        assert!(SenderConfig::default().with_control(control).is_ok(), "{line_bps} b/s");
    }
}
