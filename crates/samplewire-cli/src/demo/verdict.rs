//! The account of every index, held against what the device says that it played.

use samplewire::receiver::ReceiverSnapshot;
use samplewire::transmitter::PlaySummary;
use samplewire_io::FaultLog;
use samplewire_io::faults::Direction;
use samplewire_proto::stream::End;
use samplewire_proto::{Cause, SampleIndex};
use samplewire_record::account::Account;

use crate::account;
use crate::console::Console;
use crate::figures::grouped;

/// All that is known when the demonstration is over.
pub(super) struct Verdict<'a> {
    pub(super) account: &'a Account,
    pub(super) snapshot: &'a ReceiverSnapshot,
    pub(super) played: &'a PlaySummary,
    pub(super) end: Option<End>,
    pub(super) mismatch: Option<SampleIndex>,
}

impl Verdict<'_> {
    /// What does not hold; empty when the account does.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let range = self.account.range();
        let final_index = self.played.end.final_index;
        if let Err(defect) = self.account.balance(self.account.delivered()) {
            faults.push(account::defect_words(&defect));
        }
        if self.end != Some(End::Finished { final_index }) {
            faults.push(format!("the stream ended with {:?}, not at {final_index}", self.end));
        }
        if range.end != final_index {
            faults.push(format!("the account ends at {}, the device at {final_index}", range.end));
        }
        let played = self.played.samples + self.played.overflow_samples;
        let received = self.account.delivered() + self.account.missing();
        if received != played {
            faults.push(format!("the device played {played} samples, the account has {received}"));
        }
        if let Some(index) = self.mismatch {
            faults.push(format!("sample {index} is not as it was sent"));
        }
        faults
    }

    /// Prints what went wrong on the wire, what the two ends counted, and the account.
    pub(super) fn print(&self, console: &mut Console, log: &FaultLog) {
        self.print_wire(console, log);
        self.print_counters(console);
        let Self { account, played, .. } = self;
        console.line(format_args!("\n{:<36}samples", "the account of every index"));
        print_row(console, "delivered", account.delivered());
        for (cause, &samples) in Cause::ALL.into_iter().zip(account.gap_samples()) {
            print_row(console, &format!("missing: {cause}"), samples);
        }
        print_row(console, "together", account.delivered() + account.missing());
        print_row(console, "played by the device", played.samples + played.overflow_samples);
    }

    fn print_wire(&self, console: &mut Console, log: &FaultLog) {
        let data = log.counts(Direction::Transmit);
        let feedback = log.counts(Direction::Receive);
        let rows = [
            ("packets", data.packets, feedback.packets),
            ("lost", data.lost, feedback.lost),
            ("corrupted", data.corrupted, feedback.corrupted),
            ("doubled", data.duplicated, feedback.duplicated),
            ("reordered", data.reordered, feedback.reordered),
        ];
        console
            .line(format_args!("\n{:<39}data    feedback", "what the wire did, by its own list"));
        for (name, data, feedback) in rows {
            let (data, feedback) = (grouped(data), grouped(feedback));
            console.line(format_args!("  {name:<25}{data:>16}{feedback:>12}"));
        }
    }

    fn print_counters(&self, console: &mut Console) {
        let (sent, snapshot) = (&self.played.end.stats, self.snapshot);
        let stream = &snapshot.stream;
        console.line(format_args!("\n{:<36}packets", "what the two ends counted"));
        print_row(console, "sent", sent.packets);
        print_row(console, "retransmissions", sent.retransmissions);
        print_row(console, "received", stream.received);
        print_row(console, "repaired", stream.repaired);
        print_row(console, "reordered", stream.reordered);
        print_row(console, "late", stream.late);
        print_row(console, "duplicates", stream.duplicates);
        print_row(console, "corrupted", snapshot.corrupted);
        print_row(console, "foreign", snapshot.foreign);
    }
}

fn print_row(console: &mut Console, name: &str, count: u64) {
    console.line(format_args!("  {name:<25}{:>16}", grouped(count)));
}

#[cfg(test)]
mod tests {
    use samplewire::transmitter::SessionEnd;
    use samplewire_proto::Gap;
    use samplewire_proto::sender::SenderStats;

    use super::*;

    /// 90 samples delivered and 10 missing.
    fn account() -> Account {
        let mut account = Account::new(0, None);
        let gap = Gap { first: 50, not_repaired: 10, source_lost: 0, cause: Cause::Deadline };
        account.take_samples(0, 50);
        account.take_gap(&(&gap).into(), false);
        account.take_samples(60, 40);
        account
    }

    fn faults(
        played_samples: u64,
        final_index: SampleIndex,
        end: Option<End>,
        mismatch: Option<SampleIndex>,
    ) -> Vec<String> {
        let session_end = SessionEnd {
            end: End::Finished { final_index },
            stats: SenderStats::default(),
            final_index,
        };
        let played = PlaySummary { samples: played_samples, overflow_samples: 2, end: session_end };
        let (account, snapshot) = (&account(), &ReceiverSnapshot::default());
        Verdict { account, snapshot, played: &played, end, mismatch }.faults()
    }

    #[test]
    fn account_holds_when_both_ends_agree() {
        let end = Some(End::Finished { final_index: 100 });
        assert_eq!(faults(98, 100, end, None), Vec::<String>::new());
    }

    #[test]
    fn every_disagreement_is_named() {
        let end = Some(End::Finished { final_index: 100 });
        let cases = [
            (faults(99, 100, end, None), "played 101 samples, the account has 100"),
            (faults(98, 101, Some(End::Finished { final_index: 101 }), None), "the device at 101"),
            (faults(98, 100, Some(End::PeerSilent), None), "PeerSilent"),
            (faults(98, 100, None, None), "None"),
            (faults(98, 100, end, Some(7)), "sample 7 is not"),
        ];
        for (faults, words) in cases {
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert!(faults[0].contains(words), "{faults:?}");
        }
    }
}
