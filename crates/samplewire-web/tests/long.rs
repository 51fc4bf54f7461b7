//! Long streams: exact sums over many gaps.

use samplewire::Cause;
use samplewire::source::StreamInfo;
use samplewire_record::account::Account;
use samplewire_record::sigmf::{RecordedCause, RecordedGap};
use samplewire_web::{About, Page, PageOptions};

fn page() -> Page {
    Page::start(PageOptions::new("127.0.0.1:0".parse().unwrap())).unwrap()
}

fn gap(first: u64, len: u64, number: usize) -> RecordedGap {
    let causes = [Cause::Deadline, Cause::SourceOverflow, Cause::ReceiverBehind];
    let cause = RecordedCause::Stream(causes[number % causes.len()]);
    let source_lost = if number.is_multiple_of(7) { len / 2 } else { 0 };
    RecordedGap::new(first, len - source_lost, source_lost, cause)
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
