//! The recording loop: receives a device's streams and writes them into a sink until it stops.
//!
//! A [`Recorder`] accounts for every index once, as a sample or in a gap with its cause. It opens a
//! lost stream again, and can continue an existing recording
//! ([`resumable`](crate::sink::resumable)). It finds out which losses the program or the disk
//! caused. It neither opens nor finishes the sink.
//!
//! ```
//! use std::time::Instant;
//!
//! use samplewire::source::{CounterSource, ReadSamples};
//! use samplewire::transmitter::Overflow;
//! use samplewire_record::recorder::{
//!     Observer, OptionsOpener, Recorder, RecorderOptions, Stop, open_first,
//! };
//! use samplewire_record::sink::{self, SinkOptions, Writer};
//!
//! struct Quiet;
//! impl Observer for Quiet {}
//!
//! let mut source = CounterSource::new(1e6, 0)?;
//! let mut device = samplewire::device().sends(source.info().clone()).listen("127.0.0.1:0")?;
//! let address = device.address;
//! let sending = std::thread::spawn(move || {
//!     let mut stream = device.accept().expect("a receiver comes");
//!     let start = Instant::now();
//!     stream.play(&mut source, Overflow::Wait, || start.elapsed().as_millis() > 100)
//! });
//!
//! let opener = OptionsOpener { options: samplewire::receive(), address };
//! let receiver = open_first(&opener, None, false)?;
//! let stream = receiver.info().stream_info();
//! let mut writer = Writer::start(sink::open("null".as_ref(), &stream, &SinkOptions::new())?, 64)?;
//! let options = RecorderOptions::new(Instant::now()).samples(Some(50_000));
//! let mut quiet = Quiet;
//! let recorder = Recorder::new(options, receiver.info(), &mut writer, &mut quiet);
//! let recorded = recorder.run(&opener, receiver);
//!
//! assert!(matches!(recorded.stop, Stop::Samples));
//! assert_eq!(writer.finish().0.samples, 50_000);
//! # drop(sending.join());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attribution;
mod observer;
mod opener;
mod options;
mod resume;
mod stop;
mod turn;

use std::time::{Duration, Instant};

use samplewire::receiver::{Interleaved, PortStats, ReceiverSnapshot};
use samplewire::{DeviceInfo, TaiClock};

pub use observer::{Observer, Progress, Silence};
pub use opener::{Opener, OptionsOpener, open_first, retry_after};
pub use options::RecorderOptions;
pub use stop::{Changed, Stop};

use crate::account::Account;
use crate::counters::{self, StreamCounters, total};
use crate::sigmf::{RecordedCause, RecordedGap};
use crate::sink::{SinkError, Writer};
use attribution::Attribution;
use resume::{Contest, Lost, Resume, check_same};

/// A recording under way.
#[derive(Debug)]
pub struct Recorder<'a, V: ?Sized> {
    options: RecorderOptions,
    writer: &'a mut Writer,
    observer: &'a mut V,
    account: Account,
    /// Where the recording continues, until the stream is open.
    resume: Option<Resume>,
    /// The device's description at the last opening.
    info: DeviceInfo,
    /// Whether it has another centre frequency than before.
    is_tuned: bool,
    /// The device's time of the indexes, as the writer has it.
    tai_clock: Option<TaiClock>,
    /// When it was compared with what the device states.
    timed: Instant,
    /// The counters of the openings before the present one.
    before: ReceiverSnapshot,
    /// When the last samples arrived.
    heard: Instant,
    /// How long the device had been silent when the recording stopped, if it was silent.
    silent: Option<Duration>,
    attribution: Attribution,
}

/// A recording that is over.
#[derive(Debug)]
pub struct Recorded {
    /// Why it stopped.
    pub stop: Stop,
    /// When it stopped.
    pub stopped: Instant,
    /// The account of all indexes.
    pub account: Account,
    /// How long the device had been silent at the stop, if it was. No gap covers its losses then.
    pub silent: Option<Duration>,
    /// How often the stream was opened.
    pub openings: u32,
    /// The device's description at the last opening.
    pub info: DeviceInfo,
    /// The counters of all streams and all openings.
    pub counters: ReceiverSnapshot,
    /// The counters of each stream.
    pub streams: Vec<StreamCounters>,
}

impl<'a, V: Observer + ?Sized> Recorder<'a, V> {
    /// Creates a recorder that writes the streams of `info` to `writer`.
    pub fn new(
        options: RecorderOptions,
        info: &DeviceInfo,
        writer: &'a mut Writer,
        observer: &'a mut V,
    ) -> Self {
        Self {
            account: options.account(info),
            resume: options.found.as_ref().and_then(Resume::behind),
            info: info.clone(),
            is_tuned: false,
            tai_clock: None,
            timed: options.started,
            before: ReceiverSnapshot::default(),
            heard: options.started,
            silent: None,
            attribution: Attribution::default(),
            options,
            writer,
            observer,
        }
    }

    /// Records from `receiver`, and from the later openings of `opener`, until something stops it.
    /// Then it closes the stream.
    ///
    /// # Blocking
    /// Until something stops the recording and the device confirms the end.
    pub fn run<O: Opener>(mut self, opener: &O, mut receiver: Interleaved) -> Recorded {
        let (mut contest, mut openings) = (Contest::default(), 1);
        let (mut streams, mut port) = (Vec::new(), PortStats::default());
        let (stop, stopped) = loop {
            let opened = Instant::now();
            let stop = match self.join() {
                Ok(()) => self.record(&mut receiver),
                Err(error) => Stop::Sink(error),
            };
            // Closing waits until the device confirms.
            let stopped = Instant::now();
            let (session, session_port) = counters::close(receiver);
            (streams, port) = (add(&streams, session), session_port.after(&port));
            self.before = total(streams.iter().map(|it| it.snapshot), port);
            self.observer.closed();
            if !self.options.reconnect || !stop.is_lost() {
                break (stop, stopped);
            }
            let is_taken = stop.is_taken();
            self.observer.lost(stop);
            receiver = match opener::reopen(opener, || self.due(Instant::now())) {
                Ok(receiver) => receiver,
                Err(stop) => {
                    self.silent = Some(self.heard.elapsed());
                    break (stop, Instant::now());
                }
            };
            openings += 1;
            let now = receiver.info();
            if let Err(changed) = check_same(&self.info, now) {
                break (Stop::Changed(changed), Instant::now());
            }
            let is_same_boot = now.boot_id == self.info.boot_id;
            if contest.is_lost_again(Lost { is_taken, lasted: opened.elapsed(), is_same_boot }) {
                break (Stop::Contested, Instant::now());
            }
            self.resume = Some(self.position());
            self.is_tuned = now.centre_frequency_hz != self.info.centre_frequency_hz;
            self.observer.reopened(now, self.heard.elapsed());
            self.info = now.clone();
        };
        Recorded {
            stop,
            stopped,
            account: self.account,
            silent: self.silent,
            openings,
            info: self.info,
            counters: self.before,
            streams,
        }
    }

    /// Notes that the stream is open: the gap after the existing samples, a changed centre frequency,
    /// and the device's run and time.
    fn join(&mut self) -> Result<(), SinkError> {
        if let Some(gap) = self.resume.take().and_then(|resume| resume.gap(&self.info)) {
            match self.account.take_gap(&gap, false) {
                Some(gap) => self.gap(&gap, false)?,
                // Across runs of the device, the gap is recorded even if its length is not known.
                None if gap.is_estimated() => self.gap(&gap, false)?,
                None => {}
            }
            if gap.is_estimated() {
                self.account.restart_at(self.info.first_index);
            }
        }
        self.heard = Instant::now();
        self.attribution = Attribution::new(&self.info, self.options.has_disk);
        if std::mem::take(&mut self.is_tuned) {
            self.writer.tune(self.info.centre_frequency_hz)?;
        }
        self.tai_clock = None;
        self.writer.session(self.info.boot_id)?;
        self.note_time(self.info.tai_clock())
    }

    /// Passes the device's time on, if it is another. All streams of a recording have the same indexes:
    /// it is the first one's.
    fn note_time(&mut self, clock: Option<TaiClock>) -> Result<(), SinkError> {
        self.timed = Instant::now();
        if clock == self.tai_clock {
            return Ok(());
        }
        self.tai_clock = clock;
        self.writer.time(clock)
    }

    /// Returns where the recording stands, for the next opening.
    fn position(&self) -> Resume {
        Resume {
            next_index: self.account.range().end,
            boot_id: Some(self.info.boot_id),
            cause: RecordedCause::Reconnected,
            silence: self.heard.elapsed(),
        }
    }

    fn gap(&mut self, gap: &RecordedGap, is_held_up: bool) -> Result<(), SinkError> {
        self.observer.gap(gap, is_held_up);
        self.writer.gap(gap)
    }
}

/// Adds the counters of one session to `before`, the counters of the earlier openings.
fn add(before: &[StreamCounters], session: Vec<StreamCounters>) -> Vec<StreamCounters> {
    let streams = session.into_iter().enumerate();
    streams.map(|(at, it)| before.get(at).map_or(it, |before| before.and(&it))).collect()
}

/// The longest wait between two checks for a stop: a stop begins within 100 ms.
const STOP_PAUSE: Duration = Duration::from_millis(50);
