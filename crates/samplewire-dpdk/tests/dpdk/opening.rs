//! The effects of an open link on its process, and options that are refused.

use std::time::{Duration, Instant};

use samplewire_dpdk::{DpdkError, DpdkLink};
use samplewire_io::{Batch, Ecn, Link, Outgoing, Sleep, thread};
use samplewire_testing::{PATIENCE, in_namespace, skip};

use crate::shared::{DEVICE, FAR_DEVICE, FAR_NETWORK, NETWORK, link, meet, near_and_far, options};

#[test]
fn thread_keeps_its_cpus_and_is_on_none_of_dpdk_s_own_choice() {
    let name = "opening::thread_keeps_its_cpus_and_is_on_none_of_dpdk_s_own_choice";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    let before = thread::affinity().unwrap();
    if before.len() < 2 {
        return skip("one CPU: DPDK has no choice");
    }
    // DPDK would keep the thread on the last CPU alone.
    let last = before.last().unwrap().to_string();
    let arguments = [&crate::shared::EAL[..], &["-l", &last]].concat();
    let near = DpdkLink::open(&options(DEVICE, NETWORK).eal(arguments)).unwrap();
    assert_eq!(thread::affinity().unwrap(), before);
    drop(near);
    assert_eq!(thread::affinity().unwrap(), before);
}

#[test]
fn dpdk_starts_once_and_a_device_has_one_link_at_a_time() {
    let name = "opening::dpdk_starts_once_and_a_device_has_one_link_at_a_time";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    let near = link(DEVICE, NETWORK, |options| options);
    let error = DpdkLink::open(&options(DEVICE, NETWORK)).unwrap_err();
    assert!(matches!(error, DpdkError::Attach { .. }), "{error:?}");
    let words = error.to_string();
    assert!(words.starts_with("the device net_af_packet0,iface=near0: "), "{words}");
    assert!(words.contains("busy"), "{words}");
    // Another device, with the arguments that DPDK runs with, or none.
    let far = link(FAR_DEVICE, FAR_NETWORK, |options| options.eal([""; 0]));
    drop(far);
    match DpdkLink::open(&options(DEVICE, NETWORK).eal(["--no-huge"])) {
        Err(DpdkError::Running(arguments)) => assert_eq!(arguments, crate::shared::EAL),
        other => panic!("{other:?}"),
    }
    drop(near);
    // Devices that were closed carry packets again.
    for _ in 0..3 {
        let mut near = link(DEVICE, NETWORK, |options| options);
        let mut far = link(FAR_DEVICE, FAR_NETWORK, |options| options);
        meet(&mut near, &mut far);
        assert!(near.memory_bytes() < 16 << 20, "{}", near.memory_bytes());
    }
}

#[test]
fn device_among_the_arguments_of_dpdk_is_found_by_its_name() {
    let name = "opening::device_among_the_arguments_of_dpdk_is_found_by_its_name";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    let vdev = format!("--vdev={DEVICE}");
    let arguments = [&crate::shared::EAL[..], &[&vdev]].concat();
    let device = DEVICE.split(',').next().unwrap();
    let mut near = DpdkLink::open(&options(device, NETWORK).eal(arguments)).unwrap();
    let mut far = link(FAR_DEVICE, FAR_NETWORK, |options| options.eal([""; 0]));
    meet(&mut near, &mut far);
}

#[test]
fn unknown_devices_and_options_are_named() {
    let name = "opening::unknown_devices_and_options_are_named";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    for device in ["net_af_packet0,iface=none0", "net_unknown0", "0000:7f:00.0", "net_af_packet0"] {
        let error = DpdkLink::open(&options(device, NETWORK)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the device {device}: ")), "{error}");
    }
    let too_long = options(DEVICE, NETWORK).mtu_bytes(9_000);
    let error = DpdkLink::open(&too_long).unwrap_err();
    assert!(matches!(error, DpdkError::Start { .. }), "{error:?}");
    let too_many = options(DEVICE, NETWORK).queues(4);
    assert!(matches!(DpdkLink::open(&too_many).unwrap_err(), DpdkError::Start { .. }));
    let error = DpdkLink::open(&options(DEVICE, NETWORK).eal(["--help"])).unwrap_err();
    assert_eq!(error.to_string(), "with the argument --help DPDK ends the process");
    // None of these keeps the device.
    link(DEVICE, NETWORK, |options| options);
}

#[test]
fn start_that_fails_is_an_error_and_is_not_tried_again() {
    let name = "opening::start_that_fails_is_an_error_and_is_not_tried_again";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    let before = thread::affinity().unwrap();
    let wrong = options(DEVICE, NETWORK).eal(["--no-huge", "--no-such-argument"]);
    for words in ["DPDK does not start: ", "DPDK does not start: it failed before"] {
        let error = DpdkLink::open(&wrong).unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
    assert_eq!(thread::affinity().unwrap(), before);
}

#[test]
fn device_that_takes_nothing_is_full_and_takes_later_packets_in_order() {
    let name = "opening::device_that_takes_nothing_is_full_and_takes_later_packets_in_order";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    let mut near = link(DEVICE, NETWORK, |options| options);
    let mut far = link(FAR_DEVICE, FAR_NETWORK, |options| options);
    meet(&mut near, &mut far);
    set_link("near0", "down");
    let (peer, mut next, start) = (far.local_addr(), 0_u64, Instant::now());
    let mut send = |near: &mut DpdkLink| {
        let numbers: Vec<_> = (next..next + 64).map(u64::to_be_bytes).collect();
        let packets: Vec<_> =
            numbers.iter().map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes)).collect();
        let sent = near.send(&packets).unwrap();
        next += sent as u64;
        (sent, next)
    };
    while send(&mut near).0 == 64 {
        assert!(start.elapsed() < PATIENCE, "it is never full");
    }
    assert!(near.is_full());
    near.wait(Duration::from_millis(1)).unwrap();
    set_link("near0", "up");
    // The kernel may lose those that it took while the interface was down; later ones arrive, in order.
    let (_, taken) = send(&mut near);
    let (mut batch, mut last) = (Batch::new(64, 1_500), None);
    while last.is_none_or(|last| last < taken) {
        assert!(start.elapsed() < PATIENCE, "{last:?} of {taken}");
        send(&mut near);
        far.wait(Duration::from_millis(1)).unwrap();
        far.recv(&mut batch).unwrap();
        for (bytes, _) in &batch {
            let number = u64::from_be_bytes(bytes.try_into().unwrap());
            assert!(last.is_none_or(|last| last < number), "{number} after {last:?}");
            last = Some(number);
        }
    }
}

#[test]
fn burst_goes_to_small_batches_in_parts_and_no_wait_sleeps_before_its_end() {
    let name = "opening::burst_goes_to_small_batches_in_parts_and_no_wait_sleeps_before_its_end";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    let mut near = link(DEVICE, NETWORK, |options| options);
    let mut far = link(FAR_DEVICE, FAR_NETWORK, |options| options);
    meet(&mut near, &mut far);
    let peer = far.local_addr();
    let numbers: Vec<_> = (0..20_u8).map(|number| [number]).collect();
    let packets: Vec<_> =
        numbers.iter().map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes)).collect();
    let mut sent = 0;
    while sent < packets.len() {
        sent += near.send(&packets[sent..]).unwrap();
    }
    let (mut batch, mut arrived, start) = (Batch::new(1, 1_500), Vec::new(), Instant::now());
    while arrived.len() < numbers.len() {
        assert!(start.elapsed() < PATIENCE, "{arrived:?}");
        far.recv(&mut batch).unwrap();
        let mut sleep = Sleep::new(PATIENCE);
        far.begin_wait(&mut sleep).unwrap();
        assert_eq!(sleep.timeout().is_zero(), !batch.is_empty(), "a full batch may leave some");
        arrived.extend(batch.iter().map(|(bytes, _)| [bytes[0]]));
    }
    assert_eq!(arrived, numbers);
}

fn set_link(interface: &str, state: &str) {
    let set = std::process::Command::new("ip").args(["link", "set", interface, state]).status();
    assert!(set.unwrap().success());
}
