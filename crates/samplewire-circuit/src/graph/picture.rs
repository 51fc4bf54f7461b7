//! What pictures of graphs have in them.

use std::time::Duration;

use crate::graph::report::{BlockReport, CircuitReport};
use crate::graph::table;

/// Blocks with what they have done, and streams with the circuit that their quanta are of.
pub(super) struct Picture<'a> {
    pub(super) blocks: &'a [BlockReport],
    /// From which block to which, and whose quanta.
    pub(super) streams: &'a [(usize, usize, usize)],
    pub(super) circuits: &'a [CircuitReport],
    /// How long the blocks have run.
    pub(super) elapsed: Duration,
}

impl Picture<'_> {
    /// The blocks that a picture has; of the others it says how many they are.
    pub(super) fn shown(&self) -> &[BlockReport] {
        &self.blocks[..self.blocks.len().min(BLOCKS_MAX)]
    }

    /// The streams between those.
    pub(super) fn shown_streams(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let is_shown = |&(from, to, _): &(usize, usize, usize)| from.max(to) < BLOCKS_MAX;
        self.streams.iter().copied().filter(is_shown)
    }

    /// How many blocks it does not have.
    pub(super) fn more(&self) -> usize {
        self.blocks.len() - self.shown().len()
    }

    /// The lines in a block: its name, its kind, and what it did.
    pub(super) fn block(
        &self,
        BlockReport { name, kind, counters, .. }: &BlockReport,
    ) -> Vec<String> {
        let mut lines = vec![short(name), (*kind).to_owned()];
        if counters.calls > 0 {
            lines.push(format!("{} calls, {} samples", counters.calls, counters.samples));
            lines.push(format!("busy {:.1} %", counters.busy_percent(self.elapsed)));
        }
        for (count, word) in [(counters.starved, "starved"), (counters.blocked, "blocked")] {
            if count > 0 {
                lines.push(format!("{word} {count}"));
            }
        }
        lines
    }

    /// The lines at a stream of a circuit.
    pub(super) fn stream(&self, circuit: usize) -> Vec<String> {
        let circuit = &self.circuits[circuit];
        let mut lines = vec![short(&circuit.name), format!("{} x {}", circuit.quanta, circuit.len)];
        if let Some(latency) = circuit.latency_max() {
            let (rate, latency) = (table::rate(circuit.rate_hz), table::latency(Some(latency)));
            lines.push(format!("{rate}, {latency} at most"));
        }
        lines
    }
}

/// A name that fits a picture.
fn short(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}..", &name[..end]),
        None => name.to_owned(),
    }
}

/// Blocks in a picture.
const BLOCKS_MAX: usize = 500;
/// Characters of a name; what is longer is cut.
const NAME_CHARS_MAX: usize = 60;
