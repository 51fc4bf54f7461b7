//! When samples and REPORTs leave, on simulated time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker as TaskWaker};

use samplewire_circuit::{Lender, Pool, PoolConfig};
use samplewire_io::memory::{self, Memory};
use samplewire_io::{Batch, Clock, Waker};
use samplewire_proto::receiver::ReceiverConfig;
use samplewire_proto::sender::{
    CONTROL_BYTES, NewPacket, SendSlot, Sender, SenderConfig, Transmit,
};
use samplewire_proto::stream::{Carriage, Terms};
use samplewire_proto::wire::{Close, CloseReason, PacketType, SlotRegion};
use samplewire_proto::{Departure, Seq, Tag, crc, wire};
use samplewire_roce::wire::FRAME_BYTES_MAX;
use samplewire_testing::CountingAllocator;

use super::super::{BlockQueue, slots};
use super::*;
use crate::wakeups::Wakeups;

const PACKET_SAMPLES: u32 = 16;
const PAYLOAD: [u8; 64] = [0x5a; 64];
const QUANTUM_PACKETS: u32 = 8;
const WINDOW: u32 = 64;

/// A sender and the receiving half of a port, without a thread or a socket.
struct Rig {
    now: Nanos,
    sender: Sender<Vec<SendSlot>>,
    flow: ReceiveFlow,
    block_queue: BlockQueue,
    near: Memory,
    far: Memory,
    batch: Batch,
    wakeups: Arc<Wakeups>,
    pool: Pool,
}

/// The memory of a stream.
#[derive(Clone, Copy)]
struct Room {
    window: u32,
    quantum_packets: u32,
    quanta: usize,
}

const ROOM: Room = Room { window: WINDOW, quantum_packets: QUANTUM_PACKETS, quanta: 32 };

impl Rig {
    fn new(hold_max: Nanos) -> Self {
        Self::with(hold_max, ROOM)
    }

    fn with(hold_max: Nanos, room: Room) -> Self {
        Self::over(Carriage::Data, hold_max, room)
    }

    fn over(carriage: Carriage, hold_max: Nanos, room: Room) -> Self {
        let now = Nanos::from_millis(1_000);
        let terms = Terms {
            local_tag: Tag(1),
            peer_tag: Tag(2),
            is_opener: false,
            first_seq: Seq(0),
            first_index: 0,
            packet_samples: PACKET_SAMPLES,
            payload_bytes: PAYLOAD.len() as u16,
            payload_offset: 22,
            window: room.window,
            reorder_tolerance: 0,
            dead_after: Nanos::from_millis(15_000),
            idle_after: Nanos::from_millis(100),
            ranges_max: 32,
            rtt: Nanos::from_micros(50),
            carriage,
        };
        let slots = vec![SendSlot::default(); room.window as usize];
        let sender = Sender::new(terms, SenderConfig::default(), slots, now).unwrap();
        let (near, far) = memory::pair(64, 2_000, 2_000).unwrap();
        let quantum_bytes = room.quantum_packets as usize * PAYLOAD.len();
        let pool = Pool::new(PoolConfig::new(room.quanta, quantum_bytes)).unwrap();
        let wakeups = Wakeups::new(1, Waker::new().unwrap(), std::time::Duration::ZERO);
        let wake_handle = wakeups.wake_handle(0);
        let terms = Terms {
            local_tag: terms.peer_tag,
            peer_tag: terms.local_tag,
            is_opener: true,
            ..terms
        };
        let parts = FlowParts {
            peer: far.local_addr(),
            clock: Clock::start(1),
            terms,
            config: ReceiverConfig::new(),
            pool: pool.clone(),
            quantum_packets: room.quantum_packets,
            frame_bytes: 4,
            hold_max,
            wake_handle,
        };
        let (flow, block_queue) = parts.build(now).unwrap();
        let batch = Batch::new(64, 2_000);
        let mut rig = Self { now, sender, flow, block_queue, near, far, batch, wakeups, pool };
        // The first REPORT allows DATA to depart.
        rig.turn();
        rig
    }

    /// Does a turn of the I/O thread without new packets; returns the number of REPORTs that left.
    fn turn(&mut self) -> usize {
        self.flow.settle(self.now);
        self.flow.advance(self.now, &mut self.near, None).unwrap();
        self.far.recv(&mut self.batch).unwrap();
        for (bytes, _) in &self.batch {
            let (header, packet) = wire::parse(bytes).unwrap();
            self.sender.handle(self.now, &header, &packet);
        }
        self.batch.len()
    }

    /// Delivers this many packets, and does the turn that finds them.
    fn come(&mut self, packets: u32) -> usize {
        self.push(packets);
        let departed = self.departed();
        self.arrive(&departed)
    }

    /// Delivers packets one by one until the ring of items is full, and two more.
    fn fill(&mut self) {
        for _ in 0..items_max(WINDOW, QUANTUM_PACKETS) + 2 {
            self.pass(2_000);
            self.come(1);
            self.turn();
        }
        assert!(self.flow.blocked.is_some(), "the ring of items is full");
    }

    /// Gives the sender this many more packets.
    fn push(&mut self, packets: u32) {
        let crc = crc::crc32c(&PAYLOAD);
        for _ in 0..packets {
            let index = self.sender.next_index();
            let (flags, len_bytes) = (Flags::NONE, PAYLOAD.len() as u16);
            let packet = NewPacket { index, flags, burst_samples: 0, len_bytes, payload_crc: crc };
            self.sender.push(packet).unwrap();
        }
    }

    /// The packets that the sender lets depart.
    fn departed(&mut self) -> Vec<Vec<u8>> {
        let mut control = [0; CONTROL_BYTES];
        let mut departed = Vec::new();
        while let Some(transmit) = self.sender.poll_transmit(self.now, &mut control) {
            departed.push(match transmit {
                Transmit::Data(data) => [data.head(), &PAYLOAD, &data.trailer].concat(),
                Transmit::Control { len_bytes } => control[..len_bytes].to_vec(),
            });
        }
        departed
    }

    /// Delivers a packet with these flags and this payload, in order.
    fn come_with(&mut self, flags: Flags, payload: &[u8]) {
        let index = self.sender.next_index();
        let (len_bytes, payload_crc) = (payload.len() as u16, crc::crc32c(payload));
        let packet = NewPacket { index, flags, burst_samples: 0, len_bytes, payload_crc };
        self.sender.push(packet).unwrap();
        let mut control = [0; CONTROL_BYTES];
        while let Some(transmit) = self.sender.poll_transmit(self.now, &mut control) {
            let Transmit::Data(data) = transmit else { continue };
            let bytes = [data.head(), payload, &data.trailer].concat();
            self.arrive(&[bytes]);
        }
        self.turn();
    }

    /// Delivers these packets, and does the turn that finds them.
    fn arrive(&mut self, packets: &[Vec<u8>]) -> usize {
        for bytes in packets {
            let (header, packet) = wire::parse(bytes).unwrap();
            assert!(self.flow.handle(self.now, &header, &packet, Ecn::Ect0));
        }
        self.turn()
    }

    /// The packets of each block that the program finds.
    fn taken(&mut self) -> Vec<usize> {
        let mut taken = Vec::new();
        while let Ok(item) = self.block_queue.items.pop() {
            let Item::Run { run, .. } = item else { panic!("{item:?} is no samples") };
            taken.push(run.len_samples / PACKET_SAMPLES as usize);
        }
        taken
    }

    /// The items that the program finds, and keeps.
    fn found(&mut self) -> Vec<Item> {
        std::iter::from_fn(|| self.block_queue.items.pop().ok()).collect()
    }

    /// Delivers packets until the sender has no credit; returns the items that the program then
    /// holds.
    fn come_until_credit_is_out(&mut self) -> Vec<Item> {
        let mut held = Vec::new();
        for _ in 0..2 * WINDOW {
            if !self.flow.receiver.has_open_credit() {
                return held;
            }
            self.pass(30);
            self.come(1);
            self.turn();
            held.extend(self.found());
        }
        panic!("credit does not run out");
    }

    /// Advances the time.
    fn pass(&mut self, micros: u64) {
        self.now = self.now + Nanos::from_micros(micros);
    }
}

#[test]
fn packets_of_a_slow_stream_are_handed_over_once_nothing_else_has_come() {
    let mut rig = Rig::new(WAIT_MAX);
    for round in 0..100 {
        rig.pass(2_000);
        rig.come(1);
        if round % QUANTUM_PACKETS == QUANTUM_PACKETS - 1 {
            assert_eq!(rig.taken(), [1], "the last of a quantum in round {round}");
            continue;
        }
        assert!(rig.taken().is_empty(), "more may have come in round {round}");
        assert_eq!(rig.flow.wakes_at(rig.now), Some(rig.now), "round {round}");
        rig.turn();
        assert_eq!(rig.taken(), [1], "round {round}");
    }
}

#[test]
fn packets_of_a_fast_stream_wait_for_their_quantum_to_fill() {
    let mut rig = Rig::new(WAIT_MAX);
    let mut taken = Vec::new();
    for _ in 0..1_000 {
        rig.pass(20);
        rig.come(1);
        rig.turn();
        taken.extend(rig.taken());
    }
    assert!(taken.len() < 1_000 / QUANTUM_PACKETS as usize + 100, "{} blocks", taken.len());
    assert!(taken.iter().rev().take(90).all(|packets| *packets == 8), "{taken:?}");
    // The rest is handed over when the stream pauses.
    rig.come(3);
    rig.turn();
    let ready = rig.flow.wakes_at(rig.now).unwrap();
    assert!(ready <= rig.now + WAIT_MAX, "{ready:?} after {:?}", rig.now);
    rig.taken();
    rig.pass(1_000);
    rig.turn();
    assert_eq!(rig.taken().len(), 1);
}

#[test]
fn one_that_sends_when_it_is_answered_is_soon_not_held() {
    let mut rig = Rig::new(WAIT_MAX);
    let (trips, trip_us) = (2_000, 50);
    let begun = rig.now;
    for _ in 0..trips {
        rig.pass(trip_us);
        rig.come(1);
        let come = rig.now;
        loop {
            rig.turn();
            if !rig.taken().is_empty() {
                break;
            }
            assert!(rig.now <= come + WAIT_MAX, "held since {come:?}");
            rig.now = rig.flow.wakes_at(rig.now).unwrap_or(rig.now);
        }
    }
    let waited = rig.now.since(begun).0 - trips * Nanos::from_micros(trip_us).0;
    assert!(waited <= 10 * WAIT_MAX.0, "{waited} ns of holds");
}

#[test]
fn samples_come_before_reports_where_no_thread_sleeps() {
    let mut rig = Rig::new(Nanos(0));
    let mut reports = 0;
    for round in 0..100 {
        rig.pass(30);
        assert_eq!(rig.come(1), 0, "round {round}");
        assert_eq!(rig.taken(), [1]);
        reports += rig.turn();
    }
    assert!(reports >= 10, "{reports} in 100 packets");
}

#[test]
fn what_is_put_off_is_done_by_the_next_turn() {
    let mut rig = Rig::new(Nanos(0));
    for round in 0..100 {
        rig.pass(30);
        let limit = rig.flow.receiver.limit();
        rig.come(1);
        assert_eq!(rig.taken(), [1], "round {round}");
        assert_eq!(rig.flow.receiver.limit(), limit, "round {round}");
        assert_eq!(rig.flow.spins_until(rig.now), rig.now, "round {round}");
        rig.turn();
        assert!(limit.before(rig.flow.receiver.limit()), "round {round}");
        assert!(rig.flow.spins_until(rig.now) > rig.now, "round {round}");
    }
}

#[test]
fn reports_are_put_off_for_one_turn_at_most() {
    let mut rig = Rig::new(Nanos(0));
    let mut reports = 0;
    for _ in 0..100 {
        rig.pass(30);
        reports += rig.come(1);
        assert_eq!(rig.taken(), [1]);
    }
    assert!(reports >= 10, "{reports} in 100 packets");
}

/// `docs/protocol.md#2.9`
#[test]
fn tags_of_a_short_payload_are_its_own_and_not_of_what_lay_there() {
    let tlv = [&TlvKind::GAIN.to_be_bytes()[..], &[0, 8], &3.5_f64.to_be_bytes()].concat();
    let many = tlv.repeat(6);
    let mut rig = Rig::new(Nanos(0));
    let mut tags = 0;
    for _ in 0..200 {
        rig.pass(30);
        // Three per round, so that each position in a quantum holds both kinds in turn.
        rig.come_with(Flags::NONE, &many[..PAYLOAD.len()]);
        rig.come_with(Flags::NONE, &many[..PAYLOAD.len()]);
        rig.come_with(Flags::META, &many[..24]);
        while let Ok(item) = rig.block_queue.items.pop() {
            tags += usize::from(matches!(item, Item::Tag(_)));
        }
    }
    assert_eq!(tags, 2 * 200);
}

#[test]
fn answer_to_a_close_is_not_put_off() {
    let mut rig = Rig::new(Nanos(0));
    rig.push(1);
    rig.sender.close(rig.now);
    let mut departed = rig.departed();
    rig.pass(30);
    departed.extend(rig.departed());
    assert_eq!(rig.arrive(&departed), 1, "it leaves in the turn that hands the samples over");
    let items = rig.found();
    assert!(matches!(items[..], [Item::Run { .. }, Item::End(Ok(_))]), "{items:?}");
}

/// Few quanta, of which the program may hold all.
const FEW: Room = Room { quanta: 2, ..ROOM };

#[test]
fn credit_that_is_out_for_want_of_quanta_is_counted_once_each_time_where_no_thread_sleeps() {
    let mut rig = Rig::with(Nanos(0), FEW);
    for times in 1..=3 {
        let held = rig.come_until_credit_is_out();
        for _ in 0..4 {
            rig.pass(100);
            rig.flow.spins_until(rig.now);
            assert_eq!(rig.flow.snapshot.starved, times);
        }
        drop(held);
        rig.turn();
        assert!(rig.flow.receiver.has_open_credit(), "what came back is granted");
        rig.flow.spins_until(rig.now);
    }
}

#[test]
fn credit_that_is_out_behind_a_lost_packet_is_not_the_programs_fault() {
    let mut rig = Rig::new(Nanos(0));
    rig.push(WINDOW);
    for _ in 0..20 {
        rig.pass(10);
        let mut departed = rig.departed();
        departed.retain(|bytes| wire::parse(bytes).unwrap().0.seq != Seq(0));
        rig.arrive(&departed);
    }
    assert!(!rig.flow.receiver.has_open_credit());
    rig.flow.spins_until(rig.now);
    rig.pass(1_000);
    rig.flow.spins_until(rig.now);
    assert_eq!(rig.flow.snapshot.starved, 0);
    assert_eq!(rig.flow.stalls, Stalls::new(WINDOW, PACKET_SAMPLES));
}

#[test]
fn stall_lasts_while_the_program_holds_all_quanta() {
    let mut rig = Rig::with(WAIT_MAX, FEW);
    let held = rig.come_until_credit_is_out();
    let first = rig.flow.next_index();
    for _ in 0..5 {
        rig.flow.wakes_at(rig.now);
        rig.pass(200);
    }
    rig.flow.wakes_at(rig.now);
    rig.flow.publish(rig.now);
    let stalls = rig.flow.snapshot.stalls;
    assert_eq!(stalls.first_index(), first);
    let explained = [2_000, 2_001].map(|samples| stalls.explains(first, samples, 1e6));
    assert_eq!(explained, [true, false], "1 ms at 1 MS/s, and as much again");
    drop(held);
}

#[test]
fn quantum_that_comes_back_is_granted_at_once() {
    let mut rig = Rig::with(WAIT_MAX, FEW);
    let held = rig.come_until_credit_is_out();
    assert!(rig.flow.wakes_at(rig.now).is_some(), "there is nothing to grant");
    drop(held);
    assert_eq!(rig.flow.wakes_at(rig.now), None);
    rig.turn();
    assert!(rig.flow.receiver.has_open_credit());
}

#[test]
fn program_that_gives_a_quantum_back_calls_for_a_turn_where_one_is_waited_for() {
    let mut rig = Rig::with(WAIT_MAX, FEW);
    let calls_after_a_return = |rig: &Rig| {
        rig.block_queue.shared.returned();
        let mut calls = 0;
        rig.wakeups.take(|_| calls += 1);
        calls
    };
    assert_eq!(calls_after_a_return(&rig), 0, "no thread waits");
    let _held = rig.come_until_credit_is_out();
    rig.flow.wakes_at(rig.now);
    assert_eq!(calls_after_a_return(&rig), 1);
    assert_eq!(calls_after_a_return(&rig), 0, "it has called");
}

#[test]
fn program_that_is_behind_is_looked_after_each_millisecond() {
    let mut rig = Rig::with(WAIT_MAX, Room { quanta: 512, ..ROOM });
    rig.fill();
    // There is no earlier work.
    rig.turn();
    assert_eq!(rig.flow.wakes_at(rig.now), Some(rig.now + WAIT_MAX));
    let mut taken = rig.taken();
    for _ in 0..2 {
        rig.turn();
        taken.extend(rig.taken());
    }
    assert_eq!(taken.iter().sum::<usize>(), items_max(WINDOW, QUANTUM_PACKETS) + 2);
}

#[test]
fn program_that_is_behind_is_looked_after_as_often_once_the_stream_has_broken_off() {
    let mut rig = Rig::with(WAIT_MAX, Room { quanta: 512, ..ROOM });
    rig.fill();
    rig.flow.receiver.replaced();
    rig.turn();
    assert_eq!(rig.flow.wakes_at(rig.now), Some(rig.now + WAIT_MAX));
}

#[test]
fn stream_that_has_broken_off_leaves_its_quanta_to_its_successor() {
    for spins in [false, true] {
        let mut rig = Rig::with(if spins { Nanos(0) } else { WAIT_MAX }, FEW);
        let held = rig.come_until_credit_is_out();
        assert_eq!(rig.pool.free(), 0, "the program and the window have all");
        rig.flow.receiver.replaced();
        rig.turn();
        let (window, all) = (rig.pool.free(), rig.pool.len());
        drop(held);
        for _ in 0..3 {
            rig.turn();
            match spins {
                true => assert!(rig.flow.spins_until(rig.now) > rig.now),
                false => assert!(rig.flow.wakes_at(rig.now).is_some_and(|at| at > rig.now)),
            }
            rig.pass(200);
        }
        assert_eq!(rig.pool.free(), all, "{window} of the window and all of the program");
    }
}

#[test]
fn drops_of_the_socket_count_from_where_the_stream_starts() {
    let mut rig = Rig::new(WAIT_MAX);
    rig.flow.start_drops(u32::MAX - 1);
    let peer = rig.flow.peer();
    for (dropped, counted) in [(1, 3), (0, 3), (5, 7)] {
        let dropped = Some(dropped);
        rig.flow.note_drops(&Meta { peer, ecn: Ecn::Ect0, dropped, packets_per_drop: 1 });
        assert_eq!(rig.flow.snapshot.socket_dropped, counted);
    }
}

/// Counts how often a waiting program was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn program_is_woken_for_some_quanta_or_when_nothing_else_comes() {
    let room = Room { window: 1_024, quantum_packets: 16, quanta: 80 };
    let mut rig = Rig::with(Nanos(0), room);
    let woken = Arc::new(Woken::default());
    let waker = TaskWaker::from(Arc::clone(&woken));
    let wakes = || woken.0.swap(0, Ordering::Relaxed);
    let wait = |rig: &Rig| rig.block_queue.shared.bell.announce_to(&waker);
    // Two quanta, and more packets are likely to come.
    wait(&rig);
    rig.pass(30);
    rig.come(32);
    assert_eq!((wakes(), rig.taken().len()), (0, 2));
    assert_eq!(rig.flow.spins_until(rig.now), rig.now, "the program is to be woken");
    // No packet came.
    rig.turn();
    assert_eq!(wakes(), 1);
    // Four quanta at once.
    wait(&rig);
    rig.pass(30);
    rig.come(64);
    assert_eq!((wakes(), rig.taken().len()), (1, 4));
    // A quantum that is not full is handed over with the last packet for now.
    wait(&rig);
    rig.pass(30);
    rig.come(1);
    assert_eq!((wakes(), rig.taken()), (1, vec![1]));
}

/// No allocation while a stream flows.
#[test]
fn parts_of_a_quantum_have_room_whatever_its_packets_say() {
    let tlv = [&TlvKind::GAIN.to_be_bytes()[..], &[0, 8], &3.5_f64.to_be_bytes()].concat();
    let meta = tlv.repeat(META_TAGS_MAX);
    for quantum_packets in [1, QUANTUM_PACKETS] {
        let mut rig = Rig::with(WAIT_MAX, Room { quantum_packets, quanta: 80, ..ROOM });
        let room = rig.flow.parts.capacity();
        for _ in 0..100 {
            rig.pass(30);
            rig.come_with(Flags::META, &meta);
            rig.found();
        }
        assert_eq!(rig.flow.parts.capacity(), room, "quanta of {quantum_packets}");
    }
}

/// `docs/protocol.md#13.7`: a WRITE that is complete is delivered, also where its completion is read
/// in the turn that finds the CLOSE.
#[test]
fn writes_that_are_complete_before_a_close_of_a_failed_queue_pair_are_delivered() {
    let mut rig = Rig::over(Carriage::Rdma, Nanos(0), ROOM);
    let region = SlotRegion { address: 0x1000, rkey: 7, slot_bytes: 128, slots: WINDOW };
    rig.flow.set_slots(slots::tests::slots(region));
    rig.turn();
    let mut out = [0; FRAME_BYTES_MAX];
    for seq in 0..2 {
        assert!(rig.flow.handle_frame(rig.now, &slots::tests::write_of(&region, seq, &mut out)));
    }
    let close = Close { reason: CloseReason::QueuePairFailed, last: Seq(0), source_lost: 0 };
    let header = Header {
        kind: PacketType::Close,
        flags: Flags::NONE,
        tag: Tag(2),
        index: u64::from(3 * PACKET_SAMPLES),
        seq: Seq(3),
        departure: Departure(1),
    };
    assert!(rig.flow.handle(rig.now, &header, &Packet::Close(close), Ecn::NotEct));
    rig.turn();
    let stats = rig.flow.receiver.stats();
    assert_eq!((stats.delivered, stats.skipped), (2, 1));
}

/// A driver that sleeps is woken by the notice of a card, and sleeps only after it has requested one
/// while nothing had come.
#[test]
fn card_is_asked_for_a_notice_before_a_sleep() {
    let mut rig = Rig::over(Carriage::Rdma, WAIT_MAX, ROOM);
    let region = SlotRegion { address: 0, rkey: 7, slot_bytes: 128, slots: WINDOW };
    let (slots, peer) = slots::card::tests::slots(region);
    rig.flow.set_slots(slots);
    rig.turn();
    assert!(rig.flow.wakes_at(rig.now).is_some_and(|at| at > rig.now));
    assert_eq!(peer.arms(), 1);

    peer.come(0);
    assert_eq!(rig.flow.wakes_at(rig.now), None, "it came before the request");
    rig.turn();
    assert_eq!(rig.flow.receiver.stats().delivered, 1);
    assert!(rig.flow.wakes_at(rig.now).is_some());
}

/// Frames are looked for in each turn anyway.
#[test]
fn driver_that_spins_looks_at_a_card_in_each_turn() {
    for is_card in [false, true] {
        let mut rig = Rig::over(Carriage::Rdma, Nanos(0), ROOM);
        let region = SlotRegion { address: 0x1000, rkey: 7, slot_bytes: 128, slots: WINDOW };
        rig.flow.set_slots(match is_card {
            true => slots::card::tests::slots(region).0,
            false => slots::tests::slots(region),
        });
        rig.turn();
        assert_eq!(rig.flow.spins_until(rig.now) == rig.now, is_card);
    }
}

/// As many as a batch of packets has at once, so that the others of a port have their turn; and all
/// that is complete before a CLOSE is taken.
#[test]
fn completions_of_a_card_are_taken_in_batches_and_whole_before_a_close() {
    let mut rig = Rig::over(Carriage::Rdma, Nanos(0), Room { window: 256, quanta: 80, ..ROOM });
    let region = SlotRegion { address: 0, rkey: 7, slot_bytes: 128, slots: 256 };
    let (slots, peer) = slots::card::tests::slots(region);
    rig.flow.set_slots(slots);
    rig.turn();
    let batch = BATCH_PACKETS as u32;
    (0..2 * batch + 7).for_each(|seq| peer.come(seq));
    assert!(rig.flow.settle(rig.now));
    assert_eq!(rig.flow.receiver.stats().received, u64::from(batch));
    assert!(rig.flow.is_crowded(), "more is likely to have come");
    let close = Close { reason: CloseReason::QueuePairFailed, last: Seq(0), source_lost: 0 };
    let header = Header {
        kind: PacketType::Close,
        flags: Flags::NONE,
        tag: Tag(2),
        index: u64::from((2 * batch + 7) * PACKET_SAMPLES),
        seq: Seq(2 * batch + 7),
        departure: Departure(1),
    };
    assert!(rig.flow.handle(rig.now, &header, &Packet::Close(close), Ecn::NotEct));
    assert_eq!(rig.flow.receiver.stats().received, u64::from(2 * batch + 7));
}

/// No allocation while a card writes a stream: completions, copies, receive requests, REPORTs and blocks.
#[test]
fn packets_of_a_card_take_no_memory() {
    const PACKETS: u32 = 3 * QUANTUM_PACKETS + 1;
    let mut rig = Rig::over(Carriage::Rdma, Nanos(0), ROOM);
    let region = SlotRegion { address: 0, rkey: 7, slot_bytes: 128, slots: WINDOW };
    let (slots, peer) = slots::card::tests::slots(region);
    rig.flow.set_slots(slots);
    rig.turn();
    let (mut samples, mut reports) = (0, 0);
    for round in 0..100 {
        peer.make_room(PACKETS);
        (round * PACKETS..(round + 1) * PACKETS).for_each(|seq| peer.come(seq));
        rig.pass(2_000);
        let before = CountingAllocator::calls_of_thread();
        for _ in 0..2 {
            rig.flow.settle(rig.now);
            rig.flow.advance(rig.now, &mut rig.near, None).unwrap();
        }
        while let Ok(item) = rig.block_queue.items.pop() {
            let Item::Run { run, .. } = &item else { panic!("{item:?} is no samples") };
            samples += run.len_samples;
            drop(item);
        }
        let calls = CountingAllocator::calls_of_thread() - before;
        assert_eq!(calls, 0, "in round {round}");
        reports += rig.turn();
    }
    assert_eq!(samples, (100 * PACKETS * PACKET_SAMPLES) as usize);
    assert!(reports >= 100, "{reports}");
    assert_eq!(rig.flow.receiver.stats().delivered, u64::from(100 * PACKETS));
    let before = CountingAllocator::calls_of_thread();
    drop(std::hint::black_box(Box::new(samples)));
    assert_eq!(CountingAllocator::calls_of_thread() - before, 1, "the allocator counts");
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
