use super::topology::{End, Topology};
use super::*;
use crate::link::ETHERNET_BYTES;
use samplewire_switch::{Marking, MarkingPoint, SwitchConfig, SwitchCounts};

/// The wire bytes of an IP packet of so many bytes.
const fn wire_bytes(ip_bytes: u32) -> u32 {
    ip_bytes + ETHERNET_BYTES
}

const TEN: u64 = 10_000_000_000;
const FORTY: u64 = 40_000_000_000;

fn ten(senders: usize) -> Scenario {
    Scenario::star(Preset::Samplewire, senders, TEN, TEN, wire_bytes(4_096))
}

fn forty(preset: Preset, senders: usize) -> Scenario {
    Scenario::star(preset, senders, FORTY, FORTY, wire_bytes(1_000))
}

fn run(scenario: &Scenario) -> CongestionResult {
    congestion(scenario).expect("valid")
}

#[test]
fn senders_share_a_link_that_stays_busy_and_drops_nothing() {
    // The bounds: utilisation, Jain, p99 and longest queue in bytes.
    let cases = [
        (ten(2), 0.998, 0.99, 80_000, 450_000),
        (ten(8), 0.998, 0.985, 130_000, 450_000),
        (ten(16), 0.998, 0.98, 220_000, 450_000),
        (ten(32), 0.997, 0.99, 400_000, 1_000_000),
        (forty(Preset::Samplewire, 2), 0.998, 0.985, 45_000, 150_000),
    ];
    for (mut scenario, utilisation, jain, p99, longest) in cases {
        for seed in 1..=2 {
            scenario.seed = seed;
            let run = CongestionResult { timeline: Timeline::default(), ..run(&scenario) };
            let what = format!("{} senders: {run:?}", scenario.flows.len());
            assert!(run.utilisation >= utilisation && run.utilisation < 1.001, "{what}");
            assert!(run.jain >= jain && run.jain <= 1.0, "{what}");
            assert!(run.queue_p99_bytes <= p99 && run.queue_max_bytes <= longest, "{what}");
            assert_eq!(run.dropped, 0, "{what}");
        }
    }
}

#[test]
fn without_control_the_buffer_fills_and_frames_drop() {
    let mut scenario = ten(3);
    scenario.set_control(Control::None);
    scenario.span = (Nanos(0), Nanos::from_millis(20));
    let run = run(&scenario);
    assert!(run.utilisation > 0.99, "{run:?}");
    assert!(run.queue_max_bytes > 1_900_000, "{run:?}");
    assert!(run.dropped > 5_000, "{run:?}");
    assert_eq!(run.cuts, 0, "{run:?}");
}

#[test]
fn fixed_rates_are_kept_and_fill_no_queue() {
    let mut scenario = ten(3);
    scenario.set_control(Control::Fixed(samplewire_proto::rate::WireRate::from_bps(3_000_000_000)));
    scenario.span = (Nanos::from_millis(10), Nanos::from_millis(30));
    let run = run(&scenario);
    assert!((run.utilisation - 0.9).abs() < 0.002, "{}", run.utilisation);
    assert!(run.queue_max_bytes < 10_000, "{}", run.queue_max_bytes);
}

#[test]
fn integers_do_what_the_rules_do_in_floating_point() {
    for (scenario, senders) in [(ten(3), 3), (ten(8), 8), (forty(Preset::Paper, 4), 4)] {
        let Control::Dcqcn(params) = scenario.flows[0].control else { unreachable!("a preset") };
        let mut reference = scenario.clone();
        reference.set_control(Control::Reference(params));
        let (run, reference) = (run(&scenario), run(&reference));
        let what = |run: &CongestionResult| format!("{} {}", run.utilisation, run.jain);
        let what = format!("{senders}: {} and {}", what(&run), what(&reference));
        assert!((run.utilisation - reference.utilisation).abs() <= 0.005, "{what}");
        assert!((run.jain - reference.jain).abs() <= 0.005, "{what}");
        assert_ne!(run.cuts, 0, "{what}");
    }
}

#[test]
fn senders_that_join_get_their_share_and_those_that_leave_free_theirs() {
    let run = run(&Scenario::turns(Preset::Samplewire, TEN, wire_bytes(4_096)));
    let (join, leave) = (run.join.expect("one joins"), run.leave.expect("two leave"));
    assert!(join <= Nanos::from_millis(80), "{join:?}");
    assert!(leave <= Nanos::from_millis(40), "{leave:?}");
    assert_eq!(run.dropped, 0);
}

#[test]
fn pauses_alone_are_unfair_and_hurt_a_victim_and_control_does_not() {
    let case = |control: Option<Control>| {
        let mut scenario = Scenario::two_switches(Preset::Samplewire, TEN, wire_bytes(4_096));
        scenario.set_pfc();
        if let Some(control) = control {
            scenario.set_control(control);
        }
        run(&scenario)
    };
    let (alone, both) = (case(Some(Control::None)), case(None));
    // The victim's share is its whole link.
    let victim = |run: &CongestionResult| run.rates_bps[4] / TEN as f64;
    assert!(alone.jain <= 0.8 && victim(&alone) <= 0.6, "{} {}", alone.jain, victim(&alone));
    assert!(both.jain >= 0.98 && victim(&both) >= 0.95, "{} {}", both.jain, victim(&both));
    assert_eq!((alone.dropped, both.dropped), (0, 0), "PFC loses nothing");
    assert!(both.pauses * 100 <= alone.pauses, "{} and {}", both.pauses, alone.pauses);
    assert!(alone.pauses > 1_000, "{}", alone.pauses);
}

#[test]
fn roce_collapses_without_control_and_repeats_nothing_with_it() {
    let case = |control: Option<Control>| {
        let mut scenario = ten(3);
        scenario.traffic = Traffic::Roce { window: 256 };
        scenario.switch = SwitchConfig { buffer_bytes: 300_000, ..scenario.switch };
        if let Some(control) = control {
            scenario.set_control(control);
        }
        run(&scenario)
    };
    let (none, dcqcn) = (case(Some(Control::None)), case(None));
    assert!(none.jain <= 0.6 || none.utilisation < 0.8, "{} {}", none.jain, none.utilisation);
    assert!(none.repeats > 1_000, "{}", none.repeats);
    assert_eq!((dcqcn.dropped, dcqcn.repeats), (0, 0));
    assert!(dcqcn.utilisation > 0.99 && dcqcn.jain > 0.98, "{dcqcn:?}");
}

#[test]
fn lost_reports_slow_the_control_and_do_not_break_it() {
    let mut scenario = ten(3);
    scenario.report_loss_ppm = 300_000;
    let run = run(&scenario);
    assert!(run.utilisation > 0.998 && run.jain > 0.98, "{} {}", run.utilisation, run.jain);
    assert_eq!(run.dropped, 0);
}

#[test]
fn queues_towards_senders_do_not_count() {
    let mut measure = Measure::new(&ten(2));
    let at = Nanos::from_millis(300);
    measure.queue(at, 0, 9_000);
    measure.queue(at, 2, 1_000);
    let run = measure.result(SwitchCounts::default());
    assert_eq!((run.queue_max_bytes, run.queue_p99_bytes), (1_000, 1_000));
}

#[test]
fn a_seed_decides_everything() {
    let run = |seed| {
        let span = (Nanos::from_millis(80), Nanos::from_millis(100));
        run(&Scenario { seed, span, ..ten(2) })
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_contradicts_itself_is_named() {
    let scenario = Scenario::star(Preset::Samplewire, 2, TEN, 0, 4_134);
    let error = congestion(&scenario).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("port 2: its rate is 0 b/s"));
}

#[test]
fn reference_refuses_the_rules_of_hpcc() {
    let mut scenario = forty(Preset::Hpcc, 2);
    scenario.set_control(Control::Reference(Preset::Hpcc.params(FORTY)));
    assert!(matches!(congestion(&scenario), Err(CongestionError::ReferenceRules)));
}

#[test]
fn every_host_of_a_topology_reaches_every_other() {
    let topologies = [
        Topology::star(3, TEN, TEN),
        Topology::two_switches(TEN, FORTY),
        Topology::leaf_and_spine((7, TEN), (3, FORTY), (2, FORTY)),
    ];
    for topology in topologies {
        for from in 0..topology.hosts.len() {
            for to in (0..topology.hosts.len()).filter(|&to| to != from) {
                let (mut switch, mut links) = (topology.hosts[from].0, 1);
                loop {
                    links += 1;
                    let port = topology.routes[switch][to];
                    match topology.switches[switch][port].to {
                        End::Host(host) => break assert_eq!(host, to),
                        End::Switch { index, .. } => switch = index,
                    }
                    assert!(links < 5, "a loop from {from} to {to}");
                }
                assert_eq!(links, topology.links_between(from, to), "{from} to {to}");
            }
        }
    }
}

#[test]
fn preset_of_the_paper_gives_the_figures_of_a_separate_simulator() {
    // Senders, the line, utilisation and its tolerance, the mean queue in KB.
    let cases = [
        (2, FORTY, 0.998, 0.005, Some(25.0)),
        (4, FORTY, 0.999, 0.005, Some(57.0)),
        (8, FORTY, 0.987, 0.005, Some(75.0)),
        (4, TEN, 0.87, 0.02, None),
    ];
    for (senders, line, utilisation, tolerance, queue_kb) in cases {
        let mut scenario = Scenario::star(Preset::Paper, senders, line, line, wire_bytes(1_000));
        scenario.span = (Nanos::from_millis(150), Nanos::from_millis(250));
        let run = run(&scenario);
        let mean_kb = run.queue_mean_bytes / 1e3;
        let what = format!("{senders} at {line} b/s: {} {mean_kb} KB", run.utilisation);
        assert!((run.utilisation - utilisation).abs() <= tolerance, "{what}");
        assert!(queue_kb.is_none_or(|kb: f64| (mean_kb / kb - 1.0).abs() <= 0.2), "{what}");
    }
}

#[test]
fn marks_of_the_paper_are_those_of_the_fluid_model_where_switches_mark_at_dequeue() {
    // Senders; within a factor of 2 at enqueue as well.
    for (senders, at_enqueue) in [(2, true), (4, true), (8, false)] {
        let expected = fluid_model(senders);
        for (at, is_near) in [(MarkingPoint::Dequeue, true), (MarkingPoint::Enqueue, at_enqueue)] {
            let mut scenario = forty(Preset::Paper, senders);
            scenario.span = (Nanos::from_millis(150), Nanos::from_millis(250));
            let marking = Preset::Paper.marking(FORTY);
            scenario.switch.marking = Some(Marking { at, ..marking });
            let factor = run(&scenario).marked / expected;
            let what = format!("{senders} senders, {at:?}: {factor} of the model's share");
            assert_eq!((0.5..=2.0).contains(&factor), is_near, "{what}");
        }
    }
}

/// The share of marked packets at the fixed point (Zhu et al., "ECN or Delay", CoNEXT 2016), 40 Gb/s.
fn fluid_model(senders: usize) -> f64 {
    let (senders, packet_bits) = (senders as f64, 8.0 * f64::from(wire_bytes(1_000)));
    let line = FORTY as f64 / packet_bits;
    let (rise, timer_s, counter) = (40e6 / packet_bits, 55e-6, 10e6 * 8.0 / packet_bits);
    let rises = 1.0 / counter + senders / (timer_s * line);
    (rise * senders.powi(2) / (timer_s * line.powi(2)) * rises.powi(2)).cbrt()
}

#[test]
fn drawing_has_a_line_for_each_flow_and_the_queue() {
    let scenario = Scenario::turns(Preset::Samplewire, TEN, wire_bytes(4_096));
    let mut svg = vec![];
    write_congestion_svg(&run(&scenario).timeline, "2 to 3 to 1 senders, DCQCN", &mut svg)
        .expect("a vector takes all");
    let svg = String::from_utf8(svg).expect("a drawing is text");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<polyline").count(), 3 * 3 + 1);
    assert!(!svg.contains("NaN"));
}
