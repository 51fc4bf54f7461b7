//! Compares the account of every index with the device's report of what it played.

use samplewire::receiver::ReceiverSnapshot;
use samplewire::transmitter::PlaySummary;
use samplewire_io::faults::Direction;
use samplewire_io::{FaultCounts, FaultLog};
use samplewire_proto::stream::End;
use samplewire_proto::{Cause, SampleIndex};
use samplewire_record::account::Account;

use crate::account;
use crate::console::Console;
use crate::figures::grouped;

/// Everything that is known at the end of the demonstration.
pub(super) struct Verdict<'a> {
    pub(super) account: &'a Account,
    pub(super) snapshot: &'a ReceiverSnapshot,
    pub(super) played: &'a PlaySummary,
    pub(super) end: Option<End>,
    pub(super) mismatch: Option<SampleIndex>,
    /// The wire's faults in the direction of the receiver.
    pub(super) wire: FaultCounts,
}

impl Verdict<'_> {
    /// Returns the faults of the account; empty if it is correct.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let range = self.account.range();
        let final_index = self.played.end.final_index;
        if let Err(defect) = self.account.balance(self.account.delivered()) {
            faults.push(account::defect_words(&defect));
        }
        if self.end != Some(End::Finished { final_index }) {
            let end = self.end.map(|end| end.words("the device").to_string());
            let words = end.unwrap_or_else(|| "it goes on".into());
            faults.push(format!("the stream does not end at {final_index}: {words}"));
        }
        if range.end != final_index {
            faults.push(format!("the account ends at {}, the device at {final_index}", range.end));
        }
        let played = self.played.samples + self.played.overflow_samples;
        let received = self.account.delivered() + self.account.missing();
        if received != played {
            faults.push(format!("the device played {played} samples, the account has {received}"));
        }
        let (counted, arrived) = (self.counted(), arrived(&self.wire));
        if counted > arrived {
            faults
                .push(format!("the wire delivered {arrived} packets, the receiver has {counted}"));
        }
        if let Some(index) = self.mismatch {
            faults.push(format!("sample {index} is not as it was sent"));
        }
        faults
    }

    /// Prints the counts of the wire and of the arrived packets, and the account.
    pub(super) fn print(&self, console: &mut Console, log: &FaultLog) {
        self.print_wire(console, &log.counts(Direction::Receive));
        self.print_arrived(console);
        let Self { account, played, .. } = self;
        console.line(format_args!("\n{:<36}samples", "every index"));
        print_row(console, "delivered", account.delivered());
        for (cause, &samples) in Cause::ALL.into_iter().zip(account.gap_samples()) {
            print_row(console, &format!("missing: {cause}"), samples);
        }
        print_row(console, "together", account.delivered() + account.missing());
        print_row(console, "played by the device", played.samples + played.overflow_samples);
    }

    /// Prints the counts of the wire. Each column adds up: sent, minus lost, plus duplicated.
    fn print_wire(&self, console: &mut Console, to_device: &FaultCounts) {
        let to_receiver = &self.wire;
        let sent = &self.played.end.stats;
        let data = sent.packets + sent.retransmissions;
        let rows = [
            ("DATA, first time", sent.packets, 0),
            ("DATA, again", sent.retransmissions, 0),
            ("MARK, REPORT, session", to_receiver.packets.saturating_sub(data), to_device.packets),
            ("departed", to_receiver.packets, to_device.packets),
            ("- lost", lost(to_receiver), lost(to_device)),
            ("+ doubled", to_receiver.duplicated, to_device.duplicated),
            ("arrived", arrived(to_receiver), arrived(to_device)),
        ];
        console.line(format_args!("\n{:<30}{:>13}{:>13}", "packets", "to receiver", "to device"));
        for (name, to_receiver, to_device) in rows {
            let (receiver, device) = (grouped(to_receiver), grouped(to_device));
            console.line(format_args!("  {name:<25}{receiver:>16}{device:>13}"));
        }
    }

    /// Prints the receiver's counts of the arrived packets, which add up.
    fn print_arrived(&self, console: &mut Console) {
        let arrived = arrived(&self.wire);
        let stream = &self.snapshot.stream;
        let fresh = stream.received - stream.duplicates - stream.late;
        console.line(format_args!("\n{:<36}packets", "of these, at the receiver"));
        print_row(console, "DATA in order", fresh - stream.repaired - stream.reordered);
        print_row(console, "DATA that came reordered", stream.reordered);
        print_row(console, "DATA repaired", stream.repaired);
        print_row(console, "DATA twice", stream.duplicates);
        print_row(console, "DATA too late", stream.late);
        print_row(console, "corrupted", self.damaged());
        print_row(console, "MARK, session", arrived.saturating_sub(self.counted()));
        print_row(console, "arrived", arrived);
    }

    /// Returns the packets that the receiver could not read. The damage may also be in the field
    /// that identifies the protocol.
    const fn damaged(&self) -> u64 {
        self.snapshot.corrupted + self.snapshot.foreign
    }

    /// Returns the packets that the receiver has counted.
    const fn counted(&self) -> u64 {
        self.snapshot.stream.received + self.damaged()
    }
}

/// Returns the packets that the wire did not deliver.
const fn lost(wire: &FaultCounts) -> u64 {
    wire.lost + wire.queue_full + wire.refused
}

/// Returns the packets that the wire delivered, including damaged ones.
const fn arrived(wire: &FaultCounts) -> u64 {
    wire.packets + wire.duplicated - lost(wire)
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

    /// An account of 90 delivered and 10 missing samples.
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
        verdict_faults(&played, end, mismatch, 0)
    }

    fn verdict_faults(
        played: &PlaySummary,
        end: Option<End>,
        mismatch: Option<SampleIndex>,
        received: u64,
    ) -> Vec<String> {
        let mut snapshot = ReceiverSnapshot::default();
        snapshot.stream.received = received;
        snapshot.corrupted = 1;
        let wire = FaultCounts {
            packets: 8,
            lost: 3,
            duplicated: 1,
            corrupted: 1,
            ..FaultCounts::default()
        };
        let (account, snapshot) = (&account(), &snapshot);
        Verdict { account, snapshot, played, end, mismatch, wire }.faults()
    }

    #[test]
    fn receiver_has_no_packet_that_the_wire_did_not_deliver() {
        let final_index = 100;
        let end = End::Finished { final_index };
        let session_end = SessionEnd { end, stats: SenderStats::default(), final_index };
        let played = PlaySummary { samples: 98, overflow_samples: 2, end: session_end };
        assert_eq!(verdict_faults(&played, Some(end), None, 5), Vec::<String>::new());
        let faults = verdict_faults(&played, Some(end), None, 6);
        assert_eq!(faults, ["the wire delivered 6 packets, the receiver has 7"]);
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
            (faults(98, 100, Some(End::PeerSilent), None), "the device fell silent"),
            (faults(98, 100, None, None), "at 100: it goes on"),
            (faults(98, 100, end, Some(7)), "sample 7 is not"),
        ];
        for (faults, words) in cases {
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert!(faults[0].contains(words), "{faults:?}");
        }
    }
}
