//! The same over AF_XDP, between two network namespaces that a veth pair joins.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use samplewire_io::netlink::link::interface_named;
use samplewire_io::xdp::{XdpLog, XdpState};
use samplewire_io::{
    Batch, Bypass, Ecn, KnownTags, Link, Links, Outgoing, Udp, UdpOptions, Word, Xdp, thread,
};
use samplewire_testing::{in_namespace, skip, wait_until};

use crate::body::{self, Base, PATIENCE, V4};
use crate::veth::{
    FAR, FAR_V6, FAR_VLAN, FAR_VLAN_V6, NEAR, hello, in_far, interfaces, is_refused, open, pair,
    vlan,
};

#[test]
fn links_that_bypass_the_kernel_pass_too() {
    let name = "xdp::links_that_bypass_the_kernel_pass_too";
    if !in_namespace(name, &interfaces(9_000, 1)) || is_refused() {
        return;
    }
    all_pass(&[
        Base::new("xdp v4", 9_000, || pair(FAR, Bypass::Always)),
        Base::new("xdp v6", 9_000, || pair(FAR_V6, Bypass::Always)),
        Base::new("xdp v4 generic", 9_000, || pair(FAR, Bypass::Generic)),
        Base::new("xdp v4 beside another link", 9_000, || {
            let (near, far) = pair(FAR, Bypass::Always);
            let other = Udp::bind(V4.parse().unwrap(), &UdpOptions::new()).unwrap();
            (Box::new(Links::new(vec![near, Box::new(other)]).unwrap()), far)
        }),
    ]);
}

#[test]
fn links_over_two_queues_pass_too() {
    let name = "xdp::links_over_two_queues_pass_too";
    if !in_namespace(name, &interfaces(9_000, 2)) || is_refused() {
        return;
    }
    all_pass(&[Base::new("xdp v4, two queues", 9_000, || pair(FAR, Bypass::Always))]);
}

#[test]
fn links_over_a_vlan_pass_too() {
    let name = "xdp::links_over_a_vlan_pass_too";
    if !in_namespace(name, &vlan(&interfaces(9_000, 1))) || is_refused() {
        return;
    }
    all_pass(&[
        Base::new("xdp v4 over a VLAN", 9_000, || pair(FAR_VLAN, Bypass::Always)),
        Base::new("xdp v6 over a VLAN", 9_000, || pair(FAR_VLAN_V6, Bypass::Always)),
    ]);
}

/// A link to a plain UDP socket of the far namespace; both know how to reach each other.
fn half_bypassed(bypass: Bypass) -> (Xdp, Udp, XdpLog) {
    let options = UdpOptions::new().bypass(bypass);
    let mut far = in_far(|| Udp::bind(SocketAddr::new(FAR.parse().unwrap(), 0), &options).unwrap());
    let mut near = Xdp::client(far.local_addr(), &options).unwrap();
    hello(&mut near, &mut far);
    hello(&mut far, &mut near);
    let log = near.capabilities().bypass.unwrap();
    (near, far, log)
}

const SEVENS: KnownTags<'_> =
    KnownTags { word: Word { offset_bytes: 2, values: &[0x0707_0707] }, peers: &[] };

#[test]
fn packets_go_by_udp_while_a_thread_attaches() {
    let name = "xdp::packets_go_by_udp_while_a_thread_attaches";
    if !in_namespace(name, &interfaces(1_500, 1)) || is_refused() {
        return;
    }
    let (mut near, mut far, log) = half_bypassed(Bypass::Always);
    near.steer(Some(&SEVENS));
    assert_eq!(log.state(), XdpState::Idle, "no call waits for the kernel");
    hello(&mut near, &mut far);
    assert_eq!(log.state(), XdpState::Idle, "the next receive takes the way");
    let (start, mut batch) = (Instant::now(), Batch::new(4, 9_000));
    while log.state() == XdpState::Idle {
        near.wait(2 * PATIENCE).unwrap();
        near.recv(&mut batch).unwrap();
    }
    assert!(start.elapsed() < PATIENCE, "the thread ends the wait");
    assert!(matches!(log.state(), XdpState::Attached(_)), "{}", log.state());
    drop(near);
    // A link that goes before it is attached leaves nothing.
    let (mut near, _far, _log) = half_bypassed(Bypass::Always);
    near.steer(Some(&SEVENS));
    drop(near);
    assert_eq!(interface_named("near0").unwrap().xdp_mode, 0);
}

/// It may spin on the only CPU of the process: no other thread would run there.
#[test]
fn thread_of_a_real_time_priority_attaches_itself() {
    let name = "xdp::thread_of_a_real_time_priority_attaches_itself";
    if !in_namespace(name, &interfaces(1_500, 1)) || is_refused() {
        return;
    }
    let (mut near, _far, log) = half_bypassed(Bypass::Always);
    let cpus = thread::affinity().unwrap();
    thread::set_affinity(&cpus[..1]).unwrap();
    if let Err(error) = thread::schedule_fifo(1) {
        return skip(error);
    }
    near.steer(Some(&SEVENS));
    // Without a wait: the thread never gives up its CPU.
    let (start, mut batch) = (Instant::now(), Batch::new(4, 9_000));
    while log.state() == XdpState::Idle && start.elapsed() < Duration::from_millis(500) {
        near.recv(&mut batch).unwrap();
    }
    assert!(matches!(log.state(), XdpState::Attached(_)), "{}", log.state());
}

/// A sender by UDP leaves the splitting of a run of packets to its interface, and veth to the receiver.
#[test]
fn packets_that_come_as_one_frame_arrive_in_the_generic_mode() {
    let name = "xdp::packets_that_come_as_one_frame_arrive_in_the_generic_mode";
    if !in_namespace(name, &interfaces(1_500, 1)) || is_refused() {
        return;
    }
    let (mut near, mut far, log) = half_bypassed(Bypass::Generic);
    near.steer(Some(&SEVENS));
    let mut batch = Batch::new(64, 9_000);
    wait_until("an attached link", PATIENCE, || {
        near.recv(&mut batch).unwrap();
        log.state() != XdpState::Idle
    });
    assert_eq!(log.state().to_string(), "near0, generic mode, copy, 1 queue");
    let packet = Outgoing::whole(near.local_addr(), Ecn::NotEct, &[7; 1_000]);
    assert_eq!(far.send(&[packet; 30]).unwrap(), 30);
    let mut packets = 0;
    wait_until("all packets", PATIENCE, || {
        near.recv(&mut batch).unwrap();
        packets += batch.iter().filter(|(bytes, _)| *bytes == [7; 1_000]).count();
        packets == 30
    });
}

/// Its answer to a stranger was the last packet before a stream flowed.
#[test]
fn peer_of_a_stream_decides_where_a_link_attaches_and_no_stranger() {
    let name = "xdp::peer_of_a_stream_decides_where_a_link_attaches_and_no_stranger";
    if !in_namespace(name, &interfaces(1_500, 1)) || is_refused() {
        return;
    }
    let options = UdpOptions::new().bypass(Bypass::Always);
    let mut near = Xdp::bind("0.0.0.0:0".parse().unwrap(), &options).unwrap();
    let port = near.local_addr().port();
    let mut far = in_far(|| {
        let near = SocketAddr::new(NEAR.parse().unwrap(), port);
        Udp::client(near, &UdpOptions::new()).unwrap()
    });
    let far_at = far.local_addr();
    far.send(&[Outgoing::whole(
        SocketAddr::new(NEAR.parse().unwrap(), port),
        Ecn::NotEct,
        b"hello",
    )])
    .unwrap();
    let stranger = SocketAddr::from(([127, 0, 0, 1], 9));
    near.send(&[Outgoing::whole(stranger, Ecn::NotEct, b"hello")]).unwrap();
    near.steer(Some(&KnownTags { peers: &[far_at], ..SEVENS }));
    let (log, mut batch) = (near.capabilities().bypass.unwrap(), Batch::new(64, 9_000));
    wait_until("an attached link", PATIENCE, || {
        near.recv(&mut batch).unwrap();
        log.state() != XdpState::Idle
    });
    assert_eq!(log.state().to_string(), "near0, native mode, copy, 1 queue");
}

#[test]
fn interface_of_a_vlan_is_attached_in_the_generic_mode() {
    let name = "xdp::interface_of_a_vlan_is_attached_in_the_generic_mode";
    if !in_namespace(name, &vlan(&interfaces(1_500, 1))) || is_refused() {
        return;
    }
    let (near, far) = pair(FAR_VLAN, Bypass::Always);
    for (link, interface) in [(near, "near0.7"), (far, "far0.7")] {
        let state = link.capabilities().bypass.unwrap().state();
        assert_eq!(state.to_string(), format!("{interface}, generic mode, copy, 1 queue"));
    }
}

#[test]
fn kernel_sees_no_packet_of_a_known_tag_and_all_others() {
    let name = "xdp::kernel_sees_no_packet_of_a_known_tag_and_all_others";
    if !in_namespace(name, &vlan(&interfaces(1_500, 1))) || is_refused() {
        return;
    }
    for far in [FAR, FAR_V6, FAR_VLAN, FAR_VLAN_V6] {
        kernel_sees_only_unknown_tags(far);
    }
}

fn kernel_sees_only_unknown_tags(far: &str) {
    let (mut near, mut far) = pair(far, Bypass::Always);
    let peer = far.local_addr();
    // "llo " is a tag, "LLO " is none.
    for (bytes, by_kernel) in [(b"hello there", 0), (b"heLLO there", 100)] {
        let before = in_far(|| udp_received(peer.is_ipv4()));
        let mut batch = Batch::new(64, 1_500);
        let mut arrived = 0;
        near.send(&[Outgoing::whole(peer, Ecn::Ect0, bytes); 100]).unwrap();
        let start = Instant::now();
        while arrived < 100 && start.elapsed() < PATIENCE {
            far.wait(PATIENCE).unwrap();
            far.recv(&mut batch).unwrap();
            arrived += batch.iter().filter(|(it, _)| it == bytes).count();
        }
        let seen = in_far(|| udp_received(peer.is_ipv4())) - before;
        assert_eq!((arrived, seen), (100, by_kernel), "{peer}");
    }
}

/// UDP packets that the kernel has received in this thread's namespace.
fn udp_received(is_ipv4: bool) -> u64 {
    if !is_ipv4 {
        let table = std::fs::read_to_string("/proc/thread-self/net/snmp6").unwrap();
        let count = table.lines().find_map(|line| line.strip_prefix("Udp6InDatagrams"));
        return count.unwrap().trim().parse().unwrap();
    }
    let table = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let counts = table.lines().filter(|line| line.starts_with("Udp: ")).nth(1).unwrap();
    counts.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn packets_that_find_no_frame_are_counted_once() {
    let name = "xdp::packets_that_find_no_frame_are_counted_once";
    if !in_namespace(name, &interfaces(1_500, 1)) || is_refused() {
        return;
    }
    const SENT: usize = 3_000;
    let (mut near, mut far) = pair(FAR, Bypass::Always);
    let packet = Outgoing::whole(far.local_addr(), Ecn::Ect0, b"hello there");
    let mut sent = 0;
    while sent < SENT {
        sent += near.send(&[packet; 50]).unwrap();
    }
    let mut batch = Batch::new(64, 1_500);
    let mut arrived = 0;
    loop {
        far.recv(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        arrived += batch.len();
    }
    assert_eq!(near.send(&[packet]).unwrap(), 1);
    let start = Instant::now();
    while batch.is_empty() && start.elapsed() < PATIENCE {
        far.wait(Duration::from_millis(100)).unwrap();
        far.recv(&mut batch).unwrap();
    }
    let dropped = batch.get(0).unwrap().1.dropped.unwrap() as usize;
    // The interface between may have dropped some too.
    assert!(
        dropped > SENT / 4 && dropped <= SENT - arrived,
        "{arrived} arrived, {dropped} dropped"
    );
}

#[test]
fn stream_goes_on_by_udp_when_the_program_is_taken_off() {
    let name = "xdp::stream_goes_on_by_udp_when_the_program_is_taken_off";
    if !in_namespace(name, &interfaces(1_500, 1)) || is_refused() {
        return;
    }
    let (mut near, mut far, logs) = open(FAR, Bypass::Always);
    // The interface goes, and with it the program; then it comes back with its address.
    let script = format!(
        "ip link del near0 && ip link add near0 type veth peer name far0 netns far && \
         ip addr add {NEAR}/24 dev near0 && ip -n far addr add {FAR}/24 dev far0 && \
         ip link set near0 up && ip -n far link set far0 up"
    );
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    hello(&mut *near, &mut *far);
    hello(&mut *far, &mut *near);
    for log in logs {
        assert!(matches!(log.state(), XdpState::Off(_)), "{}", log.state());
    }
}

#[test]
fn thread_gives_its_rights_up_and_the_link_goes_on() {
    let name = "xdp::thread_gives_its_rights_up_and_the_link_goes_on";
    if !in_namespace(name, &interfaces(1_500, 1)) || is_refused() {
        return;
    }
    let (mut near, mut far) = pair(FAR, Bypass::Always);
    // The namespaces are entered by another right.
    thread::drop_network_rights().unwrap();
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let rights = |set: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    let network = 1_u64 << 12 | 1 << 13 | 1 << 39;
    assert_eq!((rights("CapEff:") & network, rights("CapPrm:") & network), (0, 0));
    hello(&mut *near, &mut *far);
    let tags = [u32::from_be_bytes(*b"llo "), 7];
    let word = Word { offset_bytes: 2, values: &tags };
    near.steer(Some(&KnownTags { word, peers: &[far.local_addr(); 2] }));
    hello(&mut *far, &mut *near);
    assert!(matches!(near.capabilities().bypass.unwrap().state(), XdpState::Attached(_)));
}

fn all_pass(bases: &[Base]) {
    // Middleware knows no link: once, alone.
    let cases = body::cases(bases, &[("", |link| link)]);
    body::equal_packets_arrive_whole_and_in_order(&cases);
    body::unequal_packets_arrive_whole_and_in_order(&cases);
    body::ecn_bits_arrive_with_their_packets(&cases);
    body::nothing_there_is_an_empty_batch(&cases);
    body::waker_ends_the_wait_before_it_and_during_it(&cases);
    body::arrival_ends_the_wait(&cases);
    body::packet_above_the_mtu_is_named_after_those_before_it_were_sent(&cases);
    body::capabilities_pass_through_middleware(bases);
}
