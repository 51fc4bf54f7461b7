//! A listener, packet by packet.

use super::world::*;
use crate::number::{Departure, Nanos, Seq, Tag};
use crate::session::{
    AcceptError, ListenConfig, ListenEvent, Listener, OpenRequest, Peer, StreamSlot,
};
use crate::wire::{
    self, Challenge, CloseAck, CloseAckReason, Flags, Header, Mark, OPEN_LEN_MIN, Open, Packet,
    PacketType, Refuse, RefuseReason, Role, SeqRange, Tlvs, VERSION, WireError,
};

pub(super) const NOW: Nanos = Nanos::from_millis(100_000);
const NONCE: u64 = 0x0123_4567_89AB_CD00;

pub(super) fn header(kind: PacketType, tag: Tag) -> Header {
    let departure = Departure::at(NOW);
    Header { kind, flags: Flags::FROM_OPENER, tag, index: 5, seq: Seq(6), departure }
}

pub(super) fn open(cookie: [u8; 16]) -> Open<'static> {
    Open {
        tag: Tag(0x7A60_0001),
        role: Role::Receive,
        delivery: 0,
        stream: 1,
        nonce: NONCE,
        owner: OWNER,
        cookie,
        window: 64,
        max_packet_bytes: 1_500,
        pad: 0,
        trailer_kind: 0,
        deadline_us: 0,
        tlvs: Tlvs::EMPTY,
    }
}

fn emit(open: &Open<'_>, departure: Departure, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let header = Header { departure, ..header(PacketType::Open, Tag::NONE) };
    open.emit(&header, len, &mut bytes);
    bytes
}

/// Gives the listener a packet and returns its answer.
fn ask(listener: &mut Listener<Vec<StreamSlot>>, now: Nanos, bytes: &[u8]) -> Option<Vec<u8>> {
    listener.handle(now, PEER, bytes, &wire::parse(bytes)).expect("what is given is a packet");
    answer(listener, now)
}

fn answer(listener: &mut Listener<Vec<StreamSlot>>, now: Nanos) -> Option<Vec<u8>> {
    let mut out = vec![0; PACKET_BYTES_MAX];
    let (peer, len) = listener.poll_transmit(now, &mut out)?;
    assert_eq!(peer, PEER);
    assert!(listener.poll_transmit(now, &mut [0; 0]).is_none(), "one answer a packet");
    out.truncate(len);
    Some(out)
}

fn cookie_of(listener: &mut Listener<Vec<StreamSlot>>, now: Nanos) -> [u8; 16] {
    let bytes = emit(&open([0; 16]), Departure::at(now), OPEN_LEN_MIN);
    let answer = ask(listener, now, &bytes).expect("a CHALLENGE");
    match wire::parse(&answer) {
        Ok((_, Packet::Challenge(Challenge { nonce: NONCE, cookie }))) => cookie,
        other => panic!("no CHALLENGE: {other:?}"),
    }
}

fn request_of(listener: &mut Listener<Vec<StreamSlot>>) -> (OpenRequest, Option<Tag>) {
    match listener.poll_event() {
        Some(ListenEvent::Opening { request, takes_over }) => (request, takes_over),
        None => panic!("no request"),
    }
}

/// Opens with a valid cookie and accepts; returns the cookie, the tag and the ACCEPT.
fn opened(listener: &mut Listener<Vec<StreamSlot>>) -> ([u8; 16], Tag, Vec<u8>) {
    let cookie = cookie_of(listener, NOW);
    let bytes = emit(&open(cookie), Departure::at(NOW), 1_400);
    assert_eq!(ask(listener, NOW, &bytes), None);
    let (request, takes_over) = request_of(listener);
    assert_eq!(takes_over, None);
    let tag = listener.accept(NOW, &request, &params(&request)).expect("it fits");
    let accept = answer(listener, NOW).expect("an ACCEPT");
    (cookie, tag.expect("a stream was opened"), accept)
}

fn refusal(bytes: &[u8]) -> (RefuseReason, u32) {
    match wire::parse(bytes) {
        Ok((header, Packet::Refuse(refuse))) => {
            assert_eq!((header.tag, refuse.nonce), (open([0; 16]).tag, NONCE));
            (refuse.reason, refuse.retry_ms)
        }
        other => panic!("no REFUSE: {other:?}"),
    }
}

#[test]
fn accept_is_padded_to_the_smallest_of_what_both_take_and_what_came() {
    let overhead = 28;
    for (open_len, opener_max, expected) in
        [(1_252, 9_000, 1_252), (1_472, 1_500, 1_472), (4_000, 1_500, 1_472), (128, 72, 117)]
    {
        let mut listener = listener(1);
        let cookie = cookie_of(&mut listener, NOW);
        let open = Open { max_packet_bytes: opener_max, ..open(cookie) };
        ask(&mut listener, NOW, &emit(&open, Departure::at(NOW), open_len));
        let (request, _) = request_of(&mut listener);
        assert_eq!(usize::from(request.len_in), open_len);
        let limit = open_len.min(usize::from(opener_max) - overhead);
        assert_eq!(usize::from(request.len_out), limit);
        let payload_bytes = (limit - 26) as u16 / 8 * 8;
        let params = params_of(&request, payload_bytes);
        listener.accept(NOW, &request, &params).expect("it fits");
        let accept = answer(&mut listener, NOW).expect("an ACCEPT");
        assert_eq!(accept.len(), expected, "never too short for its fields");
    }
}

#[test]
fn repeated_open_gets_the_same_accept_and_no_event() {
    let mut listener = listener(2);
    let (cookie, tag, first) = opened(&mut listener);
    let later = NOW + Nanos::from_millis(20);
    let again = ask(&mut listener, later, &emit(&open(cookie), Departure::at(later), 1_400));
    let again = again.expect("an ACCEPT again");
    assert_eq!(listener.poll_event(), None);
    assert_eq!(listener.stream_of(tag), Some(1));
    let is_departure_or_crc = |at: usize| (18..22).contains(&at) || at >= first.len() - 4;
    for at in (0..first.len()).filter(|at| !is_departure_or_crc(*at)) {
        assert_eq!(again[at], first[at], "byte {at}");
    }
    assert_eq!(again.len(), first.len());
    assert_eq!((listener.stats().accepted, listener.stats().repeated), (1, 1));
}

#[test]
fn late_duplicate_of_an_earlier_attempt_does_not_take_over() {
    let mut listener = listener(3);
    let (cookie, tag, _) = opened(&mut listener);
    let before = Departure::at(NOW).minus(1_000);
    let earlier = emit(&Open { nonce: NONCE + 1, ..open(cookie) }, before, 1_400);
    assert_eq!(ask(&mut listener, NOW, &earlier), None);
    assert_eq!(listener.poll_event(), None);
    assert_eq!(listener.stats().late, 1);

    let after = Departure::at(NOW).plus(1_000);
    let later = emit(&Open { nonce: NONCE + 2, ..open(cookie) }, after, 1_400);
    assert_eq!(ask(&mut listener, NOW, &later), None);
    assert_eq!(request_of(&mut listener).1, Some(tag));
    assert_eq!(listener.stream_of(tag), Some(1), "it ends when the other is accepted");
}

#[test]
fn late_copy_of_the_open_of_a_stream_that_has_ended_opens_no_other() {
    let mut listener = listener(3);
    let (cookie, tag, _) = opened(&mut listener);
    listener.release(tag);
    let copy = emit(&open(cookie), Departure::at(NOW), 1_400);
    assert_eq!(ask(&mut listener, NOW, &copy), None);
    assert_eq!((listener.poll_event(), listener.stats().late), (None, 1));

    let next = emit(&Open { nonce: NONCE + 1, ..open(cookie) }, Departure::at(NOW), 1_400);
    assert_eq!(ask(&mut listener, NOW, &next), None);
    assert_eq!(request_of(&mut listener).1, None);
}

/// `docs/protocol.md#3.16`; `sim search` found it.
#[test]
fn late_copy_of_the_open_of_a_stream_that_was_taken_over_does_not_take_it_back() {
    let mut listener = listener(3);
    let (cookie, ..) = opened(&mut listener);
    let copy = emit(&open(cookie), Departure::at(NOW), 1_400);
    for round in 1..=4 {
        let after = Departure::at(NOW).plus(round);
        let other = Open { nonce: NONCE + u64::from(round), ..open(cookie) };
        assert_eq!(ask(&mut listener, NOW, &emit(&other, after, 1_400)), None);
        let (request, takes_over) = request_of(&mut listener);
        assert!(takes_over.is_some());
        listener.accept(NOW, &request, &params(&request)).expect("it fits");
        assert!(answer(&mut listener, NOW).is_some());
        // A copy is not compared by its departure where another peer has the stream.
        let copy = emit(&open(cookie), after.plus(1_000), 1_400);
        assert_eq!(ask(&mut listener, NOW, &copy), None);
        assert_eq!((listener.poll_event(), listener.stats().late), (None, round.into()));
    }
    let void = NOW + Nanos::from_millis(16_000);
    assert!(ask(&mut listener, void, &copy).is_some(), "a CHALLENGE");
}

#[test]
fn departures_are_not_compared_once_earlier_cookies_are_void() {
    let mut listener = listener(4);
    let (_, tag, _) = opened(&mut listener);
    let later = NOW + Nanos::from_millis(40_000);
    assert!(Departure::at(later).before(Departure::at(NOW)), "more than half the wrap");
    let cookie = cookie_of(&mut listener, later);
    let open = Open { nonce: NONCE + 1, ..open(cookie) };
    ask(&mut listener, later, &emit(&open, Departure::at(later), 1_400));
    assert_eq!(request_of(&mut listener).1, Some(tag));
}

#[test]
fn nonce_of_another_peer_is_no_repeat_and_its_departure_says_nothing() {
    let mut listener = listener(13);
    let (_, tag, _) = opened(&mut listener);
    let other_peer = Peer::v4([192, 0, 2, 8], 40_000);
    let mut out = vec![0; PACKET_BYTES_MAX];
    let ask_first = emit(&open([0; 16]), Departure::at(NOW), OPEN_LEN_MIN);
    listener.handle(NOW, other_peer, &ask_first, &wire::parse(&ask_first)).expect("an OPEN");
    let (_, len) = listener.poll_transmit(NOW, &mut out).expect("a CHALLENGE");
    let Ok((_, Packet::Challenge(challenge))) = wire::parse(&out[..len]) else {
        panic!("no CHALLENGE")
    };
    let before = Departure::at(NOW).minus(1_000);
    let bytes = emit(&open(challenge.cookie), before, 1_400);
    listener.handle(NOW, other_peer, &bytes, &wire::parse(&bytes)).expect("an OPEN");
    assert_eq!(answer(&mut listener, NOW), None);
    let (request, takes_over) = request_of(&mut listener);
    assert_eq!((request.peer, takes_over), (other_peer, Some(tag)));
}

#[test]
fn open_to_a_tag_or_without_one_is_dropped() {
    let mut listener = listener(14);
    let mut out = [0; OPEN_LEN_MIN];
    open([0; 16]).emit(&header(PacketType::Open, Tag(1)), OPEN_LEN_MIN, &mut out);
    assert_eq!(ask(&mut listener, NOW, &out), None);
    let nameless = Open { tag: Tag::NONE, ..open([0; 16]) };
    assert_eq!(ask(&mut listener, NOW, &emit(&nameless, Departure(0), OPEN_LEN_MIN)), None);
}

#[test]
fn cookie_replayed_after_the_next_epoch_is_challenged() {
    let mut listener = listener(5);
    let cookie = cookie_of(&mut listener, NOW);
    let replay = emit(&open(cookie), Departure::at(NOW), 1_400);
    let late = Nanos::from_millis(112_000);
    assert_eq!(late.0 / 8_000_000_000, NOW.0 / 8_000_000_000 + 2);
    let answer = ask(&mut listener, late, &replay).expect("a CHALLENGE");
    assert_eq!(kind_of(&answer), PacketType::Challenge);
    assert_eq!(listener.poll_event(), None);
    assert_eq!(listener.stats().challenged, 2);

    let last = late - Nanos(1);
    assert_eq!(ask(&mut listener, last, &replay), None);
    request_of(&mut listener);
}

#[test]
fn stream_opened_by_another_since_the_event_is_busy() {
    let mut listener = listener(6);
    let cookie = cookie_of(&mut listener, NOW);
    let other = Open { owner: OWNER + 1, ..open(cookie) };
    let mut requests = vec![];
    for open in [open(cookie), other] {
        ask(&mut listener, NOW, &emit(&open, Departure::at(NOW), 1_400));
        requests.push(request_of(&mut listener).0);
    }
    let terms = params(&requests[0]);
    let tag = listener.accept(NOW, &requests[0], &terms).expect("it fits").expect("a stream");
    answer(&mut listener, NOW);
    assert_eq!(listener.accept(NOW, &requests[1], &terms), Err(AcceptError::Busy(1)));
    assert_eq!(answer(&mut listener, NOW), None);
    assert_eq!(listener.stream_of(tag), Some(1));
    listener.refuse(&requests[1], RefuseReason::Busy, 250);
    let refused = answer(&mut listener, NOW).expect("a REFUSE");
    assert_eq!(refusal(&refused), (RefuseReason::Busy, 250));
}

#[test]
fn packets_longer_than_the_proven_path_are_not_accepted() {
    let mut listener = listener(7);
    let cookie = cookie_of(&mut listener, NOW);
    ask(&mut listener, NOW, &emit(&open(cookie), Departure::at(NOW), 1_049));
    let (request, _) = request_of(&mut listener);
    let error = listener.accept(NOW, &request, &params(&request));
    assert_eq!(error, Err(AcceptError::PacketSize { len: 1_050, len_max: 1_049 }));
    assert_eq!(answer(&mut listener, NOW), None);
    ask(&mut listener, NOW, &emit(&open(cookie), Departure::at(NOW), 1_050));
    let (request, _) = request_of(&mut listener);
    assert!(listener.accept(NOW, &request, &params(&request)).is_ok());
}

#[test]
fn each_role_is_bound_by_what_its_own_direction_carries() {
    let mut listener = listener(15);
    let cookie = cookie_of(&mut listener, NOW);
    for (role, is_accepted) in [(Role::Receive, false), (Role::Send, true)] {
        let open = Open { role, ..open(cookie) };
        ask(&mut listener, NOW, &emit(&open, Departure::at(NOW), 4_000));
        let (request, _) = request_of(&mut listener);
        assert_eq!((request.len_in, request.len_out), (4_000, 1_472));
        let params = params_of(&request, 3_968);
        assert_eq!(listener.accept(NOW, &request, &params).is_ok(), is_accepted, "{role:?}");
    }
}

#[test]
fn accept_is_no_longer_than_the_listener_sends() {
    let config = ListenConfig::new().with_packet_bytes_max(1_300).expect("in range");
    let slots = vec![StreamSlot::default(); STREAMS];
    let mut listener = Listener::new(slots, config, seed_bytes(16), BOOT_ID);
    let cookie = cookie_of(&mut listener, NOW);
    ask(&mut listener, NOW, &emit(&open(cookie), Departure::at(NOW), 1_472));
    let (request, _) = request_of(&mut listener);
    listener.accept(NOW, &request, &params(&request)).expect("it fits");
    assert_eq!(answer(&mut listener, NOW).expect("an ACCEPT").len(), 1_300 - 28);
}

#[test]
fn trailer_of_a_later_version_is_refused() {
    let mut listener = listener(8);
    let cookie = cookie_of(&mut listener, NOW);
    let open = Open { trailer_kind: 1, ..open(cookie) };
    let answer = ask(&mut listener, NOW, &emit(&open, Departure::at(NOW), 128));
    assert_eq!(refusal(&answer.expect("a REFUSE")), (RefuseReason::Trailer, 0));
    assert_eq!((listener.stats().challenged, listener.stats().refused), (1, 1));
    assert_eq!(listener.poll_event(), None);
}

#[test]
fn open_of_another_version_is_refused_in_that_version() {
    let mut listener = listener(9);
    let mut bytes = emit(&open([0; 16]), Departure::at(NOW), 128);
    bytes[0] = 0x73;
    assert_eq!(
        listener.handle(NOW, PEER, &bytes, &wire::parse(&bytes)),
        Err(WireError::Version(7))
    );
    let mut answer = answer(&mut listener, NOW).expect("a REFUSE");
    assert_eq!(answer[0], 0x76);
    answer[0] = 0x16;
    let covered = answer.len() - 4;
    let crc = crate::crc::crc32c(&answer[..covered]).to_be_bytes();
    answer[covered..].copy_from_slice(&crc);
    let expected =
        Refuse { nonce: NONCE, reason: RefuseReason::Version, versions: 1 << VERSION, retry_ms: 0 };
    assert_eq!(listener.stats().refused, 1);
    let (header, packet) = wire::parse(&answer).expect("REFUSE is the same in all versions");
    assert_eq!((header.tag, packet), (open([0; 16]).tag, Packet::Refuse(expected)));
}

#[test]
fn packet_of_no_stream_is_reported_at_a_bounded_rate() {
    let mut listener = listener(10);
    let mut mark = [0; 64];
    let len = Mark {
        oldest: Seq(0),
        report: Seq(0),
        echo: Departure(0),
        hold: 0,
        source_lost: 0,
        time_ns: 0,
    }
    .emit(&header(PacketType::Mark, Tag(0xDEAD_0001)), &mut mark);
    let answer = ask(&mut listener, NOW, &mark[..len]).expect("a CLOSE_ACK");
    let (header, packet) = wire::parse(&answer).expect("a packet");
    let expected = CloseAck {
        reason: CloseAckReason::UnknownTag,
        echoed_tag: Tag(0xDEAD_0001),
        source_lost: 0,
    };
    assert_eq!((header.tag, packet), (Tag::NONE, Packet::CloseAck(expected)));
    let more = (0..1_000).filter(|_| ask(&mut listener, NOW, &mark[..len]).is_some()).count();
    assert_eq!(more, 63);
    assert_eq!((listener.stats().unknown, listener.stats().unanswered), (64, 937));
}

#[test]
fn requests_are_refused_at_a_bounded_rate() {
    let mut listener = listener(10);
    let cookie = cookie_of(&mut listener, NOW);
    let proven = emit(&Open { trailer_kind: 1, ..open(cookie) }, Departure::at(NOW), 128);
    let mut other_version = emit(&open([0; 16]), Departure::at(NOW), 128);
    other_version[0] = 0x73;
    let refused = |listener: &mut Listener<_>, now, packet: &[u8]| {
        let is_refused = |_: &u32| {
            let is_packet = listener.handle(now, PEER, packet, &wire::parse(packet)).is_ok();
            assert_eq!(is_packet, packet == proven);
            answer(listener, now).is_some()
        };
        (0..1_000).filter(is_refused).count()
    };
    assert_eq!(refused(&mut listener, NOW, &other_version), 64);
    // What strangers bring about takes nothing from those whose address is proven.
    assert_eq!(refused(&mut listener, NOW, &proven), 64);
    assert_eq!((listener.stats().refused, listener.stats().unanswered), (2_000, 2_000 - 128));
    assert_eq!(refused(&mut listener, NOW + Nanos::from_millis(3), &proven), 3);
    assert_eq!(refused(&mut listener, NOW + Nanos::from_millis(3), &other_version), 3);
}

#[test]
fn answers_known_tags_and_short_packets_are_never_answered() {
    let mut listener = listener(11);
    let (_, tag, _) = opened(&mut listener);
    let foreign = Tag(tag.0 ^ 0x8000_0000);
    let fields = super::hostile::report_fields();
    let mut cases: Vec<(Tag, Vec<u8>)> = vec![];
    for tag in [foreign, tag, Tag::NONE] {
        let mut out = vec![0; 256];
        let len = fields.emit(&header(PacketType::Report, tag), &[SeqRange::default()], &mut out);
        cases.push((tag, out[..len].to_vec()));
    }
    let answered: Vec<bool> =
        cases.iter().map(|case| ask(&mut listener, NOW, &case.1).is_some()).collect();
    assert_eq!(answered, [true, false, false]);

    for bytes in super::hostile::answers(foreign) {
        assert_eq!(ask(&mut listener, NOW, &bytes), None, "{:?}", kind_of(&bytes));
    }
    for payload_len in [8, 12, 16, 24] {
        let mut data = vec![0; 26 + payload_len];
        wire::seal(&header(PacketType::Data, foreign), payload_len, &mut data);
        let is_answered = ask(&mut listener, NOW, &data).is_some();
        assert_eq!(is_answered, data.len() >= CloseAck::PACKET_LEN, "{} bytes", data.len());
    }
}

#[test]
fn tags_name_their_slots_and_no_others() {
    let mut listener = listener(12);
    let mut tags = vec![];
    for stream in 0..STREAMS as u16 {
        let cookie = cookie_of(&mut listener, NOW);
        let open = Open { stream, ..open(cookie) };
        ask(&mut listener, NOW, &emit(&open, Departure::at(NOW), 1_400));
        let (request, _) = request_of(&mut listener);
        let tag = listener.accept(NOW, &request, &params(&request)).expect("it fits");
        tags.push(tag.expect("a stream"));
        answer(&mut listener, NOW);
    }
    for (stream, tag) in tags.iter().enumerate() {
        assert_eq!(tag.0 & 3, stream as u32);
        assert_eq!(listener.stream_of(*tag), Some(stream as u16));
        assert_eq!(listener.stream_of(Tag(tag.0 ^ 0x100)), None);
        assert_eq!(listener.stream_of(Tag(tag.0 | 3)), None, "no slot 3");
    }
    listener.release(tags[1]);
    assert_eq!(listener.stream_of(tags[1]), None);
    assert_eq!(listener.stream_of(Tag::NONE), None);
}
