//! Threads that the system refuses: in a process of its own, whose threads ask for large stacks.
#![cfg(not(miri))]

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::{env, iter};

use samplewire_circuit::blocks::{NullSink, NullSource};
use samplewire_circuit::{
    Async, ByQuantum, ByStage, Circuit, Context, Failure, Flow, Graph, GraphBuilder, InPlace,
    Quantum, RunError, Scheduler, Work,
};

/// Counts how many of it are started and not stopped.
#[derive(Clone)]
struct Open(Arc<AtomicI32>);

impl InPlace<f32> for Open {
    fn work(&mut self, _: &mut Quantum<f32>) -> Work {
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn start(&mut self, _: &Context<'_>) -> Result<(), Failure> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.0.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }
}

/// A graph that does not end, of a source, 6 blocks and a sink.
fn endless(open: &Arc<AtomicI32>) -> Graph {
    let mut graph = GraphBuilder::new();
    let circuit = Circuit::new(16, 64).named("samples");
    let mut stream = graph.source("source", NullSource, circuit);
    for number in 0..6 {
        stream = graph.in_place(format!("{number}"), Open(Arc::clone(open)), stream);
    }
    graph.sink("sink", NullSink, stream);
    graph.build().expect("it is whole")
}

/// The numbers of the threads that each scheduler was refused, out of 8.
fn refused() -> Vec<usize> {
    let mut schedulers: [(&str, Box<dyn Scheduler>); 3] = [
        ("stage", Box::new(ByStage::new(|block| block.number()))),
        ("quantum", Box::new(ByQuantum::new(8))),
        ("async", Box::new(Async::new(8))),
    ];
    let run = |(kind, scheduler): &mut (&str, Box<dyn Scheduler>)| {
        let open = Arc::default();
        let mut graph = endless(&open);
        let Err(RunError::Thread { thread, error }) = scheduler.run(&mut graph) else {
            panic!("by {kind}: ended without that error");
        };
        assert_eq!(open.load(Ordering::Relaxed), 0, "by {kind}: what was started was stopped");
        let text = RunError::Thread { thread: thread.clone(), error }.to_string();
        assert!(text.starts_with(&format!("cannot start thread '{thread}': ")), "{text}");
        let number = thread.strip_prefix(&format!("{kind} ")).and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| panic!("by {kind}: {thread}"))
    };
    schedulers.iter_mut().map(run).collect()
}

#[test]
fn thread_that_the_system_refuses_is_named_and_the_graph_ends() {
    if let Ok(first) = env::var("SAMPLEWIRE_REFUSED") {
        let numbers = refused();
        match first.as_str() {
            "first" => assert_eq!(numbers, [0; 3]),
            _ => assert!(numbers.iter().all(|number| (1..8).contains(number)), "{numbers:?}"),
        }
        return;
    }
    // No address space has room for a stack of 2^50 bytes; 1 GiB has for up to 3 of 256 MiB.
    for (which, stack_bytes, limit_kib) in
        [("first", 1_u64 << 50, "unlimited"), ("later", 256 << 20, "1048576")]
    {
        let shell = format!("ulimit -v {limit_kib}; exec timeout 120 \"$0\" \"$@\"");
        let own = env::current_exe().expect("it runs");
        let name = "thread_that_the_system_refuses_is_named_and_the_graph_ends";
        let output = Command::new("sh")
            .args(["-c", &shell])
            .args(iter::once(own.as_os_str()))
            .args(["--exact", name, "--test-threads=1", "--nocapture"])
            .env("SAMPLEWIRE_REFUSED", which)
            .env("RUST_MIN_STACK", stack_bytes.to_string())
            .output()
            .expect("there is a shell");
        let words = String::from_utf8_lossy(&output.stdout);
        let failure = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{which}: {words}{failure}");
        assert!(words.contains("1 passed"), "{which}: {words}");
    }
}
