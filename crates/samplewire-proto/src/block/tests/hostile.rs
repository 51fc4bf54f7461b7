//! Frames that no end of a transfer sends. Each is rejected, counted for its reason, and does no harm.

use super::world::{FAR, NEAR, Plan, World, answer, frame};
use crate::block::wire::{Body, Frame, Header, Summary};
use crate::block::{
    FRAME_BYTES_MAX, ReceiveEvent, ReceiveFailure, Receiver, ReceiverConfig, ReceiverStats,
    Rejection, SendEnd, TransferId, Types,
};
use crate::crc::crc32c;
use crate::number::Nanos;
use crate::random::{Odds, Rng};

const PLAN: Plan = Plan { bytes: 50_000, packet_bytes: 1_000, with_id: true };
const STRANGER: [u8; 6] = [2, 0, 0, 0, 0, 0x66];
const NOW: Nanos = Nanos(1_000);

/// A world in which the sender waits for an answer, and nothing is on its way.
fn waiting() -> World {
    let mut world = World::new(1, PLAN);
    world.data_path.loss = Odds::of(1.0);
    world.step(Nanos(u64::MAX));
    assert_eq!((world.sender.stats().data, world.sender.stats().summaries), (50, 1));
    world
}

/// Hands it to the sender, and expects that it changes nothing but this counter.
fn is_rejected_by_sender(world: &mut World, bytes: &[u8], reason: Rejection) {
    let before = world.sender.clone();
    world.sender.handle(world.now, bytes);
    let (was, is) = (before.stats().rejected, world.sender.stats().rejected);
    assert_eq!(is[reason as usize], was[reason as usize] + 1, "{reason:?}");
    assert_eq!(is.iter().sum::<u64>(), was.iter().sum::<u64>() + 1, "{reason:?}");
    assert_eq!(world.sender.poll_timeout(), before.poll_timeout());
    assert_eq!(world.sender.poll_event(), None);
    assert_eq!(world.sender.stats().lists, before.stats().lists);
}

/// As [`is_rejected_by_sender`].
fn is_rejected(receiver: &mut Receiver<[u32; 1]>, bytes: &[u8], reason: Rejection) {
    let before = (*receiver.stats(), receiver.poll_timeout(), receiver.transfer().copied());
    // Time passes, so that a frame that counts shows.
    assert_eq!(receiver.handle(NOW + Nanos(5), bytes), None);
    let mut expected: ReceiverStats = before.0;
    expected.rejected[reason as usize] += 1;
    let after = (*receiver.stats(), receiver.poll_timeout(), receiver.transfer().copied());
    assert_eq!(after, (expected, before.1, before.2), "{reason:?}");
    assert_eq!(receiver.poll_transmit(&mut [0; FRAME_BYTES_MAX]), None);
    assert_eq!(receiver.poll_event(), None);
}

#[test]
fn answers_that_are_not_the_peers_change_nothing() {
    let mut world = waiting();
    let header = world.header().reply();
    let other = |header: Header| [answer(header, &[]), answer(header, &[3])];
    for bytes in other(Header { source: STRANGER, ..header }) {
        is_rejected_by_sender(&mut world, &bytes, Rejection::OtherSource);
    }
    for bytes in other(Header { destination: STRANGER, ..header }) {
        is_rejected_by_sender(&mut world, &bytes, Rejection::OtherDestination);
    }
    for transfer in [None, Some(TransferId(0))] {
        for bytes in other(Header { transfer, ..header }) {
            is_rejected_by_sender(&mut world, &bytes, Rejection::OtherTransfer);
        }
    }
    let data = frame(header, Body::Data { seq: 0, payload: &[0; 100] });
    is_rejected_by_sender(&mut world, &data, Rejection::OtherDirection);
    is_rejected_by_sender(&mut world, &data[..59], Rejection::Wire);
    world.data_path.loss = Odds::NEVER;
    world.run();
    assert!(matches!(world.sent, Some((_, SendEnd::Done))), "it still ends well");
}

#[test]
fn list_of_what_was_never_sent_repeats_nothing() {
    let mut world = waiting();
    let header = world.header().reply();
    for seqs in [&[50][..], &[u32::MAX], &[0, 1, 2, 50], &[50, 0]] {
        is_rejected_by_sender(&mut world, &answer(header, seqs), Rejection::BeyondEnd);
    }
    world.sender.handle(world.now, &answer(header, &[49]));
    assert_eq!(world.sender.poll_transmit(world.now).and_then(|it| it.seq()), Some(49));
}

#[test]
fn answers_before_the_first_summary_and_after_the_end_change_nothing() {
    let mut world = World::new(1, PLAN);
    let header = world.header().reply();
    for bytes in [answer(header, &[]), answer(header, &[3])] {
        is_rejected_by_sender(&mut world, &bytes, Rejection::NotNow);
    }
    world.run();
    assert!(matches!(world.sent, Some((_, SendEnd::Done))));
    for bytes in [answer(header, &[]), answer(header, &[3])] {
        is_rejected_by_sender(&mut world, &bytes, Rejection::NotNow);
    }
}

#[test]
fn receiver_that_lists_for_ever_is_given_up() {
    let mut world = World::new(1, Plan { bytes: 10, ..PLAN });
    world.data_path.loss = Odds::of(1.0);
    let header = world.header().reply();
    while world.sent.is_none() {
        world.step(world.now + Nanos::from_millis(1));
        world.inject_to_sender(answer(header, &[0]));
    }
    assert_eq!(world.sent.map(|(_, end)| end), Some(SendEnd::Stalled));
    assert_eq!(world.sender.stats().repeats, 128);
}

const HEADER: Header = Header { destination: FAR, source: NEAR, transfer: Some(TransferId(7)) };

fn receiver(config: ReceiverConfig) -> Receiver<[u32; 1]> {
    Receiver::new(config, [0; 1]).expect("the choices hold")
}

/// Takes packets of 100 bytes, 32 at most.
fn config() -> ReceiverConfig {
    ReceiverConfig { packet_bytes: Some(100), ..ReceiverConfig::new(FAR, 3_200) }
}

fn data(header: Header, seq: u32, len: usize) -> Vec<u8> {
    frame(header, Body::Data { seq, payload: &vec![seq as u8; len] })
}

fn summary(packets: u32, bytes: u64) -> Vec<u8> {
    frame(HEADER, Body::Summary(Summary { packets, bytes, crc: Some(1) }))
}

#[test]
fn frames_that_are_not_the_peers_change_nothing() {
    for begins in [false, true] {
        let mut receiver = receiver(ReceiverConfig { peer: Some(NEAR), ..config() });
        if begins {
            assert!(receiver.handle(NOW, &data(HEADER, 0, 100)).is_some());
        }
        for (bytes, reason) in [
            data(Header { source: STRANGER, ..HEADER }, 1, 100),
            data(Header { destination: STRANGER, ..HEADER }, 1, 100),
            data(Header { transfer: None, ..HEADER }, 1, 100),
            answer(HEADER, &[]),
            answer(HEADER, &[1]),
        ]
        .into_iter()
        .zip([
            Rejection::OtherSource,
            Rejection::OtherDestination,
            Rejection::OtherTransfer,
            Rejection::OtherDirection,
            Rejection::OtherDirection,
        ]) {
            is_rejected(&mut receiver, &bytes, reason);
        }
        is_rejected(&mut receiver, &data(HEADER, 1, 100)[..59], Rejection::Wire);
    }
}

/// Without a peer that is chosen, the first frame chooses it.
#[test]
fn stranger_does_not_join_a_transfer() {
    let mut receiver = receiver(config());
    assert!(receiver.handle(NOW, &data(HEADER, 0, 100)).is_some());
    let stranger = Header { source: STRANGER, ..HEADER };
    is_rejected(&mut receiver, &data(stranger, 1, 100), Rejection::OtherSource);
    let summary = Summary { packets: 1, bytes: 100, crc: Some(1) };
    let summary = frame(stranger, Body::Summary(summary));
    is_rejected(&mut receiver, &summary, Rejection::OtherSource);
}

#[test]
fn data_of_the_transfer_before_is_rejected() {
    let mut receiver = receiver(config());
    let old = data(HEADER, 0, 100);
    let crc = crc32c(&[0; 100]);
    let done = Summary { packets: 1, bytes: 100, crc: Some(crc) };
    assert!(receiver.handle(NOW, &old).is_some());
    receiver.handle(NOW, &frame(HEADER, Body::Summary(done)));
    receiver.handle_crc(NOW, crc);
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Done { bytes: 100 }));
    assert_eq!(receiver.poll_transmit(&mut [0; 60]), Some(60));
    is_rejected(&mut receiver, &old, Rejection::TransferBefore);
    is_rejected(&mut receiver, &summary(1, 99), Rejection::TransferBefore);
    let next = Header { transfer: Some(TransferId(8)), ..HEADER };
    is_rejected(&mut receiver, &data(next, 0, 100), Rejection::NotNow);
    receiver.listen();
    is_rejected(&mut receiver, &old, Rejection::TransferBefore);
    assert!(receiver.handle(NOW, &data(next, 3, 100)).is_some());
    is_rejected(&mut receiver, &old, Rejection::TransferBefore);
    is_rejected(&mut receiver, &summary(1, 99), Rejection::TransferBefore);
    // Its summary is answered beside the next transfer.
    assert_eq!(receiver.handle(NOW, &frame(HEADER, Body::Summary(done))), None);
    let mut out = [0; FRAME_BYTES_MAX];
    let len = receiver.poll_transmit(&mut out).expect("OK");
    let expected = Frame { header: HEADER.reply(), body: Body::Complete };
    assert_eq!(Frame::parse(&out[..len]), Ok(expected));
    assert_eq!(receiver.transfer(), Some(&next));
}

#[test]
fn two_frames_in_a_row_of_another_transfer_end_the_present_one() {
    let mut receiver = receiver(config());
    let other = |id| data(Header { transfer: Some(TransferId(id)), ..HEADER }, 0, 100);
    assert!(receiver.handle(NOW, &data(HEADER, 0, 100)).is_some());
    for id in [8, 9, 8] {
        is_rejected(&mut receiver, &other(id), Rejection::OtherTransfer);
    }
    assert!(receiver.handle(NOW, &data(HEADER, 1, 100)).is_some());
    is_rejected(&mut receiver, &other(8), Rejection::OtherTransfer);
    assert_eq!(receiver.handle(NOW, &other(8)), None);
    let end = Some(ReceiveEvent::Failed(ReceiveFailure::Superseded));
    assert_eq!((receiver.poll_event(), receiver.transfer()), (end, None));
    receiver.listen();
    assert!(receiver.handle(NOW, &other(8)).is_some());
    is_rejected(&mut receiver, &data(HEADER, 1, 100), Rejection::OtherTransfer);
}

#[test]
fn summary_of_as_many_packets_as_there_can_be_takes_no_memory() {
    let mut receiver = receiver(config());
    let most = u64::from(u32::MAX);
    for (packets, bytes) in [
        (u32::MAX, most * 100),
        (u32::MAX, most),
        (u32::MAX, u64::MAX),
        (u32::MAX, 0),
        (33, 3_201),
        (33, 3_200),
        (1, u64::MAX),
    ] {
        is_rejected(&mut receiver, &summary(packets, bytes), Rejection::TooLarge);
    }
    assert!(receiver.handle(NOW, &data(HEADER, 0, 100)).is_some());
    is_rejected(&mut receiver, &summary(u32::MAX, most * 100), Rejection::TooLarge);
}

#[test]
fn summary_that_contradicts_itself_or_the_one_before_is_rejected() {
    let mut receiver = receiver(config());
    for (packets, bytes) in [(1, 0), (0, 1), (1, 101), (2, 100), (32, 3_100)] {
        is_rejected(&mut receiver, &summary(packets, bytes), Rejection::Contradiction);
    }
    assert_eq!(receiver.handle(NOW, &summary(5, 500)), None);
    assert!(receiver.poll_transmit(&mut [0; FRAME_BYTES_MAX]).is_some());
    assert_eq!(receiver.poll_transmit(&mut [0; FRAME_BYTES_MAX]), None);
    let other_crc = Summary { packets: 5, bytes: 500, crc: Some(2) };
    is_rejected(&mut receiver, &frame(HEADER, Body::Summary(other_crc)), Rejection::Contradiction);
    is_rejected(&mut receiver, &summary(5, 499), Rejection::Contradiction);
    is_rejected(&mut receiver, &summary(4, 400), Rejection::Contradiction);
}

#[test]
fn data_beyond_the_end_is_rejected_and_what_came_before_the_summary_is_forgotten() {
    let mut receiver = receiver(config());
    assert!(receiver.handle(NOW, &data(HEADER, 31, 100)).is_some());
    assert!(receiver.handle(NOW, &data(HEADER, 4, 100)).is_some());
    is_rejected(&mut receiver, &data(HEADER, 32, 100), Rejection::TooLarge);
    is_rejected(&mut receiver, &data(HEADER, u32::MAX, 100), Rejection::TooLarge);
    assert_eq!(receiver.handle(NOW, &summary(5, 500)), None);
    let mut out = [0; FRAME_BYTES_MAX];
    let len = receiver.poll_transmit(&mut out).expect("4 packets are missing");
    let Ok(Frame { body: Body::Missing(seqs), .. }) = Frame::parse(&out[..len]) else {
        panic!("a list")
    };
    assert!(seqs.iter().eq(0..4));
    for seq in [5, 31, 32, u32::MAX] {
        is_rejected(&mut receiver, &data(HEADER, seq, 100), Rejection::BeyondEnd);
    }
}

/// `docs/block.md#lengths`
#[test]
fn data_of_another_length_than_that_of_its_packet_is_rejected() {
    let mut receiver = receiver(config());
    is_rejected(&mut receiver, &data(HEADER, 0, 101), Rejection::Length);
    // Either may be the last; the later one counts.
    assert!(receiver.handle(NOW, &data(HEADER, 3, 99)).is_some());
    assert!(receiver.handle(NOW, &data(HEADER, 4, 60)).is_some());
    is_rejected(&mut receiver, &data(HEADER, 3, 99), Rejection::Length);
    assert_eq!(receiver.handle(NOW, &summary(5, 460)), None);
    let mut out = [0; FRAME_BYTES_MAX];
    let len = receiver.poll_transmit(&mut out).expect("4 packets are missing");
    let Ok(Frame { body: Body::Missing(seqs), .. }) = Frame::parse(&out[..len]) else {
        panic!("a list")
    };
    assert!(seqs.iter().eq(0..4), "the last is there, the other short one is not");
    for (seq, len) in [(3, 99), (3, 60), (3, 101), (4, 100), (4, 59), (4, 61)] {
        is_rejected(&mut receiver, &data(HEADER, seq, len), Rejection::Length);
    }
    assert!(receiver.handle(NOW, &data(HEADER, 3, 100)).is_some());
    let before = receiver.stats().duplicates;
    assert_eq!(receiver.handle(NOW, &data(HEADER, 4, 60)), None);
    assert_eq!(receiver.stats().duplicates, before + 1);
}

/// Its length alone does not make a short packet the last.
#[test]
fn short_packet_in_place_of_another_is_requested_again() {
    let mut receiver = receiver(config());
    assert!(receiver.handle(NOW, &data(HEADER, 0, 60)).is_some());
    assert_eq!(receiver.handle(NOW, &summary(2, 160)), None);
    for seq in 0..2 {
        assert!(receiver.poll_event().is_none());
        assert!(receiver.handle(NOW, &data(HEADER, seq, 100 - 40 * seq as usize)).is_some());
    }
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Complete { bytes: 160 }));
}

#[test]
fn full_packet_in_place_of_a_short_last_one_is_requested_again() {
    let mut receiver = receiver(config());
    assert!(receiver.handle(NOW, &data(HEADER, 1, 50)).is_some());
    for seq in 0..2 {
        // The bytes of a longer one take the place of those before.
        assert!(receiver.handle(NOW, &data(HEADER, seq, 100)).is_some());
    }
    assert_eq!(receiver.handle(NOW, &summary(2, 150)), None);
    assert_eq!(receiver.poll_transmit(&mut [0; FRAME_BYTES_MAX]), Some(60), "a list");
    let last = data(HEADER, 1, 50);
    let place = receiver.handle(NOW, &last).expect("the last");
    assert_eq!((place.offset, place.bytes), (100, &[1; 50][..]));
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Complete { bytes: 150 }));
}

/// No byte is placed at or beyond the limit, not even padding.
#[test]
fn nothing_is_placed_beyond_the_limit() {
    let with_limit = |bytes_max| receiver(ReceiverConfig { bytes_max, ..config() });
    // 10 bytes in a frame of 60, which could hold 37.
    let mut receiver = with_limit(110);
    let last = data(HEADER, 1, 10);
    let place = receiver.handle(NOW, &last).expect("it fits");
    assert_eq!((place.offset, place.bytes.len()), (100, 10));
    is_rejected(&mut receiver, &data(HEADER, 1, 100), Rejection::TooLarge);
    is_rejected(&mut receiver, &data(HEADER, 2, 10), Rejection::TooLarge);
    let mut receiver = with_limit(0);
    is_rejected(&mut receiver, &data(HEADER, 0, 1), Rejection::TooLarge);
    is_rejected(&mut receiver, &summary(1, 1), Rejection::TooLarge);
    let nothing = Summary { packets: 0, bytes: 0, crc: Some(0) };
    assert_eq!(receiver.handle(NOW, &frame(HEADER, Body::Summary(nothing))), None);
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Complete { bytes: 0 }));
}

#[test]
fn wrong_crc_fails_and_the_sender_may_try_again() {
    let mut receiver = receiver(config());
    let all = [data(HEADER, 0, 100), summary(1, 100)];
    for bytes in &all {
        receiver.handle(NOW, bytes);
    }
    receiver.handle_crc(NOW, 2);
    let failure = ReceiveFailure::Crc { stated: 1, actual: 2 };
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Failed(failure)));
    assert_eq!(receiver.poll_transmit(&mut [0; 60]), None, "no OK");
    is_rejected(&mut receiver, &all[1], Rejection::NotNow);
    receiver.listen();
    for bytes in all.iter().rev() {
        receiver.handle(NOW, bytes);
    }
    receiver.handle_crc(NOW, 1);
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Done { bytes: 100 }));
}

/// What 0x01 to 0x03 cannot detect (`docs/block.md#types-0x01-to-0x03`).
#[test]
fn without_an_id_a_summary_alone_may_be_that_of_the_transfer_before() {
    let mut receiver = receiver(ReceiverConfig { types: Types::Plain, ..config() });
    let header = Header { transfer: None, ..HEADER };
    let summary = Summary { packets: 1, bytes: 100, crc: None };
    let [data, summary] = [data(header, 0, 100), frame(header, Body::Summary(summary))];
    let mut out = [0; FRAME_BYTES_MAX];
    for _ in 0..2 {
        // Each is done, in one frame and a summary.
        assert!(receiver.handle(NOW, &data).is_some());
        receiver.handle(NOW, &summary);
        assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Done { bytes: 100 }));
        assert_eq!(receiver.poll_transmit(&mut out), Some(60));
        is_rejected(&mut receiver, &data, Rejection::TransferBefore);
        receiver.listen();
        receiver.handle(NOW, &summary);
        assert_eq!((receiver.poll_transmit(&mut out), receiver.transfer()), (Some(60), None));
        assert_eq!(out[15..17], *b"OK");
    }
    // A file of another length is one.
    let longer = Summary { packets: 2, bytes: 200, crc: None };
    receiver.handle(NOW, &frame(header, Body::Summary(longer)));
    assert_eq!(receiver.transfer(), Some(&header));
    assert!(receiver.poll_transmit(&mut out).is_some() && out[15..17] == *b"MI");
    // From there on the one before is forgotten.
    assert_eq!(receiver.handle(NOW, &summary), None);
    assert_eq!(receiver.stats().rejected_for(Rejection::Contradiction), 1);
}

/// An answer has at most the bytes that came since the last one, or 60.
#[test]
fn answers_are_no_longer_than_what_came() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let packet_bytes = rng.pick(&[1, 100, 1_477]);
        let config = ReceiverConfig {
            packet_bytes: Some(packet_bytes),
            ..ReceiverConfig::new(FAR, 40_000 * u64::from(packet_bytes))
        };
        let mut receiver = Receiver::new(config, vec![0; 1_250]).expect("the choices hold");
        let packets = 1 + rng.below(40_000) as u32;
        let total =
            Summary { packets, bytes: u64::from(packets) * u64::from(packet_bytes), crc: Some(0) };
        let summary = frame(HEADER, Body::Summary(total));
        let mut out = [0; FRAME_BYTES_MAX];
        let mut came = 0;
        for _ in 0..30 {
            let max = rng.pick(&[0, 3, 300]);
            for _ in 0..rng.below(max + 1) {
                let bytes = data(HEADER, rng.below(packets.into()) as u32, packet_bytes.into());
                receiver.handle(NOW, &bytes);
                came += bytes.len();
            }
            receiver.handle(NOW, &summary);
            came += summary.len();
            let (mut sent, mut frames) = (0, 0);
            while let Some(len) = receiver.poll_transmit(&mut out) {
                assert!(Frame::parse(&out[..len]).is_ok());
                (sent, frames) = (sent + len, frames + 1);
            }
            assert!(frames <= 32 && sent <= came.max(60), "seed {seed}: {sent} for {came}");
            let is_complete = receiver.poll_event().is_some();
            assert_eq!(frames == 0, is_complete, "a summary is answered");
            if is_complete {
                break;
            }
            came = 0;
        }
    }
}

#[test]
fn transfer_survives_a_flood_of_garbage() {
    let mut world = World::new(9, PLAN);
    world.data_path.loss = Odds::of(0.3);
    let mut rng = Rng::new(1);
    let header = world.header();
    while world.sent.is_none() {
        for _ in 0..20 {
            let mut bytes: Vec<u8> = (0..60 + rng.index(1_441)).map(|_| rng.draw() as u8).collect();
            // Most look like frames from a stranger, some are no frames.
            let other = Header { source: STRANGER, ..header };
            let start = answer(if rng.one_in(2) { other } else { other.reply() }, &[]);
            let taken = rng.pick(&[0, 12, 14, 15, 19]);
            bytes[..taken].copy_from_slice(&start[..taken]);
            world.inject_to_receiver(bytes.clone());
            world.inject_to_sender(bytes);
        }
        world.run_until(world.now + Nanos::from_micros(100));
    }
    assert_eq!(world.sent.map(|(_, end)| end), Some(SendEnd::Done));
    assert!(world.receiver.stats().rejected.iter().sum::<u64>() > 1_000);
}
