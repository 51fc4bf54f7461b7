//! The sender alone: the limits of its input, its counters, and its timers.

use super::packets::{self, close, close_ack};
use super::pair::{RECEIVER_TAG, SAMPLES, SENDER_TAG, terms};
use crate::crc::crc32c;
use crate::number::{Departure, INDEX_MAX, Nanos, Seq, Tag};
use crate::sender::{
    CONTROL_BYTES, NewPacket, Phase, PushError, SendSlot, Sender, SenderConfig, Transmit,
};
use crate::stream::{End, Terms};
use crate::wire::{
    self, Close, CloseAckReason, CloseReason, Flags, Header, Mark, Packet, PacketType,
    ReportFields, SeqRange,
};

const RTT: Nanos = Nanos::from_millis(8);
const DEAD_AFTER: Nanos = Nanos::from_millis(15_000);
const FULL: u16 = 64;

/// A sender of a window of 16, and the present.
pub(super) struct Bench {
    pub(super) sender: Sender<Vec<SendSlot>>,
    pub(super) now: Nanos,
    pub(super) reports: u32,
    last_departure: Departure,
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| (), SenderConfig::default())
    }

    pub(super) fn with(change: impl FnOnce(&mut Terms), config: SenderConfig) -> Self {
        let mut terms = Terms { local_tag: SENDER_TAG, peer_tag: RECEIVER_TAG, ..terms(16, RTT) };
        change(&mut terms);
        let now = Nanos::from_millis(1_000);
        let slots = vec![SendSlot::default(); terms.window.next_power_of_two() as usize];
        let sender = Sender::new(terms, config, slots, now).expect("the terms hold");
        Self { sender, now, reports: 0, last_departure: Departure(0) }
    }

    /// A sender of which `packets` have departed; credit is for twice as many.
    fn departed(packets: u32) -> Self {
        let mut bench = Self::new();
        bench.push(packets);
        bench.report(0, 2 * packets);
        bench.leave();
        assert_eq!(bench.sender.stats().packets, u64::from(packets));
        bench
    }

    pub(super) fn push(&mut self, packets: u32) {
        for _ in 0..packets {
            let packet = packet(self.sender.next_index(), Flags::NONE, FULL);
            self.sender.push(packet).expect("there is room");
        }
    }

    /// Takes everything that leaves at present; payloads are zero.
    pub(super) fn leave(&mut self) -> Vec<(Header, Vec<u8>)> {
        let mut left = vec![];
        let mut control = [0; CONTROL_BYTES];
        while let Some(transmit) = self.sender.poll_transmit(self.now, &mut control) {
            let bytes = match transmit {
                Transmit::Control { len_bytes } => control[..len_bytes].to_vec(),
                Transmit::Data(data) => {
                    let payload = vec![0; data.len_bytes.into()];
                    [data.head(), &payload, &data.trailer].concat()
                }
            };
            let (header, _) = wire::parse(&bytes).expect("what leaves has a right CRC");
            self.last_departure = header.departure;
            left.push((header, bytes));
        }
        left
    }

    /// The seqs of DATA that leaves at present.
    pub(super) fn leaving_seqs(&mut self) -> Vec<u32> {
        let left = self.leave();
        let data = left.iter().filter(|(header, _)| header.kind == PacketType::Data);
        data.map(|(header, _)| header.seq.0).collect()
    }

    pub(super) fn hand(&mut self, bytes: &[u8]) -> bool {
        let (header, packet) = wire::parse(bytes).expect("a packet");
        self.sender.handle(self.now, &header, &packet)
    }

    pub(super) fn fields(&self, released: u32, limit: u32) -> ReportFields {
        ReportFields {
            released: Seq(released),
            limit: Seq(limit),
            settled: Departure(0),
            highest_end: Seq(released),
            echo: Departure(0),
            hold: u32::MAX,
            received: 0,
            marked: 0,
            skipped: 0,
            late: 0,
        }
    }

    /// Hands over the next REPORT and says whether it was taken.
    pub(super) fn take(&mut self, fields: &ReportFields, ranges: &[SeqRange]) -> bool {
        let refused = self.sender.stats().reports_refused;
        self.reports += 1;
        assert!(self.hand(&packets::report(self.reports, fields, ranges)));
        self.sender.stats().reports_refused == refused
    }

    pub(super) fn report(&mut self, released: u32, limit: u32) {
        let fields = self.fields(released, limit);
        assert!(self.take(&fields, &[]), "REPORT that releases {released} up to {limit}");
    }

    /// Requests ranges once a MARK has left, before which all has settled.
    pub(super) fn ask(&mut self, released: u32, ranges: &[(u32, u32)]) {
        self.settle();
        self.request(released, ranges);
    }

    pub(super) fn settle(&mut self) {
        self.now = self.now + Nanos::from_millis(100);
        self.leave();
    }

    pub(super) fn request(&mut self, released: u32, ranges: &[(u32, u32)]) {
        let settled = self.last_departure;
        let fields = ReportFields { settled, ..self.fields(released, released + 16) };
        let ranges: Vec<_> =
            ranges.iter().map(|&(first, count)| SeqRange { first: Seq(first), count }).collect();
        assert!(self.take(&fields, &ranges));
    }

    /// Lets time pass to the next timer `n` times; the kinds of control packets and when they left.
    fn marks(&mut self, n: usize) -> Vec<(PacketType, Nanos)> {
        let mut left = vec![];
        while left.len() < n {
            self.now = self.sender.poll_timeout(self.now).expect("it lives").max(self.now);
            let now = self.now;
            left.extend(self.leave().iter().map(|(header, _)| (header.kind, now)));
        }
        left
    }
}

fn packet(index: u64, flags: Flags, len_bytes: u16) -> NewPacket {
    let payload_crc = crc32c(&vec![0; len_bytes.into()]);
    NewPacket { index, flags, burst_samples: 0, len_bytes, payload_crc }
}

/// `docs/protocol.md#6.4`, `#6.5`: 16 samples in 64 bytes, of which 8 are the count.
#[test]
fn packet_of_the_agreed_form_is_taken_and_any_other_named() {
    let push = |flags: Flags, len_bytes, burst_samples| {
        let mut bench = Bench::new();
        let taken = bench.sender.push(NewPacket { burst_samples, ..packet(0, flags, len_bytes) });
        assert_eq!(bench.sender.free_slots(), 16 - u32::from(taken.is_ok()));
        assert_eq!(bench.sender.next_seq(), Seq(u32::from(taken.is_ok())));
        taken.map(|_| bench.sender.next_index())
    };
    let (full, end, meta) = (Flags::NONE, Flags::END_OF_BURST, Flags::META);
    assert_eq!(push(full, 64, 0), Ok(16));
    assert_eq!(push(full, 64, 99), Ok(16), "the count is of an end of burst");
    for (flags, len_bytes) in [(full, 56), (full, 72), (end, 72), (meta, 72), (end, 0), (end, 12)] {
        assert_eq!(push(flags, len_bytes, 0), Err(PushError::PayloadLength(len_bytes)));
    }
    assert_eq!(push(end, 8, 0), Ok(0));
    assert_eq!(push(end, 8, 1), Err(PushError::BurstLength(1)));
    assert_eq!(push(end, 16, 2), Ok(2));
    assert_eq!(push(end, 16, 3), Err(PushError::BurstLength(3)));
    assert_eq!(push(end, 64, 14), Ok(14));
    assert_eq!(push(end, 64, 15), Err(PushError::BurstLength(15)));
    assert_eq!(push(meta, 8, 99), Ok(0));
    assert_eq!(push(meta | end, 64, 99), Ok(0), "META holds");
}

/// `docs/protocol.md#6.6`, `#1.2`
#[test]
fn index_may_jump_with_a_flag_and_never_retreats() {
    let push = |index, flags| {
        let mut bench = Bench::with(|terms| terms.first_index = 100, SenderConfig::default());
        bench.sender.push(packet(index, flags, FULL)).map(|_| bench.sender.next_index())
    };
    let (none, start, overflow) = (Flags::NONE, Flags::START, Flags::OVERFLOW);
    assert_eq!(push(100, none), Ok(116));
    for flags in [none, start, overflow] {
        assert_eq!(push(99, flags), Err(PushError::IndexRetreats { index: 99, expected: 100 }));
    }
    assert_eq!(push(101, none), Err(PushError::IndexJumps { index: 101, expected: 100 }));
    assert_eq!((push(101, start), push(101, overflow)), (Ok(117), Ok(117)));
    assert_eq!(push(INDEX_MAX, start), Ok(INDEX_MAX + 16));
    let beyond = INDEX_MAX + 1;
    assert_eq!(push(beyond, start), Err(PushError::IndexTooLarge(beyond)));
}

#[test]
fn full_window_and_closed_stream_take_nothing() {
    let mut bench = Bench::new();
    bench.push(16);
    let next = packet(bench.sender.next_index(), Flags::NONE, FULL);
    assert_eq!(bench.sender.push(next), Err(PushError::Full(16)));
    bench.sender.close(bench.now);
    assert_eq!(bench.sender.push(next), Err(PushError::Closed));
}

#[test]
fn every_departure_and_report_is_counted() {
    let mut bench = Bench::new();
    assert!(!bench.sender.is_reported());
    bench.push(2);
    let short = NewPacket {
        burst_samples: 1,
        ..packet(bench.sender.next_index(), Flags::END_OF_BURST, 16)
    };
    bench.sender.push(short).expect("an end of burst");
    bench.report(0, 16);
    bench.leave();
    bench.ask(0, &[(1, 2)]);
    assert_eq!(bench.leaving_seqs(), [1, 2]);
    let counts = ReportFields { received: 7, marked: 3, skipped: 8, late: 9, ..bench.fields(3, 9) };
    assert!(bench.take(&counts, &[]) && bench.take(&counts, &[]));
    let stats = bench.sender.stats();
    assert_eq!((stats.packets, stats.retransmissions, stats.reports), (3, 2, 4));
    // 24 bytes lie before a payload and 4 behind it.
    assert_eq!(stats.bytes, 3 * (28 + 64) + 2 * (28 + 16));
    assert_eq!(stats.congestion, 1, "marks that stay the same are no news");
    assert_eq!((stats.received_by_peer, stats.skipped_by_peer, stats.late_at_peer), (7, 8, 9));
    assert_eq!(bench.sender.released(), Seq(3));
}

#[test]
fn packets_that_have_no_place_here_are_counted() {
    let mut bench = Bench::departed(3);
    let mark = Mark {
        oldest: Seq(0),
        report: Seq(0),
        echo: Departure(0),
        hold: 0,
        source_lost: 0,
        time_ns: 0,
    };
    let mut to_receiver = packets::mark(0, Departure(0), &mark);
    assert!(!bench.hand(&to_receiver));
    assert_eq!(bench.sender.stats().foreign, 1);
    let header = packets::header(PacketType::Mark, SENDER_TAG, Seq(0));
    mark.emit(&header, &mut to_receiver);
    assert!(bench.hand(&to_receiver));
    assert!(bench.hand(&close_ack(SENDER_TAG, 3, CloseAckReason::Done, RECEIVER_TAG)));
    assert_eq!(bench.sender.stats().unexpected, 2, "no CLOSE had been sent");
    assert_eq!(bench.sender.poll_event(), None);
}

/// `docs/protocol.md#4.6`
#[test]
fn report_at_the_limits_is_taken_and_beyond_them_dropped_whole() {
    type Change = fn(&mut ReportFields);
    let takes = |change: Change, lists: bool| {
        let mut bench = Bench::departed(4);
        let mut fields = bench.fields(2, 9);
        fields.settled = Departure::at(bench.now);
        change(&mut fields);
        let ranges = [SeqRange { first: Seq(2), count: 1 }];
        let taken = bench.take(&fields, &ranges[..usize::from(lists)]);
        assert_eq!(bench.sender.released() != Seq(0), taken);
        taken
    };
    let taken: [(Change, bool); 5] = [
        (|f| (f.released, f.highest_end) = (Seq(4), Seq(4)), false),
        (|f| f.highest_end = Seq(4), false),
        (|f| f.limit = Seq(2), false),
        (|f| f.limit = Seq(2 + (1 << 24)), false),
        (|f| f.settled = f.settled.plus(1 << 20), false),
    ];
    for (number, (change, lists)) in taken.into_iter().enumerate() {
        assert!(takes(change, lists), "limit {number}");
    }
    let refused: [(Change, bool); 5] = [
        (|f| f.released = Seq(5), false),
        (|f| f.highest_end = Seq(5), false),
        (|f| f.limit = Seq(1), false),
        (|f| f.limit = Seq(3 + (1 << 24)), false),
        (|f| f.settled = f.settled.plus(1 << 20), true),
    ];
    for (number, (change, lists)) in refused.into_iter().enumerate() {
        assert!(!takes(change, lists), "beyond limit {number}");
    }
}

/// `docs/protocol.md#4.6`
#[test]
fn older_report_gives_its_release_and_its_limit_and_nothing_else() {
    let mut bench = Bench::departed(4);
    bench.report(1, 6);
    bench.reports = 0;
    let old = ReportFields { received: 9, ..bench.fields(2, 8) };
    let ranges = [SeqRange { first: Seq(2), count: 1 }];
    assert!(bench.take(&old, &ranges));
    assert_eq!(bench.sender.released(), Seq(2));
    assert_eq!(bench.sender.stats().received_by_peer, 0);
    bench.push(8);
    assert_eq!(bench.leaving_seqs(), [4, 5, 6, 7], "no repeat, and the larger limit");
    bench.reports = 0;
    bench.report(1, 4);
    assert_eq!(bench.sender.released(), Seq(2), "an older release is no error");
    let past = bench.fields(1, 20);
    bench.reports = 9;
    assert!(!bench.take(&past, &[]), "a newer one is");
}

/// `docs/protocol.md#4.6`, `#4.1`
#[test]
fn range_is_cut_to_what_is_held_and_has_departed() {
    for (first, count, repeated) in [
        (0, 2, &[][..]),
        (0, 3, &[2]),
        (0, 9, &[2, 3, 4]),
        (2, 1, &[2]),
        (3, 1, &[3]),
        (3, 9, &[3, 4]),
        (4, 1, &[4]),
        (5, 1, &[]),
        (3, 0, &[]),
        (u32::MAX, 4, &[2]),
        (u32::MAX, u32::MAX, &[2, 3, 4]),
    ] {
        let mut bench = Bench::new();
        bench.push(7);
        bench.report(0, 5);
        bench.leave();
        bench.ask(2, &[(first, count)]);
        let repeats: Vec<u32> = bench.leaving_seqs().into_iter().filter(|&seq| seq < 5).collect();
        assert_eq!(repeats, repeated, "{first} + {count}");
        bench.ask(2, &[]);
        assert!(bench.leaving_seqs().is_empty());
    }
}

/// `docs/protocol.md#4.6`, `#4.7`
#[test]
fn requests_beyond_512_are_dropped_and_repeats_wait_for_their_budget() {
    let mut bench = Bench::with(|terms| terms.window = 64, SenderConfig::default());
    bench.push(64);
    bench.report(0, 64);
    bench.leave();
    bench.settle();
    (0..5).for_each(|_| bench.request(0, &[(0, 64); 128]));
    assert_eq!(bench.sender.stats().requests_refused, 128);
    let served = bench.leaving_seqs();
    assert_eq!(served, (0..32).collect::<Vec<_>>(), "half of what the window holds");
    assert_eq!(bench.sender.stats().budget_stalls, 1);
    let ready_at = bench.sender.poll_timeout(bench.now).expect("requests wait");
    assert_eq!(ready_at.since(bench.now), Nanos(RTT.0 / 32 + 1));
    bench.now = ready_at;
    assert_eq!(bench.leaving_seqs(), [32]);
    bench.now = bench.now + Nanos(RTT.0 / 2);
    assert_eq!(bench.leaving_seqs().len(), 16, "tokens come in a round trip");
}

/// `docs/protocol.md#7.6`
#[test]
fn unknown_is_believed_of_the_tag_in_use_alone() {
    let unknown = CloseAckReason::UnknownTag;
    for (tag, reason, echoed_tag) in [
        (Tag::NONE, unknown, SENDER_TAG),
        (Tag::NONE, CloseAckReason::Done, RECEIVER_TAG),
        (RECEIVER_TAG, unknown, RECEIVER_TAG),
    ] {
        let mut bench = Bench::departed(1);
        assert!(!bench.hand(&close_ack(tag, 0, reason, echoed_tag)));
        assert_eq!((bench.sender.stats().foreign, bench.sender.poll_event()), (1, None));
    }
}

/// `docs/protocol.md#7.6`
#[test]
fn unknown_is_believed_by_an_opener_that_has_heard_nothing_valid_for_long() {
    let unknown = close_ack(Tag::NONE, 0, CloseAckReason::UnknownTag, RECEIVER_TAG);
    let silence = Nanos::from_millis(1_000) + RTT;
    let mut bench = Bench::with(|terms| terms.is_opener = true, SenderConfig::default());
    bench.now = bench.now + silence;
    bench.report(0, 16);
    bench.now = bench.now + silence - Nanos(1);
    assert!(bench.hand(&unknown));
    assert_eq!((bench.sender.poll_event(), bench.sender.stats().unexpected), (None, 1));
    bench.now = bench.now + Nanos(1);
    assert!(bench.hand(&unknown));
    assert_eq!(bench.sender.poll_event(), Some(End::PeerRestarted));
    assert!(bench.hand(&unknown));
    assert_eq!(bench.sender.poll_event(), None, "it has ended");

    let mut bench = Bench::departed(1);
    bench.now = bench.now + silence;
    assert!(!bench.hand(&unknown), "an opener does not say so");
    assert_eq!((bench.sender.stats().foreign, bench.sender.poll_event()), (1, None));
}

/// `docs/protocol.md#7.3`, `#7.11`
#[test]
fn close_of_the_receiver_is_taken_from_oldest_to_sent() {
    for (seq, is_taken) in [(1, false), (2, true), (4, true), (5, false)] {
        let mut bench = Bench::departed(4);
        bench.push(2);
        bench.report(2, 4);
        assert!(bench.hand(&close(SENDER_TAG, seq, 0)));
        let end = is_taken.then_some(End::ClosedByPeer(CloseReason::Finished));
        assert_eq!(bench.sender.poll_event(), end, "seq {seq}");
        assert_eq!(bench.sender.stats().closes_refused, u64::from(!is_taken));
        let left = bench.leave();
        let acks = left.iter().filter(|(header, _)| header.kind == PacketType::CloseAck);
        assert_eq!(acks.count(), usize::from(is_taken));
    }
}

/// `docs/protocol.md#7.1`, `#7.11`
#[test]
fn close_ack_of_the_final_seq_alone_finishes_a_stream_that_closes() {
    let mut bench = Bench::departed(2);
    bench.push(3);
    bench.sender.close(bench.now);
    let done = |seq| close_ack(SENDER_TAG, seq, CloseAckReason::Done, RECEIVER_TAG);
    for (bytes, why) in [
        (done(4), "another seq"),
        (close_ack(SENDER_TAG, 5, CloseAckReason::UnknownTag, RECEIVER_TAG), "another reason"),
        (done(5), "a packet has not departed"),
    ] {
        assert!(bench.hand(&bytes));
        assert_eq!(bench.sender.poll_event(), None, "{why}");
    }
    assert_eq!(bench.sender.stats().unexpected, 3);
    bench.report(2, 9);
    bench.leave();
    assert!(bench.hand(&done(5)));
    assert_eq!(bench.sender.poll_event(), Some(End::Finished { final_index: 80 }));
    assert_eq!(bench.sender.poll_timeout(bench.now), None);
}

/// `docs/protocol.md#2.11`, `#4.9`
#[test]
fn mark_reports_what_is_held_and_echoes_the_newest_report() {
    let mut bench = Bench::with(|terms| terms.first_index = 1_000, SenderConfig::default());
    let mark_of = |bench: &mut Bench| {
        let left = bench.leave();
        let (header, bytes) = left.last().expect("a MARK");
        let Ok((_, Packet::Mark(mark))) = wire::parse(bytes) else { panic!("{header:?}") };
        (header.seq, header.index, mark)
    };
    bench.push(1);
    bench.sender.push(packet(1_020, Flags::OVERFLOW, FULL)).expect("there is room");
    let (seq, index, mark) = mark_of(&mut bench);
    assert_eq!((seq, index, mark.oldest), (Seq(0), 1_000, Seq(0)));
    assert_eq!((mark.report, mark.hold, mark.source_lost), (Seq(0), u32::MAX, 4));
    bench.report(0, 1);
    bench.now = bench.now + Nanos(1_600);
    assert_eq!(bench.leaving_seqs(), [0]);
    bench.report(1, 1);
    bench.now = bench.now + Nanos::from_millis(200);
    let (seq, index, mark) = mark_of(&mut bench);
    assert_eq!((seq, index, mark.oldest), (Seq(1), 1_020, Seq(1)), "the next to depart");
    assert_eq!((mark.report, mark.hold), (Seq(2), 12_500_000));
    assert_eq!(bench.sender.stats().credit_stalls, 2);
    bench.report(1, 9);
    bench.leave();
    bench.report(2, 9);
    bench.now = bench.now + Nanos::from_millis(1_000);
    let (seq, index, _) = mark_of(&mut bench);
    assert_eq!((seq, index), (Seq(2), 1_036), "all has departed");
    assert_eq!(bench.sender.stats().credit_stalls, 2, "nothing waits for credit");
}

/// `docs/protocol.md#4.8`
#[test]
fn idle_sender_marks_as_agreed_and_one_that_waits_sooner() {
    let mut bench = Bench::departed(1);
    let start = bench.now;
    let waiting = bench.marks(3);
    let at_us = waiting.iter().map(|(_, at)| at.since(start).0 / 1_000).collect::<Vec<_>>();
    assert_eq!(at_us, [1_000, 3_000, 11_000], "an eighth, a quarter and one round trip");
    bench.report(1, 9);
    let idle = bench.marks(3);
    let pauses = [idle[1].1.since(idle[0].1), idle[2].1.since(idle[1].1)];
    assert_eq!(pauses, [Nanos::from_millis(1_000); 2]);
    let since = idle[2].1;
    bench.sender.close(bench.now);
    let closing = bench.marks(2);
    assert_eq!(closing[0], (PacketType::Close, since + RTT));
    assert_eq!(closing[1], (PacketType::Close, since + Nanos(2 * RTT.0)));
}

/// `docs/protocol.md#4.8`
#[test]
fn credit_that_comes_when_there_was_none_starts_the_schedule_of_marks_afresh() {
    let mut bench = Bench::new();
    bench.push(1);
    bench.report(0, 1);
    bench.leave();
    bench.marks(8);
    let due = bench.sender.poll_timeout(bench.now).expect("it lives");
    assert_eq!(due.since(bench.now), Nanos::from_millis(100));
    bench.report(0, 1);
    assert_eq!(bench.sender.poll_timeout(bench.now), Some(due), "no more than before");
    bench.report(0, 2);
    assert_eq!(bench.sender.poll_timeout(bench.now), Some(bench.now + RTT));
    bench.marks(6);
    let due = bench.sender.poll_timeout(bench.now);
    bench.report(0, 3);
    assert_eq!(bench.sender.poll_timeout(bench.now), due, "there was credit before");
}

/// `docs/protocol.md#4.8`
#[test]
fn last_credit_of_a_small_window_is_marked_once_its_report_is_late() {
    let pauses_us = |window: u32, credit: u32| {
        let mut bench = Bench::with(|terms| terms.window = window, SenderConfig::default());
        bench.push(4);
        bench.report(0, credit);
        bench.leave();
        let start = bench.now;
        bench.marks(2).iter().map(|(_, at)| at.since(start).0 / 1_000).collect::<Vec<_>>()
    };
    assert_eq!(pauses_us(16, 4), [10_000, 18_000], "a round trip and a quarter, one more");
    assert_eq!(pauses_us(16, 5), [1_000, 3_000], "there is credit left");
    assert_eq!(pauses_us(64, 4), [1_000, 3_000], "a window that is not small");
}

/// `docs/protocol.md#4.8`
#[test]
fn data_that_leaves_at_once_takes_the_place_of_the_mark_of_a_silence() {
    let mut bench = Bench::departed(1);
    let mut left_after = |span_ms: u64| {
        bench.now = bench.now + Nanos::from_millis(span_ms);
        bench.push(1);
        bench.report(0, 9);
        bench.leave().iter().map(|(header, _)| header.kind).collect::<Vec<_>>()
    };
    assert_eq!(left_after(2), [PacketType::Data]);
    assert_eq!(left_after(200), [PacketType::Data], "sixteen round trips, of a small window");
    assert_eq!(left_after(300), [PacketType::Mark, PacketType::Data], "half a second");
}

/// `docs/protocol.md#4.8`
#[test]
fn report_that_released_all_that_departed_leaves_no_tail_to_mark() {
    let half_ms = Nanos(500_000);
    let mut bench = Bench::departed(1);
    let start = bench.now;
    bench.now = start + half_ms;
    bench.report(1, 9);
    let idle_at = start + Nanos::from_millis(1_000);
    assert_eq!(bench.sender.poll_timeout(bench.now), Some(idle_at), "nothing waits");
    let mut bench = Bench::with(|terms| terms.window = 64, SenderConfig::default());
    bench.push(3);
    bench.report(0, 2);
    bench.leave();
    bench.now = bench.now + half_ms;
    let tail_at = bench.now + half_ms;
    bench.report(1, 2);
    assert_eq!(bench.sender.poll_timeout(bench.now), Some(tail_at), "one is not released");
    bench.report(2, 2);
    let probe_at = bench.now + RTT;
    assert_eq!(bench.sender.poll_timeout(bench.now), Some(probe_at), "one waits for credit");
    let mut bench = Bench::departed(1);
    bench.sender.close(bench.now);
    let close_at = bench.now + Nanos::from_millis(1);
    bench.now = bench.now + half_ms;
    bench.report(1, 9);
    assert_eq!(bench.sender.poll_timeout(bench.now), Some(close_at), "a CLOSE is not put off");
}

/// `docs/protocol.md#4.9`
#[test]
fn echo_counts_once_something_has_departed_and_in_a_newer_report() {
    let mut bench = Bench::new();
    let at = bench.now;
    let echo = ReportFields { echo: Departure::at(at), hold: 0, ..bench.fields(0, 4) };
    bench.now = bench.now + Nanos::from_millis(2);
    assert!(bench.take(&echo, &[]));
    assert_eq!(bench.sender.rtt(), RTT, "nothing has departed that could be echoed");
    bench.leave();
    assert!(bench.take(&echo, &[]));
    assert_eq!(bench.sender.rtt(), Nanos::from_millis(2));
    bench.now = bench.now + Nanos::from_millis(2);
    bench.reports = 0;
    assert!(bench.take(&echo, &[]));
    assert_eq!(bench.sender.rtt(), Nanos::from_millis(2), "an older one says nothing");
}

/// `docs/protocol.md#7.7`
#[test]
fn silence_ends_a_sender_when_dead_after_has_passed_since_the_last_report() {
    let mut bench = Bench::departed(1);
    bench.now = bench.now + Nanos::from_millis(500);
    let refused = bench.fields(3, 9);
    assert!(!bench.take(&refused, &[]));
    let dead_at = bench.now + DEAD_AFTER - Nanos::from_millis(500);
    bench.sender.handle_timeout(dead_at - Nanos(1));
    assert!(!bench.sender.is_ended());
    bench.sender.handle_timeout(dead_at);
    assert_eq!(bench.sender.poll_event(), Some(End::PeerSilent));
    bench.sender.handle_timeout(dead_at);
    assert_eq!(bench.sender.poll_event(), None);
}

/// `docs/protocol.md#7.7`
#[test]
fn sender_that_misses_the_close_ack_alone_waits_sixteen_round_trips_within_bounds() {
    let patience = |rtt_ms: u64, release: u32, shows_close: bool| {
        let rtt = Nanos::from_millis(rtt_ms);
        let mut bench = Bench::with(|terms| terms.rtt = rtt, SenderConfig::default());
        bench.push(1);
        bench.report(0, 4);
        bench.leave();
        bench.sender.close(bench.now);
        bench.now = bench.now + rtt;
        let (header, _) = bench.leave().pop().expect("a CLOSE");
        assert_eq!(header.kind, PacketType::Close);
        let echo = header.departure.minus(u32::from(!shows_close));
        bench.now = bench.now + rtt;
        let last = ReportFields { echo, hold: 0, ..bench.fields(release, 4) };
        assert!(bench.take(&last, &[]));
        let heard_at = bench.now;
        let mut end = None;
        while end.is_none() {
            bench.now = bench.sender.poll_timeout(bench.now).expect("it lives");
            bench.sender.handle_timeout(bench.now);
            bench.leave();
            end = bench.sender.poll_event();
        }
        (bench.now.since(heard_at).0 / 1_000_000, end)
    };
    let finished = Some(End::Finished { final_index: SAMPLES.into() });
    assert_eq!(patience(10, 1, true), (1_000, finished), "at least a second");
    assert_eq!(patience(100, 1, true), (1_600, finished));
    assert_eq!(patience(2_000, 1, true), (15_000, finished), "at most dead after");
    assert_eq!(patience(10, 0, true), (15_000, Some(End::PeerSilent)), "not all is released");
    assert_eq!(patience(10, 1, false), (15_000, Some(End::PeerSilent)), "no CLOSE was shown");
}

/// `docs/protocol.md#4.7`: a full packet takes 24 + 64 + 4 bytes and 66 of frame.
#[test]
fn paced_sender_spaces_departures_by_the_wire_time_of_their_frames() {
    let config = SenderConfig::default().with_link_bps(8_000_000).expect("in its range");
    let mut bench = Bench::with(|_| (), config);
    bench.push(3);
    bench.report(0, 8);
    bench.leave();
    let start = bench.now;
    let mut at_us = vec![];
    while at_us.len() < 2 {
        bench.now = bench.sender.poll_timeout(bench.now).expect("it lives");
        at_us.extend(bench.leaving_seqs().iter().map(|_| bench.now.since(start).0 / 1_000));
    }
    assert_eq!(at_us, [158, 316]);
}

/// `docs/protocol.md#7.5`
#[test]
fn cancelled_sender_names_what_was_lost_before_the_first_packet_it_drops() {
    for (flags, final_index) in [(Flags::OVERFLOW, 40), (Flags::START, 32)] {
        let mut bench = Bench::departed(2);
        bench.sender.push(packet(40, flags, FULL)).expect("there is room");
        bench.push(1);
        bench.report(2, 2);
        bench.sender.cancel(bench.now);
        assert_eq!(bench.sender.next_seq(), Seq(2));
        bench.now = bench.now + RTT;
        let (header, _) = bench.leave().pop().expect("a CLOSE");
        assert_eq!((header.kind, header.seq), (PacketType::Close, Seq(2)));
        assert_eq!(header.index, final_index, "{flags:?}");
    }
}

/// `docs/protocol.md#2.17`, `#2.18`
#[test]
fn close_and_its_answer_name_the_final_position_and_all_losses_of_the_source() {
    let mut bench = Bench::departed(2);
    assert!(bench.sender.is_reported());
    bench.sender.lose_at_source(5);
    bench.sender.close(bench.now);
    bench.now = bench.now + RTT;
    let (header, bytes) = bench.leave().pop().expect("a CLOSE");
    let Ok((_, Packet::Close(body))) = wire::parse(&bytes) else { panic!("{header:?}") };
    assert_eq!((header.seq, header.index, header.flags), (Seq(2), 37, Flags::NONE));
    assert_eq!((body.reason, body.last, body.source_lost), (CloseReason::Finished, Seq(1), 5));
    assert!(bench.hand(&close(SENDER_TAG, 1, 0)));
    let (header, bytes) = bench.leave().pop().expect("a CLOSE_ACK");
    let Ok((_, Packet::CloseAck(ack))) = wire::parse(&bytes) else { panic!("{header:?}") };
    assert_eq!((header.seq, header.index, header.tag), (Seq(2), 37, RECEIVER_TAG));
    assert_eq!((ack.reason, ack.echoed_tag), (CloseAckReason::Done, SENDER_TAG));
    assert_eq!(ack.source_lost, 5);
}

/// `docs/protocol.md#4.8`, `#7.11`
#[test]
fn second_close_or_cancel_hastens_nothing_and_wakes_no_dead() {
    let mut bench = Bench::departed(1);
    bench.sender.close(bench.now);
    bench.marks(6);
    let due = bench.sender.poll_timeout(bench.now);
    assert!(due > Some(bench.now + RTT));
    bench.sender.close(bench.now);
    bench.sender.cancel(bench.now);
    assert_eq!(bench.sender.poll_timeout(bench.now), due);
    assert_eq!(bench.sender.phase(), Phase::Closing(CloseReason::Cancelled));
    bench.hand(&close(SENDER_TAG, 1, 0));
    bench.sender.close(bench.now);
    bench.sender.cancel(bench.now);
    assert_eq!(bench.sender.phase(), Phase::Ended);
}

/// `docs/protocol.md#2.17`, `#2.18`
#[test]
fn opener_learns_how_far_the_device_plays_and_what_was_not_there() {
    for is_opener in [true, false] {
        let mut bench = Bench::with(|terms| terms.is_opener = is_opener, SenderConfig::default());
        bench.report(0, 4);
        let header =
            Header { index: 1 << 40, ..packets::header(PacketType::Report, SENDER_TAG, Seq(2)) };
        let mut bytes = vec![0; ReportFields::packet_len(0)];
        bench.fields(0, 4).emit(&header, &[], &mut bytes);
        assert!(bench.hand(&bytes));
        assert_eq!(bench.sender.stats().position_of_peer, 1 << 40);
        let mut bytes = vec![0; 64];
        let close = Close { reason: CloseReason::Underflow, last: Seq(2), source_lost: 40 };
        let header = packets::header(PacketType::Close, SENDER_TAG, Seq(0));
        let len = close.emit(&header, &mut bytes);
        assert!(bench.hand(&bytes[..len]));
        let end = Some(End::ClosedByPeer(CloseReason::Underflow));
        assert_eq!(bench.sender.poll_event(), end);
        let expected = if is_opener { 40 } else { 0 };
        assert_eq!(bench.sender.stats().underflow_at_peer, expected);
    }
}
