//! Indexes far ahead at a device that plays: bounded work, and a next stream (`docs/protocol.md#6.10`).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire::device::{Played, Player, PlayerOutput, SampleClock, UnderrunCause};
use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire::transmitter::SendError;
use samplewire::{DeviceOptions, End, OpenError, SampleIndex, SendOptions, SendStream};
use samplewire_io::{Udp, UdpOptions};
use samplewire_proto::stream::Violation;
use samplewire_proto::wire::{CloseReason, Flags, RefuseReason};
use samplewire_testing::PATIENCE;

/// Counts what is played.
#[derive(Debug, Default)]
struct Tally {
    samples: u64,
    zeros: u64,
    /// Samples that were missing at their time.
    missing: u64,
}

impl PlayerOutput for Tally {
    type Error = Infallible;

    fn write(&mut self, _first: SampleIndex, bytes: &[u8]) -> Result<(), Infallible> {
        let samples = bytes.len() as u64 / 4;
        self.samples += samples;
        self.zeros += if bytes.iter().all(|byte| *byte == 0) { samples } else { 0 };
        Ok(())
    }

    fn missing(&mut self, due: Range<SampleIndex>, _cause: UnderrunCause) {
        self.missing += due.end - due.start;
    }
}

/// A device of 1 MS/s that plays one session after another until it is let go.
struct Stage {
    address: SocketAddr,
    played: mpsc::Receiver<(Played, Tally)>,
    thread: JoinHandle<()>,
}

impl Stage {
    fn start(has_clock: bool, jump_max: Duration) -> Self {
        let info = StreamInfo::new(Format::Sc16, 1, RATE_HZ).expect("a rate in range");
        let clock = has_clock.then(|| SampleClock::start(&info, Instant::now()));
        let local = "127.0.0.1:0".parse().expect("an address");
        let udp = Udp::bind(local, &UdpOptions::new()).expect("a free port");
        let mut options =
            DeviceOptions::new().window(64).play_jump_max(jump_max).plays(info.clone());
        if let Some(clock) = clock {
            options = options.clock(clock);
        }
        let device = options.listen_over(Box::new(udp)).expect("it listens");
        let mut receive_listener = device.receive_listener.expect("it plays");
        let (results, played) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while let Ok(Some(incoming)) = receive_listener.accept(Duration::from_secs(10)) {
                let mut tally = Tally::default();
                let underflow = incoming.underflow;
                let mut player = Player::new(incoming.receiver, clock, underflow, &mut tally);
                loop {
                    let started = Instant::now();
                    let has_more = player.run(TURN, |_| ()).expect("the sink takes all");
                    assert!(started.elapsed() < TURN_MAX, "it played for {:?}", started.elapsed());
                    // No test waits for a longer jump.
                    if !has_more || player.counts().underrun_samples > ZEROS_MAX {
                        break;
                    }
                }
                let played = player.finish();
                if results.send((played, tally)).is_err() {
                    return;
                }
            }
        });
        Self { address: device.address, played, thread }
    }

    fn open(&self, start: SampleIndex) -> Result<SendStream, OpenError> {
        SendOptions::new().timeout(PATIENCE).start_index(start).open(self.address)
    }

    fn played(&self) -> (Played, Tally) {
        self.played.recv_timeout(PATIENCE).expect("a session ends")
    }

    fn finish(self) {
        drop(self.played);
        // It waits for a session, and then finds that there is no listener.
        drop(SendOptions::new().timeout(PATIENCE).open(self.address).map(|mut it| {
            let first = opened(&it);
            submit(&mut it, first, Flags::START).ok();
            it.finish(0).ok();
        }));
        self.thread.join().expect("the device does not panic");
    }
}

/// The index of the first sample, once the device takes it.
fn opened(stream: &SendStream) -> SampleIndex {
    assert!(stream.wait_ready(PATIENCE).expect("the port works"), "it is silent");
    stream.session().first_index
}

/// A burst of 100 samples that are not zero.
fn submit(
    transmitter: &mut SendStream,
    index: SampleIndex,
    flags: Flags,
) -> Result<SampleIndex, SendError> {
    let filling = transmitter.quantum(PATIENCE)?;
    let mut filling = filling.expect("there is room");
    filling.bytes_mut()[..400].fill(1);
    transmitter.submit(filling, 400, index, flags | Flags::END_OF_BURST).expect("it follows");
    Ok(index + 100)
}

#[test]
fn start_at_the_bound_is_taken_and_one_sample_beyond_is_refused() {
    let stage = Stage::start(false, Duration::from_secs(1));
    for start in [1_000_001, 4_000_000_000_000_000_000, 1 << 63] {
        match stage.open(start) {
            Err(OpenError::Refused { reason: RefuseReason::StartIndex, .. }) => {}
            other => panic!("{start}: {other:?}"),
        }
    }
    let mut transmitter = stage.open(1_000_000).expect("it is the last that is allowed");
    let offered = opened(&transmitter);
    assert_eq!(offered, 1_000_000);
    let end = submit(&mut transmitter, 1_000_000, Flags::START).expect("it is open");
    transmitter.finish(0).expect("the port works");
    let (played, tally) = stage.played();
    assert_eq!(played.end, Some(End::Finished { final_index: end }));
    assert_eq!((tally.samples, tally.zeros), (100, 0));
    stage.finish();
}

#[test]
fn start_beyond_what_the_clock_reaches_is_refused_and_the_next_stream_plays() {
    let stage = Stage::start(true, Duration::from_secs(2));
    match stage.open(4_000_000_000_000_000_000) {
        Err(OpenError::Refused { reason: RefuseReason::StartIndex, .. }) => {}
        other => panic!("{other:?}"),
    }
    check_next_plays(&stage);
    stage.finish();
}

/// A stream as any other is opened soon, and played whole.
fn check_next_plays(stage: &Stage) {
    let mut transmitter = stage.open(0).expect("it is free");
    let offered = opened(&transmitter);
    let first = offered + 500_000;
    let end = submit(&mut transmitter, first, Flags::START).expect("it is open");
    transmitter.finish(0).expect("the port works");
    let (played, tally) = stage.played();
    assert_eq!(played.end, Some(End::Finished { final_index: end }));
    assert_eq!((tally.samples, tally.zeros, played.counts.underruns), (100, 0, 0));
}

#[test]
fn jump_of_any_kind_beyond_the_bound_ends_the_stream_and_the_next_one_plays() {
    let far = 1 << 62;
    for has_clock in [false, true] {
        let stage = Stage::start(has_clock, Duration::from_secs(1));
        for kind in ["start", "overflow", "final index"] {
            let mut transmitter = stage.open(0).expect("it is free");
            let offered = opened(&transmitter);
            let first = offered + 300_000;
            let next = submit(&mut transmitter, first, Flags::START).expect("open");
            let end = match kind {
                "start" => {
                    submit(&mut transmitter, far, Flags::START).and_then(|_| transmitter.finish(0))
                }
                "overflow" => submit(&mut transmitter, far, Flags::OVERFLOW)
                    .and_then(|_| transmitter.finish(0)),
                _ => transmitter.finish(far - next),
            };
            let end = match end {
                Ok(end) => end.end,
                Err(SendError::Ended(end)) => end.end,
                Err(error) => panic!("{kind}: {error}"),
            };
            assert_eq!(end, End::ClosedByPeer(CloseReason::JumpTooFar), "{kind}, {has_clock}");
            let (played, tally) = stage.played();
            let Some(End::Violation(Violation::JumpTooFar { index, .. })) = played.end else {
                panic!("{kind}: {played:?}")
            };
            assert_eq!(index, far);
            assert_eq!((tally.samples, tally.zeros), (100, 0), "what came before is played");
            check_next_plays(&stage);
        }
        stage.finish();
    }
}

#[test]
fn jump_to_the_bound_is_played_and_its_zeros_are_counted() {
    let stage = Stage::start(false, Duration::from_secs(1));
    let mut transmitter = stage.open(0).expect("it is free");
    opened(&transmitter);
    let next = submit(&mut transmitter, 0, Flags::START).expect("it is open");
    let jumped = next + 1_000_000;
    let next = submit(&mut transmitter, jumped, Flags::START).expect("it is open");
    let jumped = next + 1_000_000;
    let next = submit(&mut transmitter, jumped, Flags::OVERFLOW).expect("it is open");
    let end = transmitter.finish(1_000_000).expect("the port works");
    assert_eq!(end.end, End::Finished { final_index: next + 1_000_000 });
    let (_, tally) = stage.played();
    assert_eq!((tally.samples, tally.zeros), (2_000_300, 2_000_000), "of a start there are none");
    assert_eq!(tally.missing, tally.zeros, "they are announced");
    stage.finish();
}

#[test]
fn player_returns_in_time_whatever_it_is_to_play_as_zeros() {
    // 10^15 samples of zeros would take hours.
    let stage = Stage::start(false, Duration::from_secs(1_000_000_000));
    let mut transmitter = stage.open(0).expect("it is free");
    opened(&transmitter);
    let next = submit(&mut transmitter, 0, Flags::START).expect("it is open");
    submit(&mut transmitter, next + 1_000_000_000_000_000, Flags::OVERFLOW).expect("open");
    let (played, tally) = stage.played();
    assert!(tally.zeros > ZEROS_MAX && tally.zeros < 1_000 * ZEROS_MAX, "{tally:?}");
    assert!(played.end.is_none(), "it was let go: {played:?}");
    drop(transmitter);
    stage.finish();
}

const RATE_HZ: f64 = 1e6;
const TURN: Duration = Duration::from_millis(20);
/// On a machine that does much else.
const TURN_MAX: Duration = Duration::from_secs(2);
/// More than any bound of these tests but the last.
const ZEROS_MAX: u64 = 10_000_000;
