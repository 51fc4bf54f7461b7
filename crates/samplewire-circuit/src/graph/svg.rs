//! Pictures of graphs, as SVG.

use std::fmt::{self, Write};

use crate::graph::layout::{Drawing, Layout, Route};
use crate::graph::picture::Picture;

/// A picture as one SVG document.
pub(super) struct Svg<'a>(pub(super) Picture<'a>);

impl fmt::Display for Svg<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(picture) = self;
        let cards: Vec<_> = picture.shown().iter().map(|block| picture.block(block)).collect();
        let streams: Vec<_> = picture.shown_streams().collect();
        let label = |(at, &(from, _, circuit)): (usize, &(usize, usize, usize))| {
            // Once for all that read one stream.
            let is_reported =
                streams[..at].iter().any(|other| (other.0, other.2) == (from, circuit));
            if is_reported { Vec::new() } else { picture.stream(circuit) }
        };
        let labels: Vec<_> = streams.iter().enumerate().map(label).collect();
        let card_size =
            |lines: &Vec<String>| (wide(lines) + 2.0 * PAD, lines.len() as f64 * LINE + 2.0 * PAD);
        let label_size = |lines: &Vec<String>| (wide(lines), lines.len() as f64 * LINE);
        let ends = streams.iter().zip(&labels);
        let layout = Layout::of(&Drawing {
            boxes: cards.iter().map(card_size).collect(),
            lines: ends.map(|(&(from, to, _), label)| (from, to, label_size(label))).collect(),
        });

        let foot = if picture.more() > 0 { 2.0 * LINE } else { 0.0 };
        let (width, height) = (layout.width + 2.0 * MARGIN, layout.height + 2.0 * MARGIN + foot);
        writeln!(
            to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" \
             height=\"{height:.0}\" viewBox=\"-{MARGIN} -{MARGIN} {width:.0} {height:.0}\">\n\
             {STYLE}<rect class=\"back\" x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"{width:.0}\" \
             height=\"{height:.0}\"/>"
        )?;
        for (route, label) in layout.lines.iter().zip(&labels) {
            line(to, route)?;
            for (at, words) in label.iter().enumerate() {
                text(to, "label", route.label, at, words)?;
            }
        }
        for ((block, lines), &(x, y)) in picture.shown().iter().zip(&cards).zip(&layout.boxes) {
            let (width, height) = card_size(lines);
            write!(to, "<rect class=\"box\" ")?;
            writeln!(
                to,
                "x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            )?;
            let busy = block.counters.busy_percent(picture.elapsed).clamp(0.0, 100.0) / 100.0;
            let (bar, bar_y) = (width * busy, y + height - BAR);
            write!(to, "<rect class=\"busy\" ")?;
            writeln!(to, "x=\"{x:.1}\" y=\"{bar_y:.1}\" width=\"{bar:.1}\" height=\"{BAR}\"/>")?;
            for (at, words) in lines.iter().enumerate() {
                let class = ["name", "kind", "did"][at.min(2)];
                text(to, class, (x + PAD, y + PAD), at, words)?;
            }
        }
        if picture.more() > 0 {
            text(to, "kind", (0.0, layout.height), 1, &format!("and {} more", picture.more()))?;
        }
        to.write_str("</svg>\n")
    }
}

/// A line from block to block, with an arrow at its end.
fn line(to: &mut fmt::Formatter<'_>, route: &Route) -> fmt::Result {
    let class = if route.is_back { "back line" } else { "line" };
    let (x, y) = route.points[0];
    write!(to, "<path class=\"{class}\" d=\"M{x:.1} {y:.1}")?;
    for pair in route.points.windows(2) {
        let ((_, begin_y), (x, y)) = (pair[0], pair[1]);
        let middle = (begin_y + y) / 2.0;
        write!(to, " C{:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}", pair[0].0)?;
    }
    let (x, y) = route.points[route.points.len() - 1];
    let tail = if route.is_back { y + ARROW } else { y - ARROW };
    let (left, right) = (x - ARROW / 2.0, x + ARROW / 2.0);
    writeln!(to, "\"/>")?;
    write!(to, "<path class=\"arrow\" ")?;
    writeln!(to, "d=\"M{x:.1} {y:.1} L{left:.1} {tail:.1} L{right:.1} {tail:.1} Z\"/>")
}

/// The line `at` of a text whose left upper corner is at `(x, y)`, as wide as was reckoned in any
/// font.
fn text(
    to: &mut fmt::Formatter<'_>,
    class: &str,
    (x, y): (f64, f64),
    at: usize,
    words: &str,
) -> fmt::Result {
    let (y, wide) = (y + (at as f64 + BASELINE) * LINE, width(words));
    write!(to, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{wide:.1}\" ")?;
    to.write_str("lengthAdjust=\"spacingAndGlyphs\">")?;
    for char in words.chars() {
        match char {
            '<' => to.write_str("&lt;")?,
            '&' => to.write_str("&amp;")?,
            '>' => to.write_str("&gt;")?,
            char if char.is_control() => to.write_char(char::REPLACEMENT_CHARACTER)?,
            // XML has no such characters.
            '\u{fffe}' | '\u{ffff}' => to.write_char(char::REPLACEMENT_CHARACTER)?,
            char => to.write_char(char)?,
        }
    }
    to.write_str("</text>\n")
}

/// The width of the longest of some lines.
fn wide(lines: &[String]) -> f64 {
    lines.iter().map(|line| width(line)).fold(0.0, f64::max)
}

/// The width of one in a monospaced font, in which other letters than Latin ones may be square.
fn width(line: &str) -> f64 {
    let of = |char: char| if char < '\u{1100}' { CHAR } else { 2.0 * CHAR };
    line.chars().map(of).sum()
}

const STYLE: &str = "<style>\n\
    text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #24292f; \
    white-space: pre; }\n\
    .name { font-weight: bold; }\n\
    .kind, .label { fill: #57606a; }\n\
    .back { fill: #ffffff; }\n\
    .box { fill: #f6f8fa; stroke: #8c959f; }\n\
    .busy { fill: #2f81f7; }\n\
    .line { fill: none; stroke: #57606a; stroke-width: 1.2; }\n\
    .back.line { fill: none; stroke-dasharray: 5 3; }\n\
    .arrow { fill: #57606a; }\n\
    </style>\n";

/// The advance of a letter of 12 pixels, of fonts with the widest.
const CHAR: f64 = 7.25;
/// From line to line.
const LINE: f64 = 16.0;
/// Where in a line letters stand.
const BASELINE: f64 = 0.78;
/// From a box' border to its words.
const PAD: f64 = 9.0;
/// The height of the bar that says how busy a block was.
const BAR: f64 = 3.0;
/// The length of an arrow.
const ARROW: f64 = 8.0;
/// Around all.
const MARGIN: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{NullSink, NullSource};
    use crate::graph::{Circuit, GraphBuilder};

    #[test]
    fn names_are_escaped_cut_and_as_wide_as_their_boxes_say() {
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::<f32>::new(2, 8).named("a <b> & \"c\"");
        let stream = graph.source("so\nurce\u{7}\u{ffff}", NullSource, circuit);
        graph.sink("図".repeat(100), NullSink, stream);
        let svg = graph.build().unwrap().svg();
        assert!(svg.contains(">a &lt;b&gt; &amp; \"c\"</text>"), "{svg}");
        assert!(svg.contains(">so\u{fffd}urce\u{fffd}\u{fffd}</text>"), "{svg}");
        let name = format!("textLength=\"{:.1}\"", 60.0 * 2.0 * CHAR + 2.0 * CHAR);
        let long = format!("{name} lengthAdjust=\"spacingAndGlyphs\">{}..</text>", "図".repeat(60));
        assert!(svg.contains(&long), "{svg}");
        let around = format!(" width=\"{:.1}\" ", 122.0 * CHAR + 2.0 * PAD);
        assert!(svg.contains(&around), "{svg}");
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
        let svg = graph.build().unwrap().svg();
        assert_eq!(svg.matches("class=\"arrow\"").count(), 250);
        assert!(svg.contains("and 100 more"), "{svg}");
    }
}
