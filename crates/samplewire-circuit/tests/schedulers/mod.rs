//! The schedulers that each graph is run by.

use std::time::Duration;

use samplewire_circuit::{
    Async, BlockView, ByStage, Graph, Group, Placement, Polled, Report, RunError, Scheduler,
    Sequence, Waiting,
};

/// Checks what it makes of a graph, by each scheduler.
pub(crate) fn under_each_scheduler(check: impl Fn(&dyn Fn(Graph) -> Result<Report, RunError>)) {
    check(&|graph| graph.run(Sequence::new()));
    for stages in [2, 3] {
        check(&|graph| {
            let stage = ByStage::even(&graph, stages);
            graph.run(stage)
        });
        check(&|graph| {
            let stage = ByStage::even(&graph, stages).waiting(Waiting::Spin);
            graph.run(stage)
        });
    }
    for polls in [1, 3, 50] {
        check(&|graph| graph.run(Wandering { polls }));
    }
    for threads in [1, 2] {
        check(&|graph| graph.run(Async::new(threads)));
        check(&|graph| graph.run(Async::new(threads).groups(|block| block.number() / 2)));
    }
}

/// Has blocks in other groups again and again, each after so many polls, on the calling thread.
struct Wandering {
    polls: usize,
}

impl Scheduler for Wandering {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let placements = [1, 2, 5].map(|groups| {
            let of_each = |block: BlockView<'_>| block.number() % groups;
            Placement::by(graph, of_each)
        });
        let together = Placement::together(graph);
        let mut groups = graph.split(&together);
        let mut placements = placements.iter().chain([&together]).cycle();
        loop {
            let mut is_idle = true;
            for _ in 0..self.polls {
                let polled: Vec<_> = groups.iter_mut().map(Group::poll).collect();
                if polled.iter().all(|polled| *polled == Polled::Done) {
                    return graph.join(groups);
                }
                is_idle &= !polled.contains(&Polled::Moved);
            }
            // One group alone detects that nothing moves.
            let placement = if is_idle { &together } else { placements.next().expect("a cycle") };
            groups = graph.regroup(groups, placement).unwrap_or_else(|groups| groups);
            if is_idle {
                groups.iter_mut().for_each(|group| {
                    group.sleep(Duration::from_secs(2));
                });
            }
        }
    }
}
