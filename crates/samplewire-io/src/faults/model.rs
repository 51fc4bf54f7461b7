//! What happens to the next packet: drawn from a seed, with no clock and no packet at hand.

use std::time::Duration;

use samplewire_proto::{Odds, Rng};

use super::loss::{Loss, Losses};
use super::spec::FaultSpec;

/// Decides packet by packet.
#[derive(Clone, Debug)]
pub struct Model {
    losses: Losses,
    loss_rng: Rng,
    corrupt: Draws,
    duplicate: Draws,
    reorder: Draws,
    depth_packets: u32,
    delay: Duration,
    jitter: Option<(Duration, Rng)>,
}

impl Model {
    /// A model of `spec`; what is not about drawing (rate, types, bounds) is left out.
    pub fn new(spec: &FaultSpec) -> Self {
        let stream = |number: u64| Rng::stream(spec.seed, number);
        let draws = |number, share| Draws { odds: Odds::of(share), rng: stream(number) };
        Self {
            losses: Losses::new(match spec.burst_packets {
                None => Loss::Independent(Odds::of(spec.loss)),
                Some(mean) => Loss::bursts(spec.loss, mean),
            }),
            loss_rng: stream(1),
            corrupt: draws(2, spec.corrupt),
            duplicate: draws(3, spec.duplicate),
            reorder: draws(4, spec.reorder),
            depth_packets: spec.depth_packets,
            delay: spec.delay,
            jitter: (!spec.jitter.is_zero()).then(|| (spec.jitter, stream(5))),
        }
    }

    /// What happens to the next packet, which has `len_bytes`.
    ///
    /// A lost packet draws all the same, so that what happens to one does not hang on another.
    pub fn decide(&mut self, len_bytes: usize) -> Fate {
        let lost = self.losses.next(&mut self.loss_rng);
        let corrupt = self.corrupt.next().then(|| corruption(&mut self.corrupt.rng, len_bytes));
        let duplicate = self.duplicate.next();
        let overtaken_by = if self.reorder.next() {
            1 + self.reorder.rng.below(u64::from(self.depth_packets)) as u32
        } else {
            0
        };
        let extra = self.jitter.as_mut().map_or(Duration::ZERO, |(jitter, rng)| {
            Duration::from_nanos(rng.below(jitter.as_nanos() as u64 + 1))
        });
        if lost {
            return Fate { lost, ..Fate::PASS };
        }
        Fate {
            lost,
            corrupt: corrupt.flatten(),
            duplicate,
            overtaken_by,
            delay: self.delay + extra,
        }
    }
}

/// What happens to one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// It does not arrive. Then nothing else happens to it.
    pub lost: bool,
    /// Bytes of it change.
    pub corrupt: Option<Corruption>,
    /// It arrives twice.
    pub duplicate: bool,
    /// How many later packets pass before it; 0 keeps the order.
    pub overtaken_by: u32,
    /// How long it is on its way.
    pub delay: Duration,
}

impl Fate {
    /// It arrives at once, as it left.
    pub const PASS: Self = Self {
        lost: false,
        corrupt: None,
        duplicate: false,
        overtaken_by: 0,
        delay: Duration::ZERO,
    };
}

/// Changes of 1 to 4 bytes at different places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// Place and what is added bitwise to the byte there; those not drawn add zero.
    flips: [(u32, u8); FLIPS_MAX],
}

impl Corruption {
    /// Changes `bytes`. Places are taken modulo its length, so that it can be applied to a packet
    /// of another length than it was drawn for; a place that comes twice changes once.
    pub fn apply(&self, bytes: &mut [u8]) {
        let Some(places) = std::num::NonZero::new(bytes.len()) else { return };
        let place = |offset: u32| offset as usize % places;
        for (index, &(offset, flip)) in self.flips.iter().enumerate() {
            let earlier = &self.flips[..index];
            if earlier.iter().all(|(other, _)| place(*other) != place(offset)) {
                bytes[place(offset)] ^= flip;
            }
        }
    }
}

/// Independent draws of one probability.
#[derive(Clone, Debug)]
struct Draws {
    odds: Odds,
    rng: Rng,
}

impl Draws {
    fn next(&mut self) -> bool {
        self.rng.chance(self.odds)
    }
}

/// `None` for a packet without bytes.
fn corruption(rng: &mut Rng, len_bytes: usize) -> Option<Corruption> {
    let mut flips = [(0, 0); FLIPS_MAX];
    let count = 1 + rng.index(FLIPS_MAX);
    for flip in &mut flips[..count] {
        let offset = rng.index(len_bytes.max(1)) as u32;
        let whole_byte = rng.one_in(2);
        *flip = (offset, if whole_byte { rng.within(1..=255) as u8 } else { 1 << rng.below(8) });
    }
    (len_bytes > 0).then_some(Corruption { flips })
}

const FLIPS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 200_000;

    fn fates(spec: &FaultSpec, count: usize) -> Vec<Fate> {
        let mut model = Model::new(spec);
        (0..count).map(|_| model.decide(1_000)).collect()
    }

    fn share(fates: &[Fate], what: impl Fn(&Fate) -> bool) -> f64 {
        fates.iter().filter(|fate| what(fate)).count() as f64 / fates.len() as f64
    }

    #[test]
    fn same_seed_same_fates_another_seed_others() {
        let spec = FaultSpec::new().loss(0.1).corrupt(0.1).duplicate(0.1).reorder(0.1).seed(7);
        assert_eq!(fates(&spec, 1_000), fates(&spec, 1_000));
        assert_ne!(fates(&spec, 1_000), fates(&spec.clone().seed(8), 1_000));
    }

    #[test]
    fn shares_are_those_asked_for() {
        let spec = FaultSpec::new().loss(0.01).corrupt(0.02).duplicate(0.03).reorder(0.04);
        let fates = fates(&spec, COUNT);
        // Six standard deviations of a share of 0.04 in 200,000 draws are 0.0026.
        let near = |share: f64, asked: f64| (share - asked).abs() < 0.003;
        assert!(near(share(&fates, |fate| fate.lost), 0.01));
        assert!(near(share(&fates, |fate| fate.corrupt.is_some()), 0.02 * 0.99));
        assert!(near(share(&fates, |fate| fate.duplicate), 0.03 * 0.99));
        assert!(near(share(&fates, |fate| fate.overtaken_by > 0), 0.04 * 0.99));
        for depth in 1..=3 {
            let of_depth = share(&fates, |fate| fate.overtaken_by == depth);
            assert!(near(of_depth, 0.04 * 0.99 / 3.0), "{depth}: {of_depth}");
        }
    }

    #[test]
    fn one_kind_of_fault_does_not_move_another() {
        let plain = fates(&FaultSpec::new().loss(0.1), 10_000);
        let more = fates(&FaultSpec::new().loss(0.1).corrupt(0.5).duplicate(0.5), 10_000);
        assert!(plain.iter().zip(&more).all(|(plain, more)| plain.lost == more.lost));
    }

    #[test]
    fn bursts_have_the_share_and_the_mean_length() {
        let fates = fates(&FaultSpec::new().loss(0.1).burst(8.0).seed(3), COUNT);
        let share = share(&fates, |fate| fate.lost);
        let starts = fates.windows(2).filter(|pair| !pair[0].lost && pair[1].lost).count();
        let mean = share * COUNT as f64 / starts as f64;
        assert!((share - 0.1).abs() < 0.01, "{share}");
        assert!((mean - 8.0).abs() < 0.8, "{mean}");
    }

    #[test]
    fn loss_of_one_loses_all_and_of_zero_none() {
        assert!(fates(&FaultSpec::new().loss(1.0), 1_000).iter().all(|fate| fate.lost));
        assert!(fates(&FaultSpec::new(), 1_000).iter().all(|fate| *fate == Fate::PASS));
    }

    #[test]
    fn corruption_changes_one_to_four_bytes_and_reaches_all_of_them() {
        let (mut changed, mut counts) = ([0_u32; 34], [0_u32; 35]);
        for fate in fates(&FaultSpec::new().corrupt(1.0), 20_000) {
            let mut bytes = [0; 34];
            fate.corrupt.unwrap().apply(&mut bytes);
            let count = bytes.iter().filter(|byte| **byte != 0).count();
            counts[count] += 1;
            for (changed, byte) in changed.iter_mut().zip(bytes) {
                *changed += u32::from(byte != 0);
            }
        }
        assert!(changed.iter().all(|count| *count > 500), "{changed:?}");
        assert_eq!(counts[1..5].iter().sum::<u32>(), 20_000);
        assert!(counts[1..5].iter().all(|count| *count > 3_000), "{counts:?}");
    }

    #[test]
    fn shortest_packets_can_be_corrupted_and_empty_ones_not() {
        let mut model = Model::new(&FaultSpec::new().corrupt(1.0));
        for _ in 0..1_000 {
            let mut byte = [0];
            model.decide(1).corrupt.unwrap().apply(&mut byte);
            assert_ne!(byte, [0]);
        }
        assert_eq!(model.decide(0).corrupt, None);
    }

    #[test]
    fn jitter_is_uniform_above_the_delay() {
        let (delay, jitter) = (Duration::from_millis(5), Duration::from_millis(2));
        let fates = fates(&FaultSpec::new().delay(delay).jitter(jitter), COUNT);
        assert!(fates.iter().all(|fate| (delay..=delay + jitter).contains(&fate.delay)));
        let late = share(&fates, |fate| fate.delay > delay + jitter / 2);
        assert!((late - 0.5).abs() < 0.01, "{late}");
    }
}
