mod cnp;

use super::*;
use samplewire_switch::{Marking, MarkingPoint};

const GIGABIT: u64 = 1_000_000_000;
const LATER: Nanos = Nanos(u64::MAX);

/// An IPv4 frame of `len` bytes between stations, ECN-capable.
fn frame(from: u8, to: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, to, 0x02, 0, 0, 0, 0, from, 0x08, 0x00, 0x45, 0x02];
    frame.resize(len, 0);
    frame
}

fn switch(config: EtherSwitchConfig) -> EtherSwitch {
    EtherSwitch::new(config, &[GIGABIT; 3]).expect("valid")
}

fn plain(buffer_bytes: u64) -> EtherSwitchConfig {
    EtherSwitchConfig { buffer_bytes, marking: None, loss: 0.0, seed: 1, cnp: None }
}

/// The ports that what is in the switch leaves by.
fn drain(switch: &mut EtherSwitch) -> Vec<usize> {
    std::iter::from_fn(|| Some(switch.poll_transmit(LATER)?.port)).collect()
}

#[test]
fn unknown_stations_are_flooded_and_known_ones_are_not() {
    let mut switch = switch(plain(1 << 20));
    switch.handle_frame(Nanos(0), 0, &frame(1, 2, 100));
    assert_eq!(drain(&mut switch), [1, 2]);
    switch.handle_frame(Nanos(0), 2, &frame(2, 1, 100));
    assert_eq!(drain(&mut switch), [0]);
    switch.handle_frame(Nanos(0), 0, &frame(1, 2, 100));
    assert_eq!(drain(&mut switch), [2]);
    switch.handle_frame(Nanos(0), 1, &frame(1, 2, 100));
    assert_eq!(drain(&mut switch), [2], "station 1 has moved to port 1");
    switch.handle_frame(Nanos(0), 2, &frame(2, 1, 100));
    assert_eq!(drain(&mut switch), [1]);
    let mut group = frame(3, 0, 100);
    group[..6].fill(0xFF);
    switch.handle_frame(Nanos(0), 1, &group);
    assert_eq!(drain(&mut switch), [0, 2]);
    let [at_0, at_1, at_2] = switch.ports() else { panic!("three ports") };
    assert_eq!((at_0.frames_in, at_1.frames_in, at_2.frames_in), (2, 2, 2));
    assert_eq!((at_0.frames_out, at_1.frames_out, at_2.frames_out), (2, 2, 4));
    assert_eq!((at_1.bytes_in, at_1.bytes_forwarded), (2 * 124, 3 * 124));
}

#[test]
fn frames_for_no_other_port_are_filtered() {
    let mut switch = switch(plain(1 << 20));
    switch.handle_frame(Nanos(0), 0, &frame(2, 1, 100));
    drain(&mut switch);
    switch.handle_frame(Nanos(0), 0, &frame(1, 2, 100));
    assert_eq!(drain(&mut switch), [], "both are behind port 0");
    let mut pause = frame(1, 0, 60);
    pause[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);
    for bytes in [&pause[..], &[], &frame(1, 9, 13), &frame(1, 9, FRAME_BYTES_MAX + 1)] {
        switch.handle_frame(Nanos(0), 0, bytes);
        assert_eq!(drain(&mut switch), []);
    }
    assert_eq!(switch.ports()[0].filtered, 5);
    switch.handle_frame(Nanos(0), 0, &frame(1, 9, FRAME_BYTES_MAX));
    assert_eq!(drain(&mut switch), [1, 2]);
}

#[test]
fn long_queues_mark_what_can_be_marked() {
    let at = MarkingPoint::Enqueue;
    let marking = Marking { min_bytes: 1_000, max_bytes: 1_000, probability_max: 1.0, at };
    let mut switch = switch(EtherSwitchConfig { marking: Some(marking), ..plain(1 << 20) });
    switch.handle_frame(Nanos(0), 1, &frame(2, 1, 100));
    drain(&mut switch);
    for _ in 0..4 {
        switch.handle_frame(Nanos(0), 0, &frame(1, 2, 1_000));
    }
    let mut tos = vec![];
    while let Some(departure) = switch.poll_transmit(LATER) {
        assert_eq!(departure.bytes.len(), 1_000);
        tos.push(departure.bytes[15]);
    }
    // The first is leaving, the second finds none waiting, the third 1,024 bytes.
    assert_eq!(tos, [2, 2, 3, 3]);
    assert_eq!((switch.ports()[1].marked, switch.ports()[1].queue_bytes_max), (2, 3 * 1_024));
}

#[test]
fn full_buffer_drops_at_the_tail_and_takes_no_memory() {
    let mut switch = switch(plain(10_000));
    switch.handle_frame(Nanos(0), 1, &frame(2, 1, 100));
    drain(&mut switch);
    for _ in 0..100 {
        switch.handle_frame(Nanos(0), 0, &frame(1, 2, 1_000));
    }
    let memory_bytes = switch.frame_memory_bytes();
    assert_eq!(drain(&mut switch).len(), 9, "9 * 1,024 bytes fit");
    assert_eq!(switch.ports()[1].dropped, 91);
    for _ in 0..9 {
        switch.handle_frame(Nanos(0), 0, &frame(1, 2, 1_000));
    }
    assert_eq!(switch.frame_memory_bytes(), memory_bytes);
}

#[test]
fn losses_are_those_of_the_seed() {
    let lost = |seed| {
        let mut switch = switch(EtherSwitchConfig { loss: 0.25, seed, ..plain(1 << 30) });
        let mut lost = vec![];
        for _ in 0..1_000 {
            let before = switch.ports()[0].lost;
            switch.handle_frame(Nanos(0), 0, &frame(1, 2, 100));
            lost.push(switch.ports()[0].lost > before);
        }
        lost
    };
    assert_eq!(lost(1), lost(1));
    assert_ne!(lost(1), lost(2));
    let count = lost(1).iter().filter(|&&it| it).count();
    assert!((200..300).contains(&count), "{count} of 1,000");
}

#[test]
fn settings_that_contradict_each_other_are_named() {
    let why = |config, ports: &[u64]| EtherSwitch::new(config, ports).unwrap_err().to_string();
    assert!(why(plain(1), &[GIGABIT]).starts_with("a switch of 1 ports"));
    assert_eq!(why(plain(1), &[GIGABIT, 0]), "port 1: its rate is 0 b/s");
    let config = EtherSwitchConfig { loss: 1.5, ..plain(1) };
    assert_eq!(why(config, &[GIGABIT; 2]), "loss of 1.5: must be 0 to 1");
}
