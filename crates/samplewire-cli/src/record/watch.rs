//! Exports the counters of a recording while it runs.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use samplewire::receiver::{Interleaved, ReceiverSnapshot, StatsHandle};
use samplewire_io::HostDropCounts;
use samplewire_record::account::Account;

use crate::cadence::Cadence;
use crate::metrics::{About, Direction, Entry, Exported, Registry, View, ended};

/// Exports the streams of a recording, over all their openings.
#[derive(Debug)]
pub(super) struct Watch {
    registry: Registry,
    lanes: Vec<Lane>,
    account: Exported<Account>,
    host: Exported<HostDropCounts>,
    cadence: Cadence,
}

#[derive(Debug)]
struct Lane {
    entry: Entry,
    peer: SocketAddr,
    stats: StatsHandle,
    /// The counts of the earlier openings.
    before: ReceiverSnapshot,
}

impl Watch {
    /// Creates the export without streams.
    pub(super) fn new(registry: &Registry, account: &Account) -> Self {
        let account = Exported::new(account.clone());
        let host = Exported::new(HostDropCounts::default());
        let cadence = Cadence::new(PERIOD, Instant::now());
        Self { registry: registry.clone(), lanes: vec![], account, host, cadence }
    }

    /// Exports the streams of `receiver`, with the counts of earlier openings. The first stream
    /// also exports the recording's account.
    pub(super) fn follow(&mut self, receiver: &Interleaved) {
        for (at, (info, stats)) in receiver.counters().enumerate() {
            let earlier = self.lanes.get(at);
            let before = earlier.map_or_else(ReceiverSnapshot::default, |lane| {
                lane.stats.stats().after(&lane.before)
            });
            let (peer, packet_samples) = (Some(info.address), info.packet_samples);
            let (account, host) = self.of_recording(at);
            let look = {
                let stats = stats.clone();
                move || View {
                    peer,
                    packet_samples,
                    receiver: Some(stats.stats().after(&before)),
                    recording: account.as_ref().map(Exported::get),
                    host: host.as_ref().map(Exported::get),
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

    /// Exports the final counts, after the receiver of an opening is closed.
    pub(super) fn close(&self) {
        for (at, lane) in self.lanes.iter().enumerate() {
            let (account, host) = self.of_recording(at);
            let (peer, counted) = (Some(lane.peer), lane.stats.stats().after(&lane.before));
            lane.entry.set(move || View {
                peer,
                receiver: Some(ended(&counted)),
                recording: account.as_ref().map(Exported::get),
                host: host.as_ref().map(Exported::get),
                ..View::default()
            });
        }
    }

    /// Exports the account and what the host drops from time to time, and at the end.
    pub(super) fn export(
        &mut self,
        account: &Account,
        host: impl FnOnce() -> HostDropCounts,
        now: Instant,
        is_last: bool,
    ) {
        if self.cadence.is_due(now) || is_last {
            self.account.set(account.clone());
            self.host.set(host());
        }
    }

    /// What belongs to the recording as a whole: the first stream exports it.
    fn of_recording(
        &self,
        at: usize,
    ) -> (Option<Exported<Account>>, Option<Exported<HostDropCounts>>) {
        let is_first = at == 0;
        (is_first.then(|| self.account.clone()), is_first.then(|| self.host.clone()))
    }
}

/// The interval at which the receiver's own counters are updated.
const PERIOD: Duration = Duration::from_millis(20);
