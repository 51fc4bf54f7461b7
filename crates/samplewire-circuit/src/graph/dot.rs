//! Pictures of graphs, in Graphviz' language.

use std::fmt::{self, Write};
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

impl fmt::Display for Picture<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "digraph {{\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];")?;
        for (number, block) in self.blocks.iter().take(BLOCKS_MAX).enumerate() {
            writeln!(to, "  {number} [label={}];", Quoted(&self.block(block)?))?;
        }
        for &(from, reader, circuit) in self.streams {
            if from < BLOCKS_MAX && reader < BLOCKS_MAX {
                let label = stream(&self.circuits[circuit])?;
                writeln!(to, "  {from} -> {reader} [label={}];", Quoted(&label))?;
            }
        }
        if self.blocks.len() > BLOCKS_MAX {
            let more = self.blocks.len() - BLOCKS_MAX;
            writeln!(to, "  more [label=\"and {more} more\", shape=plaintext];")?;
        }
        to.write_str("}\n")
    }
}

impl Picture<'_> {
    /// What stands in a block.
    fn block(
        &self,
        BlockReport { name, kind, counters: of }: &BlockReport,
    ) -> Result<String, fmt::Error> {
        let mut label = format!("{}\n{kind}", short(name));
        if of.calls > 0 {
            let (calls, samples, busy) = (of.calls, of.samples, of.busy_percent(self.elapsed));
            write!(label, "\n{calls} calls, {samples} samples\nbusy {busy:.1} %")?;
        }
        for (count, word) in [(of.starved, "starved"), (of.blocked, "blocked")] {
            if count > 0 {
                write!(label, "\n{word} {count}")?;
            }
        }
        Ok(label)
    }
}

/// What stands at a stream.
fn stream(circuit: &CircuitReport) -> Result<String, fmt::Error> {
    let CircuitReport { name, quanta, len, rate_hz } = circuit;
    let mut label = format!("{}\n{quanta} x {len}", short(name));
    if let Some(latency) = circuit.latency_max() {
        let (rate, latency) = (table::rate(*rate_hz), table::latency(Some(latency)));
        write!(label, "\n{rate}, {latency} at most")?;
    }
    Ok(label)
}

/// A name that fits a picture.
fn short(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}..", &name[..end]),
        None => name.to_owned(),
    }
}

/// A DOT string.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for char in self.0.chars() {
            match char {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                char if char.is_control() => f.write_char(char::REPLACEMENT_CHARACTER)?,
                char => f.write_char(char)?,
            }
        }
        f.write_char('"')
    }
}

/// Blocks in a picture; of the others it says how many they are.
const BLOCKS_MAX: usize = 500;
/// Characters of a name; what is longer is cut.
const NAME_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use crate::blocks::{NullSink, NullSource};
    use crate::graph::GraphBuilder;

    #[test]
    fn names_are_quoted_and_cut() {
        let mut graph = GraphBuilder::new();
        let circuit = graph.circuit::<f32>("a \"b\"\\", 2, 8);
        let stream = graph.source("so\nurce\u{7}", NullSource, circuit);
        graph.sink("s".repeat(100), NullSink, stream);
        let dot = graph.build().unwrap().dot();
        let long = "s".repeat(60);
        assert_eq!(
            dot,
            format!(
                "digraph {{\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n  \
                 0 [label=\"so\\nurce\u{fffd}\\nsource\"];\n  1 [label=\"{long}..\\nsink\"];\n  \
                 0 -> 1 [label=\"a \\\"b\\\"\\\\\\n2 x 8\"];\n}}\n"
            )
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "hundreds of blocks take it minutes")]
    fn picture_of_many_blocks_is_bounded_and_says_so() {
        let mut graph = GraphBuilder::new();
        for number in 0..300 {
            let circuit = graph.circuit::<f32>(format!("{number}"), 1, 1);
            let stream = graph.source(format!("source {number}"), NullSource, circuit);
            graph.sink(format!("sink {number}"), NullSink, stream);
        }
        let dot = graph.build().unwrap().dot();
        assert_eq!(dot.matches(" -> ").count(), 250);
        assert!(dot.contains("and 100 more"), "{dot}");
    }
}
