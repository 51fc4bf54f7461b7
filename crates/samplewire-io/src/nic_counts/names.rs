//! Counters by queue among the names that drivers give to `ethtool -S`.

use crate::ethtool::Fields;
use crate::netlink::netdev::Queue;

/// Finds the receiving queues in the counters of a driver, in the order of their numbers. Known are the
/// names of veth, virtio_net, ixgbe, ice, i40e, mlx5 and ena; other names are left out.
pub fn queues_of(fields: &Fields) -> Vec<Queue> {
    let mut queues: Vec<Found> = Vec::new();
    for (name, value) in fields {
        let Some((number, counter)) = split(name) else { continue };
        let Some(counts) = Counts::of(counter) else { continue };
        let place = queues.binary_search_by_key(&number, |queue| queue.number);
        let place = place.unwrap_or_else(|place| {
            queues.insert(place, Found { number, ..Found::default() });
            place
        });
        let queue = &mut queues[place];
        let to = match counts {
            Counts::Packets => &mut queue.packets,
            Counts::Bytes => &mut queue.bytes,
            Counts::Drops => &mut queue.drops,
            Counts::XdpDrops => &mut queue.xdp_drops,
        };
        *to = Some(to.unwrap_or(0).saturating_add(*value));
    }
    queues.into_iter().map(Found::queue).collect()
}

/// The counters of a queue that were found.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    number: u32,
    packets: Option<u64>,
    bytes: Option<u64>,
    drops: Option<u64>,
    /// Some drivers count these among `drops` too.
    xdp_drops: Option<u64>,
}

impl Found {
    fn queue(self) -> Queue {
        let Self { number, packets, bytes, drops, xdp_drops } = self;
        Queue { number, packets, bytes, drops: drops.max(xdp_drops) }
    }
}

enum Counts {
    Packets,
    Bytes,
    Drops,
    XdpDrops,
}

impl Counts {
    fn of(counter: &str) -> Option<Self> {
        Some(match counter {
            // Not `xdp_packets`: others pass the queue too.
            "packets" | "cnt" => Self::Packets,
            "bytes" => Self::Bytes,
            "xdp_drops" | "xdp_drop" => Self::XdpDrops,
            "drops" | "dropped" | "alloc_fail" | "page_alloc_fail" | "skb_alloc_fail" => {
                Self::Drops
            }
            _ => return None,
        })
    }
}

/// `rx_queue_3_drops`, `rx3_packets`, `rx-3.packets`, `queue_3_rx_bytes`: the number, and the counter.
fn split(name: &str) -> Option<(u32, &str)> {
    if let Some(rest) = name.strip_prefix("queue_") {
        let (number, rest) = leading(rest)?;
        return Some((number, rest.strip_prefix("_rx_")?));
    }
    let rest = name.strip_prefix("rx")?;
    let rest = rest.strip_prefix("_queue_").or_else(|| rest.strip_prefix('-')).unwrap_or(rest);
    let (number, rest) = leading(rest)?;
    Some((number, rest.strip_prefix('_').or_else(|| rest.strip_prefix('.'))?))
}

/// The number at the begin of a text, and what follows it.
fn leading(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..len].parse().ok().filter(|&number| number < QUEUES_MAX)?;
    Some((number, &text[len..]))
}

/// More than any card has.
const QUEUES_MAX: u32 = 65_536;
