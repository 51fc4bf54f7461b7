//! What this host drops of a stream before its socket: at the network card, and in the kernel.
//!
//! Counters are read when the stream opens, at gaps and at the end. None of this is on the path of
//! packets.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Instant;

use samplewire::{Carriage, DeviceInfo};
use samplewire_io::HostDropCounts;
use samplewire_io::kfree::{Dropped, KernelDrops};
use samplewire_io::nic_counts::{Flow, FlowDrops, NicCounts};
use samplewire_proto::wire::{HEADER_LEN, TRAILER_LEN};
use samplewire_record::sigmf::HostDrops;

use crate::host::{HostHints, KernelCount, NicCount};

/// Counts what this host drops of a stream.
#[derive(Debug)]
pub(crate) struct HostWatch {
    /// Or why the kernel's drops are not counted.
    kernel: Result<KernelDrops, String>,
    followed: Option<Followed>,
}

/// The stream that is counted.
#[derive(Debug)]
struct Followed {
    peer: SocketAddr,
    hints: HostHints,
    shape: Shape,
    nic: NicWatch,
    /// What the kernel had dropped when the last gap was found, in all and without a reason. Later
    /// drops are in no gap.
    kernel: (Dropped, Dropped),
}

/// The form of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    packet_samples: u64,
    payload_bytes: u64,
    frame_bytes: u64,
    /// Payload of a second.
    rate_bytes: u64,
    is_ipv4: bool,
    /// Packets go through the card's queues to a socket.
    has_socket: bool,
}

/// Counters of the interface, read again no sooner than that costs little.
#[derive(Debug)]
struct NicWatch {
    interface: Option<String>,
    before: Option<NicCounts>,
    drops: FlowDrops,
    /// Frames that found the ring of a veth pair full, or that the other end dropped.
    ring: u64,
    due: Instant,
}

impl HostWatch {
    /// Prepares to count. That takes some milliseconds, so it is best done before a stream opens.
    pub(crate) fn new() -> Self {
        let why = |error: std::io::Error| match error.kind() {
            ErrorKind::PermissionDenied => "needs CAP_BPF and CAP_PERFMON".to_owned(),
            _ => error.to_string(),
        };
        Self { kernel: KernelDrops::attach().map_err(why), followed: None }
    }

    /// Counts for streams that were opened at a local address, or were opened again. `device` is the
    /// RDMA network card that writes the packets, if one does.
    pub(crate) fn follow<'a>(
        &mut self,
        local: SocketAddr,
        infos: impl Iterator<Item = &'a DeviceInfo>,
        device: Option<&str>,
    ) {
        let mut peers = Vec::new();
        for info in infos {
            if !peers.contains(&info.address) {
                peers.push(info.address);
            }
            if self.followed.is_none() {
                self.followed = Some(Followed::start(info, device));
            }
        }
        if let Ok(kernel) = &mut self.kernel
            && let Err(error) = kernel.follow(local.port(), &peers)
        {
            self.kernel = Err(error.to_string());
        }
    }

    /// What was dropped so far. `received` are the stream's packets, which may be some milliseconds old.
    pub(crate) fn drops(&mut self, received: u64) -> HostDrops {
        let Some(followed) = &mut self.followed else { return HostDrops::NONE };
        let now = Instant::now();
        if followed.nic.due <= now {
            let slack_bytes = followed.shape.rate_bytes / LAG_OF;
            followed.read_nic(received, slack_bytes);
            // At most 5 % of the time of the program's thread.
            followed.nic.due = now + now.elapsed() * 20;
        }
        let kernel = self.kernel.as_ref().ok().and_then(|kernel| kernel.total().ok());
        followed.kernel = kernel.unwrap_or(followed.kernel);
        followed.samples()
    }

    /// What was dropped, in packets, as it was last read.
    pub(crate) fn counts(&self) -> HostDropCounts {
        let nic = self.followed.as_ref().map(|it| &it.nic);
        let nic_dropped = nic.and_then(NicWatch::frames).unwrap_or(0);
        let kernel = self.kernel.as_ref().ok().and_then(|kernel| kernel.total().ok());
        HostDropCounts { nic_dropped, kernel_dropped: kernel.map_or(0, |it| it.0.packets) }
    }

    /// What was dropped in all, and the hints. `received` are all packets of the stream.
    pub(crate) fn finish(mut self, received: u64) -> (HostDrops, HostHints) {
        let Some(mut followed) = self.followed.take() else {
            return (HostDrops::NONE, HostHints::default());
        };
        followed.read_nic(received, 0);
        let drops = followed.samples();
        let Followed { peer, hints, nic, shape, kernel: _ } = followed;
        // Only the kernel's count separates the flows of a ring.
        let is_apart = nic.ring == 0 || self.kernel.is_ok();
        let nic_shared = !matches!(nic.drops, FlowDrops::Own(_)) || !is_apart;
        let nic = NicCount { nic_dropped: nic.frames(), nic_shared };
        let kernel = match self.kernel {
            _ if !shape.has_socket => KernelCount::default(),
            Ok(kernel) => KernelCount::of(&kernel),
            Err(why) => KernelCount { kernel_uncounted: Some(why), ..KernelCount::default() },
        };
        (drops, hints.until_now(peer).with_counts(nic, kernel))
    }
}

impl Followed {
    fn start(info: &DeviceInfo, device: Option<&str>) -> Self {
        let hints = HostHints::now(info.address).with_card(device);
        let interface = hints.interface().map(str::to_owned);
        let before = interface.as_deref().and_then(|name| NicCounts::read(name).ok());
        let drops = if before.is_some() { FlowDrops::Own(0) } else { FlowDrops::Unknown };
        let nic = NicWatch { interface, before, drops, ring: 0, due: Instant::now() };
        let kernel = Default::default();
        Self { peer: info.address, hints, shape: Shape::of(info), nic, kernel }
    }

    fn read_nic(&mut self, received: u64, slack_bytes: u64) {
        let Some(interface) = &self.nic.interface else { return };
        if !self.shape.has_socket {
            return;
        }
        let flow = self.shape.flow(received, slack_bytes);
        let backlog = self.hints.softnet_until_now();
        let now = NicCounts::read(interface).ok();
        let since = now.zip(self.nic.before.as_ref()).and_then(|(now, before)| now.since(before));
        self.nic.ring = since.as_ref().map_or(0, |it| it.ring_drops);
        self.nic.drops = since.map_or(FlowDrops::Unknown, |it| it.drops_of(&flow, backlog));
    }

    fn samples(&self) -> HostDrops {
        self.shape.drops_of(self.nic.drops, self.nic.ring, self.kernel)
    }
}

impl NicWatch {
    /// Frames dropped of all flows of the queue, where they are known.
    const fn frames(&self) -> Option<u64> {
        match self.drops {
            FlowDrops::Own(frames) | FlowDrops::AtMost(frames) => {
                Some(frames.saturating_add(self.ring))
            }
            FlowDrops::Unknown => None,
        }
    }
}

impl Shape {
    fn of(info: &DeviceInfo) -> Self {
        let frame_bytes = info.frame_bytes() as u64;
        Self {
            packet_samples: info.packet_samples.into(),
            payload_bytes: info.payload_bytes.into(),
            frame_bytes,
            rate_bytes: (info.rate_hz() * frame_bytes as f64) as u64,
            is_ipv4: info.address.ip().to_canonical().is_ipv4(),
            has_socket: info.carriage == Carriage::Data,
        }
    }

    fn flow(&self, received: u64, slack_bytes: u64) -> Flow {
        Flow {
            payload_bytes: received.saturating_mul(self.payload_bytes + AROUND_BYTES),
            header_bytes: if self.is_ipv4 { 42 } else { 62 },
            slack_bytes: slack_bytes + SESSION_BYTES,
        }
    }

    /// The drops as samples: of the card in frames, of the kernel in all and without a reason. Where the
    /// card, or the ring of a veth pair, has dropped frames, packets that the kernel dropped without a
    /// reason are these: their driver handed them back.
    fn drops_of(
        &self,
        nic: FlowDrops,
        ring: u64,
        (all, unspecified): (Dropped, Dropped),
    ) -> HostDrops {
        let samples = self.samples_of(all);
        let frames = match nic {
            FlowDrops::Own(frames) => frames,
            FlowDrops::AtMost(_) | FlowDrops::Unknown => 0,
        };
        if frames == 0 && ring == 0 {
            return HostDrops { nic: 0, kernel: samples };
        }
        let handed_back = self.samples_of(unspecified);
        let nic = match unspecified.packets >= frames - frames / OTHERS_OF {
            // Their length is known.
            true => handed_back,
            false => frames.saturating_mul(self.packet_samples),
        };
        HostDrops { nic, kernel: samples.saturating_sub(handed_back) }
    }

    /// Packets of other kinds than DATA have no samples, and hardly more bytes than a header.
    fn samples_of(&self, dropped: Dropped) -> u64 {
        let around = dropped.packets.saturating_mul(AROUND_BYTES);
        dropped.bytes.saturating_sub(around) / self.frame_bytes.max(1)
    }
}

/// Other flows may have a part in so many of the card's drops.
const OTHERS_OF: u64 = 10;

/// Header and CRC of a DATA packet.
const AROUND_BYTES: u64 = (HEADER_LEN + TRAILER_LEN) as u64;

/// Packets of the session, ARP and the like.
const SESSION_BYTES: u64 = 64 << 10;

/// A stream's counters are a part of a second old, and samples wait in its memory.
const LAG_OF: u64 = 5;

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use samplewire_testing::skip;

    use super::*;

    const SHAPE: Shape = Shape {
        packet_samples: 352,
        payload_bytes: 1_408,
        frame_bytes: 4,
        rate_bytes: 4_000_000,
        is_ipv4: true,
        has_socket: true,
    };

    #[test]
    fn dropped_payload_is_counted_in_samples() {
        let of = |packets, bytes| SHAPE.samples_of(Dropped { packets, bytes });
        assert_eq!(of(10, 10 * 1_434), 3_520);
        // A packet that is not full, and control packets.
        assert_eq!(of(11, 10 * 1_434 + 26 + 40), 3_530);
        assert_eq!(of(5, 5 * 26), 0);
        assert_eq!(of(5, 0), 0);
    }

    #[test]
    fn drop_that_card_and_kernel_count_is_the_cards_alone() {
        let dropped = |packets: u64| Dropped { packets, bytes: packets * 1_434 };
        let of = |nic, all, unspecified| {
            let drops = SHAPE.drops_of(nic, 0, (dropped(all), dropped(unspecified)));
            (drops.nic / 352, drops.kernel / 352)
        };
        assert_eq!(of(FlowDrops::Own(0), 7, 5), (0, 7), "the card dropped nothing");
        assert_eq!(of(FlowDrops::Own(5), 7, 5), (5, 2));
        assert_eq!(of(FlowDrops::Own(5), 2, 0), (5, 2), "the card's own memory was full");
        assert_eq!(of(FlowDrops::Own(110), 102, 99), (99, 3), "some were of another flow");
        assert_eq!(of(FlowDrops::Own(110), 101, 98), (110, 3));
        assert_eq!(of(FlowDrops::Own(1), 22, 20), (20, 2), "one frame of 20 packets");
        for shared in [FlowDrops::AtMost(9), FlowDrops::Unknown] {
            assert_eq!(of(shared, 7, 5), (0, 7));
        }
        let marks = Dropped { packets: 3, bytes: 3 * 26 };
        assert_eq!(SHAPE.drops_of(FlowDrops::Own(3), 0, (marks, marks)), HostDrops::NONE);
        let drops = SHAPE.drops_of(FlowDrops::Own(u64::MAX), 0, (marks, marks));
        assert_eq!(drops, HostDrops { nic: u64::MAX, kernel: 0 });
    }

    #[test]
    fn ring_that_was_full_has_the_drops_without_a_reason_whoever_shares_it() {
        let dropped = |packets: u64| Dropped { packets, bytes: packets * 1_434 };
        for nic in [FlowDrops::Own(0), FlowDrops::AtMost(9)] {
            let drops = SHAPE.drops_of(nic, 900, (dropped(7), dropped(5)));
            assert_eq!(drops, HostDrops { nic: 5 * 352, kernel: 2 * 352 });
            // The other end's host has dropped them, before the ring.
            let drops = SHAPE.drops_of(nic, 900, (dropped(0), dropped(0)));
            assert_eq!(drops, HostDrops::NONE);
        }
    }

    #[test]
    fn payload_that_the_card_passed_is_that_of_all_packets() {
        let flow = SHAPE.flow(1_000, 7);
        assert_eq!((flow.payload_bytes, flow.header_bytes), (1_434_000, 42));
        assert_eq!(flow.slack_bytes, 7 + (64 << 10));
        assert_eq!(Shape { is_ipv4: false, ..SHAPE }.flow(0, 0).header_bytes, 62);
    }

    #[test]
    fn drops_behind_the_last_gap_are_in_no_gap() {
        let mut kernel = match KernelDrops::attach() {
            Ok(kernel) => kernel,
            Err(error) => {
                return skip(format_args!("drops of the kernel are not counted: {error}"));
            }
        };
        let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let device = UdpSocket::bind("127.0.0.1:0").unwrap();
        let peer = device.local_addr().unwrap();
        kernel.follow(closed.port(), &[peer]).unwrap();
        let (hints, drops) = (HostHints::now(peer), FlowDrops::Own(0));
        let nic = NicWatch { interface: None, before: None, drops, ring: 0, due: Instant::now() };
        let followed = Followed { peer, hints, shape: SHAPE, nic, kernel: Default::default() };
        let mut watch = HostWatch { kernel: Ok(kernel), followed: Some(followed) };
        let drop_packets = |count: usize| {
            for _ in 0..count {
                assert_eq!(device.send_to(&[7; 1_434], closed).unwrap(), 1_434);
            }
        };
        drop_packets(3);
        let expected = HostDrops { nic: 0, kernel: 3 * 352 };
        assert_eq!(watch.drops(0), expected);
        drop_packets(5);
        let (drops, hints) = watch.finish(0);
        assert_eq!(drops, expected);
        assert_eq!(hints.kernel_words().as_deref(), Some("NO_SOCKET 8 packets"));
    }

    #[test]
    fn watch_without_a_stream_counts_nothing() {
        let (drops, hints) = HostWatch::new().finish(1_000);
        assert_eq!((drops, hints), (HostDrops::NONE, HostHints::default()));
    }
}
