//! Packets that lie, and what may be won by them.

use super::listening::{NOW, header, open};
use super::world::*;
use crate::crc::crc32c;
use crate::number::{Departure, Nanos, Seq, Tag};
use crate::random::Rng;
use crate::session::{ListenStats, OpenConfig, OpenEvent, OpenPhase, Opener, Peer};
use crate::stream::TermsError;
use crate::wire::{
    self, Accept, Challenge, Close, CloseAck, CloseAckReason, CloseReason, Header, Mark,
    OPEN_LEN_MIN, Open, Packet, PacketType, Refuse, RefuseReason, ReportFields, Role, Tlvs,
};

pub(super) fn report_fields() -> ReportFields {
    ReportFields {
        released: Seq(0),
        limit: Seq(0),
        settled: Departure(0),
        highest_end: Seq(0),
        echo: Departure(0),
        hold: 0,
        received: 0,
        marked: 0,
        skipped: 0,
        late: 0,
    }
}

/// One packet of each type that is itself an answer and is never answered.
pub(super) fn answers(tag: Tag) -> Vec<Vec<u8>> {
    let mut out = [[0; 256]; 3];
    let challenge = Challenge { nonce: 1, cookie: [2; 16] };
    let refuse = Refuse { nonce: 1, reason: RefuseReason::Busy, versions: 2, retry_ms: 3 };
    let ack = CloseAck { reason: CloseAckReason::Done, echoed_tag: Tag(4), source_lost: 0 };
    let lens = [
        challenge.emit(&header(PacketType::Challenge, tag), &mut out[0]),
        refuse.emit(&header(PacketType::Refuse, tag), &mut out[1]),
        ack.emit(&header(PacketType::CloseAck, tag), &mut out[2]),
    ];
    out.iter().zip(lens).map(|(bytes, len)| bytes[..len].to_vec()).collect()
}

/// One packet of every type and several lengths, none with a valid cookie.
fn unproven() -> Vec<Vec<u8>> {
    let tag = Tag(0xDEAD_0000);
    let mut packets = answers(tag);
    let mut push = |emit: &dyn Fn(&mut [u8]) -> usize| {
        let mut out = vec![0; 2_048];
        let len = emit(&mut out);
        packets.push(out[..len].to_vec());
    };
    for len in (8..1_400).step_by(8) {
        push(&|out| wire::seal(&header(PacketType::Data, tag), len, out));
    }
    push(&|out| {
        Mark {
            oldest: Seq(0),
            report: Seq(0),
            echo: Departure(0),
            hold: 0,
            source_lost: 0,
            time_ns: 0,
        }
        .emit(&header(PacketType::Mark, tag), out)
    });
    push(&|out| report_fields().emit(&header(PacketType::Report, tag), &[], out));
    push(&|out| {
        let close = Close { reason: CloseReason::Finished, last: Seq(0), source_lost: 0 };
        close.emit(&header(PacketType::Close, tag), out)
    });
    push(&|out| {
        let accept = accept(1, 2, Tag(3));
        accept.emit(&header(PacketType::Accept, tag), Accept::packet_len_min(&accept.tlvs), out)
    });
    for cookie in [[0; 16], [1; 16]] {
        for len in [OPEN_LEN_MIN, 129, 1_472] {
            push(&|out| open(cookie).emit(&header(PacketType::Open, Tag::NONE), len, out));
        }
    }
    let mut later = packets.last().expect("an OPEN").clone();
    later[0] = 0x23;
    later.truncate(OPEN_LEN_MIN);
    packets.push(later);
    packets
}

pub(super) fn accept(nonce: u64, payload_bytes: u16, tag: Tag) -> Accept<'static> {
    Accept {
        nonce,
        tag,
        stream: 1,
        streams: 2,
        boot_id: 1,
        rate_numerator: 1,
        rate_denominator: 1,
        format: 2,
        channels: 1,
        packet_samples: u32::from(payload_bytes) / 4,
        payload_bytes,
        payload_offset: 22,
        trailer_kind: 0,
        window: 1,
        reorder_tolerance: 0,
        dead_ms: 1_000,
        idle_ms: 100,
        ranges_max: 32,
        granularity_bytes: 8,
        time_ns: 0,
        tlvs: Tlvs::EMPTY,
    }
}

#[test]
fn unproven_address_never_gets_more_than_it_sent() {
    let mut answered = vec![];
    for bytes in unproven() {
        let mut listener = listener(1);
        // Errors are answered too: an OPEN of another version is refused.
        let error = listener.handle(NOW, PEER, &bytes, &wire::parse(&bytes)).err();
        assert_eq!(error.is_some(), bytes[0] >> 4 != 1);
        assert_eq!(listener.poll_event(), None);
        let mut out = vec![0; PACKET_BYTES_MAX];
        if let Some((_, len)) = listener.poll_transmit(NOW, &mut out) {
            assert!(len <= bytes.len(), "{len} bytes for {}", bytes.len());
            answered.push(out[0] & 0x0F);
        }
        assert_eq!(listener.poll_transmit(NOW, &mut out), None);
    }
    answered.sort_unstable();
    answered.dedup();
    let kinds = [PacketType::Challenge, PacketType::Refuse, PacketType::CloseAck];
    assert_eq!(answered, kinds.map(|kind| kind as u8), "every answer to the unproven is covered");
}

#[test]
fn random_bytes_neither_panic_nor_win_anything() {
    let seed = 0x5EED;
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    let mut listener = listener(2);
    let mut opener = Opener::new(config(), seed_bytes(3), NOW);
    let mut out = vec![0; PACKET_BYTES_MAX];
    let starts = unproven();
    for round in 0..100_000 {
        let now = NOW + Nanos(round * 1_000);
        let mut bytes = starts[rng.below(starts.len() as u64) as usize].clone();
        for _ in 0..rng.below(6) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.draw() as u8;
        }
        bytes.truncate(rng.below(bytes.len() as u64 + 1).max(4) as usize);
        if rng.below(100) < 90 {
            let covered = bytes.len() - 4;
            let crc = crc32c(&bytes[..covered]).to_be_bytes();
            bytes[covered..].copy_from_slice(&crc);
        }
        let is_packet = listener.handle(now, PEER, &bytes, &wire::parse(&bytes)).is_ok();
        assert_eq!(listener.poll_event(), None, "no cookie, no request");
        if let Some((_, len)) = listener.poll_transmit(now, &mut out) {
            assert!(len <= bytes.len());
        }
        if is_packet {
            let (header, packet) = wire::parse(&bytes).expect("the listener took it");
            opener.handle(now, &Header { tag: opener.tag(), ..header }, &packet, bytes.len());
        }
    }
    assert_eq!(opener.poll_event(), None);
    let stats = listener.stats();
    assert!(stats.challenged > 100 && stats.unknown > 100 && stats.refused > 10, "{stats:?}");
}

/// An opener that waits for the ACCEPT of a stream, the nonce it sent last, and its cookie.
fn trying() -> (Opener, Header, u64, [u8; 16]) {
    let mut opener = Opener::new(config(), seed_bytes(4), NOW);
    let asked = open_of(&mut opener, NOW).nonce;
    let cookie = [7; 16];
    let challenge = Packet::Challenge(Challenge { nonce: asked, cookie });
    opener.handle(NOW, &header(PacketType::Challenge, opener.tag()), &challenge, 50);
    let tried = open_of(&mut opener, NOW);
    assert_eq!(tried.cookie, cookie);
    let header = header(PacketType::Accept, opener.tag());
    (opener, header, tried.nonce, cookie)
}

/// The OPEN that is due.
fn open_of(opener: &mut Opener, now: Nanos) -> Open<'static> {
    let mut out = vec![0; PACKET_BYTES_MAX];
    let len = opener.poll_transmit(now, &mut out).expect("an OPEN is due");
    match wire::parse(&out[..len]) {
        Ok((_, Packet::Open(open))) => Open { tlvs: Tlvs::EMPTY, ..open },
        other => panic!("no OPEN: {other:?}"),
    }
}

#[test]
fn forged_accept_is_ignored() {
    let (mut opener, head, nonce, _) = trying();
    let peer_tag = Tag(9);
    let good = accept(nonce, 8_192, peer_tag);
    let forgeries = [
        (Header { tag: Tag(head.tag.0 ^ 1), ..head }, good, 8_972),
        (Header { tag: Tag::NONE, ..head }, good, 8_972),
        (head, Accept { nonce: nonce ^ 1, ..good }, 8_972),
        (head, Accept { nonce: nonce + 1, ..good }, 8_972),
        (head, Accept { tag: Tag::NONE, ..good }, 8_972),
        (head, good, 22 + 8_192 + 3),
    ];
    for (header, accept, len) in forgeries {
        opener.handle(NOW, &header, &Packet::Accept(accept), len);
        assert_eq!(opener.poll_event(), None, "{header:?} {len}");
    }
    opener.handle(NOW, &head, &Packet::Accept(good), 22 + 8_192 + 4);
    assert!(
        matches!(opener.poll_event(), Some(OpenEvent::Accepted(info)) if info.peer_tag == peer_tag)
    );
    opener.handle(NOW, &head, &Packet::Accept(good), 8_972);
    assert_eq!(opener.poll_event(), None, "an opening ends once");
}

/// `docs/protocol.md#3.6`, `#3.12`
#[test]
fn accept_of_contradictory_terms_ends_the_opening_and_names_the_field() {
    let (mut opener, head, nonce, _) = trying();
    let wrong = Accept { rate_denominator: 0, ..accept(nonce, 8_192, Tag(9)) };
    let forged = [
        (Header { tag: Tag(head.tag.0 ^ 1), ..head }, wrong),
        (head, Accept { nonce: nonce ^ 1, ..wrong }),
        (head, Accept { tag: Tag::NONE, ..wrong }),
    ];
    for (header, accept) in forged {
        opener.handle(NOW, &header, &Packet::Accept(accept), 8_972);
        assert_eq!(opener.poll_event(), None, "it is not believed, whatever its terms");
    }
    opener.handle(NOW, &head, &Packet::Accept(wrong), 8_972);
    let error = TermsError::Rate { numerator: 1, denominator: 0 };
    assert_eq!(opener.poll_event(), Some(OpenEvent::Contradicted(error)));
    assert_eq!((opener.phase(), opener.poll_timeout()), (OpenPhase::Done, None));
}

#[test]
fn accept_before_the_cookie_has_left_is_ignored() {
    let mut opener = Opener::new(config(), seed_bytes(5), NOW);
    let nonce = open_of(&mut opener, NOW).nonce;
    let head = header(PacketType::Accept, opener.tag());
    opener.handle(NOW, &head, &Packet::Accept(accept(nonce, 16, Tag(9))), 8_972);
    assert_eq!(opener.poll_event(), None);
    let challenge = Packet::Challenge(Challenge { nonce, cookie: [7; 16] });
    opener.handle(NOW, &Header { kind: PacketType::Challenge, ..head }, &challenge, 50);
    opener.handle(NOW, &head, &Packet::Accept(accept(nonce, 16, Tag(9))), 8_972);
    assert_eq!(opener.poll_event(), None);
}

#[test]
fn sender_believes_no_packet_longer_than_its_open() {
    let config = OpenConfig::new(Role::Send, 1, OWNER).with_first_seq(Seq(77));
    let mut opener = Opener::new(config, seed_bytes(7), NOW);
    let nonce = open_of(&mut opener, NOW).nonce;
    let head = header(PacketType::Challenge, opener.tag());
    let challenge = Packet::Challenge(Challenge { nonce, cookie: [7; 16] });
    opener.handle(NOW, &head, &challenge, 50);
    let nonce = open_of(&mut opener, NOW).nonce;
    let head = Header { seq: Seq(77), ..header(PacketType::Accept, opener.tag()) };
    let other = Header { seq: Seq(78), ..head };
    opener.handle(NOW, &other, &Packet::Accept(accept(nonce, 8_944, Tag(9))), 120);
    assert_eq!(opener.poll_event(), None, "its first seq is another");
    opener.handle(NOW, &head, &Packet::Accept(accept(nonce, 8_952, Tag(9))), 9_100);
    assert_eq!(opener.poll_event(), None);
    opener.handle(NOW, &head, &Packet::Accept(accept(nonce, 8_944, Tag(9))), 120);
    assert!(matches!(opener.poll_event(), Some(OpenEvent::Accepted(_))));
}

#[test]
fn repeated_challenge_does_not_hasten_the_next_open() {
    let (mut opener, head, nonce, cookie) = trying();
    let due = opener.poll_timeout();
    let head = Header { kind: PacketType::Challenge, ..head };
    opener.handle(NOW, &head, &Packet::Challenge(Challenge { nonce, cookie }), 50);
    assert_eq!(opener.poll_timeout(), due);
    let other = Challenge { nonce, cookie: [8; 16] };
    opener.handle(NOW, &head, &Packet::Challenge(other), 50);
    assert_eq!(opener.poll_timeout(), Some(NOW), "a cookie that differs is used at once");
}

/// `docs/protocol.md#3.7`: a device that has started again may have opened the stream in its former
/// run, whose packets must not be taken for those of the next; `sim search` found it.
#[test]
fn another_cookie_begins_another_attempt() {
    let (mut opener, head, nonce, _) = trying();
    let another = Challenge { nonce, cookie: [8; 16] };
    let challenge_head = Header { kind: PacketType::Challenge, ..head };
    opener.handle(NOW, &challenge_head, &Packet::Challenge(another), 50);
    let tried = open_of(&mut opener, NOW);
    assert_eq!(tried.cookie, [8; 16]);
    assert_ne!(tried.tag, head.tag);
    assert_eq!(tried.tag, opener.tag());
    assert_ne!(tried.nonce, nonce);
    assert_eq!(tried.nonce & !0xFF, nonce & !0xFF, "the cookie is good for it");
    for tag in [head.tag, opener.tag()] {
        let former = Header { tag, ..head };
        opener.handle(NOW, &former, &Packet::Accept(accept(nonce, 8_192, Tag(9))), 8_972);
        assert_eq!(opener.poll_event(), None);
    }
    let present = Header { tag: opener.tag(), ..head };
    opener.handle(NOW, &present, &Packet::Accept(accept(tried.nonce, 8_192, Tag(9))), 8_972);
    assert!(matches!(opener.poll_event(), Some(OpenEvent::Accepted(_))));
}

#[test]
fn challenge_of_an_open_that_never_left_or_left_long_ago_is_ignored() {
    let config = config().with_timeout(Nanos::from_millis(60_000)).expect("in range");
    let mut opener = Opener::new(config, seed_bytes(8), NOW);
    let head = header(PacketType::Challenge, opener.tag());
    let first = open_of(&mut opener, NOW).nonce;
    let mut last = first;
    let is_due = |opener: &Opener, at| opener.poll_timeout() == Some(at);
    let challenge = |nonce| Packet::Challenge(Challenge { nonce, cookie: [7; 16] });
    opener.handle(NOW, &head, &challenge(first & !0xFF | first.wrapping_sub(1) & 0xFF), 50);
    assert!(!is_due(&opener, NOW));
    while last & 7 != first & 7 || last == first {
        let due = opener.poll_timeout().expect("the opener goes on asking");
        assert!(due < NOW + Nanos::from_millis(10_000));
        last = open_of(&mut opener, due).nonce;
    }
    let now = NOW + Nanos::from_millis(5_900);
    opener.handle(now, &head, &challenge(first), 50);
    assert!(!is_due(&opener, now), "the eighth since has taken its place");
    opener.handle(now, &head, &challenge(last), 50);
    assert!(is_due(&opener, now), "the padded OPEN is due");
}

#[test]
fn refusal_of_an_earlier_size_is_ignored() {
    let (mut opener, head, nonce, _) = trying();
    let head = Header { kind: PacketType::Refuse, ..head };
    for other in [nonce + 0x100, nonce ^ 1] {
        opener.handle(NOW, &head, &refuse(other), 42);
        assert_eq!(opener.poll_event(), None);
    }
    opener.handle(NOW, &head, &refuse(nonce), 42);
    assert!(matches!(opener.poll_event(), Some(OpenEvent::Refused { .. })));
}

#[test]
fn refusal_of_an_earlier_open_without_cookie_is_believed() {
    let mut opener = Opener::new(config(), seed_bytes(6), NOW);
    let first = open_of(&mut opener, NOW).nonce;
    let second = open_of(&mut opener, NOW + Nanos::from_millis(100)).nonce;
    assert_ne!(first, second);
    let head = header(PacketType::Refuse, opener.tag());
    opener.handle(NOW, &head, &refuse(first ^ 0x100), 42);
    assert_eq!(opener.poll_event(), None);
    opener.handle(NOW, &head, &refuse(first), 42);
    assert!(matches!(opener.poll_event(), Some(OpenEvent::Refused { .. })));
}

fn refuse(nonce: u64) -> Packet<'static> {
    let reason = RefuseReason::NoSuchStream;
    Packet::Refuse(Refuse { nonce, reason, versions: 2, retry_ms: 0 })
}

/// docs/protocol.md#3.3
#[test]
fn packet_from_an_address_that_no_answer_can_reach_is_dropped_unread() {
    for peer in [Peer::v4([192, 0, 2, 9], 0), Peer::v4([224, 0, 0, 1], 9), Peer::v6([0; 16], 9)] {
        let mut listener = listener(5);
        let mut count = 0;
        for packet in unproven() {
            assert_eq!(listener.handle(NOW, peer, &packet, &wire::parse(&packet)), Ok(()));
            assert_eq!(listener.poll_event(), None);
            assert_eq!(listener.poll_transmit(NOW, &mut [0; 9_000]), None);
            count += 1;
        }
        let expected = ListenStats { unanswerable: count, ..ListenStats::default() };
        assert_eq!(*listener.stats(), expected);
    }
}
