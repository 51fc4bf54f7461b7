//! Pictures of graphs, in Graphviz' language.

use std::fmt::{self, Write};

use crate::graph::picture::Picture;

/// A picture as one DOT graph.
pub(super) struct Dot<'a>(pub(super) Picture<'a>);

impl fmt::Display for Dot<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(picture) = self;
        writeln!(to, "digraph {{\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];")?;
        for (number, block) in picture.shown().iter().enumerate() {
            writeln!(to, "  {number} [label={}];", Quoted(&picture.block(block)))?;
        }
        for (from, reader, circuit) in picture.shown_streams() {
            writeln!(to, "  {from} -> {reader} [label={}];", Quoted(&picture.stream(circuit)))?;
        }
        if picture.more() > 0 {
            writeln!(to, "  more [label=\"and {} more\", shape=plaintext];", picture.more())?;
        }
        to.write_str("}\n")
    }
}

/// Lines as one DOT string.
struct Quoted<'a>(&'a [String]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for char in self.0.join("\n").chars() {
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

#[cfg(test)]
mod tests {
    use crate::blocks::{NullSink, NullSource};
    use crate::graph::{Circuit, GraphBuilder};

    #[test]
    fn names_are_quoted_and_cut() {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::<f32>::new(2, 8).named("a \"b\"\\");
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
            let circuit = Circuit::<f32>::new(1, 1).named(format!("{number}"));
            let stream = graph.source(format!("source {number}"), NullSource, circuit);
            graph.sink(format!("sink {number}"), NullSink, stream);
        }
        let dot = graph.build().unwrap().dot();
        assert_eq!(dot.matches(" -> ").count(), 250);
        assert!(dot.contains("and 100 more"), "{dot}");
    }
}
