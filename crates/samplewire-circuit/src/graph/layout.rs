//! Where things stand in a picture: boxes in layers from top to bottom, lines between them.
//!
//! Sugiyama's method: each box in the layer of its longest way from a beginning, an item of no width
//! wherever a line passes a layer, and items of a layer in the order of the means of their neighbours
//! (Sugiyama, Tagawa, Toda: Methods for visual understanding of hierarchical system structures, 1981).
//! A line's label is such an item with a width, in a layer between those of the boxes: no label and no
//! box covers another.

/// What is to be drawn.
pub(super) struct Drawing {
    /// Width and height of each box.
    pub(super) boxes: Vec<(f64, f64)>,
    /// From which box to which, and width and height of its label. But for those that close a loop
    /// they lead to a box further behind.
    pub(super) lines: Vec<(usize, usize, (f64, f64))>,
}

/// Where it stands; all is right of and below the origin.
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The left upper corner of each box.
    pub(super) boxes: Vec<(f64, f64)>,
    pub(super) lines: Vec<Route>,
}

/// Where a line runs.
pub(super) struct Route {
    /// Points through which it goes, from its beginning to its end: each two are the ends of a bow or,
    /// one above the other, of a straight piece.
    pub(super) points: Vec<(f64, f64)>,
    /// The left upper corner of its label.
    pub(super) label: (f64, f64),
    /// Whether it leads back up.
    pub(super) is_back: bool,
}

impl Layout {
    pub(super) fn of(drawing: &Drawing) -> Self {
        let mut grid = Grid::of(drawing);
        grid.order();
        grid.place();
        grid.layout(drawing)
    }
}

/// Items in layers.
struct Grid {
    /// First the boxes.
    items: Vec<Item>,
    /// The items of each layer, from left to right.
    layers: Vec<Vec<usize>>,
    /// The items on each line, from top to bottom.
    ways: Vec<Vec<usize>>,
}

struct Item {
    layer: usize,
    /// Where a line passes it.
    x: f64,
    /// How far it reaches to either side.
    left: f64,
    right: f64,
    height: f64,
    /// What it is joined to above and below.
    neighbours: [Vec<usize>; 2],
}

impl Grid {
    fn of(Drawing { boxes, lines }: &Drawing) -> Self {
        let item = |layer, (left, right), height| {
            let (x, neighbours) = Default::default();
            Item { layer, x, left, right, height, neighbours }
        };
        let ends = |&(from, to, _): &(usize, usize, _)| (from.min(to), from.max(to));
        let layer_of = layers_of(boxes.len(), lines.iter().map(ends));
        let boxed = |(&(width, height), layer)| item(layer, (width / 2.0, width / 2.0), height);
        let mut items: Vec<_> = boxes.iter().zip(layer_of).map(boxed).collect();
        let mut ways = Vec::new();
        for line in lines {
            let (top, bottom) = ends(line);
            let (begin, end) = (items[top].layer, items[bottom].layer);
            let mut way = vec![top];
            for layer in begin + 1..end {
                way.push(items.len());
                let (width, height) = if layer == begin + 1 { line.2 } else { (0.0, 0.0) };
                let right = if width > 0.0 { LABEL_AT + width } else { 0.0 };
                items.push(item(layer, (0.0, right), height));
            }
            way.push(bottom);
            for pair in way.windows(2) {
                items[pair[0]].neighbours[BELOW].push(pair[1]);
                items[pair[1]].neighbours[ABOVE].push(pair[0]);
            }
            ways.push(way);
        }
        let count = items.iter().map(|item| item.layer + 1).max().unwrap_or(0);
        let mut layers = vec![Vec::new(); count];
        items.iter().enumerate().for_each(|(at, item)| layers[item.layer].push(at));
        Self { items, layers, ways }
    }

    /// Puts each layer in the order of the means of its neighbours' places, down and up in turn.
    fn order(&mut self) {
        let mut place = vec![0.0; self.items.len()];
        for sweep in 0..SWEEPS {
            for layer in in_turn(sweep, self.layers.len()) {
                let layer = &mut self.layers[layer];
                for (at, item) in layer.iter().enumerate() {
                    place[*item] = at as f64;
                }
                let side = [ABOVE, BELOW][sweep % 2];
                let key = |&item: &usize| {
                    mean(self.items[item].neighbours[side].iter().map(|&other| place[other]))
                        .unwrap_or(place[item])
                };
                layer.sort_by(|one, other| key(one).total_cmp(&key(other)));
                for (at, item) in layer.iter().enumerate() {
                    place[*item] = at as f64;
                }
            }
        }
    }

    /// Moves each item as near as its layer lets it to the mean of its neighbours.
    fn place(&mut self) {
        for sweep in 0..SWEEPS + 1 {
            for layer in in_turn(sweep, self.layers.len()) {
                let wanted = |&item: &usize| {
                    let [above, below] = &self.items[item].neighbours;
                    let others: &[&[usize]] = match sweep {
                        SWEEPS => &[above, below],
                        _ if sweep.is_multiple_of(2) => &[above],
                        _ => &[below],
                    };
                    let places = others.iter().copied().flatten().map(|&other| self.items[other].x);
                    mean(places).unwrap_or(self.items[item].x)
                };
                let wanted = self.layers[layer].iter().map(wanted).collect();
                self.place_layer(layer, wanted);
            }
        }
    }

    /// Places a layer's items where they are wanted, moved apart by the least sum of squares: those
    /// that push each other move as one (the pool adjacent violators algorithm).
    fn place_layer(&mut self, layer: usize, mut wanted: Vec<f64>) {
        let items = &self.layers[layer];
        let mut offset = 0.0;
        let mut offsets = Vec::with_capacity(items.len());
        for (at, &item) in items.iter().enumerate() {
            if at > 0 {
                offset += self.items[items[at - 1]].right + GAP_X + self.items[item].left;
            }
            offsets.push(offset);
            wanted[at] -= offset;
        }
        // Sums of those that move as one, and how many they are.
        let mut pools: Vec<(f64, usize)> = Vec::new();
        for place in wanted {
            let mut pool = (place, 1);
            while let Some(last) =
                pools.pop_if(|last| last.0 / last.1 as f64 > pool.0 / pool.1 as f64)
            {
                pool = (pool.0 + last.0, pool.1 + last.1);
            }
            pools.push(pool);
        }
        let places = pools
            .into_iter()
            .flat_map(|(sum, count)| std::iter::repeat_n(sum / count as f64, count));
        for ((&item, offset), place) in items.iter().zip(offsets).zip(places) {
            self.items[item].x = place + offset;
        }
    }

    /// The whole, with its left upper corner at the origin.
    fn layout(&self, drawing: &Drawing) -> Layout {
        let items = &self.items;
        let left = items.iter().map(|item| item.x - item.left).fold(f64::INFINITY, f64::min);
        let right = items.iter().map(|item| item.x + item.right).fold(left, f64::max);
        let mut tops = vec![0.0];
        for layer in &self.layers {
            let height = layer.iter().map(|&item| items[item].height).fold(0.0, f64::max);
            tops.push(tops[tops.len() - 1] + height + GAP_Y);
        }
        let top = |item: &Item| tops[item.layer];
        let bottom = |item: &Item| tops[item.layer + 1] - GAP_Y;
        let boxes = items[..drawing.boxes.len()].iter();
        let corner = |item: &Item| {
            let free = bottom(item) - top(item) - item.height;
            (item.x - item.left - left, top(item) + free / 2.0)
        };
        let boxes: Vec<_> = boxes.map(corner).collect();
        let route = |way: &Vec<usize>, (from, to): (usize, usize)| {
            let (begin, end) = (way[0], way[way.len() - 1]);
            let x_at = |at, side, to| self.port(at, side, to) - left;
            let begin_y = boxes[begin].1 + items[begin].height;
            let mut points = vec![(x_at(begin, BELOW, way[1]), begin_y)];
            for &at in &way[1..way.len() - 1] {
                let item = &items[at];
                points.extend([top(item), bottom(item)].map(|y| (item.x - left, y)));
            }
            points.push((x_at(end, ABOVE, way[way.len() - 2]), boxes[end].1));
            let label = &items[way[1]];
            let free = bottom(label) - top(label) - label.height;
            let label = (label.x - left + LABEL_AT, top(label) + free / 2.0);
            let is_back = from > to;
            if is_back {
                points.reverse();
            }
            Route { points, label, is_back }
        };
        let lines = self.ways.iter().zip(&drawing.lines);
        let lines = lines.map(|(way, line)| route(way, (line.0, line.1))).collect();
        let height = (tops[self.layers.len()] - GAP_Y).max(0.0);
        Layout { width: (right - left).max(0.0), height, boxes, lines }
    }

    /// Where the line from a box to `other` leaves it: several side by side, in the order in which
    /// they lie further on.
    fn port(&self, item: usize, side: usize, other: usize) -> f64 {
        let Item { x, left, neighbours, .. } = &self.items[item];
        let place = |at: usize| self.items[at].x;
        let others = &neighbours[side];
        let before = others.iter().filter(|&&at| (place(at), at) < (place(other), other)).count();
        let apart = (2.0 * left / (others.len() + 1) as f64).min(PORTS_APART);
        x + (before as f64 - (others.len() - 1) as f64 / 2.0) * apart
    }
}

/// The layer of each box, those of labels between: one below the lowest from which a line comes, and
/// where none does just above the highest to which one goes.
fn layers_of(count: usize, ends: impl Iterator<Item = (usize, usize)> + Clone) -> Vec<usize> {
    let mut layers = vec![0; count];
    let mut inputs = vec![Vec::new(); count];
    let mut outputs = vec![Vec::new(); count];
    for (top, bottom) in ends {
        inputs[bottom].push(top);
        outputs[top].push(bottom);
    }
    for bottom in 0..count {
        layers[bottom] = inputs[bottom].iter().map(|&top| layers[top] + 2).max().unwrap_or(0);
    }
    for top in (0..count).filter(|&top| inputs[top].is_empty()) {
        layers[top] = outputs[top].iter().map(|&bottom| layers[bottom] - 2).min().unwrap_or(0);
    }
    layers
}

/// The layers from top to bottom, or the other way in every second sweep.
fn in_turn(sweep: usize, layers: usize) -> impl Iterator<Item = usize> {
    (0..layers).map(move |layer| if sweep.is_multiple_of(2) { layer } else { layers - 1 - layer })
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0), |(sum, count), number| (sum + number, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

const ABOVE: usize = 0;
const BELOW: usize = 1;
/// Times that the layers are gone through.
const SWEEPS: usize = 16;
/// Between items of a layer.
const GAP_X: f64 = 28.0;
/// Between layers.
const GAP_Y: f64 = 20.0;
/// From a line to its label.
const LABEL_AT: f64 = 8.0;
/// Between lines that leave one box.
const PORTS_APART: f64 = 28.0;

#[cfg(all(test, not(loom)))]
mod tests {
    use samplewire_proto::Rng;

    use super::*;

    fn drawing(seed: u64) -> Drawing {
        let mut rng = Rng::new(seed);
        let count = 1 + rng.below(30);
        let size = |rng: &mut Rng, least: u64| {
            ((least + rng.below(200)) as f64, (least + rng.below(80)) as f64)
        };
        let boxes = (0..count).map(|_| size(&mut rng, 20)).collect();
        let mut lines = Vec::new();
        for _ in 0..rng.below(2 * count) {
            let (from, to) = (rng.below(count), rng.below(count));
            if from != to && (from < to || rng.below(4) == 0) {
                let label = if rng.below(3) == 0 { (0.0, 0.0) } else { size(&mut rng, 1) };
                lines.push((from as usize, to as usize, label));
            }
        }
        Drawing { boxes, lines }
    }

    #[test]
    fn no_box_or_label_covers_another_and_lines_join_their_boxes() {
        for seed in 0..if cfg!(miri) { 3 } else { 500 } {
            let drawing = drawing(seed);
            let layout = Layout::of(&drawing);
            let boxes = layout.boxes.iter().zip(&drawing.boxes);
            let labels = layout.lines.iter().map(|line| &line.label);
            let labels = labels.zip(drawing.lines.iter().map(|line| &line.2));
            let all: Vec<_> = boxes.chain(labels).filter(|(_, size)| size.0 > 0.0).collect();
            for (at, (corner, size)) in all.iter().enumerate() {
                let end = (corner.0 + size.0, corner.1 + size.1);
                assert!(corner.0 > -1e-6 && corner.1 > -1e-6, "{seed}");
                assert!(end.0 < layout.width + 1e-6 && end.1 < layout.height + 1e-6, "{seed}");
                for (other, other_size) in &all[..at] {
                    let is_beside = other.0 + other_size.0 <= corner.0 || end.0 <= other.0;
                    let is_above = other.1 + other_size.1 <= corner.1 || end.1 <= other.1;
                    assert!(is_beside || is_above, "{seed}: {corner:?} {other:?}");
                }
            }
            for ((from, to, _), line) in drawing.lines.iter().zip(&layout.lines) {
                let ends = [(from, line.points[0]), (to, line.points[line.points.len() - 1])];
                for (at, (x, y)) in ends {
                    let (corner, size) = (layout.boxes[*at], drawing.boxes[*at]);
                    assert!(corner.0 <= x && x <= corner.0 + size.0, "{seed}");
                    assert!(y == corner.1 || y == corner.1 + size.1, "{seed}");
                }
            }
        }
    }

    #[test]
    fn chain_stands_straight() {
        let lines = (0..4).map(|at| (at, at + 1, (30.0, 10.0))).collect();
        let boxes = [20.0, 90.0, 50.0, 70.0, 40.0].map(|width| (width, 10.0)).to_vec();
        for line in Layout::of(&Drawing { boxes, lines }).lines {
            let x = line.points[0].0;
            assert!(line.points.iter().all(|point| (point.0 - x).abs() < 1e-6));
        }
    }

    #[test]
    fn picture_of_nothing_has_no_size() {
        let layout = Layout::of(&Drawing { boxes: Vec::new(), lines: Vec::new() });
        assert_eq!((layout.width, layout.height), (0.0, 0.0));
    }
}
