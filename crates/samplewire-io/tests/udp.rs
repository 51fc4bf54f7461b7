//! What only a socket can do: ports, buffers, drops, answers of the network, segmentation.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use samplewire_io::udp::route_mtu_bytes;
use samplewire_io::{Batch, Ecn, Favoured, Link, LinkError, Outgoing, Udp, UdpOptions, Word};
use samplewire_testing::skip;

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
fn foreign_address_names_operation_and_address() {
    let local = "203.0.113.9:7".parse().unwrap();
    let error = Udp::bind(local, &UdpOptions::new()).unwrap_err();
    assert!(error.to_string().starts_with("bind on 203.0.113.9:7: "), "{error}");
}

#[test]
fn named_interface_needs_no_rights_and_must_exist() {
    let options = UdpOptions::new().interface("lo");
    let mut far = Udp::bind(v4(), &options).unwrap();
    let mut near = Udp::client(far.local_addr(), &options).unwrap();
    for link in [&far, &near] {
        assert_eq!(link.capabilities().interface.as_deref(), Some("lo"));
        assert_eq!(link.capabilities().mtu_bytes, 65_535);
    }
    near.send(&[Outgoing::whole(far.local_addr(), Ecn::NotEct, b"x")]).unwrap();
    far.wait(Duration::from_secs(5)).unwrap();
    let mut batch = Batch::new(4, 1_500);
    far.recv(&mut batch).unwrap();
    assert_eq!(batch.len(), 1);
    for name in ["", "sw-none0", "lo-and-more-letters-than-a-name-has"] {
        let options = UdpOptions::new().interface(name);
        for error in [Udp::bind(v4(), &options), Udp::client(far.local_addr(), &options)] {
            let text = error.unwrap_err().to_string();
            assert!(text.starts_with(&format!("interface {name}: No such device")), "{text}");
        }
    }
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
    let (mut batch, mut queued) = (Batch::new(64, 9_000), 0);
    while {
        far.recv(&mut batch).unwrap();
        !batch.is_empty()
    } {
        queued += batch.len() as u32;
    }
    assert!(0 < queued && queued < 50, "{queued}");
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
        return skip("this kernel does not know UDP_SEGMENT");
    }
    let bytes: Vec<_> = (0..64_u8).map(|number| [number; 500]).collect();
    let packets: Vec<_> =
        bytes.iter().map(|bytes| Outgoing::whole(peer, Ecn::Ect0, bytes)).collect();
    // A batch for one packet takes one receive. Nothing is joined before many have come.
    let mut batch = Batch::new(1, 500);
    assert_eq!(near.send(&packets).unwrap(), 64);
    for expected in &bytes {
        far.recv(&mut batch).unwrap();
        assert!(batch.iter().map(|(bytes, _)| bytes).eq([&expected[..]]));
    }
    assert_eq!(near.send(&packets).unwrap(), 64);
    far.recv(&mut batch).unwrap();
    assert!(batch.iter().map(|(bytes, _)| bytes).eq(bytes.iter().map(|bytes| &bytes[..])));
    assert!(batch.iter().all(|(_, meta)| meta.packets_per_drop == 64));
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
fn window_for_which_room_was_made_is_not_dropped() {
    for (packets, packet_bytes) in [(4_096, 1_434), (2_048, 8_000)] {
        for joining in [false, true] {
            let options = UdpOptions::new().joining(joining);
            let mut far = Udp::bind(v4(), &options).unwrap();
            far.make_room(packets, packet_bytes);
            let granted = far.capabilities().receive_buffer_bytes;
            if granted < packets as usize * packet_bytes {
                return skip(format_args!("the system grants {granted} bytes and no more"));
            }
            let peer = far.local_addr();
            // Segments of one message may share memory, and then cost less.
            let mut near = Udp::client(peer, &UdpOptions::new().segmentation(false)).unwrap();
            let bytes = vec![7; packet_bytes];
            for _ in 0..packets {
                assert_eq!(near.send(&[Outgoing::whole(peer, Ecn::Ect0, &bytes)]).unwrap(), 1);
            }
            let mut batch = Batch::new(64, packet_bytes);
            let mut received = 0;
            while received < packets as usize {
                far.recv(&mut batch).unwrap();
                assert!(!batch.is_empty(), "{received} of {packets} were kept");
                received += batch.len();
            }
        }
    }
}

#[test]
fn chosen_buffer_does_not_grow() {
    let chosen = UdpOptions::new().receive_buffer_bytes(100_000);
    let mut link = Udp::bind(v4(), &chosen).unwrap();
    link.make_room(4_096, 1_434);
    assert_eq!(link.capabilities().receive_buffer_bytes, 100_000);
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

/// Packets that begin with these bytes are favoured in the tests below.
const FAVOURED: Favoured<'static> = Favoured {
    alternatives: &[&[Word { offset_bytes: 0, values: &[u32::from_be_bytes(*b"ours")] }]],
};

/// A link that has received nothing for so long has nothing more.
const QUIET: Duration = Duration::from_millis(20);

/// Receives until so many wanted packets have come, and then until the link is quiet; gives all.
fn drain(link: &mut Udp, wanted: usize, is_wanted: fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let mut batch = Batch::new(64, 2_000);
    let (mut taken, mut came) = (Vec::new(), 0);
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut quiet_from = Instant::now();
    while Instant::now() < deadline && (came < wanted || quiet_from.elapsed() < QUIET) {
        link.wait(Duration::from_millis(5)).unwrap();
        link.recv(&mut batch).unwrap();
        came += batch.iter().filter(|(bytes, _)| is_wanted(bytes)).count();
        taken.extend(batch.iter().map(|(bytes, _)| bytes.to_vec()));
        if !batch.is_empty() {
            quiet_from = Instant::now();
        }
    }
    taken
}

fn is_ours(packet: &[u8]) -> bool {
    packet.starts_with(b"ours")
}

#[test]
fn flood_at_a_port_takes_no_room_from_favoured_packets() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let local: SocketAddr = local.parse().unwrap();
        let options = UdpOptions::new().receive_buffer_bytes(1 << 16);
        let mut port = Udp::bind(local, &options).unwrap();
        let peer = UdpSocket::bind(local).unwrap();
        let stranger = UdpSocket::bind(local).unwrap();
        for round in 0..2 {
            assert!(port.favour(Some(&FAVOURED)), "{local} {round}");
            for _ in 0..1_000 {
                stranger.send_to(&[7; 1_000], port.local_addr()).unwrap();
            }
            for _ in 0..20 {
                peer.send_to(b"ours, and the rest", port.local_addr()).unwrap();
            }
            let taken = drain(&mut port, 20, is_ours);
            let ours = taken.iter().filter(|packet| is_ours(packet)).count();
            assert_eq!(ours, 20, "{local} {round}");
            let strangers = taken.len() - ours;
            assert!((1..1_000).contains(&strangers), "{strangers} of the flood, {local} {round}");
            // Without favour all come through the one socket again.
            port.favour(None);
            peer.send_to(b"ours", port.local_addr()).unwrap();
            stranger.send_to(b"theirs", port.local_addr()).unwrap();
            assert_eq!(drain(&mut port, 2, |_| true).len(), 2, "{local} {round}");
        }
    }
}

#[test]
fn kernel_finds_each_of_a_thousand_favoured_values() {
    let options = UdpOptions::new().receive_buffer_bytes(1 << 16);
    let mut port = Udp::bind(v4(), &options).unwrap();
    let peer = UdpSocket::bind(v4()).unwrap();
    let values: Vec<u32> = (0..1_025).map(|number| number << 21 | 1).collect();
    let word = Word { offset_bytes: 2, values: &values };
    if !port.favour(Some(&Favoured { alternatives: &[&[word]] })) {
        return skip("net.core.optmem_max is too little, as before Linux 6.7");
    }
    for values in values.chunks(25) {
        for _ in 0..200 {
            peer.send_to(&[7; 1_000], port.local_addr()).unwrap();
        }
        for value in values {
            let [a, b, c, d] = value.to_be_bytes();
            peer.send_to(&[b'o', b'k', a, b, c, d], port.local_addr()).unwrap();
        }
        let is_ok = |packet: &[u8]| packet.starts_with(b"ok");
        let taken = drain(&mut port, values.len(), is_ok);
        assert_eq!(taken.iter().filter(|packet| is_ok(packet)).count(), values.len());
    }
}

#[test]
fn port_with_a_lane_is_still_in_use() {
    let mut port = Udp::bind(v4(), &UdpOptions::new()).unwrap();
    assert!(port.favour(Some(&FAVOURED)));
    assert!(Udp::bind(port.local_addr(), &UdpOptions::new()).is_err());
}

#[test]
fn favoured_packets_of_another_kind_follow_at_once() {
    let mut port = Udp::bind(v4(), &UdpOptions::new()).unwrap();
    let peer = UdpSocket::bind(v4()).unwrap();
    assert!(port.favour(Some(&FAVOURED)));
    let word = Word { offset_bytes: 4, values: &[u32::from_be_bytes(*b"next")] };
    assert!(port.favour(Some(&Favoured { alternatives: &[&[word]] })));
    peer.send_to(b"1234next", port.local_addr()).unwrap();
    peer.send_to(b"ours", port.local_addr()).unwrap();
    assert_eq!(drain(&mut port, 2, |_| true).len(), 2);
}

#[test]
fn filter_of_a_client_drops_the_others_and_says_nothing_of_drops() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let device = UdpSocket::bind(local).unwrap();
        let options = UdpOptions::new();
        let mut client = Udp::client(device.local_addr().unwrap(), &options).unwrap();
        let flood = |client: &Udp| {
            for _ in 0..10 {
                device.send_to(b"theirs", client.local_addr()).unwrap();
                device.send_to(b"ours", client.local_addr()).unwrap();
            }
        };
        flood(&client);
        assert_eq!(drain(&mut client, 20, |_| true).len(), 20);
        assert!(client.favour(Some(&FAVOURED)));
        flood(&client);
        let (mut batch, mut came) = (Batch::new(64, 2_000), 0);
        let until = Instant::now() + Duration::from_secs(10);
        while came < 10 && Instant::now() < until {
            client.wait(Duration::from_millis(100)).unwrap();
            client.recv(&mut batch).unwrap();
            came += batch.len();
            assert!(batch.iter().all(|(bytes, meta)| is_ours(bytes) && meta.dropped.is_none()));
        }
        assert_eq!(came, 10);
        assert!(client.favour(None));
        flood(&client);
        assert_eq!(drain(&mut client, 20, |_| true).len(), 20);
    }
}

#[test]
fn joined_packets_are_filtered_one_by_one() {
    let options = UdpOptions::new();
    let mut device = Udp::bind(v4(), &options).unwrap();
    let mut client = Udp::client(device.local_addr(), &options).unwrap();
    assert!(client.favour(Some(&FAVOURED)));
    let peer = client.local_addr();
    let packets: Vec<_> = [b"them", b"ours", b"them", b"ours"]
        .iter()
        .map(|bytes| Outgoing::whole(peer, Ecn::NotEct, *bytes))
        .collect();
    assert_eq!(device.send(&packets).unwrap(), 4);
    assert_eq!(drain(&mut client, 2, |_| true), [b"ours"; 2]);
}
