//! A device: a listener, and the streams that were opened.

use std::ops::Range;

use samplewire_proto::receiver::{Delivery, ReceiverConfig, ReceiverConfigError};
use samplewire_proto::sender::SenderConfig;
use samplewire_proto::session::{
    AcceptParams, EndView, ListenConfig, ListenEvent, ListenStats, Listener, OpenRequest, Peer,
    StreamSlot, StreamTerms,
};
use samplewire_proto::wire::{self, HEADER_LEN, PacketType, RefuseReason, Role, TRAILER_LEN};
use samplewire_proto::{Nanos, SampleIndex, Seq, Tag};

use crate::check::{Agreed, At, Done, Machine};
use crate::consumer::ConsumerSpec;
use crate::net::process_of;
use crate::payload;
use crate::process::{Arrival, Turn};
use crate::receiving::ReceiveEnd;
use crate::sending::SendEnd;
use crate::source::SourceSpec;
use crate::stream_end::StreamEnd;

/// What a device offers; every stream alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSpec {
    pub(crate) streams: u16,
    pub(crate) packet_bytes_max: u16,
    /// The size that a full packet has as an IP packet, where the path carries it.
    pub(crate) packet_bytes: u16,
    /// The device refuses openings that prove a smaller IP packet.
    pub(crate) packet_bytes_min: u16,
    pub(crate) packet_samples: u32,
    pub(crate) payload_offset: u8,
    pub(crate) window: u32,
    pub(crate) reorder_tolerance: u32,
    pub(crate) dead_ms: u16,
    pub(crate) idle_ms: u16,
    pub(crate) ranges_max: u16,
    pub(crate) first_seq: Seq,
    pub(crate) first_index: SampleIndex,
    pub(crate) source: SourceSpec,
    pub(crate) consumer: ConsumerSpec,
    pub(crate) sender: SenderConfig,
}

/// A device and its streams.
#[derive(Debug)]
pub(crate) struct Device {
    spec: DeviceSpec,
    listener: Listener<Vec<StreamSlot>>,
    streams: Vec<Option<Stream>>,
    /// Where the next stream of each number starts.
    next_index: Vec<SampleIndex>,
    dropped_noted: u32,
}

#[derive(Debug)]
struct Stream {
    tag: Tag,
    peer: Peer,
    end: StreamEnd,
    opened_at: Nanos,
}

impl Device {
    pub(crate) fn new(spec: DeviceSpec, seed: u128) -> Self {
        let slots = vec![StreamSlot::default(); usize::from(spec.streams)];
        let config = ListenConfig::new()
            .with_packet_bytes_max(spec.packet_bytes_max)
            .expect("the plan draws choices in their range")
            .with_busy_retry_ms(1);
        Self {
            listener: Listener::new(slots, config, seed.to_be_bytes(), seed as u64),
            streams: (0..spec.streams).map(|_| None).collect(),
            next_index: vec![spec.first_index; usize::from(spec.streams)],
            dropped_noted: 0,
            spec,
        }
    }

    /// Whether no stream is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.streams.iter().all(Option::is_none)
    }

    /// Dies, and has started again.
    pub(crate) fn restart(&mut self, turn: &mut Turn<'_>) {
        for stream in self.streams.iter_mut().flatten() {
            stream.end.vanish(turn);
        }
        turn.checker.openings.restarted(turn.me);
        let seed = u128::from(turn.rng.draw()) << 64 | u128::from(turn.rng.draw());
        *self = Self { dropped_noted: self.dropped_noted, ..Self::new(self.spec, seed) };
    }

    /// Takes a packet.
    pub(crate) fn handle(&mut self, turn: &mut Turn<'_>, arrival: &Arrival, bytes: &[u8]) {
        let mut dropped = arrival.dropped.wrapping_sub(self.dropped_noted);
        self.dropped_noted = arrival.dropped;
        let parsed = wire::parse(bytes).ok();
        if let Some((header, packet)) = &parsed {
            for stream in self.streams.iter_mut().flatten() {
                if let StreamEnd::Receive(end) = &mut stream.end {
                    end.note_drops(turn, std::mem::take(&mut dropped));
                }
                let is_its_peer = stream.peer == arrival.from;
                if is_its_peer && stream.end.handle(turn, header, packet, arrival.is_marked) {
                    return;
                }
            }
        }
        let before = *self.listener.stats();
        let at = self.at(turn);
        let duty = turn.checker.openings.duty(at, &arrival.from, parsed.as_ref(), bytes.len());
        // Whatever is wrong with these bytes, the listener says what becomes of them.
        let is_packet = self.listener.handle(turn.now, arrival.from, bytes).is_ok();
        let asked = if is_packet { self.decide(turn, bytes) } else { None };
        self.count_answer(turn, &before);
        let mut out = [0; PACKET_BYTES_MAX];
        let mut answered = None;
        while let Some((peer, len)) = self.listener.poll_transmit(turn.now, &mut out) {
            answered = Some((peer, len));
            let reason = out.get(REFUSE_REASON).filter(|_| out[0] & 0x0F == REFUSE);
            if let Some(&[high, low]) = reason {
                count_refusal(turn, RefuseReason::from_number(u16::from_be_bytes([high, low])));
            }
            if len > bytes.len() {
                turn.checker.fail(format!("{len} bytes answer {}", bytes.len()));
            }
            // What goes to an address where nobody is is lost.
            if let Some(process) = process_of(&peer)
                && turn.net.has_route(turn.me, process)
            {
                turn.send_control(process, &out[..len]);
            }
        }
        let answer = answered.map(|(peer, len)| (peer, &out[..len]));
        let done = Done { asked, answer };
        if let Err(what) = turn.checker.openings.hold(at, &arrival.from, duty, done) {
            turn.checker.fail(format!("device {}: {what}", turn.me));
        }
    }

    const fn at(&self, turn: &Turn<'_>) -> At {
        At { listener: turn.me, now: turn.now, streams: self.spec.streams }
    }

    /// The ends of its streams.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &StreamEnd> {
        self.streams.iter().flatten().map(|stream| &stream.end)
    }

    /// Drops of its socket that it has noted.
    pub(crate) const fn dropped_noted(&self) -> u32 {
        self.dropped_noted
    }

    /// Does what is due.
    pub(crate) fn run(&mut self, turn: &mut Turn<'_>) {
        for number in 0..self.streams.len() {
            let Some(stream) = &mut self.streams[number] else { continue };
            stream.end.run(turn);
            let is_forgotten = match &stream.end {
                StreamEnd::Send(end) => {
                    !end.is_reported() && turn.now.since(stream.opened_at) > REPORT_PATIENCE
                }
                StreamEnd::Receive(_) => false,
            };
            if is_forgotten {
                stream.end.vanish(turn);
            }
            if is_forgotten || stream.end.is_ended() {
                let event = if is_forgotten { "no REPORT" } else { "the stream has ended" };
                count(turn, "Open", event, "Free");
                self.close(turn, number);
            }
        }
    }

    /// When something is due, by the machine's clock.
    pub(crate) fn wakes_at(&self, now: Nanos) -> Option<Nanos> {
        let wakes = |stream: &Stream| {
            let at = stream.end.wakes_at(now).unwrap_or(now);
            match &stream.end {
                StreamEnd::Send(end) if !end.is_reported() => {
                    at.min(stream.opened_at + REPORT_PATIENCE + Nanos(1))
                }
                _ => at,
            }
        };
        self.streams.iter().flatten().map(wakes).min()
    }

    /// Decides on an opening, where the listener asks; whether it would take a stream over.
    fn decide(&mut self, turn: &mut Turn<'_>, bytes: &[u8]) -> Option<bool> {
        let ListenEvent::Opening { request, takes_over } = self.listener.poll_event()?;
        let asked = Some(takes_over.is_some());
        let params = self.params(&request);
        let is_receiving = request.role == Role::Send;
        let proven = if is_receiving { request.len_in } else { request.len_out };
        let refusal = if request.role != Role::Describe && request.window == 0 {
            Some(RefuseReason::Window)
        } else if is_receiving && receiver_config(&request).is_err() {
            Some(RefuseReason::Delivery)
        } else if proven.saturating_add(request.peer.ip_overhead()) < self.spec.packet_bytes_min {
            Some(RefuseReason::PacketSize)
        } else {
            None
        };
        if let Some(reason) = refusal {
            self.listener.refuse(&request, reason, 0);
            return asked;
        }
        let Ok(tag) = self.listener.accept(turn.now, &request, &params) else {
            self.listener.refuse(&request, RefuseReason::PacketSize, 0);
            return asked;
        };
        let Some(tag) = tag else {
            count(turn, "any", "OPEN, describe", "ACCEPT");
            return asked;
        };
        match takes_over {
            None => count(turn, "Free", "OPEN", "Open"),
            Some(_) => count(turn, "Open", "OPEN of the same owner", "Open(taken over)"),
        }
        let number = usize::from(request.stream);
        if takes_over.is_some()
            && let Some(stream) = &mut self.streams[number]
        {
            stream.end.vanish(turn);
            self.streams[number] = None;
        }
        turn.checker.openings.accepted(self.at(turn), &request, bytes, tag);
        let end = self.begin(turn, &request, &params, tag);
        let peer = request.peer;
        self.streams[number] = Some(Stream { tag, peer, end, opened_at: turn.now });
        asked
    }

    /// Counts what the listener did with a packet without asking.
    fn count_answer(&self, turn: &mut Turn<'_>, before: &ListenStats) {
        let after = self.listener.stats();
        if after.challenged > before.challenged {
            count(turn, "any", "OPEN without cookie", "CHALLENGE");
        }
        if after.repeated > before.repeated {
            count(turn, "Open", "OPEN, same nonce", "ACCEPT again");
        }
        if after.late > before.late {
            count(turn, "any", "OPEN, late", "nothing");
        }
        if after.unknown > before.unknown {
            count(turn, "any", "unknown tag", "CLOSE_ACK(unknown tag)");
        }
    }

    fn params(&self, request: &OpenRequest) -> StreamTerms {
        let spec = &self.spec;
        let is_sending = request.role != Role::Send;
        let params = AcceptParams {
            stream: request.stream,
            streams: spec.streams,
            first_index: self.next_index[usize::from(request.stream)],
            first_seq: if is_sending { spec.first_seq } else { request.first_seq },
            rate_numerator: 1_000_000,
            rate_denominator: 1,
            // Samples of any size: the plan draws how many a packet has.
            format: u16::MAX,
            channels: 1,
            packet_samples: spec.packet_samples,
            payload_bytes: payload::BYTES as u16,
            payload_offset: spec.payload_offset,
            window: spec.window,
            reorder_tolerance: spec.reorder_tolerance,
            dead_ms: spec.dead_ms,
            idle_ms: spec.idle_ms,
            ranges_max: spec.ranges_max,
            granularity_bytes: 8,
            ..AcceptParams::default()
        };
        StreamTerms::new(params).expect("the plan draws terms in their ranges")
    }

    fn begin(
        &mut self,
        turn: &mut Turn<'_>,
        request: &OpenRequest,
        params: &StreamTerms,
        tag: Tag,
    ) -> StreamEnd {
        let spec = self.spec;
        let peer = process_of(&request.peer).expect("the address was proven");
        let is_receiving = request.role == Role::Send;
        let (send_window, receive_window) = if is_receiving {
            (request.window.min(WINDOW_MAX), spec.window)
        } else {
            (spec.window, request.window)
        };
        // Places beyond what the sender can hold would never be used.
        let receive_window = receive_window.min(send_window);
        let proven = if is_receiving { request.len_in } else { request.len_out };
        let wished = spec.packet_bytes.saturating_sub(request.peer.ip_overhead());
        let len = usize::from(proven.min(wished));
        let bare = usize::from(spec.payload_offset) + payload::BYTES + TRAILER_LEN;
        let terms = params.at(EndView {
            local_tag: tag,
            peer_tag: request.peer_tag,
            is_opener: false,
            window: if is_receiving { receive_window } else { send_window },
            ranges_max: params.ranges_max,
            rtt: RTT_INITIAL,
        });
        let session = turn.checker.begin(Agreed {
            listener: turn.me,
            tag,
            delivery: delivery_of(request),
            first_seq: terms.first_seq,
            first_index: terms.first_index,
            packet_samples: terms.packet_samples,
            dead_after: terms.dead_after,
            idle_after: terms.idle_after,
            reorder_tolerance: terms.reorder_tolerance,
            send_window,
            receive_window,
            padding_bytes: len.saturating_sub(bare) as u32,
            key: turn.rng.draw(),
        });
        let is_forged = turn.checker.is_tainted(turn.me, request.peer_tag);
        turn.checker.sessions[session].is_forged |= is_forged;
        if is_receiving {
            let config = receiver_config(request).expect("other deliveries are refused");
            let consumer = spec.consumer.with_underflow(request.underflow);
            let end = ReceiveEnd::new(turn, session, peer, terms, config, consumer);
            return StreamEnd::Receive(end);
        }
        let source = SourceSpec { samples: terms.packet_samples, ..spec.source };
        StreamEnd::Send(SendEnd::new(turn, session, peer, terms, spec.sender, source))
    }

    fn close(&mut self, turn: &mut Turn<'_>, number: usize) {
        let Some(mut stream) = self.streams[number].take() else { return };
        if let StreamEnd::Send(end) = &mut stream.end {
            self.next_index[number] = end.next_index();
            // Answers to a receiver's CLOSE are still due.
            end.run(turn);
        }
        stream.end.close_books(turn);
        self.listener.release(stream.tag);
        turn.checker.openings.ended(turn.me, number as u16);
    }
}

const fn delivery_of(request: &OpenRequest) -> Delivery {
    match request.delivery {
        1 => Delivery::Deadline(Nanos::from_micros(request.deadline_us as u64)),
        2 => Delivery::BestEffort,
        _ => Delivery::Complete,
    }
}

fn receiver_config(request: &OpenRequest) -> Result<ReceiverConfig, ReceiverConfigError> {
    ReceiverConfig::new().with_delivery(delivery_of(request))
}

fn count(turn: &mut Turn<'_>, from: &'static str, event: &'static str, to: &'static str) {
    turn.checker.transitions.count(Machine::Listener, from, event, to);
}

fn count_refusal(turn: &mut Turn<'_>, reason: RefuseReason) {
    let (from, event, to) = match reason {
        RefuseReason::Busy => ("Open", "OPEN of another owner", "REFUSE(busy)"),
        RefuseReason::NoSuchStream => ("any", "OPEN, no such stream", "REFUSE(no such stream)"),
        RefuseReason::PacketSize => ("any", "OPEN, packet size", "REFUSE(packet size)"),
        RefuseReason::Window => ("any", "OPEN, window of 0", "REFUSE(window)"),
        RefuseReason::Delivery => ("any", "OPEN, delivery", "REFUSE(delivery)"),
        RefuseReason::Trailer => ("any", "OPEN, trailer", "REFUSE(trailer)"),
        RefuseReason::Version => ("any", "OPEN of another version", "REFUSE(version)"),
        _ => ("any", "OPEN", "REFUSE for no reason of this device"),
    };
    count(turn, from, event, to);
}

/// The type of a REFUSE, and where its reason stands in the packet, in every version.
const REFUSE: u8 = PacketType::Refuse as u8;
const REFUSE_REASON: Range<usize> = HEADER_LEN + 8..HEADER_LEN + 10;

/// Before anything is measured.
const RTT_INITIAL: Nanos = Nanos::from_millis(1);

/// How long an accepted stream waits for its first REPORT.
const REPORT_PATIENCE: Nanos = Nanos::from_millis(3_000);

const PACKET_BYTES_MAX: usize = 9_000;

/// What a forged OPEN claims beyond it needs no books.
const WINDOW_MAX: u32 = 1 << 13;
