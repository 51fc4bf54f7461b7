//! Streams over RDMA from end to end (`docs/protocol.md#13`).

mod opening;
mod world;

use samplewire_proto::rate::DcqcnParams;
use samplewire_proto::receiver::{Receiver, ReceiverConfig, RecvSlot};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{
    self, Close, CloseReason, Flags, Header, PacketType, QueuePairTerms, SlotRegion,
};
use samplewire_proto::{Cause, Departure, Nanos, Seq};

use super::{Connection, SlotReader, SlotWriter, SlotsError};
use crate::qp::State;
use crate::requester::{RequesterConfig, SendSlot};
use crate::responder::{ReceiveSlot, ResponderConfig};
use crate::wire::{Body, Bth, FRAME_BYTES_MAX, Frame, Opcode, Packet, Reth, Route};
use crate::{Psn, Qpn};
use opening::Wish;
use world::{FreedWhen, Settings, World};

/// `docs/protocol.md#13.5`: with the seeds printed, a run repeats.
#[test]
fn every_index_is_delivered_or_lost_at_the_source() {
    let large = (9..=10).map(|seed| Settings { payload_bytes: 24_000, ..Settings::new(seed) });
    for settings in (1..=8).map(Settings::new).chain(large) {
        let (seed, mut world) = (settings.seed, World::new(settings));
        world.run_to_end();
        let (account, final_index) = (&world.account, world.made_index);
        println!("seed {seed}: {} samples, {} frames", account.delivered, world.frames);
        assert_eq!(world.ends, [Some(End::Finished { final_index }); 2], "seed {seed}");
        assert_eq!(account.wrong, 0, "seed {seed}");
        assert_eq!(account.lost(Cause::SourceOverflow), world.lost_at_source, "seed {seed}");
        assert_eq!(account.delivered + world.lost_at_source, final_index, "seed {seed}");
        let repeats = world.writer.queue_pair().stats().1.retransmissions;
        assert!(repeats > 0, "seed {seed} loses no frame: it proves nothing");
    }
}

/// The mutant of the rule: what a source whose memory is free when sent has overwritten is repeated,
/// and the receiver sees that it is not what was announced.
#[test]
fn memory_that_is_free_when_sent_is_caught() {
    let lost = (1..=8).map(|seed| {
        let mut world = World::new(Settings { freed_when: FreedWhen::Sent, ..Settings::new(seed) });
        world.run_to_end();
        assert_eq!(world.account.wrong, 0, "seed {seed}: no wrong sample is delivered");
        assert_eq!(world.account.accounted(), world.made_index, "seed {seed}");
        world.account.lost(Cause::GoneAtSender)
    });
    assert!(lost.sum::<u64>() > 0, "no packet of the mutant is caught");
}

/// `docs/protocol.md#13.7`, at the sender: its queue pair gives up, and what it posted is named.
#[test]
fn sender_whose_queue_pair_fails_closes_and_all_that_it_posted_is_accounted_for() {
    for seed in 1..=8 {
        let mut world = World::new(Settings::new(seed));
        world.run_until(|world| world.account.delivered > 20_000);
        world.is_roce_cut = true;
        world.run_to_end();
        assert_eq!(world.writer.queue_pair().state(), State::Error, "seed {seed}");
        let by_peer = End::ClosedByPeer(CloseReason::QueuePairFailed);
        assert_eq!(world.ends, [Some(End::QueuePairFailed), Some(by_peer)], "seed {seed}");
        assert_eq!(world.account.accounted(), world.sender.next_index(), "seed {seed}");
        assert!(world.account.lost(Cause::GoneAtSender) > 0, "seed {seed} loses nothing");
        assert_eq!(world.account.wrong, 0, "seed {seed}");
    }
}

/// `docs/protocol.md#13.7`, at the receiver: a request beyond its memory breaks its queue pair.
#[test]
fn receiver_whose_queue_pair_fails_delivers_what_is_complete_and_closes() {
    for seed in 1..=8 {
        let mut world = World::new(Settings::new(seed));
        world.run_until(|world| world.account.delivered > 20_000);
        world.break_reader();
        world.run_to_end();
        assert_eq!(world.reader.queue_pair().state(), State::Error, "seed {seed}");
        assert_eq!(world.ends[1], Some(End::QueuePairFailed), "seed {seed}");
        // Its NAK breaks the sender's queue pair too: whichever end is heard first.
        let by_peer = End::ClosedByPeer(CloseReason::QueuePairFailed);
        let end = world.ends[0].expect("it has ended");
        assert!([by_peer, End::QueuePairFailed].contains(&end), "seed {seed}: {end:?}");
        assert_eq!(world.account.accounted(), world.account.next_index, "seed {seed}");
        assert_eq!(world.account.wrong, 0, "seed {seed}");
    }
}

/// `docs/protocol.md#13.7`: frames of a broken queue pair that are still on the way reach no slot of
/// the next stream, whose first index gives the gap.
#[test]
fn a_broken_queue_pair_leaves_a_gap_before_the_next_stream() {
    for seed in 1..=8 {
        let mut world = World::new(Settings::new(seed));
        let mut in_flight = 0;
        for number in 1..=20 {
            let until = world.account.delivered + SAMPLES * (1 + u64::from(number % 7));
            world.run_until(|world| world.account.delivered >= until);
            in_flight += world.in_flight();
            world.reopen(number);
        }
        let until = world.account.delivered + 10 * SAMPLES;
        world.run_until(|world| world.account.delivered >= until);
        let account = &world.account;
        println!("seed {seed}: {} delivered, {} between", account.delivered, account.between);
        assert_eq!(account.wrong, 0, "seed {seed}");
        assert_eq!(account.accounted(), account.next_index, "seed {seed}");
        assert!(account.between > 0 && in_flight > 0, "seed {seed} breaks nothing");
    }
}

/// `docs/protocol.md#13.6`: one bit of a slot that is flipped before its completion is read.
#[test]
fn payload_that_memory_does_not_hold_is_a_gap_of_its_packet_alone() {
    for seed in 1..=4 {
        let mut world = World::new(Settings { loss: 0.0, ..Settings::new(seed) });
        world.flips_at = Some(100);
        world.run_to_end();
        let final_index = world.made_index;
        assert_eq!(world.ends, [Some(End::Finished { final_index }); 2], "seed {seed}");
        assert_eq!(world.account.lost(Cause::GoneAtSender), SAMPLES, "seed {seed}");
        assert_eq!(world.account.accounted(), final_index, "seed {seed}");
        assert_eq!(world.account.wrong, 0, "seed {seed}");
    }
}

/// A peer that is gone: neither its queue pair nor its control packets come.
#[test]
fn ends_that_hear_nothing_end_and_account_for_what_came() {
    let mut world = World::new(Settings::new(1));
    world.run_until(|world| world.account.delivered > 20_000);
    (world.is_roce_cut, world.is_control_cut) = (true, true);
    world.run_to_end();
    assert_eq!(world.ends, [Some(End::PeerSilent); 2]);
    assert_eq!(world.account.accounted(), world.account.next_index);
}

#[test]
fn slots_and_queues_that_are_too_short_are_named() {
    let terms = QueuePairTerms { qpn: 16, first_psn: 0, path_mtu_bytes: 1024 };
    let connection = Connection { local: terms, peer: terms, route: Route::default() };
    let writer = |payload_bytes, queue: usize| {
        let sends = vec![SendSlot::default(); queue];
        let config = RequesterConfig::default();
        SlotWriter::new(&connection, SLOTS, payload_bytes, config, sends).err()
    };
    let reader = |payload_bytes, queue: usize| {
        let receives = vec![ReceiveSlot::default(); queue];
        let config = ResponderConfig::default();
        SlotReader::new(&connection, SLOTS, payload_bytes, Seq(0), config, receives).err()
    };
    let queue = Some(SlotsError::Queue { queue: 7, slots: 8 });
    assert_eq!([writer(1000, 7), reader(1000, 7)], [None, queue]);
    let short = Some(SlotsError::Short { slot_bytes: 1152, payload_bytes: 1096 });
    assert_eq!([writer(1096, 8), reader(1096, 8)], [short; 2]);
    assert_eq!([writer(1088, 8), reader(1088, 8)], [None; 2]);
}

/// Samples of a full packet.
const SAMPLES: u64 = 250;
const SLOTS: SlotRegion =
    SlotRegion { address: 0x7F00_0000_1000, rkey: 0x77, slot_bytes: 1152, slots: 8 };

/// The end that receives.
struct ReceivingEnd {
    reader: SlotReader<Vec<ReceiveSlot>>,
    receiver: Receiver<Vec<RecvSlot>>,
}

/// A peer may write to its region at any time: what a program may hold stays as it is.
#[test]
fn only_slots_that_the_receiver_waits_for_are_written() {
    let terms = QueuePairTerms { qpn: 16, first_psn: 9, path_mtu_bytes: 1024 };
    let connection = Connection { local: terms, peer: terms, route: Route::default() };
    let (first, receives) = (Seq(u32::MAX), vec![ReceiveSlot::default(); 8]);
    let config = ResponderConfig::default();
    let reader = SlotReader::new(&connection, SLOTS, 1000, first, config, receives);
    let mut reader = reader.expect("the slots fit");
    let wish = Wish { seed: 1, first_seq: first, payload_bytes: 1000, ..Wish::default() };
    let opening = wish.open(Nanos(0));
    let slots = vec![RecvSlot::default(); 8];
    let terms = opening.terms[1];
    let receiver = Receiver::new(terms, ReceiverConfig::new(), slots, Nanos(0));
    let mut receiver = receiver.expect("the terms hold");
    reader.grant(&mut receiver, first + 2);
    let mut end = ReceivingEnd { reader, receiver };

    let mut psn = Psn::new(9);
    let mut write = |end: &mut ReceivingEnd, slot: u32, offset: u32, immediate: Option<u32>| {
        let opcode =
            if immediate.is_some() { Opcode::WriteOnlyImmediate } else { Opcode::WriteOnly };
        let address = SLOTS.address + u64::from(slot * SLOTS.slot_bytes + offset);
        let body = Body::Request {
            reth: Some(Reth { address, key: SLOTS.rkey, len_bytes: 4 }),
            immediate,
            payload: &[1; 4],
        };
        let mut out = [0; FRAME_BYTES_MAX];
        let packet = Packet { bth: Bth::new(opcode, Qpn::new(16), psn), body };
        let len = packet.emit(&Route::default(), &mut out);
        psn = psn + 1;
        let mut stored = None;
        let frame = Frame::new_checked(&out[..len]).expect("it is whole");
        end.reader.handle(Nanos(0), &frame, &end.receiver, |seq, offset, bytes| {
            stored = Some((seq, offset, bytes.len()))
        });
        stored
    };
    assert_eq!(write(&mut end, 7, 12, None), Some((first, 12, 4)));
    assert_eq!(write(&mut end, 0, 1148, None), Some((Seq(0), 1148, 4)));
    assert_eq!(write(&mut end, 0, 1149, None), None, "it crosses into the next slot");
    assert_eq!(write(&mut end, 1, 0, None), None, "it is not granted");
    assert_eq!(write(&mut end, 7, 0, Some(first.0)), Some((first, 0, 4)));
    end.reader.settle(Nanos(0), &mut end.receiver, |_| (&[0; 1000], &[0; 64]));
    assert_eq!(write(&mut end, 7, 12, None), None, "it is complete");
    assert_eq!(end.reader.strays(), 3);

    assert_eq!(write(&mut end, 0, 0, None), Some((Seq(0), 0, 4)));
    let open = end.receiver.clone();
    let close = Close { reason: CloseReason::QueuePairFailed, last: Seq(0), source_lost: 0 };
    let header = Header {
        kind: PacketType::Close,
        flags: Flags::default(),
        tag: terms.local_tag,
        index: 1000,
        seq: first + 2,
        departure: Departure(0),
    };
    end.receiver.handle(Nanos(0), &header, &wire::Packet::Close(close));
    while end.receiver.poll_delivery(Nanos(0)).is_some() {}
    assert_eq!(end.receiver.released(), first + 2);
    assert_eq!(write(&mut end, 0, 0, None), None, "it is given up");
    assert_eq!(end.reader.strays(), 4);

    end.receiver = open;
    end.receiver.cancel(Nanos(0));
    assert_eq!(write(&mut end, 0, 0, None), None, "the program may be gone, and its memory");
    assert_eq!(end.reader.strays(), 5);
}

/// `docs/protocol.md#8.1`: frames with the mark of congestion (CE) count, and cut the rate.
#[test]
fn marked_frames_cut_the_rate_of_the_sender() {
    for is_marked in [false, true] {
        let mut world = World::new(Settings { loss: 0.0, ..Settings::new(1) });
        world.is_marked = is_marked;
        world.run_to_end();
        let final_index = world.made_index;
        assert_eq!(world.ends, [Some(End::Finished { final_index }); 2]);
        let (marked, cuts) = (world.receiver.stats().marked, world.sender.stats().cuts);
        assert_eq!((marked > 0, cuts > 0), (is_marked, is_marked), "{marked} marks, {cuts} cuts");
    }
}

/// A17.9.3: a notification for the queue pair of a stream is one for the stream's reaction point, which
/// cuts at most once in max(D, RTT), and not below the minimum (`docs/protocol.md#8.3`).
#[test]
fn flood_of_notifications_cuts_the_rate_of_the_sender_once_in_an_interval() {
    let line = DcqcnParams::samplewire(LINE_BPS);
    for line_bps in [None, Some(LINE_BPS)] {
        let mut world = World::new(Settings { loss: 0.0, line_bps, ..Settings::new(1) });
        world.run_until(|world| world.account.delivered > 20_000);
        let (number, peer) = (world.writer.queue_pair().number(), world.peer_of_sender());
        let (begin, mut notified, mut lowest_bps) = (world.now, 0, u64::MAX);
        while world.now.since(begin) < Nanos::from_millis(2) {
            for _ in 0..4 {
                world.notify(number, peer);
                notified += 1;
            }
            world.step();
            lowest_bps = lowest_bps.min(world.sender.stats().limit_bps);
        }
        let stats = world.sender.stats();
        assert_eq!(stats.congestion, notified, "each counts");
        // 2 ms, and round trips below D.
        let most = 1 + world.now.since(begin).0 / line.cut_interval.0;
        assert!((most / 2..=most).contains(&stats.cuts), "{} cuts, {most} may be", stats.cuts);
        let minimum_bps = line.minimum.bps();
        assert!((minimum_bps..LINE_BPS / 8).contains(&lowest_bps), "{lowest_bps} b/s");
        world.run_to_end();
        let final_index = world.made_index;
        assert_eq!(world.ends, [Some(End::Finished { final_index }); 2]);
        assert_eq!(world.writer.queue_pair().limit(), None, "one reaction point a stream");
    }
}

/// IB 9.6: what is not of the peer and for the queue pair is dropped.
#[test]
fn notifications_that_are_not_for_the_queue_pair_cut_nothing() {
    let mut world = World::new(Settings { loss: 0.0, ..Settings::new(1) });
    world.run_until(|world| world.account.delivered > 20_000);
    let (number, peer) = (world.writer.queue_pair().number(), world.peer_of_sender());
    world.notify(Qpn::new(number.get() + 1), peer);
    world.notify(number, [192, 0, 2, 99]);
    let stats = world.sender.stats();
    assert_eq!((stats.congestion, stats.cuts), (0, 0));
    let (stats, ..) = world.writer.queue_pair().stats();
    assert_eq!((stats.other_number, stats.other_address, stats.cnp_received), (1, 1, 0));
    world.notify(number, peer);
    assert_eq!(world.sender.stats().congestion, 1, "the right one counts");
}

const LINE_BPS: u64 = 10_000_000_000;

/// A receiver that has closed returns its memory while WRITEs are still on their way.
#[test]
fn nothing_is_written_once_the_receiver_has_closed() {
    let mut world = World::new(Settings { loss: 0.0, ..Settings::new(1) });
    world.run_until(|world| world.account.delivered > 20_000 && world.in_flight() > 8);
    world.receiver.cancel(world.now);
    let (strays, frames) = (world.reader.strays(), world.reader.queue_pair().stats().2.packets);
    let before = world.memory.clone();
    world.run_to_end();
    assert_eq!(world.ends, [Some(End::ClosedByPeer(CloseReason::Cancelled)), Some(End::Cancelled)]);
    assert!(world.memory == before, "a WRITE reached memory");
    let came = world.reader.queue_pair().stats().2.packets - frames;
    assert!(came > 0, "none was on the way: this proves nothing");
    assert_eq!(world.reader.strays() - strays, came);
}
