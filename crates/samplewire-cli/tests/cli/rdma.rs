//! Streams over RDMA at the command: a device of this process whose frames go through a datagram socket.

use std::net::{Ipv4Addr, UdpSocket};

use samplewire::source::{CounterSource, ReadSamples, counter_mismatch};
use samplewire::{Device, DeviceOptions, StationConfig, Udp, UdpOptions};
use samplewire_io::ether::{Dgram, DgramAddress, EtherStation};
use samplewire_roce::PathMtu;
use samplewire_testing::{PATIENCE, in_namespace, wait_for};

use crate::bridge::Bridge;
use crate::bridging::{ANY, gather, subscriber};
use crate::bypass::INTERFACES;
use crate::harness::{Running, run};

/// The device is in a namespace of its own, and so is a command that queries a bridge which is one.
#[test]
fn bridge_takes_and_offers_streams_over_rdma() {
    if !in_namespace("rdma::bridge_takes_and_offers_streams_over_rdma", INTERFACES) {
        return;
    }
    // /sys shows the interfaces of one namespace.
    let far = ["timeout", "120", "ip", "netns", "exec", "far"];
    let counts = ["emulate", "--source", "counter", "--rate", "500k", "--once"];
    for carriage in ["rdma", "data"] {
        let listens = ["--listen", "10.9.0.2:0", "--carriage", carriage];
        let device = Running::start_by(&far, &[&counts[..], &listens].concat());
        let listening = || {
            device
                .line("samplewire ")
                .and_then(|it| Some(it.split_once("listening on ")?.1.to_owned()))
        };
        let address = wait_for("a device", PATIENCE, listening);
        let bridge = Bridge::start(&[address.as_str(), "--zmq-pub", ANY, "--carriage", "rdma"]);
        assert_eq!(bridge.head().contains(", over RDMA"), carriage == "rdma", "{}", bridge.head());
        let bytes = gather(&mut subscriber(&bridge), 400_000);
        let first = u32::from_le_bytes(*bytes.first_chunk().unwrap());
        assert_eq!(counter_mismatch(first.into(), &bytes), None);
        let ran = bridge.interrupt().expect(130);
        assert!(ran.text().contains("missing    0 samples in 0 gaps"), "{}", ran.text());
        let words = "--carriage rdma: the device sends packets of the stream protocol";
        assert_eq!(ran.stderr.contains(words), carriage == "data", "{}", ran.stderr);
        device.finish();

        let arguments = ["--listen", "10.9.0.1:0", "--zmq-pull", ANY, "--carriage", carriage];
        let bridge = Bridge::start(&arguments);
        let probe = ["probe", bridge.address(), "--carriage", "rdma", "--json"];
        let ran = Running::start_by(&far, &probe).finish().expect(0);
        let info: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(info["rdma"]["is_offered"], carriage == "rdma");
        bridge.interrupt().expect(0);
    }
}

#[test]
fn probe_shows_rdma_that_a_device_offers() {
    let device = device();
    let address = device.address.to_string();
    let ran = run(&["probe", &address, "--carriage", "rdma"]).expect(0);
    for words in [
        "8,128 bytes of payload, 2,032 samples",
        "over RDMA",
        "offered: path MTU 1,024 bytes (device 1,024, this host 4,096); 8 RDMA packets for each packet",
    ] {
        assert!(ran.text().contains(words), "no `{words}` in {}", ran.text());
    }
    let ran = run(&["probe", &address, "--carriage", "rdma", "--json"]).expect(0);
    let info: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(info["carriage"], "rdma");
    let rdma = &info["rdma"];
    assert_eq!((&rdma["is_offered"], &rdma["packets_a_write"]), (&true.into(), &8.into()));
    assert_eq!(
        (&rdma["path_mtu_bytes"], &rdma["device_path_mtu_bytes"]),
        (&4_096.into(), &1_024.into())
    );
    let ran = run(&["probe", &address, "--json"]).expect(0);
    let info: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&info["carriage"], &info["rdma"]), (&"data".into(), &serde_json::Value::Null));
}

#[test]
fn probe_shows_that_a_device_offers_no_rdma() {
    let source = CounterSource::new(1e6, 0).unwrap();
    let link = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    let options = DeviceOptions::new().sends(source.info().clone());
    let device = options.listen_over(Box::new(link)).unwrap();
    let address = device.address.to_string();
    let ran = run(&["probe", &address, "--carriage", "rdma"]).expect(0);
    assert!(ran.text().contains("RDMA       not offered"), "{}", ran.text());
    let ran = run(&["probe", &address, "--carriage", "rdma", "--json"]).expect(0);
    let info: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&info["carriage"], &info["rdma"]["is_offered"]), (&"data".into(), &false.into()));
    assert_eq!(info["rdma"]["device_path_mtu_bytes"], serde_json::Value::Null);
}

/// A device that counts, over RDMA with packets of 1,024 bytes.
fn device() -> Device {
    let source = CounterSource::new(1e6, 0).unwrap();
    let link = Udp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    let far = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let near = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cable: DgramAddress = format!("{near},{far}").parse().unwrap();
    let cable = Box::new(Dgram::open(&cable).unwrap());
    let station = StationConfig {
        ether: EtherStation::new(cable, Ipv4Addr::LOCALHOST, [2, 0, 0, 0, 0, 1]),
        path_mtu: PathMtu::Bytes1024,
        seed: [1; 16],
    };
    let options = DeviceOptions::new().sends(source.info().clone());
    options.listen_rdma(Box::new(link), station).unwrap()
}
