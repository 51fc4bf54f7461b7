//! A peer that breaks the rules, which a card does not keep from it (`docs/protocol.md#13.6`).

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use samplewire_io::Clock;
use samplewire_proto::receiver::{Delivered, ReceiverConfig};
use samplewire_proto::stream::{End, Violation};
use samplewire_proto::wire::{Close, CloseReason, Flags, Header, Packet, PacketType};
use samplewire_proto::{Cause, Departure, Gap, Tag};

use super::super::super::flow::{FlowParts, ReceiveFlow, WAIT_MAX};
use super::super::super::payload_ring::PayloadRing;
use super::super::Slots;
use super::super::tests::{
    PAYLOAD_BYTES, QUANTUM_PACKETS, REGION, bytes_of, pool, receiver, terms,
};
use super::*;
use crate::wakeups::WakeHandle;

const NOW: Nanos = Nanos::from_millis(1_000);

/// What a card does, and what a peer has done to its memory.
#[derive(Debug)]
struct Peer {
    memory: Vec<u8>,
    completions: VecDeque<Written>,
    posted: u32,
    /// Receive requests that the card takes.
    room: u32,
    is_ended: bool,
    arms: u32,
    /// Writes over each byte as soon as it is copied.
    is_fast: bool,
}

/// The card's side of it.
#[derive(Clone, Debug)]
pub(crate) struct FakeQueue {
    region: SlotRegion,
    peer: Arc<Mutex<Peer>>,
}

impl FakeQueue {
    pub(crate) const QPN: u32 = 17;

    fn new(region: SlotRegion) -> Self {
        let memory = vec![0; (region.slots * region.slot_bytes) as usize];
        let peer = Peer {
            memory,
            completions: VecDeque::new(),
            posted: 0,
            room: region.slots,
            is_ended: false,
            arms: 0,
            is_fast: false,
        };
        Self { region, peer: Arc::new(Mutex::new(peer)) }
    }

    fn peer(&self) -> MutexGuard<'_, Peer> {
        self.peer.lock().unwrap()
    }

    /// The peer writes to the slot of `seq`, without a completion.
    fn write(&self, seq: u32, bytes: &[u8]) {
        let at = (self.region.slot_of(Seq(seq)) * self.region.slot_bytes) as usize;
        self.peer().memory[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn complete(&self, written: Written) {
        self.peer().completions.push_back(written);
    }

    /// The peer writes a full packet.
    pub(crate) fn come(&self, seq: u32) {
        let bytes = bytes_of(seq);
        self.write(seq, &bytes);
        self.complete(Written::Whole { len_bytes: bytes.len() as u32, immediate: seq });
    }

    /// The card takes so many more receive requests.
    pub(in crate::receiver) fn make_room(&self, requests: u32) {
        self.peer().room += requests;
    }

    pub(in crate::receiver) fn arms(&self) -> u32 {
        self.peer().arms
    }
}

impl WriteQueue for FakeQueue {
    fn poll(&mut self) -> Result<Option<Written>, VerbsError> {
        let mut peer = self.peer();
        Ok(if peer.is_ended { None } else { peer.completions.pop_front() })
    }

    fn post(&mut self) -> Result<(), VerbsError> {
        let mut peer = self.peer();
        if peer.posted == peer.room {
            let (name, source) = ("rxe0".to_owned(), io::ErrorKind::OutOfMemory.into());
            return Err(VerbsError::Call { name, operation: "post", source });
        }
        peer.posted += 1;
        Ok(())
    }

    fn arm(&mut self) -> Result<bool, VerbsError> {
        let mut peer = self.peer();
        peer.arms += 1;
        Ok(!peer.completions.is_empty())
    }

    fn copy(&self, offset: usize, into: &mut [u8]) {
        let mut peer = self.peer();
        into.copy_from_slice(&peer.memory[offset..offset + into.len()]);
        if peer.is_fast {
            peer.memory[offset..offset + into.len()].fill(0xEE);
        }
    }

    fn end(&mut self) {
        self.peer().is_ended = true;
    }

    fn qpn(&self) -> u32 {
        Self::QPN
    }
}

/// The slots of a stream on a card, and its peer.
pub(in crate::receiver) fn slots(region: SlotRegion) -> (Slots, FakeQueue) {
    let queue = FakeQueue::new(region);
    let reader = CardReader::new(Box::new(queue.clone()), region, PAYLOAD_BYTES, Seq(0));
    (Slots::Card(Box::new(reader.expect("a slot holds them"))), queue)
}

/// A received stream of four slots on a card, and its peer.
pub(crate) fn card_flow(
    now: Nanos,
    peer: SocketAddr,
    clock: Clock,
    wake_handle: WakeHandle,
) -> (ReceiveFlow, FakeQueue) {
    let parts = FlowParts {
        peer,
        clock,
        terms: terms(),
        config: ReceiverConfig::new(),
        pool: pool(),
        quantum_packets: QUANTUM_PACKETS,
        frame_bytes: 4,
        hold_max: WAIT_MAX,
        wake_handle,
    };
    let (mut flow, _block_queue) = parts.build(now).expect("the terms hold");
    let (slots, queue) = slots(REGION);
    flow.set_slots(slots);
    (flow, queue)
}

/// A stream of four slots, all granted.
struct Bench {
    queue: FakeQueue,
    reader: CardReader,
    receiver: Receiver<Vec<RecvSlot>>,
    payloads: PayloadRing,
}

impl Bench {
    fn new() -> Self {
        let queue = FakeQueue::new(REGION);
        let reader = CardReader::new(Box::new(queue.clone()), REGION, PAYLOAD_BYTES, Seq(0));
        let (receiver, payloads) = receiver(NOW);
        let reader = reader.expect("a slot holds them");
        let mut bench = Self { queue, reader, receiver, payloads };
        bench.grant();
        bench
    }

    fn grant(&mut self) {
        let promise_end = self.receiver.promise_end();
        let limit = self.payloads.attach(promise_end).min(promise_end);
        self.reader.grant(&mut self.receiver, limit);
    }

    fn settle(&mut self) -> u32 {
        self.reader.settle(NOW, &mut self.receiver, &mut self.payloads, 64)
    }

    /// What is delivered, with the first byte of each payload; `None` of one that is given up.
    fn delivered(&mut self) -> Vec<Option<u8>> {
        let mut delivered = vec![];
        while let Some(next) = self.receiver.poll_delivery(NOW) {
            delivered.push(match next {
                Delivered::Gap(_) => continue,
                Delivered::Skipped { .. } => None,
                Delivered::Packet { .. } => {
                    let payload = self.payloads.next_payload();
                    assert!(payload.iter().all(|byte| *byte == payload[0]), "{payload:?}");
                    Some(payload[0])
                }
            });
            self.payloads.advance();
        }
        delivered
    }

    /// How the stream ends.
    fn end(&mut self) -> Option<End> {
        self.settle();
        self.delivered();
        self.receiver.poll_event()
    }
}

#[test]
fn packets_go_round_the_slots_and_are_granted_again() {
    let mut bench = Bench::new();
    for seq in 0..40 {
        bench.queue.come(seq);
        assert_eq!((bench.settle(), bench.delivered()), (1, vec![Some(seq as u8)]));
        bench.queue.peer().room += 1;
        bench.grant();
        assert_eq!(bench.receiver.limit(), Seq(seq + 5));
        assert_eq!(bench.queue.peer().posted, seq + 5, "one WRITE takes one request");
    }
}

/// The peer writes over what it has written while it is read. What is delivered is what was checked.
#[test]
fn slot_is_read_once_so_that_a_second_write_changes_nothing() {
    let mut bench = Bench::new();
    bench.queue.peer().is_fast = true;
    (0..3).for_each(|seq| bench.queue.come(seq));
    assert_eq!(bench.settle(), 3);
    bench.queue.write(0, &[0xDD; 128]);
    assert_eq!(bench.delivered(), [Some(0), Some(1), Some(2)]);
    assert!(bench.receiver.poll_event().is_none());
}

#[test]
fn write_that_is_not_the_next_is_a_violation() {
    let whole = |immediate| Written::Whole { len_bytes: 128, immediate };
    for (wrong, expected) in [(1, 0), (u32::MAX, 0), (4, 0)] {
        let mut bench = Bench::new();
        // The slot that it names holds a packet that could be right.
        bench.queue.write(wrong, &bytes_of(wrong));
        bench.queue.complete(whole(wrong));
        let end = bench.end();
        let (seq, expected) = (Seq(wrong), Seq(expected));
        let violation = Violation::WriteOrder { seq, expected, limit: Seq(4) };
        assert_eq!(end, Some(End::Violation(violation)));
    }
    // A second one to a slot that was complete.
    let mut bench = Bench::new();
    bench.queue.come(0);
    bench.queue.come(0);
    let violation = Violation::WriteOrder { seq: Seq(0), expected: Seq(1), limit: Seq(4) };
    assert_eq!(bench.end(), Some(End::Violation(violation)));
    assert_eq!(bench.receiver.stats().delivered, 1);
}

#[test]
fn write_of_another_length_and_a_send_are_violations() {
    for len_bytes in [0, 127, 129, u32::MAX] {
        let mut bench = Bench::new();
        bench.queue.write(0, &bytes_of(0));
        bench.queue.complete(Written::Whole { len_bytes, immediate: 0 });
        let violation = Violation::WriteLength { seq: Seq(0), len_bytes, expected: 128 };
        assert_eq!(bench.end(), Some(End::Violation(violation)));
    }
    let mut bench = Bench::new();
    bench.queue.write(0, &bytes_of(0));
    bench.queue.complete(Written::Message);
    let violation = Violation::NoWrite { expected: Seq(0) };
    assert_eq!(bench.end(), Some(End::Violation(violation)));
}

#[test]
fn record_of_another_packet_is_a_violation() {
    let mut bench = Bench::new();
    bench.queue.write(0, &bytes_of(1));
    bench.queue.complete(Written::Whole { len_bytes: 128, immediate: 0 });
    let end = bench.end();
    assert!(matches!(end, Some(End::Violation(Violation::Record { seq: Seq(0), .. }))), "{end:?}");
}

/// A completed WRITE is not repeated: its samples are a gap.
#[test]
fn payload_that_was_changed_is_a_gap() {
    let mut bench = Bench::new();
    bench.queue.come(0);
    let mut bytes = bytes_of(1);
    bytes[63] ^= 1;
    bench.queue.write(1, &bytes);
    bench.queue.complete(Written::Whole { len_bytes: 128, immediate: 1 });
    bench.queue.come(2);
    assert_eq!(bench.settle(), 3);
    let mut gaps = vec![];
    while let Some(next) = bench.receiver.poll_delivery(NOW) {
        if let Delivered::Gap(gap) = next {
            gaps.push(gap);
        }
    }
    let [Gap { first: 16, cause: Cause::GoneAtSender, .. }] = gaps[..] else { panic!("{gaps:?}") };
    assert_eq!(bench.receiver.stats().delivered, 2);
}

/// `docs/protocol.md#13.7`
#[test]
fn what_is_complete_before_a_failure_is_delivered_and_the_stream_ends() {
    let mut bench = Bench::new();
    bench.queue.come(0);
    bench.queue.complete(Written::Failed);
    bench.queue.come(1);
    bench.settle();
    assert_eq!(bench.delivered(), [Some(0)], "nothing comes after a failure");
    assert_eq!(bench.receiver.poll_event(), Some(End::QueuePairFailed));
}

#[test]
fn failure_that_the_card_reports_is_that_of_its_queue_pair_or_of_all() {
    for (qpn, is_ours) in [(Some(17), true), (None, true), (Some(18), false)] {
        let mut bench = Bench::new();
        bench.reader.note_failure(qpn);
        let end = bench.end();
        assert_eq!(end, is_ours.then_some(End::QueuePairFailed), "{qpn:?}");
    }
}

/// `docs/protocol.md#13.5`
#[test]
fn nothing_is_granted_for_which_the_card_takes_no_receive_request() {
    let mut bench = Bench::new();
    (0..3).for_each(|seq| bench.queue.come(seq));
    bench.settle();
    bench.delivered();
    bench.queue.peer().room += 1;
    bench.grant();
    assert_eq!(bench.receiver.limit(), Seq(5));
    assert_eq!(bench.end(), Some(End::QueuePairFailed), "the card is out of order");
}

/// The program has let go of the stream, and has taken the quantum that was not full.
#[test]
fn writes_that_come_after_the_end_find_no_memory() {
    let mut bench = Bench::new();
    bench.queue.come(0);
    bench.settle();
    bench.delivered();
    bench.receiver.cancel(NOW);
    assert!(bench.payloads.take_last().is_some());
    bench.queue.come(1);
    bench.settle();
    assert_eq!(bench.delivered(), []);
    assert!(!bench.queue.peer().is_ended, "the peer may still send");
}

/// A CLOSE has given it up, and its place in the quanta is gone.
#[test]
fn write_that_comes_after_it_was_given_up_finds_no_memory() {
    let mut bench = Bench::new();
    bench.queue.come(0);
    bench.settle();
    let close = Close { reason: CloseReason::QueuePairFailed, last: Seq(0), source_lost: 0 };
    let header = Header {
        kind: PacketType::Close,
        flags: Flags::NONE,
        tag: Tag(1),
        index: 3 * 16,
        seq: Seq(3),
        departure: Departure(1),
    };
    assert!(bench.receiver.handle(NOW, &header, &Packet::Close(close)));
    // The program has no room for more.
    while bench.receiver.released() != Seq(2) {
        if !matches!(bench.receiver.poll_delivery(NOW), Some(Delivered::Gap(_))) {
            bench.payloads.advance();
        }
    }
    assert!(bench.receiver.takes_packets());
    bench.queue.come(1);
    bench.settle();
    assert_eq!(bench.delivered(), [None]);
}

/// No card does so: each WRITE takes a receive request.
#[test]
fn write_for_which_no_request_was_posted_is_a_violation() {
    let mut bench = Bench::new();
    for seq in 0..4 {
        bench.queue.come(seq);
        bench.settle();
    }
    bench.queue.come(4);
    let violation = Violation::WriteOrder { seq: Seq(4), expected: Seq(4), limit: Seq(4) };
    assert_eq!(bench.end(), Some(End::Violation(violation)));
}

#[test]
fn queue_pair_is_gone_once_the_stream_is() {
    let mut bench = Bench::new();
    bench.receiver.cancel(NOW);
    bench.receiver.replaced();
    while bench.receiver.poll_event().is_some() {}
    assert!(bench.receiver.is_ended());
    bench.settle();
    assert!(bench.queue.peer().is_ended);
}
