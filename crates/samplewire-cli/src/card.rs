//! What an RDMA network card has counted. A card counts all its connections, not one stream.

use samplewire_io::verbs::{CounterFiles, DeviceCounters};
use serde::Serialize;

use crate::figures::grouped;

/// Counts of a card since the opening. Null: the card has no such counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CardCounts {
    /// Its name.
    device: String,
    /// Packets received.
    packets: Option<u64>,
    /// Requests that had come before.
    duplicates: Option<u64>,
    /// Packets that came after a gap.
    out_of_order: Option<u64>,
    /// Packets that a switch has marked.
    marked: Option<u64>,
    /// Congestion notifications (CNP) sent.
    cnp_sent: Option<u64>,
    /// Packets with a wrong checksum.
    invalid: Option<u64>,
}

impl CardCounts {
    /// The current counts.
    pub(crate) fn now(device: &str) -> Self {
        let DeviceCounters { packets, duplicates, out_of_order, marked, cnp_sent, invalid } =
            CounterFiles::open(device).read();
        let device = device.to_owned();
        Self { device, packets, duplicates, out_of_order, marked, cnp_sent, invalid }
    }

    /// The counts from these to later ones.
    pub(crate) fn until(&self, later: Self) -> Self {
        let came = |later: Option<u64>, before| Some(later?.wrapping_sub(before?));
        Self {
            packets: came(later.packets, self.packets),
            duplicates: came(later.duplicates, self.duplicates),
            out_of_order: came(later.out_of_order, self.out_of_order),
            marked: came(later.marked, self.marked),
            cnp_sent: came(later.cnp_sent, self.cnp_sent),
            invalid: came(later.invalid, self.invalid),
            device: later.device,
        }
    }

    /// The current ones since these.
    pub(crate) fn until_now(&self) -> Self {
        self.until(Self::now(&self.device))
    }

    /// `rxe0, all connections: 317 packets, 0 duplicates`; only what the card counts.
    pub(crate) fn words(&self) -> String {
        let counts = [
            ("packets", self.packets),
            ("duplicates", self.duplicates),
            ("out of order", self.out_of_order),
            ("marked", self.marked),
            ("CNPs sent", self.cnp_sent),
            ("invalid", self.invalid),
        ];
        let counts: Vec<_> = counts
            .into_iter()
            .filter_map(|(words, count)| Some(format!("{} {words}", grouped(count?))))
            .collect();
        let counts = if counts.is_empty() { "no counters".into() } else { counts.join(", ") };
        format!("{}, all connections: {counts}", self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(packets: u64, duplicates: u64) -> CardCounts {
        CardCounts {
            packets: Some(packets),
            duplicates: Some(duplicates),
            ..CardCounts::now("no such card")
        }
    }

    #[test]
    fn counts_are_those_since_the_opening_and_missing_ones_are_left_out() {
        let since = counts(1_000, 7).until(counts(2_317, 7));
        let words = "no such card, all connections: 1,317 packets, 0 duplicates";
        assert_eq!(since.words(), words);
        let none = CardCounts::now("no such card");
        assert_eq!(none.until_now().words(), "no such card, all connections: no counters");
    }
}
