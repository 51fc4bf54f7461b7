//! Both ends of a stream over RDMA, each alone (`docs/protocol.md#13`). Together with queue pairs
//! they are tested in `samplewire-roce`.

use super::packets::{self, close, close_ack, close_for};
use super::pair::{RECEIVER_TAG, SAMPLES, SENDER_TAG, terms};
use super::sender::Bench;
use crate::crc::{Zeros, crc32c};
use crate::gap::{Cause, Gap};
use crate::number::{Departure, INDEX_MAX, Nanos, Seq};
use crate::receiver::{
    Completed, Delivered, Delivery, Placement, REPORT_BYTES, Receiver, ReceiverConfig, RecvSlot,
};
use crate::sender::{Control, DcqcnConfig, FRAME_OVERHEAD_BYTES, NewPacket, SenderConfig};
use crate::stream::{Carriage, End, Terms, TermsError, Violation};
use crate::wire::{
    self, CloseAckReason, CloseReason, Flags, Mark, Packet, RECORD_LEN, RdmaError, RdmaField,
    ReportFields, SeqRange, SlotRecord,
};

/// A payload that is no multiple of 64, so that zeros follow it.
const PAYLOAD: u16 = 72;
const RECORD_AT: usize = 128;
const WRITE_BYTES: usize = RECORD_AT + RECORD_LEN;
const RTT: Nanos = Nanos::from_micros(100);

fn over_rdma(terms: &mut Terms) {
    (terms.carriage, terms.payload_bytes, terms.packet_samples) =
        (Carriage::Rdma, PAYLOAD, SAMPLES);
}

fn sender() -> Bench {
    Bench::with(over_rdma, SenderConfig::default())
}

fn payload(seq: u32) -> Vec<u8> {
    (0..PAYLOAD as u8).map(|at| at ^ seq as u8 | 1).collect()
}

/// Pushes full packets with their own bytes.
fn push(bench: &mut Bench, packets: u32) {
    for _ in 0..packets {
        let seq = bench.sender.next_seq();
        let packet = NewPacket {
            index: bench.sender.next_index(),
            flags: Flags::NONE,
            burst_samples: 0,
            len_bytes: PAYLOAD,
            payload_crc: crc32c(&payload(seq.0)),
        };
        bench.sender.push(packet).expect("there is room");
    }
}

/// The seqs that may be posted at present.
fn posted(bench: &mut Bench) -> Vec<u32> {
    let now = bench.now;
    core::iter::from_fn(|| bench.sender.poll_write(now)).map(|write| write.record.seq.0).collect()
}

/// `docs/protocol.md#13.4`
#[test]
fn write_is_payload_zeros_and_record_in_pieces_of_any_length() {
    let mut bench = sender();
    push(&mut bench, 1);
    assert!(bench.take(&bench.fields(0, 8), &[]));
    let write = bench.sender.poll_write(bench.now).expect("there is credit");
    assert_eq!(bench.sender.write(Seq(0)), write, "a repeat is the same");
    let bytes = payload(0);
    let mut slot = bytes.clone();
    slot.resize(RECORD_AT, 0);
    assert_eq!(write.record.payload_crc, crc32c(&slot), "the checksum covers the zeros");
    let SlotRecord { index, samples, lost_before, flags, .. } = write.record;
    assert_eq!((index, samples, lost_before, flags), (0, SAMPLES, 0, Flags::NONE));
    slot.extend_from_slice(&write.record.to_bytes());
    let mut scratch = [0xAA; WRITE_BYTES];
    for len in 1..=WRITE_BYTES {
        for offset in (0..WRITE_BYTES).step_by(len) {
            let len = len.min(WRITE_BYTES - offset);
            let piece = write.piece(&bytes, offset, len, &mut scratch);
            assert_eq!(piece, &slot[offset..offset + len], "{len} bytes from {offset}");
        }
    }
}

/// `docs/protocol.md#13.4`
#[test]
fn short_packet_and_loss_at_the_source_stand_in_the_record() {
    let mut bench = sender();
    let bytes = [&[7u8; 16][..], &[0; 7], &[4]].concat();
    let packet = NewPacket {
        index: 9,
        flags: Flags::OVERFLOW | Flags::END_OF_BURST,
        burst_samples: 2,
        len_bytes: 24,
        payload_crc: crc32c(&bytes),
    };
    bench.sender.push(packet).expect("there is room");
    assert!(bench.take(&bench.fields(0, 8), &[]));
    let write = bench.sender.poll_write(bench.now).expect("there is credit");
    let record = write.record;
    assert_eq!((record.index, record.lost_before, record.samples), (9, 9, 2));
    assert_eq!(record.flags, packet.flags);
    let mut slot = bytes;
    slot.resize(RECORD_AT, 0);
    assert_eq!(record.payload_crc, crc32c(&slot));
}

/// `docs/protocol.md#6.6`, `#13.4`: START wins over OVERFLOW, and a loss of nothing is none.
#[test]
fn record_has_the_flag_of_a_loss_only_with_one() {
    let mut bench = sender();
    let bytes = payload(0);
    for (ahead, flags) in [(9, Flags::START | Flags::OVERFLOW), (0, Flags::OVERFLOW)] {
        let packet = NewPacket {
            index: bench.sender.next_index() + ahead,
            flags,
            burst_samples: 0,
            len_bytes: PAYLOAD,
            payload_crc: crc32c(&bytes),
        };
        bench.sender.push(packet).expect("there is room");
    }
    assert!(bench.take(&bench.fields(0, 8), &[]));
    for flags in [Flags::START, Flags::NONE] {
        let record = bench.sender.poll_write(bench.now).expect("there is credit").record;
        assert_eq!((record.lost_before, record.flags), (0, flags));
        assert_eq!(SlotRecord::parse(&record.to_bytes(), record.seq.0), Ok(record));
    }
}

/// `docs/protocol.md#13.5`: credit lets packets be posted, each once; a REPORT requests nothing.
#[test]
fn packets_are_posted_once_within_credit_and_never_leave_as_data() {
    let mut bench = sender();
    push(&mut bench, 6);
    assert_eq!(posted(&mut bench), [0; 0], "before a REPORT");
    assert!(bench.take(&bench.fields(0, 4), &[]));
    assert_eq!(bench.leaving_seqs(), [0; 0]);
    assert_eq!(posted(&mut bench), [0, 1, 2, 3]);
    bench.now = bench.now + Nanos::from_millis(50);
    bench.leave();
    let fields = bench.fields(1, 5);
    assert!(bench.take(&fields, &[SeqRange { first: Seq(1), count: 2 }]));
    assert_eq!(bench.leaving_seqs(), [0; 0], "there is no repair");
    assert_eq!(posted(&mut bench), [4]);
}

/// `docs/protocol.md#13.5`: a payload may go when its WRITE is complete and it is accounted for,
/// whichever is later.
#[test]
fn payload_is_held_until_it_is_written_and_accounted_for() {
    let mut bench = sender();
    push(&mut bench, 6);
    assert!(bench.take(&bench.fields(0, 6), &[]));
    posted(&mut bench);
    assert!(bench.take(&bench.fields(4, 8), &[]));
    assert_eq!(bench.sender.released(), Seq(0), "no WRITE is complete");
    bench.sender.handle_written(Seq(3));
    assert_eq!((bench.sender.released(), bench.sender.free_slots()), (Seq(3), 13));
    bench.sender.handle_written(Seq(6));
    assert_eq!(bench.sender.released(), Seq(4), "the rest is not accounted for");
    bench.sender.handle_written(Seq(5));
    assert!(bench.take(&bench.fields(6, 8), &[]));
    assert_eq!(bench.sender.released(), Seq(6), "a completion that comes late takes nothing back");
}

#[test]
#[should_panic(expected = "packet 7 has not left")]
fn completion_of_what_has_not_left_is_a_fault_of_the_caller() {
    let mut bench = sender();
    push(&mut bench, 7);
    assert!(bench.take(&bench.fields(0, 6), &[]));
    posted(&mut bench);
    bench.sender.handle_written(Seq(7));
}

/// The pace of the user holds packets back, and each is counted with its record.
#[test]
fn packets_are_paced_and_counted() {
    let config = SenderConfig::default().with_link_bps(10_000_000).expect("in range");
    let mut bench = Bench::with(over_rdma, config);
    push(&mut bench, 8);
    assert!(bench.take(&bench.fields(0, 8), &[]));
    let first = posted(&mut bench).len();
    assert!((1..8).contains(&first), "{first} of 8 leave at once");
    let bytes = |packets: usize| (packets * WRITE_BYTES) as u64;
    assert_eq!(bench.sender.stats().bytes, bytes(first));
    // What a WRITE takes of the wire at 10 Mb/s.
    let frame_bytes = WRITE_BYTES as u64 + u64::from(FRAME_OVERHEAD_BYTES);
    let span = Nanos(frame_bytes * 800);
    let before = bench.now;
    while posted(&mut bench).is_empty() {
        bench.now = bench.now + Nanos(1_000);
    }
    let first_at = bench.now;
    while posted(&mut bench).is_empty() {
        bench.now = bench.now + Nanos(1_000);
    }
    assert!(first_at.since(before) <= span + Nanos(1_000));
    let between = bench.now.since(first_at);
    assert!(between.0.abs_diff(span.0) <= 1_000, "{between:?} between packets, not {span:?}");
    assert_eq!(
        (bench.sender.stats().packets, bench.sender.stats().bytes),
        (first as u64 + 2, bytes(first + 2))
    );
}

/// `docs/protocol.md#8.4`, `#8.5`: what is posted feeds congestion control, as DATA does that
/// departs.
#[test]
fn posted_packets_are_measured_and_a_mark_cuts_their_rate() {
    let with = |terms: &mut Terms| {
        over_rdma(terms);
        terms.window = 4_096;
    };
    let mut bench = Bench::with(with, SenderConfig::default());
    assert!(bench.take(&bench.fields(0, 4_096), &[]));
    bench.now = bench.now + Nanos::from_millis(10_000);
    push(&mut bench, 1_000);
    assert_eq!(posted(&mut bench).len(), 1_000);
    bench.now = bench.now + Nanos::from_micros(100);
    assert!(bench.take(&ReportFields { marked: 1, ..bench.fields(0, 4_096) }, &[]));
    // The first ended a long span; the others were posted in 1 ms at most.
    let write_bytes = WRITE_BYTES as u64 + u64::from(FRAME_OVERHEAD_BYTES);
    let expected = 999 * write_bytes * 8 * 1_000 / 2;
    let limit = bench.sender.stats().limit_bps;
    assert!(limit.abs_diff(expected) < expected / 1_000, "{limit}, not {expected}");
    push(&mut bench, 1_000);
    assert!(posted(&mut bench).len() < 100, "the limit holds them back");
}

/// `docs/protocol.md#8.5`: what the source needs of the wire is more than for DATA.
#[test]
fn stream_starts_at_the_rate_that_its_writes_need() {
    let source = DcqcnConfig::new().with_line_bps(Some(10_000_000_000));
    let source = source.with_source_rate(20_000_000, 1);
    let config = SenderConfig::default().with_control(Control::Dcqcn(source)).expect("it holds");
    let write_bits = 8 * (WRITE_BYTES as u64 + u64::from(FRAME_OVERHEAD_BYTES));
    let needed_bps = 20_000_000 / u64::from(SAMPLES) * write_bits;
    let limit = Bench::with(over_rdma, config).sender.stats().limit_bps;
    assert!((needed_bps..needed_bps + 130_000).contains(&limit), "{limit} for {needed_bps}");
}

/// A stream of DATA posts nothing, nor does one that has ended.
#[test]
fn nothing_is_posted_by_another_stream_or_after_the_end() {
    let mut data = Bench::with(|_| (), SenderConfig::default());
    data.push(2);
    assert!(data.take(&data.fields(0, 8), &[]));
    assert!(data.sender.poll_write(data.now).is_none());

    let mut bench = sender();
    push(&mut bench, 2);
    assert!(bench.take(&bench.fields(0, 8), &[]));
    bench.now = bench.now + Nanos::from_millis(16_000);
    bench.sender.handle_timeout(bench.now);
    assert_eq!(bench.sender.poll_event(), Some(End::PeerSilent));
    assert_eq!(posted(&mut bench), [0; 0]);
}

/// Samples before a packet that was dropped and set its index are not named.
#[test]
fn cancelled_stream_ends_after_the_last_packet_posted() {
    let mut bench = sender();
    push(&mut bench, 2);
    let index = bench.sender.next_index() + 1_000;
    let bytes = payload(2);
    let packet = NewPacket {
        index,
        flags: Flags::START,
        burst_samples: 0,
        len_bytes: PAYLOAD,
        payload_crc: crc32c(&bytes),
    };
    bench.sender.push(packet).expect("there is room");
    assert!(bench.take(&bench.fields(0, 2), &[]));
    assert_eq!(posted(&mut bench), [0, 1]);
    bench.sender.cancel(bench.now);
    assert_eq!(bench.sender.next_index(), 2 * u64::from(SAMPLES));
}

/// `docs/protocol.md#13.7`: CLOSE with reason 8 and the end of what was posted.
#[test]
fn sender_whose_queue_pair_fails_closes_after_the_last_packet_posted() {
    let mut bench = sender();
    push(&mut bench, 6);
    assert!(bench.take(&bench.fields(0, 4), &[]));
    posted(&mut bench);
    bench.sender.queue_pair_failed(bench.now);
    bench.now = bench.now + Nanos::from_millis(1);
    let left = bench.leave();
    let (header, bytes) = left.first().expect("a CLOSE leaves");
    let Ok((_, Packet::Close(close))) = wire::parse(bytes) else { panic!("{header:?}") };
    assert_eq!(close.reason, CloseReason::QueuePairFailed);
    assert_eq!((header.seq, header.index), (Seq(4), 4 * u64::from(SAMPLES)));
    assert!(bench.hand(&close_ack(SENDER_TAG, 4, CloseAckReason::Done, RECEIVER_TAG)));
    assert_eq!(bench.sender.poll_event(), Some(End::QueuePairFailed));
    assert_eq!(posted(&mut bench), [0; 0]);
}

/// The receiver has all, and only CLOSE_ACK is missing: its queue pair may be gone before the last
/// acknowledgement got through.
#[test]
fn queue_pair_that_fails_after_all_is_accounted_for_changes_no_end() {
    let mut bench = sender();
    push(&mut bench, 4);
    assert!(bench.take(&bench.fields(0, 4), &[]));
    posted(&mut bench);
    bench.sender.close(bench.now);
    assert!(bench.take(&bench.fields(4, 4), &[]));
    bench.sender.queue_pair_failed(bench.now);
    assert!(bench.hand(&close_ack(SENDER_TAG, 4, CloseAckReason::Done, RECEIVER_TAG)));
    let final_index = 4 * u64::from(SAMPLES);
    assert_eq!(bench.sender.poll_event(), Some(End::Finished { final_index }));
}

/// `docs/protocol.md#13.7`: nor does a program that cancels or ends the stream afterwards change what
/// CLOSE says.
#[test]
fn program_changes_nothing_of_a_stream_whose_queue_pair_has_failed() {
    let mut bench = sender();
    push(&mut bench, 6);
    assert!(bench.take(&bench.fields(0, 4), &[]));
    posted(&mut bench);
    bench.sender.queue_pair_failed(bench.now);
    bench.sender.cancel(bench.now);
    bench.sender.lose_at_source(100);
    bench.sender.close_for(bench.now, CloseReason::DeviceFault);
    bench.now = bench.now + Nanos::from_millis(1);
    let left = bench.leave();
    let (header, bytes) = left.first().expect("a CLOSE leaves");
    let Ok((_, Packet::Close(close))) = wire::parse(bytes) else { panic!("{header:?}") };
    assert_eq!((close.reason, header.seq), (CloseReason::QueuePairFailed, Seq(4)));
    assert_eq!((header.index, close.source_lost), (4 * u64::from(SAMPLES), 0));
    assert!(bench.hand(&close_ack(SENDER_TAG, 4, CloseAckReason::Done, RECEIVER_TAG)));
    assert_eq!(bench.sender.poll_event(), Some(End::QueuePairFailed));
}

/// A receiver of a window of 16 with credit for 8.
struct Reading {
    receiver: Receiver<Vec<RecvSlot>>,
    now: Nanos,
}

impl Reading {
    fn new() -> Self {
        let now = Nanos::from_millis(1_000);
        let mut receiver = receiver(Delivery::Complete).expect("the terms hold");
        receiver.grant(Seq(8));
        Self { receiver, now }
    }

    /// A WRITE is complete; returns the breach that it was, once all before is delivered.
    fn write(&mut self, written: &Written) -> Option<Violation> {
        self.complete(written);
        self.breach()
    }

    fn complete(&mut self, written: &Written) {
        let Written { immediate, len_bytes, record, payload } = written;
        let completed = Completed::Write { immediate: *immediate, len_bytes: *len_bytes };
        self.receiver.handle_write(self.now, completed, payload, &record.to_bytes());
    }

    fn breach(&mut self) -> Option<Violation> {
        while self.receiver.poll_delivery(self.now).is_some() {}
        match self.receiver.poll_event() {
            Some(End::Violation(violation)) => Some(violation),
            _ => None,
        }
    }

    fn delivered(&mut self) -> Vec<Delivered> {
        core::iter::from_fn(|| self.receiver.poll_delivery(self.now)).collect()
    }

    fn hand(&mut self, bytes: &[u8]) {
        let (header, packet) = wire::parse(bytes).expect("a packet");
        assert!(self.receiver.handle(self.now, &header, &packet));
    }

    fn leave(&mut self) -> Vec<Vec<u8>> {
        let mut out = [0; REPORT_BYTES];
        let mut left = vec![];
        while let Some(len) = self.receiver.poll_transmit(self.now, &mut out) {
            left.push(out[..len].to_vec());
        }
        left
    }
}

fn receiver(delivery: Delivery) -> Result<Receiver<Vec<RecvSlot>>, TermsError> {
    let (local_tag, peer_tag) = (RECEIVER_TAG, SENDER_TAG);
    let mut terms = Terms { local_tag, peer_tag, is_opener: true, ..terms(16, RTT) };
    over_rdma(&mut terms);
    let config = ReceiverConfig::new().with_delivery(delivery).expect("in its range");
    let slots = vec![RecvSlot::default(); 16];
    Receiver::new(terms, config, slots, Nanos::from_millis(1_000))
}

/// A WRITE as it lies in memory.
#[derive(Clone)]
struct Written {
    immediate: u32,
    len_bytes: u32,
    record: SlotRecord,
    payload: [u8; PAYLOAD as usize],
}

impl Written {
    /// The full packet that comes as number `seq` of the stream.
    fn full(seq: u32) -> Self {
        let payload = [seq as u8; PAYLOAD as usize];
        let record = SlotRecord {
            index: u64::from(seq) * u64::from(SAMPLES),
            lost_before: 0,
            samples: SAMPLES,
            seq: Seq(seq),
            payload_crc: Zeros::new(RECORD_AT - payload.len()).append(crc32c(&payload)),
            flags: Flags::NONE,
        };
        Self { immediate: seq, len_bytes: WRITE_BYTES as u32, record, payload }
    }

    fn with(mut self, change: impl FnOnce(&mut SlotRecord)) -> Self {
        change(&mut self.record);
        self
    }
}

/// `docs/protocol.md#13.6`
#[test]
fn write_that_is_not_the_next_or_has_no_credit_is_a_breach() {
    let order = |seq: u32, expected: u32| {
        Some(Violation::WriteOrder { seq: Seq(seq), expected: Seq(expected), limit: Seq(8) })
    };
    for (wrong, expected) in [(1, 0), (u32::MAX, 0), (1 << 31, 0)] {
        assert_eq!(Reading::new().write(&Written::full(wrong)), order(wrong, expected));
    }
    let mut reading = Reading::new();
    assert!((0..8).all(|seq| reading.write(&Written::full(seq)).is_none()));
    assert_eq!(reading.receiver.stats().delivered, 8);
    assert_eq!(reading.clone_of().write(&Written::full(7)), order(7, 8), "it came before");
    assert_eq!(reading.write(&Written::full(8)), order(8, 8), "there is no credit");
}

impl Reading {
    fn clone_of(&self) -> Self {
        Self { receiver: self.receiver.clone(), now: self.now }
    }
}

/// `docs/protocol.md#13.6`
#[test]
fn write_of_another_length_and_a_send_are_breaches() {
    for len_bytes in [0, WRITE_BYTES as u32 - 1, WRITE_BYTES as u32 + 1] {
        let breach = Reading::new().write(&Written { len_bytes, ..Written::full(0) });
        let (seq, expected) = (Seq(0), WRITE_BYTES as u32);
        assert_eq!(breach, Some(Violation::WriteLength { seq, len_bytes, expected }));
    }
    let mut reading = Reading::new();
    reading.receiver.handle_write(reading.now, Completed::Send, &[], &[0; RECORD_LEN]);
    assert_eq!(reading.breach(), Some(Violation::NoWrite { expected: Seq(0) }));
}

/// `docs/protocol.md#13.6`: at the ends of each range, and beyond.
#[test]
fn record_that_does_not_follow_is_a_breach() {
    let samples = u64::from(SAMPLES);
    let breach = |change: &dyn Fn(&mut SlotRecord)| {
        let mut reading = Reading::new();
        assert_eq!(reading.write(&Written::full(0)), None);
        reading.write(&Written::full(1).with(change))
    };
    let seq = Seq(1);
    let record = |field, value| Some(Violation::Record { seq, error: RdmaError { field, value } });
    let retreats = |index, expected| Some(Violation::IndexRetreats { seq, index, expected });
    let jumps = |index, expected| Some(Violation::IndexJumps { seq, index, expected });

    assert_eq!(breach(&|it| it.seq = Seq(2)), record(RdmaField::Seq, 2));
    assert_eq!(breach(&|it| it.index = INDEX_MAX + 1), record(RdmaField::Index, INDEX_MAX + 1));
    assert_eq!(breach(&|it| it.index -= 1), retreats(samples - 1, samples));
    assert_eq!(breach(&|it| it.index += 1), jumps(samples + 1, samples));
    assert_eq!(breach(&|it| it.samples -= 1), record(RdmaField::Samples, samples - 1));
    assert_eq!(breach(&|it| it.samples += 1), record(RdmaField::Samples, samples + 1));

    let loss = |it: &mut SlotRecord, index: u64, lost_before: u64| {
        it.flags = it.flags | Flags::OVERFLOW;
        (it.index, it.lost_before) = (it.index + index, lost_before);
    };
    assert!(breach(&|it| it.lost_before = 1).is_some(), "a loss without its flag");
    assert_eq!(breach(&|it| it.flags = Flags::OVERFLOW), record(RdmaField::LostBefore, 0));
    for (jump, lost_before, expected) in [
        (5, 5, None),
        (5, 6, retreats(samples + 5, samples + 6)),
        (6, 5, jumps(samples + 6, samples + 5)),
    ] {
        let mut reading = Reading::new();
        reading.write(&Written::full(0));
        let written = Written::full(1).with(|it| loss(it, jump, lost_before));
        assert_eq!(reading.write(&written), expected, "{jump} ahead, {lost_before} lost");
    }
    assert_eq!(breach(&|it| (it.flags, it.index) = (Flags::START, it.index + 1_000)), None);
    assert_eq!(
        breach(&|it| (it.flags, it.index) = (Flags::START, it.index - 1)),
        retreats(samples - 1, samples)
    );
    // 64 bytes beside the count, of 72 that hold 16 samples: 14.
    let burst = |it: &mut SlotRecord, samples| {
        (it.flags, it.samples) = (Flags::END_OF_BURST, samples);
    };
    assert_eq!(breach(&|it| burst(it, 14)), None);
    assert_eq!(breach(&|it| burst(it, 15)), Some(Violation::BurstLength { seq, samples: 15 }));
    let most = u64::from(u32::MAX);
    assert_eq!(
        breach(&|it| burst(it, u32::MAX)),
        Some(Violation::BurstLength { seq, samples: most })
    );
    assert_eq!(breach(&|it| (it.flags, it.samples) = (Flags::META, 0)), None);
}

/// The end of the packet before and the loss add up to more than 64 bits hold.
#[test]
fn loss_as_large_as_an_index_is_a_breach() {
    let mut reading = Reading::new();
    let last = |it: &mut SlotRecord| (it.flags, it.index) = (Flags::START, INDEX_MAX);
    assert_eq!(reading.write(&Written::full(0).with(last)), None);
    let loss = |it: &mut SlotRecord| {
        it.flags = Flags::OVERFLOW;
        (it.index, it.lost_before) = (INDEX_MAX, INDEX_MAX);
    };
    let expected = u64::MAX;
    let breach = Violation::IndexRetreats { seq: Seq(1), index: INDEX_MAX, expected };
    assert_eq!(reading.write(&Written::full(1).with(loss)), Some(breach));
}

/// `docs/protocol.md#6.5`: as many samples as fit beside their count, and one more.
#[test]
fn burst_may_end_with_all_that_fits_beside_its_count() {
    for (samples, is_right) in [(2, true), (3, false)] {
        let mut terms = Terms { local_tag: RECEIVER_TAG, is_opener: true, ..terms(16, RTT) };
        over_rdma(&mut terms);
        (terms.payload_bytes, terms.packet_samples) = (16, 4);
        let slots = vec![RecvSlot::default(); 16];
        let receiver = Receiver::new(terms, ReceiverConfig::new(), slots, Nanos(0));
        let mut reading = Reading { receiver: receiver.expect("the terms hold"), now: Nanos(0) };
        reading.receiver.grant(Seq(8));
        let record = SlotRecord {
            samples,
            flags: Flags::END_OF_BURST,
            payload_crc: crc32c(&[0; 64]),
            ..Written::full(0).record
        };
        let completed = Completed::Write { immediate: 0, len_bytes: 128 };
        reading.receiver.handle_write(reading.now, completed, &[0; 16], &record.to_bytes());
        assert_eq!(reading.breach().is_none(), is_right, "{samples} samples");
        assert_eq!(reading.receiver.stats().delivered, u64::from(is_right));
    }
}

/// What came before a breach is delivered before the stream ends.
#[test]
fn packets_before_a_breach_are_delivered() {
    let mut reading = Reading::new();
    for written in [Written::full(0), Written::full(1), Written::full(5), Written::full(2)] {
        reading.complete(&written);
    }
    assert_eq!(reading.receiver.stats().received, 2);
    assert_eq!(reading.delivered().len(), 2);
    assert!(matches!(
        reading.receiver.poll_event(),
        Some(End::Violation(Violation::WriteOrder { .. }))
    ));
}

/// `docs/protocol.md#13.6`: a completed WRITE is not repeated.
#[test]
fn payload_with_another_checksum_is_a_gap_of_its_packet() {
    let mut reading = Reading::new();
    for seq in 0..3 {
        let mut written = Written::full(seq);
        written.payload[71] ^= u8::from(seq == 1);
        reading.complete(&written);
    }
    let samples = u64::from(SAMPLES);
    let gap =
        Gap { first: samples, not_repaired: samples, source_lost: 0, cause: Cause::GoneAtSender };
    let delivered = reading.delivered();
    assert_eq!(delivered[1..3], [Delivered::Skipped { seq: Seq(1) }, Delivered::Gap(gap)]);
    assert_eq!(delivered.len(), 4);
    assert_eq!(reading.receiver.next_index(), 3 * samples);
}

/// `docs/protocol.md#13.5`: MARK and CLOSE may overtake WRITEs, and reveal no hole.
#[test]
fn control_packets_that_overtake_writes_reveal_nothing() {
    let mut reading = Reading::new();
    reading.hand(&packets::mark(4, Departure::at(reading.now), &Mark { oldest: Seq(4), ..MARK }));
    reading.hand(&close(RECEIVER_TAG, 4, 4 * u64::from(SAMPLES)));
    reading.now = reading.now + Nanos::from_millis(50);
    assert_eq!(reading.delivered(), []);
    for bytes in reading.leave() {
        let Ok((_, Packet::Report(report))) = wire::parse(&bytes) else { panic!("{bytes:02x?}") };
        assert!(report.ranges.is_empty(), "nothing is requested");
        assert_eq!(report.fields.highest_end, Seq(0));
    }
    assert!((0..4).all(|seq| reading.write(&Written::full(seq)).is_none()));
    let final_index = 4 * u64::from(SAMPLES);
    assert_eq!(reading.receiver.next_index(), final_index);
    assert_eq!(reading.receiver.phase(), {
        let until = reading.now + Nanos::from_millis(300);
        crate::receiver::Phase::Lingering { final_seq: Seq(4), final_index, until }
    });
}

/// `docs/protocol.md#13.7`: at CLOSE with reason 8 what is not complete is given up at once.
#[test]
fn close_of_a_failed_queue_pair_gives_up_what_is_not_complete() {
    let mut reading = Reading::new();
    reading.write(&Written::full(0));
    let samples = u64::from(SAMPLES);
    reading.hand(&close_for(RECEIVER_TAG, 4, 4 * samples, CloseReason::QueuePairFailed));
    for refused in 1..=2 {
        reading.complete(&Written::full(1));
        assert_eq!(reading.receiver.stats().refused, refused);
    }
    assert_eq!(reading.breach(), None, "they came too late");
    assert_eq!(reading.receiver.next_index(), 4 * samples);
    assert_eq!(reading.receiver.stats().skipped, 3);
}

/// `docs/protocol.md#13.7`: the queue pair of a sender that has closed may still fail. Its WRITEs
/// would be waited for without end, since both ends are heard.
#[test]
fn queue_pair_that_fails_after_close_gives_up_what_is_not_complete() {
    let mut reading = Reading::new();
    reading.write(&Written::full(0));
    let samples = u64::from(SAMPLES);
    reading.hand(&close(RECEIVER_TAG, 4, 4 * samples));
    assert_eq!(reading.delivered(), [], "the rest is on its way");
    reading.hand(&close_for(RECEIVER_TAG, 4, 4 * samples, CloseReason::QueuePairFailed));
    let gap = reading.delivered().into_iter().find_map(|it| match it {
        Delivered::Gap(gap) => Some(gap),
        _ => None,
    });
    let (first, not_repaired, cause) = (samples, 3 * samples, Cause::GoneAtSender);
    assert_eq!(gap, Some(Gap { first, not_repaired, source_lost: 0, cause }));
    let end = End::ClosedByPeer(CloseReason::QueuePairFailed);
    assert_eq!(reading.receiver.poll_event(), Some(end));
}

/// `docs/protocol.md#13.1`
#[test]
fn data_is_not_taken_and_other_deliveries_are_refused() {
    let mut reading = Reading::new();
    let header = packets::header(crate::wire::PacketType::Data, RECEIVER_TAG, Seq(0));
    let bytes = packets::data(&header, &[0; PAYLOAD as usize]);
    let (header, Packet::Data(body)) = wire::parse(&bytes).expect("a packet") else { panic!() };
    let placement = reading.receiver.handle_data(reading.now, &header, body, false);
    assert_eq!((placement, reading.receiver.stats().unexpected), (Placement::Ignore, 1));
    for delivery in [Delivery::BestEffort, Delivery::Deadline(Nanos::from_millis(1))] {
        assert_eq!(receiver(delivery).err(), Some(TermsError::RdmaDelivery));
    }
}

const MARK: Mark = Mark {
    oldest: Seq(0),
    report: Seq(0),
    echo: Departure(0),
    hold: u32::MAX,
    source_lost: 0,
    time_ns: 0,
};
