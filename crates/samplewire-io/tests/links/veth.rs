//! Two AF_XDP links in two network namespaces that a veth pair joins.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use samplewire_io::xdp::{XdpLog, XdpState};
use samplewire_io::{
    Batch, Bypass, Capabilities, Ecn, Favoured, KnownTags, Link, LinkError, Outgoing, UdpOptions,
    Waker, Word, Xdp,
};
use samplewire_testing::{NetworkNamespace, PATIENCE, skip};

/// A namespace `far` behind `near0`, whose own end is `far0`.
pub(crate) fn interfaces(mtu_bytes: usize, queues: usize) -> String {
    format!(
        "mount -t tmpfs tmpfs /run && ip netns add far && \
         ip link add near0 mtu {mtu_bytes} numrxqueues {queues} numtxqueues {queues} type veth \
         peer name far0 mtu {mtu_bytes} numrxqueues {queues} numtxqueues {queues} netns far && \
         ip addr add {NEAR}/24 dev near0 && ip addr add {NEAR_V6}/64 dev near0 nodad && \
         ip -n far addr add {FAR}/24 dev far0 && ip -n far addr add {FAR_V6}/64 dev far0 nodad && \
         ip link set near0 up && ip -n far link set far0 up && ip link set lo up"
    )
}

/// The same, and a VLAN over it, whose interfaces are `near0.7` and `far0.7`.
pub(crate) fn vlan(interfaces: &str) -> String {
    let link = |name: &str| format!("link add link {name} name {name}.7 type vlan id 7");
    format!(
        "{interfaces} && ip {} && ip -n far {} && \
         ip addr add {NEAR_VLAN}/24 dev near0.7 && ip addr add {NEAR_VLAN_V6}/64 dev near0.7 nodad && \
         ip -n far addr add {FAR_VLAN}/24 dev far0.7 && \
         ip -n far addr add {FAR_VLAN_V6}/64 dev far0.7 nodad && \
         ip link set near0.7 up && ip -n far link set far0.7 up",
        link("near0"),
        link("far0")
    )
}

/// Whether the kernel refuses AF_XDP to this process; the test is then skipped.
pub(crate) fn is_refused() -> bool {
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

pub(crate) fn pair(far: &str, bypass: Bypass) -> (Box<dyn Link>, Box<dyn Link>) {
    let (near, far, logs) = open(far, bypass);
    let states = logs.map(|log| log.state());
    assert!(states.iter().all(|it| matches!(it, XdpState::Attached(_))), "{states:?}");
    (near, far)
}

/// Two links that know each other, and whose packets bypass the kernel.
pub(crate) fn open(far: &str, bypass: Bypass) -> (Box<dyn Link>, Box<dyn Link>, [XdpLog; 2]) {
    let options = UdpOptions::new().bypass(bypass);
    let address = SocketAddr::new(far.parse().unwrap(), 0);
    let mut far = InFar(in_far(|| Xdp::bind(address, &options).unwrap()));
    let mut near = Xdp::client(far.local_addr(), &options).unwrap();
    let logs = [near.capabilities(), far.capabilities()].map(|it| it.bypass.unwrap());
    // By UDP first: the kernels find each other.
    hello(&mut near, &mut far);
    hello(&mut far, &mut near);
    // Every tag that the packets of the tests have.
    let mut tags: Vec<u32> = (0..256)
        .map(|first: u32| {
            let byte = |at: u32| first.wrapping_add(7 * at) as u8;
            u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)])
        })
        .collect();
    tags.extend([u32::from_be_bytes(*b"llo "), 0x0707_0707]);
    let word = Word { offset_bytes: 2, values: &tags };
    near.steer(Some(&KnownTags { word, peers: &[far.local_addr()] }));
    far.steer(Some(&KnownTags { word, peers: &[near.local_addr()] }));
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
pub(crate) fn hello(from: &mut dyn Link, to: &mut dyn Link) {
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

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        in_far(|| self.0.steer(tags));
    }
}

/// Runs `call` with this thread in the far namespace.
pub(crate) fn in_far<T>(call: impl FnOnce() -> T) -> T {
    static NAMESPACES: OnceLock<[NetworkNamespace; 2]> = OnceLock::new();
    let [near, far] = NAMESPACES.get_or_init(|| {
        [NetworkNamespace::current().unwrap(), NetworkNamespace::named("far").unwrap()]
    });
    far.enter().unwrap();
    let result = call();
    near.enter().unwrap();
    result
}

pub(crate) const NEAR: &str = "10.9.0.1";
pub(crate) const FAR: &str = "10.9.0.2";
pub(crate) const NEAR_V6: &str = "fd09::1";
pub(crate) const FAR_V6: &str = "fd09::2";
const NEAR_VLAN: &str = "10.7.0.1";
pub(crate) const FAR_VLAN: &str = "10.7.0.2";
const NEAR_VLAN_V6: &str = "fd07::1";
pub(crate) const FAR_VLAN_V6: &str = "fd07::2";
