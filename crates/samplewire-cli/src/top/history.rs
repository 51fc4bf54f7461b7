//! What changes between two looks: rates, and how they went for some minutes.

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
    /// Of the last interval; `None` at the first look.
    pub(super) rates: Option<Rates>,
    /// Samples a second, the oldest first.
    pub(super) rate_history: Vec<u64>,
    /// Packets repaired a second, the oldest first.
    pub(super) repair_history: Vec<u64>,
}

/// What happened in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) samples: f64,
    pub(super) bits: f64,
    pub(super) repaired: f64,
}

impl History {
    /// Takes a look; the streams that are there, and no other is remembered.
    pub(super) fn take(&mut self, survey: Survey) -> Vec<Shown> {
        let mut before = std::mem::take(&mut self.tracks);
        let shown = |facts: Facts| {
            let track = before.remove(&facts.key);
            let (track, rates) = Track::follow(track, &facts, survey.at);
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
    fn follow(before: Option<Self>, facts: &Facts, at: Instant) -> (Self, Option<Rates>) {
        let (samples, repaired) = (facts.samples(), facts.repaired());
        let Some(mut track) = before else {
            let (rates, repairs) = (VecDeque::new(), VecDeque::new());
            return (Self { at, samples, repaired, rates, repairs }, None);
        };
        let seconds = (at - track.at).as_secs_f64();
        // A counter that fell began anew with another session.
        let rate = |before: f64, now: f64| {
            let grown = if now < before { now } else { now - before };
            if seconds > 0.0 { grown / seconds } else { 0.0 }
        };
        let samples_rate = rate(track.samples, samples);
        let rates = Rates {
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
