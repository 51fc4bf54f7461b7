use super::*;
use crate::block::Bursts;
use crate::block::wire::{Body, FRAME_BYTES_MAX, Frame, MacAddress, TransferId};

const NEAR: MacAddress = [2, 0, 0, 0, 0, 1];
const FAR: MacAddress = [2, 0, 0, 0, 0, 2];
const MS: Nanos = Nanos::from_millis(1);

fn config() -> SenderConfig {
    SenderConfig { packet_bytes: 1, ..SenderConfig::new(NEAR, FAR, Some(TransferId(7))) }
}

fn sender(packets: u64) -> Sender<Vec<u32>> {
    Sender::new(config(), packets, 5, vec![0; 32]).expect("the choices hold")
}

/// Hands a list to it.
fn list(sender: &mut Sender<Vec<u32>>, now: Nanos, seqs: &[u32]) {
    let mut out = [0; FRAME_BYTES_MAX];
    let len = sender.header.reply().emit_missing(seqs.iter().copied(), &mut out);
    sender.handle(now, &out[..len]);
}

/// Hands an answer to it that the receiver computes the CRC.
fn check(sender: &mut Sender<Vec<u32>>, now: Nanos) {
    let mut out = [0; 60];
    Frame { header: sender.header.reply(), body: Body::Checking }.emit(&mut out);
    sender.handle(now, &out);
}

/// Summaries since a moment, of which none was answered.
const fn round(first_at: Nanos) -> Round {
    Round { first_at, last_at: first_at, checking: None }
}

/// What leaves at a moment: seqs, and `None` for a summary.
fn sent(sender: &mut Sender<Vec<u32>>, now: Nanos) -> Vec<Option<u32>> {
    sender.handle_timeout(now);
    core::iter::from_fn(|| sender.poll_transmit(now)).map(|it| it.seq()).collect()
}

#[test]
fn choices_at_the_ends_of_their_ranges_hold_and_those_beyond_are_named() {
    let check = |config: SenderConfig| config.check().err();
    for (transfer, longest) in [(None, 1_481), (Some(TransferId(0)), 1_477)] {
        let config = SenderConfig::new(NEAR, FAR, transfer);
        assert_eq!((config.packet_bytes, check(config)), (longest, None));
        assert_eq!(check(SenderConfig { packet_bytes: 1, ..config }), None);
        for packet_bytes in [0, longest + 1] {
            let error = SenderConfigError::PacketBytes { packet_bytes, longest };
            assert_eq!(check(SenderConfig { packet_bytes, ..config }), Some(error));
        }
    }
    let ok = config();
    let peer = [0xFF; 6];
    assert_eq!(check(SenderConfig { peer, ..ok }), Some(SenderConfigError::GroupPeer(peer)));
    let bursts = |frames| Some(Bursts { frames, gap: MS });
    assert_eq!(check(SenderConfig { bursts: bursts(1), ..ok }), None);
    let error = Some(SenderConfigError::EmptyBursts);
    assert_eq!(check(SenderConfig { bursts: bursts(0), ..ok }), error);

    let new = |bytes, words| Sender::new(config(), bytes, 0, vec![0; words]).err();
    assert_eq!((new(0, 0), new(32, 1)), (None, None));
    let error = SenderConfigError::Memory { capacity: 32, packets: 33 };
    assert_eq!(new(33, 1), Some(error));
    let error = SenderConfigError::TooLong { bytes: 1 << 32, packet_bytes: 1 };
    assert_eq!(new(1 << 32, 1), Some(error));
}

#[test]
fn frames_carry_the_bytes_of_their_packets_and_the_summary_the_whole() {
    let config = SenderConfig { packet_bytes: 4, ..config() };
    let mut sender = Sender::new(config, 10, 0xA1B2_C3D4, [0; 1]).expect("the choices hold");
    let file = *b"0123456789";
    let mut out = [0; FRAME_BYTES_MAX];
    for expected in [&file[..4], &file[4..8], &file[8..]] {
        let transmit = sender.poll_transmit(MS).expect("DATA");
        let at = transmit.payload().expect("DATA");
        let len = transmit.emit(&file[at.start as usize..at.end as usize], &mut out);
        let frame = Frame::parse(&out[..len]).expect("ours");
        assert_eq!(frame.header, config.header());
        let Body::Data { seq, payload } = frame.body else { panic!("DATA") };
        assert_eq!((Some(seq), &payload[..expected.len()]), (transmit.seq(), expected));
    }
    let transmit = sender.poll_transmit(MS).expect("a summary");
    let len = transmit.emit(&[], &mut out);
    let summary = Summary { packets: 3, bytes: 10, crc: Some(0xA1B2_C3D4) };
    assert_eq!(Frame::parse(&out[..len]).map(|it| it.body), Ok(Body::Summary(summary)));
    assert_eq!((transmit.payload(), sender.packets()), (None, 3));
}

#[test]
fn bursts_space_data_and_the_summary() {
    let bursts = Some(Bursts { frames: 4, gap: Nanos(100_000) });
    let config = SenderConfig { bursts, ..config() };
    let mut sender = Sender::new(config, 7, 0, vec![0; 1]).expect("the choices hold");
    assert_eq!(sent(&mut sender, MS), [0, 1, 2, 3].map(Some));
    let next = MS + Nanos(100_000);
    assert_eq!((sender.poll_timeout(), sent(&mut sender, next - Nanos(1))), (Some(next), vec![]));
    assert_eq!(sent(&mut sender, next), [Some(4), Some(5), Some(6), None]);
    list(&mut sender, next, &[0, 1, 2, 3, 4]);
    let after = next + Nanos(100_000);
    assert_eq!((sender.poll_timeout(), sent(&mut sender, next)), (Some(after), vec![]));
    assert_eq!(sent(&mut sender, after), [0, 1, 2, 3].map(Some));
    assert_eq!(sender.poll_timeout(), Some(after + Nanos(100_000)));
    assert_eq!(sent(&mut sender, after + Nanos(100_000)), [Some(4), None]);
}

#[test]
fn frames_of_a_list_are_repeated_as_they_come_and_the_summary_waits_for_the_last() {
    let mut sender = sender(1_000);
    assert_eq!(sent(&mut sender, MS).len(), 1_001);
    let all: Vec<u32> = (0..1_000).collect();
    let now = MS + Nanos(50_000);
    list(&mut sender, now, &all[..369]);
    assert_eq!(sent(&mut sender, now).len(), 369, "no summary");
    // It is not lost, if it comes in the time of a repeat.
    assert_eq!(sender.poll_timeout(), Some(now + Nanos::from_millis(10)));
    list(&mut sender, now + Nanos(1), &all[369..738]);
    list(&mut sender, now + Nanos(2), &all[738..]);
    let rest: Vec<_> = (369..1_000).map(Some).chain([None]).collect();
    assert_eq!(sent(&mut sender, now + Nanos(2)), rest);
}

#[test]
fn summary_leaves_without_the_last_frame_of_a_list_that_is_lost() {
    let mut sender = sender(1_000);
    sent(&mut sender, MS);
    let all: Vec<u32> = (0..369).collect();
    let now = MS + Nanos(50_000);
    list(&mut sender, now, &all);
    sent(&mut sender, now);
    let later = now + Nanos::from_millis(10);
    assert_eq!(sent(&mut sender, later - Nanos(1)), []);
    assert_eq!(sent(&mut sender, later), [None]);
}

/// An answer has 32 frames at most, so that none follows them.
#[test]
fn summary_follows_the_32nd_frame_of_a_list() {
    let mut sender = Sender::new(config(), 20_000, 5, vec![0; 625]).expect("the choices hold");
    sent(&mut sender, MS);
    for start in (0..32).map(|frame| 369 * frame) {
        let seqs: Vec<u32> = (start..start + 369).collect();
        list(&mut sender, MS, &seqs);
        let is_last = start == 31 * 369;
        assert_eq!(sent(&mut sender, MS).contains(&None), is_last, "{start}");
    }
}

#[test]
fn second_answer_to_the_same_summaries_repeats_nothing() {
    let mut sender = sender(10);
    sent(&mut sender, MS);
    // A round trip of 25 ms: three summaries leave, and three answers come.
    assert_eq!(sent(&mut sender, MS + Nanos::from_millis(10)), [None]);
    assert_eq!(sent(&mut sender, MS + Nanos::from_millis(20)), [None]);
    let now = MS + Nanos::from_millis(25);
    list(&mut sender, now, &[2, 5]);
    assert_eq!(sent(&mut sender, now), [2, 5].map(Some), "the summary waits");
    // The other answers come after 10 and 20 ms more.
    let settled_at = now + Nanos::from_millis(20);
    assert_eq!(sender.poll_timeout(), Some(settled_at));
    for later in [Nanos::from_millis(10), Nanos::from_millis(20)] {
        list(&mut sender, now + later, &[2, 5]);
    }
    assert_eq!(sender.stats().listed_again, 4);
    assert_eq!(sent(&mut sender, settled_at), [None]);
    // Those behind the last repeat are of a frame that came late.
    list(&mut sender, settled_at, &[2, 5, 7]);
    assert_eq!(sent(&mut sender, settled_at), [Some(2), Some(5), Some(7), None]);
}

#[test]
fn list_without_order_is_repeated_in_ascending_order_once() {
    let mut sender = sender(100);
    sent(&mut sender, MS);
    list(&mut sender, MS, &[9, 3, 99, 3, 0, 9]);
    assert_eq!(sent(&mut sender, MS), [Some(0), Some(3), Some(9), Some(99), None]);
}

#[test]
fn ok_ends_a_transfer_while_it_repeats() {
    let mut sender = sender(10);
    sent(&mut sender, MS);
    list(&mut sender, MS, &[3]);
    let mut out = [0; 60];
    Frame { header: sender.header.reply(), body: Body::Complete }.emit(&mut out);
    sender.handle(MS, &out);
    assert_eq!((sender.poll_event(), sender.poll_event()), (Some(SendEnd::Done), None));
    assert_eq!((sent(&mut sender, MS), sender.poll_timeout()), (vec![], None));
}

/// `docs/block.md#times`
#[test]
fn receiver_that_computes_the_crc_is_asked_each_100_ms_and_is_not_silent() {
    let mut sender = sender(4);
    assert_eq!(sent(&mut sender, MS).len(), 5);
    let mut now = MS + Nanos::from_millis(10);
    assert_eq!(sent(&mut sender, now), [None]);
    for _ in 0..300 {
        check(&mut sender, now + MS);
        let next = now + CHECK_PAUSE;
        assert_eq!(sender.poll_timeout(), Some(next));
        assert_eq!(sent(&mut sender, next - Nanos(1)), []);
        assert_eq!(sent(&mut sender, next), [None]);
        now = next;
    }
    assert_eq!(sender.stats().checks, 300);
    // It is silent from its last answer on.
    let silent_at = Nanos(now.0 - CHECK_PAUSE.0 + MS.0) + SILENCE_MAX;
    while now + CHECK_PAUSE < silent_at {
        now = now + CHECK_PAUSE;
        assert_eq!(sent(&mut sender, now), [None]);
    }
    assert_eq!(sender.poll_timeout(), Some(silent_at));
    assert_eq!((sent(&mut sender, silent_at - Nanos(1)), sender.poll_event()), (vec![], None));
    assert_eq!(
        (sent(&mut sender, silent_at), sender.poll_event()),
        (vec![], Some(SendEnd::Silent))
    );
}

#[test]
fn copies_of_an_answer_give_the_receiver_no_more_time() {
    let mut sender = sender(1);
    sent(&mut sender, MS);
    check(&mut sender, MS);
    for tenth in 1..100 {
        check(&mut sender, MS + Nanos::from_millis(tenth));
    }
    assert_eq!((sender.stats().checks, sender.poll_event()), (1, None));
    sender.handle_timeout(MS + SILENCE_MAX);
    assert_eq!(sender.poll_event(), Some(SendEnd::Silent));
}

#[test]
fn receiver_that_never_ends_its_check_ends_the_transfer_after_an_hour() {
    let mut sender = sender(2);
    let mut now = MS;
    assert_eq!(sent(&mut sender, now).len(), 3);
    let end = now + CHECK_MAX;
    while now < end {
        check(&mut sender, now);
        assert_eq!(sender.poll_event(), None);
        now = sender.poll_timeout().expect("it waits");
        assert_eq!(sent(&mut sender, now).is_empty(), now == end);
    }
    assert_eq!((now, sender.poll_event()), (end, Some(SendEnd::CheckTooLong)));
}

/// A receiver that starts again while it computes the CRC has lost the packets.
#[test]
fn list_after_a_long_check_is_repeated_and_followed_by_a_summary_soon() {
    let mut sender = sender(10);
    sent(&mut sender, MS);
    let mut now = MS + Nanos::from_millis(10);
    for _ in 0..600 {
        assert_eq!(sent(&mut sender, now), [None]);
        check(&mut sender, now + Nanos(5));
        now = now + CHECK_PAUSE;
    }
    assert_eq!(sent(&mut sender, now), [None]);
    list(&mut sender, now + Nanos(5), &[0, 1, 2]);
    assert_eq!(sent(&mut sender, now + Nanos(5)), [Some(0), Some(1), Some(2)]);
    let summary_at = sender.poll_timeout().expect("it goes on");
    assert!(summary_at <= now + CHECK_PAUSE + Nanos(5), "{summary_at:?} after {now:?}");
    assert_eq!(sent(&mut sender, summary_at), [None]);
}

#[test]
fn check_that_comes_late_does_not_hold_up_repeats() {
    let mut sender = sender(10);
    sent(&mut sender, MS);
    list(&mut sender, MS, &[3]);
    check(&mut sender, MS);
    assert_eq!((sent(&mut sender, MS), sender.stats().checks), (vec![Some(3), None], 0));
    assert_eq!(sender.poll_timeout(), Some(MS + Nanos::from_millis(10)));
}

/// `docs/block.md#times`
#[test]
fn summary_is_repeated_after_two_round_trips_between_10_ms_and_1_s() {
    let interval = |rtt: Nanos| {
        let mut sender = sender(1);
        let start = Nanos::from_millis(1_000);
        sender.measure(start + rtt, Round { last_at: start, ..round(start) });
        sender.interval()
    };
    assert_eq!(sender(1).interval(), Nanos::from_millis(10));
    assert_eq!(interval(Nanos(1_000)), Nanos::from_millis(10));
    assert_eq!(interval(Nanos::from_millis(6)), Nanos::from_millis(12));
    assert_eq!(interval(Nanos::from_millis(500)), Nanos::from_millis(1_000));
    assert_eq!(interval(Nanos::from_millis(9_000)), Nanos::from_millis(1_000));
}

#[test]
fn answer_to_one_of_several_summaries_measures_the_first_time_alone() {
    let mut sender = sender(1);
    let start = Nanos::from_millis(1_000);
    let several = Round { last_at: start + Nanos::from_millis(10), ..round(start) };
    sender.measure(start + Nanos::from_millis(40), several);
    assert_eq!(sender.interval(), Nanos::from_millis(80));
    sender.measure(start + Nanos::from_millis(10), several);
    assert_eq!(sender.interval(), Nanos::from_millis(80));
    sender.measure(start + Nanos::from_millis(10), Round { last_at: start, ..several });
    assert_eq!(sender.interval(), Nanos::from_millis(50));
}

#[test]
fn frame_around_a_payload_in_its_place_is_the_frame_with_it() {
    let file: Vec<u8> = (0..3_000u32).map(|at| (at * 7) as u8).collect();
    for transfer in [None, Some(TransferId(0x0102_0304))] {
        let config = SenderConfig::new(NEAR, FAR, transfer);
        let mut sender = Sender::new(config, 3_000, 5, vec![0; 1]).expect("the choices hold");
        while let Some(transmit) = sender.poll_transmit(Nanos(0)) {
            let at = transmit.payload().map_or(0..0, |at| at.start as usize..at.end as usize);
            let mut whole = [0xEE; FRAME_BYTES_MAX];
            let len = transmit.emit(&file[at], &mut whole);
            // The header of another sender.
            let mut in_place = whole;
            in_place[..14].fill(9);
            assert_eq!(transmit.emit_in_place(&mut in_place), len);
            assert_eq!(in_place, whole, "{:?}", transmit.seq());
        }
    }
}
