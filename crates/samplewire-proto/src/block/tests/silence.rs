//! Each end gives up after 10 s without a word of the other, and not a nanosecond before.

use super::world::{FAR, NEAR, Plan, World, answer, frame};
use crate::block::wire::{Body, Header, Summary};
use crate::block::{
    FRAME_BYTES_MAX, ReceiveEvent, ReceiveFailure, Receiver, ReceiverConfig, Rejection, SendEnd,
    TransferId,
};
use crate::crc::crc32c;
use crate::number::Nanos;
use crate::random::Odds;

const PLAN: Plan = Plan { bytes: 50_000, packet_bytes: 1_000, with_id: true };
const TEN_SECONDS: Nanos = Nanos(10_000_000_000);

#[test]
fn sender_without_an_answer_gives_up_10_s_after_its_first_summary() {
    let mut world = World::new(1, PLAN);
    world.data_path.loss = Odds::of(1.0);
    let start = world.now;
    world.run();
    assert_eq!(world.sent, Some((start + TEN_SECONDS, SendEnd::Silent)));
    // One every 10 ms.
    assert_eq!((world.sender.stats().data, world.sender.stats().summaries), (50, 1_000));
    assert_eq!(world.sender.poll_timeout(), None);
}

#[test]
fn sender_gives_up_10_s_after_the_summary_behind_its_last_repeat() {
    let mut world = World::new(2, PLAN);
    world.data_path.loss = Odds::of(0.5);
    // At once, and the summary behind it.
    let start = world.run_to(|world| world.sender.stats().repeats > 0);
    assert_eq!(world.sender.stats().summaries, 2);
    world.data_path.loss = Odds::of(1.0);
    world.forget_what_is_on_the_wire();
    world.run();
    assert_eq!(world.sent, Some((start + TEN_SECONDS, SendEnd::Silent)));
}

#[test]
fn receiver_gives_up_10_s_after_the_last_frame() {
    let mut world = World::new(3, PLAN);
    // The sender's host dies.
    let heard_at = world.run_to(|world| world.receiver.stats().data == 20);
    world.data_path.loss = Odds::of(1.0);
    world.forget_what_is_on_the_wire();
    world.run();
    assert_eq!(world.received, [(heard_at + TEN_SECONDS, Err(ReceiveFailure::Silent))]);
}

#[test]
fn both_ends_of_a_cut_wire_stop() {
    let mut world = World::new(4, PLAN);
    world.data_path.loss = Odds::of(0.5);
    let heard_at = world.run_to(|world| world.receiver.stats().lists > 0);
    for path in [&mut world.data_path, &mut world.answer_path] {
        path.loss = Odds::of(1.0);
    }
    world.forget_what_is_on_the_wire();
    world.run();
    assert_eq!(world.received, [(heard_at + TEN_SECONDS, Err(ReceiveFailure::Silent))]);
    let (end, how) = world.sent.expect("it has ended");
    assert_eq!(how, SendEnd::Silent);
    assert!(end <= heard_at + TEN_SECONDS);
}

#[test]
fn receiver_may_compute_the_crc_for_longer_than_10_s() {
    for loss in [0.0, 0.5] {
        let mut world = World::new(6, PLAN);
        world.crc_time = Nanos::from_millis(60_000);
        for path in [&mut world.data_path, &mut world.answer_path] {
            path.loss = Odds::of(loss);
        }
        world.run();
        let (end, how) = world.sent.expect("it has ended");
        let &[(done_at, Ok(()))] = &world.received[..] else { panic!("{:?}", world.received) };
        assert_eq!((how, done_at <= end), (SendEnd::Done, true), "loss {loss}");
        let checks = world.sender.stats().checks;
        let at_least = if loss > 0.0 { 100 } else { 599 };
        assert!((at_least..=600).contains(&checks), "{checks} answers at loss {loss}");
    }
}

#[test]
fn what_is_rejected_breaks_no_silence() {
    let mut world = World::new(5, PLAN);
    world.answer_path.loss = Odds::of(1.0);
    world.run_to(|world| world.receiver.stats().oks > 0);
    let start = world.sender.poll_timeout().expect("it waits");
    let header = world.header();
    let others = [
        Header { destination: [2, 0, 0, 0, 0, 9], ..header },
        Header { source: [2, 0, 0, 0, 0, 9], ..header },
        Header { transfer: Some(TransferId(9)), ..header },
        Header { transfer: None, ..header },
    ];
    while world.sent.is_none() {
        for other in others {
            world.inject_to_sender(answer(other.reply(), &[]));
        }
        world.run_until(world.now + Nanos::from_millis(100));
    }
    let (end, how) = world.sent.expect("it has ended");
    assert_eq!((how, end < start + TEN_SECONDS), (SendEnd::Silent, true));
    assert!(world.sender.stats().rejected_for(Rejection::OtherSource) > 90);
}

/// `docs/block.md#times`
#[test]
fn ok_is_repeated_for_10_s_more() {
    let header = Header { destination: FAR, source: NEAR, transfer: Some(TransferId(7)) };
    let summary = Summary { packets: 1, bytes: 3, crc: Some(crc32c(b"abc")) };
    let summary = frame(header, Body::Summary(summary));
    let data = frame(header, Body::Data { seq: 0, payload: b"abc" });
    let mut receiver = Receiver::new(ReceiverConfig::new(FAR, 10), [0; 1]).expect("it holds");
    let mut out = [0; FRAME_BYTES_MAX];
    let mut answers = |receiver: &mut Receiver<[u32; 1]>, at| {
        assert_eq!(receiver.handle(at, &summary), None);
        receiver.handle_timeout(at);
        receiver.poll_transmit(&mut out).is_some()
    };

    assert_eq!(receiver.poll_timeout(), None, "an idle receiver waits for ever");
    assert!(receiver.handle(Nanos(100), &data).is_some());
    assert_eq!(receiver.poll_timeout(), Some(Nanos(100) + TEN_SECONDS));
    let done_at = Nanos(500);
    assert!(!answers(&mut receiver, Nanos(300)), "not before the CRC is known");
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Complete { bytes: 3 }));
    receiver.handle_crc(done_at, crc32c(b"abc"));
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Done { bytes: 3 }));
    assert!(receiver.poll_transmit(&mut [0; 60]).is_some(), "the summary that waited");
    assert_eq!(receiver.poll_transmit(&mut [0; 60]), None, "once");

    let until = done_at + TEN_SECONDS;
    assert_eq!(receiver.poll_timeout(), Some(until));
    assert!(answers(&mut receiver, Nanos(501)));
    receiver.listen();
    assert!(answers(&mut receiver, until - Nanos(1)), "while it waits for the next, too");
    let before = receiver.stats().rejected_for(Rejection::TransferBefore);
    assert!(!answers(&mut receiver, until));
    assert_eq!(receiver.stats().rejected_for(Rejection::TransferBefore), before + 1);
    assert_eq!((receiver.poll_timeout(), receiver.poll_event()), (None, None));
}
