//! The schedulers that each graph is run by.

use samplewire_circuit::{Async, ByStage, Graph, Report, RunError, Sequence, Waiting};

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
    for threads in [1, 2] {
        check(&|graph| graph.run(Async::new(threads)));
        check(&|graph| graph.run(Async::new(threads).groups(|block| block.number() / 2)));
    }
}
