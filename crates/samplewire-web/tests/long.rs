//! Long streams: exact sums over many gaps, and memory that does not grow over a day.

mod memory;

use samplewire::source::StreamInfo;
use samplewire::{Cause, Format};
use samplewire_record::account::Account;
use samplewire_record::sigmf::{HostDrops, RecordedCause, RecordedGap};
use samplewire_web::{About, Page, PageOptions, Spectra, View};

use memory::resident_bytes;

fn page() -> Page {
    Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap()
}

fn gap(first: u64, len: u64, number: usize) -> RecordedGap {
    let causes = [Cause::Deadline, Cause::SourceOverflow, Cause::ReceiverBehind];
    let cause = RecordedCause::Stream(causes[number % causes.len()]);
    let source_lost = if number.is_multiple_of(7) { len / 2 } else { 0 };
    RecordedGap {
        first,
        not_repaired: len - source_lost,
        source_lost,
        host: HostDrops::NONE,
        cause,
        stream: None,
    }
}

#[test]
fn sums_over_many_gaps_are_those_of_the_recorder() {
    let mut page = page();
    let info = StreamInfo::sc16("", 1e6).unwrap();
    let mut tap = page.add(About::new("test", &[info]), 1_000);
    let mut account = Account::new(1_000, None);
    let (mut next, block) = (1_017_u64, vec![0; 4 * 400]);
    for number in 0..100_000_usize {
        let len = 1 + number * 13 % 399;
        tap.samples(next, [&block[..4 * len]]);
        account.take_samples(next, len);
        next += len as u64;
        let gap = gap(next, 1 + number as u64 * 31 % 999, number);
        let is_held_up = number.is_multiple_of(5);
        tap.gap(&gap, is_held_up);
        account.take_gap(&gap, is_held_up);
        // Sometimes the device leaves out indexes on purpose.
        next = gap.end() + u64::from(number.is_multiple_of(1_000)) * 12;
    }
    tap.end("done");
    let ledger = page.ledger(0).unwrap();
    assert_eq!(ledger.account().gaps(), 100_000);
    assert_eq!(ledger.account().gap_samples(), account.gap_samples());
    assert_eq!(ledger.account().hops(), account.hops());
    assert_eq!(ledger.account().balance(account.delivered()), account.balance(account.delivered()));
    let columns = ledger.timeline().columns(0, u64::MAX, 4_096);
    for cause in RecordedCause::ALL {
        let drawn: u64 = columns.iter().map(|column| column.missing[cause.position()]).sum();
        assert_eq!(drawn, account.gap_samples()[cause.position()], "{cause}");
    }
    let excluded: u64 = columns.iter().map(|column| column.excluded).sum();
    assert_eq!(excluded, 17 + 12 * 100);
    let listed = ledger.latest(u64::MAX, u64::MAX);
    assert_eq!((listed.total, listed.gaps.len()), (100_000, samplewire_web::Ledger::GAPS_MAX));
}

#[test]
fn memory_after_a_day_is_as_at_the_start() {
    const FRAMES_PER_SECOND: u64 = 10;
    let rate_hz = 256.0 * FRAMES_PER_SECOND as f64;
    let info = StreamInfo::new(Format::Sc16, 1, rate_hz).unwrap();
    let mut spectra = Spectra::new(&info, View::whole(256)).unwrap();
    let mut page = page();
    let mut tap = page.add(About::new("test", &[info]), 0);
    let block = vec![1; 4 * 256];
    let (mut next, mut frames, mut missing, mut early) = (0_u64, 0_u64, 0, 0);
    for second in 0..24 * 3_600_u64 {
        for frame in 0..FRAMES_PER_SECOND {
            tap.samples(next, [&block[..]]);
            frames += u64::from(spectra.compute(next, &block).unwrap().is_some());
            next += 256;
            if frame == 0 && second.is_multiple_of(2) {
                tap.gap(&gap(next, 100, second as usize), false);
                (next, missing) = (next + 100, missing + 100);
            }
        }
        // Every list has reached its limit by then.
        if second == 12 * 3_600 {
            early = resident_bytes();
        }
    }
    tap.end("done");
    let grown = resident_bytes().saturating_sub(early);
    assert_eq!(frames, 24 * 3_600 * FRAMES_PER_SECOND);
    let ledger = page.ledger(0).unwrap();
    assert_eq!(ledger.account().missing(), missing);
    assert_eq!(ledger.account().range().end, next);
    assert!(grown <= 256 << 10, "{grown} bytes more after twelve hours");
}
