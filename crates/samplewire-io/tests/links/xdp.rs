//! The same over AF_XDP, between two network namespaces that a veth pair joins.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use samplewire_io::xdp::{XdpLog, XdpState};
use samplewire_io::{
    Batch, Bypass, Capabilities, Ecn, Favoured, Link, LinkError, Outgoing, UdpOptions, Waker, Word,
    Xdp, thread,
};
use samplewire_testing::{NetworkNamespace, in_namespace, skip};

use crate::body::{self, MakePair, PATIENCE, Pair};

/// A namespace `far` behind `near0`, whose own end is `far0`.
fn interfaces(mtu_bytes: usize, queues: usize) -> String {
    format!(
        "mount -t tmpfs tmpfs /run && ip netns add far && \
         ip link add near0 mtu {mtu_bytes} numrxqueues {queues} numtxqueues {queues} type veth \
         peer name far0 mtu {mtu_bytes} numrxqueues {queues} numtxqueues {queues} netns far && \
         ip addr add {NEAR}/24 dev near0 && ip addr add {NEAR_V6}/64 dev near0 nodad && \
         ip -n far addr add {FAR}/24 dev far0 && ip -n far addr add {FAR_V6}/64 dev far0 nodad && \
         ip link set near0 up && ip -n far link set far0 up && ip link set lo up"
    )
}

#[test]
fn links_that_bypass_the_kernel_pass_too() {
    let name = "xdp::links_that_bypass_the_kernel_pass_too";
    if !in_namespace(name, &interfaces(9_000, 1)) || is_refused() {
        return;
    }
    all_pass(&[
        ("xdp v4", || pair(FAR, Bypass::Always)),
        ("xdp v6", || pair(FAR_V6, Bypass::Always)),
        ("xdp v4 generic", || pair(FAR, Bypass::Generic)),
    ]);
}

#[test]
fn links_over_two_queues_pass_too() {
    let name = "xdp::links_over_two_queues_pass_too";
    if !in_namespace(name, &interfaces(9_000, 2)) || is_refused() {
        return;
    }
    all_pass(&[("xdp v4, two queues", || pair(FAR, Bypass::Always))]);
}

#[test]
fn kernel_sees_no_packet_of_a_known_tag_and_all_others() {
    let name = "xdp::kernel_sees_no_packet_of_a_known_tag_and_all_others";
    if !in_namespace(name, &interfaces(1_500, 1)) || is_refused() {
        return;
    }
    let (mut near, mut far) = pair(FAR, Bypass::Always);
    let peer = far.local_addr();
    // "llo " is a tag, "LLO " is none.
    for (bytes, by_kernel) in [(b"hello there", 0), (b"heLLO there", 100)] {
        let before = in_far(udp_received);
        let mut batch = Batch::new(64, 1_500);
        let mut arrived = 0;
        near.send(&[Outgoing::whole(peer, Ecn::Ect0, bytes); 100]).unwrap();
        let start = Instant::now();
        while arrived < 100 && start.elapsed() < PATIENCE {
            far.wait(PATIENCE).unwrap();
            far.recv(&mut batch).unwrap();
            arrived += batch.iter().filter(|(it, _)| it == bytes).count();
        }
        assert_eq!((arrived, in_far(udp_received) - before), (100, by_kernel));
    }
}

/// UDP packets that the kernel has received in this thread's namespace.
fn udp_received() -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let counts = table.lines().filter(|line| line.starts_with("Udp: ")).nth(1).unwrap();
    counts.split_whitespace().nth(1).unwrap().parse().unwrap()
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
    near.steer(Some(&Word { offset_bytes: 2, values: &tags }));
    hello(&mut *far, &mut *near);
    assert!(matches!(near.capabilities().bypass.unwrap().state(), XdpState::Attached(_)));
}

fn all_pass(bases: &[(&'static str, MakePair)]) {
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

/// Whether the kernel refuses AF_XDP to this process; the test is then skipped.
fn is_refused() -> bool {
    let (near, far, logs) = open(FAR, Bypass::Always);
    drop((near, far));
    match logs[0].state() {
        XdpState::Off(reason) if reason.contains("not permitted") => {
            skip(reason);
            true
        }
        state => {
            assert!(matches!(state, XdpState::Attached(_)), "{state}");
            false
        }
    }
}

fn pair(far: &str, bypass: Bypass) -> Pair {
    let (near, far, logs) = open(far, bypass);
    let states = logs.map(|log| log.state());
    assert!(states.iter().all(|it| matches!(it, XdpState::Attached(_))), "{states:?}");
    (near, far)
}

/// Two links that know each other, and whose packets bypass the kernel.
fn open(far: &str, bypass: Bypass) -> (Box<dyn Link>, Box<dyn Link>, [XdpLog; 2]) {
    let options = UdpOptions::new().bypass(bypass);
    let address = SocketAddr::new(far.parse().unwrap(), 0);
    let mut far = InFar(in_far(|| Xdp::bind(address, &options).unwrap()));
    let mut near = Xdp::client(far.local_addr(), &options).unwrap();
    let logs = [near.capabilities(), far.capabilities()].map(|it| it.bypass.unwrap());
    // By UDP first: the kernels find each other.
    hello(&mut near, &mut far);
    hello(&mut far, &mut near);
    // Every tag that the packets of the tests have, and that of the greeting.
    let mut tags: Vec<u32> = (0..256)
        .map(|first: u32| {
            let byte = |at: u32| first.wrapping_add(7 * at) as u8;
            u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)])
        })
        .collect();
    tags.push(u32::from_be_bytes(*b"llo "));
    let word = Word { offset_bytes: 2, values: &tags };
    near.steer(Some(&word));
    far.steer(Some(&word));
    // A link before may still hold the queues.
    let start = Instant::now();
    while logs.iter().any(|log| log.state() == XdpState::Idle) && start.elapsed() < PATIENCE {
        let mut batch = Batch::new(4, 9_000);
        near.wait(Duration::from_millis(1)).unwrap();
        near.recv(&mut batch).unwrap();
        far.recv(&mut batch).unwrap();
    }
    hello(&mut near, &mut far);
    hello(&mut far, &mut near);
    (Box::new(near), Box::new(far), logs)
}

/// Sends a packet until it arrives.
fn hello(from: &mut dyn Link, to: &mut dyn Link) {
    let (peer, mut batch) = (to.local_addr(), Batch::new(4, 9_000));
    let start = Instant::now();
    while batch.is_empty() {
        assert!(start.elapsed() < PATIENCE, "{peer} is not reached");
        from.send(&[Outgoing::whole(peer, Ecn::NotEct, b"hello there")]).unwrap();
        to.wait(Duration::from_millis(100)).unwrap();
        to.recv(&mut batch).unwrap();
    }
    // Nothing of it is left.
    while !batch.is_empty() {
        to.wait(Duration::from_millis(1)).unwrap();
        to.recv(&mut batch).unwrap();
    }
}

/// A link whose calls are made in the far namespace.
struct InFar(Xdp);

impl Link for InFar {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        in_far(|| self.0.send(packets))
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        in_far(|| self.0.recv(batch))
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.0.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.0.waker()
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.0.make_room(packets, packet_bytes);
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.0.favour(favoured)
    }

    fn steer(&mut self, tags: Option<&Word<'_>>) {
        in_far(|| self.0.steer(tags));
    }
}

/// Runs `call` with this thread in the far namespace.
fn in_far<T>(call: impl FnOnce() -> T) -> T {
    static NAMESPACES: OnceLock<[NetworkNamespace; 2]> = OnceLock::new();
    let [near, far] = NAMESPACES.get_or_init(|| {
        [NetworkNamespace::current().unwrap(), NetworkNamespace::named("far").unwrap()]
    });
    far.enter().unwrap();
    let result = call();
    near.enter().unwrap();
    result
}

const NEAR: &str = "10.9.0.1";
const FAR: &str = "10.9.0.2";
const NEAR_V6: &str = "fd09::1";
const FAR_V6: &str = "fd09::2";
