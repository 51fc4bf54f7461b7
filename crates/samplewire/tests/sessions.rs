//! Openings, endings and strangers over real sockets.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use num_complex::Complex;
use samplewire::device::STREAMS_MAX;
use samplewire::format::Format;
use samplewire::receiver::ReceiveStream;
use samplewire::source::{CounterSource, ReadSamples, StreamInfo, counter_mismatch};
use samplewire::transmitter::{Overflow, PlaySummary, SendError};
use samplewire::{
    DeviceOptions, Flags, OpenError, ReceiveError, ReceiveOptions, SendStream, probe,
};
use samplewire_circuit::{Tag, TagKind};
use samplewire_proto::stream::End;
use samplewire_proto::wire::{CloseReason, RefuseReason};
use samplewire_testing::{PATIENCE, wait_until};

/// Runs `test` against a device that serves session after session.
fn with_device(options: &DeviceOptions, test: impl FnOnce(SocketAddr)) -> Vec<PlaySummary> {
    let mut source = CounterSource::new(20e6, 0).expect("a rate in range");
    let mut listener = options
        .clone()
        .sends(source.info().clone())
        .listen("127.0.0.1:0")
        .expect("listens")
        .listeners
        .remove(0);
    let address = listener.local_addr();
    let is_over = AtomicBool::new(false);
    let (summaries, collected) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let wait = Duration::from_millis(20);
                let Some(mut stream) = listener.accept(wait).expect("the port works") else {
                    continue;
                };
                source = CounterSource::new(20e6, stream.session().first_index).expect("in range");
                let stop = || is_over.load(Ordering::Relaxed);
                let played = stream.play(&mut source, Overflow::Wait, stop);
                summaries.send(played.expect("it plays")).expect("the test collects");
            }
        });
        test(address);
        is_over.store(true, Ordering::Relaxed);
    });
    drop(summaries);
    collected.iter().collect()
}

/// Takes `blocks` blocks and checks every sample.
fn take(receiver: &mut ReceiveStream, blocks: usize) -> u64 {
    let mut next = None;
    for block in receiver.by_ref().map(Result::unwrap).take(blocks) {
        assert_eq!(block.gaps(), []);
        assert!(next.is_none_or(|next| next == block.index()));
        assert_eq!(counter_mismatch(block.index(), block.bytes()), None);
        next = Some(block.index() + block.len() as u64);
    }
    next.expect("blocks came")
}

#[test]
fn handles_show_the_credit_that_a_program_does_not_give() {
    let mut source = CounterSource::new(20e6, 0).expect("a rate in range");
    let options = DeviceOptions::new().window(256);
    let mut listener = options
        .sends(source.info().clone())
        .listen("127.0.0.1:0")
        .expect("listens")
        .listeners
        .remove(0);
    let (address, sent) = (listener.local_addr(), listener.stats_handle());
    assert_eq!((sent.session(), sent.stats().window), (None, 0));
    let device = std::thread::spawn(move || {
        let stream = listener.accept(PATIENCE).expect("the port works");
        // A source that can wait would not fill the window.
        let overflow = Overflow::Lose { rate_hz: 20e6 };
        stream.expect("opened").play(&mut source, overflow, || false)
    });
    let receiver =
        ReceiveOptions::new().timeout(PATIENCE).window(64).open(address).expect("answers");
    let received = receiver.stats_handle();
    // No program takes the samples.
    wait_until("the window is full", PATIENCE, || {
        received.stats().starved > 0 && sent.stats().held == 256
    });
    let (received_last, sent_last) = (received.stats(), sent.stats());
    assert_eq!((received_last.credit, received_last.window), (0, 64));
    assert_eq!((sent_last.credit, sent_last.held, sent_last.window), (0, 256, 256));
    assert!(sent.session().is_some_and(|session| session.id == 1));
    let last = receiver.close();
    device.join().expect("no panic").expect("it plays");
    assert_eq!(received.stats(), last);
    let between = sent.stats();
    assert_eq!((between.credit, between.held, between.window), (0, 0, 0));
    assert_eq!(sent.session(), None);
}

/// Runs `feed` with a stream to a receiver; what that receives: bytes, and the tags.
fn received_of(feed: impl FnOnce(&mut SendStream) + Send) -> (Vec<u8>, Vec<Tag>) {
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).expect("terms in range");
    let options = DeviceOptions::new().payload_bytes(64);
    let mut listener =
        options.sends(info).listen("127.0.0.1:0").expect("listens").listeners.remove(0);
    let address = listener.local_addr();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let accepted = listener.accept(PATIENCE).expect("the port works");
            let mut stream = accepted.expect("a receiver comes");
            feed(&mut stream);
            stream.finish(0).expect("the port works");
        });
        let receiver = ReceiveOptions::new().timeout(PATIENCE).open(address).expect("it answers");
        let (mut bytes, mut tags) = (Vec::new(), Vec::new());
        for block in receiver.map(Result::unwrap) {
            assert!(block.gaps().is_empty() && block.index() == bytes.len() as u64 / 4);
            bytes.extend_from_slice(block.bytes());
            tags.extend_from_slice(block.tags());
        }
        (bytes, tags)
    })
}

#[test]
fn samples_sent_in_pieces_arrive_as_one_burst() {
    let samples: Vec<_> = (0..10_001).map(|it| Complex::new(it as i16, -(it as i16))).collect();
    let (bytes, tags) = received_of(|stream| {
        let mut left = &samples[..];
        for len in [0, 1, 7, 16, 33, 4_000].into_iter().cycle() {
            let (now, later) = left.split_at(len.min(left.len()));
            stream.send(now).expect("it flows");
            assert_eq!(stream.next_index(), (samples.len() - later.len()) as u64);
            left = later;
            if left.is_empty() {
                break;
            }
        }
    });
    assert_eq!(bytes, bytemuck::cast_slice::<_, u8>(&samples));
    let ends: Vec<_> = tags.iter().filter(|tag| tag.kind == TagKind::EndOfBurst).collect();
    assert!(matches!(ends[..], [Tag { index: 10_001, .. }]), "{ends:?}");
}

#[test]
fn wrong_arguments_of_a_submission_are_errors_and_the_stream_goes_on() {
    let (bytes, _) = received_of(|stream| {
        let mut submit = |len_bytes, index, flags| {
            let filling = stream.quantum(PATIENCE).expect("it flows").expect("there is room");
            stream.submit(filling, len_bytes, index, flags)
        };
        let error = submit(1 << 30, 0, Flags::NONE).unwrap_err();
        assert!(matches!(error, SendError::Length { len_bytes: 0x4000_0000, .. }), "{error}");
        let error = submit(62, 0, Flags::NONE).unwrap_err();
        assert_eq!(error, SendError::SplitSample { len_bytes: 62, frame_bytes: 4 });
        let error = submit(64, 1, Flags::NONE).unwrap_err();
        assert_eq!(error, SendError::Index { index: 1, expected: 0 });
        submit(64, 0, Flags::NONE).expect("it follows");
        let error = submit(64, 15, Flags::START).unwrap_err();
        assert_eq!(error, SendError::Index { index: 15, expected: 16 });
        let error = stream.send(&[0.0_f32]).unwrap_err();
        assert!(matches!(error, SendError::Form(_)), "{error}");
        let error = stream.send_bytes(&[0; 3]).unwrap_err();
        assert_eq!(error, SendError::SplitSample { len_bytes: 3, frame_bytes: 4 });
        stream.send_bytes(&[7; 8]).expect("it flows");
        assert_eq!(stream.next_index(), 18);
        // What was sent leaves first.
        let filling = stream.quantum(PATIENCE).expect("it flows").expect("there is room");
        stream.submit(filling, 64, 18, Flags::NONE).expect("it follows");
    });
    assert_eq!((bytes.len(), &bytes[64..72]), (64 + 8 + 64, &[7; 8][..]));
}

#[test]
fn device_without_streams_or_with_too_many_is_an_error() {
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).expect("terms in range");
    for streams in [0, STREAMS_MAX + 1] {
        let infos = vec![info.clone(); streams].into_iter();
        let options = infos.fold(DeviceOptions::new(), DeviceOptions::sends);
        let error = options.listen("127.0.0.1:0").unwrap_err();
        assert!(matches!(error, OpenError::Streams { streams: it, .. } if it == streams));
    }
}

#[test]
fn stream_in_use_is_refused_to_another_owner_and_taken_over_by_the_same() {
    let summaries = with_device(&DeviceOptions::new(), |address| {
        let ours = ReceiveOptions::new().timeout(PATIENCE).owner(1);
        let mut first = ours.open(address).expect("the stream is free");
        take(&mut first, 5);
        let refused = ReceiveOptions::new().timeout(PATIENCE).owner(2).open(address);
        match refused {
            Err(OpenError::Refused { reason: RefuseReason::Busy, retry_ms, .. }) => {
                assert!(retry_ms > 0);
            }
            other => panic!("{other:?}"),
        }
        let mut second = ours.open(address).expect("the same owner");
        take(&mut second, 5);
        let start = Instant::now();
        let error = first.by_ref().find_map(Result::err).expect("it was taken over");
        assert!(matches!(error, ReceiveError::Broken(End::PeerRestarted)), "{error:?}");
        assert!(first.next().is_none(), "the error comes once");
        assert!(matches!(first.end(), Some(Ok(End::PeerRestarted))), "{:?}", first.end());
        assert!(start.elapsed() < DEAD_AFTER, "a takeover shows before a silence would");
        second.close();
    });
    let ends: Vec<End> = summaries.iter().map(|summary| summary.end.end).collect();
    assert_eq!(ends, [End::PeerRestarted, End::ClosedByPeer(CloseReason::Cancelled)]);
}

#[test]
fn session_after_session_goes_on_where_the_index_was() {
    with_device(&DeviceOptions::new(), |address| {
        let mut last = 0;
        for _ in 0..5 {
            let mut receiver =
                ReceiveOptions::new().timeout(PATIENCE).open(address).expect("the stream is free");
            assert!(receiver.info().first_index >= last);
            last = take(&mut receiver, 3);
            receiver.close();
        }
    });
}

#[test]
fn probe_describes_without_opening() {
    with_device(&DeviceOptions::new().window(77), |address| {
        let mut receiver = ReceiveOptions::new().timeout(PATIENCE).open(address).expect("free");
        let info = probe(address, PATIENCE).expect("it answers");
        assert_eq!((info.format, info.channels, info.window), (Format::Sc16, 1, 77));
        assert_eq!(info.rate_hz(), 20e6);
        assert_eq!(info.path_mtu_bytes, 9_000);
        take(&mut receiver, 3);
    });
}

#[test]
fn payload_follows_the_mtu_that_was_proved() {
    with_device(&DeviceOptions::new(), |address| {
        for (mtu, payload) in [(1_280, 1_216), (1_500, 1_408), (4_096, 4_032), (9_000, 8_896)] {
            let options = ReceiveOptions::new().timeout(PATIENCE).mtu(mtu);
            let mut receiver = options.open(address).expect("the stream is free");
            assert_eq!(receiver.info().payload_bytes, payload);
            take(&mut receiver, 2);
            receiver.close();
        }
    });
}

#[test]
fn receiver_behind_a_small_mtu_is_refused_a_large_payload_by_name() {
    with_device(&DeviceOptions::new().payload_bytes(8_000), |address| {
        let refused = ReceiveOptions::new().timeout(PATIENCE).mtu(1_500).open(address);
        assert!(
            matches!(refused, Err(OpenError::Refused { reason: RefuseReason::PacketSize, .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn absent_device_is_reported_with_the_time_tried() {
    let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("it has one");
    let options = ReceiveOptions::new().timeout(Duration::from_millis(300));
    let silent = options.open(address).expect_err("there is no device").to_string();
    assert!(silent.contains(&address.to_string()) && silent.contains("300 ms"), "{silent}");
    drop(free);
    let absent = options.open(address).expect_err("nothing listens").to_string();
    assert!(absent.contains("nothing listens there"), "{absent}");
}

#[test]
fn options_out_of_range_are_named_with_their_value() {
    let address = "127.0.0.1:1";
    let info = CounterSource::new(20e6, 0).expect("in range").info().clone();
    let listen = |options: &DeviceOptions| {
        options
            .clone()
            .sends(info.clone())
            .listen("127.0.0.1:0")
            .expect_err("out of range")
            .to_string()
    };
    let open =
        |options: &ReceiveOptions| options.open(address).expect_err("out of range").to_string();
    for (text, value) in [
        (open(&ReceiveOptions::new().window(0)), "window 0: must be 1 to 2^24 packets"),
        (
            open(&ReceiveOptions::new().window((1 << 24) + 1)),
            "window 16777217: must be 1 to 2^24 packets",
        ),
        (open(&ReceiveOptions::new().mtu(100)), "mtu 100: must be 576 to 9000 bytes"),
        (open(&ReceiveOptions::new().mtu(70_000)), "mtu 70000: must be 576 to 9000 bytes"),
        (listen(&DeviceOptions::new().window(0)), "window 0: must be 1 to 2^24 packets"),
        (
            listen(&DeviceOptions::new().payload_bytes(2_500)),
            "payload 2500: must be a multiple of 8 bytes",
        ),
        (listen(&DeviceOptions::new().payload_bytes(9_600)), "payload 9600: must be"),
        (listen(&DeviceOptions::new().link_bps(5)), "link rate 5: must be 10^4 to 10^13 bit/s"),
    ] {
        assert!(text.contains(value), "`{text}` names `{value}`");
    }
}

#[test]
fn port_in_use_is_named() {
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has one");
    let info = CounterSource::new(20e6, 0).expect("in range").info().clone();
    let error = DeviceOptions::new()
        .sends(info)
        .listen(address)
        .expect_err("the port is taken")
        .to_string();
    assert!(error.contains("bind") && error.contains(&address.to_string()), "{error}");
}

#[test]
fn stranger_who_floods_the_device_harms_nothing() {
    with_device(&DeviceOptions::new(), |address| {
        let mut receiver = ReceiveOptions::new().timeout(PATIENCE).open(address).expect("free");
        let stranger = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut state = 1_u64;
                let mut bytes = [0_u8; 512];
                while !is_over.load(Ordering::Relaxed) {
                    for byte in &mut bytes {
                        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                        *byte = (state >> 56) as u8;
                    }
                    bytes[0] = 0x10 | (bytes[0] & 0x0F);
                    let len = 26 + (state >> 60) as usize * 30;
                    stranger.send_to(&bytes[..len], address).expect("loopback carries it");
                }
            });
            take(&mut receiver, 2_000);
            is_over.store(true, Ordering::Relaxed);
        });
        receiver.close();
    });
}

/// Samples of a stream whose handle is all that is left of its device, until it ends.
fn send_all(mut stream: SendStream, samples: u64) {
    while stream.next_index() < samples {
        let filling = stream.quantum(PATIENCE).expect("it is open");
        let mut filling = filling.expect("the receiver takes it");
        let len_bytes = filling.bytes_mut().len().min((samples - stream.next_index()) as usize * 4);
        stream.submit(filling, len_bytes, stream.next_index(), Flags::NONE).expect("it follows");
    }
    let end = stream.finish(0).expect("the port works").end;
    assert!(matches!(end, End::Finished { .. }), "{end:?}");
}

#[test]
fn accepted_stream_goes_on_when_the_listener_is_dropped() {
    let info = CounterSource::new(20e6, 0).expect("in range").info().clone();
    let mut listener = DeviceOptions::new()
        .sends(info)
        .listen("127.0.0.1:0")
        .expect("listens")
        .listeners
        .remove(0);
    let (address, options) =
        (listener.local_addr(), ReceiveOptions::new().timeout(PATIENCE).owner(1));
    let mut receiver = options.open(address).expect("the stream is free");
    let stream = listener.accept(PATIENCE).expect("the port works");
    drop(listener);
    match options.open(address) {
        Err(OpenError::Refused { reason: RefuseReason::Busy, .. }) => {}
        other => panic!("no program gives another stream: {other:?}"),
    }
    let stream = stream.expect("a receiver has come");
    let sender = std::thread::spawn(move || send_all(stream, 1_000_000));
    assert_eq!(
        receiver.by_ref().map(Result::unwrap).map(|block| block.len()).sum::<usize>(),
        1_000_000
    );
    // The last handle of the port waits for its thread.
    sender.join().expect("it does not panic");
    UdpSocket::bind(address).expect("the port is free again");
}

#[test]
fn next_stream_is_given_once_the_last_is_dropped() {
    let info = CounterSource::new(20e6, 0).expect("in range").info().clone();
    let mut listener = DeviceOptions::new()
        .sends(info)
        .listen("127.0.0.1:0")
        .expect("listens")
        .listeners
        .remove(0);
    let (address, options) =
        (listener.local_addr(), ReceiveOptions::new().timeout(PATIENCE).owner(1));
    let mut ends = Vec::new();
    let open = |ends: &mut Vec<_>| {
        let mut receiver = options.open(address).expect("it is ours");
        let (results, result) = mpsc::channel();
        ends.push(result);
        std::thread::spawn(move || {
            let _blocks = receiver.by_ref().count();
            results.send(receiver.end().map(|end| end.as_ref().ok().copied())).ok();
        });
    };
    open(&mut ends);
    let first = listener.accept(PATIENCE).expect("the port works").expect("a receiver comes");
    open(&mut ends);
    assert!(listener.accept(Duration::from_millis(50)).expect("the port works").is_none());
    wait_until("the first stream is taken over", PATIENCE, || first.check().is_err());
    assert!(matches!(first.check(), Err(SendError::Ended(end)) if end.end == End::PeerRestarted));
    drop(first);
    let second = listener.accept(PATIENCE).expect("the port works").expect("it has come");
    assert_eq!(second.session().id, 2);
    // Dropped before its end, with nothing sent: the receiver sees a whole stream of nothing.
    drop(second);
    let end = ends[1].recv_timeout(PATIENCE).expect("it ends");
    assert!(matches!(end, Some(Some(End::Finished { .. } | End::ClosedByPeer(_)))), "{end:?}");
    open(&mut ends);
    let third = listener.accept(PATIENCE).expect("the port works").expect("a receiver comes");
    assert_eq!(third.session().id, 3);
}

/// Of a device, unless its test drew other terms.
const DEAD_AFTER: Duration = Duration::from_secs(15);
