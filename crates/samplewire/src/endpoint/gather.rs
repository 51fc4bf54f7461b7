//! A link that collects small packets, so that those of many streams leave in one call.

use std::net::SocketAddr;
use std::time::Duration;

use arrayvec::ArrayVec;
use samplewire_io::{
    Batch, Capabilities, Ecn, Favoured, KnownTags, Link, LinkError, Outgoing, Resilient, Waker,
};

use crate::port::BATCH_PACKETS;

/// Wraps another link. Packets passed to [`Link::send`] leave with [`Gather::flush`], or earlier if
/// the buffer is full. Packets that the link does not accept are lost, like any packet.
pub(crate) struct Gather {
    link: Resilient,
    /// With a single stream, packets are not collected.
    is_direct: bool,
    bytes: Box<[u8]>,
    /// Destination, ECN and end of each packet.
    packets: ArrayVec<(SocketAddr, Ecn, usize), BATCH_PACKETS>,
}

impl Gather {
    /// Collects the packets of `streams` streams.
    pub(crate) fn new(link: Resilient, streams: usize) -> Self {
        let (is_direct, bytes) = (streams == 1, vec![0; ROOM_BYTES].into());
        Self { link, is_direct, bytes, packets: ArrayVec::new() }
    }

    /// Sends all collected packets; those that the link does not accept are lost.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) fn flush(&mut self) -> Result<(), LinkError> {
        if self.packets.is_empty() { Ok(()) } else { self.send_all() }
    }

    /// Separate from [`Gather::flush`], which would otherwise reserve stack for all packets in
    /// every call.
    #[inline(never)]
    fn send_all(&mut self) -> Result<(), LinkError> {
        let mut start = 0;
        let mut outgoing: ArrayVec<_, BATCH_PACKETS> = self
            .packets
            .drain(..)
            .map(|(peer, ecn, end)| {
                let bytes = &self.bytes[start..end];
                start = end;
                Outgoing::whole(peer, ecn, bytes)
            })
            .collect();
        // Each turn takes or drops a packet: those behind a full link are lost, the others leave.
        while !outgoing.is_empty() {
            let sent = self.link.send(&outgoing)?;
            if sent == outgoing.len() {
                break;
            }
            outgoing.drain(..=sent);
            outgoing.retain(|packet| self.link.has_room_for(Some(packet.peer)));
        }
        Ok(())
    }

    /// The link, without the collected packets.
    pub(crate) const fn resilient(&mut self) -> &mut Resilient {
        &mut self.link
    }

    fn used_bytes(&self) -> usize {
        self.packets.last().map_or(0, |(_, _, end)| *end)
    }
}

impl Link for Gather {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn local_addr(&self) -> SocketAddr {
        self.link.local_addr()
    }

    fn local_addrs(&self) -> Vec<SocketAddr> {
        self.link.local_addrs()
    }

    /// Packets that are too large to collect leave at once, after the collected ones.
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        if self.is_direct {
            return self.link.send(packets);
        }
        for packet in packets {
            let len_bytes = packet.len_bytes();
            if self.packets.is_full() || self.used_bytes() + len_bytes > ROOM_BYTES {
                self.flush()?;
            }
            if len_bytes > ROOM_BYTES {
                self.link.send(&[*packet])?;
                continue;
            }
            let start = self.used_bytes();
            packet.gather(&mut self.bytes[start..]);
            self.packets.push((packet.peer, packet.ecn, start + len_bytes));
        }
        Ok(packets.len())
    }

    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        self.link.recv(batch)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), LinkError> {
        self.link.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.link.waker()
    }

    fn make_room(&mut self, packets: u32, packet_bytes: usize) {
        self.link.make_room(packets, packet_bytes);
    }

    fn has_room_for(&mut self, peer: Option<SocketAddr>) -> bool {
        self.link.has_room_for(peer)
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

    fn steer(&mut self, tags: Option<&KnownTags<'_>>) {
        self.link.steer(tags);
    }
}

/// Room for about a hundred of the shortest REPORTs, or several of the longest.
const ROOM_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use samplewire_io::memory::{self, Memory};
    use samplewire_io::{Links, Sleep};

    use super::super::filtering::Filtering;
    use super::*;

    /// A link that never has room.
    struct Full(Memory);

    impl Link for Full {
        fn capabilities(&self) -> Capabilities {
            self.0.capabilities()
        }
        fn local_addr(&self) -> SocketAddr {
            self.0.local_addr()
        }
        fn send(&mut self, _packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
            Ok(0)
        }
        fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
            self.0.recv(batch)
        }
        fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
            self.0.begin_wait(sleep)
        }
        fn waker(&self) -> Waker {
            self.0.waker()
        }
    }

    #[test]
    fn packets_behind_a_full_link_leave_by_the_others() {
        let address = |host: u8, port: u16| SocketAddr::from(([127, 0, 9, host], port));
        let [(full, mut far_full), (near, mut far)] = [1, 2].map(|host| {
            memory::pair_between([address(host, 1), address(host, 2)], 64, 100, 1_500).unwrap()
        });
        let links = Links::new(vec![Box::new(Full(full)), Box::new(near)]).unwrap();
        let mut gather = Gather::new(Resilient::new(Box::new(links)), 2);
        let mut batch = Batch::new(64, 100);
        for (far, host) in [(&mut far_full, 1), (&mut far, 2)] {
            far.send(&[Outgoing::whole(address(host, 1), Ecn::NotEct, b"hello")]).unwrap();
            gather.recv(&mut batch).unwrap();
            assert_eq!(batch.len(), 1);
        }
        for (number, host) in [1, 1, 2, 1, 2, 2, 1].into_iter().enumerate() {
            let bytes = [number as u8];
            let packet = Outgoing::whole(address(host, 2), Ecn::NotEct, &bytes);
            assert_eq!(gather.send(&[packet]).unwrap(), 1);
        }
        gather.flush().unwrap();
        far.recv(&mut batch).unwrap();
        let came: Vec<_> = batch.iter().map(|(bytes, _)| bytes[0]).collect();
        assert_eq!(came, [2, 4, 5]);
    }

    /// The code that turns a filter on must turn it off.
    #[test]
    fn filter_of_the_link_is_there_if_the_link_says_so() {
        let (near, far) = memory::pair(1, 100, 100).unwrap();
        let mut without = Gather::new(Resilient::new(Box::new(near)), 2);
        let mut with = Gather::new(Resilient::new(Box::new(Filtering::new(far).0)), 2);
        let favoured = Favoured { alternatives: &[] };
        assert!(!without.favour(Some(&favoured)));
        assert!(with.favour(Some(&favoured)));
    }

    #[test]
    fn packets_leave_together_in_order_and_large_ones_behind_them() {
        let (near, mut context) = memory::pair(200, 20_000, 20_000).unwrap();
        let peer = context.local_addr();
        let mut gather = Gather::new(Resilient::new(Box::new(near)), 2);
        let mut batch = Batch::new(200, 20_000);
        let mut taken = || {
            context.recv(&mut batch).unwrap();
            batch.iter().map(|(bytes, _)| (bytes[0], bytes.len())).collect::<Vec<_>>()
        };
        let send = |gather: &mut Gather, number: u8, len_bytes: usize| {
            let bytes = vec![number; len_bytes];
            assert_eq!(gather.send(&[Outgoing::whole(peer, Ecn::NotEct, &bytes)]).unwrap(), 1);
        };
        send(&mut gather, 1, 60);
        send(&mut gather, 2, 70);
        assert!(taken().is_empty());
        gather.flush().unwrap();
        assert_eq!(taken(), [(1, 60), (2, 70)]);
        send(&mut gather, 3, 60);
        send(&mut gather, 4, ROOM_BYTES + 1);
        assert_eq!(taken(), [(3, 60), (4, ROOM_BYTES + 1)]);
        for number in 0..=BATCH_PACKETS {
            send(&mut gather, number as u8, 8);
        }
        assert_eq!(taken().len(), BATCH_PACKETS);
        gather.flush().unwrap();
        assert_eq!(taken(), [(BATCH_PACKETS as u8, 8)]);
        gather.flush().unwrap();
        assert!(taken().is_empty());
    }
}
