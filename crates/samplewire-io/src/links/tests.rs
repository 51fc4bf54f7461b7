//! Links in memory under one roof, each with a peer of its own.

use std::time::{Duration, Instant};

use super::*;
use crate::faults::{FaultSpec, Faults};
use crate::link::{Ecn, Word};
use crate::memory::{self, Memory};

const LONG: Duration = Duration::from_secs(20);

/// The tag of a stream.
const TAG: u32 = 0x0102_0304;

fn address(host: u8, port: u16) -> SocketAddr {
    ([127, 0, 9, host], port).into()
}

/// So many links, and the far end of each, whose rings hold so many packets.
fn joined(count: u8, capacity_packets: usize) -> (Links, Vec<Memory>) {
    let pairs = (0..count).map(|at| {
        memory::pair_between([address(at, 1), address(at, 2)], capacity_packets, 64, 1_500).unwrap()
    });
    let (near, far): (Vec<_>, Vec<_>) = pairs.unzip();
    let near = near.into_iter().map(|link| Box::new(link) as Box<dyn Link>).collect();
    (Links::new(near).unwrap(), far)
}

fn send(from: &mut dyn Link, peer: SocketAddr, bytes: &[u8]) {
    assert_eq!(from.send(&[Outgoing::whole(peer, Ecn::NotEct, bytes)]).unwrap(), 1);
}

/// What comes in one call.
fn received(link: &mut dyn Link) -> Vec<Vec<u8>> {
    let mut batch = Batch::new(4, 64);
    link.recv(&mut batch).unwrap();
    batch.iter().map(|(bytes, _)| bytes.to_vec()).collect()
}

/// Each link knows its peer.
fn introduced(count: u8) -> (Links, Vec<Memory>) {
    let (mut links, mut far) = joined(count, 64);
    for (at, far) in far.iter_mut().enumerate() {
        send(far, address(at as u8, 1), b"hello");
        assert_eq!(received(&mut links), [b"hello"]);
    }
    (links, far)
}

#[test]
fn links_take_turns_however_much_the_others_have() {
    let (mut links, mut far) = joined(3, 64);
    for number in 0..24 {
        send(&mut far[0], address(0, 1), &[0, number]);
    }
    send(&mut far[2], address(2, 1), &[2, 0]);
    let first_bytes = |packets: Vec<Vec<u8>>| (packets.len(), packets[0][0]);
    let calls: Vec<_> = (0..7).map(|_| first_bytes(received(&mut links))).collect();
    let first = [(4, 0); TURN_BATCHES as usize];
    assert_eq!(calls, [&first[..], &[(1, 2), (4, 0), (4, 0)]].concat());
    assert!(received(&mut links).is_empty());
    let mut batch = Batch::new(4, 64);
    batch.push(b"old", crate::Meta::NONE).unwrap();
    links.recv(&mut batch).unwrap();
    assert!(batch.is_empty());
}

#[test]
fn link_at_which_a_wait_found_nothing_is_passed_over_once() {
    let (mut links, mut far) = joined(2, 64);
    send(&mut far[0], address(0, 1), b"a");
    links.wait(LONG).unwrap();
    send(&mut far[1], address(1, 1), b"b");
    assert_eq!(received(&mut links), [b"a"]);
    assert!(received(&mut links).is_empty());
    // A thread that waits then is woken at once, and one that does not receives again.
    assert_eq!(received(&mut links), [b"b"]);
    let held = FaultSpec::new().delay(Duration::from_nanos(1));
    let (near, mut far) =
        memory::pair_between([address(2, 1), address(2, 2)], 8, 64, 1_500).unwrap();
    let near = Faults::new(near, &FaultSpec::new(), &held).unwrap();
    let mut links = Links::new(vec![Box::new(near)]).unwrap();
    send(&mut far, address(2, 1), b"held");
    let mut came = received(&mut links);
    while came.is_empty() {
        // What a link holds is not seen by a wait, and so it is not passed over.
        links.wait(Duration::ZERO).unwrap();
        came = received(&mut links);
    }
    assert_eq!(came, [b"held"]);
}

#[test]
fn packets_of_one_call_leave_each_by_the_link_of_its_peer() {
    let (mut links, mut far) = introduced(3);
    let to = |at: u8, bytes| Outgoing::whole(address(at, 2), Ecn::NotEct, bytes);
    let packets = [to(2, b"a"), to(0, b"b"), to(0, b"c"), to(1, b"d"), to(0, b"e"), to(2, b"f")];
    assert_eq!(links.send(&packets).unwrap(), 6);
    let came: Vec<_> = far.iter_mut().map(|far| received(far).concat()).collect();
    assert_eq!(came, [&b"bce"[..], b"d", b"af"]);
    assert_eq!(links.unreachable_hint(), 0);
}

#[test]
fn peer_of_which_nothing_has_come_is_sent_to_by_the_address_that_the_kernel_would_use() {
    // The kernel sends to 127.0.9.x from 127.0.0.1.
    let pair = |host: [u8; 4], far: u8| {
        memory::pair_between([(host, 1).into(), address(far, 2)], 8, 64, 1_500).unwrap()
    };
    let (other, _other_far) = pair([192, 0, 2, 1], 0);
    let (right, mut far) = pair([127, 0, 0, 1], 1);
    let mut links = Links::new(vec![Box::new(other), Box::new(right)]).unwrap();
    send(&mut links, address(1, 2), b"first");
    assert_eq!(received(&mut far), [b"first"]);
}

#[test]
fn peers_are_shared_out_among_links_of_one_address() {
    let bind = |_| -> Box<dyn Link> {
        Box::new(Xdp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap())
    };
    let mut links = Links::new((0..3).map(bind).collect()).unwrap();
    let mut far = Xdp::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::new()).unwrap();
    for port in 1..=9 {
        links.route(([127, 0, 0, 1], port).into());
    }
    assert_eq!(links.routes.peers_by_link()[..3], [3; 3]);
    // They go out by the link that was chosen, from its port.
    let at = links.route(far.local_addr());
    let (peer, local) = (far.local_addr(), links.members[at].local);
    send(&mut links, peer, b"x");
    let mut batch = Batch::new(4, 64);
    far.wait(LONG).unwrap();
    far.recv(&mut batch).unwrap();
    assert_eq!(batch.get(0).unwrap().1.peer, local);
}

#[test]
fn packet_by_any_link_ends_the_wait_and_so_does_the_waker() {
    let (mut links, mut far) = joined(3, 64);
    let start = Instant::now();
    for at in [2, 0, 1] {
        let mut far =
            far.swap_remove(far.iter().position(|it| it.local_addr() == address(at, 2)).unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| send(&mut far, address(at, 1), b"x"));
            let mut came = Vec::new();
            while came.is_empty() {
                links.wait(LONG).unwrap();
                came = received(&mut links);
            }
        });
        std::mem::forget(far);
    }
    let waker = links.waker();
    waker.wake();
    links.wait(LONG).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| waker.wake());
        links.wait(LONG).unwrap();
    });
    assert!(start.elapsed() < LONG / 2);
    let start = Instant::now();
    links.wait(Duration::from_millis(5)).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(5), "nothing is left of the wakes");
}

#[test]
fn packet_that_one_of_the_links_holds_back_ends_the_wait_when_it_is_due() {
    let (near, mut far) =
        memory::pair_between([address(0, 1), address(0, 2)], 8, 64, 1_500).unwrap();
    let (other, _other_far) =
        memory::pair_between([address(1, 1), address(1, 2)], 8, 64, 1_500).unwrap();
    let delay = FaultSpec::new().delay(Duration::from_millis(5));
    let held = Faults::new(near, &FaultSpec::new(), &delay).unwrap();
    let mut links = Links::new(vec![Box::new(other), Box::new(held)]).unwrap();
    send(&mut far, address(0, 1), b"late");
    let start = Instant::now();
    let mut came = Vec::new();
    while came.is_empty() {
        links.wait(LONG).unwrap();
        came = received(&mut links);
    }
    assert_eq!(came, [b"late"]);
    assert!(start.elapsed() < LONG / 2);
}

#[test]
fn packet_has_the_count_of_drops_of_its_own_link() {
    let (mut links, mut far) = joined(2, 3);
    let mut batch = Batch::new(8, 64);
    let mut count = |links: &mut Links| {
        links.recv(&mut batch).unwrap();
        batch.iter().last().and_then(|(_, meta)| meta.dropped)
    };
    for (at, packets) in [(0, 5), (1, 7)] {
        (0..packets).for_each(|_| send(&mut far[at], address(at as u8, 1), b"x"));
    }
    assert_eq!((count(&mut links), count(&mut links)), (Some(0), Some(0)));
    send(&mut far[0], address(0, 1), b"x");
    assert_eq!(count(&mut links), Some(2));
    send(&mut far[1], address(1, 1), b"x");
    assert_eq!(count(&mut links), Some(4));
    send(&mut far[0], address(0, 1), b"x");
    assert_eq!(count(&mut links), Some(2));
}

/// A link whose sends find no memory.
struct NoMemory(Memory);

impl Link for NoMemory {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        Err(system("send", packets[0].peer)(io::Error::from_raw_os_error(libc::ENOBUFS)))
    }
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.0.recv(batch)
    }
    fn waker(&self) -> Waker {
        self.0.waker()
    }
}

#[test]
fn full_link_has_no_room_for_its_peers_until_the_next_receive() {
    let pair = |at| memory::pair_between([address(at, 1), address(at, 2)], 64, 64, 1_500).unwrap();
    let [(full, mut far_full), (near, mut far)] = [pair(0), pair(1)];
    let mut links = Links::new(vec![Box::new(NoMemory(full)), Box::new(near)]).unwrap();
    for (at, far) in [(0, &mut far_full), (1, &mut far)] {
        send(far, address(at, 1), b"hello");
        assert_eq!(received(&mut links), [b"hello"]);
    }
    let to = |at: u8| Outgoing::whole(address(at, 2), Ecn::NotEct, b"x");
    assert_eq!(links.send(&[to(1), to(0), to(1)]).unwrap(), 1);
    let has_room = |links: &mut Links| [0, 1].map(|at| links.has_room_for(Some(address(at, 2))));
    assert_eq!((has_room(&mut links), links.has_room_for(None)), ([false, true], true));
    assert!(received(&mut links).is_empty());
    assert_eq!(has_room(&mut links), [true, true]);
}

#[test]
fn link_that_fails_refuses_its_peers_and_the_others_go_on() {
    for call in [Call::Send, Call::Receive] {
        let (mut links, mut far) = introduced(2);
        let word = Word { offset_bytes: 2, values: &[TAG] };
        links.steer(Some(&KnownTags { word, peers: &[address(0, 2)] }));
        send(&mut far[0], address(0, 1), &[&[0; 2][..], &TAG.to_be_bytes()].concat());
        assert_eq!(received(&mut links).len(), 1);
        drop(far.remove(0));
        let far = &mut far[0];
        if call == Call::Receive {
            let errors = (0..4).filter(|_| links.recv(&mut Batch::new(4, 64)).is_err()).count();
            assert_eq!(errors, 1, "it is reported once");
        }
        let to = |at: u8| Outgoing::whole(address(at, 2), Ecn::NotEct, b"x");
        for packets in [[to(0), to(1)], [to(1), to(0)]] {
            let before = packets[0].peer == address(1, 2);
            match links.send(&packets) {
                Ok(sent) => assert_eq!((sent, before), (1, true)),
                Err(error) => {
                    assert!(!before);
                    assert_eq!(Concern::of(Call::Send, &error), Concern::Destination);
                    let text = "the link to 127.0.9.0:2 has failed: the other end of the \
                                in-process link was dropped";
                    assert_eq!(error.to_string(), text);
                    send(&mut links, address(1, 2), b"x");
                }
            }
        }
        assert_eq!(received(far), [b"x"; 2]);
        send(far, address(1, 1), b"y");
        links.wait(LONG).unwrap();
        let came: Vec<_> = (0..2).flat_map(|_| received(&mut links)).collect();
        assert_eq!(came, [b"y"], "{call:?}");
        // No other peer is sent to by it, and this one no longer, once its stream is over.
        send(&mut links, address(7, 2), b"z");
        links.steer(None);
        send(&mut links, address(0, 2), b"z");
    }
}

#[test]
fn error_of_the_last_link_ends_the_whole() {
    let (mut links, far) = introduced(2);
    drop(far);
    let mut batch = Batch::new(4, 64);
    let first = links.recv(&mut batch).unwrap_err();
    assert!(!Concern::of(Call::Receive, &first).ends_endpoint(), "{first}");
    assert!(matches!(links.recv(&mut batch), Err(LinkError::Disconnected)));
    assert!(matches!(links.recv(&mut batch), Err(LinkError::Disconnected)));
    assert!(matches!(links.wait(LONG), Err(LinkError::Disconnected)));
    let packet = Outgoing::whole(address(0, 2), Ecn::NotEct, b"x");
    assert!(matches!(links.send(&[packet]), Err(LinkError::Disconnected)));
}

#[test]
fn packet_above_the_mtu_of_its_link_comes_back_when_it_is_offered_first() {
    let (mut links, mut far) = introduced(2);
    let long = [0; 65];
    let to = |at: u8, bytes| Outgoing::whole(address(at, 2), Ecn::NotEct, bytes);
    let packets = [to(0, b"a"), to(1, b"b"), to(1, &long[..]), to(0, b"c")];
    assert_eq!(links.send(&packets).unwrap(), 2);
    assert!(!links.is_full());
    let error = links.send(&packets[2..]).unwrap_err();
    assert!(matches!(error, LinkError::TooLong { len_bytes: 65, .. }), "{error}");
    assert_eq!(links.send(&packets[3..]).unwrap(), 1);
    assert_eq!(received(&mut far[0]), [b"a", b"c"]);
}

#[test]
fn capabilities_are_the_least_of_all() {
    let link = |at, mtu_bytes| -> Box<dyn Link> {
        let (near, far) =
            memory::pair_between([address(at, 1), address(at, 2)], 8, 64, mtu_bytes).unwrap();
        std::mem::forget(far);
        Box::new(near)
    };
    let of = |links| Links::new(links).unwrap().capabilities();
    let one = of(vec![link(0, 9_000), link(1, 1_500)]);
    assert_eq!((one.kind, one.mtu_bytes, one.segmentation), ("memory", 1_500, false));
    assert_eq!(one.bypass, None);
    let options = UdpOptions::new().bypass(crate::Bypass::Always);
    let udp = Xdp::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let other = of(vec![link(0, 9_000), Box::new(udp)]);
    assert_eq!((other.kind, other.mtu_bytes), ("several", 9_000));
    assert_eq!(other.bypass.unwrap().state(), crate::xdp::XdpState::Idle);
}
