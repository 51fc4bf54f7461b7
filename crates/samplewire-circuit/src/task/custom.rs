//! Blocks with ports of their own.

use std::sync::atomic::Ordering;

use crate::block::Failure;
use crate::graph::Survey;
use crate::group::Polled;
use crate::ports::{Custom, Ports};
use crate::task::{Names, Progress, Station, guarded};

/// A [`Custom`] block and its ports.
pub(crate) struct CustomTask {
    station: Station<dyn Custom>,
    ports: Ports,
    is_started: bool,
    is_over: bool,
}

impl CustomTask {
    pub(crate) fn new(station: Station<dyn Custom>, ports: Ports) -> Self {
        Self { station, ports, is_started: false, is_over: false }
    }

    pub(crate) fn poll(&mut self) -> Result<Progress, Failure> {
        if self.is_over {
            return Ok(match self.ports.clear() {
                Some(true) => Progress::Moved,
                Some(false) => Progress::Idle,
                None => Progress::Done,
            });
        }
        if self.ports.are_closed() {
            return Ok(self.end());
        }
        let Station { counting, block, .. } = &mut self.station;
        let polled = counting.call(0, || block.work(&mut self.ports));
        counting.made(self.ports.count());
        let polled = polled?;
        if let Some(circuit) = self.ports.account().dropped() {
            return Err(format!(
                "dropped a quantum of circuit '{circuit}': it must be pushed or released"
            )
            .into());
        }
        Ok(match polled {
            Polled::Moved => Progress::Moved,
            Polled::Waiting => Progress::Waiting,
            Polled::Asleep => Progress::Asleep,
            Polled::Idle => {
                counting.starved();
                Progress::Idle
            }
            Polled::Done => self.end(),
        })
    }

    fn end(&mut self) -> Progress {
        self.is_over = true;
        self.ports.end();
        Progress::Moved
    }

    pub(crate) fn drain(&mut self) {
        self.ports.is_draining = true;
    }

    /// Reports where everything is.
    pub(crate) fn survey(&mut self, survey: &mut Survey<'_>) {
        survey.is_idle(self.station.node);
        self.ports.survey(self.station.node, survey);
    }

    pub(crate) fn node(&self) -> usize {
        self.station.node
    }

    pub(crate) fn start(&mut self, names: &Names<'_>) -> Result<(), (usize, Failure)> {
        let node = self.station.node;
        guarded(node, || self.station.block.start(&names.of(node)))?;
        self.is_started = true;
        Ok(())
    }

    pub(crate) fn stop(&mut self) -> Result<(), (usize, Failure)> {
        self.ports.account().is_over.store(true, Ordering::Relaxed);
        if !std::mem::take(&mut self.is_started) {
            return Ok(());
        }
        guarded(self.station.node, || self.station.block.stop())
    }

    pub(crate) fn publish(&self) {
        self.station.counting.publish();
    }

    /// Its block, for another split, and how many quanta that holds; those in its ports go home.
    pub(crate) fn into_station(self) -> (Station<dyn Custom>, usize) {
        (self.station, self.ports.account().held())
    }
}
