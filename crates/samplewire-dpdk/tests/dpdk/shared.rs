//! Interfaces, links, and the far end of a cable.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire_dpdk::{DpdkLink, DpdkOptions};
use samplewire_io::{Batch, Ecn, Link, Outgoing};
use samplewire_testing::{NetworkNamespace, PATIENCE};

/// A cable with both ends in one namespace.
pub(crate) fn near_and_far(mtu_bytes: usize) -> String {
    format!(
        "ip link add near0 mtu {mtu_bytes} type veth peer name far0 mtu {mtu_bytes} && \
         ip link set near0 up && ip link set far0 up"
    )
}

/// A cable to the namespace `far`, where the kernel has the address. It sends packets one by one, as to
/// a real card, and leaves UDP checksums to a network card, which a veth pair does not have.
pub(crate) const FAR_HOST: &str = "mount -t tmpfs tmpfs /run && ip netns add far && \
     ip link add near0 type veth peer name far0 netns far && \
     ip -n far addr add 10.9.0.2/24 dev far0 && ip netns exec far ethtool -K far0 tx-udp-segmentation off && \
     ip link set near0 up && ip -n far link set far0 up && ip -n far link set lo up && ip link set lo up";

pub(crate) const DEVICE: &str = "net_af_packet0,iface=near0";
pub(crate) const NETWORK: &str = "10.9.0.1/24";
pub(crate) const FAR_DEVICE: &str = "net_af_packet1,iface=far0";
pub(crate) const FAR_NETWORK: &str = "10.9.0.2/24";
pub(crate) const FAR_ADDRESS: &str = "10.9.0.2:0";

/// No huge pages, no cards, no files, and no words but errors.
pub(crate) const EAL: [&str; 8] = [
    "--no-huge",
    "--no-pci",
    "--no-shconf",
    "--no-telemetry",
    "-m",
    "256",
    "--log-level",
    "*:error",
];

pub(crate) fn options(device: &str, network: &str) -> DpdkOptions {
    DpdkOptions::new(device, network.parse().unwrap()).eal(EAL)
}

pub(crate) fn link(
    device: &str,
    network: &str,
    set: impl FnOnce(DpdkOptions) -> DpdkOptions,
) -> DpdkLink {
    DpdkLink::open(&set(options(device, network))).unwrap()
}

/// Sends packets both ways until some have arrived at each: both stations then know the other. None of them
/// is left.
pub(crate) fn meet(near: &mut DpdkLink, far: &mut DpdkLink) {
    let (mut batch, start) = (Batch::new(64, 9_000), Instant::now());
    let peers = [far.local_addr(), near.local_addr()];
    let links = [near, far];
    let (mut sent, mut arrived) = ([0, 0], [0, 0]);
    while (0..2).any(|at| arrived[at] == 0 || arrived[at] < left(links[1 - at], sent[1 - at])) {
        assert!(start.elapsed() < PATIENCE, "sent {sent:?}, arrived {arrived:?}");
        for at in 0..2 {
            if arrived[1 - at] == 0 {
                let packet = Outgoing::whole(peers[at], Ecn::NotEct, b"hello");
                sent[at] += links[at].send(&[packet]).unwrap() as u64;
            }
            links[at].wait(Duration::from_millis(1)).unwrap();
            links[at].recv(&mut batch).unwrap();
            arrived[at] += batch.len() as u64;
        }
    }
}

/// How many of the packets that a link has sent did leave: the others' station was not known.
pub(crate) fn left(link: &DpdkLink, sent: u64) -> u64 {
    sent - link.log().counts().unresolved
}

/// A thread of the far host, which has sent its address.
pub(crate) struct Far<T> {
    pub(crate) address: std::net::SocketAddr,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Far<T> {
    pub(crate) fn start(
        work: impl FnOnce(mpsc::Sender<std::net::SocketAddr>) -> T + Send + 'static,
    ) -> Self {
        let (sender, addresses) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            NetworkNamespace::named("far").unwrap().enter().unwrap();
            work(sender)
        });
        Self { address: addresses.recv_timeout(PATIENCE).unwrap(), thread }
    }

    pub(crate) fn join(self) -> T {
        self.thread.join().unwrap()
    }
}
