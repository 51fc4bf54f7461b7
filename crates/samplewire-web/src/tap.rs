//! The program's end: passes a stream to the page without waiting for it.
//!
//! Per block the tap counts indexes and checks whether the page wants samples. It copies one
//! contiguous run per requested frame, at most 256 KiB, and skips all other samples; a page that
//! wants every sample requests as many runs. A gap discards a run that is not complete: no run
//! spans a gap.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rtrb::{Consumer, Producer};
use samplewire::receiver::ReceiverSnapshot;
use samplewire::{DeviceInfo, SampleIndex, TaiClock};
use samplewire_record::account::Account;
use samplewire_record::sigmf::{HostDrops, RecordedGap};

use crate::account::{Event, GapEntry};
use crate::control::OrderExecutor;
use crate::source::{Boot, Counters, Shared, boot_id_of, lock};

/// Passes the samples and gaps of a stream, or of aligned streams, to a page.
///
/// A call waits only while the page's thread reads the account, and then only when 1,024 gaps
/// have arrived, or a frame with a gap before it is complete.
#[derive(Debug)]
pub struct Tap {
    shared: Arc<Shared>,
    lanes: Vec<LaneTap>,
    account: Account,
    /// Carries out what pages want done, in each call.
    executor: OrderExecutor,
    /// The number of indexes of the device's earlier runs.
    before: u64,
    events: Vec<Event>,
    published: Instant,
    /// Whether the page has not seen the latest counts.
    is_stale: bool,
}

/// The streams of a tap.
#[derive(Debug)]
pub(crate) struct LaneTap {
    pub(crate) frame_bytes: usize,
    /// Buffers that the page wants filled.
    pub(crate) wanted: Consumer<Run>,
    /// Filled buffers.
    pub(crate) filled: Producer<Run>,
    pub(crate) current: Option<Run>,
    /// The centre frequency in hertz of the next block; not a number if it is not known.
    pub(crate) centre_hz: f64,
    /// The time of each index, if the stream has one.
    pub(crate) tai_clock: Option<TaiClock>,
}

/// Contiguous samples of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Run {
    /// Where the first sample stands.
    pub(crate) place: SamplePlace,
    /// The number of samples that the page wants.
    pub(crate) len_samples: usize,
    /// The samples as on the wire.
    pub(crate) bytes: Vec<u8>,
    /// The centre frequency in hertz at the first sample; not a number if it is not known.
    pub(crate) centre_hz: f64,
    /// The time of the first sample in TAI nanoseconds, if the stream has one.
    pub(crate) tai_ns: Option<u64>,
    /// The indexes between two runs; 0 where the viewer's frame rate sets them.
    pub(crate) row_samples: u64,
}

/// Where a sample stands in its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SamplePlace {
    pub(crate) index: SampleIndex,
    /// The number of indexes before it, over all runs of the device.
    pub(crate) position: u64,
    /// The number of the device's run, or of the session, from 1.
    pub(crate) boot: u32,
    /// The number of gaps before it.
    pub(crate) gaps_before: u64,
    /// Samples delivered before it.
    pub(crate) delivered_before: u64,
}

impl SamplePlace {
    /// The position `samples` later, without a gap.
    pub(crate) const fn after(self, samples: u64) -> Self {
        Self {
            index: self.index + samples,
            position: self.position.saturating_add(samples),
            delivered_before: self.delivered_before + samples,
            ..self
        }
    }

    /// Whether both are the same index of the same run.
    pub(crate) const fn is_at(self, other: Self) -> bool {
        self.boot == other.boot && self.index == other.index
    }
}

/// The part of a block that is in no run yet.
struct Rest<'a> {
    place: SamplePlace,
    bytes: &'a [u8],
}

/// Samples of a recording, for [`Tap::show`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) place: SamplePlace,
    pub(crate) bytes: &'a [u8],
    pub(crate) row_samples: u64,
    pub(crate) centre_hz: f64,
    /// The time of the first sample in TAI nanoseconds, if it is known.
    pub(crate) tai_ns: Option<u64>,
}

impl Tap {
    pub(crate) fn new(shared: Arc<Shared>, lanes: Vec<LaneTap>, first: SampleIndex) -> Self {
        Self {
            shared,
            lanes,
            account: Account::new(first, None),
            executor: OrderExecutor::default(),
            before: 0,
            events: Vec::with_capacity(EVENTS_MAX),
            published: Instant::now(),
            is_stale: true,
        }
    }

    /// Passes a block without a gap: the samples of each stream from `index` on, as on the wire.
    pub fn samples<'a>(&mut self, index: SampleIndex, streams: impl IntoIterator<Item = &'a [u8]>) {
        self.obey();
        let place = self.place(index);
        for (at, bytes) in streams.into_iter().enumerate().take(self.lanes.len()) {
            if at == 0 {
                let len = bytes.len() / self.lanes[at].frame_bytes;
                Self::count(&mut self.account, &mut self.events, self.before, index, len);
                self.executor.open(index, len);
            }
            self.executor.put(self.lanes[at].frame_bytes, bytes);
            let mut rest = Rest { place, bytes };
            // Ends: a run that is complete takes a sample at least.
            while let Some(run) = self.lanes[at].take(&mut rest) {
                // The page lists the gaps before a run with the run.
                self.publish(!self.events.is_empty());
                self.complete(at, run);
            }
        }
        self.executor.end_if_over(self.account.range().end);
        self.publish_if_due(Instant::now());
    }

    /// Where the next sample stands, which has this index.
    pub(crate) fn place(&self, index: SampleIndex) -> SamplePlace {
        let passed = index.saturating_sub(self.account.range().start);
        SamplePlace {
            index,
            position: self.before.saturating_add(passed),
            boot: self.account.boots(),
            gaps_before: self.account.gaps(),
            delivered_before: self.account.delivered(),
        }
    }

    /// Carries out what pages want done.
    fn obey(&mut self) {
        self.executor.obey(&self.shared, self.account.range().end);
    }

    /// Passes a run to the page.
    fn complete(&mut self, at: usize, run: Run) {
        // There is room: the page owns one run for each place.
        if self.lanes[at].filled.push(run).is_ok() {
            self.shared.notify.notify_one();
        }
    }

    /// Counts samples that are not shown.
    pub(crate) fn count_samples(&mut self, index: SampleIndex, len: u64) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Self::count(&mut self.account, &mut self.events, self.before, index, len);
        if self.events.len() + 2 >= EVENTS_MAX {
            self.publish(true);
        }
    }

    /// Returns how many samples the page wants to show, if any.
    pub(crate) fn wanted(&mut self) -> Option<usize> {
        let lane = self.lanes.first_mut()?;
        if lane.current.is_none() {
            lane.current = lane.wanted.pop().ok();
        }
        lane.current.as_ref().map(|run| run.len_samples)
    }

    /// Shows samples that were counted before, if the page wants some.
    pub(crate) fn show(&mut self, shown: Shown<'_>) {
        let Some(lane) = self.lanes.first_mut() else { return };
        let Some(mut run) = lane.current.take() else { return };
        run.bytes.clear();
        run.bytes.extend_from_slice(&shown.bytes[..shown.bytes.len().min(RUN_BYTES_MAX)]);
        (run.place, run.row_samples) = (shown.place, shown.row_samples);
        (run.centre_hz, run.tai_ns) = (shown.centre_hz, shown.tai_ns);
        self.complete(0, run);
    }

    /// Returns the position that a page has requested since the last call, if any.
    pub(crate) fn sought(&self) -> Option<u64> {
        self.shared.take_sought()
    }

    /// Counts samples of a block.
    fn count(
        account: &mut Account,
        events: &mut Vec<Event>,
        before: u64,
        index: SampleIndex,
        len: usize,
    ) {
        let range = account.range();
        if let Some(jump) = index.checked_sub(range.end).filter(|&jump| jump > 0) {
            let position = before.saturating_add(range.end - range.start);
            events.push(Event::Excluded { position, len: jump });
        }
        account.take_samples(index, len);
    }

    /// Passes a gap. `is_held_up`: see [`samplewire_record::account::Hops::add`].
    pub fn gap(&mut self, gap: &RecordedGap, is_held_up: bool) {
        if gap.count() == 0 {
            return;
        }
        self.obey();
        for lane in &mut self.lanes {
            lane.restart();
        }
        let range = self.account.range();
        let position = self.before.saturating_add(range.end - range.start);
        let jump = gap.first.saturating_sub(range.end);
        if jump > 0 {
            self.events.push(Event::Excluded { position, len: jump });
        }
        let number = self.account.gaps();
        // The account states how much of the gap this host dropped.
        let Some(taken) = self.account.take_gap(gap, is_held_up) else { return };
        self.executor.gap(&taken);
        self.executor.end_if_over(self.account.range().end);
        let entry = GapEntry::new(taken, is_held_up, number, self.account.boots());
        self.events.push(Event::Gap { entry, position: position.saturating_add(jump) });
        self.is_stale = true;
        // Each call adds two events at most.
        if self.events.len() + 2 >= EVENTS_MAX {
            self.publish(true);
        }
        self.publish_if_due(Instant::now());
    }

    /// Passes what the host has dropped of the stream since it began, before the gap that it may
    /// explain: see [`Account::note_host_drops`]. A later, better count replaces this one.
    pub fn host_drops(&mut self, drops: HostDrops) {
        self.account.note_host_drops(drops);
        self.is_stale = true;
        self.publish_if_due(Instant::now());
    }

    /// Continues at `first` of another run of the device, or of another session. Its run and
    /// time are not known until [`Self::set_device`].
    pub fn restart_at(&mut self, first: SampleIndex) {
        self.executor.end("the device restarted");
        *lock(&self.shared.ended) = None;
        self.shared.orders.reopen();
        if self.has_begun() {
            let range = self.account.range();
            self.before = self.before.saturating_add(range.end - range.start);
            self.account.restart_at(first);
        } else {
            self.account = Account::new(first, None);
        }
        self.set_boot(None);
        for lane in &mut self.lanes {
            lane.restart();
            lane.tai_clock = None;
        }
        self.pass_time();
    }

    /// Whether a run of the device is known, or an index was counted.
    fn has_begun(&self) -> bool {
        self.shared.boot().id.is_some() || self.before > 0 || !self.account.range().is_empty()
    }

    fn set_boot(&self, id: Option<u64>) {
        self.shared.set_boot(Boot { number: self.account.boots(), id });
    }

    /// Sets the run, the centre frequencies and the times that a device states, from the next
    /// sample on. Recordings of the page note them.
    pub fn set_device<'a>(&mut self, infos: impl IntoIterator<Item = &'a DeviceInfo>) {
        let mut is_changed = false;
        for (stream, info) in infos.into_iter().enumerate() {
            self.set_boot(boot_id_of(info));
            let centre_hz = info.centre_frequency_hz.unwrap_or(f64::NAN);
            is_changed |= self.change_centre_hz(stream, centre_hz);
            if let Some(lane) = self.lanes.get_mut(stream) {
                lane.tai_clock = info.tai_clock();
            }
        }
        self.pass_time();
        if is_changed {
            self.executor.tune(self.shared.centre_hz());
        }
    }

    /// Sets the centre frequency of the samples that follow; not a number if it is not known. A
    /// change begins a capture segment in a recording that is under way.
    pub fn set_centre_hz(&mut self, stream: usize, hz: f64) {
        if self.change_centre_hz(stream, hz) {
            self.executor.tune(self.shared.centre_hz());
        }
    }

    /// Returns whether it is another value.
    fn change_centre_hz(&mut self, stream: usize, hz: f64) -> bool {
        let (Some(shared), Some(lane)) =
            (self.shared.lanes.get(stream), self.lanes.get_mut(stream))
        else {
            return false;
        };
        if lane.centre_hz.to_bits() == hz.to_bits() {
            return false;
        }
        shared.set_centre_hz(hz);
        lane.restart();
        lane.centre_hz = hz;
        true
    }

    /// Sets the time of the samples that follow, for each stream; `None` if it is not known.
    pub fn set_tai_clocks(&mut self, clocks: impl IntoIterator<Item = Option<TaiClock>>) {
        for (lane, clock) in self.lanes.iter_mut().zip(clocks) {
            lane.tai_clock = clock;
        }
        self.pass_time();
    }

    /// Passes the time of the first stream to recordings of the page: all streams have the same indexes.
    fn pass_time(&mut self) {
        self.executor.set_tai_clock(self.lanes.first().and_then(|lane| lane.tai_clock));
    }

    /// Publishes counters of the receiver, for example every 20 ms.
    pub fn counters(&mut self, snapshot: &ReceiverSnapshot) {
        self.obey();
        match &mut *lock(&self.shared.counters) {
            Counters::Passed(last) => **last = *snapshot,
            other => *other = Counters::Passed(Box::new(*snapshot)),
        }
        self.publish_if_due(Instant::now());
    }

    /// Sets where the page reads the counters.
    pub fn count_by(&mut self, counters: Counters) {
        *lock(&self.shared.counters) = counters;
    }

    /// Reports the end of the stream, in words.
    pub fn end(&mut self, words: &str) {
        self.shared.orders.close();
        self.executor.end(words);
        self.publish(true);
        *lock(&self.shared.ended) = Some(words.to_owned());
    }

    /// Whether a page has ended the stream: the program then closes it. Recordings of the page are
    /// over.
    pub const fn is_ending(&self) -> bool {
        self.executor.is_ending()
    }

    /// The account of all indexes so far.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    fn publish_if_due(&mut self, now: Instant) {
        if self.is_stale || now.saturating_duration_since(self.published) >= PUBLISH_PERIOD {
            self.publish(false);
            self.published = now;
        }
    }

    /// Updates the account that the page reads. Without `waits`, it does nothing while the page's
    /// thread reads it.
    fn publish(&mut self, waits: bool) {
        let range = self.account.range();
        let end = self.before.saturating_add(range.end - range.start);
        let ledger = if waits { Some(lock(&self.shared.ledger)) } else { self.shared.try_ledger() };
        let Some(mut ledger) = ledger else { return };
        ledger.update(&self.account, end, self.events.drain(..));
        self.is_stale = false;
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.shared.orders.close();
        self.executor.end("the program closed the stream");
        self.publish(true);
        lock(&self.shared.ended).get_or_insert_with(|| "the program closed the stream".to_owned());
        self.shared.notify.notify_one();
    }
}

impl LaneTap {
    /// Copies what a wanted run needs of a block; returns the run when it is complete.
    fn take(&mut self, rest: &mut Rest<'_>) -> Option<Run> {
        let mut run = match self.current.take() {
            Some(run) => run,
            None => self.wanted.pop().ok()?,
        };
        let taken = run.bytes.len() / self.frame_bytes;
        if taken == 0 || !run.place.after(taken as u64).is_at(rest.place) {
            run.bytes.clear();
            (run.place, run.centre_hz) = (rest.place, self.centre_hz);
            run.tai_ns = self.tai_clock.map(|clock| clock.tai_ns(rest.place.index));
        }
        let left_bytes = (run.len_samples * self.frame_bytes).min(RUN_BYTES_MAX) - run.bytes.len();
        let whole = left_bytes.min(rest.bytes.len()) / self.frame_bytes * self.frame_bytes;
        run.bytes.extend_from_slice(&rest.bytes[..whole]);
        rest.bytes = &rest.bytes[whole..];
        rest.place = rest.place.after((whole / self.frame_bytes) as u64);
        if left_bytes - whole >= self.frame_bytes {
            self.current = Some(run);
            return None;
        }
        Some(run)
    }

    /// Discards a run that is not complete.
    fn restart(&mut self) {
        if let Some(run) = &mut self.current {
            run.bytes.clear();
        }
    }
}

/// Bytes that are copied for one frame.
pub(crate) const RUN_BYTES_MAX: usize = 256 << 10;

/// Gaps and jumps that wait for the page's thread.
const EVENTS_MAX: usize = 1_024;

/// How often the page's account is updated without an event.
const PUBLISH_PERIOD: Duration = Duration::from_millis(50);
