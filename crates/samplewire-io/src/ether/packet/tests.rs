//! Over the loopback interface and pairs of veth.

use std::process::Command;
use std::time::Instant;

use samplewire_testing::{PATIENCE, in_namespace, skip};

use super::*;

/// A link on the loopback interface at a free port, and a socket that sends to it.
fn open() -> Option<(PacketSocket, UdpSocket, u16)> {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    match PacketSocket::open("lo", Ipv4Addr::LOCALHOST, port) {
        Ok(link) => {
            let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
            Some((link, sender, port))
        }
        Err(error) => {
            skip(format_args!("{error} (needs CAP_NET_RAW)"));
            None
        }
    }
}

fn next(link: &mut PacketSocket, into: &mut [u8]) -> usize {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(len) = link.recv(into).unwrap() {
            return len;
        }
        assert!(Instant::now() < until, "no frame came\n{}", counts());
    }
}

/// What the interfaces have counted.
fn counts() -> String {
    let shown = Command::new("ip").args(["-o", "-s", "link"]).output().unwrap();
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

#[test]
fn datagrams_to_the_port_come_in_whole_and_no_others() {
    let Some((mut link, sender, port)) = open() else { return };
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(b"other port", other.local_addr().unwrap()).unwrap();
    sender.send_to(b"other address", ("127.0.0.2", port)).unwrap();
    sender.send_to(b"this one", ("127.0.0.1", port)).unwrap();
    let mut into = [0; FRAME_BYTES_MAX + 1];
    let len = next(&mut link, &mut into);
    assert_eq!(into[len - 8..len], *b"this one");
    assert_eq!(len, ETHERNET_HEADER_BYTES + 20 + 8 + 8);
    // The loopback brings back what leaves: once, not as outgoing too.
    assert!(link.send(&into[..len]).unwrap() && link.flush().unwrap());
    assert_eq!(next(&mut link, &mut into), len);
    assert_eq!(link.recv(&mut into).unwrap(), None);
    assert_eq!((link.dropped().unwrap(), link.mac()), (Some(0), [0; 6]));
}

/// The kernel passes them on as one, and nothing cuts them on the loopback.
#[test]
fn frames_that_leave_together_come_one_by_one() {
    let Some((mut link, sender, port)) = open() else { return };
    sender.send_to(&[7; 100], ("127.0.0.1", port)).unwrap();
    let mut into = [0; FRAME_BYTES_MAX];
    let len = next(&mut link, &mut into);
    let identification = |number: u16| number.to_be_bytes();
    let mut frames = vec![];
    for number in 0..5 {
        let mut frame = into[..len].to_vec();
        frame[18..20].copy_from_slice(&identification(number));
        frame[24..26].fill(0);
        let sum = frame[14..34]
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum::<u32>();
        let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame[42..].fill(number as u8);
        assert!(link.send(&frame).unwrap());
        frames.push(frame);
    }
    assert_eq!(link.recv(&mut into).unwrap(), None, "they have not left");
    assert!(link.flush().unwrap());
    for frame in frames {
        let len = next(&mut link, &mut into);
        assert_eq!(into[..len], frame);
    }
    assert_eq!((link.recv(&mut into).unwrap(), link.advice()), (None, None));
}

#[test]
fn kernel_does_not_answer_that_the_port_is_closed() {
    let Some((_link, sender, port)) = open() else { return };
    sender.connect(("127.0.0.1", port)).unwrap();
    for _ in 0..3 {
        // An answer to one datagram fails the next.
        sender.send(b"to no program").expect("no answer came");
    }
}

#[test]
fn interface_that_goes_down_may_come_up_and_one_that_is_removed_is_an_error() {
    let name = format!("swt{}", std::process::id());
    let ip = |words: &str| {
        let words = words.replace("NAME", &name);
        Command::new("ip").args(words.split(' ')).status().is_ok_and(|it| it.success())
    };
    if !ip("link add NAME type dummy") {
        return skip("no interface can be made (needs iproute2 and CAP_NET_ADMIN)");
    }
    assert!(ip("address add 192.0.2.77/32 dev NAME") && ip("link set NAME up"));
    let mut link = PacketSocket::open(&name, Ipv4Addr::new(192, 0, 2, 77), 0).unwrap();
    let mut into = [0; FRAME_BYTES_MAX];
    assert!(ip("link set NAME down"));
    (0..3).for_each(|_| assert_eq!(link.recv(&mut into).unwrap(), None));
    assert!(ip("link delete NAME"));
    let error = link.recv(&mut into).expect_err("it is gone").to_string();
    assert!(error.starts_with(&format!("{name}: ifindex: ")), "{error}");
}

#[test]
fn interface_address_and_port_that_do_not_suit_are_named() {
    let open = |name: &str, ip, port| {
        PacketSocket::open(name, ip, port).expect_err("it does not suit").to_string()
    };
    let local = Ipv4Addr::LOCALHOST;
    for name in ["", "../lo", "a/b", ".."] {
        assert!(open(name, local, 1).contains("no interface has this name"), "{name}");
    }
    assert!(open("no-such-one", local, 1).starts_with("no-such-one: address: "));
    assert!(open("lo", Ipv4Addr::new(192, 0, 2, 1), 0).starts_with("lo: bind: "));
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    assert!(open("lo", local, port).contains("in use"));
}

/// Whether the test has two interfaces that are connected.
fn has_pair(test: &str) -> bool {
    in_namespace(&format!("ether::packet::tests::{test}"), PAIR)
}

/// No frame of IPv6 is sent: all that an interface counts is the test's.
const PAIR: &str = "ip link add sw-a type veth peer name sw-b && \
                    (test ! -e /proc/sys/net/ipv6 || ip link set sw-a addrgenmode none && \
                    ip link set sw-b addrgenmode none) && \
                    ip link set sw-a up && ip link set sw-b up";

const TYPE: u16 = 0x88B5;

/// A frame to a station that no one is, of `len` bytes that depend on `number`.
fn frame(ether_type: u16, number: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![number; len];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8]);
    frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
    frame
}

fn pair(receive: FrameReceive) -> (PacketSocket, PacketSocket) {
    let near = PacketSocket::open_ether_type("sw-a", TYPE, FrameReceive::Calls).unwrap();
    (near, PacketSocket::open_ether_type("sw-b", TYPE, receive).unwrap())
}

#[test]
fn frames_of_the_ether_type_come_in_order_and_no_others() {
    if !has_pair("frames_of_the_ether_type_come_in_order_and_no_others") {
        return;
    }
    for receive in [FrameReceive::Calls, FrameReceive::Ring] {
        let (mut near, mut far) = pair(receive);
        let mut into = vec![0; FRAME_BYTES_MAX + 1];
        // More than one call, and than one block of the ring.
        for round in 0..20 {
            for number in 0..100 {
                let len = 60 + usize::from(number) * 14;
                assert!(near.send(&frame(0x88B6, number, 60)).unwrap());
                assert!(near.send(&frame(TYPE, number, len)).unwrap());
            }
            assert!(near.flush().unwrap());
            for number in 0..100 {
                let len = next(&mut far, &mut into);
                let expected = frame(TYPE, number, 60 + usize::from(number) * 14);
                assert!(into[..len] == expected, "{receive:?}, round {round}, frame {number}");
            }
        }
        assert_eq!(far.recv(&mut into).unwrap(), None);
        // What this end sends does not come back.
        assert!(far.send(&frame(TYPE, 1, 60)).unwrap() && far.flush().unwrap());
        assert_eq!(next(&mut near, &mut into), 60);
        assert_eq!(far.recv(&mut into).unwrap(), None);
        assert_eq!((near.dropped().unwrap(), far.dropped().unwrap()), (Some(0), Some(0)));
        assert!(far.memory_bytes() > 1 << 20 && near.mac() != far.mac());
    }
}

#[test]
fn long_frames_are_cut_and_those_beyond_the_mtu_do_not_hold_up_others() {
    if !has_pair("long_frames_are_cut_and_those_beyond_the_mtu_do_not_hold_up_others") {
        return;
    }
    for receive in [FrameReceive::Calls, FrameReceive::Ring] {
        let (mut near, mut far) = pair(receive);
        for len in [1_514, 1_600, FRAME_BYTES_MAX + 1, 60] {
            assert!(near.send(&frame(TYPE, 7, len)).unwrap());
        }
        assert!(near.flush().unwrap());
        assert_eq!(near.refused(), 2);
        let mut into = [0; 100];
        assert_eq!(next(&mut far, &mut into), 100, "{receive:?}");
        assert_eq!(into, frame(TYPE, 7, 1_514)[..100]);
        assert_eq!(next(&mut far, &mut into), 60);
    }
}

#[test]
fn flood_fills_the_ring_and_is_counted() {
    if !has_pair("flood_fills_the_ring_and_is_counted") {
        return;
    }
    let (mut near, mut far) = pair(FrameReceive::Ring);
    let mut sent = 0;
    while far.dropped().unwrap() == Some(0) {
        for _ in 0..1_000 {
            sent += u64::from(near.send(&frame(TYPE, 7, 1_514)).unwrap());
        }
        assert!(near.flush().unwrap());
        assert!(sent < 100_000, "32 MiB hold 21,000");
    }
    // The rest comes, and then new ones.
    let mut into = [0; FRAME_BYTES_MAX];
    let mut received = 0;
    while far.recv(&mut into).unwrap().is_some() {
        received += 1;
    }
    // A block that its time ends is not full.
    assert!(received > 2_000, "{received}");
    let lost = far.dropped().unwrap().unwrap();
    // Before the ring, the queue of the CPU may have been full.
    let not_taken = read("sw-a", "statistics/tx_dropped", |text| text.parse::<u64>().ok()).unwrap();
    assert_eq!(received + lost + not_taken, sent, "{}", counts());
    assert!(near.send(&frame(TYPE, 8, 60)).unwrap() && near.flush().unwrap());
    assert_eq!(next(&mut far, &mut into), 60);
    assert_eq!(into[59], 8);
}

#[test]
fn ring_reports_an_interface_that_is_removed() {
    if !has_pair("ring_reports_an_interface_that_is_removed") {
        return;
    }
    let (_near, mut far) = pair(FrameReceive::Ring);
    let mut into = [0; FRAME_BYTES_MAX];
    assert_eq!(far.recv(&mut into).unwrap(), None);
    assert!(Command::new("ip").args(["link", "delete", "sw-a"]).status().unwrap().success());
    let until = Instant::now() + PATIENCE;
    let error = loop {
        match far.recv(&mut into) {
            Ok(None) => assert!(Instant::now() < until, "it is gone"),
            Ok(Some(len)) => panic!("{len} bytes"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.starts_with("sw-b: ifindex: "), "{error}");
}

#[test]
fn interfaces_that_carry_no_frames_are_named() {
    let open = |name: &str| {
        let opened = PacketSocket::open_ether_type(name, TYPE, FrameReceive::Calls);
        opened.expect_err("it does not suit").to_string()
    };
    assert!(open("no-such-one").starts_with("no-such-one: type: "));
    assert!(open("../lo").contains("no interface has this name"));
    let name = format!("swt{}", std::process::id());
    let ip = |words: &str| {
        let words = words.replace("NAME", &name);
        Command::new("ip").args(words.split(' ')).status().is_ok_and(|it| it.success())
    };
    if !ip("tuntap add NAME mode tun") {
        return skip("no interface can be made (needs iproute2 and CAP_NET_ADMIN)");
    }
    let error = open(&name);
    assert!(ip("link delete NAME"));
    assert!(error.ends_with("carries no Ethernet frames"), "{error}");
}
