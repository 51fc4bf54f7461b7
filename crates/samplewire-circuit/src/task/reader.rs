//! Readers: sinks that share their quanta with others.

use crate::block::{Failure, Flow};
use crate::channel::Arrival;
use crate::graph::Survey;
use crate::task::input::{Input, Reading};
use crate::task::{BUDGET, Names, Progress, Read, Station};

/// A sink at one of the ends of a broadcast.
pub(crate) struct Reader {
    input: Input,
    station: Station<dyn Read>,
    /// A quantum for which the block waits.
    held: Option<Reading>,
    is_over: bool,
}

impl Reader {
    pub(crate) fn new(input: Input, station: Station<dyn Read>) -> Self {
        Self { input, station, held: None, is_over: false }
    }

    pub(crate) fn poll(&mut self) -> Result<Progress, Failure> {
        if self.is_over {
            return Ok(self.input.clear());
        }
        for moved in 0..BUDGET {
            let quantum = match self.held.take().map_or_else(|| self.input.pop(), Arrival::Next) {
                Arrival::Next(quantum) => quantum,
                Arrival::Ended => return Ok(self.end()),
                Arrival::Empty if moved > 0 => return Ok(Progress::Moved),
                Arrival::Empty => {
                    self.station.counting.starved();
                    return Ok(Progress::Idle);
                }
            };
            let Station { sample_size, counting, block, .. } = &mut self.station;
            let samples = sample_size.samples(quantum.quantum().len()) as u64;
            match counting.call(0, || block.read(quantum.quantum()))? {
                Flow::Pass | Flow::Discard => {
                    counting.made(samples);
                    self.input.release(quantum);
                }
                Flow::End => {
                    counting.made(samples);
                    self.input.release(quantum);
                    return Ok(self.end());
                }
                flow @ (Flow::Wait | Flow::Sleep) => {
                    self.held = Some(quantum);
                    let progress = Progress::of_wait(flow);
                    return Ok(if moved > 0 { Progress::Moved } else { progress });
                }
            }
        }
        Ok(Progress::Moved)
    }

    fn end(&mut self) -> Progress {
        self.is_over = true;
        self.input.close();
        Progress::Moved
    }

    /// Reports where everything is.
    pub(crate) fn survey(&mut self, survey: &mut Survey<'_>) {
        let node = self.station.node;
        survey.waits_for_input(node, 0);
        if let Some(reading) = &self.held {
            survey.held(node, reading.quantum());
        }
        self.input.survey(node, 0, survey);
    }

    pub(crate) fn node(&self) -> usize {
        self.station.node
    }

    pub(crate) fn start(&mut self, names: &Names<'_>) -> Result<(), (usize, Failure)> {
        self.station.start(names)
    }

    pub(crate) fn stop(&mut self) -> Result<(), (usize, Failure)> {
        self.station.stop()
    }

    pub(crate) fn publish(&self) {
        self.station.counting.publish();
    }

    /// Its block, for another split; what it holds returns to its pool.
    pub(crate) fn into_station(self) -> Station<dyn Read> {
        self.station
    }
}
