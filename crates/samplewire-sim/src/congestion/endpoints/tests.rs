use super::super::{CongestionResult, Control, Preset, Scenario, Traffic, congestion};
use samplewire_proto::Nanos;
use samplewire_switch::SwitchConfig;

const TEN: u64 = 10_000_000_000;

/// Three senders into a buffer of 300 KB.
fn small_buffer(control: Option<Control>) -> Scenario {
    let mut scenario = Scenario::star(Preset::Samplewire, 3, TEN, TEN, 4_134);
    scenario.traffic = Traffic::Stream { window: 256 };
    scenario.switch = SwitchConfig { buffer_bytes: 300_000, ..scenario.switch };
    scenario.span = (Nanos::from_millis(50), Nanos::from_millis(150));
    if let Some(control) = control {
        scenario.set_control(control);
    }
    scenario
}

fn run(scenario: &Scenario) -> CongestionResult {
    congestion(scenario).expect("valid")
}

#[test]
fn streams_under_control_repeat_nothing_and_without_it_a_lot() {
    let share = |run: &CongestionResult| run.repeats as f64 / run.departures as f64;
    let (dcqcn, none) = (run(&small_buffer(None)), run(&small_buffer(Some(Control::None))));
    assert!(share(&dcqcn) < 1e-5, "{} of {}", dcqcn.repeats, dcqcn.departures);
    assert!(dcqcn.utilisation > 0.97 && dcqcn.jain > 0.95, "{} {}", dcqcn.utilisation, dcqcn.jain);
    assert!(dcqcn.departures > 30_000, "{}", dcqcn.departures);
    assert!(share(&none) > 1e-3, "{} of {}", none.repeats, none.departures);
    assert!(none.repeats > 100 * dcqcn.repeats, "{} and {}", none.repeats, dcqcn.repeats);
}

#[test]
fn converter_below_its_share_bridges_isolated_marks() {
    let mut scenario = small_buffer(None);
    for flow in &mut scenario.flows {
        // 80 % of a third of the line.
        flow.converter_bps = Some(TEN / 3 * 8 / 10 * 4_000 / 4_134);
    }
    scenario.traffic = Traffic::Stream { window: 1_024 };
    scenario.stray_marks_ppm = 30;
    let run = run(&scenario);
    assert!(run.cuts >= 3, "{}", run.cuts);
    assert_eq!((run.overflows, run.dropped), (0, 0));
    assert!((run.utilisation - 0.8).abs() < 0.03, "{}", run.utilisation);
}

#[test]
fn lost_reports_and_those_on_a_congested_way_back_are_enough() {
    let mut lossy = small_buffer(None);
    lossy.report_loss_ppm = 200_000;
    let mut late = Scenario {
        traffic: lossy.traffic,
        span: lossy.span,
        ..Scenario::return_path(Preset::Samplewire, TEN, 4_134)
    };
    late.switch.buffer_bytes = 600_000;
    for scenario in [lossy, late] {
        let run = run(&scenario);
        let what = format!("{} {} {}", run.utilisation, run.jain, run.dropped);
        assert!(run.dropped == 0 && run.utilisation > 0.97 && run.jain > 0.95, "{what}");
        assert!(run.cuts > 100, "{}", run.cuts);
    }
}

#[test]
fn counters_of_senders_that_leave_are_kept() {
    const LINE: u64 = 100_000_000;
    let mut scenario = Scenario::turns(Preset::Samplewire, LINE, 4_134);
    scenario.traffic = Traffic::Stream { window: 256 };
    // The second sender's converter needs the whole line, and leaves within the run.
    scenario.flows[1].converter_bps = Some(LINE);
    let run = run(&scenario);
    let arrived = run.timeline.bytes.iter().sum::<u64>() / 4_134;
    let departed = run.departures - run.repeats;
    assert!(arrived > 1_500, "{arrived}");
    assert!((arrived..arrived + 3 * 256).contains(&departed), "{departed} of {arrived}");
    assert!(run.overflows > 100, "{}", run.overflows);
    let rates = run.timeline.rates_bps.chunks(3);
    assert!(rates.skip(510).all(|rates| rates[1..] == [0, 0]), "they have left");
}

#[test]
fn streams_name_the_control_that_they_do_not_follow() {
    let error = |preset: Preset, of: fn(Preset) -> Control| {
        let mut scenario = small_buffer(Some(of(preset)));
        scenario.span = (Nanos(0), Nanos::from_millis(1));
        congestion(&scenario).map(|_| ()).map_err(|error| error.to_string())
    };
    let dcqcn = |preset: Preset| Control::Dcqcn(preset.params(TEN));
    let reference = |preset: Preset| Control::Reference(preset.params(TEN));
    assert_eq!(error(Preset::Samplewire, dcqcn), Ok(()));
    let message = "streams follow the preset samplewire, and not hpcc";
    assert_eq!(error(Preset::Hpcc, dcqcn), Err(message.into()));
    let message = "streams and RoCE do not follow the control reference: it is for steady traffic";
    assert_eq!(error(Preset::Samplewire, reference), Err(message.into()));
}

const ROCE: Traffic = Traffic::Roce { window: 256 };

fn roce(traffic: Traffic) -> Scenario {
    let mut scenario = small_buffer(None);
    scenario.traffic = traffic;
    scenario.span = (Nanos::from_millis(100), Nanos::from_millis(250));
    scenario
}

#[test]
fn streams_and_roce_share_a_link() {
    let mut scenario = roce(Traffic::Both { window: 256 });
    let four = Scenario::star(Preset::Samplewire, 4, TEN, TEN, 4_134);
    (scenario.topology, scenario.flows) = (four.topology, four.flows);
    let run = run(&scenario);
    assert!(run.jain >= 0.95 && run.utilisation > 0.97, "{} {}", run.jain, run.utilisation);
    assert_eq!((run.dropped, run.repeats), (0, 0));
    let kinds = [0, 1].map(|kind| run.rates_bps[kind] + run.rates_bps[kind + 2]);
    assert!((0.8..1.25).contains(&(kinds[0] / kinds[1])), "{:?}", run.rates_bps);
}

/// The receivers' own notifications are lost.
#[test]
fn lost_notifications_slow_the_control_of_roce_and_do_not_break_it() {
    let notified = |ppm| {
        let scenario = Scenario { report_loss_ppm: ppm, ..roce(ROCE) };
        let run = run(&scenario);
        assert_eq!((run.dropped, run.repeats), (0, 0), "at {ppm} ppm");
        assert!(run.utilisation > 0.97 && run.jain > 0.95, "{} {}", run.utilisation, run.jain);
        run.timeline.notifications.iter().sum::<u32>()
    };
    assert!(notified(0) > 100);
    assert!(notified(300_000) > 50);
}

/// All notifications are lost. The way back of the first sender has a queue of its own, so its
/// acknowledgements are marked.
#[test]
fn congested_acknowledgements_cut_where_they_are_to() {
    let cuts = |congested_acks_cut| {
        let scenario = Scenario {
            congested_acks_cut,
            report_loss_ppm: 1_000_000,
            traffic: ROCE,
            span: (Nanos::from_millis(20), Nanos::from_millis(60)),
            ..Scenario::return_path(Preset::Samplewire, TEN, 4_134)
        };
        run(&scenario).cuts
    };
    assert_eq!(cuts(false), 0);
    assert!(cuts(true) > 0);
}
