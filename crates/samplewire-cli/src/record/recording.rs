//! The loop of a recording: from the receiver into the sink, until something stops it.

use std::time::{Duration, Instant};

use samplewire::receiver::{AlignedItem, Interleaved, ReceiverSnapshot, Stalls, StreamGap};
use samplewire::sigmf::{RecordedCause, RecordedGap};
use samplewire::sink::{SinkError, Writer};
use samplewire::{Block, DeviceInfo};
use samplewire_proto::Cause;

use super::reporter::{Reporter, Silence};
use super::sessions::Seam;
use super::stop::Stop;
use super::watch::Watch;
use crate::cadence::Cadence;
use crate::figures::span;
use crate::hops::HeldUp;
use crate::interrupt::{Interrupt, STOP_PAUSE};
use crate::lanes::{silence, total};
use samplewire::account::Account;

/// A recording under way.
pub(super) struct Recording<'a> {
    pub(super) writer: &'a mut Writer,
    /// Whether what is written goes to a disk.
    has_disk: bool,
    pub(super) reporter: &'a mut Reporter,
    pub(super) interrupt: &'a Interrupt,
    watch: Watch,
    pub(super) account: Account,
    pub(super) started: Instant,
    pub(super) duration: Option<Duration>,
    /// How long no samples may come; `None` leaves it to the protocol.
    pub(super) silence: Option<Duration>,
    /// The counters of the sessions before the present one.
    pub(super) before: ReceiverSnapshot,
    /// When samples came last.
    pub(super) heard: Instant,
    /// How long the device had been silent when the recording stopped, where it was.
    pub(super) silent: Option<Duration>,
    held_up: HeldUp,
    /// The same by `queue_stalls`: the sender of one of several streams has no credit either while
    /// another stalls, so there it is what all wait for that counts.
    held_up_by_queue: HeldUp,
    /// When the writer's queue was full in this session.
    queue_stalls: Stalls,
    cadence: Cadence,
    status_cadence: Cadence,
}

impl<'a> Recording<'a> {
    /// A recording of what came since `started`.
    pub(super) fn new(
        (writer, has_disk): (&'a mut Writer, bool),
        (reporter, interrupt): (&'a mut Reporter, &'a Interrupt),
        watch: Watch,
        account: Account,
        started: Instant,
        (duration, silence): (Option<Duration>, Option<Duration>),
    ) -> Self {
        Self {
            writer,
            has_disk,
            reporter,
            interrupt,
            watch,
            account,
            started,
            duration,
            silence,
            before: ReceiverSnapshot::default(),
            heard: started,
            silent: None,
            held_up: HeldUp::new(0.0),
            held_up_by_queue: HeldUp::new(0.0),
            queue_stalls: Stalls::default(),
            cadence: Cadence::new(Duration::from_secs(1), started),
            status_cadence: Cadence::new(STATUS_PERIOD, started),
        }
    }

    /// Takes note that the stream is open: of the gap behind what is there, and of the device's run.
    pub(super) fn join(&mut self, seam: Option<&Seam>, info: &DeviceInfo) -> Result<(), SinkError> {
        if let Some(gap) = seam.and_then(|seam| seam.gap(info)) {
            match self.account.take_gap(&gap, false) {
                Some(gap) => self.gap(&gap)?,
                // Across runs of the device the gap is named also where its length is not known.
                None if gap.is_estimated() => self.gap(&gap)?,
                None => {}
            }
            if gap.is_estimated() {
                self.account.restart_at(info.first_index);
            }
        }
        self.heard = Instant::now();
        self.held_up = HeldUp::new(info.rate_hz());
        self.held_up_by_queue = self.held_up;
        // What the recorder has not taken lies in the windows of both ends.
        self.queue_stalls = Stalls::new(2 * info.window, info.packet_samples);
        self.writer.session(info.boot_id)
    }

    /// Takes note that the recording stopped while there was no stream.
    pub(super) fn stopped_without_stream(&mut self) {
        self.silent = Some(self.heard.elapsed());
    }

    /// Takes note that a session is over; up to its end all counted this.
    pub(super) fn close(&mut self, counted: ReceiverSnapshot) {
        self.before = counted;
        self.watch.close();
    }

    /// Tells people that the stream is gone and is opened anew.
    pub(super) fn lost(&mut self, stop: &Stop) {
        if let Some(console) = self.reporter.words() {
            console.line(format_args!("lost: {}; opening the stream anew", stop.words()));
        }
    }

    /// Tells people that the stream is there again.
    pub(super) fn found(&mut self, info: &DeviceInfo) {
        if let Some(console) = self.reporter.words() {
            let silence = span(self.heard.elapsed().as_secs_f64());
            let first_index = info.first_index;
            console.line(format_args!("opened anew: from index {first_index}, {silence} later"));
        }
    }

    /// The seam between what came so far of `info` and what comes from this moment on.
    pub(super) fn seam(&self, info: &DeviceInfo) -> Seam {
        Seam {
            next_index: self.account.range().end,
            boot_id: Some(info.boot_id),
            cause: RecordedCause::Reconnected,
            silence: self.heard.elapsed(),
        }
    }

    /// Records until something stops it.
    pub(super) fn run(&mut self, receiver: &mut Interleaved) -> Stop {
        self.watch.follow(receiver);
        loop {
            let now = Instant::now();
            let stop = self.turn(receiver, now);
            self.watch.tell(&self.account, now, stop.is_some());
            if let Some(stop) = stop {
                self.silent = silence(&self.counted(receiver));
                return stop;
            }
            if self.cadence.is_due(now) {
                let snapshot = self.counted(receiver);
                self.reporter.interval(now - self.started, &self.account, &snapshot);
            }
            if self.status_cadence.is_due(now) {
                let snapshot = self.counted(receiver);
                let silence = silence(&snapshot).map(|silent| Silence {
                    silent,
                    left: self.left_of_silence(silent, now, &snapshot),
                });
                let (elapsed, duration) = (now - self.started, self.duration);
                self.reporter.status((elapsed, duration), &self.account, &snapshot, silence);
            }
        }
    }

    /// Whether something stops the recording that is not in the stream.
    pub(super) fn due(&mut self, now: Instant) -> Option<Stop> {
        if let Some(signal) = self.interrupt.stop_signal(self.reporter.console()) {
            return Some(Stop::Signal(signal));
        }
        let is_over = self.duration.is_some_and(|duration| self.started + duration <= now);
        is_over.then_some(Stop::Duration)
    }

    /// The counters of all streams and all sessions.
    fn counted(&self, receiver: &Interleaved) -> ReceiverSnapshot {
        let snapshots = receiver.stats().map(|(snapshot, _)| snapshot);
        total(snapshots, receiver.port_stats()).after(&self.before)
    }

    /// How much longer a silence may last before the device is given up.
    fn left_of_silence(
        &self,
        silent: Duration,
        now: Instant,
        snapshot: &ReceiverSnapshot,
    ) -> Duration {
        let left = Duration::from_nanos(snapshot.dead_after_ns).saturating_sub(silent);
        let by_option = self.silence.map(|silence| silence.saturating_sub(now - self.heard));
        by_option.map_or(left, |by_option| by_option.min(left))
    }

    fn turn(&mut self, receiver: &mut Interleaved, now: Instant) -> Option<Stop> {
        if let Some(stop) = self.due(now) {
            return Some(stop);
        }
        let left = self.duration.map(|duration| self.started + duration - now);
        let pause = left.map_or(PAUSE_MAX, |left| left.min(PAUSE_MAX));
        if !self.writer.has_room() {
            self.heard = now;
            std::thread::sleep(FULL_PAUSE);
            let lasted_ns = u64::try_from(now.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.queue_stalls.note(self.account.range().end, lasted_ns);
            return None;
        }
        match receiver.next_within(pause) {
            Ok(Some(item)) => {
                self.heard = now;
                if let Err(error) = self.take(item, receiver) {
                    return Some(Stop::of_sink(error));
                }
                self.account.is_full().then_some(Stop::Samples)
            }
            Ok(None) => {
                let silence = self.silence.filter(|silence| now - self.heard > *silence);
                silence.map(Stop::Silence)
            }
            Err(error) => Some(Stop::of_streams(error, receiver.infos().len() > 1)),
        }
    }

    /// Accounts for what has come and has it written.
    fn take(&mut self, item: AlignedItem<Block>, receiver: &Interleaved) -> Result<(), SinkError> {
        let block = match item {
            AlignedItem::Samples(block) => block,
            AlignedItem::Gap(StreamGap { stream, gap }) => {
                let stream = (receiver.infos().len() > 1).then_some(stream);
                let gap = RecordedGap { stream, ..RecordedGap::from(&gap) };
                // A stream that was opened again may begin before what is there.
                let Some(gap) = self.account.ahead(&gap) else { return Ok(()) };
                let is_held_up = self.held_up.before(&gap, || receiver.stalls())
                    || stream.is_some() && self.held_up_by_queue.before(&gap, || self.queue_stalls);
                let gap = if is_held_up && self.has_disk { of_disk(gap) } else { gap };
                let taken = self.account.take_gap(&gap, is_held_up);
                return taken.map_or(Ok(()), |gap| self.gap(&gap));
            }
        };
        let overlap = self.account.overlap(block.index(), block.len());
        let index = block.index() + overlap as u64;
        let count = self.account.take_samples(index, block.len() - overlap);
        if count > 0 {
            let frame_bytes = block.bytes().len() / block.len();
            let bytes = overlap * frame_bytes..(overlap + count) * frame_bytes;
            self.writer.samples(block, index, bytes)?;
        }
        Ok(())
    }

    fn gap(&mut self, gap: &RecordedGap) -> Result<(), SinkError> {
        self.reporter.gap(gap);
        self.writer.gap(gap)
    }
}

/// What the source lost while the file held the stream up is the disk's.
const fn of_disk(gap: RecordedGap) -> RecordedGap {
    match gap.cause {
        RecordedCause::Stream(Cause::SourceOverflow) => {
            RecordedGap { cause: RecordedCause::DiskBehind, ..gap }
        }
        _ => gap,
    }
}

/// How long to wait for room in the writer's queue: less than the receiver's memory holds.
const FULL_PAUSE: Duration = Duration::from_micros(200);

/// The longest that an interruption waits to be seen.
const PAUSE_MAX: Duration = STOP_PAUSE;

/// How often the status line is rewritten; a log gets a line each time.
const STATUS_PERIOD: Duration = Duration::from_secs(1);
