//! The device: a listener and at most one stream, put together as the transmitter's engine is.

use samplewire_proto::fingerprint::Fingerprint;
use samplewire_proto::sender::{
    CONTROL_BYTES, NewPacket, SendSlot, Sender, SenderConfig, Transmit,
};
use samplewire_proto::session::{
    AcceptParams, EndView, ListenConfig, ListenEvent, Listener, OpenRequest, StreamSlot,
    StreamTerms,
};
use samplewire_proto::wire::{
    self, CloseAckReason, Flags, HEADER_LEN, Header, Packet, PacketType, RefuseReason, ReportFields,
};
use samplewire_proto::{Departure, Nanos, SampleIndex, Seq, Tag, crc};

use super::canon::Canon;
use super::ledger::{PACKET_SAMPLES, PAYLOAD_BYTES, Property, payload};
use super::mutant::Mutant;
use super::packet::{
    Flying, Process, SESSION_NAME, host_of, peer_of, put_cookie, restamp, retag, retag_echo,
};
use super::world::{PACKET_BYTES_MAX, Turn, WINDOW_MAX};

/// The device since its last start.
#[derive(Clone, Debug)]
pub(super) struct Device {
    /// How often it has started before.
    pub(super) boot: u32,
    started: Nanos,
    listener: Listener<[StreamSlot; 1]>,
    stream: Option<Box<Stream>>,
    next_index: SampleIndex,
    /// Which host was sent which cookie.
    issued: Vec<(usize, [u8; 16])>,
}

#[derive(Clone, Debug)]
struct Stream {
    session: u32,
    host: usize,
    tag: Tag,
    sender: Sender<[SendSlot; WINDOW_MAX]>,
    opened_at: Nanos,
    has_closed: bool,
    /// A CLOSE has left.
    is_close_sent: bool,
}

impl Device {
    pub(super) fn new(boot: u32, started: Nanos, seed: u128) -> Self {
        let config = ListenConfig::new().with_packet_bytes_max(PACKET_BYTES_MAX as u16);
        let config = config.expect("576 is in range").with_busy_retry_ms(1);
        let slots = [StreamSlot::default()];
        Self {
            boot,
            started,
            listener: Listener::new(slots, config, seed.to_be_bytes(), boot.into()),
            stream: None,
            next_index: 0,
            issued: vec![],
        }
    }

    /// Whether no stream is open.
    pub(super) const fn is_idle(&self) -> bool {
        self.stream.is_none()
    }

    /// Takes a packet, and does what is due.
    pub(super) fn take(&mut self, turn: &mut Turn<'_>, packet: &Flying) {
        let Process::Host(host) = packet.from else { return };
        if !self.take_in_stream(turn, host, packet) {
            self.listen(turn, host, packet);
        }
        self.run(turn);
    }

    /// Does what is due.
    pub(super) fn run(&mut self, turn: &mut Turn<'_>) {
        let now = self.clock(turn.now);
        let Some(stream) = &mut self.stream else { return };
        let is_deaf = stream.is_close_sent && turn.mutant == Some(Mutant::DeafCloser);
        if !is_deaf {
            stream.sender.handle_timeout(now);
        }
        stream.push(turn, now);
        if !is_deaf {
            stream.transmit(turn, now);
        }
        let is_half_open =
            !stream.sender.is_reported() && now.since(stream.opened_at) > REPORT_PATIENCE;
        if let Some(end) = stream.sender.poll_event() {
            turn.say(|| format!("session {} ends at the device: {end:?}", stream.session));
            turn.ledger.ended(stream.session, end, turn.scenario.packets);
            self.end_stream(turn);
        } else if is_half_open {
            self.end_stream(turn);
        }
    }

    /// When something is due.
    pub(super) fn wakes_at(&self, turn_now: Nanos, mutant: Option<Mutant>) -> Option<Nanos> {
        let stream = self.stream.as_ref()?;
        if stream.is_close_sent && mutant == Some(Mutant::DeafCloser) {
            return None;
        }
        let mut at = stream.sender.poll_timeout(self.clock(turn_now))?;
        if !stream.sender.is_reported() {
            at = at.min(stream.opened_at + REPORT_PATIENCE + Nanos(1));
        }
        Some(self.started + (at - CLOCK_START))
    }

    pub(super) fn fingerprint(&self, turn_now: Nanos, canon: &mut Canon) {
        let now = self.clock(turn_now);
        canon.word(self.boot.into());
        self.listener.fingerprint(now, canon);
        let Some(stream) = &self.stream else { return canon.word(u64::MAX) };
        canon.name(u128::from(stream.session) | SESSION_NAME);
        canon.word(stream.host as u64);
        canon.word(stream.has_closed.into());
        canon.begin_machine(stream.session, true);
        stream.sender.fingerprint(now, canon);
    }

    /// The device's own clock, which starts with it.
    fn clock(&self, now: Nanos) -> Nanos {
        CLOCK_START + now.since(self.started)
    }

    /// Whether the packet is of the stream.
    fn take_in_stream(&mut self, turn: &mut Turn<'_>, host: usize, packet: &Flying) -> bool {
        let now = self.clock(turn.now);
        let Some(stream) = &mut self.stream else { return false };
        if stream.host != host {
            return false;
        }
        let bytes = stream.as_mutant_sees(turn.mutant, packet);
        let Ok((header, parsed)) = wire::parse(&bytes) else { return false };
        let refused = stream.refused();
        if !stream.sender.handle(now, &header, &parsed) {
            return false;
        }
        if stream.refused() == refused {
            turn.ledger.took(stream.session, packet);
            turn.ledger.book_mut(stream.session).is_reported |=
                header.kind == PacketType::Report && packet.session == stream.session;
        }
        true
    }

    fn listen(&mut self, turn: &mut Turn<'_>, host: usize, packet: &Flying) {
        let now = self.clock(turn.now);
        let mut bytes = packet.bytes.to_vec();
        let cookie = match wire::parse(&bytes) {
            Ok((_, Packet::Open(open))) => Some(open.cookie),
            _ => None,
        };
        if cookie.is_some() && turn.mutant == Some(Mutant::LateOpen) {
            restamp(&mut bytes, Departure::at(turn.now));
        }
        if cookie == Some([0; 16]) && turn.mutant == Some(Mutant::UncheckedCookie) {
            self.hand_over(now, host, &bytes);
            if let Some((_, cookie)) = self.issued.pop() {
                put_cookie(&mut bytes, &cookie);
            }
        }
        self.hand_over(now, host, &bytes);
        if let Some(ListenEvent::Opening { request, takes_over }) = self.listener.poll_event() {
            let is_proven =
                self.issued.iter().any(|issued| Some(*issued) == cookie.map(|c| (host, c)));
            turn.ledger.check(is_proven, Property::ProvenAddress, || {
                format!("{packet} opens a stream with a cookie that this run did not send there")
            });
            self.open(turn, now, &request, takes_over, packet);
        }
        let mut out = [0; PACKET_BYTES_MAX];
        if let Some((peer, len)) = self.listener.poll_transmit(now, &mut out) {
            let session = self.session_of_answer(&out[..len], host, packet.session);
            turn.send(Process::Host(host_of(&peer)), &out[..len], session);
        }
    }

    fn hand_over(&mut self, now: Nanos, host: usize, bytes: &[u8]) {
        let taken = self.listener.handle(now, peer_of(host), bytes, &wire::parse(bytes));
        taken.expect("what our machines send parses");
    }

    /// The session of what the listener says, and the cookies that it gives.
    fn session_of_answer(&mut self, bytes: &[u8], host: usize, asked: u32) -> u32 {
        match wire::parse(bytes) {
            Ok((_, Packet::Challenge(challenge))) => {
                self.issued.push((host, challenge.cookie));
                0
            }
            Ok((_, Packet::Accept(accept))) => accept.time_ns as u32,
            Ok((_, Packet::CloseAck(_))) => asked,
            _ => 0,
        }
    }

    fn open(
        &mut self,
        turn: &mut Turn<'_>,
        now: Nanos,
        request: &OpenRequest,
        takes_over: Option<Tag>,
        packet: &Flying,
    ) {
        let first_index = match &self.stream {
            Some(stream) => stream.sender.next_index(),
            None => self.next_index,
        };
        let host = host_of(&request.peer);
        let session = turn.ledger.next_session();
        let params = params(first_index, turn.scenario.window, session);
        let Ok(Some(tag)) = self.listener.accept(now, request, &params) else {
            return self.listener.refuse(request, RefuseReason::PacketSize, 0);
        };
        if let Some(old) = self.stream.as_ref().filter(|_| takes_over.is_some()) {
            let book = turn.ledger.book(old.session).clone();
            let is_newer = book.host != host || book.opened_by < packet.order;
            let session = old.session;
            turn.ledger.check(is_newer, Property::NoConfusion, || {
                format!("{packet}, sent before the one that opened session {session}, ends it")
            });
        }
        self.end_stream(turn);
        turn.say(|| format!("session {session} opens for host {host}"));
        turn.ledger.begin(host, packet.order, first_index);
        let terms = params.at(EndView {
            local_tag: tag,
            peer_tag: request.peer_tag,
            is_opener: false,
            window: params.window,
            ranges_max: params.ranges_max,
            rtt: RTT_INITIAL,
        });
        let slots = [SendSlot::default(); WINDOW_MAX];
        let mut sender = Sender::new(terms, SenderConfig::default(), slots, now)
            .expect("the terms are in range");
        if turn.mutant == Some(Mutant::EarlyCredit) {
            grant_early(&mut sender, now, tag, terms.window);
        }
        let opened_at = now;
        let (has_closed, is_close_sent) = (false, false);
        let stream = Stream { session, host, tag, sender, opened_at, has_closed, is_close_sent };
        self.stream = Some(Box::new(stream));
    }

    fn end_stream(&mut self, turn: &mut Turn<'_>) {
        let now = self.clock(turn.now);
        let Some(mut stream) = self.stream.take() else { return };
        if stream.sender.is_ended() {
            // Answers to a receiver's CLOSE are still due.
            stream.transmit(turn, now);
        }
        if turn.mutant != Some(Mutant::KeptStream) {
            self.listener.release(stream.tag);
        }
        self.next_index = stream.sender.next_index();
    }
}

impl Stream {
    /// Pushes what there is room for, and closes after the last packet.
    fn push(&mut self, turn: &mut Turn<'_>, now: Nanos) {
        let book = turn.ledger.book_mut(self.session);
        while book.pushed < turn.scenario.packets && self.sender.free_slots() > 0 {
            let index = self.sender.next_index();
            let packet = NewPacket {
                index,
                flags: Flags::NONE,
                burst_samples: 0,
                len_bytes: PAYLOAD_BYTES as u16,
                payload_crc: crc::crc32c(&payload(self.session, index)),
            };
            if self.sender.push(packet).is_err() {
                return;
            }
            book.pushed += 1;
        }
        if book.pushed == turn.scenario.packets && !self.has_closed {
            self.has_closed = true;
            self.sender.close(now);
        }
    }

    fn transmit(&mut self, turn: &mut Turn<'_>, now: Nanos) {
        let mut control = [0; CONTROL_BYTES];
        let to = Process::Host(self.host);
        while let Some(transmit) = self.sender.poll_transmit(now, &mut control) {
            let data = match transmit {
                Transmit::Control { len_bytes } => {
                    self.is_close_sent |= control[0] & 0x0F == PacketType::Close as u8;
                    turn.send(to, &control[..len_bytes], self.session);
                    continue;
                }
                Transmit::Data(data) => data,
            };
            let is_reported = turn.ledger.book(self.session).is_reported;
            turn.ledger.check(is_reported, Property::NoEarlyData, || {
                format!("DATA {} of session {} leaves before a REPORT", data.seq, self.session)
            });
            let number = u64::from(data.seq - FIRST_SEQ) * u64::from(PACKET_SAMPLES);
            let index = turn.ledger.book(self.session).first_index + number;
            let bytes = [data.head(), &payload(self.session, index), &data.trailer].concat();
            turn.send(to, &bytes, self.session);
        }
    }

    fn refused(&self) -> u64 {
        let stats = self.sender.stats();
        stats.reports_refused + stats.closes_refused + stats.unexpected
    }

    /// What a broken rule makes of a packet.
    fn as_mutant_sees(&self, mutant: Option<Mutant>, packet: &Flying) -> Vec<u8> {
        let mut bytes = packet.bytes.to_vec();
        let Ok((header, parsed)) = wire::parse(&packet.bytes) else { return bytes };
        let own = self.tag;
        match (mutant, parsed) {
            (Some(Mutant::ForeignReport), Packet::Report(_)) => retag(&mut bytes, own),
            (Some(Mutant::ForeignCloseAck), Packet::CloseAck(ack)) if header.tag != Tag::NONE => {
                debug_assert_eq!(ack.reason, CloseAckReason::Done);
                retag(&mut bytes, own);
                retag_echo(&mut bytes, own);
            }
            _ => {}
        }
        bytes
    }
}

/// A REPORT that no receiver sent.
fn grant_early(sender: &mut Sender<[SendSlot; WINDOW_MAX]>, now: Nanos, tag: Tag, window: u32) {
    let fields = ReportFields {
        released: FIRST_SEQ,
        limit: FIRST_SEQ + window,
        settled: Departure(0),
        highest_end: FIRST_SEQ,
        echo: Departure(0),
        hold: u32::MAX,
        received: 0,
        marked: 0,
        skipped: 0,
        late: 0,
    };
    let header = Header {
        kind: PacketType::Report,
        flags: Flags::FROM_OPENER,
        tag,
        index: 0,
        seq: Seq(0),
        departure: Departure(0),
    };
    let mut out = [0; HEADER_LEN + 64];
    let len = fields.emit(&header, &[], &mut out);
    let (header, packet) = wire::parse(&out[..len]).expect("it was just written");
    sender.handle(now, &header, &packet);
}

fn params(first_index: SampleIndex, window: u32, session: u32) -> StreamTerms {
    let params = AcceptParams {
        streams: 1,
        first_index,
        first_seq: FIRST_SEQ,
        rate_numerator: 1_000_000,
        rate_denominator: 1,
        // Samples of no known size: a payload is as small as can be.
        format: u16::MAX,
        channels: 1,
        packet_samples: PACKET_SAMPLES,
        payload_bytes: PAYLOAD_BYTES as u16,
        payload_offset: HEADER_LEN as u8,
        window,
        dead_ms: DEAD_MS,
        idle_ms: 100,
        ranges_max: 4,
        granularity_bytes: 8,
        // Where the search writes down which session it is: no machine reads it.
        time_ns: session.into(),
        ..AcceptParams::default()
    };
    StreamTerms::new(params).expect("the scenario's terms are in their ranges")
}

/// The least that terms may say.
pub(super) const DEAD_MS: u16 = 400;

/// Numbers wrap after the first packet.
const FIRST_SEQ: Seq = Seq(u32::MAX);

/// What a device's clock shows when it starts.
const CLOCK_START: Nanos = Nanos::from_millis(1_000);

/// As the transmitter has them.
const RTT_INITIAL: Nanos = Nanos::from_millis(1);
const REPORT_PATIENCE: Nanos = Nanos::from_millis(3_000);
