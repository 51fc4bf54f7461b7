//! A link that counts what goes to and comes from strangers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use samplewire_io::{Batch, Capabilities, Favoured, Link, LinkError, Outgoing, Udp, Waker};

/// Counts of a link. Strangers have addresses in 127.66.0.0/16.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// UDP payload sent to strangers.
    pub(crate) answered_bytes: AtomicU64,
    /// UDP payload sent to others.
    pub(crate) sent_bytes: AtomicU64,
    /// Packets of strangers that our code was given.
    pub(crate) taken: AtomicU64,
}

/// Whether only attackers have this address.
pub(crate) fn is_stranger(address: &SocketAddr) -> bool {
    matches!(address.ip(), IpAddr::V4(ip) if ip.octets()[..2] == [127, 66])
}

/// The middleware.
pub(crate) struct Tally {
    link: Udp,
    counts: Arc<Counts>,
}

impl Tally {
    pub(crate) fn new(link: Udp) -> (Self, Arc<Counts>) {
        let counts = Arc::<Counts>::default();
        (Self { link, counts: Arc::clone(&counts) }, counts)
    }
}

impl Link for Tally {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }

    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let sent = self.link.send(packets)?;
        for packet in &packets[..sent] {
            let Counts { answered_bytes, sent_bytes, .. } = &*self.counts;
            let count = if is_stranger(&packet.peer) { answered_bytes } else { sent_bytes };
            // Relaxed, here and below: counts by which nothing is ordered.
            count.fetch_add(packet.len_bytes() as u64, Ordering::Relaxed);
        }
        Ok(sent)
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.link.recv(batch)?;
        let strangers = batch.iter().filter(|(_, meta)| is_stranger(&meta.peer)).count();
        self.counts.taken.fetch_add(strangers as u64, Ordering::Relaxed);
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.link.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.link.waker()
    }

    fn unreachable_hint(&self) -> u64 {
        self.link.unreachable_hint()
    }

    fn line_bps(&mut self, peer: SocketAddr) -> Option<u64> {
        self.link.line_bps(peer)
    }

    fn favour(&mut self, favoured: Option<&Favoured<'_>>) -> bool {
        self.link.favour(favoured)
    }
}
