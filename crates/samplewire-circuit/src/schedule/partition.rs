//! Where to cut a graph into stages, by what its blocks have cost so far.

use crate::graph::{Graph, Kind};

/// What a quantum costs that goes to another thread, besides its samples.
const HANDOVER_S: f64 = 100e-9;
/// What each of its cache lines costs there, which that other has written.
const LINE_S: f64 = 1.4e-9;
const LINE_BYTES: f64 = 64.0;
/// What the thread with most to do must be spared for one thread more.
const WORTH: f64 = 0.9;

/// For each block the number of its stage, of up to `stages_max`, where a call of each costs
/// `costs_s` in seconds.
pub(super) fn stages(graph: &Graph, costs_s: &[f64], stages_max: usize) -> Vec<usize> {
    let counters: Vec<_> = graph.blocks().map(|block| block.counters()).collect();
    let calls = counters.iter().map(|counters| counters.calls as f64);
    let costs: Vec<_> = calls.zip(costs_s).map(|(calls, cost)| calls * cost).collect();
    let crossing = |circuit: usize, to: usize| {
        // Broadcasts and merges count nothing: the blocks behind them do.
        let mut node = to;
        while let (Kind::Broadcast | Kind::Merge, Some(&next)) =
            (&graph.nodes[node].kind, graph.nodes[node].outputs.first())
        {
            node = graph.edges[next].to.expect("a graph's edges are connected");
        }
        let bytes = counters[node].samples as f64 * graph.rounds[circuit].sample_bytes as f64;
        bytes / LINE_BYTES * LINE_S + counters[node].calls as f64 * HANDOVER_S
    };
    let there = graph.edges.iter().map(|edge| {
        let to = edge.to.expect("a graph's edges are connected");
        (edge.from, to, crossing(edge.circuit, to))
    });
    // As many as the last block got: the block that fills them may count samples of another rate.
    let home = ways_home(graph).map(|(circuit, from, to)| (from, to, crossing(circuit, from)));
    cut(&costs, &there.chain(home).collect::<Vec<_>>(), stages_max)
}

/// The blocks from which and to which the quanta of each circuit return: they are in the cache of
/// the one when they come to the other. Borrowed samples do not return.
fn ways_home(graph: &Graph) -> impl Iterator<Item = (usize, usize, usize)> {
    let rounds = graph.rounds.iter().enumerate();
    rounds.filter(|(_, round)| round.pool.capacity_bytes() > 0).filter_map(|(circuit, round)| {
        let edges = graph.edges.iter().filter(|edge| edge.circuit == circuit);
        let last = edges.filter_map(|edge| edge.to).max()?;
        Some((circuit, last, round.taken_by))
    })
}

/// Cuts blocks of these `costs` in seconds into stages of neighbours, so that the one that costs most
/// costs as little as can be. Of `edges` each has two blocks, and what it costs the second when they
/// are in two stages. One stage more must be worth it.
fn cut(costs: &[f64], edges: &[(usize, usize, f64)], stages_max: usize) -> Vec<usize> {
    let blocks = costs.len();
    let best = best_cuts(costs, edges, stages_max);
    let mut stages = 1;
    for more in 2..best.len() {
        if best[more][blocks].0 < WORTH * best[stages][blocks].0 {
            stages = more;
        }
    }
    let mut stage_of = vec![0; blocks];
    let mut end = blocks;
    for stage in (1..=stages).rev() {
        let begin = best[stage][end].1;
        stage_of[begin..end].fill(stage - 1);
        end = begin;
    }
    stage_of
}

/// For each number of stages, and each end: what the stage that costs most costs at least, and where
/// the last begins.
fn best_cuts(
    costs: &[f64],
    edges: &[(usize, usize, f64)],
    stages_max: usize,
) -> Vec<Vec<(f64, usize)>> {
    let blocks = costs.len();
    let mut of_block = vec![Vec::new(); blocks];
    for edge @ &(from, to, _) in edges.iter().filter(|(from, to, _)| from != to) {
        of_block[from].push(*edge);
        of_block[to].push(*edge);
    }
    let mut best = vec![vec![(f64::INFINITY, 0); blocks + 1]; stages_max.min(blocks) + 1];
    best[0][0].0 = 0.0;
    for end in 1..=blocks {
        let mut cost = 0.0;
        for begin in (0..end).rev() {
            cost += costs[begin];
            for &(from, to, crossing) in &of_block[begin] {
                let is_inside = |block| (begin..end).contains(&block);
                if is_inside(from) && is_inside(to) {
                    // It was a way into the stage while this began behind it.
                    cost -= if from == begin { crossing } else { 0.0 };
                } else if to == begin {
                    cost += crossing;
                }
            }
            for stages in 1..best.len() {
                let most = best[stages - 1][begin].0.max(cost);
                if most < best[stages][end].0 {
                    best[stages][end] = (most, begin);
                }
            }
        }
    }
    best
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::blocks::{Head, NullSink, NullSource};
    use crate::graph::{Circuit, GraphBuilder, Placement};

    /// Each block's stream leads to the next.
    fn chain(blocks: usize, crossing: f64) -> Vec<(usize, usize, f64)> {
        (1..blocks).map(|block| (block - 1, block, crossing)).collect()
    }

    #[test]
    fn heavy_blocks_are_cut_where_the_costs_are_even() {
        let costs = vec![1.0, 1.0, 4.0, 1.0, 3.0];
        assert_eq!(cut(&costs, &chain(5, 0.1), 2), [0, 0, 0, 1, 1]);
        assert_eq!(cut(&costs, &chain(5, 0.1), 3), [0, 0, 1, 2, 2]);
        // A fourth thread would not spare the one with most to do anything.
        assert_eq!(cut(&costs, &chain(5, 0.1), 8), [0, 0, 1, 2, 2]);
    }

    /// Which stage each block of a chain comes to: a source, kernels that take 110 ns for a quantum of
    /// 256 cache lines, a sink.
    fn stages_of_chain(kernels: usize) -> Vec<usize> {
        let mut builder = GraphBuilder::new();
        let circuit = Circuit::<f32>::new(4, 4_096).named("floats");
        let mut stream = builder.source("source", NullSource, circuit);
        for kernel in 0..kernels {
            stream = builder.in_place(format!("{kernel}"), Head::new(u64::MAX), stream);
        }
        builder.sink("sink", NullSink, stream);
        let mut graph = builder.build().unwrap();
        let mut groups = graph.split(&Placement::together(&graph));
        groups[0].poll();
        groups[0].publish();
        let mut costs_s = vec![110e-9; kernels + 2];
        (costs_s[0], costs_s[kernels + 1]) = (2e-9, 2e-9);
        stages(&graph, &costs_s, 2)
    }

    #[test]
    fn chain_is_cut_where_two_threads_make_more_of_it() {
        assert_eq!(stages_of_chain(4), [0; 6]);
        assert_eq!(stages_of_chain(16).iter().sum::<usize>(), 9, "a half, and the sink");
    }

    #[test]
    fn way_home_is_a_way_too() {
        // What comes home costs the first stage what comes over costs the second: no block less.
        let (there, home) = ((0, 1, 3.0), (1, 0, 3.0));
        assert_eq!(cut(&[5.0, 5.0], &[there], 2), [0, 1]);
        assert_eq!(cut(&[6.0, 3.0], &[there, home], 2), [0, 0]);
    }

    #[test]
    fn light_blocks_stay_together() {
        assert_eq!(cut(&[1.0; 6], &chain(6, 5.0), 4), [0; 6]);
        assert_eq!(cut(&[1.0], &[], 4), [0]);
    }

    #[test]
    fn cut_avoids_the_stream_that_costs_most() {
        let edges = [(0, 1, 0.1), (1, 2, 5.0), (2, 3, 0.1)];
        assert_eq!(cut(&[4.0, 1.0, 1.0, 2.0], &edges, 2), [0, 1, 1, 1]);
    }

    #[test]
    fn every_cut_of_a_few_blocks_is_looked_at() {
        let mut rng = samplewire_proto::Rng::new(1);
        let mut draw = move |below: u64| rng.below(below);
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            let blocks = 2 + draw(6) as usize;
            let costs: Vec<f64> = (0..blocks).map(|_| draw(10) as f64).collect();
            let edges: Vec<_> = (0..draw(8))
                .map(|_| (draw(blocks as u64) as usize, draw(blocks as u64) as usize, 1.0))
                .collect();
            let most = |stage_of: &[usize]| {
                let mut sums = vec![0.0; blocks];
                (0..blocks).for_each(|block| sums[stage_of[block]] += costs[block]);
                for &(from, to, crossing) in &edges {
                    sums[stage_of[to]] +=
                        if stage_of[from] == stage_of[to] { 0.0 } else { crossing };
                }
                sums.into_iter().fold(0.0, f64::max)
            };
            // Each set of places to cut at, as bits.
            let best = best_cuts(&costs, &edges, blocks);
            for (stages, best) in best.iter().enumerate().skip(1) {
                let all = (0..1_u32 << (blocks - 1))
                    .filter(|cuts| cuts.count_ones() as usize + 1 == stages);
                let all = all.map(|cuts| {
                    let stage = |block: usize| (cuts & ((1 << block) - 1)).count_ones() as usize;
                    most(&(0..blocks).map(stage).collect::<Vec<_>>())
                });
                let least = all.fold(f64::INFINITY, f64::min);
                assert_eq!(best[blocks].0, least, "{stages} of {costs:?} {edges:?}");
            }
            let most_of_one = most(&vec![0; blocks]);
            assert!(most(&cut(&costs, &edges, blocks)) <= most_of_one);
        }
    }
}
