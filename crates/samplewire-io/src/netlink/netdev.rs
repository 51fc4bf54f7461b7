//! Generic netlink `netdev` (Linux 6.3 and later): features, queue and page-pool statistics of an
//! interface (`Documentation/netlink/specs/netdev.yaml`).

use std::io;

use super::message::{Attributes, Message};
use super::sys::Socket;

/// What the kernel counts and offers for an interface. Each part is `None` where the kernel or the
/// driver has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetDevice {
    /// Bits of `NETDEV_XDP_ACT_*`.
    pub xdp_features: Option<u64>,
    /// Queues that receive.
    pub receive_queues: Option<u64>,
    /// Statistics of receiving queues, summed.
    pub queues: Option<QueueStatistics>,
    /// Statistics of page pools, summed.
    pub pages: Option<PageStatistics>,
}

/// Sums over the queues of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStatistics {
    /// Packets received.
    pub packets: u64,
    /// Packets for which no memory was found.
    pub allocation_failures: u64,
    /// Packets that the card dropped.
    pub hardware_drops: u64,
}

/// Sums over the page pools of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageStatistics {
    /// Pages taken from the cache.
    pub fast: u64,
    /// Pages taken from the system.
    pub slow: u64,
}

/// Reads an interface by its index.
///
/// # Errors
/// `ENOENT` where the kernel has no such family.
pub fn net_device(index: u32) -> io::Result<NetDevice> {
    let socket = Socket::open(libc::NETLINK_GENERIC)?;
    let family = family(&socket)?;
    let mut device = NetDevice::default();
    // A kernel that has the family may not have each of its commands.
    for command in [DEVICES, QUEUES, QUEUE_STATISTICS, PAGE_STATISTICS] {
        let request = [command, 1, 0, 0];
        match socket.request(family, &request, true, |it| device.take(command, &it, index)) {
            Ok(()) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(device)
}

/// Statistics of one receiving queue. A count is `None` where the driver does not have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Its number.
    pub number: u32,
    /// Packets received.
    pub packets: Option<u64>,
    /// Bytes received.
    pub bytes: Option<u64>,
    /// Packets that the card or the driver dropped.
    pub drops: Option<u64>,
}

/// Reads each receiving queue of an interface; empty where the driver does not count by queue.
///
/// # Errors
/// See [`net_device`].
pub fn queues(index: u32) -> io::Result<Vec<Queue>> {
    let socket = Socket::open(libc::NETLINK_GENERIC)?;
    let family = family(&socket)?;
    // The interface, and the scope: a queue.
    let mut request = vec![QUEUE_STATISTICS, 1, 0, 0];
    for (kind, value) in [(1_u16, index), (4, 1)] {
        request.extend(8_u16.to_ne_bytes().into_iter().chain(kind.to_ne_bytes()));
        request.extend(value.to_ne_bytes());
    }
    let mut queues = Vec::new();
    match socket.request(family, &request, true, |it| queues.extend(Queue::of(&it, index))) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(Vec::new()),
        result => result.map(|()| queues),
    }
}

impl Queue {
    /// The statistics in a message, if they are of a receiving queue of the interface.
    pub fn of(message: &Message<'_>, index: u32) -> Option<Self> {
        let attributes = message.attributes(GENERIC_HEADER_BYTES);
        let number = |kind| attributes.get(kind).and_then(|it| it.number());
        let is_own = number(1) == Some(index.into()) && number(2) == Some(RECEIVE);
        let drops = [number(12), number(13)];
        let sum = drops.into_iter().flatten().reduce(u64::saturating_add);
        let queue = u32::try_from(number(3)?).ok()?;
        is_own.then(|| Self { number: queue, packets: number(8), bytes: number(9), drops: sum })
    }
}

impl NetDevice {
    /// Adds what a message has about an interface.
    pub fn take(&mut self, command: u8, message: &Message<'_>, index: u32) {
        let attributes = message.attributes(GENERIC_HEADER_BYTES);
        let number = |kind| attributes.get(kind).and_then(|it| it.number());
        let count = |kind| number(kind).unwrap_or(0);
        let is_of = |kind| number(kind) == Some(index.into());
        match command {
            DEVICES if is_of(1) => self.xdp_features = number(3),
            QUEUES if is_of(2) && number(3) == Some(RECEIVE) => {
                *self.receive_queues.get_or_insert_default() += 1;
            }
            QUEUE_STATISTICS if is_of(1) => {
                // Each is absent where the driver does not count it.
                let sums = self.queues.get_or_insert_default();
                sums.packets = sums.packets.saturating_add(count(8));
                sums.allocation_failures = sums.allocation_failures.saturating_add(count(12));
                sums.hardware_drops = sums.hardware_drops.saturating_add(count(13));
            }
            PAGE_STATISTICS => {
                let info = attributes.get(1).map_or(Attributes::new(&[]), |it| it.nested());
                if info.get(2).and_then(|it| it.number()) == Some(index.into()) {
                    let sums = self.pages.get_or_insert_default();
                    sums.fast = sums.fast.saturating_add(count(8));
                    sums.slow = sums.slow.saturating_add(count(9));
                }
            }
            _ => {}
        }
    }
}

/// The number of the family, from the controller.
fn family(socket: &Socket) -> io::Result<u16> {
    // CTRL_CMD_GETFAMILY with CTRL_ATTR_FAMILY_NAME.
    let mut request = vec![3, 1, 0, 0, 11, 0, 2, 0];
    request[4..6].copy_from_slice(&11_u16.to_ne_bytes());
    request[6..8].copy_from_slice(&2_u16.to_ne_bytes());
    request.extend(b"netdev\0\0");
    let mut number = None;
    socket.request(CONTROLLER, &request, false, |message| {
        number = message.attributes(GENERIC_HEADER_BYTES).get(1).and_then(|it| it.number());
    })?;
    let number = number.and_then(|number| u16::try_from(number).ok());
    number.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
}

const CONTROLLER: u16 = 16;
const GENERIC_HEADER_BYTES: usize = 4;
const RECEIVE: u64 = 0;
/// NETDEV_CMD_DEV_GET, _QUEUE_GET, _QSTATS_GET, _PAGE_POOL_STATS_GET.
const DEVICES: u8 = 1;
const QUEUES: u8 = 10;
const QUEUE_STATISTICS: u8 = 12;
const PAGE_STATISTICS: u8 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_in_the_dump_of_devices_where_the_kernel_has_one() {
        match net_device(1) {
            Ok(device) => assert!(device.xdp_features.is_some(), "{device:?}"),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "before Linux 6.3"),
        }
        let none = net_device(u32::MAX).unwrap_or_default();
        assert_eq!(none, NetDevice::default());
        assert_eq!(queues(1).unwrap_or_default(), [], "the loopback has no queues");
        assert!(queues(u32::MAX).is_err() || queues(u32::MAX).unwrap().is_empty());
    }
}
