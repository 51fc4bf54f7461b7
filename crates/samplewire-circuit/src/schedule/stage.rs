//! Blocks in stages, each on a thread of its own.

use std::thread;
use std::time::Duration;

use crate::graph::{BlockView, Control, Graph, Placement, RunError};
use crate::group::{Group, Polled};
use crate::schedule::{LOOKS, Scheduler, Waiting, pin, spawn};

/// Runs blocks in stages, each on a thread of its own: for chains of which one core cannot carry all.
///
/// Each quantum goes from core to core, with the samples that were changed: where all blocks can
/// work on any quantum, [`ByQuantum`](crate::ByQuantum) leaves them in one core's cache.
pub struct ByStage {
    stage_of: Box<dyn FnMut(BlockView<'_>) -> usize>,
    cores: Vec<usize>,
    waiting: Waiting,
}

impl ByStage {
    /// Each block in the stage whose number `stage_of` says.
    pub fn new(stage_of: impl FnMut(BlockView<'_>) -> usize + 'static) -> Self {
        Self { stage_of: Box::new(stage_of), cores: Vec::new(), waiting: Waiting::Sleep }
    }

    /// The blocks in `stages` equal parts, in the order in which they were added.
    pub fn even(graph: &Graph, stages: usize) -> Self {
        let blocks = graph.blocks().count();
        Self::new(move |block| block.number() * stages / blocks)
    }
}

threads!(ByStage);

impl Scheduler for ByStage {
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
        let mut placement = Placement::by(graph, &mut self.stage_of);
        if self.waiting == Waiting::Spin {
            placement = placement.spinning();
        }
        let groups = graph.split(&placement);
        let groups = run_on_threads(groups, &self.cores, &graph.control());
        graph.join(groups)
    }
}

/// Runs each group to its end on a thread of its own, the nth on CPU `cores[n % len]`.
fn run_on_threads(mut groups: Vec<Group>, cores: &[usize], control: &Control) -> Vec<Group> {
    let mut started = 0;
    thread::scope(|scope| {
        for (number, group) in groups.iter_mut().enumerate() {
            let core = cores.get(number % cores.len().max(1)).copied();
            let run = move || {
                pin(core, control);
                poll_to_the_end(group);
            };
            if !spawn(scope, format!("stage {number}"), control, run) {
                break;
            }
            started += 1;
        }
    });
    // Without a thread, in a graph that was stopped for it: blocks that were started are stopped.
    groups[started..].iter_mut().for_each(poll_to_the_end);
    groups
}

fn poll_to_the_end(group: &mut Group) {
    let mut looks = 0;
    loop {
        match group.poll() {
            Polled::Done => return,
            Polled::Moved => looks = 0,
            Polled::Idle | Polled::Waiting | Polled::Asleep if looks < LOOKS || group.spins() => {
                looks += 1;
                std::hint::spin_loop();
            }
            Polled::Idle | Polled::Waiting | Polled::Asleep => {
                group.sleep(Duration::from_millis(400));
            }
        }
    }
}
