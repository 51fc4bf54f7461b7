//! An opener and a listener that mean well, over paths that do not.

use super::world::*;
use crate::number::{Nanos, Seq, Tag};
use crate::session::{AcceptInfo, OpenConfig, OpenEvent};
use crate::stream::Underflow;
use crate::wire::{RefuseReason, Role};

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

#[track_caller]
fn accepted(event: OpenEvent) -> AcceptInfo {
    match event {
        OpenEvent::Accepted(info) => info,
        other => panic!("not accepted: {other:?}"),
    }
}

#[test]
fn clean_path_opens_in_two_round_trips() {
    let mut world = World::new(1, config());
    let start = world.now;
    let info = accepted(world.run());
    assert_eq!(world.now.since(start), ms(1), "two round trips of 500 us");
    assert_eq!(world.opens, [(start, 156), (start + Nanos::from_micros(500), 9_000)]);
    assert_eq!(info.rtt, Nanos::from_micros(500));
    assert_eq!((info.packet_bytes_out, info.packet_bytes_in), (9_000, 9_000));
    assert_eq!(info.boot_id, BOOT_ID);
    assert_eq!(info.params.payload_bytes, 8_944);
    assert_eq!(info.params.first_index, 1 << 40);
    assert_eq!(info.params.centre_frequency_hz, Some(1.0e9));
    assert_eq!(info.params.name.to_string(), "adc");
    assert_eq!(world.open_stream(info.peer_tag), Some(1));
    assert_eq!(world.openings.len(), 1);
    assert_eq!((world.openings[0].peer_tag, world.openings[0].owner), (info.tag, OWNER));
    assert_eq!(world.opener.poll_timeout(), None);
}

#[test]
fn opening_survives_loss_duplication_and_reordering() {
    for seed in 0..300 {
        println!("seed {seed}");
        let config = config().with_timeout(ms(60_000)).expect("in range");
        let mut world = World::new(seed, config);
        world.to_listener = Path::bad();
        world.to_opener = Path::bad();
        let info = accepted(world.run());
        assert_eq!(world.open_stream(info.peer_tag), Some(1), "both ends mean the same stream");
        let opened = world.openings.last().expect("an opening was accepted");
        assert_eq!(opened.peer_tag, info.tag);
        assert!(!world.taken_over.contains(&info.peer_tag));
        let len_out = info.params.data_len() as u16 + PEER.ip_overhead();
        assert!(len_out <= info.packet_bytes_out && len_out <= info.packet_bytes_in);
    }
}

#[test]
fn small_path_to_the_listener_steps_down_the_ladder() {
    let mut world = World::new(2, config());
    world.to_listener.packet_bytes_max = 1_500;
    let start = world.now;
    let info = accepted(world.run());
    assert_eq!((info.packet_bytes_out, info.packet_bytes_in), (1_500, 1_500));
    assert_eq!(info.params.payload_bytes, 1_440);
    let sizes: Vec<usize> = world.opens.iter().map(|open| open.1).collect();
    assert_eq!(sizes, [156, 9_000, 9_000, 9_000, 4_096, 4_096, 4_096, 1_500]);
    assert_eq!(world.now.since(start), ms(2 * 140 + 1));
    assert_eq!(world.openings.len(), 1);
}

#[test]
fn small_path_from_the_listener_takes_half_open_streams_over() {
    let mut world = World::new(3, config());
    world.to_opener.packet_bytes_max = 1_500;
    let info = accepted(world.run());
    assert_eq!((info.packet_bytes_out, info.packet_bytes_in), (1_500, 1_500));
    assert_eq!(world.openings.len(), 3, "one for each size, none for a repeat");
    assert_eq!(world.taken_over.len(), 2);
    assert_eq!(world.open_stream(info.peer_tag), Some(1));
    let tags: Vec<Tag> = world.openings.iter().map(|request| request.peer_tag).collect();
    assert!(tags[0] != tags[1] && tags[1] != tags[2], "what ends one must not end another");
}

#[test]
fn size_between_those_of_the_ladder_is_tried_first() {
    let config = config().with_packet_bytes_max(3_000).expect("in range");
    let mut world = World::new(4, config);
    world.to_listener.packet_bytes_max = 1_280;
    let info = accepted(world.run());
    assert_eq!(info.packet_bytes_out, 1_280);
    let sizes: Vec<usize> = world.opens.iter().map(|open| open.1).collect();
    assert_eq!(sizes, [156, 3_000, 3_000, 3_000, 1_500, 1_500, 1_500, 1_280]);
}

#[test]
fn sizes_skipped_by_chance_are_tried_again_when_the_device_needs_them() {
    let mut world = World::new(5, config());
    world.device = Device::Payload(8_192);
    world.to_listener.lost = vec![1, 2, 3];
    let info = accepted(world.run());
    assert_eq!(info.packet_bytes_out, 9_000);
    let sizes: Vec<usize> = world.opens.iter().map(|open| open.1).collect();
    assert_eq!(sizes, [156, 9_000, 9_000, 9_000, 4_096, 156, 9_000]);
}

#[test]
fn packets_larger_than_the_path_are_refused_in_the_end() {
    let mut world = World::new(6, config());
    world.device = Device::Payload(8_192);
    world.to_listener.packet_bytes_max = 1_500;
    let start = world.now;
    let expected =
        OpenEvent::Refused { reason: RefuseReason::PacketSize, versions: 2, retry_ms: 0 };
    assert_eq!(world.run(), expected);
    assert_eq!(world.now.since(start), ms(3_000));
}

#[test]
fn packets_larger_than_the_opener_takes_are_refused_at_once() {
    let config = config().with_packet_bytes_max(1_500).expect("in range");
    let mut world = World::new(7, config);
    world.device = Device::Payload(8_192);
    let expected =
        OpenEvent::Refused { reason: RefuseReason::PacketSize, versions: 2, retry_ms: 0 };
    assert_eq!(world.run(), expected);
    assert_eq!(world.opens.len(), 2);
}

#[test]
fn absent_listener_is_asked_at_doubling_pauses() {
    let mut world = World::new(8, config());
    world.to_listener.loss_percent = 100;
    let start = world.now;
    assert_eq!(world.run(), OpenEvent::TimedOut { answers_seen: false, packet_bytes: 0 });
    let pauses: Vec<u64> =
        world.opens.iter().map(|open| open.0.since(start).0 / 1_000_000).collect();
    assert_eq!(pauses, [0, 100, 300, 700, 1_500, 2_300]);
    assert_eq!(world.now.since(start), ms(3_000));
}

#[test]
fn device_that_decides_nothing_is_distinguished_from_an_absent_one() {
    let mut world = World::new(9, config());
    world.device = Device::Mute;
    assert_eq!(world.run(), OpenEvent::TimedOut { answers_seen: true, packet_bytes: 1_280 });
    let rounds = world.opens.iter().filter(|open| open.1 == 156).count();
    assert_eq!(rounds, 6, "a round of four sizes takes 560 ms");
}

#[test]
fn waits_scale_with_the_round_trip() {
    let config = config().with_timeout(ms(60_000)).expect("in range");
    let mut world = World::new(10, config);
    world.to_listener.delay = ms(300);
    world.to_opener.delay = ms(300);
    world.to_listener.packet_bytes_max = 4_096;
    let info = accepted(world.run());
    assert!(info.rtt >= ms(600));
    assert_eq!(info.packet_bytes_out, 4_096);
    let padded: Vec<u64> = world
        .opens
        .windows(2)
        .filter(|pair| pair[0].1 == 9_000)
        .map(|pair| pair[1].0.since(pair[0].0).0)
        .collect();
    assert_eq!(padded, [3 * info.rtt.0, 6 * info.rtt.0, 12 * info.rtt.0]);
}

#[test]
fn round_trip_is_measured_from_the_open_that_was_answered() {
    let mut world = World::new(21, config());
    world.to_listener.lost = vec![0, 1, 2];
    let info = accepted(world.run());
    assert_eq!(info.rtt, Nanos::from_micros(500));
    world.to_listener.lost = vec![6];
    let info = accepted(world.reopen(23, config()));
    assert_eq!(world.opens.len(), 8, "the padded OPEN was repeated");
    assert_eq!(info.rtt, Nanos::from_micros(500));
    world.to_opener.delay = ms(350);
    let info = accepted(world.reopen(22, config()));
    assert_eq!(info.rtt, ms(350) + Nanos::from_micros(250), "longer than the first pauses");
}

#[test]
fn cookie_that_grew_old_on_the_way_is_replaced() {
    let config = config().with_timeout(ms(60_000)).expect("in range");
    let mut world = World::new(11, config);
    world.to_listener.delay = ms(1_000);
    world.to_opener.delay = ms(1_000);
    world.to_listener.lost = vec![5, 6];
    let info = accepted(world.run());
    assert_eq!(world.open_stream(info.peer_tag), Some(1));
    assert!(world.listener.stats().challenged > 4, "the first cookie was not enough");
}

#[test]
fn stream_of_another_owner_is_busy_until_it_is_released() {
    let mut world = World::new(12, config());
    let first = accepted(world.run());
    let other = OpenConfig::new(Role::Receive, 1, OWNER + 1);
    let busy = OpenEvent::Refused { reason: RefuseReason::Busy, versions: 2, retry_ms: 1_000 };
    assert_eq!(world.reopen(13, other), busy);
    assert_eq!(world.open_stream(first.peer_tag), Some(1));
    world.listener.release(first.peer_tag);
    let second = accepted(world.reopen(14, other));
    assert_eq!(world.open_stream(second.peer_tag), Some(1));
    world.listener.release(first.peer_tag);
    assert_eq!(world.open_stream(second.peer_tag), Some(1), "an old tag releases nothing");
}

#[test]
fn same_owner_takes_its_stream_over_at_once() {
    let mut world = World::new(15, config());
    let first = accepted(world.run());
    let second = accepted(world.reopen(16, config()));
    assert_eq!(world.taken_over, [first.peer_tag]);
    assert_eq!(world.open_stream(first.peer_tag), None);
    assert_eq!(world.open_stream(second.peer_tag), Some(1));
}

#[test]
fn description_opens_nothing_and_is_given_of_a_busy_stream() {
    let mut world = World::new(17, config());
    let opened = accepted(world.run());
    let describe = OpenConfig::new(Role::Describe, 1, OWNER + 1);
    let described = accepted(world.reopen(18, describe));
    assert_eq!(described.peer_tag, Tag::NONE);
    assert_eq!(described.params, opened.params);
    assert_eq!(world.open_stream(opened.peer_tag), Some(1));
    assert!(world.taken_over.is_empty());
}

#[test]
fn sender_opens_on_what_its_own_direction_carries() {
    let config = OpenConfig::new(Role::Send, 2, OWNER).with_first_seq(Seq(77));
    let mut world = World::new(19, config);
    world.to_listener.packet_bytes_max = 4_096;
    let info = accepted(world.run());
    assert_eq!(info.packet_bytes_out, 4_096);
    assert_eq!(world.open_stream(info.peer_tag), Some(2));
}

/// `docs/protocol.md#2.13`
#[test]
fn opener_that_sends_names_its_ranges_and_what_an_underflow_is_to_do() {
    let send = OpenConfig::new(Role::Send, 2, OWNER).with_first_seq(Seq(77));
    let receive = OpenConfig::new(Role::Receive, 2, OWNER);
    for (config, ranges_max, underflow) in [
        (send, 32, Underflow::Zeros),
        (send.with_ranges_max(128).with_underflow(Underflow::Stop), 128, Underflow::Stop),
        (receive.with_ranges_max(128).with_underflow(Underflow::Stop), 32, Underflow::Zeros),
    ] {
        let mut world = World::new(20, config);
        accepted(world.run());
        let request = world.openings.last().expect("it was asked");
        assert_eq!((request.ranges_max, request.underflow), (ranges_max, underflow));
    }
}

#[test]
fn stream_that_does_not_exist_is_refused() {
    let config = OpenConfig::new(Role::Receive, STREAMS as u16, OWNER);
    let mut world = World::new(20, config);
    let expected =
        OpenEvent::Refused { reason: RefuseReason::NoSuchStream, versions: 2, retry_ms: 0 };
    assert_eq!(world.run(), expected);
    assert!(world.openings.is_empty());
}
