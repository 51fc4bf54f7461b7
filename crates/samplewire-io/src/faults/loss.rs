//! What a link loses, one packet at a time or in bursts: the model of the fault layer over real sockets
//! and of the simulator's links over virtual time.
//!
//! Randomness is an argument, and time plays no part. The paths of the unit tests of `samplewire-proto`
//! lose by a share of their own: that crate lies below this one.

use samplewire_proto::{Odds, Rng};

/// The loss of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// No packet is lost.
    #[default]
    None,
    /// Each packet for itself.
    Independent(Odds),
    /// Gilbert and Elliott's two states: a packet is lost in the bad one with `lost_in_bad`.
    Bursty {
        /// From the good state to the bad one, before each packet.
        enter_bad: Odds,
        /// From the bad state to the good one, before each packet.
        leave_bad: Odds,
        /// Of a packet in the bad state.
        lost_in_bad: Odds,
    },
    /// Runs of exactly `packets` begin with these odds.
    Runs {
        /// That a run begins with a packet that is in none.
        start: Odds,
        /// The length of a run.
        packets: u32,
    },
}

impl Loss {
    /// Bursts of `mean_packets` (1 or more), in which all is lost, and between which nothing is, such that
    /// `share` of all packets is lost.
    pub const fn bursts(share: f64, mean_packets: f64) -> Self {
        // A bad state lasts 1 / leave_bad packets; it takes the share
        // enter_bad / (enter_bad + leave_bad) of all.
        Self::Bursty {
            enter_bad: Odds::of(share / (mean_packets * (1.0 - share))),
            leave_bad: Odds::of(1.0 / mean_packets),
            lost_in_bad: Odds::of(1.0),
        }
    }
}

/// A loss and where it stands.
#[derive(Clone, Debug)]
pub struct Losses {
    loss: Loss,
    is_bad: bool,
    run_left: u32,
}

impl Losses {
    /// Starts in the good state.
    pub const fn new(loss: Loss) -> Self {
        Self { loss, is_bad: false, run_left: 0 }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Independent(odds) => rng.chance(odds),
            Loss::Bursty { enter_bad, leave_bad, lost_in_bad } => {
                let turns = if self.is_bad { leave_bad } else { enter_bad };
                self.is_bad ^= rng.chance(turns);
                self.is_bad && rng.chance(lost_in_bad)
            }
            Loss::Runs { start, packets } => {
                if self.run_left == 0 && rng.chance(start) {
                    self.run_left = packets;
                }
                let is_lost = self.run_left > 0;
                self.run_left = self.run_left.saturating_sub(1);
                is_lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_as_long_as_the_odds_say() {
        let mut rng = Rng::new(4);
        let loss = Loss::Bursty {
            enter_bad: Odds::ppm(1_000),
            leave_bad: Odds::ppm(100_000),
            lost_in_bad: Odds::ppm(1_000_000),
        };
        let mut losses = Losses::new(loss);
        let fates: Vec<bool> = (0..1_000_000).map(|_| losses.next(&mut rng)).collect();
        let lost = fates.iter().filter(|&&is_lost| is_lost).count();
        let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        assert!((8..12).contains(&(lost / bursts)), "{lost} lost in {bursts} bursts");
    }

    #[test]
    fn runs_have_their_length() {
        let mut rng = Rng::new(5);
        let mut losses = Losses::new(Loss::Runs { start: Odds::ppm(100), packets: 32 });
        let fates: Vec<bool> = (0..200_000).map(|_| losses.next(&mut rng)).collect();
        let first = fates.iter().position(|&is_lost| is_lost).expect("some are lost");
        assert!(fates[first..first + 32].iter().all(|&is_lost| is_lost) && !fates[first + 32]);
    }
}
