//! What others may see of a recording while it runs.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire::receiver::{Interleaved, ReceiverSnapshot, StatsHandle};
use samplewire_record::account::Account;

use crate::cadence::Cadence;
use crate::metrics::{About, Direction, Entry, Registry, Told, View, ended};

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
    peer: SocketAddr,
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
                lane.stats.stats().after(&lane.before)
            });
            let (peer, packet_samples) = (Some(info.address), info.packet_samples);
            let account = (at == 0).then(|| self.account.clone());
            let look = {
                let stats = stats.clone();
                move || View {
                    peer,
                    packet_samples,
                    receiver: Some(stats.stats().after(&before)),
                    recording: account.as_ref().map(Told::get),
                    ..View::default()
                }
            };
            let peer = info.address;
            if let Some(lane) = self.lanes.get_mut(at) {
                lane.entry.set(look);
                (lane.peer, lane.stats, lane.before) = (peer, stats, before);
            } else {
                let entry = self.registry.add(About::opened(info, Direction::Receive), look);
                self.lanes.push(Lane { entry, peer, stats, before });
            }
        }
    }

    /// Tells that the opening is over, once its receiver is closed.
    pub(super) fn close(&self) {
        for (at, lane) in self.lanes.iter().enumerate() {
            let account = (at == 0).then(|| self.account.clone());
            let (peer, counted) = (Some(lane.peer), lane.stats.stats().after(&lane.before));
            lane.entry.set(move || View {
                peer,
                receiver: Some(ended(&counted)),
                recording: account.as_ref().map(Told::get),
                ..View::default()
            });
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
