//! Breadth first over states, each kept as the event that led to it.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::{Duration, Instant};

use samplewire_proto::Rng;

use super::canon::Canon;
use super::heal::heal;
use super::ledger::Broken;
use super::world::{Event, World};
use super::{SearchFailure, SearchOptions};

/// What a search of a scenario has seen.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The scenario.
    pub scenario: &'static str,
    /// States with fingerprints of their own.
    pub states: u64,
    /// States from which every event has been tried.
    pub expanded: u64,
    /// Events that happened, those that led to a state already known included.
    pub events: u64,
    /// Events from the start to the furthest state.
    pub depth: u32,
    /// Up to how many events from the start every state has been tried.
    pub depth_whole: u32,
    /// Whether no state is left to go on from.
    pub is_exhausted: bool,
    /// States from which the network healed.
    pub healed: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Bytes of the states that are kept, and of their fingerprints.
    pub memory_bytes: u64,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, states, events, depth, depth_whole, healed, .. } = self;
        let extent = match self.is_exhausted {
            true => format!("all, up to {depth} events"),
            false => format!("all up to {depth_whole} events, some of {depth}"),
        };
        let (seconds, mib) = (self.elapsed.as_secs_f64(), self.memory_bytes as f64 / 1048576.0);
        write!(
            f,
            "{scenario:<26} {states:>9} states, {extent}; {events} events tried, {healed} states \
             healed, {seconds:.1} s, {mib:.0} MiB"
        )
    }
}

/// A search of one scenario.
#[derive(Debug)]
pub(super) struct Explorer {
    start: World,
    options: SearchOptions,
    nodes: Vec<Node>,
    known: HashSet<u64, BuildHasherDefault<AsIs>>,
    /// The states on the way to the one that was expanded last.
    way: Vec<(u32, World)>,
    rng: Rng,
    canon: Canon,
    explored: Explored,
}

/// A state: the one before it, and what happened.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    event: Event,
    depth: u16,
}

impl Explorer {
    pub(super) fn new(start: World, options: &SearchOptions) -> Self {
        let explored = Explored {
            scenario: start.scenario_name(),
            states: 0,
            expanded: 0,
            events: 0,
            depth: 0,
            depth_whole: 0,
            is_exhausted: false,
            healed: 0,
            elapsed: Duration::ZERO,
            memory_bytes: 0,
        };
        Self {
            start,
            options: *options,
            nodes: vec![],
            known: HashSet::default(),
            way: vec![],
            rng: Rng::new(options.seed),
            canon: Canon::new(),
            explored,
        }
    }

    pub(super) const fn explored(&self) -> &Explored {
        &self.explored
    }

    /// Visits up to `states` states.
    pub(super) fn run(&mut self, states: u64) -> Result<(), SearchFailure> {
        let started = Instant::now();
        let found = self.visit(states);
        self.explored.elapsed = started.elapsed();
        self.explored.states = self.nodes.len() as u64;
        let bytes = self.nodes.capacity() * size_of::<Node>() + self.known.capacity() * 9 * 8 / 7;
        self.explored.memory_bytes = bytes as u64;
        found
    }

    fn visit(&mut self, states: u64) -> Result<(), SearchFailure> {
        let start = self.start.clone();
        self.enter(&start, Node { parent: 0, event: Event::RestartDevice, depth: 0 })?;
        let mut events = vec![];
        let mut at = 0;
        while at < self.nodes.len() {
            let Node { depth, .. } = self.nodes[at];
            self.explored.depth_whole = depth.into();
            self.explored.expanded += 1;
            let world = self.world_of(at as u32);
            world.events(&mut events);
            self.shuffle(&mut events);
            for &event in &events {
                if self.nodes.len() as u64 >= states {
                    return Ok(());
                }
                let mut next = self.way.last().expect("a state is on its own way").1.clone();
                next.take(event, None);
                self.explored.events += 1;
                self.enter(&next, Node { parent: at as u32, event, depth: depth + 1 })?;
            }
            at += 1;
        }
        self.explored.is_exhausted = true;
        Ok(())
    }

    /// Keeps a state that is not known, and checks it.
    fn enter(&mut self, world: &World, node: Node) -> Result<(), SearchFailure> {
        if let Some(broken) = world.broken() {
            return Err(self.failure(node, broken.clone(), false));
        }
        let fingerprint = world.fingerprint(&mut self.canon);
        if !self.known.insert(fingerprint) {
            return Ok(());
        }
        self.explored.depth = self.explored.depth.max(node.depth.into());
        self.nodes.push(node);
        if fingerprint.is_multiple_of(self.options.heals_one_in) {
            self.explored.healed += 1;
            if let Err(broken) = heal(&mut world.clone(), None) {
                return Err(self.failure(node, broken, true));
            }
        }
        Ok(())
    }

    /// Rebuilds a state. States that are expanded one after another share most of their way.
    fn world_of(&mut self, at: u32) -> &World {
        let mut path = vec![];
        let mut node = at;
        while !self.way.iter().any(|(known, _)| *known == node) && node != 0 {
            path.push(node);
            node = self.nodes[node as usize].parent;
        }
        let shared = self.way.iter().position(|(known, _)| *known == node);
        self.way.truncate(shared.map_or(0, |shared| shared + 1));
        if self.way.is_empty() {
            self.way.push((0, self.start.clone()));
        }
        for node in path.into_iter().rev() {
            let mut world = self.way.last().expect("the start is on every way").1.clone();
            world.take(self.nodes[node as usize].event, None);
            self.way.push((node, world));
        }
        &self.way.last().expect("the start is on every way").1
    }

    fn shuffle(&mut self, events: &mut [Event]) {
        if self.options.seed == 0 {
            return;
        }
        for end in (2..=events.len()).rev() {
            events.swap(end - 1, self.rng.below(end as u64) as usize);
        }
    }

    /// The way to a node that is not kept yet, run once more and described.
    fn failure(&self, last: Node, broken: Broken, heals: bool) -> SearchFailure {
        let mut events = vec![];
        let mut node = last;
        while node.depth > 0 {
            events.push(node.event);
            node = self.nodes[node.parent as usize];
        }
        let mut world = self.start.clone();
        let mut path = vec![];
        for event in events.into_iter().rev() {
            world.take(event, Some(&mut path));
        }
        if heals {
            let again = heal(&mut world, Some(&mut path));
            assert_eq!(again.as_ref(), Err(&broken), "a run that is repeated is the same");
            path.truncate(PATH_LINES_MAX);
        }
        SearchFailure { scenario: self.explored.scenario, broken, path }
    }
}

/// A fingerprint is a hash.
#[derive(Clone, Copy, Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a fingerprint is one number");
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// How many lines of a healed run that does not end are kept, from its start.
const PATH_LINES_MAX: usize = 400;
