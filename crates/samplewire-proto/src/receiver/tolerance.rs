//! How much reordering is waited for (`docs/protocol.md#4.11`).

use super::Delivery;
use crate::number::{Departure, Nanos};

/// The reordering tolerance in departure units: that of the terms, or more while the path reorders
/// more.
///
/// Observed extents are kept for one to two epochs of [`EPOCH_LOSSES`] packets that were repaired
/// or given up. Epochs count packets, not time, so that the cost of a tolerance stays in proportion
/// at any rate. A tolerance that is too large delays that many repairs. One that is forgotten too
/// early causes one or two unneeded retransmissions per epoch.
#[derive(Clone, Debug)]
pub(super) struct Tolerance {
    /// The tolerance of the terms.
    floor: u32,
    /// The largest that is waited for.
    bound: u32,
    /// The largest extents between floor and bound: of this epoch, and of the one before.
    largest: [u32; 2],
    /// Packets lost in this epoch.
    losses: u32,
}

impl Tolerance {
    pub(super) const fn new(floor: u32, bound: u32) -> Self {
        Self { floor, bound, largest: [0; 2], losses: 0 }
    }

    /// The present tolerance: a quarter more than was seen, since few packets show the extreme.
    pub(super) fn get(&self) -> u32 {
        let largest = self.largest[0].max(self.largest[1]);
        (largest + largest / 4).min(self.bound).max(self.floor)
    }

    /// A packet came when departures up to `extent` newer had come.
    pub(super) fn came_late_by(&mut self, extent: u32) {
        // To wait for what came later than the bound would delay repairs and save nothing.
        if extent > self.floor && extent <= self.bound {
            self.largest[0] = self.largest[0].max(extent);
        }
    }

    /// A packet was repaired or given up.
    pub(super) fn lost(&mut self) {
        self.losses += 1;
        if self.losses == EPOCH_LOSSES {
            (self.largest, self.losses) = ([0, self.largest[0]], 0);
        }
    }

    /// Sets the largest tolerance, see [`bound`].
    pub(super) const fn set_bound(&mut self, bound: u32) {
        self.bound = bound;
    }
}

/// The largest tolerance at a round trip and a delivery. Half a round trip covers a path whose
/// slowest packets take twice as long as its fastest. Before a deadline there must be time for a
/// repair: a round trip, and a quarter for the pauses of both ends.
pub(super) fn bound(rtt: Nanos, delivery: Delivery) -> u32 {
    let most = Nanos(rtt.0 * 3 / 8).min(BOUND_MAX);
    let span = match delivery {
        Delivery::Deadline(deadline) => most.min(deadline - Nanos(rtt.0 + rtt.0 / 4)),
        Delivery::Complete | Delivery::BestEffort => most,
    };
    Departure::units(span)
}

/// As the terms allow at most.
const BOUND_MAX: Nanos = Nanos::from_millis(1_000);

/// Two needless repeats in an epoch are less than 1 % of its repeats.
const EPOCH_LOSSES: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: u32 = 100;
    const BOUND: u32 = 1_000;

    fn after(extents: &[u32]) -> Tolerance {
        let mut tolerance = Tolerance::new(FLOOR, BOUND);
        extents.iter().for_each(|&extent| tolerance.came_late_by(extent));
        tolerance
    }

    fn lose(tolerance: &mut Tolerance, packets: u32) {
        (0..packets).for_each(|_| tolerance.lost());
    }

    #[test]
    fn packet_later_than_the_terms_raises_the_tolerance_to_a_quarter_more() {
        assert_eq!(after(&[400]).get(), 500);
        assert_eq!(after(&[400, 200]).get(), 500);
        assert_eq!(after(&[900]).get(), BOUND);
    }

    #[test]
    fn packet_within_the_terms_or_beyond_the_bound_changes_nothing() {
        assert_eq!(after(&[FLOOR, BOUND + 1, u32::MAX]).get(), FLOOR);
    }

    #[test]
    fn terms_above_the_bound_stand() {
        let mut tolerance = Tolerance::new(FLOOR, 10);
        tolerance.came_late_by(50);
        assert_eq!(tolerance.get(), FLOOR);
    }

    #[test]
    fn bound_that_falls_lowers_the_tolerance() {
        let mut tolerance = after(&[800]);
        tolerance.set_bound(300);
        assert_eq!(tolerance.get(), 300);
    }

    #[test]
    fn reordering_that_ends_is_forgotten_after_two_epochs_of_losses() {
        let mut tolerance = after(&[400]);
        lose(&mut tolerance, EPOCH_LOSSES);
        tolerance.came_late_by(200);
        lose(&mut tolerance, EPOCH_LOSSES - 1);
        assert_eq!(tolerance.get(), 500, "in the epoch after");
        lose(&mut tolerance, 1);
        assert_eq!(tolerance.get(), 250, "what came since");
        lose(&mut tolerance, EPOCH_LOSSES);
        assert_eq!(tolerance.get(), FLOOR);
    }

    #[test]
    fn bound_leaves_time_for_a_repair_before_the_deadline() {
        let rtt = Nanos::from_millis(1);
        let units = |us| Departure::units(Nanos::from_micros(us));
        assert_eq!(bound(rtt, Delivery::Complete), units(375));
        assert_eq!(bound(rtt, Delivery::BestEffort), units(375));
        let deadline = |us| Delivery::Deadline(Nanos::from_micros(us));
        assert_eq!(bound(rtt, deadline(5_000)), units(375));
        assert_eq!(bound(rtt, deadline(1_450)), units(200));
        assert_eq!(bound(rtt, deadline(900)), 0);
        assert_eq!(bound(Nanos(u64::MAX / 8), Delivery::Complete), units(1_000_000));
    }
}
