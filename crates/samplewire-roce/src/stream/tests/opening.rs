//! The opening of a stream over RDMA, packet by packet over a wire that loses some.

use samplewire_proto::session::{
    AcceptInfo, AcceptParams, EndView, ListenConfig, ListenEvent, Listener, OpenConfig, OpenEvent,
    Opener, Peer, StreamSlot, StreamTerms,
};
use samplewire_proto::stream::Terms;
use samplewire_proto::wire::{self, HEADER_LEN, QueuePairTerms, RdmaOffer, Role, SlotRegion};
use samplewire_proto::{Nanos, Odds, Rng, SampleIndex, Seq, Tag};

use super::world::{SAMPLE_BYTES, WAY, WINDOW};
use crate::stream::Connection;
use crate::wire::Route;

/// What an opening settles: the terms and the connection of the sender, and of the receiver.
pub(super) struct Opened {
    pub(super) terms: [Terms; 2],
    pub(super) connections: [Connection; 2],
    pub(super) slots: SlotRegion,
}

/// What is to be opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub(super) seed: u64,
    /// Streams between these ends before it.
    pub(super) number: u32,
    pub(super) first_seq: Seq,
    pub(super) first_index: SampleIndex,
    pub(super) payload_bytes: u16,
    /// Whether the end that sends is the one that opens.
    pub(super) sender_opens: bool,
    pub(super) loss: f64,
}

impl Wish {
    /// Runs the opening from `now` on.
    pub(super) fn open(&self, now: Nanos) -> Opened {
        let offers = [self.offer(0), self.offer(1)];
        let (opens, answers) = if self.sender_opens { (0, 1) } else { (1, 0) };
        let (info, tag) = self.negotiate(now, offers[opens], offers[answers]);
        let theirs = info.params.rdma.expect("the listener agrees");
        let slots = offers[1].slots.expect("the receiver says its slots");
        let view = |is_opener: bool| EndView {
            local_tag: if is_opener { info.tag } else { tag },
            peer_tag: if is_opener { tag } else { info.tag },
            is_opener,
            window: WINDOW,
            ranges_max: info.params.ranges_max,
            rtt: info.rtt,
        };
        let terms = [0, 1].map(|end| info.params.at(view(end == opens)));
        let learned = |end: usize| if end == answers { theirs } else { offers[opens] };
        let connections = [0, 1].map(|end: usize| Connection {
            local: offers[end].queue_pair,
            peer: learned(1 - end).queue_pair,
            route: route(end),
        });
        if answers == 1 {
            assert_eq!(theirs.slots, Some(slots), "the sender learns where to write");
        }
        Opened { terms, connections, slots }
    }

    fn offer(&self, end: usize) -> RdmaOffer {
        let first_psn = 0xFF_FFF8 + self.seed as u32 + end as u32;
        let queue_pair = QueuePairTerms {
            qpn: 16 + 2 * self.number + end as u32,
            first_psn: first_psn & 0xFF_FFFF,
            path_mtu_bytes: if end == 0 { 256 } else { 4096 },
        };
        let slot_bytes = u32::from(self.payload_bytes).next_multiple_of(64) + 128;
        let slots = SlotRegion { address: 0x7F00_0000_1000, rkey: 0x77, slot_bytes, slots: WINDOW };
        RdmaOffer { queue_pair, slots: (end == 1).then_some(slots) }
    }

    fn negotiate(&self, now: Nanos, ours: RdmaOffer, theirs: RdmaOffer) -> (AcceptInfo, Tag) {
        let role = if self.sender_opens { Role::Send } else { Role::Receive };
        let config = OpenConfig::new(role, 0, 1).with_rdma(ours).with_first_seq(self.first_seq);
        let config = config.with_window(WINDOW).expect("in range");
        let mut opener = Opener::new(config, [self.seed as u8; 16], now);
        let slots = vec![StreamSlot::default()];
        let mut listener = Listener::new(slots, ListenConfig::new(), [1; 16], 1);
        let mut rng = Rng::stream(self.seed, 0x4F50_454E);
        let mut loses = || rng.chance(Odds::of(self.loss));
        let (mut now, mut tag) = (now, Tag::NONE);
        let mut bytes = vec![0; 9_000];
        let peer = Peer::v4([192, 0, 2, 1], 40_000);
        loop {
            while let Some(len) = opener.poll_transmit(now, &mut bytes) {
                if loses() {
                    continue;
                }
                now = now + WAY;
                listener
                    .handle(now, peer, &bytes[..len], &wire::parse(&bytes[..len]))
                    .expect("an OPEN is a packet");
                if let Some(ListenEvent::Opening { request, .. }) = listener.poll_event() {
                    assert_eq!(request.rdma, Some(ours), "the listener learns the request");
                    let terms = self.accept(theirs);
                    let accepted = listener.accept(now, &request, &terms).expect("it fits");
                    tag = accepted.expect("a stream is opened");
                }
                now = now + WAY;
                if let Some((_, len)) = listener.poll_transmit(now, &mut bytes)
                    && !loses()
                {
                    let (header, packet) = wire::parse(&bytes[..len]).expect("a packet");
                    opener.handle(now, &header, &packet, len);
                }
            }
            match opener.poll_event() {
                Some(OpenEvent::Accepted(info)) => return (info, tag),
                Some(event) => panic!("seed {}: {event:?}", self.seed),
                None => now = opener.poll_timeout().expect("it goes on").max(now),
            }
        }
    }

    fn accept(&self, offer: RdmaOffer) -> StreamTerms {
        StreamTerms::new(AcceptParams {
            streams: 1,
            first_index: self.first_index,
            first_seq: self.first_seq,
            format: 2,
            channels: 1,
            packet_samples: u32::from(self.payload_bytes) / SAMPLE_BYTES,
            payload_bytes: self.payload_bytes,
            payload_offset: HEADER_LEN as u8,
            window: WINDOW,
            dead_ms: 400,
            idle_ms: 100,
            ranges_max: 32,
            granularity_bytes: 8,
            rdma: Some(offer),
            ..AcceptParams::default()
        })
        .expect("they are in their ranges")
    }
}

/// The way of frames from an end.
fn route(end: usize) -> Route {
    let ips = [[192, 0, 2, 1], [192, 0, 2, 2]];
    Route { source_ip: ips[end], destination_ip: ips[1 - end], ttl: 64, ..Route::default() }
}
