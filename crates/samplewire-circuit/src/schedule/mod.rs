//! Schedulers: which thread polls which group.
//!
//! | Scheduler | Threads | For |
//! |---|---|---|
//! | [`Sequence`] | the calling one | what one core carries: the least cost for a quantum |
//! | [`ByStage`] | one for each stage | any graph, of which one core cannot carry all |
//! | [`ByQuantum`] | several, each with replicas | a line whose blocks keep nothing between quanta |
//! | [`Async`] | several, blocks are futures | more branches than CPUs |
//!
//! A scheduler is ordinary code over [`Graph::split`] and [`Group::poll`](crate::Group::poll). The
//! simplest, outside of this crate:
//!
//! ```
//! use samplewire_circuit::{Graph, Placement, Polled, RunError, Scheduler};
//!
//! /// Everything on the calling thread, never asleep.
//! struct Busy;
//!
//! impl Scheduler for Busy {
//!     fn run(&mut self, graph: &mut Graph) -> Result<(), RunError> {
//!         let mut groups = graph.split(&Placement::together(graph).spinning());
//!         while groups.iter_mut().any(|group| group.poll() != Polled::Done) {}
//!         graph.join(groups)
//!     }
//! }
//! ```

/// How the threads of a scheduler with the fields `cores` and `waiting` are set.
macro_rules! threads {
    ($scheduler:ty) => {
        impl $scheduler {
            /// Pins thread n (for stages: the thread of stage n) to CPU `cores[n % len]`. By
            /// default threads are not pinned.
            #[must_use]
            pub fn cores(mut self, cores: &[usize]) -> Self {
                self.cores = cores.to_vec();
                self
            }

            /// How the threads wait; default [`Waiting::Sleep`].
            #[must_use]
            pub fn waiting(mut self, waiting: Waiting) -> Self {
                self.waiting = waiting;
                self
            }
        }
    };
}

mod apart;
mod calls;
mod future;
mod line;
mod quantum;
mod relay;
mod sequence;
mod stage;
mod worker;

pub use future::Async;
pub use quantum::ByQuantum;
pub use sequence::Sequence;
pub use stage::ByStage;

use std::thread::{Builder, Scope};

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::graph::{Control, Graph, RunError};

/// Runs a graph to its end.
pub trait Scheduler {
    /// Splits the graph, polls its groups until all are done, and joins them.
    ///
    /// # Errors
    /// What [`Graph::join`] says, or that this graph or this machine is not for this scheduler.
    fn run(&mut self, graph: &mut Graph) -> Result<(), RunError>;
}

/// How a thread waits when its blocks have nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It looks again at once: the shortest delay, for a core of its own.
    Spin,
    /// It looks again for a while, and sleeps then.
    Sleep,
}

/// How often a thread looks before it sleeps: about 20 us.
const LOOKS: u32 = 1_000;

/// Has a thread of this name do `work`: whether the system let it, the graph is stopped else.
fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    control: &Control,
    work: impl FnOnce() + Send + 'scope,
) -> bool {
    match Builder::new().name(name.clone()).spawn_scoped(scope, work) {
        Ok(_) => true,
        Err(error) => {
            control.fail(RunError::Thread { thread: name, error });
            false
        }
    }
}

/// Keeps the calling thread on CPU `core`, if one was said; stops the graph when it cannot.
fn pin(core: Option<usize>, control: &Control) {
    let Some(core) = core else { return };
    let mut cpus = CpuSet::new();
    let pinned = if core < CpuSet::MAX_CPU {
        cpus.set(core);
        sched_setaffinity(None, &cpus)
    } else {
        Err(Errno::INVAL)
    };
    if let Err(error) = pinned {
        control.fail(RunError::Schedule(format!("CPU {core}: {error}")));
    }
}
