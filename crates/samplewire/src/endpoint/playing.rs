//! The played stream of a listening endpoint: its sessions, one after another, over the same
//! quanta.

use std::net::SocketAddr;
use std::sync::Arc;

use samplewire_circuit::Pool;
use samplewire_io::{Clock, Link, LinkError, Meta};
use samplewire_proto::receiver::{Delivery, ReceiverConfig};
use samplewire_proto::session::{EndView, OpenRequest, StreamTerms};
use samplewire_proto::wire::{CloseAckReason, Header, Packet, WireError};
use samplewire_proto::{Nanos, SampleIndex, Tag};

use super::sending::{FIRST_WORD_PATIENCE, first_word_by};
use super::streams::Announced;
use super::view::Machine;
use crate::device::{Arrived, Offer, RTT_INITIAL, ReceiveListenerShared};
use crate::info::DeviceInfo;
use crate::port::{LINGER_MAX, PACKET_OVERHEAD_BYTES, PortCounts};
use crate::receiver::{FlowParts, ReceiveFlow};
use crate::wakeups::WakeHandle;

/// The played stream of a port.
pub(crate) struct Playing {
    pub(super) parts: PlayingParts,
    stream: Option<Stream>,
    /// Streams that are over, but whose programs have not taken everything: no more than the program
    /// holds. One of them may have a program that has everything, and a sender that may repeat its CLOSE.
    lingering: Vec<Stream>,
    sessions: u64,
    next_index: SampleIndex,
    /// When the program was found to be gone.
    stopped_at: Option<Nanos>,
}

/// What a played stream is made of.
pub(crate) struct PlayingParts {
    pub(crate) clock: Clock,
    pub(crate) wake_handle: WakeHandle,
    pub(crate) offer: Offer,
    pub(crate) pool: Pool,
    /// The run of the device.
    pub(crate) boot_id: u64,
    /// How far ahead a stream may start and its index may jump, in samples.
    pub(crate) jump_max: u64,
    /// How long samples may wait for their quantum to fill.
    pub(crate) hold_max: Nanos,
    pub(crate) shared: Arc<ReceiveListenerShared>,
    pub(crate) arrivals: rtrb::Producer<Arrived>,
}

/// An open stream.
struct Stream {
    flow: ReceiveFlow,
    tag: Tag,
    peer_tag: Tag,
    opened_at: Nanos,
    /// Passed to the program once the sender has sent a packet.
    arrived: Option<Arrived>,
}

impl Stream {
    /// Whether a packet of its sender names it.
    fn is_named(&self, header: &Header, packet: &Packet<'_>) -> bool {
        match packet {
            // It carries no tag of this end (`docs/protocol.md#7.6`).
            Packet::CloseAck(ack) if ack.reason == CloseAckReason::UnknownTag => {
                ack.echoed_tag == self.peer_tag
            }
            _ => header.tag == self.tag,
        }
    }

    /// Whether no work is left for a stream that is over.
    fn is_done(&self) -> bool {
        self.flow.is_over() || self.flow.is_abandoned() && !self.flow.lingers()
    }
}

impl Playing {
    pub(crate) const fn new(parts: PlayingParts) -> Self {
        Self {
            parts,
            stream: None,
            lingering: vec![],
            sessions: 0,
            next_index: 0,
            stopped_at: None,
        }
    }

    /// Begins a stream that the listener has accepted, and ends an open one.
    pub(super) fn begin(
        &mut self,
        now: Nanos,
        request: &OpenRequest,
        peer: SocketAddr,
        params: &StreamTerms,
        tag: Tag,
        link: &mut dyn Link,
    ) {
        self.end(now, link);
        let terms = params.at(EndView {
            local_tag: tag,
            peer_tag: request.peer_tag,
            is_opener: false,
            window: self.parts.offer.window.min(request.window.max(1)),
            ranges_max: request.ranges_max,
            rtt: RTT_INITIAL,
        });
        let payload_bytes = usize::from(params.payload_bytes);
        link.make_room(terms.window, payload_bytes + PACKET_OVERHEAD_BYTES);
        let parts = FlowParts {
            peer,
            clock: self.parts.clock,
            terms,
            config: config_of(request).with_jump_max(self.parts.jump_max),
            pool: self.parts.pool.clone(),
            quantum_packets: self.parts.offer.quantum_packets_at(payload_bytes),
            frame_bytes: self.parts.offer.frame_bytes,
            hold_max: self.parts.hold_max,
            wake_handle: self.parts.wake_handle.clone(),
        };
        let built = parts.build(now);
        let (flow, mut block_queue) = built
            .expect("the offer was checked when it was made, and the index when it was chosen");
        self.sessions += 1;
        let info = DeviceInfo {
            boot_id: self.parts.boot_id,
            path_mtu_bytes: request.len_in.saturating_add(request.peer.ip_overhead()),
            ..DeviceInfo::of_terms(peer, params).expect("the offer is of a format of this version")
        };
        block_queue.memory_bytes += self.parts.pool.memory_bytes();
        let (id, underflow) = (self.sessions, request.underflow);
        let arrived = Arrived { id, underflow, info, block_queue };
        let peer_tag = request.peer_tag;
        self.stream = Some(Stream { flow, tag, peer_tag, opened_at: now, arrived: Some(arrived) });
    }

    pub(super) const fn next_index(&self) -> SampleIndex {
        self.next_index
    }

    /// The latest index at which a stream may begin, if the clock is at `clock_index`
    /// (`docs/protocol.md#6.10`).
    pub(super) fn latest_start(&self, clock_index: Option<SampleIndex>) -> SampleIndex {
        clock_index.unwrap_or(self.next_index).saturating_add(self.parts.jump_max)
    }

    /// Sets the current index of the sample clock.
    pub(super) fn set_clock(&mut self, index: SampleIndex) {
        if let Some(stream) = &mut self.stream {
            stream.flow.receiver.set_clock(index);
        }
    }

    /// Processes a packet, valid or not; `false` if it is not of a played stream.
    pub(super) fn handle(
        &mut self,
        now: Nanos,
        meta: &Meta,
        parsed: &Result<(Header, Packet<'_>), WireError>,
    ) -> bool {
        // The listener answers the sender of a stream that another took over.
        let lingering = self.lingering.iter_mut().filter(|it| !it.flow.has_broken_off());
        let streams = self.stream.iter_mut().chain(lingering);
        let mut streams = streams.filter(|it| it.flow.peer() == meta.peer);
        let stream = match parsed {
            // The listener answers it.
            Ok((_, Packet::Open(_))) | Err(WireError::Version(_)) => None,
            Ok((header, packet)) => streams.find(|it| it.is_named(header, packet)),
            // Of the open stream, if there is one.
            Err(_) => streams.next(),
        };
        let Some(Stream { flow, .. }) = stream else { return false };
        flow.note_drops(meta);
        match parsed {
            Ok((header, packet)) => return flow.handle(now, header, packet, meta.ecn),
            Err(WireError::Crc) => flow.snapshot.corrupted += 1,
            Err(_) => flow.snapshot.foreign += 1,
        }
        true
    }

    /// The open stream and those that linger.
    fn streams_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.stream.iter_mut().chain(&mut self.lingering)
    }

    /// The tag of the open stream.
    pub(super) fn open_tag(&self) -> Option<Tag> {
        self.stream.as_ref().map(|stream| stream.tag)
    }

    /// The machines of the open stream and of those that linger, each with its tag.
    pub(super) fn machines(&self) -> impl Iterator<Item = (Tag, Machine<'_>)> {
        let streams = self.stream.iter().chain(&self.lingering);
        streams.map(|it| (it.tag, Machine::Receiving(&it.flow.receiver)))
    }

    /// Whether so many packets have come since the last visit that more are likely to follow.
    pub(super) fn is_crowded(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.flow.is_crowded())
    }

    /// How long the open stream has waited for its sender's first packet; `None` after it.
    pub(super) fn waits_for_sender(&self, now: Nanos) -> Option<Nanos> {
        let stream = self.stream.as_ref().filter(|stream| !stream.flow.receiver.is_heard())?;
        Some(now.since(stream.opened_at))
    }

    /// The open stream, once its sender has sent a packet.
    pub(super) fn announced(&self) -> Option<Announced> {
        let stream = self.stream.as_ref().filter(|stream| stream.arrived.is_none())?;
        Some(Announced { tag: stream.tag, peer: stream.flow.peer() })
    }

    /// Passes a stream to the program once its sender has sent a packet and the ring has room;
    /// returns whether it did.
    pub(super) fn announce(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        if !stream.flow.receiver.is_heard() {
            return false;
        }
        let Some(arrived) = stream.arrived.take() else { return false };
        if let Err(rtrb::PushError::Full(arrived)) = self.parts.arrivals.push(arrived) {
            stream.arrived = Some(arrived);
            return false;
        }
        self.parts.shared.ring();
        true
    }

    /// Checks whether the program has released the stream; returns `true` once.
    pub(super) fn note_stop(&mut self, now: Nanos) -> bool {
        let is_new = self.stopped_at.is_none() && self.parts.shared.is_stopped();
        if is_new {
            self.stopped_at = Some(now);
        }
        is_new
    }

    /// Does the pending work. Returns the tags of streams that have ended: one whose sender did not
    /// send a packet in time, and the open one.
    pub(super) fn visit(
        &mut self,
        now: Nanos,
        counts: &PortCounts,
        link: &mut dyn Link,
    ) -> Result<[Option<Tag>; 2], LinkError> {
        if let Some(stream) = &mut self.stream {
            stream.flow.snapshot.note_port(counts);
        }
        let is_late = self.waits_for_sender(now).is_some_and(|it| it > FIRST_WORD_PATIENCE);
        let forgotten = if is_late { self.end(now, link) } else { None };
        Ok([forgotten, self.advance(now, link)?])
    }

    fn advance(&mut self, now: Nanos, link: &mut dyn Link) -> Result<Option<Tag>, LinkError> {
        let is_stopped = self.parts.shared.is_stopped();
        for Stream { flow, .. } in &mut self.lingering {
            flow.advance(now, link, None)?;
            self.next_index = self.next_index.max(flow.next_index());
        }
        self.lingering.retain(|it| !it.is_done());
        let Some(stream) = &mut self.stream else { return Ok(None) };
        if is_stopped {
            stream.flow.receiver.cancel(now);
        }
        stream.flow.advance(now, link, None)?;
        if stream.flow.is_publishing(now, true) {
            stream.flow.publish(now);
        }
        if stream.flow.lingers() && stream.arrived.is_none() {
            stream.flow.publish(now);
            return Ok(self.linger());
        }
        // If the program does not know of a stream, it cannot take its samples.
        let is_over = stream.flow.is_over()
            || (stream.arrived.is_some() || is_stopped) && stream.flow.receiver.is_ended();
        Ok(if is_over { self.end(now, link) } else { None })
    }

    /// Lets the open stream linger, in place of one whose program has everything.
    fn linger(&mut self) -> Option<Tag> {
        let stream = self.stream.take()?;
        let tag = stream.tag;
        self.next_index = self.next_index.max(stream.flow.next_index());
        self.lingering.retain(|it| !it.flow.lingers());
        self.lingering.push(stream);
        Some(tag)
    }

    /// Ends the open stream; the program still gets all samples that are in order.
    pub(super) fn end(&mut self, now: Nanos, link: &mut dyn Link) -> Option<Tag> {
        let stream = self.stream.as_mut()?;
        stream.flow.receiver.replaced();
        // The next turn finds an error of the link.
        let _failed = stream.flow.advance(now, link, None).is_err();
        stream.flow.publish(now);
        if stream.arrived.is_none() && !stream.is_done() {
            // Its program is behind.
            return self.linger();
        }
        self.next_index = self.next_index.max(stream.flow.next_index());
        self.stream.take().map(|stream| stream.tag)
    }

    /// Records why the port failed.
    pub(super) fn fail(&mut self, error: &LinkError) {
        self.parts.shared.fail(error);
        for stream in self.stream.iter_mut().chain(&mut self.lingering) {
            stream.flow.fail(Some(error.duplicate()));
        }
    }

    /// Whether the program is gone, and the sender knows the end or has not answered for long
    /// enough.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        let is_open = self.stream.is_some() || !self.lingering.is_empty();
        self.stopped_at.is_some_and(|since| !is_open || now.since(since) > LINGER_MAX)
    }

    /// Whether no program accepts another stream.
    pub(super) fn is_closed(&self) -> bool {
        self.parts.shared.is_closed()
    }

    /// For a thread that never sleeps: the time until which a turn has no work without packets.
    pub(super) fn spins_until(&mut self, now: Nanos) -> Nanos {
        let until = self.streams_mut().map(|it| it.flow.spins_until(now)).min();
        until.unwrap_or(now + SPIN_MAX)
    }

    /// The time until which there is no work without packets; `None` if there is work at once.
    pub(super) fn wakes_at(&mut self, now: Nanos) -> Option<Nanos> {
        let first_word = self.waits_for_sender(now).map(|waited| first_word_by(now, waited));
        let mut until = first_word.unwrap_or(now + SLEEP_MAX).min(now + SLEEP_MAX);
        for Stream { flow, .. } in self.streams_mut() {
            until = until.min(flow.wakes_at(now)?);
        }
        Some(until)
    }
}

/// The delivery that the opener requested; a delivery of a later version counts as complete.
fn config_of(request: &OpenRequest) -> ReceiverConfig {
    let delivery = match request.delivery {
        1 => Delivery::Deadline(Nanos(u64::from(request.deadline_us) * 1_000)),
        2 => Delivery::BestEffort,
        _ => Delivery::Complete,
    };
    ReceiverConfig::new().with_delivery(delivery).unwrap_or_default()
}

const SLEEP_MAX: Nanos = Nanos::from_millis(100);

/// For a thread that never sleeps: the interval between checks whether the program is gone, while
/// no stream is open.
const SPIN_MAX: Nanos = Nanos::from_millis(2);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use samplewire_circuit::PoolConfig;
    use samplewire_io::memory::{self, Memory};
    use samplewire_io::{Batch, Ecn, Waker};
    use samplewire_proto::crc;
    use samplewire_proto::sender::{
        CONTROL_BYTES, NewPacket, SendSlot, Sender, SenderConfig, Transmit,
    };
    use samplewire_proto::session::OpenConfig;
    use samplewire_proto::stream::{End, Terms};
    use samplewire_proto::wire::{self, CloseAck, Flags, PacketType, Role};
    use samplewire_proto::{Departure, Seq};

    use super::*;
    use crate::device::Claim;
    use crate::endpoint::filtering::{Filtering, Seen};
    use crate::endpoint::tests::request;
    use crate::error::ReceiveError;
    use crate::format::Format;
    use crate::receiver::ReceiveStream;
    use crate::wakeups::Wakeups;
    use crate::{DeviceOptions, Granted, StreamInfo, driver};

    const WINDOW: u32 = 16;
    const TAG: Tag = Tag(0x10);
    const NOW: Nanos = Nanos::from_millis(1_000);

    /// A played stream that a host has opened, without a thread or a socket.
    struct Rig {
        playing: Playing,
        link: Filtering,
        seen: Arc<Seen>,
        far: Memory,
        /// The program's hold on the device, until it is gone.
        claim: Option<Arc<Claim>>,
        pool_bytes: usize,
        arrivals: rtrb::Consumer<Arrived>,
        request: OpenRequest,
        /// Those of the first stream, as its sender has them.
        terms: Terms,
    }

    impl Rig {
        fn new() -> Self {
            Self::with(32)
        }

        fn with(quanta: usize) -> Self {
            let (near, far) = memory::pair(64, 2_000, 2_000).unwrap();
            let (mut link, seen) = Filtering::new(near);
            let wakeups = Wakeups::new(1, Waker::new().unwrap(), Duration::ZERO);
            let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
            let options = DeviceOptions::new().window(WINDOW).payload_bytes(1_024);
            let offer = Offer::new(&info, &options, 1_500, Duration::ZERO).unwrap();
            let pool = Pool::new(PoolConfig::new(quanta, offer.quantum_bytes())).unwrap();
            let pool_bytes = pool.memory_bytes();
            let shared = Arc::new(ReceiveListenerShared::new(wakeups.wake_handle(0)));
            let claim = Some(Claim::new(Arc::clone(&shared)));
            let (arrived, arrivals) = rtrb::RingBuffer::new(4);
            let (clock, handle) = (Clock::start(1), wakeups.wake_handle(0));
            let mut playing = Playing::new(PlayingParts {
                clock,
                wake_handle: handle,
                offer,
                pool,
                boot_id: 1,
                jump_max: 0,
                hold_max: Nanos(0),
                shared,
                arrivals: arrived,
            });
            let peer = far.local_addr();
            let request = request(OpenConfig::new(Role::Send, 0, 1), peer);
            let params = playing.parts.offer.params(&request, false, 0, 1, None).unwrap();
            playing.begin(NOW, &request, peer, &params, TAG, &mut link);
            let terms = params.at(EndView {
                local_tag: request.peer_tag,
                peer_tag: TAG,
                is_opener: true,
                window: WINDOW,
                ranges_max: params.ranges_max,
                rtt: RTT_INITIAL,
            });
            Self { playing, link, seen, far, claim, pool_bytes, arrivals, request, terms }
        }

        /// Another stream of the same peer takes over.
        fn take_over(&mut self, now: Nanos, tag: Tag) {
            let params = self.playing.parts.offer.params(&self.request, false, 0, 1, None).unwrap();
            let peer = self.far.local_addr();
            self.playing.begin(now, &self.request, peer, &params, tag, &mut self.link);
        }

        /// A packet comes, or what does not parse; returns whether it is of a played stream.
        fn come(
            &mut self,
            peer: SocketAddr,
            parsed: &Result<(Header, Packet<'_>), WireError>,
        ) -> bool {
            let meta = Meta { peer, ecn: Ecn::NotEct, dropped: None, packets_per_drop: 1 };
            self.playing.handle(NOW, &meta, parsed)
        }

        fn visit(&mut self, now: Nanos) {
            self.playing.announce();
            self.playing.visit(now, &PortCounts::default(), &mut self.link).unwrap();
        }
    }

    #[test]
    fn stream_counts_damaged_packets_of_its_sender_apart_from_what_is_no_packet() {
        let mut rig = Rig::new();
        let sender = rig.far.local_addr();
        for error in [WireError::Crc, WireError::TooShort { len: 3 }, WireError::Crc] {
            assert!(rig.come(sender, &Err(error)));
        }
        assert!(!rig.come(sender, &Err(WireError::Version(9))), "the listener answers it");
        assert!(!rig.come("127.0.0.1:9".parse().unwrap(), &Err(WireError::Crc)));
        let snapshot = &rig.playing.stream.as_ref().expect("it is open").flow.snapshot;
        assert_eq!((snapshot.corrupted, snapshot.foreign), (2, 1));
    }

    #[test]
    fn packet_is_counted_at_the_stream_that_it_names_alone() {
        let mut rig = Rig::new();
        rig.playing.linger();
        rig.take_over(NOW, Tag(0x20));
        let sender = rig.far.local_addr();
        let mut comes = |tag| {
            let (mut close, kind) = ([0; 64], PacketType::CloseAck);
            let (flags, departure) = (Flags::NONE, Departure(0));
            let header = Header { kind, flags, tag, index: 0, seq: Seq(0), departure };
            let ack = CloseAck { reason: CloseAckReason::Done, echoed_tag: tag, source_lost: 0 };
            let len = ack.emit(&header, &mut close);
            rig.come(sender, &wire::parse(&close[..len]))
        };
        assert_eq!([TAG, Tag(0x20), Tag(0x30)].map(&mut comes), [true, true, false]);
        assert!(rig.come(sender, &Err(WireError::Crc)));
        let counts = rig.playing.streams_mut().map(|Stream { flow, .. }| {
            let stats = flow.receiver.stats();
            (stats.unexpected, stats.foreign, flow.snapshot.corrupted)
        });
        assert_eq!(counts.collect::<Vec<_>>(), [(1, 0, 1), (1, 0, 0)]);
    }

    #[test]
    fn program_that_is_behind_gets_the_end_of_a_stream_that_another_takes_over() {
        let mut rig = Rig::with(512);
        let slots = vec![SendSlot::default(); WINDOW as usize];
        let mut sender = Sender::new(rig.terms, SenderConfig::default(), slots, NOW).unwrap();
        let payload = [0x5a; 1_024];
        let (mut now, mut batch, mut control) = (NOW, Batch::new(64, 2_000), [0; CONTROL_BYTES]);
        let (peer, mut last) = (rig.far.local_addr(), vec![]);
        let meta = Meta { peer, ecn: Ecn::NotEct, dropped: None, packets_per_drop: 1 };
        // More blocks than a stream has room for while its program takes none.
        while now < NOW + Nanos::from_millis(1_000) {
            now = now + Nanos::from_millis(2);
            if sender.is_reported() && sender.free_slots() > 0 {
                let packet = NewPacket {
                    index: sender.next_index(),
                    flags: Flags::NONE,
                    burst_samples: 0,
                    len_bytes: 1_024,
                    payload_crc: crc::crc32c(&payload),
                };
                sender.push(packet).expect("there is room");
            }
            sender.handle_timeout(now);
            while let Some(transmit) = sender.poll_transmit(now, &mut control) {
                let bytes = match transmit {
                    Transmit::Data(data) => [data.head(), &payload, &data.trailer].concat(),
                    Transmit::Control { len_bytes } => control[..len_bytes].to_vec(),
                };
                assert!(rig.playing.handle(now, &meta, &wire::parse(&bytes)));
                last = bytes;
            }
            rig.visit(now);
            rig.far.recv(&mut batch).unwrap();
            for (bytes, _) in &batch {
                let (header, packet) = wire::parse(bytes).unwrap();
                sender.handle(now, &header, &packet);
            }
        }
        let open = rig.playing.stream.as_ref().expect("it is open");
        let samples = open.flow.receiver.stats().received * u64::from(rig.terms.packet_samples);
        rig.take_over(now, Tag(0x20));
        assert!(!rig.playing.handle(now, &meta, &wire::parse(&last)), "the listener answers it");
        let Arrived { info, block_queue, .. } = rig.arrivals.pop().expect("it was announced");
        let port = driver::Port {
            capabilities: rig.link.capabilities(),
            local: rig.link.local_addr(),
            granted: Granted::default(),
            drive: Arc::new(driver::Drive::Stepped),
        };
        let mut stream = ReceiveStream::of_flow(info, block_queue, port, None);
        let mut taken = 0;
        let error = loop {
            now = now + Nanos::from_millis(1);
            rig.visit(now);
            match stream.next_within(Duration::ZERO) {
                Ok(block) => taken += block.map_or(0, |it| it.len() as u64),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ReceiveError::Broken(End::PeerRestarted)), "{error}");
        assert_eq!(taken, samples);
        assert!(rig.playing.lingering.is_empty());
    }

    #[test]
    fn link_makes_room_for_a_window_of_the_longest_packets() {
        // A head of 64 bytes at most, and a CRC of 4.
        assert_eq!(Rig::new().seen.room(), [(WINDOW, 64 + 1_024 + 4)]);
    }

    #[test]
    fn memory_of_a_stream_contains_the_pool_once() {
        let own = [16, 64].map(|quanta| {
            let rig = Rig::with(quanta);
            let arrived = rig.playing.stream.and_then(|it| it.arrived).expect("it waits");
            arrived.block_queue.memory_bytes - rig.pool_bytes
        });
        assert_eq!(own[0], own[1]);
    }

    /// With the program gone, the port stays for a stream whose sender may not know the end yet.
    #[test]
    fn port_without_a_program_is_over_when_its_streams_are_or_after_a_while() {
        for lingers in [false, true] {
            let mut rig = Rig::new();
            let (playing, long_after) = (&mut rig.playing, NOW + LINGER_MAX);
            assert!(!playing.note_stop(NOW) && !playing.is_over(long_after), "it has a program");
            if lingers {
                playing.linger();
            }
            rig.claim = None;
            assert!(playing.note_stop(NOW));
            assert!(!playing.is_over(long_after));
            assert!(playing.is_over(long_after + Nanos(1)), "the sender does not answer");
            playing.end(NOW, &mut rig.link);
            playing.lingering.clear();
            assert!(playing.is_over(NOW));
        }
    }
}
