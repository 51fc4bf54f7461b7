use super::*;

const GIGABIT: u64 = 1_000_000_000;

fn frame(egress: usize, class: usize, wire_bytes: u32, number: u32) -> FrameIn<u32> {
    FrameIn { ingress: 0, egress, class, wire_bytes, is_ecn_capable: true, frame: number }
}

fn drain(switch: &mut Switch<u32>, now: Nanos) -> Vec<(u32, u64, bool)> {
    let mut out = vec![];
    while let Some(left) = switch.poll_transmit(now) {
        out.push((left.frame, left.at.0, left.is_marked));
    }
    out
}

#[test]
fn frames_leave_in_order_at_the_rate_of_their_port() {
    let mut switch =
        Switch::new(SwitchConfig::plain(10_000), &[GIGABIT, GIGABIT], 1).expect("valid");
    for number in 0..3 {
        assert!(switch.handle_frame(Nanos(100), frame(1, 0, 1_000, number)));
    }
    assert_eq!(switch.queued_bytes(1), 2_000, "one is leaving");
    assert_eq!(switch.poll_timeout(), Some(Nanos(8_100)));
    assert_eq!(drain(&mut switch, Nanos(8_099)), []);
    assert_eq!(drain(&mut switch, Nanos(16_100)), [(0, 8_100, false), (1, 16_100, false)]);
    assert_eq!(drain(&mut switch, Nanos(30_000)), [(2, 24_100, false)]);
    assert_eq!(switch.poll_timeout(), None);
    assert_eq!(*switch.counts(), SwitchCounts { forwarded: 3, ..SwitchCounts::default() });
}

#[test]
fn fractions_of_a_nanosecond_are_kept() {
    let mut switch = Switch::new(SwitchConfig::plain(1 << 20), &[3 * GIGABIT], 1).expect("valid");
    for number in 0..300 {
        assert!(switch.handle_frame(Nanos(0), frame(0, 0, 100, number)));
    }
    let last = drain(&mut switch, Nanos(u64::MAX)).pop().expect("300 frames");
    assert_eq!(last.1, 80_000, "300 frames of 800 bits at 3 Gb/s");
}

#[test]
fn the_buffer_is_shared_and_what_finds_no_room_is_dropped() {
    let mut switch =
        Switch::new(SwitchConfig::plain(2_000), &[GIGABIT, GIGABIT], 1).expect("valid");
    assert!(switch.handle_frame(Nanos(0), frame(0, 0, 1_000, 0)));
    assert!(switch.handle_frame(Nanos(0), frame(1, 0, 1_000, 1)), "full to the last byte");
    assert!(!switch.handle_frame(Nanos(0), frame(1, 0, 1, 2)), "the least frame takes 84 bytes");
    assert_eq!(drain(&mut switch, Nanos(8_000)).len(), 2);
    assert!(switch.handle_frame(Nanos(8_000), frame(1, 0, 2_000, 3)));
    let counts = *switch.counts();
    assert_eq!((counts.forwarded, counts.dropped), (2, 1));
}

#[test]
fn higher_classes_go_first_and_frames_stay_whole() {
    let mut switch = Switch::new(SwitchConfig::plain(1 << 20), &[GIGABIT], 1).expect("valid");
    for (number, class) in [0, 0, 3, 7].into_iter().enumerate() {
        assert!(switch.handle_frame(Nanos(0), frame(0, class, 125, number as u32)));
    }
    let order: Vec<u32> = drain(&mut switch, Nanos(10_000)).iter().map(|left| left.0).collect();
    assert_eq!(order, [0, 3, 2, 1]);
}

/// The share of marked frames where a frame finds a queue of so many bytes.
fn marked_at(waiting_frames: u32, at: MarkingPoint) -> f64 {
    let marking = Marking { min_bytes: 10_000, max_bytes: 20_000, probability_max: 0.5, at };
    let config = SwitchConfig { marking: Some(marking), ..SwitchConfig::plain(1 << 30) };
    let mut marked = 0;
    for seed in 0..2_000 {
        let mut switch = Switch::new(config, &[GIGABIT], seed).expect("valid");
        let mut first = frame(0, 0, 1_000, 0);
        first.is_ecn_capable = false;
        assert!(switch.handle_frame(Nanos(0), first));
        for number in 1..=waiting_frames {
            let mut waiting = frame(0, 0, 1_000, number);
            // One frame is judged: the last to join, or the first to leave.
            let judged = if at == MarkingPoint::Enqueue { waiting_frames } else { 1 };
            waiting.is_ecn_capable = number == judged;
            assert!(switch.handle_frame(Nanos(0), waiting));
        }
        marked += drain(&mut switch, Nanos(u64::MAX)).iter().filter(|left| left.2).count();
    }
    marked as f64 / 2_000.0
}

#[test]
fn marks_begin_above_kmin_rise_to_pmax_and_are_sure_above_kmax() {
    for at in [MarkingPoint::Enqueue, MarkingPoint::Dequeue] {
        // What joins finds all but itself; what leaves counts itself.
        let more = u32::from(at == MarkingPoint::Enqueue);
        assert_eq!(marked_at(10 + more, at), 0.0, "{at:?}");
        let half_way = marked_at(15 + more, at);
        assert!((0.2..0.3).contains(&half_way), "{at:?}: {half_way}");
        let at_kmax = marked_at(20 + more, at);
        assert!((0.45..0.55).contains(&at_kmax), "{at:?}: {at_kmax}");
        assert_eq!(marked_at(21 + more, at), 1.0, "{at:?}");
    }
}

#[test]
fn what_cannot_take_a_mark_is_never_marked() {
    let marking =
        Marking { min_bytes: 0, max_bytes: 0, probability_max: 1.0, at: MarkingPoint::Dequeue };
    let config = SwitchConfig { marking: Some(marking), ..SwitchConfig::plain(1 << 20) };
    let mut switch = Switch::new(config, &[GIGABIT], 1).expect("valid");
    for number in 0..4 {
        let mut plain = frame(0, 0, 1_000, number);
        plain.is_ecn_capable = number % 2 == 1;
        assert!(switch.handle_frame(Nanos(0), plain));
    }
    let marks: Vec<bool> = drain(&mut switch, Nanos(u64::MAX)).iter().map(|left| left.2).collect();
    assert_eq!(marks, [false, true, false, true]);
    assert_eq!(switch.counts().marked, 2);
}

#[test]
fn a_paused_class_stands_still_and_the_others_go_on() {
    let mut switch = Switch::new(SwitchConfig::plain(1 << 20), &[GIGABIT], 1).expect("valid");
    switch.handle_pause(Nanos(0), 0, 3, Nanos(50_000));
    assert!(switch.handle_frame(Nanos(0), frame(0, 3, 125, 0)));
    assert!(switch.handle_frame(Nanos(0), frame(0, 0, 125, 1)));
    assert_eq!(drain(&mut switch, Nanos(49_999)), [(1, 1_000, false)]);
    assert_eq!(switch.poll_timeout(), Some(Nanos(50_000)));
    switch.handle_timeout(Nanos(50_000));
    assert_eq!(drain(&mut switch, Nanos(60_000)), [(0, 51_000, false)]);
    assert!(switch.handle_frame(Nanos(60_000), frame(0, 3, 125, 2)));
    switch.handle_pause(Nanos(60_100), 0, 3, Nanos(90_000));
    assert_eq!(drain(&mut switch, Nanos(61_000)), [(2, 61_000, false)], "what leaves leaves whole");
}

#[test]
fn a_neighbour_is_stopped_above_xoff_reminded_and_released_at_xon() {
    let pfc = Pfc { xoff_bytes: 3_000, xon_bytes: 1_000 };
    let config = SwitchConfig { pfc: Some(pfc), ..SwitchConfig::plain(1 << 20) };
    let mut switch = Switch::new(config, &[GIGABIT, 1_000_000], 1).expect("valid");
    for number in 0..3 {
        assert!(switch.handle_frame(Nanos(0), frame(1, 2, 1_000, number)));
        assert_eq!(switch.poll_pause(Nanos(0)), None);
    }
    assert!(switch.handle_frame(Nanos(0), frame(1, 2, 1_000, 3)), "above XOFF");
    let pause = switch.poll_pause(Nanos(0)).expect("a pause");
    assert_eq!((pause.port, pause.class), (0, 2));
    assert_eq!(switch.poll_pause(Nanos(0)), None);
    let refresh_at = switch.poll_timeout().expect("a refresh");
    assert!(refresh_at < pause.span, "before the pause is over");
    assert_eq!(switch.poll_pause(refresh_at - Nanos(1)), None);
    assert_eq!(switch.poll_pause(refresh_at), Some(pause));
    // A frame of 1,000 bytes takes 8 ms of the slow port: after three of them 1,000 bytes are left.
    assert_eq!(drain(&mut switch, Nanos::from_millis(16)).len(), 2);
    let reminded = switch.poll_pause(Nanos::from_millis(16));
    assert_eq!(reminded, Some(pause), "2,000 bytes are above XON");
    assert_eq!(drain(&mut switch, Nanos::from_millis(24)).len(), 1);
    let release = PauseFrame { port: 0, class: 2, span: Nanos(0) };
    assert_eq!(switch.poll_pause(Nanos::from_millis(24)), Some(release));
    assert_eq!(switch.poll_pause(Nanos::from_millis(24)), None);
    assert_eq!(switch.counts().pauses, 3);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "is not drained")]
fn frame_behind_one_that_has_left_but_was_not_drained_is_a_fault_of_the_caller() {
    let mut switch = Switch::new(SwitchConfig::plain(1 << 20), &[GIGABIT], 1).expect("valid");
    assert!(switch.handle_frame(Nanos(0), frame(0, 0, 1_000, 0)));
    assert!(switch.handle_frame(Nanos(8_000), frame(0, 0, 1_000, 1)), "it leaves at this instant");
    switch.handle_frame(Nanos(8_001), frame(0, 0, 1_000, 2));
}

#[test]
fn settings_that_contradict_each_other_are_named() {
    let plain = SwitchConfig::plain(1_000);
    let marking = |min_bytes, max_bytes, probability_max| SwitchConfig {
        marking: Some(Marking { min_bytes, max_bytes, probability_max, at: MarkingPoint::Enqueue }),
        ..plain
    };
    let pfc =
        |xoff_bytes, xon_bytes| SwitchConfig { pfc: Some(Pfc { xoff_bytes, xon_bytes }), ..plain };
    let why = |config: SwitchConfig, ports: &[u64]| {
        Switch::<u32>::new(config, ports, 1).err().map(|error| error.to_string())
    };
    assert_eq!(why(marking(5, 5, 1.0), &[1]), None);
    assert_eq!(why(pfc(5, 5), &[1]), None);
    let cases = [
        (why(plain, &[GIGABIT, 0]), "port 1: its rate is 0 b/s"),
        (
            why(marking(6, 5, 1.0), &[1]),
            "marks from 6 bytes on, all above 5: Kmin must not exceed Kmax",
        ),
        (why(marking(5, 6, 1.1), &[1]), "probability 1.1 of a mark: must be 0 to 1"),
        (why(pfc(5, 6), &[1]), "XON of 6 bytes above XOFF of 5 bytes"),
    ];
    for (found, wanted) in cases {
        assert_eq!(found.as_deref(), Some(wanted));
    }
}
