//! Plays by calls of the test, on simulated time.

use std::convert::Infallible;

use samplewire_io::memory;
use samplewire_proto::wire::Flags;
use samplewire_proto::{Cause, Nanos};

use super::*;
use crate::device::Device;
use crate::driver::Stepped;
use crate::format::Format;
use crate::receiver::Port;
use crate::transmitter::SendStream;
use crate::{DeviceOptions, SendOptions, StreamInfo};

const RATE_HZ: f64 = 100e6;
const WINDOW: u32 = 512;
const FRAME_BYTES: usize = 4;
const STEP: u64 = (STEP_BYTES / FRAME_BYTES) as u64;
const ZEROS: u64 = (ZEROS_BYTES / FRAME_BYTES) as u64;
/// More than the calls that play what a test sends.
const CALLS_MAX: usize = 100;

/// A host that sends to a device, on virtual time.
struct Rig {
    epoch: Instant,
    now: Nanos,
    ends: [Stepped; 2],
    clock: SampleClock,
    sends: SendStream,
    _handles: (Device, Port),
}

impl Rig {
    /// The rig, and the stream that is to be played.
    fn new() -> (Self, ReceiveStream) {
        let epoch = Instant::now();
        let (near, far) = memory::pair(64, 9_000, 9_000).unwrap();
        let info = StreamInfo::new(Format::Sc16, 1, RATE_HZ).unwrap();
        let clock = SampleClock::start(&info, epoch);
        let options = DeviceOptions::new().window(WINDOW).plays(info).clock(clock);
        let (mut device, plays) =
            options.listen_stepped(Box::new(near), None, epoch, [[1; 16], [2; 16]]).unwrap();
        let (port, sends) = Port::stepped(Box::new(far), None, 1, epoch).unwrap();
        let options = SendOptions::new().window(WINDOW).mtu(9_000);
        let opening = SendStream::start_opening(&port, device.address, &options, [3; 16]).unwrap();
        let (mut now, mut ends) = (Nanos::from_millis(1_000), [plays, sends]);
        let listener = device.receive_listener.as_mut().unwrap();
        let (mut sender, mut accepted) = (None, None);
        while sender.is_none() || accepted.is_none() {
            turn(&mut now, &mut ends);
            let opened = || SendStream::poll_opening(&port, &opening).map(Result::unwrap);
            sender = sender.or_else(opened);
            accepted = accepted.or_else(|| listener.accept(Duration::ZERO).unwrap());
            assert!(now < Nanos::from_millis(2_000), "it does not open");
        }
        let (sends, accepted) = (sender.unwrap(), accepted.unwrap());
        let _handles = (device, port);
        (Self { epoch, now, ends, clock, sends, _handles }, accepted.receiver)
    }

    /// Sends so many samples, the first 10 ms from now, until the player has them all.
    fn send(&mut self, player: &mut Player<'_, Recorded>, samples: u64) -> Range<SampleIndex> {
        let first = self.clock.index_at(self.instant()) + RATE_HZ as u64 / 100;
        let end = first + samples;
        let (mut next, mut flags) = (first, Flags::START);
        let until = self.now + Nanos::from_millis(9);
        while player.line.end() != Some(end) {
            if next < end
                && let Some(filling) = self.sends.quantum(Duration::ZERO).unwrap()
            {
                let count = (end - next).min(ZEROS / 2);
                let len_bytes = count as usize * FRAME_BYTES;
                self.sends.submit(filling, len_bytes, next, flags).unwrap();
                (next, flags) = (next + count, Flags::NONE);
            }
            turn(&mut self.now, &mut self.ends);
            while player.take_within(Duration::ZERO) {}
            assert!(self.now < until, "{next} of {end} are sent, {:?}", player.line.end());
        }
        first..end
    }

    fn instant(&self) -> Instant {
        self.epoch + Duration::from_nanos(self.now.0)
    }
}

fn turn(now: &mut Nanos, ends: &mut [Stepped; 2]) {
    *now = *now + Nanos::from_micros(1);
    for end in ends {
        end.turn(*now).expect("a handle is there");
    }
}

/// What an output gets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Written {
    Samples(SampleIndex, u64),
    Hole(SampleIndex, u64),
}

#[derive(Default)]
struct Recorded {
    has_holes: bool,
    written: Vec<Written>,
}

impl Recorded {
    /// Takes what was written, and returns how many samples it has.
    fn take(&mut self, next: SampleIndex) -> u64 {
        self.written.drain(..).fold(0, |before, it| {
            let (Written::Samples(first, samples) | Written::Hole(first, samples)) = it;
            assert_eq!(first, next + before, "one behind another");
            before + samples
        })
    }
}

impl PlayerOutput for Recorded {
    type Error = Infallible;

    fn write(&mut self, first: SampleIndex, bytes: &[u8]) -> Result<(), Infallible> {
        self.written.push(Written::Samples(first, (bytes.len() / FRAME_BYTES) as u64));
        Ok(())
    }

    fn has_holes(&mut self) -> bool {
        self.has_holes
    }

    fn hole(&mut self, first: SampleIndex, samples: u64) -> Result<(), Infallible> {
        self.written.push(Written::Hole(first, samples));
        Ok(())
    }
}

/// Calls until nothing is due; returns how many samples each call has played.
fn play(player: &mut Player<'_, Recorded>, mut next: SampleIndex, now: Instant) -> Vec<u64> {
    let mut played = vec![];
    for _ in 0..CALLS_MAX {
        let is_done = player.play_due(now, &mut |_| ()).unwrap();
        played.push(player.output.take(next));
        next += played.last().unwrap();
        if is_done {
            return played;
        }
    }
    panic!("{CALLS_MAX} calls do not play what is due: {played:?}");
}

#[test]
fn run_lasts_for_its_span_while_nothing_comes() {
    let (_rig, receiver) = Rig::new();
    let mut output = Recorded::default();
    let mut player = Player::new(receiver, None, Underflow::Zeros, &mut output);
    let (span, before) = (Duration::from_millis(2), Instant::now());
    assert_eq!(player.run(span, |_| ()), Ok(true));
    assert!(before.elapsed() >= span);
}

#[test]
fn run_without_a_limit_ends_with_the_stream() {
    let (rig, receiver) = Rig::new();
    let mut output = Recorded::default();
    let mut player = Player::new(receiver, None, Underflow::Zeros, &mut output);
    drop(rig);
    assert_eq!(player.run(Duration::MAX, |_| ()), Ok(false));
}

/// Gaps without samples hold no memory that would limit them.
#[test]
fn block_waits_while_the_play_queue_has_no_room_for_it_and_its_gaps() {
    let (mut rig, receiver) = Rig::new();
    let mut output = Recorded::default();
    let mut player = Player::new(receiver, None, Underflow::Zeros, &mut output);
    let mut at = 0;
    while player.line.room() >= ENTRIES_OF_A_BLOCK {
        player.line.push_gap(at, at + 1, Cause::Deadline).unwrap();
        at += 2;
    }
    let filling = rig.sends.quantum(Duration::ZERO).unwrap().unwrap();
    let next = rig.sends.next_index();
    rig.sends.submit(filling, FRAME_BYTES, next, Flags::END_OF_BURST).unwrap();
    for _ in 0..1_000 {
        turn(&mut rig.now, &mut rig.ends);
        assert!(!player.take_within(Duration::ZERO));
    }
    player.line.stop();
    assert!(player.take_within(Duration::ZERO), "it has come");
}

#[test]
fn zeros_are_written_in_pieces_or_as_a_hole_and_their_bytes_are_work() {
    let pieces = [(7, ZEROS), (7 + ZEROS, ZEROS), (7 + 2 * ZEROS, 5)];
    let pieces = pieces.map(|(first, samples)| Written::Samples(first, samples));
    let cases = [
        (false, 2 * ZEROS + 5, &pieces[..], 2 * ZEROS_BYTES + 20),
        (true, ZEROS, &pieces[..1], ZEROS_BYTES),
        (true, ZEROS + 1, &[Written::Hole(7, ZEROS + 1)], ZEROS_BYTES),
    ];
    for (has_holes, samples, expected, work_bytes) in cases {
        let (_rig, receiver) = Rig::new();
        let mut output = Recorded { has_holes, ..Recorded::default() };
        let mut player = Player::new(receiver, None, Underflow::Zeros, &mut output);
        assert_eq!(player.play_zeros(7..7 + samples), Ok(work_bytes));
        assert_eq!(player.output.written, expected);
    }
}

#[test]
fn call_plays_a_step_of_samples_and_the_block_that_it_ends_in() {
    for has_holes in [false, true] {
        let (mut rig, receiver) = Rig::new();
        let mut output = Recorded { has_holes, ..Recorded::default() };
        let mut player = Player::new(receiver, None, Underflow::Zeros, &mut output);
        let sent = rig.send(&mut player, 5 * STEP / 2);
        let played = play(&mut player, sent.start, rig.instant());
        assert_eq!(played.iter().sum::<u64>(), 5 * STEP / 2);
        let step_max = STEP + player.receiver.block_samples_max() as u64;
        assert!(played.iter().all(|&samples| samples < step_max), "{played:?}");
    }
}

#[test]
fn burst_behind_a_pause_longer_than_a_step_is_due_in_the_next_call() {
    let (mut rig, receiver) = Rig::new();
    let mut output = Recorded::default();
    let mut player = Player::new(receiver, None, Underflow::Zeros, &mut output);
    let bursts = [(); 2].map(|()| {
        rig.now = rig.now + Nanos::from_millis(5);
        rig.send(&mut player, 1_000)
    });
    assert!(bursts[1].start - bursts[0].end > STEP);
    let is_done = (0..CALLS_MAX).any(|_| player.play_due(rig.instant(), &mut |_| ()).unwrap());
    assert!(is_done, "{:?}", player.output.written);
    let expected = bursts.map(|burst| Written::Samples(burst.start, 1_000));
    assert_eq!(player.output.written, expected);
}

#[test]
fn call_plays_a_step_of_zeros_or_all_of_them_as_a_hole() {
    for (has_holes, expected) in [(false, &[STEP, STEP, 5][..]), (true, &[2 * STEP + 5])] {
        let (mut rig, receiver) = Rig::new();
        let mut output = Recorded { has_holes, ..Recorded::default() };
        let clock = Some(rig.clock);
        let mut player = Player::new(receiver, clock, Underflow::Zeros, &mut output);
        // A burst that goes on.
        let packet_samples = player.receiver.info().packet_samples.into();
        let sent = rig.send(&mut player, packet_samples);
        let end = rig.clock.instant_of(sent.end);
        assert_eq!(play(&mut player, sent.start, end), [packet_samples]);
        let long_after = rig.clock.instant_of(sent.end + 2 * STEP + 5);
        assert_eq!(play(&mut player, sent.end, long_after), expected);
        assert_eq!(player.counts().underrun_samples, 2 * STEP + 5);
    }
}
