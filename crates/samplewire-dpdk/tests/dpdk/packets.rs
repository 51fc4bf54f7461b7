//! Packets between a link over DPDK and the kernel of the far host.

use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use samplewire_dpdk::DpdkLink;
use samplewire_io::{Batch, Ecn, Link, Outgoing, Udp, UdpOptions};
use samplewire_testing::{PATIENCE, in_namespace, skip};

use crate::shared::{DEVICE, FAR_ADDRESS, FAR_HOST, Far, NETWORK, left, link};

#[test]
fn linux_pings_the_address_and_finds_it_by_arp() {
    let name = "packets::linux_pings_the_address_and_finds_it_by_arp";
    if !in_namespace(name, FAR_HOST) {
        return;
    }
    let mut near = link(DEVICE, NETWORK, |options| options);
    let log = near.log();
    // The last one is longer than the one that ping sends by default.
    for (count, size) in [("3", "56"), ("2", "0"), ("2", "1400")] {
        let words = ["netns", "exec", "far", "ping", "-c", count, "-i", "0.2", "-s", size];
        let ping = Command::new("ip")
            .args(words)
            .args(["-W", "10", "10.9.0.1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut ping = ping.unwrap();
        let (mut batch, start) = (Batch::new(64, 1_500), Instant::now());
        while ping.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE);
            near.wait(Duration::from_millis(1)).unwrap();
            near.recv(&mut batch).unwrap();
            assert!(batch.is_empty(), "an echo request is no packet of the port");
        }
        let ran = ping.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&ran.stdout);
        if String::from_utf8_lossy(&ran.stderr).contains("No such file") {
            return skip("there is no ping");
        }
        assert!(
            words.contains(&format!("{count} packets transmitted, {count} received")),
            "{words}"
        );
    }
    let shown = Command::new("ip").args(["-n", "far", "neigh", "show", "10.9.0.1"]).output();
    let neighbour = String::from_utf8(shown.unwrap().stdout).unwrap();
    let mac = std::fs::read_to_string("/sys/class/net/near0/address").unwrap();
    assert!(neighbour.contains(mac.trim()), "{neighbour}");
    let counts = log.counts();
    // The echo requests, and one of ARP.
    assert!(counts.answered > 3 + 2 + 2, "{counts:?}");
    assert_eq!((counts.checksums, counts.malformed, counts.unanswered), (0, 0, 0));
}

#[test]
fn hundred_thousand_packets_pass_between_dpdk_and_a_socket() {
    let name = "packets::hundred_thousand_packets_pass_between_dpdk_and_a_socket";
    if !in_namespace(name, FAR_HOST) {
        return;
    }
    // The far host answers each packet, by one call for each.
    let far = Far::start(|address| {
        let socket = UdpSocket::bind(FAR_ADDRESS).unwrap();
        address.send(socket.local_addr().unwrap()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut bytes = [0; 2_000];
        let mut answered = 0;
        while answered < PACKETS {
            let (len, peer) = socket.recv_from(&mut bytes).unwrap();
            assert_eq!(socket.send_to(&bytes[..len], peer).unwrap(), len);
            answered += u64::from(len > NUMBER_BYTES);
        }
    });
    exchange(far.address);
    far.join();
}

#[test]
fn hundred_thousand_packets_pass_between_dpdk_and_our_link() {
    let name = "packets::hundred_thousand_packets_pass_between_dpdk_and_our_link";
    if !in_namespace(name, FAR_HOST) {
        return;
    }
    let far = Far::start(|address| {
        let mut link = Udp::bind(FAR_ADDRESS.parse().unwrap(), &UdpOptions::new()).unwrap();
        address.send(link.local_addr()).unwrap();
        let (mut batch, mut answered) = (Batch::new(64, 2_000), 0);
        while answered < PACKETS {
            link.wait(Duration::from_millis(100)).unwrap();
            link.recv(&mut batch).unwrap();
            let answers: Vec<_> = batch
                .iter()
                .map(|(bytes, meta)| Outgoing::whole(meta.peer, meta.ecn, bytes))
                .collect();
            let mut sent = 0;
            while sent < answers.len() {
                sent += link.send(&answers[sent..]).unwrap();
            }
            answered += batch.iter().filter(|(bytes, _)| bytes.len() > NUMBER_BYTES).count() as u64;
        }
    });
    exchange(far.address);
    far.join();
}

/// Sends numbered packets, few of them at a time under way, and counts their answers.
fn exchange(peer: SocketAddr) {
    let mut near = link(DEVICE, NETWORK, |options| options);
    greet(&mut near, peer);
    let mut batch = Batch::new(64, 2_000);
    let (mut sent, mut received) = (0, 0);
    let mut start = Instant::now();
    while received < PACKETS {
        let due = (PACKETS - sent).min(UNDER_WAY - (sent - received));
        let packets: Vec<_> = (sent..sent + due).map(packet).collect();
        let packets: Vec<_> =
            packets.iter().map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes)).collect();
        sent += near.send(&packets).unwrap() as u64;
        near.recv(&mut batch).unwrap();
        if batch.is_empty() {
            near.wait(Duration::from_millis(1)).unwrap();
            assert!(start.elapsed() < PATIENCE, "{received} of {sent}");
            continue;
        }
        start = Instant::now();
        for (bytes, meta) in &batch {
            let is_next = bytes == packet(received) && meta.peer == peer;
            assert!(
                is_next,
                "{:?} from {} in place of {received}",
                bytes.first_chunk::<8>(),
                meta.peer
            );
            received += 1;
        }
    }
    assert_eq!((sent, received), (PACKETS, PACKETS));
    let counts = near.log().counts();
    assert_eq!((counts.checksums, counts.malformed, counts.fragments), (0, 0, 0), "{counts:?}");
}

/// Short packets until the peer is known. It answers each that left, and none of the answers is left.
fn greet(near: &mut DpdkLink, peer: SocketAddr) {
    let (mut batch, start) = (Batch::new(64, 2_000), Instant::now());
    let (mut sent, mut received) = (0, 0);
    while received == 0 || received < left(near, sent) {
        assert!(start.elapsed() < PATIENCE, "{peer} answers {received} of {sent}");
        if received == 0 {
            sent += near.send(&[Outgoing::whole(peer, Ecn::NotEct, b"hello")]).unwrap() as u64;
        }
        near.wait(Duration::from_millis(1)).unwrap();
        near.recv(&mut batch).unwrap();
        received += batch.len() as u64;
    }
}

/// A packet that its number describes.
fn packet(number: u64) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(NUMBER_BYTES + 1 + (number % 1_464) as usize, number as u8);
    bytes
}

const PACKETS: u64 = 100_000;

/// A ring of 512 frames and the far socket have room for so many.
const UNDER_WAY: u64 = 32;

const NUMBER_BYTES: usize = 8;
