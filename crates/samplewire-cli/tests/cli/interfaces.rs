//! `--interface`, on hosts with two interfaces in one network.

use std::process::Command;

use samplewire_testing::in_namespace;

use crate::bypass::{PACE, device_at, is_refused};
use crate::harness::run;

/// A namespace `far`, which two pairs of interfaces of one network lead to. Routes lead to the first.
const INTERFACES: &str = "mount -t tmpfs tmpfs /run && ip netns add far && \
     ip link add near0 type veth peer name far0 netns far && \
     ip link add near1 type veth peer name far1 netns far && \
     ip addr add 10.9.0.1/24 dev near0 && ip -n far addr add 10.9.0.2/24 dev far0 && \
     ip addr add 10.9.0.3/24 dev near1 && ip -n far addr add 10.9.0.4/24 dev far1 && \
     ip link set near0 up && ip -n far link set far0 up && \
     ip link set near1 up && ip -n far link set far1 up && ip link set lo up";

/// Packets that the two interfaces of this end, and of the far one, have sent and received.
fn packets() -> [[u64; 2]; 2] {
    [("near", &[][..]), ("far", &["-n", "far"])].map(|(end, namespace)| {
        ["0", "1"].map(|number| {
            let show = ["-s", "-j", "link", "show", &format!("{end}{number}")].map(str::to_owned);
            let shown = Command::new("ip").args(namespace).args(show).output().unwrap();
            let links: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
            let count = |way: &str| links[0]["stats64"][way]["packets"].as_u64().unwrap();
            count("tx") + count("rx")
        })
    })
}

#[test]
fn packets_come_and_leave_by_the_named_interface() {
    let name = "interfaces::packets_come_and_leave_by_the_named_interface";
    if !in_namespace(name, INTERFACES) {
        return;
    }
    for link in ["udp", "xdp", "xdp-generic"] {
        for (named, used) in [(None, 0), (Some("0"), 0), (Some("1"), 1)] {
            let options = |end: &str| {
                let interface =
                    named.map(|number| ["--interface".into(), format!("{end}{number}")]);
                let link = ["--link", link].map(str::to_owned);
                link.into_iter().chain(interface.into_iter().flatten()).collect::<Vec<_>>()
            };
            let (near, far) = (options("near"), options("far"));
            let [near, far] =
                [&near, &far].map(|it| it.iter().map(String::as_str).collect::<Vec<_>>());
            let device = device_at("10.9.0.4:0", &[&PACE, &far[..]].concat());
            let before = packets();
            let samples = SAMPLES.to_string();
            let record = ["record", &device.address, "null", "--nsamps", &samples];
            let ran = run(&[&record[..], &near].concat()).expect(0);
            device.finish().expect(0);
            if is_refused(&ran) {
                return;
            }
            for (before, after) in before.iter().zip(packets()) {
                let [by_used, by_other] = [used, 1 - used].map(|it| after[it] - before[it]);
                // The other one has ARP, and what IPv6 does alone. The kernel joins packets.
                assert!(by_used > 100 && by_other < 50, "{link} {named:?}: {by_used}, {by_other}");
            }
            let is_past = ran.text().contains(&format!("  link       near{used}, "));
            assert_eq!(is_past, link != "udp", "{named:?}: {}", ran.text());
        }
    }
}

#[test]
fn interface_that_does_not_exist_is_named_in_the_error() {
    let words = ["interface sw-none0: No such device", "tip: `ip link`"];
    let option = ["--interface", "sw-none0"];
    for verb in [&["record", "127.0.0.1", "null"][..], &["probe", "127.0.0.1"]] {
        run(&[verb, &option].concat()).expect_error(1, &words);
    }
    run(&[&["emulate", "--listen", "127.0.0.1:0"][..], &option].concat()).expect_error(1, &words);
}

/// Some thousand packets, of which the kernel makes some hundred.
const SAMPLES: usize = 3_000_000;
