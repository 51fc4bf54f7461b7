//! What only a socket can do: ports, buffers, drops, answers of the network, segmentation.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use samplewire_io::udp::route_mtu_bytes;
use samplewire_io::{Batch, Ecn, Link, LinkError, Outgoing, Udp, UdpOptions};

fn v4() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

#[test]
fn port_in_use_names_operation_and_address() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let options = UdpOptions::new();
        let first = Udp::bind(local.parse().unwrap(), &options).unwrap();
        let taken = first.local_addr();
        match Udp::bind(taken, &options) {
            Err(LinkError::System { operation: "bind", address, source }) => {
                assert_eq!(address, taken);
                assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse);
            }
            other => panic!("{other:?}"),
        }
        let text = Udp::bind(taken, &options).unwrap_err().to_string();
        assert!(text.starts_with(&format!("bind on {taken}: ")), "{text}");
    }
}

#[test]
fn address_of_nobody_s_names_operation_and_address() {
    let local = "203.0.113.9:7".parse().unwrap();
    let error = Udp::bind(local, &UdpOptions::new()).unwrap_err();
    assert!(error.to_string().starts_with("bind on 203.0.113.9:7: "), "{error}");
}

#[test]
fn silence_of_a_closed_port_is_counted_and_no_error() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let closed = UdpSocket::bind(local).unwrap().local_addr().unwrap();
        for receives in [false, true] {
            let mut link = Udp::client(closed, &UdpOptions::new()).unwrap();
            let mut batch = Batch::new(4, 1_500);
            for _ in 0..2 {
                let packet = Outgoing::whole(closed, Ecn::NotEct, b"x");
                assert_eq!(link.send(&[packet]).unwrap(), 1);
                link.wait(Duration::from_millis(100)).unwrap();
                if receives {
                    link.recv(&mut batch).unwrap();
                    assert!(batch.is_empty());
                }
            }
            assert_eq!(link.unreachable_hint(), if receives { 2 } else { 1 });
        }
    }
}

#[test]
fn drops_at_the_socket_are_counted_in_what_follows() {
    let small = UdpOptions::new().receive_buffer_bytes(64 << 10).joining(false);
    let mut far = Udp::bind(v4(), &small).unwrap();
    let peer = far.local_addr();
    let mut near = Udp::client(peer, &UdpOptions::new().segmentation(false)).unwrap();
    let bytes = [0; 8_000];
    let mut send = || near.send(&[Outgoing::whole(peer, Ecn::Ect0, &bytes); 50]).unwrap();
    assert_eq!(send(), 50);
    let mut batch = Batch::new(64, 9_000);
    far.recv(&mut batch).unwrap();
    let queued = batch.len() as u32;
    assert!(queued < 50);
    assert_eq!(send(), 50);
    far.recv(&mut batch).unwrap();
    assert_eq!(batch.get(0).unwrap().1.dropped, Some(50 - queued));
}

#[test]
fn packet_longer_than_the_batch_is_dropped_and_counted_unless_joined() {
    for joining in [false, true] {
        let mut far = Udp::bind(v4(), &UdpOptions::new().joining(joining)).unwrap();
        let peer = far.local_addr();
        let mut near = Udp::client(peer, &UdpOptions::new()).unwrap();
        let packets = [&[1; 1_501][..], &[2; 1_500]];
        let packets = packets.map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes));
        assert_eq!(near.send(&packets).unwrap(), 2);
        let mut batch = Batch::new(64, 1_500);
        let (mut count, mut dropped) = (0, None);
        let deadline = Instant::now() + Duration::from_secs(10);
        while dropped.is_none() && Instant::now() < deadline {
            far.wait(Duration::from_millis(100)).unwrap();
            far.recv(&mut batch).unwrap();
            count += batch.len();
            let last = batch.iter().last().filter(|(bytes, _)| bytes.len() == 1_500);
            dropped = last.and_then(|(_, meta)| meta.dropped);
        }
        let expected = if joining { (2, Some(0)) } else { (1, Some(1)) };
        assert_eq!((count, dropped), expected);
    }
}

#[test]
fn joined_packets_are_entered_one_by_one_in_few_receives() {
    let mut far = Udp::bind(v4(), &UdpOptions::new()).unwrap();
    let peer = far.local_addr();
    let mut near = Udp::client(peer, &UdpOptions::new()).unwrap();
    if !near.capabilities().segmentation {
        println!("skipped: this kernel does not know UDP_SEGMENT");
        return;
    }
    let bytes: Vec<_> = (0..64_u8).map(|number| [number; 500]).collect();
    let packets: Vec<_> =
        bytes.iter().map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes)).collect();
    assert_eq!(near.send(&packets).unwrap(), 64);
    // A batch for one packet takes one receive, which is all 64 of them.
    let mut batch = Batch::new(1, 500);
    far.recv(&mut batch).unwrap();
    assert!(batch.iter().map(|(bytes, _)| bytes).eq(bytes.iter().map(|bytes| &bytes[..])));
}

#[test]
fn buffers_are_what_was_granted() {
    let asked = UdpOptions::new().receive_buffer_bytes(100_000).send_buffer_bytes(120_000);
    let capabilities = Udp::bind(v4(), &asked).unwrap().capabilities();
    assert_eq!(capabilities.receive_buffer_bytes, 100_000);
    assert_eq!(capabilities.send_buffer_bytes, 120_000);
    assert_eq!(capabilities.kind, "udp");
}

#[test]
fn options_turn_segmentation_off() {
    let link = Udp::bind(v4(), &UdpOptions::new().segmentation(false)).unwrap();
    assert!(!link.capabilities().segmentation);
}

#[test]
fn mtu_is_that_of_the_interface_or_the_route() {
    let text = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
    let loopback = text.trim().parse::<usize>().unwrap().min(65_535);
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let far = Udp::bind(local.parse().unwrap(), &UdpOptions::new()).unwrap();
        let near = Udp::client(far.local_addr(), &UdpOptions::new()).unwrap();
        assert_eq!(far.capabilities().mtu_bytes, loopback);
        assert_eq!(near.capabilities().mtu_bytes, loopback);
        assert_eq!(route_mtu_bytes(far.local_addr()).unwrap(), loopback);
    }
    let any = Udp::bind("0.0.0.0:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    assert!(any.capabilities().mtu_bytes >= loopback);
}

#[test]
fn listener_on_all_ipv6_addresses_leaves_the_ipv4_port_free() {
    let v6 = Udp::bind("[::]:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    let port = v6.local_addr().port();
    Udp::bind(SocketAddr::from(([0, 0, 0, 0], port)), &UdpOptions::new()).unwrap();
}
