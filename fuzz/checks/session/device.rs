//! What must hold of a listener: it keeps nothing for an address without cookie and sends it no
//! more than came from there, and each stream has one owner.

use samplewire_proto::session::{
    AcceptError, AcceptInfo, AcceptParams, ListenConfig, ListenEvent, Listener, OpenRequest, Peer,
    StreamSlot, StreamTerms, WireText,
};
use samplewire_proto::wire::{
    Accept, CloseAck, Open, Packet, PacketType, Refuse, RefuseReason, Role, WireError, parse,
};
use samplewire_proto::{Departure, Nanos, Tag};

use crate::input::Input;

/// A listener and what it must remember.
pub(super) struct Device {
    listener: Listener<[StreamSlot; STREAMS]>,
    boot_id: u64,
    streams: [Option<Stream>; STREAMS],
    ended: [Option<(Peer, u64, Nanos)>; STREAMS],
    /// Cookies given in this life, the newest at the end of a ring.
    cookies: [Option<Cookie>; COOKIES_KEPT],
    cookies_given: usize,
    /// ACCEPTs of this life: the opener's tag, the stream's, and the boot id.
    said: [(Tag, Tag, u64); ACCEPTS_KEPT],
    accepts: usize,
    started_at: Nanos,
    strangers_answered: u64,
    last_departure: Option<(Departure, Nanos)>,
}

/// Which peer has a stream.
#[derive(Clone, Copy)]
struct Stream {
    peer: Peer,
    nonce: u64,
    owner: u64,
    tag: Tag,
}

#[derive(Clone, Copy)]
struct Cookie {
    peer: Peer,
    nonce: u64,
    bytes: [u8; 16],
    at: Nanos,
}

impl Device {
    /// Begins a life; each has a `boot_id` of its own.
    pub(super) fn new(input: &mut Input<'_>, now: Nanos, boot_id: u64) -> Self {
        let seed = u128::from(input.half()) << 64 | u128::from(boot_id);
        let config = ListenConfig::new()
            .with_packet_bytes_max(input.choose(&[1_500, 9_000, 576]))
            .expect("all are in range");
        Self {
            listener: Listener::new(Default::default(), config, seed.to_le_bytes(), boot_id),
            boot_id,
            streams: [None; STREAMS],
            ended: [None; STREAMS],
            cookies: [None; COOKIES_KEPT],
            cookies_given: 0,
            said: [(Tag::NONE, Tag::NONE, 0); ACCEPTS_KEPT],
            accepts: 0,
            started_at: now,
            strangers_answered: 0,
            last_departure: None,
        }
    }

    /// Whether this device sent the values that an opener received. Also true for earlier lives,
    /// which the device does not remember.
    pub(super) fn has_said(&self, info: &AcceptInfo) -> bool {
        let is_forgotten = info.boot_id != self.boot_id || self.accepts > ACCEPTS_KEPT;
        is_forgotten || self.said.contains(&(info.tag, info.peer_tag, info.boot_id))
    }

    /// Ends a stream, as its sender or receiver does.
    pub(super) fn release(&mut self, choice: u8) {
        let at = usize::from(choice) % STREAMS;
        let Some(stream) = self.streams[at].take() else { return };
        self.listener.release(stream.tag);
        assert_eq!(self.listener.stream_of(stream.tag), None);
        // The time of its acceptance was noted then.
        if let Some(ended) = &mut self.ended[at] {
            (ended.0, ended.1) = (stream.peer, stream.nonce);
        }
    }

    /// Takes a packet; writes its answer to `out`.
    pub(super) fn handle(
        &mut self,
        now: Nanos,
        peer: Peer,
        bytes: &[u8],
        input: &mut Input<'_>,
        out: &mut [u8],
    ) -> Option<usize> {
        let parsed = parse(bytes);
        let taken = self.listener.handle(now, peer, bytes, &parsed);
        assert_eq!(taken, parsed.map(|_| ()));
        let event = self.listener.poll_event();
        if let Some(ListenEvent::Opening { request, takes_over }) = event {
            self.check_request(now, peer, &request, takes_over, bytes);
            self.decide(now, &request, input);
        }
        let (to, len) = self.listener.poll_transmit(now, out)?;
        assert_eq!(to, peer);
        assert_eq!(self.listener.poll_transmit(now, &mut [0; super::LEN_MAX]), None);
        self.check_answer(now, peer, bytes, &out[..len], event.is_some());
        Some(len)
    }

    /// Checks that a request matches an OPEN with a cookie of this life, for a stream that is free
    /// or the owner's own.
    fn check_request(
        &self,
        now: Nanos,
        peer: Peer,
        request: &OpenRequest,
        takes_over: Option<Tag>,
        bytes: &[u8],
    ) {
        let Ok((header, Packet::Open(open))) = parse(bytes) else { panic!("no OPEN, a request") };
        assert!(self.may_be_proven(now, peer, &open), "a request without a cookie");
        assert_eq!((request.peer, request.peer_tag), (peer, open.tag));
        assert_eq!((request.nonce, request.owner), (open.nonce, open.owner));
        assert_eq!((request.role, request.stream), (open.role, open.stream));
        assert_eq!((request.start_index, request.first_seq), (header.index, header.seq));
        assert_eq!(usize::from(request.len_in), bytes.len());
        assert!(request.len_out <= request.len_in);
        let at = usize::from(request.stream);
        let present = self.streams[at];
        if request.role == Role::Describe {
            return assert_eq!(takes_over, None);
        }
        assert_eq!(takes_over, present.map(|stream| stream.tag));
        if let Some(present) = present {
            assert_eq!(present.owner, request.owner, "another owner's stream");
            assert_ne!((present.peer, present.nonce), (peer, request.nonce), "a repeat");
        } else if let Some((old_peer, nonce, accepted_at)) = self.ended[at] {
            let is_young = now.since(accepted_at) < Nanos::from_millis(16_000);
            assert!(!is_young || (old_peer, nonce) != (peer, request.nonce), "a late copy");
        }
    }

    /// Accepts, with packets that fit or not, refuses, or says nothing.
    fn decide(&mut self, now: Nanos, request: &OpenRequest, input: &mut Input<'_>) {
        let choice = input.byte();
        if choice >= 0xF0 {
            return;
        }
        if choice >= 0xE0 {
            return self.listener.refuse(request, RefuseReason::Role, 0);
        }
        let len_max = if request.role == Role::Send { request.len_in } else { request.len_out };
        let room = len_max.saturating_sub(26) & !7;
        let payload_bytes = if choice >= 0xD0 { input.half() } else { room };
        let params = AcceptParams {
            stream: request.stream,
            streams: STREAMS as u16,
            first_seq: request.first_seq,
            // A format of a later version: samples of no known size.
            format: u16::MAX,
            channels: 1,
            packet_samples: u32::from(payload_bytes),
            payload_bytes,
            window: 1,
            dead_ms: 400,
            idle_ms: 100,
            ranges_max: 1,
            granularity_bytes: 8,
            payload_offset: 22,
            name: WireText::new("fuzzed"),
            gain_db: (choice & 1 == 1).then_some(3.0),
            rdma: (choice & 2 == 2 && (request.rdma.is_some() || choice & 4 == 4))
                .then(|| super::offer(request.role == Role::Send, 1)),
            ..AcceptParams::default()
        };
        let Ok(params) = StreamTerms::new(params) else {
            return self.listener.refuse(request, RefuseReason::PacketSize, 0);
        };
        match self.listener.accept(now, request, &params) {
            Ok(None) => assert_eq!(request.role, Role::Describe),
            Ok(Some(tag)) => {
                assert!(params.rdma.is_none() || request.rdma.is_some());
                assert!(params.rdma.is_some() || params.data_len() <= usize::from(len_max));
                self.note_stream(now, request, tag);
            }
            Err(AcceptError::PacketSize { len, .. }) => {
                assert!(len > usize::from(len_max));
                self.listener.refuse(request, RefuseReason::PacketSize, 0);
            }
            Err(AcceptError::Rdma(_)) => {
                self.listener.refuse(request, RefuseReason::Format, 0);
            }
            Err(AcceptError::Busy(stream)) => panic!("stream {stream} was requested as free"),
        }
    }

    fn note_stream(&mut self, now: Nanos, request: &OpenRequest, tag: Tag) {
        let at = usize::from(request.stream);
        assert_ne!(tag, Tag::NONE);
        assert_eq!(self.listener.stream_of(tag), Some(request.stream));
        if let Some(old) = self.streams[at] {
            assert!(self.listener.stream_of(old.tag).is_none() || old.tag == tag);
        }
        self.streams[at] =
            Some(Stream { peer: request.peer, nonce: request.nonce, owner: request.owner, tag });
        self.ended[at] = Some((request.peer, request.nonce, now));
    }

    fn check_answer(
        &mut self,
        now: Nanos,
        peer: Peer,
        question: &[u8],
        answer: &[u8],
        was_asked: bool,
    ) {
        let asked = parse(question);
        if let Err(WireError::Version(version)) = asked {
            assert_eq!((answer[0] >> 4, answer[0] & 0xF), (version, PacketType::Refuse as u8));
            assert!(answer.len() <= question.len(), "amplified");
            return;
        }
        let (asked_header, asked) = asked.expect("what does not parse is not answered");
        let (header, packet) = parse(answer).expect("what is sent can be parsed");
        self.check_departure(now, header.departure);
        match (asked, packet) {
            (Packet::Open(open), Packet::Challenge(challenge)) => {
                assert!(answer.len() <= question.len(), "amplified");
                assert_eq!((header.tag, challenge.nonce), (open.tag, open.nonce));
                assert!(!self.is_proven(now, peer, &open), "a good cookie was not taken");
                self.note_cookie(Cookie {
                    peer,
                    nonce: open.nonce,
                    bytes: challenge.cookie,
                    at: now,
                });
            }
            (Packet::Open(open), Packet::Accept(accept)) => {
                let len_min = Accept::packet_len_min(&accept.tlvs);
                assert!(answer.len() <= question.len().max(len_min));
                assert!(self.may_be_proven(now, peer, &open), "an ACCEPT without a cookie");
                assert_eq!((header.tag, accept.nonce), (open.tag, open.nonce));
                self.check_accept(&open, &accept, was_asked);
            }
            (Packet::Open(open), Packet::Refuse(Refuse { nonce, .. })) => {
                assert!(self.may_be_proven(now, peer, &open), "a REFUSE without a cookie");
                assert_eq!((header.tag, nonce), (open.tag, open.nonce));
            }
            (
                Packet::Data(_)
                | Packet::Mark(_)
                | Packet::Report(_)
                | Packet::Accept(_)
                | Packet::Close(_),
                Packet::CloseAck(CloseAck { echoed_tag, .. }),
            ) => {
                assert!(answer.len() <= question.len(), "amplified");
                assert_eq!((header.tag, echoed_tag), (Tag::NONE, asked_header.tag));
                assert_eq!(self.listener.stream_of(echoed_tag), None);
                self.strangers_answered += 1;
                let bound = 64 + now.since(self.started_at).0 / 1_000_000 + 1;
                assert!(self.strangers_answered <= bound, "answers to strangers are bounded");
            }
            (asked, packet) => panic!("{asked:?} was answered by {packet:?}"),
        }
    }

    fn check_accept(&mut self, open: &Open<'_>, accept: &Accept<'_>, was_asked: bool) {
        let is_stream = open.role != Role::Describe;
        assert_eq!(accept.tag != Tag::NONE, is_stream);
        if is_stream {
            let stream = self.streams[usize::from(open.stream)].expect("it was accepted");
            assert_eq!(accept.tag, stream.tag, "the tag of the stream that is open");
            assert_eq!(open.nonce, stream.nonce);
        } else {
            assert!(was_asked, "each description is requested");
        }
        self.said[self.accepts % ACCEPTS_KEPT] = (open.tag, accept.tag, accept.boot_id);
        self.accepts += 1;
    }

    fn check_departure(&mut self, now: Nanos, departure: Departure) {
        if let Some((last, at)) = self.last_departure
            && now.since(at) < Nanos::from_millis(17_000)
        {
            assert!(last.before(departure), "departures rise");
        }
        self.last_departure = Some((departure, now));
    }

    fn note_cookie(&mut self, cookie: Cookie) {
        self.cookies[self.cookies_given % COOKIES_KEPT] = Some(cookie);
        self.cookies_given += 1;
    }

    /// Whether an OPEN certainly has a good cookie: one that was given in the last 8 s.
    fn is_proven(&self, now: Nanos, peer: Peer, open: &Open<'_>) -> bool {
        self.has_cookie(now, peer, open, Nanos::from_millis(8_000))
    }

    /// Whether an OPEN can have a good cookie: one that was given in the last 16 s.
    fn may_be_proven(&self, now: Nanos, peer: Peer, open: &Open<'_>) -> bool {
        self.cookies_given > COOKIES_KEPT
            || self.has_cookie(now, peer, open, Nanos::from_millis(16_000))
    }

    fn has_cookie(&self, now: Nanos, peer: Peer, open: &Open<'_>, age_max: Nanos) -> bool {
        self.cookies.iter().flatten().any(|cookie| {
            cookie.peer == peer
                && cookie.nonce >> 8 == open.nonce >> 8
                && cookie.bytes == open.cookie
                && now.since(cookie.at) < age_max
        })
    }
}

const STREAMS: usize = 2;
const COOKIES_KEPT: usize = 32;
const ACCEPTS_KEPT: usize = 32;
