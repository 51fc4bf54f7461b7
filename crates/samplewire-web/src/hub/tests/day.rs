//! A day of frames and gaps, in simulated time: memory does not grow.

use samplewire_testing::{in_own_process, memory_bytes};

use super::*;
use crate::account::{GapEntry, Ledger};

const FRAMES_PER_SECOND: u64 = 10;
const BINS: u32 = 256;
const HOUR: u64 = 3_600 * FRAMES_PER_SECOND;

#[test]
fn memory_after_a_day_without_a_page_is_as_at_the_start() {
    if in_own_process("hub::tests::day::memory_after_a_day_without_a_page_is_as_at_the_start") {
        assert_eq!(day(false), 0);
    }
}

#[test]
fn memory_after_a_day_with_a_page_is_as_at_the_start() {
    if in_own_process("hub::tests::day::memory_after_a_day_with_a_page_is_as_at_the_start") {
        let frames = day(true);
        // In a minute of each hour the page confirms no frame.
        let confirmed = 24 * HOUR * 59 / 60;
        assert!((confirmed - confirmed / 100..=24 * HOUR).contains(&frames), "{frames}");
    }
}

/// Returns the number of frames that the page got.
fn day(has_page: bool) -> u64 {
    let info = StreamInfo::new(Format::Sc16, 1, f64::from(BINS) * FRAMES_PER_SECOND as f64);
    let mut hub = hub();
    let mut tap = hub.add(About::new("test", &[info.unwrap()]), 0);
    let mut page = None;
    let (mut now, period) = (Instant::now(), Duration::from_secs(1) / FRAMES_PER_SECOND as u32);
    let (block, mut out) = (vec![1; 4 * BINS as usize], Vec::new());
    let (mut next, mut frames, mut missing) = (0_u64, 0, 0);
    let (mut start, mut half) = (0, 0);
    for step in 0..24 * HOUR {
        if has_page && step.is_multiple_of(HOUR) {
            page.take().into_iter().for_each(|id| hub.leave(id));
            page = Some(joined(&mut hub, now));
        }
        hub.request();
        tap.samples(next, [&block[..]]);
        next += u64::from(BINS);
        if step.is_multiple_of(2 * FRAMES_PER_SECOND) {
            tap.gap(&gap(next, 100), false);
            (next, missing) = (next + 100, missing + 100);
        }
        hub.compute();
        now += period;
        out.clear();
        if let Some(id) = page {
            frames += u64::from(hub.frame(id, now, &mut out));
            if step % HOUR >= HOUR / 60 {
                hub.seen(id, u32::MAX);
            }
        }
        match step {
            HOUR => start = memory_bytes(),
            // The lists have reached their limits.
            it if it == 12 * HOUR => half = memory_bytes(),
            _ => {}
        }
    }
    let end = memory_bytes();
    tap.end("done");
    let ledger = lock(&hub.sources[0].shared.ledger);
    assert_eq!((ledger.account().missing(), ledger.account().range().end), (missing, next));
    // The list of gaps, and the cells of the timeline that were not used.
    let lists = (Ledger::GAPS_MAX * size_of::<GapEntry>()) as u64 + (1 << 20);
    assert!(end <= start + lists, "{} bytes more after an hour", end - start);
    assert!(end <= half + (256 << 10), "{} bytes more after twelve hours", end - half);
    frames
}

/// A page that has its view.
fn joined(hub: &mut Hub, now: Instant) -> u64 {
    let id = hub.join(now).unwrap().0;
    let view = View::whole(BINS);
    let wanted =
        ViewRequest { source: 0, stream: 0, frames_per_second: FRAMES_PER_SECOND as u32, view };
    hub.show(id, &wanted).unwrap();
    id
}
