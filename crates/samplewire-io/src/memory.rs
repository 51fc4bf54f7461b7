//! Two links in one process, joined by bounded rings: the wire of tests and of programs whose
//! both ends run side by side.
//!
//! Each direction behaves as a socket's receive buffer does: a packet that finds the ring full is
//! dropped, and counted in [`Meta::dropped`] of those that follow. No allocation after
//! [`pair`]; one lock for each call, none for each packet.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::batch::{Batch, Meta};
use crate::link::{Capabilities, Ecn, Link, LinkError, Outgoing, header_bytes};
use crate::wake::{Sleep, Waker};

/// Joins two links. Each direction holds `capacity_packets` of up to `packet_bytes_max` bytes
/// (UDP payload); packets that would exceed `mtu_bytes` with their headers are `TooLong`.
///
/// The first end is 127.0.0.1, port 1, the second 127.0.0.1, port 2; see [`pair_between`].
///
/// # Errors
/// `System` when the process has no descriptor left for the wakers.
///
/// # Panics
/// When `capacity_packets` or `packet_bytes_max` is zero.
pub fn pair(
    capacity_packets: usize,
    packet_bytes_max: usize,
    mtu_bytes: usize,
) -> Result<(Memory, Memory), LinkError> {
    pair_between([FIRST, SECOND], capacity_packets, packet_bytes_max, mtu_bytes)
}

/// Like [`pair`], with these addresses for the two ends: a port over several links knows their peers by
/// them.
///
/// # Errors
/// See [`pair`].
///
/// # Panics
/// See [`pair`].
pub fn pair_between(
    [first, second]: [SocketAddr; 2],
    capacity_packets: usize,
    packet_bytes_max: usize,
    mtu_bytes: usize,
) -> Result<(Memory, Memory), LinkError> {
    assert!(capacity_packets > 0 && packet_bytes_max > 0, "a link carries something");
    let lane = |address| -> Result<Arc<Lane>, LinkError> {
        let waker = Waker::new().map_err(system("eventfd", address))?;
        Ok(Arc::new(Lane {
            waker,
            queue: Mutex::new(Queue::new(capacity_packets, packet_bytes_max)),
        }))
    };
    let (to_first, to_second) = (lane(first)?, lane(second)?);
    let payload_max = packet_bytes_max.min(mtu_bytes.saturating_sub(header_bytes(&first)));
    let end = |local, peer, inward: &Arc<Lane>, outward: &Arc<Lane>| Memory {
        local,
        peer,
        inward: Arc::clone(inward),
        outward: Arc::clone(outward),
        mtu_bytes,
        payload_max,
        unreachable: 0,
    };
    let first_end = end(first, second, &to_first, &to_second);
    let second_end = end(second, first, &to_second, &to_first);
    Ok((first_end, second_end))
}

/// One end of an in-process link; see [`pair`].
#[derive(Debug)]
pub struct Memory {
    local: SocketAddr,
    peer: SocketAddr,
    inward: Arc<Lane>,
    outward: Arc<Lane>,
    mtu_bytes: usize,
    payload_max: usize,
    unreachable: u64,
}

impl Link for Memory {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "memory",
            mtu_bytes: self.mtu_bytes,
            receive_buffer_bytes: 0,
            send_buffer_bytes: 0,
            segmentation: false,
            ecn: true,
            interface: None,
            bypass: None,
        }
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Takes all packets. Those to an address that is not the other end's are lost and counted by
    /// [`Link::unreachable_hint`].
    fn send(&mut self, packets: &[Outgoing<'_>]) -> Result<usize, LinkError> {
        let mut queue = self.outward.queue();
        if queue.closed {
            return Err(LinkError::Disconnected);
        }
        for (index, packet) in packets.iter().enumerate() {
            let len_bytes = packet.len_bytes();
            if len_bytes > self.payload_max {
                self.outward.notify(queue);
                if index == 0 {
                    return Err(LinkError::TooLong { len_bytes, peer: packet.peer });
                }
                return Ok(index);
            }
            if packet.peer == self.peer {
                queue.push(packet);
            } else {
                self.unreachable += 1;
            }
        }
        self.outward.notify(queue);
        Ok(packets.len())
    }

    /// A packet that is longer than the batch was made for is dropped and counted.
    fn recv(&mut self, batch: &mut Batch) -> Result<(), LinkError> {
        batch.clear();
        let mut queue = self.inward.queue();
        while batch.len() < batch.packets_max() {
            if !queue.pop_into(batch, self.peer) {
                break;
            }
        }
        if batch.is_empty() && queue.closed { Err(LinkError::Disconnected) } else { Ok(()) }
    }

    fn begin_wait(&mut self, sleep: &mut Sleep) -> Result<(), LinkError> {
        let mut queue = self.inward.queue();
        if queue.len > 0 || queue.closed {
            sleep.at_most(Duration::ZERO);
            return Ok(());
        }
        queue.waiting = true;
        sleep.add(self.inward.waker.as_fd().as_raw_fd(), true, false);
        Ok(())
    }

    fn end_wait(&mut self, sleep: &Sleep) -> Result<(), LinkError> {
        self.inward.queue().waiting = false;
        self.inward.waker.take(sleep);
        Ok(())
    }

    fn waker(&self) -> Waker {
        self.inward.waker.clone()
    }

    fn unreachable_hint(&self) -> u64 {
        self.unreachable
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.inward.queue().closed = true;
        let mut queue = self.outward.queue();
        queue.closed = true;
        self.outward.notify(queue);
    }
}

/// One direction.
#[derive(Debug)]
struct Lane {
    queue: Mutex<Queue>,
    /// The receiver's.
    waker: Waker,
}

impl Lane {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("nothing panics while it holds this lock")
    }

    /// Wakes the receiver if it waits: an eventfd is written once for each wait, not each packet.
    fn notify(&self, mut queue: MutexGuard<'_, Queue>) {
        let wake = queue.waiting && (queue.len > 0 || queue.closed);
        queue.waiting &= !wake;
        drop(queue);
        if wake {
            self.waker.wake();
        }
    }
}

/// A ring of packets, each in a place of its own.
#[derive(Debug)]
struct Queue {
    arena: Box<[u8]>,
    stride_bytes: usize,
    slots: Box<[Slot]>,
    first: usize,
    len: usize,
    dropped: u32,
    waiting: bool,
    closed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    len_bytes: usize,
    ecn: Ecn,
    dropped: u32,
}

impl Queue {
    fn new(capacity_packets: usize, packet_bytes_max: usize) -> Self {
        Self {
            arena: vec![0; capacity_packets * packet_bytes_max].into_boxed_slice(),
            stride_bytes: packet_bytes_max,
            slots: vec![Slot::default(); capacity_packets].into_boxed_slice(),
            first: 0,
            len: 0,
            dropped: 0,
            waiting: false,
            closed: false,
        }
    }

    fn push(&mut self, packet: &Outgoing<'_>) {
        if self.len == self.slots.len() {
            self.dropped = self.dropped.wrapping_add(1);
            return;
        }
        let index = (self.first + self.len) % self.slots.len();
        let offset = index * self.stride_bytes;
        let len_bytes = packet.gather(&mut self.arena[offset..offset + self.stride_bytes]);
        self.slots[index] = Slot { len_bytes, ecn: packet.ecn, dropped: self.dropped };
        self.len += 1;
    }

    /// Moves the oldest packet to the end of `batch`; false when there is none or no room.
    fn pop_into(&mut self, batch: &mut Batch, peer: SocketAddr) -> bool {
        if self.len == 0 {
            return false;
        }
        let slot = self.slots[self.first];
        let offset = self.first * self.stride_bytes;
        if slot.len_bytes > batch.packet_bytes_max() {
            self.dropped = self.dropped.wrapping_add(1);
        } else {
            let dropped = Some(slot.dropped);
            let meta = Meta { peer, ecn: slot.ecn, dropped, packets_per_drop: 1 };
            if batch.push(&self.arena[offset..offset + slot.len_bytes], meta).is_err() {
                return false;
            }
        }
        self.first = (self.first + 1) % self.slots.len();
        self.len -= 1;
        true
    }
}

fn system(
    operation: &'static str,
    address: SocketAddr,
) -> impl FnOnce(std::io::Error) -> LinkError {
    move |source| LinkError::System { operation, address, source }
}

/// Addresses of this host: no packet leaves for them by mistake. A port that looks up the route to
/// one finds none whose MTU limits it.
const FIRST: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
/// See [`FIRST`].
const SECOND: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 2);

#[cfg(test)]
mod tests {
    use super::*;

    fn received(link: &mut Memory) -> Vec<(Vec<u8>, Meta)> {
        let mut batch = Batch::new(16, 64);
        link.recv(&mut batch).unwrap();
        batch.iter().map(|(bytes, meta)| (bytes.to_vec(), *meta)).collect()
    }

    fn numbered(count: u8) -> Vec<[u8; 1]> {
        (0..count).map(|n| [n]).collect()
    }

    #[test]
    fn full_ring_drops_the_newest_and_says_how_many() {
        let (mut a, mut b) = pair(3, 64, 1500).unwrap();
        let bytes = numbered(5);
        let packets: Vec<_> =
            bytes.iter().map(|bytes| Outgoing::whole(SECOND, Ecn::Ect0, bytes)).collect();
        assert_eq!(a.send(&packets).unwrap(), 5);
        let first = received(&mut b);
        assert_eq!(first.len(), 3);
        assert_eq!(first[2].0, [2]);
        assert_eq!(first[2].1.dropped, Some(0));
        a.send(&packets[4..]).unwrap();
        let later = received(&mut b);
        assert_eq!((later[0].0[0], later[0].1.dropped), (4, Some(2)));
    }

    #[test]
    fn other_end_gone_is_reported_after_its_last_packet() {
        let (mut a, mut b) = pair(3, 64, 1500).unwrap();
        a.send(&[Outgoing::whole(SECOND, Ecn::NotEct, b"last")]).unwrap();
        drop(a);
        assert_eq!(received(&mut b).len(), 1);
        let mut batch = Batch::new(1, 64);
        assert!(matches!(b.recv(&mut batch), Err(LinkError::Disconnected)));
        let send = b.send(&[Outgoing::whole(FIRST, Ecn::NotEct, b"x")]);
        assert!(matches!(send, Err(LinkError::Disconnected)));
        b.wait(Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn packet_for_somebody_else_is_lost_and_counted() {
        let (mut a, mut b) = pair(3, 64, 1500).unwrap();
        a.send(&[Outgoing::whole(FIRST, Ecn::NotEct, b"x")]).unwrap();
        assert!(received(&mut b).is_empty());
        assert_eq!(a.unreachable_hint(), 1);
    }

    #[test]
    fn packet_longer_than_the_batch_was_made_for_is_dropped_and_counted() {
        let (mut a, mut b) = pair(3, 64, 1500).unwrap();
        let mut batch = Batch::new(4, 8);
        a.send(&[Outgoing::whole(SECOND, Ecn::NotEct, &[0; 9])]).unwrap();
        b.recv(&mut batch).unwrap();
        assert!(batch.is_empty());
        a.send(&[Outgoing::whole(SECOND, Ecn::NotEct, &[0; 8])]).unwrap();
        b.recv(&mut batch).unwrap();
        assert_eq!(batch.get(0).unwrap().1.dropped, Some(1));
    }
}
