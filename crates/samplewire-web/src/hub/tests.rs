//! Frames on virtual time, without a server.

use samplewire::source::StreamInfo;
use samplewire::{Cause, Format};
use samplewire_blocks::Complex32;
use samplewire_blocks::kernels::Oscillator;
use samplewire_record::account::Hop;
use samplewire_record::sigmf::{HostDrops, RecordedCause, RecordedGap};

mod day;

use super::viewer::UNSEEN_MAX;
use super::*;
use crate::frame::Frame;
use crate::source::{Lane, lock};
use crate::state::hop_position;
use crate::tap::{RUN_BYTES_MAX, SamplePlace, Shown};

const RATE_HZ: f64 = 1e6;
const BINS: u32 = 1_024;

/// A hub with one stream, a page, and its clock.
struct Rig {
    hub: Hub,
    tap: Tap,
    id: u64,
    now: Instant,
    next: u64,
}

impl Rig {
    fn new(frames_per_second: u32) -> Self {
        Self::of(hub(), frames_per_second)
    }

    fn of(mut hub: Hub, frames_per_second: u32) -> Self {
        let now = Instant::now();
        let info = info();
        let tap = hub.add(About::new("test", &[info]), 0);
        let id = hub.join(now).unwrap().0;
        let view = View::whole(BINS);
        hub.show(id, &ViewRequest { source: 0, stream: 0, frames_per_second, view }).unwrap();
        Self { hub, tap, id, now, next: 0 }
    }

    /// Passes samples of a tone in `bin` in blocks of any length.
    fn tone(&mut self, bin: i32, samples: usize) {
        let tone = Oscillator::new(f64::from(bin) / f64::from(BINS)).unwrap();
        let mut left = samples;
        while left > 0 {
            let len = left.min(1 + (self.next % 777) as usize);
            let mut block = vec![Complex32::ZERO; len];
            tone.tone(self.next, 0.5, &mut block);
            self.tap.samples(self.next, [bytemuck::cast_slice(&block)]);
            self.next += len as u64;
            left -= len;
        }
    }

    fn gap(&mut self, len: u64) {
        self.tap.gap(&gap(self.next, len), false);
        self.next += len;
    }

    /// Lets a frame period pass.
    fn frame(&mut self, period: Duration) -> Option<Frame> {
        self.hub.compute();
        self.now += period;
        let mut out = Vec::new();
        let is_sent = self.hub.frame(self.id, self.now, &mut out);
        self.hub.request();
        is_sent.then(|| Frame::decode(&out).unwrap())
    }

    fn seen(&mut self, frame: &Frame) {
        self.hub.seen(self.id, frame.number);
    }
}

/// Computes all complete runs.
fn compute_all(hub: &mut Hub) {
    hub.compute_and_request();
    while hub.sources.iter().flat_map(|source| &source.lanes).any(Lane::is_filled) {
        hub.compute_and_request();
    }
}

fn info() -> StreamInfo {
    StreamInfo::new(Format::Fc32, 1, RATE_HZ).unwrap()
}

fn hub() -> Hub {
    Hub::new(Arc::new(Notify::new()), Failures::default())
}

fn gap(first: u64, len: u64) -> RecordedGap {
    let cause = RecordedCause::Stream(Cause::Deadline);
    RecordedGap::new(first, len, 0, cause)
}

fn highest(levels: &[u8]) -> usize {
    levels.iter().enumerate().max_by_key(|&(_, level)| level).unwrap().0
}

const PERIOD: Duration = Duration::from_millis(20);

#[test]
fn last_picture_reaches_a_page_that_was_not_due_when_it_came() {
    let mut rig = Rig::new(50);
    rig.frame(PERIOD);
    rig.tone(1, 20_000);
    let frame = rig.frame(PERIOD).expect("a frame in each period");
    rig.seen(&frame);
    rig.tone(2, 20_000);
    assert_eq!(rig.frame(PERIOD / 4), None, "it is not due");
    let viewer = &rig.hub.viewers[0];
    let wake = Arc::clone(&viewer.wake);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let is_woken = || {
        let woken = async { tokio::time::timeout(Duration::ZERO, wake.notified()).await };
        runtime.block_on(woken).is_ok()
    };
    assert!(is_woken(), "as the picture came");
    rig.hub.request();
    assert!(is_woken(), "the picture waits");
    rig.now += PERIOD;
    let mut out = Vec::new();
    assert!(rig.hub.frame(rig.id, rig.now, &mut out));
    assert_eq!(highest(&Frame::decode(&out).unwrap().mean), 514);
    rig.hub.request();
    assert!(!is_woken(), "nothing is left");
    // A page that confirms nothing is woken when it does.
    for _ in 0..UNSEEN_MAX + 1 {
        rig.tone(3, 20_000);
        rig.frame(PERIOD);
    }
    assert!(is_woken(), "as the last picture came");
    rig.hub.request();
    assert!(!is_woken(), "it is full");
}

#[test]
fn frame_has_the_latest_gaps_as_far_as_there_is_room() {
    for (bins, gaps_max) in [(BINS, 6_150), (32_768, 3_505)] {
        let mut rig = Rig::new(50);
        let view = View::whole(bins);
        let wanted = ViewRequest { source: 0, stream: 0, frames_per_second: 50, view };
        let bins = rig.hub.show(rig.id, &wanted).unwrap().bins;
        rig.frame(PERIOD);
        rig.tone(1, 70_000);
        let frame = rig.frame(PERIOD).expect("the first frame, which has no gaps");
        rig.seen(&frame);
        for count in [gaps_max, gaps_max + 1] {
            let first = rig.next;
            for _ in 0..count {
                rig.tone(1, 3);
                rig.gap(2);
            }
            rig.tone(1, 70_000);
            let frame = rig.frame(PERIOD).expect("a frame in each period");
            assert_eq!((frame.gaps.len(), frame.mean.len() as u32), (gaps_max, bins));
            let left_out = (count - gaps_max) as u64;
            assert_eq!(frame.gaps[0].first, first + 3 + 5 * left_out, "the latest");
            rig.seen(&frame);
        }
    }
}

#[test]
fn runs_copy_less_than_a_hundredth_of_250_ms_s() {
    for (bins, frames_per_second) in [(256, 60), (8_192, 60), (32_768, 60), (65_536, 37)] {
        let mut hub = hub();
        let info = StreamInfo::sc16("fast", 250e6).unwrap();
        let mut tap = hub.add(About::new("test", &[info]), 0);
        let now = Instant::now();
        for (fps, bins) in [(60, bins), (30, 256)] {
            let (id, _) = hub.join(now).unwrap();
            let view = View::whole(bins);
            let wanted = ViewRequest { source: 0, stream: 0, frames_per_second: fps, view };
            hub.show(id, &wanted).unwrap();
        }
        hub.request();
        let run_bytes = 4.0 * tap.wanted().expect("a run is wanted") as f64;
        let period_s = hub.period().expect("there are views").as_secs_f64();
        let share = run_bytes / period_s / 1e9;
        assert!(share < 0.01, "{bins} bins: {share}");
        assert_eq!((1.0 / period_s) as u32, frames_per_second, "{bins} bins");
    }
}

#[test]
fn frame_states_its_indexes_and_has_the_tone_of_its_indexes() {
    let mut rig = Rig::new(50);
    let mut frames = Vec::new();
    rig.frame(PERIOD);
    for bin in 1..100 {
        let first = rig.next;
        rig.tone(bin, 20_000);
        let frame = rig.frame(PERIOD).expect("a frame in each period");
        assert!(first <= frame.index && frame.index + frame.len_samples <= rig.next);
        assert_eq!(highest(&frame.mean) as i32, bin + 512);
        let db = frame.offset_db + frame.step_db * f32::from(frame.mean[highest(&frame.mean)]);
        assert!((db + 6.02).abs() < 0.5, "{db}");
        rig.seen(&frame);
        frames.push(frame);
    }
    let last = frames.last().unwrap();
    assert_eq!((last.number, last.omitted), (99, 0));
    assert_eq!(last.seen_samples, 99 * 8_192);
    assert!(last.delivered_samples <= rig.tap.account().delivered());
}

#[test]
fn no_frame_spans_a_gap_and_each_gap_is_in_one_frame() {
    let mut rig = Rig::new(50);
    rig.frame(PERIOD);
    let (mut expected, mut found, mut spans) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..300_u64 {
        // Short runs between gaps: most frames begin again several times.
        for part in 0..step % 6 {
            rig.tone(10, 500 + (step * 131 + part * 997) as usize % 9_000);
            expected.push((rig.next, 1 + step * 77 % 3_000));
            rig.gap(1 + step * 77 % 3_000);
        }
        rig.tone(10, 9_000);
        if let Some(frame) = rig.frame(PERIOD) {
            found.extend(frame.gaps.iter().map(|gap| (gap.first, gap.len)));
            spans.push(frame.index..frame.index + frame.len_samples);
            assert_eq!(highest(&frame.peak), 522);
            for gap in &frame.gaps {
                assert!(gap.first + gap.len <= frame.index, "{gap:?} after {}", frame.index);
                assert_eq!(usize::from(gap.hop), hop_position(Hop::Wire) as usize);
            }
            rig.seen(&frame);
        }
    }
    for (first, len) in &expected {
        let is_apart =
            |span: &std::ops::Range<u64>| span.end <= *first || first + len <= span.start;
        assert!(spans.iter().all(is_apart), "a frame covers the gap at {first}");
    }
    // Gaps after the last frame are in no frame so far.
    let from = expected.iter().position(|gap| *gap == found[0]).unwrap();
    assert_eq!(found[..], expected[from..from + found.len()]);
    assert!(expected.len() - from - found.len() <= 6, "only the last gaps are left");
    assert!(spans.len() > 250, "{}", spans.len());
}

#[test]
fn gap_that_the_host_dropped_is_at_its_hop() {
    let mut rig = Rig::new(50);
    rig.tone(1, 1_000);
    rig.gap(10);
    rig.tap.host_drops(HostDrops { nic: 30, kernel: 0 });
    rig.gap(20);
    rig.tap.host_drops(HostDrops { nic: 30, kernel: 7 });
    rig.tone(1, 1_000);
    rig.gap(17);
    rig.tap.end("done");
    let ledger = lock(&rig.hub.sources[0].shared.ledger);
    let hops: Vec<_> = ledger.latest(u64::MAX, 9).gaps.iter().map(|it| it.hop).collect();
    assert_eq!(hops, [Hop::Wire, Hop::Nic, Hop::Nic]);
    let sums = [Hop::Wire, Hop::Nic, Hop::Kernel].map(|hop| ledger.account().hops().of(hop));
    assert_eq!(sums, [10, 30, 7]);
}

#[test]
fn frame_of_a_short_piece_covers_only_what_the_piece_has() {
    let mut rig = Rig::new(50);
    rig.frame(PERIOD);
    assert_eq!(rig.tap.wanted(), Some(8_192));
    rig.tap.show(Shown {
        place: SamplePlace { index: 100, boot: 1, ..SamplePlace::default() },
        bytes: &vec![0; 8 * 3_000],
        row_samples: 10_000,
        centre_hz: f64::NAN,
        tai_ns: None,
    });
    let frame = rig.frame(PERIOD).expect("it has two transforms");
    assert_eq!((frame.transforms, frame.index, frame.len_samples), (2, 100, 2_048));
}

#[test]
fn change_of_centre_holds_from_its_index_on_also_in_a_run_under_way() {
    let mut rig = Rig::new(50);
    rig.frame(PERIOD);
    rig.tone(1, 20_000);
    let frame = rig.frame(PERIOD).expect("a run is complete");
    assert_eq!(frame.centre_hz, 0.0, "unknown");
    rig.seen(&frame);
    // The next run is requested, and begins.
    rig.tone(1, 100);
    rig.tap.set_centre_hz(0, 1e9);
    let changed_at = rig.next;
    rig.tone(1, 20_000);
    let frame = rig.frame(PERIOD).expect("a run is complete");
    assert_eq!((frame.index, frame.centre_hz), (changed_at, 1e9));
    rig.seen(&frame);
    // Requested before the change, and not begun.
    rig.tap.set_centre_hz(0, 2e9);
    rig.tone(1, 20_000);
    assert_eq!(rig.frame(PERIOD).expect("a run is complete").centre_hz, 2e9);
}

#[test]
fn time_of_a_frame_is_that_of_its_first_sample_from_when_it_is_known() {
    let mut rig = Rig::new(50);
    rig.frame(PERIOD);
    rig.tone(0, 30_000);
    assert_eq!(rig.frame(PERIOD).unwrap().tai_ns, None);
    let clock = info().tai_clock(rig.next, 7_000_000_000);
    rig.tap.set_tai_clocks([clock]);
    let since = rig.next;
    rig.tone(0, 30_000);
    let frame = rig.frame(PERIOD).unwrap();
    assert_eq!(frame.tai_ns, Some(7_000_000_000 + 1_000 * (frame.index - since)));
    // Indexes of another run are not comparable.
    rig.tap.restart_at(0);
    rig.next = 0;
    rig.tone(0, 30_000);
    assert_eq!(rig.frame(PERIOD).unwrap().tai_ns, None);
}

#[test]
fn restart_begins_another_run_and_gaps_state_theirs() {
    let mut rig = Rig::new(50);
    rig.frame(PERIOD);
    rig.tone(0, 30_000);
    let frame = rig.frame(PERIOD).unwrap();
    assert_eq!((frame.boot, frame.position), (1, 0));
    rig.seen(&frame);
    // The next frame has begun when the device restarts.
    rig.tone(0, 1_000);
    let estimate = RecordedGap { cause: RecordedCause::DeviceRestarted, ..gap(31_000, 4_000) };
    rig.tap.gap(&estimate, false);
    rig.tap.restart_at(500);
    rig.next = 500;
    rig.gap(7);
    rig.tone(0, 30_000);
    let frame = rig.frame(PERIOD).unwrap();
    assert_eq!((frame.boot, frame.index, frame.position), (2, 507, 35_007));
    let gaps: Vec<_> = frame.gaps.iter().map(|gap| (gap.boot, gap.first, gap.len)).collect();
    assert_eq!(gaps, [(1, 31_000, 4_000), (2, 500, 7)]);
    rig.seen(&frame);
    rig.tap.restart_at(1_000_000);
    rig.next = 1_000_000;
    rig.tone(0, 30_000);
    let frame = rig.frame(PERIOD).unwrap();
    assert_eq!((frame.boot, frame.index, frame.position), (3, 1_000_000, 65_007));
}

#[test]
fn page_that_confirms_nothing_gets_few_frames_and_then_the_latest() {
    let mut rig = Rig::new(50);
    rig.frame(PERIOD);
    let mut frames = Vec::new();
    for bin in 1..200 {
        rig.tone(bin, 20_000);
        frames.extend(rig.frame(PERIOD));
    }
    assert_eq!(frames.len(), UNSEEN_MAX as usize);
    rig.seen(&frames[0]);
    rig.tone(300, 20_000);
    let frame = rig.frame(PERIOD).expect("one was confirmed");
    assert_eq!(highest(&frame.mean), 812, "the latest, not a queued one");
    assert_eq!(frame.omitted, 192, "of 200 frames");
}

#[test]
fn slow_page_omits_nothing_beside_a_fast_one() {
    let mut rig = Rig::new(10);
    let fast = rig.hub.join(rig.now).unwrap().0;
    let view = View::whole(BINS);
    let wanted = ViewRequest { source: 0, stream: 0, frames_per_second: 50, view };
    rig.hub.show(fast, &wanted).unwrap();
    rig.frame(PERIOD);
    let (mut slow, mut out) = (Vec::new(), Vec::new());
    for _ in 0..500 {
        rig.tone(1, 20_000);
        if let Some(frame) = rig.frame(PERIOD) {
            rig.seen(&frame);
            slow.push(frame);
        }
        rig.hub.seen(fast, u32::MAX);
        assert!(rig.hub.frame(fast, rig.now, &mut out));
    }
    assert!((99..=101).contains(&slow.len()), "{}", slow.len());
    assert_eq!(slow.last().unwrap().omitted, 0);
}

#[test]
fn views_and_pages_have_limits() {
    let mut rig = Rig::new(50);
    let mut ids = vec![rig.id];
    ids.extend((1..VIEWERS_MAX).map(|_| rig.hub.join(rig.now).unwrap().0));
    assert_eq!(rig.hub.join(rig.now).unwrap_err(), Refusal::Viewers);
    let zoom = |at: usize| View { zoom: 4, centre: at as f64 / 100.0, ..View::whole(256) };
    let shown = ids.iter().enumerate().map(|(at, &id)| {
        let wanted = ViewRequest { source: 0, stream: 0, frames_per_second: 1, view: zoom(at) };
        rig.hub.show(id, &wanted)
    });
    let shown: Vec<_> = shown.collect();
    assert!(shown[..4].iter().all(Result::is_ok));
    assert!(shown[4..].iter().all(|it| *it == Err(Refusal::Zooms)));
    // A page keeps the view that it had, and a place becomes free with its page.
    rig.hub.leave(ids[0]);
    let wanted = ViewRequest { source: 0, stream: 0, frames_per_second: 1, view: zoom(50) };
    assert!(rig.hub.show(ids[4], &wanted).is_ok());
    assert!(rig.hub.join(rig.now).is_ok());
    let wanted = ViewRequest { source: 9, ..wanted };
    assert_eq!(rig.hub.show(ids[5], &wanted), Err(Refusal::Stream));
}

#[test]
fn page_whose_view_was_refused_goes_on_with_its_own() {
    let mut rig = Rig::new(50);
    let zoom = |at: usize| View { zoom: 4, centre: at as f64 / 100.0, ..View::whole(256) };
    let wanted = |view| ViewRequest { source: 0, stream: 0, frames_per_second: 50, view };
    for at in 0..ZOOMS_MAX {
        let id = rig.hub.join(rig.now).unwrap().0;
        rig.hub.show(id, &wanted(zoom(at))).unwrap();
    }
    rig.frame(PERIOD);
    for bin in 1..4 {
        rig.tone(bin, 20_000);
        let frame = rig.frame(PERIOD).expect("a frame in each period");
        rig.seen(&frame);
    }
    assert_eq!(rig.hub.show(rig.id, &wanted(zoom(50))), Err(Refusal::Zooms));
    // The engine of its own view was created again.
    for bin in 4..6 {
        rig.tone(bin, 20_000);
        let frame = rig.frame(PERIOD).expect("a frame in each period");
        assert_eq!((frame.mean.len(), highest(&frame.mean) as i32), (BINS as usize, bin + 512));
        rig.seen(&frame);
    }
}

#[test]
fn page_that_comes_before_the_stream_sees_it() {
    let mut hub = hub();
    let id = hub.join(Instant::now()).unwrap().0;
    let view = View::whole(BINS);
    let wanted = ViewRequest { source: 1, stream: 0, frames_per_second: 30, view };
    assert_eq!(hub.show(id, &wanted), Err(Refusal::Stream));
    let info = StreamInfo::new(Format::Fc32, 1, RATE_HZ).unwrap();
    let _first = hub.add(About::new("test", std::slice::from_ref(&info)), 0);
    assert_eq!(hub.engines.len(), 0);
    let _second = hub.add(About::new("test", &[info]), 0);
    assert_eq!((hub.engines.len(), hub.viewers[0].waiting), (1, None));
}

#[test]
fn nothing_is_copied_without_a_page() {
    let mut rig = Rig::new(50);
    rig.hub.leave(rig.id);
    rig.frame(PERIOD);
    rig.tone(1, 1_000_000);
    rig.hub.compute();
    let lane = &rig.hub.sources[0].lanes[0];
    assert_eq!((lane.is_filled(), rig.hub.engines.len()), (false, 0));
    assert_eq!(rig.tap.account().delivered(), 1_000_000);
}

#[test]
fn frames_of_every_sample_cover_all_but_what_a_gap_cuts() {
    /// Samples of a run, and of a frame.
    const RUN: usize = RUN_BYTES_MAX / 8;
    const FRAME: usize = 7 * RUN;
    let mut rig = Rig::of(hub().with_every_sample(true), 5);
    rig.hub.request();
    let mut next = 0;
    let mut take = |rig: &mut Rig, len: usize| {
        compute_all(&mut rig.hub);
        rig.now += Duration::from_secs(1);
        let mut out = Vec::new();
        assert!(rig.hub.frame(rig.id, rig.now, &mut out));
        let frame = Frame::decode(&out).unwrap();
        rig.seen(&frame);
        assert_eq!((frame.index, frame.len_samples), (next, len as u64));
        assert_eq!(frame.len_samples, u64::from(frame.transforms) * u64::from(BINS));
        assert_eq!((highest(&frame.mean), frame.omitted), (9 + 512, 0));
        next = rig.next;
        frame
    };
    for _ in 0..10 {
        rig.tone(9, FRAME);
        take(&mut rig, FRAME);
    }
    // The samples before a gap that fill no run are in no frame.
    rig.tone(9, 3 * RUN + 100);
    compute_all(&mut rig.hub);
    rig.gap(5_000);
    let behind_gap = rig.next;
    rig.tone(9, RUN);
    let cut = take(&mut rig, 3 * RUN);
    assert_eq!(cut.index + cut.len_samples + 100 + 5_000, behind_gap);
    rig.tone(9, 6 * RUN);
    compute_all(&mut rig.hub);
    let mut out = Vec::new();
    assert!(rig.hub.frame(rig.id, rig.now + Duration::from_secs(1), &mut out));
    let last = Frame::decode(&out).unwrap();
    assert_eq!((last.index, last.len_samples), (behind_gap, FRAME as u64));
    assert_eq!(last.seen_samples + 100, rig.tap.account().delivered());
}

/// A page of all samples, and what it got.
struct Reader {
    id: u64,
    frames: Vec<Frame>,
}

impl Reader {
    fn join(rig: &mut Rig, bins: u32, frames_per_second: u32) -> Self {
        let id = rig.hub.join(rig.now).unwrap().0;
        let view = View::whole(bins);
        let wanted = ViewRequest { source: 0, stream: 0, frames_per_second, view };
        rig.hub.show(id, &wanted).unwrap();
        Self { id, frames: Vec::new() }
    }

    /// Takes a frame, if one is due.
    fn poll(&mut self, rig: &mut Rig) {
        let mut out = Vec::new();
        if rig.hub.frame(self.id, rig.now, &mut out) {
            self.frames.push(Frame::decode(&out).unwrap());
        }
    }

    /// Checks that the frames cover all indexes from the first one on.
    fn check_all(&self) {
        for pair in self.frames.windows(2) {
            assert_eq!(pair[0].index + pair[0].len_samples, pair[1].index);
        }
        let (first, last) = (&self.frames[0], self.frames.last().unwrap());
        assert_eq!(last.omitted, 0);
        assert_eq!(last.seen_samples, last.index + last.len_samples - first.index);
        assert_eq!(last.seen_samples, last.delivered_samples + last.len_samples);
    }
}

#[test]
fn frames_of_every_sample_gather_until_each_page_s_period_is_over() {
    const STEP: Duration = Duration::from_millis(1);
    let mut rig = Rig::of(hub().with_every_sample(true), 30);
    rig.hub.leave(rig.id);
    // A run of 32,768 bins is shorter than the period: 30.5 a second.
    let mut readers = vec![Reader::join(&mut rig, 32_768, 20), Reader::join(&mut rig, 32_768, 3)];
    readers.push(Reader::join(&mut rig, 1_024, 60));
    rig.hub.request();
    for ms in 0..2_000 {
        if ms == 1_000 {
            readers.push(Reader::join(&mut rig, 32_768, 20));
        }
        rig.tone(5, 1_000);
        compute_all(&mut rig.hub);
        rig.now += STEP;
        for reader in &mut readers {
            rig.hub.seen(reader.id, u32::MAX);
            reader.poll(&mut rig);
        }
    }
    for (reader, most) in readers.iter().zip([41, 7, 121, 21]) {
        reader.check_all();
        let last = reader.frames.last().unwrap();
        let behind = rig.next - (last.index + last.len_samples);
        assert!(behind < 32_768 + 1_000_000 / 3 + 65_536, "{behind}");
        assert!(reader.frames.len() <= most, "{} of {most}", reader.frames.len());
        let bins = last.mean.len() as u64;
        let is_whole = |frame: &Frame| u64::from(frame.transforms) * bins == frame.len_samples;
        assert!(reader.frames.iter().all(is_whole));
        // The levels of gathered transforms are those of one.
        let db = |frame: &Frame| frame.mean[highest(&frame.mean)];
        assert!(reader.frames.iter().all(|frame| db(frame).abs_diff(db(last)) <= 1));
    }
    assert!(readers[0].frames.iter().any(|frame| frame.transforms > 1));
}

#[test]
fn frames_of_every_sample_that_are_not_sent_are_counted() {
    let mut rig = Rig::of(hub().with_every_sample(true), 20);
    rig.hub.leave(rig.id);
    let mut reader = Reader::join(&mut rig, BINS, 20);
    rig.hub.request();
    let step = |rig: &mut Rig, reader: &mut Reader| {
        rig.tone(5, 50_176);
        compute_all(&mut rig.hub);
        rig.now += PERIOD * 5 / 2;
        reader.poll(rig);
    };
    for _ in 0..20 {
        step(&mut rig, &mut reader);
    }
    assert_eq!(reader.frames.len(), UNSEEN_MAX as usize);
    rig.hub.seen(reader.id, u32::MAX);
    step(&mut rig, &mut reader);
    let last = reader.frames.last().unwrap();
    assert_eq!((last.number, last.omitted), (UNSEEN_MAX + 1, 13));
    let frames = u64::from(UNSEEN_MAX);
    assert!(last.seen_samples <= (frames + 1) * 65_536, "{}", last.seen_samples);
    assert!(last.delivered_samples >= 19 * 32_768, "{}", last.delivered_samples);
}
