//! Packets that lie: counted or named, and the stream goes on.

use super::packets::{self, header};
use super::pair::{Pair, RECEIVER_TAG, SAMPLES, SENDER_TAG, terms};
use crate::number::{Departure, Nanos, Seq, Tag};
use crate::receiver::ReceiverConfig;
use crate::stream::{End, Violation};
use crate::wire::{
    Close, CloseAck, CloseAckReason, CloseReason, Header, Mark, PacketType, ReportFields, SeqRange,
};

const RTT: Nanos = Nanos::from_micros(100);
const PACKETS: u64 = 2_000;

/// A stream in full flow.
fn flowing() -> Pair {
    let mut pair = Pair::new(1, terms(256, RTT), ReceiverConfig::new());
    pair.to_push = PACKETS;
    pair.interval = Nanos(1_000);
    pair.run_for(Nanos::from_millis(1));
    pair
}

/// Lets the stream run out and asserts that it lost nothing.
fn assert_unharmed(mut pair: Pair) {
    pair.run_to_end(Nanos::from_millis(1_000));
    pair.assert_all_accounted(PACKETS * u64::from(SAMPLES), None);
}

/// A REPORT that looks like the newest, changed by `change`.
fn report(pair: &Pair, ranges: &[SeqRange], change: impl FnOnce(&mut ReportFields)) -> Vec<u8> {
    report_of(pair, Seq(1 << 20), ranges, change)
}

fn report_of(
    pair: &Pair,
    number: Seq,
    ranges: &[SeqRange],
    change: impl FnOnce(&mut ReportFields),
) -> Vec<u8> {
    let released = pair.sender.released();
    let mut fields = ReportFields {
        released,
        limit: released + 200,
        settled: Departure::at(pair.now).minus(200),
        highest_end: released,
        echo: Departure(0),
        hold: 0,
        received: 0,
        marked: 0,
        skipped: 0,
        late: 0,
    };
    change(&mut fields);
    let mut bytes = vec![0; ReportFields::packet_len(ranges.len())];
    fields.emit(&header(PacketType::Report, SENDER_TAG, number), ranges, &mut bytes);
    bytes
}

#[test]
fn report_that_releases_the_future_is_dropped_whole() {
    let mut pair = flowing();
    let bytes = report(&pair, &[], |fields| {
        fields.released = pair.sender.next_seq() + 1;
        fields.limit = fields.released + 100;
    });
    let limit_before = pair.sender.released();
    pair.inject_to_sender(bytes);
    pair.run_for(Nanos(16));
    assert_eq!(pair.sender.stats().reports_refused, 1);
    assert!(!pair.sender.released().before(limit_before));
    assert_unharmed(pair);
}

#[test]
fn report_with_an_impossible_promise_is_dropped_whole() {
    for limit_by in [u32::MAX, 1 << 25, 1 << 31] {
        let mut pair = flowing();
        let bytes = report(&pair, &[], |fields| fields.limit = fields.released + limit_by);
        pair.inject_to_sender(bytes);
        pair.run_for(Nanos(16));
        assert_eq!(pair.sender.stats().reports_refused, 1, "limit {limit_by}");
        assert_unharmed(pair);
    }
}

#[test]
fn limit_of_an_older_report_from_half_the_numbers_back_takes_no_credit_away() {
    let config = ReceiverConfig::new().with_credit_floor(8).expect("in its range");
    let mut pair = Pair::new(1, terms(256, RTT), config);
    pair.to_push = 20;
    pair.closes = false;
    pair.interval = Nanos(RTT.0 / 2);
    pair.run_for(Nanos::from_millis(2));
    let bytes = report_of(&pair, Seq(0), &[], |fields| {
        fields.released = fields.released + (1 << 31) + 1;
        fields.limit = fields.released;
    });
    let before = pair.sender.stats().reports;
    pair.inject_to_sender(bytes);
    pair.run_for(Nanos(16));
    pair.consumes = false;
    pair.to_push = 200;
    pair.run_for(Nanos::from_millis(5));
    assert!(pair.sender.stats().reports > before, "it is a sign of life");
    assert_eq!(pair.receiver.stats().beyond_credit, 0);
    assert_eq!(pair.sender.stats().reports_refused, 0);
    pair.consumes = true;
    pair.closes = true;
    pair.run_to_end(Nanos::from_millis(1_000));
    pair.assert_all_accounted(220 * u64::from(SAMPLES), None);
}

#[test]
fn report_that_settles_what_has_not_departed_is_dropped_whole() {
    let mut pair = flowing();
    let range = SeqRange { first: pair.sender.released(), count: 1 };
    let bytes = report(&pair, &[range], |fields| fields.settled = fields.settled.plus(1 << 30));
    pair.inject_to_sender(bytes);
    pair.run_for(Nanos(16));
    assert_eq!(pair.sender.stats().reports_refused, 1);
    assert_unharmed(pair);
}

#[test]
fn request_for_everything_repeats_each_packet_once_at_most() {
    let mut pair = flowing();
    let all = SeqRange { first: Seq(0), count: u32::MAX };
    let bytes = report(&pair, &[all; 32], |_| ());
    let held = pair.sender.next_seq() - pair.sender.released();
    pair.inject_to_sender(bytes);
    pair.run_for(Nanos::from_micros(50));
    let repeats = pair.sender.stats().retransmissions;
    assert!(repeats > 0 && repeats <= u64::from(held), "{repeats} of {held}");
}

#[test]
fn replayed_reports_change_nothing() {
    let mut pair = flowing();
    let old = report(&pair, &[SeqRange { first: Seq(0), count: 100 }], |fields| {
        fields.released = Seq(0);
        fields.limit = Seq(100);
    });
    for _ in 0..1_000 {
        pair.inject_to_sender(old.clone());
    }
    pair.run_for(Nanos(16));
    assert_eq!(pair.sender.stats().retransmissions, 0);
    assert_unharmed(pair);
}

#[test]
fn close_from_a_stranger_is_counted_and_ignored() {
    let mut pair = flowing();
    let close = Close { reason: CloseReason::Cancelled, last: Seq(0), source_lost: 0 };
    let mut bytes = vec![0; 64];
    let len = close.emit(&header(PacketType::Close, Tag(99), pair.sender.released()), &mut bytes);
    pair.inject_to_sender(bytes[..len].to_vec());
    pair.inject_to_receiver(bytes[..len].to_vec());
    let outside = pair.sender.next_seq() + 5;
    let len = close.emit(&header(PacketType::Close, SENDER_TAG, outside), &mut bytes);
    pair.inject_to_sender(bytes[..len].to_vec());
    let far = pair.receiver.limit() + 1;
    let len = close.emit(&header(PacketType::Close, RECEIVER_TAG, far), &mut bytes);
    pair.inject_to_receiver(bytes[..len].to_vec());
    pair.run_for(Nanos(32));
    assert_eq!((pair.sender.stats().foreign, pair.sender.stats().closes_refused), (1, 1));
    assert_eq!((pair.receiver.stats().foreign, pair.receiver.stats().refused), (1, 1));
    assert_unharmed(pair);
}

#[test]
fn unknown_is_believed_only_for_the_tag_in_use() {
    let mut pair = flowing();
    let mut ack =
        CloseAck { reason: CloseAckReason::UnknownTag, echoed_tag: Tag(99), source_lost: 0 };
    let mut bytes = vec![0; CloseAck::PACKET_LEN];
    ack.emit(&header(PacketType::CloseAck, Tag::NONE, Seq(0)), &mut bytes);
    pair.inject_to_sender(bytes.clone());
    pair.inject_to_receiver(bytes.clone());
    pair.run_for(Nanos(16));
    assert!(!pair.sender.is_ended() && !pair.receiver.is_ended());
    ack.echoed_tag = SENDER_TAG;
    ack.emit(&header(PacketType::CloseAck, Tag::NONE, Seq(0)), &mut bytes);
    pair.inject_to_receiver(bytes);
    pair.run_for(Nanos(32));
    assert!(!pair.receiver.is_ended(), "the sender was heard lately");
    assert_eq!(pair.receiver.stats().unexpected, 1);
    assert_unharmed(pair);
}

#[test]
fn data_beyond_credit_is_dropped_and_counted() {
    let mut pair = flowing();
    let seq = pair.receiver.limit() + 3;
    pair.inject_to_receiver(data(seq, 66));
    pair.run_for(Nanos(16));
    assert_eq!(pair.receiver.stats().beyond_credit, 1);
    assert_unharmed(pair);
}

#[test]
fn data_of_another_length_ends_the_stream_and_says_why() {
    let mut pair = flowing();
    let seq = pair.receiver.limit() - 1;
    pair.inject_to_receiver(data(seq, 58));
    pair.run_to_end(Nanos::from_millis(1_000));
    let violation = Violation::PayloadLength { seq, len_bytes: 56, expected: 64 };
    assert_eq!(pair.receiver_end, Some(End::Violation(violation)));
    assert_eq!(pair.sender_end, Some(End::ClosedByPeer(CloseReason::Protocol)));
}

#[test]
fn index_at_the_end_of_the_numbers_ends_the_stream_and_says_why() {
    let mut pair = flowing();
    let seq = pair.receiver.limit() - 1;
    pair.inject_to_receiver(data_at(seq, u64::MAX - 1));
    pair.run_to_end(Nanos::from_millis(1_000));
    let violation = Violation::IndexTooLarge { seq, index: u64::MAX - 1 };
    assert_eq!(pair.receiver_end, Some(End::Violation(violation)));
}

#[test]
fn mark_beyond_credit_reveals_nothing() {
    let mut pair = flowing();
    let mut bytes = vec![0; 64];
    let half_ahead = pair.receiver.limit() + (1 << 31);
    let marks = [
        (Seq(0), pair.receiver.limit() + 1),
        (Seq(1 << 30), pair.receiver.released()),
        (half_ahead, half_ahead),
    ];
    for (oldest, seq) in marks {
        let mark = Mark {
            oldest,
            report: Seq(0),
            echo: Departure(0),
            hold: u32::MAX,
            source_lost: 0,
            time_ns: 0,
        };
        let len = mark.emit(&header(PacketType::Mark, RECEIVER_TAG, seq), &mut bytes);
        pair.inject_to_receiver(bytes[..len].to_vec());
    }
    pair.run_for(Nanos(16));
    assert_eq!(pair.receiver.stats().refused, 3);
    assert_unharmed(pair);
}

/// DATA of index 0 with a body of `body_len` bytes.
fn data(seq: Seq, body_len: usize) -> Vec<u8> {
    packets::data(&header(PacketType::Data, RECEIVER_TAG, seq), &vec![0; body_len - 2])
}

/// A receiver that has seven packets of sixteen samples, and room for more.
fn with_seven_packets() -> Pair {
    let mut pair = Pair::new(1, terms(64, RTT), ReceiverConfig::new());
    pair.to_push = 7;
    pair.closes = false;
    pair.run_for(Nanos::from_millis(2));
    assert_eq!(pair.ledger.samples, 7 * u64::from(SAMPLES));
    pair
}

#[test]
fn data_beyond_the_final_seq_is_refused_and_the_stream_ends() {
    let mut pair = with_seven_packets();
    pair.data_path.loss = 1.0;
    pair.inject_to_receiver(packets::close(RECEIVER_TAG, 9, 9 * u64::from(SAMPLES)));
    pair.inject_to_receiver(data(Seq(9), 66));
    pair.run_for(Nanos(16));
    assert_eq!(pair.receiver.stats().refused, 1);
    assert!(pair.receiver_end.is_none(), "two packets are missing");
}

#[test]
fn final_index_before_what_was_delivered_is_a_violation() {
    let mut pair = with_seven_packets();
    pair.inject_to_receiver(packets::close(RECEIVER_TAG, 9, 7 * u64::from(SAMPLES)));
    pair.inject_to_receiver(data_at(Seq(7), 7 * u64::from(SAMPLES)));
    pair.inject_to_receiver(data_at(Seq(8), 8 * u64::from(SAMPLES)));
    pair.accept_any_bytes();
    pair.run_for(Nanos(16));
    let violation =
        Violation::FinalIndexRetreats { final_index: 112, expected: 9 * u64::from(SAMPLES) };
    assert_eq!(pair.receiver_end, Some(End::Violation(violation)));
}

#[test]
fn what_came_in_order_before_a_violation_is_delivered() {
    let mut pair = with_seven_packets();
    pair.inject_to_receiver(data_at(Seq(7), 7 * u64::from(SAMPLES)));
    pair.inject_to_receiver(data(Seq(8), 58));
    pair.accept_any_bytes();
    pair.run_for(Nanos(16));
    assert!(matches!(pair.receiver_end, Some(End::Violation(Violation::PayloadLength { .. }))));
    assert_eq!(pair.ledger.samples, 8 * u64::from(SAMPLES));
}

#[test]
fn stream_that_breaks_off_while_it_drains_is_accounted_for_to_its_final_index() {
    let mut pair = with_seven_packets();
    pair.data_path.loss = 1.0;
    pair.inject_to_receiver(packets::close(RECEIVER_TAG, 9, 9 * u64::from(SAMPLES) + 5));
    pair.sender.cancel(pair.now);
    pair.run_to_end(Nanos::from_millis(40_000));
    assert_eq!(pair.receiver_end, Some(End::PeerSilent));
    assert_eq!(pair.ledger.next_index, 9 * u64::from(SAMPLES) + 5);
    assert_eq!(pair.receiver.stats().gap_samples, [5, 0, 2 * u64::from(SAMPLES), 0, 0]);
}

#[test]
fn violation_after_the_last_packet_does_not_replace_the_end() {
    let mut pair = with_seven_packets();
    pair.inject_to_receiver(packets::close(RECEIVER_TAG, 8, 8 * u64::from(SAMPLES)));
    pair.inject_to_receiver(data(Seq(5), 58));
    pair.inject_to_receiver(data_at(Seq(7), 7 * u64::from(SAMPLES)));
    pair.accept_any_bytes();
    pair.run_for(Nanos(16));
    let final_index = 8 * u64::from(SAMPLES);
    assert_eq!(pair.receiver_end, Some(End::Finished { final_index }));
}

/// Full DATA at an index.
fn data_at(seq: Seq, index: u64) -> Vec<u8> {
    let header = Header { index, ..header(PacketType::Data, RECEIVER_TAG, seq) };
    packets::data(&header, &[0; 64])
}
