use super::*;
use crate::block::wire::{MacAddress, TransferId};

const NEAR: MacAddress = [2, 0, 0, 0, 0, 1];
const FAR: MacAddress = [2, 0, 0, 0, 0, 2];
const NOW: Nanos = Nanos(1_000);

fn header(id: Option<u32>) -> Header {
    Header { destination: FAR, source: NEAR, transfer: id.map(TransferId) }
}

fn frame(header: Header, body: Body<'_>) -> Vec<u8> {
    let mut out = [0; 1_500];
    let len = Frame { header, body }.emit(&mut out);
    out[..len].to_vec()
}

fn data(header: Header, seq: u32, payload: &[u8]) -> Vec<u8> {
    frame(header, Body::Data { seq, payload })
}

#[test]
fn choices_at_the_ends_of_their_ranges_hold_and_those_beyond_are_named() {
    let check = |config: ReceiverConfig| config.check().err();
    let ok = ReceiverConfig::new(FAR, 1 << 63);
    assert_eq!(check(ok), None);
    let bytes_max = (1 << 63) + 1;
    let error = ReceiverConfigError::BytesMax(bytes_max);
    assert_eq!(check(ReceiverConfig { bytes_max, ..ok }), Some(error));
    for (types, longest) in [(Types::WithId, 1_477), (Types::Either, 1_477), (Types::Plain, 1_481)]
    {
        for packet_bytes in [1, longest] {
            let config = ReceiverConfig { types, packet_bytes: Some(packet_bytes), ..ok };
            assert_eq!(check(config), None);
        }
        for packet_bytes in [0, longest + 1] {
            let config = ReceiverConfig { types, packet_bytes: Some(packet_bytes), ..ok };
            let error = ReceiverConfigError::PacketBytes { packet_bytes, longest };
            assert_eq!(check(config), Some(error));
        }
    }
}

#[test]
fn only_types_that_were_chosen_are_taken() {
    for (types, takes) in [
        (Types::WithId, [false, true]),
        (Types::Plain, [true, false]),
        (Types::Either, [true, true]),
    ] {
        for (id, takes) in [None, Some(7)].into_iter().zip(takes) {
            let config = ReceiverConfig { types, ..ReceiverConfig::new(FAR, 10_000) };
            let mut receiver = Receiver::new(config, [0; 1]).expect("the choices hold");
            let longest = header(id).payload_bytes_max();
            let full = data(header(id), 1, &vec![5; longest]);
            let place = receiver.handle(NOW, &full);
            let expected = Place { seq: 1, offset: longest as u64, bytes: &vec![5; longest] };
            assert_eq!(place, takes.then_some(expected), "{types:?} {id:?}");
        }
    }
}

#[test]
fn transfer_without_id_is_done_without_a_crc() {
    let config = ReceiverConfig { types: Types::Plain, ..ReceiverConfig::new(FAR, 10_000) };
    let mut receiver = Receiver::new(config, [0; 1]).expect("the choices hold");
    let header = header(None);
    assert!(receiver.handle(NOW, &data(header, 0, b"hello")).is_some());
    let summary = Summary { packets: 1, bytes: 5, crc: None };
    receiver.handle(NOW, &frame(header, Body::Summary(summary)));
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Done { bytes: 5 }));
    let mut out = [0; 60];
    assert_eq!(receiver.poll_transmit(&mut out), Some(60));
    let ok = Frame { header: header.reply(), body: Body::Complete };
    assert_eq!(Frame::parse(&out), Ok(ok));
    // It answers, but its frames are not those of a transfer until it listens.
    receiver.handle_crc(NOW, 1);
    assert_eq!((receiver.poll_event(), receiver.transfer()), (None, None));
}

#[test]
fn last_packet_may_come_after_the_summary() {
    let mut receiver =
        Receiver::new(ReceiverConfig::new(FAR, 10_000), [0; 1]).expect("the choices hold");
    let header = header(Some(7));
    let summary = Summary { packets: 2, bytes: 1_480, crc: Some(9) };
    let summary = frame(header, Body::Summary(summary));
    assert!(receiver.handle(NOW, &data(header, 0, &[1; 1_477])).is_some());
    assert_eq!(receiver.handle(NOW, &summary), None);
    let mut out = [0; 1_500];
    assert_eq!(receiver.poll_transmit(&mut out), Some(60), "one is missing");
    let last = data(header, 1, b"end");
    let place = receiver.handle(NOW, &last);
    assert_eq!(place, Some(Place { seq: 1, offset: 1_477, bytes: b"end" }), "without padding");
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Complete { bytes: 1_480 }));
    // No summary waits for an answer.
    receiver.handle_crc(NOW, 9);
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Done { bytes: 1_480 }));
    assert_eq!(receiver.poll_transmit(&mut out), None);
    receiver.handle(NOW, &summary);
    assert_eq!(receiver.poll_transmit(&mut out), Some(60));
    assert_eq!(receiver.stats().oks, 1);
}

#[test]
fn of_summaries_while_the_crc_is_computed_one_waits_for_the_result_and_the_others_do_not() {
    let mut receiver =
        Receiver::new(ReceiverConfig::new(FAR, 10_000), [0; 1]).expect("the choices hold");
    let header = header(Some(7));
    let summary = Summary { packets: 1, bytes: 3, crc: Some(9) };
    let summary = frame(header, Body::Summary(summary));
    receiver.handle(NOW, &summary);
    assert_eq!(receiver.poll_transmit(&mut [0; 60]), Some(60), "a list");
    assert!(receiver.handle(NOW, &data(header, 0, b"end")).is_some());
    receiver.handle(NOW, &summary);
    let mut out = [0; 60];
    assert_eq!(receiver.poll_transmit(&mut out), None);
    for _ in 0..2 {
        receiver.handle(NOW, &summary);
        assert_eq!((receiver.poll_transmit(&mut out), &out[19..21]), (Some(60), &b"CK"[..]));
        assert_eq!(receiver.poll_transmit(&mut out), None, "each summary has one answer");
    }
    receiver.handle_crc(NOW, 9);
    assert_eq!((receiver.poll_transmit(&mut out), &out[19..21]), (Some(60), &b"OK"[..]));
    assert_eq!(receiver.poll_transmit(&mut out), None);
    assert_eq!((receiver.stats().checks, receiver.stats().oks), (2, 1));
}

/// A sender begins no other transfer before it has heard `OK`.
#[test]
fn without_id_the_next_transfer_begins_after_an_answer() {
    let config = ReceiverConfig { types: Types::Plain, ..ReceiverConfig::new(FAR, 10_000) };
    let mut receiver = Receiver::new(config, [0; 1]).expect("the choices hold");
    let header = header(None);
    let summary = Summary { packets: 1, bytes: 3, crc: None };
    let summary = frame(header, Body::Summary(summary));
    let only = data(header, 0, b"end");
    receiver.handle(NOW, &summary);
    assert_eq!(receiver.poll_transmit(&mut [0; 60]), Some(60), "a list");
    assert!(receiver.handle(NOW, &only).is_some());
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Done { bytes: 3 }));
    receiver.listen();
    assert_eq!(receiver.handle(NOW, &only), None, "a copy that comes late");
    assert_eq!(receiver.stats().rejected_for(Rejection::TransferBefore), 1);
    receiver.handle(NOW, &summary);
    assert_eq!(receiver.poll_transmit(&mut [0; 60]), Some(60), "OK");
    assert!(receiver.handle(NOW, &only).is_some(), "the next");
}

#[test]
fn without_id_the_next_transfer_begins_after_10_s_without_a_summary() {
    let config = ReceiverConfig { types: Types::Plain, ..ReceiverConfig::new(FAR, 10_000) };
    let mut receiver = Receiver::new(config, [0; 1]).expect("the choices hold");
    let header = header(None);
    let summary = |bytes| {
        let summary = Summary { packets: 1, bytes, crc: None };
        frame(header, Body::Summary(summary))
    };
    let only = data(header, 0, b"end");
    receiver.handle(NOW, &summary(3));
    assert!(receiver.handle(NOW, &only).is_some());
    receiver.listen();
    let until = NOW + ANSWERS_MAX;
    assert_eq!(receiver.handle(until - Nanos(1), &only), None);
    let mut late = receiver.clone();
    assert!(late.handle(until, &only).is_some());
    // The summary of another file shows the next transfer before.
    receiver.handle(NOW, &summary(4));
    assert_eq!(receiver.transfer(), Some(&header));
}

#[test]
fn summary_during_an_answer_does_not_begin_another() {
    let config = ReceiverConfig { packet_bytes: Some(1), ..ReceiverConfig::new(FAR, 2_000) };
    let mut receiver = Receiver::new(config, [0; 63]).expect("the choices hold");
    let header = header(Some(7));
    for seq in 0..100 {
        receiver.handle(NOW, &data(header, 10 * seq, &[1]));
    }
    let summary = Summary { packets: 2_000, bytes: 2_000, crc: Some(9) };
    let summary = frame(header, Body::Summary(summary));
    receiver.handle(NOW, &summary);
    let mut out = [0; 1_500];
    let mut lens = vec![];
    while let Some(len) = receiver.poll_transmit(&mut out) {
        lens.push(len);
        receiver.handle(NOW, &summary);
    }
    // 101 frames of 60: four lists of 369, and one of the 10 that the rest has room for.
    assert_eq!(lens, [1_499, 1_499, 1_499, 1_499, 63]);
    receiver.handle(NOW, &summary);
    // Six summaries have come since: 84 seqs.
    assert_eq!(receiver.poll_transmit(&mut out), Some(359));
}

#[test]
fn answer_ends_where_the_rest_is_no_frame() {
    let config = ReceiverConfig { packet_bytes: Some(96), ..ReceiverConfig::new(FAR, 100_000) };
    let mut receiver = Receiver::new(config, [0; 32]).expect("the choices hold");
    let header = header(Some(7));
    let summary = Summary { packets: 1_000, bytes: 999 * 96 + 1, crc: Some(9) };
    let summary = frame(header, Body::Summary(summary));
    let answer = |receiver: &mut Receiver<[u32; 32]>, full: u32, short: u32| {
        for seq in 0..full {
            receiver.handle(NOW, &data(header, seq, &[1; 96]));
        }
        for _ in 0..short {
            receiver.handle(NOW, &data(header, 999, &[1]));
        }
        receiver.handle(NOW, &summary);
        let mut out = [0; 1_500];
        let lens: Vec<_> = core::iter::from_fn(|| receiver.poll_transmit(&mut out)).collect();
        lens
    };
    // 119, 60 and 60 bytes come: 1,558, then 1,559.
    assert_eq!(answer(&mut receiver, 2, 21), [1_499]);
    assert_eq!(answer(&mut receiver, 1, 23), [1_499, 60]);
}

#[test]
fn silence_while_the_crc_is_computed_ends_the_transfer() {
    let mut receiver =
        Receiver::new(ReceiverConfig::new(FAR, 10_000), [0; 1]).expect("the choices hold");
    let header = header(Some(7));
    receiver.handle(NOW, &data(header, 0, b"end"));
    let summary = Summary { packets: 1, bytes: 3, crc: Some(9) };
    receiver.handle(NOW, &frame(header, Body::Summary(summary)));
    assert_eq!(receiver.poll_event(), Some(ReceiveEvent::Complete { bytes: 3 }));
    let deadline = NOW + SILENCE_MAX;
    assert_eq!(receiver.poll_timeout(), Some(deadline));
    receiver.handle_timeout(deadline - Nanos(1));
    assert_eq!(receiver.poll_event(), None);
    receiver.handle_timeout(deadline);
    let failed = Some(ReceiveEvent::Failed(ReceiveFailure::Silent));
    assert_eq!((receiver.poll_event(), receiver.poll_timeout()), (failed, None));
    receiver.handle_crc(deadline, 9);
    assert_eq!((receiver.poll_event(), receiver.poll_transmit(&mut [0; 60])), (None, None));
}

#[test]
fn data_without_its_frame_is_taken_as_with_it() {
    let header = header(None);
    let new = || {
        let config = ReceiverConfig { types: Types::Plain, ..ReceiverConfig::new(FAR, 10_000) };
        Receiver::new(config, [0; 1]).expect("the choices hold")
    };
    let (mut by_frame, mut by_seq) = (new(), new());
    assert!(!by_seq.handle_data(NOW, 0, 1_481), "no transfer has begun");
    assert_eq!(by_seq.stats().rejected_for(Rejection::NotNow), 1);
    let full = [1; 1_481];
    // Full, full, one again, beyond the memory, the last one, too long.
    for (seq, len) in [(0, 1_481), (2, 1_481), (2, 1_481), (900, 1_481), (3, 7), (1, 1_480)] {
        let frame = data(header, seq, &full[..len]);
        let placed = by_frame.handle(NOW, &frame).is_some();
        // Before the first frame there is nothing to compare a header with.
        let taken = if seq == 0 {
            by_seq.handle(NOW, &frame).is_some()
        } else {
            by_seq.handle_data(NOW, seq, frame.len() - 19)
        };
        assert_eq!(placed, taken, "{seq}");
    }
    let summary = Summary { packets: 4, bytes: 3 * 1_481 + 7, crc: None };
    for receiver in [&mut by_frame, &mut by_seq] {
        receiver.handle(NOW, &frame(header, Body::Summary(summary)));
    }
    let (mut one, mut other) = ([0; 1_500], [0; 1_500]);
    assert_eq!(by_frame.poll_transmit(&mut one), by_seq.poll_transmit(&mut other));
    assert_eq!(one, other);
    assert!(by_seq.handle_data(NOW, 1, 1_481));
    assert_eq!(by_seq.poll_event(), Some(ReceiveEvent::Done { bytes: 4_450 }));
    assert_eq!(by_seq.last_done(), Some(&header));
    assert!(!by_seq.handle_data(NOW, 1, 1_481), "it is done");
}
