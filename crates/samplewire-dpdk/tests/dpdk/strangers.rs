//! Frames that are none of the port's packets.

use std::time::{Duration, Instant};

use samplewire_io::datagram::Headers;
use samplewire_io::ether::{EtherLink, FrameReceive, PacketSocket};
use samplewire_io::{Batch, Ecn, FrameCounts, Link};
use samplewire_proto::checksum::InternetSum;
use samplewire_testing::{PATIENCE, in_namespace};

use crate::shared::{NETWORK, link, near_and_far};

#[test]
fn frames_of_strangers_are_dropped_and_counted() {
    let name = "strangers::frames_of_strangers_are_dropped_and_counted";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    // The driver of AF_PACKET has the kernel keep fragments until they are whole.
    let mut near =
        link("net_pcap0,iface=near0,phy_mac=1", NETWORK, |options| options.udp_port(5_000));
    let log = near.log();
    let mut far = PacketSocket::open_ether_type("far0", 0x0800, FrameReceive::Calls).unwrap();
    let mac = std::fs::read_to_string("/sys/class/net/near0/address").unwrap();
    let mac: Vec<u8> =
        mac.trim().split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();

    type Change = fn(&mut Vec<u8>);
    let changes: [(u64, Change); 8] = [
        // A wrong checksum of the IP header, of the payload, and of UDP.
        (1, |frame| frame[25] ^= 1),
        (2, |frame| frame[60] ^= 1),
        (3, |frame| frame[41] ^= 1),
        // The first fragment, and one behind it.
        (4, |frame| set(frame, 20, 0x20)),
        (5, |frame| set(frame, 21, 1)),
        // Another port, another protocol, another address.
        (6, |frame| frame[37] ^= 1),
        (7, |frame| set(frame, 23, 132)),
        (8, |frame| set(frame, 33, 9)),
    ];
    let mut sent = 0;
    for (number, change) in changes {
        for _ in 0..=number {
            let mut bytes = frame(&mac);
            change(&mut bytes);
            while !far.send(&bytes).unwrap() || !far.flush().unwrap() {}
            sent += 1;
        }
    }
    while !far.send(&frame(&mac)).unwrap() || !far.flush().unwrap() {}
    let (mut batch, mut arrived, start) = (Batch::new(64, 1_500), 0, Instant::now());
    // The good one comes last.
    while arrived == 0 && start.elapsed() < PATIENCE {
        near.wait(Duration::from_millis(1)).unwrap();
        near.recv(&mut batch).unwrap();
        assert!(batch.iter().all(|(bytes, _)| bytes == PAYLOAD));
        arrived += batch.len();
    }
    let counts = log.counts();
    assert_eq!((sent, arrived), (44, 1));
    // The kernel's own frames, such as those of IPv6, are others too.
    let expected = FrameCounts {
        checksums: 2 + 3 + 4,
        fragments: 5 + 6,
        other_ports: 7 + 8,
        others: counts.others,
        ..FrameCounts::default()
    };
    assert_eq!(counts, expected);
    assert!(counts.others >= 9, "{counts:?}");
}

/// Changes a byte of the IP header, whose checksum stays right.
fn set(frame: &mut [u8], at: usize, byte: u8) {
    frame[at] = byte;
    frame[24..26].fill(0);
    let mut sum = InternetSum::default();
    sum.add(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.complement().to_be_bytes());
}

/// A packet to the port.
fn frame(mac: &[u8]) -> Vec<u8> {
    let (from, to) = ("10.9.0.2:1".parse().unwrap(), "10.9.0.1:5000".parse().unwrap());
    let headers = Headers::new(from, to, Ecn::Ect0, &[PAYLOAD]);
    [mac, &[2, 0, 0, 0, 0, 9], &[0x08, 0x00], headers.as_bytes(), PAYLOAD].concat()
}

const PAYLOAD: &[u8] = &[0x5A; 100];
