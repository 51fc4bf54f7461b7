//! A stream of the page: what the tap and the page's thread share, and the page's end of the runs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use rtrb::{Consumer, Producer, RingBuffer};
use samplewire::receiver::{self, ReceiverSnapshot};
use samplewire::source::StreamInfo;
use samplewire::transmitter::{self, TransmitterSnapshot};
use samplewire::{DeviceInfo, SampleIndex, TaiClock};
use tokio::sync::Notify;

use crate::account::Ledger;
use crate::control::{Orders, RecordingProgress};
use crate::tap::{LaneTap, RUN_BYTES_MAX, Run, Tap};

/// The constant description of a source: one stream, or several aligned ones.
#[derive(Clone, Debug)]
pub struct About {
    /// What the program does, for example `record`.
    pub verb: String,
    /// Where the samples come from.
    pub origin: String,
    /// The streams.
    pub streams: Vec<StreamInfo>,
    /// What becomes of the samples here.
    pub role: Role,
    /// The gaps that the page lists: of a stream the latest, [`Ledger::GAPS_MAX`](crate::Ledger::GAPS_MAX).
    pub gaps_max: usize,
    /// The first fault of a recording that is not proven.
    pub fault: Option<String>,
    /// The device's numbers of the streams, if they come from one.
    pub numbers: Vec<u16>,
    /// The time of each stream's indexes at the beginning; a stream that is not listed has none.
    pub tai_clocks: Vec<Option<TaiClock>>,
    /// The device's run at the beginning, if the streams come from one.
    pub boot_id: Option<u64>,
}

impl About {
    /// Describes a source.
    pub fn new(verb: &str, streams: &[StreamInfo]) -> Self {
        Self {
            verb: verb.to_owned(),
            origin: String::new(),
            streams: streams.to_vec(),
            role: Role::Received,
            gaps_max: Ledger::GAPS_MAX,
            fault: None,
            numbers: Vec::new(),
            tai_clocks: Vec::new(),
            boot_id: None,
        }
    }

    /// Describes the streams that a device sends.
    pub fn device<'a>(verb: &str, infos: impl IntoIterator<Item = &'a DeviceInfo>) -> Self {
        let mut about = Self::new(verb, &[]);
        for info in infos {
            about.origin = info.address.to_string();
            about.streams.push(info.stream_info());
            about.numbers.push(info.stream);
            about.tai_clocks.push(info.tai_clock());
            about.boot_id = boot_id_of(info);
        }
        about
    }
}

/// The device's run, if it is known.
pub(crate) fn boot_id_of(info: &DeviceInfo) -> Option<u64> {
    Some(info.boot_id).filter(|&boot_id| boot_id != 0)
}

/// What becomes of the samples of a source in this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// They arrive.
    Received,
    /// They depart. A gap is what found no room before it.
    Sent,
    /// They are read from a recording, in which a page can seek.
    Recording,
}

impl Role {
    /// The word in the account.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Sent => "sent",
            Self::Recording => "recording",
        }
    }
}

/// Where the page reads the counters of a source.
#[derive(Clone, Debug, Default)]
pub enum Counters {
    /// There are none.
    #[default]
    None,
    /// The latest that the program passed.
    Passed(Box<ReceiverSnapshot>),
    /// Of a receiver, at each request.
    Receiver(receiver::StatsHandle),
    /// Of a sender, at each request.
    Sender(transmitter::StatsHandle),
}

/// Counters at one moment.
#[derive(Clone, Debug)]
pub(crate) enum Counted {
    Receiver(Box<ReceiverSnapshot>),
    Sender(Box<TransmitterSnapshot>),
}

impl Counters {
    pub(crate) fn read(&self) -> Option<Counted> {
        match self {
            Self::None => None,
            Self::Passed(snapshot) => Some(Counted::Receiver(snapshot.clone())),
            Self::Receiver(handle) => Some(Counted::Receiver(Box::new(handle.stats()))),
            Self::Sender(handle) => Some(Counted::Sender(Box::new(handle.stats()))),
        }
    }
}

/// What the tap and the page's thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) ledger: Mutex<Ledger>,
    pub(crate) counters: Mutex<Counters>,
    /// Why the stream ended, once it has.
    pub(crate) ended: Mutex<Option<String>>,
    pub(crate) lanes: Vec<LaneShared>,
    /// The position that a page requests; `u64::MAX` for none.
    sought: AtomicU64,
    boot: Mutex<Boot>,
    /// What pages want done.
    pub(crate) orders: Orders,
    /// The latest recordings that pages started, oldest first.
    recordings: Mutex<VecDeque<Arc<RecordingProgress>>>,
    /// Wakes the page's thread: a run is complete.
    pub(crate) notify: Arc<Notify>,
}

/// A run of the device, or a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Boot {
    /// Its number, from 1.
    pub(crate) number: u32,
    /// The device's own number of it, if it is known.
    pub(crate) id: Option<u64>,
}

/// The variable description of a stream.
#[derive(Debug)]
pub(crate) struct LaneShared {
    centre_hz_bits: AtomicU64,
}

impl LaneShared {
    /// The centre frequency in hertz; not a number if it is not known.
    pub(crate) fn centre_hz(&self) -> f64 {
        // Relaxed: the value stands alone.
        f64::from_bits(self.centre_hz_bits.load(Ordering::Relaxed))
    }

    pub(crate) fn set_centre_hz(&self, hz: f64) {
        // Relaxed: as above.
        self.centre_hz_bits.store(hz.to_bits(), Ordering::Relaxed);
    }
}

impl Shared {
    /// Requests a position. Only a recording has others than the present one.
    pub(crate) fn seek(&self, position: u64) {
        // Relaxed: the value stands alone.
        self.sought.store(position, Ordering::Relaxed);
    }

    /// See [`Tap::sought`].
    pub(crate) fn take_sought(&self) -> Option<u64> {
        // Relaxed: as above.
        let position = self.sought.swap(u64::MAX, Ordering::Relaxed);
        (position != u64::MAX).then_some(position)
    }

    /// The device's present run.
    pub(crate) fn boot(&self) -> Boot {
        *lock(&self.boot)
    }

    pub(crate) fn set_boot(&self, boot: Boot) {
        *lock(&self.boot) = boot;
    }

    /// The centre frequency in hertz of all streams; `None` if it is not known, or if they differ.
    pub(crate) fn centre_hz(&self) -> Option<f64> {
        let first = self.lanes.first()?.centre_hz();
        let is_common = self.lanes.iter().all(|lane| lane.centre_hz().to_bits() == first.to_bits());
        Some(first).filter(|hz| hz.is_finite() && is_common)
    }

    /// Lists a recording that a page has started.
    pub(crate) fn list_recording(&self, progress: &Arc<RecordingProgress>) {
        let mut recordings = lock(&self.recordings);
        if recordings.len() >= RECORDINGS_MAX {
            recordings.pop_front();
        }
        recordings.push_back(Arc::clone(progress));
    }

    /// The latest recordings that pages started, oldest first.
    pub(crate) fn recordings(&self) -> Vec<Arc<RecordingProgress>> {
        lock(&self.recordings).iter().cloned().collect()
    }

    /// Returns the account unless the page's thread reads it.
    pub(crate) fn try_ledger(&self) -> Option<MutexGuard<'_, Ledger>> {
        match self.ledger.try_lock() {
            Ok(ledger) => Some(ledger),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// The page's end of a source.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) about: About,
    pub(crate) shared: Arc<Shared>,
    pub(crate) lanes: Vec<Lane>,
}

/// The page's end of a stream.
#[derive(Debug)]
pub(crate) struct Lane {
    wanted: Producer<Run>,
    filled: Consumer<Run>,
    /// Buffers that the tap does not hold.
    spare: Vec<Run>,
}

impl Source {
    /// Creates both ends of a source whose agreed first index is `first`, with so many buffers for each
    /// stream.
    pub(crate) fn new(
        about: About,
        first: SampleIndex,
        buffers: usize,
        notify: Arc<Notify>,
    ) -> (Self, Tap) {
        let (mut lanes, mut taps, mut shared) = (Vec::new(), Vec::new(), Vec::new());
        for (stream, info) in about.streams.iter().enumerate() {
            let (wanted, wanted_out) = RingBuffer::new(buffers);
            let (filled, filled_out) = RingBuffer::new(buffers);
            let frame_bytes = info.frame_bytes();
            let centre_hz = info.centre_frequency_hz.unwrap_or(f64::NAN);
            taps.push(LaneTap {
                frame_bytes,
                wanted: wanted_out,
                filled,
                current: None,
                centre_hz,
                tai_clock: about.tai_clocks.get(stream).copied().flatten(),
            });
            let spare = vec![Run::default(); buffers];
            lanes.push(Lane { wanted, filled: filled_out, spare });
            shared.push(LaneShared { centre_hz_bits: AtomicU64::new(centre_hz.to_bits()) });
        }
        let shared = Arc::new(Shared {
            ledger: Mutex::new(Ledger::new(first, about.gaps_max)),
            counters: Mutex::default(),
            ended: Mutex::default(),
            lanes: shared,
            sought: AtomicU64::new(u64::MAX),
            boot: Mutex::new(Boot { number: 1, id: about.boot_id }),
            orders: Orders::default(),
            recordings: Mutex::default(),
            notify,
        });
        let tap = Tap::new(Arc::clone(&shared), taps, first);
        (Self { about, shared, lanes }, tap)
    }
}

impl Lane {
    /// Requests runs of `len_samples`, one for each buffer that is not under way. Waits for half of the
    /// buffers: runs that are requested together follow each other.
    pub(crate) fn request(&mut self, len_samples: usize) {
        if self.spare.len() < self.wanted.buffer().capacity() / 2 {
            return;
        }
        for mut run in self.spare.drain(..) {
            run.bytes.clear();
            if run.bytes.capacity() == 0 {
                run.bytes.reserve_exact(RUN_BYTES_MAX);
            }
            run.len_samples = len_samples;
            self.wanted.push(run).expect("there is room for all buffers");
        }
    }

    /// Whether a run is complete.
    pub(crate) fn is_filled(&self) -> bool {
        !self.filled.is_empty()
    }

    /// Returns a complete run. Give it back to [`Lane::give_back`].
    pub(crate) fn next(&mut self) -> Option<Run> {
        self.filled.pop().ok()
    }

    pub(crate) fn give_back(&mut self, run: Run) {
        self.spare.push(run);
    }
}

/// Recordings that are listed.
const RECORDINGS_MAX: usize = 8;

/// Locks a mutex, even after a panic: no guarded data is ever half written.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
