//! What others may see of a recording while it runs.

use std::time::{Duration, Instant};

use samplewire::receiver::{Interleaved, ReceiverSnapshot, StatsHandle};

use super::sessions::sum;
use crate::account::Account;
use crate::cadence::Cadence;
use crate::metrics::{About, Direction, Entry, Registry, Told, View};

/// Tells of the streams of a recording, over all their openings.
#[derive(Debug)]
pub(super) struct Watch {
    registry: Registry,
    lanes: Vec<Lane>,
    account: Told<Account>,
    cadence: Cadence,
}

#[derive(Debug)]
struct Lane {
    entry: Entry,
    stats: StatsHandle,
    /// What was counted before the present opening.
    before: ReceiverSnapshot,
}

impl Watch {
    /// Tells of nothing yet.
    pub(super) fn new(registry: &Registry, account: &Account) -> Self {
        let account = Told::new(account.clone());
        let cadence = Cadence::new(PERIOD, Instant::now());
        Self { registry: registry.clone(), lanes: vec![], account, cadence }
    }

    /// Follows the opening that `receiver` is, after those before it. What the recording holds is
    /// told of with its first stream.
    pub(super) fn follow(&mut self, receiver: &Interleaved) {
        for (at, (info, stats)) in receiver.counters().enumerate() {
            let earlier = self.lanes.get(at);
            let before = earlier.map_or_else(ReceiverSnapshot::default, |lane| {
                sum(&lane.before, &lane.stats.stats())
            });
            let (peer, packet_samples) = (Some(info.address), info.packet_samples);
            let account = (at == 0).then(|| self.account.clone());
            let look = {
                let stats = stats.clone();
                move || View {
                    peer,
                    packet_samples,
                    receiver: Some(sum(&before, &stats.stats())),
                    recording: account.as_ref().map(Told::get),
                    ..View::default()
                }
            };
            if let Some(lane) = self.lanes.get_mut(at) {
                lane.entry.set(look);
                (lane.stats, lane.before) = (stats, before);
            } else {
                let entry = self.registry.add(About::opened(info, Direction::Receive), look);
                self.lanes.push(Lane { entry, stats, before });
            }
        }
    }

    /// Tells of the account now and then, and at the last.
    pub(super) fn tell(&mut self, account: &Account, now: Instant, is_last: bool) {
        if self.cadence.is_due(now) || is_last {
            self.account.set(account.clone());
        }
    }
}

/// As often as the receiver's own counters are seen anew.
const PERIOD: Duration = Duration::from_millis(20);
