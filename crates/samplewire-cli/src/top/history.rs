//! The changes between two surveys: rates, and their history for several minutes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use super::survey::{Facts, Key, Survey};

/// Follows all streams.
#[derive(Debug, Default)]
pub(super) struct History {
    tracks: BTreeMap<Key, Track>,
}

#[derive(Debug)]
struct Track {
    at: Instant,
    samples: f64,
    repaired: f64,
    rates: VecDeque<u64>,
    repairs: VecDeque<u64>,
}

/// A stream as it is shown.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) facts: Facts,
    /// The rates of the last interval; `None` after the first survey.
    pub(super) rates: Option<Rates>,
    /// Samples per second, oldest first.
    pub(super) rate_history: Vec<u64>,
    /// Packets repaired per second, oldest first.
    pub(super) repair_history: Vec<u64>,
}

/// The rates over one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    /// Seconds between the two answers.
    pub(super) interval: f64,
    pub(super) samples: f64,
    pub(super) bits: f64,
    pub(super) repaired: f64,
}

impl History {
    /// Takes a survey; streams that are gone are forgotten.
    pub(super) fn take(&mut self, survey: Survey) -> Vec<Shown> {
        let mut before = std::mem::take(&mut self.tracks);
        let shown = |facts: Facts| {
            let track = before.remove(&facts.key);
            let (track, rates) = Track::follow(track, &facts);
            let shown = Shown {
                rates,
                rate_history: track.rates.iter().copied().collect(),
                repair_history: track.repairs.iter().copied().collect(),
                facts,
            };
            self.tracks.insert(shown.facts.key.clone(), track);
            shown
        };
        survey.streams.into_iter().map(shown).collect()
    }
}

impl Track {
    fn follow(before: Option<Self>, facts: &Facts) -> (Self, Option<Rates>) {
        let (at, samples, repaired) = (facts.at, facts.samples(), facts.repaired());
        let Some(mut track) = before else {
            let (rates, repairs) = (VecDeque::new(), VecDeque::new());
            return (Self { at, samples, repaired, rates, repairs }, None);
        };
        let seconds = (at - track.at).as_secs_f64();
        // A counter that fell restarted with another session.
        let rate = |before: f64, now: f64| {
            let grown = if now < before { now } else { now - before };
            if seconds > 0.0 { grown / seconds } else { 0.0 }
        };
        let samples_rate = rate(track.samples, samples);
        let rates = Rates {
            interval: seconds,
            samples: samples_rate,
            bits: samples_rate * facts.number("stream_sample_bytes") * 8.0,
            repaired: rate(track.repaired, repaired),
        };
        push(&mut track.rates, rates.samples);
        push(&mut track.repairs, rates.repaired);
        (track.at, track.samples, track.repaired) = (at, samples, repaired);
        (track, Some(rates))
    }
}

fn push(history: &mut VecDeque<u64>, rate: f64) {
    if history.len() == HISTORY_LEN {
        history.pop_front();
    }
    history.push_back(rate.round() as u64);
}

/// As wide as a wide terminal.
const HISTORY_LEN: usize = 400;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::client::Endpoint;
    use crate::metrics::text;
    use crate::top::survey::facts;

    /// One stream in two processes, each with its own time and count.
    fn look(of_processes: [(Instant, u64); 2]) -> Survey {
        let streams = of_processes.iter().enumerate().flat_map(|(process, (at, samples))| {
            let of = "{device=\"d\",stream=\"0\",direction=\"receive\"}";
            let page = format!(
                "samplewire_stream_info{of} 1\nsamplewire_stream_sample_bytes{of} 4\n\
                 samplewire_receiver_samples_delivered_total{of} {samples}\n\
                 samplewire_receiver_repaired_total{of} {repaired}\n",
                repaired = samples / 1_000
            );
            let endpoint = Endpoint::Local(process.to_string().into());
            facts(&endpoint, &text::parse(&page).unwrap(), *at)
        });
        Survey { processes: 2, streams: streams.collect(), ..Survey::default() }
    }

    #[test]
    fn rates_are_of_the_time_between_two_answers_of_one_process() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut history = History::default();
        let first = history.take(look([(start, 7_000), (start, 0)]));
        assert!(first.iter().all(|shown| shown.rates.is_none() && shown.rate_history.is_empty()));
        // The other process answered late.
        let shown =
            history.take(look([(start + second, 1_007_000), (start + second * 2, 2_000_000)]));
        let expected = Rates { interval: 1.0, samples: 1e6, bits: 32e6, repaired: 1e3 };
        assert_eq!(shown[0].rates, Some(expected));
        assert_eq!(shown[1].rates, Some(Rates { interval: 2.0, ..expected }));
        // The count restarts from zero, and then stays.
        let shown =
            history.take(look([(start + second * 2, 500_000), (start + second * 4, 2_000_000)]));
        assert_eq!(shown[0].rates.unwrap().samples, 5e5);
        assert_eq!(shown[1].rates.unwrap().samples, 0.0);
        assert_eq!(shown[1].rate_history, [1_000_000, 0]);
        // Two surveys at the same time give no rates.
        let shown =
            history.take(look([(start + second * 2, 600_000), (start + second * 5, 2_000_000)]));
        assert_eq!(shown[0].rates.unwrap().samples, 0.0);
    }
}
