//! A graph on an executor that knows nothing of circuits.

use async_executor::Executor;
use futures_lite::future::block_on;
use samplewire_circuit::blocks::{Head, NullSink, NullSource};
use samplewire_circuit::{Circuit, Graph, GraphBuilder, Placement, RunError, Scheduler};

/// The groups as futures on an executor that knows nothing of circuits.
struct Elsewhere;

impl Scheduler for Elsewhere {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let groups = graph.split(&Placement::by(graph, |block| block.number()));
        let executor = Executor::new();
        let run = |mut group| async move {
            (&mut group).await;
            [group]
        };
        let tasks: Vec<_> = groups.into_iter().map(|group| executor.spawn(run(group))).collect();
        let groups = block_on(executor.run(async {
            let mut groups = Vec::new();
            for task in tasks {
                groups.extend(task.await);
            }
            groups
        }));
        graph.join(groups)
    }
}

#[test]
fn groups_are_futures_on_any_executor() {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::<f32>::new(4, 64).named("samples");
    let stream = graph.source("source", NullSource, circuit);
    let stream = graph.in_place("head", Head::new(10_000), stream);
    graph.sink("sink", NullSink, stream);
    let report = graph.build().unwrap().run(Elsewhere).unwrap();
    assert_eq!(report.block("sink").unwrap().counters.samples, 10_000);
}
