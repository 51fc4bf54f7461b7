//! A process's end of the simulated network, as an endpoint sees it.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use samplewire_io::{Batch, Capabilities, Ecn, Link, LinkError, Meta, Outgoing, Waker};
use samplewire_proto::wire::{self, Packet};

use crate::net::{Net, address_of};
use crate::packets::ProcessId;

/// The network, and what passed both ends of it.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) net: Net,
    /// DATA by index: how often it departed from any process.
    pub(crate) departed: BTreeMap<u64, u32>,
    /// The same of what a process has taken, sound.
    pub(crate) arrived: BTreeMap<u64, u32>,
}

/// The link of one process. Its time is that of the network.
#[derive(Debug)]
pub(crate) struct SimLink {
    me: ProcessId,
    wire: Arc<Mutex<Wire>>,
    waker: Waker,
    bytes: Vec<u8>,
}

impl SimLink {
    pub(crate) fn new(me: ProcessId, wire: &Arc<Mutex<Wire>>) -> io::Result<Self> {
        Ok(Self { me, wire: Arc::clone(wire), waker: Waker::new()?, bytes: vec![0; BYTES_MAX] })
    }
}

impl Link for SimLink {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "simulated",
            mtu_bytes: BYTES_MAX,
            receive_buffer_bytes: 0,
            send_buffer_bytes: 0,
            segmentation: false,
            ecn: true,
        }
    }

    fn local_addr(&self) -> SocketAddr {
        address_of(self.me)
    }

    /// A packet to an address where no process is goes nowhere.
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let Self { me, wire, bytes, .. } = self;
        let Wire { net, departed, .. } = &mut *lock(wire);
        for packet in packets {
            let len = packet.gather(bytes);
            count(departed, &bytes[..len]);
            let peer =
                (0..=u16::MAX).take(net.sockets.len()).find(|it| address_of(*it) == packet.peer);
            if let Some(peer) = peer.filter(|peer| net.has_route(*me, *peer)) {
                net.send(*me, peer, packet.parts, 0, packet.ecn != Ecn::NotEct);
            }
        }
        Ok(packets.len())
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        batch.clear();
        let Wire { net, arrived, .. } = &mut *lock(&self.wire);
        while batch.len() < BATCH_PACKETS
            && batch.has_room(BYTES_MAX)
            && let Some(id) = net.take(self.me)
        {
            let (meta, bytes) = (*net.packets.meta(id), net.packets.bytes(id));
            count(arrived, bytes);
            let ecn = match (meta.is_marked, meta.is_ect) {
                (true, _) => Ecn::Ce,
                (false, true) => Ecn::Ect0,
                (false, false) => Ecn::NotEct,
            };
            let (peer, dropped) = (address_of(meta.from), Some(meta.dropped));
            let meta = Meta { peer, ecn, dropped, packets_per_drop: 1 };
            batch.push(bytes, meta).expect("the room was checked");
            net.packets.free(id);
        }
        Ok(())
    }

    fn wait(&mut self, _timeout: Duration) -> Result<(), LinkError> {
        unreachable!("an endpoint that is stepped does not wait")
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

/// Counts DATA that can be read.
fn count(packets: &mut BTreeMap<u64, u32>, bytes: &[u8]) {
    if let Ok((header, Packet::Data(_))) = wire::parse(bytes) {
        *packets.entry(header.index).or_default() += 1;
    }
}

pub(crate) fn lock(wire: &Mutex<Wire>) -> MutexGuard<'_, Wire> {
    wire.lock().expect("a run has one thread")
}

/// The largest packet.
const BYTES_MAX: usize = 9_000;
/// Packets that one call takes.
const BATCH_PACKETS: usize = 64;
