//! Lines: quanta that visit block after block.

use crate::block::{Failure, Flow};
use crate::channel::{Give, Outlet};
use crate::graph::Survey;
use crate::quantum::{Quantum, SharedQuantum};
use crate::task::{BUDGET, Head, Names, Next, Progress, Station, Visit};

/// Takes quanta from its head, has its blocks work on each, and passes them to its tail. In cache lines
/// that no other thread's line shares.
#[repr(align(128))]
pub(crate) struct Line {
    /// The node with which it begins.
    first: usize,
    head: Head,
    stations: Vec<Station<dyn Visit>>,
    tail: Tail,
    /// The way home, for quanta that a block discards and those that are empty.
    give: Give,
    /// A quantum for which a block waits.
    held: Option<Held>,
    /// The block at work.
    at: usize,
    /// How many quanta to move in one poll.
    budget: usize,
    is_over: bool,
}

/// A quantum for which a block waits.
struct Held {
    quantum: Quantum,
    /// The block's place.
    at: usize,
    /// Whether a block before it ended the stream with this quantum.
    is_last: bool,
}

/// Where a line's quanta go.
pub(crate) enum Tail {
    /// Home: the last block was a sink.
    Home,
    /// Another task.
    Outlet(Outlet<Quantum>),
    /// Several others, which read them.
    Broadcast(Vec<Outlet<SharedQuantum>>),
}

impl Line {
    pub(crate) fn new(
        first: usize,
        head: Head,
        stations: Vec<Station<dyn Visit>>,
        tail: Tail,
        give: Give,
    ) -> Self {
        // To a task of the same group one at a time: the next block finds it in a cache.
        let is_local = match &tail {
            Tail::Home => false,
            Tail::Outlet(outlet) => outlet.is_local(),
            Tail::Broadcast(outlets) => outlets.iter().any(Outlet::is_local),
        };
        let budget = if is_local { 1 } else { BUDGET };
        Self { first, head, stations, tail, give, held: None, at: 0, budget, is_over: false }
    }

    pub(crate) fn poll(&mut self) -> Result<Progress, Failure> {
        if self.is_over {
            return Ok(self.head.clear(&mut self.give));
        }
        if self.tail.is_closed() {
            self.end();
            return Ok(Progress::Moved);
        }
        for moved in 0..self.budget {
            let held = match self.held.take() {
                Some(held) => held,
                None => match self.next()? {
                    Ok(quantum) => Held { quantum, at: 0, is_last: false },
                    Err(Progress::Done) => {
                        self.end();
                        return Ok(Progress::Moved);
                    }
                    Err(_) if moved > 0 => return Ok(Progress::Moved),
                    Err(progress) => return Ok(progress),
                },
            };
            match self.visit(held)? {
                Visited::Gone => {}
                Visited::Held(_) if moved > 0 => return Ok(Progress::Moved),
                Visited::Held(progress) => return Ok(progress),
                Visited::Last => {
                    self.end();
                    return Ok(Progress::Moved);
                }
            }
        }
        Ok(Progress::Moved)
    }

    /// The head's next quantum, or what it came to instead.
    #[inline]
    fn next(&mut self) -> Result<Result<Quantum, Progress>, Failure> {
        self.at = 0;
        Ok(match self.head.next(&mut self.give)? {
            Next::Quantum(quantum) => Ok(quantum),
            Next::Worked => Err(Progress::Moved),
            Next::Starved => {
                if let Some(station) = self.stations.first_mut() {
                    station.counting.starved();
                }
                Err(Progress::Idle)
            }
            Next::Blocked => {
                if let Some(station) = self.stations.first_mut() {
                    station.counting.blocked();
                }
                Err(Progress::Idle)
            }
            Next::Ended => Err(Progress::Done),
        })
    }

    /// Has the blocks from the holding one on work on a quantum, and passes it on.
    #[inline]
    fn visit(&mut self, Held { mut quantum, at: from, is_last }: Held) -> Result<Visited, Failure> {
        let mut visited = if is_last { Visited::Last } else { Visited::Gone };
        let pool = std::ptr::from_ref(quantum.pool());
        for (at, station) in self.stations.iter_mut().enumerate().skip(from) {
            self.at = at;
            let samples = station.sample_size.samples(quantum.len()) as u64;
            let Station { counting, block, .. } = station;
            let flow = counting.call(0, || block.visit(&mut quantum))?;
            if !std::ptr::eq(quantum.pool(), pool) {
                return Err(EXCHANGED.into());
            }
            match flow {
                Flow::Pass => counting.made(samples),
                Flow::End => {
                    counting.made(samples);
                    visited = Visited::Last;
                }
                flow @ (Flow::Wait | Flow::Sleep) => {
                    let is_last = visited == Visited::Last;
                    self.held = Some(Held { quantum, at, is_last });
                    return Ok(Visited::Held(Progress::of_wait(flow)));
                }
                Flow::Discard => {
                    counting.made(samples);
                    self.give.give(quantum);
                    return Ok(visited);
                }
            }
            if at == 0
                && let Head::Free { next_index, .. } = &mut self.head
            {
                let made = station.sample_size.samples(quantum.len()) as u64;
                station.counting.made(made);
                *next_index = quantum.index().wrapping_add(made);
            }
            if quantum.is_empty() {
                break;
            }
            station.counting.rate(quantum.rate_hz());
        }
        if quantum.is_empty() {
            self.give.give(quantum);
            return Ok(visited);
        }
        match &mut self.tail {
            Tail::Home => self.give.give(quantum),
            Tail::Outlet(outlet) => outlet.push(quantum),
            Tail::Broadcast(outlets) => broadcast(quantum, outlets),
        }
        Ok(visited)
    }

    /// No quantum will be passed on any more, and none is wanted.
    fn end(&mut self) {
        self.is_over = true;
        if let Some(held) = self.held.take() {
            self.give.give(held.quantum);
        }
        self.head.close(&mut self.give);
        self.tail.end();
    }

    /// The node at work.
    pub(crate) fn at(&self) -> usize {
        let of_head = || self.head.node().unwrap_or(self.first);
        match self.stations.get(self.at) {
            Some(station) if !self.head.is_at_work() => station.node,
            _ => of_head(),
        }
    }

    pub(crate) fn start(&mut self, names: &Names<'_>) -> Result<(), (usize, Failure)> {
        self.head.start(names)?;
        self.stations.iter_mut().try_for_each(|station| station.start(names))
    }

    pub(crate) fn stop(&mut self) -> Result<(), (usize, Failure)> {
        let mut result = self.head.stop();
        for station in &mut self.stations {
            result = result.and(station.stop());
        }
        result
    }

    pub(crate) fn publish(&self) {
        self.head.publish();
        self.stations.iter().for_each(|station| station.counting.publish());
    }

    /// Has a source end, also one that waits.
    pub(crate) fn drain(&mut self) {
        self.head.drain();
        if matches!(self.head, Head::Free { .. })
            && let Some(held) = self.held.take_if(|held| held.at == 0)
        {
            self.give.give(held.quantum);
        }
    }

    /// Reports where everything is.
    pub(crate) fn survey(&mut self, survey: &mut Survey<'_>) {
        self.head.survey(self.first, survey);
        if let Some(Held { quantum, at, .. }) = &self.held {
            survey.held(self.stations[*at].node, quantum);
        }
    }

    /// Its head and its blocks, for another split; what it holds returns to its pool.
    pub(crate) fn into_parts(self) -> (Head, Vec<Station<dyn Visit>>) {
        (self.head, self.stations)
    }
}

/// What became of a quantum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visited {
    Gone,
    Held(Progress),
    /// It went on, and is the last.
    Last,
}

impl Tail {
    fn is_closed(&self) -> bool {
        match self {
            Self::Home => false,
            Self::Outlet(outlet) => outlet.is_closed(),
            Self::Broadcast(outlets) => outlets.iter().all(Outlet::is_closed),
        }
    }

    fn end(&mut self) {
        match self {
            Self::Home => {}
            Self::Outlet(outlet) => outlet.end(),
            Self::Broadcast(outlets) => outlets.iter_mut().for_each(Outlet::end),
        }
    }
}

/// Passes a handle to each, those included that take no more: they give it up.
fn broadcast(quantum: Quantum, outlets: &mut [Outlet<SharedQuantum>]) {
    let shared = quantum.share();
    let (last, others) = outlets.split_last_mut().expect("a broadcast has readers");
    for outlet in others {
        outlet.push(shared.clone());
    }
    last.push(shared);
}

/// Why a block fails that swapped its quantum for one of another pool.
pub(crate) const EXCHANGED: &str = "passes a quantum that is not its circuit's";
