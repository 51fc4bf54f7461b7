//! Frames that a network card or its driver dropped, and how many of them one flow lost.
//!
//! A card counts the drops of all its flows together. They are one flow's own only where no other flow
//! used the queue meanwhile: what the queue received is compared with what the flow received.

mod names;

use std::io;

use crate::ethtool;
use crate::netlink::link::{RingFull, interface_named, link_counts};
use crate::netlink::netdev::{self, Queue};

pub use names::queues_of;

/// Counts of an interface, from its start or between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NicCounts {
    /// Frames received, of all queues.
    pub frames: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Frames dropped that the driver does not count by queue: the card had no room for them.
    pub shared_drops: u64,
    /// Frames that the other end of a veth pair dropped: the ring was full, or its own host had
    /// dropped them before. No count of a flow has them.
    pub ring_drops: u64,
    /// Frames that driver and kernel dropped (`rx_dropped`). Drops of queues are counted here too.
    pub driver_drops: u64,
    /// The receiving queues, where the driver counts by queue.
    pub queues: Vec<Queue>,
    /// Whether there are drops that this process may not see.
    pub is_partial: bool,
}

/// What one flow received between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Bytes of UDP payload.
    pub payload_bytes: u64,
    /// Bytes of a frame before the payload: 42 with IPv4, 62 with IPv6.
    pub header_bytes: u64,
    /// Payload that may have arrived since the flow was counted.
    pub slack_bytes: u64,
}

/// Frames of a flow that were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowDrops {
    /// So many: no other flow used the queue.
    Own(u64),
    /// Other flows used the queue too: none to so many.
    AtMost(u64),
    /// The counters began again, are of other queues than before, or may not all be seen.
    Unknown,
}

impl NicCounts {
    /// Reads the counters of an interface.
    ///
    /// # Errors
    /// `ENODEV` without it.
    pub fn read(interface: &str) -> io::Result<Self> {
        let index = interface_named(interface)?.index;
        let link = link_counts(index)?;
        let by_kernel = netdev::queues(index).unwrap_or_default();
        let by_driver = ethtool::statistics(interface).map(|fields| queues_of(&fields));
        let queues = completed(by_kernel, by_driver.unwrap_or_default());
        let ring_drops = match link.ring_full {
            RingFull::Frames(frames) => frames,
            RingFull::NoRing | RingFull::Hidden => 0,
        };
        Ok(Self {
            frames: link.frames,
            bytes: link.bytes,
            shared_drops: link.missed,
            ring_drops,
            driver_drops: link.dropped,
            queues,
            is_partial: link.ring_full == RingFull::Hidden,
        })
    }

    /// Returns what was counted since an earlier reading; `None` where a counter began again or the
    /// queues are others.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let queue = |(now, before): (&Queue, &Queue)| {
            let difference = |now: Option<u64>, before: Option<u64>| match (now, before) {
                (Some(now), Some(before)) => Some(Some(now.checked_sub(before)?)),
                (None, None) => Some(None),
                _ => None,
            };
            (now.number == before.number).then_some(())?;
            Some(Queue {
                number: now.number,
                packets: difference(now.packets, before.packets)?,
                bytes: difference(now.bytes, before.bytes)?,
                drops: difference(now.drops, before.drops)?,
            })
        };
        (self.queues.len() == earlier.queues.len()).then_some(())?;
        Some(Self {
            frames: self.frames.checked_sub(earlier.frames)?,
            bytes: self.bytes.checked_sub(earlier.bytes)?,
            shared_drops: self.shared_drops.checked_sub(earlier.shared_drops)?,
            ring_drops: self.ring_drops.checked_sub(earlier.ring_drops)?,
            driver_drops: self.driver_drops.checked_sub(earlier.driver_drops)?,
            queues: self.queues.iter().zip(&earlier.queues).map(queue).collect::<Option<_>>()?,
            is_partial: self.is_partial || earlier.is_partial,
        })
    }

    /// Returns how many of the drops between two readings were the flow's. `elsewhere` of
    /// `driver_drops` are known to be the kernel's.
    pub fn drops_of(&self, flow: &Flow, elsewhere: u64) -> FlowDrops {
        if self.is_partial {
            return FlowDrops::Unknown;
        }
        let has_queue_drops = self.queues.iter().any(|queue| queue.drops.is_some());
        // The driver's sum is of use only where no queue says more.
        let shared = match has_queue_drops {
            true => self.shared_drops,
            false => self.shared_drops.saturating_add(self.driver_drops.saturating_sub(elsewhere)),
        };
        let of_queues = |queues: &[&Queue]| -> u64 {
            queues.iter().filter_map(|queue| queue.drops).fold(shared, u64::saturating_add)
        };
        let all: Vec<&Queue> = self.queues.iter().collect();
        if of_queues(&all) == 0 || flow.is_alone(self.frames, self.bytes) {
            return FlowDrops::Own(of_queues(&all));
        }
        let may_carry = |queue: &&Queue| match (queue.packets, queue.bytes) {
            (Some(packets), Some(bytes)) => flow.may_be_in(packets, bytes),
            _ => true,
        };
        let queues: Vec<&Queue> = self.queues.iter().filter(may_carry).collect();
        match queues[..] {
            [Queue { packets: Some(packets), bytes: Some(bytes), drops: Some(drops), .. }]
                if shared == 0 && flow.is_alone(*packets, *bytes) =>
            {
                FlowDrops::Own(*drops)
            }
            _ => match of_queues(&queues) {
                0 => FlowDrops::Own(0),
                drops => FlowDrops::AtMost(drops),
            },
        }
    }
}

impl Flow {
    /// Whether other flows have less than 1 % of what was received.
    fn is_alone(&self, frames: u64, bytes: u64) -> bool {
        let own = self.payload_bytes.saturating_add(self.payload_bytes / OTHERS_OF);
        // A driver may leave frames that XDP has taken out of its counts: then others' alone are seen.
        self.may_be_in(frames, bytes)
            && self.payload_of(frames, bytes) <= own.saturating_add(self.slack_bytes)
    }

    /// Whether a queue received enough to have carried the flow.
    fn may_be_in(&self, frames: u64, bytes: u64) -> bool {
        self.payload_of(frames, bytes) >= self.payload_bytes - self.payload_bytes / LATE_OF
    }

    /// Payload in frames. It does not depend on how many packets the kernel has joined in one.
    fn payload_of(&self, frames: u64, bytes: u64) -> u64 {
        bytes.saturating_sub(frames.saturating_mul(self.header_bytes))
    }
}

/// The queues of the kernel with drops that only the driver counts; without these, the driver's.
fn completed(by_kernel: Vec<Queue>, by_driver: Vec<Queue>) -> Vec<Queue> {
    if by_kernel.is_empty() {
        return by_driver;
    }
    let complete = |mut queue: Queue| {
        let known = by_driver.iter().find(|it| it.number == queue.number);
        queue.drops = queue.drops.or(known.and_then(|it| it.drops));
        queue
    };
    by_kernel.into_iter().map(complete).collect()
}

/// Others may have a part in so many.
const OTHERS_OF: u64 = 100;
/// A driver may count a part in so many later than the flow does.
const LATE_OF: u64 = 10;

#[cfg(test)]
mod tests;
