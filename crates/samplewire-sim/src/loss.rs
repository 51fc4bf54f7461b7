//! What a link loses: one packet at a time, or in bursts.

use samplewire_proto::{Odds, Rng};

/// The loss of one direction of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Loss {
    #[default]
    None,
    /// Each packet for itself.
    Independent(Odds),
    /// Gilbert and Elliott's two states: a packet is lost in the bad one with `lost_in_bad`.
    Bursty { enter_bad: Odds, leave_bad: Odds, lost_in_bad: Odds },
    /// Runs of exactly `packets` begin with these odds.
    Runs { start: Odds, packets: u32 },
}

/// A loss and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    loss: Loss,
    is_bad: bool,
    run_left: u32,
}

impl Losses {
    pub(crate) const fn new(loss: Loss) -> Self {
        Self { loss, is_bad: false, run_left: 0 }
    }

    /// Whether the next packet is lost.
    pub(crate) fn next(&mut self, rng: &mut Rng) -> bool {
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
