//! The listening half of an endpoint: it answers openings, and begins the accepted streams.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use samplewire_io::{Clock, Ecn, Link, LinkError, Outgoing};
use samplewire_proto::number::INDEX_MAX;
use samplewire_proto::session::{
    AcceptParams, EndView, ListenEvent, Listener, OpenRequest, StreamSlot, StreamTerms,
};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{
    Header, Packet, RECORD_LEN, RefuseReason, Role, TRAILER_LEN, WireError,
};
use samplewire_proto::{Nanos, SampleIndex, Tag};

use super::favours::Favours;
use super::sending::{Sending, Side};
use super::station::Station;
use super::streams::{Entry, Streams};
use crate::device::{RTT_INITIAL, SampleClock};
use crate::port::{IP_BYTES_MAX, PortCounts, Route, peer_of};
use crate::transmitter::{Form, Writes};

/// A listener, with the state that accepting needs. The place of a sent stream is its number; the
/// played stream follows.
pub(crate) struct Listening {
    pub(super) listener: Listener<Box<[StreamSlot]>>,
    /// The clock of the samples, and that of the endpoint, which converts times into its instants.
    samples: Option<(SampleClock, Clock)>,
    pub(super) favours: Favours,
    answer: Box<[u8]>,
    /// The first places are sent streams.
    streams_out: usize,
}

impl Listening {
    pub(crate) fn new(
        listener: Listener<Box<[StreamSlot]>>,
        samples: Option<(SampleClock, Clock)>,
        streams_out: usize,
    ) -> Self {
        // Plus one for the played stream.
        let favours = Favours::new(streams_out + 1);
        let answer = vec![0; IP_BYTES_MAX].into();
        Self { listener, samples, favours, answer, streams_out }
    }

    /// A stream is over.
    pub(super) fn release(&mut self, tag: Tag) {
        self.listener.release(tag);
        self.favours.expire();
    }

    /// The current index by the clock of the samples, if there is one.
    pub(super) fn index_at(&self, now: Nanos) -> Option<SampleIndex> {
        self.samples.map(|(samples, clock)| samples.index_at(clock.instant_of(now)))
    }

    /// Processes a packet of no stream, and answers it. Returns the place of a sent stream that has
    /// begun.
    ///
    /// # Errors
    /// The packet is invalid, or the link has failed.
    pub(super) fn handle(
        &mut self,
        now: Nanos,
        peer: SocketAddr,
        bytes: &[u8],
        parsed: &Result<(Header, Packet<'_>), WireError>,
        context: &mut OpeningContext<'_>,
    ) -> Result<Option<usize>, LinkError> {
        match self.listener.handle(now, peer_of(peer), bytes, parsed) {
            Ok(()) => {}
            Err(WireError::Crc) => context.counts.corrupted += 1,
            Err(_) => context.counts.foreign += 1,
        }
        let mut begun = None;
        if let Some(ListenEvent::Opening { request, .. }) = self.listener.poll_event() {
            match self.handle_opening(now, peer, &request, context) {
                Ok(place) => begun = place,
                Err(Some(reason)) => {
                    let retry_ms = if reason == RefuseReason::Busy { STOPPED_RETRY_MS } else { 0 };
                    self.listener.refuse(&request, reason, retry_ms);
                }
                // Handled like a lost OPEN.
                Err(None) => {}
            }
        }
        while let Some((_, len)) = self.listener.poll_transmit(now, &mut self.answer) {
            context.link.send(&[Outgoing::whole(peer, Ecn::NotEct, &self.answer[..len])])?;
        }
        context.counts.listen = *self.listener.stats();
        Ok(begun)
    }

    fn handle_opening(
        &mut self,
        now: Nanos,
        peer: SocketAddr,
        request: &OpenRequest,
        context: &mut OpeningContext<'_>,
    ) -> Result<Option<usize>, Option<RefuseReason>> {
        let place = usize::from(request.stream);
        let is_out = place < self.streams_out;
        let wishes_out = match request.role {
            Role::Describe => is_out,
            Role::Receive => true,
            Role::Send => false,
        };
        if wishes_out != is_out {
            return Err(Some(RefuseReason::Role));
        }
        if request.role != Role::Describe {
            // No program would send or take its samples any more.
            if context.is_closed(place) {
                return Err(Some(RefuseReason::Busy));
            }
            if context.is_too_early(now, place) {
                return Err(None);
            }
        }
        let params = self.params(now, request, context).map_err(Some)?;
        let params = over_rdma(request, peer, &params, context).unwrap_or(params);
        let accepted = self.listener.accept(now, request, &params);
        // Only a description has no tag.
        let Some(tag) = accepted.map_err(|_| Some(RefuseReason::PacketSize))? else {
            return Ok(None);
        };
        self.favours.expire();
        if is_out {
            begin_out(now, peer, request, &params, tag, context);
        } else if let Some(Entry::Playing(playing)) = context.streams.get_mut(place) {
            playing.begin(now, request, peer, &params, tag, context.link);
        }
        Ok(Some(place))
    }

    fn params(
        &self,
        now: Nanos,
        request: &OpenRequest,
        context: &OpeningContext<'_>,
    ) -> Result<StreamTerms, RefuseReason> {
        let place = usize::from(request.stream);
        let clock_index = self.index_at(now);
        let now_index = clock_index.unwrap_or(0);
        let (is_out, entry) = (place < self.streams_out, context.streams.get(place));
        let (offer, next_index, latest) = match entry {
            Some(Entry::Sending(sending)) if is_out => {
                let offer = sending.offer().ok_or(RefuseReason::NoSuchStream)?;
                let latest = match self.samples {
                    Some((clock, _)) => now_index.saturating_add(clock.samples_in(START_AHEAD_MAX)),
                    // Streams that begin together begin at the index of the one that is furthest.
                    None => {
                        let ahead = START_AHEAD_MAX.as_secs_f64() * offer.info.rate_hz();
                        context.last_index.saturating_add(ahead as u64)
                    }
                };
                (offer, sending.flow.next_index(), latest)
            }
            Some(Entry::Playing(playing)) if !is_out => {
                (&playing.parts.offer, playing.next_index(), playing.latest_start(clock_index))
            }
            Some(_) => return Err(RefuseReason::Busy),
            None => return Err(RefuseReason::NoSuchStream),
        };
        let bounds = now_index.max(next_index)..=latest;
        let first_index =
            first_index(request.start_index, bounds).ok_or(RefuseReason::StartIndex)?;
        let streams = context.streams.len() as u16;
        let tai_ns = self.samples.and_then(|(samples, _)| samples.tai_ns(first_index));
        offer.params(request, is_out, first_index, streams, tai_ns).ok_or(RefuseReason::PacketSize)
    }

    /// Gives packets of open streams priority over others; a link that cannot do so receives as
    /// before.
    pub(super) fn favour(&mut self, now: Nanos, streams: &Streams, link: &mut dyn Link) {
        if self.favours.is_due(now) {
            self.favours.update(now, streams.announced(), link);
        }
    }
}

/// The context of an opening: the link, the streams, and the counts of other packets.
pub(super) struct OpeningContext<'a> {
    pub(super) link: &'a mut dyn Link,
    pub(super) station: Option<&'a mut Station>,
    pub(super) streams: &'a mut Streams,
    /// The end of the sent stream that is furthest.
    pub(super) last_index: SampleIndex,
    pub(super) counts: &'a mut PortCounts,
}

impl OpeningContext<'_> {
    /// Whether no program accepts another session of the stream.
    fn is_closed(&self, place: usize) -> bool {
        match self.streams.get(place) {
            Some(Entry::Sending(sending)) => sending.flow.is_closed(),
            Some(Entry::Playing(playing)) => playing.is_closed(),
            entry => entry.is_some(),
        }
    }

    /// Whether the stream has only just begun: one cookie allows 256 OPENs, and each takeover
    /// allocates the memory of a stream again (`docs/protocol.md#3.14`).
    fn is_too_early(&self, now: Nanos, place: usize) -> bool {
        let waits = match self.streams.get(place) {
            Some(Entry::Sending(sending)) => sending.flow.waits_for_report(now),
            Some(Entry::Playing(playing)) => playing.waits_for_sender(now),
            _ => None,
        };
        waits.is_some_and(|waited| waited < TAKEOVER_PAUSE)
    }
}

/// The terms of the same stream over RDMA, where the opener wishes so, this end can, and the stream
/// goes out.
fn over_rdma(
    request: &OpenRequest,
    peer: SocketAddr,
    params: &StreamTerms,
    context: &mut OpeningContext<'_>,
) -> Option<StreamTerms> {
    let theirs = request.rdma?;
    let station = context.station.as_ref()?;
    // Whole RDMA packets: a record that has one to itself would waste most of it.
    let mtu = u32::from(theirs.queue_pair.path_mtu_bytes).min(station.path_mtu().bytes());
    let params = &whole_packets(request, params, mtu, context).unwrap_or(*params);
    let is_possible = request.role != Role::Send
        && request.delivery == 0
        && peer.is_ipv4()
        && theirs.slots?.write_bytes(params.payload_bytes).is_some();
    let station = context.station.as_mut().filter(|_| is_possible)?;
    let rdma = station.offer(request.stream.into(), None);
    StreamTerms::new(AcceptParams { rdma: Some(rdma), ..**params }).ok()
}

/// The terms of the same stream with a payload that, with its record, takes whole packets of a path
/// MTU. `None` where no such payload is smaller, or the device has chosen another.
fn whole_packets(
    request: &OpenRequest,
    params: &StreamTerms,
    mtu: u32,
    context: &OpeningContext<'_>,
) -> Option<StreamTerms> {
    let record_bytes = RECORD_LEN as u32;
    let bytes = (u32::from(params.payload_bytes) + record_bytes) / mtu * mtu;
    let bytes = bytes.checked_sub(record_bytes).filter(|bytes| *bytes > 0)?;
    let data_len = usize::from(params.payload_offset) + bytes as usize + TRAILER_LEN;
    let mut request = *request;
    request.len_out = data_len as u16;
    let Entry::Sending(sending) = context.streams.get(request.stream.into())? else { return None };
    let tai_ns = Some(params.time_ns);
    sending.offer()?.params(&request, true, params.first_index, params.streams, tai_ns)
}

/// The first index of a stream whose opener requests `asked`; 0 requests the earliest. The result
/// is never before the start of `bounds`. A request after the end of `bounds` fails with `None`.
fn first_index(asked: SampleIndex, bounds: RangeInclusive<SampleIndex>) -> Option<SampleIndex> {
    let first = match asked {
        0 => *bounds.start(),
        index => bounds.contains(&index).then_some(index)?,
    };
    (first <= FIRST_INDEX_MAX).then_some(first)
}

fn begin_out(
    now: Nanos,
    peer: SocketAddr,
    request: &OpenRequest,
    params: &StreamTerms,
    tag: Tag,
    context: &mut OpeningContext<'_>,
) {
    let Some(Entry::Sending(sending)) = context.streams.get_mut(request.stream.into()) else {
        return;
    };
    let Sending { flow, side: Side::Listener(offer), .. } = &mut **sending else { return };
    flow.end(now, End::PeerRestarted, context.link);
    let terms = params.at(EndView {
        local_tag: tag,
        peer_tag: request.peer_tag,
        is_opener: false,
        window: offer.window,
        ranges_max: params.ranges_max,
        rtt: RTT_INITIAL,
    });
    let payload_bytes = usize::from(params.payload_bytes);
    let form =
        Form { payload_bytes, frame_bytes: offer.frame_bytes, granularity_bytes: GRANULARITY };
    let route = Route { peer, line_bps: context.link.line_bps(peer) };
    flow.begin(now, terms, form, route, offer.quantum_packets_at(payload_bytes))
        .expect("the offer was checked when it was made, and the index when it was chosen");
    if let (Some(ours), Some(theirs), Some(station)) =
        (&params.rdma, &request.rdma, &context.station)
        && let Some(connection) = station.connection(ours.queue_pair, theirs.queue_pair, peer)
        && let Some(slots) = theirs.slots
    {
        let writes = Writes::new(&connection, slots, &terms);
        flow.set_writes(writes.expect("the slots were checked when the stream was accepted"));
    }
}

/// The alignment in bytes to which a host pads the end of a burst.
const GRANULARITY: usize = 8;

/// Maximum lead of a sent stream: it holds its memory until its start.
const START_AHEAD_MAX: Duration = Duration::from_secs(60);

/// The largest index at which a stream may begin, so that enough indexes remain.
const FIRST_INDEX_MAX: SampleIndex = INDEX_MAX / 2;

/// Retry time for an opener of a stream that the program has released: by then another device may
/// listen.
const STOPPED_RETRY_MS: u32 = 100;

/// Protection from a takeover for a stream whose peer has not sent a packet
/// (`docs/protocol.md#3.14`).
const TAKEOVER_PAUSE: Nanos = Nanos::from_millis(5);

#[cfg(test)]
mod tests {
    use samplewire_io::memory;
    use samplewire_proto::session::OpenConfig;
    use samplewire_proto::wire::{RdmaOffer, SlotRegion};
    use samplewire_roce::PathMtu;

    use super::*;
    use crate::device::Offer;
    use crate::endpoint::station::{description_offer, tests::station};
    use crate::endpoint::tests::request;
    use crate::format::Format;
    use crate::{DeviceOptions, StreamInfo};

    const PAYLOAD_BYTES: u16 = 1_024;

    /// Whether a device with a station offers RDMA to an opener of its stream.
    fn is_offered(config: OpenConfig, peer: &str, theirs: RdmaOffer) -> bool {
        let peer = peer.parse().unwrap();
        let mut request = request(config, peer);
        request.rdma = Some(theirs);
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let options = DeviceOptions::new().payload_bytes(PAYLOAD_BYTES);
        let offer = Offer::new(&info, &options, 1_500, Duration::ZERO).unwrap();
        let params = offer.params(&request, true, 0, 1, None).expect("the path carries it");
        let (mut link, _far) = memory::pair(64, 2_000, 2_000).unwrap();
        let mut context = OpeningContext {
            link: &mut link,
            station: Some(&mut station([1; 16])),
            streams: &mut Streams::of(vec![Entry::Free]),
            last_index: 0,
            counts: &mut PortCounts::default(),
        };
        over_rdma(&request, peer, &params, &mut context).is_some_and(|it| it.rdma.is_some())
    }

    /// `docs/protocol.md#13.1`: each condition alone keeps the stream one of DATA.
    #[test]
    fn rdma_is_offered_to_receivers_of_all_over_ipv4_whose_slots_hold_a_payload() {
        let [v4, v6] = ["10.0.0.2:9100", "[fd00::2]:9100"];
        let [receive, describe, send] =
            [Role::Receive, Role::Describe, Role::Send].map(|role| OpenConfig::new(role, 0, 1));
        let theirs = description_offer(PathMtu::Bytes1024);
        let slots = theirs.slots.unwrap();
        let with_slots =
            |slot_bytes| RdmaOffer { slots: Some(SlotRegion { slot_bytes, ..slots }), ..theirs };
        let slot_bytes = u32::from(PAYLOAD_BYTES) + 64;
        assert!(is_offered(receive, v4, with_slots(slot_bytes)));
        assert!(is_offered(describe, v4, theirs));
        assert!(!is_offered(send, v4, theirs), "it sends");
        assert!(!is_offered(receive.with_delivery(1, 1_000), v4, theirs), "by a deadline");
        assert!(!is_offered(receive.with_delivery(2, 0), v4, theirs), "best effort");
        assert!(!is_offered(receive, v6, theirs), "RoCEv2 is spoken over IPv4 here");
        assert!(!is_offered(receive, v4, with_slots(slot_bytes - 64)), "no room for the record");
        assert!(!is_offered(receive, v4, RdmaOffer { slots: None, ..theirs }), "no slots");
    }

    #[test]
    fn index_of_now_is_the_first_that_there_is() {
        assert_eq!(first_index(0, 7..=9), Some(7));
        // The clock's index may be before the end of what was sent.
        #[expect(clippy::reversed_empty_ranges, reason = "it is what is asked")]
        let passed = 9..=7;
        assert_eq!(first_index(0, passed), Some(9));
    }

    #[test]
    fn index_that_has_passed_or_lies_too_far_ahead_is_refused() {
        let found: Vec<_> = (6..=10).map(|asked| first_index(asked, 7..=9)).collect();
        assert_eq!(found, [None, Some(7), Some(8), Some(9), None]);
    }

    #[test]
    fn index_that_leaves_no_room_to_go_on_is_refused() {
        let max = FIRST_INDEX_MAX;
        assert_eq!(first_index(max, 0..=u64::MAX), Some(max));
        assert_eq!(first_index(max + 1, 0..=u64::MAX), None);
        assert_eq!(first_index(0, max + 1..=u64::MAX), None);
    }
}
