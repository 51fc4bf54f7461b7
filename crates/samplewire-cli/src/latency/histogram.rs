//! Times in bins, four to each doubling.

use std::time::Duration;

/// Sorted times.
#[derive(Debug)]
pub(super) struct Histogram {
    times: Vec<Duration>,
}

impl Histogram {
    /// `None` without any times.
    pub(super) fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        (!times.is_empty()).then_some(Self { times })
    }

    pub(super) const fn len(&self) -> usize {
        self.times.len()
    }

    /// The time that this share of all times does not exceed; 0 gives the minimum, 1 the maximum.
    pub(super) fn at(&self, share: f64) -> Duration {
        let last = self.times.len() - 1;
        self.times[((share * last as f64).round() as usize).min(last)]
    }

    /// The ends of bins, and the count of each, from the minimum to the maximum, with empty bins
    /// between them.
    pub(super) fn bins(&self) -> Vec<(Duration, usize)> {
        let bin = |time: &Duration| (time.as_secs_f64().max(1e-9).log2() * 4.0).floor() as i32;
        let (first, last) = (bin(&self.times[0]), bin(&self.times[self.times.len() - 1]));
        (first..=last)
            .map(|number| {
                let end = Duration::from_secs_f64((f64::from(number + 1) / 4.0).exp2());
                (end, self.times.iter().filter(|time| bin(time) == number).count())
            })
            .collect()
    }
}

/// A bar for a share of 1.
pub(super) fn bar(share: f64) -> String {
    "#".repeat((share.clamp(0.0, 1.0) * BAR_MAX as f64).round() as usize)
}

/// Characters of the longest bar: a line fits 80 columns.
pub(super) const BAR_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_one_bin_below_its_end() {
        let times: Vec<_> = [50, 51, 60, 100, 990].map(Duration::from_micros).to_vec();
        let histogram = Histogram::of(times.clone()).expect("there are times");
        let bins = histogram.bins();
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<usize>(), times.len());
        assert!(bins[0].0 > times[0] && bins[bins.len() - 1].0 > times[4]);
        assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(histogram.at(0.0), times[0]);
        assert_eq!(histogram.at(0.5), times[2]);
        assert_eq!(histogram.at(1.0), times[4]);
        assert!(Histogram::of(vec![]).is_none());
    }

    #[test]
    fn bar_is_as_long_as_its_share() {
        assert_eq!((bar(0.0).len(), bar(0.5).len(), bar(1.0).len()), (0, 20, 40));
    }
}
